//! A conversation as a page of Markdown for people to read. It cannot be read back. What it does not show is a loss, but
//! only words that it does not show matter to its readers: see [`Format::is_for_people`].
//!
//! A page has a heading for each message, with its author and time. Texts are copied as Markdown. Thoughts are quoted, and
//! calls and results are code blocks.
//!
//! ```
//! use analects_core::Message;
//! use analects_formats::convert::{WriteOptions, WriteOutput, format_by_id};
//!
//! let format = format_by_id("markdown").unwrap();
//! let mut writer = format.writer(&WriteOptions::default()).unwrap();
//! let mut out = WriteOutput::default();
//! writer.push(&Message::user("m1", "Hello"), &mut out);
//! writer.finish(&mut out);
//! assert_eq!(out.bytes, b"## User\n\nHello\n");
//! ```
//!
//! # Limitations
//!
//! - Markdown in a text can have headings of its own, which look like those of the page.
//! - Encrypted thoughts, audio, files and documents that are no text are only named, and so are unknown blocks with much
//!   data.

mod blocks;

use analects_core::{
    Block, Body, Content, Document, History, Image, Message, MessageId, Other, Raw, RawMap, Source,
    StateChange, TextBlock, Thinking, ToolResult, ToolUse,
};
use jiff::tz::TimeZone;

use crate::Loss;
use crate::chatmd::{ChatSessionInfo, TakenSession};
use crate::convert::{
    BufferedWriter, Confidence, FirstPass, Format, FormatReader, FormatWriter, ReadOptions,
    RevisionPass, WriteOptions, WriteOutput,
};
use crate::losses::difference::{extra_losses, field_losses, is_applied};
use crate::losses::facts::{answering_agent, cell_titles};
use crate::msgfile::encode::open_fence;

use self::blocks::{ShownBlock, is_safe};

/// The extra field that marks a text as the model's refusal to answer.
const REFUSAL: &str = "refusal";

/// The extra field that marks the arguments of a call as text that is not JSON.
const MALFORMED: &str = "malformed_input";

/// The kind of attachment that is what code printed.
const CODE_OUTPUT: &str = "code_output";

/// The reason for all losses of a page.
const NOT_SHOWN: &str = "it does not show on a page";

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

    fn is_for_people(&self, _: &WriteOptions) -> bool {
        true
    }

    fn reader(&self, _: &ReadOptions) -> Option<Box<dyn FormatReader>> {
        None
    }

    fn writer(&self, options: &WriteOptions) -> Option<Box<dyn FormatWriter>> {
        self.first_pass(options).map(BufferedWriter::boxed)
    }

    fn first_pass(&self, options: &WriteOptions) -> Option<Box<dyn FirstPass>> {
        Some(RevisionPass::boxed(PageWriter {
            is_started: false,
            previous: None,
            zone: options.zone.clone(),
        }))
    }
}

/// Writes the page, a section per message.
struct PageWriter {
    /// Whether anything was written.
    is_started: bool,
    /// The message before.
    previous: Option<MessageId>,
    /// The zone of the times.
    zone: TimeZone,
}

impl FormatWriter for PageWriter {
    fn push(&mut self, message: &Message, out: &mut WriteOutput) {
        let previous = self.previous.replace(message.id.clone());
        if message.parent_id != previous && !matches!(message.body, Body::State(_)) {
            out.losses
                .push(Loss::of(&message.id, "parent_id", NOT_SHOWN));
        }
        let section = match &message.body {
            Body::State(change) => Some(state_section(message, change, &mut out.losses)),
            _ => message_section(message, &self.zone, &mut out.losses),
        };
        let Some(section) = section else {
            if is_applied(message) {
                return;
            }
            let name = Some(message.body.type_name()).filter(|name| !name.is_empty());
            let name = name.unwrap_or("message");
            out.losses.push(Loss::of(&message.id, name, NOT_SHOWN));
            return;
        };
        if section.is_empty() {
            return;
        }
        if self.is_started {
            out.bytes.push(b'\n');
        }
        self.is_started = true;
        out.bytes.extend(section.into_bytes());
    }

    fn finish(self: Box<Self>, _: &mut WriteOutput) {}
}

