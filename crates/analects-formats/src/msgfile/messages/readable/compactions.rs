//! Which compactions one summary cell can express with `through=`, so that the boundary needs no cell.

use std::collections::HashMap;

use analects_core::{LinkKind, Tree};

/// The compactions of a conversation that one summary cell can express.
#[derive(Debug, Default)]
pub(super) struct Compactions {
    /// The summary of each boundary.
    summaries: HashMap<usize, usize>,
    /// For each of these summaries, the first message that is kept, or the summary itself.
    kept_from: HashMap<usize, usize>,
}

impl Compactions {
    /// Finds the compactions whose boundary is right after or right before their summary, with no visible message
    /// between them.
    pub(super) fn of(tree: &Tree) -> Compactions {
        let mut found = Compactions::default();
        for boundary in 0..tree.len() {
            found.add(tree, boundary);
        }
        found
    }

    fn add(&mut self, tree: &Tree, boundary: usize) {
        let LinkKind::Boundary { kept_from, .. } = tree.link(boundary).kind else {
            return;
        };
        if tree.is_hidden(boundary) {
            return;
        }
        let Some(summary) = tree.summary_of(boundary) else {
            return;
        };
        let is_plain = are_neighbours(tree, boundary, summary)
            && tree.link(summary).kind == LinkKind::Summary
            && !tree.is_hidden(summary)
            && !self.kept_from.contains_key(&summary);
        if is_plain {
            let first = boundary.min(summary);
            let mut before = tree.ancestors(first).skip(1);
            let kept = kept_from.and_then(|id| before.find(|at| tree.link(*at).id == id));
            self.summaries.insert(boundary, summary);
            self.kept_from.insert(summary, kept.unwrap_or(summary));
        }
    }

    /// The summary whose cell also stands for the boundary at this position.
    pub(super) fn summary_of(&self, boundary: usize) -> Option<usize> {
        self.summaries.get(&boundary).copied()
    }

    /// The first message that is kept by the compaction with this summary, or the summary itself.
    pub(super) fn kept_from(&self, summary: usize) -> Option<usize> {
        self.kept_from.get(&summary).copied()
    }

    /// Forgets the compaction with this summary: its boundary gets a cell after all.
    pub(super) fn forget(&mut self, summary: usize) {
        self.summaries.retain(|_, other| *other != summary);
    }
}

/// Whether one of two messages follows the other with no visible message between them.
fn are_neighbours(tree: &Tree, boundary: usize, summary: usize) -> bool {
    let (first, second) = (boundary.min(summary), boundary.max(summary));
    let mut before = tree.ancestors(second).skip(1);
    before.find(|at| *at == first || tree.link(*at).is_shown()) == Some(first)
}
