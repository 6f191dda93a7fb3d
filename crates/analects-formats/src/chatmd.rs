//! Chat Markdown: the dialect of a note-taking plugin. Items are parted by a line `> ---` and named by a
//! tag on the next one; reading keeps every byte, and writing is a [`Splice`], never a re-print.
//!
//! ```text
//! > ---
//! > <USER author="me" timestamp="2025-05-07 14:01:32" />
//!
//! What is six times seven?
//! ```
//!
//! [`decode`] reads every variant that is around into a [`ChatMdDocument`] of [`ChatItem`]s, [`messages`] makes a
//! conversation of it, and [`encode`] writes a conversation in one of the [`Dialect`]s and says what that
//! dialect has no place for. [`append`], [`replace_text`] and [`set_attribute`] change a file in place.
//! [`session_json`] is the plugin's own JSON.
//!
//! ```
//! use analects_formats::chatmd::{Dialect, NewChatItem, ChatSessionInfo, append, decode, encode, messages};
//!
//! let file = b"Notes.\n\n> ---\n> <user author='me'>\n\nHello\n";
//! let document = decode(file);
//! let read = messages(&document, &"talk".into());
//! assert_eq!(read.messages[0].text(), "Hello");
//! assert_eq!(document.to_bytes(), file);
//!
//! let splice = append(&document, &NewChatItem::new("ASSISTANT", "> ---\n> <USER />\n\nI am not you."));
//! let longer = splice.apply(file);
//! assert!(longer.starts_with(file));
//! assert_eq!(decode(longer).items().len(), 2);
//!
//! let (text, losses) = encode(&read.messages, &ChatSessionInfo::default(), Dialect::V2);
//! assert!(text.starts_with("> ---\n>\n> <USER author=\"me\"/>\n\nHello\n"));
//! assert_eq!(losses[0].what, "session id");
//! ```

mod attributes;
mod content;
mod decode;
mod edit;
mod encode;
mod line;
mod messages;
mod problems;
mod reduce;
mod session;
pub mod session_json;

use std::borrow::Cow;

use analects_core::{LineIndex, Span};

pub use crate::msgfile::Splice;
pub use content::{content_of, text_of};
pub use decode::{decode, is_chat_markdown};
pub use edit::{append, append_all, replace_text, set_attribute};
pub use encode::{NewChatItem, encode, encode_in};
pub use messages::{messages, messages_in};
pub use session::{ChatSessionInfo, split_session_info, with_session_info};

/// A chat Markdown file, read: the source, and where its parts are.
#[derive(Debug)]
pub struct ChatMdDocument {
    source: Vec<u8>,
    /// From the opening `---` line to the closing one, line ends included.
    frontmatter: Option<Span>,
    front: session::ChatFrontmatter,
    /// Where the frontmatter, or else the byte-order mark, ends.
    body: usize,
    scan: decode::ChatScan,
    utf8: bool,
}

/// A way to write chat Markdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dialect {
    /// Everything that chat Markdown can say, exactly.
    #[default]
    Ours,
    /// What the plugin read in its first year.
    V1,
    /// What it reads since: a `>` line between separator and tag.
    V2,
}

/// What an item is, by its tag's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemKind {
    /// `SYSTEM`: instructions. The first is the session's system prompt.
    System,
    /// `USER`: what a person said.
    User,
    /// `ASSISTANT`: what a model said.
    Assistant,
    /// `TOOL`: what a tool gave back.
    Tool,
    /// `SEPERATOR`, or `SEPARATOR`: the model sees only what follows the last one.
    #[doc(alias = "SEPERATOR")]
    Separator,
    /// Any other name; kept as it is.
    Other,
}

impl ItemKind {
    /// Reads a tag's name, in any case.
    pub fn of(name: &str) -> ItemKind {
        let names = [
            ("SYSTEM", ItemKind::System),
            ("USER", ItemKind::User),
            ("ASSISTANT", ItemKind::Assistant),
            ("TOOL", ItemKind::Tool),
            ("SEPERATOR", ItemKind::Separator),
            ("SEPARATOR", ItemKind::Separator),
        ];
        let known = names
            .into_iter()
            .find(|(known, _)| name.eq_ignore_ascii_case(known));
        known.map_or(ItemKind::Other, |(_, kind)| kind)
    }
}

/// One item of a document: a cheap handle, from which its parts are read when asked for.
#[doc(alias = "IChatSessionMsgItem")]
#[doc(alias = "parseItemMarkdown")]
#[derive(Debug, Clone, Copy)]
pub struct ChatItem<'a> {
    document: &'a ChatMdDocument,
    at: usize,
}

impl ChatMdDocument {
    /// The bytes that were read, put together again from the parts.
    pub fn to_bytes(&self) -> Vec<u8> {
        let front = self.frontmatter.map_or(self.body, |span| span.start);
        let parts = [
            Span::new(0, front),
            Span::new(front, self.body),
            self.preamble(),
        ];
        let spans = parts.into_iter().chain(self.items().map(ChatItem::span));
        spans
            .flat_map(|span| span.of(&self.source))
            .copied()
            .collect()
    }

