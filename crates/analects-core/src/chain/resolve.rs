//! From names to positions: whom each message follows, what tombstones hide, where summaries are. Every
//! pass goes over the messages once, whatever they say. The first one takes them one by one, so that nobody has to
//! hold them.

use std::collections::HashMap;

use super::link::{Act, Link, LinkKind, Links, NameId};
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
#[derive(Debug, Clone, Default)]
pub(super) struct Resolved {
    pub parents: Vec<u32>,
    pub hidden: Vec<bool>,
    /// Whether each says that the model does not see it, or its last revision does.
    pub excluded: Vec<bool>,
    pub summaries: Vec<(usize, Option<usize>)>,
    pub findings: Vec<Finding>,
}

impl Resolved {
    fn report(&mut self, at: usize, problem: Problem) {
        self.findings.push(Finding { at, problem });
    }

    /// A side chain stands alone: it has a root of its own.
    fn cut_other_chains(&mut self, links: &Links) {
        for at in 0..links.len() {
            let parent = self.parents[at];
            if parent != NOBODY && links.agent(parent as usize) != links.agent(at) {
                self.parents[at] = NOBODY;
                let text = format!("message {} follows one of another chain", links.shown(at));
                let hint = "it is read as the first of its own chain";
                self.report(at, Problem::warning("foreign-parent", text).hint(hint));
            }
        }
    }

    /// Cuts every circle at its first message.
    fn cut_circles(&mut self, links: &Links) {
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
                let text = format!("message {} is its own ancestor", links.shown(first));
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
    fn skip_progress(&mut self, links: &Links) {
        let is_progress = |at: u32| links.is_progress(at as usize);
        for at in 0..links.len() {
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
            if stated != end && !links.is_progress(at) {
                let text = format!("message {} follows a progress message", links.shown(at));
                let hint = "it is read as following what came before the progress";
                self.report(at, Problem::warning("progress-parent", text).hint(hint));
            }
        }
    }

    /// Hides the targets of tombstones, from the last one on: a tombstone that is itself hidden no
    /// longer counts, so that hiding can be undone.
    fn hide(&mut self, tombstones: &[(usize, usize)]) {
        self.hidden = vec![false; self.parents.len()];
        for (at, target) in tombstones.iter().rev() {
            if !self.hidden[*at] {
                self.hidden[*target] = true;
            }
        }
    }
}

/// Takes the links of a conversation one by one, in their order. Of a repeated name, the nearest before the one that
/// says it is meant, as somebody who wrote line by line would have meant it; else the first behind.
#[derive(Debug, Clone, Default)]
pub(super) struct Resolver {
    pub(super) links: Links,
    /// The last message so far of each name, by the place of the name.
    latest: Vec<u32>,
    /// The messages whose parents nobody was so far.
    open: Vec<usize>,
    tombstones: Vec<(usize, usize)>,
    out: Resolved,
}

impl Resolver {
    /// The last message so far that has a name.
    pub(super) fn latest(&self, id: &str) -> Option<usize> {
        self.latest_of(self.links.names.get(id)?)
    }

    fn latest_of(&self, name: NameId) -> Option<usize> {
        let at = self
            .latest
            .get(name.place())
            .copied()
            .filter(|at| *at != NOBODY)?;
        Some(at as usize)
    }

