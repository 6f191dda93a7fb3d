//! Whom each record follows. The `parentUuid` of Claude Code is no chain of messages: progress takes part
//! in it, and of parallel calls each has a result of its own as a child. Here the records of one answer,
//! the results of its calls and what came along with them are a *run*, one behind the other in file order,
//! and whoever follows any of them follows the last. True forks, which begin with a prompt or a new answer,
//! stay forks.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use uuid::Uuid;

/// The run of what follows nobody.
const NOBODY: u32 = u32::MAX;

/// The main chain, among the chains.
const MAIN: u32 = 0;

/// What a record says about whom it follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StatedParent<'a> {
    /// It has no such field.
    Nothing,
    /// Nobody: it is the first.
    Root,
    /// A record.
    Parent(&'a str),
}

/// How a record goes on with what it follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Continuation {
    /// It begins something: a prompt, a compaction.
    Start,
    /// It is a part of the answer of this name.
    Answer { response: Option<u64>, calls: bool },
    /// It belongs to what it follows: the result of a call, an attachment.
    Join,
    /// It belongs to calls, if it follows any.
    JoinCalls,
}

/// A record that is looking for its place.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewRecord<'a> {
    pub id: &'a str,
    pub stated: StatedParent<'a>,
    /// Whether it is of a side chain, and of which if it says so.
    pub side: Option<Option<&'a str>>,
    pub step: Continuation,
}

/// The place of a message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ChainPosition {
    pub parent: Option<String>,
    pub agent: Option<String>,
    /// Whether the record that it follows has not been seen so far.
    pub is_open: bool,
}

/// All records so far, in a few bytes each: files have millions of them.
#[derive(Debug)]
pub(super) struct RecordLinks {
    /// By a hash of the name: the run that a record is in, or that whoever follows it follows.
    seen: HashMap<u64, LinkedRecord>,
    runs: Vec<Run>,
    agents: Vec<String>,
    numbers: HashMap<String, u32>,
    /// The run of the last message of each chain.
    last: HashMap<u32, u32>,
}

#[derive(Debug, Clone, Copy)]
struct LinkedRecord {
    run: u32,
    /// What tells a repeated record from another of the same name.
    print: u32,
}

#[derive(Debug)]
struct Run {
    /// The last message of it.
    tip: CompactId,
    response: Option<u64>,
    agent: u32,
    calls: bool,
}

/// A name in little memory.
#[derive(Debug)]
enum CompactId {
    Uuid(Uuid),
    Other(Box<str>),
}

impl CompactId {
    fn new(id: &str) -> CompactId {
        let uuid = Uuid::try_parse(id)
            .ok()
            .filter(|uuid| uuid.to_string() == id);
        uuid.map_or_else(|| CompactId::Other(id.into()), CompactId::Uuid)
    }

    fn text(&self) -> String {
        match self {
            CompactId::Uuid(uuid) => uuid.to_string(),
            CompactId::Other(id) => id.to_string(),
        }
    }
}

/// Whether a name has been seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IdStatus {
    New,
    /// A record of this name was there, and was the same.
    Repeated,
    /// A record of this name was there, and was another.
    Other,
}

impl Default for RecordLinks {
    fn default() -> RecordLinks {
        RecordLinks {
            seen: HashMap::new(),
            runs: Vec::new(),
            agents: vec![String::new()],
            numbers: HashMap::new(),
            last: HashMap::new(),
        }
    }
}

impl RecordLinks {
    pub(super) fn known(&self, id: &str, print: u32) -> IdStatus {
        match self.seen.get(&hash(id)) {
            None => IdStatus::New,
            Some(seen) if seen.print == print => IdStatus::Repeated,
            Some(_) => IdStatus::Other,
        }
    }

    /// Whether a record of a name with this hash has been seen.
    pub(super) fn has(&self, hash: u64) -> bool {
        self.seen.contains_key(&hash)
    }

    /// Notes a record that is no message: whoever follows it follows what it follows. Gives the message
    /// that it belongs to. If the one that it follows got lost, that is the last one: such records are
    /// about what just happens.
    pub(super) fn pass(
        &mut self,
        id: Option<&str>,
        print: u32,
        stated: StatedParent<'_>,
    ) -> ChainPosition {
        let found = self.stated_run(stated);
        let is_open = matches!(stated, StatedParent::Parent(_)) && found.is_none();
        let last = self.last.get(&MAIN).filter(|_| is_open);
        let run = found.or(last.copied()).unwrap_or(NOBODY);
        if let Some(id) = id {
            self.seen.insert(hash(id), LinkedRecord { run, print });
        }
        let Some(run) = self.runs.get(run as usize) else {
            return ChainPosition {
                is_open,
                ..ChainPosition::default()
            };
        };
        let agent = (run.agent != MAIN).then(|| self.agents[run.agent as usize].clone());
        ChainPosition {
            parent: Some(run.tip.text()),
            agent,
            is_open,
        }
    }

