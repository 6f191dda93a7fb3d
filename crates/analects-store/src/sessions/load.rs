//! Loading what the model is to see of a chain, from its end, and no more of it than that.
//!
//! The usual way goes backward from the last record, from parent to parent, until a compaction says that
//! this is all. It keeps only what is on the way. Where a link leads nowhere, or forward, everything is
//! gone over once for its names, and once more for the messages that are wanted.

mod back;
mod marks;
mod whole;

use std::collections::VecDeque;
use std::ops::ControlFlow;

use analects_core::verbs::revised;
use analects_core::{Body, Hint, Message, MessageId, Problem, SessionState, Span, Unseen};

use super::{ChainName, Overview, Row, TranscriptStore};
use crate::StoreError;
use marks::{Marks, Met};

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
    /// For each of them, why the model does not see it; `None` where it does.
    pub unseen: Vec<Option<Unseen>>,
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
    /// Loads the effective chain that ends with a message, mostly the last one; without one, only the state.
    pub fn to(
        store: &dyn TranscriptStore,
        of: &ChainName,
        leaf: Option<&MessageId>,
    ) -> Result<Loaded, StoreError> {
        let last = load(store, of)?;
        match leaf {
            leaf if leaf == last.leaf.as_ref() => Ok(last),
            Some(leaf) => Loaded::branch(store, of, leaf),
            None => Ok(Loaded { state: last.state, ..Loaded::default() }),
        }
    }

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
    let mut marks = Marks::new(of.agent.as_deref());
    let mut found = VecDeque::new();
    let mut revisions = Vec::new();
    store.scan_back(of, &mut |row| {
        if found.len() >= count {
            return ControlFlow::Break(());
        }
        for met in marks.meet(row) {
            if is_message(&met.message) {
                found.push_front(met);
            } else if matches!(met.message.body, Body::Revision(_)) {
                revisions.push((met.place, met.message));
            }
        }
        ControlFlow::Continue(())
    })?;
    let surplus = found.len().saturating_sub(count);
    let mut found: Vec<Met> = found.into_iter().skip(surplus).collect();
    let messages = found.iter().map(|met| (met.place, met.message.clone())).collect();
    for (met, message) in found.iter_mut().zip(with_revisions(messages, revisions)) {
        met.message = message;
    }
    let unseen = marks.finish(&found, || load(store, of))?;
    let messages = found.into_iter().map(|met| met.message).collect();
    Ok(Tail { messages, unseen, overview: store.overview(of)? })
}

/// A record, and where it is: its row, and which of the records in it.
type Placed = ((u64, usize), Message);

/// Messages with the revisions applied that came after them.
fn with_revisions(messages: Vec<Placed>, revisions: Vec<Placed>) -> Vec<Message> {
    let mut order: Vec<usize> = (0..messages.len() + revisions.len()).collect();
    let (places, records): (Vec<_>, Vec<Message>) =
        messages.iter().chain(&revisions).cloned().unzip();
    order.sort_by_key(|at| places[*at]);
    let revised = revised(order.iter().map(|at| records[*at].clone()).collect());
    let mut placed: Vec<(usize, Message)> = order.into_iter().zip(revised).collect();
    placed.sort_by_key(|(at, _)| *at);
    placed.truncate(messages.len());
    placed.into_iter().map(|(_, message)| message).collect()
}

/// Whether a record is something that a person would call a message.
fn is_message(message: &Message) -> bool {
    match message.body {
        Body::System(_)
        | Body::User(_)
        | Body::Assistant(_)
        | Body::ToolUse(_)
        | Body::ToolResult(_)
        | Body::Attachment(_)
        | Body::Notification(_)
        | Body::Summary(_)
        | Body::Other(_) => true,
        Body::Progress(_)
        | Body::State(_)
        | Body::Tombstone(_)
        | Body::Revision(_)
        | Body::CompactBoundary(_) => false,
    }
}

/// Says where in the store a problem is.
fn place(mut problem: Problem, row: Row<'_>) -> Problem {
    let offset = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
    problem.span = Some(Span::new(offset(row.at), offset(row.next)));
    problem
}

/// The problem of a row that is too long to be read.
fn too_long(row: Row<'_>) -> Problem {
    let length = row.next - row.at;
    let text = format!("the record at byte {} has {length} bytes, more than may be read", row.at);
    let hint = match row.long_names() {
        Some(_) => Hint::from("it is left as it is, and the conversation goes on without it"),
        None => Hint::RepairTranscript,
    };
    place(Problem::error("long-line", text).hint(hint), row)
}
