//! Loading what the model is to see of a chain, from its end, and no more of it than that.
//!
//! The usual way goes backward from the last record, from parent to parent, until a compaction says that
//! this is all, or until there is no more room. It keeps only what is on the way. Where a link leads nowhere, or
//! forward, everything is gone over once for its names, and once more for the messages that are wanted.

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

use super::{ChainName, ChainRow, TranscriptStore};
use crate::StoreError;
use backward::{BackwardLoader, SearchTarget};

pub use limit::LoadLimit;

/// How much text is loaded to tell what the model sees of the last messages, where that takes a look at everything.
const TAIL: u64 = 4 << 20;

/// What a chain comes down to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LoadedChain {
    /// What the model is to see, oldest first.
    pub messages: Vec<Message>,
    /// What the next message follows.
    pub leaf: Option<MessageId>,
    /// The boundary from which messages are seen, if one counts.
    pub boundary: Option<Message>,
    /// The session's state.
    pub state: SessionState,
    /// How many bytes of the store come before what is loaded, though the conversation goes on there; 0 if nothing
    /// was left out because there was no room. Instructions, the summary of a compaction and the last words of the
    /// person are loaded wherever they are.
    pub earlier: u64,
    /// What was odd about the records on the way; spans are positions in the store.
    pub problems: Vec<Problem>,
}

impl LoadedChain {
    /// The same as the chain of its messages, for what goes on from there.
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
    /// Its last messages, oldest first.
    pub messages: Vec<Message>,
    /// For each of them, why the model does not see it; `None` where it does.
    pub unseen: Vec<Option<Unseen>>,
}

/// Loads the effective chain: what the model is to see. Memory is needed for that, and not for what a
/// compaction or a branch leaves out.
pub fn load(store: &dyn TranscriptStore, of: &ChainName) -> Result<LoadedChain, StoreError> {
    LoadedChain::load_end(store, of, LoadLimit::UNLIMITED)
}

impl LoadedChain {
    /// Loads the end of the effective chain, as much of it as there is room for.
    pub fn load_end(
        store: &dyn TranscriptStore,
        of: &ChainName,
        reach: LoadLimit,
    ) -> Result<LoadedChain, StoreError> {
        load_to(store, of, None, reach)
    }

    /// The same of the effective chain that ends with a message, mostly the last one; without one, only the state.
    pub fn load_up_to(
        store: &dyn TranscriptStore,
        of: &ChainName,
        leaf: Option<&MessageId>,
        reach: LoadLimit,
    ) -> Result<LoadedChain, StoreError> {
        match leaf {
            Some(leaf) => load_to(store, of, Some(leaf), reach),
            None => {
                let state = store.overview(of)?.state();
                Ok(LoadedChain {
                    state,
                    ..LoadedChain::default()
                })
            }
        }
    }

    /// Loads another branch than the last: the one that ends with this message.
    pub fn load_branch(
        store: &dyn TranscriptStore,
        of: &ChainName,
        leaf: &str,
    ) -> Result<LoadedChain, StoreError> {
        load_to(store, of, Some(leaf), LoadLimit::UNLIMITED)
    }
}

fn load_to(
    store: &dyn TranscriptStore,
    of: &ChainName,
    leaf: Option<&str>,
    reach: LoadLimit,
) -> Result<LoadedChain, StoreError> {
    match backward::load(store, of, leaf, reach)? {
        Some(loaded) => Ok(loaded),
        None => full_scan::load(store, of, leaf, reach),
    }
}

/// The last messages of a chain, whatever branch they are on. Costs the same for a short and a long one.
pub fn tail(store: &dyn TranscriptStore, of: &ChainName, count: usize) -> Result<Tail, StoreError> {
    let mut marks = VisibilityScan::new(of.agent.as_deref());
    let mut found = VecDeque::new();
    let mut revisions = Vec::new();
    store.scan_backward(of, &mut |row| {
        if found.len() >= count {
            return ControlFlow::Break(());
        }
        for met in marks.meet(row) {
            if is_message(&met.message) {
                found.push_front(met);
            } else if matches!(met.message.body, Body::Revision(_)) {
                revisions.push((met.place, met.message));
            }
        }
        ControlFlow::Continue(())
    })?;
    let surplus = found.len().saturating_sub(count);
    let mut found: Vec<TailMessage> = found.into_iter().skip(surplus).collect();
    let messages = found
        .iter()
        .map(|met| (met.place, met.message.clone()))
        .collect();
    for (met, message) in found.iter_mut().zip(with_revisions(messages, revisions)) {
        met.message = message;
    }
    let unseen = marks.finish(&found, || {
        LoadedChain::load_end(store, of, LoadLimit::of_text(TAIL))
    })?;
    let messages = found.into_iter().map(|met| met.message).collect();
    Ok(Tail { messages, unseen })
}

/// A record, and where it is: its row, and which of the records in it.
type PositionedMessage = ((u64, usize), Message);

