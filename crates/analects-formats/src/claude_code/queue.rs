//! Holds messages back until what they lack is known: their session, or the summary of a compaction.

use analects_core::{Body, Message};

use crate::convert::ReadOutput;

/// How many messages, from lines with how many bytes, wait for the first record that names its session.
const EARLY_MESSAGES: usize = 1_000;
/// The limit in bytes that belongs to [`EARLY_MESSAGES`].
const EARLY_BYTES: usize = 16 << 20;

/// How many messages wait with a compaction for its summary, which is usually the next one.
const COMPACTION_MESSAGES: usize = 32;

/// The messages that are not yet complete, in file order.
#[derive(Debug, Default)]
pub(super) struct MessageQueue {
    /// Whether a record has named its session.
    has_session: bool,
    /// Messages from before the first record that names its session.
    early: Vec<Message>,
    /// How many bytes the lines of the early messages have, and those of left-out records between them.
    early_bytes: usize,
    /// A compaction without its summary, and the messages after it.
    compaction: Vec<Message>,
}

impl MessageQueue {
    /// Counts the bytes of the lines that early messages come from.
    pub(super) fn count_bytes(&mut self, bytes: usize) {
        if !self.has_session {
            self.early_bytes = self.early_bytes.saturating_add(bytes);
        }
    }

    /// Takes the next message. Passes on what is complete.
    pub(super) fn push(&mut self, message: Message, out: &mut ReadOutput) {
        if self.has_session {
            self.push_with_session(message, out);
            return;
        }
        self.early.push(message);
        if self.early.len() >= EARLY_MESSAGES || self.early_bytes > EARLY_BYTES {
            self.release_early(None, out);
        }
    }

    /// Releases the messages that waited for their session.
    pub(super) fn set_session(&mut self, session: &str, out: &mut ReadOutput) {
        if !self.has_session {
            self.release_early(Some(session), out);
            self.has_session = true;
        }
    }

    /// Releases everything.
    pub(super) fn finish(&mut self, out: &mut ReadOutput) {
        self.release_early(None, out);
        out.messages.append(&mut self.compaction);
    }

    /// Passes the early messages on, with this session if there is one.
    fn release_early(&mut self, session: Option<&str>, out: &mut ReadOutput) {
        for mut message in std::mem::take(&mut self.early) {
            if let Some(session) = session {
                message.session_id = session.into();
            }
            self.push_with_session(message, out);
        }
    }

    /// Passes a message on, unless it must wait for the summary of a compaction.
    fn push_with_session(&mut self, message: Message, out: &mut ReadOutput) {
        let is_boundary = matches!(message.body, Body::CompactBoundary(_));
        if self.compaction.is_empty() && !is_boundary {
            out.messages.push(message);
            return;
        }
        if is_boundary {
            out.messages.append(&mut self.compaction);
        }
        self.compaction.push(message);
        if self.has_summary() || self.compaction.len() > COMPACTION_MESSAGES {
            out.messages.append(&mut self.compaction);
        }
    }

    /// Returns whether the last message is the summary of the waiting compaction. If so, links it.
    fn has_summary(&mut self) -> bool {
        let Some((boundary, rest)) = self.compaction.split_first_mut() else {
            return false;
        };
        let Some(last) = rest.last() else {
            return false;
        };
        if !matches!(last.body, Body::Summary(_)) {
            return false;
        }
        if let Body::CompactBoundary(body) = &mut boundary.body {
            body.summary_id = Some(last.id.clone());
        }
        true
    }
}
