//! Sessions: chains of records that only ever grow. [`TranscriptStore`] has the operations of any store. Loading, the
//! tail and the overview build on it and are the same for all stores.

mod load;
mod memory;
mod names;
mod outline;
mod overview;
mod session;

use std::any::Any;
use std::fmt;
use std::ops::ControlFlow;

use analects_core::{Message, MessageId, SessionId};
use analects_formats::transcript::{Envelope, OwnedLink};
use jiff::Timestamp;

use crate::StoreError;

pub use load::{LoadLimit, LoadedChain, Tail, load, tail};
pub use memory::MemoryStore;
pub use names::{SessionMatch, find, visit_links};
pub(crate) use names::{last_record, visit_links_backward};
pub use overview::{Overview, SessionSummary};
pub use session::Session;

/// The name of a chain of records: the main chain of a session, or one of its side chains.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct ChainName {
    /// The short name of the project, which [`StoreFolders::project_name`](crate::StoreFolders::project_name) gives it.
    pub project: String,
    /// The id of the session.
    pub session: SessionId,
    /// The id of the side chain; `None` for the main chain.
    pub agent: Option<String>,
}

impl ChainName {
    /// Returns the name of the main chain of a session.
    pub fn new(project: impl Into<String>, session: impl Into<SessionId>) -> ChainName {
        ChainName {
            project: project.into(),
            session: session.into(),
            agent: None,
        }
    }

    /// Returns the name of a side chain of the same session.
    pub fn side(&self, agent: impl Into<String>) -> ChainName {
        ChainName {
            agent: Some(agent.into()),
            ..self.clone()
        }
    }

    /// Returns the name of the main chain of the same session.
    pub fn main(&self) -> ChainName {
        ChainName {
            agent: None,
            ..self.clone()
        }
    }
}

impl fmt::Display for ChainName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.agent {
            Some(agent) => write!(f, "{} (side chain {agent})", &*self.session),
            None => f.write_str(&self.session),
        }
    }
}

/// One row of a chain: a record, or damaged text in place of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainRow<'r> {
    /// The offset of the row, in bytes from the beginning of the chain.
    pub at: u64,
    /// The offset of the next row.
    pub next: u64,
    /// The record as JSON, with its line end; `None` if it is longer than the store reads.
    pub bytes: Option<&'r [u8]>,
    /// The beginning of the record, or all of it if the store reads it.
    pub beginning: &'r [u8],
}

/// The position of a record in a chain. A damaged row may hold several records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct RecordPosition {
    /// The offset of the row.
    pub row: u64,
    /// The index of the record in the row.
    pub nth: usize,
}

impl ChainRow<'_> {
    /// Returns the link of a record that is longer than the store reads; `None` for other rows, or if the record does not
    /// begin with its link. The link keeps later records connected to earlier ones.
    pub(crate) fn long_record_link(&self) -> Option<OwnedLink> {
        if self.bytes.is_some() {
            return None;
        }
        Envelope::read_beginning(self.beginning).link_without_content()
    }
}

/// A function that is called for each row; `Break` ends the scan.
pub type RowVisitor<'e> = dyn FnMut(ChainRow<'_>) -> ControlFlow<()> + 'e;

/// An entry of the list of sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedSession {
    /// The name of the main chain.
    pub name: ChainName,
    /// The time of the last write.
    pub modified: Timestamp,
    /// The length of the main chain in bytes.
    pub length: u64,
}

/// A session that is recorded as a whole. Dropping it before it is finished removes everything.
pub trait NewSession: fmt::Debug {
    /// Adds records to the main chain, or to the side chain of an agent. After an error, the session cannot be
    /// finished.
    fn append(&mut self, agent: Option<&str>, records: &[Message]) -> Result<(), StoreError>;

    /// Makes the session visible in one step. When this returns, it survives a power cut; after an error, there is no
    /// session. The main chain must have a record.
    fn finish(self: Box<Self>) -> Result<(), StoreError>;
}

/// A store of sessions. A chain that was never written to is empty, not an error.
pub trait TranscriptStore: fmt::Debug + Send + Sync {
    /// Appends records one after the other, whoever else writes at the same time. When this returns, they are as durable
    /// as the store promises. After an error, none of them is there, or, if the disk fails at that too, none of them
    /// counts as written.
    fn append(&self, to: &ChainName, records: &[Message]) -> Result<(), StoreError>;

    /// Begins a session that is recorded as a whole, with its side chains. It is invisible until it is finished. An error
    /// if a session of that name exists.
    fn begin(&self, session: &ChainName) -> Result<Box<dyn NewSession + '_>, StoreError>;

    /// Makes all appended records survive a power cut, whatever the store promises for each append.
    fn sync(&self, of: &ChainName) -> Result<(), StoreError>;

    /// Visits the rows in order, from an offset; 0 is the first row.
    fn scan(&self, of: &ChainName, from: u64, each: &mut RowVisitor<'_>) -> Result<(), StoreError>;

    /// Visits the rows from the last to the first.
    fn scan_backward(&self, of: &ChainName, each: &mut RowVisitor<'_>) -> Result<(), StoreError>;

    /// Lists the sessions of a project, or of all projects. The last written one comes first.
    fn list(&self, project: Option<&str>) -> Result<Vec<ListedSession>, StoreError>;

    /// Lists the ids of a session's side chains, sorted.
    fn side_chains(&self, of: &ChainName) -> Result<Vec<String>, StoreError>;

    /// Moves a session and its side chains to the trash. It is no longer listed or found, but not deleted. Returns the new
    /// location, in words for a person.
    fn prune(&self, session: &ChainName) -> Result<String, StoreError>;

    /// Returns the message that the next one follows: the last one that does not belong to an announced question.
    fn leaf(&self, of: &ChainName) -> Result<Option<MessageId>, StoreError> {
        last_record(self, of)
    }

    /// Announces to other processes that a question is being answered, so that they do not continue the chain from there.
    /// The announcement ends when the result is dropped, or when the process dies. A store that only one process uses
    /// need not do anything.
    fn announce(
        &self,
        _of: &ChainName,
        _question: &str,
    ) -> Result<Box<dyn Any + Send + Sync>, StoreError> {
        Ok(Box::new(()))
    }

    /// Returns the summaries of sessions, in their order. A store with a cache need not read all of them.
    fn summaries(&self, sessions: &[ListedSession]) -> Result<Vec<SessionSummary>, StoreError> {
        let mut summaries = Vec::new();
        for session in sessions {
            summaries.push(self.overview(&session.name)?.summary());
        }
        Ok(summaries)
    }

    /// Returns counts, totals and the state of a chain. A store with an index need not read all rows.
    fn overview(&self, of: &ChainName) -> Result<Overview, StoreError> {
        let mut overview = Overview::default();
        self.scan(of, 0, &mut |row| {
            overview.add(row);
            ControlFlow::Continue(())
        })?;
        Ok(overview)
    }
}
