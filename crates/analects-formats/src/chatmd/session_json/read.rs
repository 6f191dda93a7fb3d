//! Reads the plugin's JSON. Items that cannot be read are kept, and are problems.

use analects_core::{
    Assistant, Block, Body, CompactBoundary, CompactTrigger, Content, History, Message, MessageId,
    Other, Problem, Raw, RawMap, SessionId, StopReason, System, Text, TokenUsage, ToolResult, User,
};
use jiff::Timestamp;

use super::{FOREIGN_TYPE, SHAPE, SYSTEM_ID, item_id, read_part, system_id, system_prompt};
use crate::DecodedFile;
use crate::chatmd::ChatSessionInfo;

/// The hint for files that are no chat session.
const HINT: &str = "a chat session is a JSON object with items";

/// Reads the plugin's JSON: the facts about the conversation, and its messages.
pub fn decode(bytes: &[u8]) -> (ChatSessionInfo, DecodedFile) {
    decode_named(bytes, &SessionId::default())
}

/// Like [`decode`], with an id for the conversation in case it has none.
pub fn decode_named(bytes: &[u8], name: &SessionId) -> (ChatSessionInfo, DecodedFile) {
    let mut decoded = DecodedFile::default();
    let mut fields = match parse(bytes) {
        Ok(map) => FieldReader::of(&map),
        Err(error) => {
            let text = format!("this is no chat session: {error}");
            let problem = Problem::error("not-a-chat-session", text).hint(HINT);
            decoded.problems.push(problem);
            return (ChatSessionInfo::default(), decoded);
        }
    };
    let mut session = read_session(&mut fields);
    let id = session.id.clone().map_or(name.clone(), SessionId::from);
    decoded.messages.extend(read_system(&mut fields, &id));
    if let Some(items) = fields.take("items", Raw::as_array) {
        for item in &items {
            read_item(item, &id, &mut decoded);
        }
    } else {
        let text = "this chat session has no list of items";
        let problem = Problem::error("not-a-chat-session", text).hint(HINT);
        decoded.problems.push(problem);
    }
    session.extra = fields.rest();
    (session, decoded)
}

/// Parses the file. A byte-order mark is allowed.
fn parse(bytes: &[u8]) -> Result<RawMap, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
    let text = text.trim_start_matches('\u{feff}');
    RawMap::parse(text).map_err(|error| error.to_string())
}

/// The fields of an object. Readers take the fields that they understand. If a key is repeated, the last one counts.
pub(crate) struct FieldReader(Vec<(Raw, Raw)>);

impl FieldReader {
    /// Copies the fields of an object.
    pub(crate) fn of(map: &RawMap) -> FieldReader {
        let entries = map.iter().map(|(key, value)| (key.clone(), value.clone()));
        FieldReader(entries.collect())
    }

    /// Removes a field if `read` understands its value, and returns what it read.
    pub(crate) fn take<T>(&mut self, key: &str, read: impl FnOnce(&Raw) -> Option<T>) -> Option<T> {
        let is_key = |entry: &(Raw, Raw)| entry.0.as_string().as_deref() == Some(key);
        let at = self.0.iter().rposition(is_key)?;
        let value = read(&self.0[at].1)?;
        self.0.remove(at);
        Some(value)
    }

    /// Returns the value of a field.
    pub(crate) fn get(&self, key: &str) -> Option<&Raw> {
        let is_key = |entry: &&(Raw, Raw)| entry.0.as_string().as_deref() == Some(key);
        self.0.iter().rfind(is_key).map(|(_, value)| value)
    }

    /// Removes a field if it is this string, and returns whether it was.
    fn take_word(&mut self, key: &str, word: &str) -> bool {
        let read = |raw: &Raw| raw.as_string().filter(|text| text == word);
        self.take(key, read).is_some()
    }

    /// Appends a field.
    pub(crate) fn put(&mut self, key: &str, value: Raw) {
        self.0.push((Raw::string(key), value));
    }

    /// Returns the fields that were not taken.
    pub(crate) fn rest(self) -> RawMap {
        let mut map = RawMap::new();
        for (key, value) in self.0 {
            map.push_raw(key, value);
        }
        map
    }
}

