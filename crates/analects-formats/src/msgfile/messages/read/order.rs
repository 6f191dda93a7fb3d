//! The ids of messages, and which message follows which.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use analects_core::{Body, CompactBoundary, History, Message, MessageId, Problem, SessionId};

use super::{MessageReader, no_change};
use crate::msgfile::messages::partial::{CellView, PartialMessage};
use crate::msgfile::{CellRole, MetaKey};

/// The message that another one follows.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ParentRef {
    /// None: the message begins the conversation.
    None,
    /// A message of the file, by its index.
    Message(usize),
    /// A message that is not in the file.
    Elsewhere(MessageId),
}

impl ParentRef {
    fn of(message: Option<usize>) -> ParentRef {
        message.map_or(ParentRef::None, ParentRef::Message)
    }

    fn index(&self) -> Option<usize> {
        match self {
            ParentRef::Message(message) => Some(*message),
            ParentRef::None | ParentRef::Elsewhere(_) => None,
        }
    }
}

/// The last message of the main chain, and of each side chain.
#[derive(Debug, Default)]
pub(super) struct ChainEnds {
    main: Option<usize>,
    sides: HashMap<String, usize>,
}

impl ChainEnds {
    fn get(&self, chain: Option<&String>) -> Option<usize> {
        match chain {
            None => self.main,
            Some(chain) => self.sides.get(chain).copied(),
        }
    }

    pub(super) fn set(&mut self, chain: Option<&String>, message: usize) {
        match chain {
            None => self.main = Some(message),
            Some(chain) => _ = self.sides.insert(chain.clone(), message),
        }
    }
}

impl<'a> MessageReader<'a> {
    /// Gives a message its ids and its place in its chain, and adds it.
    pub(super) fn add_message(&mut self, head: &CellView<'a>, mut partial: PartialMessage<'a>) {
        let parent = self.parent_of(head, &partial);
        let message = self.messages.len();
        let is_first = self.claim_name(head.name.clone(), message);
        if partial.is_assembled {
            self.set_ids(&mut partial.message, head, &parent, is_first);
        }
        if partial.cell.role() == CellRole::ToolCall
            && let Some(call) = partial.blocks.first()
        {
            self.note_hidden_call(head, message, call);
        }
        let through = head.cell.through().filter(|_| partial.is_assembled);
        self.push(partial, parent.index());
        if let Some(through) = through {
            self.add_boundary(head, message, through, is_first);
        }
    }

    /// Lets a cell's name stand for a message. False if an earlier cell has the same name: others then mean that one.
    fn claim_name(&mut self, name: Cow<'a, str>, message: usize) -> bool {
        match self.owners.entry(name) {
            Entry::Vacant(entry) => *entry.insert(message) == message,
            Entry::Occupied(_) => false,
        }
    }

    /// Sets the ids that the head does not name to derived ones.
    fn set_ids(
        &self,
        message: &mut Message,
        head: &CellView<'_>,
        parent: &ParentRef,
        is_first: bool,
    ) {
        let session = head.get(MetaKey::SessionId).map(SessionId::from);
        let id = head.get(MetaKey::Uuid).map(MessageId::from);
        message.session_id = session.unwrap_or_else(|| self.session.clone());
        message.id = id.unwrap_or_else(|| self.derived_id(head, is_first));
        message.parent_id = match parent {
            ParentRef::None => None,
            ParentRef::Message(parent) => Some(self.messages[*parent].message.id.clone()),
            ParentRef::Elsewhere(parent) => Some(parent.clone()),
        };
    }

    /// Adds a message to the end of its chain. Nothing follows a progress message.
    fn push(&mut self, partial: PartialMessage<'a>, parent: Option<usize>) {
        if !matches!(partial.message.body, Body::Progress(_)) {
            let chain = partial.message.agent_id.as_ref();
            self.chain_ends.set(chain, self.messages.len());
        }
        self.parents.push(parent);
        self.messages.push(partial);
    }

