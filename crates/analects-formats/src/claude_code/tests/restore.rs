//! Restores the records from messages that were read in full, to show that nothing is lost.

use analects_core::{Body, Content, Json, Message, RawMap, TokenUsage};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::super::message::time_text;

/// The record that a message was made of.
pub(super) fn record(message: &Message) -> Value {
    if let Body::Progress(progress) = &message.body
        && message
            .extra
            .get("type")
            .is_none_or(|kind| kind.as_str() != "\"progress\"")
        && let Some(content) = &progress.content
    {
        return json(content);
    }
    if let Some(restored) = sub_agent_record(message) {
        return restored;
    }
    let mut fields = object(&message.extra);
    let mut set = |key: &str, value: Value| {
        fields.entry(key).or_insert(value);
    };
    set("uuid", Value::from(&*message.id));
    set("sessionId", Value::from(&*message.session_id));
    let parent = message.parent_id.as_deref().map(Value::from);
    let key = match message.body {
        Body::CompactBoundary(_) => "logicalParentUuid",
        _ => "parentUuid",
    };
    parent.into_iter().for_each(|parent| set(key, parent));
    message
        .agent_id
        .iter()
        .for_each(|agent| set("agentId", Value::from(&**agent)));
    message
        .created_at
        .iter()
        .for_each(|time| set("timestamp", time_text(*time).into()));
    message
        .cost_usd
        .iter()
        .for_each(|cost| set("costUSD", (*cost).into()));
    message
        .duration_ms
        .iter()
        .for_each(|time| set("durationMs", (*time).into()));
    if message.is_api_error_message {
        set("isApiErrorMessage", true.into());
    }
    body(message, &mut fields);
    Value::Object(fields)
}

/// The progress record that holds a message of a sub-agent. It names no parent, and its agent beside the message.
fn sub_agent_record(message: &Message) -> Option<Value> {
    let is_said = !matches!(message.body, Body::Progress(_));
    let is_progress = message.extra.get("type")?.as_str() == "\"progress\"";
    if !is_said || !is_progress {
        return None;
    }
    let data = message.extra.get("data")?.as_object()?;
    let rest = data.get("message")?.as_object()?;
    let inner = Message {
        extra: rest,
        parent_id: None,
        agent_id: None,
        session_id: "".into(),
        ..message.clone()
    };
    let mut restored = record(&inner);
    restored.as_object_mut().unwrap().remove("sessionId");
    let mut fields = object(&message.extra);
    fields["data"]["message"] = restored;
    fields.insert("sessionId".into(), Value::from(&*message.session_id));
    Some(Value::Object(fields))
}

fn body(message: &Message, fields: &mut Map<String, Value>) {
    let said = fields.get("message").cloned();
    match &message.body {
        Body::User(user) if fields.contains_key("attachment") => {
            fields["attachment"]["prompt"] = json(&user.content);
        }
        Body::User(_) | Body::Assistant(_) | Body::System(_) => speech(message, said, fields),
        Body::Summary(summary) => {
            fields["message"]
                .as_object_mut()
                .unwrap()
                .entry("content")
                .or_insert(json(&summary.text));
        }
        Body::Notification(notice) => {
            fields.entry("content").or_insert(json(&notice.content));
            fields
                .entry("subtype")
                .or_insert(notice.kind.clone().into());
        }
        Body::Attachment(attachment) => {
            fields.insert("attachment".into(), json(attachment.data.as_ref().unwrap()));
        }
        Body::Progress(progress) => {
            progress
                .content
                .iter()
                .for_each(|data| drop(fields.insert("data".into(), json(data))));
            let call = progress.tool_use_id.iter();
            call.for_each(|id| drop(fields.insert("parentToolUseID".into(), id.clone().into())));
        }
        _ => {}
    }
    let kind = message.body.type_name();
    if !matches!(message.body, Body::Progress(_)) {
        fields.entry("type").or_insert(kind.into());
    }
}

fn speech(message: &Message, said: Option<Value>, fields: &mut Map<String, Value>) {
    let content = message
        .body
        .content()
        .filter(|content| **content != Content::Empty);
    let Some(Value::Object(mut said)) = said else {
        content
            .into_iter()
            .for_each(|text| drop(fields.insert("message".into(), json(text))));
        return;
    };
    content
        .into_iter()
        .for_each(|content| drop(said.insert("content".into(), json(content))));
    message
        .model
        .iter()
        .for_each(|model| drop(said.insert("model".into(), model.clone().into())));
    let id = message.response_id.iter();
    id.for_each(|id| drop(said.insert("id".into(), id.clone().into())));
    message
        .usage
        .iter()
        .for_each(|counts| drop(said.insert("usage".into(), usage(counts))));
    if let Body::Assistant(answer) = &message.body {
        let stop = answer.stop_reason.iter();
        stop.for_each(|stop| drop(said.insert("stop_reason".into(), stop.as_str().into())));
    }
    fields.insert("message".into(), Value::Object(said));
}

fn usage(counts: &TokenUsage) -> Value {
    let mut value = json(counts);
    let fields = value.as_object_mut().unwrap();
    let short = fields.remove("cache_creation_5m_tokens");
    let long = fields.remove("cache_creation_1h_tokens");
    let named = [
        ("ephemeral_5m_input_tokens", short),
        ("ephemeral_1h_input_tokens", long),
    ];
    let named = named
        .into_iter()
        .filter_map(|(key, count)| Some((key.to_string(), count?)));
    let lifetimes: Map<String, Value> = named.collect();
    if !lifetimes.is_empty() {
        fields.entry("cache_creation").or_insert(lifetimes.into());
    }
    value
}

fn object(map: &RawMap) -> Map<String, Value> {
    serde_json::from_str(&readable(map.to_raw().as_str())).unwrap()
}

fn json(value: &impl Json) -> Value {
    serde_json::from_str(&readable(&value.to_json())).unwrap()
}

/// JSON in which every half of a surrogate pair stands as text, since `serde_json` refuses it as an escape.
pub(super) fn readable(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let next = surrogate(rest.get(6..).unwrap_or_default());
        let length = match (surrogate(rest), next) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(half), _) => {
                out.push_str(&format!("\\\\u{half:04x}"));
                rest = &rest[6..];
                continue;
            }
            (None, _) => 2,
        };
        let (kept, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
        out.push_str(kept);
        rest = after;
    }
    out.push_str(rest);
    out
}

/// The code unit of an escape at the start of a text, if it is half of a pair.
fn surrogate(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16)
        .ok()
        .filter(|unit| (0xD800..=0xDFFF).contains(unit))
}

/// The record as its file has it: names that were made for it are taken out again.
pub(super) fn without_made_up(mut restored: Value, original: &Value) -> Value {
    let (Some(fields), Some(had)) = (restored.as_object_mut(), original.as_object()) else {
        return restored;
    };
    let is_made = |key: &str, value: &Value| match key {
        "uuid" => value
            .as_str()
            .and_then(|id| Uuid::try_parse(id).ok())
            .is_some_and(|id| id.get_version_num() == 5),
        // Of a record that names none, these are those of its neighbours, and its role.
        "type" | "sessionId" | "parentUuid" | "agentId" | "logicalParentUuid" => true,
        _ => false,
    };
    fields.retain(|key, value| had.contains_key(key) || !is_made(key, value));
    restored
}
