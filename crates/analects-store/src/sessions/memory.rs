//! A store that lasts as long as the program: for tests, and for conversations that nobody wants to keep.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use analects_core::Message;
use analects_formats::transcript::encode;
use jiff::Timestamp;

use super::{ChainName, ChainRow, ListedSession, NewSession, RowVisitor, TranscriptStore};
use crate::StoreError;

/// A store in memory.
#[derive(Debug, Default)]
pub struct MemoryStore {
    chains: Mutex<Chains>,
}

#[derive(Debug, Default)]
struct Chains {
    rows: BTreeMap<ChainName, MemoryChain>,
    trash: Vec<(ChainName, MemoryChain)>,
    /// Counts the appends, so that what was written to last is known without a clock.
    clock: i64,
}

#[derive(Debug, Default)]
struct MemoryChain {
    rows: Vec<String>,
    modified: i64,
}

impl MemoryStore {
    fn chains(&self) -> MutexGuard<'_, Chains> {
        self.chains.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Rows from some position on. They are copied, so that whoever looks at them may append.
    fn rows(&self, of: &ChainName, from: u64) -> Vec<(u64, String)> {
        let chains = self.chains();
        let rows = chains.rows.get(of).map_or(&[][..], |kept| &kept.rows);
        let mut end = 0;
        let placed = rows.iter().map(|row| {
            let at = end;
            end += row.len() as u64;
            (at, row)
        });
        placed
            .filter(|(at, _)| *at >= from)
            .map(|(at, row)| (at, row.clone()))
            .collect()
    }
}

/// A session that is recorded as a whole.
#[derive(Debug)]
struct MemorySession<'s> {
    store: &'s MemoryStore,
    session: ChainName,
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
        // Side chains first, as whoever looks meanwhile finds a session by its main chain.
        for (name, records) in self.chains.iter().rev() {
            self.store.append(name, records)?;
        }
        Ok(())
    }
}

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
        let kept = chains.rows.entry(to.clone()).or_default();
        kept.rows.extend(records.iter().map(encode));
        kept.modified = modified;
        Ok(())
    }

    fn begin(&self, session: &ChainName) -> Result<Box<dyn NewSession + '_>, StoreError> {
        let session = session.main();
        if self.chains().rows.keys().any(|name| name.main() == session) {
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
        let sessions = chains.rows.iter().filter(|(name, _)| {
            name.agent.is_none() && project.is_none_or(|project| name.project == project)
        });
        let mut listed: Vec<ListedSession> = sessions
            .map(|(name, kept)| ListedSession {
                name: name.clone(),
                modified: Timestamp::from_second(kept.modified).unwrap_or_default(),
                length: kept.rows.iter().map(|row| row.len() as u64).sum(),
            })
            .collect();
        listed.sort_by_key(|session| std::cmp::Reverse(session.modified));
        Ok(listed)
    }

    fn side_chains(&self, of: &ChainName) -> Result<Vec<String>, StoreError> {
        let chains = self.chains();
        let own = chains.rows.keys().filter(|name| name.main() == of.main());
        Ok(own.filter_map(|name| name.agent.clone()).collect())
    }

    fn prune(&self, session: &ChainName) -> Result<String, StoreError> {
        let mut chains = self.chains();
        let own: Vec<ChainName> = chains
            .rows
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
            if let Some(kept) = chains.rows.remove(&name) {
                chains.trash.push((name, kept));
            }
        }
        Ok("in memory, until the program ends".to_string())
    }
}
