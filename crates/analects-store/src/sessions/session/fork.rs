//! Planning a fork: which records of a session to copy, found without keeping their content in memory.

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
use crate::sessions::{ChainRow, RecordPosition};

/// The content of a fork.
pub(super) struct ForkPlan {
    /// The records to copy, in their order.
    pub(super) records: Vec<ForkRecord>,
    /// Tombstones in place of records that are too long to be copied. They keep the links to earlier records.
    pub(super) tombstones: Vec<Message>,
    /// The state of the session at the last message.
    pub(super) state: SessionState,
    /// The last message of the fork.
    pub(super) leaf: Option<MessageId>,
}

/// A record to copy.
pub(super) struct ForkRecord {
    pub(super) position: RecordPosition,
    /// Whether it is on the path to the last message; otherwise it hides or revises a record on the path.
    pub(super) is_on_path: bool,
}

impl ForkPlan {
    /// Plans a fork up to a message and the records that complete its step.
    pub(super) fn up_to(id: &str, session: &Session<'_>) -> Result<ForkPlan, StoreError> {
        let outline = Outline::read(session.store, &session.name)?;
        let indexes =
            fork(&outline.messages, Some(id)).map_err(|error| session.verb_error(error))?;
        let tree = Tree::of(&outline.messages);
        let end = tree.position(id).map(|at| step_end(&outline.messages, at));
        let mut states = Vec::new();
        for (at, message) in outline.messages.into_iter().enumerate() {
            if let Body::State(change) = message.body {
                states.push((at, change));
            }
        }
        let records = RecordTable {
            positions: outline.positions,
            long_records: outline.long_records,
            states,
        };
        Ok(records.plan(&tree, &indexes, end))
    }

    /// Plans a fork of the whole chain.
    pub(super) fn all(store: &dyn TranscriptStore, of: &ChainName) -> Result<ForkPlan, StoreError> {
        let mut records = RecordTable::default();
        let mut builder = TreeBuilder::default();
        store.scan(of, 0, &mut |row| {
            records.add_row(row, &mut builder);
            ControlFlow::Continue(())
        })?;
        let tree = builder.finish();
        let end = tree.leaf(None);
        Ok(records.plan(&tree, &fork_to(&tree, end), end))
    }
}

/// The positions and the state changes of the records of a session.
#[derive(Default)]
struct RecordTable {
    /// The positions of all records, in their order.
    positions: Vec<RecordPosition>,
    /// The indexes of the records that are too long to be read.
    long_records: Vec<usize>,
    /// The changes of the state, each with the index of its record.
    states: Vec<(usize, StateChange)>,
}

impl RecordTable {
    /// Adds the records of a row here and to the tree. The records of a side chain are read as those of a main chain.
    fn add_row(&mut self, row: ChainRow<'_>, builder: &mut TreeBuilder) {
        let Some(bytes) = row.bytes else {
            if let Some(link) = row.long_record_link() {
                self.long_records.push(self.positions.len());
                self.positions.push(RecordPosition {
                    row: row.at,
                    nth: 0,
                });
                builder.push(Link {
                    agent: None,
                    ..link.link()
                });
            }
            return;
        };
        for (nth, message) in read_line(bytes).messages.into_iter().enumerate() {
            builder.push(Link {
                agent: None,
                ..Link::of(&message)
            });
            if let Body::State(change) = message.body {
                self.states.push((self.positions.len(), change));
            }
            self.positions.push(RecordPosition { row: row.at, nth });
        }
    }

    /// Plans a fork of the records with these indexes, which ends with the record `end`.
    fn plan(self, tree: &Tree, indexes: &[usize], end: Option<usize>) -> ForkPlan {
        let path: HashSet<usize> = end
            .into_iter()
            .flat_map(|end| tree.ancestors(end))
            .collect();
        let mut records = Vec::new();
        let mut tombstones = Vec::new();
        for at in indexes {
            if self.long_records.binary_search(at).is_ok() {
                tombstones.push(tombstone_of(tree.link(*at)));
                continue;
            }
            records.push(ForkRecord {
                position: self.positions[*at],
                is_on_path: path.contains(at) || !affects_others(tree, *at),
            });
        }
        ForkPlan {
            records,
            tombstones,
            state: self.state_at(end),
            leaf: end.map(|end| tree.link(end).id.into()),
        }
    }

    /// Returns the state up to a record; the default state without one.
    fn state_at(&self, end: Option<usize>) -> SessionState {
        let mut state = Rebuilding::default();
        for (at, change) in &self.states {
            if end.is_some_and(|end| *at <= end) {
                state.change(change);
            }
        }
        state.finish()
    }
}

/// Returns whether a record hides or revises another one.
fn affects_others(tree: &Tree, at: usize) -> bool {
    matches!(
        tree.link(at).kind,
        LinkKind::Tombstone { .. } | LinkKind::Revision { .. }
    )
}

/// Returns a tombstone that replaces a record and keeps its link.
fn tombstone_of(link: Link<'_>) -> Message {
    let body = Tombstone {
        target: link.id.into(),
        target_parent: link.parent.map(MessageId::from),
    };
    Message::new("", Body::Tombstone(body))
}
