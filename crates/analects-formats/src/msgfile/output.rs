//! What running code printed, as a cell holds it: a line each, behind the name of its stream.
//!
//! A line end belongs to its line, so `stdout> a` is `a` and a line end; what a stream printed last
//! without one is `stdout>\ a`. Output that is not UTF-8 is base64, a chunk a line.
//!
//! ```
//! use analects_formats::msgfile::output::{OutputChunk, decode, encode};
//!
//! let chunks = [OutputChunk::stdout("1\n2\n"), OutputChunk::stderr("careful\n"), OutputChunk::stdout("3")];
//! let encoded = encode(&chunks);
//! assert_eq!(encoded.text, "stdout> 1\nstdout> 2\nstderr> careful\nstdout>\\ 3");
//! assert_eq!(decode(&encoded.text, encoded.base64).0, chunks);
//! ```

use super::base64;

/// Where a program printed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

impl Stream {
    /// The name before `>` in a line of this stream.
    fn name(self) -> &'static str {
        match self {
            Stream::Stdout => "stdout",
            Stream::Stderr => "stderr",
        }
    }
}

/// What came from one stream before the other one had its say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputChunk {
    /// Where it was printed to.
    pub stream: Stream,
    /// What was printed, line ends included.
    pub bytes: Vec<u8>,
}

impl OutputChunk {
    /// A chunk of standard output.
    pub fn stdout(bytes: impl Into<Vec<u8>>) -> OutputChunk {
        OutputChunk {
            stream: Stream::Stdout,
            bytes: bytes.into(),
        }
    }

    /// A chunk of standard error.
    pub fn stderr(bytes: impl Into<Vec<u8>>) -> OutputChunk {
        OutputChunk {
            stream: Stream::Stderr,
            bytes: bytes.into(),
        }
    }
}

/// Pieces as the content of a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Encoded {
    /// The lines, without a line end after the last.
    pub text: String,
    /// Whether the lines are base64, so that the cell needs `encoding="base64"`.
    pub base64: bool,
}

/// Joins neighbours of the same stream and drops empty chunks; how a stream was cut means nothing.
pub fn merge(chunks: &[OutputChunk]) -> Vec<OutputChunk> {
    let mut merged = Vec::new();
    for chunk in chunks {
        add(&mut merged, chunk.stream, &chunk.bytes);
    }
    merged
}

/// Writes chunks as lines. Reading them back gives the [`merge`]d chunks.
pub fn encode(chunks: &[OutputChunk]) -> Encoded {
    let chunks = merge(chunks);
    // The cell has one encoding for all of its lines, so one chunk that is not text decides.
    let texts: Result<Vec<(Stream, &str)>, _> = chunks
        .iter()
        .map(|chunk| std::str::from_utf8(&chunk.bytes).map(|text| (chunk.stream, text)))
        .collect();
    match texts {
        Ok(texts) => {
            let lines = texts.iter().flat_map(|(stream, text)| {
                text.split_inclusive('\n')
                    .map(|line| match line.strip_suffix('\n') {
                        Some(line) => format!("{}> {line}", stream.name()),
                        None => format!("{}>\\ {line}", stream.name()),
                    })
            });
            Encoded {
                text: join(lines),
                base64: false,
            }
        }
        Err(_) => {
            let line = |chunk: &OutputChunk| {
                format!(
                    "{}> {}",
                    chunk.stream.name(),
                    base64::encode_line(&chunk.bytes)
                )
            };
            Encoded {
                text: join(chunks.iter().map(line)),
                base64: true,
            }
        }
    }
}

/// Reads lines as chunks. Also gives the numbers, from 1, of the lines that are not what [`encode`]
/// writes: one without the name of a stream counts as a line of standard output, one that is not
/// base64 as the text that it is, so that nothing is lost.
pub fn decode(text: &str, base64: bool) -> (Vec<OutputChunk>, Vec<usize>) {
    let mut chunks = Vec::new();
    let mut odd = Vec::new();
    for (line, number) in text.split_terminator('\n').zip(1..) {
        let Some((stream, rest, ended)) = prefixed(line) else {
            odd.push(number);
            add_line(&mut chunks, Stream::Stdout, line, true);
            continue;
        };
        if !base64 {
            add_line(&mut chunks, stream, rest, ended);
        } else if let Some(bytes) = base64::decode(rest) {
            add(&mut chunks, stream, &bytes);
        } else {
            odd.push(number);
            add_line(&mut chunks, stream, rest, ended);
        }
    }
    (chunks, odd)
}

/// A line's stream, its text, and whether a line end belongs to it. An editor may have taken off
/// the blank that ends the prefix of an empty line.
fn prefixed(line: &str) -> Option<(Stream, &str, bool)> {
    let (stream, rest) = [Stream::Stdout, Stream::Stderr]
        .into_iter()
        .find_map(|stream| Some((stream, line.strip_prefix(stream.name())?.strip_prefix('>')?)))?;
    let (rest, ended) = match rest.strip_prefix('\\') {
        Some(rest) => (rest, false),
        None => (rest, true),
    };
    if rest.is_empty() {
        return Some((stream, rest, ended));
    }
    rest.strip_prefix(' ').map(|rest| (stream, rest, ended))
}

/// Adds a line, with its line end if it has one.
fn add_line(chunks: &mut Vec<OutputChunk>, stream: Stream, line: &str, ended: bool) {
    add(chunks, stream, line.as_bytes());
    if ended {
        add(chunks, stream, b"\n");
    }
}

/// Adds bytes to the last chunk if that is of the same stream, else as a new chunk.
fn add(chunks: &mut Vec<OutputChunk>, stream: Stream, bytes: &[u8]) {
    match chunks.last_mut() {
        _ if bytes.is_empty() => {}
        Some(last) if last.stream == stream => last.bytes.extend_from_slice(bytes),
        _ => chunks.push(OutputChunk {
            stream,
            bytes: bytes.to_vec(),
        }),
    }
}

/// Joins lines with `\n`.
fn join(lines: impl Iterator<Item = String>) -> String {
    let mut text = String::new();
    for line in lines {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&line);
    }
    text
}

#[cfg(test)]
mod tests;
