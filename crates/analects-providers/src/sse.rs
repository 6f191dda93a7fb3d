//! Server-sent events: bytes in, events out, by the rules of the WHATWG HTML standard. This is not
//! a client: it neither reconnects nor interprets the data of events.

/// The default size limit of an event, in bytes. [`SseSplitter::with_limit`] sets another.
pub const DEFAULT_LIMIT: usize = 64 * 1024 * 1024;

/// The UTF-8 byte order mark, which may stand at the start of a stream.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// One event. Its type and its id are not kept, because the data of every provider's events repeats
/// them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseEvent {
    /// The data lines of the event, joined by `\n`.
    pub data: String,
}

/// An event was larger than the limit. The rest of it is skipped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TooLong {
    /// The limit in bytes.
    pub limit: usize,
}

/// Splits a stream of bytes into events. Accepts the bytes in pieces of any size and looks at each
/// byte once.
///
/// ```
/// use analects_providers::sse::{SseEvent, SseSplitter};
///
/// let mut splitter = SseSplitter::default();
/// assert_eq!(splitter.push(b"event: x\ndata: Hel"), []);
/// let event = SseEvent { data: "Hello".to_string() };
/// assert_eq!(splitter.push(b"lo\n\n"), [Ok(event)]);
/// ```
#[derive(Debug, Clone)]
pub struct SseSplitter {
    limit: usize,
    /// The start of a line whose end has not come yet.
    line: Vec<u8>,
    /// Whether the last piece ended in a carriage return, whose line feed may still come.
    after_cr: bool,
    /// Whether a byte order mark may still come.
    at_start: bool,
    /// Whether the current event is too long, so that its rest is ignored.
    skipping: bool,
    /// The data of the current event so far, with `\n` behind every line.
    data: String,
}

/// Complete events, and events that were too long.
type SseEvents = Vec<Result<SseEvent, TooLong>>;

impl Default for SseSplitter {
    fn default() -> SseSplitter {
        SseSplitter::with_limit(DEFAULT_LIMIT)
    }
}

impl SseSplitter {
    /// Makes a splitter for events of up to `limit` bytes.
    pub fn with_limit(limit: usize) -> SseSplitter {
        SseSplitter {
            limit,
            line: Vec::new(),
            after_cr: false,
            at_start: true,
            skipping: false,
            data: String::new(),
        }
    }

    /// Takes the next bytes and returns the events that they complete.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Result<SseEvent, TooLong>> {
        let mut out = Vec::new();
        let mut rest = self.skip_line_feed(bytes);
        while let Some(at) = memchr::memchr2(b'\n', b'\r', rest) {
            self.extend_line(&rest[..at], &mut out);
            self.end_line(&mut out);
            let line_end = &rest[at..];
            self.after_cr = line_end == b"\r";
            rest = &line_end[line_end_len(line_end)..];
        }
        self.extend_line(rest, &mut out);
        out
    }

    /// Ends the stream. An event without its blank line is returned as well, because some servers
    /// omit that line; the standard drops it. Its data may be cut off, and the caller has to check
    /// it.
    pub fn finish(&mut self) -> Vec<Result<SseEvent, TooLong>> {
        let mut out = Vec::new();
        if !self.line.is_empty() {
            self.end_line(&mut out);
        }
        self.end_event(&mut out);
        out
    }

    /// Skips the line feed that belongs to a carriage return at the end of the piece before.
    fn skip_line_feed<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        if bytes.is_empty() || !std::mem::take(&mut self.after_cr) {
            return bytes;
        }
        bytes.strip_prefix(b"\n").unwrap_or(bytes)
    }

    /// Appends bytes to the current line, unless its event becomes too long.
    fn extend_line(&mut self, bytes: &[u8], out: &mut SseEvents) {
        let len = self.data.len() + self.line.len() + bytes.len();
        if !self.skipping && len > self.limit {
            out.push(Err(TooLong { limit: self.limit }));
            self.skipping = true;
            self.data = String::new();
            self.line.truncate(1);
            self.line.shrink_to_fit();
        }
        if !self.skipping {
            self.line.extend_from_slice(bytes);
        } else if self.line.is_empty() {
            // One byte is enough to see later that the line is not blank.
            self.line.extend(bytes.first());
        }
    }

    /// Ends the current line: a blank one ends the event, any other is a field of it.
    fn end_line(&mut self, out: &mut SseEvents) {
        let mut buffer = std::mem::take(&mut self.line);
        let mut line = buffer.as_slice();
        if std::mem::take(&mut self.at_start) {
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        if line.is_empty() {
            self.end_event(out);
        } else if !self.skipping {
            self.read_field(line);
        }
        // The next line reuses the memory.
        buffer.clear();
        self.line = buffer;
    }

    /// Adds a data line to the event. Comments and the fields `event`, `id` and `retry` are
    /// ignored.
    fn read_field(&mut self, line: &[u8]) {
        let Some(value) = data_value(line) else {
            return;
        };
        self.data.push_str(&String::from_utf8_lossy(value));
        self.data.push('\n');
    }

    /// Ends the event and appends it to `out`, if it has data.
    fn end_event(&mut self, out: &mut SseEvents) {
        self.skipping = false;
        let mut data = std::mem::take(&mut self.data);
        if data.pop().is_some() {
            out.push(Ok(SseEvent { data }));
        }
    }
}

/// The length of the line end at the start of these bytes: `\n`, `\r` or `\r\n`.
fn line_end_len(bytes: &[u8]) -> usize {
    if bytes.starts_with(b"\r\n") { 2 } else { 1 }
}

/// The value of a `data` field, without the blank behind its colon; `None` for any other line.
fn data_value(line: &[u8]) -> Option<&[u8]> {
    let rest = line.strip_prefix(b"data")?;
    if rest.is_empty() {
        return Some(rest);
    }
    let value = rest.strip_prefix(b":")?;
    Some(value.strip_prefix(b" ").unwrap_or(value))
}

#[cfg(test)]
mod tests;