/// Reads a string that is not empty.
pub(crate) fn non_empty(raw: &Raw) -> Option<String> {
    raw.as_string().filter(|text| !text.is_empty())
}

/// Takes the facts about the conversation. What is left in the end are its extra fields.
fn read_session(fields: &mut FieldReader) -> ChatSessionInfo {
    ChatSessionInfo {
        id: fields.take("id", non_empty),
        title: fields.take("title", Raw::as_string),
        timestamp: fields.take("timestamp", milliseconds),
        updated: fields.take("updated", milliseconds),
        tags: fields.take("tags", read_tags).unwrap_or_default(),
        preamble: fields.take("preamble", non_empty),
        extra: RawMap::new(),
    }
}

/// Reads a list of texts; `None` if it is empty or holds anything else.
fn read_tags(raw: &Raw) -> Option<Vec<String>> {
    let tags: Option<Vec<String>> = raw.as_array()?.iter().map(Raw::as_string).collect();
    tags.filter(|tags| !tags.is_empty())
}

/// Takes `sysPrompt` as the first message; `None` if it is missing or empty.
fn read_system(fields: &mut FieldReader, session: &SessionId) -> Option<Message> {
    let text = fields.take("sysPrompt", |raw| {
        Text::from_raw(raw).filter(|text| !text.is_empty())
    })?;
    let id = fields.take(SYSTEM_ID, non_empty);
    let id = id.map_or_else(|| system_id(session), MessageId::from);
    let body = Body::System(System {
        content: Content::Text(text),
    });
    Some(Message {
        session_id: session.clone(),
        ..Message::new(id, body)
    })
}

/// Reads an item. One of an unknown kind is kept as a message of type [`FOREIGN_TYPE`].
fn read_item(item: &Raw, session: &SessionId, decoded: &mut DecodedFile) {
    let ordinal = decoded.messages.len() + 1;
    let mut message = known_item(item).unwrap_or_else(|| {
        let text = format!("item {ordinal} of this chat session is of no known kind; it is kept");
        let hint = "an item has a type, and a message with the role of who speaks";
        let problem = Problem::warning("unknown-item", text).hint(hint);
        decoded.problems.push(problem);
        foreign_message(item)
    });
    if message.id.is_empty() {
        message.id = item_id(session, ordinal);
    }
    message.session_id = session.clone();
    message.parent_id = decoded.messages.last().map(|last| last.id.clone());
    if ordinal == 1 && system_prompt(&message).is_some() {
        // Without this mark, it would be written as `sysPrompt`.
        message.extra.push("type", Raw::string("message"));
    }
    decoded.messages.push(message);
}

/// Wraps an item of an unknown kind.
fn foreign_message(item: &Raw) -> Message {
    let body = Body::Other(Other {
        type_name: Some(FOREIGN_TYPE.to_string()),
    });
    let mut message = Message::new("", body);
    message.unknown.push("item", item.clone());
    message
}

/// Returns whether an item is of a known kind.
pub(super) fn is_known_item(item: &Raw) -> bool {
    known_item(item).is_some()
}

/// Reads an item of a known kind.
pub(super) fn known_item(item: &Raw) -> Option<Message> {
    let mut fields = FieldReader::of(&item.as_object()?);
    let mut message = if fields.take_word("type", "message") {
        read_message(&mut fields)?
    } else {
        read_separator(&mut fields)?
    };
    read_common_fields(&mut fields, &mut message);
    message.extra.extend(fields.rest().iter());
    Some(message)
}

/// Reads a separator. The plugin spells it "seperator"; the other spelling stays a field, to be written again.
fn read_separator(fields: &mut FieldReader) -> Option<Message> {
    let is_usual = fields.take_word("type", "seperator");
    let corrected = fields.take("type", |raw| {
        (raw.as_string()? == "separator").then(|| raw.clone())
    });
    if !is_usual && corrected.is_none() {
        return None;
    }
    let body = Body::CompactBoundary(CompactBoundary {
        trigger: Some(CompactTrigger::Separator),
        ..CompactBoundary::default()
    });
    let mut message = Message::new("", body);
    if let Some(word) = corrected {
        message.extra.push("type", word);
    }
    Some(message)
}

