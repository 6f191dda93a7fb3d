//! What holds for every case: requests are valid, a message file with everything gives everything back, and the same
//! bytes always give the same bytes.

use analects_formats::convert::{Conversion, ReadOptions, WriteOptions, format_by_id};
use analects_testkit::{Rules, validate};
use serde_json::Value;

use crate::check::{TARGETS, Target, convert, source_format};
use crate::found::readable;
use crate::gaps;
use crate::marks::Case;
use crate::{
    message_file_calls, message_file_cells, message_file_texts, requests, sessions, transcripts,
};

/// All cases of all formats.
pub fn all_cases() -> Vec<Case> {
    let mut cases = message_file_cells::cases();
    cases.extend(message_file_calls::cases());
    cases.extend(message_file_texts::cases());
    cases.extend(transcripts::cases());
    cases.extend(sessions::claude_code());
    cases.extend(sessions::chat_markdown());
    cases.extend(sessions::chat_session());
    cases.extend(requests::openai());
    cases.extend(requests::anthropic());
    cases
}

/// The rules about what no conversation says: the model, and how long its answer may be.
const SETTINGS: [&str; 2] = ["model", "limit"];

/// Returns where the requests of a file break the rules of their API.
pub fn violations(rules: Rules, output: &[u8]) -> Vec<String> {
    let text = readable(output);
    let mut found = Vec::new();
    for value in serde_json::Deserializer::from_str(&text).into_iter::<Value>() {
        let values = match value.unwrap() {
            Value::Array(values) => values,
            value => vec![value],
        };
        let requests = values
            .iter()
            .filter(|value| value.get("messages").is_some());
        for request in requests {
            let violations = validate(rules, request.to_string().as_bytes());
            let own = violations
                .iter()
                .filter(|violation| !SETTINGS.contains(&violation.rule));
            found.extend(own.map(|violation| violation.to_string()));
        }
    }
    found
}

#[test]
fn requests_are_valid() {
    let mut wrong = Vec::new();
    for case in all_cases() {
        let from = source_format(&case);
        for (id, rules) in [
            ("openai", Rules::OpenAiChat),
            ("anthropic", Rules::Anthropic),
        ] {
            // What a request says itself is copied, valid or not.
            if from.id() == id {
                continue;
            }
            let to = target(id);
            let converted = convert(from, case.file, &case.source, to);
            let found = violations(rules, &converted.output);
            if !found.is_empty() {
                let name = format!("{}: {} → {id}", from.id(), case.name);
                let output = String::from_utf8_lossy(&converted.output).into_owned();
                let text = format!(
                    "==== {name}\n  FALSE: {}\n{output}\n",
                    found.join("\n  FALSE: ")
                );
                wrong.push((name, text));
            }
        }
    }
    gaps::compare("valid", &wrong);
}

fn target(name: &str) -> &'static Target {
    TARGETS.iter().find(|target| target.name == name).unwrap()
}

/// Converts with everything.
fn convert_in_full(from: &str, file: &str, source: &[u8], to: &str, chunk: usize) -> Vec<u8> {
    let read = ReadOptions {
        full: true,
        ..ReadOptions::named(file)
    };
    let write = WriteOptions {
        full: true,
        ..WriteOptions::default()
    };
    let reader = format_by_id(from).unwrap().reader(&read).unwrap();
    let writer = format_by_id(to).unwrap().writer(&write).unwrap();
    let mut conversion = Conversion::new(reader, writer);
    let mut output = Vec::new();
    for bytes in source.chunks(chunk) {
        output.extend(conversion.feed(bytes));
    }
    output.extend(conversion.finish());
    output
}

/// The records of a transcript without their checksums.
fn records(transcript: &[u8]) -> Vec<Value> {
    let text = readable(transcript);
    let lines = text.lines().map(|line| {
        let mut record: Value = serde_json::from_str(line).unwrap();
        record.as_object_mut().unwrap().remove("crc");
        record
    });
    lines.collect()
}

#[test]
fn a_full_message_file_gives_everything_back() {
    let mut wrong = Vec::new();
    for case in all_cases() {
        let id = source_format(&case).id();
        let name = format!("{id}: {}", case.name);
        let direct = convert_in_full(id, case.file, &case.source, "transcript", 1 << 20);
        let file = convert_in_full(id, case.file, &case.source, "msgfile", 1 << 20);
        let back = convert_in_full("msgfile", case.file, &file, "transcript", 1 << 20);
        let mut lines = String::new();
        if records(&direct) != records(&back) {
            let (direct, back) = (readable(&direct), readable(&back));
            lines = format!("  FALSE: the transcripts differ\n{direct}\n----\n{back}\n");
        }
        if ["transcript", "chat-session", "openai", "anthropic"].contains(&id) {
            let again = convert_in_full("msgfile", case.file, &file, id, 1 << 20);
            if !same_values(&case.source, &again) {
                lines += &format!("  FALSE: the values differ\n{}\n", readable(&again));
            }
        }
        if !lines.is_empty() {
            let source = String::from_utf8_lossy(&case.source);
            let text = format!(
                "==== {name}\n{lines}---- source\n{source}\n---- file\n{}\n",
                readable(&file)
            );
            wrong.push(text);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns whether two files hold the same JSON values. Files with lines that are no JSON have none.
fn same_values(source: &[u8], again: &[u8]) -> bool {
    let values = |bytes: &[u8]| {
        let text = readable(bytes);
        let text = text.trim_start_matches('\u{feff}').to_string();
        let values = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
        let values: Result<Vec<Value>, _> = values.collect();
        values.map(|mut values| {
            for value in values.iter_mut().filter_map(Value::as_object_mut) {
                value.remove("crc");
            }
            values
        })
    };
    match (values(source), values(again)) {
        (Ok(source), Ok(again)) => source == again,
        (source, _) => source.is_err(),
    }
}

#[test]
fn the_same_bytes_give_the_same_bytes() {
    for case in all_cases() {
        let id = source_format(&case).id();
        for to in [
            "msgfile",
            "transcript",
            "chatmd",
            "chat-session",
            "openai",
            "anthropic",
            "markdown",
        ] {
            let whole = convert_in_full(id, case.file, &case.source, to, 1 << 20);
            let pieces = convert_in_full(id, case.file, &case.source, to, 7);
            assert_eq!(
                String::from_utf8_lossy(&whole),
                String::from_utf8_lossy(&pieces),
                "{id}: {} → {to}",
                case.name
            );
        }
    }
}
