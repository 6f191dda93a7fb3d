//! Checks every example in the references of the message file and of chat Markdown: a `markdown` fence holds a file, and
//! the `json` fence below it what a reader must get. Only the given keys are compared.
#![allow(clippy::unwrap_used, clippy::panic)]

use analects_core::{Json, Message, Problem};
use analects_formats::chatmd::{self, ChatSessionInfo, Dialect, ItemKind, session_json};
use analects_formats::msgfile;
use serde_json::{Value, json};

const PAGE: &str = include_str!("../../../docs/reference/message-file.md");
const CHAT_PAGE: &str = include_str!("../../../docs/reference/chat-markdown.md");
const AT_LEAST: usize = 25;
const AT_LEAST_OF_CHAT: usize = 15;

/// A fenced block of the page.
struct Block<'a> {
    line: usize,
    info: &'a str,
    text: String,
    /// Whether only blank lines stand between the block before it and this one.
    follows_directly: bool,
}

fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    let mut open: Option<&str> = None;
    let mut follows_directly = false;
    for (line, number) in page.lines().zip(1..) {
        let info = line.trim_start_matches('`');
        let fence = &line[..line.len() - info.len()];
        match open {
            Some(opener) if line == opener => {
                open = None;
                follows_directly = true;
            }
            Some(_) => {
                let text = &mut blocks.last_mut().unwrap().text;
                text.push_str(line);
                text.push('\n');
            }
            None if fence.len() >= 3 => {
                open = Some(fence);
                blocks.push(Block {
                    line: number,
                    info,
                    text: String::new(),
                    follows_directly,
                });
            }
            None => follows_directly &= line.is_empty(),
        }
    }
    assert_eq!(open, None, "the last block is not closed");
    blocks
}

/// What a file says, in the words of the examples: cells as `show` has them, each with the codes of
/// the problems on its lines; the file as a whole; its messages.
struct Found {
    cells: Vec<Value>,
    file: Value,
    messages: Vec<Value>,
}

fn read(info: &str, text: &str) -> Found {
    let words: Vec<&str> = info.split(' ').skip(1).collect();
    let crlf = words.contains(&"crlf");
    let text = if crlf {
        text.replace('\n', "\r\n")
    } else {
        text.to_string()
    };
    let name = words
        .iter()
        .find(|word| word.ends_with(".md"))
        .unwrap_or(&"talk.msg.md");
    let document = msgfile::decode_named(text.as_str(), name);
    assert_eq!(document.to_bytes(), text.as_bytes());
    let decoded = msgfile::messages(&document, &msgfile::session_of(name));
    let problems: Vec<Problem> = document
        .problems()
        .into_iter()
        .chain(decoded.problems.clone())
        .collect();
    let mut file = serde_json::to_value(msgfile::show(&document, name)).unwrap();
    let mut cells = file["cells"].as_array().unwrap().clone();
    for cell in &mut cells {
        let lines = cell["line"].as_u64().unwrap()..=cell["end_line"].as_u64().unwrap();
        let here = problems
            .iter()
            .filter(|problem| lines.contains(&(problem.line as u64)));
        cell["problems"] = here.map(|problem| json!(problem.code)).collect();
    }
    file["problems"] = problems.iter().map(|problem| json!(problem.code)).collect();
    let messages = decoded.messages.iter();
    let messages = messages.map(|message| serde_json::from_str(&message.to_json()).unwrap());
    Found {
        cells,
        file,
        messages: messages.collect(),
    }
}

/// Whether everything that is expected is there; objects may hold more.
fn holds(found: &Value, expected: &Value) -> bool {
    match (found, expected) {
        (Value::Object(found), Value::Object(expected)) => expected.iter().all(|(key, value)| {
            found.get(key).is_some_and(|found| holds(found, value))
                || (value.is_null() && !found.contains_key(key))
        }),
        (Value::Array(found), Value::Array(expected)) => {
            found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| holds(a, b))
        }
        _ => found == expected,
    }
}

