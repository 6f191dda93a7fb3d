//! Builds records for sessions, and reads them.

use super::*;

pub(super) fn ids(messages: &[Message]) -> Vec<&str> {
    messages.iter().map(|message| &*message.id).collect()
}

pub(super) fn parents(messages: &[Message]) -> Vec<&str> {
    messages
        .iter()
        .map(|message| message.parent_id.as_deref().unwrap_or("-"))
        .collect()
}

pub(super) fn seen(messages: &[Message]) -> Vec<&str> {
    chain(messages)
        .messages
        .iter()
        .map(|message| &*message.id)
        .collect()
}

pub(super) fn codes(got: &ReadOutput) -> Vec<(&str, usize)> {
    got.problems
        .iter()
        .map(|odd| (&*odd.code, odd.line))
        .collect()
}

pub(super) fn extra<'a>(message: &'a Message, key: &str) -> Option<&'a str> {
    message.extra.get(key).map(|raw| raw.as_str())
}

/// A record of the main chain; `rest` is what else it says.
pub(super) fn line(kind: &str, id: &str, parent: &str, rest: &str) -> String {
    let parent = if parent == "-" {
        "null".to_string()
    } else {
        format!("\"{parent}\"")
    };
    format!(
        r#"{{"parentUuid":{parent},"isSidechain":false,"sessionId":"s1","type":"{kind}","uuid":"{id}",{rest}}}"#
    ) + "\n"
}

pub(super) fn prompt(id: &str, parent: &str) -> String {
    line(
        "user",
        id,
        parent,
        r#""message":{"role":"user","content":"Please."}"#,
    )
}

pub(super) fn answer(id: &str, parent: &str, response: &str, block: &str) -> String {
    let usage = r#"{"input_tokens":5,"output_tokens":7}"#;
    let rest = format!(
        r#""message":{{"id":"{response}","type":"message","role":"assistant","model":"m","content":[{block}],"stop_reason":null,"usage":{usage}}}"#
    );
    line("assistant", id, parent, &rest)
}

pub(super) fn text(said: &str) -> String {
    format!(r#"{{"type":"text","text":"{said}"}}"#)
}

pub(super) fn call(id: &str) -> String {
    format!(r#"{{"type":"tool_use","id":"{id}","name":"Read","input":{{}}}}"#)
}

pub(super) fn result(id: &str, parent: &str, call: &str) -> String {
    let block = format!(r#"{{"type":"tool_result","tool_use_id":"{call}","content":"ok"}}"#);
    let rest = format!(
        r#""message":{{"role":"user","content":[{block}]}},"toolUseResult":{{"stdout":"ok"}}"#
    );
    line("user", id, parent, &rest)
}
