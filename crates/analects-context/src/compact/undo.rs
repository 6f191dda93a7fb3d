//! Taking a compaction back: what it hid is seen again.

use analects_core::{Body, Chain, Ids, Message, Tombstone};
use jiff::Timestamp;

use crate::plan::after_boundary;

/// The messages that undo the last compaction of a chain: a tombstone on its boundary, one on its summary, which
/// would else stay in the conversation, and one on each copy of an instruction and each file that came with it.
/// A copy that says something else by now is somebody's own words, and stays. `record` is all that is known of the
/// conversation. Nothing if there is no compaction.
pub fn undo(
    chain: &Chain<'_>,
    record: &[Message],
    ids: &mut dyn Ids,
    now: Timestamp,
) -> Vec<Message> {
    let Some(boundary) = chain.boundary else { return Vec::new() };
    let Body::CompactBoundary(body) = &boundary.body else { return Vec::new() };
    let summary =
        chain.messages.iter().find(|message| Some(&message.id) == body.summary_id.as_ref());
    let mut parent = chain.leaf.map(|leaf| leaf.id.clone());
    let mut made = Vec::new();
    let behind = chain.messages.iter().skip(after_boundary(chain)).copied();
    let is_edited = |message: &Message| is_edited(message, boundary, record);
    let copies = behind.take_while(|message| message.came_with(boundary) || is_edited(message));
    let copies = copies.filter(|copy| !is_edited(copy));
    for target in std::iter::once(boundary).chain(summary.copied()).chain(copies) {
        let tombstone =
            Tombstone { target: target.id.clone(), target_parent: target.parent_id.clone() };
        let message = Message {
            parent_id: parent,
            session_id: boundary.session_id.clone(),
            agent_id: boundary.agent_id.clone(),
            created_at: Some(now),
            ..Message::new(ids.uuid(now), Body::Tombstone(tombstone))
        };
        parent = Some(message.id.clone());
        made.push(message);
    }
    made
}

/// Whether a copy of an instruction was changed since: then no original says the same. Where the originals are not at
/// hand, the record is one that only grows, and what came later than the boundary is no copy.
fn is_edited(copy: &Message, boundary: &Message, record: &[Message]) -> bool {
    if !matches!(copy.body, Body::System(_)) {
        return false;
    }
    match record.iter().position(|message| message.id == boundary.id) {
        Some(at) => {
            let content = copy.content_to_send();
            let is_original = |message: &Message| {
                matches!(message.body, Body::System(_)) && message.content_to_send() == content
            };
            !record[..at].iter().any(is_original)
        }
        None => copy.created_at.is_some() && copy.created_at != boundary.created_at,
    }
}
