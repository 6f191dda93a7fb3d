//! A document with unsaved changes. Each change is an operation that is made at once, and that can be repeated on a newer
//! version of the file.

mod add;
mod agents;
mod operation;
mod outputs;

use std::collections::BTreeMap;
use std::fmt;

use analects_core::Agent;

use super::{IndexOrName, Item, ItemError, ItemErrorKind, item, items};
use crate::msgfile::{Cell, CellRole, Document, DocumentKind, Splice};

pub use agents::AgentRegistry;
pub use operation::{DraftChange, DraftOperation};

/// A message file with unsaved changes. To save it, write [`Draft::appended`], or the source of [`Draft::document`].
#[derive(Debug)]
pub struct Draft {
    base: Document,
    /// The document with the changes, if there are any.
    current: Option<Document>,
    changes: Vec<DraftChange>,
}

impl Draft {
    /// A draft of a document, without changes.
    ///
    /// ```
    /// use analects_formats::msgfile::{decode, item::Draft};
    ///
    /// let draft = Draft::new(decode("# %%\n\nHello\n"));
    /// assert!(!draft.has_changes());
    /// assert_eq!(draft.appended(), Some(&b""[..]));
    /// ```
    pub fn new(document: Document) -> Draft {
        Draft {
            base: document,
            current: None,
            changes: Vec::new(),
        }
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
    pub fn changes(&self) -> &[DraftChange] {
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

    /// Makes an operation, or fails and changes nothing. Returns the names of the cells that it adds.
    fn push(&mut self, mut operation: DraftOperation) -> Result<Vec<String>, ItemError> {
        why_not_writable(self.document())?;
        let before = self.document().source().to_vec();
        match self.make(&mut operation) {
            Ok(cells) => {
                self.changes.push(DraftChange {
                    operation,
                    cells: cells.clone(),
                });
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

/// Fails if nothing can be written to a document.
fn why_not_writable(document: &Document) -> Result<(), ItemError> {
    if let Some(problem) = document.why_not_writable() {
        let error = ItemError::new(ItemErrorKind::Refused, problem.message);
        return Err(problem.hint.into_iter().fold(error, ItemError::hinting));
    }
    if document.kind() == DocumentKind::Plain {
        let error = ItemError::new(ItemErrorKind::Refused, "this is not a message file");
        return Err(error.hinting("add message_section: Discussion to its frontmatter"));
    }
    Ok(())
}

/// The new names of the unsaved cells of a draft by their old names, including names that stay.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Renames {
    names: BTreeMap<String, String>,
}

impl Renames {
    /// The new name of an unsaved cell; `None` for any other cell.
    pub fn get(&self, old: &str) -> Option<&str> {
        self.names.get(old).map(String::as_str)
    }

    /// All unsaved cells: old name, new name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.names
            .iter()
            .map(|(old, new)| (old.as_str(), new.as_str()))
    }

    /// Only those whose names differ.
    pub fn changed(&self) -> impl Iterator<Item = (&str, &str)> {
        self.iter().filter(|(old, new)| old != new)
    }

    /// The new name of any cell.
    fn of(&self, name: &str) -> String {
        self.get(name).unwrap_or(name).to_string()
    }
}

/// Two versions of a file that cannot be merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// Why: lower case, no full stop.
    pub reason: String,
    /// The file as it was when the draft was made.
    pub base: Vec<u8>,
    /// The file with the draft's changes.
    pub ours: Vec<u8>,
    /// The file as it is now.
    pub theirs: Vec<u8>,
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for Conflict {}

impl Draft {
    /// The same changes on a newer version of the file. That works if all of them only add cells, or
    /// if the other side only added cells at the end. Unsaved cells with a number get a new one, and
    /// so does everything that is named after them; see [`Renames`].
    ///
    /// ```
    /// use analects_formats::msgfile::{decode, item::Draft};
    ///
    /// let file = "---\nagents:\n  coder:\n    models: [gpt-5]\n---\n";
    /// let mut draft = Draft::new(decode(file));
    /// draft.add_message_text("Ours".into(), None, None, None, None)?;
    /// let theirs = decode(format!("{file}\n# %% [^1]\n\n[^1]: [markdown]\n\nTheirs\n"));
    /// let (draft, renames) = draft.rebase(theirs).unwrap();
    /// assert_eq!(renames.get("1"), Some("2"));
    /// assert_eq!(draft.document().cell("1").unwrap().content(), "Theirs");
    /// assert_eq!(draft.document().cell("2").unwrap().content(), "Ours");
    ///
    /// let conflict = draft.rebase(decode("")).unwrap_err();
    /// assert_eq!(conflict.reason, "there is no agent that could answer");
    /// assert_eq!(conflict.theirs, b"");
    /// # Ok::<(), analects_formats::msgfile::item::ItemError>(())
    /// ```
    pub fn rebase(&self, onto: Document) -> Result<(Draft, Renames), Conflict> {
        let theirs = onto.source().to_vec();
        let mut draft = Draft::new(onto);
        match self.make_all_on(&mut draft) {
            Ok(renames) => Ok((draft, renames)),
            Err(error) => Err(Conflict {
                reason: error.to_string(),
                base: self.base.source().to_vec(),
                ours: self.document().source().to_vec(),
                theirs,
            }),
        }
    }

    /// Makes all operations on another draft, under the names that cells have there.
    fn make_all_on(&self, draft: &mut Draft) -> Result<Renames, ItemError> {
        if !self.only_adds() && !only_added(&self.base, &draft.base) {
            let text = "the file was changed elsewhere, and these changes are not only additions";
            return Err(ItemError::new(ItemErrorKind::Refused, text));
        }
        let mut renames = Renames::default();
        for change in &self.changes {
            let mut operation = change.operation.clone();
            if let Some(name) = operation.target_mut() {
                self.check_reference(name, draft, &renames)?;
                *name = renames.of(name);
            }
            let cells = draft.push(operation)?;
            renames
                .names
                .extend(change.cells.iter().cloned().zip(cells));
        }
        Ok(renames)
    }

    /// Whether all changes add cells, or fill places that are among these.
    fn only_adds(&self) -> bool {
        let is_ours = |name: &String| {
            self.changes
                .iter()
                .any(|change| change.cells.contains(name))
        };
        self.changes.iter().all(|change| match &change.operation {
            DraftOperation::AddAgent(_) | DraftOperation::SetDefaultAgent(_) => false,
            DraftOperation::Fill { name, .. } => is_ours(name),
            DraftOperation::AddAgentCell(_)
            | DraftOperation::AddMessage { .. }
            | DraftOperation::AddCall { .. }
            | DraftOperation::AddOutputs { .. }
            | DraftOperation::DefineTool { .. } => true,
        })
    }

    /// Fails if a name does not mean the same cell as before. A cell with an id may have been edited; a cell without one is
    /// known by its position alone, so no position may have changed.
    fn check_reference(
        &self,
        name: &str,
        draft: &Draft,
        renames: &Renames,
    ) -> Result<(), ItemError> {
        if renames.get(name).is_some() {
            return Ok(());
        }
        let wrong = |why: &str| Err(ItemError::invalid(format!("cell {name} {why}")));
        let Some(now) = draft.document().cell(name) else {
            return wrong("is no longer in the file");
        };
        if now.id().is_none() && only_added(&self.base, &draft.base) {
            return Ok(());
        }
        let before = self.base.cell(name);
        if now.id().is_none() || before.is_none_or(|before| before.id().is_none()) {
            return wrong("has no id, and the file was changed elsewhere");
        }
        if before.map(kind_for_outputs) != Some(kind_for_outputs(now)) {
            return wrong("is another one now");
        }
        Ok(())
    }
}

/// The role and the type word of a cell, as far as they decide what can be added to it.
fn kind_for_outputs(cell: Cell<'_>) -> (CellRole, &str) {
    let role = cell.role();
    // A person may turn text into something else; the outputs of code need code.
    if role.is_user() && role != CellRole::Code {
        return (CellRole::User, "");
    }
    (role, cell.type_word())
}

/// Whether the newer version only has more cells at the end, perhaps in place of the ready cell.
fn only_added(base: &Document, onto: &Document) -> bool {
    let end = base
        .ready_cell()
        .map_or(base.source().len(), |ready| ready.span().start);
    if base.kind() != onto.kind() || !onto.source().starts_with(&base.source()[..end]) {
        return false;
    }
    let count = base.cells().len() - usize::from(base.ready_cell().is_some());
    let same = base.cells().take(count).zip(onto.cells());
    onto.cells().len() >= count && same.into_iter().all(|(old, new)| old.reads_like(new))
}
