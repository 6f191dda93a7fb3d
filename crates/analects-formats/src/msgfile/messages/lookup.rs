//! Which cells say which messages.

use std::collections::{HashMap, HashSet};

use analects_core::verbs::{Target, hidden_calls, revised, revised_in_full};
use analects_core::{Body, History, LinkKind, Message, MessageId, SessionId, Tree, Unseen, unseen};

use super::known::CellsHash;
use super::partial::close;
use super::read::{MessageReader, reader_of};
use crate::msgfile::item::ItemError;
use crate::msgfile::{Cell, CellKind, CellRole, Document, MetaKey, find_one, not_a_message};

/// The messages of a document, and the cells that say them.
#[derive(Debug)]
pub struct CellMessages {
    session: SessionId,
    /// The messages, in the order of the file, with their revisions applied.
    pub messages: Vec<Message>,
    /// For each message, the place of the cell by which others name it, from 0.
    pub heads: Vec<usize>,
    /// For each message, the place of its last cell, and of the first one that holds text.
    last_cells: Vec<usize>,
    text_cells: Vec<Option<usize>>,
    /// For each cell, what it is among the messages.
    targets: Vec<Option<Target>>,
    /// For each cell, the message that it is a cell of.
    owners: Vec<Option<usize>>,
    /// The last message of each id.
    by_id: HashMap<MessageId, usize>,
    /// The cell of each call, by its message and the id that the provider gave the call.
    calls: HashMap<Target, usize>,
}

impl CellMessages {
    /// Reads the messages of a document.
    pub fn of(document: &Document, session: &SessionId) -> CellMessages {
        let reader = reader_of(document, session, document.cells());
        let mut read = CellMessages {
            session: session.clone(),
            messages: Vec::new(),
            heads: Vec::with_capacity(reader.messages.len()),
            last_cells: Vec::with_capacity(reader.messages.len()),
            text_cells: Vec::with_capacity(reader.messages.len()),
            targets: vec![None; document.cells().len()],
            owners: vec![None; document.cells().len()],
            by_id: HashMap::with_capacity(reader.messages.len()),
            calls: HashMap::new(),
        };
        for (at, draft) in reader.messages.iter().enumerate() {
            let cells = draft.parts.iter().chain([&draft.cell]);
            for cell in cells.clone() {
                // The boundary of a summary has no cell of its own.
                if read.owners[cell.at].is_some() {
                    continue;
                }
                read.owners[cell.at] = Some(at);
                // A record that says nothing is nobody's target.
                if !matches!(draft.message.body, Body::State(_)) {
                    read.targets[cell.at] = Some(Target::message(draft.message.id.clone()));
                }
            }
            read.heads.push(draft.cell.at);
            let last = cells.clone().map(|cell| cell.at).max();
            let text = cells
                .filter(|cell| holds_text(cell.role()))
                .map(|cell| cell.at)
                .min();
            read.last_cells.push(last.unwrap_or(draft.cell.at));
            read.text_cells.push(text);
            read.by_id.insert(draft.message.id.clone(), at);
        }
        read.find_calls(document, &reader);
        for hidden in &reader.hidden_calls {
            read.heads.push(hidden.cell.at);
            read.last_cells.push(hidden.cell.at);
            read.text_cells.push(None);
        }
        read.messages = revised_in_full(reader.finish(None).messages);
        read
    }

    /// A call and its results are one target.
    fn find_calls(&mut self, document: &Document, reader: &MessageReader<'_>) {
        let tools = document.cells().filter(|cell| cell.role().is_tool());
        for cell in tools {
            let name = cell.name();
            let of_result = name.rsplit_once('.').map(|(call, _)| call);
            let found = [Some(&*name), of_result]
                .into_iter()
                .flatten()
                .find_map(|name| {
                    let message = reader.owners.get(name)?;
                    Some((
                        &reader.messages[*message].message.id,
                        reader.calls.id_of(name)?,
                    ))
                });
            let Some((message, call)) = found.filter(|_| self.targets[cell.at].is_some()) else {
                continue;
            };
            let target = Target::call(message.clone(), call);
            if cell.role() == CellRole::ToolCall {
                self.calls.insert(target.clone(), cell.at);
            }
            self.targets[cell.at] = Some(target);
        }
    }

