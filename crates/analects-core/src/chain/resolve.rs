//! Resolves ids to positions: the parent of each message, the targets of tombstones, the summaries of boundaries. Each
//! pass visits every message once, whatever the input. The first pass takes messages one by one, so that the caller
//! need not hold them all.

use std::collections::HashMap;

use super::link::{Link, LinkEffect, LinkKind, LinkTable, NameId};
use crate::{History, Problem};

/// Stands for "no message" where positions are stored as `u32`, such as for the parent of a root.
pub(super) const NO_MESSAGE: u32 = u32::MAX;

/// How many characters of an id are shown. Foreign ids may have any length.
const MAX_SHOWN: usize = 80;

/// A problem with one message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The position of the message.
    pub at: usize,
    /// The problem.
    pub problem: Problem,
}

/// The links of a conversation, resolved to positions.
#[derive(Debug, Clone, Default)]
pub(super) struct ResolvedLinks {
    pub parents: Vec<u32>,
    pub hidden: Vec<bool>,
    /// For each message, whether its own `history` or its last revision excludes it.
    pub excluded: Vec<bool>,
    pub summaries: Vec<(usize, Option<usize>)>,
    pub findings: Vec<Finding>,
}

impl ResolvedLinks {
    fn report(&mut self, at: usize, problem: Problem) {
        self.findings.push(Finding { at, problem });
    }

    /// Cuts links between chains: every side chain has a root of its own.
    fn cut_other_chains(&mut self, links: &LinkTable) {
        for at in 0..links.len() {
            let parent = self.parents[at];
            if parent != NO_MESSAGE && links.agent(parent as usize) != links.agent(at) {
                self.parents[at] = NO_MESSAGE;
                let text = format!(
                    "message {} follows one of another chain",
                    links.display_name(at)
                );
                let hint = "it is read as the first of its own chain";
                self.report(at, Problem::warning("foreign-parent", text).hint(hint));
            }
        }
    }

    /// Cuts every cycle at its first message.
    fn cut_cycles(&mut self, links: &LinkTable) {
        // 0 is unvisited; any other value is the number of the walk that visited the message.
        let mut visited_by = vec![0_u32; links.len()];
        for start in 0..links.len() {
            let walk = u32::try_from(start + 1).unwrap_or(NO_MESSAGE);
            let mut at = start;
            while visited_by[at] == 0 {
                visited_by[at] = walk;
                if self.parents[at] == NO_MESSAGE {
                    break;
                }
                at = self.parents[at] as usize;
            }
            if visited_by[at] == walk && self.parents[at] != NO_MESSAGE {
                let first = self.first_of_cycle(at);
                self.parents[first] = NO_MESSAGE;
                let text = format!("message {} is its own ancestor", links.display_name(first));
                let hint = "the conversation starts at this message";
                self.report(first, Problem::error("parent-cycle", text).hint(hint));
            }
        }
    }

    fn first_of_cycle(&self, start: usize) -> usize {
        let mut first = start;
        let mut at = self.parents[start] as usize;
        while at != start {
            first = first.min(at);
            at = self.parents[at] as usize;
        }
        first
    }

    /// Attaches the children of progress messages to the nearest ancestor that is not a progress message.
    fn skip_progress(&mut self, links: &LinkTable) {
        let is_progress = |at: u32| links.is_progress(at as usize);
        for at in 0..links.len() {
            let stated = self.parents[at];
            let mut end = stated;
            while end != NO_MESSAGE && is_progress(end) {
                end = self.parents[end as usize];
            }
            // Shortens the walked path, so that no part of it is walked twice.
            let mut on_way = stated;
            while on_way != NO_MESSAGE && is_progress(on_way) {
                on_way = std::mem::replace(&mut self.parents[on_way as usize], end);
            }
            self.parents[at] = end;
            if stated != end && !links.is_progress(at) {
                let text = format!(
                    "message {} follows a progress message",
                    links.display_name(at)
                );
                let hint = "it is read as following what came before the progress";
                self.report(at, Problem::warning("progress-parent", text).hint(hint));
            }
        }
    }

