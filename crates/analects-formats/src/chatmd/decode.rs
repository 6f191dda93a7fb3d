//! Decodes bytes into a document. Every byte string is a document, perhaps one with problems.

use analects_core::Span;
use memchr::memchr;

use super::attributes::{AttributeEnd, AttributeScanner, AttributeToken, decode_entities};
use super::line::{TagLine, is_gap, is_separator, kramdown_line, tag_line, unescape};
use super::{ChatMdDocument, session};
use crate::msgfile::decode::{BOM, stored_body_with, trimmed};
use crate::msgfile::fence::Region;
use crate::msgfile::line::{is_blank, is_blank_line};
use crate::msgfile::scan::{line_text, lines};

/// Reads chat Markdown. Never fails: what cannot be read is text or a problem.
#[doc(alias = "parseMarkdownToChatHistory")]
pub fn decode(source: impl Into<Vec<u8>>) -> ChatMdDocument {
    let source = source.into();
    let start = mark_length(&source);
    let frontmatter = frontmatter(&source, start);
    let front = frontmatter.map(|span| session::read(&source, span));
    let body = frontmatter.map_or(start, |span| span.end);
    ChatMdDocument {
        front: front.unwrap_or_default(),
        scan: scan(&source, body),
        utf8: simdutf8::basic::from_utf8(&source).is_ok(),
        source,
        frontmatter,
        body,
    }
}

/// Returns whether a file is chat Markdown: it has the frontmatter of a chat, or an item.
pub fn is_chat_markdown(source: &[u8]) -> bool {
    let start = mark_length(source);
    frontmatter(source, start).is_some() || !scan(source, start).items.is_empty()
}

/// Returns the length of the byte-order mark.
fn mark_length(source: &[u8]) -> usize {
    if source.starts_with(BOM) {
        BOM.len()
    } else {
        0
    }
}

/// Reads the attributes of a tag from offset `start` on, and the spans of anything else.
pub(super) fn tag_attributes(line: &[u8], start: usize) -> (Vec<(String, String)>, Vec<Span>) {
    read_attributes(line, start, AttributeEnd::Tag)
}

/// Reads attributes up to an ending. The junk spans are relative to the line.
fn read_attributes(
    line: &[u8],
    start: usize,
    ending: AttributeEnd,
) -> (Vec<(String, String)>, Vec<Span>) {
    let mut attributes = Vec::new();
    let mut junk = Vec::new();
    for token in &mut AttributeScanner::new(line, start, ending) {
        match token {
            AttributeToken::Attribute { key, value, .. } => {
                let key = String::from_utf8_lossy(key.of(line));
                let value = String::from_utf8_lossy(value.of(line));
                attributes.push((key.into_owned(), decode_entities(&value).into_owned()));
            }
            AttributeToken::Junk(span) => junk.push(span),
        }
    }
    (attributes, junk)
}

/// Reads the lines `{: key="value" }` at the start of `rest`. Returns the offset behind them, and their attributes.
pub(super) fn note_lines(source: &[u8], rest: Span) -> (usize, Vec<(String, String)>) {
    let mut end = rest.start;
    let mut attributes = Vec::new();
    for (at, line) in lines(&source[..rest.end], rest.start) {
        let text = line_text(line);
        let Some(start) = kramdown_line(text) else {
            break;
        };
        attributes.extend(read_attributes(text, start, AttributeEnd::Brace).0);
        end = at + line.len();
    }
    (end, attributes)
}

/// Returns the span of the text below a tag: as `stored` says, or else without blank lines around it.
pub(super) fn body(source: &[u8], rest: Span, stored: Option<&str>) -> Span {
    let words = stored.map(without_apart).filter(|words| !words.is_empty());
    let exact = words.and_then(|words| stored_body_with(source, rest, &words, unescape));
    exact.unwrap_or_else(|| trimmed(source, rest))
}

/// Returns whether the text below a tag fits the value of `stored`.
pub(super) fn fits(source: &[u8], rest: Span, stored: &str) -> bool {
    let words = without_apart(stored);
    words.is_empty() || stored_body_with(source, rest, &words, unescape).is_some()
}

/// Returns the words of `stored` that are about the text.
fn without_apart(stored: &str) -> String {
    let words: Vec<&str> = stored.split(' ').filter(|word| *word != "apart").collect();
    words.join(" ")
}

/// The positions of an item's separator and tag. Everything else is found on demand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ItemSpans {
    /// The offset of the separator's line.
    pub(super) start: usize,
    /// The line of the tag, line end included.
    pub(super) tag: Span,
    /// The name in the tag.
    pub(super) name: Span,
}

/// The result of a scan.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ChatScan {
    /// The items, in order.
    pub(super) items: Vec<ItemSpans>,
    /// Code blocks without an end: from the line that opens one to the end of the part of the file where it could have
    /// ended.
    pub(super) open_fences: Vec<Span>,
}

