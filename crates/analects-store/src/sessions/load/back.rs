//! From the last record backward, from parent to parent, as far as the model sees.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use analects_core::{
    History, Json, Link, LinkKind, Message, MessageId, Problem, Raw, Rebuilding, SessionId,
    StateChange,
};
use analects_formats::transcript::{Envelope, Names, read_line};

use super::{Loaded, Placed, place, too_long, with_revisions};
use crate::StoreError;
use crate::sessions::{ChainName, Row, TranscriptStore};

/// Loads the effective chain; `None` if a link leads nowhere or forward, which takes a look at everything.
pub(super) fn load(
    store: &dyn TranscriptStore,
    of: &ChainName,
) -> Result<Option<Loaded>, StoreError> {
    let mut walk = Walk::new(of.agent.as_deref());
    store.scan_back(of, &mut |row| {
        walk.meet_row(row);
        if walk.is_complete() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(walk.finish())
}

/// Where a record is: its row, and which of the records in it, or `None` if it is alone there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    row: u64,
    nth: Option<usize>,
}

/// A record on the way.
#[derive(Debug)]
struct Step {
    names: Names,
    /// The record, if it is to be seen, or the boundary from which on.
    text: Option<Box<[u8]>>,
    place: Place,
    /// Whether it is the summary of an earlier compaction, of which the last one's says what it says.
    is_earlier: bool,
}

/// What is looked for next.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum Wanted {
    /// The last message.
    #[default]
    Leaf,
    /// The message of this name.
    Parent(String),
    /// Nobody: the root was met.
    Nothing,
}

impl Wanted {
    /// What a record follows.
    pub(super) fn parent_of(link: Link<'_>) -> Wanted {
        match link.parent.filter(|parent| !parent.is_empty()) {
            Some(parent) => Wanted::Parent(parent.to_string()),
            None => Wanted::Nothing,
        }
    }
}

/// A compaction that counts if its summary is found.
#[derive(Debug)]
struct Boundary {
    /// Its step.
    at: usize,
    summary: Option<String>,
    kept_from: Option<String>,
}

/// The way back from the last record.
#[derive(Debug, Default)]
pub(super) struct Walk<'w> {
    agent: Option<&'w str>,
    wanted: Wanted,
    /// The way, the last message first.
    steps: Vec<Step>,
    /// Names whose nearest record before is hidden.
    hidden: HashSet<String>,
    /// Revisions, the last one first, and whether the last of a message says that it is hidden.
    revisions: Vec<Step>,
    excluded: HashMap<String, bool>,
    boundary: Option<Boundary>,
    summary: Option<Step>,
    /// The step from which on messages are kept before the boundary.
    kept_from: Option<usize>,
    /// Names whose nearest record before is the summary of an earlier compaction.
    earlier: HashSet<String>,
    /// Changes of state, the last one first, until the state as a whole was met.
    changes: Vec<StateChange>,
    has_snapshot: bool,
    session: Option<SessionId>,
    problems: Vec<Problem>,
    /// Whether it takes a look at everything.
    is_lost: bool,
}

impl<'w> Walk<'w> {
    pub(super) fn new(agent: Option<&'w str>) -> Walk<'w> {
        Walk { agent, ..Walk::default() }
    }

    /// Whether the nearest record before that has this name is hidden.
    pub(super) fn hides(&self, id: &str) -> bool {
        self.hidden.contains(id)
    }

    /// Whether it takes a look at everything.
    pub(super) fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// The places of what the model sees, as far as the way went: the row, and which of the records in it.
    pub(super) fn seen(&self) -> HashSet<(u64, usize)> {
        let is_seen = |(at, step): &(usize, &Step)| {
            let is_kept = match &self.boundary {
                Some(boundary) if *at >= boundary.at => {
                    let is_within = self.kept_from.is_none_or(|kept| *at <= kept);
                    *at > boundary.at && boundary.kept_from.is_some() && is_within
                }
                _ => true,
            };
            is_kept && !step.is_earlier && step.text.is_some()
        };
        let steps = self.steps.iter().enumerate().filter(is_seen).map(|(_, step)| step);
        let places = steps.chain(&self.summary).map(|step| step.place);
        places.map(|place| (place.row, place.nth.unwrap_or(0))).collect()
    }
}

impl Walk<'_> {
    pub(super) fn meet_row(&mut self, row: Row<'_>) {
        let Some(bytes) = row.bytes else {
            self.problems.push(too_long(row));
            if let Some(names) = row.long_names() {
                self.meet(names, None, Place { row: row.at, nth: None });
            }
            return;
        };
        let text = std::str::from_utf8(bytes).ok();
        if let Some(head) = text.and_then(Envelope::read)
            && !head.needs_body()
        {
            let names = head.names();
            self.meet_state(&head);
            self.meet(names, Some(bytes), Place { row: row.at, nth: None });
            return;
        }
        let read = read_line(bytes);
        self.problems.extend(read.problems.into_iter().map(|problem| place(problem, row)));
        for (nth, message) in read.messages.iter().enumerate().rev() {
            if let Some(head) = Envelope::read(&message.to_json()) {
                self.meet_state(&head);
            }
            let place = Place { row: row.at, nth: Some(nth) };
            self.meet(Names::of(&Link::of(message)), Some(bytes), place);
        }
    }

