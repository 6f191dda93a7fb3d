//! Numbers for questions and answers, and the names of an answer's parts.

use analects_core::{
    Assistant, Attachment, AttachmentKind, Block, Content, History, Json, Message, Raw, RawMap,
    RedactedThinking, SessionId, Text, Thinking, TokenUsage, ToolResult, ToolUse, Unseen, User,
    verbs,
};

use super::*;
use crate::msgfile::{AnswerDetail, put_answer, put_messages, unseen_cells};

fn thought(text: &str) -> Block {
    let signature = Some("c2VhbA==".into());
    Block::Thinking(Thinking {
        thinking: text.into(),
        signature,
        ..Thinking::default()
    })
}

fn call(id: &str) -> Block {
    let input = Raw::parse("{}").unwrap();
    Block::ToolUse(ToolUse {
        id: id.into(),
        name: "now".into(),
        input,
        extra: RawMap::new(),
    })
}

fn said(blocks: Vec<Block>) -> Message {
    let stop_reason = Some(StopReason::EndTurn);
    let body = Body::Assistant(Assistant {
        content: Content::Blocks(blocks),
        stop_reason,
    });
    Message {
        author: Some("coder".into()),
        ..Message::new("m", body)
    }
}

fn results(calls: &[&str]) -> Message {
    let result = |call: &&str| {
        Block::ToolResult(ToolResult {
            tool_use_id: call.to_string(),
            content: "noon".into(),
            is_error: Some(false),
            extra: RawMap::new(),
        })
    };
    let content = Content::Blocks(calls.iter().map(result).collect());
    Message::new(
        "r",
        Body::User(User {
            content,
            ..User::default()
        }),
    )
}

fn names(document: &Document) -> Vec<String> {
    document
        .cells()
        .map(|cell| cell.name().into_owned())
        .collect()
}

fn answered(document: &Document, answer: &Message) -> Document {
    let asked: Vec<usize> = document.unanswered().iter().map(|cell| cell.at).collect();
    let ids = &mut CountingIds::default();
    let placed = put_answer(
        document,
        &asked,
        answer,
        AnswerDetail::Usual,
        &jiff::tz::TimeZone::UTC,
        ids,
    );
    let after = document.with_source(placed.splice.apply(document.source()));
    assert_eq!(after.problems(), []);
    assert_eq!(messages(&after, &SessionId::default()).problems, []);
    after
}

#[test]
fn ten_turns_with_thoughts_are_twenty_numbers() {
    let mut document = decode("");
    for _ in 0..10 {
        let mut source = document.into_source();
        if !source.ends_with(b"# %%\n") {
            source.extend_from_slice(b"# %%\n");
        }
        source.extend_from_slice(b"\nWhy?\n");
        let answer = said(vec![thought("Hm."), Block::from_text("So.")]);
        document = answered(&decode(source), &answer);
    }
    let mut expected = Vec::new();
    for number in (2..=20).step_by(2) {
        let question = (number - 1).to_string();
        expected.extend([question, format!("{number}.think"), number.to_string()]);
    }
    assert_eq!(names(&document)[..30], expected);
}

