//! Why an item cannot be built, read or added: a kind to branch on, and words for people.

use std::fmt;

use analects_core::Hint;

/// Why something cannot be done with an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemError {
    kind: ItemErrorKind,
    message: String,
    hint: Option<Hint>,
}

/// The kinds of [`ItemError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ItemErrorKind {
    /// Something that must be given is not.
    Missing,
    /// Something is not as it must be.
    Invalid,
    /// There is already something of that name.
    Duplicate,
    /// There is no cell of that name, or it is of the wrong kind.
    UnknownCell,
    /// There is no agent of that name.
    UnknownAgent,
    /// Nobody is there who could answer.
    NoAgent,
    /// The file cannot be changed like that, or not at all.
    Refused,
}

impl ItemError {
    pub(in crate::msgfile) fn new(kind: ItemErrorKind, message: impl Into<String>) -> ItemError {
        ItemError { kind, message: message.into(), hint: None }
    }

    pub(super) fn missing(what: &str, method: &str) -> ItemError {
        let error = ItemError::new(ItemErrorKind::Missing, format!("{what} is missing"));
        error.hinting(format!("call {method} before build"))
    }

    pub(super) fn invalid(message: impl Into<String>) -> ItemError {
        ItemError::new(ItemErrorKind::Invalid, message)
    }

    pub(in crate::msgfile) fn hinting(mut self, hint: impl Into<Hint>) -> ItemError {
        self.hint = Some(hint.into());
        self
    }

    /// What kind of error it is.
    pub fn kind(&self) -> ItemErrorKind {
        self.kind
    }

    /// What to do about it, where that is known.
    pub fn hint(&self) -> Option<&Hint> {
        self.hint.as_ref()
    }
}

impl fmt::Display for ItemError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ItemError {}
