//! To which cell every cell of a document belongs: a result to its call, a call to its reply, all of them to
//! a message. One pass.

use super::{Cell, CellKind, CellRole, Document, MetaKey};

/// A cell, and what it belongs to.
pub(super) struct Placed<'a> {
    pub(super) cell: Cell<'a>,
    /// The place of the cell that it belongs to directly.
    pub(super) home: Option<usize>,
    /// The place of the message that it belongs to in the end.
    pub(super) root: Option<usize>,
}

impl Cell<'_> {
    /// Whether this is an output that has not come yet: it is pending, names the file that it will
    /// be in, and says nothing.
    pub(super) fn is_placeholder(self) -> bool {
        self.kind() == CellKind::Output
            && self.get(MetaKey::Status) == Some("pending")
            && self.get(MetaKey::OutputFile).is_some()
            && self.body().is_empty()
    }

    /// Whether a person wrote it for somebody to answer, and not to define a tool.
    pub(super) fn is_for_an_answer(self) -> bool {
        self.is_prompt() && self.get(MetaKey::Tool).is_none()
    }
}

/// The cells of a document, in order, each with what it belongs to.
pub(super) fn placed(document: &Document) -> Vec<Placed<'_>> {
    let mut placed: Vec<Placed<'_>> = Vec::with_capacity(document.cells().len());
    let mut last_message = None;
    for cell in document.cells() {
        let mut home = None;
        let mut root = None;
        if cell.is_prompt() {
            root = Some(cell.at);
        } else if cell.kind() == CellKind::Output {
            home = home_of(cell, last_message);
            root = home.and_then(|at| placed[at].root);
        }
        if cell.is_for_an_answer() {
            last_message = Some(cell.at);
        }
        placed.push(Placed { cell, home, root });
    }
    placed
}

/// The place of the cell above that an output belongs to; that of the last message if it names none.
fn home_of(output: Cell<'_>, last_message: Option<usize>) -> Option<usize> {
    let document = output.document;
    let above = |name: &str| document.cell(name).filter(|cell| cell.at < output.at);
    let name = output.name();
    let derived = name.rsplit_once('.').and_then(|(parent, _)| above(parent));
    if output.role() == CellRole::ToolResult {
        // A result of no call belongs nowhere, wherever it stands.
        return derived.filter(|cell| cell.role() == CellRole::ToolCall).map(|cell| cell.at);
    }
    let part = output.part().and_then(above);
    let parent = || output.parent().and_then(above);
    part.or(derived).or_else(parent).map(|cell| cell.at).or(last_message)
}
