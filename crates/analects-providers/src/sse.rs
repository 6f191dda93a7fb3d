//! Server-sent events: bytes in, events out, by the rules of the WHATWG HTML standard. Not a
//! client: it neither connects again nor interprets what the events hold.

/// The size of the largest event, in bytes, unless [`Splitter::with_limit`] says otherwise.
pub const DEFAULT_LIMIT: usize = 64 * 1024 * 1024;

/// One event. Its type and its id are not kept: no provider says anything with them that the data
/// does not say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseEvent {
    /// Its data lines, joined by `\n`.
    pub data: String,
}

/// An event was larger than the limit; what follows up to its end is skipped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TooLong {
    /// The limit in bytes.
    pub limit: usize,
}

/// Splits a stream of bytes into events. It takes the bytes in pieces of any size and looks at each
/// of them once.
#[derive(Debug, Clone)]
pub struct Splitter {
    limit: usize,
    /// The line that has begun and not ended.
    line: Vec<u8>,
    /// Whether the last piece ended in a carriage return, whose line feed may still come.
    after_cr: bool,
    /// Whether a byte order mark may still come.
    at_start: bool,
    /// Whether the event is too long and its rest of no interest.
    skipping: bool,
    /// The data so far, every line with its `\n`.
    data: String,
}

impl Default for Splitter {
    fn default() -> Splitter {
        Splitter::with_limit(DEFAULT_LIMIT)
    }
}

impl Splitter {
    /// A splitter for events of at most `limit` bytes.
    pub fn with_limit(limit: usize) -> Splitter {
        Splitter {
            limit,
            line: Vec::new(),
            after_cr: false,
            at_start: true,
            skipping: false,
            data: String::new(),
        }
    }

    /// Takes the next bytes and gives the events that they complete.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Result<SseEvent, TooLong>> {
        let mut out = Vec::new();
        let mut rest = bytes;
        if !rest.is_empty() && std::mem::take(&mut self.after_cr) {
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(at) = memchr::memchr2(b'\n', b'\r', rest) {
            let (line, end) = rest.split_at(at);
            self.extend_line(line, &mut out);
            self.end_line(&mut out);
            self.after_cr = end == b"\r";
            rest = &end[if end.starts_with(b"\r\n") { 2 } else { 1 }..];
        }
        self.extend_line(rest, &mut out);
        out
    }

    /// Ends the stream. The standard drops an event without its blank line; here it is given, since
    /// some servers leave that line out. It may be cut off: the reader has to look at the data.
    pub fn finish(&mut self) -> Vec<Result<SseEvent, TooLong>> {
        let mut out = Vec::new();
        if !self.line.is_empty() {
            self.end_line(&mut out);
        }
        self.dispatch(&mut out);
        out
    }

    fn extend_line(&mut self, bytes: &[u8], out: &mut Vec<Result<SseEvent, TooLong>>) {
        if !self.skipping && self.data.len() + self.line.len() + bytes.len() > self.limit {
            out.push(Err(TooLong { limit: self.limit }));
            self.skipping = true;
            self.data = String::new();
            // One byte is enough to know later that the line is not blank.
            self.line = self.line.first().copied().into_iter().collect();
        }
        if !self.skipping {
            self.line.extend_from_slice(bytes);
        } else if self.line.is_empty() {
            self.line.extend(bytes.first());
        }
    }

    fn end_line(&mut self, out: &mut Vec<Result<SseEvent, TooLong>>) {
        let mut buffer = std::mem::take(&mut self.line);
        let mut line = buffer.as_slice();
        if std::mem::take(&mut self.at_start) {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        match (line.is_empty(), self.skipping) {
            (true, _) => self.dispatch(out),
            (false, false) => self.field(line),
            (false, true) => {}
        }
        // The buffer is used again for the next line.
        buffer.clear();
        self.line = buffer;
    }

    fn field(&mut self, line: &[u8]) {
        let colon = line.iter().position(|byte| *byte == b':');
        let (name, value) = match colon {
            Some(at) => (&line[..at], &line[at + 1..]),
            None => (line, &line[line.len()..]),
        };
        // `event`, `id`, `retry`, comments (no name) and unknown fields mean nothing here.
        if name == b"data" {
            let value = value.strip_prefix(b" ").unwrap_or(value);
            self.data.push_str(&String::from_utf8_lossy(value));
            self.data.push('\n');
        }
    }

    fn dispatch(&mut self, out: &mut Vec<Result<SseEvent, TooLong>>) {
        self.skipping = false;
        let mut data = std::mem::take(&mut self.data);
        if data.pop().is_some() {
            out.push(Ok(SseEvent { data }));
        }
    }
}

#[cfg(test)]
mod tests;
