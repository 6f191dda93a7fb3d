//! Problems in an input, their position, and hints. A problem is a finding, not an error: everything readable has been
//! read.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};

use serde::{Deserialize, Serialize};

/// A range of bytes from `start` up to, but not including, `end`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord, Serialize, Deserialize,
)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The byte after the last.
    pub end: usize,
}

impl Span {
    /// Creates a span.
    pub fn new(start: usize, end: usize) -> Span {
        Span { start, end }
    }

    /// Its length in bytes.
    pub fn len(self) -> usize {
        self.end.saturating_sub(self.start)
    }

    /// Returns whether the span is empty.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes of `source` in this span; an empty slice if the span exceeds the source.
    pub fn of(self, source: &[u8]) -> &[u8] {
        source.get(self.start..self.end).unwrap_or_default()
    }
}

/// The severity of a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Probably not what the author intended.
    Hint,
    /// Readable, but perhaps not read as expected.
    Warning,
    /// Something is unusable.
    Error,
}

/// A problem in an input. It has no JSON form: the program that shows it first words the hint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// A stable identifier, such as `duplicate-id`.
    pub code: Cow<'static, str>,
    /// The severity.
    pub severity: Severity,
    /// The bytes that it concerns, if any.
    pub span: Option<Span>,
    /// The line, from 1; 0 if there is none.
    pub line: usize,
    /// The column in bytes, from 1; 0 if there is none.
    pub column: usize,
    /// The message: lower case, no full stop.
    pub message: String,
    /// How to resolve it.
    pub hint: Option<Hint>,
}

impl Problem {
    /// Creates a problem of severity [`Severity::Error`].
    pub fn error(code: &'static str, message: impl Into<String>) -> Problem {
        Problem::new(Severity::Error, code, message.into())
    }

    /// Creates a problem of severity [`Severity::Warning`].
    pub fn warning(code: &'static str, message: impl Into<String>) -> Problem {
        Problem::new(Severity::Warning, code, message.into())
    }

    fn new(severity: Severity, code: &'static str, message: String) -> Problem {
        Problem {
            code: code.into(),
            severity,
            span: None,
            line: 0,
            column: 0,
            message,
            hint: None,
        }
    }

    /// Sets the position. `lines` supplies the line and the column.
    pub fn at(mut self, span: Span, lines: &LineIndex<'_>) -> Problem {
        self.span = Some(span);
        (self.line, self.column) = lines.position(span.start);
        self
    }

    /// Sets the severity.
    pub fn with(mut self, severity: Severity) -> Problem {
        self.severity = severity;
        self
    }

    /// Sets the hint.
    pub fn hint(mut self, hint: impl Into<Hint>) -> Problem {
        self.hint = Some(hint.into());
        self
    }
}

/// The index keeps the offset of every 256th line.
const STRIDE: usize = 256;

/// Finds the line and column of a byte offset. It keeps few offsets, so it stays small for files of any size.
///
/// ```
/// use analects_core::LineIndex;
///
/// let lines = LineIndex::new(b"one\ntwo\n");
/// assert_eq!(lines.position(5), (2, 2));
/// ```
#[derive(Debug, Clone)]
pub struct LineIndex<'a> {
    source: &'a [u8],
    /// The start of every `STRIDE`th line, computed on first use: most inputs have no problems.
    starts: OnceCell<Vec<usize>>,
    /// The last result: an offset, its line, and the start of that line. Queries mostly come in order, and rescanning a
    /// very long line for each of them would be slow.
    last: Cell<(usize, usize, usize)>,
}

impl<'a> LineIndex<'a> {
    /// Creates an index of `source`; a line ends with `\n`.
    pub fn new(source: &'a [u8]) -> LineIndex<'a> {
        LineIndex {
            source,
            starts: OnceCell::new(),
            last: Cell::new((0, 1, 0)),
        }
    }

    fn starts(&self) -> &[usize] {
        self.starts.get_or_init(|| {
            let nth = memchr::memchr_iter(b'\n', self.source)
                .skip(STRIDE - 1)
                .step_by(STRIDE);
            std::iter::once(0).chain(nth.map(|at| at + 1)).collect()
        })
    }

    /// Returns the line and column of an offset, both from 1. The column counts bytes.
    pub fn position(&self, offset: usize) -> (usize, usize) {
        let offset = offset.min(self.source.len());
        let starts = self.starts();
        let known = starts
            .partition_point(|start| *start <= offset)
            .saturating_sub(1);
        let start = starts.get(known).copied().unwrap_or(0);
        let last = self.last.get();
        let (from, line, line_start) = if (start..=offset).contains(&last.0) {
            last
        } else {
            (start, known * STRIDE + 1, start)
        };
        let between = &self.source[from..offset];
        let line = line + memchr::memchr_iter(b'\n', between).count();
        let line_start = memchr::memrchr(b'\n', between).map_or(line_start, |at| from + at + 1);
        self.last.set((offset, line, line_start));
        (line, offset - line_start + 1)
    }
}

/// How to resolve a problem or an error. Libraries return a hint, and the program words it for its users, so no variant
/// names a command or an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hint {
    /// A sentence that holds in every program: lower case, no full stop.
    Note(Cow<'static, str>),
    /// List the cells of the file.
    ShowCells,
    /// Undo the compaction.
    UndoCompaction,
    /// Show this hidden cell or message again.
    Restore(Box<str>),
    /// Repair the transcript. The original keeps its unreadable records; the repaired copy omits them.
    RepairTranscript,
    /// Compact the conversation, or choose a model with a larger window.
    CompactOrLargerModel,
    /// Allow the images of the file.
    AllowPictures,
    /// Convert in full, which keeps all details.
    ConvertInFull,
}

impl Hint {
    /// The sentence of a [`Hint::Note`].
    pub fn as_note(&self) -> Option<&str> {
        if let Hint::Note(text) = self {
            Some(text)
        } else {
            None
        }
    }
}

impl From<&'static str> for Hint {
    fn from(text: &'static str) -> Hint {
        Hint::Note(Cow::Borrowed(text))
    }
}

impl From<String> for Hint {
    fn from(text: String) -> Hint {
        Hint::Note(Cow::Owned(text))
    }
}
