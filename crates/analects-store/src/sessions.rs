//! The transcript store: conversations by name, records that are only ever appended to. The trait says
//! what any store can do; what is made of that (loading, the tail, counts) is the same for all.

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
pub(crate) use names::{last_record, visit_names_backward};
pub use overview::{Overview, SessionSummary};
pub use session::Session;

/// The name of a chain of messages: a session, or a side chain of one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct ChainName {
    /// The project, in the short form that [`StoreFolders::project`](crate::StoreFolders::project) gives it.
    pub project: String,
    /// The session.
    pub session: SessionId,
    /// The side chain; `None` is the main chain.
    pub agent: Option<String>,
}

impl ChainName {
    /// The main chain of a session.
    pub fn new(project: impl Into<String>, session: impl Into<SessionId>) -> ChainName {
        ChainName {
            project: project.into(),
            session: session.into(),
            agent: None,
        }
    }

    /// A side chain of the same session.
    pub fn side(&self, agent: impl Into<String>) -> ChainName {
        ChainName {
            agent: Some(agent.into()),
            ..self.clone()
        }
    }

    /// The main chain of the same session.
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

/// One row of a chain as it is stored: a record, or whatever stands in the place of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainRow<'r> {
    /// Where it is, in bytes from the beginning of the chain.
    pub at: u64,
    /// Where the next row begins.
    pub next: u64,
    /// The record as JSON, with its line end; `None` if it is longer than the store reads.
    pub bytes: Option<&'r [u8]>,
    /// How the record begins: all of it, unless it is longer than the store reads.
    pub beginning: &'r [u8],
}

impl ChainRow<'_> {
    /// The names of a record that is longer than the store reads, if it begins with them. With these, what follows
    /// it stays linked to what came before.
    pub(crate) fn long_names(&self) -> Option<OwnedLink> {
        if self.bytes.is_some() {
            return None;
        }
        Envelope::read_beginning(self.beginning).link_without_content()
    }
}

/// What is done with a row; `Break` ends the scan.
pub type RowVisitor<'e> = dyn FnMut(ChainRow<'_>) -> ControlFlow<()> + 'e;

/// A session as a list shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedSession {
    /// Its name.
    pub name: ChainName,
    /// When it was written to last.
    pub modified: Timestamp,
    /// How many bytes its main chain has.
    pub length: u64,
}

/// A session that is recorded as a whole. What is dropped before it is finished leaves nothing behind.
pub trait NewSession: fmt::Debug {
    /// Adds records to the main chain, or to the side chain of an agent. After an error, the session cannot be
    /// finished.
    fn append(&mut self, agent: Option<&str>, records: &[Message]) -> Result<(), StoreError>;

    /// Makes all of it visible in one step. When this returns, it survives a power cut; after an error it is not
    /// there. The main chain must have a record.
    fn finish(self: Box<Self>) -> Result<(), StoreError>;
}

/// Where transcripts are kept. A chain that was never written to is empty, and no error.
pub trait TranscriptStore: fmt::Debug + Send + Sync {
    /// Adds records, in their order and one behind the other, whoever else writes at the same time. When
    /// this returns, they are as safe as the store promises; after an error none of them is there, or,
    /// if the disk fails at that too, none of them counts as acknowledged.
    fn append(&self, to: &ChainName, records: &[Message]) -> Result<(), StoreError>;

    /// Begins a session that is recorded as a whole, with its side chains: it is listed and found once it is
    /// finished, and until then nothing of it is. A session of that name must not be there.
    fn begin(&self, session: &ChainName) -> Result<Box<dyn NewSession + '_>, StoreError>;

    /// Makes everything that was appended survive a power cut, whatever is promised for each append.
    fn sync(&self, of: &ChainName) -> Result<(), StoreError>;

    /// Goes over the rows from a position on (0 is the first), in their order.
    fn scan(&self, of: &ChainName, from: u64, each: &mut RowVisitor<'_>) -> Result<(), StoreError>;

    /// Goes over the rows from the last to the first.
    fn scan_backward(&self, of: &ChainName, each: &mut RowVisitor<'_>) -> Result<(), StoreError>;

    /// The sessions of a project, or of all, those that were written to last first.
    fn list(&self, project: Option<&str>) -> Result<Vec<ListedSession>, StoreError>;

    /// The names of a session's side chains, sorted.
    fn side_chains(&self, of: &ChainName) -> Result<Vec<String>, StoreError>;

    /// Puts a session and its side chains aside: it is no longer listed or found, but nothing is
    /// deleted. Says where it is now, in words for a person.
    fn prune(&self, session: &ChainName) -> Result<String, StoreError>;

    /// The message that the next one follows: the last one, unless it belongs to a question that is being answered.
    fn leaf(&self, of: &ChainName) -> Result<Option<MessageId>, StoreError> {
        last_record(self, of)
    }

    /// Tells others that a question is being answered, so that they do not go on from there: until what comes
    /// back is dropped, or its owner dies. A store that only one process uses need not tell anybody.
    fn announce(
        &self,
        _of: &ChainName,
        _question: &str,
    ) -> Result<Box<dyn Any + Send + Sync>, StoreError> {
        Ok(Box::new(()))
    }

    /// What a list says of these sessions, in their order. A store that remembers it need not go over all of them.
    fn summaries(&self, listed: &[ListedSession]) -> Result<Vec<SessionSummary>, StoreError> {
        listed
            .iter()
            .map(|listed| Ok(self.overview(&listed.name)?.summary()))
            .collect()
    }

    /// Counts and totals, and the state. A store that keeps an index need not go over all rows.
    fn overview(&self, of: &ChainName) -> Result<Overview, StoreError> {
        let mut overview = Overview::default();
        self.scan(of, 0, &mut |row| {
            overview.add(row);
            ControlFlow::Continue(())
        })?;
        Ok(overview)
    }
}
