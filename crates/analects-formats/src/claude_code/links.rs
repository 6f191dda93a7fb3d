//! Finds the message that each record follows. `parentUuid` alone does not form a chain of messages: progress records
//! take part in it, and each of several parallel calls has its result as a child. So the records of one answer, the
//! results of its calls and their attachments form a *run*, one after the other in file order, and whatever follows one
//! of them follows the last. Real forks, which begin with a prompt or a new answer, stay forks.
//!
//! Two calls in one answer, for example. The file's links on the left, the chain on the right:
//!
//! ```text
//! prompt                          prompt
//! ├─ answer: call A               └─ answer: call A
//! │  ├─ answer: call B               └─ answer: call B
//! │  │  └─ result B                     └─ result A
//! │  └─ result A                           └─ result B
//! └─ …                                        └─ …
//! ```

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use uuid::Uuid;

/// The run of records that follow nothing.
const NO_RUN: u32 = u32::MAX;

/// The number of the main chain. Other numbers belong to side chains.
const MAIN: u32 = 0;

/// The fingerprint of a message that a progress record reports. The message's own record is a copy of it, even if its
/// counts differ.
pub(super) const ANY_COPY: u32 = 0;

/// What a record says about its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StatedParent<'a> {
    /// It has no such field.
    Missing,
    /// It has no parent: it is a root.
    Root,
    /// The id of its parent.
    Id(&'a str),
}

/// Whether a record continues the run of the record that it follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Continuation {
    /// No. It starts something: a prompt, a compaction.
    Start,
    /// If it is a part of the same answer. `response` is a hash of the answer's id.
    Answer { response: Option<u64>, calls: bool },
    /// Yes: a result of a call, or an attachment.
    Join,
    /// If the run has calls.
    JoinCalls,
}

/// A record to place in a chain.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewRecord<'a> {
    /// Its id, which may be derived.
    pub id: &'a str,
    /// What its record says about its parent.
    pub stated: StatedParent<'a>,
    /// `None` in the main chain; `Some(None)` in a side chain without a name.
    pub side: Option<Option<&'a str>>,
    /// Whether it belongs to the run of what it follows.
    pub continuation: Continuation,
}

/// The position of a message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ChainPosition {
    /// The id of the message that it follows; `None` for a root.
    pub parent: Option<String>,
    /// The name of the side chain; `None` in the main chain.
    pub agent: Option<String>,
    /// Whether the stated parent has not been seen so far.
    pub is_open: bool,
}

/// The links of all records so far. A few bytes each, since sessions have millions of them.
#[derive(Debug)]
pub(super) struct RecordLinks {
    /// The records by a hash of their id.
    records: HashMap<u64, LinkedRecord>,
    /// The runs, by number.
    runs: Vec<Run>,
    /// The names of the chains, by number.
    agents: Vec<String>,
    /// The inverse of `agents`.
    agent_numbers: HashMap<String, u32>,
    /// The run of the last message of each chain.
    last_runs: HashMap<u32, u32>,
}

/// What is remembered of a record.
#[derive(Debug, Clone, Copy)]
struct LinkedRecord {
    /// The run that it is in. For a record that is not a message: the run that its children follow.
    run: u32,
    /// Tells copies of the same record from different records with the same id.
    fingerprint: u32,
}

/// Records that belong together. Whatever follows one of them follows the last one.
#[derive(Debug)]
struct Run {
    /// The last message.
    tip: CompactId,
    /// A hash of the answer's id, if the run started with an answer.
    response: Option<u64>,
    /// The number of its chain.
    agent: u32,
    /// Whether an answer in it calls tools.
    has_calls: bool,
}

/// An id in little memory.
#[derive(Debug)]
enum CompactId {
    Uuid(Uuid),
    /// An id that is not a UUID in its usual spelling.
    Other(Box<str>),
}

impl CompactId {
    /// Stores an id in 16 bytes if it is a UUID in the usual spelling.
    fn new(id: &str) -> CompactId {
        match Uuid::try_parse(id) {
            Ok(uuid) if uuid.to_string() == id => CompactId::Uuid(uuid),
            _ => CompactId::Other(id.into()),
        }
    }

    /// Returns the id as it was.
    fn text(&self) -> String {
        match self {
            CompactId::Uuid(uuid) => uuid.to_string(),
            CompactId::Other(id) => id.to_string(),
        }
    }
}

/// Whether an id was used by an earlier record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IdStatus {
    /// By no other record.
    New,
    /// By a copy of the same record.
    Repeated,
    /// By a different record.
    Conflicting,
}

impl Default for RecordLinks {
    fn default() -> RecordLinks {
        RecordLinks {
            records: HashMap::new(),
            runs: Vec::new(),
            agents: vec![String::new()],
            agent_numbers: HashMap::new(),
            last_runs: HashMap::new(),
        }
    }
}

impl RecordLinks {
    /// Returns whether an id is new. `fingerprint` distinguishes copies from conflicts.
    pub(super) fn id_status(&self, id: &str, fingerprint: u32) -> IdStatus {
        match self.records.get(&hash(id)) {
            None => IdStatus::New,
            Some(record) if [fingerprint, ANY_COPY].contains(&record.fingerprint) => {
                IdStatus::Repeated
            }
            Some(_) => IdStatus::Conflicting,
        }
    }

    /// Returns whether there is a record so far whose id has this hash.
    pub(super) fn has(&self, hash: u64) -> bool {
        self.records.contains_key(&hash)
    }

