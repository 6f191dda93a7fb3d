//! JSON in, messages out. What cannot be read is kept, and is a problem.

use analects_core::{
    Assistant, Block, Body, CompactBoundary, CompactTrigger, Content, History, Message, MessageId,
    Other, Problem, Raw, RawMap, SessionId, StopReason, System, Text, TokenUsage, ToolResult, User,
};
use jiff::Timestamp;

use super::{FOREIGN, SHAPE, SYSTEM_ID, item_id, read_part, system_id, system_prompt};
use crate::DecodedFile;
use crate::chatmd::ChatSessionInfo;

/// Reads the plugin's JSON: the conversation as a whole, and its messages.
pub fn decode(bytes: &[u8]) -> (ChatSessionInfo, DecodedFile) {
    decode_named(bytes, &SessionId::default())
}

/// The same, with a name for the conversation if it has none of its own.
pub fn decode_named(bytes: &[u8], name: &SessionId) -> (ChatSessionInfo, DecodedFile) {
    let mut decoded = DecodedFile::default();
    let read = std::str::from_utf8(bytes)
        .map_err(|error| error.to_string())
        .and_then(|text| {
            RawMap::parse(text.trim_start_matches('\u{feff}')).map_err(|error| error.to_string())
        });
    let mut fields = match read {
        Ok(map) => FieldReader::of(&map),
        Err(error) => {
            let text = format!("this is no chat session: {error}");
            decoded.problems.push(
                Problem::error("not-a-chat-session", text)
                    .hint("a chat session is a JSON object with items"),
            );
            return (ChatSessionInfo::default(), decoded);
        }
    };
    let mut session = read_session(&mut fields);
    let id = session.id.clone().map_or(name.clone(), SessionId::from);
    if let Some(system) = read_system(&mut fields, &id) {
        decoded.messages.push(system);
    }
    match fields.take("items", Raw::as_array) {
        Some(items) => items
            .iter()
            .for_each(|item| read_item(item, &id, &mut decoded)),
        None => decoded.problems.push(
            Problem::error(
                "not-a-chat-session",
                "this chat session has no list of items",
            )
            .hint("a chat session is a JSON object with items"),
        ),
    }
    session.extra = fields.rest();
    (session, decoded)
}

/// The fields of an object, from which those that are known are taken. Of a repeated one, the last counts.
pub(crate) struct FieldReader(Vec<(Raw, Raw)>);

impl FieldReader {
    pub(crate) fn of(map: &RawMap) -> FieldReader {
        FieldReader(
            map.iter()
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect(),
        )
    }

    pub(crate) fn take<T>(&mut self, key: &str, read: impl FnOnce(&Raw) -> Option<T>) -> Option<T> {
        let is_key = |name: &Raw| name.as_string().as_deref() == Some(key);
        let at = self.0.iter().rposition(|(name, _)| is_key(name))?;
        let value = read(&self.0[at].1)?;
        self.0.remove(at);
        Some(value)
    }

    pub(crate) fn put(&mut self, key: &str, value: Raw) {
        self.0.push((Raw::string(key), value));
    }

    pub(crate) fn rest(self) -> RawMap {
        let mut map = RawMap::new();
        self.0
            .into_iter()
            .for_each(|(key, value)| map.push_raw(key, value));
        map
    }
}

fn read_session(fields: &mut FieldReader) -> ChatSessionInfo {
    let some = |raw: &Raw| raw.as_string().filter(|text| !text.is_empty());
    let tags = |raw: &Raw| {
        let tags: Option<Vec<String>> = raw.as_array()?.iter().map(Raw::as_string).collect();
        tags.filter(|tags| !tags.is_empty())
    };
    ChatSessionInfo {
        id: fields.take("id", some),
        title: fields.take("title", Raw::as_string),
        timestamp: fields.take("timestamp", milliseconds),
        updated: fields.take("updated", milliseconds),
        tags: fields.take("tags", tags).unwrap_or_default(),
        preamble: fields.take("preamble", some),
        extra: RawMap::new(),
    }
}

fn read_system(fields: &mut FieldReader, session: &SessionId) -> Option<Message> {
    let text = fields.take("sysPrompt", |raw| {
        Text::from_raw(raw).filter(|text| !text.is_empty())
    })?;
    let own = |raw: &Raw| raw.as_string().filter(|id| !id.is_empty());
    let id = fields
        .take(SYSTEM_ID, own)
        .map_or_else(|| system_id(session), MessageId::from);
    let body = Body::System(System {
        content: Content::Text(text),
    });
    Some(Message {
        session_id: session.clone(),
        ..Message::new(id, body)
    })
}

fn read_item(item: &Raw, session: &SessionId, decoded: &mut DecodedFile) {
    let ordinal = decoded.messages.len() + 1;
    let mut message = known_item(item).unwrap_or_else(|| {
        let text = format!("item {ordinal} of this chat session is of no known kind; it is kept");
        decoded.problems.push(
            Problem::warning("unknown-item", text)
                .hint("an item has a type, and a message with the role of who speaks"),
        );
        let body = Body::Other(Other {
            type_name: Some(FOREIGN.to_string()),
        });
        let mut message = Message::new("", body);
        message.unknown.push("item", item.clone());
        message
    });
    if message.id.is_empty() {
        message.id = item_id(session, ordinal);
    }
    message.session_id = session.clone();
    message.parent_id = decoded.messages.last().map(|last| last.id.clone());
    if ordinal == 1 && system_prompt(&message).is_some() {
        // Else it would be written as `sysPrompt`.
        message.extra.push("type", Raw::string("message"));
    }
    decoded.messages.push(message);
}

