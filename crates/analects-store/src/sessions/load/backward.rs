//! Loading backward: from the last record to its parent, and so on, as far as the model sees, or until the limit is
//! reached.
//!
//! After the limit, the path is still followed for messages that are always sent: instructions, the summary of a
//! compaction, and the last text of the person.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use analects_core::{
    History, Json, Link, LinkKind, MessageId, Problem, Raw, SessionId, SessionState, StateChange,
};
use analects_formats::transcript::{Envelope, OwnedLink, read_line};

use super::limit::{LoadBudget, LoadLimit, begins_turn};
use super::record::{PathRecord, RecordSource, RecordView};
use super::{
    LoadedChain, PositionedMessage, RevisionLink, apply_revisions, locate, read_revisions_of,
    too_long,
};
use crate::StoreError;
use crate::sessions::{ChainName, ChainRow, Overview, RecordPosition, TranscriptStore};

/// The number of bytes of a record that contain its link, if we wrote it.
const BEGINNING: usize = 512;

/// Loads the effective chain that ends with `leaf`, or with the last message. Returns `None` if a link is broken or leads
/// forward, which needs a full scan.
pub(super) fn load(
    store: &dyn TranscriptStore,
    of: &ChainName,
    leaf: Option<&str>,
    limit: LoadLimit,
) -> Result<Option<LoadedChain>, StoreError> {
    let overview = if limit == LoadLimit::UNLIMITED {
        Overview::default()
    } else {
        store.overview(of)?
    };
    let mut loader = BackwardLoader {
        overview,
        budget: LoadBudget::new(limit),
        ..BackwardLoader::new(of.agent.as_deref())
    };
    if let Some(leaf) = leaf {
        loader.target = SearchTarget::Id(leaf.to_string());
    }
    store.scan_backward(of, &mut |row| {
        loader.add_row(row);
        if loader.is_complete() {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    })?;
    loader.finish(store, of)
}

/// The next record on the path to the root.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum SearchTarget {
    /// The last message of the chain.
    #[default]
    Leaf,
    /// The record with this id.
    Id(String),
    /// None: the path is at its root.
    Nothing,
}

impl SearchTarget {
    /// Returns the parent of a record.
    pub(super) fn parent_of(link: Link<'_>) -> SearchTarget {
        match link.parent.filter(|parent| !parent.is_empty()) {
            Some(parent) => SearchTarget::Id(parent.to_string()),
            None => SearchTarget::Nothing,
        }
    }

    /// Returns whether a record is the target, in the chain of an agent.
    pub(super) fn matches(&self, link: &Link<'_>, agent: Option<&str>) -> bool {
        match self {
            SearchTarget::Leaf => link.agent == agent && link.can_be_leaf(),
            SearchTarget::Id(id) => *id == link.id,
            SearchTarget::Nothing => false,
        }
    }
}

/// A boundary of a compaction. It counts only if its summary is found.
#[derive(Debug)]
struct Boundary {
    /// The number of kept path records after it.
    at: usize,
    /// The boundary itself.
    record: PathRecord,
    /// The id of the summary.
    summary: Option<String>,
    /// The id of the first record before the boundary that stays visible.
    kept_from: Option<String>,
}

/// A revision that the loader met.
#[derive(Debug)]
struct PendingRevision {
    link: RevisionLink,
    /// The revision itself; `None` if the budget was exhausted when the loader met it.
    record: Option<PathRecord>,
}

