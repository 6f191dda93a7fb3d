//! The part of a conversation that the model reads: the path to the last message, from the last compaction on, without
//! hidden messages. Also says why the model does not read the other messages.

use std::collections::HashSet;

use super::link::LinkKind;
use super::resolve::{Finding, display_name};
use super::tree::Tree;
use crate::{History, Message, Problem};

/// The effective chain, as positions of messages.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EffectiveChain {
    /// The messages in order. If there is a compaction, its summary comes first.
    pub positions: Vec<usize>,
    /// The boundary in effect.
    pub boundary: Option<usize>,
    /// Boundaries without effect, and why.
    pub findings: Vec<Finding>,
}

impl Tree {
    /// Returns what the model reads if the conversation ends with the message at `leaf`.
    pub fn effective(&self, leaf: usize) -> EffectiveChain {
        let path = self.path(leaf);
        let mut effective = EffectiveChain::default();
        let last = (0..path.len()).rev().find_map(|at| {
            let summary = self.effective_summary(path[at], &mut effective.findings)?;
            Some((at, summary))
        });
        let Some((at, summary)) = last else {
            effective.positions = self.visible(&path, None);
            return effective;
        };
        effective.boundary = Some(path[at]);
        effective.positions.extend(summary);
        let kept = self.kept_before(&path[..at], path[at], &mut effective.findings);
        let mut kept = self.visible(kept, summary);
        // The last summary includes those of earlier compactions.
        let earlier = self.summaries_on(&path[..at]);
        kept.retain(|at| !earlier.contains(at));
        effective.positions.extend(kept);
        effective
            .positions
            .extend(self.visible(&path[at..], summary));
        effective
    }

    /// Returns the summary of a boundary in effect; `Some(None)` for a separator, which cuts without a summary. Returns
    /// `None` if there is no boundary at this position, or it has no effect.
    fn effective_summary(&self, at: usize, findings: &mut Vec<Finding>) -> Option<Option<usize>> {
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
        if let Some(summary) = self.summary_of(at)
            && self.link(summary).kind == LinkKind::Summary
            && !self.is_hidden(summary)
        {
            // Hiding the summary undoes the compaction.
            return (!self.is_excluded(summary)).then_some(Some(summary));
        }
        let text = format!(
            "the summary of compaction {} is not there",
            display_name(self.link(at).id)
        );
        let hint = "the compaction is ignored, and everything before it is seen";
        let problem = Problem::error("boundary-without-summary", text).hint(hint);
        findings.push(Finding { at, problem });
        None
    }

    /// Returns the part of the path before a boundary that stays visible.
    fn kept_before<'p>(
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
        if let Some(from) = before.iter().rposition(|at| self.link(*at).id == id) {
            return &before[from..];
        }
        let text = format!(
            "compaction keeps messages from {} on, not there",
            display_name(id)
        );
        let hint = "only what follows the compaction is seen, after its summary";
        let problem = Problem::warning("unknown-kept-from", text).hint(hint);
        findings.push(Finding {
            at: boundary,
            problem,
        });
        &[]
    }

    /// Returns the summaries of all boundaries on a path.
    fn summaries_on(&self, path: &[usize]) -> HashSet<usize> {
        let mut summaries = HashSet::new();
        for at in path {
            let is_boundary = matches!(self.link(*at).kind, LinkKind::Boundary { .. });
            if !is_boundary || self.is_hidden(*at) {
                continue;
            }
            // A boundary may name a message that is no summary, and replaces nothing.
            let summary = self.summary_of(*at);
            summaries.extend(summary.filter(|at| self.link(*at).kind == LinkKind::Summary));
        }
        summaries
    }

    /// Returns the visible messages of a path, except for the summary.
    fn visible(&self, path: &[usize], summary: Option<usize>) -> Vec<usize> {
        path.iter()
            .copied()
            .filter(|at| self.link(*at).is_shown() && !self.is_hidden(*at) && Some(*at) != summary)
            .collect()
    }
}

/// Why the model does not read a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unseen {
    /// Its `history` excludes it.
    Hidden,
    /// It is on another branch.
    Branch,
    /// It is in an agent's side chain.
    SideChain,
    /// A tombstone hides it.
    TakenBack,
    /// A compaction's summary replaces it.
    Compacted,
    /// It only reports an error.
    Error,
}

impl Unseen {
    /// The word for it in JSON.
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

/// Returns for each message why the model does not read it; `None` if the model reads it. The messages must have their
/// revisions applied (see [`revised`](crate::verbs::revised)).
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
    let mut path = HashSet::new();
    let mut effective = HashSet::new();
    if let Some(leaf) = tree.leaf(None) {
        path.extend(tree.ancestors(leaf));
        effective.extend(tree.effective(leaf).positions);
    }
    let mut reasons = Vec::with_capacity(messages.len());
    for (at, message) in messages.iter().enumerate() {
        reasons.push(if message.agent_id.is_some() {
            Some(Unseen::SideChain)
        } else if message.history == History::Exclude {
            Some(Unseen::Hidden)
        } else if tree.is_hidden(at) {
            Some(Unseen::TakenBack)
        } else if effective.contains(&at) {
            let is_error = message.is_api_error_message && message.why_not_sent().is_some();
            is_error.then_some(Unseen::Error)
        } else if path.contains(&at) {
            Some(Unseen::Compacted)
        } else {
            Some(Unseen::Branch)
        });
    }
    reasons
}
