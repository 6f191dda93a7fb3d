//! The branch that a file goes on with, message by message. It is read as what is sent is read, so that whoever
//! asks what was said last hears nothing of other branches, of side chains, and of what is hidden.

use analects_core::{History, LinkKind, Message, Tree};

use super::messages::placed_messages;
use super::{Cell, Document};

/// A message of a file, and where it is.
#[derive(Debug, Clone)]
pub struct Step<'a> {
    /// Its first cell.
    pub cell: Cell<'a>,
    /// What it says.
    pub message: Message,
}

/// The messages of the branch that a file goes on with, the last one first: those that are not hidden, also where
/// a summary stands for them, and the boundaries of compactions.
///
/// ```
/// use analects_formats::msgfile;
///
/// let file = "# %%\n\none\n\n# %% [^2]\n\n[^2]: [markdown] history=none\n\ntwo\n\n# %%\n\nthree\n";
/// let document = msgfile::decode(file);
/// let texts = msgfile::current_branch(&document).into_iter().map(|step| step.message.text());
/// assert_eq!(texts.collect::<Vec<_>>(), ["three", "one"]);
/// ```
pub fn current_branch(document: &Document) -> Vec<Step<'_>> {
    let (messages, places) = placed_messages(document);
    let tree = Tree::of(&messages);
    let is_there = |at: &usize| {
        let link = tree.link(*at);
        // A boundary does what it does whether or not it is seen.
        let is_boundary = matches!(link.kind, LinkKind::Boundary { .. });
        let is_seen = link.is_shown() && messages[*at].history != History::Exclude;
        (is_seen || is_boundary) && !tree.is_hidden(*at)
    };
    let way = tree.leaf(None).into_iter().flat_map(|leaf| tree.ancestors(leaf));
    let way: Vec<usize> = way.filter(is_there).collect();
    let mut messages: Vec<Option<Message>> = messages.into_iter().map(Some).collect();
    let step = |at: usize| {
        let message = messages[at].take()?;
        Some(Step { cell: Cell { document, at: places[at] }, message })
    };
    way.into_iter().filter_map(step).collect()
}
