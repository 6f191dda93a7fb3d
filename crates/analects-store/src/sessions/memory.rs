//! A store in memory, for tests and for temporary conversations. It lasts as long as the program.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use analects_core::Message;
use analects_formats::transcript::encode;
use jiff::Timestamp;

use super::{ChainName, ChainRow, ListedSession, NewSession, RowVisitor, TranscriptStore};
use crate::StoreError;

/// A store of sessions in memory.
#[derive(Debug, Default)]
pub struct MemoryStore {
    chains: Mutex<Chains>,
}

/// The content of a store.
#[derive(Debug, Default)]
struct Chains {
    by_name: BTreeMap<ChainName, MemoryChain>,
    /// The chains that were pruned.
    trash: Vec<(ChainName, MemoryChain)>,
    /// The number of appends, which serves as the time.
    clock: i64,
}

/// The rows of a chain.
#[derive(Debug, Default)]
struct MemoryChain {
    /// The records as JSON lines.
    rows: Vec<String>,
    /// The value of the clock at the last append.
    modified: i64,
}

impl MemoryStore {
    /// Locks the content. A panic in another thread does not matter, because the content is always consistent.
    fn chains(&self) -> MutexGuard<'_, Chains> {
        self.chains.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the rows from an offset, each with its own offset. They are copied, so that a visitor may append.
    fn rows(&self, of: &ChainName, from: u64) -> Vec<(u64, String)> {
        let chains = self.chains();
        let Some(chain) = chains.by_name.get(of) else {
            return Vec::new();
        };
        let mut rows = Vec::new();
        let mut at = 0;
        for row in &chain.rows {
            if at >= from {
                rows.push((at, row.clone()));
            }
            at += row.len() as u64;
        }
        rows
    }
}

/// A session that is being recorded as a whole.
#[derive(Debug)]
struct MemorySession<'s> {
    store: &'s MemoryStore,
    session: ChainName,
    /// The records by chain, which the store gets at the end.
    chains: BTreeMap<ChainName, Vec<Message>>,
}

impl NewSession for MemorySession<'_> {
    fn append(&mut self, agent: Option<&str>, records: &[Message]) -> Result<(), StoreError> {
        let name = ChainName {
            agent: agent.map(str::to_string),
            ..self.session.clone()
        };
        self.chains
            .entry(name)
            .or_default()
            .extend_from_slice(records);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), StoreError> {
        if self.chains.get(&self.session).is_none_or(Vec::is_empty) {
            return Err(StoreError::InvalidState {
                path: self.session.to_string().into(),
            });
        }
        // The main chain comes last, because readers find a session by it.
        for (name, records) in self.chains.iter().rev() {
            self.store.append(name, records)?;
        }
        Ok(())
    }
}

/// Returns the row of a record. Rows in memory have no size limit.
fn row(at: u64, text: &str) -> ChainRow<'_> {
    let next = at + text.len() as u64;
    ChainRow {
        at,
        next,
        bytes: Some(text.as_bytes()),
        beginning: text.as_bytes(),
    }
}

impl TranscriptStore for MemoryStore {
    fn append(&self, to: &ChainName, records: &[Message]) -> Result<(), StoreError> {
        if records.is_empty() {
            return Ok(());
        }
        let mut chains = self.chains();
        chains.clock += 1;
        let modified = chains.clock;
        let chain = chains.by_name.entry(to.clone()).or_default();
        chain.rows.extend(records.iter().map(encode));
        chain.modified = modified;
        Ok(())
    }

    fn begin(&self, session: &ChainName) -> Result<Box<dyn NewSession + '_>, StoreError> {
        let session = session.main();
        if self
            .chains()
            .by_name
            .keys()
            .any(|name| name.main() == session)
        {
            let path = session.to_string().into();
            let why = "there is a session of this name".to_string();
            return Err(StoreError::Refused { path, why });
        }
        Ok(Box::new(MemorySession {
            store: self,
            session,
            chains: BTreeMap::new(),
        }))
    }

    fn sync(&self, _: &ChainName) -> Result<(), StoreError> {
        Ok(())
    }

    fn scan(&self, of: &ChainName, from: u64, each: &mut RowVisitor<'_>) -> Result<(), StoreError> {
        for (at, text) in self.rows(of, from) {
            if each(row(at, &text)).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn scan_backward(&self, of: &ChainName, each: &mut RowVisitor<'_>) -> Result<(), StoreError> {
        for (at, text) in self.rows(of, 0).into_iter().rev() {
            if each(row(at, &text)).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn list(&self, project: Option<&str>) -> Result<Vec<ListedSession>, StoreError> {
        let chains = self.chains();
        let mut sessions = Vec::new();
        for (name, chain) in &chains.by_name {
            let is_wanted = project.is_none_or(|project| name.project == project);
            if name.agent.is_none() && is_wanted {
                sessions.push(ListedSession {
                    name: name.clone(),
                    modified: Timestamp::from_second(chain.modified).unwrap_or_default(),
                    length: chain.rows.iter().map(|row| row.len() as u64).sum(),
                });
            }
        }
        sessions.sort_by_key(|session| std::cmp::Reverse(session.modified));
        Ok(sessions)
    }

    fn side_chains(&self, of: &ChainName) -> Result<Vec<String>, StoreError> {
        let chains = self.chains();
        let own = chains
            .by_name
            .keys()
            .filter(|name| name.main() == of.main());
        Ok(own.filter_map(|name| name.agent.clone()).collect())
    }

    fn prune(&self, session: &ChainName) -> Result<String, StoreError> {
        let mut chains = self.chains();
        let own: Vec<ChainName> = chains
            .by_name
            .keys()
            .filter(|name| name.main() == session.main())
            .cloned()
            .collect();
        if own.is_empty() {
            return Err(StoreError::SessionNotFound {
                name: session.to_string(),
            });
        }
        for name in own {
            if let Some(chain) = chains.by_name.remove(&name) {
                chains.trash.push((name, chain));
            }
        }
        Ok("in memory, until the program ends".to_string())
    }
}
