//! A summary without a model: the same eight sections, filled with excerpts.

use std::collections::BTreeMap;

use analects_core::{Block, Body, Chain, Content, Message, MessageId, Raw, Role};

use super::SECTIONS;
use super::prompt::as_text;

/// The maximum length of an excerpt, in characters.
const MAX_EXCERPT: usize = 200;
/// The maximum number of excerpts in a section.
const MAX_EXCERPTS: usize = 12;

/// Excerpts from a part of a conversation.
#[derive(Debug, Default)]
struct ConversationExcerpts {
    tools: BTreeMap<String, u64>,
    files: Vec<String>,
    errors: Vec<String>,
    prompts: Vec<String>,
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
    let mut excerpts = ConversationExcerpts::default();
    for message in messages.iter().take(to.saturating_add(1)).skip(from) {
        excerpts.add(message);
    }
    excerpts.into_summary(to + 1 - from)
}

impl ConversationExcerpts {
    /// Collects the excerpts of one message.
    fn add(&mut self, message: &Message) {
        let content = message.content_to_send();
        let text = content.text();
        let has_text = !text.trim().is_empty();
        if matches!(message.body, Body::Summary(_)) {
            self.summary = Some(text);
        } else if matches!(message.body, Body::User(_)) && has_text {
            self.prompts.push(excerpt(&text));
        } else if message.role() == Role::Assistant && has_text {
            self.last_answer = Some(text);
        }
        if let Content::Blocks(blocks) = &content {
            blocks.iter().for_each(|block| self.add_block(block));
        }
    }

    /// Collects the tools, files and errors of one block.
    fn add_block(&mut self, block: &Block) {
        match block {
            Block::ToolUse(call) => {
                *self.tools.entry(call.name.clone()).or_default() += 1;
                self.files.extend(path_in(&call.input));
            }
            Block::ToolResult(result) if result.is_error == Some(true) => {
                self.errors.push(excerpt(&as_text(&result.content)));
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

    /// Writes the summary of so many messages.
    fn into_summary(self, messages: usize) -> String {
        let mut out =
            format!("(Made without a model from {messages} messages: their words, in short.)\n");
        if let Some(earlier) = &self.summary {
            out.push_str(&format!("\nAn earlier summary:\n\n{earlier}\n"));
        }
        for (name, text) in SECTIONS.iter().zip(self.sections()) {
            let text = if text.is_empty() { "none" } else { &text };
            out.push_str(&format!("\n## {name}\n\n{text}\n"));
        }
        out
    }

    /// The texts of the sections, in the order of [`SECTIONS`].
    fn sections(mut self) -> [String; 8] {
        self.files.sort();
        self.files.dedup();
        [
            self.tool_counts(),
            self.prompts.first().cloned().unwrap_or_default(),
            last_excerpts(&self.files),
            last_excerpts(&self.errors),
            self.status(),
            last_excerpts(&self.prompts),
            String::new(),
            String::new(),
        ]
    }

    /// Lists the tools with the number of their calls.
    fn tool_counts(&self) -> String {
        let counts = self.tools.iter();
        let counts: Vec<String> = counts
            .map(|(name, count)| format!("{name} ({count} times)"))
            .collect();
        counts.join(", ")
    }

    /// The last prompt and the last answer.
    fn status(&self) -> String {
        let mut lines = Vec::new();
        if let Some(prompt) = self.prompts.last().filter(|text| !text.is_empty()) {
            lines.push(format!("The user last asked: {prompt}"));
        }
        let answer = self.last_answer.as_deref().map(excerpt);
        if let Some(answer) = answer.filter(|text| !text.is_empty()) {
            lines.push(format!("The last answer was: {answer}"));
        }
        lines.join("\n")
    }
}

/// Lists the last excerpts, one per line.
fn last_excerpts(excerpts: &[String]) -> String {
    let from = excerpts.len().saturating_sub(MAX_EXCERPTS);
    let lines: Vec<String> = excerpts[from..]
        .iter()
        .map(|excerpt| format!("- {excerpt}"))
        .collect();
    lines.join("\n")
}

/// Returns a text on one line, cut to a maximum length.
fn excerpt(text: &str) -> String {
    let one: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match one.char_indices().nth(MAX_EXCERPT) {
        Some((at, _)) => format!("{}…", &one[..at]),
        None => one,
    }
}

/// Returns the file that a call concerns, by the argument names that tools commonly use.
fn path_in(input: &Raw) -> Option<String> {
    let map = input.as_object()?;
    ["file_path", "path", "filename", "file", "notebook_path"]
        .iter()
        .find_map(|key| map.get(key)?.as_string())
        .map(|path| excerpt(&path))
}
