//! Loading what the model is to see of a chain, from its end, and no more of it than that.
//!
//! The usual way goes backward from the last record, from parent to parent, until a compaction says that
//! this is all. It keeps only what is on the way. Where a link leads nowhere, or forward, everything is
//! gone over once for its names, and once more for the messages that are wanted.

mod back;
mod whole;

use std::collections::VecDeque;
use std::ops::ControlFlow;

use analects_core::{Body, Message, MessageId, Problem, SessionState, Span};
use analects_formats::transcript::read_line;

use super::{ChainName, Overview, Row, TranscriptStore};
use crate::StoreError;

/// What a chain comes down to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Loaded {
    /// What the model is to see, oldest first.
    pub messages: Vec<Message>,
    /// What the next message follows.
    pub leaf: Option<MessageId>,
    /// The boundary from which messages are seen, if one counts.
    pub boundary: Option<Message>,
    /// The session's state.
    pub state: SessionState,
    /// What was odd about the records on the way; spans are positions in the store.
    pub problems: Vec<Problem>,
}

impl Loaded {
    /// The same as the chain of its messages, for what goes on from there.
    pub fn chain(&self) -> analects_core::Chain<'_> {
        analects_core::Chain {
            messages: self.messages.iter().collect(),
            boundary: self.boundary.as_ref(),
            ..analects_core::Chain::default()
        }
    }
}

/// The end of a chain.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tail {
    /// Its last messages, oldest first.
    pub messages: Vec<Message>,
    /// Counts and totals of all of it.
    pub overview: Overview,
}

/// Loads the effective chain: what the model is to see. Memory is needed for that, and not for what a
/// compaction or a branch leaves out.
pub fn load(store: &dyn TranscriptStore, of: &ChainName) -> Result<Loaded, StoreError> {
    match back::load(store, of)? {
        Some(loaded) => Ok(loaded),
        None => whole::load(store, of, None),
    }
}

impl Loaded {
    /// Loads another branch than the last: the one that ends with this message.
    pub fn branch(
        store: &dyn TranscriptStore,
        of: &ChainName,
        leaf: &str,
    ) -> Result<Loaded, StoreError> {
        whole::load(store, of, Some(leaf))
    }
}

/// The last messages of a chain, whatever branch they are on, with counts and totals. Costs the same for
/// a short and a long one.
pub fn tail(store: &dyn TranscriptStore, of: &ChainName, count: usize) -> Result<Tail, StoreError> {
    let mut messages = VecDeque::new();
    store.scan_back(of, &mut |row| {
        if messages.len() >= count {
            return ControlFlow::Break(());
        }
        let read = row.bytes.map(read_line).unwrap_or_default();
        for message in read.messages.into_iter().rev().filter(is_message) {
            messages.push_front(message);
        }
        ControlFlow::Continue(())
    })?;
    let surplus = messages.len().saturating_sub(count);
    let messages = messages.into_iter().skip(surplus).collect();
    Ok(Tail { messages, overview: store.overview(of)? })
}

/// Whether a record is something that a person would call a message.
fn is_message(message: &Message) -> bool {
    !matches!(
        message.body,
        Body::Progress(_) | Body::State(_) | Body::Tombstone(_) | Body::CompactBoundary(_)
    )
}

/// Says where in the store a problem is.
fn place(mut problem: Problem, row: Row<'_>) -> Problem {
    let offset = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
    problem.span = Some(Span::new(offset(row.at), offset(row.next)));
    problem
}

/// The problem of a row that is too long to be read.
fn too_long(row: Row<'_>) -> Problem {
    let text = format!("a record has {} bytes, more than may be read", row.next - row.at);
    let problem = Problem::error("long-line", text);
    place(problem.hint("it is left as it is; every other record is read"), row)
}
