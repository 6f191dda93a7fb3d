//! Which messages the model is to see, in order: the way from the newest message back to the first, as
//! far as the last compaction. The ways through all branches are those of a [`Tree`].

mod effective;
mod link;
mod pairs;
mod resolve;
mod tree;
mod turns;

pub use effective::{Effective, Unseen, unseen};
pub use link::{Link, LinkKind, NameId, NameTable};
pub use pairs::{Lack, Pairs, Said, Unpaired};
pub use resolve::Finding;
pub use tree::{Branch, Tree, TreeBuilder};

use crate::{Message, Problem};

/// The effective chain of a conversation.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Chain<'a> {
    /// The messages, oldest first: the summary of the last compaction before all others.
    pub messages: Vec<&'a Message>,
    /// The message that the next one follows. It need not be among the messages: it may be the
    /// boundary of a compaction.
    pub leaf: Option<&'a Message>,
    /// The boundary from which the messages are seen, if one counts.
    pub boundary: Option<&'a Message>,
    /// Broken links and what else was found on the way.
    pub problems: Vec<Problem>,
}

/// The messages of the main chain that the model is to see, up to the last one.
///
/// Progress is nobody's parent and no leaf. An unknown parent, a repeated id and a circle are
/// problems, and what can be read is read: the chain then starts where the link broke.
pub fn chain(messages: &[Message]) -> Chain<'_> {
    let tree = Tree::of(messages);
    chain_to(messages, &tree, tree.leaf(None))
}

/// The same for any chain and branch of a conversation, by the position of its last message.
pub fn chain_to<'a>(messages: &'a [Message], tree: &Tree, leaf: Option<usize>) -> Chain<'a> {
    let effective = leaf.map(|leaf| tree.effective(leaf)).unwrap_or_default();
    let findings = tree.findings().iter().chain(&effective.findings);
    Chain {
        messages: effective
            .positions
            .iter()
            .filter_map(|at| messages.get(*at))
            .collect(),
        leaf: leaf.and_then(|at| messages.get(at)),
        boundary: effective.boundary.and_then(|at| messages.get(at)),
        problems: findings.map(|finding| finding.problem.clone()).collect(),
    }
}

impl Chain<'_> {
    /// Calls without results, results without calls, and messages that say nothing.
    pub fn unpaired(&self) -> Vec<Unpaired> {
        let mut pairs = Pairs::default();
        for (at, message) in self.messages.iter().enumerate() {
            pairs.push(at, &Said::of(message));
        }
        pairs.finish()
    }
}
