//! Bytes in, document out. Every byte string is a document, perhaps one with problems.

use analects_core::Span;

use super::Document;
use super::attributes::{Attributes, Ending, Token, decode_entities};
use super::escape::unescape;
use super::line::kramdown_line;
use super::{scan, session};
use crate::msgfile::decode::{BOM, stored_body_with, trimmed};
use crate::msgfile::scan::{line_text, lines};

/// Reads chat Markdown. Never fails: what cannot be read is text, or a problem.
#[doc(alias = "parseMarkdownToChatHistory")]
pub fn decode(source: impl Into<Vec<u8>>) -> Document {
    let source = source.into();
    let start = if source.starts_with(BOM) { BOM.len() } else { 0 };
    let frontmatter = scan::frontmatter(&source, start);
    let front = frontmatter.map(|span| session::read(&source, span)).unwrap_or_default();
    let body = frontmatter.map_or(start, |span| span.end);
    let scan = scan::scan(&source, body);
    let utf8 = simdutf8::basic::from_utf8(&source).is_ok();
    Document { source, frontmatter, front, body, scan, utf8 }
}

/// Whether some bytes are chat Markdown: they have its frontmatter, or an item.
pub fn is_chat_markdown(source: &[u8]) -> bool {
    let start = if source.starts_with(BOM) { BOM.len() } else { 0 };
    scan::frontmatter(source, start).is_some() || !scan::scan(source, start).items.is_empty()
}

/// The attributes of a line from `start` on, and what else stands there.
pub(super) fn tag_attributes(line: &[u8], start: usize) -> (Vec<(String, String)>, Vec<Span>) {
    read_attributes(line, start, Ending::Tag)
}

fn read_attributes(
    line: &[u8],
    start: usize,
    ending: Ending,
) -> (Vec<(String, String)>, Vec<Span>) {
    let text = |span: Span| String::from_utf8_lossy(span.of(line)).into_owned();
    let (mut read, mut junk) = (Vec::new(), Vec::new());
    for token in &mut Attributes::new(line, start, ending) {
        match token {
            Token::Attribute { key, value, .. } => {
                read.push((text(key), decode_entities(&text(value)).into_owned()));
            }
            Token::Junk(span) => junk.push(span),
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
        let Some(start) = kramdown_line(text) else { break };
        attributes.extend(read_attributes(text, start, Ending::Brace).0);
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
