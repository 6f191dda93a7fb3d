//! The metadata of all cells of a file, read once, during the scan: a list of small entries that point into the source.
//! A value is copied only if it has escapes or is not UTF-8.

use std::borrow::Cow;

use analects_core::Span;
use memchr::memchr;

use super::MetaKey;
use super::line::{is_blank, is_blank_line};
use super::meta::{AttributeSpans, MetaToken, tokens};
use super::scan::{line_text, lines};

/// The attributes of all cells, in the order of the file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Metadata {
    entries: Vec<MetaEntry>,
    /// The values that differ from the source, by the index of their entry, in order.
    texts: Vec<(usize, Box<str>)>,
}

/// An attribute, or junk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct MetaEntry {
    /// Its offset, including the bracket.
    start: usize,
    /// The length of the value in the source; for junk, the whole length.
    length: usize,
    key_length: u16,
    /// The key, if it is a known one.
    key: Option<MetaKey>,
    form: AttributeForm,
}

/// How an attribute is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AttributeForm {
    /// `key=value`
    Bare,
    /// `key="value"`
    Quoted,
    /// `[key=value]`
    Bracketed,
    /// `[key="value"]`
    BracketedQuoted,
    /// Not an attribute.
    Junk,
}

impl AttributeForm {
    /// The number of bytes of its opening bracket.
    fn bracket(self) -> usize {
        usize::from(matches!(
            self,
            AttributeForm::Bracketed | AttributeForm::BracketedQuoted
        ))
    }

    /// The number of bytes of its opening quote.
    fn quote(self) -> usize {
        usize::from(matches!(
            self,
            AttributeForm::Quoted | AttributeForm::BracketedQuoted
        ))
    }
}

impl MetaEntry {
    fn of(spans: AttributeSpans, source: &[u8]) -> MetaEntry {
        let is_bracketed = spans.key.start > spans.token.start;
        let is_quoted = spans.value.start > spans.key.end + 1;
        let form = match (is_bracketed, is_quoted) {
            (false, false) => AttributeForm::Bare,
            (false, true) => AttributeForm::Quoted,
            (true, false) => AttributeForm::Bracketed,
            (true, true) => AttributeForm::BracketedQuoted,
        };
        MetaEntry {
            start: spans.token.start,
            length: spans.value.len(),
            key_length: spans.key.len() as u16,
            key: MetaKey::of(text_of(source, spans.key)),
            form,
        }
    }

    fn is_attribute(&self) -> bool {
        self.form != AttributeForm::Junk
    }

    /// The span of the key.
    fn name(&self) -> Span {
        let start = self.start + self.form.bracket();
        Span::new(start, start + usize::from(self.key_length))
    }

    /// The span of the value, without quotes.
    fn value(&self) -> Span {
        let start = self.name().end + 1 + self.form.quote();
        Span::new(start, start + self.length)
    }

    /// The span of the whole attribute, or of the junk.
    fn token(&self) -> Span {
        let end = match self.form {
            AttributeForm::Junk => self.start + self.length,
            AttributeForm::Bare
            | AttributeForm::Quoted
            | AttributeForm::Bracketed
            | AttributeForm::BracketedQuoted => {
                self.value().end + self.form.quote() + self.form.bracket()
            }
        };
        Span::new(self.start, end)
    }
}

/// The result of reading the metadata of a cell, besides the attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MetaLines {
    /// Where the lines end, line ends included.
    pub(super) end: usize,
    /// The type word; empty if there is none.
    pub(super) word: Span,
}

impl Metadata {
    /// The number of entries, which is the index of the next cell's first one.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Removes all entries from this index on.
    pub(super) fn truncate(&mut self, entry: usize) {
        self.entries.truncate(entry);
        let texts = self.texts.partition_point(|(of, _)| *of < entry);
        self.texts.truncate(texts);
    }

