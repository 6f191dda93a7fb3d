//! What the model does not see of a file, cell by cell, and why: what people and programs are to know who look at
//! the cells and not at what is sent.

use std::collections::{HashMap, HashSet};

use analects_core::{History, Message, Tree};

use super::branch::is_rewind;
use super::choice::roles;
use super::choice::{Versions, shown, tops};
use super::messages::{placed_messages, side_places};
use super::{Cell, Document};

/// Whatever keeps a cell from the model is said by one of these words in the metadata of some cell, so where there is
/// none, all is seen. What holds JSON may say anything.
const SIGNS: [&str; 8] =
    ["history", "parent", "agent_id", "tombstone", "compact_boundary", "error", "json", "details"];

/// Why the model does not see a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unseen {
    /// Its `history` says so, or that of what it belongs to.
    Hidden,
    /// Something else is said in its place: the cell of that place, from 0.
    Edited(usize),
    /// It is not on the branch that the file goes on with.
    Branch,
    /// It is in the side chain of an agent.
    SideChain,
    /// A tombstone takes it back.
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
            Unseen::Edited(_) => "edited",
            Unseen::Branch => "branch",
            Unseen::SideChain => "side chain",
            Unseen::TakenBack => "taken back",
            Unseen::Compacted => "compacted",
            Unseen::Error => "error",
        }
    }
}

/// For each cell of a file that says something, why the model does not see it; nothing where it does, and for cells
/// that are no messages.
///
/// ```
/// use analects_formats::msgfile::{self, Unseen};
///
/// let file = "# %%\n\none\n\n# %% [^2]\n\n[^2]: [markdown] history=none\n\ntwo\n";
/// let document = msgfile::decode(file);
/// assert_eq!(msgfile::unseen(&document), [None, Some(Unseen::Hidden)]);
/// ```
pub fn unseen(document: &Document) -> Vec<Option<Unseen>> {
    // To find the branch, all messages are read; in most files there is no need for it.
    let has_sign = |cell: Cell<'_>| {
        SIGNS.iter().any(|sign| cell.attribute(sign).is_some() || cell.type_word() == *sign)
    };
    if !document.cells().any(has_sign) {
        return vec![None; document.cells().len()];
    }
    let (messages, places) = placed_messages(document);
    let of_messages = of_messages(&messages);
    let firsts: HashMap<usize, usize> =
        places.into_iter().enumerate().map(|(position, place)| (place, position)).collect();
    let (shown, versions) = (shown(document), Versions::of(document));
    let (tops, sides, roles) = (tops(document), side_places(document), roles(document));
    let edit = |at: usize| versions.edits(at).into_iter().rfind(|edit| shown[*edit]);
    let why = |at: usize| {
        // What is no first cell of a message is a part of one.
        let message = firsts.get(&at).or_else(|| firsts.get(&tops[at]))?;
        let why = of_messages[*message];
        if sides.contains(&at) {
            return Some(Unseen::SideChain);
        }
        match shown[at] && why != Some(Unseen::Hidden) {
            true => why,
            false => Some(edit(at).map_or(Unseen::Hidden, Unseen::Edited)),
        }
    };
    let cells = document.cells().zip(roles).enumerate();
    cells.map(|(at, (cell, role))| why(at).filter(|_| says_something(role, cell))).collect()
}

/// Whether a cell of that role says something that a model could read.
fn says_something(role: &str, cell: super::Cell<'_>) -> bool {
    match role {
        "agent_definition" | "details" | "progress" | "tombstone" | "compact_boundary" => false,
        _ => !is_rewind(cell),
    }
}

/// For each message of the main chain, why the model does not see it.
fn of_messages(messages: &[Message]) -> Vec<Option<Unseen>> {
    let tree = Tree::of(messages);
    let leaf = tree.leaf(None);
    let way: HashSet<usize> = leaf.into_iter().flat_map(|leaf| tree.ancestors(leaf)).collect();
    let effective = leaf.map(|leaf| tree.effective(leaf)).unwrap_or_default();
    let seen: HashSet<usize> = effective.positions.into_iter().collect();
    let why = |(at, message): (usize, &Message)| {
        if message.history == History::Exclude {
            Some(Unseen::Hidden)
        } else if tree.is_hidden(at) {
            Some(Unseen::TakenBack)
        } else if !way.contains(&at) && !seen.contains(&at) {
            Some(Unseen::Branch)
        } else if !seen.contains(&at) {
            Some(Unseen::Compacted)
        } else {
            let is_error = message.is_api_error_message && message.why_not_sent().is_some();
            is_error.then_some(Unseen::Error)
        }
    };
    messages.iter().enumerate().map(why).collect()
}

