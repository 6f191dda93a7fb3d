//! The cells that are being answered, and how they are found again in a file that somebody has changed meanwhile.

use analects_formats::msgfile::{Cell, CellKind, Document, is_same_text};

/// The cells that are being answered.
#[derive(Debug, Default)]
pub(super) struct AskedCells {
    pub(super) cells: Vec<Known>,
    /// The last cell of the file, which is mostly the last of them: behind it the answer belongs, and not behind
    /// what is typed while it comes.
    pub(super) last: Option<Known>,
    /// The first cell that waits for another answer: above it this one belongs.
    pub(super) later: Option<Known>,
}

/// What is known of a cell, to find it again when the file has changed.
#[derive(Debug, Clone)]
pub(super) struct Known {
    kind: CellKind,
    pub(super) name: String,
    pub(super) text: String,
    /// How many cells before it look just the same. An id may stand at several cells, as where one was copied.
    twins: usize,
}

/// Those of the cells that were asked that do not say any more what they said.
pub(super) fn changed_since(document: &Document, asked: &[Known]) -> Vec<Known> {
    let is_same = |known: &&Known| known.find(document).is_some_and(|cell| known.is_said_by(&cell));
    asked.iter().filter(|known| !is_same(known)).cloned().collect()
}

impl AskedCells {
    /// The cell behind which the answer belongs, if it is still there: its place, from 0.
    pub(super) fn place(&self, document: &Document) -> Option<usize> {
        let last = self.last.as_ref().and_then(|last| last.find(document));
        let asked = || self.cells.last()?.find(document);
        let place = last.or_else(asked).map(|cell| cell.ordinal() - 1);
        // Behind the next question it would be taken for the answer to that.
        let above = || self.later.as_ref()?.find(document)?.ordinal().checked_sub(2);
        place.or_else(above)
    }
}

impl Known {
    pub(super) fn of(cell: Cell<'_>) -> Known {
        let (name, text) = (cell.name().into_owned(), cell.content().into_owned());
        Known { kind: cell.kind(), name, text, twins: 0 }
    }

    /// The same, with those before it that look just the same.
    pub(super) fn among(self, document: &Document, cell: Cell<'_>) -> Known {
        let before = document.cells().take(cell.ordinal() - 1);
        let twins = before.filter(|other| other.id() == cell.id() && self.is_like(other)).count();
        Known { twins, ..self }
    }

    fn is_said_by(&self, cell: &Cell<'_>) -> bool {
        is_same_text(&cell.content(), &self.text)
    }

    /// Whether a cell is of that kind and says that.
    fn is_like(&self, cell: &Cell<'_>) -> bool {
        cell.kind() == self.kind && self.is_said_by(cell)
    }

    /// The cell, if it is still there. It may say something else by now, and then its name tells which it is.
    pub(super) fn find<'d>(&self, document: &'d Document) -> Option<Cell<'d>> {
        let fits = |cell: &Cell<'_>| cell.kind() == self.kind && !cell.is_ready();
        // Mostly it is where it was, and there are no others like it.
        let here = document.cell(&self.name).filter(|cell| fits(cell) && self.is_said_by(cell));
        if let Some(cell) = here.filter(|cell| cell.id().is_none() || self.twins == 0) {
            return Some(cell);
        }
        let named = || {
            let is_named = |cell: &Cell<'_>| cell.id() == Some(&*self.name) && fits(cell);
            document.cells().filter(is_named)
        };
        let placed = document.cell(&self.name).filter(|cell| cell.id().is_none() && fits(cell));
        let same = self.choose(named()).or_else(|| placed.filter(|cell| self.is_said_by(cell)));
        // A cell without id has another name when one is typed above it.
        let same =
            same.or_else(|| self.choose(document.cells().filter(|cell| cell.id().is_none())));
        same.or_else(|| named().next_back()).or(placed)
    }

    /// Which of some cells it is: of those that look like it the one that has as many before it, or else the last.
    fn choose<'d>(&self, cells: impl Iterator<Item = Cell<'d>>) -> Option<Cell<'d>> {
        let alike: Vec<Cell<'d>> = cells.filter(|cell| self.is_like(cell)).collect();
        alike.get(self.twins).or(alike.last()).copied()
    }
}
