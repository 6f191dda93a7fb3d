//! What is known of a conversation as a whole, as a message of the model: a change of state before the
//! first message, so that it goes wherever messages go.

use analects_core::{Body, Message, Raw, RawMap, SessionId, StateChange};
use jiff::Timestamp;

use super::Session;
use crate::frame::is_derived;
use crate::msgfile::messages::derived_id;

/// The field of a state under which everything but the title stands.
const CHAT: &str = "chat";

/// The messages, after one with what is known of the conversation as a whole, if there is anything.
pub fn with_facts(session: &Session, id: &SessionId, mut messages: Vec<Message>) -> Vec<Message> {
    if let Some(record) = record(session, id) {
        if let Some(first) = messages.first_mut() {
            first.parent_id = Some(record.id.clone());
        }
        messages.insert(0, record);
    }
    messages
}

/// Takes what is known of the conversation as a whole from its messages, if the first of them says it.
pub fn without_facts(mut messages: Vec<Message>) -> (Session, Vec<Message>) {
    let others = messages.get(1).map(|next| next.session_id.clone());
    let is_own = |record: &&Message| others.is_none_or(|session| session == record.session_id);
    let Some(session) = messages.first().filter(is_own).and_then(read) else {
        return (Session::default(), messages);
    };
    let record = messages.remove(0);
    if let Some(first) = messages.first_mut()
        && first.parent_id.as_ref() == Some(&record.id)
    {
        first.parent_id = None;
    }
    let id = Some(record.session_id).filter(|id| !is_derived(id)).map(|id| id.to_string());
    (Session { id, ..session }, messages)
}

fn record(session: &Session, id: &SessionId) -> Option<Message> {
    let mut chat = RawMap::new();
    let time = |time: Timestamp| Raw::string(&time.to_string());
    let known = [
        ("timestamp", session.timestamp.map(time)),
        ("updated", session.updated.map(time)),
        ("tags", (!session.tags.is_empty()).then(|| strings(&session.tags))),
        ("preamble", session.preamble.as_deref().map(Raw::string)),
        ("extra", (!session.extra.is_empty()).then(|| session.extra.to_raw())),
    ];
    for (key, value) in known {
        value.into_iter().for_each(|value| chat.push(key, value));
    }
    let mut state = RawMap::new();
    session.title.iter().for_each(|title| state.push("title", Raw::string(title)));
    if !chat.is_empty() {
        state.push(CHAT, chat.to_raw());
    }
    let change = StateChange { changes: state.to_raw(), is_snapshot: false };
    let name = derived_id(id, "chat session");
    let message = Message { session_id: id.clone(), ..Message::new(name, change.into()) };
    (!state.is_empty()).then_some(message)
}

/// The conversation that a message speaks of, if that is all that it says.
fn read(message: &Message) -> Option<Session> {
    let Body::State(change) = &message.body else { return None };
    let state = change.changes.as_object()?;
    let chat = state.get(CHAT).and_then(Raw::as_object).unwrap_or_default();
    let string = |map: &RawMap, key: &str| map.get(key).and_then(Raw::as_string);
    let time = |key: &str| string(&chat, key)?.parse().ok();
    let tags: Option<Vec<String>> = chat.get("tags").and_then(Raw::to);
    let session = Session {
        id: None,
        title: string(&state, "title"),
        timestamp: time("timestamp"),
        updated: time("updated"),
        tags: tags.unwrap_or_default(),
        preamble: string(&chat, "preamble"),
        extra: chat.get("extra").and_then(Raw::as_object).unwrap_or_default(),
    };
    (record(&session, &message.session_id).as_ref() == Some(message)).then_some(session)
}

fn strings(texts: &[String]) -> Raw {
    let texts: Vec<String> =
        texts.iter().map(|text| Raw::string(text).as_str().to_string()).collect();
    let json = format!("[{}]", texts.join(","));
    Raw::parse(&json).unwrap_or_else(|_| Raw::string(&json))
}