#[cfg(test)]
mod tests {
    //! What is marked is just what is not sent.

    use analects_core::chain;

    use super::*;
    use crate::msgfile::item::ItemError;
    use crate::msgfile::{
        decode, edit_text, hide, reveal, rewind, rewind_to_start, set_attributes,
    };

    const FILE: &str = "# %% [^1]\n[^1]: [markdown]\n\nweather?\n\n\
        # %%% [^2]\n[^2]: [coder]\n\nlet me see\n\n\
        # %%% [^2.aaa]\n[^2.aaa]: [tool] name=\"w\"\n\n<invoke name=\"w\"></invoke>\n\n\
        # %%% [^2.aaa.1]\n[^2.aaa.1]: [tool] status=\"success\"\n\nsun\n\n\
        # %% [^c]\n[^c]: [code]\n\n```python\n1\n```\n\n\
        # %%% [^c.1]\n[^c.1]: [python]\n\nstdout> 1\n\n\
        # %%% [^9]\n[^9]: [coder] error=1\n\nno\n\n\
        # %%% [^s]\n[^s]: [summary]\n\nThey talked.\n\n\
        # %%% [^b]\n[^b]: [compact_boundary] summary_id=s kept_from=c\n\n\
        # %%% [^x]\n[^x]: [coder] agent_id=side\n\nbeside\n\n\
        # %% [^5]\n[^5]: [markdown]\n\nand now?\n\n\
        # %%% [^6]\n[^6]: [coder]\n\nfine\n\n# %%\n";

    /// Compares the marks with what is sent of a document.
    fn check(document: &Document, what: &str) {
        let marks = unseen(document);
        let (messages, places) = placed_messages(document);
        let sent: HashSet<_> = chain(&messages)
            .messages
            .iter()
            .filter(|message| message.why_not_sent().is_none())
            .map(|message| message.id.clone())
            .collect();
        let roles = roles(document);
        for (message, place) in messages.iter().zip(places) {
            let cell = document.cells().nth(place).unwrap();
            if !says_something(roles[place], cell) {
                assert_eq!(marks[place], None, "{what}: cell {}", cell.name());
                continue;
            }
            let is_sent = sent.contains(&message.id);
            let (name, mark) = (cell.name(), marks[place]);
            assert_eq!(mark.is_none(), is_sent, "{what}: cell {name} {mark:?}");
        }
    }

    fn documents(document: &Document) -> Vec<(String, Document)> {
        let made = |source: Result<Vec<u8>, ItemError>| Some(document.with_source(source.ok()?));
        let mut all = Vec::new();
        let mut add = |what: String, found: Option<Document>| {
            all.extend(found.map(|found| (what, found)));
        };
        for at in 0..document.cells().len() {
            add(format!("rewind {at}"), made(rewind(document, at).map(|it| it.source)));
            add(format!("edit {at}"), made(edit_text(document, at, "else").map(|it| it.source)));
            for (what, changes) in [("hide", hide(document, at)), ("reveal", reveal(document, at))]
            {
                add(format!("{what} {at}"), made(set_attributes(document, &changes)));
            }
        }
        add("to start".to_string(), made(rewind_to_start(document).map(|it| it.source)));
        all
    }

    #[test]
    fn what_is_marked_is_just_what_is_not_sent() {
        let document = decode(FILE);
        check(&document, "the file");
        let once = documents(&document);
        assert!(once.len() > 40, "{}", once.len());
        for (nth, (what, after)) in once.into_iter().enumerate() {
            check(&after, &what);
            // Every third one is enough to meet each verb after each other.
            if nth % 3 != 0 {
                continue;
            }
            for (then, after) in documents(&after) {
                check(&after, &format!("{what}, {then}"));
            }
        }
    }
}
