//! The planner of a repair: gives records ids and parents, and adds what conversations lack.

use std::collections::HashMap;

use analects_core::{
    Body, Ids, Link, LinkKind, Message, MessageId, Raw, SessionId, Tombstone, ToolResult, Tree,
};
use jiff::Timestamp;

use super::gaps::ChainGaps;
use super::{LinkChange, RepairPlan};
use crate::repair::RecordGroups;
use crate::transcript::check::RecordFacts;

/// The result of a call that has none.
const INTERRUPTED: &str = "The call was interrupted; there is no result.";

/// Plans a repair. "Record" is an index into all records, "position" one into the tree of those that are kept.
pub(super) struct RepairPlanner<'n, 'i> {
    records: &'n [RecordFacts],
    session: &'n SessionId,
    ids: &'i mut dyn Ids,
    /// The time of the records that are added.
    now: Timestamp,
    /// The changes so far, by record.
    changes: HashMap<usize, LinkChange>,
    /// For each record, whether it repeats an earlier one.
    repeated: Vec<bool>,
}

/// What is wrong with the parent of a record.
#[derive(Clone, Copy)]
enum ParentFault {
    /// It is missing or leads in a circle, so that another record takes its place.
    Unusable,
    /// It is of another chain, or progress. The tree has found the parent to use.
    Redirected,
}

impl<'n, 'i> RepairPlanner<'n, 'i> {
    /// Starts a plan without changes.
    pub(super) fn new(
        records: &'n [RecordFacts],
        session: &'n SessionId,
        ids: &'i mut dyn Ids,
        now: Timestamp,
    ) -> RepairPlanner<'n, 'i> {
        RepairPlanner {
            records,
            session,
            ids,
            now,
            changes: HashMap::new(),
            repeated: Vec::new(),
        }
    }

    /// Makes the plan: first ids, then parents, then what is missing.
    pub(super) fn plan(mut self) -> RepairPlan {
        self.assign_ids();
        self.assign_parents();
        let mut plan = RepairPlan::default();
        self.fill_gaps(&mut plan);
        for (record, change) in self.changes {
            let position = self.records[record].position;
            let line = plan.lines.entry(position.line).or_default();
            line.records.insert(position.index, change);
        }
        for (record, facts) in self.records.iter().enumerate() {
            if self.repeated[record] {
                let line = plan.lines.entry(facts.position.line).or_default();
                line.is_repeated = true;
                line.records.clear();
            }
        }
        plan
    }

    /// Gives a new id to each record that has none, or whose id is taken. A later reference to that id follows.
    fn assign_ids(&mut self) {
        let records = self.records;
        let mut latest: HashMap<&str, usize> = HashMap::with_capacity(records.len());
        for (record, facts) in records.iter().enumerate() {
            let link = facts.link.link();
            let references = self.renamed_references(&link, &latest);
            if references != LinkChange::default() {
                self.changes.insert(record, references);
            }
            let earlier = latest.get(link.id).copied();
            let is_repeated = !link.id.is_empty()
                && earlier.is_some_and(|earlier| is_copy(facts, &records[earlier]));
            self.repeated.push(is_repeated);
            if is_repeated {
                continue;
            }
            if link.id.is_empty() || earlier.is_some() {
                let id = self.ids.uuid(self.now);
                self.change(record).id = Some(id);
            }
            latest.insert(link.id, record);
        }
    }

    /// Returns the new ids of the records that a link refers to, other than its parent.
    fn renamed_references(&self, link: &Link<'_>, latest: &HashMap<&str, usize>) -> LinkChange {
        let mut change = LinkChange::default();
        match link.kind {
            LinkKind::Tombstone { target, .. } | LinkKind::Revision { target, .. } => {
                change.target = self.renamed(target, latest);
            }
            LinkKind::Boundary {
                summary, kept_from, ..
            } => {
                change.summary = summary.and_then(|id| self.renamed(id, latest));
                change.kept_from = kept_from.and_then(|id| self.renamed(id, latest));
            }
            LinkKind::Speech
            | LinkKind::Summary
            | LinkKind::State
            | LinkKind::Progress
            | LinkKind::Unknown => {}
        }
        change
    }

