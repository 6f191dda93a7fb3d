//! Real sessions, if there are any on this machine: whatever somebody said in one is in the output of each conversion, or
//! a loss names it. A small reader collects what was said.

use std::fs;
use std::path::{Path, PathBuf};

use analects_formats::convert::detect;
use analects_testkit::skip;
use serde_json::Value;

use crate::check::{TARGETS, Target, convert};
use crate::found::{leaves, readable};

/// Something that was said, and the id of the record that says it.
#[derive(Debug)]
struct Said {
    /// What it is, as a loss may name it.
    kind: &'static str,
    record: String,
    text: String,
}

/// How much of a long session is converted, in bytes.
const ENOUGH: usize = 200_000;

/// The sample files of formats that can be read.
fn samples() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/samples");
    let mut found = Vec::new();
    for folder in [
        "claude-code",
        "claude-code-subagents",
        "chat-markdown",
        "malformed",
        "openai",
    ] {
        collect(&root.join(folder), &mut found);
    }
    found.sort();
    found
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, found);
        } else if !path.to_string_lossy().ends_with(".meta.json") {
            found.push(path);
        }
    }
}

#[test]
fn what_was_said_in_real_sessions_is_kept_or_listed() {
    let samples = samples();
    if samples.is_empty() {
        let test = "losses::samples::what_was_said_in_real_sessions_is_kept_or_listed";
        return skip(test, "the samples are not here");
    }
    let mut wrong = Vec::new();
    let mut count = 0;
    for path in samples {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let mut bytes = fs::read(&path).unwrap();
        truncate(&mut bytes);
        let Some(format) = detect(&bytes, &name) else {
            continue;
        };
        let said = what_was_said(&bytes);
        count += said.len();
        for target in TARGETS.iter().filter(|target| target.name != format.id()) {
            for missing in missing(&said, format.id(), &name, &bytes, target) {
                wrong.push(format!("{name} → {}: {missing}", target.name));
            }
        }
    }
    assert!(count > 0, "nothing was said in the samples");
    assert!(
        wrong.is_empty(),
        "{} things of {count}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// Keeps the beginning of a long session, in whole lines.
fn truncate(bytes: &mut Vec<u8>) {
    let rest = bytes.iter().skip(ENOUGH);
    if let Some(end) = rest.copied().position(|byte| byte == b'\n') {
        bytes.truncate(ENOUGH + end + 1);
    }
}

/// Returns what is neither in the output nor listed.
fn missing(said: &[Said], from: &str, name: &str, bytes: &[u8], to: &Target) -> Vec<String> {
    let from = analects_formats::convert::format_by_id(from).unwrap();
    let converted = convert(from, name, bytes, to);
    let output = bare(&all_text(&readable(&converted.output)));
    let mut missing = Vec::new();
    let mut at = 0;
    for said in said {
        let text = bare(&said.text);
        // Most texts come in the order of the file.
        if let Some(found) = output[at..].find(&text) {
            at += found;
        } else if !output.contains(&text)
            && !output.contains(&bare(&as_json(&said.text)))
            && !is_listed(said, &converted.losses)
        {
            let start: String = said.text.chars().take(80).collect();
            missing.push(format!("{} of {}: {start:?}", said.kind, said.record));
        }
    }
    missing
}

/// Returns whether a loss names something that was said. A record without an id is named by its kind.
fn is_listed(said: &Said, losses: &[(String, String)]) -> bool {
    losses.iter().any(|(what, line)| {
        let words = ["message", "item", said.kind];
        let is_kind = words
            .iter()
            .any(|word| what.split([' ', '.']).any(|part| part == *word));
        is_kind && (said.record.is_empty() || line.contains(&said.record))
    })
}

/// Returns all strings of a JSON output, and arguments in them. What is no JSON stays as it is.
fn all_text(output: &str) -> String {
    let mut text = String::new();
    let values = serde_json::Deserializer::from_str(output).into_iter::<Value>();
    for value in values.map_while(Result::ok) {
        leaves(&value, &mut |leaf| {
            if let Ok(arguments @ Value::Object(_)) = serde_json::from_str::<Value>(&leaf) {
                leaves(&arguments, &mut |leaf| text.push_str(&leaf));
            }
            text.push_str(&leaf);
            text.push('\n');
        });
    }
    if text.is_empty() {
        output.to_string()
    } else {
        text
    }
}

/// Returns a text as it is within JSON, as calls are in pages.
fn as_json(text: &str) -> String {
    let json = Value::from(text).to_string();
    json[1..json.len() - 1].to_string()
}

/// Returns a text without what formats add to it: blanks, marks of quotes, escapes and entities.
fn bare(text: &str) -> String {
    let text = text
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&#13;", "")
        .replace("&amp;", "&");
    let is_added =
        |c: &char| c.is_whitespace() || c.is_control() || matches!(c, '>' | '\\' | '\u{feff}');
    text.chars().filter(|c| !is_added(c)).collect()
}

/// Collects what was said in JSON Lines: the contents of messages, summaries, and messages within records.
fn what_was_said(bytes: &[u8]) -> Vec<Said> {
    let text = String::from_utf8_lossy(bytes);
    if !text.trim_start_matches('\u{feff}').starts_with('{') {
        return items(&text);
    }
    let mut said = Vec::new();
    for line in text.lines() {
        let Ok(record) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        // Fine-tuning files hold a request a line.
        for message in record["messages"].as_array().into_iter().flatten() {
            add_content(&mut said, "", "message", &message["content"]);
        }
        let id = record["uuid"].as_str().unwrap_or_default();
        let kind = record["type"].as_str().unwrap_or_default();
        let is_said = ["user", "assistant"].contains(&kind) || kind.is_empty();
        if is_said && !id.is_empty() {
            add_content(&mut said, id, "message", &record["message"]["content"]);
        }
        let inner = &record["data"]["message"];
        let inner_id = inner["uuid"].as_str().unwrap_or_default();
        if kind == "progress" && record["data"]["type"] == "agent_progress" {
            add_content(&mut said, inner_id, "message", &inner["message"]["content"]);
        }
    }
    said.retain(|said| !bare(&said.text).is_empty());
    said
}

/// Collects the words of a content: its texts, thoughts, calls, results and pictures.
fn add_content(said: &mut Vec<Said>, record: &str, kind: &'static str, content: &Value) {
    if let Some(text) = content.as_str() {
        add(said, record, kind, text);
    }
    for block in content.as_array().into_iter().flatten() {
        let text = |key: &str| block[key].as_str().unwrap_or_default();
        match text("type") {
            "text" => add(said, record, kind, text("text")),
            "thinking" => add(said, record, "thinking", text("thinking")),
            "image" => {
                let data = block["source"]["data"].as_str().unwrap_or_default();
                add(said, record, "image", data);
            }
            "tool_use" => {
                add(said, record, "tool_use", text("name"));
                leaves(&block["input"], &mut |leaf| {
                    add(said, record, "tool_use", &leaf)
                });
            }
            "tool_result" => add_content(said, record, "tool_result", &block["content"]),
            _ => {}
        }
    }
}

fn add(said: &mut Vec<Said>, record: &str, kind: &'static str, text: &str) {
    said.push(Said {
        kind,
        record: record.to_string(),
        text: text.to_string(),
    });
}

/// Collects the lines of chat Markdown that are neither tags nor pictures, without its frontmatter.
fn items(text: &str) -> Vec<Said> {
    let front = text
        .strip_prefix("---\n")
        .and_then(|text| text.split_once("\n---\n"));
    let text = front.map_or(text, |(_, text)| text);
    let mut said = Vec::new();
    for line in text.lines() {
        let is_mark = line.starts_with("> ") || line.starts_with('<') || line.starts_with("{:");
        if !is_mark && !bare(line).is_empty() {
            add(&mut said, "", "message", line);
        }
    }
    said
}
