//! Turns items into messages. Each message follows the previous one.

use analects_core::{
    Assistant, Block, Body, CompactBoundary, CompactTrigger, Content, LineIndex, Message,
    MessageId, Other, Problem, Raw, RawMap, SessionId, Severity, StopReason, System, TokenUsage,
    ToolResult, User,
};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::attributes::read_time;
use super::content::content_of;
use super::reduce::usual_shape;
use super::{ChatItem, ChatMdDocument, ItemKind};
use crate::DecodedFile;
use crate::msgfile::messages::derived_id;

/// The type of a message that holds an item with an unknown tag.
pub(super) const CHAT_ITEM: &str = "chat_item";
/// The extra field for the attributes that a note-taking program adds below a tag.
pub(super) const NOTE_ATTRIBUTES: &str = "kramdown";
/// The extra field for text below a SEPERATOR.
pub(super) const TEXT: &str = "text";
/// Attributes that never become extra fields of a message.
pub(super) const RESERVED: [&str; 4] = ["id", "stored", "content", NOTE_ATTRIBUTES];

/// Reads the messages of a document. `session` is the id of the conversation if the frontmatter has none. Times without a
/// zone are taken as UTC.
#[doc(alias = "IMessage")]
pub fn messages(document: &ChatMdDocument, session: &SessionId) -> DecodedFile {
    messages_in(document, session, &TimeZone::UTC)
}

/// Like [`messages`], with times without a zone taken as times of `zone`.
///
/// ```
/// use analects_formats::chatmd::{decode, messages_in};
/// use jiff::tz::{TimeZone, offset};
///
/// let document = decode("> ---\n> <USER timestamp=\"2025-05-07 14:01:32\" />\n\nHello\n");
/// let zone = TimeZone::fixed(offset(2));
/// let read = messages_in(&document, &"talk".into(), &zone);
/// assert_eq!(read.messages[0].created_at.unwrap().to_string(), "2025-05-07T12:01:32Z");
/// ```
pub fn messages_in(document: &ChatMdDocument, session: &SessionId, zone: &TimeZone) -> DecodedFile {
    let own_id = document.session_in(zone).id;
    let session = own_id.map_or(session.clone(), SessionId::from);
    let lines = document.lines();
    let mut decoded = DecodedFile::default();
    let mut parent_id = None;
    for item in document.items() {
        let reader = ItemReader {
            item,
            attributes: ItemAttributes(item.attributes()),
            zone,
            lines: &lines,
            problems: &mut decoded.problems,
        };
        let mut message = reader.message(&session);
        message.parent_id = parent_id.replace(message.id.clone());
        decoded.messages.push(message);
    }
    decoded
}

/// Derives the id of an item without one from its session and its position, counted from 1.
pub(super) fn item_id(session: &SessionId, ordinal: usize) -> MessageId {
    derived_id(session, &format!("item {ordinal}"))
}

/// Reads one item.
struct ItemReader<'a> {
    item: ChatItem<'a>,
    /// The attributes that were not taken so far.
    attributes: ItemAttributes,
    /// The zone of times without one.
    zone: &'a TimeZone,
    /// Finds the line numbers of problems.
    lines: &'a LineIndex<'a>,
    problems: &'a mut Vec<Problem>,
}

/// The attributes of a tag. The reader takes those that it understands.
struct ItemAttributes(Vec<(String, String)>);

impl ItemAttributes {
    /// Removes the last attribute of a name if `read` understands its value, and returns what it read.
    fn take<T>(&mut self, key: &str, read: impl FnOnce(&str) -> Option<T>) -> Option<T> {
        let at = self.0.iter().rposition(|(name, _)| name == key)?;
        let value = read(&self.0[at].1)?;
        self.0.remove(at);
        Some(value)
    }

    /// Removes the last attribute of a name and returns its value as it is.
    fn take_text(&mut self, key: &str) -> Option<String> {
        self.take(key, |value| Some(value.to_string()))
    }

    /// Returns whether an attribute of this name is left.
    fn has(&self, key: &str) -> bool {
        self.0.iter().any(|(name, _)| name == key)
    }
}