/// Whether an item is of a kind that is known.
pub(super) fn is_known_item(item: &Raw) -> bool {
    known_item(item).is_some()
}

/// Reads an item of a kind that is known.
pub(super) fn known_item(item: &Raw) -> Option<Message> {
    let mut fields = FieldReader::of(&item.as_object()?);
    let is = |word: &'static str| move |raw: &Raw| raw.as_string().filter(|kind| kind == word);
    let mut message = if fields.take("type", is("message")).is_some() {
        read_message(&mut fields)?
    } else {
        let separator = fields.take("type", is("seperator")).is_some();
        // The later spelling stays a field, so that it is written as it was.
        let later = fields.take("type", |raw| is("separator")(raw).map(|_| raw.clone()));
        let trigger = Some(CompactTrigger::Separator);
        let boundary = CompactBoundary {
            trigger,
            ..CompactBoundary::default()
        };
        let mut message = Message::new("", Body::CompactBoundary(boundary));
        match later {
            Some(word) => message.extra.push("type", word),
            None => separator.then_some(())?,
        }
        message
    };
    read_shared(&mut fields, &mut message);
    message.extra.extend(fields.rest().iter());
    Some(message)
}

/// The body of a message, with the fields of `message` that are not known among its extra ones.
fn read_message(fields: &mut FieldReader) -> Option<Message> {
    let inner = fields.take("message", Raw::as_object)?;
    let mut inner = FieldReader::of(&inner);
    let role = inner.take("role", Raw::as_string)?;
    let is_answer = role == "assistant";
    let shape = fields.take(SHAPE, |raw| {
        raw.as_string().filter(|shape| is_answer && shape == "text")
    });
    let read = |raw: &Raw| read_content(raw, is_answer && shape.is_none());
    let content = inner.take("content", read).unwrap_or_default();
    let parts = inner_is_one_part(&content, is_answer, shape.is_some());
    let body = match role.as_str() {
        "user" => Body::User(User {
            content: content.0,
            ..User::default()
        }),
        "system" => Body::System(System { content: content.0 }),
        "assistant" => {
            let stop_reason = Some(StopReason::EndTurn);
            Body::Assistant(Assistant {
                content: content.0,
                stop_reason,
            })
        }
        "tool" => {
            let some = |raw: &Raw| raw.as_string().filter(|id| !id.is_empty());
            let tool_use_id = inner.take("tool_call_id", some).unwrap_or_default();
            Body::ToolResult(ToolResult {
                tool_use_id,
                content: content.0,
                ..ToolResult::default()
            })
        }
        _ => return None,
    };
    let mut message = Message::new("", body);
    if parts {
        message.extra.push(SHAPE, Raw::string("blocks"));
    }
    let rest = inner.rest();
    if !rest.is_empty() {
        message.extra.push("message", rest.to_raw());
    }
    Some(message)
}

/// A content, and whether it came as a list of parts.
type FromParts = (Content, bool);

/// Whether an answer came as a list of one text, which would otherwise be written as a string.
fn inner_is_one_part((content, parts): &FromParts, is_answer: bool, is_text: bool) -> bool {
    let one = matches!(content, Content::Blocks(blocks) if is_one_text(blocks));
    is_answer && *parts && one && !is_text
}

pub(super) fn is_one_text(blocks: &[Block]) -> bool {
    matches!(blocks, [Block::Text(block)] if block.extra.is_empty())
}

fn read_content(raw: &Raw, as_blocks: bool) -> Option<FromParts> {
    if let Some(text) = Text::from_raw(raw) {
        let content = if as_blocks {
            Content::Blocks(vec![Block::from_text(text)])
        } else {
            Content::Text(text)
        };
        return Some((content, false));
    }
    let parts = raw.as_array()?;
    Some((Content::Blocks(parts.iter().map(read_part).collect()), true))
}

fn read_shared(fields: &mut FieldReader, message: &mut Message) {
    let some = |raw: &Raw| raw.as_string().filter(|text| !text.is_empty());
    message.id = fields.take("id", some).unwrap_or_default().into();
    message.author = fields.take("author", Raw::as_string);
    message.created_at = fields.take("timestamp", milliseconds);
    message.usage = fields.take("usage", read_usage).map(Box::new);
    let hidden = fields.take("hidden", |raw| (raw.as_str() == "true").then_some(()));
    message.history = if hidden.is_some() {
        History::Exclude
    } else {
        History::Include
    };
}

/// A time in milliseconds since 1970.
pub(super) fn milliseconds(raw: &Raw) -> Option<Timestamp> {
    let number: i64 = raw.to()?;
    Timestamp::from_millisecond(number)
        .ok()
        .filter(|_| number.to_string() == raw.as_str())
}

/// Counts of tokens, if there is nothing else among them.
pub(super) fn read_usage(raw: &Raw) -> Option<TokenUsage> {
    let mut fields = FieldReader::of(&raw.as_object()?);
    let usage = TokenUsage {
        input_tokens: fields.take("prompt_tokens", Raw::to),
        output_tokens: fields.take("completion_tokens", Raw::to),
        total_tokens: fields.take("total_tokens", Raw::to),
        ..TokenUsage::default()
    };
    (fields.0.is_empty() && !usage.is_empty()).then_some(usage)
}
