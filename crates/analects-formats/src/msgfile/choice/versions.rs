//! The versions of a cell: whatever says something else in the place of another has its name as `edit_of`.

use std::collections::HashMap;

use crate::msgfile::{Cell, Document};

/// Which cells say something else in the place of which.
pub(in crate::msgfile) struct Versions {
    /// The cell that each edit replaces.
    old: HashMap<usize, usize>,
    /// The edits of each cell, in the order of the file.
    new: HashMap<usize, Vec<usize>>,
}

impl Versions {
    pub(in crate::msgfile) fn of(document: &Document) -> Versions {
        let mut versions = Versions { old: HashMap::new(), new: HashMap::new() };
        let mut ids: HashMap<&str, usize> = HashMap::new();
        for (id, at) in document.cells().filter_map(|cell| Some((cell.id()?, cell.at))) {
            // Of two cells of one id, the first is meant.
            ids.entry(id).or_insert(at);
        }
        for cell in document.cells() {
            let Some(name) = cell.attribute("edit_of") else { continue };
            let by_id = ids.get(name).copied();
            let old = by_id.or_else(|| document.cell(name).map(|old| old.at));
            // What is edited stands below its edit.
            if let Some(old) = old.filter(|old| *old > cell.at) {
                versions.old.insert(cell.at, old);
                versions.new.entry(old).or_default().push(cell.at);
            }
        }
        versions
    }

    /// Whether something was said in the place of a cell.
    fn is_edited(&self, at: usize) -> bool {
        self.new.contains_key(&at)
    }

    /// All that was said in the place of a cell, in the order of the file.
    pub(in crate::msgfile) fn edits(&self, at: usize) -> Vec<usize> {
        let (mut found, mut waiting) = (Vec::new(), vec![at]);
        while let Some(old) = waiting.pop() {
            let new = self.new.get(&old).map_or(&[][..], Vec::as_slice);
            found.extend(new);
            waiting.extend(new);
        }
        found.sort_unstable();
        found
    }

    /// All versions of a cell, in the order of the file.
    pub(in crate::msgfile) fn all(&self, at: usize) -> Vec<usize> {
        let mut first = at;
        // What is edited stands below, so this ends.
        while let Some(old) = self.old.get(&first) {
            first = *old;
        }
        // What is edited stands below its edits.
        self.edits(first).into_iter().chain([first]).collect()
    }

    /// The last of some versions that was not edited in turn.
    pub(super) fn newest(&self, versions: &[usize]) -> Option<usize> {
        versions.iter().rfind(|at| !self.is_edited(**at)).copied()
    }

    /// The version of a cell that another edit is to replace: itself if it is seen, or else the last edit, of those
    /// that are seen if any is.
    pub(in crate::msgfile) fn current(&self, at: usize, is_seen: impl Fn(usize) -> bool) -> usize {
        if is_seen(at) {
            return at;
        }
        let edits = self.edits(at);
        let seen = edits.iter().rfind(|edit| is_seen(**edit));
        seen.copied().or_else(|| self.newest(&edits)).unwrap_or(at)
    }
}

/// The cell that another one replaces. What is edited stands below its edit.
pub(in crate::msgfile) fn original(cell: Cell<'_>) -> Option<Cell<'_>> {
    let old = cell.document.cell(cell.attribute("edit_of")?)?;
    (old.at > cell.at).then_some(old)
}
