//! What the model is to see of a conversation: the way to its last message, from the last compaction
//! on, without what was hidden.

use std::collections::HashSet;

use super::link::LinkKind;
use super::resolve::{Finding, name};
use super::tree::Tree;
use crate::Problem;

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

impl Tree<'_> {
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
        effective.positions.extend(self.shown(&path[boundary..], summary));
        effective
    }

    /// For a boundary that counts, its summary, or `None` inside if it cuts without one.
    fn counts(&self, at: usize, findings: &mut Vec<Finding>) -> Option<Option<usize>> {
        let LinkKind::Boundary { summary, is_separator, .. } = self.links[at].kind else {
            return None;
        };
        if self.hidden[at] {
            return None;
        }
        if is_separator && summary.is_none() {
            return Some(None);
        }
        let found = self.summary_of(at);
        let is_summary =
            |at: &usize| self.links[*at].kind == LinkKind::Summary && !self.hidden[*at];
        if let Some(summary) = found.filter(is_summary) {
            // Whoever hides the summary takes the compaction back.
            return (!self.excluded[summary]).then_some(Some(summary));
        }
        let text = format!("the summary of compaction {} is not there", name(self.links[at].id));
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
        let LinkKind::Boundary { kept_from: Some(id), .. } = self.links[boundary].kind else {
            return &[];
        };
        match before.iter().rposition(|at| self.links[*at].id == id) {
            Some(from) => &before[from..],
            None => {
                let text = format!("compaction keeps messages from {} on, not there", name(id));
                let hint = "only what follows the compaction is seen, after its summary";
                let problem = Problem::warning("unknown-kept-from", text).hint(hint);
                findings.push(Finding { at: boundary, problem });
                &[]
            }
        }
    }

    /// The summaries of the boundaries on a way.
    fn summaries_on(&self, path: &[usize]) -> HashSet<usize> {
        let is_boundary = |at: &&usize| matches!(self.links[**at].kind, LinkKind::Boundary { .. });
        let counting = path.iter().filter(is_boundary).filter(|at| !self.hidden[**at]);
        let named = counting.filter_map(|at| self.summary_of(*at));
        // What is no summary says nothing of what came before it, whoever names it.
        named.filter(|at| self.links[*at].kind == LinkKind::Summary).collect()
    }

    fn shown(&self, path: &[usize], summary: Option<usize>) -> Vec<usize> {
        let is_shown =
            |at: &usize| self.links[*at].is_shown() && !self.hidden[*at] && Some(*at) != summary;
        path.iter().copied().filter(is_shown).collect()
    }
}
