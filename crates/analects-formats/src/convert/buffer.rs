//! Buffers that put the chunks of a file together: into lines, or into the whole file. Both have limits, so that even a
//! hostile file takes no more memory than that.

use analects_core::Problem;

use super::{FormatReader, ReadOptions, ReadOutput};

/// The longest line that is read, in bytes.
pub const LINE_LIMIT: usize = 64 << 20;

/// The largest file that is read as a whole, in bytes.
pub const WHOLE_LIMIT: usize = 512 << 20;

/// How many bytes are kept of a line that is too long. The ids of a record are at its beginning.
const BEGINNING_SIZE: usize = 16 << 10;

/// Above this size, a line gets all the memory at once that it may need, because growing would copy it. Reserved memory
/// that nothing is written to costs nothing.
const SMALL_LINE: usize = 1 << 20;

/// Splits chunks of bytes into lines. A line that is in one chunk is not copied.
///
/// ```
/// use analects_formats::convert::LineSplitter;
///
/// let mut lines = LineSplitter::default();
/// let mut lengths = Vec::new();
/// lines.feed(b"one\ntw", &mut |line| lengths.push(line.length));
/// lines.feed(b"o\nthree", &mut |line| lengths.push(line.length));
/// lines.finish(&mut |line| lengths.push(line.length));
/// assert_eq!(lengths, [4, 4, 5]);
/// ```
#[derive(Debug)]
pub struct LineSplitter {
    /// The start of the current line, or only its beginning if the line is too long.
    buffer: Vec<u8>,
    /// The number of complete lines.
    number: usize,
    /// The longest line in bytes.
    limit: usize,
    /// Whether the current line exceeds the limit.
    is_too_long: bool,
    /// Where the current line starts in the file.
    start: u64,
    /// How many bytes of the current line were fed.
    length: u64,
}

/// One line of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileLine<'a> {
    /// Its number, from 1.
    pub number: usize,
    /// The offset in the file where it starts.
    pub at: u64,
    /// Its length in bytes.
    pub length: u64,
    /// Its bytes with the line end, which the last line may lack. `None` if the line is too long.
    pub bytes: Option<&'a [u8]>,
    /// Its first bytes if it is too long; otherwise all of them.
    pub beginning: &'a [u8],
}

impl FileLine<'_> {
    /// Points a problem to this line.
    pub fn locate(&self, mut problem: Problem) -> Problem {
        problem.line = self.number;
        problem.column = 1;
        problem
    }

    /// Returns the problem of a line that is too long.
    pub fn too_long(&self) -> Problem {
        let FileLine { at, length, .. } = self;
        let text =
            format!("this line, at byte {at}, has {length} bytes, and may have {LINE_LIMIT}");
        let hint = "it is left out; to keep it, move its pictures or other large content to files";
        self.locate(Problem::error("long-line", text).hint(hint))
    }
}

impl Default for LineSplitter {
    fn default() -> LineSplitter {
        LineSplitter::with_limit(LINE_LIMIT)
    }
}

impl LineSplitter {
    /// Creates a splitter for lines of at most `limit` bytes.
    pub fn with_limit(limit: usize) -> LineSplitter {
        LineSplitter {
            buffer: Vec::new(),
            number: 0,
            limit,
            is_too_long: false,
            start: 0,
            length: 0,
        }
    }

    /// Takes more bytes and passes each complete line to `each`.
    pub fn feed(&mut self, mut bytes: &[u8], each: &mut dyn FnMut(FileLine<'_>)) {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            let (line, rest) = bytes.split_at(end + 1);
            bytes = rest;
            if self.buffer.is_empty() && line.len() <= self.limit {
                // The line is in one chunk: no copy is needed.
                self.length = line.len() as u64;
                each(self.complete_line(Some(line), line));
                continue;
            }
            self.push(line);
            self.flush(each);
        }
        self.push(bytes);
    }

