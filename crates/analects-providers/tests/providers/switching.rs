//! Switching the provider in mid-conversation: what any provider answered, with the results of its calls,
//! goes out to every other one, and back to itself, in a request that obeys the rules of its API.

use std::fs;
use std::path::Path;

use analects_core::{
    Block, Body, Content, Message, Raw, RawMap, Request, Role, ToolResult, ToolSpec, Turn, fold,
};
use analects_providers::{Api, decoder, detect_api, encode};
use analects_testkit::{Rules, validate};

const APIS: [(Api, Rules, &str); 4] = [
    (
        Api::AnthropicMessages,
        Rules::Anthropic,
        "claude-sonnet-4-5",
    ),
    (Api::Gemini, Rules::Gemini, "gemini-2.5-flash"),
    (Api::OpenAiChat, Rules::OpenAiChat, "gpt-4o"),
    (Api::OpenAiResponses, Rules::OpenAiResponses, "gpt-5"),
];

/// Every complete answer among the fixtures: its name, the model that gave it, and what it says.
fn answers() -> Vec<(String, String, Content)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut found = Vec::new();
    for folder in fs::read_dir(root).unwrap() {
        for file in fs::read_dir(folder.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "sse") {
                found.extend(answer(&path));
            }
        }
    }
    found.sort_by(|one, other| one.0.cmp(&other.0));
    found
}

fn answer(path: &Path) -> Option<(String, String, Content)> {
    let bytes = fs::read(path).unwrap();
    let api = detect_api(&bytes)?;
    let mut decoder = decoder(api);
    let mut events = decoder.push(&bytes);
    events.extend(decoder.finish());
    let folded = fold(&events, Message::assistant("a", ""));
    let Body::Assistant(body) = folded.message.body else {
        unreachable!()
    };
    let model = APIS.iter().find(|(known, ..)| *known == api).unwrap().2;
    let name = path
        .strip_prefix(env!("CARGO_MANIFEST_DIR"))
        .unwrap()
        .display()
        .to_string();
    folded
        .complete
        .then(|| (name, model.to_string(), body.content))
}

/// The results of an answer's calls.
fn results(content: &Content) -> Vec<Block> {
    let Content::Blocks(blocks) = content else {
        return Vec::new();
    };
    let result = |block: &Block| match block {
        Block::ToolUse(call) => Some(Block::ToolResult(ToolResult {
            tool_use_id: call.id.clone(),
            content: "18 degrees".into(),
            is_error: None,
            extra: RawMap::new(),
        })),
        _ => None,
    };
    blocks.iter().filter_map(result).collect()
}

/// A conversation that goes on after an answer.
fn conversation(model: &str, asked: &str, content: &Content) -> Request {
    let turn = |role, content: Content, model: Option<&str>| Turn {
        role,
        content,
        model: model.map(str::to_string),
    };
    let mut next = results(content);
    next.push(Block::from_text("And now?"));
    let schema =
        Raw::parse(r#"{"type":"object","properties":{"city":{"type":"string"}}}"#).unwrap();
    let tool = ToolSpec {
        name: "weather".into(),
        description: "d".into(),
        input_schema: schema,
    };
    Request {
        model: asked.to_string(),
        system: Some("Be brief.".into()),
        turns: vec![
            turn(Role::User, "Hello".into(), None),
            turn(Role::Assistant, content.clone(), Some(model)),
            turn(Role::User, Content::Blocks(next), None),
        ],
        tools: vec![tool],
        max_output_tokens: Some(4096),
        ..Request::default()
    }
}

#[test]
fn every_answer_goes_to_every_provider() {
    let answers = answers();
    assert!(answers.len() >= 25, "only {} answers", answers.len());
    let mut failures = Vec::new();
    for (name, model, content) in &answers {
        for (api, rules, asked) in APIS {
            let request = conversation(model, asked, content);
            let body = encode(api, &request).body;
            let found = validate(rules, &body);
            if !found.is_empty() {
                let text = String::from_utf8_lossy(&body).into_owned();
                failures.push(format!("{name} to {api:?}: {found:?}\n{text}"));
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {}:\n{}",
        failures.len(),
        answers.len() * 4,
        failures.join("\n\n")
    );
}
