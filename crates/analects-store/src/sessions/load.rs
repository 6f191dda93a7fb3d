//! Loading the messages of a chain that the model sees, from its end, and no more than that.
//!
//! Usually, `backward` follows the parents from the last record until a compaction ends the visible part, or until the
//! limit is reached. It keeps only the records on that path. If a link is broken or leads forward, `full_scan` reads
//! everything twice: once for the links, and once for the messages that are wanted.

mod backward;
mod full_scan;
mod limit;
mod record;

use std::collections::{HashSet, VecDeque};
use std::ops::ControlFlow;

use analects_core::verbs::revised;
use analects_core::{
    Body, Hint, History, Link, Message, MessageId, Problem, SessionState, Span, Unseen,
};
use analects_formats::transcript::read_line;

use super::{ChainName, ChainRow, RecordPosition, TranscriptStore};
use crate::StoreError;
use backward::{BackwardLoader, SearchTarget};

pub use limit::LoadLimit;

/// The bytes of text that are loaded to find out what the model sees of the last messages, if a link is broken.
const TAIL_TEXT: u64 = 4 << 20;

/// The part of a chain that the model sees.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LoadedChain {
    /// The messages that the model sees, oldest first.
    pub messages: Vec<Message>,
    /// The message that the next one follows.
    pub leaf: Option<MessageId>,
    /// The boundary of the compaction before the messages, if there was one.
    pub boundary: Option<Message>,
    /// The state of the session.
    pub state: SessionState,
    /// The number of bytes of the store before the loaded messages, if the limit left a part of the conversation out;
    /// otherwise 0. Instructions, the summary of a compaction and the last text of the person are loaded from anywhere.
    pub earlier: u64,
    /// The problems of the records on the path; spans are offsets in the store.
    pub problems: Vec<Problem>,
}

impl LoadedChain {
    /// Returns the messages as a [`Chain`](analects_core::Chain).
    pub fn chain(&self) -> analects_core::Chain<'_> {
        analects_core::Chain {
            messages: self.messages.iter().collect(),
            boundary: self.boundary.as_ref(),
            ..analects_core::Chain::default()
        }
    }
}

/// The end of a chain.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tail {
    /// The last messages, oldest first.
    pub messages: Vec<Message>,
    /// For each message, the reason why the model does not see it; `None` if it does.
    pub unseen: Vec<Option<Unseen>>,
}

/// Loads the effective chain: the messages that the model sees. Messages outside of it need no memory.
pub fn load(store: &dyn TranscriptStore, of: &ChainName) -> Result<LoadedChain, StoreError> {
    LoadedChain::load_end(store, of, LoadLimit::UNLIMITED)
}

impl LoadedChain {
    /// Loads the end of the effective chain within a limit.
    pub fn load_end(
        store: &dyn TranscriptStore,
        of: &ChainName,
        limit: LoadLimit,
    ) -> Result<LoadedChain, StoreError> {
        load_to(store, of, None, limit)
    }

    /// Loads the effective chain that ends with a message, within a limit. Without a message, loads only the state.
    pub fn load_up_to(
        store: &dyn TranscriptStore,
        of: &ChainName,
        leaf: Option<&MessageId>,
        limit: LoadLimit,
    ) -> Result<LoadedChain, StoreError> {
        if let Some(leaf) = leaf {
            return load_to(store, of, Some(leaf), limit);
        }
        let state = store.overview(of)?.state();
        Ok(LoadedChain {
            state,
            ..LoadedChain::default()
        })
    }

    /// Loads the branch that ends with a message.
    pub fn load_branch(
        store: &dyn TranscriptStore,
        of: &ChainName,
        leaf: &str,
    ) -> Result<LoadedChain, StoreError> {
        load_to(store, of, Some(leaf), LoadLimit::UNLIMITED)
    }
}

/// Loads backward if possible, or else by full scans.
fn load_to(
    store: &dyn TranscriptStore,
    of: &ChainName,
    leaf: Option<&str>,
    limit: LoadLimit,
) -> Result<LoadedChain, StoreError> {
    if let Some(loaded) = backward::load(store, of, leaf, limit)? {
        return Ok(loaded);
    }
    full_scan::load(store, of, leaf, limit)
}

