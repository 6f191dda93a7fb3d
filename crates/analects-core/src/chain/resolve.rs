//! From names to positions: whom each message follows, what tombstones hide, where summaries are. Every
//! pass goes over the messages once, whatever they say.

use std::collections::HashMap;

use super::link::{Link, LinkKind};
use crate::{History, Problem};

/// The parent of a root.
pub(super) const NOBODY: u32 = u32::MAX;

/// How many bytes of a name are shown; names from elsewhere may be of any length.
const SHOWN: usize = 80;

/// Something that is wrong with one message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The position of the message.
    pub at: usize,
    /// What is wrong.
    pub problem: Problem,
}

/// What the names of all messages come down to.
#[derive(Debug, Default)]
pub(super) struct Resolved {
    pub parents: Vec<u32>,
    pub hidden: Vec<bool>,
    /// Whether each says that the model does not see it, or its last revision does.
    pub excluded: Vec<bool>,
    pub summaries: Vec<(usize, Option<usize>)>,
    pub findings: Vec<Finding>,
}

/// Finds what all names mean. Of a repeated name, the nearest before the one that says it is meant, as
/// somebody who wrote line by line would have meant it; else the first behind.
pub(super) fn resolve(links: &[Link<'_>]) -> Resolved {
    let mut resolved = Resolved {
        parents: vec![NOBODY; links.len()],
        excluded: links.iter().map(|link| link.is_excluded).collect(),
        ..Resolved::default()
    };
    let mut pass = Pass { links, latest: HashMap::with_capacity(links.len()), out: &mut resolved };
    let mut open = Vec::new();
    let mut tombstones = Vec::new();
    for at in 0..links.len() {
        pass.meet(at, &mut open, &mut tombstones);
    }
    pass.look_ahead(&open);
    resolved.cut_other_chains(links);
    resolved.cut_circles(links);
    resolved.skip_progress(links);
    resolved.hide(links.len(), &tombstones);
    resolved.findings.sort_by_key(|finding| finding.at);
    resolved
}

impl Resolved {
    fn report(&mut self, at: usize, problem: Problem) {
        self.findings.push(Finding { at, problem });
    }

    /// A side chain stands alone: it has a root of its own.
    fn cut_other_chains(&mut self, links: &[Link<'_>]) {
        for (at, link) in links.iter().enumerate() {
            let parent = self.parents[at];
            if parent != NOBODY && links[parent as usize].agent != link.agent {
                self.parents[at] = NOBODY;
                let text = format!("message {} follows one of another chain", name(link.id));
                let hint = "it is read as the first of its own chain";
                self.report(at, Problem::warning("foreign-parent", text).hint(hint));
            }
        }
    }

    /// Cuts every circle at its first message.
    fn cut_circles(&mut self, links: &[Link<'_>]) {
        // 0: not seen; otherwise the number of the walk that came by.
        let mut walks = vec![0_u32; links.len()];
        for start in 0..links.len() {
            let walk = u32::try_from(start + 1).unwrap_or(NOBODY);
            let mut at = start;
            while walks[at] == 0 {
                walks[at] = walk;
                if self.parents[at] == NOBODY {
                    break;
                }
                at = self.parents[at] as usize;
            }
            if walks[at] == walk && self.parents[at] != NOBODY {
                let first = self.first_of_circle(at);
                self.parents[first] = NOBODY;
                let text = format!("message {} is its own ancestor", name(links[first].id));
                let hint = "the conversation starts at this message";
                self.report(first, Problem::error("parent-cycle", text).hint(hint));
            }
        }
    }

    fn first_of_circle(&self, start: usize) -> usize {
        let (mut first, mut at) = (start, self.parents[start] as usize);
        while at != start {
            first = first.min(at);
            at = self.parents[at] as usize;
        }
        first
    }

    /// Lets whoever follows progress follow what that progress followed.
    fn skip_progress(&mut self, links: &[Link<'_>]) {
        let is_progress = |at: u32| links[at as usize].kind == LinkKind::Progress;
        for (at, link) in links.iter().enumerate() {
            let stated = self.parents[at];
            let mut end = stated;
            while end != NOBODY && is_progress(end) {
                end = self.parents[end as usize];
            }
            // Whoever was on the way now knows its end, so that nobody walks it twice.
            let mut on_way = stated;
            while on_way != NOBODY && is_progress(on_way) {
                on_way = std::mem::replace(&mut self.parents[on_way as usize], end);
            }
            self.parents[at] = end;
            if stated != end && link.kind != LinkKind::Progress {
                let text = format!("message {} follows a progress message", name(link.id));
                let hint = "it is read as following what came before the progress";
                self.report(at, Problem::warning("progress-parent", text).hint(hint));
            }
        }
    }

    /// Hides the targets of tombstones, from the last one on: a tombstone that is itself hidden no
    /// longer counts, so that hiding can be undone.
    fn hide(&mut self, len: usize, tombstones: &[(usize, usize)]) {
        self.hidden = vec![false; len];
        for (at, target) in tombstones.iter().rev() {
            if !self.hidden[*at] {
                self.hidden[*target] = true;
            }
        }
    }
}

/// The pass over the messages in their order.
struct Pass<'p, 'a> {
    links: &'p [Link<'a>],
    /// The last message so far of each name.
    latest: HashMap<&'a str, u32>,
    out: &'p mut Resolved,
}

impl<'a> Pass<'_, 'a> {
    /// Resolves what a message says about earlier ones; `open` gets those whose names nobody had yet.
    fn meet(&mut self, at: usize, open: &mut Vec<usize>, tombstones: &mut Vec<(usize, usize)>) {
        let link = self.links[at];
        if let Some(parent) = link.parent.filter(|parent| !parent.is_empty()) {
            match self.latest.get(parent) {
                Some(found) => self.out.parents[at] = *found,
                None => open.push(at),
            }
        }
        match link.kind {
            LinkKind::Tombstone { target, .. } => match self.latest.get(target) {
                Some(found) => tombstones.push((at, *found as usize)),
                None => self.report_target(at, target, "tombstone", "it hides nothing"),
            },
            LinkKind::Revision { target, history } => match self.latest.get(target) {
                Some(found) => {
                    if let Some(history) = history {
                        self.out.excluded[*found as usize] = history == History::Exclude;
                    }
                }
                None => self.report_target(at, target, "revision", "it changes nothing"),
            },
            LinkKind::Boundary { summary, .. } => {
                let found = summary.and_then(|id| self.latest.get(id)).map(|at| *at as usize);
                self.out.summaries.push((at, found));
            }
            LinkKind::Speech
            | LinkKind::Summary
            | LinkKind::State
            | LinkKind::Progress
            | LinkKind::Unknown => {}
        }
        if link.id.is_empty() {
            return;
        }
        let position = u32::try_from(at).unwrap_or(NOBODY);
        if self.latest.insert(link.id, position).is_some() {
            let text = format!("message id {} is used twice", name(link.id));
            let hint = "wherever the id is named, the nearest message before is meant";
            self.out.report(at, Problem::error("duplicate-message-id", text).hint(hint));
        }
    }

    fn report_target(&mut self, at: usize, target: &str, kind: &str, hint: &'static str) {
        let text = format!("there is no message {} before this {kind}", name(target));
        self.out.report(at, Problem::warning("unknown-target", text).hint(hint));
    }

    /// Resolves the parents, and the summaries, that nobody had before: they may stand behind, or be
    /// lost but named by a tombstone, which says what came before them.
    fn look_ahead(&mut self, open: &[usize]) {
        if open.is_empty() && self.out.summaries.iter().all(|(_, found)| found.is_some()) {
            return;
        }
        let mut first: HashMap<&str, u32> = HashMap::new();
        for at in (0..self.links.len()).rev() {
            first.insert(self.links[at].id, u32::try_from(at).unwrap_or(NOBODY));
        }
        first.remove("");
        for (at, found) in &mut self.out.summaries {
            if let LinkKind::Boundary { summary: Some(id), .. } = self.links[*at].kind {
                *found = found.or_else(|| first.get(id).map(|at| *at as usize));
            }
        }
        let mut lost = Lost::new(self.links, &first);
        for at in open {
            let link = self.links[*at];
            match lost.find(link.parent.unwrap_or_default()) {
                Some(found) => self.out.parents[*at] = found,
                None => {
                    let text = format!("the parent of message {} is not there", name(link.id));
                    let hint = "the conversation starts at this message";
                    self.out.report(*at, Problem::error("unknown-parent", text).hint(hint));
                }
            }
        }
    }
}

/// What came before messages that are lost, as their tombstones say.
struct Lost<'p, 'a> {
    first: &'p HashMap<&'a str, u32>,
    before: HashMap<&'a str, Option<&'a str>>,
    known: HashMap<&'a str, Option<u32>>,
}

impl<'p, 'a> Lost<'p, 'a> {
    fn new(links: &[Link<'a>], first: &'p HashMap<&'a str, u32>) -> Lost<'p, 'a> {
        let tombstones = links.iter().filter_map(|link| {
            let LinkKind::Tombstone { target, target_parent } = link.kind else { return None };
            Some((target, target_parent))
        });
        Lost { first, before: tombstones.collect(), known: HashMap::new() }
    }

    /// The message of that name, or the one that came before it. Every name is walked once.
    fn find(&mut self, id: &'a str) -> Option<u32> {
        let mut walked = Vec::new();
        let mut next = Some(id);
        let found = loop {
            let Some(id) = next else { break None };
            if let Some(found) = self.first.get(id) {
                break Some(*found);
            }
            if let Some(known) = self.known.get(id) {
                break *known;
            }
            // What is being walked counts as not found, which ends a circle.
            self.known.insert(id, None);
            walked.push(id);
            next = self.before.get(id).copied().flatten();
        };
        self.known.extend(walked.into_iter().map(|id| (id, found)));
        found
    }
}

/// A name as it is shown.
pub(super) fn name(id: &str) -> String {
    match id.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &id[..end]),
        None if id.is_empty() => "without an id".to_string(),
        None => id.to_string(),
    }
}
