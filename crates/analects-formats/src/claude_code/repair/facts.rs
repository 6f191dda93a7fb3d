//! What a repair needs to know of the records of a session: their links, calls and results, but not their content.

use std::collections::HashMap;

use analects_core::{Link, Tree};
use memchr::memmem;
use serde_json::value::RawValue;

use super::RecordPlace;
use crate::claude_code::links::hash;
use crate::claude_code::reader::fingerprint;
use crate::claude_code::record::{RecordFields, RecordKind};

/// The records of a session so far.
#[derive(Debug, Default)]
pub(super) struct SessionFacts {
    pub(super) records: Vec<RecordFacts>,
    /// The fingerprints of the records with each id, by a hash of the id.
    known: HashMap<u64, Vec<u32>>,
}

/// What the repair remembers of a record.
#[derive(Debug)]
pub(super) struct RecordFacts {
    pub(super) place: RecordPlace,
    /// Its id; empty if it has none.
    pub(super) id: Box<str>,
    /// The record that it follows, if it names one.
    pub(super) parent: Option<Box<str>>,
    /// A hash of the name of its side chain; 0 for the main chain.
    pub(super) chain: u64,
    pub(super) status: RecordStatus,
    /// A hash of the id of the answer that it is a part of.
    pub(super) answer: Option<u64>,
    /// The ids of its calls.
    pub(super) calls: Vec<String>,
    /// The ids of the calls that it has results of.
    pub(super) results: Vec<String>,
    /// Whether its content is nothing but results.
    pub(super) is_only_results: bool,
}

/// What a record is among the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordStatus {
    /// A message.
    Message,
    /// Not part of the conversation.
    Beside,
    /// A copy of an earlier record.
    Copy,
    /// A record whose id an earlier one has, and that is different.
    Conflicting,
}

impl SessionFacts {
    /// Adds a record. Other JSON has no links.
    pub(super) fn add(&mut self, json: &str, place: RecordPlace) {
        let Some(fields) = RecordFields::parse(json) else {
            return;
        };
        let id = fields.string("uuid").unwrap_or_default();
        let parent = fields.string("parentUuid");
        let mut facts = RecordFacts {
            place,
            status: self.status(&id, &fields),
            id: (&*id).into(),
            parent: parent.map(|parent| (&*parent).into()),
            chain: chain_of(&fields),
            answer: None,
            calls: Vec::new(),
            results: Vec::new(),
            is_only_results: false,
        };
        facts.read_message(&fields);
        self.records.push(facts);
    }

    /// Finds out whether the id of a record is taken.
    fn status(&mut self, id: &str, fields: &RecordFields<'_>) -> RecordStatus {
        let kind = RecordKind::of(fields);
        let status = if kind == RecordKind::Beside {
            RecordStatus::Beside
        } else {
            RecordStatus::Message
        };
        if id.is_empty() {
            return status;
        }
        let fingerprint = fingerprint(fields);
        let known = self.known.entry(hash(id)).or_default();
        if known.contains(&fingerprint) {
            return RecordStatus::Copy;
        }
        known.push(fingerprint);
        if known.len() > 1 {
            return RecordStatus::Conflicting;
        }
        status
    }

    /// Returns the tree of the records.
    pub(super) fn tree(&self) -> Tree {
        let links = self.records.iter().map(|record| Link {
            id: &record.id,
            parent: record.parent.as_deref(),
            ..Link::default()
        });
        Tree::new(links.collect())
    }
}

/// Returns a hash of the name of a record's side chain; 0 for the main chain.
fn chain_of(fields: &RecordFields<'_>) -> u64 {
    let agent = fields.string("agentId");
    let is_side = match fields.get("isSidechain") {
        Some(flag) => flag.get() == "true",
        None => agent.is_some(),
    };
    if is_side {
        hash(&*agent.unwrap_or_default())
    } else {
        0
    }
}

impl RecordFacts {
    /// Returns whether it is part of the conversation.
    pub(super) fn is_message(&self) -> bool {
        matches!(
            self.status,
            RecordStatus::Message | RecordStatus::Conflicting
        )
    }

    /// Reads the calls and results in the message of a record.
    fn read_message(&mut self, fields: &RecordFields<'_>) {
        let Some(message) = fields.object("message") else {
            return;
        };
        if fields.string("type").as_deref() == Some("assistant") {
            self.answer = message.string("id").map(|id| hash(&*id));
        }
        let Some(content) = message.get("content") else {
            return;
        };
        if memmem::find(content.get().as_bytes(), b"tool_").is_none() {
            return;
        }
        let blocks = serde_json::from_str::<Vec<&RawValue>>(content.get());
        let blocks = blocks.unwrap_or_default();
        for block in &blocks {
            match (call_in(block), result_in(block)) {
                (Some(call), _) => self.calls.push(call),
                (None, Some(call)) => self.results.push(call),
                (None, None) => {}
            }
        }
        self.is_only_results = !blocks.is_empty() && self.results.len() == blocks.len();
    }
}

/// Returns the id of the call that a block makes.
fn call_in(block: &RawValue) -> Option<String> {
    let fields = RecordFields::of(block)?;
    let is_call = fields.string("type")? == "tool_use";
    let id = fields.string("id").filter(|_| is_call)?;
    Some(id.into_owned())
}

/// Returns the id of the call that a block is a result of.
pub(super) fn result_in(block: &RawValue) -> Option<String> {
    let fields = RecordFields::of(block)?;
    let is_result = fields.string("type")? == "tool_result";
    let id = fields.string("tool_use_id").filter(|_| is_result)?;
    Some(id.into_owned())
}
