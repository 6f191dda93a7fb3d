//! The cells that an answer is for, and how they are found again in a file that somebody may have changed.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::str::FromStr;

use analects_core::{Raw, RawMap};
use analects_formats::msgfile::{Cell, CellKind, Document};
use uuid::Uuid;

/// A hash of a text. Line ends, and blanks at the ends of lines and of the text, do not matter: editors change them
/// when they save.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TextHash(Uuid);

impl TextHash {
    /// The hash of a text.
    pub fn of(text: &str) -> TextHash {
        let lines: Vec<&str> = text.trim_end().split('\n').map(str::trim_end).collect();
        TextHash(Uuid::new_v5(
            &Uuid::NAMESPACE_OID,
            lines.join("\n").as_bytes(),
        ))
    }
}

impl fmt::Display for TextHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_simple().fmt(f)
    }
}

impl FromStr for TextHash {
    type Err = uuid::Error;

    fn from_str(text: &str) -> Result<TextHash, uuid::Error> {
        Uuid::try_parse(text).map(TextHash)
    }
}

/// A cell that is being answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedCell {
    /// Its id, if it had one when it was asked.
    pub id: Option<String>,
    /// What it said.
    pub text: TextHash,
    kind: CellKind,
}

impl AskedCell {
    /// A cell as it is now.
    pub fn of(cell: Cell<'_>) -> AskedCell {
        let id = cell.id().map(str::to_string);
        AskedCell {
            id,
            text: TextHash::of(&cell.content()),
            kind: cell.kind(),
        }
    }

    /// Cells of a document as they are now. An id that an earlier cell has, too, names that one, so it does not count.
    pub fn all(document: &Document, cells: &[Cell<'_>]) -> Vec<AskedCell> {
        let asked = cells.iter().map(|cell| {
            let mut asked = AskedCell::of(*cell);
            let first = asked.named(document);
            if first.is_none_or(|first| first.ordinal() != cell.ordinal()) {
                asked.id = None;
            }
            asked
        });
        asked.collect()
    }

    /// The cell with the same id and the same text. Where either has no id, it is the only cell with this text.
    pub fn find<'d>(&self, document: &'d Document) -> Option<Cell<'d>> {
        if let Some(named) = self.named(document) {
            return Some(named).filter(|cell| self.is_like(*cell));
        }
        let mut alike = document.cells().filter(|cell| self.is_like(*cell));
        alike.next().filter(|_| alike.next().is_none())
    }

    /// The cell with the same id, whatever it says.
    fn named<'d>(&self, document: &'d Document) -> Option<Cell<'d>> {
        let id = self.id.as_deref()?;
        document.cell(id).filter(|cell| cell.id() == Some(id))
    }

    /// Whether a cell has the same text, and no other id: that would be another question in the same words.
    fn is_like(&self, cell: Cell<'_>) -> bool {
        let has_other_id =
            self.id.is_some() && cell.id().is_some() && self.id.as_deref() != cell.id();
        !has_other_id
            && cell.kind() == self.kind
            && !cell.is_ready()
            && TextHash::of(&cell.content()) == self.text
    }

    pub(super) fn to_raw(&self) -> Raw {
        let mut record = RawMap::new();
        if let Some(id) = &self.id {
            record.push("id", Raw::string(id));
        }
        record.push("text", Raw::string(&self.text.to_string()));
        if self.kind == CellKind::Output {
            record.push("output", Raw::string("yes"));
        }
        record.to_raw()
    }

    pub(super) fn from_raw(raw: &Raw) -> Option<AskedCell> {
        let record = raw.as_object()?;
        let id = record.get("id").and_then(Raw::as_string);
        let text = record.get("text")?.as_string()?.parse().ok()?;
        let is_output = record.get("output").is_some();
        let kind = if is_output {
            CellKind::Output
        } else {
            CellKind::Message
        };
        Some(AskedCell { id, text, kind })
    }
}

/// The places of the asked cells in a document, from 0, if all of them still stand there and wait for an answer. Of
/// several that wait in the same words and have no id, the first ones count.
pub(super) fn waiting_places(asked: &[AskedCell], document: &Document) -> Option<Vec<usize>> {
    let mut waiting = WaitingCells::of(document);
    asked.iter().map(|asked| waiting.take(asked)).collect()
}

/// The cells that wait in a document. Each is an answer's only once.
struct WaitingCells<'d> {
    document: &'d Document,
    /// Those that nobody took yet, by their places.
    free: HashMap<usize, Cell<'d>>,
    /// The places of those with a text, in order: of all, and of those without an id.
    by_text: HashMap<TextHash, [VecDeque<usize>; 2]>,
}

impl<'d> WaitingCells<'d> {
    fn of(document: &'d Document) -> WaitingCells<'d> {
        let cells = document.unanswered();
        let free = cells
            .iter()
            .map(|cell| (cell.ordinal() - 1, *cell))
            .collect();
        WaitingCells {
            document,
            free,
            by_text: HashMap::new(),
        }
    }

    /// Takes the place of an asked cell, if it is still there and waits.
    fn take(&mut self, asked: &AskedCell) -> Option<usize> {
        if asked.kind == CellKind::Output {
            return waiting_output(asked, self.document);
        }
        if let Some(named) = asked.named(self.document) {
            let place = named.ordinal() - 1;
            return self
                .free
                .remove(&place)
                .filter(|cell| asked.is_like(*cell))
                .map(|_| place);
        }
        if self.by_text.is_empty() {
            self.index();
        }
        let [all, loose] = self.by_text.get_mut(&asked.text)?;
        let places = if asked.id.is_some() { loose } else { all };
        while let Some(place) = places.pop_front() {
            if self
                .free
                .get(&place)
                .is_some_and(|cell| asked.is_like(*cell))
            {
                self.free.remove(&place);
                return Some(place);
            }
        }
        None
    }

    fn index(&mut self) {
        let mut cells: Vec<(&usize, &Cell<'_>)> = self.free.iter().collect();
        cells.sort_unstable_by_key(|(place, _)| **place);
        for (place, cell) in cells {
            let [all, loose] = self
                .by_text
                .entry(TextHash::of(&cell.content()))
                .or_default();
            all.push_back(*place);
            if cell.id().is_none() {
                loose.push_back(*place);
            }
        }
    }
}

/// The place of a result that is to be answered, if nothing came back after it.
fn waiting_output(asked: &AskedCell, document: &Document) -> Option<usize> {
    let cell = asked.find(document)?;
    let mut behind = document.cells().skip(cell.ordinal());
    let is_last = behind.all(|cell| cell.kind() != CellKind::Output);
    is_last.then_some(cell.ordinal() - 1)
}

/// The text of the cell before a place.
pub(super) fn text_before(place: usize, document: &Document) -> Option<TextHash> {
    let cell = document.cells().nth(place.checked_sub(1)?)?;
    Some(TextHash::of(&cell.content()))
}