/// Returns the last messages of a chain, on any branch. Takes the same time for a short and a long chain.
pub fn tail(store: &dyn TranscriptStore, of: &ChainName, count: usize) -> Result<Tail, StoreError> {
    let mut scan = VisibilityScan::new(of.agent.as_deref());
    let mut found = VecDeque::new();
    let mut revisions = Vec::new();
    store.scan_backward(of, &mut |row| {
        if found.len() >= count {
            return ControlFlow::Break(());
        }
        for record in scan.add_row(row) {
            if is_message(&record.message) {
                found.push_front(record);
            } else if matches!(record.message.body, Body::Revision(_)) {
                revisions.push((record.position, record.message));
            }
        }
        ControlFlow::Continue(())
    })?;
    let surplus = found.len().saturating_sub(count);
    let mut found: Vec<TailMessage> = found.into_iter().skip(surplus).collect();
    let messages = found
        .iter()
        .map(|record| (record.position, record.message.clone()))
        .collect();
    for (record, message) in found.iter_mut().zip(apply_revisions(messages, revisions)) {
        record.message = message;
    }
    let unseen = scan.finish(&found, || {
        LoadedChain::load_end(store, of, LoadLimit::of_text(TAIL_TEXT))
    })?;
    let messages = found.into_iter().map(|record| record.message).collect();
    Ok(Tail { messages, unseen })
}

/// A message and its position in the store.
type PositionedMessage = (RecordPosition, Message);

/// The position of a revision, and the message that it revises.
#[derive(Debug)]
struct RevisionLink {
    /// The id of the message.
    target: String,
    /// The position of the revision.
    position: RecordPosition,
}

/// Applies revisions to messages. A revision affects only the messages before it.
fn apply_revisions(
    messages: Vec<PositionedMessage>,
    revisions: Vec<PositionedMessage>,
) -> Vec<Message> {
    let count = messages.len();
    let mut by_position: Vec<(usize, PositionedMessage)> =
        messages.into_iter().chain(revisions).enumerate().collect();
    by_position.sort_by_key(|(_, (position, _))| *position);
    let mut order = Vec::new();
    let mut records = Vec::new();
    for (at, (_, record)) in by_position {
        order.push(at);
        records.push(record);
    }
    // Back in the given order, the messages come before the revisions.
    let mut by_order: Vec<(usize, Message)> = order.into_iter().zip(revised(records)).collect();
    by_order.sort_by_key(|(at, _)| *at);
    by_order.truncate(count);
    by_order.into_iter().map(|(_, message)| message).collect()
}

/// Reads those revisions that affect one of the messages.
fn read_revisions_of(
    messages: &[PositionedMessage],
    revisions: &[RevisionLink],
    store: &dyn TranscriptStore,
    of: &ChainName,
) -> Result<Vec<PositionedMessage>, StoreError> {
    if revisions.is_empty() {
        return Ok(Vec::new());
    }
    let ids: HashSet<&str> = messages.iter().map(|(_, message)| &*message.id).collect();
    let mut positions = Vec::new();
    for revision in revisions {
        if ids.contains(&*revision.target) {
            positions.push(revision.position);
        }
    }
    let read = full_scan::read(store, of, &positions)?;
    Ok(positions
        .into_iter()
        .zip(read)
        .filter_map(|(position, message)| Some((position, message?)))
        .collect())
}

/// Returns whether a record counts as a message for a person.
fn is_message(message: &Message) -> bool {
    match message.body {
        Body::System(_)
        | Body::User(_)
        | Body::Assistant(_)
        | Body::ToolUse(_)
        | Body::ToolResult(_)
        | Body::Attachment(_)
        | Body::Notification(_)
        | Body::Summary(_)
        | Body::Other(_) => true,
        Body::Progress(_)
        | Body::State(_)
        | Body::Tombstone(_)
        | Body::Revision(_)
        | Body::CompactBoundary(_) => false,
    }
}

/// Sets the span of a problem to that of its row in the store.
fn locate(mut problem: Problem, row: ChainRow<'_>) -> Problem {
    problem.span = Some(Span::new(to_usize(row.at), to_usize(row.next)));
    problem
}

/// Converts an offset for a span. Larger offsets, on 32-bit systems, become the maximum.
fn to_usize(offset: u64) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}

