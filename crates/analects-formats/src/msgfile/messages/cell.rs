//! One cell, read for its message.

use std::borrow::Cow;

use crate::msgfile::agents::OUTPUT_WORDS;
use crate::msgfile::parts::whole_of;
use crate::msgfile::{Cell, CellKind, Meta};

/// A cell with what is read of it more than once.
pub(super) struct Read<'a> {
    pub(super) cell: Cell<'a>,
    pub(super) name: Cow<'a, str>,
    pub(super) word: Cow<'a, str>,
    pub(super) meta: Meta,
    pub(super) text: Cow<'a, str>,
    /// Whether its type word has no meaning on a cell of its kind.
    pub(super) misplaced: bool,
}

impl<'a> Read<'a> {
    pub(super) fn new(cell: Cell<'a>) -> Read<'a> {
        let (meta, word) = (cell.meta().unwrap_or_default(), cell.word());
        // What only comes back from somebody is nothing that a person writes: then it is text.
        let is_output = || OUTPUT_WORDS.contains(&&*word) && word != "block";
        let misplaced = cell.kind() == CellKind::Message && is_output();
        let word = if misplaced { Cow::Borrowed("markdown") } else { word };
        let (name, text) = (cell.name(), cell.content_of(&meta));
        Read { cell, name, word, meta, text, misplaced }
    }

    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.meta.get(key)
    }

    /// The media type of an output that says that it is bytes in base64.
    pub(super) fn binary_type(&self) -> Option<&str> {
        let is_base64 = self.is_output() && self.get("encoding") == Some("base64");
        self.get("mime_type").filter(|_| is_base64)
    }

    pub(super) fn is_output(&self) -> bool {
        self.cell.kind() == CellKind::Output
    }

    /// Whether it is a head of a person's cell and nothing else.
    pub(super) fn is_bare(&self) -> bool {
        !self.is_output() && self.text.is_empty() && self.meta == Meta::default()
    }

    /// Whether it stands on the person's side of the conversation: what a person writes, and the
    /// results of tools.
    pub(super) fn is_users(&self) -> bool {
        !self.is_output() || (self.word == "tool" && !self.is_call())
    }

    pub(super) fn meta_word(&self) -> &str {
        self.meta.type_word.as_deref().unwrap_or_default()
    }

    /// The id of the cell that it is a call or another part of, by its own id.
    pub(super) fn whole_id(&self) -> Option<&str> {
        if self.is_call() {
            return self.name.rsplit_once('.').map(|(whole, _)| whole);
        }
        let is_speech = self.word == "block" || !OUTPUT_WORDS.contains(&&*self.word);
        whole_of(&self.name).filter(|_| self.is_output() && is_speech)
    }

    /// Whether it is a call of a tool; else a `[tool]` cell is a result.
    pub(super) fn is_call(&self) -> bool {
        self.word == "tool" && self.get("name").is_some()
    }
}
