//! Chat Markdown: the dialect of a note-taking plugin. Items are separated by a line `> ---` and named by a tag on the next
//! one. Reading keeps every byte, and changes are [`Splice`]s, never a re-print.
//!
//! ```text
//! > ---
//! > <USER author="me" timestamp="2025-05-07 14:01:32" />
//!
//! What is six times seven?
//! ```
//!
//! # Types, in reading order
//!
//! 1. [`decode`] reads all known variants into a [`ChatMdDocument`] of [`ChatItem`]s, and [`messages`] turns them into a
//!    conversation.
//! 2. [`ChatSessionInfo`] holds the facts about the conversation, such as its title.
//! 3. [`encode`] writes a conversation in a [`Dialect`], and lists what the dialect cannot represent.
//! 4. [`append`], [`replace_text`] and [`set_attribute`] change a file in place. A [`NewChatItem`] is an item to add.
//! 5. [`session_json`] is the plugin's own JSON.
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
//! assert_eq!(losses[0].what, "session_id");
//! ```
//!
//! # Limitations
//!
//! - Blocks other than text and pictures have no place, and neither have branches, side chains and summaries.
//! - Texts in a row become one, and texts beside pictures lose the blank lines around them.
//! - A time without a zone is taken as UTC, unless the caller passes another zone.
//! - The plugin's dialects trim texts, drop tools, and keep only one system prompt.
//! - An attribute of a malformed tag cannot be set if another one would read differently after that.

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
pub(crate) use session::TakenSession;
pub use session::{ChatSessionInfo, split_session_info, with_session_info};

/// A chat Markdown file: its source, and the positions of its parts.
#[derive(Debug)]
pub struct ChatMdDocument {
    /// The bytes of the file, which are never changed.
    source: Vec<u8>,
    /// The frontmatter from the opening to the closing `---` line, line ends included.
    frontmatter: Option<Span>,
    /// What the frontmatter says.
    front: session::ChatFrontmatter,
    /// The offset behind the frontmatter or the byte-order mark.
    body: usize,
    /// Where the items are.
    scan: decode::ChatScan,
    /// Whether the whole file is UTF-8.
    utf8: bool,
}

/// A dialect of chat Markdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dialect {
    /// The full dialect, which keeps everything that chat Markdown can hold.
    #[default]
    Ours,
    /// The dialect of the plugin's first year.
    V1,
    /// The plugin's dialect since then, with a `>` line between separator and tag.
    V2,
}

/// The kind of an item, from its tag's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemKind {
    /// `SYSTEM`: instructions. The first one is the system prompt of the session.
    System,
    /// `USER`: a message of a person.
    User,
    /// `ASSISTANT`: an answer of a model.
    Assistant,
    /// `TOOL`: the result of a tool.
    Tool,
    /// `SEPERATOR` or `SEPARATOR`: the model sees only what follows the last one.
    #[doc(alias = "SEPERATOR")]
    Separator,
    /// Any other name. The item is kept as it is.
    Other,
}

impl ItemKind {
    /// Returns the kind for a tag's name in upper or lower case.
    pub fn of(name: &str) -> ItemKind {
        match name.to_ascii_uppercase().as_str() {
            "SYSTEM" => ItemKind::System,
            "USER" => ItemKind::User,
            "ASSISTANT" => ItemKind::Assistant,
            "TOOL" => ItemKind::Tool,
            "SEPERATOR" | "SEPARATOR" => ItemKind::Separator,
            _ => ItemKind::Other,
        }
    }
}

/// An item of a document. A cheap handle: its parts are read on demand.
#[doc(alias = "IChatSessionMsgItem")]
#[doc(alias = "parseItemMarkdown")]
#[derive(Debug, Clone, Copy)]
pub struct ChatItem<'a> {
    document: &'a ChatMdDocument,
    /// Its position among the items, from 0.
    at: usize,
}

impl ChatMdDocument {
    /// Returns the bytes that were read, put together from the parts. They always equal the source.
    pub fn to_bytes(&self) -> Vec<u8> {
        let front = self.frontmatter.map_or(self.body, |span| span.start);
        let mut spans = vec![
            Span::new(0, front),
            Span::new(front, self.body),
            self.preamble(),
        ];
        spans.extend(self.items().map(ChatItem::span));
        let mut bytes = Vec::with_capacity(self.source.len());
        for span in spans {
            bytes.extend_from_slice(span.of(&self.source));
        }
        bytes
    }

    /// Returns the bytes that were read.
    pub fn source(&self) -> &[u8] {
        &self.source
    }

    /// Returns the bytes without a copy.
    pub fn into_source(self) -> Vec<u8> {
        self.source
    }