impl ItemReader<'_> {
    /// Reads the item. Attributes that nothing takes become extra fields.
    fn message(mut self, session: &SessionId) -> Message {
        self.attributes.take_text("stored");
        let id = self.attributes.take_text("id").filter(|id| !id.is_empty());
        let id = id.map_or_else(|| item_id(session, self.item.ordinal()), MessageId::from);
        let mut message = Message::new(id, self.body());
        if let Body::CompactBoundary(_) = message.body {
            self.read_separator_text(&mut message);
        }
        message.session_id = session.clone();
        message.author = self.attributes.take_text("author");
        message.created_at = self.time();
        message.usage = self.usage().map(Box::new);
        self.read_note_attributes(&mut message);
        for (key, value) in self.attributes.0 {
            message.extra.push(&key, Raw::string(&value));
        }
        if let Body::Other(_) = message.body {
            let tag = Raw::string(&self.item.name());
            let text = Raw::string(&self.item.text());
            message.unknown.push("tag", tag);
            message.unknown.push("content", text);
        }
        message
    }

    /// Builds the body that belongs to the tag.
    fn body(&mut self) -> Body {
        match self.item.kind() {
            ItemKind::System => Body::System(System {
                content: self.content(false),
            }),
            ItemKind::User => Body::User(User {
                content: self.content(false),
                ..User::default()
            }),
            ItemKind::Assistant => Body::Assistant(Assistant {
                content: self.content(true),
                stop_reason: Some(StopReason::EndTurn),
            }),
            ItemKind::Tool => {
                let call_id = self.attributes.take_text("tool_call_id");
                Body::ToolResult(ToolResult {
                    tool_use_id: call_id.unwrap_or_default(),
                    content: self.content(false),
                    ..ToolResult::default()
                })
            }
            ItemKind::Separator => Body::CompactBoundary(CompactBoundary {
                trigger: Some(CompactTrigger::Separator),
                ..CompactBoundary::default()
            }),
            ItemKind::Other => self.foreign_body(),
        }
    }

    /// Reports an unknown tag. The tag and the text are kept in unknown fields.
    fn foreign_body(&mut self) -> Body {
        let text = format!("the tag <{}> is not known here", self.item.name());
        let hint = "the item is kept; write USER, ASSISTANT, SYSTEM, TOOL or SEPERATOR";
        self.add_problem(Problem::warning("unknown-tag", text).hint(hint));
        Body::Other(Other {
            type_name: Some(CHAT_ITEM.to_string()),
        })
    }

    /// Keeps the text below a separator. Without one, an attribute `text` comes back in its place.
    fn read_separator_text(&mut self, message: &mut Message) {
        let text = self.item.text().into_owned();
        if !text.is_empty() {
            let problem = Problem::warning("separator-text", "there is text below a separator")
                .hint("the model never sees it: give it a tag of its own")
                .with(Severity::Hint);
            self.add_problem(problem);
        }
        let text = Some(text).filter(|text| !text.is_empty());
        if let Some(text) = text.or_else(|| self.attributes.take_text(TEXT)) {
            message.extra.push(TEXT, Raw::string(&text));
        }
    }

    /// Reads the content. An answer is blocks and anything else is a text, unless it has pictures or the attribute
    /// `content` says so.
    fn content(&mut self, is_answer: bool) -> Content {
        let content = content_of(&self.item.text());
        let shape = self.attributes.take("content", ContentShape::from_name);
        let Content::Text(text) = content else {
            return content;
        };
        match shape {
            Some(ContentShape::Text) => Content::Text(text),
            Some(ContentShape::Blocks) => Content::Blocks(vec![Block::from_text(text)]),
            Some(ContentShape::Empty) => Content::Empty,
            Some(ContentShape::NoBlocks) => Content::Blocks(Vec::new()),
            None => usual_shape(&Content::Text(text), is_answer),
        }
    }

    /// Reads the time. Older files name the attribute `time`.
    fn time(&mut self) -> Option<Timestamp> {
        let key = if self.attributes.has("timestamp") {
            "timestamp"
        } else {
            "time"
        };
        let time = self.attributes.take(key, |text| read_time(text, self.zone));
        if time.is_none() {
            self.report_unread(key, "a time such as 2025-05-07 14:01:32");
        }
        time
    }

    /// Reads the two token counts that a tag can have; `None` if it has neither.
    fn usage(&mut self) -> Option<TokenUsage> {
        let usage = TokenUsage {
            input_tokens: self.token_count("prompt"),
            output_tokens: self.token_count("completion"),
            ..TokenUsage::default()
        };
        (!usage.is_empty()).then_some(usage)
    }

    /// Reads one count. A value that is not a plain number is reported and stays an extra field.
    fn token_count(&mut self, key: &str) -> Option<u64> {
        let count = self.attributes.take(key, read_count);
        if count.is_none() {
            self.report_unread(key, "a number of tokens");
        }
        count
    }

    /// Keeps the attributes below the tag in one extra field.
    fn read_note_attributes(&mut self, message: &mut Message) {
        let notes = self.item.note_attributes();
        if notes.is_empty() {
            return;
        }
        let notes = notes.iter().map(|(key, value)| (key, Raw::string(value)));
        let notes: RawMap = notes.collect();
        message.extra.push(NOTE_ATTRIBUTES, notes.to_raw());
    }

    /// Reports a known attribute that was not taken, because its value cannot be read.
    fn report_unread(&mut self, key: &str, expected: &str) {
        if !self.attributes.has(key) {
            return;
        }
        let value = self.item.attribute(key).unwrap_or_default();
        let text = format!("cannot read {key}={value:?}; expected {expected}");
        self.add_problem(Problem::warning("bad-attribute", text).hint("it is kept as it is"));
    }

    /// Reports a problem at the tag.
    fn add_problem(&mut self, problem: Problem) {
        self.problems.push(problem.at(self.item.tag(), self.lines));
    }
}

