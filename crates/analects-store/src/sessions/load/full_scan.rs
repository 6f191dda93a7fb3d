//! Everything, once for the names of all records and once more for those that are wanted. What is held of each record
//! that is not wanted are its names and its place.

use std::ops::ControlFlow;

use analects_core::{Body, Link, LinkKind, Message, Problem, Rebuilding, StateChange, Tree};
use analects_formats::transcript::{Envelope, OwnedLink, read_line};

use super::limit::{LoadBudget, LoadLimit, begins_turn};
use super::{LoadedChain, PositionedMessage, place, revisions_of, too_long, with_revisions};
use crate::StoreError;
use crate::sessions::{ChainName, ChainRow, TranscriptStore};

/// How many records are read at once, unless all of them are.
const CHUNK: usize = 512;

/// Loads the effective chain that ends with a message, or with the last one.
pub(super) fn load(
    store: &dyn TranscriptStore,
    of: &ChainName,
    leaf: Option<&str>,
    reach: LoadLimit,
) -> Result<LoadedChain, StoreError> {
    let mut all = RecordIndex::default();
    store.scan(of, 0, &mut |row| {
        all.meet(row);
        ControlFlow::Continue(())
    })?;
    let tree = Tree::new(all.names.iter().map(OwnedLink::link).collect());
    let leaf = match leaf {
        Some(id) => Some(tree.position(id).ok_or_else(|| no_message(of, id))?),
        None => tree.leaf(of.agent.as_deref()),
    };
    let effective = leaf.map(|leaf| tree.effective(leaf)).unwrap_or_default();
    let name = |at: usize| tree.link(at).id.into();
    let findings = tree.findings().iter().chain(&effective.findings);
    let problems = all
        .problems
        .iter()
        .chain(findings.map(|finding| &finding.problem));
    let problems = problems.cloned().collect();
    let boundary = read(store, of, &all.places_of(effective.boundary.as_slice()))?;
    let summary = effective
        .boundary
        .and_then(|boundary| tree.summary_of(boundary));
    let mut kept = MessageCollector::new(&all, summary, reach);
    kept.take(store, of, &effective.positions)?;
    let (messages, earlier) = kept.finish();
    let revisions = revisions_of(&messages, &all.revisions, store, of)?;
    Ok(LoadedChain {
        messages: with_revisions(messages, revisions),
        leaf: leaf.map(name),
        boundary: boundary.into_iter().next().flatten(),
        state: all.state.finish(),
        earlier,
        problems,
    })
}

/// What is kept of a way, from its end on.
struct MessageCollector<'a> {
    all: &'a RecordIndex,
    summary: Option<usize>,
    room: LoadBudget,
    chunk: usize,
    /// The last one first.
    messages: Vec<PositionedMessage>,
    has_words: bool,
    left_out: usize,
}

impl MessageCollector<'_> {
    fn new(all: &RecordIndex, summary: Option<usize>, reach: LoadLimit) -> MessageCollector<'_> {
        let chunk = if reach == LoadLimit::UNLIMITED {
            usize::MAX
        } else {
            CHUNK
        };
        let (room, messages) = (LoadBudget::new(reach), Vec::new());
        MessageCollector {
            all,
            summary,
            room,
            chunk,
            messages,
            has_words: false,
            left_out: 0,
        }
    }

    fn take(
        &mut self,
        store: &dyn TranscriptStore,
        of: &ChainName,
        positions: &[usize],
    ) -> Result<(), StoreError> {
        for chunk in positions.rchunks(self.chunk) {
            let wanted = chunk.iter().copied().filter(|at| self.may_take(*at));
            let wanted: Vec<usize> = wanted.collect();
            self.left_out += chunk.len() - wanted.len();
            let messages = read(store, of, &self.all.places_of(&wanted))?;
            for (at, message) in wanted.into_iter().zip(messages).rev() {
                if let Some(message) = message {
                    self.keep(at, message);
                }
            }
        }
        Ok(())
    }

    /// Whether a record is sent whatever came after it.
    fn stays(&self, at: usize) -> bool {
        self.summary == Some(at) || self.all.facts[at].is_instruction
    }

    fn may_take(&self, at: usize) -> bool {
        let may_speak = self.all.facts[at].is_of_person && !self.has_words;
        !self.room.is_full() || self.stays(at) || may_speak
    }

    fn keep(&mut self, at: usize, message: Message) {
        let place = self.all.facts[at].place;
        let speaks = begins_turn(&message);
        // The summary comes first, wherever it stands.
        let has_place = self.summary != Some(at) && self.room.has_place(place.0);
        if has_place {
            self.room
                .take(place.0, self.all.facts[at].length, Some(&message));
        } else if !self.stays(at) && (self.has_words || !speaks) {
            self.left_out += 1;
            return;
        }
        self.has_words |= speaks;
        self.messages.push((place, message));
    }

    /// The messages, and how much of the store comes before them though the way goes on there.
    fn finish(mut self) -> (Vec<PositionedMessage>, u64) {
        self.messages.reverse();
        let earlier = if self.left_out > 0 {
            self.room.start()
        } else {
            0
        };
        (self.messages, earlier)
    }
}