    /// Ends the file. A last line without a line end is passed to `each`.
    pub fn finish(&mut self, each: &mut dyn FnMut(FileLine<'_>)) {
        if !self.buffer.is_empty() {
            self.flush(each);
        }
    }

    /// Adds bytes to the current line.
    fn push(&mut self, bytes: &[u8]) {
        self.length += bytes.len() as u64;
        if self.is_too_long {
            return;
        }
        let length = self.buffer.len() + bytes.len();
        if length > self.limit {
            self.is_too_long = true;
            self.keep_beginning(bytes);
            return;
        }
        if length > SMALL_LINE {
            self.buffer.reserve_exact(self.limit - self.buffer.len());
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// Cuts the current line down to its beginning.
    fn keep_beginning(&mut self, bytes: &[u8]) {
        let room = BEGINNING_SIZE.saturating_sub(self.buffer.len());
        self.buffer
            .extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.buffer.truncate(BEGINNING_SIZE);
        self.buffer.shrink_to_fit();
    }

    /// Passes the buffered line to `each`.
    fn flush(&mut self, each: &mut dyn FnMut(FileLine<'_>)) {
        let mut buffer = std::mem::take(&mut self.buffer);
        let bytes = (!self.is_too_long).then_some(buffer.as_slice());
        each(self.complete_line(bytes, &buffer));
        // Reuse the memory for the next line, unless it is much.
        if buffer.capacity() <= SMALL_LINE {
            buffer.clear();
            self.buffer = buffer;
        }
        self.is_too_long = false;
    }

    /// Returns the current line and moves on to the next one.
    fn complete_line<'l>(&mut self, bytes: Option<&'l [u8]>, beginning: &'l [u8]) -> FileLine<'l> {
        self.number += 1;
        let length = std::mem::take(&mut self.length);
        let at = self.start;
        self.start += length;
        FileLine {
            number: self.number,
            at,
            length,
            bytes,
            beginning,
        }
    }
}

/// Collects a whole file, up to [`WHOLE_LIMIT`].
///
/// ```
/// use analects_formats::ReadOutput;
/// use analects_formats::convert::WholeFile;
///
/// let mut file = WholeFile::default();
/// file.feed(b"Hel");
/// file.feed(b"lo");
/// assert_eq!(file.finish(&mut ReadOutput::default()).unwrap(), b"Hello");
/// ```
#[derive(Debug, Default)]
pub struct WholeFile {
    bytes: Vec<u8>,
    /// Whether the file has exceeded the limit. Then `bytes` is empty.
    is_too_large: bool,
}

impl WholeFile {
    /// Takes more bytes. Drops everything once the file is too large.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.is_too_large |= self.bytes.len() + bytes.len() > WHOLE_LIMIT;
        if self.is_too_large {
            self.bytes = Vec::new();
        } else {
            self.bytes.extend_from_slice(bytes);
        }
    }

    /// Returns the file. If it is too large, adds a problem and returns `None`.
    pub fn finish(self, out: &mut ReadOutput) -> Option<Vec<u8>> {
        if self.is_too_large {
            let text = format!("this file has more than {WHOLE_LIMIT} bytes");
            let hint = "its format has to be read as a whole; cut it into several files";
            let problem = Problem::error("file-too-large", text);
            out.problems.push(problem.hint(hint));
            return None;
        }
        Some(self.bytes)
    }
}

/// Decodes a whole file into messages.
type ReadFile = fn(Vec<u8>, &ReadOptions, &mut ReadOutput);

/// A reader for formats that need the whole file at once.
pub(super) struct WholeFileReader {
    file: WholeFile,
    options: ReadOptions,
    read_file: ReadFile,
}

impl WholeFileReader {
    /// Creates a reader that passes the whole file to `read_file`.
    pub(super) fn boxed(options: &ReadOptions, read_file: ReadFile) -> Box<dyn FormatReader> {
        Box::new(WholeFileReader {
            file: WholeFile::default(),
            options: options.clone(),
            read_file,
        })
    }
}

impl FormatReader for WholeFileReader {
    fn feed(&mut self, bytes: &[u8], _: &mut ReadOutput) {
        self.file.feed(bytes);
    }

    fn finish(self: Box<Self>, out: &mut ReadOutput) {
        if let Some(bytes) = self.file.finish(out) {
            (self.read_file)(bytes, &self.options, out);
        }
    }
}
