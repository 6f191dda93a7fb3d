//! Writes the plugin's JSON, one item per line.

use analects_core::{
    Block, Body, Content, History, Json, Message, Raw, RawMap, SessionId, Text, TokenUsage,
};
use jiff::Timestamp;

use super::read::{is_one_text, known_item, milliseconds};
use super::{SHAPE, SYSTEM_ID, foreign_item, item_id, system_id, system_prompt, write_part};
use crate::Loss;
use crate::chatmd::ChatSessionInfo;
use crate::chatmd::encode::{report_sessions, settle_id};
use crate::chatmd::reduce::{ChatTarget, reduce};

/// Writes a conversation as the plugin's JSON, and lists what has no place there.
pub fn encode(messages: &[Message], session: &ChatSessionInfo) -> (String, Vec<Loss>) {
    let mut session = session.clone();
    let id = settle_id(&mut session, messages);
    let mut losses = Vec::new();
    report_sessions(messages, &id, &mut losses);
    let reduced = reduce(messages, &id, &ChatTarget::Json);
    losses.extend(reduced.losses);
    let mut items = reduced.messages.as_slice();
    let prompt = items.first().and_then(system_prompt);
    let mut fields = session_fields(&session, prompt.is_some(), &mut losses);
    let mut ordinal = 1;
    if let (Some(prompt), Some((first, rest))) = (prompt, items.split_first()) {
        if first.id != system_id(&id) {
            fields.push(SYSTEM_ID, Raw::string(&first.id));
        }
        fields.push("sysPrompt", prompt);
        items = rest;
        ordinal = 2;
    }
    let mut lines = Vec::new();
    for (at, message) in items.iter().enumerate() {
        lines.push(item(message, &id, ordinal + at).as_str().to_string());
    }
    (join(&fields, &lines), losses)
}

/// Joins the fields of the session and the lines of its items to an object.
fn join(fields: &RawMap, lines: &[String]) -> String {
    let mut out = fields.to_raw().as_str().to_string();
    out.pop();
    if !fields.is_empty() {
        out.push(',');
    }
    out.push_str("\"items\":[");
    if !lines.is_empty() {
        out.push('\n');
        out.push_str(&lines.join(",\n"));
        out.push('\n');
    }
    out.push_str("]}\n");
    out
}

/// Returns the facts about the conversation as fields. `has_prompt` says that `sysPrompt` is taken.
fn session_fields(session: &ChatSessionInfo, has_prompt: bool, losses: &mut Vec<Loss>) -> RawMap {
    let tags: Vec<Raw> = session.tags.iter().map(|tag| Raw::string(tag)).collect();
    let preamble = session.preamble.as_deref().filter(|text| !text.is_empty());
    let known = [
        ("id", session.id.as_deref().map(Raw::string)),
        ("title", session.title.as_deref().map(Raw::string)),
        ("timestamp", session.timestamp.map(time_to_json)),
        ("updated", session.updated.map(time_to_json)),
        ("tags", (!tags.is_empty()).then(|| Raw::array(&tags))),
        ("preamble", preamble.map(Raw::string)),
    ];
    check_time("timestamp", session.timestamp, losses);
    check_time("updated", session.updated, losses);
    let mut fields: RawMap = present(known).collect();
    add_extra(&mut fields, session, has_prompt, losses);
    fields
}

/// Writes a time in milliseconds since 1970.
fn time_to_json(time: Timestamp) -> Raw {
    Raw::from(time.as_millisecond())
}

/// Reports a time that has a fraction of a millisecond.
fn check_time(name: &str, time: Option<Timestamp>, losses: &mut Vec<Loss>) {
    if time.is_some_and(|time| milliseconds(&time_to_json(time)) != Some(time)) {
        losses.push(Loss::of_session(name, "only milliseconds are kept"));
    }
}

/// Adds the extra fields of the session that are read back as such.
fn add_extra(
    fields: &mut RawMap,
    session: &ChatSessionInfo,
    has_prompt: bool,
    losses: &mut Vec<Loss>,
) {
    // Search only the few known fields, not the ones added here.
    let known = fields.clone();
    for (key, value) in session.extra.iter() {
        let name = key.as_string().unwrap_or_default();
        if known.get(&name).is_some() || has_meaning(&name, value, has_prompt) {
            let why = "a field of that name means something else";
            losses.push(Loss::of_session(format!("extra.{name}"), why));
        } else {
            fields.push_raw(key.clone(), value.clone());
        }
    }
}

/// Returns whether a field of a session would be read as a known one.
fn has_meaning(name: &str, value: &Raw, has_prompt: bool) -> bool {
    match name {
        "items" => true,
        SYSTEM_ID => has_prompt,
        "sysPrompt" => has_prompt || Text::from_raw(value).is_some_and(|text| !text.is_empty()),
        "id" | "preamble" => value.as_string().is_some_and(|text| !text.is_empty()),
        "title" => value.as_string().is_some(),
        "timestamp" | "updated" => milliseconds(value).is_some(),
        "tags" => value.as_array().is_some_and(|tags| are_tags(&tags)),
        _ => false,
    }
}

/// Returns whether a list would be read as tags.
fn are_tags(tags: &[Raw]) -> bool {
    !tags.is_empty() && tags.iter().all(|tag| tag.as_string().is_some())
}

/// Returns the entries that have values.
fn present<const N: usize>(entries: [(&str, Option<Raw>); N]) -> impl Iterator<Item = (&str, Raw)> {
    entries
        .into_iter()
        .filter_map(|(key, value)| Some((key, value?)))
}