fn no_message(of: &ChainName, id: &str) -> StoreError {
    StoreError::MessageNotFound {
        name: of.to_string(),
        id: id.to_string(),
    }
}

/// What is known of a record beside its names.
#[derive(Debug, Clone, Copy)]
struct RecordInfo {
    /// The row, and which of the records in it.
    place: (u64, usize),
    length: u64,
    is_instruction: bool,
    is_of_person: bool,
}

/// The names of all records, and where they are.
#[derive(Debug, Default)]
struct RecordIndex {
    names: Vec<OwnedLink>,
    facts: Vec<RecordInfo>,
    /// Which message each revision is of, and where the revision is.
    revisions: Vec<(String, (u64, usize))>,
    state: Rebuilding,
    problems: Vec<Problem>,
}

impl RecordIndex {
    fn places_of(&self, positions: &[usize]) -> Vec<(u64, usize)> {
        positions.iter().map(|at| self.facts[*at].place).collect()
    }

    fn meet(&mut self, row: ChainRow<'_>) {
        let Some(bytes) = row.bytes else {
            self.problems.push(too_long(row));
            if let Some(names) = row.long_names() {
                self.push(names, row, 0, "");
            }
            return;
        };
        let text = std::str::from_utf8(bytes).ok();
        if let Some(head) = text.and_then(Envelope::read)
            && !head.needs_body()
        {
            let type_name = head.type_name();
            self.push(head.link(), row, 0, &type_name);
            // What a change of state says is told by the names of nothing else.
            let message = text
                .filter(|_| type_name == "state")
                .and_then(|_| first(bytes));
            self.meet_state(message.as_ref(), head.string("session_id").as_deref());
            return;
        }
        let read = read_line(bytes);
        self.problems
            .extend(read.problems.into_iter().map(|problem| place(problem, row)));
        for (nth, message) in read.messages.iter().enumerate() {
            self.push(
                OwnedLink::of(&Link::of(message)),
                row,
                nth,
                message.body.type_name(),
            );
            self.meet_state(Some(message), Some(&message.session_id));
        }
    }

    fn push(&mut self, names: OwnedLink, row: ChainRow<'_>, nth: usize, type_name: &str) {
        let place = (row.at, nth);
        if let LinkKind::Revision { target, .. } = names.link().kind {
            self.revisions.push((target.to_string(), place));
        }
        let (is_instruction, is_of_person) = (type_name == "system", type_name == "user");
        let length = row.next - row.at;
        self.facts.push(RecordInfo {
            place,
            length,
            is_instruction,
            is_of_person,
        });
        self.names.push(names);
    }

    fn meet_state(&mut self, message: Option<&Message>, session: Option<&str>) {
        if let Some(Message {
            body: Body::State(change),
            ..
        }) = message
        {
            let change: &StateChange = change;
            self.state.change(change);
        }
        if let Some(session) = session.filter(|session| !session.is_empty()) {
            self.state.name(session);
        }
    }
}

fn first(bytes: &[u8]) -> Option<Message> {
    read_line(bytes).messages.into_iter().next()
}

/// Reads the messages at some places, in the order in which these are given; `None` for one that cannot be read.
pub(super) fn read(
    store: &dyn TranscriptStore,
    of: &ChainName,
    positions: &[(u64, usize)],
) -> Result<Vec<Option<Message>>, StoreError> {
    let mut wanted: Vec<(u64, usize, usize)> = positions
        .iter()
        .enumerate()
        .map(|(order, (row, nth))| (*row, *nth, order))
        .collect();
    wanted.sort_unstable();
    let mut found: Vec<Option<Message>> = vec![None; positions.len()];
    let Some((from, ..)) = wanted.first().copied() else {
        return Ok(found);
    };
    let mut next = 0;
    store.scan(of, from, &mut |row| {
        let here = wanted[next..]
            .iter()
            .take_while(|(at, ..)| *at == row.at)
            .count();
        if here > 0 {
            let read = row.bytes.map(read_line).unwrap_or_default().messages;
            let mut read: Vec<Option<Message>> = read.into_iter().map(Some).collect();
            for (_, nth, order) in &wanted[next..next + here] {
                found[*order] = read.get_mut(*nth).and_then(Option::take);
            }
            next += here;
        }
        if next < wanted.len() {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    })?;
    Ok(found)
}
