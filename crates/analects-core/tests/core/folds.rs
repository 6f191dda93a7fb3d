//! Events fold into messages, complete or interrupted.

use super::*;

fn text(index: usize, text: &str) -> StreamEvent {
    StreamEvent::BlockDelta {
        index,
        delta: Delta::Text(text.into()),
    }
}

fn json(index: usize, json: &str) -> StreamEvent {
    StreamEvent::BlockDelta {
        index,
        delta: Delta::PartialJson(json.into()),
    }
}

fn start(index: usize, block: BlockStart) -> StreamEvent {
    StreamEvent::BlockStart { index, block }
}

fn stop() -> StreamEvent {
    StreamEvent::MessageStop {
        stop_reason: Some(StopReason::EndTurn),
    }
}

fn call(index: usize) -> StreamEvent {
    start(
        index,
        BlockStart::ToolUse {
            id: "t".into(),
            name: "weather".into(),
        },
    )
}

fn folded(events: &[StreamEvent]) -> Folded {
    fold(events, Message::assistant("a", ""))
}

#[test]
fn blocks_keep_their_order() {
    let events = [
        StreamEvent::MessageStart {
            model: Some("m".into()),
            response_id: Some("r".into()),
        },
        start(0, BlockStart::Thinking),
        StreamEvent::BlockDelta {
            index: 0,
            delta: Delta::Thinking("hm".into()),
        },
        StreamEvent::BlockDelta {
            index: 0,
            delta: Delta::Signature("seal".into()),
        },
        StreamEvent::Ping,
        start(1, BlockStart::Text),
        text(1, "one "),
        text(1, "two"),
        call(2),
        json(2, "{\"city\":"),
        json(2, "\"Paris\"}"),
        StreamEvent::BlockStop { index: 2 },
        start(3, BlockStart::Text),
        text(3, "three"),
        stop(),
    ];
    let Folded {
        message,
        complete,
        problems,
        ..
    } = folded(&events);
    assert!(complete);
    assert_eq!(problems, []);
    assert_eq!(message.response_id.as_deref(), Some("r"));
    assert_eq!(
        message.body.content().unwrap().to_json(),
        concat!(
            r#"[{"type":"thinking","thinking":"hm","signature":"seal"},"#,
            r#"{"type":"text","text":"one two"},"#,
            r#"{"type":"tool_use","id":"t","name":"weather","input":{"city":"Paris"}},"#,
            r#"{"type":"text","text":"three"}]"#,
        )
    );
}

#[test]
fn a_broken_stream_keeps_what_came_and_says_so() {
    let folded = folded(&[start(0, BlockStart::Text), text(0, "half an ans")]);
    assert!(!folded.complete);
    assert_eq!(folded.message.text(), "half an ans");
    assert_eq!(folded.problems[0].code, "interrupted-answer");
    assert!(
        folded
            .message
            .to_json()
            .contains(r#""stop_reason":"interrupted""#)
    );
}

#[test]
fn a_block_that_was_only_announced_is_no_answer() {
    for block in [BlockStart::Text, BlockStart::Thinking] {
        let error = StreamEvent::Error(ApiError::new(ApiErrorKind::Overloaded, "busy"));
        let broken = folded(&[start(0, block.clone()), error]);
        assert_eq!(
            broken.message.body.content(),
            Some(&Content::Blocks(vec![]))
        );
        // Earlier content stays, and a complete answer is unchanged.
        let broken = folded(&[
            start(0, BlockStart::Text),
            text(0, "so"),
            start(1, block.clone()),
        ]);
        assert_eq!(broken.message.text(), "so");
        let whole = folded(&[start(0, block), stop()]);
        assert!(!whole.message.body.content().unwrap().is_empty());
    }
}

#[test]
fn half_a_tool_call_is_no_call_and_is_not_lost() {
    let folded = folded(&[call(0), json(0, "{\"city\":\"Par")]);
    assert_eq!(
        folded.message.body.content(),
        Some(&Content::Blocks(vec![]))
    );
    assert!(
        folded
            .message
            .extra
            .to_raw()
            .as_str()
            .contains(r#"{\"city\":\"Par"#)
    );
}

#[test]
fn arguments_that_are_not_json_are_kept_as_text() {
    let events = [
        call(0),
        json(0, "city=Paris"),
        StreamEvent::BlockStop { index: 0 },
        stop(),
    ];
    let json = folded(&events).message.to_json();
    assert!(
        json.contains(r#""input":"city=Paris","malformed_input":true"#),
        "{json}"
    );
}

#[test]
fn an_error_in_mid_stream_is_not_a_complete_answer() {
    let error = ApiError::new(ApiErrorKind::Overloaded, "busy");
    let folded = folded(&[text(0, "so far"), StreamEvent::Error(error.clone()), stop()]);
    assert!(!folded.complete);
    assert_eq!(folded.error, Some(error));
    assert_eq!(folded.message.text(), "so far");
}

proptest! {
    #[test]
    fn folding_never_panics_and_counts_every_text(
        events in proptest::collection::vec(generate::event(), 0..20),
    ) {
        let folded = folded(&events);
        let json = folded.message.to_json();
        prop_assert_eq!(Message::from_json(&json).unwrap(), folded.message);
    }
}

fn extra(index: usize, key: &str, value: &str) -> StreamEvent {
    let value = Raw::parse(value).unwrap();
    StreamEvent::BlockExtra {
        index,
        key: key.into(),
        value,
    }
}

#[test]
fn fields_of_a_block_stay_with_it() {
    let used = StreamEvent::ToolUse {
        index: 1,
        id: "t".into(),
        name: "weather".into(),
        input: Raw::empty_object(),
    };
    let events = [
        start(0, BlockStart::Text),
        extra(0, "logprobs", "[1]"),
        text(0, "one"),
        extra(0, "logprobs", "[1,2]"),
        call(1),
        extra(1, "seal", "\"s\""),
        used,
        extra(1, "item", "{}"),
        start(2, BlockStart::Other(Raw::empty_object())),
        extra(2, "lost", "1"),
        extra(7, "lost", "1"),
        stop(),
    ];
    assert_eq!(
        folded(&events).message.body.content().unwrap().to_json(),
        concat!(
            r#"[{"type":"text","text":"one","logprobs":[1,2]},"#,
            r#"{"type":"tool_use","id":"t","name":"weather","input":{},"seal":"s","item":{}},{}]"#,
        )
    );
}

#[test]
fn images_and_documents_come_whole_and_typed_but_calls_do_not() {
    let whole = |json: &str| {
        let block = BlockStart::Other(Raw::parse(json).unwrap());
        let Some(Content::Blocks(blocks)) = folded(&[start(0, block), extra(0, "k", "1"), stop()])
            .message
            .body
            .content()
            .cloned()
        else {
            unreachable!()
        };
        blocks
    };
    let image = whole(r#"{"type":"image","source":{"type":"url","url":"u"}}"#);
    assert!(matches!(&image[0], Block::Image(image) if image.extra.get("k").is_some()));
    let document = whole(r#"{"type":"document","source":{}}"#);
    assert!(matches!(document[0], Block::Document(_)));
    let call = whole(r#"{"type":"tool_use","id":"t","name":"n","input":{}}"#);
    assert!(
        matches!(call[0], Block::Other(_)),
        "no event said that it is one"
    );
}