    /// The conversation that the messages are read as.
    pub(crate) fn session(&self) -> &SessionId {
        &self.session
    }

    /// The message that a cell is a cell of.
    pub fn message(&self, cell: usize) -> Option<&MessageId> {
        let owner = (*self.owners.get(cell)?)?;
        self.target(cell).map(|_| &self.messages[owner].id)
    }

    /// What a cell is among the messages: a message, or one call of it; a result stands for its call. `None` for a
    /// cell that is no part of a message.
    pub fn target(&self, cell: usize) -> Option<&Target> {
        self.targets.get(cell)?.as_ref()
    }

    /// What the cell is that a person names, such as `2`: a message, or one call of it.
    pub fn target_named(&self, document: &Document, name: &str) -> Result<&Target, ItemError> {
        let at = find_one(document, name)?;
        self.target(at).ok_or_else(|| not_a_message(document, at))
    }

    /// The place of the cell by which others name a message.
    pub fn head(&self, message: &MessageId) -> Option<usize> {
        self.by_id.get(message).map(|at| self.heads[*at])
    }

    /// The place of the last cell of a message.
    pub(crate) fn last_cell(&self, message: usize) -> usize {
        self.last_cells[message]
    }

    /// The place of the cell that says a message, or makes a call.
    pub fn cell_of(&self, target: &Target) -> Option<usize> {
        match target.call {
            Some(_) => self
                .calls
                .get(target)
                .copied()
                .or_else(|| self.cells_of(target).next()),
            None => self.head(&target.message),
        }
    }

    /// The places of the cells of a target: of a call, those of the call and of its results.
    pub(crate) fn cells_of(&self, target: &Target) -> impl Iterator<Item = usize> {
        let cells = self.targets.iter().enumerate();
        cells
            .filter(|(_, it)| it.as_ref() == Some(target))
            .map(|(at, _)| at)
    }

    /// The places of the cells of the calls that a message makes.
    pub(crate) fn call_cells(&self, message: &MessageId) -> Vec<usize> {
        let calls = self
            .calls
            .iter()
            .filter(|(target, _)| target.message == *message);
        calls.map(|(_, at)| *at).collect()
    }

    /// The place of the cell whose text changes with a target: of a call, its result.
    pub(crate) fn text_cell(&self, target: &Target) -> Option<usize> {
        match target.call {
            Some(_) => {
                let call = self.calls.get(target).copied();
                self.cells_of(target).filter(|at| Some(*at) != call).last()
            }
            None => self
                .by_id
                .get(&target.message)
                .and_then(|at| self.text_cells[*at]),
        }
    }

    /// Why the model does not see each cell; `None` where it does, and for cells that say nothing.
    fn unseen(&self, document: &Document) -> Vec<Option<Unseen>> {
        let of_messages = unseen(&revised(self.messages.clone()));
        let hidden_calls = hidden_calls(&self.messages);
        let is_call_hidden = |cell: Cell<'_>| {
            self.target(cell.at)
                .is_some_and(|target| hidden_calls.contains(target))
        };
        let of_cell = |cell: Cell<'_>| {
            let message = self.owners[cell.at]?;
            let why = of_messages[message];
            let why = why.or_else(|| is_call_hidden(cell).then_some(Unseen::Hidden));
            why.filter(|_| says_something(cell))
        };
        document.cells().map(of_cell).collect()
    }
}

/// Whether the cells of a role hold text that a person could change.
fn holds_text(role: CellRole) -> bool {
    match role {
        CellRole::User
        | CellRole::Code
        | CellRole::Reply
        | CellRole::ToolResult
        | CellRole::System
        | CellRole::Summary
        | CellRole::Attachment
        | CellRole::Notification => true,
        CellRole::Raw
        | CellRole::UserBlock
        | CellRole::AgentDefinition
        | CellRole::Thinking
        | CellRole::ToolCall
        | CellRole::CodeOutput
        | CellRole::CompactBoundary
        | CellRole::Progress
        | CellRole::Tombstone
        | CellRole::Block
        | CellRole::Details => false,
    }
}