/// The form of a content, as the attribute `content` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ContentShape {
    /// A text, although it is an answer.
    Text,
    /// A list of one text, although it is not an answer.
    Blocks,
    /// No content at all.
    Empty,
    /// A list without blocks.
    NoBlocks,
}

impl ContentShape {
    /// Returns the shape of a content.
    pub(super) fn of(content: &Content) -> ContentShape {
        match content {
            Content::Empty => ContentShape::Empty,
            Content::Text(_) => ContentShape::Text,
            Content::Blocks(blocks) if blocks.is_empty() => ContentShape::NoBlocks,
            Content::Blocks(_) => ContentShape::Blocks,
        }
    }

    /// Reads the value of the attribute `content`; `None` if it is unknown.
    fn from_name(name: &str) -> Option<ContentShape> {
        match name {
            "text" => Some(ContentShape::Text),
            "blocks" => Some(ContentShape::Blocks),
            "empty" => Some(ContentShape::Empty),
            "none" => Some(ContentShape::NoBlocks),
            _ => None,
        }
    }

    /// Returns the value of the attribute `content`.
    pub(super) fn name(self) -> &'static str {
        match self {
            ContentShape::Text => "text",
            ContentShape::Blocks => "blocks",
            ContentShape::Empty => "empty",
            ContentShape::NoBlocks => "none",
        }
    }
}

/// Reads a count; `None` unless it is written the same way again.
fn read_count(text: &str) -> Option<u64> {
    let count: u64 = text.parse().ok()?;
    (count.to_string() == text).then_some(count)
}

/// Returns whether an extra field would be read as a field that the message does not have.
pub(super) fn reads_as_field(key: &str, value: &str, message: &Message) -> bool {
    let usage = message.usage.as_deref();
    match key {
        "author" => message.author.is_none(),
        "timestamp" | "time" => {
            message.created_at.is_none() && read_time(value, &TimeZone::UTC).is_some()
        }
        "prompt" => {
            let count = usage.and_then(|usage| usage.input_tokens);
            count.is_none() && read_count(value).is_some()
        }
        "completion" => {
            let count = usage.and_then(|usage| usage.output_tokens);
            count.is_none() && read_count(value).is_some()
        }
        "tool_call_id" => {
            matches!(&message.body, Body::ToolResult(result) if result.tool_use_id.is_empty())
        }
        _ => false,
    }
}

/// Returns the tag and the text of an item with an unknown tag that a message holds, if the message says nothing else.
pub(super) fn foreign_item(message: &Message) -> Option<(String, String)> {
    let Body::Other(other) = &message.body else {
        return None;
    };
    if other.type_name.as_deref() != Some(CHAT_ITEM) {
        return None;
    }
    let tag = message.unknown.string("tag")?;
    let text = message.unknown.string("content")?;
    let exact = RawMap::from([("tag", Raw::string(&tag)), ("content", Raw::string(&text))]);
    let is_name = !tag.is_empty() && tag.bytes().all(|byte| byte.is_ascii_alphabetic());
    let is_unknown = is_name && ItemKind::of(&tag) == ItemKind::Other;
    (is_unknown && message.unknown == exact).then_some((tag, text))
}
