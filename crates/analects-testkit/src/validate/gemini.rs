//! Gemini's `generateContent`: turns alternate, and a turn of function calls is followed by one with as
//! many responses of the same names and with nothing else; what the user says besides is a turn of its
//! own. The last word is the user's: newer models refuse any other, and say of a turn in which words
//! follow responses that it is the model's.

use super::names::{in_range, object_schema, positive, tool_names};
use super::{Node, Report};

const LONGEST_NAME: usize = 64;
const MOST_STOPS: usize = 5;
/// Numbers of tokens are of 32 bits.
const MOST_TOKENS: f64 = i32::MAX as f64;

/// What a part may hold, in both spellings of which the API knows.
const DATA: [[&str; 2]; 7] = [
    ["text", "text"],
    ["inlineData", "inline_data"],
    ["fileData", "file_data"],
    ["functionCall", "function_call"],
    ["functionResponse", "function_response"],
    ["executableCode", "executable_code"],
    ["codeExecutionResult", "code_execution_result"],
];
const CALL: [&str; 2] = DATA[3];
const RESPONSE: [&str; 2] = DATA[4];

pub(super) fn check(body: &Node, report: &mut Report) {
    if let Some(config) = body.either(["generationConfig", "generation_config"]) {
        positive(&config, "maxOutputTokens", report);
        in_range(&config, "maxOutputTokens", 0.0..=MOST_TOKENS, report);
        in_range(&config, "temperature", 0.0..=2.0, report);
        let few = config.list("stopSequences").len() <= MOST_STOPS;
        report.expect(few, &config, "stops", "more than five stop sequences");
    }
    if let Some(system) = body.either(["systemInstruction", "system_instruction"]) {
        let texts = system.list("parts");
        let spoken = !texts.is_empty() && texts.iter().all(|part| part.word("text").is_some());
        report.expect(spoken, &system, "block-type", "instructions are text");
    }
    tools(body, report);
    let contents = body.list("contents");
    report.expect(
        !contents.is_empty(),
        body,
        "no-messages",
        "there are no contents",
    );
    turns(&contents, report);
    for content in &contents {
        parts(content, report);
    }
    calls(&contents, report);
}

fn tools(body: &Node, report: &mut Report) {
    let tools = body.list("tools");
    let lists = tools.iter().filter_map(|tool| {
        tool.either(["functionDeclarations", "function_declarations"])?
            .items()
    });
    let functions: Vec<Node> = lists.flatten().collect();
    for function in &functions {
        // A choice may stand in the place of an object.
        let choice = function
            .get("parameters")
            .is_some_and(|it| it.get("anyOf").is_some());
        if !choice {
            object_schema(function, "parameters", report);
        }
    }
    let named = functions
        .into_iter()
        .map(|tool| (tool.clone(), tool.word("name")));
    let names = tool_names(named, is_name, report);
    let config = body.either(["toolConfig", "tool_config"]);
    let Some(choice) = config.and_then(|it| it.get("functionCallingConfig")) else {
        return;
    };
    report.expect(
        !names.is_empty(),
        &choice,
        "tool-choice",
        "there are no functions",
    );
    let allowed = choice.list("allowedFunctionNames");
    let known = |name: &Node| name.string().is_some_and(|name| names.contains(&name));
    report.expect(
        allowed.iter().all(known),
        &choice,
        "tool-choice",
        "there is no such function",
    );
    let mode = choice.word("mode").unwrap_or_default();
    let fits = allowed.is_empty() || matches!(mode.as_str(), "ANY" | "VALIDATED");
    report.expect(
        fits,
        &choice,
        "tool-choice",
        "only a forced call has allowed functions",
    );
}

fn is_name(name: &str) -> bool {
    let start = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let plain = |c: char| c.is_ascii_alphanumeric() || "_.:-".contains(c);
    start && name.len() <= LONGEST_NAME && name.chars().all(plain)
}

