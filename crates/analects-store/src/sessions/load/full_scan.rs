//! Loading by two full scans: one for the links of all records, and one for the messages that are wanted. Of every other
//! record, only its link and its position are in memory.

use std::ops::ControlFlow;

use analects_core::{Body, Link, LinkKind, Message, Problem, Rebuilding, Tree};
use analects_formats::transcript::{Envelope, OwnedLink, read_line};

use super::limit::{LoadBudget, LoadLimit, begins_turn};
use super::{
    LoadedChain, PositionedMessage, RevisionLink, apply_revisions, locate, read_revisions_of,
    too_long,
};
use crate::StoreError;
use crate::sessions::{ChainName, ChainRow, RecordPosition, TranscriptStore};

/// The number of records that are read at once, unless all of them are.
const CHUNK: usize = 512;

/// Loads the effective chain that ends with `leaf`, or with the last message.
pub(super) fn load(
    store: &dyn TranscriptStore,
    of: &ChainName,
    leaf: Option<&str>,
    limit: LoadLimit,
) -> Result<LoadedChain, StoreError> {
    let mut index = RecordIndex::default();
    store.scan(of, 0, &mut |row| {
        index.add_row(row);
        ControlFlow::Continue(())
    })?;
    let tree = Tree::new(index.links.iter().map(OwnedLink::link).collect());
    let leaf = match leaf {
        Some(id) => Some(tree.position(id).ok_or_else(|| no_message(of, id))?),
        None => tree.leaf(of.agent.as_deref()),
    };
    let effective = leaf.map(|leaf| tree.effective(leaf)).unwrap_or_default();
    let mut problems = index.problems.clone();
    for finding in tree.findings().iter().chain(&effective.findings) {
        problems.push(finding.problem.clone());
    }
    let boundary = read(store, of, &index.positions(effective.boundary.as_slice()))?;
    let summary = effective
        .boundary
        .and_then(|boundary| tree.summary_of(boundary));
    let mut collector = MessageCollector::new(&index, summary, limit);
    collector.collect(store, of, &effective.positions)?;
    let (messages, earlier) = collector.finish();
    let revisions = read_revisions_of(&messages, &index.revisions, store, of)?;
    Ok(LoadedChain {
        messages: apply_revisions(messages, revisions),
        leaf: leaf.map(|leaf| tree.link(leaf).id.into()),
        boundary: boundary.into_iter().next().flatten(),
        state: index.state.finish(),
        earlier,
        problems,
    })
}

/// Collects the messages of a path from its end, within a budget.
struct MessageCollector<'a> {
    index: &'a RecordIndex,
    /// The summary of the compaction, if there is one.
    summary: Option<usize>,
    /// The remaining budget for messages.
    budget: LoadBudget,
    /// The number of records to read at once.
    chunk: usize,
    /// The collected messages, last one first.
    messages: Vec<PositionedMessage>,
    /// Whether the last text of the person is among them.
    has_user_text: bool,
    /// The number of records that did not fit.
    left_out: usize,
}

impl MessageCollector<'_> {
    /// Creates a collector. Without a limit, all records are read in one scan.
    fn new(index: &RecordIndex, summary: Option<usize>, limit: LoadLimit) -> MessageCollector<'_> {
        let chunk = if limit == LoadLimit::UNLIMITED {
            usize::MAX
        } else {
            CHUNK
        };
        MessageCollector {
            index,
            summary,
            budget: LoadBudget::new(limit),
            chunk,
            messages: Vec::new(),
            has_user_text: false,
            left_out: 0,
        }
    }

    /// Reads the records with these indexes, from the last to the first.
    fn collect(
        &mut self,
        store: &dyn TranscriptStore,
        of: &ChainName,
        path: &[usize],
    ) -> Result<(), StoreError> {
        for chunk in path.rchunks(self.chunk) {
            let mut wanted = chunk.to_vec();
            wanted.retain(|at| self.may_keep(*at));
            self.left_out += chunk.len() - wanted.len();
            let messages = read(store, of, &self.index.positions(&wanted))?;
            for (at, message) in wanted.into_iter().zip(messages).rev() {
                if let Some(message) = message {
                    self.keep(at, message);
                }
            }
        }
        Ok(())
    }

    /// Returns whether a record is sent however much comes after it.
    fn is_always_sent(&self, at: usize) -> bool {
        self.summary == Some(at) || self.index.records[at].is_instruction
    }

    /// Returns whether a record must be read to decide about it.
    fn may_keep(&self, at: usize) -> bool {
        let may_be_user_text = self.index.records[at].is_of_person && !self.has_user_text;
        !self.budget.is_exhausted() || self.is_always_sent(at) || may_be_user_text
    }

    /// Keeps a message if it fits, if it is always sent, or if it is the last text of the person.
    fn keep(&mut self, at: usize, message: Message) {
        let record = self.index.records[at];
        let row = record.position.row;
        let begins_turn = begins_turn(&message);
        // The summary comes first in the result, whatever its offset, so it does not use the budget.
        let fits = self.summary != Some(at) && self.budget.fits(row);
        if fits {
            self.budget.add(row, record.length, Some(&message));
        } else if !self.is_always_sent(at) && (self.has_user_text || !begins_turn) {
            self.left_out += 1;
            return;
        }
        self.has_user_text |= begins_turn;
        self.messages.push((record.position, message));
    }

    /// Returns the messages, and the number of bytes before them if the conversation continues there.
    fn finish(mut self) -> (Vec<PositionedMessage>, u64) {
        self.messages.reverse();
        let earlier = if self.left_out > 0 {
            self.budget.start()
        } else {
            0
        };
        (self.messages, earlier)
    }
}

