//! Messages in, JSON out; one item a line.

use analects_core::{Block, Body, Content, History, Json, Message, Raw, RawMap, SessionId, Text};

use super::read::{is_one_text, known_item, milliseconds};
use super::{SHAPE, SYSTEM_ID, foreign_item, item_id, system_id, system_prompt, write_part};
use crate::Loss;
use crate::chatmd::ChatSessionInfo;
use crate::chatmd::encode::{named, report_sessions};
use crate::chatmd::reduce::{ChatTarget, reduce};

/// Writes a conversation as the plugin's JSON, and says what of it has no place there.
pub fn encode(messages: &[Message], session: &ChatSessionInfo) -> (String, Vec<Loss>) {
    let mut session = session.clone();
    let id = named(&mut session, messages);
    let mut losses = Vec::new();
    report_sessions(messages, &id, &mut losses);
    let reduced = reduce(messages, &id, &ChatTarget::Json);
    losses.extend(reduced.losses);
    let said = reduced.messages.as_slice();
    let (system, items) = match said.split_first() {
        Some((first, rest)) if system_prompt(first).is_some() => (Some(first), rest),
        _ => (None, said),
    };
    let before = said.len() - items.len();
    let mut top = session_fields(&session, system.is_some(), &mut losses);
    if let Some((first, prompt)) = system.and_then(|first| Some((first, system_prompt(first)?))) {
        if first.id != system_id(&id) {
            top.push(SYSTEM_ID, Raw::string(&first.id));
        }
        top.push("sysPrompt", prompt);
    }
    let lines: Vec<String> = items
        .iter()
        .enumerate()
        .map(|(at, message)| item(message, &id, before + at + 1).as_str().to_string())
        .collect();
    let mut out = top.to_raw().as_str().to_string();
    out.pop();
    let comma = if top.is_empty() { "" } else { "," };
    let list = if lines.is_empty() {
        String::new()
    } else {
        format!("\n{}\n", lines.join(",\n"))
    };
    out.push_str(&format!("{comma}\"items\":[{list}]}}\n"));
    (out, losses)
}

/// The fields of the session.
fn session_fields(session: &ChatSessionInfo, has_prompt: bool, losses: &mut Vec<Loss>) -> RawMap {
    let time = |time: jiff::Timestamp| Raw::from(time.as_millisecond());
    let tags: Vec<Raw> = session.tags.iter().map(|tag| Raw::string(tag)).collect();
    let text = |text: &String| Raw::string(text);
    let known = [
        ("id", session.id.as_ref().map(text)),
        ("title", session.title.as_ref().map(text)),
        ("timestamp", session.timestamp.map(time)),
        ("updated", session.updated.map(time)),
        ("tags", (!tags.is_empty()).then(|| Raw::array(&tags))),
        (
            "preamble",
            session
                .preamble
                .as_ref()
                .filter(|text| !text.is_empty())
                .map(text),
        ),
    ];
    for (what, time) in [
        ("timestamp", session.timestamp),
        ("updated", session.updated),
    ] {
        if time.is_some_and(|time| milliseconds(&time.as_millisecond().into()) != Some(time)) {
            losses.push(Loss::of_session(what, "only milliseconds are kept"));
        }
    }
    let mut fields: RawMap = there(known).collect();
    add_extra(&mut fields, session, has_prompt, losses);
    fields
}

/// Adds the extra fields of the session that are read back as such.
fn add_extra(
    fields: &mut RawMap,
    session: &ChatSessionInfo,
    has_prompt: bool,
    losses: &mut Vec<Loss>,
) {
    // The known ones are few; those that are added must not be gone through each time.
    let known = fields.clone();
    for (key, value) in session.extra.iter() {
        let name = key.as_string().unwrap_or_default();
        if known.get(&name).is_some() || is_read(&name, value, has_prompt) {
            let why = "a field of that name means something else";
            losses.push(Loss::of_session(format!("extra.{name}"), why));
        } else {
            fields.push_raw(key.clone(), value.clone());
        }
    }
}