    /// Returns the new id of the last record with this id; `None` if it keeps its id.
    fn renamed(&self, id: &str, latest: &HashMap<&str, usize>) -> Option<String> {
        self.new_id(*latest.get(id)?)
    }

    /// Gives each record without a usable parent the previous record of its chain, which is the most likely one.
    fn assign_parents(&mut self) {
        let records = self.records;
        // Without repeated records, since the new file has each record once.
        let kept = self.kept();
        let links = kept.iter().map(|record| records[*record].link.link());
        let tree = Tree::new(links.collect());
        let faults = parent_faults(&tree);
        let mut groups = RecordGroups::of(&tree);
        let mut previous: HashMap<Option<&str>, usize> = HashMap::new();
        for (position, record) in kept.iter().copied().enumerate() {
            let link = records[record].link.link();
            let fault = faults.get(&position).copied();
            let mut parent = tree.parent(position);
            if let Some(ParentFault::Unusable) = fault {
                let before = previous.get(&link.agent).copied();
                parent = before.filter(|before| groups.join(position, *before));
            }
            let parent = parent.map(|parent| kept[parent]);
            let parent_id = parent.map(|parent| self.id(parent));
            if fault.is_some() || self.changes_parent(&link, parent, parent_id.as_deref()) {
                self.change(record).parent = Some(parent_id);
            }
            if link.kind != LinkKind::Progress {
                previous.insert(link.agent, position);
            }
        }
    }

    /// Returns whether the link must name its parent differently, because the parent has a new id or is another record.
    fn changes_parent(&self, link: &Link<'_>, parent: Option<usize>, id: Option<&str>) -> bool {
        let Some(parent) = parent else { return false };
        let is_named = Some(self.records[parent].link.link().id) == link.parent;
        if is_named && self.new_id(parent).is_some() {
            return true;
        }
        // Progress may follow progress, which the tree skips.
        link.kind != LinkKind::Progress && id != link.parent
    }

    /// Adds results that calls lack, and hides records that are of no use.
    fn fill_gaps(&mut self, plan: &mut RepairPlan) {
        let kept = self.kept();
        let repaired: Vec<LinkChange> = kept
            .iter()
            .map(|record| self.repaired_link(*record))
            .collect();
        let records = self.records;
        let links = kept
            .iter()
            .zip(&repaired)
            .map(|(record, change)| change.link(&records[*record]));
        let tree = Tree::new(links.collect());
        let mut chains = Vec::new();
        for leaf in tree.chain_leaves() {
            chains.push(ChainGaps::of(&tree, leaf, |at| &records[kept[at]].said));
        }
        for gaps in chains {
            self.add_results(&gaps, &kept, plan);
            self.add_tombstones(&gaps, &kept, plan);
        }
    }

    /// Adds a result for each call without one, right behind the call's line.
    fn add_results(&mut self, gaps: &ChainGaps, kept: &[usize], plan: &mut RepairPlan) {
        // The last result added behind each position. The next result follows it.
        let mut last_added: HashMap<usize, String> = HashMap::new();
        for call in &gaps.calls {
            let record = kept[call.at];
            let facts = &self.records[record];
            let parent = last_added.get(&call.at).cloned();
            let parent = parent.unwrap_or_else(|| self.id(record));
            let body = Body::ToolResult(ToolResult {
                tool_use_id: call.call_id.clone(),
                content: INTERRUPTED.into(),
                is_error: Some(true),
                ..ToolResult::default()
            });
            let message = self.new_message(facts, parent, body, "call-without-result");
            last_added.insert(call.at, message.id.to_string());
            let line = plan.lines.entry(facts.position.line).or_default();
            line.after.push(message);
        }
        for call in &gaps.calls {
            if let (Some(next), Some(end)) = (call.next, last_added.get(&call.at)) {
                self.change(kept[next]).parent = Some(Some(end.clone()));
            }
        }
    }