    /// Finds the place of a message.
    pub(super) fn place(&mut self, seeker: NewRecord<'_>, print: u32) -> ChainPosition {
        let stated = self.stated_run(seeker.stated);
        let agent = self.agent(&seeker, stated);
        // A side chain has a root of its own.
        let of_chain = |run: &u32| {
            self.runs
                .get(*run as usize)
                .is_some_and(|run| run.agent == agent)
        };
        let says = if stated == Some(NOBODY) {
            StatedParent::Root
        } else {
            seeker.stated
        };
        let before = match says {
            StatedParent::Parent(_) => stated.filter(of_chain),
            StatedParent::Nothing => self.last.get(&agent).copied(),
            // An answer and a result are nobody's first, whatever they say.
            StatedParent::Root if seeker.step == Continuation::Start => None,
            StatedParent::Root => self.last.get(&agent).copied(),
        };
        let is_open = matches!(seeker.stated, StatedParent::Parent(_)) && stated.is_none();
        let mut parent = before.map(|run| self.runs[run as usize].tip.text());
        if let (StatedParent::Parent(id), true) = (seeker.stated, is_open) {
            parent = Some(id.to_string());
        }
        let run = match before.filter(|run| self.joins(*run, seeker.step)) {
            Some(run) => self.extend(run, &seeker),
            None => self.start(agent, &seeker),
        };
        self.seen
            .insert(hash(seeker.id), LinkedRecord { run, print });
        self.last.insert(agent, run);
        let agent = (agent != MAIN).then(|| self.agents[agent as usize].clone());
        ChainPosition {
            parent,
            agent,
            is_open,
        }
    }

    /// The run of the record that somebody follows; `None` if it has not been seen.
    fn stated_run(&self, stated: StatedParent<'_>) -> Option<u32> {
        match stated {
            StatedParent::Parent(id) => self.seen.get(&hash(id)).map(|seen| seen.run),
            _ => None,
        }
    }

    fn joins(&self, run: u32, step: Continuation) -> bool {
        let run = &self.runs[run as usize];
        match step {
            Continuation::Start => false,
            Continuation::Answer { response, .. } => response.is_some() && response == run.response,
            Continuation::Join => true,
            Continuation::JoinCalls => run.calls,
        }
    }

    fn extend(&mut self, at: u32, seeker: &NewRecord<'_>) -> u32 {
        let run = &mut self.runs[at as usize];
        run.tip = CompactId::new(seeker.id);
        run.calls |= matches!(seeker.step, Continuation::Answer { calls: true, .. });
        at
    }

    fn start(&mut self, agent: u32, seeker: &NewRecord<'_>) -> u32 {
        let (response, calls) = match seeker.step {
            Continuation::Answer { response, calls } => (response, calls),
            _ => (None, false),
        };
        self.runs.push(Run {
            tip: CompactId::new(seeker.id),
            response,
            agent,
            calls,
        });
        u32::try_from(self.runs.len() - 1).unwrap_or(NOBODY)
    }

    /// The chain of a record. An old side chain does not say its name: it has that of its first record.
    fn agent(&mut self, seeker: &NewRecord<'_>, stated: Option<u32>) -> u32 {
        let Some(name) = seeker.side else { return MAIN };
        let before = stated
            .and_then(|run| self.runs.get(run as usize))
            .map(|run| run.agent);
        match (name, before.filter(|agent| *agent != MAIN)) {
            (Some(name), _) => self.number(name),
            (None, Some(before)) => before,
            (None, None) => self.number(&format!("sidechain-{}", seeker.id)),
        }
    }

    fn number(&mut self, agent: &str) -> u32 {
        if let Some(number) = self.numbers.get(agent) {
            return *number;
        }
        let number = u32::try_from(self.agents.len()).unwrap_or(MAIN);
        self.agents.push(agent.to_string());
        self.numbers.insert(agent.to_string(), number);
        number
    }
}

/// A name as a number. Two names with the same one are as rare as anything, and cost a wrong link.
pub(super) fn hash<T: Hash + ?Sized>(name: &T) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}
