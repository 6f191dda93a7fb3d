//! The branch that a file is on: which of its messages are on it, and which cells the model does not see. Most files
//! have one branch and hide nothing, and then their messages are not read at all.

use std::collections::HashSet;

use analects_core::{Body, History, LinkKind, Message, Other, SessionId, Tree, Unseen};

use super::cell_messages::CellMessages;
use super::read::reader_of;
use crate::msgfile::{Cell, CellRole, Document, MetaKey};

/// For each cell of a file, why the model does not see it. `None` if it does, and for cells that are not messages.
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
    if !document.cells().any(may_hide) {
        return vec![None; document.cells().len()];
    }
    CellMessages::of(document, &SessionId::default()).unseen(document)
}

impl Document {
    /// Whether nothing follows a cell on the branch that the file is on.
    pub fn is_last_message(&self, cell: Cell<'_>) -> bool {
        if self.cells().any(may_hide) {
            let branch = current_branch(self);
            return branch.first().is_some_and(|last| last.cell.at == cell.at);
        }
        let mut below = self.cells().rev().take_while(|other| other.at > cell.at);
        below.all(|other| other.is_ready() || other.role() == CellRole::AgentDefinition)
    }
}

/// Whether a cell may hide itself or another cell from the model.
fn may_hide(cell: Cell<'_>) -> bool {
    let is_hiding_role = matches!(
        cell.role(),
        CellRole::Tombstone | CellRole::CompactBoundary | CellRole::Details
    );
    is_hiding_role
        || cell
            .attribute_refs()
            .any(|attribute| attribute.key().is_some_and(is_hiding_key))
}

/// Whether an attribute may hide a cell. A cell with `json=` may hold anything.
fn is_hiding_key(key: MetaKey) -> bool {
    matches!(
        key,
        MetaKey::History
            | MetaKey::Parent
            | MetaKey::Through
            | MetaKey::AgentId
            | MetaKey::Error
            | MetaKey::Json
    )
}

/// A message on the branch that a file is on.
#[derive(Debug, Clone)]
pub struct BranchMessage<'a> {
    /// The cell by which other cells name it.
    pub cell: Cell<'a>,
    /// The message.
    pub message: Message,
}

/// The messages of the branch that a file is on, the last one first. Hidden messages are left out; messages before a
/// summary are not.
///
/// ```
/// use analects_formats::msgfile;
///
/// let file = "# %%\n\none\n\n# %% [^2]\n\n[^2]: [markdown] history=none\n\ntwo\n\n# %%\n\nthree\n";
/// let document = msgfile::decode(file);
/// let branch = msgfile::current_branch(&document).into_iter();
/// let texts: Vec<String> = branch.map(|step| step.message.text()).collect();
/// assert_eq!(texts, ["three", "one"]);
/// ```
pub fn current_branch(document: &Document) -> Vec<BranchMessage<'_>> {
    let mut read = CellMessages::of(document, &SessionId::default());
    let mut branch = Vec::new();
    for at in visible_branch(&read.messages) {
        let nothing = Message::new("", Body::Other(Other::default()));
        let message = std::mem::replace(&mut read.messages[at], nothing);
        let cell = Cell {
            document,
            at: read.heads[at],
        };
        branch.push(BranchMessage { cell, message });
    }
    branch
}

/// The indexes of the messages on the current branch that are not hidden, the last one first.
fn visible_branch(messages: &[Message]) -> Vec<usize> {
    let tree = Tree::of(messages);
    let Some(leaf) = tree.leaf(None) else {
        return Vec::new();
    };
    let mut branch = Vec::new();
    for at in tree.ancestors(leaf) {
        let link = tree.link(at);
        let is_seen = link.is_shown() && messages[at].history != History::Exclude;
        // A boundary has its effect whether or not anybody sees it.
        let is_boundary = matches!(link.kind, LinkKind::Boundary { .. });
        if (is_seen || is_boundary) && !tree.is_hidden(at) {
            branch.push(at);
        }
    }
    branch
}

/// The cells of side chains, by their indexes: all cells of their messages.
pub(crate) fn side_chain_cells(document: &Document) -> HashSet<usize> {
    if !document.cells().any(may_be_on_side_chain) {
        return HashSet::new();
    }
    let mut cells = HashSet::new();
    let reader = reader_of(document, &SessionId::default(), document.cells());
    for partial in &reader.messages {
        if partial.message.agent_id.is_some() {
            cells.extend(partial.cells().map(|cell| cell.at));
        }
    }
    cells
}

/// Whether a cell may be on a side chain. A message that is JSON, and details, may say so inside.
fn may_be_on_side_chain(cell: Cell<'_>) -> bool {
    cell.agent_id().is_some()
        || cell.get(MetaKey::Json) == Some("message")
        || cell.role() == CellRole::Details
}
