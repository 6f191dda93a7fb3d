//! The messages that the model reads, in order: the path from the newest message back to the first, or to the last
//! compaction. A [`Tree`] holds the paths through all branches.

mod effective;
mod link;
mod pairs;
mod resolve;
mod tree;
mod turns;

pub use effective::{EffectiveChain, Unseen, unseen};
pub use link::{Link, LinkKind, NameId, NameTable};
pub use pairs::{Lack, Pairs, Said, Unpaired};
pub use resolve::Finding;
pub use tree::{Branch, Tree, TreeBuilder};

use crate::{Message, Problem};

/// The effective chain of a conversation.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Chain<'a> {
    /// The messages, oldest first. The summary of the last compaction comes before all others.
    pub messages: Vec<&'a Message>,
    /// The message that the next one follows. It may be missing from `messages`, as the boundary of a compaction is.
    pub leaf: Option<&'a Message>,
    /// The boundary of the last compaction in effect, if any.
    pub boundary: Option<&'a Message>,
    /// Broken links and other problems on the way.
    pub problems: Vec<Problem>,
}

/// Returns the messages of the main chain that the model reads, up to the last one.
///
/// A progress message is neither a parent nor a leaf. An unknown parent, a repeated id and a cycle are problems, not
/// errors: the chain then starts where the link is broken.
///
/// ```
/// use analects_core::{Message, chain};
///
/// let question = Message::user("a", "Hello");
/// let answer = Message { parent_id: Some("a".into()), ..Message::assistant("b", "Hi") };
/// let messages = [question, answer];
/// assert_eq!(chain(&messages).turns().len(), 2);
/// ```
pub fn chain(messages: &[Message]) -> Chain<'_> {
    let tree = Tree::of(messages);
    chain_to(messages, &tree, tree.leaf(None))
}

/// Like [`chain`](chain()), for the branch that ends with the message at position `leaf`.
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
    /// Returns calls without results, results without calls, and empty messages.
    pub fn unpaired(&self) -> Vec<Unpaired> {
        let mut pairs = Pairs::default();
        for (at, message) in self.messages.iter().enumerate() {
            pairs.push(at, &Said::of(message));
        }
        pairs.finish()
    }
}