/// Writes the title, the preamble and the system prompt.
fn state_section(message: &Message, change: &StateChange, losses: &mut Vec<Loss>) -> String {
    let mut parts = Vec::new();
    let taken = TakenSession::of(vec![message.clone()]);
    let ChatSessionInfo {
        id: _,
        title,
        timestamp,
        updated,
        tags,
        preamble,
        extra,
    } = &taken.session;
    losses.extend(taken.losses);
    if let Some(title) = title {
        parts.push(format!("# {}\n", one_line(title)));
    }
    if let Some(preamble) = preamble {
        parts.push(text_block(preamble));
    }
    if let Some(agent) = answering_agent(&change.changes, None)
        && let Some(prompt) = &agent.system_prompt
    {
        let heading = format!("## System ({})\n", one_line(&agent.name));
        parts.push(format!("{heading}\n{}", text_block(prompt)));
    }
    let unshown = [
        ("timestamp", timestamp.is_some()),
        ("updated", updated.is_some()),
        ("tags", !tags.is_empty()),
        ("extra", !extra.is_empty()),
    ];
    for (what, is_lost) in unshown {
        if is_lost {
            losses.push(Loss::of(&message.id, what, NOT_SHOWN));
        }
    }
    parts.join("\n")
}

/// Writes a message under its heading; `None` for a message that is not shown.
fn message_section(message: &Message, zone: &TimeZone, losses: &mut Vec<Loss>) -> Option<String> {
    let mut body = PageBody { message, losses }.body()?;
    losses.extend(unshown_fields(message));
    let is_separator = matches!(message.body, Body::CompactBoundary(_));
    if body.is_empty() && !is_separator {
        body.push_str("*(empty)*\n");
    }
    let mut section = heading(message, zone);
    if !is_separator {
        section.push('\n');
        section.push_str(&body);
    }
    Some(section)
}

/// Lists the fields of a message that its heading does not show.
fn unshown_fields(message: &Message) -> Vec<Loss> {
    let mut shown = Message {
        // Messages follow one another on a page, whatever they follow.
        parent_id: message.parent_id.clone(),
        session_id: message.session_id.clone(),
        created_at: message.created_at,
        agent_id: message.agent_id.clone(),
        author: message.author.clone(),
        history: message.history,
        ..Message::new("", Body::Other(Other::default()))
    };
    if message.author.is_none() || message.author == message.model {
        shown.model.clone_from(&message.model);
    }
    // The whole record of an unknown type is shown, and the data of an event that says nothing else.
    if matches!(message.body, Body::Other(_)) {
        shown.unknown.clone_from(&message.unknown);
    }
    let mut losses = field_losses(message, &shown);
    if shows_data(&message.body) {
        losses.retain(|loss| loss.what != "data");
    }
    // A title and the kind of an event are part of the heading, which also tells a separator from other boundaries.
    losses.retain(|loss| !["title", "trigger", "kind"].contains(&&*loss.what));
    for loss in &mut losses {
        loss.why = NOT_SHOWN.to_string();
    }
    losses
}

/// Returns whether a message is an event without words, of which the data is shown.
fn shows_data(body: &Body) -> bool {
    match body {
        Body::Attachment(body) => body.content.is_empty(),
        Body::Notification(body) => body.content.is_empty(),
        _ => false,
    }
}

/// Writes the heading: the author, the model, the time, and remarks.
fn heading(message: &Message, zone: &TimeZone) -> String {
    let mut notes: Vec<String> = Vec::new();
    if let Some(kind) = event_kind(&message.body).filter(|kind| !kind.is_empty()) {
        notes.push(one_line(kind));
    }
    if let Some(author) = message.author.as_deref().or(message.model.as_deref()) {
        notes.push(one_line(author));
    }
    if let Some(time) = message.created_at {
        let local = time.to_zoned(zone.clone());
        notes.push(local.strftime("%Y-%m-%d %H:%M:%S").to_string());
    }
    if let Some(agent) = &message.agent_id {
        notes.push(format!("side chain {}", one_line(agent)));
    }
    if message.history != History::Include {
        notes.push(format!("history: {}", message.history.as_str()));
    }
    let mut kind = heading_text(&message.body).to_string();
    for title in cell_titles(message) {
        kind.push_str(&format!(": {}", one_line(&title)));
    }
    if notes.is_empty() {
        format!("## {kind}\n")
    } else {
        format!("## {kind} ({})\n", notes.join(", "))
    }
}

/// Returns the first words of a heading. Other bodies than these are never shown.
fn heading_text(body: &Body) -> &'static str {
    match body {
        Body::System(_) => "System",
        Body::User(_) => "User",
        Body::Assistant(_) => "Assistant",
        Body::ToolUse(_) => "Tool call",
        Body::ToolResult(_) => "Tool result",
        Body::Attachment(body) if body.kind.as_str() == CODE_OUTPUT => "Code output",
        Body::Attachment(_) => "Attachment",
        Body::Notification(_) => "Notification",
        Body::Summary(_) => "Summary",
        Body::Other(_) => "Other",
        Body::Progress(_)
        | Body::CompactBoundary(_)
        | Body::Tombstone(_)
        | Body::Revision(_)
        | Body::State(_) => "Separator",
    }
}

