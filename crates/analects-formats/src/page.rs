//! A conversation as a page of Markdown for people to read. It cannot be read back, so only what a reader
//! would miss counts as lost: messages and blocks that do not show. Names, counts and costs are not shown.

use analects_core::{Block, Body, Content, Image, Message, Source, ToolResult};

use crate::Loss;
use crate::chatmd;
use crate::convert::{
    BufferedWriter, Confidence, FirstPass, Format, FormatReader, FormatWriter, ReadOptions,
    RevisionPass, WriteOptions, WriteOutput,
};
use crate::msgfile::encode::open_fence;

/// Markdown for reading.
#[derive(Debug)]
pub struct MarkdownPageFormat;

impl Format for MarkdownPageFormat {
    fn id(&self) -> &'static str {
        "markdown"
    }

    fn about(&self) -> &'static str {
        "a page of Markdown for people to read"
    }

    fn endings(&self) -> &'static [&'static str] {
        &[".md"]
    }

    fn recognise(&self, _: &[u8], _: &str) -> Confidence {
        Confidence::No
    }

    fn reader(&self, _: &ReadOptions) -> Option<Box<dyn FormatReader>> {
        None
    }

    fn writer(&self, options: &WriteOptions) -> Option<Box<dyn FormatWriter>> {
        self.first_pass(options).map(BufferedWriter::boxed)
    }

    fn first_pass(&self, _: &WriteOptions) -> Option<Box<dyn FirstPass>> {
        Some(RevisionPass::boxed(PageWriter { is_started: false }))
    }
}

struct PageWriter {
    is_started: bool,
}

impl FormatWriter for PageWriter {
    fn push(&mut self, message: &Message, out: &mut WriteOutput) {
        let mut text = String::new();
        if let Body::State(_) = &message.body {
            let (session, rest) = chatmd::split_session_info(vec![message.clone()]);
            if !rest.is_empty() {
                return left_out(message, out);
            }
            let title = session
                .title
                .map(|title| format!("# {}\n", one_line(&title)));
            let preamble = session.preamble.map(|preamble| said(&preamble));
            text = [title, preamble]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join("\n");
            if text.is_empty() {
                return;
            }
        } else {
            let Some(body) = body(message, out) else {
                return left_out(message, out);
            };
            text.push_str(&heading(message));
            if !body.is_empty() {
                text.push('\n');
                text.push_str(&body);
            }
        }
        if self.is_started {
            out.bytes.push(b'\n');
        }
        self.is_started = true;
        out.bytes.extend(text.into_bytes());
    }

    fn finish(self: Box<Self>, _: &mut WriteOutput) {}
}

fn left_out(message: &Message, out: &mut WriteOutput) {
    let name = Some(message.body.type_name()).filter(|name| !name.is_empty());
    let why = "it does not show on a page";
    out.losses
        .push(Loss::of(&message.id, name.unwrap_or("message"), why));
}

/// Who speaks, by name, when, and what is special about it.
fn heading(message: &Message) -> String {
    let who = match &message.body {
        Body::System(_) => "System",
        Body::User(_) => "User",
        Body::Assistant(_) => "Assistant",
        Body::ToolUse(_) => "Tool call",
        Body::ToolResult(_) => "Tool result",
        Body::Attachment(_) => "Attachment",
        Body::Notification(_) => "Notification",
        Body::Summary(_) => "Summary",
        Body::Progress(_)
        | Body::CompactBoundary(_)
        | Body::Tombstone(_)
        | Body::Revision(_)
        | Body::State(_)
        | Body::Other(_) => "Separator",
    };
    let mut notes: Vec<String> = Vec::new();
    notes.extend(
        message
            .author
            .as_deref()
            .or(message.model.as_deref())
            .map(one_line),
    );
    notes.extend(
        message
            .created_at
            .map(|time| time.strftime("%Y-%m-%d %H:%M:%S").to_string()),
    );
    notes.extend(
        message
            .agent_id
            .as_deref()
            .map(|agent| format!("side chain {}", one_line(agent))),
    );
    if message.history != analects_core::History::Include {
        notes.push(format!("history: {}", message.history.as_str()));
    }
    match notes.is_empty() {
        true => format!("## {who}\n"),
        false => format!("## {who} ({})\n", notes.join(", ")),
    }
}

