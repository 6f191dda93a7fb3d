//! The lines of a file, from either end, with memory for no more than the longest line that is allowed. Of a
//! longer one, its beginning is given.

use std::io;

use super::LINE_LIMIT;
use crate::sessions::Row;
use crate::vfs::VfsFile;

/// How much is read at once: little enough for the cache, and to need no new pages of memory each time.
const CHUNK: usize = 1 << 16;

/// How long a line is when the buffer gets room for the longest one at once. Growing step by step would keep
/// the old and the new buffer in memory together; room that is never written to costs nothing.
const LONG: usize = 1 << 20;

/// How much is given of a line that is too long: the names of a record stand at its beginning.
const BEGINNING: usize = 1 << 14;

/// Reads lines from the front.
pub(crate) struct Forward<'f> {
    file: &'f mut dyn VfsFile,
    limit: usize,
    buffer: Vec<u8>,
    /// Where in the file the buffer begins.
    start: u64,
    /// Where in the buffer the next line begins, and where what was read ends.
    at: usize,
    filled: usize,
    is_end: bool,
    /// How the last line began that was too long.
    beginning: Vec<u8>,
}

impl<'f> Forward<'f> {
    pub(crate) fn new(file: &'f mut dyn VfsFile, from: u64, limit: usize) -> Forward<'f> {
        Forward {
            file,
            limit,
            buffer: Vec::new(),
            start: from,
            at: 0,
            filled: 0,
            is_end: false,
            beginning: Vec::new(),
        }
    }

    /// The next line.
    pub(crate) fn next(&mut self) -> io::Result<Option<Row<'_>>> {
        let mut searched = self.at;
        loop {
            if let Some(end) = memchr::memchr(b'\n', &self.buffer[searched..self.filled]) {
                return Ok(self.take(searched + end + 1));
            }
            searched = self.filled;
            if self.is_end {
                return Ok(self.take(searched));
            }
            if searched - self.at > self.limit {
                return self.skip_long().map(Some);
            }
            searched -= self.fill()?;
        }
    }

    /// The line up to `end` in the buffer.
    fn take(&mut self, end: usize) -> Option<Row<'_>> {
        let from = std::mem::replace(&mut self.at, end);
        let (at, next) = (self.start + from as u64, self.start + end as u64);
        let line = &self.buffer[from..end];
        (from < end).then_some(row(at, next, line, self.limit))
    }

    /// Reads on behind what is in the buffer, from which the lines before are dropped; says how much.
    fn fill(&mut self) -> io::Result<usize> {
        let dropped = self.at;
        self.make_room();
        let offset = self.start + self.filled as u64;
        let read = read_full(self.file, offset, &mut self.buffer[self.filled..])?;
        self.filled += read;
        self.is_end = self.filled < self.buffer.len();
        Ok(dropped)
    }

    /// Moves the line that is begun to the front. The buffer grows for a line that fills half of it, and never
    /// to much more than the longest line.
    fn make_room(&mut self) {
        let begun = self.filled - self.at;
        self.buffer.copy_within(self.at..self.filled, 0);
        if self.buffer.is_empty() || begun > self.buffer.len() / 2 {
            let doubled = CHUNK.max(2 * self.buffer.len());
            grow(&mut self.buffer, doubled, self.limit);
        }
        self.start += self.at as u64;
        (self.at, self.filled) = (0, begun);
    }

    /// Goes over a line that is too long, and keeps its beginning.
    fn skip_long(&mut self) -> io::Result<Row<'_>> {
        let at = self.start + self.at as u64;
        let mut offset = self.start + self.filled as u64;
        let begun = &self.buffer[self.at..self.filled];
        self.beginning = begun[..begun.len().min(BEGINNING)].to_vec();
        self.buffer = vec![0; CHUNK];
        loop {
            let read = read_full(self.file, offset, &mut self.buffer)?;
            let end = memchr::memchr(b'\n', &self.buffer[..read]);
            self.is_end = read < self.buffer.len();
            if end.is_some() || self.is_end {
                (self.start, self.filled) = (offset, read);
                self.at = end.map_or(read, |end| end + 1);
                let next = offset + self.at as u64;
                return Ok(Row {
                    at,
                    next,
                    bytes: None,
                    beginning: &self.beginning,
                });
            }
            offset += read as u64;
        }
    }
}

