//! A glance at the metadata of a cell, for those who look at every cell of a file for one thing that few
//! of them have. What it says is what reading the metadata says; it only costs less.

use std::borrow::Cow;

use memchr::{memchr, memmem};

use super::line::{is_blank, is_blank_line, metadata_of};
use super::meta::MAX_WORD;
use super::scan::line_text;
use super::{Cell, Document};

impl<'a> Cell<'a> {
    /// The first line of the metadata behind its `[^id]:`, and what follows that line in the file.
    fn first_meta_line(self) -> Option<(&'a [u8], &'a [u8])> {
        let (spans, document) = (self.spans(), self.document);
        let rest = document.source.get(spans.meta..).filter(|_| self.is_sealed())?;
        let end = memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
        let (line, below) = rest.split_at(end);
        Some((metadata_of(line_text(line), self.bytes(spans.id))?, below))
    }

    /// The type word; `markdown` where the cell has none.
    pub(crate) fn word(self) -> Cow<'a, str> {
        let Some((line, _)) = self.first_meta_line() else { return Cow::Borrowed("markdown") };
        if let Some((word, _)) = plain_word(line) {
            return Cow::Borrowed(word);
        }
        self.meta().and_then(|meta| meta.type_word).map_or(Cow::Borrowed("markdown"), Cow::Owned)
    }

    /// Whether it has an attribute of that name at all, or seems to have one.
    pub(super) fn may_have(self, key: &str) -> bool {
        let Some((line, below)) = self.first_meta_line() else { return false };
        if memmem::find(line, key.as_bytes()).is_some() {
            return true;
        }
        may_continue(below)
    }
}

/// Whether a metadata line may go on in what follows it: in lines that are indented.
fn may_continue(below: &[u8]) -> bool {
    let is_indented = below.first().is_some_and(|byte| is_blank(*byte));
    let next = || &below[..memchr(b'\n', below).unwrap_or(below.len())];
    is_indented && !is_blank_line(line_text(next()))
}

/// The type word of metadata that says nothing else, in a single line; `below` is what follows the line.
pub(super) fn only_word<'a>(line: &'a [u8], below: &[u8]) -> Option<&'a str> {
    let (word, rest) = plain_word(line)?;
    (is_blank_line(rest) && !may_continue(below)).then_some(word)
}

/// A type word that is all letters, digits and the like, at the very beginning of what follows `[^id]:`, as it
/// is written; and what follows it.
fn plain_word(line: &[u8]) -> Option<(&str, &[u8])> {
    let blanks = line.iter().take_while(|byte| is_blank(**byte)).count();
    let inner = line[blanks..].strip_prefix(b"[")?;
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let length = inner.iter().take(MAX_WORD).take_while(|byte| is_plain(byte)).count();
    let is_word = (1..MAX_WORD).contains(&length) && inner.get(length) == Some(&b']');
    let word = std::str::from_utf8(&inner[..length]).ok().filter(|_| is_word)?;
    Some((word, &inner[length + 1..]))
}

impl Document {
    /// Whether some cell may have that type word: it stands in its metadata as it is.
    pub(super) fn may_have_word(&self, word: &str) -> bool {
        self.mentions(&format!("[{word}]"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::generate;
    use crate::msgfile::decode::read_meta_lines;
    use crate::msgfile::{Cell, Meta, decode};

    /// The metadata of a cell, token by token.
    fn read_with_care(cell: &Cell<'_>) -> Option<Meta> {
        let (source, spans) = (&cell.document.source[..cell.span().end], cell.spans());
        let id = spans.id.of(source);
        cell.is_sealed().then(|| read_meta_lines(source, spans.meta, id))
    }

    const KEYS: [&str; 5] = ["key", "stored", "time", "history", "status"];

    proptest! {
        #[test]
        fn a_glance_says_what_reading_says(
            file in generate::file(),
            meta in "[ \t]{0,2}(\\[?[a-z._=\"\\[\\] -]{0,9}\\]?){0,4}(\r?\n[ \t]key=1)?",
        ) {
            let bytes = [&file, "\n# %% [^7]\n\n[^7]:".as_bytes(), meta.as_bytes()].concat();
            let document = decode(bytes);
            for cell in document.cells() {
                let read = cell.meta().unwrap_or_default();
                let with_care = read_with_care(&cell);
                prop_assert_eq!(cell.meta(), with_care);
                let word = read.type_word.as_deref().unwrap_or("markdown");
                prop_assert_eq!(cell.word(), word);
                prop_assert!(!cell.is_sealed() || read.type_word.is_none() || document.may_have_word(word));
                for key in KEYS {
                    prop_assert!(cell.may_have(key) || read.get(key).is_none(), "{}", key);
                    prop_assert_eq!(cell.attribute(key), read.get(key).map(str::to_string));
                }
            }
        }
    }

    #[test]
    fn words_of_other_kinds_are_read_with_care() {
        let long = "x".repeat(300);
        let cases = [
            (" [coder] time=1", "coder"),
            ("[a]b", "a"),
            (" [a b]", "a b"),
            (" [a=b]", "markdown"),
            (" junk [agent]", "agent"),
            (" [né]", "né"),
            (" []", "markdown"),
            (" [x", "markdown"),
            (&format!(" [{long}]"), "markdown"),
            ("", "markdown"),
        ];
        for (meta, word) in cases {
            let document = decode(format!("# %% [^1]\n\n[^1]:{meta}\n"));
            let cell = document.cells().next().unwrap();
            assert_eq!((cell.word().as_ref(), cell.type_word().as_str()), (word, word), "{meta:?}");
        }
    }
}
