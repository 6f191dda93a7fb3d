//! What is wrong with an input, where, and what can be done about it. A problem is a finding, not an error: whatever
//! could be read has been read.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};

use serde::{Deserialize, Serialize};

/// A range of bytes, `start` included, `end` not.
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
    /// The bytes from `start` up to `end`.
    pub fn new(start: usize, end: usize) -> Span {
        Span { start, end }
    }

    /// Its length in bytes.
    pub fn len(self) -> usize {
        self.end.saturating_sub(self.start)
    }

    /// Whether it holds no byte.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The bytes of `source` that it covers; none where it reaches beyond.
    pub fn of(self, source: &[u8]) -> &[u8] {
        source.get(self.start..self.end).unwrap_or_default()
    }
}

/// How bad a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Probably not what was meant.
    Hint,
    /// Read, but not as somebody may expect.
    Warning,
    /// Something cannot be used as it stands.
    Error,
}

/// A finding about an input. It has no JSON of its own: whoever prints it puts the hint into words first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// A stable name, such as `duplicate-id`.
    pub code: Cow<'static, str>,
    /// How bad it is.
    pub severity: Severity,
    /// The bytes it is about, where there are any.
    pub span: Option<Span>,
    /// The line, from 1; 0 where there is none.
    pub line: usize,
    /// The column in bytes, from 1; 0 where there is none.
    pub column: usize,
    /// What is wrong: lower case, no full stop.
    pub message: String,
    /// What to do about it.
    pub hint: Option<Hint>,
}

impl Problem {
    /// Something cannot be used as it stands.
    pub fn error(code: &'static str, message: impl Into<String>) -> Problem {
        Problem::new(Severity::Error, code, message.into())
    }

    /// Something is read, but not as somebody may expect.
    pub fn warning(code: &'static str, message: impl Into<String>) -> Problem {
        Problem::new(Severity::Warning, code, message.into())
    }

    fn new(severity: Severity, code: &'static str, message: String) -> Problem {
        let (span, line, column, hint) = (None, 0, 0, None);
        Problem {
            code: code.into(),
            severity,
            span,
            line,
            column,
            message,
            hint,
        }
    }

    /// Says where, in bytes; the line and column come from `lines`.
    pub fn at(mut self, span: Span, lines: &LineIndex<'_>) -> Problem {
        self.span = Some(span);
        (self.line, self.column) = lines.position(span.start);
        self
    }

    /// Says how bad it is.
    pub fn with(mut self, severity: Severity) -> Problem {
        self.severity = severity;
        self
    }

    /// Says what to do.
    pub fn hint(mut self, hint: impl Into<Hint>) -> Problem {
        self.hint = Some(hint.into());
        self
    }
}

/// Every how many lines the index keeps an offset.
const STRIDE: usize = 256;

/// Finds the line and column of an offset. It keeps few offsets, so that it stays small for files
/// of any size.
#[derive(Debug, Clone)]
pub struct LineIndex<'a> {
    source: &'a [u8],
    /// The start of every `STRIDE`th line, once somebody has asked: mostly nothing is odd, and nobody does.
    starts: OnceCell<Vec<usize>>,
    /// What was asked for last: its offset, its line, and where that line starts. Questions mostly come
    /// in order, and a line may be so long that going over it each time would take forever.
    last: Cell<(usize, usize, usize)>,
}

impl<'a> LineIndex<'a> {
    /// Finds the lines of `source`; a line ends with `\n`.
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

    /// Line and column of an offset, both from 1; the column counts bytes.
    pub fn position(&self, offset: usize) -> (usize, usize) {
        let offset = offset.min(self.source.len());
        let starts = self.starts();
        let known = starts
            .partition_point(|start| *start <= offset)
            .saturating_sub(1);
        let start = starts.get(known).copied().unwrap_or(0);
        let last = self.last.get();
        let (from, line, line_start) = match last.0 <= offset && last.0 >= start {
            true => last,
            false => (start, known * STRIDE + 1, start),
        };
        let between = &self.source[from..offset];
        let line = line + memchr::memchr_iter(b'\n', between).count();
        let line_start = memchr::memrchr(b'\n', between).map_or(line_start, |at| from + at + 1);
        self.last.set((offset, line, line_start));
        (line, offset - line_start + 1)
    }
}

/// What can be done about a problem or an error. The libraries say what; the program that a person uses says how it is
/// done there, so no variant names a command or an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hint {
    /// A sentence about the data or its format, which holds in every program: lower case, no full stop.
    Note(Cow<'static, str>),
    /// Look at the cells of the file.
    ShowCells,
    /// Undo the compaction.
    UndoCompaction,
    /// Show this cell or message again, which is hidden.
    Restore(Box<str>),
    /// Repair the transcript: what is wrong is left as it is and not read, and the repaired file lacks it.
    RepairTranscript,
    /// Compact the conversation, or choose a model with a larger window.
    CompactOrLargerModel,
    /// Allow the pictures of the file.
    AllowPictures,
    /// Convert in full, which keeps everything.
    ConvertInFull,
}

impl Hint {
    /// The sentence, if it holds in every program.
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
