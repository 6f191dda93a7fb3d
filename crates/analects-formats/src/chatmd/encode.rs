//! Encodes a conversation as chat Markdown. What the dialect cannot represent is listed as losses. The rest is read back
//! exactly.

use analects_core::{Body, Content, Message, SessionId, TokenUsage};
use jiff::tz::TimeZone;

use super::attributes::{write_attribute, write_local_time};
use super::content::text_of;
use super::line::escape;
use super::messages::{ContentShape, NOTE_ATTRIBUTES, TEXT, foreign_item, item_id};
use super::reduce::{ChatTarget, note_attributes, reduce, soften, usual_shape};
use super::{ChatSessionInfo, Dialect, decode, session};
use crate::Loss;
use crate::losses::is_made_up;
use crate::msgfile::encode::{open_fence, stored};

/// An item to write.
///
/// ```
/// use analects_formats::chatmd::NewChatItem;
///
/// let item = NewChatItem::new("USER", "Hello").with("author", "me");
/// assert_eq!(item.to_text("\n"), "> ---\n> <USER author=\"me\" />\n\nHello\n");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewChatItem {
    /// The tag's name, such as `USER`. Anything but ASCII letters is left out.
    pub name: String,
    /// The attributes, in order.
    pub attributes: Vec<(String, String)>,
    /// The attributes of a note-taking program, for a line below the tag.
    pub note_attributes: Vec<(String, String)>,
    /// The text, with pictures as HTML. It is escaped when it is written.
    pub text: String,
}

impl NewChatItem {
    /// Creates an item with nothing but a text.
    pub fn new(name: &str, text: impl Into<String>) -> NewChatItem {
        NewChatItem {
            name: name.to_string(),
            attributes: Vec::new(),
            note_attributes: Vec::new(),
            text: text.into(),
        }
    }

    /// Adds an attribute.
    pub fn with(mut self, key: &str, value: impl Into<String>) -> NewChatItem {
        self.attributes.push((key.to_string(), value.into()));
        self
    }

    /// Converts a message to items, and lists what it loses. The result is usually one item. It is empty for a message that
    /// has no place, and has several items if results of tools become items of their own.
    #[doc(alias = "item2markdown")]
    pub fn of(message: &Message) -> (Vec<NewChatItem>, Vec<Loss>) {
        let messages = std::slice::from_ref(message);
        let reduced = reduce(messages, &message.session_id, &ChatTarget::Ours);
        let items = reduced.messages.iter();
        let items = items.map(|message| item(message, None, &ChatTarget::Ours));
        (items.collect(), reduced.losses)
    }

    /// Writes the whole item, with `line_end` after each of its own lines.
    #[doc(alias = "formatSingleItem")]
    pub fn to_text(&self, line_end: &str) -> String {
        self.write(ItemForm {
            line_end,
            ..ItemForm::default()
        })
    }

    /// Writes the separator, the tag, the note attributes and the text.
    pub(super) fn write(&self, form: ItemForm<'_>) -> String {
        let end = form.line_end;
        let mut out = format!("> ---{end}");
        if form.gap {
            out.push('>');
            out.push_str(end);
        }
        out.push_str(&self.tag(form));
        out.push_str(end);
        if !self.note_attributes.is_empty() {
            out.push_str("{:");
            for (key, value) in &self.note_attributes {
                write_attribute(&mut out, key, value);
            }
            out.push_str(" }");
            out.push_str(end);
        }
        if !self.text.is_empty() {
            out.push_str(end);
            out.push_str(&self.body(end, form.raw));
        }
        out
    }

    /// Writes the tag's line, without its line end.
    pub(super) fn tag(&self, form: ItemForm<'_>) -> String {
        let mut name = self.name.clone();
        name.retain(|c| c.is_ascii_alphabetic());
        let mut out = format!("> <{}", if name.is_empty() { "ITEM" } else { &name });
        if form.raw {
            self.write_raw_attributes(&mut out);
            return out;
        }
        for (key, value) in &self.attributes {
            write_attribute(&mut out, key, value);
        }
        if let Some(words) = stored_words(&self.text, form.apart) {
            write_attribute(&mut out, "stored", &words);
        }
        out.push_str(" />");
        out
    }

    /// Writes the attributes and the end of the tag as the plugin does: without entities, and without a blank at the end.
    fn write_raw_attributes(&self, out: &mut String) {
        for (key, value) in &self.attributes {
            out.push_str(&format!(" {key}=\"{value}\""));
        }
        if self.attributes.is_empty() {
            out.push(' ');
        }
        out.push_str("/>");
    }

    /// Returns the text with its line end. Unless it is raw, it is escaped, and its last code block is closed.
    pub(super) fn body(&self, line_end: &str, raw: bool) -> String {
        // A `\r` at the end of the text must not become part of the line end.
        let after = if self.text.ends_with('\r') {
            "\r\n"
        } else {
            line_end
        };
        let mut text = format!("{}{after}", self.text);
        if raw {
            return text;
        }
        if let Some(closer) = open_fence(&self.text) {
            text.push_str(&closer);
            text.push_str(line_end);
        }
        escape(&text).into_owned()
    }
}

