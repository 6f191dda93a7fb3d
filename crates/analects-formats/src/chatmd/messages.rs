//! Items in, messages out. Each follows the one before it.

use analects_core::{
    Assistant, Block, Body, CompactBoundary, CompactTrigger, Content, LineIndex, Message,
    MessageId, Other, Problem, Raw, RawMap, SessionId, Severity, StopReason, System, TokenUsage,
    ToolResult, User,
};
use jiff::tz::TimeZone;

use super::attributes::read_time;
use super::content::content_of;
use super::{ChatItem, ChatMdDocument, ItemKind};
use crate::DecodedFile;
use crate::msgfile::messages::derived_id;

/// The type of a message that stands for an item of another name.
pub(super) const CHAT_ITEM: &str = "chat_item";
/// The extra field for the attributes that a note-taking program keeps below a tag.
pub(super) const NOTE_ATTRIBUTES: &str = "kramdown";
/// The extra field for what somebody typed below a SEPERATOR.
pub(super) const TEXT: &str = "text";
/// AttributeScanner that are never a message's extra fields.
pub(super) const RESERVED: [&str; 4] = ["id", "stored", "content", NOTE_ATTRIBUTES];

/// The messages of a document. `session` names the conversation if the frontmatter does not. Times
/// without a zone are taken as UTC.
#[doc(alias = "IMessage")]
pub fn messages(document: &ChatMdDocument, session: &SessionId) -> DecodedFile {
    messages_in(document, session, &TimeZone::UTC)
}

/// The same, with times without a zone taken as those of `zone`.
pub fn messages_in(document: &ChatMdDocument, session: &SessionId, zone: &TimeZone) -> DecodedFile {
    let session = document
        .session_in(zone)
        .id
        .map_or(session.clone(), SessionId::from);
    let lines = document.lines();
    let mut decoded = DecodedFile::default();
    for item in document.items() {
        let mut reader = ItemReader {
            item,
            zone,
            lines: &lines,
            problems: &mut decoded.problems,
        };
        let mut message = reader.message(&session);
        message.parent_id = decoded
            .messages
            .last()
            .map(|last: &Message| last.id.clone());
        decoded.messages.push(message);
    }
    decoded
}

/// The name of an item that has none of its own: made of its session's and its place.
pub(super) fn item_id(session: &SessionId, ordinal: usize) -> MessageId {
    derived_id(session, &format!("item {ordinal}"))
}

struct ItemReader<'a> {
    item: ChatItem<'a>,
    zone: &'a TimeZone,
    lines: &'a LineIndex<'a>,
    problems: &'a mut Vec<Problem>,
}

/// The attributes of a tag, from which those that are known are taken.
struct KnownAttributes(Vec<(String, String)>);

impl KnownAttributes {
    /// Takes the last attribute of a name if `read` makes something of it.
    fn take<T>(&mut self, key: &str, read: impl FnOnce(&str) -> Option<T>) -> Option<T> {
        let at = self.0.iter().rposition(|(name, _)| name == key)?;
        let value = read(&self.0[at].1)?;
        self.0.remove(at);
        Some(value)
    }

    fn text(&mut self, key: &str) -> Option<String> {
        self.take(key, |value| Some(value.to_string()))
    }

    fn has(&self, key: &str) -> bool {
        self.0.iter().any(|(name, _)| name == key)
    }
}

