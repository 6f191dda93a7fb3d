//! A document with unsaved changes. Each change is kept as data, applied as a splice at once, and can
//! be applied once more to a file that somebody else has changed meanwhile.

mod add;
mod agents;
mod apply;
mod naming;
mod outputs;
mod rebase;

use analects_core::Agent;

use super::homes::{Placed, find};
use super::{IndexOrName, Item, ItemError, ItemErrorKind, Output, item, items};
use crate::msgfile::{Document, Kind, NewCell};

pub(in crate::msgfile) use apply::with_answer;
pub use rebase::{Conflict, Renames};

/// A message file with changes that have not been saved yet. It touches no disk: who saves it takes
/// [`Draft::appended`], or the source of [`Draft::document`].
#[derive(Debug)]
pub struct Draft {
    base: Document,
    /// The document with the changes, if there are any.
    current: Option<Document>,
    changes: Vec<Change>,
}

/// An unsaved change.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// An agent is added to the frontmatter.
    AddAgent(Agent),
    /// The frontmatter's `default_agent` is set.
    SetDefaultAgent(String),
    /// A cell is added.
    AddCell(AddedCell),
    /// A place that was kept for an output gets it.
    Fill {
        /// The cell's name.
        name: String,
        /// What it gets.
        output: Output,
    },
}

/// A cell that is added, with what is needed to add it again elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddedCell {
    /// The cell, under the name that it has in this draft.
    pub cell: NewCell,
    /// How it got its name.
    pub naming: Naming,
    /// Where it goes.
    pub place: Place,
}

/// How a cell got its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Naming {
    /// Somebody chose it.
    Given,
    /// The next number.
    Number,
    /// The name of a message or a reply, a dot, and a nonce.
    Call {
        /// The message or the reply.
        of: String,
        /// The nonce.
        nonce: String,
    },
    /// The name of a call or of a code cell, a dot, and the next number.
    Next {
        /// The call or the code cell.
        of: String,
    },
    /// The name of a run's first cell, a hyphen, and the next number.
    Further {
        /// The first cell.
        of: String,
    },
}

/// Where a cell goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// At the end of the file.
    End,
    /// Behind everything that belongs to the message of this cell.
    Message(String),
    /// Behind this call and its results.
    Call(String),
}

impl Draft {
    /// A draft of that document, without changes.
    ///
    /// ```
    /// use analects_formats::msgfile::{decode, item::Draft};
    ///
    /// let draft = Draft::new(decode("# %%\n\nHello\n"));
    /// assert!(!draft.has_changes());
    /// assert_eq!(draft.appended(), Some(&b""[..]));
    /// ```
    pub fn new(document: Document) -> Draft {
        Draft { base: document, current: None, changes: Vec::new() }
    }

    /// The document with all changes made.
    ///
    /// ```
    /// use analects_formats::msgfile::{decode, item::Draft};
    ///
    /// let mut draft = Draft::new(decode("# %% [^a]\n\n[^a]: [agent] models=\"gpt-5\" name=\"quick\"\n"));
    /// draft.add_message_text("Hello".into(), None, None, None, None)?;
    /// assert!(draft.document().source().ends_with(b"\n# %% [^1]\n\n[^1]: [markdown]\n\nHello\n"));
    /// # Ok::<(), analects_formats::msgfile::item::ItemError>(())
    /// ```
    pub fn document(&self) -> &Document {
        self.current.as_ref().unwrap_or(&self.base)
    }

    /// The document without the changes.
    pub fn base(&self) -> &Document {
        &self.base
    }

    /// Gives the document with all changes made.
    pub fn into_document(self) -> Document {
        self.current.unwrap_or(self.base)
    }

    /// Whether there is anything to save.
    pub fn has_changes(&self) -> bool {
        !self.changes.is_empty()
    }

    /// The changes, in their order.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// The bytes to add to the file's end, if saving needs no more than that.
    ///
    /// ```
    /// use analects_core::Agent;
    /// use analects_formats::msgfile::{decode, item::Draft};
    ///
    /// let mut draft = Draft::new(decode("# %%\n\nHello\n"));
    /// draft.add_agent_with_definition("quick", &Agent::of_model("quick", "gpt-5-mini"))?;
    /// assert!(draft.appended().unwrap().starts_with(b"\n# %% quick[^2]\n"));
    /// draft.set_default_agent("quick")?;
    /// assert_eq!(draft.appended(), None);
    /// # Ok::<(), analects_formats::msgfile::item::ItemError>(())
    /// ```
    #[doc(alias = "changes_only_append")]
    pub fn appended(&self) -> Option<&[u8]> {
        self.document().source().strip_prefix(self.base.source())
    }

    /// The messages and function calls, unsaved ones too; see [`items`].
    #[doc(alias = "get_items")]
    pub fn items(&self) -> Vec<Item> {
        items(self.document())
    }

    /// One item, unsaved ones too; see [`item`].
    #[doc(alias = "get_item")]
    pub fn item<'a>(&self, which: impl Into<IndexOrName<'a>>) -> Option<Item> {
        item(self.document(), which)
    }

    /// The agents that the file defines, unsaved ones too.
    ///
    /// ```
    /// use analects_formats::msgfile::{decode, item::Draft};
    ///
    /// let draft = Draft::new(decode("---\nagents:\n  coder:\n    models: [gpt-5]\n---\n"));
    /// assert_eq!(draft.agents()[0].name, "coder");
    /// ```
    #[doc(alias = "get_agents")]
    pub fn agents(&self) -> Vec<Agent> {
        self.document().agents()
    }

    /// Makes a change, and keeps it.
    fn push(&mut self, change: Change) -> Result<(), ItemError> {
        let document = self.document();
        why_not_writable(document)?;
        let source = apply::source(document, &change)?;
        self.current = Some(document.with_source(source));
        self.changes.push(change);
        Ok(())
    }

    /// Makes several changes, or none of them.
    fn together<T>(
        &mut self,
        work: impl FnOnce(&mut Draft) -> Result<T, ItemError>,
    ) -> Result<T, ItemError> {
        let before = self.document().source().to_vec();
        let count = self.changes.len();
        let result = work(self);
        if result.is_err() && self.changes.len() > count {
            self.current = Some(self.base.with_source(before));
            self.changes.truncate(count);
        }
        result
    }
}

/// Says why nothing can be written to a document, if that is so.
fn why_not_writable(document: &Document) -> Result<(), ItemError> {
    if let Some(problem) = document.why_not_writable() {
        let error = ItemError::new(ItemErrorKind::Refused, problem.message);
        return Err(problem.hint.into_iter().fold(error, ItemError::hinting));
    }
    if document.kind() == Kind::Plain {
        let error = ItemError::new(ItemErrorKind::Refused, "this is not a message file");
        return Err(error.hinting("add message_section: Discussion to its frontmatter"));
    }
    Ok(())
}

/// Where the one cell of that name is. If several have the id, nobody can say which is meant.
fn only(placed: &[Placed<'_>], name: &str) -> Result<usize, ItemError> {
    if placed.iter().filter(|placed| placed.cell.id() == Some(name)).count() > 1 {
        let text = format!("there are several cells {}", super::check::shown(name));
        let error = ItemError::new(ItemErrorKind::UnknownCell, text);
        return Err(error.hinting("give each of them an id of its own"));
    }
    find(placed, name).ok_or_else(|| unknown_cell(name))
}

fn unknown_cell(name: &str) -> ItemError {
    let text = format!("there is no cell {}", super::check::shown(name));
    ItemError::new(ItemErrorKind::UnknownCell, text)
}
