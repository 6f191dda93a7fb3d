//! Pieces of a file put together: into lines, or into the whole. Both have limits, so that no file, however
//! hostile, takes more memory than that.

use analects_core::Problem;

use super::ReadOutput;

/// The longest line that is read.
pub const LINE_LIMIT: usize = 64 << 20;

/// How much is kept of a longer one: the names of a record stand at its beginning.
const BEGINNING: usize = 16 << 10;

/// Past this, a line gets all the room at once that it may need: to grow, it would have to be copied. Memory that
/// nothing is written to costs nothing.
const SHORT: usize = 1 << 20;

/// The longest file that is read by formats that need all of it.
pub const WHOLE_LIMIT: usize = 512 << 20;

/// Cuts what comes in pieces into lines.
#[derive(Debug)]
pub struct LineSplitter {
    rest: Vec<u8>,
    number: usize,
    limit: usize,
    /// Whether the current line is already too long; what comes of it is let go, but for its beginning.
    too_long: bool,
    /// Where the current line begins in the file, and how much of it has come.
    at: u64,
    length: u64,
}

/// One line of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileLine<'a> {
    /// Its number, from 1.
    pub number: usize,
    /// Where it begins in the file.
    pub at: u64,
    /// How many bytes it has.
    pub length: u64,
    /// Its bytes with its line end, which the last one may lack; `None` if there are too many.
    pub bytes: Option<&'a [u8]>,
    /// How it begins: all of it, unless there are too many.
    pub beginning: &'a [u8],
}

impl FileLine<'_> {
    /// Says that a problem is about this line.
    pub fn place(&self, mut problem: Problem) -> Problem {
        (problem.line, problem.column) = (self.number, 1);
        problem
    }

    /// What is wrong with a line that has too many bytes.
    pub fn too_long(&self) -> Problem {
        let FileLine { at, length, .. } = self;
        let text =
            format!("this line, at byte {at}, has {length} bytes, and may have {LINE_LIMIT}");
        let hint = "it is left out; to keep it, move its pictures or other large content to files";
        self.place(Problem::error("long-line", text).hint(hint))
    }
}

impl Default for LineSplitter {
    fn default() -> LineSplitter {
        LineSplitter::with_limit(LINE_LIMIT)
    }
}

impl LineSplitter {
    /// Lines of at most `limit` bytes.
    pub fn with_limit(limit: usize) -> LineSplitter {
        LineSplitter {
            rest: Vec::new(),
            number: 0,
            limit,
            too_long: false,
            at: 0,
            length: 0,
        }
    }

    /// Takes more bytes; `each` gets the lines that are complete.
    pub fn feed(&mut self, mut bytes: &[u8], each: &mut dyn FnMut(FileLine<'_>)) {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            let (line, rest) = bytes.split_at(end + 1);
            bytes = rest;
            if self.rest.is_empty() && line.len() <= self.limit {
                self.length = line.len() as u64;
                each(self.next(Some(line), line));
                continue;
            }
            self.keep(line);
            self.give(each);
        }
        self.keep(bytes);
    }

    /// There are no more bytes: gives the last line, if it has no end.
    pub fn finish(&mut self, each: &mut dyn FnMut(FileLine<'_>)) {
        if !self.rest.is_empty() {
            self.give(each);
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.length += bytes.len() as u64;
        let was_too_long = self.too_long;
        self.too_long |= self.rest.len() + bytes.len() > self.limit;
        if !self.too_long {
            if self.rest.len() + bytes.len() > SHORT {
                self.rest.reserve_exact(self.limit - self.rest.len());
            }
            self.rest.extend_from_slice(bytes);
        } else if !was_too_long {
            let room = BEGINNING.saturating_sub(self.rest.len());
            self.rest.extend_from_slice(&bytes[..bytes.len().min(room)]);
            self.rest.truncate(BEGINNING);
            self.rest.shrink_to_fit();
        }
    }

    fn give(&mut self, each: &mut dyn FnMut(FileLine<'_>)) {
        let mut rest = std::mem::take(&mut self.rest);
        let bytes = (!self.too_long).then_some(rest.as_slice());
        each(self.next(bytes, &rest));
        // The buffer is used again for the next line, unless it is a large one.
        if rest.capacity() <= SHORT {
            rest.clear();
            self.rest = rest;
        }
        self.too_long = false;
    }

    /// The line that is complete; the next one begins behind it.
    fn next<'l>(&mut self, bytes: Option<&'l [u8]>, beginning: &'l [u8]) -> FileLine<'l> {
        self.number += 1;
        let length = std::mem::take(&mut self.length);
        let at = self.at;
        self.at += length;
        FileLine {
            number: self.number,
            at,
            length,
            bytes,
            beginning,
        }
    }
}

/// Puts a file together that is needed as a whole.
#[derive(Debug, Default)]
pub struct WholeFile {
    bytes: Vec<u8>,
    too_large: bool,
}

impl WholeFile {
    /// Takes more bytes. Of a file that is too large, nothing is kept.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.too_large |= self.bytes.len() + bytes.len() > WHOLE_LIMIT;
        if self.too_large {
            self.bytes = Vec::new();
        } else {
            self.bytes.extend_from_slice(bytes);
        }
    }

    /// The file; `None`, with a problem, if it is too large.
    pub fn finish(self, out: &mut ReadOutput) -> Option<Vec<u8>> {
        if self.too_large {
            let text = format!("this file has more than {WHOLE_LIMIT} bytes");
            let hint = "its format has to be read as a whole; cut it into several files";
            out.problems
                .push(Problem::error("file-too-large", text).hint(hint));
            return None;
        }
        Some(self.bytes)
    }
}
