//! The transcript store as the verbs see it: which session and which message a person means.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use analects_core::{Body, Ids, MessageId};
use analects_store::{
    ChainName, JsonlStore, LoadLimit, LoadedChain, OsIds, SessionMatch, StoreError, StoreFolders,
    TranscriptStore, find, visit_links,
};
use jiff::Timestamp;

use crate::failure::Failure;
use crate::surroundings::Surroundings;

/// The word for the session that was written to last.
const LAST: &str = "last";
/// How much of an id is shown, unless more is needed to tell two apart.
const SHORT: usize = 13;
/// How many of several are named.
const NAMED: usize = 5;

/// The sessions of a store, seen from a folder.
pub struct Sessions {
    pub store: Arc<JsonlStore>,
    /// The name of the folder's project.
    pub project: String,
}

impl Sessions {
    pub fn of(surroundings: &Surroundings) -> Sessions {
        let store = Arc::new(JsonlStore::new(&surroundings.places));
        Sessions {
            store,
            project: StoreFolders::project_name(&surroundings.folder),
        }
    }

    /// A name for a session that is not there yet.
    pub fn new_name(&self) -> ChainName {
        ChainName::new(&self.project, OsIds.uuid(Timestamp::now()))
    }

    /// The session that is meant: one of this folder before one of any other.
    pub fn find(&self, word: Option<&str>) -> Result<ChainName, Failure> {
        let wanted = word.filter(|word| *word != LAST);
        let mut found = find(&*self.store, Some(&self.project), wanted)?;
        if found == SessionMatch::None && wanted.is_some() {
            found = find(&*self.store, None, wanted)?;
        }
        match (found, wanted) {
            (SessionMatch::One(name), _) => Ok(name),
            (SessionMatch::Many(names), wanted) => {
                let word = wanted.unwrap_or_default();
                let ids = names.iter().map(|name| name.session.to_string());
                Err(ambiguous("session", word, ids.collect()))
            }
            (SessionMatch::None, Some(word)) => {
                Err(Failure::not_found(format!("there is no session {word:?}"))
                    .or_hint("analects session list --all shows those that there are"))
            }
            (SessionMatch::None, None) => Err(Failure::not_found(
                "no conversation in this folder yet",
            )
            .or_hint(
                "start one, such as analects chat \"Hello\", or see analects session list --all",
            )),
        }
    }

    /// The session that is meant, or the side chain of an agent of it.
    pub fn chain(&self, word: Option<&str>, agent: Option<&str>) -> Result<ChainName, Failure> {
        let name = self.find(word)?;
        let Some(agent) = agent else { return Ok(name) };
        let known = self.store.side_chains(&name)?;
        if !known.iter().any(|known| known == agent) {
            let failure = Failure::not_found(format!("{name} has no side chain {agent:?}"));
            return Err(if known.is_empty() {
                failure
            } else {
                failure.or_hint(format!("there are {}", known.join(", ")))
            });
        }
        Ok(name.side(agent))
    }

    /// The summary of the compaction that counts in a session.
    pub fn summary(&self, of: &ChainName) -> Result<Option<MessageId>, Failure> {
        let boundary = LoadedChain::load_end(&*self.store, of, LoadLimit::of_text(0))?.boundary;
        let Some(Body::CompactBoundary(body)) = boundary.map(|boundary| boundary.body) else {
            return Ok(None);
        };
        Ok(body.summary_id)
    }

    /// The message of a session that is meant: by its id, or the beginning of it. Of records that begin so, one that
    /// people see is meant, for what changes the state is mostly written in the same moment.
    pub fn message(&self, of: &ChainName, word: &str) -> Result<MessageId, Failure> {
        let (mut shown, mut others) = (BTreeSet::new(), BTreeSet::new());
        let mut exact = None;
        visit_links(&*self.store, of, &mut |link| {
            if link.id == word {
                exact = Some(link.id.into());
                return ControlFlow::Break(());
            }
            if link.id.starts_with(word) && !word.is_empty() {
                let begins = if link.is_shown() {
                    &mut shown
                } else {
                    &mut others
                };
                begins.insert(MessageId::from(link.id));
            }
            ControlFlow::Continue(())
        })?;
        let begins: Vec<MessageId> = if shown.is_empty() { others } else { shown }
            .into_iter()
            .collect();
        match (exact, &begins[..]) {
            (Some(id), _) => Ok(id),
            (None, [id]) => Ok(id.clone()),
            (None, []) => {
                let (name, id) = (of.to_string(), word.to_string());
                Err(
                    Failure::from(StoreError::MessageNotFound { name, id }).or_hint(format!(
                        "analects session tail {} shows the last ones",
                        &*of.session
                    )),
                )
            }
            (None, several) => {
                let ids = several.iter().map(|id| id.to_string()).collect();
                Err(ambiguous("message", word, ids))
            }
        }
    }
}

fn ambiguous(what: &str, word: &str, ids: Vec<String>) -> Failure {
    let more = if ids.len() > NAMED { ", …" } else { "" };
    let named: Vec<&str> = ids.iter().take(NAMED).map(String::as_str).collect();
    let text = format!("{word:?} may be any of {} {what}s", ids.len());
    Failure::usage(
        text,
        format!("say more of its id: {}{more}", named.join(", ")),
    )
}

/// The beginnings of ids that tell them apart.
pub fn short_ids(ids: &[&str]) -> Vec<String> {
    // In their order, an id shares most with its neighbours.
    let sorted: BTreeSet<&str> = ids.iter().copied().collect();
    let sorted: Vec<&str> = sorted.into_iter().collect();
    let short = |id: &&str| {
        let at = sorted.partition_point(|other| other < id);
        let near = [at.checked_sub(1), Some(at + 1)].into_iter().flatten();
        let near = near.filter_map(|at| sorted.get(at));
        let shared = near.map(|other| shared_start(id, other)).max().unwrap_or(0);
        id.chars().take(SHORT.max(shared + 1)).collect()
    };
    ids.iter().map(short).collect()
}

fn shared_start(one: &str, other: &str) -> usize {
    one.chars()
        .zip(other.chars())
        .take_while(|(one, other)| one == other)
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_as_long_as_it_takes_to_tell_them_apart() {
        assert_eq!(
            short_ids(&["0197aaaa-0000-7000-x", "0198"]),
            ["0197aaaa-0000", "0198"]
        );
        let alike = ["0197aaaa-0000-7000-1", "0197aaaa-0000-7000-2"];
        assert_eq!(short_ids(&alike), alike);
    }
}