fn check(line: usize, found: &Found, expected: &[Value]) {
    let of = |key: &'static str| expected.iter().filter_map(move |value| value.get(key));
    let files: Vec<&Value> = of("file").collect();
    let messages: Value = of("message").cloned().collect();
    let is_cell = |value: &&Value| value.get("file").is_none() && value.get("message").is_none();
    let cells: Value = expected.iter().filter(is_cell).cloned().collect();
    for cell in cells.as_array().unwrap() {
        assert!(
            cell.get("content").is_some() != cell.get("content_base64").is_some(),
            "line {line}: a cell lacks its content"
        );
        for key in ["name", "kind", "role"] {
            assert!(cell.get(key).is_some(), "line {line}: a cell lacks {key}");
        }
    }
    let found_cells = Value::from(found.cells.clone());
    assert!(
        holds(&found_cells, &cells),
        "line {line}: found the cells\n{found_cells:#}"
    );
    for file in files {
        assert!(
            holds(&found.file, file),
            "line {line}: found the file\n{:#}",
            found.file
        );
    }
    let found_messages = Value::from(found.messages.clone());
    let wanted = !messages.as_array().unwrap().is_empty();
    assert!(
        !wanted || holds(&found_messages, &messages),
        "line {line}: found the messages\n{found_messages:#}"
    );
}

#[test]
fn every_example_reads_as_the_page_says() {
    let blocks = blocks(PAGE);
    let is = |block: &Block<'_>, language: &str| block.info.split(' ').next() == Some(language);
    let mut pairs = 0;
    for (at, block) in blocks
        .iter()
        .enumerate()
        .filter(|(_, block)| is(block, "markdown"))
    {
        let next = blocks
            .get(at + 1)
            .filter(|next| is(next, "json") && next.follows_directly);
        let next = next.unwrap_or_else(|| panic!("line {}: no json follows", block.line));
        let expected: Vec<Value> = serde_json::from_str(&next.text)
            .unwrap_or_else(|error| panic!("line {}: {error}", next.line));
        check(block.line, &read(block.info, &block.text), &expected);
        pairs += 1;
    }
    assert!(pairs >= AT_LEAST, "only {pairs} examples");
}

fn json_of(messages: &[Message]) -> Vec<Value> {
    messages
        .iter()
        .map(|message| serde_json::from_str(&message.to_json()).unwrap())
        .collect()
}

fn json_of_session(session: &ChatSessionInfo, system_prompt: Option<String>) -> Value {
    let time = |time: Option<jiff::Timestamp>| time.map(|time| time.to_string());
    json!({
        "id": session.id, "title": session.title, "timestamp": time(session.timestamp),
        "updated": time(session.updated), "tags": session.tags, "preamble": session.preamble,
        "system_prompt": system_prompt,
        "extra": serde_json::from_str::<Value>(session.extra.to_raw().as_str()).unwrap(),
    })
}

/// The items of a file in the words of the examples, each with the codes of the problems in it.
fn chat_items(document: &chatmd::ChatMdDocument, problems: &[Problem]) -> Vec<Value> {
    let item = |item: chatmd::ChatItem<'_>| {
        let kind = match item.kind() {
            ItemKind::System => "system",
            ItemKind::User => "user",
            ItemKind::Assistant => "assistant",
            ItemKind::Tool => "tool",
            ItemKind::Separator => "separator",
            ItemKind::Other => "other",
        };
        let inside = |problem: &&Problem| {
            let start = problem.span.unwrap().start;
            (item.span().start..item.span().end).contains(&start)
        };
        let codes: Vec<&str> = problems.iter().filter(inside).map(|p| &*p.code).collect();
        let attributes: Value = item
            .attributes()
            .into_iter()
            .map(|(key, value)| (key, Value::from(value)))
            .collect::<serde_json::Map<String, Value>>()
            .into();
        json!({
            "name": item.name(), "kind": kind, "attributes": attributes, "text": item.text(),
            "line": document.lines().position(item.span().start).0, "problems": codes,
        })
    };
    document.items().map(item).collect()
}