    /// Adds the boundary of a summary that stands for everything up to the cell `through`. It has no cell of its own,
    /// and a message that follows the summary follows the boundary.
    fn add_boundary(&mut self, head: &CellView<'a>, summary: usize, through: &str, is_first: bool) {
        let Some(kept_from) = self.first_after(through, summary) else {
            return self.ignore_summary(head, summary, through);
        };
        let of = &self.messages[summary].message;
        let body = CompactBoundary {
            summary_id: Some(of.id.clone()),
            kept_from: kept_from.map(|at| self.messages[at].message.id.clone()),
            ..CompactBoundary::default()
        };
        let id = self.ids.derived_id(&format!("{}#boundary", of.id));
        let message = Message {
            parent_id: Some(of.id.clone()),
            session_id: of.session_id.clone(),
            agent_id: of.agent_id.clone(),
            created_at: of.created_at,
            ..Message::new(id, Body::CompactBoundary(body))
        };
        if is_first {
            self.owners.insert(head.name.clone(), self.messages.len());
        }
        self.push(PartialMessage::complete(message, head), Some(summary));
    }

    /// Hides a summary whose `through=` names no cell before it.
    fn ignore_summary(&mut self, head: &CellView<'_>, summary: usize, through: &str) {
        let text = format!("no cell {through} comes before this summary on its branch");
        let problem = Problem::error("unknown-through", text);
        self.report(
            head,
            problem.hint("the summary is ignored, and everything is seen"),
        );
        self.messages[summary].message.history = History::Exclude;
    }

    /// The message right after that of a cell, on the way to a summary: `Some(None)` if that is the summary itself,
    /// `None` if the cell is not on the way.
    fn first_after(&self, cell: &str, summary: usize) -> Option<Option<usize>> {
        let wanted = *self.owners.get(cell)?;
        let mut after = summary;
        while let Some(parent) = self.parents[after] {
            if parent == wanted {
                return Some((after != summary).then_some(after));
            }
            after = parent;
        }
        None
    }

    /// Reads an empty cell with `parent=`, which says what the next message follows: it becomes a state change, as
    /// sessions have it.
    pub(super) fn read_rewind_mark(&mut self, view: &CellView<'a>) {
        let id = self.derived_id(view, true);
        let mut message = Message::new(id, no_change().into());
        message.session_id = self.session.clone();
        let parent = self.written_parent(view, None);
        if let Some(parent) = parent.index() {
            message.parent_id = Some(self.messages[parent].message.id.clone());
        } else {
            // A new beginning is a second state change that follows nothing.
            let mut start = message.clone();
            start.id = self.ids.derived_id(&format!("{}#start", message.id));
            message.parent_id = Some(start.id.clone());
            self.push(PartialMessage::complete(start, view), None);
        }
        let parent = parent.index().or(self.messages.len().checked_sub(1));
        self.claim_name(view.name.clone(), self.messages.len());
        self.push(PartialMessage::complete(message, view), parent);
    }

    /// The id of a message whose cell has no `uuid=`. It comes from the id of the cell, or else from its number. A second
    /// cell with the same id is distinguished by its position.
    fn derived_id(&self, head: &CellView<'_>, is_first: bool) -> MessageId {
        match head.cell.id() {
            Some(id) if is_first => self.ids.derived_id(id),
            Some(id) => {
                let name = format!("{id}#{}", head.cell.ordinal());
                self.ids.derived_id(&name)
            }
            None => self.ids.derived_id(&format!("#{}", head.cell.name())),
        }
    }

    /// The message that another one follows. A message that is JSON names its parent itself.
    fn parent_of(&mut self, head: &CellView<'_>, partial: &PartialMessage<'_>) -> ParentRef {
        let chain = partial.message.agent_id.as_ref();
        if partial.is_assembled {
            return self.written_parent(head, chain);
        }
        let last = self.chain_ends.get(chain);
        let id = last.map(|last| &self.messages[last].message.id);
        if id.is_some() && id == partial.message.parent_id.as_ref() {
            return ParentRef::of(last);
        }
        ParentRef::None
    }

    /// The message that `parent=` names, or else the last one of the chain.
    fn written_parent(&mut self, head: &CellView<'_>, chain: Option<&String>) -> ParentRef {
        let last = ParentRef::of(self.chain_ends.get(chain));
        let name = match head.cell.parent() {
            None => return last,
            Some("") => return ParentRef::None,
            Some(name) => name,
        };
        if let Some(owner) = self.owners.get(name) {
            return ParentRef::Message(*owner);
        }
        // A message that came from elsewhere may have a parent that is not here.
        if head.get(MetaKey::Uuid).is_some() {
            return ParentRef::Elsewhere(name.into());
        }
        let text = format!("there is no earlier cell {name} that could be the parent");
        let problem = Problem::error("unknown-parent-cell", text);
        let hint = "the cell is read as if it followed the one before it";
        self.report(head, problem.hint(hint));
        last
    }
}
