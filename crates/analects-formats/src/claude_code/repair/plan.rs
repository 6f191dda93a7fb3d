//! Plans the repair of a session: first ids, then results and calls, then parents, because each step needs the one before.

use std::collections::{HashMap, HashSet};

use analects_core::{Ids, Tree};
use jiff::Timestamp;

use super::facts::{RecordFacts, RecordStatus, SessionFacts};
use super::{AddedResult, RecordChange, SessionRepair};
use crate::repair::RecordGroups;

/// Plans the repair of these records. New ids come from `ids`.
pub(super) fn plan(facts: &SessionFacts, ids: &mut dyn Ids, now: Timestamp) -> SessionRepair {
    let mut planner = Planner {
        records: &facts.records,
        tree: facts.tree(),
        changes: HashMap::new(),
    };
    planner.rename_conflicting(ids, now);
    planner.leave_out_orphans();
    let last_results = planner.add_results(ids, now);
    planner.link(&last_results);
    let mut repair = SessionRepair::default();
    for (at, change) in planner.changes {
        repair.records.insert(facts.records[at].place, change);
    }
    repair
}

/// A plan in progress. Records are given by their positions.
struct Planner<'f> {
    records: &'f [RecordFacts],
    tree: Tree,
    changes: HashMap<usize, RecordChange>,
}

impl Planner<'_> {
    /// Returns the change of a record, to add to it.
    fn change(&mut self, at: usize) -> &mut RecordChange {
        self.changes.entry(at).or_default()
    }

    /// Returns the id of a record in the new file.
    fn id(&self, at: usize) -> &str {
        let new = self
            .changes
            .get(&at)
            .and_then(|change| change.id.as_deref());
        new.unwrap_or(&self.records[at].id)
    }

    /// Returns whether a record is left out.
    fn is_left_out(&self, at: usize) -> bool {
        self.changes
            .get(&at)
            .is_some_and(|change| change.is_left_out)
    }

    /// Gives a new id to each record whose id is taken by a different one.
    fn rename_conflicting(&mut self, ids: &mut dyn Ids, now: Timestamp) {
        for (at, record) in self.records.iter().enumerate() {
            if record.status == RecordStatus::Conflicting {
                self.change(at).id = Some(ids.uuid(now));
            }
        }
    }

    /// Leaves out results of calls that are nowhere in the file.
    fn leave_out_orphans(&mut self) {
        let records = self.records;
        let calls = records.iter().flat_map(|record| &record.calls);
        let calls: HashSet<&str> = calls.map(String::as_str).collect();
        for (at, record) in records.iter().enumerate() {
            let results = record.results.iter();
            let orphans: Vec<String> = results
                .filter(|call| !calls.contains(call.as_str()))
                .cloned()
                .collect();
            if orphans.is_empty() {
                continue;
            }
            let is_left_out = record.is_only_results && orphans.len() == record.results.len();
            let change = self.change(at);
            change.orphans = orphans;
            change.is_left_out = is_left_out;
        }
    }

    /// Adds a result for each call without one, behind the last record of its answer. Returns the last result that was
    /// added behind each record.
    fn add_results(&mut self, ids: &mut dyn Ids, now: Timestamp) -> HashMap<usize, String> {
        let records = self.records;
        let results = records.iter().flat_map(|record| &record.results);
        let mut answered: HashSet<&str> = results.map(String::as_str).collect();
        let last_of_answers = last_of_answers(records);
        let mut last_results: HashMap<usize, String> = HashMap::new();
        for (at, record) in records.iter().enumerate() {
            for call in &record.calls {
                if !answered.insert(call) {
                    continue;
                }
                let answer = record.answer.map(|answer| (record.chain, answer));
                let last = answer.and_then(|answer| last_of_answers.get(&answer));
                let last = last.copied().unwrap_or(at);
                let id = ids.uuid(now);
                let parent = last_results.insert(last, id.clone());
                let parent = parent.unwrap_or_else(|| self.id(last).to_string());
                let call = call.clone();
                let result = AddedResult { id, parent, call };
                self.change(last).results.push(result);
            }
        }
        last_results
    }

    /// Gives each record the parent that it has in the new file, if that is another one than it names.
    fn link(&mut self, last_results: &HashMap<usize, String>) {
        let broken = broken_links(&self.tree);
        let mut groups = RecordGroups::of(&self.tree);
        // The last message of each chain.
        let mut previous: HashMap<u64, usize> = HashMap::new();
        for (at, record) in self.records.iter().enumerate() {
            if self.is_left_out(at) {
                continue;
            }
            let parent = if broken.contains(&at) {
                let previous = previous.get(&record.chain).copied();
                previous.filter(|previous| groups.join(at, *previous))
            } else {
                self.parent_in_file(at)
            };
            let added = parent.filter(|parent| self.follows_answer(at, *parent));
            let added = added.and_then(|parent| last_results.get(&parent));
            let new = match (added, parent) {
                (Some(result), _) => Some(result.as_str()),
                (None, Some(parent)) => Some(self.id(parent)),
                (None, None) => None,
            };
            if record.parent.is_some() && record.parent.as_deref() != new {
                let new = new.map(str::to_string);
                self.change(at).parent = Some(new);
            }
            if record.is_message() {
                previous.insert(record.chain, at);
            }
        }
    }

    /// Returns the nearest ancestor of a record that is not left out.
    fn parent_in_file(&self, at: usize) -> Option<usize> {
        let mut ancestors = self.tree.ancestors(at).skip(1);
        ancestors.find(|at| !self.is_left_out(*at))
    }

    /// Returns whether a record comes after the answer that its parent is a part of.
    fn follows_answer(&self, at: usize, parent: usize) -> bool {
        let record = &self.records[at];
        let is_same = record.answer.is_some() && record.answer == self.records[parent].answer;
        record.is_message() && !is_same && record.results.is_empty()
    }
}

/// Returns the last record of each answer, by its chain and its id.
fn last_of_answers(records: &[RecordFacts]) -> HashMap<(u64, u64), usize> {
    let mut last = HashMap::new();
    for (at, record) in records.iter().enumerate() {
        if let Some(answer) = record.answer
            && record.is_message()
        {
            last.insert((record.chain, answer), at);
        }
    }
    last
}

/// Returns the records whose parent is missing or leads in a circle.
fn broken_links(tree: &Tree) -> HashSet<usize> {
    let mut broken = HashSet::new();
    for finding in tree.findings() {
        if matches!(&*finding.problem.code, "unknown-parent" | "parent-cycle") {
            broken.insert(finding.at);
        }
    }
    broken
}
