//! A summary that needs no model: the same eight sections, filled with what can be told without
//! understanding it.

use std::collections::BTreeMap;

use analects_core::{Block, Body, Chain, Content, Message, MessageId, Role};

use super::SECTIONS;
use super::prompt::words;

const LINE: usize = 200;
const LINES: usize = 12;

/// What can be told about a part of a conversation.
#[derive(Debug, Default)]
struct Told {
    tools: BTreeMap<String, u64>,
    files: Vec<String>,
    errors: Vec<String>,
    asked: Vec<String>,
    summary: Option<String>,
    last_answer: Option<String>,
}

/// Summarises the messages from `first` to `last`.
pub(super) fn summary(chain: &Chain<'_>, first: &MessageId, last: &MessageId) -> String {
    let messages = &chain.messages;
    let from = messages
        .iter()
        .position(|message| message.id == *first)
        .unwrap_or(0);
    let to = messages
        .iter()
        .rposition(|message| message.id == *last)
        .unwrap_or(messages.len());
    let mut told = Told::default();
    for message in messages.iter().take(to.saturating_add(1)).skip(from) {
        told.take(message);
    }
    told.write(to + 1 - from)
}

impl Told {
    fn take(&mut self, message: &Message) {
        let content = message.content_to_send();
        let text = content.text();
        let has_words = !text.trim().is_empty();
        if matches!(message.body, Body::Summary(_)) {
            self.summary = Some(text);
        } else if matches!(message.body, Body::User(_)) && has_words {
            self.asked.push(line(&text));
        } else if message.role() == Role::Assistant && has_words {
            self.last_answer = Some(text);
        }
        let Content::Blocks(blocks) = &content else {
            return;
        };
        for block in blocks {
            match block {
                Block::ToolUse(call) => {
                    *self.tools.entry(call.name.clone()).or_default() += 1;
                    self.files.extend(path_in(&call.input));
                }
                Block::ToolResult(result) if result.is_error == Some(true) => {
                    self.errors.push(line(&words(&result.content)));
                }
                Block::Text(_)
                | Block::Image(_)
                | Block::ToolResult(_)
                | Block::Thinking(_)
                | Block::RedactedThinking(_)
                | Block::Document(_)
                | Block::Other(_) => {}
            }
        }
    }

    fn write(self, messages: usize) -> String {
        let tools: Vec<String> = self
            .tools
            .iter()
            .map(|(name, count)| format!("{name} ({count} times)"))
            .collect();
        let mut files = self.files;
        files.sort();
        files.dedup();
        let last = |lines: &[String]| {
            let from = lines.len().saturating_sub(LINES);
            lines[from..]
                .iter()
                .map(|line| format!("- {line}"))
                .collect::<Vec<_>>()
                .join("\n")
        };
        let answer = self.last_answer.as_deref().map(line).unwrap_or_default();
        let asked = self.asked.last().cloned().unwrap_or_default();
        let sections: [String; 8] = [
            tools.join(", "),
            self.asked.first().cloned().unwrap_or_default(),
            last(&files),
            last(&self.errors),
            join(&[
                ("The user last asked", &asked),
                ("The last answer was", &answer),
            ]),
            last(&self.asked),
            String::new(),
            String::new(),
        ];
        let mut out =
            format!("(Made without a model from {messages} messages: their words, in short.)\n");
        if let Some(earlier) = self.summary {
            out.push_str(&format!("\nAn earlier summary:\n\n{earlier}\n"));
        }
        for (name, text) in SECTIONS.iter().zip(sections) {
            let text = if text.is_empty() { "none" } else { &text };
            out.push_str(&format!("\n## {name}\n\n{text}\n"));
        }
        out
    }
}

fn join(parts: &[(&str, &str)]) -> String {
    let said = parts.iter().filter(|(_, text)| !text.is_empty());
    said.map(|(what, text)| format!("{what}: {text}"))
        .collect::<Vec<_>>()
        .join("\n")
}

/// A text on one line, cut.
fn line(text: &str) -> String {
    let one: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match one.char_indices().nth(LINE) {
        Some((at, _)) => format!("{}…", &one[..at]),
        None => one,
    }
}

/// The file that a call is about, by the names that tools use for it.
fn path_in(input: &analects_core::Raw) -> Option<String> {
    let map = input.as_object()?;
    ["file_path", "path", "filename", "file", "notebook_path"]
        .iter()
        .find_map(|key| map.get(key)?.as_string())
        .map(|path| line(&path))
}
