//! A cell that is still being written: text in as it comes, bytes out that can be appended at once.
//! At every moment the file holds a cell that can be read, and no text in it passes for a head.

use super::line::{is_head_like, is_undecided};
use super::scan::line_text;
use super::{Cell, Document, NewCell, Splice, answer_behind};

/// How much of a line is held back. A longer one is escaped in any case: the text is written once
/// more when it is complete.
const MAX_HELD: usize = 1000;

/// The state of a cell while its content streams in.
#[derive(Debug, Clone, Default)]
pub struct CellStream {
    id: String,
    /// The beginning of the current line, held back while it may still turn into a head.
    held: String,
    /// Whether the current line is past the point where it could become a head.
    released: bool,
}

impl CellStream {
    /// Opens a cell at the end of the document: the stream, and the splice that starts it.
    pub fn open(document: &Document, cell: NewCell) -> (CellStream, Splice) {
        let line_end = document.line_end();
        let (at, mut text) = document.place_for_new_cell();
        let stream = CellStream { id: cell.id.clone(), ..CellStream::default() };
        let streaming = cell.with("status", "streaming");
        text.push_str(&streaming.opening(document.new_cell_level(), None, line_end));
        text.push_str(line_end);
        (stream, Splice { at, bytes: text.into_bytes() })
    }

    /// Opens a cell behind another one and what belongs to it, if something else follows that; else at the end.
    /// The splice changes nothing if what follows would read differently while the cell streams.
    pub fn open_behind(
        document: &Document,
        behind: Option<Cell<'_>>,
        cell: NewCell,
    ) -> (CellStream, Splice) {
        let is_followed =
            |cell: &Cell<'_>| cell.document.cells().skip(cell.ordinal()).any(|it| !it.is_ready());
        let Some(behind) = behind.filter(is_followed) else {
            return CellStream::open(document, cell);
        };
        let stream = CellStream { id: cell.id.clone(), ..CellStream::default() };
        let streaming = cell.with("status", "streaming");
        let splice = answer_behind(document, behind, std::slice::from_ref(&streaming));
        let after = document.with_source(splice.apply(document.source()));
        match after.cell(&streaming.id).is_some_and(|cell| is_followed(&cell)) {
            true => (stream, splice),
            false => (stream, Splice::nothing()),
        }
    }

    /// The id of the cell.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Takes more content; gives the bytes to append now. Only the beginning of a line that may
    /// still become a head is held back.
    pub fn push(&mut self, text: &str) -> String {
        let mut out = String::new();
        for piece in text.split_inclusive('\n') {
            self.push_piece(piece, &mut out);
        }
        out
    }

    /// The change that gives a cell which others follow all the text that came so far.
    pub fn grown(cell: Cell<'_>, text: &str) -> Splice {
        let line_end = cell.document.line_end();
        let after = if text.ends_with('\n') { "" } else { line_end };
        let text = format!("{line_end}{text}{after}{line_end}");
        Splice { at: cell.below_meta(), bytes: text.into_bytes() }
    }

    fn push_piece(&mut self, piece: &str, out: &mut String) {
        let ends_line = piece.ends_with('\n');
        if self.released {
            out.push_str(piece);
        } else {
            self.held.push_str(piece);
            let too_long = self.held.len() > MAX_HELD;
            if ends_line || too_long || !is_undecided(self.held.as_bytes()) {
                if too_long || is_head_like(line_text(self.held.as_bytes())) {
                    out.push('\\');
                }
                out.push_str(&std::mem::take(&mut self.held));
                self.released = true;
            }
        }
        self.released &= !ends_line;
    }
}
