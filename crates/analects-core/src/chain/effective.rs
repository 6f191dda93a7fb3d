//! What the model is to see of a conversation: the way to its last message, from the last compaction
//! on, without what was hidden; and of all other messages, why it does not see them.

use std::collections::HashSet;

use super::link::LinkKind;
use super::resolve::{Finding, name};
use super::tree::Tree;
use crate::{History, Message, Problem};

/// The effective chain, by positions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Effective {
    /// The messages in order: the summary of the last boundary first, if there is one.
    pub positions: Vec<usize>,
    /// The boundary that counts.
    pub boundary: Option<usize>,
    /// Boundaries that do not count, and why.
    pub findings: Vec<Finding>,
}

impl Tree {
    /// What the model is to see if the conversation ends with the message at `leaf`.
    pub fn effective(&self, leaf: usize) -> Effective {
        let path = self.path(leaf);
        let mut effective = Effective::default();
        let last = (0..path.len()).rev().find_map(|at| {
            let summary = self.counts(path[at], &mut effective.findings)?;
            Some((at, summary))
        });
        let Some((boundary, summary)) = last else {
            effective.positions = self.shown(&path, None);
            return effective;
        };
        effective.boundary = Some(path[boundary]);
        effective.positions.extend(summary);
        let kept = self.kept(&path[..boundary], path[boundary], &mut effective.findings);
        let mut kept = self.shown(kept, summary);
        // What the summary of an earlier compaction says is in that of the last one.
        let earlier = self.summaries_on(&path[..boundary]);
        kept.retain(|at| !earlier.contains(at));
        effective.positions.extend(kept);
        effective
            .positions
            .extend(self.shown(&path[boundary..], summary));
        effective
    }

    /// For a boundary that counts, its summary, or `None` inside if it cuts without one.
    fn counts(&self, at: usize, findings: &mut Vec<Finding>) -> Option<Option<usize>> {
        let LinkKind::Boundary {
            summary,
            is_separator,
            ..
        } = self.link(at).kind
        else {
            return None;
        };
        if self.is_hidden(at) {
            return None;
        }
        if is_separator && summary.is_none() {
            return Some(None);
        }
        let found = self.summary_of(at);
        let is_summary =
            |at: &usize| self.link(*at).kind == LinkKind::Summary && !self.is_hidden(*at);
        if let Some(summary) = found.filter(is_summary) {
            // Whoever hides the summary takes the compaction back.
            return (!self.is_excluded(summary)).then_some(Some(summary));
        }
        let text = format!(
            "the summary of compaction {} is not there",
            name(self.link(at).id)
        );
        let hint = "the compaction is ignored, and everything before it is seen";
        let problem = Problem::error("boundary-without-summary", text).hint(hint);
        findings.push(Finding { at, problem });
        None
    }

    /// The part of the way before a boundary that stays visible.
    fn kept<'p>(
        &self,
        before: &'p [usize],
        boundary: usize,
        findings: &mut Vec<Finding>,
    ) -> &'p [usize] {
        let LinkKind::Boundary {
            kept_from: Some(id),
            ..
        } = self.link(boundary).kind
        else {
            return &[];
        };
        match before.iter().rposition(|at| self.link(*at).id == id) {
            Some(from) => &before[from..],
            None => {
                let text = format!("compaction keeps messages from {} on, not there", name(id));
                let hint = "only what follows the compaction is seen, after its summary";
                let problem = Problem::warning("unknown-kept-from", text).hint(hint);
                findings.push(Finding {
                    at: boundary,
                    problem,
                });
                &[]
            }
        }
    }

    /// The summaries of the boundaries on a way.
    fn summaries_on(&self, path: &[usize]) -> HashSet<usize> {
        let is_boundary = |at: &&usize| matches!(self.link(**at).kind, LinkKind::Boundary { .. });
        let counting = path
            .iter()
            .filter(is_boundary)
            .filter(|at| !self.is_hidden(**at));
        let named = counting.filter_map(|at| self.summary_of(*at));
        // What is no summary says nothing of what came before it, whoever names it.
        named
            .filter(|at| self.link(*at).kind == LinkKind::Summary)
            .collect()
    }

    fn shown(&self, path: &[usize], summary: Option<usize>) -> Vec<usize> {
        let is_shown =
            |at: &usize| self.link(*at).is_shown() && !self.is_hidden(*at) && Some(*at) != summary;
        path.iter().copied().filter(is_shown).collect()
    }
}

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
    let way: HashSet<usize> = leaf
        .into_iter()
        .flat_map(|leaf| tree.ancestors(leaf))
        .collect();
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