/// Who speaks; `function` is an older name for the user's side.
fn role(content: &Node) -> String {
    match content.word("role").as_deref() {
        None | Some("user" | "function") => "user".to_string(),
        Some(role) => role.to_string(),
    }
}

fn turns(contents: &[Node], report: &mut Report) {
    let mut before = String::new();
    let mut answered = false;
    for content in contents {
        let role = role(content);
        let known = matches!(role.as_str(), "user" | "model");
        report.expect(known, content, "role", "not user or model");
        let first = !before.is_empty() || role == "user";
        report.expect(
            first,
            content,
            "first-turn",
            "the first turn is not the user's",
        );
        let answers = !names(Some(content), RESPONSE).is_empty();
        let alternates = role != before || (answered && !answers);
        report.expect(
            alternates,
            content,
            "alternation",
            "two turns of the same role",
        );
        before = role;
        answered = answers;
    }
    if let Some(last) = contents.last() {
        report.expect(
            before == "user",
            last,
            "last-turn",
            "the last turn is not the user's",
        );
    }
}

fn parts(content: &Node, report: &mut Report) {
    let parts = content.list("parts");
    report.expect(
        !parts.is_empty(),
        content,
        "empty-turn",
        "a turn without parts",
    );
    let model = role(content) == "model";
    let responses = parts
        .iter()
        .filter(|part| part.either(RESPONSE).is_some())
        .count();
    let alone = responses == 0 || responses == parts.len();
    report.expect(
        alone,
        content,
        "result-alone",
        "responses stand in a turn of their own",
    );
    for part in &parts {
        let held = DATA
            .into_iter()
            .filter(|keys| part.either(*keys).is_some())
            .count();
        report.expect(held <= 1, part, "part", "a part that holds two things");
        let misplaced = part.either(if model { RESPONSE } else { CALL }).is_some();
        report.expect(
            !misplaced,
            part,
            "block-type",
            "a part that this role may not have",
        );
        let blank = part.word("text").is_some_and(|text| text.is_empty());
        // A signature may come with nothing to sign.
        let signed = part
            .either(["thoughtSignature", "thought_signature"])
            .is_some();
        report.expect(!blank || signed, part, "blank-text", "a part of empty text");
        for function in [CALL, RESPONSE]
            .into_iter()
            .filter_map(|keys| part.either(keys))
        {
            let fits = function.word("name").is_some_and(|name| is_name(&name));
            report.expect(
                fits,
                &function,
                "tool-name",
                "the function's name is not allowed",
            );
            for key in ["args", "response"] {
                let object = function.get(key).is_none_or(|value| value.is_object());
                report.expect(object, &function, "call-input", "not an object");
            }
        }
    }
}

/// The names of the calls or responses of a turn, with their ids, in a fixed order.
fn names(content: Option<&Node>, keys: [&str; 2]) -> Vec<(String, Option<String>)> {
    let parts = content
        .map(|content| content.list("parts"))
        .unwrap_or_default();
    let functions = parts.iter().filter_map(|part| part.either(keys));
    let named = |function: Node| Some((function.word("name")?, function.word("id")));
    let mut names: Vec<_> = functions.filter_map(named).collect();
    names.sort();
    names
}

fn calls(contents: &[Node], report: &mut Report) {
    for (at, content) in contents.iter().enumerate() {
        let (made, next) = (names(Some(content), CALL), contents.get(at + 1));
        let answered = made.is_empty() || made == names(next, RESPONSE);
        let text = "the next turn has not one response for each call";
        report.expect(answered, content, "call-without-result", text);
        let given = names(Some(content), RESPONSE);
        let before = at.checked_sub(1).and_then(|at| contents.get(at));
        let asked = given.is_empty() || !names(before, CALL).is_empty();
        let text = "responses without calls in the turn before";
        report.expect(asked, content, "result-without-call", text);
    }
}
