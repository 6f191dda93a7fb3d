//! Results of several blocks, and what has no place on the side of a person.

use analects_core::{Block, Content, Json, Message, SessionId, Severity};
use analects_testkit::values::message;

use super::*;
use crate::msgfile::encode_readable;

const CALL: &str = "# %%% [^2.k3f9qx7a]\n\n[^2.k3f9qx7a]: [tool] name=\"draw\" call_id=\"t1\"\n\n<invoke name=\"draw\"/>\n\n";

/// A user's message of these blocks.
fn said(blocks: &str) -> Message {
    let json = format!(r#"{{"v":1,"type":"user","id":"r","parent_id":"c","content":[{blocks}]}}"#);
    Message::from_json(&json).unwrap()
}

/// A conversation with a call `t1`, and then this message.
fn after_call(message: &Message) -> Vec<Message> {
    let question = Message::user("q", "Draw.");
    let call = r#"{"v":1,"type":"assistant","id":"c","parent_id":"q","stop_reason":"tool_use","content":[
        {"type":"tool_use","id":"t1","name":"draw","input":{}}]}"#;
    vec![question, Message::from_json(call).unwrap(), message.clone()]
}

/// The content of a message as JSON.
fn content(message: &Message) -> String {
    let blocks = match message.body.content() {
        Some(Content::Blocks(blocks)) => blocks.iter().map(Json::to_json).collect(),
        other => vec![format!("{other:?}")],
    };
    blocks.join(",")
}

/// Checks that a message comes back from a readable file and from an exact one. Returns the readable one.
#[track_caller]
fn check(message: &Message) -> String {
    let conversation = after_call(message);
    let exact = encode(&conversation, &mut CountingIds::default());
    let (readable, _) = encode_readable(&conversation, &mut CountingIds::default());
    for file in [&exact, &readable] {
        let document = decode(file.as_slice());
        let text = String::from_utf8_lossy(file);
        let read = messages(&document, &SessionId::default());
        let found = read.messages.iter().map(content).nth(2);
        assert_eq!(found, Some(content(message)), "{text}");
        let is_error = |severity| severity == Severity::Error;
        assert!(
            !read.problems.iter().any(|it| is_error(it.severity)),
            "{text}"
        );
        assert!(!text.contains("json=\"message\""), "{text}");
        assert_eq!(person_side(&document), Vec::<String>::new(), "{text}");
    }
    String::from_utf8(readable).unwrap()
}

/// The cells of a person that hold a result or a block.
fn person_side(document: &Document) -> Vec<String> {
    let cells = document.cells().filter(|cell| {
        let is_known = matches!(cell.type_word(), "markdown" | "code" | "raw" | "agent");
        cell.kind() == CellKind::Message && !is_known
    });
    cells.map(|cell| cell.name().into_owned()).collect()
}

const TEXT: &str = r#"{"type":"text","text":"A dot:"}"#;
const PICTURE: &str =
    r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}"#;
const FAR: &str = r#"{"type":"image","source":{"type":"url","url":"https://example.com/a.png"}}"#;

fn result(call: &str, blocks: &[&str]) -> String {
    let blocks = blocks.join(",");
    format!(
        r#"{{"type":"tool_result","tool_use_id":"{call}","content":[{blocks}],"is_error":false}}"#
    )
}

#[test]
fn a_result_of_a_text_and_a_picture_has_a_cell_for_each() {
    let file = check(&said(&result("t1", &[TEXT, PICTURE, TEXT])));
    assert!(
        file.contains(".1]: [tool] status=\"success\"\n\nA dot:\n"),
        "{file}"
    );
    assert!(
        file.contains(
            ".1-2]: [tool] mime_type=\"image/png\" encoding=\"base64\"\n\niVBORw0KGgo=\n"
        ),
        "{file}"
    );
    assert!(file.contains(".1-3]: [tool]\n\nA dot:\n"), "{file}");
}

#[test]
fn any_block_of_a_result_has_a_cell() {
    check(&said(&result("t1", &[PICTURE])));
    check(&said(&result("t1", &[])));
    let file = check(&said(&result("t1", &[TEXT, FAR])));
    assert!(file.contains(".1-2]: [tool] json=\"block\""), "{file}");
    let two = format!(
        "{},{}",
        result("t1", &[TEXT, PICTURE]),
        result("t1", &[TEXT])
    );
    let file = check(&said(&two));
    assert!(file.contains(".2]: [tool]"), "{file}");
}

#[test]
fn a_result_without_a_call_says_which_call_it_answers() {
    let file = check(&said(&result("t9", &[TEXT, PICTURE])));
    assert!(
        file.contains("# %%% [^3.1]\n\n[^3.1]: [tool] call_id=\"t9\" status=\"success\"\n\nA dot:"),
        "{file}"
    );
    assert!(file.contains("# %%% [^3.1-2]\n\n[^3.1-2]: [tool] mime_type=\"image/png\" encoding=\"base64\" call_id=\"t9\""), "{file}");
    let found = messages(&decode(file), &SessionId::default()).problems;
    let codes: Vec<_> = found.iter().map(|it| (&*it.code, it.severity)).collect();
    assert_eq!(codes, [("orphan-result", Severity::Warning); 2]);
}

