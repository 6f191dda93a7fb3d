//! Any request at all, and what holds for whatever becomes of it: the body obeys the rules of its API, or
//! there is nothing to send and the encoder says so; and a longer conversation begins with the same bytes.

use analects_core::{Block, Content, Json, Raw, Request, Role, ToolChoice, ToolSpec, Turn};
use analects_providers::{Api, Quirks, SystemRole, ThinkingField, ToolIdRule, encode_for};
use analects_testkit::values as generate;
use analects_testkit::{Rules, validate};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;

/// Blocks that meet others of their kind, that are nearly right, or that only one API knows.
const BLOCKS: [&str; 32] = [
    r#"{"type":"text","text":"x"}"#,
    r#"{"type":"text","text":" \n"}"#,
    r#"{"type":"text","text":"m","cache_control":{"type":"ephemeral"}}"#,
    r#"{"type":"text","text":"","thoughtSignature":"s"}"#,
    r#"{"type":"text","text":"","gemini_part":{"text":"t","thoughtSignature":7,"inlineData":{}}}"#,
    r#"{"type":"text","text":"p","item":{"id":"msg_1","phase":"commentary"}}"#,
    r#"{"type":"text","text":"no","refusal":true}"#,
    r#"{"type":"thinking","thinking":"t","signature":"seal=="}"#,
    r#"{"type":"thinking","thinking":"","signature":"s","item":{"id":"rs_1","summary":7}}"#,
    r#"{"type":"thinking","thinking":"t","signature":"s","item":{"id":"rs_2","summary":[]}}"#,
    r#"{"type":"thinking","thinking":"t","reasoning_details":[{"type":"reasoning.text"}]}"#,
    r#"{"type":"redacted_thinking","data":"AAAA"}"#,
    r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}"#,
    r#"{"type":"image","source":{"type":"url","url":"https://example.org/a.png"}}"#,
    r#"{"type":"image","source":{"type":"file","path":"a.png"}}"#,
    r#"{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"B"}}"#,
    r#"{"type":"document","source":{"type":"url","url":"https://example.org/a.pdf"}}"#,
    r#"{"type":"document","source":{"type":"text","media_type":"text/plain","data":"  "}}"#,
    r#"{"type":"document","source":{"type":"text","media_type":"text/plain","data":"w"}}"#,
    r#"{"type":"tool_use","id":"by","name":"w","input":{},"caller":{"type":"x","tool_id":"srvtoolu_1"}}"#,
    r#"{"type":"tool_use","id":"g","name":"w","input":{},"thoughtSignature":"s","gemini_part":{"functionCall":{"name":7,"willContinue":false}}}"#,
    r#"{"type":"tool_result","tool_use_id":"a","content":[{"type":"image","source":{"type":"url","url":"u"}},{"type":"odd"},{"type":"text","text":""}]}"#,
    r#"{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}"#,
    r#"{"type":"server_tool_use","id":"srv:2","name":"web_search","input":{}}"#,
    r#"{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}"#,
    r#"{"type":"web_search_call","id":"ws_1","status":"completed","action":{"query":"\ud83d"}}"#,
    r#"{"type":"shell_call_output","id":"so_1","output":[]}"#,
    r#"{"type":"function_call","call_id":"a","name":"w","arguments":"{}"}"#,
    r#"{"type":"gemini_part","part":{"executableCode":{"language":"PYTHON","code":"1"}}}"#,
    r#"{"type":"gemini_part","part":{"functionCall":{"name":"w"}}}"#,
    r#"{"type":"gemini_part","part":{"functionResponse":{"name":"w","response":{}}}}"#,
    r#"{"type":"gemini_part","part":{"inlineData":{},"text":""}}"#,
];