/// Writes an item. The message must have been reduced before.
fn item(message: &Message, session: &SessionId, ordinal: usize) -> Raw {
    if let Some(item) = foreign_item(message) {
        return item;
    }
    let mut fields = RawMap::new();
    let is_separator = matches!(message.body, Body::CompactBoundary(_));
    if message.extra.get("type").is_none() {
        let type_name = if is_separator { "seperator" } else { "message" };
        fields.push("type", Raw::string(type_name));
    }
    if message.id != item_id(session, ordinal) {
        fields.push("id", Raw::string(&message.id));
    }
    if !is_separator {
        fields.push("message", inner_message(message));
    }
    add_common_fields(&mut fields, message);
    if let Body::Assistant(body) = &message.body
        && matches!(body.content, Content::Text(_))
    {
        fields.push(SHAPE, Raw::string("text"));
    }
    for (key, value) in message.extra.iter() {
        let name = key.as_string().unwrap_or_default();
        let is_inner = name == "message" && !is_separator;
        if !is_inner && name != SHAPE {
            fields.push_raw(key.clone(), value.clone());
        }
    }
    fields.to_raw()
}

/// Adds the fields that items of all kinds may have.
fn add_common_fields(fields: &mut RawMap, message: &Message) {
    if let Some(author) = &message.author {
        fields.push("author", Raw::string(author));
    }
    if let Some(time) = message.created_at {
        fields.push("timestamp", time_to_json(time));
    }
    if let Some(usage) = message.usage.as_deref() {
        fields.push("usage", usage_to_json(usage));
    }
    if message.history == History::Exclude {
        fields.push("hidden", true.into());
    }
}

/// Writes the token counts that the plugin knows.
fn usage_to_json(usage: &TokenUsage) -> Raw {
    let counts = [
        ("prompt_tokens", usage.input_tokens.map(Raw::from)),
        ("completion_tokens", usage.output_tokens.map(Raw::from)),
        ("total_tokens", usage.total_tokens.map(Raw::from)),
    ];
    present(counts).collect::<RawMap>().to_raw()
}

/// Writes the `message` of an item.
fn inner_message(message: &Message) -> Raw {
    let mut fields = RawMap::new();
    let (role, content) = role_and_content(&message.body);
    fields.push("role", Raw::string(role));
    if let Body::ToolResult(result) = &message.body
        && !result.tool_use_id.is_empty()
    {
        fields.push("tool_call_id", Raw::string(&result.tool_use_id));
    }
    let is_list = message.extra.get(SHAPE).is_some();
    if let Some(content) = write_content(content, role == "assistant" && !is_list) {
        fields.push("content", content);
    }
    let extra = message.extra.get("message").and_then(Raw::as_object);
    fields.extend(extra.unwrap_or_default().iter());
    fields.to_raw()
}

/// Returns the role and the content of a message. Reduced messages have no other bodies than the first four.
fn role_and_content(body: &Body) -> (&'static str, &Content) {
    match body {
        Body::System(body) => ("system", &body.content),
        Body::Assistant(body) => ("assistant", &body.content),
        Body::ToolResult(body) => ("tool", &body.content),
        Body::User(body) => ("user", &body.content),
        Body::ToolUse(_)
        | Body::Progress(_)
        | Body::Attachment(_)
        | Body::Notification(_)
        | Body::Summary(_)
        | Body::CompactBoundary(_)
        | Body::Tombstone(_)
        | Body::Revision(_)
        | Body::State(_)
        | Body::Other(_) => ("user", &Content::Empty),
    }
}

/// Writes a content as a string or a list of parts. `one_is_text` makes a single text a string.
fn write_content(content: &Content, one_is_text: bool) -> Option<Raw> {
    let blocks = match content {
        Content::Empty => return None,
        Content::Text(text) => return Raw::parse(&text.to_json()).ok(),
        Content::Blocks(blocks) => blocks.as_slice(),
    };
    if let [Block::Text(block)] = blocks
        && one_is_text
        && is_one_text(blocks)
    {
        return Raw::parse(&block.text.to_json()).ok();
    }
    let parts: Vec<Raw> = blocks.iter().filter_map(write_part).collect();
    Some(Raw::array(&parts))
}

/// Returns whether an extra field with a known name is read back as an extra field, because its value has not the form
/// of the known one. `kept` are the extra fields before it.
pub(in crate::chatmd) fn keeps_extra(
    name: &str,
    value: &Raw,
    message: &Message,
    kept: &RawMap,
) -> bool {
    let mut written = Message {
        id: "x".into(),
        extra: kept.clone(),
        ..message.clone()
    };
    written.extra.push(name, value.clone());
    let Some(read) = known_item(&item(&written, &SessionId::default(), 0)) else {
        return false;
    };
    sorted_extra(&read) == sorted_extra(&written) && content_of(read) == content_of(written)
}

/// Returns the extra fields in an order of their own, to compare them.
fn sorted_extra(message: &Message) -> Vec<String> {
    let extra = message.extra.iter();
    let mut entries: Vec<String> = extra.map(|(key, value)| format!("{key}:{value}")).collect();
    entries.sort();
    entries
}

/// Returns the message without its links and extra fields.
fn content_of(message: Message) -> Message {
    Message {
        session_id: SessionId::default(),
        parent_id: None,
        extra: RawMap::new(),
        ..message
    }
}