/// Messages with the revisions applied that came after them.
fn with_revisions(
    messages: Vec<PositionedMessage>,
    revisions: Vec<PositionedMessage>,
) -> Vec<Message> {
    let count = messages.len();
    let mut ordered: Vec<(usize, PositionedMessage)> =
        messages.into_iter().chain(revisions).enumerate().collect();
    ordered.sort_by_key(|(_, (place, _))| *place);
    let (order, records): (Vec<usize>, Vec<Message>) = ordered
        .into_iter()
        .map(|(at, (_, record))| (at, record))
        .unzip();
    let mut placed: Vec<(usize, Message)> = order.into_iter().zip(revised(records)).collect();
    placed.sort_by_key(|(at, _)| *at);
    placed.truncate(count);
    placed.into_iter().map(|(_, message)| message).collect()
}

/// Those of some revisions, given by their targets and places, that are of one of the messages.
fn revisions_of(
    messages: &[PositionedMessage],
    revisions: &[(String, (u64, usize))],
    store: &dyn TranscriptStore,
    of: &ChainName,
) -> Result<Vec<PositionedMessage>, StoreError> {
    if revisions.is_empty() {
        return Ok(Vec::new());
    }
    let names: HashSet<&str> = messages.iter().map(|(_, message)| &*message.id).collect();
    let wanted = revisions
        .iter()
        .filter(|(target, _)| names.contains(&**target));
    let positions: Vec<(u64, usize)> = wanted.map(|(_, place)| *place).collect();
    let read = full_scan::read(store, of, &positions)?;
    Ok(positions
        .into_iter()
        .zip(read)
        .filter_map(|(at, message)| Some((at, message?)))
        .collect())
}

/// Whether a record is something that a person would call a message.
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

/// Says where in the store a problem is.
fn place(mut problem: Problem, row: ChainRow<'_>) -> Problem {
    let offset = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
    problem.span = Some(Span::new(offset(row.at), offset(row.next)));
    problem
}

/// The problem of a row that is too long to be read.
fn too_long(row: ChainRow<'_>) -> Problem {
    let length = row.next - row.at;
    let text = format!(
        "the record at byte {} has {length} bytes, more than may be read",
        row.at
    );
    let hint = match row.long_names() {
        Some(_) => Hint::from("it is left as it is, and the conversation goes on without it"),
        None => Hint::RepairTranscript,
    };
    place(Problem::error("long-line", text).hint(hint), row)
}

/// A message, and what the records behind it say about it.
#[derive(Debug)]
struct TailMessage {
    pub message: Message,
    /// The row, and which of the records in it.
    pub place: (u64, usize),
    /// Whether a tombstone hides it.
    is_hidden: bool,
    /// Whether the last message follows it.
    is_on_way: bool,
}

/// Goes over rows from the last one on, to tell which of the last messages the model does not see, and why, from the
/// records behind them alone.
#[derive(Debug)]
struct VisibilityScan<'a> {
    walk: BackwardLoader<'a>,
    agent: Option<&'a str>,
    /// The next message on the way to the first one.
    wanted: SearchTarget,
    /// The names that were met.
    names: HashSet<String>,
}

impl<'a> VisibilityScan<'a> {
    fn new(agent: Option<&'a str>) -> VisibilityScan<'a> {
        let walk = BackwardLoader::unread(agent);
        VisibilityScan {
            walk,
            agent,
            wanted: SearchTarget::Leaf,
            names: HashSet::new(),
        }
    }

    /// The messages of a row, the last one first.
    fn meet(&mut self, row: ChainRow<'_>) -> Vec<TailMessage> {
        let read = row.bytes.map(read_line).unwrap_or_default();
        let mut all = Vec::new();
        for (nth, message) in read.messages.into_iter().enumerate().rev() {
            let is_hidden = self.walk.hides(&message.id);
            let is_on_way = self.go_back(&message);
            all.push(TailMessage {
                message,
                place: (row.at, nth),
                is_hidden,
                is_on_way,
            });
        }
        self.walk.meet_row(row);
        all
    }

    /// Whether a record is the next one on the way.
    fn go_back(&mut self, message: &Message) -> bool {
        let link = Link::of(message);
        self.names.insert(link.id.to_string());
        let is_next = match &self.wanted {
            SearchTarget::Leaf => link.agent == self.agent && link.can_be_leaf(),
            SearchTarget::Id(id) => *id == link.id,
            SearchTarget::Nothing => false,
        };
        if is_next {
            self.wanted = SearchTarget::parent_of(link);
        }
        is_next
    }

    /// Why the model does not see each message. Where a link leads forward, or nowhere, everything is loaded for that.
    fn finish(
        self,
        met: &[TailMessage],
        load: impl FnOnce() -> Result<LoadedChain, StoreError>,
    ) -> Result<Vec<Option<Unseen>>, StoreError> {
        let leads_forward = matches!(&self.wanted, SearchTarget::Id(id) if self.names.contains(id));
        if leads_forward || self.walk.is_lost() {
            let seen = load()?.messages;
            let seen: HashSet<&str> = seen.iter().map(|message| &*message.id).collect();
            return Ok(met
                .iter()
                .map(|met| met.why(seen.contains(&*met.message.id)))
                .collect());
        }
        let seen = self.walk.seen();
        Ok(met
            .iter()
            .map(|met| met.why(seen.contains(&met.place)))
            .collect())
    }
}

impl TailMessage {
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