#[test]
fn a_block_that_only_json_can_express_is_an_output() {
    let file = check(&said(&format!("{TEXT},{FAR}")));
    assert!(
        file.contains("# %%% [^3.block1]\n\n[^3.block1]: [block] part=3"),
        "{file}"
    );
    let file = check(&said(&format!("{FAR},{TEXT}")));
    assert!(
        file.contains("# %% [^3]\n\n[^3]: [markdown] content=\"parts\""),
        "{file}"
    );
    assert!(
        file.contains("# %%% [^3.block1]\n\n[^3.block1]: [block] part=3"),
        "{file}"
    );
    // It is a question, and not an answer to one.
    let (file, _) = encode_readable(&[said(FAR)], &mut CountingIds::default());
    assert_eq!(decode(file).unanswered().len(), 1);
}

#[test]
fn results_typed_by_hand_are_joined() {
    let file = format!(
        "{CALL}# %%% [^2.k3f9qx7a.1]\n\n[^2.k3f9qx7a.1]: [tool] status=\"success\"\n\nA dot:\n\n\
         # %%% [^2.k3f9qx7a.1-2]\n\n[^2.k3f9qx7a.1-2]: [tool] mime_type=\"image/png\" encoding=\"base64\"\n\niVBORw0KGgo=\n\n\
         # %%% [^2.k3f9qx7a.2]\n\n[^2.k3f9qx7a.2]: [tool]\n\nagain\n"
    );
    let read = messages(&decode(file.clone()), &SessionId::default());
    assert_eq!(read.problems, []);
    let found: Vec<String> = read.messages.iter().skip(1).map(content).collect();
    let again = r#"{"type":"tool_result","tool_use_id":"t1","content":"again"}"#;
    assert_eq!(found, [result("t1", &[TEXT, PICTURE]), again.to_string()]);
    assert_eq!(analects_core::chain(&read.messages).problems, []);
    // A hidden part is not sent, and the rest is.
    let hidden = file.replace("[tool] mime_type", "[tool] history=none mime_type");
    let read = messages(&decode(hidden), &SessionId::default()).messages;
    let seen: Vec<Message> = analects_core::verbs::revised(read);
    let seen = seen.iter().filter(|it| it.why_not_sent().is_none());
    assert!(!seen.map(content).any(|it| it.contains("image")));
}

#[test]
fn results_and_blocks_of_a_person_are_reported() {
    let block = "# %% [^1]\n\n[^1]: [block]\n\n```json\n{\"type\":\"text\",\"text\":\"x\"}\n```\n";
    for file in [
        block,
        "# %% [^1]\n\n[^1]: [tool] status=\"success\"\n\nRain\n",
    ] {
        let problems = message_problems(&decode(file), &SessionId::default());
        assert_eq!(problems[0].code, "misplaced-type", "{file}");
    }
    // A block that an earlier version wrote is still read.
    let read = messages(&decode(block), &SessionId::default()).messages;
    assert_eq!(read[0].text(), "x");
}

#[test]
fn a_damaged_result_is_reported() {
    for cell in [
        "[^2.k3f9qx7a.1]: [tool] mime_type=\"image/png\" encoding=\"base64\"\n\nno base64!\n",
        "[^2.k3f9qx7a.1]: [tool] json=\"block\"\n\nno json\n",
    ] {
        let file = format!("{CALL}# %%% [^2.k3f9qx7a.1]\n\n{cell}");
        let problems = message_problems(&decode(file.clone()), &SessionId::default());
        assert!(problems[0].code.starts_with("bad-"), "{file}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_writer_puts_a_result_or_a_block_on_the_side_of_a_person(
        conversation in prop::collection::vec(message(), 0..6)
    ) {
        let exact = encode(&conversation, &mut CountingIds::default());
        let (readable, _) = encode_readable(&conversation, &mut CountingIds::default());
        for file in [exact, readable] {
            let document = decode(file);
            prop_assert_eq!(person_side(&document), Vec::<String>::new());
        }
    }
}

/// The text of a call's result may change although a picture comes after it.
#[test]
fn the_text_of_a_result_can_be_edited() {
    let (file, _) = encode_readable(
        &after_call(&said(&result("t1", &[TEXT, PICTURE]))),
        &mut CountingIds::default(),
    );
    let document = decode(file);
    let read = CellMessages::of(&document, &SessionId::default());
    let call = read
        .target_named(&document, document.cell_at(1).unwrap().id().unwrap())
        .unwrap();
    let changes = [Change::Revise {
        target: call.clone(),
        text: "A point:".into(),
    }];
    let after = apply(&document, &read, &changes, &mut CountingIds::default()).unwrap();
    let text = String::from_utf8_lossy(after.source());
    assert!(
        text.contains("A point:") && text.contains("iVBORw0KGgo="),
        "{text}"
    );
    let block = |message: &Message| matches!(message.body.content(), Some(Content::Blocks(it)) if matches!(it[..], [Block::ToolResult(_)]));
    assert!(
        messages(&after, &SessionId::default())
            .messages
            .iter()
            .any(block)
    );
}
