//! What takes the place of a record that is too long to be read, so that the messages around it stay linked.

use analects_core::{Message, Raw, StateChange};

use super::Envelope;

/// A record that says nothing and has the name and the parent of one that is too long, of which only the beginning
/// is at hand. What it stands for is noted under `left_out`, with the record's length in bytes. `None` if the
/// beginning has no name.
pub fn stand_in(beginning: &[u8], length: u64) -> Option<Message> {
    let head = Envelope::read_beginning(beginning);
    let names = head.names_alone()?;
    let link = names.link();
    let change = StateChange { changes: Raw::empty_object(), is_snapshot: false };
    let mut message = Message::new(link.id, change.into());
    message.parent_id = link.parent.map(Into::into);
    message.agent_id = link.agent.map(str::to_string);
    message.session_id = head.string("session_id").unwrap_or_default().into_owned().into();
    message.created_at = head.string("created_at").and_then(|time| time.parse().ok());
    let note = format!("{{\"type\":{},\"bytes\":{length}}}", Raw::string(&head.type_name()));
    if let Ok(note) = Raw::parse(&note) {
        message.extra.push("left_out", note);
    }
    Some(message)
}
