//! The messages of a document together with the cells that hold them, for commands that name a cell and change a
//! message, or the other way round.

use std::collections::{HashMap, HashSet};

use analects_core::verbs::{Target, hidden_calls, revised, revised_in_full};
use analects_core::{Body, Message, MessageId, SessionId, Unseen, unseen};

use super::partial::PartialMessage;
use super::read::{MessageReader, reader_of};
use crate::msgfile::item::ItemError;
use crate::msgfile::{Cell, CellRole, Document, MetaKey, find_one, not_a_message};

/// The messages of a document, and the cells that hold them. Cells are given by their indexes, from 0.
#[derive(Debug)]
pub struct CellMessages {
    session: SessionId,
    /// The messages, in the order of the file, with their revisions applied.
    pub messages: Vec<Message>,
    /// For each message, its head: the cell by which other cells name it.
    pub heads: Vec<usize>,
    /// For each message, its last cell.
    last_cells: Vec<usize>,
    /// For each message, its first cell that holds text which a person may edit.
    text_cells: Vec<Option<usize>>,
    /// For each cell, the message or the call that it is part of.
    targets: Vec<Option<Target>>,
    /// For each cell, the index of its message.
    owners: Vec<Option<usize>>,
    /// The last message of each id.
    by_id: HashMap<MessageId, usize>,
    /// The cell of each call.
    calls: HashMap<Target, usize>,
    /// The results that hold bytes.
    binary_results: HashSet<usize>,
}

impl CellMessages {
    /// Reads the messages of a document.
    pub fn of(document: &Document, session: &SessionId) -> CellMessages {
        let reader = reader_of(document, session, document.cells());
        let mut read = CellMessages::empty(document, session, reader.messages.len());
        for partial in &reader.messages {
            read.add(partial);
        }
        for cell in document.cells().filter(|cell| cell.role().is_tool()) {
            read.add_call(cell, &reader);
        }
        for hidden in &reader.hidden_calls {
            read.heads.push(hidden.cell.at);
            read.last_cells.push(hidden.cell.at);
            read.text_cells.push(None);
        }
        read.messages = revised_in_full(reader.finish(None).messages);
        read
    }

    fn empty(document: &Document, session: &SessionId, messages: usize) -> CellMessages {
        CellMessages {
            session: session.clone(),
            messages: Vec::new(),
            heads: Vec::with_capacity(messages),
            last_cells: Vec::with_capacity(messages),
            text_cells: Vec::with_capacity(messages),
            targets: vec![None; document.cells().len()],
            owners: vec![None; document.cells().len()],
            by_id: HashMap::with_capacity(messages),
            calls: HashMap::new(),
            binary_results: HashSet::new(),
        }
    }

    /// Notes the cells of the next message.
    fn add(&mut self, partial: &PartialMessage<'_>) {
        let message = self.heads.len();
        let head = partial.cell.at;
        for cell in partial.cells() {
            // The boundary of a summary has no cell of its own.
            if self.owners[cell.at].is_some() {
                continue;
            }
            self.owners[cell.at] = Some(message);
            // A state change has no words, so no verb can be about it.
            if !matches!(partial.message.body, Body::State(_)) {
                self.targets[cell.at] = Some(Target::message(partial.message.id.clone()));
            }
        }
        let places = partial.cells().map(|cell| cell.at);
        let text_cells = partial.cells().filter(|cell| holds_text(cell.role()));
        self.heads.push(head);
        self.last_cells.push(places.max().unwrap_or(head));
        self.text_cells.push(text_cells.map(|cell| cell.at).min());
        self.by_id.insert(partial.message.id.clone(), message);
    }

    /// Makes a call and its results one target.
    fn add_call(&mut self, cell: Cell<'_>, reader: &MessageReader<'_>) {
        if self.targets[cell.at].is_none() {
            return;
        }
        let Some(target) = call_target(cell, reader) else {
            return;
        };
        if cell.role() == CellRole::ToolCall {
            self.calls.insert(target.clone(), cell.at);
        }
        if cell.get(MetaKey::Encoding).is_some() || cell.get(MetaKey::Json).is_some() {
            self.binary_results.insert(cell.at);
        }
        self.targets[cell.at] = Some(target);
    }