/// Follows the path from the last record to the root.
#[derive(Debug)]
pub(super) struct BackwardLoader<'w> {
    /// The agent of the chain; `None` for the main chain.
    agent: Option<&'w str>,
    /// The record that the loader looks for.
    target: SearchTarget,
    /// The offset of the last row that the loader met.
    at: u64,
    /// The overview of the records before some offset.
    overview: Overview,
    /// The remaining budget for messages.
    budget: LoadBudget,
    /// Whether the loader reads messages, and not only links.
    reads_messages: bool,
    /// The last record of the path.
    leaf: Option<MessageId>,
    /// The number of records on the path so far.
    path_length: usize,
    /// The number of visible records on the path that did not fit.
    left_out: usize,
    /// Whether the last text of the person is on the kept path.
    has_user_text: bool,
    /// The kept records of the path, last one first.
    path: Vec<PathRecord>,
    /// The ids whose nearest earlier record is hidden by a tombstone.
    hidden: HashSet<String>,
    /// The revisions, last one first.
    revisions: Vec<PendingRevision>,
    /// For each revised id, whether its last revision excludes it.
    excluded: HashMap<String, bool>,
    /// The last boundary on the path.
    boundary: Option<Boundary>,
    /// The summary of that boundary.
    summary: Option<PathRecord>,
    /// The number of kept path records up to the first one that stays visible before the boundary.
    visible_count: Option<usize>,
    /// The ids whose nearest earlier record is the summary of an earlier compaction.
    earlier_summaries: HashSet<String>,
    /// The changes of the state, last one first, back to a snapshot or to the end of the overview.
    changes: Vec<StateChange>,
    /// Whether the changes are complete.
    has_state: bool,
    /// The id of the session according to the first record that has one.
    session: Option<SessionId>,
    problems: Vec<Problem>,
    /// Whether a link is broken or leads forward.
    needs_full_scan: bool,
}

