//! Which of the last messages the model does not see, and why: told from the records behind them alone.

use std::collections::HashSet;

use analects_core::{History, Link, Message, Unseen};
use analects_formats::transcript::read_line;

use super::Loaded;
use super::back::{Walk, Wanted};
use crate::StoreError;
use crate::sessions::Row;

/// A message, and what the records behind it say about it.
#[derive(Debug)]
pub(super) struct Met {
    pub message: Message,
    /// The row, and which of the records in it.
    pub place: (u64, usize),
    /// Whether a tombstone hides it.
    is_hidden: bool,
    /// Whether the last message follows it.
    is_on_way: bool,
}

/// Goes over rows from the last one on.
#[derive(Debug)]
pub(super) struct Marks<'a> {
    walk: Walk<'a>,
    agent: Option<&'a str>,
    /// The next message on the way to the first one.
    wanted: Wanted,
    /// The names that were met.
    names: HashSet<String>,
}

impl<'a> Marks<'a> {
    pub(super) fn new(agent: Option<&'a str>) -> Marks<'a> {
        let walk = Walk::new(agent);
        Marks { walk, agent, wanted: Wanted::Leaf, names: HashSet::new() }
    }

    /// The messages of a row, the last one first.
    pub(super) fn meet(&mut self, row: Row<'_>) -> Vec<Met> {
        let read = row.bytes.map(read_line).unwrap_or_default();
        let mut all = Vec::new();
        for (nth, message) in read.messages.into_iter().enumerate().rev() {
            let is_hidden = self.walk.hides(&message.id);
            let is_on_way = self.go_back(&message);
            all.push(Met { message, place: (row.at, nth), is_hidden, is_on_way });
        }
        self.walk.meet_row(row);
        all
    }

    /// Whether a record is the next one on the way.
    fn go_back(&mut self, message: &Message) -> bool {
        let link = Link::of(message);
        self.names.insert(link.id.to_string());
        let is_next = match &self.wanted {
            Wanted::Leaf => link.agent == self.agent && link.can_be_leaf(),
            Wanted::Parent(id) => *id == link.id,
            Wanted::Nothing => false,
        };
        if is_next {
            self.wanted = Wanted::parent_of(link);
        }
        is_next
    }

    /// Why the model does not see each message. Where a link leads forward, or nowhere, everything is loaded for that.
    pub(super) fn finish(
        self,
        met: &[Met],
        load: impl FnOnce() -> Result<Loaded, StoreError>,
    ) -> Result<Vec<Option<Unseen>>, StoreError> {
        let leads_forward = matches!(&self.wanted, Wanted::Parent(id) if self.names.contains(id));
        if leads_forward || self.walk.is_lost() {
            let seen = load()?.messages;
            let seen: HashSet<&str> = seen.iter().map(|message| &*message.id).collect();
            return Ok(met.iter().map(|met| met.why(seen.contains(&*met.message.id))).collect());
        }
        let seen = self.walk.seen();
        Ok(met.iter().map(|met| met.why(seen.contains(&met.place))).collect())
    }
}

impl Met {
    fn why(&self, is_seen: bool) -> Option<Unseen> {
        if self.message.history == History::Exclude {
            Some(Unseen::Hidden)
        } else if self.is_hidden {
            Some(Unseen::TakenBack)
        } else if is_seen {
            let is_error = self.message.is_api_error_message;
            (is_error && self.message.why_not_sent().is_some()).then_some(Unseen::Error)
        } else if self.is_on_way {
            Some(Unseen::Compacted)
        } else {
            Some(Unseen::Branch)
        }
    }
}
