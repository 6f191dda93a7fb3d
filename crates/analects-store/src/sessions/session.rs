//! A session that is gone on with: what is appended to it gets its place in the chain.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::ops::ControlFlow;

use analects_core::{
    Body, Ids, Link, LinkKind, Message, MessageId, Raw, RawMap, StateChange, Tombstone, Tree,
};
use analects_formats::transcript::{Names, read_line};
use jiff::Timestamp;

use super::names::names_of;
use super::{ChainName, Loaded, NewSession, TranscriptStore, load};
use crate::StoreError;

/// How many bytes of records are copied at once.
const BATCH: usize = 1 << 20;

/// A session, or a side chain of one, that is gone on with.
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
    pub fn at(
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
    pub fn load(&self) -> Result<Loaded, StoreError> {
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
        self.append(vec![Message::new("", change.into())], ids, now).map(drop)
    }

    /// Goes back to an earlier message: the next one follows it, and what came after stays as a branch. A compaction
    /// is gone back to as a whole: to its summary is to the end of it.
    pub fn rewind(
        &mut self,
        to: &str,
        ids: &mut dyn Ids,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let found = self.look_up(to)?;
        let parent = match found.link().kind {
            LinkKind::Summary | LinkKind::Boundary { .. } => self.end_of_compaction(to)?,
            _ => to.into(),
        };
        let record = Message { parent_id: Some(parent), ..no_change("") };
        self.append(vec![record], ids, now).map(drop)
    }

    /// Goes back before the first message: what is said next begins anew, and what was said stays as a branch.
    pub fn rewind_to_start(&mut self, ids: &mut dyn Ids, now: Timestamp) -> Result<(), StoreError> {
        self.branch(no_change(""), ids, now).map(drop)
    }

    /// The message that another one follows; `None` if that is the first.
    pub fn parent(&self, id: &str) -> Result<Option<MessageId>, StoreError> {
        let names = self.names()?;
        let tree = Tree::new(names.iter().map(Names::link).collect());
        let at = tree.position(id).ok_or_else(|| self.missing(id))?;
        Ok(tree.parent(at).map(|parent| tree.link(parent).id.into()))
    }

    /// A message, as it was written last.
    pub fn message(&self, id: &str) -> Result<Message, StoreError> {
        let mut found = None;
        self.store.scan_back(&self.name, &mut |row| {
            let read = row.bytes.map(read_line).unwrap_or_default();
            found = read.messages.into_iter().rev().find(|message| &*message.id == id);
            if found.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        found.ok_or_else(|| self.missing(id))
    }

    /// Adds a message behind the parent that it names, or, without one, at the beginning; what is said
    /// next follows it. Its name comes back.
    pub fn branch(
        &mut self,
        mut message: Message,
        ids: &mut dyn Ids,
        now: Timestamp,
    ) -> Result<MessageId, StoreError> {
        let before = self.leaf.clone();
        let mut records = Vec::new();
        if let Some(parent) = &message.parent_id {
            self.look_up(parent)?;
        } else {
            let start = Session::start(ids, now);
            message.parent_id = Some(start.id.clone());
            records.push(start);
            self.leaf = None;
        }
        records.push(message);
        let placed = self.append(records, ids, now);
        if placed.is_err() {
            self.leaf = before;
        }
        Ok(placed?.pop().map(|message| message.id).unwrap_or_default())
    }

    /// A record that says nothing and follows nobody. What follows it is seen to begin anew on purpose.
    pub fn start(ids: &mut dyn Ids, now: Timestamp) -> Message {
        no_change(ids.uuid(now))
    }

    /// Whether a message is hidden already.
    pub fn is_hidden(&self, id: &str) -> Result<bool, StoreError> {
        let names = self.names()?;
        let tree = Tree::new(names.iter().map(Names::link).collect());
        Ok(tree.position(id).is_some_and(|at| tree.is_hidden(at)))
    }

    /// Whether a message is the summary or the boundary of a compaction.
    pub fn is_of_compaction(&self, id: &str) -> Result<bool, StoreError> {
        let kind =
            |link: Link<'_>| matches!(link.kind, LinkKind::Summary | LinkKind::Boundary { .. });
        Ok(kind(self.look_up(id)?.link()))
    }

    /// Hides a message from now on; its children follow what it followed. Hiding the tombstone, whose
    /// name comes back, undoes it.
    pub fn drop_message(
        &mut self,
        target: &str,
        ids: &mut dyn Ids,
        now: Timestamp,
    ) -> Result<MessageId, StoreError> {
        let target_parent = self.look_up(target)?.link().parent.map(MessageId::from);
        let body = Tombstone { target: target.into(), target_parent };
        let placed = self.append(vec![Message::new("", Body::Tombstone(body))], ids, now)?;
        Ok(placed.into_iter().next().map(|message| message.id).unwrap_or_default())
    }

    /// Shows a message again that was hidden, by hiding whatever hides it. Gives the names of these new tombstones, of
    /// which there is none if the message was not hidden.
    pub fn show_message(
        &mut self,
        target: &str,
        ids: &mut dyn Ids,
        now: Timestamp,
    ) -> Result<Vec<MessageId>, StoreError> {
        let names = self.names()?;
        let tree = Tree::new(names.iter().map(Names::link).collect());
        let hides = |at: &usize| {
            let kind = tree.link(*at).kind;
            matches!(kind, LinkKind::Tombstone { target: hidden, .. } if hidden == target)
                && !tree.is_hidden(*at)
        };
        let tombstones = (0..tree.len()).filter(hides).map(|at| {
            let Link { id, parent, .. } = tree.link(at);
            let body = Tombstone { target: id.into(), target_parent: parent.map(MessageId::from) };
            Message::new("", Body::Tombstone(body))
        });
        let tombstones: Vec<Message> = tombstones.collect();
        if tombstones.is_empty() {
            return Ok(Vec::new());
        }
        let placed = self.append(tombstones, ids, now)?;
        Ok(placed.into_iter().map(|message| message.id).collect())
    }

    /// Puts a summary in the place of what came before: the summary, its boundary, and what else belongs to
    /// them, all in one and each following the one before. With the boundary goes the state as a whole, so that
    /// nothing earlier has to be read again. The first follows its own parent, if it has one. Hiding the boundary
    /// undoes this.
    pub fn compact(
        &mut self,
        mut made: Vec<Message>,
        ids: &mut dyn Ids,
        now: Timestamp,
    ) -> Result<Vec<Message>, StoreError> {
        let is_boundary = |message: &Message| matches!(message.body, Body::CompactBoundary(_));
        if let Some(boundary) = made.iter().position(is_boundary) {
            let state = self.load()?.state;
            made.insert(boundary, Message::new("", state.snapshot().into()));
        }
        for message in made.iter_mut().skip(1) {
            message.parent_id = None;
        }
        self.append(made, ids, now)
    }

    /// Copies the way to a message, or to the last one, into a session of its own, which is gone on with
    /// independently. The messages keep their names. Of a compaction, all of it is copied.
    pub fn fork(
        &self,
        at: Option<&str>,
        to: ChainName,
        ids: &mut dyn Ids,
        now: Timestamp,
    ) -> Result<Session<'s>, StoreError> {
        let at = at.map(|id| self.end_of_compaction(id)).transpose()?;
        let way = Way::find(self.store, &self.name, at.as_deref())?;
        let mut copy = Session { store: self.store, name: to, leaf: way.leaf.clone() };
        let mut new = self.store.begin(&copy.name)?;
        copy.take_over(&mut *new, &self.name, &way.places)?;
        let mut tombstones: Vec<Message> = way
            .hidden
            .into_iter()
            .map(|(target, target_parent)| {
                Message::new("", Body::Tombstone(Tombstone { target, target_parent }))
            })
            .collect();
        let mut origin = RawMap::new();
        origin.push("session_id", Raw::string(&self.name.session));
        origin.push("message_id", Raw::string(way.leaf.as_deref().unwrap_or_default()));
        let mut changes = way.state.snapshot().changes.as_object().unwrap_or_default();
        changes.remove("session_id");
        changes.push("forked_from", origin.to_raw());
        let state = StateChange { changes: changes.to_raw(), is_snapshot: true };
        tombstones.push(Message::new("", state.into()));
        let (placed, leaf) = copy.place(tombstones, ids, now);
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
        places: &[(u64, usize)],
    ) -> Result<(), StoreError> {
        let agent = self.name.agent.as_deref();
        let (mut next, mut batch, mut size, mut failed) = (0, Vec::new(), 0, None);
        self.store.scan(from, places.first().map_or(0, |place| place.0), &mut |row| {
            let here = places[next..].iter().take_while(|(at, _)| *at == row.at).count();
            if here > 0 {
                let read = row.bytes.map(read_line).unwrap_or_default();
                for (_, nth) in &places[next..next + here] {
                    batch.extend(read.messages.get(*nth).cloned().map(|m| self.own(m)));
                }
                size += row.bytes.map_or(0, <[u8]>::len);
                next += here;
            }
            if size > BATCH {
                size = 0;
                failed = new.append(agent, &std::mem::take(&mut batch)).err();
            }
            match failed.is_some() || next >= places.len() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        })?;
        match failed {
            Some(error) => Err(error),
            None => new.append(agent, &batch),
        }
    }

    fn own(&self, message: Message) -> Message {
        let (session_id, agent_id) = (self.name.session.clone(), self.name.agent.clone());
        Message { session_id, agent_id, ..message }
    }

    /// The names of all records.
    fn names(&self) -> Result<Vec<Names>, StoreError> {
        let mut names = Vec::new();
        self.store.scan(&self.name, 0, &mut |row| {
            names.extend(names_of(row));
            ControlFlow::Continue(())
        })?;
        Ok(names)
    }

    fn missing(&self, id: &str) -> StoreError {
        StoreError::NoMessage { name: self.name.to_string(), id: id.to_string() }
    }

    /// A compaction from its boundary on, if this is its summary or its boundary: the copies of instructions and the
    /// files that came with it belong to it.
    pub fn compaction(&self, id: &str) -> Result<Vec<Message>, StoreError> {
        let (mut found, mut goes_on) = (Vec::<Message>::new(), false);
        self.store.scan(&self.name, 0, &mut |row| {
            for (nth, names) in names_of(row).iter().enumerate() {
                let link = names.link();
                let is_boundary = matches!(link.kind, LinkKind::Boundary { summary, .. }
                    if link.id == id || summary == Some(id));
                let follows = || link.parent == found.last().map(|last| &*last.id);
                goes_on = is_boundary || goes_on && follows();
                let read = row.bytes.filter(|_| goes_on).map(read_line).unwrap_or_default();
                let message = read.messages.into_iter().nth(nth);
                let came_along = |message: &Message| {
                    found.first().is_some_and(|boundary| message.came_with(boundary))
                };
                let message = message.filter(|message| is_boundary || came_along(message));
                goes_on = message.is_some();
                if is_boundary {
                    found.clear();
                }
                found.extend(message);
            }
            ControlFlow::Continue(())
        })?;
        Ok(found)
    }

    /// The last record of a compaction, if this is its summary or its boundary: at the summary, that would be seen with
    /// all that it stands for. Any other message stands for itself.
    fn end_of_compaction(&self, id: &str) -> Result<MessageId, StoreError> {
        let last = self.compaction(id)?.pop();
        Ok(last.map_or_else(|| id.into(), |last| last.id))
    }

    /// The names of a message, which must be there.
    fn look_up(&self, id: &str) -> Result<Names, StoreError> {
        let mut found = None;
        self.store.scan_back(&self.name, &mut |row| {
            let is_it = |names: &Names| {
                let link = names.link();
                link.id == id && !id.is_empty() && link.kind != LinkKind::Progress
            };
            found = names_of(row).into_iter().rev().find(is_it);
            if found.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        found.ok_or_else(|| self.missing(id))
    }
}

/// A record that says nothing, and only has a place in the chain.
fn no_change(id: impl Into<MessageId>) -> Message {
    let change = StateChange { changes: Raw::empty_object(), is_snapshot: false };
    Message::new(id, change.into())
}

/// The way to a message, by the places of its records.
struct Way {
    places: Vec<(u64, usize)>,
    leaf: Option<MessageId>,
    /// What is hidden on the way by tombstones that are not on it, and its parents.
    hidden: Vec<(MessageId, Option<MessageId>)>,
    state: analects_core::SessionState,
}

impl Way {
    fn find(
        store: &dyn TranscriptStore,
        of: &ChainName,
        at: Option<&str>,
    ) -> Result<Way, StoreError> {
        let mut names = Vec::new();
        let mut places = Vec::new();
        let mut changes: HashMap<usize, StateChange> = HashMap::new();
        // Records that are too long to be read, and so to be copied.
        let mut long = Vec::new();
        store.scan(of, 0, &mut |row| {
            for (nth, found) in names_of(row).into_iter().enumerate() {
                if found.link().kind == LinkKind::State {
                    let read = row.bytes.map(read_line).unwrap_or_default();
                    if let Some(Body::State(change)) = read.messages.get(nth).map(|m| &m.body) {
                        changes.insert(names.len(), change.clone());
                    }
                }
                if row.bytes.is_none() {
                    long.push(names.len());
                }
                names.push(found);
                places.push((row.at, nth));
            }
            ControlFlow::Continue(())
        })?;
        let tree = Tree::new(names.iter().map(Names::link).collect());
        let leaf = match at {
            Some(id) => Some(tree.position(id).ok_or_else(|| StoreError::NoMessage {
                name: of.to_string(),
                id: id.to_string(),
            })?),
            None => tree.leaf(of.agent.as_deref()),
        };
        let mut path = leaf.map(|leaf| tree.path(leaf)).unwrap_or_default();
        // The summary of a compaction may stand beside the way.
        let summaries: Vec<usize> = path.iter().filter_map(|at| tree.summary_of(*at)).collect();
        path.extend(summaries);
        path.sort_unstable();
        path.dedup();
        // A tombstone that is hidden itself hides nothing, though what hides it may not be copied.
        let link = |at: &usize| match (tree.link(*at), tree.is_hidden(*at)) {
            (link @ Link { kind: LinkKind::Tombstone { .. }, .. }, true) => {
                Link { kind: LinkKind::State, ..link }
            }
            (link, _) => link,
        };
        let copied = Tree::new(path.iter().map(link).collect());
        // A tombstone also says what a record followed that is not copied.
        let lost = path.iter().enumerate().filter(|(copy, at)| {
            long.binary_search(at).is_ok() || tree.is_hidden(**at) && !copied.is_hidden(*copy)
        });
        let hidden = lost.map(|(_, at)| {
            let link = tree.link(*at);
            (link.id.into(), link.parent.map(MessageId::from))
        });
        let mut state = analects_core::Rebuilding::default();
        for change in (0..=leaf.unwrap_or(0)).filter_map(|at| changes.get(&at)) {
            state.change(change);
        }
        Ok(Way {
            hidden: hidden.collect(),
            leaf: leaf.map(|leaf| tree.link(leaf).id.into()),
            state: state.finish(),
            places: path.iter().map(|at| places[*at]).collect(),
        })
    }
}
