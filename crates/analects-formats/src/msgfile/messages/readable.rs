//! A conversation in, a message file for people out: cells with words, and a count of what is not in them.

mod compactions;
mod earlier;
mod left_behind;
mod reduce;
mod restore;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use analects_core::verbs::{Edits, Survey, Surveyed, Target};
use analects_core::{
    Agent, Assistant, Block, Body, Content, History, Ids, Message, MessageId, StateChange, Tree,
};
use jiff::tz::TimeZone;

use super::cells::{CellWriter, MessageCells};
use super::describe::Style;
use super::encode::{CellJoiner, PackedNames};
use super::provenance;
use crate::msgfile::{MetaKey, NewCell};
use compactions::Compactions;
use earlier::EarlierAncestors;
pub use left_behind::LeftBehind;
use reduce::reduce;
use restore::{Opening, RestoredIds};

/// Writes a conversation as a message file for people, in the style in which answers are added to one. All its words
/// are there, in the same order on every branch; what else it has is counted in [`LeftBehind`].
///
/// ```
/// use analects_core::{CountingIds, Message};
/// use analects_formats::msgfile::encode_readable;
///
/// let question = Message::user("0197a3c2-6f0e-7cc1-a8d2-0242ac120002", "What is a monad?");
/// let (file, left_behind) = encode_readable(&[question], &mut CountingIds::default());
/// assert_eq!(file, b"# %% [^1]\n\n[^1]: [markdown]\n\nWhat is a monad?\n");
/// assert!(left_behind.is_empty());
/// ```
pub fn encode_readable(conversation: &[Message], ids: &mut dyn Ids) -> (Vec<u8>, LeftBehind) {
    let mut writer = ReadableWriter::new(Survey::of(conversation).finish(), ids);
    let mut file = Vec::new();
    for message in conversation {
        writer.push(message, &mut file);
    }
    let left_behind = writer.finish(&mut file);
    (file, left_behind)
}

/// Writes a message file for people message by message, so that the conversation need not fit into memory. It needs a
/// [`Survey`] of all messages first; see [`encode_readable`].
///
/// ```
/// use analects_core::verbs::Survey;
/// use analects_core::{CountingIds, Message};
/// use analects_formats::msgfile::ReadableWriter;
///
/// let question = Message::user("0197a3c2-6f0e-7cc1-a8d2-0242ac120002", "What is a monad?");
/// let mut survey = Survey::default();
/// survey.meet(&question);
/// let mut writer = ReadableWriter::new(survey.finish(), CountingIds::default());
/// let mut file = Vec::new();
/// writer.push(&question, &mut file);
/// assert!(writer.finish(&mut file).is_empty());
/// assert_eq!(file, b"# %% [^1]\n\n[^1]: [markdown]\n\nWhat is a monad?\n");
/// ```
pub struct ReadableWriter<'a> {
    writer: CellWriter<'a>,
    text: CellJoiner,
    tree: Tree,
    edits: Edits,
    hidden_calls: HashSet<Target>,
    compactions: Compactions,
    earlier: EarlierAncestors,
    /// The name of the head of each message so far; empty for one that is not in the file.
    names: PackedNames,
    /// For the number of each id, the last message in the file with that id.
    by_id: Vec<Option<u32>>,
    /// The last message of each chain.
    last: HashMap<Option<String>, usize>,
    restored: RestoredIds,
    /// Whether the file has frontmatter already.
    has_frontmatter: bool,
    left_behind: LeftBehind,
}