/// Reads lines from the back.
pub(crate) struct Backward<'f> {
    file: &'f mut dyn VfsFile,
    limit: usize,
    buffer: Vec<u8>,
    /// Where in the file the buffer begins, and where in the buffer the line ends that comes next.
    start: u64,
    end: usize,
    /// How the last line began that was too long.
    beginning: Vec<u8>,
}

impl<'f> Backward<'f> {
    pub(crate) fn new(file: &'f mut dyn VfsFile, length: u64, limit: usize) -> Backward<'f> {
        let (buffer, beginning) = (Vec::new(), Vec::new());
        Backward {
            file,
            limit,
            buffer,
            start: length,
            end: 0,
            beginning,
        }
    }

    /// The line before.
    pub(crate) fn next(&mut self) -> io::Result<Option<Row<'_>>> {
        // The line's own end is not that of the line before.
        let mut unsearched = self.end.saturating_sub(1);
        loop {
            if let Some(before) = memchr::memrchr(b'\n', &self.buffer[..unsearched]) {
                return Ok(self.take(before + 1));
            }
            if self.start == 0 {
                return Ok(self.take(0));
            }
            if self.end > self.limit {
                return self.skip_long().map(Some);
            }
            let before = self.end;
            unsearched = self.fill()?;
            if before == 0 {
                unsearched = self.end.saturating_sub(1);
            }
        }
    }

    /// The line from `from` in the buffer to its end.
    fn take(&mut self, from: usize) -> Option<Row<'_>> {
        let end = std::mem::replace(&mut self.end, from);
        let (at, next) = (self.start + from as u64, self.start + end as u64);
        let line = &self.buffer[from..end];
        (from < end).then_some(row(at, next, line, self.limit))
    }

    /// Reads what is before the buffer, from which the lines behind are dropped; says how much.
    fn fill(&mut self) -> io::Result<usize> {
        self.buffer.truncate(self.end);
        // As much again as is there of the line, so that a long one is not moved again and again, and not much
        // more than the longest line has.
        let room = self.limit.saturating_add(CHUNK).saturating_sub(self.end);
        let wanted = CHUNK.max(self.end.min(room));
        let length = (wanted as u64).min(self.start) as usize;
        grow(&mut self.buffer, length + self.end, self.limit);
        self.buffer.copy_within(..self.end, length);
        let read = read_full(
            self.file,
            self.start - length as u64,
            &mut self.buffer[..length],
        )?;
        if read < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.start -= length as u64;
        self.end += length;
        Ok(length)
    }

    /// Goes over a line that is too long, and keeps its beginning.
    fn skip_long(&mut self) -> io::Result<Row<'_>> {
        let next = self.start + self.end as u64;
        self.buffer = Vec::new();
        let mut buffer = vec![0; CHUNK];
        loop {
            let length = (CHUNK as u64).min(self.start) as usize;
            let read = read_full(self.file, self.start - length as u64, &mut buffer[..length])?;
            if read < length {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.start -= length as u64;
            let before = memchr::memrchr(b'\n', &buffer[..length]);
            if before.is_some() || self.start == 0 {
                self.end = before.map_or(0, |before| before + 1);
                buffer.truncate(self.end);
                self.buffer = buffer;
                let at = self.start + self.end as u64;
                self.beginning = vec![0; BEGINNING];
                let read = read_full(self.file, at, &mut self.beginning)?;
                self.beginning
                    .truncate(read.min(usize::try_from(next - at).unwrap_or(read)));
                return Ok(Row {
                    at,
                    next,
                    bytes: None,
                    beginning: &self.beginning,
                });
            }
        }
    }
}

/// Makes a buffer longer, up to little more than the longest line.
fn grow(buffer: &mut Vec<u8>, length: usize, limit: usize) {
    let longest = limit.saturating_add(CHUNK);
    if length > LONG && limit <= LINE_LIMIT {
        buffer.reserve_exact(longest.saturating_sub(buffer.len()));
    }
    buffer.resize(length.min(longest), 0);
}

/// A line as a row.
fn row(at: u64, next: u64, line: &[u8], limit: usize) -> Row<'_> {
    if line.len() <= limit {
        return Row {
            at,
            next,
            bytes: Some(line),
            beginning: line,
        };
    }
    Row {
        at,
        next,
        bytes: None,
        beginning: &line[..line.len().min(BEGINNING)],
    }
}

/// Reads until the buffer is full or the file ends; says how much.
fn read_full(file: &mut dyn VfsFile, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read_at(offset + filled as u64, &mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
