//! For each message of a conversation, the closest ancestor that comes before it in the records. A file from elsewhere
//! may put parents behind their children; walking up from each message would then take quadratic time.

use analects_core::Tree;

/// The closest earlier ancestor of each message.
#[derive(Debug)]
pub(super) struct EarlierAncestors(Vec<Option<u32>>);

impl EarlierAncestors {
    /// Computes all of them in almost linear time: from the last message to the first, each step skips ancestors that
    /// come later, and remembers where it got to.
    pub(super) fn of(tree: &Tree) -> EarlierAncestors {
        let mut earlier = vec![None; tree.len()];
        // The closest ancestor that is not known to come later than the message at hand.
        let mut skips = vec![None; tree.len()];
        let mut passed = Vec::new();
        for at in (0..tree.len()).rev() {
            let mut ancestor = tree.parent(at);
            while let Some(later) = ancestor.filter(|ancestor| *ancestor > at) {
                passed.push(later);
                ancestor = skips[later];
            }
            for later in passed.drain(..) {
                skips[later] = ancestor;
            }
            skips[at] = ancestor;
            earlier[at] = ancestor.and_then(|ancestor| u32::try_from(ancestor).ok());
        }
        EarlierAncestors(earlier)
    }

    /// The closest earlier ancestor of a message.
    pub(super) fn get(&self, at: usize) -> Option<usize> {
        self.0.get(at).copied().flatten().map(|at| at as usize)
    }
}

#[cfg(test)]
mod tests {
    use analects_core::Message;

    use super::*;

    /// A conversation in which message `at` follows message `parents[at]`, if there is one.
    fn tree(parents: &[usize]) -> Tree {
        let names: Vec<String> = (0..parents.len()).map(|at| format!("m{at}")).collect();
        let messages: Vec<Message> = parents
            .iter()
            .zip(&names)
            .map(|(parent, name)| Message {
                parent_id: names.get(*parent).map(|parent| parent.as_str().into()),
                ..Message::user(name.as_str(), "Hello")
            })
            .collect();
        Tree::of(&messages)
    }

    #[test]
    fn they_are_what_walking_up_finds() {
        // A generator of odd trees: each message follows another one anywhere.
        let mut state = 7_usize;
        for size in 1..60 {
            let mut parents = Vec::new();
            for _ in 0..size {
                state = state
                    .wrapping_mul(6364136223846793005)
                    .wrapping_add(1442695040888963407);
                parents.push((state >> 33) % (size + 1));
            }
            let tree = tree(&parents);
            let earlier = EarlierAncestors::of(&tree);
            for at in 0..size {
                let walked = tree.ancestors(at).skip(1).find(|ancestor| *ancestor < at);
                assert_eq!(earlier.get(at), walked, "{at} of {parents:?}");
            }
        }
    }
}
