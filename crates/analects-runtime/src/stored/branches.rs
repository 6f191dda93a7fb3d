//! Whether somebody else went on with a session from where this conversation did.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use analects_core::MessageId;
use analects_store::{StoreError, message_names};

use super::StoredConversation;

/// The branches that a session has from the message on that a conversation went on from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branches {
    /// How many there are, this conversation's included.
    pub count: usize,
    /// The last message of this one.
    pub own: Option<MessageId>,
    /// The last message of another one.
    pub other: MessageId,
}

/// A record that somebody else wrote.
struct Foreign {
    id: String,
    parent: Option<String>,
    is_shown: bool,
}

impl StoredConversation {
    /// The branches there are if somebody else continued from the same message as this conversation; `None` if
    /// nobody did so far.
    pub fn branches(&self) -> Result<Option<Branches>, StoreError> {
        let mut foreign = self.foreign()?;
        foreign.reverse();
        let mut branch_of: HashMap<&str, &str> = HashMap::new();
        let mut speaking: HashSet<&str> = HashSet::new();
        let mut other = None;
        for record in &foreign {
            let parent = record.parent.as_deref();
            // What follows our last message is no other branch.
            let follows_us = parent.is_some() && parent == self.so_far.leaf.as_deref();
            let before = parent.and_then(|parent| branch_of.get(parent).copied());
            if follows_us {
                continue;
            }
            let branch = before.unwrap_or(&record.id);
            branch_of.insert(&record.id, branch);
            if record.is_shown {
                speaking.insert(branch);
                other = Some(MessageId::from(&*record.id));
            }
        }
        let count = speaking.len() + 1;
        let own = self.so_far.leaf.clone();
        Ok(other.map(|other| Branches { count, own, other }))
    }

    /// What others wrote since this conversation was loaded, the last first.
    fn foreign(&self) -> Result<Vec<Foreign>, StoreError> {
        let mut foreign = Vec::new();
        message_names(&*self.store, &self.name, &mut |link| {
            if self.start.as_deref() == Some(link.id) {
                return ControlFlow::Break(());
            }
            if !self.own.contains(&MessageId::from(link.id)) {
                let parent = link.parent.map(str::to_string);
                let is_shown = link.is_shown();
                foreign.push(Foreign { id: link.id.to_string(), parent, is_shown });
            }
            ControlFlow::Continue(())
        })?;
        Ok(foreign)
    }
}
