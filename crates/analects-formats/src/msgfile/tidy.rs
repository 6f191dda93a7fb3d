//! Formatting of heads and metadata lines as the program itself writes them. Contents never change, and every cell
//! reads as before.

use std::borrow::Cow;

use analects_core::Span;

use super::line::metadata_of;
use super::meta::{MetaToken, tokens, write_attribute};
use super::scan::{line_text, lines};
use super::{Cell, CellKind, Document, Splice};

/// The indentation of a line that continues the metadata.
const INDENT: &str = "  ";

/// The changes that make a file tidy, in order; none for a file that is tidy or not UTF-8.
///
/// In a head, one blank stands between the parts. Between head and metadata stands one empty line.
/// Between attributes stands one blank, and their values are in double quotes, but for numbers. A
/// head without metadata stays one, and a metadata line that cannot be read in full stays as it is.
///
/// ```
/// use analects_formats::msgfile::{self, Splice};
///
/// let file = b"#  %%  Hi [^1]\n[^1]:[markdown]   note='a  b' [tokens=5]\n\n  as it  is\n";
/// let document = msgfile::decode(*file);
/// let tidy = Splice::apply_all(&msgfile::tidy(&document), document.source());
/// let expected = b"# %% Hi[^1]\n\n[^1]: [markdown] note=\"a  b\" tokens=5\n\n  as it  is\n";
/// assert_eq!(tidy, expected);
/// ```
pub fn tidy(document: &Document) -> Vec<Splice> {
    if !document.is_utf8() {
        return Vec::new();
    }
    let mut splices = Vec::new();
    for cell in document.cells() {
        // A carriage return at the end of a title would become part of the line end.
        let tidy_head = Some(head(cell)).filter(|head| !head.ends_with(b"\r"));
        splices.extend(tidy_head.map(|bytes| Splice {
            at: head_text(cell),
            bytes,
        }));
        if let Some(meta) = cell.meta_span() {
            splices.extend(gap(cell, meta));
            splices.extend(meta_lines(cell, meta));
        }
    }
    splices.retain(|splice| splice.at.of(document.source()) != splice.bytes);
    splices
}

/// The span of a head without its line end.
fn head_text(cell: Cell<'_>) -> Span {
    let head = cell.head();
    Span::new(head.start, head.start + line_text(cell.bytes(head)).len())
}

/// The head as the program writes it.
fn head(cell: Cell<'_>) -> Vec<u8> {
    let marker = if cell.kind() == CellKind::Message {
        "%%"
    } else {
        "%%%"
    };
    let mut out = format!("{} {marker}", "#".repeat(cell.level())).into_bytes();
    let title = cell.bytes(cell.spans().title);
    let id = cell.bytes(cell.spans().id);
    if !title.is_empty() || !id.is_empty() {
        out.push(b' ');
    }
    out.extend_from_slice(title);
    if !id.is_empty() {
        out.extend([b"[^", id, b"]"].concat());
    }
    out
}

/// The splice for one empty line between head and metadata, unless it is there.
fn gap(cell: Cell<'_>, meta: Span) -> Option<Splice> {
    let at = Span::new(cell.head().end, meta.start);
    let line_end = &cell.bytes(cell.head())[head_text(cell).len()..];
    let is_tidy = matches!(cell.bytes(at), b"\n" | b"\r\n");
    (!is_tidy).then(|| Splice {
        at,
        bytes: line_end.to_vec(),
    })
}

/// The splices for the metadata line and the lines that continue it.
fn meta_lines(cell: Cell<'_>, meta: Span) -> Vec<Splice> {
    let source = &cell.document.source[..meta.end];
    let id = cell.id().unwrap_or_default();
    let mut splices = Vec::new();
    for (at, line) in lines(source, meta.start) {
        let text = line_text(line);
        let (start, old) = match metadata_of(text, id.as_bytes()) {
            Some(rest) if at == meta.start => (format!("[^{id}]:"), rest),
            _ => (INDENT[1..].to_string(), text),
        };
        let Some(new) = attributes(old) else { continue };
        let bytes = [start.as_bytes(), new.as_bytes()].concat();
        splices.push(Splice {
            at: Span::new(at, at + text.len()),
            bytes,
        });
    }
    splices
}

/// The attributes of a line as the program writes them, each after a blank; `None` if that would change their meaning.
fn attributes(old: &[u8]) -> Option<String> {
    let old = std::str::from_utf8(old).ok()?;
    let parts = parts(old)?;
    let mut new = String::new();
    for part in &parts {
        match part {
            MetaPart::Word(word) => new.push_str(&format!(" [{word}]")),
            MetaPart::Attribute(key, value) => write_attribute(&mut new, key, value),
        }
    }
    (self::parts(&new)? == parts).then_some(new)
}

/// A part of a metadata line: its type word, or the key and the value of an attribute.
#[derive(Debug, PartialEq, Eq)]
enum MetaPart<'a> {
    Word(&'a str),
    Attribute(&'a str, Cow<'a, str>),
}

/// The parts of a metadata line; `None` if a part of it cannot be read.
fn parts(text: &str) -> Option<Vec<MetaPart<'_>>> {
    let source = text.as_bytes();
    let part = |token| match token {
        MetaToken::Word(word) => Some(MetaPart::Word(&text[word.start..word.end])),
        MetaToken::Attribute(found) => {
            let key = &text[found.key.start..found.key.end];
            Some(MetaPart::Attribute(key, found.text(source)))
        }
        MetaToken::Junk(_) => None,
    };
    tokens(source, Span::new(0, source.len()))
        .map(part)
        .collect()
}
