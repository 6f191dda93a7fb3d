//! What mends a transcript: a new file, with every record that can be placed in its place. Records are
//! never dropped; lines that are not in the new file as they were go to a second one.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use analects_core::{
    Body, Ids, Lack, Link, LinkKind, Message, MessageId, Raw, SessionId, Tombstone, ToolResult,
    Tree,
};
use jiff::Timestamp;

use super::check::{RecordFacts, unpaired};
use super::{encode_to, read_line};

/// The result of a call that has none.
const INTERRUPTED: &str = "The call was interrupted; there is no result.";

/// What is to be done to mend a file.
#[derive(Debug, Default)]
pub struct RepairPlan {
    /// What changes in a line, by its number.
    lines: BTreeMap<usize, LineChange>,
    /// What comes behind all lines.
    end: Vec<Message>,
}

#[derive(Debug, Default)]
struct LineChange {
    /// Of which records in the line, and what.
    records: BTreeMap<usize, LinkChange>,
    /// A record that is there already: the line is not needed.
    is_repeated: bool,
    /// Records that come behind it.
    after: Vec<Message>,
}

/// New names for a record and for those that it refers to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct LinkChange {
    id: Option<String>,
    /// `None` inside makes it a root.
    parent: Option<Option<String>>,
    target: Option<String>,
    summary: Option<String>,
    kept_from: Option<String>,
}

/// What becomes of a line.
#[derive(Debug, PartialEq, Eq)]
pub struct RepairedLine<'l> {
    /// What stands in its place in the new file: whole lines, or nothing.
    pub lines: Cow<'l, [u8]>,
    /// Whether the line as it was has to be kept beside the new file.
    pub is_aside: bool,
}

impl RepairPlan {
    /// What becomes of the line with this number, from 1.
    pub fn line<'l>(&self, number: usize, line: &'l [u8]) -> RepairedLine<'l> {
        let change = self.lines.get(&number);
        let read = read_line(line);
        let is_changed = change.is_some_and(|change| !change.records.is_empty());
        let is_repeated = change.is_some_and(|change| change.is_repeated);
        let is_aside = is_repeated || read.is_damaged || is_changed;
        let mut out = String::new();
        let mut kept: Cow<'l, [u8]> = Cow::Borrowed(&[]);
        if !is_aside {
            kept = Cow::Borrowed(line);
        } else if !is_repeated {
            for (nth, mut message) in read.messages.into_iter().enumerate() {
                if let Some(change) = change.and_then(|change| change.records.get(&nth)) {
                    change.apply(&mut message);
                }
                encode_to(&mut out, &message);
            }
        }
        for message in change.iter().flat_map(|change| &change.after) {
            encode_to(&mut out, message);
        }
        let lacks_end = !kept.is_empty() && !kept.ends_with(b"\n");
        if lacks_end {
            kept.to_mut().push(b'\n');
        }
        if !out.is_empty() {
            kept.to_mut().extend_from_slice(out.as_bytes());
        }
        RepairedLine {
            lines: kept,
            is_aside,
        }
    }

    /// What comes behind the last line.
    pub fn end(&self) -> String {
        let mut out = String::new();
        for message in &self.end {
            encode_to(&mut out, message);
        }
        out
    }

    pub(super) fn plan(
        notes: &[RecordFacts],
        session: &SessionId,
        ids: &mut dyn Ids,
        now: Timestamp,
    ) -> RepairPlan {
        let (changes, repeated) = (HashMap::new(), Vec::new());
        let mut planning = RepairPlanner {
            notes,
            session,
            ids,
            now,
            changes,
            repeated,
        };
        planning.name_anew();
        planning.link_anew();
        planning.finish()
    }
}

impl LinkChange {
    fn apply(&self, message: &mut Message) {
        let set = |name: &mut MessageId, new: &Option<String>| {
            if let Some(new) = new {
                *name = new.clone().into();
            }
        };
        let before = message.parent_id.clone();
        if let Some(parent) = &self.parent {
            message.parent_id = parent.clone().map(MessageId::from);
            // A line that two records ran into may name a parent twice: the first one would count again.
            message.unknown.remove("parent_id");
            if let Some(before) = before {
                message
                    .extra
                    .push("repaired_parent_id", Raw::string(&before));
            }
        }
        if self.id.is_some() && !message.id.is_empty() {
            message.extra.push("repaired_id", Raw::string(&message.id));
        }
        set(&mut message.id, &self.id);
        match &mut message.body {
            Body::Tombstone(body) => set(&mut body.target, &self.target),
            Body::Revision(body) => set(&mut body.target, &self.target),
            Body::CompactBoundary(body) => {
                body.summary_id
                    .iter_mut()
                    .for_each(|name| set(name, &self.summary));
                body.kept_from
                    .iter_mut()
                    .for_each(|name| set(name, &self.kept_from));
            }
            Body::System(_)
            | Body::User(_)
            | Body::Assistant(_)
            | Body::ToolUse(_)
            | Body::ToolResult(_)
            | Body::Progress(_)
            | Body::Attachment(_)
            | Body::Notification(_)
            | Body::Summary(_)
            | Body::State(_)
            | Body::Other(_) => {}
        }
    }
}