/// Returns what kind of event a message is, or the type of a message that is not known.
fn event_kind(body: &Body) -> Option<&str> {
    match body {
        Body::Attachment(body) => Some(body.kind.as_str()).filter(|kind| *kind != CODE_OUTPUT),
        Body::Notification(body) => Some(&body.kind),
        Body::Other(body) => body.type_name.as_deref(),
        Body::System(_)
        | Body::User(_)
        | Body::Assistant(_)
        | Body::ToolUse(_)
        | Body::ToolResult(_)
        | Body::Progress(_)
        | Body::Summary(_)
        | Body::CompactBoundary(_)
        | Body::Tombstone(_)
        | Body::Revision(_)
        | Body::State(_) => None,
    }
}

/// Puts a text on one line and removes control characters, which could steer a terminal.
fn one_line(text: &str) -> String {
    let plain = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    plain.collect::<String>().trim().to_string()
}

/// Writes the body of one message.
struct PageBody<'a> {
    message: &'a Message,
    /// Where to add what is not shown.
    losses: &'a mut Vec<Loss>,
}

impl PageBody<'_> {
    /// Returns the body; `None` for a message that is not shown.
    fn body(mut self) -> Option<String> {
        Some(match &self.message.body {
            Body::Summary(body) => text_block(&body.text.as_str()),
            Body::CompactBoundary(_) => String::new(),
            Body::ToolUse(call) => self.block(&Block::ToolUse(call.clone())),
            Body::ToolResult(body) => self.result(body),
            Body::Attachment(body) => self.event(&body.content, body.data.as_ref()),
            Body::Notification(body) => self.event(&body.content, body.data.as_ref()),
            Body::Other(_) => {
                let fields = self.message.unknown.to_raw();
                self.shown(blocks::unknown("message", &fields))
            }
            body @ (Body::System(_)
            | Body::User(_)
            | Body::Assistant(_)
            | Body::Progress(_)
            | Body::Tombstone(_)
            | Body::Revision(_)
            | Body::State(_)) => self.content(body.content()?),
        })
    }

    /// Writes an event: what is read of it, or else its data.
    fn event(&mut self, content: &Content, data: Option<&Raw>) -> String {
        match data.filter(|_| shows_data(&self.message.body)) {
            Some(data) => self.shown(blocks::unknown("data", data)),
            None => self.content(content),
        }
    }

    /// Writes a block, and adds what is not shown of it.
    fn shown(&mut self, block: ShownBlock) -> String {
        if let Some(what) = block.missing {
            self.losses
                .push(Loss::of(&self.message.id, what, NOT_SHOWN));
        }
        block.markdown
    }

    /// Writes a content as Markdown. Blocks are separated by empty lines.
    fn content(&mut self, content: &Content) -> String {
        match content {
            Content::Empty => String::new(),
            Content::Text(text) => text_block(&text.as_str()),
            Content::Blocks(blocks) => {
                let mut parts: Vec<String> = blocks.iter().map(|block| self.block(block)).collect();
                parts.retain(|part| !part.is_empty());
                parts.join("\n")
            }
        }
    }

    /// Writes a block as Markdown.
    fn block(&mut self, block: &Block) -> String {
        match block {
            Block::Text(block) => {
                let TextBlock { text: _, extra } = block;
                self.lose_fields(&without(extra, &[REFUSAL]));
                text(block)
            }
            Block::Thinking(Thinking {
                thinking,
                signature,
                extra,
            }) => {
                self.lose_if(signature.is_some(), "signature");
                self.lose_fields(extra);
                quote(&format!("*Thinking:* {}", thinking.as_str().trim()))
            }
            Block::ToolUse(call) => {
                let ToolUse {
                    id,
                    name,
                    input: _,
                    extra,
                } = call;
                self.lose_if(!id.is_empty(), "call_id");
                self.lose_fields(&without(extra, &[MALFORMED]));
                format!("Calls **{}**:\n\n{}", one_line(name), arguments(call))
            }
            Block::ToolResult(body) => self.result(body),
            Block::Image(image) => {
                self.lose_fields(&without(&image.extra, &["alt"]));
                picture(image).unwrap_or_else(|| self.not_shown("image"))
            }
            Block::RedactedThinking(_) => self.not_shown("redacted_thinking"),
            Block::Document(document) => {
                let Document { source: _, extra } = document;
                self.lose_fields(&without(extra, &["title", "filename"]));
                self.shown(blocks::document(document))
            }
            Block::Other(raw) => self.shown(blocks::other(raw)),
        }
    }

    /// Adds a loss if a condition holds.
    fn lose_if(&mut self, is_lost: bool, what: &str) {
        if is_lost {
            self.losses
                .push(Loss::of(&self.message.id, what, NOT_SHOWN));
        }
    }

    /// Reports the extra fields of a block.
    fn lose_fields(&mut self, extra: &RawMap) {
        self.losses.extend(extra_losses(&self.message.id, extra));
    }

    /// Writes a placeholder for a block that is not shown.
    fn not_shown(&mut self, what: &str) -> String {
        self.losses
            .push(Loss::of(&self.message.id, what, NOT_SHOWN));
        format!("*({what})*\n")
    }

    /// Writes the result of a call, with its text in code blocks.
    fn result(&mut self, result: &ToolResult) -> String {
        let ToolResult {
            tool_use_id,
            content,
            is_error,
            extra,
        } = result;
        self.lose_if(!tool_use_id.is_empty(), "tool_use_id");
        self.lose_if(*is_error == Some(false), "is_error");
        self.lose_fields(extra);
        let head = if *is_error == Some(true) {
            "Result (error):"
        } else {
            "Result:"
        };
        let text = match content {
            Content::Blocks(blocks) => {
                let parts: Vec<String> = blocks
                    .iter()
                    .map(|block| self.result_block(block))
                    .collect();
                parts.join("\n")
            }
            content => code_block(&content.text(), ""),
        };
        format!("{head}\n\n{text}")
    }

    /// Writes a block of a result. Texts are shown as they are, not as Markdown.
    fn result_block(&mut self, block: &Block) -> String {
        match block {
            Block::Text(TextBlock { text, extra }) => {
                self.lose_fields(extra);
                code_block(&text.as_str(), "")
            }
            block => self.block(block),
        }
    }
}

