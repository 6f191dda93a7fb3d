//! Bytes in, document out. Every byte string is a document, perhaps one with problems.

use analects_core::Span;
use memchr::memchr;

use super::attributes::{AttributeEnd, AttributeScanner, AttributeToken, decode_entities};
use super::line::{is_gap, is_separator, kramdown_line, tag_line, unescape};
use super::{ChatMdDocument, session};
use crate::msgfile::decode::{BOM, stored_body_with, trimmed};
use crate::msgfile::fence::Region;
use crate::msgfile::line::{is_blank, is_blank_line};
use crate::msgfile::scan::{line_text, lines};

/// Reads chat Markdown. Never fails: what cannot be read is text, or a problem.
#[doc(alias = "parseMarkdownToChatHistory")]
pub fn decode(source: impl Into<Vec<u8>>) -> ChatMdDocument {
    let source = source.into();
    let start = if source.starts_with(BOM) {
        BOM.len()
    } else {
        0
    };
    let frontmatter = frontmatter(&source, start);
    let front = frontmatter
        .map(|span| session::read(&source, span))
        .unwrap_or_default();
    let body = frontmatter.map_or(start, |span| span.end);
    let scan = scan(&source, body);
    let utf8 = simdutf8::basic::from_utf8(&source).is_ok();
    ChatMdDocument {
        source,
        frontmatter,
        front,
        body,
        scan,
        utf8,
    }
}

/// Whether some bytes are chat Markdown: they have its frontmatter, or an item.
pub fn is_chat_markdown(source: &[u8]) -> bool {
    let start = if source.starts_with(BOM) {
        BOM.len()
    } else {
        0
    };
    frontmatter(source, start).is_some() || !scan(source, start).items.is_empty()
}

/// The attributes of a line from `start` on, and what else stands there.
pub(super) fn tag_attributes(line: &[u8], start: usize) -> (Vec<(String, String)>, Vec<Span>) {
    read_attributes(line, start, AttributeEnd::Tag)
}

fn read_attributes(
    line: &[u8],
    start: usize,
    ending: AttributeEnd,
) -> (Vec<(String, String)>, Vec<Span>) {
    let text = |span: Span| String::from_utf8_lossy(span.of(line)).into_owned();
    let (mut read, mut junk) = (Vec::new(), Vec::new());
    for token in &mut AttributeScanner::new(line, start, ending) {
        match token {
            AttributeToken::Attribute { key, value, .. } => {
                read.push((text(key), decode_entities(&text(value)).into_owned()));
            }
            AttributeToken::Junk(span) => junk.push(span),
        }
    }
    (read, junk)
}

/// The `{: key="value" }` lines at the start of `rest`: where they end, and what they say.
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

/// The text below a tag: as `stored` says, else from the first to the last line that is not blank.
pub(super) fn body(source: &[u8], rest: Span, stored: Option<&str>) -> Span {
    let words = stored.map(without_apart).filter(|words| !words.is_empty());
    let exact = words.and_then(|words| stored_body_with(source, rest, &words, unescape));
    exact.unwrap_or_else(|| trimmed(source, rest))
}

/// Whether a text below a tag is as `stored` says.
pub(super) fn fits(source: &[u8], rest: Span, stored: &str) -> bool {
    let words = without_apart(stored);
    words.is_empty() || stored_body_with(source, rest, &words, unescape).is_some()
}

/// The words of `stored` that speak of the text.
fn without_apart(stored: &str) -> String {
    let words: Vec<&str> = stored.split(' ').filter(|word| *word != "apart").collect();
    words.join(" ")
}

/// Where an item's head is. The rest is worked out when somebody asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ItemSpans {
    /// The start of the separator's line.
    pub(super) start: usize,
    /// The tag's line, line end included.
    pub(super) tag: Span,
    /// The tag's name.
    pub(super) name: Span,
}

/// What a pass over a file found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ChatScan {
    pub(super) items: Vec<ItemSpans>,
    /// Code blocks that nothing closes: the line that opens one, and the end of the part of the file
    /// in which it could have been closed.
    pub(super) open_fences: Vec<Span>,
}

impl ChatScan {
    /// Whether a code block is still open at `offset`, which is the start of an item or the end of
    /// the file: something that is written there could close it.
    pub(super) fn has_open_fence_at(&self, offset: usize) -> bool {
        self.open_fences
            .iter()
            .any(|open| open.start < offset && offset <= open.end)
    }
}

/// Scans a file from `start` on.
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

/// A separator, until the next line or two say whether it starts an item.
#[derive(Debug, Clone, Copy)]
struct Separator {
    start: usize,
    /// Whether a `>` line came after it.
    gap: bool,
}

struct ChatScanner<'a> {
    source: &'a [u8],
    found: ChatScan,
    region: Region<ItemSpans>,
    waiting: Option<Separator>,
}

impl ChatScanner<'_> {
    /// Takes a line. Most lines of most files end at the first test.
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
        } else if let Some(tag) = tag_line(text) {
            let name = Span::new(span.start + tag.name.start, span.start + tag.name.end);
            let item = ItemSpans {
                start: separator.start,
                tag: span,
                name,
            };
            if tag.apart {
                self.end_region(item.start);
            }
            // Only a fence above could hide it.
            if self.region.is_empty() {
                self.found.items.push(item);
            } else {
                self.region.hideable(item);
            }
        }
    }

    /// Ends a part of the file that fences cannot reach beyond.
    fn end_region(&mut self, end: usize) {
        let items = &mut self.found.items;
        let unclosed = self.region.end(|item| items.push(item), |_, _| {});
        self.found
            .open_fences
            .extend(unclosed.map(|open| Span::new(open, end)));
    }
}

/// From a `---` line at `start` to the next one, if the first key is `chat`, unless an item or the
/// end comes first.
pub(super) fn frontmatter(source: &[u8], start: usize) -> Option<Span> {
    let mut rest = lines(source, start);
    rest.next().filter(|(_, line)| line_text(line) == b"---")?;
    let says_something = |text: &[u8]| !is_blank_line(text) && !text.starts_with(b"#");
    let mut is_first = true;
    let mut separated = false;
    for (at, line) in rest {
        let text = line_text(line);
        if text == b"---" {
            return (!is_first).then(|| Span::new(start, at + line.len()));
        }
        if is_first && says_something(text) {
            is_first = false;
            let after = text.strip_prefix(b"chat:")?;
            after
                .first()
                .is_none_or(|byte| is_blank(*byte))
                .then_some(())?;
        }
        if separated && tag_line(text).is_some() {
            return None;
        }
        separated = is_separator(text) || (separated && is_gap(text));
    }
    None
}