    /// Hides the targets of tombstones, from the last tombstone on: a hidden tombstone has no effect, so hiding can be
    /// undone.
    fn hide(&mut self, tombstones: &[(usize, usize)]) {
        self.hidden = vec![false; self.parents.len()];
        for (at, target) in tombstones.iter().rev() {
            if !self.hidden[*at] {
                self.hidden[*target] = true;
            }
        }
    }
}

/// Resolves links one by one, in order. A repeated id refers to the nearest earlier message, as an author who wrote
/// line by line would have meant it, else to the first later one.
#[derive(Debug, Clone, Default)]
pub(super) struct LinkResolver {
    pub(super) links: LinkTable,
    /// The last message so far of each id, by the index of the id.
    latest: Vec<u32>,
    /// The messages whose parents are unknown so far.
    unresolved_parents: Vec<usize>,
    tombstones: Vec<(usize, usize)>,
    out: ResolvedLinks,
}

impl LinkResolver {
    /// Returns the last message so far with this id.
    pub(super) fn latest(&self, id: &str) -> Option<usize> {
        self.latest_of(self.links.names.get(id)?)
    }

    fn latest_of(&self, name: NameId) -> Option<usize> {
        let at = self
            .latest
            .get(name.place())
            .copied()
            .filter(|at| *at != NO_MESSAGE)?;
        Some(at as usize)
    }

    /// Adds a link and resolves its references to earlier messages.
    pub(super) fn push(&mut self, link: Link<'_>) {
        let at = self.links.len();
        let (id, parent) = self.links.push(&link);
        self.out.parents.push(NO_MESSAGE);
        self.out.excluded.push(link.is_excluded);
        if let Some(parent) = parent.filter(|_| link.parent != Some("")) {
            match self.latest_of(parent) {
                Some(found) => self.out.parents[at] = found as u32,
                None => self.unresolved_parents.push(at),
            }
        }
        self.resolve_target(at, &link.kind);
        if !link.id.is_empty() {
            self.set_latest(at, id, link.id);
        }
    }

    /// Resolves the message that a tombstone, a revision or a boundary refers to.
    fn resolve_target(&mut self, at: usize, kind: &LinkKind<'_>) {
        match *kind {
            LinkKind::Tombstone { target, .. } => match self.latest(target) {
                Some(found) => self.tombstones.push((at, found)),
                None => self.report_target(at, target, "tombstone", "it hides nothing"),
            },
            LinkKind::Revision { target, history } => match (self.latest(target), history) {
                (Some(found), Some(history)) => {
                    self.out.excluded[found] = history == History::Exclude;
                }
                (Some(_), None) => {}
                (None, _) => self.report_target(at, target, "revision", "it changes nothing"),
            },
            LinkKind::Boundary { summary, .. } => {
                let found = summary.and_then(|id| self.latest(id));
                self.out.summaries.push((at, found));
            }
            LinkKind::Speech
            | LinkKind::Summary
            | LinkKind::State
            | LinkKind::Progress
            | LinkKind::Unknown => {}
        }
    }

    /// Notes the position of an id, and reports an id that is repeated.
    fn set_latest(&mut self, at: usize, id: NameId, text: &str) {
        let position = u32::try_from(at).unwrap_or(NO_MESSAGE);
        if self.latest.len() < self.links.names.len() {
            self.latest.resize(self.links.names.len(), NO_MESSAGE);
        }
        let earlier = std::mem::replace(&mut self.latest[id.place()], position);
        if earlier != NO_MESSAGE {
            let text = format!("message id {} is used twice", display_name(text));
            let hint = "wherever the id is named, the nearest message before is meant";
            let problem = Problem::error("duplicate-message-id", text).hint(hint);
            self.out.report(at, problem);
        }
    }

    fn report_target(&mut self, at: usize, target: &str, kind: &str, hint: &'static str) {
        let text = format!(
            "there is no message {} before this {kind}",
            display_name(target)
        );
        self.out
            .report(at, Problem::warning("unknown-target", text).hint(hint));
    }

