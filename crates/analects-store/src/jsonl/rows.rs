//! Reading the lines of a file from either end. The memory is bounded by the size limit of a line; a longer line is
//! returned by its beginning only.

use std::io;

use super::LINE_LIMIT;
use crate::sessions::ChainRow;
use crate::vfs::VfsFile;

/// The number of bytes that are read at once: few enough for the processor's cache, and to reuse the same memory.
const CHUNK: usize = 1 << 16;

/// The length in bytes at which the buffer gets room for the longest line at once. Growing step by step would keep the
/// old and the new buffer in memory together; untouched room costs nothing.
const LONG: usize = 1 << 20;

/// The number of bytes that are returned of a line that is too long. The ids of a record are at its beginning.
const BEGINNING: usize = 1 << 14;

/// Reads lines forward from an offset.
pub(crate) struct Forward<'f> {
    file: &'f mut dyn VfsFile,
    /// The size limit of a line in bytes.
    limit: usize,
    buffer: Vec<u8>,
    /// The offset of the buffer in the file.
    start: u64,
    /// The offset of the next line in the buffer.
    at: usize,
    /// The number of bytes in the buffer.
    filled: usize,
    /// Whether the end of the file is in the buffer.
    is_end: bool,
    /// The beginning of the last line that was too long.
    beginning: Vec<u8>,
}

impl<'f> Forward<'f> {
    /// Starts at an offset, at which a line must begin. `limit` is the size limit of a line in bytes.
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

    /// Returns the next line; `None` at the end of the file.
    pub(crate) fn next(&mut self) -> io::Result<Option<ChainRow<'_>>> {
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

