//! What a message file says and messages have no field for, kept with the messages when a file is converted: titles,
//! attributes that only message files have, ids that an author chose, text that no message holds, and the frontmatter.
//! Every writer meets it there, and a message file gets it back.
//!
//! Each message keeps a list with an object for each of its cells, in `extra` under [`KEY`]. What the file says as a
//! whole is in a state change before the first message.

use std::collections::HashSet;

use analects_core::{
    Block, Body, Content, History, Message, Raw, RawMap, Said, SessionId, StateChange,
};

use super::blocks::fenced_json;
use super::derived_id;
use super::describe::read_tokens;
use super::known::KnownMessages;
use super::partial::PartialMessage;
use super::read::reader_of;
use crate::DecodedFile;
use crate::msgfile::metadata::AttributeRef;
use crate::msgfile::role::names_author;
use crate::msgfile::{Cell, CellKind, CellRole, Document, MetaKey, frontmatter, output};

/// The name under which `extra` and a state change keep what only a message file has a place for.
pub(crate) const KEY: &str = "msgfile";
/// The field with the title of a cell.
pub(crate) const TITLE: &str = "title";
/// The field with the id of a cell.
pub(crate) const ID: &str = "id";
/// The field with the type word of a cell.
pub(crate) const TYPE: &str = "type";
/// The field with the attributes of a cell.
pub(crate) const ATTRIBUTES: &str = "attributes";
/// The field with the parts of the metadata that cannot be read.
pub(crate) const JUNK: &str = "junk";
/// The field with the text of a cell.
pub(crate) const TEXT: &str = "text";
/// The field with the base64 of an output that is no text.
pub(crate) const OUTPUT: &str = "output";
/// The field with the comments in a call.
pub(crate) const COMMENTS: &str = "comments";
/// The field of a state change with the text around the JSON of details.
pub(crate) const DETAILS: &str = "details";
/// The field of a state change with the YAML of the frontmatter.
pub(crate) const FRONTMATTER: &str = "frontmatter";
/// The field of a state change with the cells that hold no message, as they are.
pub(crate) const CELLS: &str = "cells";

/// The values of `result=` that tell the form of a result.
const RESULT_FORMS: [&str; 4] = ["empty", "none", "blocks", "text"];

/// Like [`messages_with_known`](super::messages_with_known), with everything that the file says and messages have no
/// field for.
pub fn messages_with_provenance(
    document: &Document,
    session: &SessionId,
    known: Option<&dyn KnownMessages>,
) -> DecodedFile {
    let reader = reader_of(document, session, document.cells());
    let mut use_of_cells = CellUse::of(document);
    let partials = reader.messages.iter();
    let sources: Vec<MessageCells<'_>> = partials
        .map(|partial| use_of_cells.take_cells(partial))
        .collect();
    let mut decoded = reader.finish(known);
    for (message, source) in decoded.messages.iter_mut().zip(sources) {
        if message.extra.get(KEY).is_none()
            && let Some(kept) = use_of_cells.provenance(&source, message)
        {
            message.extra.push(KEY, kept);
        }
    }
    let own_id = document.frontmatter().id.as_deref();
    let session = own_id.map_or(session.clone(), SessionId::from);
    if let Some(record) = file_record(document, &session, &use_of_cells) {
        if let Some(first) = decoded.messages.first_mut()
            && first.parent_id.is_none()
        {
            first.parent_id = Some(record.id.clone());
        }
        decoded.messages.insert(0, record);
    }
    decoded
}

/// The cells of a message.
struct MessageCells<'a> {
    cells: Vec<Cell<'a>>,
    /// The index of its head in the document.
    head: usize,
}

/// Which cells of a document the messages account for.
struct CellUse {
    /// For each cell, whether a message has it.
    is_used: Vec<bool>,
    /// The ids of cells that outputs of code refer to.
    code: HashSet<String>,
}

impl CellUse {
    /// Starts with cells that no message has.
    fn of(document: &Document) -> CellUse {
        let outputs = document
            .cells()
            .filter(|cell| cell.role() == CellRole::CodeOutput);
        let code = outputs.filter_map(|cell| {
            let (code, _) = cell.id()?.rsplit_once('.')?;
            Some(code.to_string())
        });
        CellUse {
            code: code.collect(),
            is_used: vec![false; document.cells().len()],
        }
    }

