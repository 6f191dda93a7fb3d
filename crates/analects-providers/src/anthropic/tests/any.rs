//! Any conversation at all: what goes out obeys the rules, or there is nothing to send and the encoder
//! says so.

use analects_core::testing as generate;
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;

/// Calls, results and thoughts with few names, so that they meet, and anything else besides.
fn block() -> BoxedStrategy<Block> {
    let id = || select(vec!["a", "b", "a:b", ""]);
    prop_oneof![
        4 => id().prop_map(call),
        4 => id().prop_map(|id| result(id, "r")),
        2 => Just(thought("t")),
        2 => select(vec!["x", " ", "", "y \n"]).prop_map(Block::from_text),
        1 => select(vec!["srvtoolu_1", "srv:2"]).prop_map(|id| Block::Other(raw(&format!(
            r#"{{"type":"server_tool_use","id":"{id}","name":"web_search","input":{{}}}}"#
        )))),
        1 => Just(Block::Other(raw(
            r#"{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}"#
        ))),
        1 => Just(Block::ToolUse(ToolUse {
            id: "by".into(),
            name: "w".into(),
            input: Raw::empty_object(),
            extra: map(r#"{"caller":{"type":"x","tool_id":"srvtoolu_1"}}"#),
        })),
        1 => Just(Block::Text(TextBlock {
            text: "m".into(),
            extra: map(r#"{"cache_control":{"type":"ephemeral"}}"#),
        })),
        3 => generate::block(),
    ]
    .boxed()
}

fn any_turn() -> BoxedStrategy<Turn> {
    let role = select(vec![Role::User, Role::Assistant, Role::Assistant, Role::System]);
    let model = of(select(vec![MODEL.to_string(), "gpt-5".to_string()]));
    let content = prop_oneof![
        4 => vec(block(), 0..5).prop_map(Content::Blocks),
        1 => generate::content(),
    ];
    (role, content, model).prop_map(|(role, content, model)| Turn { role, content, model }).boxed()
}

fn any_request() -> BoxedStrategy<Request> {
    let tool = (select(vec!["w", "v", "a.b", ""]), generate::raw()).prop_map(|(name, schema)| {
        ToolSpec { name: name.into(), description: "d".into(), input_schema: schema }
    });
    let choice = select(vec![
        ToolChoice::Auto,
        ToolChoice::Any,
        ToolChoice::None,
        ToolChoice::Tool("w".into()),
    ]);
    let model = select(vec![MODEL, "claude-opus-4-7", "smollm2"]);
    let limits = (of(0_u64..9000), of(-1.0..3.0), any::<bool>(), vec(generate::text(), 0..3));
    (model, of(generate::core_text()), vec(any_turn(), 0..8), vec(tool, 0..3), of(choice), limits)
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
                metadata: RawMap::new(),
            }
        })
        .boxed()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn whatever_was_said_what_goes_out_obeys(request in any_request()) {
        let http = crate::encode(Api::AnthropicMessages, &request);
        let found = validate(Rules::Anthropic, &http.body);
        let body = String::from_utf8_lossy(&http.body);
        let nothing = "the request is not sent: there is nothing in it that the API takes";
        if http.left_out.iter().any(|problem| problem.message == nothing) {
            let rules: Vec<_> = found.iter().map(|violation| violation.rule).collect();
            prop_assert_eq!(rules, ["no-messages"], "{}", body);
        } else {
            prop_assert_eq!(found, [], "{}", body);
        }
    }

    /// A prompt that grows at its end begins with the same bytes, so that it can be cached.
    #[test]
    fn a_longer_conversation_begins_alike(turns in vec(any_turn(), 1..6)) {
        let with = |end: &str| {
            let mut turns = turns.clone();
            turns.push(turn(Role::User, "the end of the old part"));
            turns.push(own(vec![Block::from_text(end)]));
            turns.push(turn(Role::User, "more"));
            messages(turns)
        };
        let (left, right) = (with("one"), with("two"));
        let at = left.find("the end of the old part").unwrap();
        prop_assert_eq!(&left[..at], &right[..at]);
    }
}