impl LinkChange {
    /// The link of a record with its new names.
    fn link<'c>(&'c self, note: &'c RecordFacts) -> Link<'c> {
        let link = note.names.link();
        let kind = match link.kind {
            LinkKind::Tombstone {
                target,
                target_parent,
            } => LinkKind::Tombstone {
                target: self.target.as_deref().unwrap_or(target),
                target_parent,
            },
            LinkKind::Revision { target, history } => LinkKind::Revision {
                target: self.target.as_deref().unwrap_or(target),
                history,
            },
            LinkKind::Boundary {
                summary,
                kept_from,
                is_separator,
            } => LinkKind::Boundary {
                summary: self.summary.as_deref().or(summary),
                kept_from: self.kept_from.as_deref().or(kept_from),
                is_separator,
            },
            kind @ (LinkKind::Speech
            | LinkKind::Summary
            | LinkKind::State
            | LinkKind::Progress
            | LinkKind::Unknown) => kind,
        };
        let parent = self.parent.as_ref().and_then(|parent| parent.as_deref());
        Link {
            id: self.id.as_deref().unwrap_or(link.id),
            parent,
            kind,
            ..link
        }
    }
}

struct RepairPlanner<'n, 'i> {
    notes: &'n [RecordFacts],
    session: &'n SessionId,
    ids: &'i mut dyn Ids,
    now: Timestamp,
    /// By the number of the record.
    changes: HashMap<usize, LinkChange>,
    /// Whether a record repeats the one before of its name.
    repeated: Vec<bool>,
}

impl RepairPlanner<'_, '_> {
    fn change(&mut self, at: usize) -> &mut LinkChange {
        self.changes.entry(at).or_default()
    }

    fn new_id(&self, at: usize) -> Option<String> {
        self.changes.get(&at).and_then(|change| change.id.clone())
    }

    /// The name that a record has in the new file.
    fn id(&self, at: usize) -> String {
        self.new_id(at)
            .unwrap_or_else(|| self.notes[at].names.link().id.to_string())
    }

    /// Gives a name to whoever has none, or one that is taken; whoever means that one says so.
    fn name_anew(&mut self) {
        let notes = self.notes;
        let mut latest: HashMap<&str, usize> = HashMap::with_capacity(notes.len());
        for (at, note) in notes.iter().enumerate() {
            let link = note.names.link();
            let new_name = |name: Option<&str>| {
                name.and_then(|name| latest.get(name))
                    .and_then(|at| self.new_id(*at))
            };
            let change = match link.kind {
                LinkKind::Tombstone { target, .. } | LinkKind::Revision { target, .. } => {
                    LinkChange {
                        target: new_name(Some(target)),
                        ..LinkChange::default()
                    }
                }
                LinkKind::Boundary {
                    summary, kept_from, ..
                } => LinkChange {
                    summary: new_name(summary),
                    kept_from: new_name(kept_from),
                    ..LinkChange::default()
                },
                LinkKind::Speech
                | LinkKind::Summary
                | LinkKind::State
                | LinkKind::Progress
                | LinkKind::Unknown => LinkChange::default(),
            };
            if change != LinkChange::default() {
                self.changes.insert(at, change);
            }
            let earlier = latest.get(link.id).copied();
            let is_same =
                |earlier: usize| note.print.is_some() && notes[earlier].print == note.print;
            let is_repeated = !link.id.is_empty() && earlier.is_some_and(is_same);
            self.repeated.push(is_repeated);
            if is_repeated {
                continue;
            }
            if link.id.is_empty() || earlier.is_some() {
                let id = self.ids.uuid(self.now);
                self.change(at).id = Some(id);
            }
            latest.insert(link.id, at);
        }
    }