/// How to write an item.
#[derive(Debug, Clone, Copy)]
pub(super) struct ItemForm<'a> {
    /// What ends each of the item's own lines.
    pub(super) line_end: &'a str,
    /// Whether a code block above is still open, so that the item must say that it is not a part of it.
    pub(super) apart: bool,
    /// Whether to write a `>` line between separator and tag.
    pub(super) gap: bool,
    /// Whether to write without escapes, which the plugin does not understand.
    pub(super) raw: bool,
}

impl Default for ItemForm<'_> {
    fn default() -> Self {
        ItemForm {
            line_end: "\n",
            apart: false,
            gap: false,
            raw: false,
        }
    }
}

/// Returns the value of `stored` that a text needs to be read back exactly; `None` if it needs none.
pub(super) fn stored_words(text: &str, apart: bool) -> Option<String> {
    let exact = stored(text, open_fence(text).is_some());
    match (exact, apart) {
        (Some(words), true) => Some(format!("{words} apart")),
        (None, true) => Some("apart".to_string()),
        (words, false) => words,
    }
}

/// Encodes a conversation as chat Markdown, and lists what the dialect cannot represent. The plugin knows no time zones;
/// its times are in UTC.
#[doc(alias = "chatHistoryToMarkdown")]
pub fn encode(
    messages: &[Message],
    session: &ChatSessionInfo,
    dialect: Dialect,
) -> (String, Vec<Loss>) {
    encode_in(messages, session, dialect, &TimeZone::UTC)
}

/// Like [`encode`], with the plugin's times in `zone`.
pub fn encode_in(
    messages: &[Message],
    session: &ChatSessionInfo,
    dialect: Dialect,
    zone: &TimeZone,
) -> (String, Vec<Loss>) {
    let target = ChatTarget::of(dialect, zone);
    let mut session = session.clone();
    let session_id = settle_id(&mut session, messages);
    let mut losses = Vec::new();
    report_sessions(messages, &session_id, &mut losses);
    let reduced = reduce(messages, &session_id, &target);
    losses.extend(reduced.losses);
    let count = reduced.messages.len();
    let mut out = match target {
        ChatTarget::Ours => session::write(&session, count > 0, &mut losses),
        _ => plugin_preamble(&session, count > 0, &mut losses),
    };
    let raw = dialect != Dialect::Ours;
    let is_open = decode::scan(out.as_bytes(), 0).has_open_fence_at(out.len());
    for (at, message) in reduced.messages.iter().enumerate() {
        let implied = item_id(&session_id, at + 1);
        let item = item(message, Some(&implied), &target);
        let is_separator = matches!(message.body, Body::CompactBoundary(_));
        out.push_str(&item.write(ItemForm {
            line_end: "\n",
            apart: is_open && at == 0 && !raw,
            gap: dialect == Dialect::V2 && !is_separator,
            raw,
        }));
        if at + 1 < count {
            out.push('\n');
        }
    }
    (out, losses)
}

/// Returns the id of the conversation: that of the session, or else of the first message. Removes it from `session` if a
/// reader derives it from the file's name anyway.
pub(super) fn settle_id(session: &mut ChatSessionInfo, messages: &[Message]) -> SessionId {
    if let Some(id) = session.id.take().filter(|id| !id.is_empty()) {
        session.id = Some(id.clone());
        return SessionId::from(id);
    }
    let Some(first) = messages.first() else {
        return SessionId::default();
    };
    let id = first.session_id.clone();
    if !id.is_empty() && !is_made_up(&id) {
        session.id = Some(id.to_string());
    }
    id
}

/// Reports the messages of other sessions. A file has only one.
pub(super) fn report_sessions(messages: &[Message], session: &SessionId, losses: &mut Vec<Loss>) {
    for message in messages {
        if message.session_id != *session {
            let why = "all items belong to the file's session";
            losses.push(Loss::of(&message.id, "session_id", why));
        }
    }
}

/// Writes the preamble, the only fact about the conversation that the plugin's files have a place for.
fn plugin_preamble(session: &ChatSessionInfo, items: bool, losses: &mut Vec<Loss>) -> String {
    let lost = [
        ("session_id", session.id.is_some()),
        ("title", session.title.is_some()),
        ("timestamp", session.timestamp.is_some()),
        ("updated", session.updated.is_some()),
        ("tags", !session.tags.is_empty()),
        ("extra", !session.extra.is_empty()),
    ];
    for (what, is_present) in lost {
        if is_present {
            let why = "the plugin's files have no place for it";
            losses.push(Loss::of_session(what, why));
        }
    }
    let Some(preamble) = &session.preamble else {
        return String::new();
    };
    let soft = soften(preamble);
    if soft != *preamble {
        let why = "the plugin cannot read it as it is; blanks or a closing line differ";
        losses.push(Loss::of_session("preamble", why));
    }
    let text = session::write_preamble(&soft, items).into_owned();
    // An empty line keeps it from being read as frontmatter.
    if decode::frontmatter(text.as_bytes(), 0).is_some() {
        format!("\n{text}")
    } else {
        text
    }
}