    /// Returns the line up to `end` in the buffer; `None` if it is empty.
    fn take(&mut self, end: usize) -> Option<ChainRow<'_>> {
        let from = std::mem::replace(&mut self.at, end);
        let line = &self.buffer[from..end];
        if line.is_empty() {
            return None;
        }
        Some(row(self.start + from as u64, line, self.limit))
    }

    /// Drops the lines before the current one from the buffer, and reads more. Returns the number of dropped bytes.
    fn fill(&mut self) -> io::Result<usize> {
        let dropped = self.at;
        self.make_room();
        let offset = self.start + self.filled as u64;
        let read = read_full(self.file, offset, &mut self.buffer[self.filled..])?;
        self.filled += read;
        self.is_end = self.filled < self.buffer.len();
        Ok(dropped)
    }

    /// Moves the current line to the front. The buffer grows for a line that fills half of it, up to a little more than
    /// the size limit.
    fn make_room(&mut self) {
        let line_length = self.filled - self.at;
        self.buffer.copy_within(self.at..self.filled, 0);
        if self.buffer.is_empty() || line_length > self.buffer.len() / 2 {
            let doubled = CHUNK.max(2 * self.buffer.len());
            grow(&mut self.buffer, doubled, self.limit);
        }
        self.start += self.at as u64;
        self.at = 0;
        self.filled = line_length;
    }

    /// Skips a line that is too long, and returns its beginning.
    fn skip_long(&mut self) -> io::Result<ChainRow<'_>> {
        let at = self.start + self.at as u64;
        let mut offset = self.start + self.filled as u64;
        let line = &self.buffer[self.at..self.filled];
        self.beginning = line[..line.len().min(BEGINNING)].to_vec();
        self.buffer = vec![0; CHUNK];
        loop {
            let read = read_full(self.file, offset, &mut self.buffer)?;
            let end = memchr::memchr(b'\n', &self.buffer[..read]);
            self.is_end = read < self.buffer.len();
            if end.is_some() || self.is_end {
                self.start = offset;
                self.filled = read;
                self.at = end.map_or(read, |end| end + 1);
                let next = offset + self.at as u64;
                return Ok(ChainRow {
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

/// Reads lines backward from the end.
pub(crate) struct Backward<'f> {
    file: &'f mut dyn VfsFile,
    /// The size limit of a line in bytes.
    limit: usize,
    buffer: Vec<u8>,
    /// The offset of the buffer in the file.
    start: u64,
    /// The end of the next line in the buffer.
    end: usize,
    /// The beginning of the last line that was too long.
    beginning: Vec<u8>,
}

impl<'f> Backward<'f> {
    /// Starts at the end of a file of this length. `limit` is the size limit of a line in bytes.
    pub(crate) fn new(file: &'f mut dyn VfsFile, length: u64, limit: usize) -> Backward<'f> {
        Backward {
            file,
            limit,
            buffer: Vec::new(),
            start: length,
            end: 0,
            beginning: Vec::new(),
        }
    }

    /// Returns the line before the last one; `None` at the beginning of the file.
    pub(crate) fn next(&mut self) -> io::Result<Option<ChainRow<'_>>> {
        // The last byte is the line's own line end.
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

    /// Returns the line from `from` in the buffer to its end; `None` if it is empty.
    fn take(&mut self, from: usize) -> Option<ChainRow<'_>> {
        let end = std::mem::replace(&mut self.end, from);
        let line = &self.buffer[from..end];
        if line.is_empty() {
            return None;
        }
        Some(row(self.start + from as u64, line, self.limit))
    }

    /// Drops the lines after the current one from the buffer, and reads what is before it. Returns the number of new
    /// bytes.
    fn fill(&mut self) -> io::Result<usize> {
        self.buffer.truncate(self.end);
        // Reading as much again as there is of the line avoids moving a long line many times. The sum stays close to the
        // size limit.
        let room = self.limit.saturating_add(CHUNK).saturating_sub(self.end);
        let wanted = CHUNK.max(self.end.min(room));
        let length = (wanted as u64).min(self.start) as usize;
        grow(&mut self.buffer, length + self.end, self.limit);
        self.buffer.copy_within(..self.end, length);
        let start = self.start - length as u64;
        read_exact(self.file, start, &mut self.buffer[..length])?;
        self.start = start;
        self.end += length;
        Ok(length)
    }

    /// Skips a line that is too long, and returns its beginning.
    fn skip_long(&mut self) -> io::Result<ChainRow<'_>> {
        let next = self.start + self.end as u64;
        self.buffer = Vec::new();
        let mut buffer = vec![0; CHUNK];
        loop {
            let length = (CHUNK as u64).min(self.start) as usize;
            let start = self.start - length as u64;
            read_exact(self.file, start, &mut buffer[..length])?;
            self.start = start;
            let line_end = memchr::memrchr(b'\n', &buffer[..length]);
            if line_end.is_some() || self.start == 0 {
                self.end = line_end.map_or(0, |at| at + 1);
                buffer.truncate(self.end);
                self.buffer = buffer;
                return self.read_beginning(next);
            }
        }
    }

    /// Reads the beginning of the long line that ends at `next` and begins at the end of the buffer.
    fn read_beginning(&mut self, next: u64) -> io::Result<ChainRow<'_>> {
        let at = self.start + self.end as u64;
        self.beginning = vec![0; BEGINNING];
        let read = read_full(self.file, at, &mut self.beginning)?;
        let length = usize::try_from(next - at).unwrap_or(read);
        self.beginning.truncate(read.min(length));
        Ok(ChainRow {
            at,
            next,
            bytes: None,
            beginning: &self.beginning,
        })
    }
}

/// Makes a buffer longer, up to a little more than the size limit of a line.
fn grow(buffer: &mut Vec<u8>, length: usize, limit: usize) {
    let longest = limit.saturating_add(CHUNK);
    if length > LONG && limit <= LINE_LIMIT {
        buffer.reserve_exact(longest.saturating_sub(buffer.len()));
    }
    buffer.resize(length.min(longest), 0);
}

/// Returns the row of a line at an offset.
fn row(at: u64, line: &[u8], limit: usize) -> ChainRow<'_> {
    let next = at + line.len() as u64;
    if line.len() > limit {
        return ChainRow {
            at,
            next,
            bytes: None,
            beginning: &line[..line.len().min(BEGINNING)],
        };
    }
    ChainRow {
        at,
        next,
        bytes: Some(line),
        beginning: line,
    }
}

/// Fills a buffer from an offset; an error if the file ends before.
fn read_exact(file: &mut dyn VfsFile, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
    let read = read_full(file, offset, buffer)?;
    if read < buffer.len() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(())
}

/// Reads until the buffer is full or the file ends. Returns the number of bytes.
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