/// Whether a field of a session is read as what its name means.
fn is_read(name: &str, value: &Raw, has_prompt: bool) -> bool {
    let is_text = || Text::from_raw(value).is_some_and(|text| !text.is_empty());
    match name {
        "items" => true,
        SYSTEM_ID => has_prompt,
        "sysPrompt" => has_prompt || is_text(),
        "id" | "preamble" => value.as_string().is_some_and(|text| !text.is_empty()),
        "title" => value.as_string().is_some(),
        "timestamp" | "updated" => milliseconds(value).is_some(),
        "tags" => value.as_array().is_some_and(|tags| {
            !tags.is_empty() && tags.iter().all(|tag| tag.as_string().is_some())
        }),
        _ => false,
    }
}

/// The entries that have values.
fn there<const N: usize>(entries: [(&str, Option<Raw>); N]) -> impl Iterator<Item = (&str, Raw)> {
    entries
        .into_iter()
        .filter_map(|(key, value)| Some((key, value?)))
}

/// An item of which everything can be said.
fn item(message: &Message, session: &SessionId, ordinal: usize) -> Raw {
    if let Some(item) = foreign_item(message) {
        return item;
    }
    let extra = |key: &str| message.extra.get(key);
    let mut fields = RawMap::new();
    let is_separator = matches!(message.body, Body::CompactBoundary(_));
    if extra("type").is_none() {
        fields.push(
            "type",
            Raw::string(if is_separator { "seperator" } else { "message" }),
        );
    }
    if message.id != item_id(session, ordinal) {
        fields.push("id", Raw::string(&message.id));
    }
    if !is_separator {
        fields.push("message", inner(message));
    }
    let known = [
        (
            "author",
            message.author.as_ref().map(|author| Raw::string(author)),
        ),
        (
            "timestamp",
            message.created_at.map(|time| time.as_millisecond().into()),
        ),
        ("usage", message.usage.as_deref().map(usage)),
        (
            "hidden",
            (message.history == History::Exclude).then(|| true.into()),
        ),
    ];
    there(known).for_each(|(key, value)| fields.push(key, value));
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

fn usage(usage: &analects_core::TokenUsage) -> Raw {
    let counts = [
        ("prompt_tokens", usage.input_tokens.map(Raw::from)),
        ("completion_tokens", usage.output_tokens.map(Raw::from)),
        ("total_tokens", usage.total_tokens.map(Raw::from)),
    ];
    there(counts).collect::<RawMap>().to_raw()
}

/// The `message` of an item.
fn inner(message: &Message) -> Raw {
    let mut fields = RawMap::new();
    let (role, content) = match &message.body {
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
    };
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
    let rest = message
        .extra
        .get("message")
        .and_then(Raw::as_object)
        .unwrap_or_default();
    fields.extend(rest.iter());
    fields.to_raw()
}

/// A string, or a list of parts. One text of an answer is a string.
fn write_content(content: &Content, one_is_text: bool) -> Option<Raw> {
    match content {
        Content::Empty => None,
        Content::Text(text) => Raw::parse(&text.to_json()).ok(),
        Content::Blocks(blocks) => {
            if let ([Block::Text(block)], true) =
                (blocks.as_slice(), one_is_text && is_one_text(blocks))
            {
                return Raw::parse(&block.text.to_json()).ok();
            }
            let parts: Vec<Raw> = blocks.iter().filter_map(write_part).collect();
            Some(Raw::array(&parts))
        }
    }
}

/// Whether an extra field under a name that is known is read back as what it is: its value cannot be read
/// as what the name means.
pub(in crate::chatmd) fn can_say(name: &str, value: &Raw, said: &Message, kept: &RawMap) -> bool {
    let mut written = Message {
        id: "x".into(),
        extra: kept.clone(),
        ..said.clone()
    };
    written.extra.push(name, value.clone());
    let Some(read) = known_item(&item(&written, &SessionId::default(), 0)) else {
        return false;
    };
    let fields = |message: &Message| {
        let entry = |(key, value): (&Raw, &Raw)| format!("{key}:{value}");
        let mut entries: Vec<String> = message.extra.iter().map(entry).collect();
        entries.sort();
        entries
    };
    let rest = |message: &Message| Message {
        session_id: SessionId::default(),
        parent_id: None,
        extra: RawMap::new(),
        ..message.clone()
    };
    fields(&read) == fields(&written) && rest(&read) == rest(&written)
}