    /// Adds tombstones at the end of the file that hide useless records.
    fn add_tombstones(&mut self, gaps: &ChainGaps, kept: &[usize], plan: &mut RepairPlan) {
        let leaf = kept[gaps.leaf];
        let mut parent = self.id(leaf);
        if gaps.calls.iter().any(|call| call.at == gaps.leaf) {
            // The last result that was added behind the leaf is the new leaf.
            let line = plan.lines.get(&self.records[leaf].position.line);
            if let Some(last) = line.and_then(|line| line.after.last()) {
                parent = last.id.to_string();
            }
        }
        for useless in &gaps.useless {
            let record = kept[useless.at];
            let body = Body::Tombstone(Tombstone {
                target: self.id(record).into(),
                target_parent: self.parent_id(record).map(MessageId::from),
            });
            let message = self.new_message(&self.records[record], parent, body, useless.code);
            parent = message.id.to_string();
            plan.end.push(message);
        }
    }

    /// Builds a record that the repair adds. `code` is the problem that it solves.
    fn new_message(
        &mut self,
        beside: &RecordFacts,
        parent: String,
        body: Body,
        code: &str,
    ) -> Message {
        let mut message = Message::new(self.ids.uuid(self.now), body);
        message.parent_id = Some(parent.into());
        message.session_id = self.session.clone();
        message.agent_id = beside.link.link().agent.map(str::to_string);
        message.created_at = Some(self.now);
        message.extra.push("repaired", Raw::string(code));
        message
    }

    /// Returns the change of a record, to add to it.
    fn change(&mut self, record: usize) -> &mut LinkChange {
        self.changes.entry(record).or_default()
    }

    /// Returns the new id of a record; `None` if it keeps its id.
    fn new_id(&self, record: usize) -> Option<String> {
        self.changes.get(&record)?.id.clone()
    }

    /// Returns the id of a record in the new file.
    fn id(&self, record: usize) -> String {
        let old = || self.records[record].link.link().id.to_string();
        self.new_id(record).unwrap_or_else(old)
    }

    /// Returns the id of a record's parent in the new file.
    fn parent_id(&self, record: usize) -> Option<String> {
        let change = self.changes.get(&record);
        if let Some(parent) = change.and_then(|change| change.parent.clone()) {
            return parent;
        }
        self.records[record].link.link().parent.map(str::to_string)
    }

    /// Returns the change of a record with its final id and parent, even if they stay.
    fn repaired_link(&self, record: usize) -> LinkChange {
        let change = self.changes.get(&record).cloned().unwrap_or_default();
        LinkChange {
            id: Some(self.id(record)),
            parent: Some(self.parent_id(record)),
            ..change
        }
    }

    /// Returns the records that do not repeat another one.
    fn kept(&self) -> Vec<usize> {
        (0..self.records.len())
            .filter(|record| !self.repeated[*record])
            .collect()
    }
}

/// Returns whether two records are on lines with the same text.
fn is_copy(one: &RecordFacts, other: &RecordFacts) -> bool {
    let fingerprint = one.position.fingerprint;
    fingerprint.is_some() && fingerprint == other.position.fingerprint
}

/// Collects the first fault of each record's parent, by position.
fn parent_faults(tree: &Tree) -> HashMap<usize, ParentFault> {
    let mut faults = HashMap::new();
    for finding in tree.findings() {
        let fault = match &*finding.problem.code {
            "unknown-parent" | "parent-cycle" => ParentFault::Unusable,
            "foreign-parent" | "progress-parent" => ParentFault::Redirected,
            _ => continue,
        };
        faults.entry(finding.at).or_insert(fault);
    }
    faults
}