    /// Reads the metadata line at `start`, whose attributes begin at `text`, and the lines that continue it.
    pub(super) fn read(&mut self, source: &[u8], start: usize, text: usize) -> MetaLines {
        let line_end = memchr(b'\n', &source[start..]).map_or(source.len(), |at| start + at + 1);
        let text_end = start + line_text(&source[start..line_end]).len();
        let mut word = Span::default();
        for token in tokens(source, Span::new(text, text_end)) {
            match token {
                MetaToken::Word(found) => word = found,
                MetaToken::Attribute(attribute) => self.add(attribute, source),
                MetaToken::Junk(junk) => self.add_junk(junk),
            }
        }
        let mut end = line_end;
        for (at, line) in lines(source, line_end) {
            if !self.read_further(source, at, line_text(line)) {
                break;
            }
            end = at + line.len();
        }
        MetaLines { end, word }
    }

    /// Reads a line that continues the metadata: indented, with nothing but attributes. False for any other line.
    fn read_further(&mut self, source: &[u8], at: usize, text: &[u8]) -> bool {
        let is_indented = text.first().is_some_and(|byte| is_blank(*byte));
        if !is_indented || is_blank_line(text) {
            return false;
        }
        let before = self.len();
        for token in tokens(source, Span::new(at, at + text.len())) {
            match token {
                MetaToken::Attribute(attribute) => self.add(attribute, source),
                MetaToken::Word(_) | MetaToken::Junk(_) => {
                    self.truncate(before);
                    return false;
                }
            }
        }
        true
    }

    /// Adds an attribute, and a copy of its value if that differs from the source.
    fn add(&mut self, attribute: AttributeSpans, source: &[u8]) {
        let is_text = std::str::from_utf8(attribute.value.of(source)).is_ok();
        if attribute.is_escaped || !is_text {
            let text = attribute.text(source).into_owned();
            self.texts.push((self.entries.len(), text.into_boxed_str()));
        }
        self.entries.push(MetaEntry::of(attribute, source));
    }

    fn add_junk(&mut self, junk: Span) {
        self.entries.push(MetaEntry {
            start: junk.start,
            length: junk.len(),
            key_length: 0,
            key: None,
            form: AttributeForm::Junk,
        });
    }

    /// The attributes among these entries, in order.
    pub(super) fn attributes<'a>(
        &'a self,
        source: &'a [u8],
        cell: Span,
    ) -> impl DoubleEndedIterator<Item = AttributeRef<'a>> {
        let entries = self.entries.get(cell.start..cell.end).unwrap_or_default();
        let numbered = entries
            .iter()
            .enumerate()
            .filter(|(_, entry)| entry.is_attribute());
        numbered.map(move |(nth, entry)| AttributeRef {
            metadata: self,
            source,
            at: cell.start + nth,
            entry: *entry,
        })
    }

    /// The junk among these entries, as it stands in the source.
    pub(super) fn junk<'a>(
        &'a self,
        source: &'a [u8],
        cell: Span,
    ) -> impl Iterator<Item = Cow<'a, str>> {
        let entries = self.entries.get(cell.start..cell.end).unwrap_or_default();
        let junk = entries.iter().filter(|entry| !entry.is_attribute());
        junk.map(|entry| String::from_utf8_lossy(entry.token().of(source)))
    }
}

/// An attribute of a cell.
#[derive(Debug, Clone, Copy)]
pub(super) struct AttributeRef<'a> {
    metadata: &'a Metadata,
    source: &'a [u8],
    at: usize,
    entry: MetaEntry,
}

impl<'a> AttributeRef<'a> {
    /// The key, if it means something.
    pub(super) fn key(self) -> Option<MetaKey> {
        self.entry.key
    }

    /// The key as it is written.
    pub(super) fn name(self) -> &'a str {
        text_of(self.source, self.entry.name())
    }

    /// The value, with its escapes resolved.
    pub(super) fn value(self) -> &'a str {
        let texts = &self.metadata.texts;
        match texts.binary_search_by_key(&self.at, |(of, _)| *of) {
            Ok(found) => &texts[found].1,
            Err(_) => text_of(self.source, self.entry.value()),
        }
    }

    /// The whole attribute, including brackets and quotes.
    pub(super) fn span(self) -> Span {
        self.entry.token()
    }
}

/// The text at a span that is known to be UTF-8.
fn text_of(source: &[u8], span: Span) -> &str {
    std::str::from_utf8(span.of(source)).unwrap_or_default()
}
