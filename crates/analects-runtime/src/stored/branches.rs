//! Finds out whether another program continued a session from the same message as this conversation.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use analects_core::MessageId;
use analects_store::{StoreError, visit_links};

use super::StoredConversation;

/// The branches of a session that start where a conversation was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branches {
    /// How many branches there are, this conversation's included.
    pub count: usize,
    /// The last message of this conversation's branch.
    pub own: Option<MessageId>,
    /// The last message of another branch.
    pub other: MessageId,
}

/// A record that another program wrote.
struct ForeignRecord {
    id: String,
    parent: Option<String>,
    is_shown: bool,
}

impl StoredConversation {
    /// The branches, if another program continued from the same message as this conversation; `None` if none did.
    pub fn branches(&self) -> Result<Option<Branches>, StoreError> {
        let mut foreign = self.foreign_records()?;
        foreign.reverse();
        // The first record of each record's branch.
        let mut branch_of: HashMap<&str, &str> = HashMap::new();
        let mut visible_branches: HashSet<&str> = HashSet::new();
        let mut other = None;
        for record in &foreign {
            let parent = record.parent.as_deref();
            // What follows our last message is no other branch.
            if parent.is_some() && parent == self.loaded.leaf.as_deref() {
                continue;
            }
            let branch_of_parent = parent.and_then(|parent| branch_of.get(parent).copied());
            let branch = branch_of_parent.unwrap_or(&record.id);
            branch_of.insert(&record.id, branch);
            if record.is_shown {
                visible_branches.insert(branch);
                other = Some(MessageId::from(&*record.id));
            }
        }
        let count = visible_branches.len() + 1;
        let own = self.loaded.leaf.clone();
        Ok(other.map(|other| Branches { count, own, other }))
    }

    /// The records that other programs wrote since this conversation was loaded, the last first.
    fn foreign_records(&self) -> Result<Vec<ForeignRecord>, StoreError> {
        let mut foreign = Vec::new();
        visit_links(&*self.store, &self.name, &mut |link| {
            if self.start_leaf.as_deref() == Some(link.id) {
                return ControlFlow::Break(());
            }
            if !self.own_ids.contains(&MessageId::from(link.id)) {
                let parent = link.parent.map(str::to_string);
                let is_shown = link.is_shown();
                foreign.push(ForeignRecord {
                    id: link.id.to_string(),
                    parent,
                    is_shown,
                });
            }
            ControlFlow::Continue(())
        })?;
        Ok(foreign)
    }
}

#[cfg(test)]
mod tests {
    //! Two conversations in one session, step by step.

    use std::sync::Arc;

    use analects_core::{Body, CompactBoundary, Json, Message, Summary};
    use analects_store::{ChainName, MemoryStore};
    use jiff::Timestamp;

    use super::*;
    use crate::Conversation;
    use crate::conversation::additions;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn answer(text: &str) -> Message {
        let json = format!(r#"{{"type":"assistant","content":"{text}"}}"#);
        Message::from_json(&json).unwrap()
    }

    fn open(store: &Arc<MemoryStore>) -> StoredConversation {
        StoredConversation::open(store.clone(), ChainName::new("p", "s")).unwrap()
    }

    fn say(conversation: &mut StoredConversation, text: &str) {
        conversation
            .apply(additions([Message::user("", text)]), &[], NOW)
            .unwrap();
    }

    fn texts(conversation: &StoredConversation) -> Vec<String> {
        conversation
            .snapshot()
            .messages
            .iter()
            .map(Message::text)
            .collect()
    }

    fn two() -> (Arc<MemoryStore>, StoredConversation, StoredConversation) {
        let store = Arc::new(MemoryStore::default());
        let mut first = open(&store);
        say(&mut first, "before");
        first.finish(answer("it")).unwrap();
        (store.clone(), open(&store), open(&store))
    }

    #[test]
    fn nobody_is_told_of_branches_while_there_is_one() {
        let (store, mut one, _) = two();
        say(&mut one, "A");
        one.finish(answer("to A")).unwrap();
        assert_eq!(one.branches().unwrap(), None);
        let mut next = open(&store);
        say(&mut next, "B");
        assert_eq!(
            (one.branches().unwrap(), next.branches().unwrap()),
            (None, None)
        );
    }

    #[test]
    fn each_of_two_knows_both_branches_by_their_ends() {
        let (_, mut one, mut other) = two();
        say(&mut one, "A");
        say(&mut other, "B");
        other.finish(answer("to B")).unwrap();
        one.finish(answer("to A")).unwrap();
        let seen = one.branches().unwrap().unwrap();
        let theirs = other.snapshot().messages.last().unwrap().id.clone();
        assert_eq!((seen.count, seen.other), (2, theirs));
        assert_eq!(seen.own, one.loaded.leaf);
        assert_eq!(other.branches().unwrap().unwrap().count, 2);
        assert_eq!(texts(&one), ["before", "it", "A", "to A"]);
        assert_eq!(texts(&other), ["before", "it", "B", "to B"]);
    }

    #[test]
    fn a_compaction_stays_on_the_branch_that_it_was_made_for() {
        let (store, mut one, mut other) = two();
        say(&mut one, "A");
        let id = "S".to_string();
        let summary = Summary {
            text: "so far".into(),
            ..Summary::default()
        };
        let summary_id = Some(id.as_str().into());
        let boundary = CompactBoundary {
            summary_id,
            ..CompactBoundary::default()
        };
        let made = vec![
            Message::new(id, Body::Summary(summary)),
            Message::new("", Body::CompactBoundary(boundary)),
        ];
        one.apply(additions(made), &[], NOW).unwrap();
        say(&mut other, "B");
        say(&mut one, "more");
        other.finish(answer("to B")).unwrap();
        let mut tombstone = one.snapshot().messages.last().cloned().unwrap();
        tombstone.body = Body::Tombstone(analects_core::Tombstone {
            target: tombstone.id.clone(),
            target_parent: tombstone.parent_id.clone(),
        });
        tombstone.id = "".into();
        // What is loaded anew for this is still its own branch, though the other was written to last.
        other.finish(answer("again")).unwrap();
        one.apply(additions([tombstone]), &[], NOW).unwrap();
        assert_eq!(texts(&one), ["so far"]);
        one.finish(answer("to A")).unwrap();
        assert_eq!(texts(&open(&store)), ["so far", "to A"]);
    }
}
