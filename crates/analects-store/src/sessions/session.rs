//! An open session: what is appended to it gets its place in the chain, and the verbs of [`analects_core::verbs`]
//! become records.

mod fork;
#[cfg(test)]
mod tests;

use std::ops::ControlFlow;

use analects_core::verbs::{self, Change, Target, VerbError};
use analects_core::{
    Body, Ids, Link, Message, MessageId, Raw, RawMap, Revision, StateChange, Tree,
};
use analects_formats::transcript::read_line;
use jiff::Timestamp;

use super::outline::Outline;
use super::{ChainName, LoadedChain, NewSession, TranscriptStore, load};
use crate::StoreError;
use fork::{ForkPlan, ForkRecord};

/// How many bytes of records are copied at once.
const BATCH: usize = 1 << 20;

/// An open session, or an open side chain of one.
#[derive(Debug)]
pub struct Session<'s> {
    store: &'s dyn TranscriptStore,
    name: ChainName,
    leaf: Option<MessageId>,
}

impl<'s> Session<'s> {
    /// Goes on where the last record ended; a session that was never written to is empty. What follows a question
    /// that somebody else is asking just now is left to them.
    pub fn open(
        store: &'s dyn TranscriptStore,
        name: ChainName,
    ) -> Result<Session<'s>, StoreError> {
        let leaf = store.leaf(&name)?;
        Ok(Session { store, name, leaf })
    }

    /// Goes on from a message, whatever else was written meanwhile; without one, from the beginning.
    pub fn continue_from(
        store: &'s dyn TranscriptStore,
        name: ChainName,
        leaf: Option<MessageId>,
    ) -> Session<'s> {
        Session { store, name, leaf }
    }

    /// The name.
    pub fn name(&self) -> &ChainName {
        &self.name
    }

    /// What the next message follows.
    pub fn leaf(&self) -> Option<&MessageId> {
        self.leaf.as_ref()
    }

    /// What the model is to see.
    pub fn load(&self) -> Result<LoadedChain, StoreError> {
        load(self.store, &self.name)
    }

    /// Adds messages, all in one: those without an id, a time or a parent get one. They come back as they
    /// were written, once they are safe.
    pub fn append(
        &mut self,
        messages: Vec<Message>,
        ids: &mut dyn Ids,
        now: Timestamp,
    ) -> Result<Vec<Message>, StoreError> {
        let (placed, leaf) = self.place(messages, ids, now);
        self.store.append(&self.name, &placed)?;
        self.leaf = leaf;
        Ok(placed)
    }

    /// Messages as they would be appended, and what the next one would follow then.
    pub fn place(
        &self,
        messages: Vec<Message>,
        ids: &mut dyn Ids,
        now: Timestamp,
    ) -> (Vec<Message>, Option<MessageId>) {
        let mut leaf = self.leaf.clone();
        let mut placed = messages;
        for message in &mut placed {
            if message.id.is_empty() {
                message.id = ids.uuid(now).into();
            }
            message.session_id = self.name.session.clone();
            message.agent_id.clone_from(&self.name.agent);
            message.created_at = message.created_at.or(Some(now));
            if message.parent_id.is_none() {
                message.parent_id.clone_from(&leaf);
            }
            if Link::of(message).can_be_leaf() {
                leaf = Some(message.id.clone());
            }
        }
        (placed, leaf)
    }

    /// Changes the state of the session.
    pub fn set_state(
        &mut self,
        change: StateChange,
        ids: &mut dyn Ids,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.append(vec![Message::new("", change.into())], ids, now)
            .map(drop)
    }

    /// Makes the changes that a verb gives for the messages of the session, all of them or none. Gives the records that
    /// were written.
    ///
    /// ```
    /// use analects_core::verbs::{self, Target};
    /// use analects_core::{CountingIds, Message};
    /// use analects_store::{ChainName, MemoryStore, Session};
    /// use jiff::Timestamp;
    ///
    /// let store = MemoryStore::default();
    /// let (ids, now) = (&mut CountingIds::default(), Timestamp::UNIX_EPOCH);
    /// let mut session = Session::open(&store, ChainName::new("project", "talk"))?;
    /// session.append(vec![Message::user("1", "Hello")], ids, now)?;
    /// session.apply(|messages| verbs::edit(messages, &Target::message("1"), "Bye"), ids, now)?;
    /// assert_eq!(session.load()?.messages[0].text(), "Bye");
    /// # Ok::<(), analects_store::StoreError>(())
    /// ```
    pub fn apply(
        &mut self,
        verb: impl FnOnce(&[Message]) -> Result<Vec<Change>, VerbError>,
        ids: &mut dyn Ids,
        now: Timestamp,
    ) -> Result<Vec<Message>, StoreError> {
        let outline = Outline::read(self.store, &self.name)?;
        let changes = verb(&outline.messages).map_err(|error| self.verb_error(error))?;
        self.record(changes, &outline, ids, now)
    }

    fn verb_error(&self, error: VerbError) -> StoreError {
        match error {
            VerbError::UnknownMessage(id) => self.missing(&id),
            error => StoreError::Verb {
                name: self.name.to_string(),
                error,
            },
        }
    }

    /// Writes changes as records.
    fn record(
        &mut self,
        changes: Vec<Change>,
        outline: &Outline,
        ids: &mut dyn Ids,
        now: Timestamp,
    ) -> Result<Vec<Message>, StoreError> {
        let before = self.leaf.clone();
        let mut records = Vec::new();
        for change in changes {
            match change.into_record() {
                Ok(record) => records.push(record),
                Err(Change::Revise { target, text }) => {
                    records.push(self.revise(&target, &text, outline)?);
                }
                Err(Change::ContinueFrom {
                    parent: Some(parent),
                }) => {
                    records.push(Message {
                        parent_id: Some(parent),
                        ..no_change("")
                    });
                }
                Err(Change::ContinueFrom { parent: None }) => {
                    let start = Session::start(ids, now);
                    let parent_id = Some(start.id.clone());
                    self.leaf = None;
                    records.extend([
                        start,
                        Message {
                            parent_id,
                            ..no_change("")
                        },
                    ]);
                }
                Err(Change::Append(_) | Change::SetHistory { .. }) => {}
            }
        }
        let placed = self.append(records, ids, now);
        if placed.is_err() {
            self.leaf = before;
        }
        placed
    }

    /// The record that changes the text of a message, or of the result of a call.
    fn revise(&self, of: &Target, text: &str, outline: &Outline) -> Result<Message, StoreError> {
        let at = verbs::text_of(&outline.messages, of).map_err(|error| self.verb_error(error))?;
        let target = outline.messages[at].id.clone();
        let message = self.message(&target)?;
        let content =
            verbs::edited_content(&message, of.call.as_deref(), text).map_err(|reason| {
                self.verb_error(VerbError::NotEditable {
                    id: target.clone(),
                    reason,
                })
            })?;
        let revision = Revision {
            target,
            content: Some(content),
            ..Revision::default()
        };
        Ok(Message::new("", Body::Revision(revision)))
    }

    /// The message that another one follows; `None` if that is the first.
    pub fn parent(&self, id: &str) -> Result<Option<MessageId>, StoreError> {
        let outline = Outline::read(self.store, &self.name)?;
        let tree = Tree::of(&outline.messages);
        let at = tree.position(id).ok_or_else(|| self.missing(id))?;
        Ok(tree.parent(at).map(|parent| tree.link(parent).id.into()))
    }

    /// A message with its revisions, as it was written last.
    pub fn message(&self, id: &str) -> Result<Message, StoreError> {
        let mut found = Vec::new();
        self.store.scan(&self.name, 0, &mut |row| {
            let read = row.bytes.map(read_line).unwrap_or_default();
            let is_it = |message: &Message| {
                if let Body::Revision(revision) = &message.body {
                    &*revision.target == id
                } else {
                    &*message.id == id
                }
            };
            found.extend(read.messages.into_iter().filter(is_it));
            ControlFlow::Continue(())
        })?;
        let is_message = |message: &Message| !matches!(message.body, Body::Revision(_));
        let found = verbs::revised_in_full(found).into_iter().rfind(is_message);
        found.ok_or_else(|| self.missing(id))
    }

    /// A record that says nothing and follows nobody. What follows it is seen to begin anew on purpose.
    pub fn start(ids: &mut dyn Ids, now: Timestamp) -> Message {
        no_change(ids.uuid(now))
    }

    /// Puts a summary in the place of what came before: the summary, its boundary, and what else belongs to
    /// them, all in one and each following the one before. With the boundary goes the state as a whole, so that
    /// nothing earlier has to be read again. The first follows its own parent, if it has one.
    pub fn compact(
        &mut self,
        mut made: Vec<Message>,
        ids: &mut dyn Ids,
        now: Timestamp,
    ) -> Result<Vec<Message>, StoreError> {
        let is_boundary = |message: &Message| matches!(message.body, Body::CompactBoundary(_));
        if let Some(boundary) = made.iter().position(is_boundary) {
            let state = self.store.overview(&self.name)?.state();
            made.insert(boundary, Message::new("", state.snapshot().into()));
        }
        for message in made.iter_mut().skip(1) {
            message.parent_id = None;
        }
        self.append(made, ids, now)
    }

    /// Copies the way to a message, or to the last one, into a session of its own, which is continued
    /// independently. The messages keep their names. Of a compaction, all of it is copied.
    pub fn fork(
        &self,
        at: Option<&str>,
        to: ChainName,
        ids: &mut dyn Ids,
        now: Timestamp,
    ) -> Result<Session<'s>, StoreError> {
        let copied = match at {
            Some(id) => ForkPlan::up_to(id, self)?,
            None => ForkPlan::all(self.store, &self.name)?,
        };
        let leaf = copied.leaf.clone();
        let mut copy = Session {
            store: self.store,
            name: to,
            leaf: leaf.clone(),
        };
        let mut new = self.store.begin(&copy.name)?;
        copy.take_over(&mut *new, &self.name, &copied.records)?;
        let mut more = copied.tombstones;
        let mut origin = RawMap::new();
        origin.push("session_id", Raw::string(&self.name.session));
        origin.push(
            "message_id",
            Raw::string(leaf.as_deref().unwrap_or_default()),
        );
        let mut changes = copied
            .state
            .snapshot()
            .changes
            .as_object()
            .unwrap_or_default();
        changes.remove("session_id");
        changes.push("forked_from", origin.to_raw());
        let state = StateChange {
            changes: changes.to_raw(),
            is_snapshot: true,
        };
        more.push(Message::new("", state.into()));
        let (placed, leaf) = copy.place(more, ids, now);
        new.append(copy.name.agent.as_deref(), &placed)?;
        new.finish()?;
        copy.leaf = leaf;
        Ok(copy)
    }

    /// Copies records from another chain into a new one, in their order.
    fn take_over(
        &self,
        new: &mut dyn NewSession,
        from: &ChainName,
        records: &[ForkRecord],
    ) -> Result<(), StoreError> {
        let agent = self.name.agent.as_deref();
        let (mut next, mut batch, mut size, mut failed) = (0, Vec::new(), 0, None);
        self.store.scan(
            from,
            records.first().map_or(0, |record| record.row),
            &mut |row| {
                let here = records[next..]
                    .iter()
                    .take_while(|record| record.row == row.at)
                    .count();
                if here > 0 {
                    let read = row.bytes.map(read_line).unwrap_or_default();
                    for record in &records[next..next + here] {
                        if let Some(message) = read.messages.get(record.nth) {
                            batch.push(self.own(message.clone(), record.is_on_way));
                        }
                    }
                    size += row.bytes.map_or(0, <[u8]>::len);
                    next += here;
                }
                if size > BATCH {
                    size = 0;
                    failed = new.append(agent, &std::mem::take(&mut batch)).err();
                }
                if failed.is_some() || next >= records.len() {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            },
        )?;
        match failed {
            Some(error) => Err(error),
            None => new.append(agent, &batch),
        }
    }

    /// A copied record. What only tells of the way follows nobody in the copy.
    fn own(&self, message: Message, is_on_way: bool) -> Message {
        Message {
            session_id: self.name.session.clone(),
            agent_id: self.name.agent.clone(),
            parent_id: message.parent_id.filter(|_| is_on_way),
            ..message
        }
    }

    fn missing(&self, id: &str) -> StoreError {
        StoreError::MessageNotFound {
            name: self.name.to_string(),
            id: id.to_string(),
        }
    }
}

/// A record that says nothing, and only has a place in the chain.
fn no_change(id: impl Into<MessageId>) -> Message {
    let change = StateChange {
        changes: Raw::empty_object(),
        is_snapshot: false,
    };
    Message::new(id, change.into())
}
