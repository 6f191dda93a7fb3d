//! The cells that an answer is for, and how they are found again in a file that somebody may have changed.

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

    /// The cell with the same id and the same text. Where either has no id, it is the only cell with this text.
    pub fn find<'d>(&self, document: &'d Document) -> Option<Cell<'d>> {
        let is_same = |cell: &Cell<'_>| {
            cell.kind() == self.kind
                && !cell.is_ready()
                && TextHash::of(&cell.content()) == self.text
        };
        if let Some(id) = &self.id
            && let Some(named) = document.cell(id).filter(|cell| cell.id() == Some(id))
        {
            return Some(named).filter(is_same);
        }
        let mut others = document.cells().filter(is_same);
        let only = others.next().filter(|_| others.next().is_none())?;
        // Another id means another question, in the same words.
        if self.id.is_some() && only.id().is_some() { None } else { Some(only) }
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

/// The places of the asked cells in a document, from 0, if all of them still stand there and wait for an answer.
pub(super) fn waiting_places(asked: &[AskedCell], document: &Document) -> Option<Vec<usize>> {
    let unanswered: Vec<usize> =
        document.unanswered().iter().map(|cell| cell.ordinal() - 1).collect();
    asked
        .iter()
        .map(|asked| {
            let cell = asked.find(document)?;
            let place = cell.ordinal() - 1;
            let is_waiting = cell.kind() == CellKind::Output || unanswered.contains(&place);
            is_waiting.then_some(place)
        })
        .collect()
}