fn block() -> BoxedStrategy<Block> {
    let long = "x".repeat(70);
    let ids: Vec<String> = ["a", "b", "a:b", "", "gemini_1", &long]
        .iter()
        .map(|id| id.to_string())
        .collect();
    let names: Vec<String> = ["w", "w", "a.b", "", "1", "é", &long]
        .iter()
        .map(|name| name.to_string())
        .collect();
    let inputs = vec![
        r#"{"n":1e400}"#,
        "{}",
        "7",
        "null",
        r#"{"\ud83d":"\ud83d"}"#,
    ];
    let other_ids = ids.clone();
    prop_oneof![
        4 => (select(ids), select(names), select(inputs)).prop_map(|(id, name, input)| {
            let (id, name) = (Raw::string(&id), Raw::string(&name));
            let json = format!(r#"{{"type":"tool_use","id":{id},"name":{name},"input":{input}}}"#);
            Block::from_json(&json).unwrap()
        }),
        4 => (select(other_ids), any::<bool>()).prop_map(|(id, failed)| {
            let id = Raw::string(&id);
            let rest = format!(r#""content":"r","is_error":{failed}"#);
            let json = format!(r#"{{"type":"tool_result","tool_use_id":{id},{rest}}}"#);
            Block::from_json(&json).unwrap()
        }),
        8 => select(BLOCKS.to_vec()).prop_map(|json| Block::from_json(json).unwrap()),
        2 => generate::block(),
    ]
    .boxed()
}

fn any_turn(models: Vec<&'static str>) -> BoxedStrategy<Turn> {
    let role = select(vec![
        Role::User,
        Role::Assistant,
        Role::Assistant,
        Role::System,
    ]);
    let content = prop_oneof![
        4 => vec(block(), 0..5).prop_map(Content::Blocks),
        1 => generate::content(),
    ];
    (role, content, of(select(models)))
        .prop_map(|(role, content, model)| Turn {
            role,
            content,
            model: model.map(str::to_string),
        })
        .boxed()
}

/// Models that may have said something, whoever is asked: the asked one, and one of each provider.
fn speakers(asked: &[&'static str]) -> Vec<&'static str> {
    let others = ["claude-sonnet-4-5", "gemini-2.5-pro", "gpt-5", "smollm2"];
    asked
        .iter()
        .cycle()
        .take(4)
        .copied()
        .chain(others)
        .collect()
}

/// Any request to one of these models.
fn any_request(models: &[&'static str]) -> BoxedStrategy<Request> {
    let tool =
        (select(vec!["w", "v", "a.b", "", "1"]), schema()).prop_map(|(name, schema)| ToolSpec {
            name: name.into(),
            description: "d".into(),
            input_schema: schema,
        });
    let choice = select(vec![
        ToolChoice::Auto,
        ToolChoice::Any,
        ToolChoice::None,
        ToolChoice::Tool("w".into()),
        ToolChoice::Tool("nobody".into()),
    ]);
    let most = prop_oneof![2 => 0_u64..9000, 1 => 0_u64..20, 1 => any::<u64>()];
    let limits = (
        of(most),
        of(-1.0..3.0),
        any::<bool>(),
        vec(generate::text(), 0..8),
    );
    let turns = vec(any_turn(speakers(models)), 0..8);
    let model = select(models.to_vec());
    (
        model,
        of(generate::core_text()),
        turns,
        vec(tool, 0..3),
        of(choice),
        limits,
    )
        .prop_map(|(model, system, turns, tools, tool_choice, limits)| {
            let (max_output_tokens, temperature, reasoning, stop_sequences) = limits;
            Request {
                model: model.into(),
                system,
                turns,
                tools,
                tool_choice,
                temperature,
                max_output_tokens,
                stop_sequences,
                reasoning,
                ..Request::default()
            }
        })
        .boxed()
}

fn schema() -> BoxedStrategy<Raw> {
    let known = vec![
        r#"{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}"#,
        r#"{"type":"object"}"#,
        r#"{"properties":{"\ud83d":{"type":["string","null"]}}}"#,
        r#"{"type":"string"}"#,
        r#"{"type":7,"properties":[]}"#,
        r#"{"anyOf":[{"type":"object"},{"type":"null"}]}"#,
        "true",
    ];
    prop_oneof![
        select(known).prop_map(|json| Raw::parse(json).unwrap()),
        generate::raw()
    ]
    .boxed()
}

/// Ways of servers that speak OpenAI's APIs.
fn any_quirks(of_api: Quirks) -> BoxedStrategy<Quirks> {
    let thinking = select(vec![
        ThinkingField::Omitted,
        ThinkingField::ReasoningContent,
        ThinkingField::ReasoningDetails,
    ]);
    let roles = select(vec![
        SystemRole::System,
        SystemRole::Developer,
        SystemRole::User,
    ]);
    let ids = select(vec![of_api.tool_ids, ToolIdRule::Exactly(9)]);
    (thinking, roles, ids, any::<bool>())
        .prop_map(move |(thinking, system_role, tool_ids, files)| Quirks {
            thinking,
            system_role,
            tool_ids,
            files,
            ..of_api
        })
        .boxed()
}

/// Checks that what goes out obeys, or that there is nothing to send and the encoder says so.
fn obeys(api: Api, rules: Rules, request: &Request, quirks: &Quirks) -> Result<(), TestCaseError> {
    let http = encode_for(api, request, quirks);
    let found = validate(rules, &http.body);
    let body = String::from_utf8_lossy(&http.body);
    let nothing = "the request is not sent: there is nothing in it that the API takes";
    if http
        .left_out
        .iter()
        .any(|problem| problem.message == nothing)
    {
        let rules: Vec<_> = found.iter().map(|violation| violation.rule).collect();
        prop_assert_eq!(rules, ["no-messages"], "{}", body);
    } else {
        prop_assert_eq!(found, [], "{}", body);
    }
    let told = http.left_out.iter().map(|problem| &*problem.code);
    let known = ["not-sent", "sent-otherwise"];
    prop_assert!(
        told.clone().all(|code| known.contains(&code)),
        "{:?}",
        http.left_out
    );
    Ok(())
}

/// Turns of any kind, with one of these models among the speakers.
fn any_turns(models: &[&'static str]) -> BoxedStrategy<Vec<Turn>> {
    vec(any_turn(speakers(models)), 1..6).boxed()
}

/// Checks that a prompt that grows at its end begins with the same bytes, so that it can be cached.
fn begins_alike(
    api: Api,
    model: &str,
    turns: &[Turn],
    quirks: &Quirks,
) -> Result<(), TestCaseError> {
    const MARK: &str = "the end of the old part";
    let with = |end: Vec<Block>, more: &str| {
        let said = |role, content: Content, model: Option<&str>| Turn {
            role,
            content,
            model: model.map(str::to_string),
        };
        let mut turns = turns.to_vec();
        turns.push(said(Role::User, MARK.into(), None));
        turns.push(said(Role::Assistant, end.into(), Some(model)));
        turns.push(said(Role::User, more.into(), None));
        let request = Request {
            model: model.into(),
            turns,
            max_output_tokens: Some(99),
            ..Request::default()
        };
        String::from_utf8(encode_for(api, &request, quirks).body).unwrap()
    };
    let call = r#"{"type":"tool_use","id":"a","name":"w","input":{}}"#;
    let left = with(vec![Block::from_text("one")], "more");
    let right = with(
        vec![Block::from_json(call).unwrap(), Block::from_text("two")],
        "else",
    );
    let at = left.find(MARK).unwrap();
    prop_assert_eq!(&left[..at], &right[..at]);
    Ok(())
}

/// The two properties, for one API, in a module of its own.
macro_rules! for_any_request {
    ($module:ident: $api:expr, $rules:expr, $models:expr, $quirks:expr) => {
        mod $module {
            use super::*;

            proptest! {
                #![proptest_config({
                    let usual = ProptestConfig::default();
                    ProptestConfig { cases: usual.cases.max(500), ..usual }
                })]

                #[test]
                fn any_request_obeys_the_rules_of_the_api(
                    request in any_request(&$models),
                    quirks in any_quirks($quirks),
                ) {
                    obeys($api, $rules, &request, &quirks)?;
                }

                #[test]
                fn a_longer_conversation_begins_with_the_same_bytes(
                    turns in any_turns(&$models),
                    quirks in any_quirks($quirks),
                ) {
                    begins_alike($api, $models[0], &turns, &quirks)?;
                }
            }
        }
    };
}

for_any_request!(openai: Api::OpenAiChat, Rules::OpenAiChat, ["smollm2", "gpt-5", "gpt-4o"], Quirks::COMPATIBLE);
for_any_request!(openai_responses: Api::OpenAiResponses, Rules::OpenAiResponses, ["gpt-5", "smollm2", "gpt-4o"], Quirks::OPENAI_RESPONSES);
for_any_request!(anthropic: Api::AnthropicMessages, Rules::Anthropic, ["claude-sonnet-4-5", "claude-opus-4-7", "smollm2"], Quirks::COMPATIBLE);
for_any_request!(gemini: Api::Gemini, Rules::Gemini, ["gemini-2.5-pro", "gemini-3-pro-preview", "gemini-2.0-flash"], Quirks::COMPATIBLE);