impl ChatScan {
    /// Returns whether a code block is open at `offset`, the start of an item or the end of the file. Text that is written
    /// there could close it.
    pub(super) fn has_open_fence_at(&self, offset: usize) -> bool {
        self.open_fences
            .iter()
            .any(|open| open.start < offset && offset <= open.end)
    }
}

/// Finds the items of a file from offset `start` on.
pub(super) fn scan(source: &[u8], start: usize) -> ChatScan {
    let mut scanner = ChatScanner {
        source,
        found: ChatScan::default(),
        region: Region::with_cuts(),
        waiting: None,
    };
    let mut at = start;
    while at < source.len() {
        let end = memchr(b'\n', &source[at..]).map_or(source.len(), |offset| at + offset + 1);
        scanner.line(at, end);
        at = end;
    }
    scanner.end_region(source.len());
    scanner.found
}

/// A separator that may start an item, which the next line or two decide.
#[derive(Debug, Clone, Copy)]
struct Separator {
    /// Where its line starts.
    start: usize,
    /// Whether a `>` line follows it.
    gap: bool,
}

/// Finds the items of a file in one pass over its lines.
struct ChatScanner<'a> {
    source: &'a [u8],
    /// What was found so far.
    found: ChatScan,
    /// The part of the file whose open code blocks could still hide items.
    region: Region<ItemSpans>,
    /// A separator whose tag may come on the next line.
    waiting: Option<Separator>,
}

impl ChatScanner<'_> {
    /// Takes a line. Nearly all lines end at the first test.
    fn line(&mut self, start: usize, end: usize) {
        let first = self.source[start];
        let special = matches!(
            first,
            b'>' | b'`' | b'~' | b' ' | b'-' | b'*' | b'+' | b'0'..=b'9'
        );
        if !special && !self.region.is_in_item() {
            self.waiting = None;
            return;
        }
        let text = line_text(&self.source[start..end]);
        let waiting = self.waiting.take();
        if is_blank_line(text) {
            return;
        }
        self.region.line(text, start);
        if first == b'>' {
            self.quoted(waiting, text, Span::new(start, end));
        }
    }

    /// Takes a line that starts with `>`.
    fn quoted(&mut self, waiting: Option<Separator>, text: &[u8], span: Span) {
        if is_separator(text) {
            self.waiting = Some(Separator {
                start: span.start,
                gap: false,
            });
            return;
        }
        let Some(separator) = waiting else { return };
        if !separator.gap && is_gap(text) {
            self.waiting = Some(Separator {
                gap: true,
                ..separator
            });
            return;
        }
        if let Some(tag) = tag_line(text) {
            self.add_item(separator, tag, span);
        }
    }

    /// Adds the item of a separator and the tag after it, unless a code block above may hide it.
    fn add_item(&mut self, separator: Separator, tag: TagLine, span: Span) {
        let name = Span::new(span.start + tag.name.start, span.start + tag.name.end);
        let item = ItemSpans {
            start: separator.start,
            tag: span,
            name,
        };
        if tag.apart {
            self.end_region(item.start);
        }
        // Only a fence above can hide it.
        if self.region.is_empty() {
            self.found.items.push(item);
        } else {
            self.region.hideable(item);
        }
    }

    /// Ends a part of the file that code blocks cannot reach beyond.
    fn end_region(&mut self, end: usize) {
        let items = &mut self.found.items;
        let unclosed = self.region.end(|item| items.push(item), |_, _| {});
        let unclosed = unclosed.map(|open| Span::new(open, end));
        self.found.open_fences.extend(unclosed);
    }
}

/// Returns the span from a `---` line at `start` to the next one. `None` unless the first key is `chat`, and if an item or
/// the end comes first.
pub(super) fn frontmatter(source: &[u8], start: usize) -> Option<Span> {
    let mut rest = lines(source, start);
    rest.next().filter(|(_, line)| line_text(line) == b"---")?;
    let mut has_key = false;
    let mut is_separated = false;
    for (at, line) in rest {
        let text = line_text(line);
        if text == b"---" {
            return has_key.then(|| Span::new(start, at + line.len()));
        }
        if !has_key && !is_blank_line(text) && !text.starts_with(b"#") {
            if !is_chat_key(text) {
                return None;
            }
            has_key = true;
        }
        if is_separated && tag_line(text).is_some() {
            return None;
        }
        is_separated = is_separator(text) || (is_separated && is_gap(text));
    }
    None
}

/// Returns whether a line of YAML has the key `chat`.
fn is_chat_key(line: &[u8]) -> bool {
    let Some(after) = line.strip_prefix(b"chat:") else {
        return false;
    };
    after.first().is_none_or(|byte| is_blank(*byte))
}
