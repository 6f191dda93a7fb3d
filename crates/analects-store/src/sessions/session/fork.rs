//! What a copy of a session takes over: which records, found without holding what they say.

use std::collections::HashSet;
use std::ops::ControlFlow;

use analects_core::verbs::{fork, fork_to, step_end};
use analects_core::{
    Body, Link, LinkKind, Message, MessageId, Rebuilding, SessionState, StateChange, Tombstone,
    Tree, TreeBuilder,
};
use analects_formats::transcript::read_line;

use super::{ChainName, Outline, Session, TranscriptStore};
use crate::StoreError;

/// What a copy of a session takes over.
pub(super) struct ForkPlan {
    /// The records, in their order.
    pub(super) records: Vec<ForkRecord>,
    /// For records that are too long to be copied: these say what came before them.
    pub(super) tombstones: Vec<Message>,
    pub(super) state: SessionState,
    /// The last message of the copy.
    pub(super) leaf: Option<MessageId>,
}

/// A record that is copied.
pub(super) struct ForkRecord {
    pub(super) row: u64,
    pub(super) nth: usize,
    /// Whether it is on the way to the last message; else it hides or revises something on it.
    pub(super) is_on_way: bool,
}

impl ForkPlan {
    /// Up to a message and what completes it.
    pub(super) fn up_to(id: &str, session: &Session<'_>) -> Result<ForkPlan, StoreError> {
        let outline = Outline::read(session.store, &session.name)?;
        let way = fork(&outline.messages, Some(id)).map_err(|error| session.verb_error(error))?;
        let tree = Tree::of(&outline.messages);
        let end = tree.position(id).map(|at| step_end(&outline.messages, at));
        let mut states = Vec::new();
        for (at, message) in outline.messages.into_iter().enumerate() {
            if let Body::State(change) = message.body {
                states.push((at, change));
            }
        }
        let rows = RecordTable {
            positions: outline.positions,
            long: outline.long,
            states,
        };
        Ok(rows.copied(&tree, &way, end))
    }

    /// Up to the last message.
    pub(super) fn all(store: &dyn TranscriptStore, of: &ChainName) -> Result<ForkPlan, StoreError> {
        let (mut rows, mut builder) = (RecordTable::default(), TreeBuilder::default());
        store.scan(of, 0, &mut |row| {
            let Some(bytes) = row.bytes else {
                if let Some(names) = row.long_names() {
                    rows.long.push(rows.positions.len());
                    rows.positions.push((row.at, 0));
                    builder.push(Link {
                        agent: None,
                        ..names.link()
                    });
                }
                return ControlFlow::Continue(());
            };
            for (nth, message) in read_line(bytes).messages.into_iter().enumerate() {
                // Whichever chain it is, its messages are read as those of a main chain.
                builder.push(Link {
                    agent: None,
                    ..Link::of(&message)
                });
                if let Body::State(change) = message.body {
                    rows.states.push((rows.positions.len(), change));
                }
                rows.positions.push((row.at, nth));
            }
            ControlFlow::Continue(())
        })?;
        let tree = builder.finish();
        let end = tree.leaf(None);
        Ok(rows.copied(&tree, &fork_to(&tree, end), end))
    }
}

/// Where the records of a session are, and what they say of its state.
#[derive(Default)]
struct RecordTable {
    /// The row of each, and which of the records in it.
    positions: Vec<(u64, usize)>,
    /// The positions of records that are too long to be read.
    long: Vec<usize>,
    states: Vec<(usize, StateChange)>,
}

impl RecordTable {
    fn copied(self, tree: &Tree, positions: &[usize], end: Option<usize>) -> ForkPlan {
        let is_told = |at: usize| {
            matches!(
                tree.link(at).kind,
                LinkKind::Tombstone { .. } | LinkKind::Revision { .. }
            )
        };
        let way: HashSet<usize> = end
            .into_iter()
            .flat_map(|end| tree.ancestors(end))
            .collect();
        let mut state = Rebuilding::default();
        for (at, change) in &self.states {
            if end.is_some_and(|end| *at <= end) {
                state.change(change);
            }
        }
        let mut records = Vec::new();
        let mut tombstones = Vec::new();
        for at in positions {
            let (row, nth) = self.positions[*at];
            if self.long.binary_search(at).is_ok() {
                let link = tree.link(*at);
                let target_parent = link.parent.map(MessageId::from);
                let body = Tombstone {
                    target: link.id.into(),
                    target_parent,
                };
                tombstones.push(Message::new("", Body::Tombstone(body)));
            } else {
                let is_on_way = way.contains(at) || !is_told(*at);
                records.push(ForkRecord {
                    row,
                    nth,
                    is_on_way,
                });
            }
        }
        let leaf = end.map(|end| tree.link(end).id.into());
        ForkPlan {
            records,
            tombstones,
            state: state.finish(),
            leaf,
        }
    }
}
