//! To which cell every cell of a document belongs, as the items see it. One pass.

use super::check::TEXT;
use crate::msgfile::{Cell, CellKind, CellRole, Document, MetaKey};

/// A cell with its place among the others.
pub(super) struct Placed<'a> {
    pub(super) cell: Cell<'a>,
    pub(super) name: String,
    /// Whether it is the empty cell at the end that waits to be typed into.
    pub(super) is_ready: bool,
    /// The cell that it belongs to directly: a result to its call, a call to its reply.
    pub(super) home: Option<usize>,
    /// The message that it belongs to in the end.
    pub(super) root: Option<usize>,
}

impl<'a> Placed<'a> {
    /// The type word of a message, as it counts.
    pub(super) fn message_type(&self) -> String {
        if self.cell.is_misplaced() { "markdown" } else { self.cell.type_word() }.to_string()
    }

    pub(super) fn role(&self) -> CellRole {
        self.cell.role()
    }

    /// Whether a person wrote it.
    pub(super) fn is_prompt(&self) -> bool {
        self.role().is_user() && !self.is_ready
    }

    /// Whether a person wrote it for somebody to answer; the definition of a tool is nothing that anybody answers.
    pub(super) fn is_question(&self) -> bool {
        self.is_prompt() && self.get(MetaKey::Tool).is_none()
    }

    pub(super) fn get(&self, key: MetaKey) -> Option<&'a str> {
        self.cell.get(key)
    }

    pub(super) fn mime_type(&self) -> String {
        self.get(MetaKey::MimeType).unwrap_or(TEXT).to_string()
    }
}

impl Cell<'_> {
    /// Whether this is an output that has not come yet: it is pending, names the file that it will
    /// be in, and says nothing.
    pub(in crate::msgfile) fn is_placeholder(self) -> bool {
        self.kind() == CellKind::Output
            && self.get(MetaKey::Status) == Some("pending")
            && self.get(MetaKey::OutputFile).is_some()
            && self.body().is_empty()
    }
}

/// The cells of a document, each with its place.
pub(super) fn placed(document: &Document) -> Vec<Placed<'_>> {
    let ready = document.ready_cell().map(Cell::ordinal);
    let mut homes = Homes { document, placed: Vec::new(), last_question: None };
    for cell in document.cells() {
        homes.add(cell, ready == Some(cell.ordinal()));
    }
    homes.placed
}

/// Where the cell of that name is: the first of that id, else the one at that place.
pub(super) fn find(placed: &[Placed<'_>], name: &str) -> Option<usize> {
    placed.first()?.cell.document.place_of(name)
}

struct Homes<'a> {
    document: &'a Document,
    placed: Vec<Placed<'a>>,
    last_question: Option<usize>,
}

impl<'a> Homes<'a> {
    fn add(&mut self, cell: Cell<'a>, is_ready: bool) {
        let name = cell.name().into_owned();
        let mut placed = Placed { cell, name, is_ready, home: None, root: None };
        if placed.is_prompt() {
            placed.root = Some(cell.at);
        } else if cell.kind() == CellKind::Output {
            placed.home = self.home(&placed);
            placed.root = placed.home.and_then(|at| self.placed[at].root);
        }
        if placed.is_question() {
            self.last_question = Some(cell.at);
        }
        self.placed.push(placed);
    }

    /// The cell above that an output belongs to.
    fn home(&self, output: &Placed<'_>) -> Option<usize> {
        let above = |name| self.document.place_of(name).filter(|at| *at < self.placed.len());
        let derived = output.name.rsplit_once('.').and_then(|(parent, _)| above(parent));
        if output.role() == CellRole::ToolResult {
            // A result of no call belongs nowhere, wherever it stands.
            return derived.filter(|at| self.placed[*at].role() == CellRole::ToolCall);
        }
        let part = output.cell.part().and_then(above);
        let parent = || output.cell.parent().and_then(above);
        part.or(derived).or_else(parent).or(self.last_question)
    }
}
