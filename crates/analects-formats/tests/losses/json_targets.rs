//! Small readers of the JSON formats: transcript, chat session, and the requests of both APIs.

use std::collections::HashMap;

use serde_json::Value;

use crate::found::{Found, blocks, leaves, readable, string};

/// The bodies of a transcript's messages and where their text belongs.
const ROLES: [(&str, &str); 8] = [
    ("system", "system"),
    ("user", "user"),
    ("assistant", "assistant"),
    ("attachment", "attachment"),
    ("notification", "notification"),
    ("progress", "progress"),
    ("chat_item", "item"),
    ("revision", "revision"),
];

pub fn transcript(output: &[u8]) -> Found {
    let mut found = Found::of(output);
    let mut positions: HashMap<String, usize> = HashMap::new();
    let lines = readable(output);
    for (at, line) in lines.lines().enumerate() {
        let record: Value = serde_json::from_str(line)
            .unwrap_or_else(|error| panic!("line {} of the transcript: {error}\n{line}", at + 1));
        let parent = positions.get(string(&record, "parent_id")).copied();
        found.message(parent);
        positions.insert(string(&record, "id").to_string(), at);
        transcript_record(&mut found, &record);
    }
    found
}

fn transcript_record(found: &mut Found, record: &Value) {
    let object = record.as_object().unwrap();
    let kind = string(record, "type");
    let role = ROLES.iter().find(|(name, _)| *name == kind);
    if let (Some((_, role)), Some(content)) = (role, record.get("content")) {
        blocks(found, role, content);
    }
    match kind {
        "summary" => found.text("summary", string(record, "text")),
        "compact_boundary" => found.text("separator", ""),
        "tombstone" => found.text("tombstone", ""),
        "tool_use" | "tool_result" => {
            let block = record.get("block").cloned().unwrap_or_default();
            blocks(found, "result", &Value::Array(vec![block]));
        }
        "state" => {
            let state = record.get("state").unwrap_or(&Value::Null);
            found.text("state", "");
            found.text("title", string(state, "title"));
        }
        _ => {}
    }
    found.fields("", object, &["v", "crc", "content", "block"]);
}

pub fn chat_session(output: &[u8]) -> Found {
    let mut found = Found::of(output);
    let session: Value = serde_json::from_str(&readable(output)).unwrap();
    let object = session.as_object().unwrap();
    found.fields("", object, &["items"]);
    found.text("title", string(&session, "title"));
    found.text("system", string(&session, "sysPrompt"));
    found.text("preamble", string(&session, "preamble"));
    for item in session["items"].as_array().unwrap() {
        found.next_message();
        let message = item.get("message").unwrap_or(&Value::Null);
        chat_message(&mut found, message);
        if string(item, "type").starts_with("sep") {
            found.text("separator", string(item, "type"));
        }
        found.fields("", item.as_object().unwrap(), &["message"]);
    }
    found
}

pub fn openai(output: &[u8]) -> Found {
    let mut found = Found::of(output);
    let (fields, messages) = request(output);
    found.values("", &fields);
    for (message, is_first) in &messages {
        if *is_first {
            found.message(None);
        } else {
            found.next_message();
        }
        chat_message(&mut found, message);
    }
    found.forget_files();
    found
}

/// Reads a message with the fields of Chat Completions.
fn chat_message(found: &mut Found, message: &Value) {
    let Some(object) = message.as_object() else {
        return;
    };
    let role = match string(message, "role") {
        "system" | "developer" => "system",
        "assistant" => "assistant",
        "tool" | "function" => "result",
        _ => "user",
    };
    let content = message.get("content").unwrap_or(&Value::Null);
    if let Some(text) = content.as_str() {
        found.text(role, text);
    }
    for part in content.as_array().into_iter().flatten() {
        match string(part, "type") {
            "text" => found.text(role, string(part, "text")),
            "image_url" => image_url(found, part),
            "refusal" => found.text("refusal", string(part, "refusal")),
            kind => {
                found.text("block", kind);
                found.text("block", part.to_string());
            }
        }
        if let Some(object) = part.as_object() {
            found.fields("part", object, &["type", "text"]);
        }
    }
    for tool_call in message
        .get("tool_calls")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        found.field("tool_call_id", string(tool_call, "id"));
        let function = tool_call.get("function").unwrap_or(tool_call);
        found.text("call", string(function, "name"));
        let arguments = string(function, "arguments");
        found.text("call", arguments);
        if let Ok(arguments) = serde_json::from_str(arguments) {
            leaves(&arguments, &mut |leaf| found.text("call", leaf));
        }
    }
    if let Some(refusal) = message.get("refusal").and_then(Value::as_str) {
        found.text("refusal", refusal);
    }
    found.fields("", object, &["content", "tool_calls"]);
}

/// Reads a picture. The API takes addresses of pictures and pictures themselves, but no files.
fn image_url(found: &mut Found, part: &Value) {
    let image = part.get("image_url").unwrap_or(&Value::Null);
    found.text("picture", string(image, "url"));
}

pub fn anthropic(output: &[u8]) -> Found {
    let mut found = Found::of(output);
    let (fields, messages) = request(output);
    blocks(
        &mut found,
        "system",
        fields.get("system").unwrap_or(&Value::Null),
    );
    found.values("", &fields);
    for (message, is_first) in &messages {
        if *is_first {
            found.message(None);
        } else {
            found.next_message();
        }
        let role = if string(message, "role") == "assistant" {
            "assistant"
        } else {
            "user"
        };
        blocks(
            &mut found,
            role,
            message.get("content").unwrap_or(&Value::Null),
        );
        found.fields("", message.as_object().unwrap(), &["content"]);
    }
    found.forget_files();
    found
}

/// Splits requests into their own fields and their messages, the first of each marked. A bare list and a message per line
/// are requests, too.
fn request(output: &[u8]) -> (Value, Vec<(Value, bool)>) {
    let text = readable(output);
    let mut fields = serde_json::Map::new();
    let mut messages = Vec::new();
    for value in serde_json::Deserializer::from_str(&text).into_iter::<Value>() {
        let value = value.unwrap_or_else(|error| panic!("{error}\n{text}"));
        let list = match value {
            Value::Array(list) => list,
            value => vec![value],
        };
        for mut value in list {
            match value.get_mut("messages").map(Value::take) {
                Some(Value::Array(list)) => {
                    let list = list.into_iter().enumerate();
                    messages.extend(list.map(|(at, message)| (message, at == 0)));
                    let own = value.as_object().cloned().unwrap_or_default();
                    fields.extend(own.into_iter().filter(|(key, _)| key != "messages"));
                }
                _ => messages.push((value, messages.is_empty())),
            }
        }
    }
    (Value::Object(fields), messages)
}