impl ItemReader<'_> {
    fn message(&mut self, session: &SessionId) -> Message {
        let mut known = KnownAttributes(self.item.attributes());
        known.text("stored");
        let id = known.text("id").filter(|id| !id.is_empty());
        let id = id.map_or_else(|| item_id(session, self.item.ordinal()), MessageId::from);
        let (body, text) = self.body(&mut known);
        let mut message = Message::new(id, body);
        message.session_id = session.clone();
        message.author = known.text("author");
        message.created_at = self.time(&mut known);
        message.usage = self.usage(&mut known).map(Box::new);
        if let Some(text) = text {
            message.extra.push(TEXT, Raw::string(&text));
        }
        self.take_notes(&mut message);
        for (key, value) in known.0 {
            message.extra.push(&key, Raw::string(&value));
        }
        if let Body::Other(_) = message.body {
            message.unknown.push("tag", Raw::string(&self.item.name()));
            message
                .unknown
                .push("content", Raw::string(&self.item.text()));
        }
        message
    }

    /// The body, and the text of an item that should have none.
    fn body(&mut self, known: &mut KnownAttributes) -> (Body, Option<String>) {
        let body = match self.item.kind() {
            ItemKind::System => Body::System(System {
                content: self.content(known, false),
            }),
            ItemKind::User => Body::User(User {
                content: self.content(known, false),
                ..User::default()
            }),
            ItemKind::Assistant => Body::Assistant(Assistant {
                content: self.content(known, true),
                stop_reason: Some(StopReason::EndTurn),
            }),
            ItemKind::Tool => Body::ToolResult(ToolResult {
                tool_use_id: known.text("tool_call_id").unwrap_or_default(),
                content: self.content(known, false),
                ..ToolResult::default()
            }),
            ItemKind::Separator => return self.separator(known),
            ItemKind::Other => {
                let text = format!("the tag <{}> is not known here", self.item.name());
                let problem = Problem::warning("unknown-tag", text)
                    .hint("the item is kept; write USER, ASSISTANT, SYSTEM, TOOL or SEPERATOR");
                self.report(problem);
                Body::Other(Other {
                    type_name: Some(CHAT_ITEM.to_string()),
                })
            }
        };
        (body, None)
    }

    fn separator(&mut self, known: &mut KnownAttributes) -> (Body, Option<String>) {
        let text = self.item.text().into_owned();
        if !text.is_empty() {
            let problem = Problem::warning("separator-text", "there is text below a separator")
                .hint("the model never sees it: give it a tag of its own")
                .with(Severity::Hint);
            self.report(problem);
        }
        let trigger = Some(CompactTrigger::Separator);
        let boundary = CompactBoundary {
            trigger,
            ..CompactBoundary::default()
        };
        // Without a text below the tag, an attribute of that name is one, and stands in its place.
        let text = Some(text)
            .filter(|text| !text.is_empty())
            .or_else(|| known.text(TEXT));
        (Body::CompactBoundary(boundary), text)
    }

    /// The content: an answer is blocks, anything else a text, unless it has pictures or says so.
    fn content(&mut self, known: &mut KnownAttributes, is_answer: bool) -> Content {
        let content = content_of(&self.item.text());
        let shapes = ["text", "blocks", "empty", "none"];
        let shape = known.take("content", |word| {
            shapes.into_iter().find(|shape| *shape == word)
        });
        let text = match content {
            Content::Text(text) => text,
            content => return content,
        };
        let block = || vec![Block::from_text(text.clone())];
        match (shape, text.is_empty()) {
            (Some("text"), _) => Content::Text(text),
            (Some("blocks"), _) => Content::Blocks(block()),
            (Some("empty"), _) => Content::Empty,
            (Some(_), _) => Content::Blocks(Vec::new()),
            (None, true) if is_answer => Content::Blocks(Vec::new()),
            (None, false) if is_answer => Content::Blocks(block()),
            (None, true) => Content::Empty,
            (None, false) => Content::Text(text),
        }
    }

    fn time(&mut self, known: &mut KnownAttributes) -> Option<jiff::Timestamp> {
        let key = if known.has("timestamp") {
            "timestamp"
        } else {
            "time"
        };
        let read = known.take(key, |text| read_time(text, self.zone));
        if read.is_none() && known.has(key) {
            self.unreadable(key, "a time such as 2025-05-07 14:01:32");
        }
        read
    }

    fn usage(&mut self, known: &mut KnownAttributes) -> Option<TokenUsage> {
        let mut count = |key: &'static str| {
            let read = known.take(key, number);
            if read.is_none() && known.has(key) {
                self.unreadable(key, "a number of tokens");
            }
            read
        };
        let usage = TokenUsage {
            input_tokens: count("prompt"),
            output_tokens: count("completion"),
            ..TokenUsage::default()
        };
        (!usage.is_empty()).then_some(usage)
    }

    fn take_notes(&mut self, message: &mut Message) {
        let notes = self.item.note_attributes();
        if notes.is_empty() {
            return;
        }
        let map: RawMap = notes
            .iter()
            .map(|(key, value)| (key, Raw::string(value)))
            .collect();
        message.extra.push(NOTE_ATTRIBUTES, map.to_raw());
    }

    fn unreadable(&mut self, key: &str, expected: &str) {
        let value = self.item.attribute(key).unwrap_or_default();
        let text = format!("cannot read {key}={value:?}; expected {expected}");
        self.report(Problem::warning("bad-attribute", text).hint("it is kept as it is"));
    }

    fn report(&mut self, problem: Problem) {
        self.problems.push(problem.at(self.item.tag(), self.lines));
    }
}

/// A count, spelled as it would be written.
fn number(text: &str) -> Option<u64> {
    text.parse()
        .ok()
        .filter(|count: &u64| count.to_string() == text)
}

/// Whether an extra field would be read as a field that the message does not have.
pub(super) fn reads_as_field(key: &str, value: &str, said: &Message) -> bool {
    let usage = said.usage.as_ref();
    match key {
        "author" => said.author.is_none(),
        "timestamp" | "time" => {
            said.created_at.is_none() && read_time(value, &TimeZone::UTC).is_some()
        }
        "prompt" => usage.and_then(|u| u.input_tokens).is_none() && number(value).is_some(),
        "completion" => usage.and_then(|u| u.output_tokens).is_none() && number(value).is_some(),
        "tool_call_id" => {
            matches!(&said.body, Body::ToolResult(result) if result.tool_use_id.is_empty())
        }
        _ => false,
    }
}

/// The tag and the text of a message that stands for an item of another name.
pub(super) fn foreign_item(message: &Message) -> Option<(String, String)> {
    let Body::Other(other) = &message.body else {
        return None;
    };
    let tag = message.unknown.string("tag")?;
    let text = message.unknown.string("content")?;
    let exact = RawMap::from([("tag", Raw::string(&tag)), ("content", Raw::string(&text))]);
    let is_name = !tag.is_empty() && tag.bytes().all(|byte| byte.is_ascii_alphabetic());
    let is_other = ItemKind::of(&tag) == ItemKind::Other;
    let is_item = other.type_name.as_deref() == Some(CHAT_ITEM) && message.unknown == exact;
    (is_item && is_name && is_other).then_some((tag, text))
}