/// Returns the problem of a row that is too long to be read.
fn too_long(row: ChainRow<'_>) -> Problem {
    let length = row.next - row.at;
    let text = format!(
        "the record at byte {} has {length} bytes, more than may be read",
        row.at
    );
    let hint = match row.long_record_link() {
        Some(_) => Hint::from("it is left as it is, and the conversation goes on without it"),
        None => Hint::RepairTranscript,
    };
    locate(Problem::error("long-line", text).hint(hint), row)
}

/// One of the last messages, and how later records affect it.
#[derive(Debug)]
struct TailMessage {
    message: Message,
    position: RecordPosition,
    /// Whether a tombstone hides it.
    is_hidden: bool,
    /// Whether it is on the path from the last message to the root.
    is_on_path: bool,
}

/// A scan from the last record backward that finds out which of the last messages the model does not see, and why. It
/// needs only the records after them.
#[derive(Debug)]
struct VisibilityScan<'a> {
    /// Finds the path, tombstones and boundaries, but reads no messages.
    loader: BackwardLoader<'a>,
    agent: Option<&'a str>,
    /// The next record on the path to the root.
    target: SearchTarget,
    /// The ids of the records that the scan met.
    ids: HashSet<String>,
}

impl<'a> VisibilityScan<'a> {
    /// Starts at the end of the chain of an agent; `None` is the main chain.
    fn new(agent: Option<&'a str>) -> VisibilityScan<'a> {
        VisibilityScan {
            loader: BackwardLoader::without_messages(agent),
            agent,
            target: SearchTarget::Leaf,
            ids: HashSet::new(),
        }
    }

    /// Returns the messages of a row, last one first.
    fn add_row(&mut self, row: ChainRow<'_>) -> Vec<TailMessage> {
        let read = row.bytes.map(read_line).unwrap_or_default();
        let mut messages = Vec::new();
        for (nth, message) in read.messages.into_iter().enumerate().rev() {
            let is_hidden = self.loader.hides(&message.id);
            let is_on_path = self.follow_path(&message);
            messages.push(TailMessage {
                message,
                position: RecordPosition { row: row.at, nth },
                is_hidden,
                is_on_path,
            });
        }
        self.loader.add_row(row);
        messages
    }

    /// Returns whether a record is the next one on the path, and moves on to its parent.
    fn follow_path(&mut self, message: &Message) -> bool {
        let link = Link::of(message);
        self.ids.insert(link.id.to_string());
        let is_next = self.target.matches(&link, self.agent);
        if is_next {
            self.target = SearchTarget::parent_of(link);
        }
        is_next
    }

    /// Returns for each message the reason why the model does not see it. Calls `load` if a link is broken or leads
    /// forward.
    fn finish(
        self,
        messages: &[TailMessage],
        load: impl FnOnce() -> Result<LoadedChain, StoreError>,
    ) -> Result<Vec<Option<Unseen>>, StoreError> {
        let leads_forward = matches!(&self.target, SearchTarget::Id(id) if self.ids.contains(id));
        if leads_forward || self.loader.needs_full_scan() {
            let loaded = load()?;
            let ids: HashSet<&str> = loaded.messages.iter().map(|seen| &*seen.id).collect();
            return Ok(messages
                .iter()
                .map(|message| message.why_unseen(ids.contains(&*message.message.id)))
                .collect());
        }
        let seen = self.loader.visible_positions();
        Ok(messages
            .iter()
            .map(|message| message.why_unseen(seen.contains(&message.position)))
            .collect())
    }
}

impl TailMessage {
    /// Returns the reason why the model does not see the message; `None` if it does. `is_loaded` says whether the message
    /// is in the effective chain.
    fn why_unseen(&self, is_loaded: bool) -> Option<Unseen> {
        if self.message.history == History::Exclude {
            return Some(Unseen::Hidden);
        }
        if self.is_hidden {
            return Some(Unseen::TakenBack);
        }
        if is_loaded {
            let is_error = self.message.is_api_error_message;
            return (is_error && self.message.why_not_sent().is_some()).then_some(Unseen::Error);
        }
        if self.is_on_path {
            return Some(Unseen::Compacted);
        }
        Some(Unseen::Branch)
    }
}
