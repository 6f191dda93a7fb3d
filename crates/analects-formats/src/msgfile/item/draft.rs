//! A document with unsaved changes. Each change is an operation, made at once by the same splices as everywhere,
//! and can be made once more on a file that somebody else has changed meanwhile.

mod add;
mod agents;
mod operation;
mod outputs;
mod rebase;

use analects_core::Agent;

use super::{IndexOrName, Item, ItemError, ItemErrorKind, item, items};
use crate::msgfile::{Document, Kind, Splice};

pub use operation::{Change, Operation};
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

    /// Makes a change and keeps it, or changes nothing. Gives the names of the cells that it adds.
    fn push(&mut self, mut operation: Operation) -> Result<Vec<String>, ItemError> {
        why_not_writable(self.document())?;
        let before = self.document().source().to_vec();
        match self.make(&mut operation) {
            Ok(cells) => {
                self.changes.push(Change { operation, cells: cells.clone() });
                Ok(cells)
            }
            Err(error) => {
                if self.document().source() != before {
                    self.current = Some(self.base.with_source(before));
                }
                Err(error)
            }
        }
    }

    /// Reads the document with a splice made.
    fn apply(&mut self, splice: &Splice) {
        let document = self.document();
        self.current = Some(document.with_source(splice.apply(document.source())));
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
