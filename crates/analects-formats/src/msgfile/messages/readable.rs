//! A conversation in, a message file for people out: cells with words, and a count of what is not in them.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt;

use analects_core::verbs::{Edits, Survey, Surveyed, Target};
use analects_core::{
    Assistant, Block, Body, Content, History, Ids, LinkKind, Message, MessageId, Raw, RawMap, Text,
    ToolResult, ToolUse, Tree, User,
};
use serde::Serialize;

use super::blocks::is_opaque;
use super::cells::{CellWriter, MessageCells};
use super::describe::Style;
use super::encode::{CellJoiner, PackedNames};
use crate::msgfile::{MetaKey, NewCell};

/// How much of a conversation a readable file leaves behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct LeftBehind {
    /// Fields that no cell has a place for.
    pub provider_details: usize,
    /// Seals of thoughts.
    pub signatures: usize,
    /// Thoughts that nobody can read.
    pub encrypted_reasoning: usize,
    /// Records that say nothing to a person or to a model.
    pub other_records: usize,
    /// Links to messages that come later: a cell can only follow one above it.
    pub links_to_later: usize,
}

impl LeftBehind {
    /// Whether all of the conversation is in the file.
    pub fn is_empty(&self) -> bool {
        *self == LeftBehind::default()
    }
}

/// One line: `412 provider details, 3 signatures`.
impl fmt::Display for LeftBehind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = [
            (self.provider_details, "provider detail", "provider details"),
            (self.signatures, "signature", "signatures"),
            (
                self.encrypted_reasoning,
                "encrypted thought",
                "encrypted thoughts",
            ),
            (self.other_records, "other record", "other records"),
            (
                self.links_to_later,
                "link to a later message",
                "links to later messages",
            ),
        ];
        let mut separator = "";
        for (count, one, many) in counts.into_iter().filter(|(count, _, _)| *count > 0) {
            let name = if count == 1 { one } else { many };
            write!(formatter, "{separator}{count} {name}")?;
            separator = ", ";
        }
        Ok(())
    }
}

/// Writes a conversation as a message file that people like to read, in the style in which answers are added to
/// one. Its words are all there, in the same order on every branch; the rest is counted.
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

/// The compactions that one summary cell can say.
#[derive(Debug, Default)]
struct Compactions {
    /// The summary of each boundary.
    summaries: HashMap<usize, usize>,
    /// For each of these summaries, the first message that is kept, or the summary itself.
    kept_from: HashMap<usize, usize>,
}

/// A summary says a compaction if its boundary stands behind it, with nothing between them that anybody said.
fn compactions(tree: &Tree) -> Compactions {
    let mut found = Compactions::default();
    for boundary in 0..tree.len() {
        let LinkKind::Boundary { kept_from, .. } = tree.link(boundary).kind else {
            continue;
        };
        if tree.is_hidden(boundary) {
            continue;
        }
        let mut way = tree.ancestors(boundary).skip(1);
        let before = way.find(|at| tree.link(*at).is_shown());
        let Some(summary) = tree
            .summary_of(boundary)
            .filter(|summary| Some(*summary) == before)
        else {
            continue;
        };
        let is_new = !found.kept_from.contains_key(&summary) && !tree.is_hidden(summary);
        let kept = kept_from.and_then(|id| way.find(|at| tree.link(*at).id == id));
        if is_new && tree.link(summary).kind == LinkKind::Summary {
            found.summaries.insert(boundary, summary);
            found.kept_from.insert(summary, kept.unwrap_or(summary));
        }
    }
    found
}

/// Writes a message file for people, as [`encode_readable`] does, for a conversation that nobody has to hold: a [`Survey`]
/// of its messages comes first, and then they come again one by one.
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
    /// The name of the head of each message so far; empty for one that is not in the file.
    names: PackedNames,
    /// Of the messages in the file, the last of each id, by the number of the id.
    by_id: Vec<Option<u32>>,
    /// The last message of each chain.
    last: HashMap<Option<String>, usize>,
    left_behind: LeftBehind,
}

