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
        TextHash(Uuid::new_v5(&Uuid::NAMESPACE_OID, lines.join("\n").as_bytes()))
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
        AskedCell { id, text: TextHash::of(&cell.content()), kind: cell.kind() }
    }

    /// Cells of a document as they are now. An id that an earlier cell has, too, names that one, so it does not count.
    pub fn all(document: &Document, cells: &[Cell<'_>]) -> Vec<AskedCell> {
        let mut ids: HashMap<&str, usize> = HashMap::new();
        for cell in document.cells() {
            if let Some(id) = cell.id() {
                ids.entry(id).or_insert(cell.ordinal());
            }
        }
        let asked = cells.iter().map(|cell| {
            let asked = AskedCell::of(*cell);
            let is_first = |id: &String| ids.get(id.as_str()) == Some(&cell.ordinal());
            AskedCell { id: asked.id.clone().filter(is_first), ..asked }
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
        let kind = if is_output { CellKind::Output } else { CellKind::Message };
        Some(AskedCell { id, text, kind })
    }
}

/// The places of the asked cells in a document, from 0, if all of them still stand there and wait for an answer. Of
/// several that wait in the same words and have no id, the first ones count.
pub(super) fn waiting_places(asked: &[AskedCell], document: &Document) -> Option<Vec<usize>> {
    let mut waiting = VecDeque::from(document.unanswered());
    let mut ids: HashMap<&str, usize> = HashMap::new();
    if asked.iter().any(|asked| asked.id.is_some()) {
        for cell in document.cells() {
            // Of two cells with one id, the first is meant.
            cell.id().map(|id| *ids.entry(id).or_insert(cell.ordinal()));
        }
    }
    let mut places = Vec::new();
    for asked in asked {
        let place = if asked.kind == CellKind::Output {
            waiting_output(asked, document)?
        } else {
            let named = asked.id.as_deref().and_then(|id| ids.get(id).copied());
            let is_asked = |cell: &Cell<'_>| {
                named.is_none_or(|named| named == cell.ordinal()) && asked.is_like(*cell)
            };
            let at = waiting.iter().position(is_asked)?;
            waiting.remove(at)?.ordinal() - 1
        };
        places.push(place);
    }
    Some(places)
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
