//! The cells that an answer is for, and how they are found again in a file that a person may have edited.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::str::FromStr;

use analects_core::{Raw, RawMap};
use analects_formats::msgfile::{Cell, CellKind, Document};
use uuid::Uuid;

/// A hash of a text. It ignores line endings, and blanks at the end of lines and of the text, because editors change
/// these when they save.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TextHash(Uuid);

impl TextHash {
    /// Returns the hash of a text.
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

/// A cell that is being answered, as it was when it was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuestionCell {
    /// The id, if the cell had one.
    pub id: Option<String>,
    /// The hash of the text.
    pub text: TextHash,
    /// Whether it is a message or a tool result.
    kind: CellKind,
}

impl QuestionCell {
    /// Describes the current state of a cell.
    pub fn of(cell: Cell<'_>) -> QuestionCell {
        QuestionCell {
            id: cell.id().map(str::to_string),
            text: TextHash::of(&cell.content()),
            kind: cell.kind(),
        }
    }

    /// Describes cells of a document. Drops an id that an earlier cell has, too, because the id refers to that one.
    pub fn all(document: &Document, cells: &[Cell<'_>]) -> Vec<QuestionCell> {
        let mut questions = Vec::new();
        for cell in cells {
            let mut question = QuestionCell::of(*cell);
            let first = question.cell_with_same_id(document);
            if first.is_none_or(|first| first.ordinal() != cell.ordinal()) {
                question.id = None;
            }
            questions.push(question);
        }
        questions
    }

    /// Finds the cell in a document: the one with the same id, if its text is unchanged. Without an id, the text must
    /// be unique.
    pub fn find<'d>(&self, document: &'d Document) -> Option<Cell<'d>> {
        if let Some(cell) = self.cell_with_same_id(document) {
            return Some(cell).filter(|cell| self.matches(*cell));
        }
        let mut matches = document.cells().filter(|cell| self.matches(*cell));
        let first = matches.next()?;
        if matches.next().is_some() {
            return None;
        }
        Some(first)
    }

    /// Returns the cell with the same id, whatever its text.
    fn cell_with_same_id<'d>(&self, document: &'d Document) -> Option<Cell<'d>> {
        let id = self.id.as_deref()?;
        document.cell(id).filter(|cell| cell.id() == Some(id))
    }

    /// Returns whether a cell has the same text and no other id. With another id, it is another question in the same
    /// words.
    fn matches(&self, cell: Cell<'_>) -> bool {
        let has_other_id =
            self.id.is_some() && cell.id().is_some() && self.id.as_deref() != cell.id();
        !has_other_id
            && cell.kind() == self.kind
            && !cell.is_ready()
            && TextHash::of(&cell.content()) == self.text
    }

    /// Formats the cell as JSON for the header of an entry.
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

    /// Parses the JSON of [`QuestionCell::to_raw`]; `None` if it is damaged.
    pub(super) fn from_raw(raw: &Raw) -> Option<QuestionCell> {
        let record = raw.as_object()?;
        let id = record.get("id").and_then(Raw::as_string);
        let text = record.get("text")?.as_string()?.parse().ok()?;
        let is_output = record.get("output").is_some();
        let kind = if is_output {
            CellKind::Output
        } else {
            CellKind::Message
        };
        Some(QuestionCell { id, text, kind })
    }
}

/// Returns the positions of the questions in a document, counted from 0, if all of them are still there and wait for an
/// answer. If several waiting cells have the same text and no id, the first ones count.
pub(super) fn waiting_positions(
    questions: &[QuestionCell],
    document: &Document,
) -> Option<Vec<usize>> {
    let mut waiting = WaitingCells::of(document);
    questions
        .iter()
        .map(|question| waiting.take(question))
        .collect()
}

/// The cells of a document that wait for an answer. Each is matched to at most one question.
struct WaitingCells<'d> {
    document: &'d Document,
    /// The cells that are not matched yet, by position.
    free: HashMap<usize, Cell<'d>>,
    /// The positions of the cells with a text. Filled when the first question without an id needs it.
    by_text: HashMap<TextHash, PositionsOfText>,
}

/// The positions of the waiting cells that have the same text, in order.
#[derive(Default)]
struct PositionsOfText {
    /// All of them, for a question without an id.
    all: VecDeque<usize>,
    /// Those without an id, for a question whose id is gone.
    without_id: VecDeque<usize>,
}

impl<'d> WaitingCells<'d> {
    /// Collects the cells of a document that wait for an answer.
    fn of(document: &'d Document) -> WaitingCells<'d> {
        let mut free = HashMap::new();
        for cell in document.unanswered() {
            free.insert(cell.ordinal() - 1, cell);
        }
        WaitingCells {
            document,
            free,
            by_text: HashMap::new(),
        }
    }

    /// Takes the cell of a question and returns its position; `None` if it is gone, changed or answered.
    fn take(&mut self, question: &QuestionCell) -> Option<usize> {
        if question.kind == CellKind::Output {
            return waiting_output(question, self.document);
        }
        if let Some(cell) = question.cell_with_same_id(self.document) {
            let position = cell.ordinal() - 1;
            let free = self.free.remove(&position)?;
            return question.matches(free).then_some(position);
        }
        if self.by_text.is_empty() {
            self.index_texts();
        }
        let positions = self.by_text.get_mut(&question.text)?;
        let candidates = if question.id.is_some() {
            &mut positions.without_id
        } else {
            &mut positions.all
        };
        while let Some(position) = candidates.pop_front() {
            let cell = self.free.get(&position);
            if cell.is_some_and(|cell| question.matches(*cell)) {
                self.free.remove(&position);
                return Some(position);
            }
        }
        None
    }

    /// Fills `by_text`. Hashing all texts is slow, so it happens only when a question without an id needs it.
    fn index_texts(&mut self) {
        let mut cells: Vec<(&usize, &Cell<'_>)> = self.free.iter().collect();
        cells.sort_unstable_by_key(|(position, _)| **position);
        for (position, cell) in cells {
            let text = TextHash::of(&cell.content());
            let positions = self.by_text.entry(text).or_default();
            positions.all.push_back(*position);
            if cell.id().is_none() {
                positions.without_id.push_back(*position);
            }
        }
    }
}

/// Returns the position of a tool result that waits for an answer, if no output follows it.
fn waiting_output(question: &QuestionCell, document: &Document) -> Option<usize> {
    let cell = question.find(document)?;
    let mut later = document.cells().skip(cell.ordinal());
    let is_last = later.all(|cell| cell.kind() != CellKind::Output);
    is_last.then_some(cell.ordinal() - 1)
}

/// Returns the hash of the text of the cell before a position; `None` for the first position.
pub(super) fn text_before(position: usize, document: &Document) -> Option<TextHash> {
    let cell = document.cells().nth(position.checked_sub(1)?)?;
    Some(TextHash::of(&cell.content()))
}