    /// Takes the cells of a message, in the order of the file. The boundary of a summary, and the beginning of a rewound
    /// branch, have no cell of their own.
    fn take_cells<'a>(&mut self, partial: &PartialMessage<'a>) -> MessageCells<'a> {
        let mut cells: Vec<Cell<'a>> = partial.cells().collect();
        cells.sort_unstable_by_key(|cell| cell.at);
        cells.retain(|cell| !std::mem::replace(&mut self.is_used[cell.at], true));
        MessageCells {
            cells,
            head: partial.cell.at,
        }
    }

    /// Returns what the cells of a message say beyond the message; `None` if that is nothing.
    fn provenance(&self, source: &MessageCells<'_>, message: &Message) -> Option<Raw> {
        let cells = source.cells.iter();
        let entries: Vec<RawMap> = cells
            .map(|cell| self.entry(*cell, cell.at == source.head, message))
            .collect();
        if entries.iter().all(RawMap::is_empty) {
            return None;
        }
        let entries: Vec<Raw> = entries.iter().map(RawMap::to_raw).collect();
        Some(Raw::array(&entries))
    }

    /// Returns what one cell says beyond its message.
    fn entry(&self, cell: Cell<'_>, is_head: bool, message: &Message) -> RawMap {
        let mut entry = RawMap::new();
        if let Some(id) = cell.id()
            && (!is_generated(id) || self.code.contains(id) || is_code_output(cell))
        {
            entry.push(ID, Raw::string(id));
        }
        let title = cell.full_title();
        if !title.is_empty() {
            entry.push(TITLE, Raw::string(&title));
        }
        if let Some(word) = cell.written_type()
            && !is_type_read(cell, word, message)
        {
            entry.push(TYPE, Raw::string(word));
        }
        let attributes = unread_attributes(cell, is_head, message);
        if !attributes.is_empty() {
            entry.push(ATTRIBUTES, attributes.to_raw());
        }
        let junk: Vec<Raw> = cell.junk().map(|junk| Raw::string(&junk)).collect();
        if !junk.is_empty() {
            entry.push(JUNK, Raw::array(&junk));
        }
        if let Some(text) = unread_text(cell) {
            let field = if is_code_output(cell) { OUTPUT } else { TEXT };
            entry.push(field, Raw::string(&text));
        }
        let comments = comments(cell);
        if !comments.is_empty() {
            entry.push(COMMENTS, Raw::array(&comments));
        }
        entry
    }
}

/// Returns whether a cell is what running code printed.
fn is_code_output(cell: Cell<'_>) -> bool {
    cell.role() == CellRole::CodeOutput
}

/// Returns whether an id may have been made up: a number, or a letter and a number, with anything behind a dot. The
/// further cells of a result have a hyphen and another number.
pub(crate) fn is_generated(id: &str) -> bool {
    let whole = id.split_once('.').map_or(id, |(whole, _)| whole);
    let number = whole.strip_prefix(['a', 'b', 'n', 'p', 's', 't', 'x', 'y']);
    let number = number.unwrap_or(whole);
    let is_number =
        |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    match number.split_once('-') {
        Some((number, part)) => is_number(number) && is_number(part),
        None => is_number(number),
    }
}

/// Returns whether the message says what the type word of one of its cells says.
fn is_type_read(cell: Cell<'_>, word: &str, message: &Message) -> bool {
    match cell.role() {
        CellRole::User => word == "markdown",
        CellRole::CodeOutput => false,
        CellRole::Raw => cell.get(MetaKey::MimeType).is_some(),
        // `assistant` stands for an agent without a name.
        CellRole::Reply | CellRole::Thinking => {
            !names_author(word) || message.author.as_deref() == Some(word)
        }
        CellRole::Code
        | CellRole::UserBlock
        | CellRole::AgentDefinition
        | CellRole::ToolCall
        | CellRole::ToolResult
        | CellRole::System
        | CellRole::Summary
        | CellRole::CompactBoundary
        | CellRole::Attachment
        | CellRole::Notification
        | CellRole::Progress
        | CellRole::Tombstone
        | CellRole::Block
        | CellRole::Details => true,
    }
}