    /// Gives a parent to whoever has lost it: the record before it in its chain, as it most probably was.
    fn link_anew(&mut self) {
        let notes = self.notes;
        // Of a record that is there twice the new file has one, and a circle of them no other link.
        let kept = self.kept();
        let tree = Tree::new(kept.iter().map(|at| notes[*at].names.link()).collect());
        let mut codes: HashMap<usize, &str> = HashMap::new();
        for finding in tree.findings() {
            let code = &*finding.problem.code;
            if [
                "unknown-parent",
                "parent-cycle",
                "foreign-parent",
                "progress-parent",
            ]
            .contains(&code)
            {
                codes.entry(finding.at).or_insert(code);
            }
        }
        let mut groups = RecordGroups::of(&tree);
        let mut before: HashMap<Option<&str>, usize> = HashMap::new();
        for (place, at) in kept.iter().copied().enumerate() {
            let link = notes[at].names.link();
            let parent = match codes.get(&place) {
                Some(&"unknown-parent" | &"parent-cycle") => {
                    let before = before.get(&link.agent).copied();
                    before.filter(|before| groups.join(place, *before))
                }
                _ => tree.parent(place),
            };
            let name = parent.map(|parent| self.id(kept[parent]));
            let is_progress = link.kind == LinkKind::Progress;
            // Progress may follow other progress, which is nobody's parent; but it goes along with a new name.
            let is_renamed = parent.is_some_and(|parent| {
                let is_named = Some(notes[kept[parent]].names.link().id) == link.parent;
                is_named && self.new_id(kept[parent]).is_some()
            });
            let is_moved = !is_progress && parent.is_some() && name.as_deref() != link.parent;
            if codes.contains_key(&place) || is_renamed || is_moved {
                self.change(at).parent = Some(name);
            }
            if !is_progress {
                before.insert(link.agent, place);
            }
        }
    }

    /// The records that are not there already.
    fn kept(&self) -> Vec<usize> {
        (0..self.notes.len())
            .filter(|at| !self.repeated[*at])
            .collect()
    }

    /// Puts the changes to their lines, and adds what conversations lack.
    fn finish(mut self) -> RepairPlan {
        let mut repair = RepairPlan::default();
        self.add_missing(&mut repair);
        for (at, change) in self.changes.drain() {
            let note = &self.notes[at];
            repair
                .lines
                .entry(note.line)
                .or_default()
                .records
                .insert(note.nth, change);
        }
        for (_, note) in self
            .notes
            .iter()
            .enumerate()
            .filter(|(at, _)| self.repeated[*at])
        {
            let line = repair.lines.entry(note.line).or_default();
            line.is_repeated = true;
            line.records.clear();
        }
        repair
    }

    /// Adds results that calls lack, and tombstones on what nobody can use.
    fn add_missing(&mut self, repair: &mut RepairPlan) {
        let kept = self.kept();
        let names: Vec<LinkChange> = kept.iter().map(|at| self.mended(*at)).collect();
        let links = kept
            .iter()
            .zip(&names)
            .map(|(at, names)| names.link(&self.notes[*at]));
        let tree = Tree::new(links.collect());
        let said = |at: usize| &self.notes[kept[at]].said;
        let leaves = tree.chain_leaves().into_iter();
        let found: Vec<ChainGaps> = leaves
            .map(|leaf| ChainGaps::of(&tree, leaf, said))
            .collect();
        for lacking in found {
            self.add_results(&lacking, &kept, repair);
            self.add_tombstones(&lacking, &kept, repair);
        }
    }

    fn parent_name(&self, at: usize) -> Option<String> {
        let changed = self
            .changes
            .get(&at)
            .and_then(|change| change.parent.clone());
        changed.unwrap_or_else(|| self.notes[at].names.link().parent.map(str::to_string))
    }

    /// The names of a record, and of its parent, as the new file has them.
    fn mended(&self, at: usize) -> LinkChange {
        let change = self.changes.get(&at).cloned().unwrap_or_default();
        LinkChange {
            id: Some(self.id(at)),
            parent: Some(self.parent_name(at)),
            ..change
        }
    }

    fn add_results(&mut self, lacking: &ChainGaps, kept: &[usize], repair: &mut RepairPlan) {
        // The last record that was added behind each call, which the next one follows.
        let mut ends: HashMap<usize, String> = HashMap::new();
        for (at, call, _) in &lacking.calls {
            let note = &self.notes[kept[*at]];
            let parent = ends.get(at).cloned().unwrap_or_else(|| self.id(kept[*at]));
            let result = ToolResult {
                tool_use_id: call.clone(),
                content: INTERRUPTED.into(),
                is_error: Some(true),
                ..ToolResult::default()
            };
            let message = self.new_message(
                note,
                parent,
                Body::ToolResult(result),
                "call-without-result",
            );
            ends.insert(*at, message.id.to_string());
            repair
                .lines
                .entry(note.line)
                .or_default()
                .after
                .push(message);
        }
        for (at, _, next) in &lacking.calls {
            if let (Some(next), Some(end)) = (next, ends.get(at)) {
                self.change(kept[*next]).parent = Some(Some(end.clone()));
            }
        }
    }