    fn meet_state(&mut self, head: &Envelope<'_>) {
        if let Some(session) = head.string("session_id").filter(|id| !id.is_empty()) {
            self.session = Some(session.into_owned().into());
        }
        if self.has_snapshot || head.type_name() != "state" {
            return;
        }
        let changes = head.json("state").and_then(|json| Raw::parse(json).ok());
        if let Some(changes) = changes.filter(|changes| changes.as_str().starts_with('{')) {
            let is_snapshot = head.json("snapshot") == Some("true");
            self.has_snapshot |= is_snapshot;
            self.changes.push(StateChange { changes, is_snapshot });
        }
    }

    /// The next record before; its bytes, unless these are too many to be read.
    fn meet(&mut self, names: Names, bytes: Option<&[u8]>, place: Place) {
        let link = names.link();
        let is_hidden = !link.id.is_empty() && self.hidden.remove(link.id);
        let is_earlier = self.earlier.remove(link.id) && link.kind == LinkKind::Summary;
        if let (LinkKind::Tombstone { target, .. }, false) = (link.kind, is_hidden) {
            self.hidden.insert(target.to_string());
        }
        let revised = self.excluded.remove(link.id).filter(|_| !link.id.is_empty());
        let is_excluded = revised.unwrap_or(link.is_excluded);
        if let (LinkKind::Revision { target, history }, false) = (link.kind, is_hidden) {
            if let Some(history) = history {
                let is_excluded = history == History::Exclude;
                self.excluded.entry(target.to_string()).or_insert(is_excluded);
            }
            let (names, text) = (names.clone(), bytes.map(Box::from));
            self.revisions.push(Step { names, text, place, is_earlier: false });
        }
        self.meet_summary(&names, bytes, place, is_hidden || is_excluded);
        let is_next = match &self.wanted {
            Wanted::Leaf => link.agent == self.agent && link.can_be_leaf(),
            Wanted::Parent(id) => *id == link.id,
            Wanted::Nothing => false,
        };
        if is_next && !self.is_all_seen() {
            let text = bytes.filter(|_| !is_hidden).map(Box::from);
            self.step(Step { names, text, place, is_earlier });
        }
    }

    /// Goes one step back. A record without text is hidden.
    fn step(&mut self, mut step: Step) {
        let link = step.names.link();
        if link.agent != self.agent {
            self.is_lost = true;
            return;
        }
        self.wanted = Wanted::parent_of(link);
        if link.kind == LinkKind::Progress {
            let text = "a message follows a progress message";
            let hint = "it is read as following what came before the progress";
            self.problems.push(Problem::warning("progress-parent", text).hint(hint));
            // A last record that says nothing does not count if it follows nobody after all.
            self.is_lost |= self.wanted == Wanted::Nothing && self.steps.len() == 1;
            return;
        }
        let at = self.steps.len();
        if let Some(boundary) = &self.boundary
            && self.kept_from.is_none()
            && boundary.kept_from.as_deref() == Some(link.id)
        {
            self.kept_from = Some(at);
        }
        if let LinkKind::Boundary { summary, kept_from, is_separator } = link.kind
            && step.text.is_some()
        {
            let (summary, kept_from) = (summary.map(str::to_string), kept_from.map(str::to_string));
            if self.boundary.is_some() {
                self.earlier.extend(summary);
            } else {
                self.is_lost |= summary.is_none() && !is_separator;
                self.boundary = Some(Boundary { at, summary, kept_from });
            }
        }
        let is_boundary = self.boundary.as_ref().is_some_and(|boundary| boundary.at == at);
        step.text = step.text.filter(|_| is_boundary || link.is_shown());
        self.steps.push(step);
    }