/// Returns the text of a cell that its message does not have.
fn unread_text(cell: Cell<'_>) -> Option<String> {
    let text = match cell.role() {
        CellRole::CompactBoundary | CellRole::Tombstone => cell.content().into_owned(),
        // Bytes that are no text are read as well as they can be.
        CellRole::CodeOutput if cell.get(MetaKey::Encoding) == Some("base64") => {
            let bytes = decode_output(cell);
            let is_text = std::str::from_utf8(&bytes).is_ok();
            return (!is_text).then(|| cell.content().into_owned());
        }
        CellRole::Block | CellRole::UserBlock | CellRole::Progress
            if cell.get(MetaKey::Json).is_some() || cell.role() != CellRole::Progress =>
        {
            text_beside_json(&cell.content())
        }
        CellRole::User
        | CellRole::Code
        | CellRole::Raw
        | CellRole::UserBlock
        | CellRole::AgentDefinition
        | CellRole::Reply
        | CellRole::Thinking
        | CellRole::ToolCall
        | CellRole::ToolResult
        | CellRole::CodeOutput
        | CellRole::System
        | CellRole::Summary
        | CellRole::Attachment
        | CellRole::Notification
        | CellRole::Progress
        | CellRole::Block
        | CellRole::Details => return None,
    };
    (!text.trim().is_empty()).then_some(text)
}

/// Returns the bytes of an output that holds them as base64.
fn decode_output(cell: Cell<'_>) -> Vec<u8> {
    let (chunks, _) = output::decode(&cell.content(), true);
    chunks.into_iter().flat_map(|chunk| chunk.bytes).collect()
}

/// Returns the comments in the XML of a call.
fn comments(cell: Cell<'_>) -> Vec<Raw> {
    if cell.role() != CellRole::ToolCall {
        return Vec::new();
    }
    let text = cell.content();
    let starts = text.split("<!--").skip(1);
    let comments = starts.filter_map(|rest| rest.split_once("-->"));
    comments
        .map(|(comment, _)| Raw::string(comment.trim()))
        .collect()
}

/// Returns the text around the first code block of a cell; nothing if there is none, since the whole text is read then.
fn text_beside_json(text: &str) -> String {
    let Some(json) = fenced_json(text) else {
        return String::new();
    };
    let (before, rest) = text.split_once(&json).unwrap_or_default();
    let lines = before.trim_end_matches('\n').lines();
    let before: Vec<&str> = lines
        .clone()
        .take(lines.count().saturating_sub(1))
        .collect();
    let after: Vec<&str> = rest.trim_start_matches('\n').lines().skip(1).collect();
    let around = [before.join("\n"), after.join("\n")];
    around.join("\n").trim().to_string()
}

/// Returns the attributes of a cell that its message does not have. A repeated one is kept as a list.
fn unread_attributes(cell: Cell<'_>, is_head: bool, message: &Message) -> RawMap {
    let mut unread = RawMap::new();
    for attribute in cell.attribute_refs() {
        if attribute.key() == Some(MetaKey::Title) || is_read(cell, attribute, is_head, message) {
            continue;
        }
        let value = Raw::string(attribute.value());
        match unread.get(attribute.name()).cloned() {
            None => unread.push(attribute.name(), value),
            Some(first) => {
                let mut values = first.as_array().unwrap_or_else(|| vec![first]);
                values.push(value);
                unread.set(attribute.name(), Raw::array(&values));
            }
        }
    }
    unread
}

/// Returns whether a message has what an attribute of one of its cells says.
fn is_read(cell: Cell<'_>, attribute: AttributeRef<'_>, is_head: bool, message: &Message) -> bool {
    let Some(key) = attribute.key() else {
        return false;
    };
    if cell.get(MetaKey::Json) == Some("message") {
        return key == MetaKey::Json;
    }
    let value = attribute.value();
    // Of repeated attributes, the last one counts.
    let is_last = cell.get(key) == Some(value);
    is_last
        && (is_read_of_any(cell, key, value, is_head, message)
            || (is_head && is_read_of_head(cell, key, value, message)))
}