impl<'a> ReadableWriter<'a> {
    /// A writer for the messages of a survey.
    pub fn new(surveyed: Surveyed, ids: impl Ids + 'a) -> ReadableWriter<'a> {
        let Surveyed {
            tree,
            edits,
            hidden_calls,
        } = surveyed;
        ReadableWriter {
            writer: CellWriter::new(ids, Style::Usual),
            text: CellJoiner::default(),
            compactions: compactions(&tree),
            tree,
            edits,
            hidden_calls,
            names: PackedNames::default(),
            by_id: Vec::new(),
            last: HashMap::new(),
            left_behind: LeftBehind::default(),
        }
    }

    /// Writes the next message.
    pub fn push(&mut self, message: &Message, out: &mut Vec<u8>) {
        let at = self.names.len();
        let mut message = Cow::Borrowed(message);
        if self.edits.is_about(at) {
            self.edits.apply(at, message.to_mut());
        }
        if let Some(summary) = self.compactions.summaries.get(&at) {
            return self.take_place(at, *summary, &message);
        }
        let Some(mut readable) = readable(&message, &mut self.left_behind) else {
            return self.names.push("");
        };
        if self.tree.is_hidden(at) {
            readable.history = History::Exclude;
        }
        if let Body::Summary(summary) = &mut readable.body {
            let kept_from = self.compactions.kept_from.get(&at);
            summary.to = kept_from.and_then(|kept| self.last_before(*kept));
            if summary.to.is_none() {
                self.compactions
                    .summaries
                    .retain(|_, summary| *summary != at);
            }
        }
        self.message(at, readable, out);
    }

    /// There are no more messages. Says what is not in the file.
    pub fn finish(mut self, out: &mut Vec<u8>) -> LeftBehind {
        self.mark_leaf(out);
        self.left_behind
    }

    /// Whether a message that came before is in the file.
    fn is_there(&self, at: usize) -> bool {
        !self.names.get(at).is_empty()
    }

    /// Notes that a message is said by the cells of another one.
    fn take_place(&mut self, at: usize, of: usize, message: &Message) {
        let name = self.names.get(of).to_string();
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

    /// The cell of the last message of an id.
    fn cell_of(&self, id: &MessageId) -> Option<&str> {
        let at = self
            .by_id
            .get(self.tree.name_number(id)?)
            .copied()
            .flatten()?;
        Some(self.names.get(at as usize))
    }

    /// The id of the last message in the file before another one.
    fn last_before(&self, at: usize) -> Option<MessageId> {
        let before = self
            .tree
            .ancestors(at)
            .skip(1)
            .find(|at| self.is_there(*at))?;
        Some(self.tree.link(before).id.into())
    }

    /// Where the conversation does not go on behind its last message, an empty cell says so.
    fn mark_leaf(&mut self, out: &mut Vec<u8>) {
        let Some(leaf) = self.tree.leaf(None) else {
            return;
        };
        let last = self.tree.ancestors(leaf).find(|at| self.is_there(*at));
        if last == self.last.get(&None).copied() {
            return;
        }
        let name = last.map_or("", |last| self.names.get(last));
        let id = (self.writer.number + 1).to_string();
        self.text
            .push(&NewCell::message(id, "").with("parent", name), out);
    }

    /// Whether a message follows one that comes later.
    fn follows_later(&self, at: usize) -> bool {
        let mut missing = self
            .tree
            .ancestors(at)
            .skip(1)
            .take_while(|place| !self.is_there(*place));
        missing.any(|place| place > at && self.tree.link(place).is_shown())
    }

    fn message(&mut self, at: usize, mut message: Message, out: &mut Vec<u8>) {
        self.name_cells(&mut message.body);
        let mut cells = self.writer.cells(&message);
        let parent = self
            .tree
            .ancestors(at)
            .skip(1)
            .find(|place| self.is_there(*place));
        self.left_behind.links_to_later += usize::from(self.follows_later(at));
        if parent != self.last.get(&message.agent_id).copied() {
            let name = parent.map_or("", |parent| self.names.get(parent));
            cells.change_head(|head| head.with("parent", name));
        }
        if let Some(agent) = &message.agent_id {
            cells.change_head(|head| head.with("agent_id", agent.as_str()));
        }
        self.hide_calls(&message, &mut cells);
        for cell in &cells.cells {
            self.text.push(cell, out);
        }
        self.names.push(cells.name());
        self.note_id(at, &message.id);
        self.last.insert(message.agent_id, at);
    }

    /// Marks the cells of calls that are hidden: one by one, or with an answer of calls alone.
    fn hide_calls(&self, message: &Message, cells: &mut MessageCells) {
        let Body::Assistant(Assistant {
            content: Content::Blocks(blocks),
            ..
        }) = &message.body
        else {
            return;
        };
        let is_tool = |cell: &NewCell| cell.role().is_tool();
        let is_all = message.history == History::Exclude && is_tool(&cells.cells[cells.head]);
        let mut calls = blocks
            .iter()
            .filter_map(Block::as_tool_use)
            .map(|call| &call.id);
        for cell in cells.cells.iter_mut().filter(|cell| is_tool(cell)) {
            let Some(call) = calls.next() else { return };
            let target = Target::call(message.id.clone(), call);
            let is_said = cell
                .attributes
                .iter()
                .any(|(key, _)| key == MetaKey::History.as_str());
            if (is_all || self.hidden_calls.contains(&target)) && !is_said {
                let hidden = (MetaKey::History.as_str().to_string(), "none".to_string());
                cell.attributes.push(hidden);
            }
        }
    }

    /// MessageIds the messages that a message is about by their cells.
    fn name_cells(&self, body: &mut Body) {
        let rename = |id: &mut Option<MessageId>| {
            *id = id
                .as_ref()
                .and_then(|id| self.cell_of(id))
                .map(MessageId::from);
        };
        match body {
            Body::Summary(body) => rename(&mut body.to),
            Body::CompactBoundary(body) => {
                rename(&mut body.summary_id);
                rename(&mut body.kept_from);
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
}

/// A message with what its cells can say; `None` if that is nothing.
fn readable(message: &Message, left_behind: &mut LeftBehind) -> Option<Message> {
    let body = readable_body(&message.body, left_behind);
    let Some(body) = body else {
        left_behind.other_records += 1;
        return None;
    };
    let is_answer = matches!(body, Body::Assistant(_));
    let usage = message.usage.as_deref();
    let counts = usage.map_or(0, |usage| {
        let counts = [
            usage.total_tokens,
            usage.cache_creation_5m_tokens,
            usage.cache_creation_1h_tokens,
            usage.reasoning_tokens,
        ];
        counts.iter().flatten().count() + usage.extra.len()
    });
    let is_summed_up =
        message.history == History::Summary && message.extra.get("summary").is_some();
    left_behind.provider_details += counts + message.extra.len() - usize::from(is_summed_up)
        + message.unknown.len()
        + usize::from(message.response_id.is_some())
        + usize::from(is_answer && message.duration_ms.is_some());
    Some(Message {
        body,
        ..message.clone()
    })
}

/// What a body says in words.
fn readable_body(body: &Body, left_behind: &mut LeftBehind) -> Option<Body> {
    match body {
        Body::User(body) => {
            let content = words(&body.content, left_behind)?;
            let source = body.source.clone();
            let said = User {
                content,
                source,
                ..User::default()
            };
            let rest = User {
                content: said.content.clone(),
                ..body.clone()
            };
            left_behind.provider_details += usize::from(rest != said);
            Some(Body::User(said))
        }
        Body::Assistant(body) => {
            let content = words(&body.content, left_behind)?;
            // An answer is blocks.
            let content = match content {
                Content::Text(text) => Content::Blocks(vec![Block::from_text(text)]),
                content => content,
            };
            Some(Body::Assistant(Assistant {
                content,
                ..body.clone()
            }))
        }
        Body::ToolUse(call) => {
            let content = Content::Blocks(vec![Block::ToolUse(call.clone())]);
            Some(Body::Assistant(Assistant {
                content,
                ..Assistant::default()
            }))
        }
        Body::ToolResult(result) => {
            let content = Content::Blocks(vec![Block::ToolResult(result.clone())]);
            Some(Body::User(User {
                content,
                ..User::default()
            }))
        }
        Body::System(body) => {
            let mut body = body.clone();
            body.content = text_of(&body.content, left_behind)?;
            Some(Body::System(body))
        }
        Body::Attachment(body) => {
            let mut body = body.clone();
            body.content = text_of(&body.content, left_behind)?;
            left_behind.provider_details += body.data.as_ref().map_or(0, fields_beside_path);
            Some(Body::Attachment(body))
        }
        Body::Notification(body) => {
            let mut body = body.clone();
            body.content = text_of(&body.content, left_behind)?;
            left_behind.provider_details += usize::from(body.data.take().is_some());
            Some(Body::Notification(body))
        }
        Body::Summary(body) => {
            let mut body = body.clone();
            body.text = Text::Plain(body.text.as_str().into_owned());
            (!body.text.is_empty()).then_some(Body::Summary(body))
        }
        Body::CompactBoundary(_) => Some(body.clone()),
        Body::Progress(_)
        | Body::Tombstone(_)
        | Body::Revision(_)
        | Body::State(_)
        | Body::Other(_) => None,
    }
}

/// How many fields the data of an attachment has beside the path of a file.
fn fields_beside_path(data: &Raw) -> usize {
    let Some(fields) = data.as_object() else {
        return 1;
    };
    fields.len() - usize::from(fields.get("path").and_then(Raw::as_string).is_some())
}

/// The blocks of a content that people can read; `None` if there are none.
fn words(content: &Content, left_behind: &mut LeftBehind) -> Option<Content> {
    match content {
        Content::Empty => None,
        Content::Text(text) => {
            let text = Text::Plain(text.as_str().into_owned());
            (!text.is_empty()).then_some(Content::Text(text))
        }
        Content::Blocks(blocks) => {
            let mut kept: Vec<Block> = Vec::new();
            for block in blocks {
                kept.extend(readable_block(block, left_behind));
            }
            match kept.as_slice() {
                [] => None,
                [Block::Text(text)] => Some(Content::Text(text.text.clone())),
                _ => Some(Content::Blocks(kept)),
            }
        }
    }
}

/// A block that people can read.
fn readable_block(block: &Block, left_behind: &mut LeftBehind) -> Option<Block> {
    if is_opaque(block) {
        left_behind.encrypted_reasoning += 1;
        return None;
    }
    let mut block = block.clone();
    if let Block::Thinking(thinking) = &mut block {
        left_behind.signatures += usize::from(thinking.signature.take().is_some());
    }
    let (text, extra): (&mut Text, &mut RawMap) = match &mut block {
        Block::Text(text) => (&mut text.text, &mut text.extra),
        Block::Thinking(thinking) => (&mut thinking.thinking, &mut thinking.extra),
        Block::ToolUse(ToolUse { extra, .. }) | Block::ToolResult(ToolResult { extra, .. }) => {
            // Arguments that are no JSON are in the cell, as they are.
            let is_said = usize::from(extra.get("malformed_input").is_some());
            left_behind.provider_details += extra.len() - is_said;
            return Some(block);
        }
        Block::Image(_) | Block::RedactedThinking(_) | Block::Document(_) | Block::Other(_) => {
            return Some(block);
        }
    };
    *text = Text::Plain(text.as_str().into_owned());
    left_behind.provider_details += std::mem::take(extra).len();
    (!text.is_empty()).then_some(block)
}

/// The text of a content; `None` if there is none.
fn text_of(content: &Content, left_behind: &mut LeftBehind) -> Option<Content> {
    if let Content::Blocks(blocks) = content {
        let is_other = |block: &&Block| !matches!(block, Block::Text(_));
        left_behind.provider_details += blocks.iter().filter(is_other).count();
    }
    let text = content.text();
    (!text.is_empty()).then_some(Content::Text(Text::Plain(text)))
}