/// A text on one line, without what would steer a terminal.
fn one_line(text: &str) -> String {
    let plain = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    plain.collect::<String>().trim().to_string()
}

/// What a message says; `None` for one that does not show.
fn body(message: &Message, out: &mut WriteOutput) -> Option<String> {
    Some(match &message.body {
        Body::Summary(body) => said(&body.text.as_str()),
        Body::CompactBoundary(_) => String::new(),
        Body::ToolUse(call) => block(message, &Block::ToolUse(call.clone()), out),
        Body::ToolResult(body) => result(message, body, out),
        body @ (Body::System(_)
        | Body::User(_)
        | Body::Assistant(_)
        | Body::Progress(_)
        | Body::Attachment(_)
        | Body::Notification(_)
        | Body::Tombstone(_)
        | Body::Revision(_)
        | Body::State(_)
        | Body::Other(_)) => content(message, body.content()?, out),
    })
}

fn content(message: &Message, content: &Content, out: &mut WriteOutput) -> String {
    match content {
        Content::Empty => String::new(),
        Content::Text(text) => said(&text.as_str()),
        Content::Blocks(blocks) => {
            let parts = blocks.iter().map(|part| block(message, part, out));
            let parts: Vec<String> = parts.filter(|part| !part.is_empty()).collect();
            parts.join("\n")
        }
    }
}

/// A text with its line end, and with its code block closed.
fn said(text: &str) -> String {
    if text.trim().is_empty() {
        return String::new();
    }
    let mut said = text.trim_matches('\n').to_string();
    if let Some(closer) = open_fence(&said) {
        said.push('\n');
        said.push_str(&closer);
    }
    said.push('\n');
    said
}

fn block(message: &Message, block: &Block, out: &mut WriteOutput) -> String {
    match block {
        Block::Text(block) => said(&block.text.as_str()),
        Block::Thinking(block) => {
            quoted(&format!("*Thinking:* {}", block.thinking.as_str().trim()))
        }
        Block::ToolUse(call) => {
            format!(
                "Calls **{}**:\n\n{}",
                one_line(&call.name),
                fenced(call.input.as_str(), "json")
            )
        }
        Block::ToolResult(body) => result(message, body, out),
        Block::Image(image) => match picture(image) {
            Some(line) => line,
            None => lost(message, "image", out),
        },
        Block::RedactedThinking(_) => lost(message, "redacted_thinking", out),
        Block::Document(_) => lost(message, "document", out),
        Block::Other(_) => lost(message, "block", out),
    }
}

fn lost(message: &Message, what: &str, out: &mut WriteOutput) -> String {
    out.losses
        .push(Loss::of(&message.id, what, "it does not show on a page"));
    format!("*({what})*\n")
}

fn picture(image: &Image) -> Option<String> {
    let address = match Source::of(&image.source)? {
        Source::Base64 { media_type, data } => format!("data:{media_type};base64,{data}"),
        Source::Url(address) | Source::File(address) => address,
    };
    let is_odd = |c: char| c.is_control() || c == '>' || c == '<';
    (!address.contains(is_odd)).then(|| format!("![](<{address}>)\n"))
}

fn result(message: &Message, body: &ToolResult, out: &mut WriteOutput) -> String {
    let head = if body.is_error == Some(true) {
        "Result (error):"
    } else {
        "Result:"
    };
    let shown = match &body.content {
        Content::Blocks(blocks) => {
            let part = |part: &Block, out: &mut WriteOutput| {
                if let Block::Text(text) = part {
                    fenced(&text.text.as_str(), "")
                } else {
                    block(message, part, out)
                }
            };
            let parts: Vec<String> = blocks.iter().map(|one| part(one, out)).collect();
            parts.join("\n")
        }
        content => fenced(&content.text(), ""),
    };
    format!("{head}\n\n{shown}")
}

/// A text in a fence that nothing in it closes.
fn fenced(text: &str, language: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let end = if text.ends_with('\n') || text.is_empty() {
        ""
    } else {
        "\n"
    };
    format!("{fence}{language}\n{text}{end}{fence}\n")
}

fn quoted(text: &str) -> String {
    text.lines()
        .map(|line| format!("> {line}").trim_end().to_string() + "\n")
        .collect()
}

#[cfg(test)]
mod tests;