impl<'w> BackwardLoader<'w> {
    /// Creates a loader without a limit.
    fn new(agent: Option<&'w str>) -> BackwardLoader<'w> {
        BackwardLoader {
            agent,
            target: SearchTarget::Leaf,
            at: u64::MAX,
            overview: Overview::default(),
            budget: LoadBudget::new(LoadLimit::UNLIMITED),
            reads_messages: true,
            leaf: None,
            path_length: 0,
            left_out: 0,
            has_user_text: false,
            path: Vec::new(),
            hidden: HashSet::new(),
            revisions: Vec::new(),
            excluded: HashMap::new(),
            boundary: None,
            summary: None,
            visible_count: None,
            earlier_summaries: HashSet::new(),
            changes: Vec::new(),
            has_state: false,
            session: None,
            problems: Vec::new(),
            needs_full_scan: false,
        }
    }

    /// Creates a loader that reads only links: for the positions of the visible messages.
    pub(super) fn without_messages(agent: Option<&'w str>) -> BackwardLoader<'w> {
        BackwardLoader {
            reads_messages: false,
            has_state: true,
            ..BackwardLoader::new(agent)
        }
    }

    /// Returns whether the nearest earlier record with this id is hidden by a tombstone.
    pub(super) fn hides(&self, id: &str) -> bool {
        self.hidden.contains(id)
    }

    /// Returns whether a link is broken or leads forward.
    pub(super) fn needs_full_scan(&self) -> bool {
        self.needs_full_scan
    }

    /// Returns the positions of the messages on the path so far that the model sees.
    pub(super) fn visible_positions(&self) -> HashSet<RecordPosition> {
        let end = match &self.boundary {
            Some(boundary) if boundary.kept_from.is_none() => boundary.at,
            Some(_) => self.visible_count.unwrap_or(self.path.len()),
            None => self.path.len(),
        };
        let mut positions = HashSet::new();
        for record in &self.path[..end] {
            if !record.is_earlier_summary {
                positions.insert(record.position);
            }
        }
        positions.extend(self.summary.as_ref().map(|summary| summary.position));
        positions
    }
}

impl BackwardLoader<'_> {
    /// Adds the next row. Call it for the rows from the last to the first.
    pub(super) fn add_row(&mut self, row: ChainRow<'_>) {
        self.at = row.at;
        self.has_state |= row.at < self.overview.end;
        let position = RecordPosition {
            row: row.at,
            nth: 0,
        };
        let Some(bytes) = row.bytes else {
            self.problems.push(too_long(row));
            if let Some(link) = row.long_record_link() {
                self.add_record(&RecordView::new(link, position, RecordSource::TooLong, ""));
            }
            return;
        };
        if let Some(envelope) = self.read_envelope(bytes)
            && !envelope.needs_body()
        {
            self.add_state_change(&envelope);
            let source = RecordSource::Row(bytes);
            let type_name = envelope.type_name();
            self.add_record(&RecordView::new(
                envelope.link(),
                position,
                source,
                &type_name,
            ));
            return;
        }
        let read = read_line(bytes);
        for problem in read.problems {
            self.problems.push(locate(problem, row));
        }
        for (nth, message) in read.messages.iter().enumerate().rev() {
            if let Some(envelope) = Envelope::read(&message.to_json()) {
                self.add_state_change(&envelope);
            }
            let position = RecordPosition { row: row.at, nth };
            let link = OwnedLink::of(&Link::of(message));
            let source = RecordSource::Part(message);
            let type_name = message.body.type_name();
            self.add_record(&RecordView::new(link, position, source, type_name));
        }
    }

    /// Reads the envelope of a record. If nothing more of the record is needed, its beginning is enough.
    fn read_envelope<'r>(&self, bytes: &'r [u8]) -> Option<Envelope<'r>> {
        if self.budget.is_exhausted() && self.has_user_text {
            let beginning = &bytes[..bytes.len().min(BEGINNING)];
            let envelope = Envelope::read_beginning(beginning);
            let is_speech = matches!(&*envelope.type_name(), "user" | "assistant");
            if is_speech
                && envelope.string("id").is_some()
                && envelope.string("parent_id").is_some()
            {
                return Some(envelope);
            }
        }
        std::str::from_utf8(bytes).ok().and_then(Envelope::read)
    }

    /// Adds the session id and the state change of a record, if it has them.
    fn add_state_change(&mut self, envelope: &Envelope<'_>) {
        if let Some(session) = envelope.string("session_id").filter(|id| !id.is_empty()) {
            self.session = Some(session.into_owned().into());
        }
        if self.has_state || envelope.type_name() != "state" {
            return;
        }
        let changes = envelope
            .json("state")
            .and_then(|json| Raw::parse(json).ok());
        if let Some(changes) = changes.filter(|changes| changes.as_str().starts_with('{')) {
            let is_snapshot = envelope.json("snapshot") == Some("true");
            self.has_state |= is_snapshot;
            self.changes.push(StateChange {
                changes,
                is_snapshot,
            });
        }
    }

    /// Adds the next record.
    fn add_record(&mut self, record: &RecordView<'_>) {
        let link = record.link.link();
        let is_hidden = !link.id.is_empty() && self.hidden.remove(link.id);
        let is_earlier_summary =
            self.earlier_summaries.remove(link.id) && link.kind == LinkKind::Summary;
        let revised = self.excluded.remove(link.id);
        let is_excluded = revised
            .filter(|_| !link.id.is_empty())
            .unwrap_or(link.is_excluded);
        if !is_hidden {
            self.add_tombstone_or_revision(record);
        }
        self.add_summary(record, is_hidden || is_excluded);
        if self.target.matches(&link, self.agent) && !self.has_all_visible() {
            self.add_path_record(record, is_hidden, is_earlier_summary);
        }
    }

    /// Adds a record that affects an earlier one.
    fn add_tombstone_or_revision(&mut self, record: &RecordView<'_>) {
        match record.link.link().kind {
            LinkKind::Tombstone { target, .. } => {
                self.hidden.insert(target.to_string());
            }
            LinkKind::Revision { target, history } => {
                if let Some(history) = history {
                    let is_excluded = history == History::Exclude;
                    self.excluded
                        .entry(target.to_string())
                        .or_insert(is_excluded);
                }
                let is_read = !self.budget.is_exhausted();
                let path_record = is_read.then(|| self.read(record, false));
                self.revisions.push(PendingRevision {
                    link: RevisionLink {
                        target: target.to_string(),
                        position: record.position,
                    },
                    record: path_record,
                });
            }
            _ => {}
        }
    }

    /// Reads a record to keep it.
    fn read(&self, record: &RecordView<'_>, is_earlier_summary: bool) -> PathRecord {
        let (message, problems) = if self.reads_messages {
            record.read()
        } else {
            (None, Vec::new())
        };
        PathRecord {
            position: record.position,
            message,
            problems,
            is_summary: record.link.link().kind == LinkKind::Summary,
            is_earlier_summary,
        }
    }

    /// Adds the next record of the path.
    fn add_path_record(
        &mut self,
        record: &RecordView<'_>,
        is_hidden: bool,
        is_earlier_summary: bool,
    ) {
        let link = record.link.link();
        if link.agent != self.agent {
            self.needs_full_scan = true;
            return;
        }
        self.target = SearchTarget::parent_of(link);
        if link.kind == LinkKind::Progress {
            self.add_progress();
            return;
        }
        self.path_length += 1;
        self.leaf.get_or_insert_with(|| link.id.into());
        let is_readable = !is_hidden && !matches!(record.source, RecordSource::TooLong);
        if is_readable && link.is_shown() {
            self.keep(record, is_earlier_summary);
        }
        if self.visible_count.is_none() && self.is_first_kept(link.id) {
            self.visible_count = Some(self.path.len());
        }
        if is_readable {
            self.add_boundary(record);
        }
    }

    /// Reports a progress message on the path, which no message should follow.
    fn add_progress(&mut self) {
        let text = "a message follows a progress message";
        let hint = "it is read as following what came before the progress";
        self.problems
            .push(Problem::warning("progress-parent", text).hint(hint));
        // A last record without text is not the leaf if it follows nothing but progress.
        self.needs_full_scan |= self.path_length == 0
            || (self.target == SearchTarget::Nothing && self.path_length == 1);
    }

    /// Returns whether a record is the first one before the boundary that stays visible.
    fn is_first_kept(&self, id: &str) -> bool {
        self.boundary
            .as_ref()
            .is_some_and(|boundary| boundary.kept_from.as_deref() == Some(id))
    }

    /// Adds a boundary on the path. Only the last one counts.
    fn add_boundary(&mut self, record: &RecordView<'_>) {
        let LinkKind::Boundary {
            summary,
            kept_from,
            is_separator,
        } = record.link.link().kind
        else {
            return;
        };
        let summary = summary.map(str::to_string);
        if self.boundary.is_some() {
            self.earlier_summaries.extend(summary);
            return;
        }
        self.needs_full_scan |= summary.is_none() && !is_separator;
        self.boundary = Some(Boundary {
            at: self.path.len(),
            record: self.read(record, false),
            summary,
            kept_from: kept_from.map(str::to_string),
        });
    }

    /// Keeps a visible record if it fits, or if it is always sent.
    fn keep(&mut self, record: &RecordView<'_>, is_earlier_summary: bool) {
        let at = record.position.row;
        let fits = self.budget.fits(at);
        let may_be_user_text = record.is_of_person && !self.has_user_text;
        if !fits && !record.is_instruction && !may_be_user_text {
            self.leave_out();
            return;
        }
        let path_record = self.read(record, is_earlier_summary);
        let message = path_record.message.as_ref();
        let begins_turn = message.is_some_and(begins_turn);
        if fits {
            self.budget.add(at, record.length(), message);
        } else if !record.is_instruction && !begins_turn {
            self.leave_out();
            return;
        }
        self.has_user_text |= begins_turn;
        self.path.push(path_record);
    }

    /// Counts a record that did not fit, unless it is before a boundary that hides it anyway.
    fn leave_out(&mut self) {
        let is_visible = self
            .boundary
            .as_ref()
            .is_none_or(|boundary| boundary.kept_from.is_some());
        self.left_out += usize::from(is_visible);
    }

    /// Adds the summary of the boundary: the nearest earlier record with its id. If that is no summary, or hidden, the
    /// boundary does not count, and only a full scan can tell which earlier one does.
    fn add_summary(&mut self, record: &RecordView<'_>, is_hidden: bool) {
        let Some(boundary) = self.boundary.as_ref().filter(|_| self.summary.is_none()) else {
            return;
        };
        let link = record.link.link();
        if boundary.summary.as_deref() != Some(link.id) {
            return;
        }
        if link.kind == LinkKind::Summary && !is_hidden {
            self.summary = Some(self.read(record, false));
        } else {
            self.needs_full_scan = true;
        }
    }

    /// Returns whether the loader has everything from the boundary on: the summary, and the messages before it that stay
    /// visible.
    fn has_all_visible(&self) -> bool {
        let Some(boundary) = &self.boundary else {
            return false;
        };
        let has_summary = boundary.summary.is_none() || self.summary.is_some();
        let has_kept = boundary.kept_from.is_none() || self.visible_count.is_some();
        has_summary && has_kept
    }

    /// Returns whether no earlier row is needed.
    fn is_complete(&self) -> bool {
        if self.needs_full_scan {
            return true;
        }
        let is_in_overview = self.at <= self.overview.end;
        if !self.has_state && !is_in_overview {
            return false;
        }
        let is_at_root = self.target == SearchTarget::Nothing && self.boundary.is_none();
        is_at_root || self.has_all_visible() || (is_in_overview && self.has_only_speech_before())
    }

    /// Returns whether nothing before is sent: the budget is exhausted, and the overview knows of no earlier landmark.
    fn has_only_speech_before(&self) -> bool {
        let landmark = self.overview.first_landmark;
        self.budget.is_exhausted()
            && self.has_user_text
            && self.boundary.is_none()
            && landmark.is_none_or(|first| self.at <= first)
    }

    /// Returns whether the rest of the path was left out on purpose. At the beginning of the store, the parent is missing
    /// or later, so a landmark may be there.
    fn is_rest_left_out(&self) -> bool {
        let leads_back = self.at > 0 || self.overview.first_landmark.is_none();
        leads_back && self.budget.is_exhausted() && self.has_user_text && self.boundary.is_none()
    }

    /// Returns the loaded chain; `None` if a record is still missing.
    fn finish(
        mut self,
        store: &dyn TranscriptStore,
        of: &ChainName,
    ) -> Result<Option<LoadedChain>, StoreError> {
        let has_everything = match &self.target {
            SearchTarget::Leaf => true,
            SearchTarget::Id(_) => self.has_all_visible() || self.is_rest_left_out(),
            SearchTarget::Nothing => self.boundary.is_none() || self.has_all_visible(),
        };
        if !has_everything || self.needs_full_scan {
            return Ok(None);
        }
        let mut loaded = LoadedChain {
            leaf: self.leaf.take(),
            state: self.take_state(),
            earlier: self.bytes_left_out(),
            ..LoadedChain::default()
        };
        if let Some(boundary) = self.boundary.take() {
            self.problems.extend(boundary.record.problems);
            loaded.boundary = boundary.record.message;
            self.cut_path(boundary.at);
            // A visible summary before the boundary may belong to an earlier compaction.
            let mut before = self.path.iter().skip(boundary.at);
            if before.any(|record| record.is_summary) {
                return Ok(None);
            }
        }
        let mut messages = Vec::new();
        let summary = self.summary.take();
        let path = std::mem::take(&mut self.path);
        for record in summary.into_iter().chain(path.into_iter().rev()) {
            messages.extend(record.into_message(&mut self.problems));
        }
        let revisions = self.take_revisions(&messages, store, of)?;
        loaded.messages = apply_revisions(messages, revisions);
        loaded.problems = self.problems;
        Ok(Some(loaded))
    }

    /// Removes the records that a compaction hides from the path, and the summaries, which do not stay at their place.
    fn cut_path(&mut self, boundary: usize) {
        self.path.truncate(self.visible_count.unwrap_or(boundary));
        let summary = self.summary.as_ref().map(|summary| summary.position);
        self.path
            .retain(|record| Some(record.position) != summary && !record.is_earlier_summary);
    }

    /// Returns the number of bytes before the loaded part, if the path continues there.
    fn bytes_left_out(&self) -> u64 {
        let continues = matches!(self.target, SearchTarget::Id(_)) && self.boundary.is_none();
        if self.budget.is_exhausted() && (self.left_out > 0 || continues) {
            return self.budget.start();
        }
        0
    }

    /// Returns the revisions of messages, and reads those that were not read yet.
    fn take_revisions(
        &mut self,
        messages: &[PositionedMessage],
        store: &dyn TranscriptStore,
        of: &ChainName,
    ) -> Result<Vec<PositionedMessage>, StoreError> {
        let mut revisions = Vec::new();
        let mut unread = Vec::new();
        for revision in std::mem::take(&mut self.revisions) {
            match revision.record {
                Some(record) => revisions.extend(record.into_message(&mut self.problems)),
                None => unread.push(revision.link),
            }
        }
        revisions.extend(read_revisions_of(messages, &unread, store, of)?);
        Ok(revisions)
    }

    /// Rebuilds the state from the overview and the changes after it.
    fn take_state(&mut self) -> SessionState {
        let mut rebuilding = std::mem::take(&mut self.overview.state);
        if let Some(session) = &self.session {
            rebuilding.name(session);
        }
        for change in self.changes.drain(..).rev() {
            rebuilding.change(&change);
        }
        rebuilding.finish()
    }
}