    /// Adds a record that is not a message: its children follow what it follows. Returns the position of the message that
    /// it belongs to. If its parent is unknown, that is the last message, because such records are about what happens at
    /// the moment.
    pub(super) fn add_other(
        &mut self,
        id: Option<&str>,
        fingerprint: u32,
        stated: StatedParent<'_>,
    ) -> ChainPosition {
        let known = self.stated_run(stated);
        let is_open = matches!(stated, StatedParent::Id(_)) && known.is_none();
        let mut run = known.unwrap_or(NO_RUN);
        if is_open && let Some(last) = self.last_runs.get(&MAIN) {
            run = *last;
        }
        if let Some(id) = id {
            let record = LinkedRecord { run, fingerprint };
            self.records.insert(hash(id), record);
        }
        let Some(run) = self.runs.get(run as usize) else {
            return ChainPosition {
                is_open,
                ..ChainPosition::default()
            };
        };
        ChainPosition {
            parent: Some(run.tip.text()),
            agent: self.agent_name(run.agent),
            is_open,
        }
    }

    /// Adds a message and returns its position.
    pub(super) fn add_message(&mut self, record: NewRecord<'_>, fingerprint: u32) -> ChainPosition {
        let stated_run = self.stated_run(record.stated);
        let agent = self.agent_of(&record, stated_run);
        let previous = self.previous_run(&record, stated_run, agent);
        let mut parent = previous.map(|run| self.runs[run as usize].tip.text());
        let mut is_open = false;
        if let (StatedParent::Id(id), None) = (record.stated, stated_run) {
            parent = Some(id.to_string());
            is_open = true;
        }
        let run = match previous {
            Some(run) if self.continues(run, record.continuation) => self.extend_run(run, &record),
            _ => self.start_run(agent, &record),
        };
        let linked = LinkedRecord { run, fingerprint };
        self.records.insert(hash(record.id), linked);
        self.last_runs.insert(agent, run);
        ChainPosition {
            parent,
            agent: self.agent_name(agent),
            is_open,
        }
    }

    /// Returns the run that a message follows.
    fn previous_run(
        &self,
        record: &NewRecord<'_>,
        stated_run: Option<u32>,
        agent: u32,
    ) -> Option<u32> {
        let last = self.last_runs.get(&agent).copied();
        let is_root = record.stated == StatedParent::Root || stated_run == Some(NO_RUN);
        if is_root {
            // An answer or a result is never the first, whatever its record says.
            return last.filter(|_| record.continuation != Continuation::Start);
        }
        match record.stated {
            StatedParent::Missing | StatedParent::Root => last,
            // A side chain has a root of its own.
            StatedParent::Id(_) => stated_run.filter(|run| self.agent_of_run(*run) == Some(agent)),
        }
    }

    /// Returns the chain of a run; `None` for [`NO_RUN`].
    fn agent_of_run(&self, run: u32) -> Option<u32> {
        self.runs.get(run as usize).map(|run| run.agent)
    }

    /// Returns the run of the stated parent; `None` if it has not been seen.
    fn stated_run(&self, stated: StatedParent<'_>) -> Option<u32> {
        let StatedParent::Id(id) = stated else {
            return None;
        };
        self.records.get(&hash(id)).map(|record| record.run)
    }

    /// Returns whether a message belongs to a run.
    fn continues(&self, run: u32, continuation: Continuation) -> bool {
        let run = &self.runs[run as usize];
        match continuation {
            Continuation::Start => false,
            Continuation::Answer { response, .. } => response.is_some() && response == run.response,
            Continuation::Join => true,
            Continuation::JoinCalls => run.has_calls,
        }
    }

    /// Makes a message the last one of a run. Returns the run's number.
    fn extend_run(&mut self, number: u32, record: &NewRecord<'_>) -> u32 {
        let run = &mut self.runs[number as usize];
        run.tip = CompactId::new(record.id);
        run.has_calls |= matches!(
            record.continuation,
            Continuation::Answer { calls: true, .. }
        );
        number
    }

    /// Starts a run with a message. Returns the run's number.
    fn start_run(&mut self, agent: u32, record: &NewRecord<'_>) -> u32 {
        let (response, has_calls) = match record.continuation {
            Continuation::Answer { response, calls } => (response, calls),
            _ => (None, false),
        };
        self.runs.push(Run {
            tip: CompactId::new(record.id),
            response,
            agent,
            has_calls,
        });
        u32::try_from(self.runs.len() - 1).unwrap_or(NO_RUN)
    }

    /// Returns the number of a record's chain. A side chain without a name is named after its first record.
    fn agent_of(&mut self, record: &NewRecord<'_>, stated_run: Option<u32>) -> u32 {
        let Some(side) = record.side else {
            return MAIN;
        };
        if let Some(name) = side {
            return self.agent_number(name);
        }
        match stated_run.and_then(|run| self.agent_of_run(run)) {
            Some(agent) if agent != MAIN => agent,
            _ => self.agent_number(&format!("sidechain-{}", record.id)),
        }
    }

    /// Returns the number of a chain, which may be new.
    fn agent_number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.agent_numbers.get(name) {
            return *number;
        }
        let number = u32::try_from(self.agents.len()).unwrap_or(MAIN);
        self.agents.push(name.to_string());
        self.agent_numbers.insert(name.to_string(), number);
        number
    }

    /// Returns the name of a side chain; `None` for the main chain.
    fn agent_name(&self, number: u32) -> Option<String> {
        (number != MAIN).then(|| self.agents[number as usize].clone())
    }
}

/// Hashes an id. A collision is very unlikely, and costs one wrong link.
pub(super) fn hash<T: Hash + ?Sized>(id: &T) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}