    /// The conversation that the messages belong to.
    pub(crate) fn session(&self) -> &SessionId {
        &self.session
    }

    /// The message that a cell belongs to.
    pub fn message(&self, cell: usize) -> Option<&MessageId> {
        let owner = (*self.owners.get(cell)?)?;
        self.target(cell).map(|_| &self.messages[owner].id)
    }

    /// The message, or the single call, that a cell is part of; the result of a call counts as the call. `None` for a
    /// cell that is not part of a message.
    pub fn target(&self, cell: usize) -> Option<&Target> {
        self.targets.get(cell)?.as_ref()
    }

    /// The target of the cell that a person names, such as `2`.
    pub fn target_named(&self, document: &Document, name: &str) -> Result<&Target, ItemError> {
        let at = find_one(document, name)?;
        self.target(at).ok_or_else(|| not_a_message(document, at))
    }

    /// The cell by which other cells name a message.
    pub fn head(&self, message: &MessageId) -> Option<usize> {
        self.by_id.get(message).map(|at| self.heads[*at])
    }

    /// The last cell of a message.
    pub(crate) fn last_cell(&self, message: usize) -> usize {
        self.last_cells[message]
    }

    /// The head of a message, or the cell of a call.
    pub fn cell_of(&self, target: &Target) -> Option<usize> {
        if target.call.is_none() {
            return self.head(&target.message);
        }
        let call = self.calls.get(target).copied();
        call.or_else(|| self.cells_of(target).next())
    }

    /// The cells of a target: those of a message without its calls, or a call and its results.
    pub(crate) fn cells_of(&self, target: &Target) -> impl Iterator<Item = usize> {
        let cells = self.targets.iter().enumerate();
        cells
            .filter(|(_, it)| it.as_ref() == Some(target))
            .map(|(at, _)| at)
    }

    /// The cells of the calls that a message makes, in no order.
    pub(crate) fn call_cells(&self, message: &MessageId) -> Vec<usize> {
        let calls = self
            .calls
            .iter()
            .filter(|(target, _)| target.message == *message);
        calls.map(|(_, at)| *at).collect()
    }

    /// The cell whose text changes when a target is edited; for a call, the last cell of its result that holds text.
    pub(crate) fn text_cell(&self, target: &Target) -> Option<usize> {
        if target.call.is_none() {
            let message = self.by_id.get(&target.message)?;
            return self.text_cells[*message];
        }
        let call = self.calls.get(target).copied();
        let is_text = |at: &usize| Some(*at) != call && !self.binary_results.contains(at);
        self.cells_of(target).filter(is_text).last()
    }

    /// For each cell, why the model does not see it. `None` if it does, and for cells without words.
    pub(super) fn unseen(&self, document: &Document) -> Vec<Option<Unseen>> {
        let unseen_messages = unseen(&revised(self.messages.clone()));
        let hidden_calls = hidden_calls(&self.messages);
        let mut reasons = Vec::with_capacity(document.cells().len());
        for cell in document.cells() {
            reasons.push(self.why_unseen(cell, &unseen_messages, &hidden_calls));
        }
        reasons
    }

    fn why_unseen(
        &self,
        cell: Cell<'_>,
        unseen_messages: &[Option<Unseen>],
        hidden_calls: &HashSet<Target>,
    ) -> Option<Unseen> {
        let message = self.owners[cell.at]?;
        if !says_something(cell) {
            return None;
        }
        if let Some(reason) = unseen_messages[message] {
            return Some(reason);
        }
        let target = self.target(cell.at)?;
        hidden_calls.contains(target).then_some(Unseen::Hidden)
    }
}

/// The call that a `[tool]` cell makes, or whose result it is.
fn call_target(cell: Cell<'_>, reader: &MessageReader<'_>) -> Option<Target> {
    let name = cell.name();
    call_named(&name, reader).or_else(|| {
        let (call, _) = name.rsplit_once('.')?;
        call_named(call, reader)
    })
}

/// The call whose cell has this name.
fn call_named(name: &str, reader: &MessageReader<'_>) -> Option<Target> {
    let message = *reader.owners.get(name)?;
    let call = reader.calls.id_of(name)?;
    let message = reader.messages[message].message.id.clone();
    Some(Target::call(message, call))
}

/// Whether the cells of a role hold text that a person may edit.
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