/// Writes the messages as an example says, and compares the text and the names of what is lost.
fn check_written(line: usize, messages: &[Message], session: &ChatSessionInfo, written: &Value) {
    let dialect = match written["dialect"].as_str() {
        None => Dialect::Ours,
        Some("v1") => Dialect::V1,
        Some("v2") => Dialect::V2,
        Some(other) => panic!("line {line}: {other} is no dialect"),
    };
    let (text, losses) = chatmd::encode(messages, session, dialect);
    let lost: Vec<Value> = losses.iter().map(|loss| json!(loss.what)).collect();
    assert_eq!(
        json!({"text": text, "losses": lost}),
        json!({"text": written["text"], "losses": written["losses"]}),
        "line {line}"
    );
}

fn check_chat(block: &Block<'_>, expected: &[Value]) {
    let words: Vec<&str> = block.info.split(' ').collect();
    let crlf = words.contains(&"crlf");
    let text = if crlf {
        block.text.replace('\n', "\r\n")
    } else {
        block.text.clone()
    };
    let (session, system, items, messages, problems) = match words[0] {
        "json" => {
            let (session, read) = session_json::decode(text.as_bytes());
            (session, None, Vec::new(), read.messages, read.problems)
        }
        _ => {
            let document = chatmd::decode(text.as_str());
            assert_eq!(document.to_bytes(), text.as_bytes());
            let messages = chatmd::messages(&document, &"talk".into()).messages;
            let problems = document.problems();
            let items = chat_items(&document, &problems);
            (
                document.session(),
                document.system_prompt(),
                items,
                messages,
                problems,
            )
        }
    };
    let of = |key: &'static str| expected.iter().filter_map(move |value| value.get(key));
    let line = block.line;
    let wanted: Value = expected
        .iter()
        .filter(|value| value.get("name").is_some())
        .cloned()
        .collect();
    let items = Value::from(items);
    assert!(
        holds(&items, &wanted),
        "line {line}: found the items\n{items:#}"
    );
    for wanted in of("session") {
        let found = json_of_session(&session, system.clone());
        assert!(
            holds(&found, wanted),
            "line {line}: found the session\n{found:#}"
        );
    }
    for wanted in of("file") {
        let codes: Vec<Value> = problems.iter().map(|problem| json!(problem.code)).collect();
        assert_eq!(json!({ "problems": codes }), *wanted, "line {line}");
    }
    let wanted: Value = of("message").cloned().collect();
    let found = Value::from(json_of(&messages));
    let asked = !wanted.as_array().unwrap().is_empty();
    assert!(
        !asked || holds(&found, &wanted),
        "line {line}: found the messages\n{found:#}"
    );
    of("written").for_each(|written| check_written(line, &messages, &session, written));
}

#[test]
fn every_example_of_chat_markdown_reads_as_the_page_says() {
    let blocks = blocks(CHAT_PAGE);
    let is_file =
        |block: &Block<'_>| block.info.starts_with("markdown") || block.info == "json chat";
    let mut pairs = 0;
    for (at, block) in blocks
        .iter()
        .enumerate()
        .filter(|(_, block)| is_file(block))
    {
        let next = blocks
            .get(at + 1)
            .filter(|next| next.info == "json" && next.follows_directly);
        let next = next.unwrap_or_else(|| panic!("line {}: no json follows", block.line));
        let expected: Vec<Value> = serde_json::from_str(&next.text)
            .unwrap_or_else(|error| panic!("line {}: {error}", next.line));
        check_chat(block, &expected);
        pairs += 1;
    }
    assert!(pairs >= AT_LEAST_OF_CHAT, "only {pairs} examples");
}