/// Returns whether an attribute is read of any cell of a message.
fn is_read_of_any(
    cell: Cell<'_>,
    key: MetaKey,
    value: &str,
    is_head: bool,
    message: &Message,
) -> bool {
    let role = cell.role();
    let is_binary = cell.get(MetaKey::MimeType).is_some_and(|mime_type| {
        let is_image = mime_type.starts_with("image/");
        let is_base64 = cell.get(MetaKey::Encoding) == Some("base64");
        role == CellRole::Raw || (is_image && is_code_output(cell)) || is_base64
    });
    match key {
        MetaKey::Stored | MetaKey::Title => true,
        MetaKey::Part => !is_head,
        MetaKey::Reasoning => role == CellRole::Thinking,
        MetaKey::Status => role == CellRole::ToolResult && ["success", "failed"].contains(&value),
        MetaKey::Name => role == CellRole::ToolCall && has_call(message, value),
        MetaKey::CallId => {
            let is_of_result = role == CellRole::ToolResult && answers(message, value);
            role == CellRole::ToolCall || is_of_result
        }
        MetaKey::Result => role == CellRole::ToolResult && RESULT_FORMS.contains(&value),
        MetaKey::MimeType => is_binary,
        MetaKey::Encoding => value == "base64" && is_binary && cell.kind() == CellKind::Output,
        MetaKey::History => {
            role == CellRole::ToolCall && History::parse(value) == Some(History::Exclude)
        }
        MetaKey::Author => value.is_empty() || message.author.as_deref() == Some(value),
        MetaKey::AgentId => message.agent_id.as_deref() == Some(value),
        MetaKey::Json => role == CellRole::ToolResult && value == "block",
        MetaKey::Summary
        | MetaKey::Parent
        | MetaKey::Through
        | MetaKey::Agent
        | MetaKey::Time
        | MetaKey::Model
        | MetaKey::Tokens
        | MetaKey::InputTokens
        | MetaKey::OutputTokens
        | MetaKey::CacheReadTokens
        | MetaKey::CacheCreationTokens
        | MetaKey::ReasoningTokens
        | MetaKey::Cost
        | MetaKey::Duration
        | MetaKey::Timeout
        | MetaKey::ResponseId
        | MetaKey::StopReason
        | MetaKey::Error
        | MetaKey::Tool
        | MetaKey::Nonce
        | MetaKey::Content
        | MetaKey::Source
        | MetaKey::Kind
        | MetaKey::Path
        | MetaKey::OutputFile
        | MetaKey::Uuid
        | MetaKey::SessionId
        | MetaKey::From
        | MetaKey::To
        | MetaKey::Count
        | MetaKey::Trigger
        | MetaKey::TokensBefore
        | MetaKey::TokensAfter
        | MetaKey::SummaryId
        | MetaKey::KeptFrom
        | MetaKey::Target
        | MetaKey::TargetParent
        | MetaKey::Models
        | MetaKey::ContextWindow
        | MetaKey::MaxOutputTokens
        | MetaKey::UseTemperature
        | MetaKey::Temperature => false,
    }
}

/// Returns whether a message has a result of the call with this id.
fn answers(message: &Message, call: &str) -> bool {
    let results = Said::of(message).results;
    results.iter().any(|answered| answered == call)
}

/// Returns whether a message makes a call of this name.
fn has_call(message: &Message, name: &str) -> bool {
    let blocks = message.body.content();
    let Some(Content::Blocks(blocks)) = blocks else {
        return false;
    };
    let mut calls = blocks.iter().filter_map(Block::as_tool_use);
    calls.any(|call| call.name == name)
}

/// Returns whether an attribute is read of the head of a message, which describes the message.
fn is_read_of_head(cell: Cell<'_>, key: MetaKey, value: &str, message: &Message) -> bool {
    let role = cell.role();
    let is_number = || value.parse::<u64>().is_ok();
    match key {
        MetaKey::History => History::parse(value) == Some(message.history),
        MetaKey::Summary => message.history != History::Include,
        MetaKey::Parent => value.is_empty() || message.parent_id.is_some() || cell.is_rewind_mark(),
        MetaKey::Through => role == CellRole::Summary,
        MetaKey::Time => message.created_at.is_some(),
        MetaKey::Cost => message.cost_usd.is_some(),
        MetaKey::Duration => message.duration_ms.is_some(),
        MetaKey::Tokens => read_tokens(value).is_some(),
        MetaKey::InputTokens
        | MetaKey::OutputTokens
        | MetaKey::CacheReadTokens
        | MetaKey::CacheCreationTokens
        | MetaKey::ReasoningTokens => is_number() && message.usage.is_some(),
        MetaKey::Error => value == "1",
        MetaKey::StopReason => matches!(message.body, Body::Assistant(_)),
        MetaKey::Source => match &message.body {
            Body::User(body) => body.source.as_ref().is_some_and(|it| it.as_str() == value),
            _ => false,
        },
        MetaKey::Kind => matches!(role, CellRole::Attachment | CellRole::Notification),
        MetaKey::Path => role == CellRole::Attachment,
        MetaKey::From | MetaKey::To => role == CellRole::Summary,
        MetaKey::Count => role == CellRole::Summary && is_number(),
        MetaKey::Trigger | MetaKey::SummaryId | MetaKey::KeptFrom => {
            role == CellRole::CompactBoundary
        }
        MetaKey::TokensBefore | MetaKey::TokensAfter => {
            role == CellRole::CompactBoundary && is_number()
        }
        MetaKey::Target | MetaKey::TargetParent => role == CellRole::Tombstone,
        MetaKey::AgentId
        | MetaKey::Model
        | MetaKey::ResponseId
        | MetaKey::Content
        | MetaKey::Uuid
        | MetaKey::SessionId => true,
        MetaKey::Agent
        | MetaKey::Author
        | MetaKey::Part
        | MetaKey::Timeout
        | MetaKey::Reasoning
        | MetaKey::Status
        | MetaKey::Name
        | MetaKey::CallId
        | MetaKey::Result
        | MetaKey::Tool
        | MetaKey::Nonce
        | MetaKey::Stored
        | MetaKey::Title
        | MetaKey::Json
        | MetaKey::MimeType
        | MetaKey::Encoding
        | MetaKey::OutputFile
        | MetaKey::Models
        | MetaKey::ContextWindow
        | MetaKey::MaxOutputTokens
        | MetaKey::UseTemperature
        | MetaKey::Temperature => false,
    }
}

