//! The cells that an answer is for, and how they are found again in a file that somebody may have changed.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
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

    fn is_output(&self) -> bool {
        self.kind == CellKind::Output
    }

    pub(super) fn to_raw(&self) -> Raw {
        let mut record = RawMap::new();
        if let Some(id) = &self.id {
            record.push("id", Raw::string(id));
        }
        record.push("text", Raw::string(&self.text.to_string()));
        if self.is_output() {
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

/// Finds asked cells in a document: each of its texts is read at most once, however many cells are looked for.
#[derive(Debug)]
pub(super) struct CellFinder<'d> {
    document: &'d Document,
    ids: OnceCell<HashMap<&'d str, Cell<'d>>>,
    texts: OnceCell<HashMap<(bool, TextHash), Vec<Cell<'d>>>>,
    unanswered: OnceCell<HashSet<usize>>,
}

impl<'d> CellFinder<'d> {
    pub(super) fn new(document: &'d Document) -> CellFinder<'d> {
        CellFinder {
            document,
            ids: OnceCell::new(),
            texts: OnceCell::new(),
            unanswered: OnceCell::new(),
        }
    }

    /// The cell with the same id and the same text. Where either has no id, it is the only cell with this text.
    pub(super) fn find(&self, asked: &AskedCell) -> Option<Cell<'d>> {
        if let Some(id) = &asked.id
            && let Some(named) = self.ids().get(id.as_str())
        {
            let is_same = named.kind() == asked.kind
                && !named.is_ready()
                && TextHash::of(&named.content()) == asked.text;
            return is_same.then_some(*named);
        }
        let [only] = self.texts().get(&(asked.is_output(), asked.text))?[..] else { return None };
        // Another id means another question, in the same words.
        if asked.id.is_some() && only.id().is_some() { None } else { Some(only) }
    }

    /// The places of the asked cells, from 0, if all of them still stand there and wait for an answer.
    pub(super) fn waiting_places(&self, asked: &[AskedCell]) -> Option<Vec<usize>> {
        asked.iter().map(|asked| self.waiting_place(asked)).collect()
    }

    fn waiting_place(&self, asked: &AskedCell) -> Option<usize> {
        let place = self.find(asked)?.ordinal() - 1;
        let is_waiting = asked.is_output() || self.unanswered().contains(&place);
        is_waiting.then_some(place)
    }

    fn ids(&self) -> &HashMap<&'d str, Cell<'d>> {
        self.ids.get_or_init(|| {
            let mut ids = HashMap::new();
            for cell in self.document.cells() {
                if let Some(id) = cell.id() {
                    // Of two cells with one id, the first is meant.
                    ids.entry(id).or_insert(cell);
                }
            }
            ids
        })
    }

    fn texts(&self) -> &HashMap<(bool, TextHash), Vec<Cell<'d>>> {
        self.texts.get_or_init(|| {
            let mut texts: HashMap<_, Vec<Cell<'d>>> = HashMap::new();
            for cell in self.document.cells().filter(|cell| !cell.is_ready()) {
                let is_output = cell.kind() == CellKind::Output;
                texts.entry((is_output, TextHash::of(&cell.content()))).or_default().push(cell);
            }
            texts
        })
    }

    fn unanswered(&self) -> &HashSet<usize> {
        let places = || self.document.unanswered().iter().map(|cell| cell.ordinal() - 1).collect();
        self.unanswered.get_or_init(places)
    }
}
