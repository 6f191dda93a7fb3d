//! Groups of records that are connected by their links, so that a repair does not link them in a circle.

use analects_core::Tree;

/// Groups of connected records. A union-find structure.
pub(crate) struct RecordGroups {
    /// The record above each record in its group. The top of a group points to itself.
    above: Vec<usize>,
}

impl RecordGroups {
    /// Groups the records of a tree by their links.
    pub(crate) fn of(tree: &Tree) -> RecordGroups {
        let mut groups = RecordGroups {
            above: (0..tree.len()).collect(),
        };
        for at in 0..tree.len() {
            if let Some(parent) = tree.parent(at) {
                groups.join(at, parent);
            }
        }
        groups
    }

    /// Returns the record that stands for the whole group.
    fn top(&mut self, at: usize) -> usize {
        let mut top = at;
        while self.above[top] != top {
            // Halve the path for the next search.
            self.above[top] = self.above[self.above[top]];
            top = self.above[top];
        }
        top
    }

    /// Joins the groups of two records. Returns `false` if they are in the same group already.
    pub(crate) fn join(&mut self, one: usize, other: usize) -> bool {
        let one = self.top(one);
        let other = self.top(other);
        self.above[one] = other;
        one != other
    }
}