/// Returns the error for a leaf that does not exist.
fn no_message(of: &ChainName, id: &str) -> StoreError {
    StoreError::MessageNotFound {
        name: of.to_string(),
        id: id.to_string(),
    }
}

/// The facts about a record besides its link.
#[derive(Debug, Clone, Copy)]
struct RecordInfo {
    position: RecordPosition,
    /// The length of its row in bytes.
    length: u64,
    /// Whether it holds instructions for the model.
    is_instruction: bool,
    /// Whether it may hold text of the person.
    is_of_person: bool,
}

/// The links and positions of all records of a chain.
#[derive(Debug, Default)]
struct RecordIndex {
    /// The links, in the order of the records.
    links: Vec<OwnedLink>,
    /// The other facts about the same records.
    records: Vec<RecordInfo>,
    /// The revisions among the records.
    revisions: Vec<RevisionLink>,
    /// The state after all records.
    state: Rebuilding,
    problems: Vec<Problem>,
}

impl RecordIndex {
    /// Returns the positions of the records with these indexes.
    fn positions(&self, indexes: &[usize]) -> Vec<RecordPosition> {
        indexes
            .iter()
            .map(|at| self.records[*at].position)
            .collect()
    }

    /// Adds the records of a row. Reads the content only of damaged rows and of state changes.
    fn add_row(&mut self, row: ChainRow<'_>) {
        let Some(bytes) = row.bytes else {
            self.problems.push(too_long(row));
            if let Some(link) = row.long_record_link() {
                self.add_record(link, row, 0, "");
            }
            return;
        };
        let envelope = std::str::from_utf8(bytes).ok().and_then(Envelope::read);
        if let Some(envelope) = envelope
            && !envelope.needs_body()
        {
            self.add_envelope(&envelope, row, bytes);
            return;
        }
        let read = read_line(bytes);
        for problem in read.problems {
            self.problems.push(locate(problem, row));
        }
        for (nth, message) in read.messages.iter().enumerate() {
            let link = OwnedLink::of(&Link::of(message));
            self.add_record(link, row, nth, message.body.type_name());
            self.add_state_change(message);
            self.add_session(&message.session_id);
        }
    }

    /// Adds a record of which only the envelope is read.
    fn add_envelope(&mut self, envelope: &Envelope<'_>, row: ChainRow<'_>, bytes: &[u8]) {
        let type_name = envelope.type_name();
        self.add_record(envelope.link(), row, 0, &type_name);
        // A change of the state is in the body.
        if type_name == "state"
            && let Some(message) = read_line(bytes).messages.first()
        {
            self.add_state_change(message);
        }
        if let Some(session) = envelope.string("session_id") {
            self.add_session(&session);
        }
    }

    /// Adds the link of a record, which is the `nth` of its row.
    fn add_record(&mut self, link: OwnedLink, row: ChainRow<'_>, nth: usize, type_name: &str) {
        let position = RecordPosition { row: row.at, nth };
        if let LinkKind::Revision { target, .. } = link.link().kind {
            self.revisions.push(RevisionLink {
                target: target.to_string(),
                position,
            });
        }
        self.records.push(RecordInfo {
            position,
            length: row.next - row.at,
            is_instruction: type_name == "system",
            is_of_person: type_name == "user",
        });
        self.links.push(link);
    }

    /// Applies the state change of a message, if it is one.
    fn add_state_change(&mut self, message: &Message) {
        if let Body::State(change) = &message.body {
            self.state.change(change);
        }
    }

    /// Sets the id of the session. The last one counts.
    fn add_session(&mut self, session: &str) {
        if !session.is_empty() {
            self.state.name(session);
        }
    }
}

/// A position to read, and its index in the result.
struct ReadRequest {
    position: RecordPosition,
    /// The index in the result.
    order: usize,
}

/// Reads the messages at some positions, and returns them in the order of the positions; `None` for one that cannot be
/// read.
pub(super) fn read(
    store: &dyn TranscriptStore,
    of: &ChainName,
    positions: &[RecordPosition],
) -> Result<Vec<Option<Message>>, StoreError> {
    let mut requests = Vec::new();
    for (order, position) in positions.iter().enumerate() {
        requests.push(ReadRequest {
            position: *position,
            order,
        });
    }
    requests.sort_unstable_by_key(|request| (request.position, request.order));
    let mut found: Vec<Option<Message>> = vec![None; positions.len()];
    let Some(first) = requests.first() else {
        return Ok(found);
    };
    let mut rest = &requests[..];
    store.scan(of, first.position.row, &mut |row| {
        let here = rest
            .iter()
            .take_while(|request| request.position.row == row.at)
            .count();
        if here > 0 {
            let (requests, later) = rest.split_at(here);
            read_row(row, requests, &mut found);
            rest = later;
        }
        if rest.is_empty() {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

/// Reads the requested messages of a row.
fn read_row(row: ChainRow<'_>, requests: &[ReadRequest], found: &mut [Option<Message>]) {
    let read = row.bytes.map(read_line).unwrap_or_default();
    let mut messages: Vec<Option<Message>> = read.messages.into_iter().map(Some).collect();
    for request in requests {
        let message = messages.get_mut(request.position.nth);
        found[request.order] = message.and_then(Option::take);
    }
}