    /// Returns the positions of the lines.
    pub fn lines(&self) -> LineIndex<'_> {
        LineIndex::new(&self.source)
    }

    /// Returns whether the whole file is UTF-8.
    pub fn is_utf8(&self) -> bool {
        self.utf8
    }

    /// Returns the span of the frontmatter with its `---` lines; `None` unless its first key is `chat`.
    pub fn frontmatter_span(&self) -> Option<Span> {
        self.frontmatter
    }

    /// Returns the span between the frontmatter and the first item. It is never sent.
    pub fn preamble(&self) -> Span {
        let first = self.scan.items.first();
        let end = first.map_or(self.source.len(), |item| item.start);
        Span::new(self.body, end)
    }

    /// Returns the items, in order.
    pub fn items(&self) -> impl DoubleEndedIterator<Item = ChatItem<'_>> + ExactSizeIterator {
        (0..self.scan.items.len()).map(|at| ChatItem { document: self, at })
    }

    /// Returns the item at a position, from 0.
    pub fn item(&self, at: usize) -> Option<ChatItem<'_>> {
        (at < self.scan.items.len()).then_some(ChatItem { document: self, at })
    }

    /// Returns the text of the first SYSTEM item.
    #[doc(alias = "sysPrompt")]
    pub fn system_prompt(&self) -> Option<String> {
        let first = self.items().find(|item| item.kind() == ItemKind::System);
        first.map(|item| item.text().into_owned())
    }
}

impl<'a> ChatItem<'a> {
    /// Returns the positions that the scan has found.
    fn spans(self) -> &'a decode::ItemSpans {
        &self.document.scan.items[self.at]
    }

    /// Returns the bytes of a span of the file.
    fn bytes(self, span: Span) -> &'a [u8] {
        span.of(&self.document.source)
    }

    /// Returns its position in the file, from 1.
    pub fn ordinal(self) -> usize {
        self.at + 1
    }

    /// Returns the span of the whole item, from its separator to the next one.
    pub fn span(self) -> Span {
        let document = self.document;
        let next = document.scan.items.get(self.at + 1);
        let end = next.map_or(document.source.len(), |next| next.start);
        Span::new(self.spans().start, end)
    }

    /// Returns the span of the tag's line, with its line end.
    pub fn tag(self) -> Span {
        self.spans().tag
    }

    /// Returns the name of the tag as it is written.
    pub fn name(self) -> Cow<'a, str> {
        String::from_utf8_lossy(self.bytes(self.spans().name))
    }

    /// Returns the kind of the item.
    pub fn kind(self) -> ItemKind {
        ItemKind::of(&self.name())
    }

    /// Returns the attributes of the tag, in order and with repeated ones.
    pub fn attributes(self) -> Vec<(String, String)> {
        decode::tag_attributes(self.tag_text(), self.name_end()).0
    }

    /// Returns the value of an attribute. If it is repeated, the last one counts.
    pub fn attribute(self, key: &str) -> Option<String> {
        self.attributes()
            .into_iter()
            .rev()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value)
    }

    /// Returns the attributes that a note-taking program keeps in lines `{: key="value" }` below the tag.
    #[doc(alias = "kramdown")]
    pub fn note_attributes(self) -> Vec<(String, String)> {
        self.note_lines().1
    }

    /// Returns the span below the tag and its lines of attributes.
    pub fn below_tag(self) -> Span {
        Span::new(self.note_lines().0, self.span().end)
    }

    /// Returns the span of the text, which is still escaped.
    pub fn body(self) -> Span {
        self.body_of(self.attribute("stored").as_deref())
    }

    /// Returns the text below the tag without escapes, with pictures as HTML.
    pub fn text(self) -> Cow<'a, str> {
        line::unescape(String::from_utf8_lossy(self.bytes(self.body())))
    }

    /// Returns the tag's line without its line end.
    fn tag_text(self) -> &'a [u8] {
        crate::msgfile::scan::line_text(self.bytes(self.tag()))
    }

    /// Returns the offset in the tag's line where the attributes start.
    fn name_end(self) -> usize {
        self.spans().name.end - self.spans().tag.start
    }

    /// Returns the offset behind the lines of attributes below the tag, and the attributes.
    fn note_lines(self) -> (usize, Vec<(String, String)>) {
        decode::note_lines(
            &self.document.source,
            Span::new(self.tag().end, self.span().end),
        )
    }

    /// Returns the span of the text for a value of the attribute `stored`.
    fn body_of(self, stored: Option<&str>) -> Span {
        decode::body(&self.document.source, self.below_tag(), stored)
    }

    /// Returns whether the text fits the value of its attribute `stored`, if it has one.
    fn is_stored_as_it_says(self, stored: Option<&str>) -> bool {
        let rest = self.below_tag();
        stored.is_none_or(|words| decode::fits(&self.document.source, rest, words))
    }
}

#[cfg(test)]
pub(crate) mod tests;