    /// Resolves what a message says about earlier ones.
    pub(super) fn push(&mut self, link: Link<'_>) {
        let at = self.links.len();
        let (id, parent) = self.links.push(&link);
        self.out.parents.push(NOBODY);
        self.out.excluded.push(link.is_excluded);
        if let Some(parent) = parent.filter(|_| link.parent != Some("")) {
            match self.latest_of(parent) {
                Some(found) => self.out.parents[at] = found as u32,
                None => self.open.push(at),
            }
        }
        match link.kind {
            LinkKind::Tombstone { target, .. } => match self.latest(target) {
                Some(found) => self.tombstones.push((at, found)),
                None => self.report_target(at, target, "tombstone", "it hides nothing"),
            },
            LinkKind::Revision { target, history } => match self.latest(target) {
                Some(found) => {
                    if let Some(history) = history {
                        self.out.excluded[found] = history == History::Exclude;
                    }
                }
                None => self.report_target(at, target, "revision", "it changes nothing"),
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
        if link.id.is_empty() {
            return;
        }
        let position = u32::try_from(at).unwrap_or(NOBODY);
        if self.latest.len() < self.links.names.len() {
            self.latest.resize(self.links.names.len(), NOBODY);
        }
        if std::mem::replace(&mut self.latest[id.place()], position) != NOBODY {
            let text = format!("message id {} is used twice", name(link.id));
            let hint = "wherever the id is named, the nearest message before is meant";
            self.out
                .report(at, Problem::error("duplicate-message-id", text).hint(hint));
        }
    }

    fn report_target(&mut self, at: usize, target: &str, kind: &str, hint: &'static str) {
        let text = format!("there is no message {} before this {kind}", name(target));
        self.out
            .report(at, Problem::warning("unknown-target", text).hint(hint));
    }

    /// There are no more.
    pub(super) fn finish(mut self) -> (Links, Resolved) {
        self.look_ahead();
        let Resolver {
            links,
            mut out,
            tombstones,
            ..
        } = self;
        out.cut_other_chains(&links);
        out.cut_circles(&links);
        out.skip_progress(&links);
        out.hide(&tombstones);
        out.findings.sort_by_key(|finding| finding.at);
        (links, out)
    }

    /// Resolves the parents, and the summaries, that nobody had before: they may stand behind, or be
    /// lost but named by a tombstone, which says what came before them.
    fn look_ahead(&mut self) {
        if self.open.is_empty() && self.out.summaries.iter().all(|(_, found)| found.is_some()) {
            return;
        }
        let links = &self.links;
        let mut first = vec![NOBODY; links.names.len()];
        for at in (0..links.len()).rev() {
            if let Some(id) = links.id(at).filter(|id| !links.names.text(*id).is_empty()) {
                first[id.place()] = u32::try_from(at).unwrap_or(NOBODY);
            }
        }
        for (at, found) in &mut self.out.summaries {
            if let LinkKind::Boundary {
                summary: Some(id), ..
            } = links.get(*at).kind
            {
                let first = links
                    .names
                    .get(id)
                    .map_or(NOBODY, |name| first[name.place()]);
                *found = found.or_else(|| (first != NOBODY).then_some(first as usize));
            }
        }
        let mut lost = Lost::new(links, &first);
        for at in std::mem::take(&mut self.open) {
            match links.stated_parent(at).and_then(|parent| lost.find(parent)) {
                Some(found) => self.out.parents[at] = found,
                None => {
                    let text = format!("the parent of message {} is not there", links.shown(at));
                    let hint = "the conversation starts at this message";
                    self.out
                        .report(at, Problem::error("unknown-parent", text).hint(hint));
                }
            }
        }
    }
}

/// What came before messages that are lost, as their tombstones say.
struct Lost<'p> {
    /// The first message of each name.
    first: &'p [u32],
    before: HashMap<NameId, Option<NameId>>,
    known: HashMap<NameId, Option<u32>>,
}

impl<'p> Lost<'p> {
    fn new(links: &Links, first: &'p [u32]) -> Lost<'p> {
        let tombstones = links.acts().filter_map(|(_, act)| {
            let Act::Tombstone {
                target,
                target_parent,
            } = act
            else {
                return None;
            };
            Some((target, target_parent))
        });
        Lost {
            first,
            before: tombstones.collect(),
            known: HashMap::new(),
        }
    }

    /// The message of that name, or the one that came before it. Every name is walked once.
    fn find(&mut self, id: NameId) -> Option<u32> {
        let mut walked = Vec::new();
        let mut next = Some(id);
        let found = loop {
            let Some(id) = next else { break None };
            let first = self.first[id.place()];
            if first != NOBODY {
                break Some(first);
            }
            if let Some(known) = self.known.get(&id) {
                break *known;
            }
            // What is being walked counts as not found, which ends a circle.
            self.known.insert(id, None);
            walked.push(id);
            next = self.before.get(&id).copied().flatten();
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
