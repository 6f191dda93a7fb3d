//! Carrying a draft over to a file that somebody else has changed meanwhile.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use super::agents::answerer;
use super::apply::same_cells;
use super::{AddedCell, Change, Draft, Naming, Place, naming};
use crate::msgfile::item::check::shown;
use crate::msgfile::item::{ItemError, Tool, tools};
use crate::msgfile::{Cell, CellKind, CellRole, Document};

/// What the unsaved cells of a draft are called now: old name, new name. Cells whose names stayed
/// are there too.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Renames {
    names: BTreeMap<String, String>,
}

impl Renames {
    /// The name that an unsaved cell has now; `None` for a cell that is not one of them.
    pub fn get(&self, old: &str) -> Option<&str> {
        self.names.get(old).map(String::as_str)
    }

    /// All unsaved cells: old name, new name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.names.iter().map(|(old, new)| (old.as_str(), new.as_str()))
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

/// Two versions of a file that a program cannot put together.
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
        if !self.only_adds() && !only_added(&self.base, &onto) {
            let reason = "the file was changed elsewhere, and these changes are not only additions";
            return Err(self.conflict(reason, onto.into_source()));
        }
        let theirs = onto.source().to_vec();
        let mut draft = Draft::new(onto);
        let mut renames = Renames::default();
        for change in &self.changes {
            let again = self.again(change, &draft, &mut renames);
            let result = again
                .map_err(|error| error.to_string())
                .and_then(|change| draft.push(change).map_err(|error| error.to_string()));
            if let Err(reason) = result {
                return Err(self.conflict(&reason, theirs));
            }
        }
        Ok((draft, renames))
    }

    fn conflict(&self, reason: &str, theirs: Vec<u8>) -> Conflict {
        Conflict {
            reason: reason.to_string(),
            base: self.base.source().to_vec(),
            ours: self.document().source().to_vec(),
            theirs,
        }
    }

    /// A change as it is to be made on another draft, in which earlier ones have new names.
    fn again(
        &self,
        change: &Change,
        draft: &Draft,
        renames: &mut Renames,
    ) -> Result<Change, ItemError> {
        let document = draft.document();
        match change {
            Change::AddAgent(agent) => {
                draft.check_new_agent(agent)?;
                Ok(change.clone())
            }
            Change::SetDefaultAgent(name) => {
                answerer(document, Some(name))?;
                Ok(change.clone())
            }
            Change::Fill { name, output } => {
                self.check_reference(name, draft, renames)?;
                Ok(Change::Fill { name: renames.of(name), output: output.clone() })
            }
            Change::AddCell(added) => {
                let again = self.cell_again(added, draft, renames)?;
                renames.names.insert(added.cell.id.clone(), again.cell.id.clone());
                Ok(Change::AddCell(again))
            }
        }
    }

    fn cell_again(
        &self,
        added: &AddedCell,
        draft: &Draft,
        renames: &Renames,
    ) -> Result<AddedCell, ItemError> {
        let document = draft.document();
        let place = match &added.place {
            Place::End => Place::End,
            Place::Message(name) => {
                self.check_reference(name, draft, renames)?;
                Place::Message(renames.of(name))
            }
            Place::Call(name) => {
                self.check_reference(name, draft, renames)?;
                Place::Call(renames.of(name))
            }
        };
        let naming = match &added.naming {
            Naming::Call { of, nonce } => Naming::Call { of: renames.of(of), nonce: nonce.clone() },
            Naming::Next { of } => Naming::Next { of: renames.of(of) },
            Naming::Further { of } => Naming::Further { of: renames.of(of) },
            other => other.clone(),
        };
        check_still_fits(added, draft)?;
        let mut cell = added.cell.clone();
        cell.id = naming::name(document, &naming, &added.cell.id)?;
        Ok(AddedCell { cell, naming, place })
    }

    /// Whether all changes add cells, or fill places that are among these.
    fn only_adds(&self) -> bool {
        let mut ours: HashSet<&str> = HashSet::new();
        self.changes.iter().all(|change| match change {
            Change::AddCell(added) => {
                ours.insert(&added.cell.id);
                true
            }
            Change::Fill { name, .. } => ours.contains(name.as_str()),
            Change::AddAgent(_) | Change::SetDefaultAgent(_) => false,
        })
    }

    /// Checks that a name still means the same cell. One with an id may have been edited; one
    /// without is known by its place alone, so no place may have changed.
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

/// What kind of cell it is, as far as that decides what can be added to it.
fn kind_for_outputs(cell: Cell<'_>) -> (CellRole, &str) {
    match cell.role() {
        // A person may turn text into something else; the outputs of code need code.
        CellRole::User | CellRole::Raw | CellRole::UserBlock => (CellRole::User, ""),
        role => (role, cell.type_word()),
    }
}

/// Checks what a cell needs of its file: an agent to answer it, or a name that nobody has.
fn check_still_fits(added: &AddedCell, draft: &Draft) -> Result<(), ItemError> {
    let document = draft.document();
    let cell = &added.cell;
    let get = |key: &str| {
        let found = cell.attributes.iter().find(|(name, _)| name == key);
        found.map(|(_, value)| value.as_str())
    };
    if cell.kind == CellKind::Message && cell.type_word == "agent" {
        return draft.check_new_agent(&analects_core::Agent {
            name: get("name").unwrap_or_default().to_string(),
            ..analects_core::Agent::default()
        });
    }
    if let Some(tool) = get("tool").filter(|_| cell.kind == CellKind::Message) {
        return check_new_tool(draft, tool, document);
    }
    match (cell.kind, &added.naming) {
        (CellKind::Message, _) => answerer(document, get("agent")).map(|_| ()),
        // A reply is its agent's.
        (CellKind::Output, Naming::Number) => answerer(document, Some(&cell.type_word)).map(|_| ()),
        _ => Ok(()),
    }
}

/// A tool may have several cells, all of them ours; but nobody else's.
fn check_new_tool(draft: &Draft, tool: &str, document: &Document) -> Result<(), ItemError> {
    let is_theirs = |found: &Tool| found.name == tool && draft.base.cell(&found.cell).is_some();
    if tools(document).iter().any(is_theirs) {
        return Err(ItemError::invalid(format!("the file already defines a tool {}", shown(tool))));
    }
    Ok(())
}

/// Whether the other side only added cells at the end, perhaps in the place of the one that was
/// ready there.
fn only_added(base: &Document, onto: &Document) -> bool {
    let end = base.ready_cell().map_or(base.source().len(), |ready| ready.span().start);
    if base.kind() != onto.kind() || !onto.source().starts_with(&base.source()[..end]) {
        return false;
    }
    let count = base.cells().len() - usize::from(base.ready_cell().is_some());
    let (old, new) = (base.scan.cells.get(..count), onto.scan.cells.get(..count));
    let same_spans = old.zip(new).is_some_and(|(old, new)| same_cells(old, new));
    let last = |document: &Document| {
        let cell = document.cells().nth(count.checked_sub(1)?)?;
        let pairs = cell.attributes().map(|(key, value)| (key.to_string(), value.to_string()));
        Some((pairs.collect::<Vec<_>>(), cell.content().into_owned()))
    };
    same_spans && last(base) == last(onto)
}