    fn add_tombstones(&mut self, lacking: &ChainGaps, kept: &[usize], repair: &mut RepairPlan) {
        // What was added behind the leaf is the leaf now.
        let leaf = &self.notes[kept[lacking.leaf]];
        let added = repair
            .lines
            .get(&leaf.line)
            .and_then(|line| line.after.last());
        let own = added.filter(|_| lacking.calls.iter().any(|(at, ..)| *at == lacking.leaf));
        let mut parent = own.map_or_else(|| self.id(kept[lacking.leaf]), |own| own.id.to_string());
        for (at, code) in &lacking.useless {
            let note = &self.notes[kept[*at]];
            let target_parent = self.parent_name(kept[*at]).map(MessageId::from);
            let body = Tombstone {
                target: self.id(kept[*at]).into(),
                target_parent,
            };
            let message = self.new_message(note, parent, Body::Tombstone(body), code);
            parent = message.id.to_string();
            repair.end.push(message);
        }
    }

    fn new_message(
        &mut self,
        note: &RecordFacts,
        parent: String,
        body: Body,
        code: &str,
    ) -> Message {
        let mut message = Message::new(self.ids.uuid(self.now), body);
        message.parent_id = Some(parent.into());
        message.session_id = self.session.clone();
        message.agent_id = note.names.link().agent.map(str::to_string);
        message.created_at = Some(self.now);
        message.extra.push("repaired", Raw::string(code));
        message
    }
}

/// What one chain lacks.
struct ChainGaps {
    leaf: usize,
    /// Calls without results: where, which, and who follows on the way to the leaf.
    calls: Vec<(usize, String, Option<usize>)>,
    /// What is hidden from now on, and why.
    useless: Vec<(usize, &'static str)>,
}

impl ChainGaps {
    fn of<'s>(
        tree: &Tree,
        leaf: usize,
        said: impl Fn(usize) -> &'s analects_core::Said,
    ) -> ChainGaps {
        let path = tree.path(leaf);
        let next: HashMap<usize, usize> = path.windows(2).map(|step| (step[0], step[1])).collect();
        let mut lacking = ChainGaps {
            leaf,
            calls: Vec::new(),
            useless: Vec::new(),
        };
        let boundaries = tree.effective(leaf).findings.into_iter();
        let boundaries =
            boundaries.filter(|found| found.problem.code == "boundary-without-summary");
        lacking
            .useless
            .extend(boundaries.map(|found| (found.at, "boundary-without-summary")));
        let mut orphans: HashMap<usize, usize> = HashMap::new();
        for found in unpaired(tree, leaf, &said) {
            let at = found.at;
            match found.what {
                Lack::Result(id) => lacking.calls.push((at, id, next.get(&at).copied())),
                Lack::Content => lacking.useless.push((at, "empty-content")),
                Lack::Call(_) => *orphans.entry(at).or_default() += 1,
            }
        }
        // A message that brings other things as well is not hidden; the result in it is just not sent.
        let only =
            |at: usize, count: usize| said(at).is_only_results && said(at).results.len() == count;
        let mut orphans: Vec<(usize, usize)> = orphans.into_iter().collect();
        orphans.sort_unstable();
        let hidden = orphans.into_iter().filter(|(at, count)| only(*at, *count));
        lacking
            .useless
            .extend(hidden.map(|(at, _)| (at, "result-without-call")));
        lacking
    }
}

/// Which records hang together, so that no new link closes a circle.
struct RecordGroups {
    above: Vec<usize>,
}

impl RecordGroups {
    fn of(tree: &Tree) -> RecordGroups {
        let mut groups = RecordGroups {
            above: (0..tree.len()).collect(),
        };
        for at in 0..tree.len() {
            if let Some(parent) = tree.parent(at) {
                groups.join(at, parent);
            }
        }
        groups
    }

    fn top(&mut self, at: usize) -> usize {
        let mut top = at;
        while self.above[top] != top {
            // Halves the way for whoever comes next.
            self.above[top] = self.above[self.above[top]];
            top = self.above[top];
        }
        top
    }

    /// Joins the groups of two; `false` if they hung together already.
    fn join(&mut self, one: usize, other: usize) -> bool {
        let (one, other) = (self.top(one), self.top(other));
        self.above[one] = other;
        one != other
    }
}