    /// Resolves the remaining references and returns the links with the result.
    pub(super) fn finish(mut self) -> (LinkTable, ResolvedLinks) {
        self.resolve_forward_references();
        let LinkResolver {
            links,
            mut out,
            tombstones,
            ..
        } = self;
        out.cut_other_chains(&links);
        out.cut_cycles(&links);
        out.skip_progress(&links);
        out.hide(&tombstones);
        out.findings.sort_by_key(|finding| finding.at);
        (links, out)
    }

    /// Resolves references to later messages, and to lost messages that a tombstone names with their parents.
    fn resolve_forward_references(&mut self) {
        let has_all_summaries = self.out.summaries.iter().all(|(_, found)| found.is_some());
        if self.unresolved_parents.is_empty() && has_all_summaries {
            return;
        }
        let links = &self.links;
        let first = first_positions(links);
        for (at, found) in &mut self.out.summaries {
            if found.is_none() {
                *found = stated_summary(links, *at, &first);
            }
        }
        let mut lost = LostMessages::new(links, &first);
        for at in std::mem::take(&mut self.unresolved_parents) {
            match links.stated_parent(at).and_then(|parent| lost.find(parent)) {
                Some(found) => self.out.parents[at] = found,
                None => {
                    let text = format!(
                        "the parent of message {} is not there",
                        links.display_name(at)
                    );
                    let hint = "the conversation starts at this message";
                    let problem = Problem::error("unknown-parent", text).hint(hint);
                    self.out.report(at, problem);
                }
            }
        }
    }
}

/// Returns the first position of each id, by the index of the id.
fn first_positions(links: &LinkTable) -> Vec<u32> {
    let mut first = vec![NO_MESSAGE; links.names.len()];
    for at in (0..links.len()).rev() {
        if let Some(id) = links.id(at).filter(|id| !links.names.text(*id).is_empty()) {
            first[id.place()] = u32::try_from(at).unwrap_or(NO_MESSAGE);
        }
    }
    first
}

/// Returns the position of the summary that a boundary names.
fn stated_summary(links: &LinkTable, boundary: usize, first: &[u32]) -> Option<usize> {
    let LinkKind::Boundary {
        summary: Some(id), ..
    } = links.get(boundary).kind
    else {
        return None;
    };
    let found = first[links.names.get(id)?.place()];
    (found != NO_MESSAGE).then_some(found as usize)
}

/// The parents of lost messages, as their tombstones state them.
struct LostMessages<'p> {
    /// The first position of each id.
    first: &'p [u32],
    parent_of: HashMap<NameId, Option<NameId>>,
    resolved: HashMap<NameId, Option<u32>>,
}

impl<'p> LostMessages<'p> {
    fn new(links: &LinkTable, first: &'p [u32]) -> LostMessages<'p> {
        let tombstones = links.effects().filter_map(|(_, effect)| {
            let LinkEffect::Tombstone {
                target,
                target_parent,
            } = effect
            else {
                return None;
            };
            Some((target, target_parent))
        });
        LostMessages {
            first,
            parent_of: tombstones.collect(),
            resolved: HashMap::new(),
        }
    }

    /// Returns the message with this id, or its nearest known ancestor. Every id is walked once.
    fn find(&mut self, id: NameId) -> Option<u32> {
        let mut walked = Vec::new();
        let mut next = Some(id);
        let found = loop {
            let Some(id) = next else { break None };
            let first = self.first[id.place()];
            if first != NO_MESSAGE {
                break Some(first);
            }
            if let Some(resolved) = self.resolved.get(&id) {
                break *resolved;
            }
            // An id on the current walk counts as not found, which ends a cycle.
            self.resolved.insert(id, None);
            walked.push(id);
            next = self.parent_of.get(&id).copied().flatten();
        };
        self.resolved
            .extend(walked.into_iter().map(|id| (id, found)));
        found
    }
}

/// Returns an id in the form that problems show.
pub(super) fn display_name(id: &str) -> String {
    match id.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", &id[..end]),
        None if id.is_empty() => "without an id".to_string(),
        None => id.to_string(),
    }
}