impl<'a> ReadableWriter<'a> {
    /// A writer for the messages of a survey, which must be pushed in the same order.
    pub fn new(surveyed: Surveyed, ids: impl Ids + 'a) -> ReadableWriter<'a> {
        ReadableWriter {
            writer: CellWriter::new(ids, Style::Usual),
            text: CellJoiner::default(),
            compactions: Compactions::of(&surveyed.tree),
            earlier: EarlierAncestors::of(&surveyed.tree),
            tree: surveyed.tree,
            edits: surveyed.edits,
            hidden_calls: surveyed.hidden_calls,
            names: PackedNames::default(),
            by_id: Vec::new(),
            last: HashMap::new(),
            restored: RestoredIds::default(),
            has_frontmatter: false,
            left_behind: LeftBehind::default(),
        }
    }

    /// For a file that defines this agent: an answer of the agent names its model only if it is not the agent's first.
    #[must_use]
    pub fn with_agent(mut self, agent: &Agent) -> Self {
        self.has_frontmatter = true;
        if let Some(model) = agent.models.first() {
            let models = &mut self.writer.usual_models;
            models.insert(agent.name.clone(), model.clone());
        }
        self
    }

    /// Writes times with the offset of this zone, instead of UTC.
    #[must_use]
    pub fn in_zone(mut self, zone: TimeZone) -> Self {
        self.writer.zone = zone;
        self
    }

    /// Writes the next message.
    pub fn push(&mut self, message: &Message, out: &mut Vec<u8>) {
        let at = self.names.len();
        let mut message = Cow::Borrowed(message);
        if self.edits.is_about(at) {
            self.edits.apply(at, message.to_mut());
        }
        match self.compactions.summary_of(at) {
            // The cell of the summary comes next, and stands for the boundary too.
            Some(summary) if summary > at => return self.names.push(""),
            Some(summary) => return self.share_cell(at, summary, &message),
            None => {}
        }
        if let Body::State(change) = &message.body
            && self.open(change, out)
        {
            return self.names.push("");
        }
        let Some(mut reduced) = reduce(&message, &mut self.left_behind) else {
            return self.names.push("");
        };
        if self.tree.is_hidden(at) {
            reduced.history = History::Exclude;
        }
        if let Body::Summary(summary) = &mut reduced.body {
            let kept_from = self.compactions.kept_from(at);
            summary.to = kept_from.and_then(|kept| self.last_before(kept));
            if summary.to.is_none() {
                self.compactions.forget(at);
            }
        }
        self.write(at, reduced, out);
    }

    /// Begins the file with what a change of state says about it as a whole. Returns whether that is anything, and comes
    /// before all messages.
    fn open(&mut self, change: &StateChange, out: &mut Vec<u8>) -> bool {
        if self.has_frontmatter || self.text.is_begun() {
            return false;
        }
        let Some(opening) = Opening::of(change) else {
            return false;
        };
        self.has_frontmatter = true;
        self.left_behind.provider_details += opening.unsaid;
        self.text = CellJoiner::begin(&opening.text(), out);
        self.writer.usual_models.extend(opening.models);
        true
    }

    /// Ends the file. Returns what is not in it.
    pub fn finish(mut self, out: &mut Vec<u8>) -> LeftBehind {
        self.mark_leaf(out);
        self.left_behind
    }

    /// Whether an earlier message is in the file.
    fn is_in_file(&self, at: usize) -> bool {
        !self.names.get(at).is_empty()
    }

    /// Notes that the cells of another message stand for this one too.
    fn share_cell(&mut self, at: usize, other: usize, message: &Message) {
        let name = self.names.get(other).to_string();
        self.names.push(&name);
        self.last.insert(message.agent_id.clone(), at);
        if !name.is_empty() {
            self.note_id(at, &message.id);
        }
    }

    fn note_id(&mut self, at: usize, id: &MessageId) {
        let Some(number) = self.tree.name_number(id) else {
            return;
        };
        if self.by_id.len() <= number {
            self.by_id.resize(number + 1, None);
        }
        self.by_id[number] = u32::try_from(at).ok();
    }

    /// The head of the last message with this id.
    fn cell_of(&self, id: &MessageId) -> Option<&str> {
        let number = self.tree.name_number(id)?;
        let at = self.by_id.get(number).copied().flatten()?;
        Some(self.names.get(at as usize))
    }

    /// The closest ancestor in the file of the message that comes next.
    fn parent_of_next(&self, at: usize) -> Option<usize> {
        let earlier = self.earlier.get(at)?;
        if self.is_in_file(earlier) {
            return Some(earlier);
        }
        self.parent_in_file(at)
    }

    /// The closest ancestor of a message that is in the file.
    fn parent_in_file(&self, at: usize) -> Option<usize> {
        let mut ancestors = self.tree.ancestors(at).skip(1);
        ancestors.find(|at| self.is_in_file(*at))
    }

    /// The id of the last message in the file before another one.
    fn last_before(&self, at: usize) -> Option<MessageId> {
        let before = self.parent_in_file(at)?;
        Some(self.tree.link(before).id.into())
    }

    /// Adds an empty cell with `parent=` if the conversation continues anywhere but after its last message.
    fn mark_leaf(&mut self, out: &mut Vec<u8>) {
        let Some(leaf) = self.tree.leaf(None) else {
            return;
        };
        let last = self.tree.ancestors(leaf).find(|at| self.is_in_file(*at));
        if last == self.last.get(&None).copied() {
            return;
        }
        let name = last.map_or("", |last| self.names.get(last));
        let id = (self.writer.number + 1).to_string();
        let mark = NewCell::message(id, "").with("parent", name);
        self.text.push(&mark, out);
    }

    /// Whether a message follows one that comes later in the conversation.
    fn follows_later(&self, at: usize) -> bool {
        for ancestor in self.tree.ancestors(at).skip(1) {
            if self.is_in_file(ancestor) {
                return false;
            }
            if ancestor > at && self.tree.link(ancestor).is_shown() {
                return true;
            }
        }
        false
    }

    /// Writes the cells of a reduced message.
    fn write(&mut self, at: usize, mut message: Message, out: &mut Vec<u8>) {
        self.name_cells(&mut message.body);
        let mut cells = self.writer.cells(&message);
        let parent = self.parent_of_next(at);
        self.left_behind.links_to_later += usize::from(self.follows_later(at));
        if parent != self.last.get(&message.agent_id).copied() {
            let name = parent.map_or("", |parent| self.names.get(parent));
            cells.change_head(|head| head.with("parent", name));
        }
        if let Some(agent) = &message.agent_id {
            cells.change_head(|head| head.with("agent_id", agent.as_str()));
        }
        self.hide_calls(&message, &mut cells);
        if let Some(kept) = message.extra.get(provenance::KEY) {
            self.left_behind.provider_details += self.restored.restore(kept, &mut cells);
        }
        for cell in &cells.cells {
            self.text.push(cell, out);
        }
        self.names.push(cells.name());
        self.note_id(at, &message.id);
        self.last.insert(message.agent_id, at);
    }

    /// Marks the cells of hidden calls: single ones, or all calls of a hidden answer that is nothing but calls.
    fn hide_calls(&self, message: &Message, cells: &mut MessageCells) {
        let Body::Assistant(Assistant {
            content: Content::Blocks(blocks),
            ..
        }) = &message.body
        else {
            return;
        };
        let head_is_call = cells.cells[cells.head].role().is_tool();
        let hides_all = message.history == History::Exclude && head_is_call;
        let mut calls = blocks.iter().filter_map(Block::as_tool_use);
        for cell in &mut cells.cells {
            if !cell.role().is_tool() {
                continue;
            }
            let Some(call) = calls.next() else { return };
            let target = Target::call(message.id.clone(), &call.id);
            if hides_all || self.hidden_calls.contains(&target) {
                hide(cell);
            }
        }
    }

    /// Replaces the ids of messages in a body by the names of their cells.
    fn name_cells(&self, body: &mut Body) {
        match body {
            Body::Summary(body) => self.name_cell(&mut body.to),
            Body::CompactBoundary(body) => {
                self.name_cell(&mut body.summary_id);
                self.name_cell(&mut body.kept_from);
            }
            Body::System(_)
            | Body::User(_)
            | Body::Assistant(_)
            | Body::ToolUse(_)
            | Body::ToolResult(_)
            | Body::Progress(_)
            | Body::Attachment(_)
            | Body::Notification(_)
            | Body::Tombstone(_)
            | Body::Revision(_)
            | Body::State(_)
            | Body::Other(_) => {}
        }
    }

    fn name_cell(&self, id: &mut Option<MessageId>) {
        let cell = id.as_ref().and_then(|id| self.cell_of(id));
        *id = cell.map(MessageId::from);
    }
}

/// Hides a cell from the model, unless it says something about its history already.
fn hide(cell: &mut NewCell) {
    let key = MetaKey::History.as_str();
    if cell.attributes.iter().all(|(other, _)| other != key) {
        let hidden = (key.to_string(), "none".to_string());
        cell.attributes.push(hidden);
    }
}
