//! A cell that is still being written: text in as it comes, bytes out that can be appended at once.
//! At every moment the file holds a cell that can be read, and no text in it passes for a head.

use super::encode::line_text;
use super::line::{is_head_like, may_become_head};
use super::{Document, NewCell, Splice};

/// The state of a cell while its content streams in.
#[derive(Debug, Clone)]
pub struct CellStream {
    cell: NewCell,
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
        let streaming = cell.clone().with("status", "streaming");
        text.push_str(&streaming.opening(None, line_end));
        text.push_str(line_end);
        let stream = CellStream { cell, held: String::new(), released: false };
        (stream, Splice { at, bytes: text.into_bytes() })
    }

    /// The cell with all the content so far, as it will be written in the end.
    pub fn cell(&self) -> &NewCell {
        &self.cell
    }

    /// Takes more content; gives the bytes to append now. Only the beginning of a line that may
    /// still become a head is held back.
    pub fn push(&mut self, text: &str) -> String {
        self.cell.content.push_str(text);
        let mut out = String::new();
        for piece in text.split_inclusive('\n') {
            self.push_piece(piece, &mut out);
        }
        out
    }

    fn push_piece(&mut self, piece: &str, out: &mut String) {
        let ends_line = piece.ends_with('\n');
        if self.released {
            out.push_str(piece);
        } else {
            self.held.push_str(piece);
            if ends_line || !may_become_head(self.held.as_bytes()) {
                if is_head_like(line_text(&self.held).as_bytes()) {
                    out.push('\\');
                }
                out.push_str(&std::mem::take(&mut self.held));
                self.released = true;
            }
        }
        self.released &= !ends_line;
    }
}
