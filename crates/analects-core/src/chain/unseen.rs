//! What the model does not see of a conversation, message by message, and why.

use std::collections::HashSet;

use super::Tree;
use crate::{History, Message};

/// Why the model does not see a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unseen {
    /// Its `history` says so.
    Hidden,
    /// It is not on the branch that the conversation is on.
    Branch,
    /// It is in the side chain of an agent.
    SideChain,
    /// A tombstone removes it.
    TakenBack,
    /// It comes before a compaction, whose summary stands for it.
    Compacted,
    /// It only reports an error.
    Error,
}

impl Unseen {
    /// The word for it, in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Unseen::Hidden => "hidden",
            Unseen::Branch => "branch",
            Unseen::SideChain => "side chain",
            Unseen::TakenBack => "taken back",
            Unseen::Compacted => "compacted",
            Unseen::Error => "error",
        }
    }
}

/// For each message of a conversation, with its revisions applied, why the model does not see it; `None` where it does.
///
/// ```
/// use analects_core::{History, Message, Unseen, unseen};
///
/// let hidden = Message { history: History::Exclude, ..Message::user("1", "Hello") };
/// let answer = Message { parent_id: Some("1".into()), ..Message::assistant("2", "Hi") };
/// assert_eq!(unseen(&[hidden, answer]), [Some(Unseen::Hidden), None]);
/// ```
pub fn unseen(messages: &[Message]) -> Vec<Option<Unseen>> {
    let tree = Tree::of(messages);
    let leaf = tree.leaf(None);
    let way: HashSet<usize> = leaf.into_iter().flat_map(|leaf| tree.ancestors(leaf)).collect();
    let effective = leaf.map(|leaf| tree.effective(leaf)).unwrap_or_default();
    let seen: HashSet<usize> = effective.positions.into_iter().collect();
    let mut unseen = Vec::with_capacity(messages.len());
    for (at, message) in messages.iter().enumerate() {
        let is_error = message.is_api_error_message && message.why_not_sent().is_some();
        unseen.push(if message.agent_id.is_some() {
            Some(Unseen::SideChain)
        } else if message.history == History::Exclude {
            Some(Unseen::Hidden)
        } else if tree.is_hidden(at) {
            Some(Unseen::TakenBack)
        } else if !way.contains(&at) && !seen.contains(&at) {
            Some(Unseen::Branch)
        } else if !seen.contains(&at) {
            Some(Unseen::Compacted)
        } else {
            is_error.then_some(Unseen::Error)
        });
    }
    unseen
}