/// Converts a reduced message to an item. `implied` is the id that a reader derives.
fn item(message: &Message, implied: Option<&str>, target: &ChatTarget) -> NewChatItem {
    let mut item = match foreign_item(message) {
        Some((tag, text)) => NewChatItem::new(&tag, text),
        None => NewChatItem::new(tag_name(&message.body), text_below(message)),
    };
    let mut attributes = known_attributes(message, target);
    if let ChatTarget::Ours = target {
        if implied != Some(&*message.id) {
            attributes.push(("id", message.id.to_string()));
        }
        if let Some(shape) = unusual_shape(&message.body) {
            attributes.push(("content", shape.name().to_string()));
        }
    }
    let attributes = attributes
        .into_iter()
        .map(|(key, value)| (key.to_string(), value));
    item.attributes = with_extra(message, attributes.collect());
    let notes = message.extra.get(NOTE_ATTRIBUTES).and_then(note_attributes);
    item.note_attributes = notes.unwrap_or_default();
    item
}

/// Returns the name of the tag. A reduced message with any other body holds a foreign item, which has its own.
fn tag_name(body: &Body) -> &'static str {
    match body {
        Body::System(_) => "SYSTEM",
        Body::Assistant(_) => "ASSISTANT",
        Body::ToolResult(_) => "TOOL",
        Body::User(_) => "USER",
        Body::CompactBoundary(_) => "SEPERATOR",
        Body::ToolUse(_)
        | Body::Progress(_)
        | Body::Attachment(_)
        | Body::Notification(_)
        | Body::Summary(_)
        | Body::Tombstone(_)
        | Body::Revision(_)
        | Body::State(_)
        | Body::Other(_) => "ITEM",
    }
}

/// Returns the content of a message that items can hold.
fn item_content(body: &Body) -> Option<&Content> {
    match body {
        Body::System(body) => Some(&body.content),
        Body::Assistant(body) => Some(&body.content),
        Body::ToolResult(body) => Some(&body.content),
        Body::User(body) => Some(&body.content),
        Body::CompactBoundary(_)
        | Body::ToolUse(_)
        | Body::Progress(_)
        | Body::Attachment(_)
        | Body::Notification(_)
        | Body::Summary(_)
        | Body::Tombstone(_)
        | Body::Revision(_)
        | Body::State(_)
        | Body::Other(_) => None,
    }
}

/// Returns the text below the tag.
fn text_below(message: &Message) -> String {
    if let Body::CompactBoundary(_) = message.body {
        return message.extra.string(TEXT).unwrap_or_default();
    }
    item_content(&message.body).map(text_of).unwrap_or_default()
}

/// Returns the shape of a content, unless a reader assumes it anyway.
fn unusual_shape(body: &Body) -> Option<ContentShape> {
    let content = item_content(body)?;
    let is_answer = matches!(body, Body::Assistant(_));
    if usual_shape(content, is_answer) == *content {
        return None;
    }
    Some(ContentShape::of(content))
}

/// Returns the fields of a message that have attributes of their own, in the order in which they are written.
fn known_attributes(message: &Message, target: &ChatTarget) -> Vec<(&'static str, String)> {
    let mut known = Vec::new();
    if let Some(author) = &message.author {
        known.push(("author", author.clone()));
    }
    if let Some(time) = message.created_at {
        let text = match target {
            ChatTarget::Plugin(zone) => write_local_time(time, zone),
            _ => time.to_string(),
        };
        known.push(("timestamp", text));
    }
    if let Some(usage) = message.usage.as_deref() {
        add_token_counts(&mut known, usage);
    }
    if let Body::ToolResult(result) = &message.body
        && !result.tool_use_id.is_empty()
    {
        known.push(("tool_call_id", result.tool_use_id.clone()));
    }
    known
}

/// Adds the counts that the plugin knows.
fn add_token_counts(known: &mut Vec<(&'static str, String)>, usage: &TokenUsage) {
    if let Some(count) = usage.input_tokens {
        known.push(("prompt", count.to_string()));
    }
    if let Some(count) = usage.output_tokens {
        known.push(("completion", count.to_string()));
    }
}

/// Adds the extra fields that are attributes. They come last, unless one of them has the name of a known attribute: of
/// repeated attributes, the last one counts.
fn with_extra(message: &Message, known: Vec<(String, String)>) -> Vec<(String, String)> {
    let is_separator = matches!(message.body, Body::CompactBoundary(_));
    let mut extra = Vec::new();
    for (key, value) in message.extra.iter() {
        let (Some(key), Some(value)) = (key.as_string(), value.as_string()) else {
            continue;
        };
        if key != NOTE_ATTRIBUTES && !(is_separator && key == TEXT) {
            extra.push((key, value));
        }
    }
    let is_known = |key: &str| known.iter().any(|(name, _)| name == key);
    if extra.iter().any(|(key, _)| is_known(key)) {
        extra.extend(known);
        return extra;
    }
    known.into_iter().chain(extra).collect()
}
