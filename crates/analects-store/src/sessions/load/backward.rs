//! From the last record backward, from parent to parent, as far as the model sees, or as there is room.
//!
//! Once there is no more room, the way goes on for what is sent however much came after it: instructions, the summary
//! of a compaction, and the last words of the person.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use analects_core::{
    History, Json, Link, LinkKind, MessageId, Problem, Raw, SessionId, SessionState, StateChange,
};
use analects_formats::transcript::{Envelope, OwnedLink, read_line};

use super::limit::{LoadBudget, LoadLimit, begins_turn};
use super::record::{PathRecord, RecordPosition, RecordSource, RecordView};
use super::{LoadedChain, PositionedMessage, place, revisions_of, too_long, with_revisions};
use crate::StoreError;
use crate::sessions::{ChainName, ChainRow, Overview, TranscriptStore};

/// How much of a record has its names, if it is one of ours.
const BEGINNING: usize = 512;

/// Loads the effective chain that ends with a message, or with the last one; `None` if a link leads nowhere or
/// forward, which takes a look at everything.
pub(super) fn load(
    store: &dyn TranscriptStore,
    of: &ChainName,
    leaf: Option<&str>,
    reach: LoadLimit,
) -> Result<Option<LoadedChain>, StoreError> {
    let known = if reach == LoadLimit::UNLIMITED {
        Overview::default()
    } else {
        store.overview(of)?
    };
    let mut walk = BackwardLoader {
        known,
        room: LoadBudget::new(reach),
        ..BackwardLoader::new(of.agent.as_deref())
    };
    if let Some(leaf) = leaf {
        walk.wanted = SearchTarget::Id(leaf.to_string());
    }
    store.scan_backward(of, &mut |row| {
        walk.meet_row(row);
        if walk.is_complete() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    walk.finish(store, of)
}

/// What is looked for next.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum SearchTarget {
    /// The last message.
    #[default]
    Leaf,
    /// The message of this name.
    Id(String),
    /// Nobody: the root was met.
    Nothing,
}

impl SearchTarget {
    /// What a record follows.
    pub(super) fn parent_of(link: Link<'_>) -> SearchTarget {
        match link.parent.filter(|parent| !parent.is_empty()) {
            Some(parent) => SearchTarget::Id(parent.to_string()),
            None => SearchTarget::Nothing,
        }
    }
}

/// A compaction that counts if its summary is found.
#[derive(Debug)]
struct Boundary {
    /// How many steps come after it.
    at: usize,
    step: PathRecord,
    summary: Option<String>,
    kept_from: Option<String>,
}

/// A revision: of which message, and where.
#[derive(Debug)]
struct PendingRevision {
    target: String,
    place: RecordPosition,
    /// What it says, unless it was met when there was no more room.
    step: Option<PathRecord>,
}

/// The way back from the last record.
#[derive(Debug)]
pub(super) struct BackwardLoader<'w> {
    agent: Option<&'w str>,
    wanted: SearchTarget,
    /// Where the row is that was met last.
    at: u64,
    /// What is known of the records before a position.
    known: Overview,
    room: LoadBudget,
    /// Whether what the records say is kept.
    reads: bool,
    leaf: Option<MessageId>,
    /// How many records the way has so far, and how many of them say something and had no place.
    walked: usize,
    left_out: usize,
    /// Whether the last words of the person are among the steps.
    has_words: bool,
    /// What is kept of the way, the last message first.
    steps: Vec<PathRecord>,
    /// OwnedLink whose nearest record before is hidden.
    hidden: HashSet<String>,
    /// Revisions, the last one first, and whether the last of a message says that it is hidden.
    revisions: Vec<PendingRevision>,
    excluded: HashMap<String, bool>,
    boundary: Option<Boundary>,
    summary: Option<PathRecord>,
    /// How many steps come after those that are not kept before the boundary.
    kept: Option<usize>,
    /// OwnedLink whose nearest record before is the summary of an earlier compaction.
    earlier: HashSet<String>,
    /// Changes of state, the last one first, until the state as a whole was met, or is known.
    changes: Vec<StateChange>,
    has_state: bool,
    session: Option<SessionId>,
    problems: Vec<Problem>,
    /// Whether it takes a look at everything.
    is_lost: bool,
}