    /// The bytes that were read.
    pub fn source(&self) -> &[u8] {
        &self.source
    }

    /// Gives the bytes back.
    pub fn into_source(self) -> Vec<u8> {
        self.source
    }

    /// Where the lines are.
    pub fn lines(&self) -> LineIndex<'_> {
        LineIndex::new(&self.source)
    }

    /// Whether every byte is part of a character.
    pub fn is_utf8(&self) -> bool {
        self.utf8
    }

    /// Where the frontmatter is, with its `---` lines, if its first key is `chat`.
    pub fn frontmatter_span(&self) -> Option<Span> {
        self.frontmatter
    }

    /// What stands between the frontmatter and the first item, byte for byte; never sent.
    pub fn preamble(&self) -> Span {
        Span::new(
            self.body,
            self.scan
                .items
                .first()
                .map_or(self.source.len(), |item| item.start),
        )
    }

    /// The items, in order.
    pub fn items(&self) -> impl DoubleEndedIterator<Item = ChatItem<'_>> + ExactSizeIterator {
        (0..self.scan.items.len()).map(|at| ChatItem { document: self, at })
    }

    /// The item at a place, from 0.
    pub fn item(&self, at: usize) -> Option<ChatItem<'_>> {
        (at < self.scan.items.len()).then_some(ChatItem { document: self, at })
    }

    /// What the first SYSTEM item says.
    #[doc(alias = "sysPrompt")]
    pub fn system_prompt(&self) -> Option<String> {
        let first = self.items().find(|item| item.kind() == ItemKind::System);
        first.map(|item| item.text().into_owned())
    }
}

impl<'a> ChatItem<'a> {
    fn spans(self) -> &'a decode::ItemSpans {
        &self.document.scan.items[self.at]
    }

    fn bytes(self, span: Span) -> &'a [u8] {
        span.of(&self.document.source)
    }

    /// Its place in the file, from 1.
    pub fn ordinal(self) -> usize {
        self.at + 1
    }

    /// All of its bytes, from its separator to the next item's.
    pub fn span(self) -> Span {
        let next = self
            .document
            .scan
            .items
            .get(self.at + 1)
            .map(|next| next.start);
        Span::new(
            self.spans().start,
            next.unwrap_or(self.document.source.len()),
        )
    }

    /// The tag's line, with its line end.
    pub fn tag(self) -> Span {
        self.spans().tag
    }

    /// The tag's name, as it is written.
    pub fn name(self) -> Cow<'a, str> {
        String::from_utf8_lossy(self.bytes(self.spans().name))
    }

    /// What it is.
    pub fn kind(self) -> ItemKind {
        ItemKind::of(&self.name())
    }

    /// The tag's attributes, in order, repeated ones included.
    pub fn attributes(self) -> Vec<(String, String)> {
        decode::tag_attributes(self.tag_text(), self.name_end()).0
    }

    /// The value of an attribute; of a repeated one, the last.
    pub fn attribute(self, key: &str) -> Option<String> {
        self.attributes()
            .into_iter()
            .rev()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value)
    }

    /// The attributes that a note-taking program keeps in `{: key="value" }` lines below the tag.
    #[doc(alias = "kramdown")]
    pub fn note_attributes(self) -> Vec<(String, String)> {
        self.note_lines().1
    }

    /// Everything below the tag and the lines of attributes that follow it.
    pub fn below_tag(self) -> Span {
        Span::new(self.note_lines().0, self.span().end)
    }

    /// The text as it stands in the file, still escaped.
    pub fn body(self) -> Span {
        self.body_of(self.attribute("stored").as_deref())
    }

    /// What stands below its tag: its text with the escapes taken off, pictures as HTML.
    pub fn text(self) -> Cow<'a, str> {
        line::unescape(String::from_utf8_lossy(self.bytes(self.body())))
    }

    /// The tag's line without its line end.
    fn tag_text(self) -> &'a [u8] {
        crate::msgfile::scan::line_text(self.bytes(self.tag()))
    }

    /// Where the attributes start in the tag's line.
    fn name_end(self) -> usize {
        self.spans().name.end - self.spans().tag.start
    }

    /// Where the lines of attributes below the tag end, and what they say.
    fn note_lines(self) -> (usize, Vec<(String, String)>) {
        decode::note_lines(
            &self.document.source,
            Span::new(self.tag().end, self.span().end),
        )
    }

    fn body_of(self, stored: Option<&str>) -> Span {
        decode::body(&self.document.source, self.below_tag(), stored)
    }

    /// Whether its text is what its `stored` attribute says, if it has one.
    fn is_stored_as_it_says(self, stored: Option<&str>) -> bool {
        let rest = self.below_tag();
        stored.is_none_or(|words| decode::fits(&self.document.source, rest, words))
    }
}

#[cfg(test)]
pub(crate) mod tests;