/// Reads the `message` of an item. Its unknown fields stay in `extra`.
fn read_message(fields: &mut FieldReader) -> Option<Message> {
    let mut inner = FieldReader::of(&fields.take("message", Raw::as_object)?);
    let role = inner.take("role", Raw::as_string)?;
    let is_answer = role == "assistant";
    let is_text = is_answer && fields.take_word(SHAPE, "text");
    let content = inner.take("content", |raw| read_content(raw, is_answer && !is_text));
    let content = content.unwrap_or_default();
    // An answer of one text is written as a string, unless this says otherwise.
    let is_list_of_one = is_answer && !is_text && content.is_list && content.is_one_text();
    let body = read_body(&role, content.content, &mut inner)?;
    let mut message = Message::new("", body);
    if is_list_of_one {
        message.extra.push(SHAPE, Raw::string("blocks"));
    }
    let rest = inner.rest();
    if !rest.is_empty() {
        message.extra.push("message", rest.to_raw());
    }
    Some(message)
}

/// Builds the body for a role; `None` for an unknown one.
fn read_body(role: &str, content: Content, inner: &mut FieldReader) -> Option<Body> {
    Some(match role {
        "user" => Body::User(User {
            content,
            ..User::default()
        }),
        "system" => Body::System(System { content }),
        "assistant" => Body::Assistant(Assistant {
            content,
            stop_reason: Some(StopReason::EndTurn),
        }),
        "tool" => Body::ToolResult(ToolResult {
            tool_use_id: inner.take("tool_call_id", non_empty).unwrap_or_default(),
            content,
            ..ToolResult::default()
        }),
        _ => return None,
    })
}

/// A content, and whether it was a list of parts.
#[derive(Default)]
struct ListedContent {
    content: Content,
    /// Whether the JSON was a list, even if it is one text.
    is_list: bool,
}

impl ListedContent {
    /// Returns whether the content is a single text without extra fields.
    fn is_one_text(&self) -> bool {
        matches!(&self.content, Content::Blocks(blocks) if is_one_text(blocks))
    }
}

/// Returns whether blocks are a single text without extra fields. Only such a text can be a string.
pub(super) fn is_one_text(blocks: &[Block]) -> bool {
    matches!(blocks, [Block::Text(block)] if block.extra.is_empty())
}

/// Reads a string or a list of parts. `as_blocks` makes a string a block.
fn read_content(raw: &Raw, as_blocks: bool) -> Option<ListedContent> {
    if let Some(text) = Text::from_raw(raw) {
        let content = if as_blocks {
            Content::Blocks(vec![Block::from_text(text)])
        } else {
            Content::Text(text)
        };
        return Some(ListedContent {
            content,
            is_list: false,
        });
    }
    let parts = raw.as_array()?;
    Some(ListedContent {
        content: Content::Blocks(parts.iter().map(read_part).collect()),
        is_list: true,
    })
}

/// Reads the fields that items of all kinds may have.
fn read_common_fields(fields: &mut FieldReader, message: &mut Message) {
    message.id = fields.take("id", non_empty).unwrap_or_default().into();
    message.author = fields.take("author", Raw::as_string);
    message.created_at = fields.take("timestamp", milliseconds);
    message.usage = fields.take("usage", read_usage).map(Box::new);
    let hidden = fields.take("hidden", |raw| (raw.as_str() == "true").then_some(()));
    message.history = match hidden {
        Some(()) => History::Exclude,
        None => History::Include,
    };
}

/// Reads a time in milliseconds since 1970; `None` unless it is written the same way again.
pub(super) fn milliseconds(raw: &Raw) -> Option<Timestamp> {
    let number: i64 = raw.to()?;
    Timestamp::from_millisecond(number)
        .ok()
        .filter(|_| number.to_string() == raw.as_str())
}

/// Reads counts of tokens; `None` if there are other fields.
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