/// Returns extra fields without those of these names, which are shown.
fn without(extra: &RawMap, names: &[&str]) -> RawMap {
    let mut rest = extra.clone();
    for name in names {
        rest.remove(name);
    }
    rest
}

/// Writes the arguments of a call, which may be text by mistake.
fn arguments(call: &ToolUse) -> String {
    let is_text = call.extra.get(MALFORMED).is_some();
    match call.input.as_string().filter(|_| is_text) {
        Some(text) => code_block(&text, ""),
        None => code_block(call.input.as_str(), "json"),
    }
}

/// Writes a text with its sources. The model's refusal to answer is marked.
fn text(block: &TextBlock) -> String {
    let is_refusal = block
        .extra
        .get(REFUSAL)
        .is_some_and(|mark| mark.as_str() == "true");
    let mut markdown = text_block(&block.text.as_str());
    if is_refusal {
        markdown.insert_str(0, "*Refuses:* ");
    }
    let sources = blocks::sources(block);
    if !sources.is_empty() && !markdown.is_empty() {
        markdown.push('\n');
    }
    markdown + &sources
}

/// Ends a text with a line end, and closes its last code block.
fn text_block(text: &str) -> String {
    if text.trim().is_empty() {
        return String::new();
    }
    let mut block = text.trim_matches('\n').to_string();
    if let Some(closer) = open_fence(&block) {
        block.push('\n');
        block.push_str(&closer);
    }
    block.push('\n');
    block
}

/// Writes an image as a link; `None` if its address is unknown or could break out of the link.
fn picture(image: &Image) -> Option<String> {
    let address = match Source::of(&image.source)? {
        Source::Base64 { media_type, data } => format!("data:{media_type};base64,{data}"),
        Source::Url(address) | Source::File(address) => address,
    };
    if !is_safe(&address) {
        return None;
    }
    let alt = image.extra.string("alt").unwrap_or_default();
    let alt = one_line(&alt.replace(['[', ']', '\\'], " "));
    Some(format!("![{alt}](<{address}>)\n"))
}

/// Puts a text into a fence that nothing in the text closes.
fn code_block(text: &str, language: &str) -> String {
    let backticks = text.split(|c| c != '`').map(str::len);
    let longest = backticks.max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let has_end = text.is_empty() || text.ends_with('\n');
    let line_end = if has_end { "" } else { "\n" };
    format!("{fence}{language}\n{text}{line_end}{fence}\n")
}

/// Turns a text into a block quote.
fn quote(text: &str) -> String {
    let mut quoted = String::new();
    for line in text.lines() {
        quoted.push_str(format!("> {line}").trim_end());
        quoted.push('\n');
    }
    quoted
}

#[cfg(test)]
mod tests;
