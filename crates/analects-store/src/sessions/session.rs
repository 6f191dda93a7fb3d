//! An open session: it assigns appended messages their places in the chain, and turns the verbs of
//! [`analects_core::verbs`] into records.

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

/// The number of bytes of records that a fork copies at once.
const BATCH: usize = 1 << 20;

/// An open session, or an open side chain of one.
#[derive(Debug)]
pub struct Session<'s> {
    store: &'s dyn TranscriptStore,
    name: ChainName,
    leaf: Option<MessageId>,
}

impl<'s> Session<'s> {
    /// Opens a session to continue it after the last record; one that was never written to is empty. Skips records that
    /// follow a question which another process is asking right now.
    pub fn open(
        store: &'s dyn TranscriptStore,
        name: ChainName,
    ) -> Result<Session<'s>, StoreError> {
        let leaf = store.leaf(&name)?;
        Ok(Session { store, name, leaf })
    }

    /// Opens a session to continue it after a message, or without one from the beginning, whatever was written since.
    pub fn continue_from(
        store: &'s dyn TranscriptStore,
        name: ChainName,
        leaf: Option<MessageId>,
    ) -> Session<'s> {
        Session { store, name, leaf }
    }

    /// The name of the chain.
    pub fn name(&self) -> &ChainName {
        &self.name
    }

    /// The message that the next one follows.
    pub fn leaf(&self) -> Option<&MessageId> {
        self.leaf.as_ref()
    }

    /// Loads the messages that the model sees.
    pub fn load(&self) -> Result<LoadedChain, StoreError> {
        load(self.store, &self.name)
    }

    /// Appends messages in one step, and gives each an id, a time and a parent if it has none. Returns the messages as they
    /// were written, once they are durable.
    pub fn append(
        &mut self,
        messages: Vec<Message>,
        ids: &mut dyn Ids,
        now: Timestamp,
    ) -> Result<Vec<Message>, StoreError> {
        let (prepared, leaf) = self.prepare(messages, ids, now);
        self.store.append(&self.name, &prepared)?;
        self.leaf = leaf;
        Ok(prepared)
    }

    /// Prepares messages as [`Session::append`] does, without writing them. Returns them, and the message that the next one
    /// would follow.
    pub fn prepare(
        &self,
        messages: Vec<Message>,
        ids: &mut dyn Ids,
        now: Timestamp,
    ) -> (Vec<Message>, Option<MessageId>) {
        let mut leaf = self.leaf.clone();
        let mut prepared = messages;
        for message in &mut prepared {
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
        (prepared, leaf)
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

    /// Makes the changes that a verb returns for the messages of the session, all of them or none. Returns the records that
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
        self.write_changes(changes, &outline, ids, now)
    }

    /// Adds the name of the session to an error of a verb.
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
    fn write_changes(
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
                }) => records.push(empty_record_after(parent)),
                Err(Change::ContinueFrom { parent: None }) => {
                    let start = Session::start(ids, now);
                    let after_start = empty_record_after(start.id.clone());
                    self.leaf = None;
                    records.push(start);
                    records.push(after_start);
                }
                Err(Change::Append(_) | Change::SetHistory { .. }) => {}
            }
        }
        let written = self.append(records, ids, now);
        if written.is_err() {
            self.leaf = before;
        }
        written
    }

    /// Returns the record that changes the text of a message, or of the result of a tool call.
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

    /// Returns the message that another one follows; `None` for the first one.
    pub fn parent(&self, id: &str) -> Result<Option<MessageId>, StoreError> {
        let outline = Outline::read(self.store, &self.name)?;
        let tree = Tree::of(&outline.messages);
        let at = tree.position(id).ok_or_else(|| self.missing(id))?;
        Ok(tree.parent(at).map(|parent| tree.link(parent).id.into()))
    }

    /// Reads a message with its revisions. Of several records with this id, the last one counts.
    pub fn message(&self, id: &str) -> Result<Message, StoreError> {
        let mut records = Vec::new();
        self.store.scan(&self.name, 0, &mut |row| {
            let read = row.bytes.map(read_line).unwrap_or_default();
            for record in read.messages {
                if is_about(&record, id) {
                    records.push(record);
                }
            }
            ControlFlow::Continue(())
        })?;
        verbs::revised_in_full(records)
            .into_iter()
            .rfind(|record| !matches!(record.body, Body::Revision(_)))
            .ok_or_else(|| self.missing(id))
    }

    /// Returns an empty record without a parent. A record that follows it starts a new conversation on purpose.
    pub fn start(ids: &mut dyn Ids, now: Timestamp) -> Message {
        empty_record(ids.uuid(now))
    }

    /// Replaces the earlier messages by a summary. `records` are the summary, its boundary and the records that belong to
    /// them; they are written in one step, each following the one before. The first keeps its own parent, if it has one.
    /// Adds a snapshot of the state before the boundary, so that nothing earlier needs to be read again.
    pub fn compact(
        &mut self,
        mut records: Vec<Message>,
        ids: &mut dyn Ids,
        now: Timestamp,
    ) -> Result<Vec<Message>, StoreError> {
        let boundary = records
            .iter()
            .position(|record| matches!(record.body, Body::CompactBoundary(_)));
        if let Some(boundary) = boundary {
            let state = self.store.overview(&self.name)?.state();
            records.insert(boundary, Message::new("", state.snapshot().into()));
        }
        for record in records.iter_mut().skip(1) {
            record.parent_id = None;
        }
        self.append(records, ids, now)
    }

    /// Copies the path to a message, or to the last one, into a new session that continues independently. The messages keep
    /// their ids. A compaction on the path is copied with the messages that it hides.
    pub fn fork(
        &self,
        at: Option<&str>,
        to: ChainName,
        ids: &mut dyn Ids,
        now: Timestamp,
    ) -> Result<Session<'s>, StoreError> {
        let plan = match at {
            Some(id) => ForkPlan::up_to(id, self)?,
            None => ForkPlan::all(self.store, &self.name)?,
        };
        let state = self.forked_state(&plan);
        let mut copy = Session {
            store: self.store,
            name: to,
            leaf: plan.leaf,
        };
        let mut new = self.store.begin(&copy.name)?;
        copy.copy_records(&mut *new, &self.name, &plan.records)?;
        let mut more = plan.tombstones;
        more.push(Message::new("", state.into()));
        let (prepared, leaf) = copy.prepare(more, ids, now);
        new.append(copy.name.agent.as_deref(), &prepared)?;
        new.finish()?;
        copy.leaf = leaf;
        Ok(copy)
    }

    /// Returns the state of a fork: a snapshot that names its origin.
    fn forked_state(&self, plan: &ForkPlan) -> StateChange {
        let leaf = plan.leaf.as_deref().unwrap_or_default();
        let mut origin = RawMap::new();
        origin.push("session_id", Raw::string(&self.name.session));
        origin.push("message_id", Raw::string(leaf));
        let snapshot = plan.state.snapshot().changes;
        let mut changes = snapshot.as_object().unwrap_or_default();
        changes.remove("session_id");
        changes.push("forked_from", origin.to_raw());
        StateChange {
            changes: changes.to_raw(),
            is_snapshot: true,
        }
    }

    /// Copies records of another chain into a new session, in their order and in batches.
    fn copy_records(
        &self,
        new: &mut dyn NewSession,
        from: &ChainName,
        records: &[ForkRecord],
    ) -> Result<(), StoreError> {
        let agent = self.name.agent.as_deref();
        let first = records.first().map_or(0, |record| record.position.row);
        let mut rest = records;
        let mut batch = Vec::new();
        let mut batch_size = 0;
        let mut failed = None;
        self.store.scan(from, first, &mut |row| {
            let here = rest
                .iter()
                .take_while(|record| record.position.row == row.at)
                .count();
            if here > 0 {
                let (records, later) = rest.split_at(here);
                let read = row.bytes.map(read_line).unwrap_or_default();
                for record in records {
                    if let Some(message) = read.messages.get(record.position.nth) {
                        batch.push(self.adopt(message.clone(), record.is_on_path));
                    }
                }
                batch_size += row.bytes.map_or(0, <[u8]>::len);
                rest = later;
            }
            if batch_size > BATCH {
                batch_size = 0;
                failed = new.append(agent, &std::mem::take(&mut batch)).err();
            }
            if failed.is_some() || rest.is_empty() {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        })?;
        match failed {
            Some(error) => Err(error),
            None => new.append(agent, &batch),
        }
    }

    /// Changes a copied record to belong to this session. A record that only affects others gets no parent.
    fn adopt(&self, message: Message, is_on_path: bool) -> Message {
        Message {
            session_id: self.name.session.clone(),
            agent_id: self.name.agent.clone(),
            parent_id: message.parent_id.filter(|_| is_on_path),
            ..message
        }
    }

    /// Returns the error for an id that no message has.
    fn missing(&self, id: &str) -> StoreError {
        StoreError::MessageNotFound {
            name: self.name.to_string(),
            id: id.to_string(),
        }
    }
}

/// Returns whether a record is the message with this id, or a revision of it.
fn is_about(record: &Message, id: &str) -> bool {
    if let Body::Revision(revision) = &record.body {
        return &*revision.target == id;
    }
    &*record.id == id
}

/// Returns a record that changes nothing, and only has a place in the chain.
fn empty_record(id: impl Into<MessageId>) -> Message {
    let change = StateChange {
        changes: Raw::empty_object(),
        is_snapshot: false,
    };
    Message::new(id, change.into())
}

/// Returns an empty record that moves the end of the chain to a message.
fn empty_record_after(parent: MessageId) -> Message {
    Message {
        parent_id: Some(parent),
        ..empty_record("")
    }
}