/// Returns what a file says as a whole, as a change of state; `None` if that is nothing.
fn file_record(document: &Document, session: &SessionId, cells: &CellUse) -> Option<Message> {
    let source = document.source();
    let mut changes = RawMap::new();
    if let Some(title) = &document.frontmatter().title {
        changes.push("title", Raw::string(title));
    }
    let preamble = String::from_utf8_lossy(document.preamble().of(source));
    let preamble = preamble.trim_matches(['\r', '\n']);
    if !preamble.trim().is_empty() {
        let chat = RawMap::from([("preamble", Raw::string(preamble))]);
        changes.push("chat", chat.to_raw());
    }
    let mut own = RawMap::new();
    if let Some(yaml) = yaml_of(document) {
        own.push(FRONTMATTER, Raw::string(&yaml));
    }
    let rest: Vec<Raw> = document
        .cells()
        .filter(|cell| !cells.is_used[cell.at] && says_anything(*cell))
        .map(|cell| Raw::string(String::from_utf8_lossy(cell.bytes(cell.span())).trim_end()))
        .collect();
    if !rest.is_empty() {
        own.push(CELLS, Raw::array(&rest));
    }
    let details = document
        .cells()
        .filter(|cell| cell.role() == CellRole::Details);
    let around: Vec<String> = details
        .map(|cell| unread_details(&cell.content()))
        .filter(|text| !text.is_empty())
        .collect();
    if !around.is_empty() {
        own.push(DETAILS, Raw::string(&around.join("\n\n")));
    }
    if !own.is_empty() {
        changes.push(KEY, own.to_raw());
    }
    if changes.is_empty() {
        return None;
    }
    let body = Body::State(StateChange {
        changes: changes.to_raw(),
        is_snapshot: false,
    });
    Some(Message {
        session_id: session.clone(),
        ..Message::new(derived_id(session, "message file"), body)
    })
}

/// Returns the text of a details cell that is no details.
fn unread_details(text: &str) -> String {
    if fenced_json(text).is_some() {
        return text_beside_json(text);
    }
    let lines = text.lines();
    let unread: Vec<&str> = lines.filter(|line| RawMap::parse(line).is_err()).collect();
    unread.join("\n").trim().to_string()
}

/// Returns the YAML of the frontmatter, unless it says nothing but the id of the conversation.
fn yaml_of(document: &Document) -> Option<String> {
    let span = frontmatter::text_span(document.source(), document.frontmatter_span()?)?;
    let yaml = String::from_utf8_lossy(span.of(document.source())).into_owned();
    let only_id = |line: &str| line.trim().is_empty() || line.starts_with("id:");
    (!yaml.lines().all(only_id)).then_some(yaml)
}

/// Returns whether a cell that belongs to no message says anything. Details are in the messages that they belong to.
fn says_anything(cell: Cell<'_>) -> bool {
    let is_bare = cell.title().is_empty() && cell.attributes().next().is_none();
    let has_own_id = cell.id().is_some_and(|id| !is_generated(id));
    cell.role() != CellRole::Details && !(is_bare && !has_own_id && cell.body().is_empty())
}