#[test]
fn the_parts_of_an_answer_are_one_message_in_the_order_of_the_file() {
    let blocks = vec![
        thought("one"),
        call("c1"),
        Block::from_text("two"),
        thought("three"),
        Block::from_text("four"),
        Block::Other(Raw::parse(r#"{"type":"citation"}"#).unwrap()),
        call("c2"),
    ];
    let document = answered(&decode("# %%\n\nWhy?\n"), &said(blocks));
    let parts = [
        "1",
        "2.think",
        "2.n0000002",
        "2",
        "2.think2",
        "2.text2",
        "2.block1",
        "2.n0000007",
    ];
    assert_eq!(names(&document)[..8], parts);
    let read = messages(&document, &SessionId::default()).messages;
    assert_eq!(read.len(), 2);
    let Content::Blocks(blocks) = read[1].body.content().unwrap() else {
        panic!("{read:#?}")
    };
    let kind = |block: &Block| {
        let fields = RawMap::parse(&block.to_json()).unwrap();
        fields.get("type").and_then(Raw::as_string).unwrap()
    };
    let kinds: Vec<String> = blocks.iter().map(kind).collect();
    assert_eq!(
        kinds,
        [
            "thinking", "tool_use", "text", "thinking", "text", "citation", "tool_use"
        ]
    );
    // Results take no numbers, and the next answer is the next number.
    let ids = &mut CountingIds::default();
    let more = [results(&["c1", "c2"])];
    let added = put_messages(
        &document,
        &SessionId::default(),
        &more,
        &jiff::tz::TimeZone::UTC,
        ids,
    )
    .unwrap();
    let document = document.with_source(added.splice.apply(document.source()));
    let document = answered(&document, &said(vec![call("c3"), call("c4")]));
    let names = names(&document);
    assert_eq!(
        names[8..],
        [
            "2.n0000002.1",
            "2.n0000007.1",
            "3.n0000001",
            "3.n0000002",
            "4"
        ]
    );
    let read = messages(&document, &SessionId::default()).messages;
    assert_eq!(read.len(), 4, "{read:#?}");
}

#[test]
fn a_thought_without_its_answer_is_a_message_of_its_own() {
    let thought = "# %%% [^2.think]\n\n[^2.think]: [coder] reasoning=1\n\nHm.\n\n";
    let answer = "# %%% [^2]\n\n[^2]: [coder] time=\"2026-11-18T09:30:00Z\"\n\nSo.\n";
    let count = |file: &str| {
        messages(&decode(file), &SessionId::default())
            .messages
            .len()
    };
    assert_eq!(count(thought), 1);
    assert_eq!(count(&format!("{thought}{answer}")), 1);
    assert_eq!(count(&format!("{thought}# %%\n\nps\n\n{answer}")), 3);
    let hidden = thought.replace("reasoning=1", "reasoning=1 history=none");
    assert_eq!(count(&format!("{hidden}{answer}")), 2);
    // The name of the message is that of its answer, with or without thoughts.
    let id = |file: &str| messages(&decode(file), &"s".into()).messages[0].id.clone();
    assert_eq!(id(&format!("{thought}{answer}")), id(answer));
    let with_time = messages(&decode(format!("{thought}{answer}")), &"s".into()).messages;
    assert!(with_time[0].created_at.is_some());
}

#[test]
fn an_answer_is_hidden_and_shown_with_its_thoughts() {
    let document = answered(
        &decode("# %%\n\nWhy?\n"),
        &said(vec![thought("Hm."), call("c1"), Block::from_text("So.")]),
    );
    for at in [1, 3] {
        let hidden = changed(&document, at, verbs::drop);
        let marks = unseen_cells(&hidden);
        assert_eq!(marks[1..4], [Some(Unseen::Hidden); 3], "{at}");
        assert_eq!(hidden.unanswered()[0].name(), "1");
        let shown = changed(&hidden, 3, verbs::restore);
        let read = messages(&shown, &SessionId::default()).messages;
        assert_eq!(read.len(), 2, "{read:#?}");
        assert_eq!(read[1].history, History::Include);
    }
}

#[test]
fn events_have_letters() {
    let attachment = |text: &str| {
        let (kind, data) = (AttachmentKind::Reminder, None);
        Message::new(
            text,
            Body::Attachment(Attachment {
                kind,
                content: text.into(),
                data,
            }),
        )
    };
    let document = decode("# %%\n\nHi\n\n# %%% [^a7]\n\n[^a7]: [attachment] kind=\"x\"\n\nx\n");
    let new = [attachment("one"), attachment("two")];
    let ids = &mut CountingIds::default();
    let splice = put_messages(
        &document,
        &SessionId::default(),
        &new,
        &jiff::tz::TimeZone::UTC,
        ids,
    )
    .unwrap()
    .splice;
    let document = document.with_source(splice.apply(document.source()));
    assert_eq!(names(&document), ["1", "a7", "a8", "a9"]);
    assert_eq!(document.next_id(), "2");
}

fn line(answer: &Message, detail: AnswerDetail) -> String {
    let front = "---\nagents:\n  coder:\n    models: [openai/gpt-5, gpt-4]\n---\n\n# %%\n\nWhy?\n";
    let document = decode(front);
    let ids = &mut CountingIds::default();
    let placed = put_answer(
        &document,
        &[0],
        answer,
        detail,
        &jiff::tz::TimeZone::UTC,
        ids,
    );
    let file = String::from_utf8(placed.splice.apply(document.source())).unwrap();
    let line = file
        .lines()
        .find(|line| line.starts_with("[^2]:"))
        .unwrap()
        .to_string();
    let read = messages(&decode(file), &SessionId::default()).messages;
    assert_eq!(read[1].model, answer.model);
    line
}

#[test]
fn the_line_of_an_answer_says_what_people_read() {
    let usage = TokenUsage {
        input_tokens: Some(1000),
        output_tokens: Some(90),
        cache_read_input_tokens: Some(150),
        cache_creation_input_tokens: Some(50),
        reasoning_tokens: Some(0),
        ..TokenUsage::default()
    };
    let mut answer = Message {
        created_at: "2026-11-18T09:30:00.25Z".parse().ok(),
        model: Some("gpt-5".into()),
        usage: Some(usage.into()),
        cost_usd: Some(0.000021),
        duration_ms: Some(1500),
        response_id: Some("resp_1".into()),
        ..said(vec![Block::from_text("So.")])
    };
    let start = "[^2]: [coder] time=\"2026-11-18T09:30:00Z\"";
    let usual = line(&answer, AnswerDetail::Usual);
    assert_eq!(usual, format!("{start} tokens=1200/90 cost=0.000021"));
    let all = "input_tokens=1000 output_tokens=90 cache_read_tokens=150 cache_creation_tokens=50 \
        reasoning_tokens=0 cost=0.000021 duration=1.5s response_id=\"resp_1\"";
    assert_eq!(line(&answer, AnswerDetail::All), format!("{start} {all}"));
    answer.model = Some("gpt-4".into());
    assert!(line(&answer, AnswerDetail::Usual).contains(" model=\"gpt-4\" tokens=1200/90 "));
}

#[test]
fn reasoning_that_nobody_can_read_has_no_cell() {
    let redacted = Block::RedactedThinking(RedactedThinking {
        data: "x".into(),
        ..Default::default()
    });
    let blocks = vec![redacted, thought(""), Block::from_text("So.")];
    let document = answered(&decode("# %%\n\nWhy?\n"), &said(blocks));
    assert_eq!(names(&document)[..2], ["1", "2"]);
    assert_eq!(document.cells().len(), 3);
}

#[test]
fn a_shown_file_is_named_by_its_path() {
    let body = Attachment {
        kind: AttachmentKind::File,
        content: Content::Text(Text::from("text")),
        data: Raw::parse(r#"{"path":"notes.txt","sha":"1"}"#).ok(),
    };
    let new = [Message::new("f", Body::Attachment(body))];
    let document = decode("# %%\n\nHi\n");
    let ids = &mut CountingIds::default();
    let added = put_messages(
        &document,
        &SessionId::default(),
        &new,
        &jiff::tz::TimeZone::UTC,
        ids,
    )
    .unwrap();
    let file = String::from_utf8(added.splice.apply(document.source())).unwrap();
    assert!(
        file.contains("[^a1]: [attachment] kind=\"file\" path=\"notes.txt\"\n\ntext\n"),
        "{file}"
    );
    assert_eq!(added.partial.len(), 1);
    let read = messages(&decode(file), &SessionId::default()).messages;
    let Body::Attachment(read) = &read[1].body else {
        panic!("{read:#?}")
    };
    assert_eq!(read.data, Raw::parse(r#"{"path":"notes.txt"}"#).ok());
}