/// Whether a cell says something that a model could read.
fn says_something(cell: Cell<'_>) -> bool {
    match cell.role() {
        CellRole::AgentDefinition
        | CellRole::Details
        | CellRole::Progress
        | CellRole::Tombstone
        | CellRole::CompactBoundary => false,
        CellRole::User
        | CellRole::Code
        | CellRole::Raw
        | CellRole::UserBlock
        | CellRole::Reply
        | CellRole::Thinking
        | CellRole::ToolCall
        | CellRole::ToolResult
        | CellRole::CodeOutput
        | CellRole::System
        | CellRole::Summary
        | CellRole::Attachment
        | CellRole::Notification
        | CellRole::Block => !cell.is_rewind_mark(),
    }
}

/// For each cell of a file that says something, why the model does not see it; `None` where it does, and for cells
/// that are no messages.
///
/// ```
/// use analects_core::Unseen;
/// use analects_formats::msgfile;
///
/// let file = "# %%\n\none\n\n# %% [^2]\n\n[^2]: [markdown] history=none\n\ntwo\n";
/// let document = msgfile::decode(file);
/// assert_eq!(msgfile::unseen_cells(&document), [None, Some(Unseen::Hidden)]);
/// ```
pub fn unseen_cells(document: &Document) -> Vec<Option<Unseen>> {
    // To find the branch, all messages are read; in most files there is no need for it.
    if !document.cells().any(may_hide) {
        return vec![None; document.cells().len()];
    }
    CellMessages::of(document, &SessionId::default()).unseen(document)
}

impl Document {
    /// Whether nothing comes after a cell on the branch that the file is on.
    pub fn is_last_message(&self, cell: Cell<'_>) -> bool {
        if self.cells().any(may_hide) {
            let last = current_branch(self);
            return last.first().is_some_and(|step| step.cell.at == cell.at);
        }
        let mut behind = self.cells().rev().take_while(|other| other.at > cell.at);
        behind.all(|other| other.is_ready() || other.role() == CellRole::AgentDefinition)
    }
}

/// Whether a cell may keep itself or another from the model. What holds JSON may say anything.
fn may_hide(cell: Cell<'_>) -> bool {
    let is_key = |key: MetaKey| {
        matches!(
            key,
            MetaKey::History
                | MetaKey::Parent
                | MetaKey::Through
                | MetaKey::AgentId
                | MetaKey::Error
                | MetaKey::Json
        )
    };
    matches!(
        cell.role(),
        CellRole::Tombstone | CellRole::CompactBoundary | CellRole::Details
    ) || cell
        .attribute_refs()
        .any(|attribute| attribute.key().is_some_and(is_key))
}

/// A message of a file, and where it is.
#[derive(Debug, Clone)]
pub struct BranchMessage<'a> {
    /// The cell by which others name it.
    pub cell: Cell<'a>,
    /// What it says.
    pub message: Message,
}

/// The messages of the branch that a file is on, the last one first: those that are not hidden, also where
/// a summary stands for them.
///
/// ```
/// use analects_formats::msgfile;
///
/// let file = "# %%\n\none\n\n# %% [^2]\n\n[^2]: [markdown] history=none\n\ntwo\n\n# %%\n\nthree\n";
/// let document = msgfile::decode(file);
/// let texts = msgfile::current_branch(&document).into_iter().map(|step| step.message.text());
/// assert_eq!(texts.collect::<Vec<_>>(), ["three", "one"]);
/// ```
pub fn current_branch(document: &Document) -> Vec<BranchMessage<'_>> {
    let mut read = CellMessages::of(document, &SessionId::default());
    let tree = Tree::of(&read.messages);
    let is_there = |at: &usize| {
        let link = tree.link(*at);
        // A boundary does what it does whether or not it is seen.
        let is_boundary = matches!(link.kind, LinkKind::Boundary { .. });
        let is_seen = link.is_shown() && read.messages[*at].history != History::Exclude;
        (is_seen || is_boundary) && !tree.is_hidden(*at)
    };
    let way = tree
        .leaf(None)
        .into_iter()
        .flat_map(|leaf| tree.ancestors(leaf));
    let way: Vec<usize> = way.filter(is_there).collect();
    let mut steps = Vec::with_capacity(way.len());
    for at in way {
        let nothing = Message::new("", Body::Other(analects_core::Other::default()));
        let message = std::mem::replace(&mut read.messages[at], nothing);
        steps.push(BranchMessage {
            cell: Cell {
                document,
                at: read.heads[at],
            },
            message,
        });
    }
    steps
}