impl<'w> BackwardLoader<'w> {
    /// A way to the beginning.
    fn new(agent: Option<&'w str>) -> BackwardLoader<'w> {
        BackwardLoader {
            agent,
            wanted: SearchTarget::Leaf,
            at: u64::MAX,
            known: Overview::default(),
            room: LoadBudget::new(LoadLimit::UNLIMITED),
            reads: true,
            leaf: None,
            walked: 0,
            left_out: 0,
            has_words: false,
            steps: Vec::new(),
            hidden: HashSet::new(),
            revisions: Vec::new(),
            excluded: HashMap::new(),
            boundary: None,
            summary: None,
            kept: None,
            earlier: HashSet::new(),
            changes: Vec::new(),
            has_state: false,
            session: None,
            problems: Vec::new(),
            is_lost: false,
        }
    }

    /// The same for somebody who only wants to know what is on it.
    pub(super) fn unread(agent: Option<&'w str>) -> BackwardLoader<'w> {
        BackwardLoader {
            reads: false,
            has_state: true,
            ..BackwardLoader::new(agent)
        }
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
        let end = match &self.boundary {
            Some(boundary) if boundary.kept_from.is_none() => boundary.at,
            Some(_) => self.kept.unwrap_or(self.steps.len()),
            None => self.steps.len(),
        };
        let steps = self.steps[..end].iter().filter(|step| !step.is_earlier);
        steps
            .chain(&self.summary)
            .map(|step| step.place.of_record())
            .collect()
    }
}

impl BackwardLoader<'_> {
    pub(super) fn meet_row(&mut self, row: ChainRow<'_>) {
        self.at = row.at;
        self.has_state |= row.at < self.known.end;
        let Some(bytes) = row.bytes else {
            self.problems.push(too_long(row));
            if let Some(names) = row.long_names() {
                let place = RecordPosition {
                    row: row.at,
                    nth: None,
                };
                self.meet(&RecordView::new(names, place, RecordSource::TooLong, ""));
            }
            return;
        };
        if let Some(head) = self.head(bytes)
            && !head.needs_body()
        {
            self.meet_state(&head);
            let place = RecordPosition {
                row: row.at,
                nth: None,
            };
            self.meet(&RecordView::new(
                head.link(),
                place,
                RecordSource::Row(bytes),
                &head.type_name(),
            ));
            return;
        }
        let read = read_line(bytes);
        self.problems
            .extend(read.problems.into_iter().map(|problem| place(problem, row)));
        for (nth, message) in read.messages.iter().enumerate().rev() {
            if let Some(head) = Envelope::read(&message.to_json()) {
                self.meet_state(&head);
            }
            let place = RecordPosition {
                row: row.at,
                nth: Some(nth),
            };
            let names = OwnedLink::of(&Link::of(message));
            let source = RecordSource::Part(message);
            self.meet(&RecordView::new(
                names,
                place,
                source,
                message.body.type_name(),
            ));
        }
    }

    /// The head of a record. Of one that the way only passes, its beginning tells enough.
    fn head<'r>(&self, bytes: &'r [u8]) -> Option<Envelope<'r>> {
        if self.room.is_full() && self.has_words {
            let head = Envelope::read_beginning(&bytes[..bytes.len().min(BEGINNING)]);
            let is_said = matches!(&*head.type_name(), "user" | "assistant");
            if is_said && head.string("id").is_some() && head.string("parent_id").is_some() {
                return Some(head);
            }
        }
        std::str::from_utf8(bytes).ok().and_then(Envelope::read)
    }

    fn meet_state(&mut self, head: &Envelope<'_>) {
        if let Some(session) = head.string("session_id").filter(|id| !id.is_empty()) {
            self.session = Some(session.into_owned().into());
        }
        if self.has_state || head.type_name() != "state" {
            return;
        }
        let changes = head.json("state").and_then(|json| Raw::parse(json).ok());
        if let Some(changes) = changes.filter(|changes| changes.as_str().starts_with('{')) {
            let is_snapshot = head.json("snapshot") == Some("true");
            self.has_state |= is_snapshot;
            self.changes.push(StateChange {
                changes,
                is_snapshot,
            });
        }
    }

    /// The next record before.
    fn meet(&mut self, record: &RecordView<'_>) {
        let link = record.names.link();
        let is_hidden = !link.id.is_empty() && self.hidden.remove(link.id);
        let is_earlier = self.earlier.remove(link.id) && link.kind == LinkKind::Summary;
        if let (LinkKind::Tombstone { target, .. }, false) = (link.kind, is_hidden) {
            self.hidden.insert(target.to_string());
        }
        let revised = self
            .excluded
            .remove(link.id)
            .filter(|_| !link.id.is_empty());
        let is_excluded = revised.unwrap_or(link.is_excluded);
        if let (LinkKind::Revision { target, history }, false) = (link.kind, is_hidden) {
            if let Some(history) = history {
                let is_excluded = history == History::Exclude;
                self.excluded
                    .entry(target.to_string())
                    .or_insert(is_excluded);
            }
            let (target, place) = (target.to_string(), record.place);
            let step = (!self.room.is_full()).then(|| self.read(record, false));
            self.revisions.push(PendingRevision {
                target,
                place,
                step,
            });
        }
        self.meet_summary(record, is_hidden || is_excluded);
        let is_next = match &self.wanted {
            SearchTarget::Leaf => link.agent == self.agent && link.can_be_leaf(),
            SearchTarget::Id(id) => *id == link.id,
            SearchTarget::Nothing => false,
        };
        if is_next && !self.is_all_seen() {
            self.step(record, is_hidden, is_earlier);
        }
    }

    /// A record that is kept.
    fn read(&self, record: &RecordView<'_>, is_earlier: bool) -> PathRecord {
        let (message, problems) = if self.reads {
            record.read()
        } else {
            (None, Vec::new())
        };
        let is_summary = record.names.link().kind == LinkKind::Summary;
        PathRecord {
            place: record.place,
            message,
            problems,
            is_summary,
            is_earlier,
        }
    }

    /// Goes one step back.
    fn step(&mut self, record: &RecordView<'_>, is_hidden: bool, is_earlier: bool) {
        let link = record.names.link();
        if link.agent != self.agent {
            self.is_lost = true;
            return;
        }
        self.wanted = SearchTarget::parent_of(link);
        if link.kind == LinkKind::Progress {
            let text = "a message follows a progress message";
            let hint = "it is read as following what came before the progress";
            self.problems
                .push(Problem::warning("progress-parent", text).hint(hint));
            // A last record that says nothing does not count if it follows nobody after all.
            self.is_lost |=
                self.walked == 0 || (self.wanted == SearchTarget::Nothing && self.walked == 1);
            return;
        }
        self.walked += 1;
        self.leaf.get_or_insert_with(|| link.id.into());
        let can_say = !is_hidden && !matches!(record.source, RecordSource::TooLong);
        if can_say && link.is_shown() {
            self.keep(record, is_earlier);
        }
        let is_first_kept = self.kept.is_none()
            && self
                .boundary
                .as_ref()
                .is_some_and(|it| it.kept_from.as_deref() == Some(link.id));
        if is_first_kept {
            self.kept = Some(self.steps.len());
        }
        if let LinkKind::Boundary {
            summary,
            kept_from,
            is_separator,
        } = link.kind
            && can_say
        {
            let (summary, kept_from) = (summary.map(str::to_string), kept_from.map(str::to_string));
            if self.boundary.is_some() {
                self.earlier.extend(summary);
            } else {
                self.is_lost |= summary.is_none() && !is_separator;
                let (at, step) = (self.steps.len(), self.read(record, false));
                self.boundary = Some(Boundary {
                    at,
                    step,
                    summary,
                    kept_from,
                });
            }
        }
    }

    /// Keeps a record that says something, if there is room, or if it is sent whatever came after it.
    fn keep(&mut self, record: &RecordView<'_>, is_earlier: bool) {
        let at = record.place.row;
        let has_place = self.room.has_place(at);
        let may_speak = record.is_of_person && !self.has_words;
        if !has_place && !record.is_instruction && !may_speak {
            self.left_out += usize::from(self.keeps_on());
            return;
        }
        let step = self.read(record, is_earlier);
        let speaks = step.message.as_ref().is_some_and(begins_turn);
        if has_place {
            self.room.take(at, record.length(), step.message.as_ref());
        } else if !record.is_instruction && !speaks {
            self.left_out += usize::from(self.keeps_on());
            return;
        }
        self.has_words |= speaks;
        self.steps.push(step);
    }

    /// Whether what comes before is seen, too, as far as there is room.
    fn keeps_on(&self) -> bool {
        self.boundary
            .as_ref()
            .is_none_or(|boundary| boundary.kept_from.is_some())
    }

    /// The nearest record before a boundary that has the name of its summary: it is the summary, or the
    /// boundary does not count. Whether an earlier one does, only a look at everything can tell.
    fn meet_summary(&mut self, record: &RecordView<'_>, is_hidden: bool) {
        let Some(boundary) = self.boundary.as_ref().filter(|_| self.summary.is_none()) else {
            return;
        };
        let link = record.names.link();
        if boundary.summary.as_deref() != Some(link.id) {
            return;
        }
        if link.kind == LinkKind::Summary && !is_hidden {
            self.summary = Some(self.read(record, false));
        } else {
            self.is_lost = true;
        }
    }

    /// Whether everything that the model sees was met: the summary, and what is kept before it.
    fn is_all_seen(&self) -> bool {
        let Some(boundary) = &self.boundary else {
            return false;
        };
        let has_summary = boundary.summary.is_none() || self.summary.is_some();
        let has_kept = boundary.kept_from.is_none() || self.kept.is_some();
        has_summary && has_kept
    }

    /// Whether nothing before has to be met.
    fn is_complete(&self) -> bool {
        if self.is_lost {
            return true;
        }
        let is_root = self.wanted == SearchTarget::Nothing && self.boundary.is_none();
        let is_rest_known = self.at <= self.known.end;
        let is_rest_plain = is_rest_known
            && self.room.is_full()
            && self.has_words
            && self.boundary.is_none()
            && self
                .known
                .first_landmark
                .is_none_or(|first| self.at <= first);
        (self.has_state || is_rest_known) && (is_root || is_rest_plain || self.is_all_seen())
    }

    /// Whether the way goes on where nothing is sent of. At the beginning of the store, it leads nowhere or forward:
    /// where something may be that is sent.
    fn is_rest_left_out(&self) -> bool {
        let leads_back = self.at > 0 || self.known.first_landmark.is_none();
        leads_back && self.room.is_full() && self.has_words && self.boundary.is_none()
    }

    /// Puts together what was met; `None` if something is still looked for.
    fn finish(
        mut self,
        store: &dyn TranscriptStore,
        of: &ChainName,
    ) -> Result<Option<LoadedChain>, StoreError> {
        let is_found = match &self.wanted {
            SearchTarget::Leaf => true,
            SearchTarget::Id(_) => self.is_all_seen() || self.is_rest_left_out(),
            SearchTarget::Nothing => self.boundary.is_none() || self.is_all_seen(),
        };
        if !is_found || self.is_lost {
            return Ok(None);
        }
        let mut loaded = LoadedChain {
            leaf: self.leaf.take(),
            state: self.state(),
            earlier: self.earlier_bytes(),
            ..LoadedChain::default()
        };
        if let Some(boundary) = self.boundary.take() {
            self.problems.extend(boundary.step.problems);
            loaded.boundary = boundary.step.message;
            self.steps.truncate(self.kept.unwrap_or(boundary.at));
            let summary = self.summary.as_ref().map(|step| step.place);
            self.steps
                .retain(|step| Some(step.place) != summary && !step.is_earlier);
            // A summary that is kept may be one that a compaction further back names.
            if self
                .steps
                .iter()
                .skip(boundary.at)
                .any(|step| step.is_summary)
            {
                return Ok(None);
            }
        }
        let mut messages = Vec::new();
        let steps = std::mem::take(&mut self.steps).into_iter().rev();
        for step in self.summary.take().into_iter().chain(steps) {
            messages.extend(step.placed(&mut self.problems));
        }
        let revisions = self.revisions(&messages, store, of)?;
        loaded.messages = with_revisions(messages, revisions);
        loaded.problems = self.problems;
        Ok(Some(loaded))
    }

    /// How much of the store comes before what is loaded, though the way goes on there.
    fn earlier_bytes(&self) -> u64 {
        let goes_on = matches!(self.wanted, SearchTarget::Id(_)) && self.boundary.is_none();
        let has_more = self.room.is_full() && (self.left_out > 0 || goes_on);
        if has_more { self.room.start() } else { 0 }
    }

    /// The revisions of messages that are kept.
    fn revisions(
        &mut self,
        messages: &[PositionedMessage],
        store: &dyn TranscriptStore,
        of: &ChainName,
    ) -> Result<Vec<PositionedMessage>, StoreError> {
        let (mut revisions, mut unread) = (Vec::new(), Vec::new());
        for revision in std::mem::take(&mut self.revisions) {
            match revision.step {
                Some(step) => revisions.extend(step.placed(&mut self.problems)),
                None => unread.push((revision.target, revision.place.of_record())),
            }
        }
        revisions.extend(revisions_of(messages, &unread, store, of)?);
        Ok(revisions)
    }

    fn state(&mut self) -> SessionState {
        let mut rebuilding = std::mem::take(&mut self.known.state);
        if let Some(session) = &self.session {
            rebuilding.name(session);
        }
        for change in self.changes.drain(..).rev() {
            rebuilding.change(&change);
        }
        rebuilding.finish()
    }
}