    /// The nearest record before a boundary that has the name of its summary: it is the summary, or the
    /// boundary does not count. Whether an earlier one does, only a look at everything can tell.
    fn meet_summary(&mut self, names: &Names, bytes: Option<&[u8]>, place: Place, is_hidden: bool) {
        let Some(boundary) = self.boundary.as_ref().filter(|_| self.summary.is_none()) else {
            return;
        };
        let link = names.link();
        if boundary.summary.as_deref() != Some(link.id) {
            return;
        }
        if link.kind == LinkKind::Summary && !is_hidden {
            let text = bytes.map(Box::from);
            let names = names.clone();
            self.summary = Some(Step { names, text, place, is_earlier: false });
        } else {
            self.is_lost = true;
        }
    }

    /// Whether everything that the model sees was met: the summary, and what is kept before it.
    fn is_all_seen(&self) -> bool {
        let Some(boundary) = &self.boundary else { return false };
        let has_summary = boundary.summary.is_none() || self.summary.is_some();
        let has_kept = boundary.kept_from.is_none() || self.kept_from.is_some();
        has_summary && has_kept
    }

    fn is_complete(&self) -> bool {
        if self.is_lost {
            return true;
        }
        let is_root = self.wanted == Wanted::Nothing && self.boundary.is_none();
        self.has_snapshot && (is_root || self.is_all_seen())
    }

    /// Puts together what was met; `None` if something is still looked for.
    fn finish(mut self) -> Option<Loaded> {
        let is_found = match &self.wanted {
            Wanted::Leaf => true,
            Wanted::Parent(_) => self.is_all_seen(),
            Wanted::Nothing => self.boundary.is_none() || self.is_all_seen(),
        };
        if !is_found || self.is_lost {
            return None;
        }
        let mut loaded = Loaded {
            leaf: self.steps.first().map(|step| MessageId::from(step.names.link().id)),
            state: self.state(),
            ..Loaded::default()
        };
        if let Some(boundary) = self.boundary.take() {
            let step = &mut self.steps[boundary.at];
            loaded.boundary = step.read(&mut self.problems);
            step.text = None;
            self.steps.truncate(self.kept_from.map_or(boundary.at, |kept| kept + 1));
            let summary = self.summary.as_ref().map(|step| step.place);
            self.steps.retain(|step| Some(step.place) != summary && !step.is_earlier);
            // A summary that is kept may be one that a compaction further back names.
            let mut kept = self.steps.iter().skip(boundary.at).filter(|step| step.text.is_some());
            if kept.any(|step| step.names.link().kind == LinkKind::Summary) {
                return None;
            }
        }
        let mut messages = Vec::new();
        let steps = self.summary.iter().chain(self.steps.iter().rev());
        for step in steps {
            messages.extend(step.read_placed(&mut self.problems));
        }
        let mut revisions = Vec::new();
        for step in &self.revisions {
            revisions.extend(step.read_placed(&mut self.problems));
        }
        loaded.messages = with_revisions(messages, revisions);
        loaded.problems = self.problems;
        Some(loaded)
    }

    fn state(&mut self) -> analects_core::SessionState {
        let mut rebuilding = Rebuilding::default();
        if let Some(session) = &self.session {
            rebuilding.name(session);
        }
        for change in self.changes.drain(..).rev() {
            rebuilding.change(&change);
        }
        rebuilding.finish()
    }
}

impl Step {
    fn read_placed(&self, problems: &mut Vec<Problem>) -> Option<Placed> {
        let place = (self.place.row, self.place.nth.unwrap_or(0));
        Some((place, self.read(problems)?))
    }

    fn read(&self, problems: &mut Vec<Problem>) -> Option<Message> {
        let read = read_line(self.text.as_deref()?);
        // Those of a damaged row were told when it was met.
        if self.place.nth.is_none() {
            problems.extend(read.problems);
        }
        read.messages.into_iter().nth(self.place.nth.unwrap_or(0))
    }
}