/// What the messages and the calls of a document are called in it.
#[derive(Debug, Default)]
pub(super) struct MessageCellNames {
    /// The first cell of each message.
    pub(super) messages: HashMap<MessageId, String>,
    /// The cell of each call, by the name that the provider gave the call.
    pub(super) calls: HashMap<String, String>,
}

impl MessageCellNames {
    pub(super) fn of(document: &Document, session: &SessionId) -> MessageCellNames {
        let reader = reader_of(document, session, document.cells());
        let messages = reader
            .messages
            .into_iter()
            .map(|draft| (draft.message.id, draft.name.into_owned()));
        MessageCellNames {
            messages: messages.collect(),
            calls: reader.calls.into_cells(),
        }
    }
}

/// The place of the first cell of each message, from 0. Of messages of one id, the last counts.
pub(crate) fn places(document: &Document, session: &SessionId) -> HashMap<MessageId, usize> {
    let drafts = reader_of(document, session, document.cells())
        .messages
        .into_iter();
    drafts
        .map(|draft| (draft.message.id, draft.cell.at))
        .collect()
}

/// The places of the cells of side chains, from 0: of their messages, and of all that is a part of these.
pub(crate) fn side_places(document: &Document) -> HashSet<usize> {
    // Most files have none, and then need not be read.
    if !document
        .cells()
        .any(|cell| cell.agent_id().is_some() || holds_message(cell))
    {
        return HashSet::new();
    }
    let reader = reader_of(document, &SessionId::default(), document.cells());
    let sides = reader
        .messages
        .iter()
        .filter(|draft| draft.message.agent_id.is_some());
    sides
        .flat_map(|draft| draft.parts.iter().chain([&draft.cell]))
        .map(|cell| cell.at)
        .collect()
}

/// Whether a cell holds a whole message, which may be in a side chain.
fn holds_message(cell: Cell<'_>) -> bool {
    cell.get(MetaKey::Json) == Some("message") || cell.role() == CellRole::Details
}

/// The message that a cell of a document belongs to, whose agents are those of another one, and the hash of its cells.
pub(super) fn message_of_new_cells(
    document: &Document,
    base: &Document,
    name: &str,
) -> Option<(Message, CellsHash)> {
    let mut reader = MessageReader::new(document, SessionId::default(), document.cells().len());
    reader.models = base.implied_models();
    reader.read(document.cells());
    message_of(&reader, name)
}

fn message_of(reader: &MessageReader<'_>, name: &str) -> Option<(Message, CellsHash)> {
    let owner = *reader.owners.get(name)?;
    let draft = Some(&reader.messages[owner]).filter(|draft| draft.open)?;
    Some((close(draft.clone()), draft.hash()))
}

/// The message that the cell of each name belongs to, as its cells say it, and their hash.
pub(super) fn messages_of_cells(
    document: &Document,
    session: &SessionId,
    names: &[String],
) -> Vec<Option<(Message, CellsHash)>> {
    let reader = reader_of(document, session, document.cells());
    names.iter().map(|name| message_of(&reader, name)).collect()
}

/// The hash of the cells of each message that is no person's, by the name of the cell that says what is known of it.
pub fn cell_hashes(document: &Document) -> HashMap<String, CellsHash> {
    let reader = reader_of(document, &SessionId::default(), document.cells());
    let drafts = reader
        .messages
        .iter()
        .filter(|draft| draft.cell.kind() == CellKind::Output);
    drafts
        .map(|draft| (draft.name.to_string(), draft.hash()))
        .collect()
}
