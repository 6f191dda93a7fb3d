//! Finds sessions of the store and their messages by the names that you type.
//!
//! A name that you type is an id, the beginning of one, a title, or `last`. The current folder's project comes first, so short
//! beginnings are enough in daily use.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use analects_core::{Body, Ids, MessageId};
use analects_store::{
    ChainName, JsonlStore, LoadLimit, LoadedChain, OsIds, SessionMatch, StoreError, StoreFolders,
    TranscriptStore, find, visit_links,
};
use jiff::Timestamp;

use crate::environment::Environment;
use crate::failure::Failure;

/// The name for the session that was written to last.
const LAST: &str = "last";
/// How many characters of an id are shown, unless it takes more to tell two apart.
const SHORT_ID: usize = 13;
/// How many candidates an ambiguous name lists.
const MAX_CANDIDATES: usize = 5;

/// The sessions of the store, as seen from the current folder.
/// Cheap to make: nothing is read before something is looked up.
pub struct Sessions {
    /// The store.
    pub store: Arc<JsonlStore>,
    /// The name of the current folder's project.
    pub project: String,
}

impl Sessions {
    /// The sessions of the store that the environment names.
    pub fn of(environment: &Environment) -> Sessions {
        Sessions {
            store: Arc::new(JsonlStore::new(&environment.places)),
            project: StoreFolders::project_name(&environment.folder),
        }
    }

    /// A name for a new session.
    pub fn new_name(&self) -> ChainName {
        ChainName::new(&self.project, OsIds.uuid(Timestamp::now()))
    }

    /// The session with this name: its id, the beginning of it, or `last`, which `None` stands for, too. Sessions of
    /// the current folder come before those of others.
    /// Fails if several sessions fit, and lists some of them. `last` never looks into other folders.
    pub fn find(&self, word: Option<&str>) -> Result<ChainName, Failure> {
        let wanted = word.filter(|word| *word != LAST);
        let mut found = find(&*self.store, Some(&self.project), wanted)?;
        if found == SessionMatch::None && wanted.is_some() {
            found = find(&*self.store, None, wanted)?;
        }
        match found {
            SessionMatch::One(name) => Ok(name),
            SessionMatch::Many(names) => {
                let ids = names.iter().map(|name| name.session.to_string());
                let word = wanted.unwrap_or_default();
                Err(ambiguous("session", word, ids.collect()))
            }
            SessionMatch::None => Err(no_session(wanted)),
        }
    }

    /// The session with this name, or the side chain of one of its agents.
    /// Without `agent` it is the session itself. Fails with the names of the side chains if there is none of that name.
    pub fn chain(&self, word: Option<&str>, agent: Option<&str>) -> Result<ChainName, Failure> {
        let name = self.find(word)?;
        let Some(agent) = agent else {
            return Ok(name);
        };
        let known = self.store.side_chains(&name)?;
        if known.iter().any(|known| known == agent) {
            return Ok(name.side(agent));
        }
        let failure = Failure::not_found(format!("{name} has no side chain {agent:?}"));
        if known.is_empty() {
            return Err(failure);
        }
        Err(failure.or_hint(format!("its side chains are: {}", known.join(", "))))
    }

    /// The summary of the compaction in effect in a session. `None` if it is not compacted.
    /// Reads only the end of the session.
    pub fn summary(&self, of: &ChainName) -> Result<Option<MessageId>, Failure> {
        let loaded = LoadedChain::load_end(&*self.store, of, LoadLimit::of_text(0))?;
        match loaded.boundary.map(|boundary| boundary.body) {
            Some(Body::CompactBoundary(body)) => Ok(body.summary_id),
            _ => Ok(None),
        }
    }

    /// The message with this id, or whose id begins so. If several begin so, visible messages come first: records
    /// that change the state are mostly written in the same moment, so their ids look alike.
    /// Fails if none or several fit.
    pub fn message(&self, of: &ChainName, word: &str) -> Result<MessageId, Failure> {
        let mut candidates = Candidates::default();
        visit_links(&*self.store, of, &mut |link| {
            candidates.add(link.id, word, link.is_shown())
        })?;
        if let Some(id) = candidates.exact {
            return Ok(id);
        }
        let ids = if candidates.visible.is_empty() {
            candidates.hidden
        } else {
            candidates.visible
        };
        if ids.len() > 1 {
            let ids = ids.iter().map(ToString::to_string).collect();
            return Err(ambiguous("message", word, ids));
        }
        match ids.into_iter().next() {
            Some(id) => Ok(id),
            None => Err(no_message(of, word)),
        }
    }
}

/// The messages that a name may stand for.
/// Filled while the session is read, so that its messages need not be kept in memory.
#[derive(Default)]
struct Candidates {
    /// The one whose id is the name.
    exact: Option<MessageId>,
    /// Those whose ids begin with the name, and that people see.
    visible: BTreeSet<MessageId>,
    /// Those whose ids begin with the name, and that only change the state.
    hidden: BTreeSet<MessageId>,
}

impl Candidates {
    /// Adds a message if its id is the word or begins with it. Stops at an exact match.
    fn add(&mut self, id: &str, word: &str, is_visible: bool) -> ControlFlow<()> {
        if id == word {
            self.exact = Some(id.into());
            return ControlFlow::Break(());
        }
        if id.starts_with(word) && !word.is_empty() {
            let ids = if is_visible {
                &mut self.visible
            } else {
                &mut self.hidden
            };
            ids.insert(MessageId::from(id));
        }
        ControlFlow::Continue(())
    }
}

/// The failure for a session that does not exist. `None` means that you named none.
fn no_session(wanted: Option<&str>) -> Failure {
    match wanted {
        Some(word) => Failure::not_found(format!("there is no session {word:?}"))
            .or_hint("analects session list --all lists all sessions"),
        None => Failure::not_found("no conversation in this folder yet").or_hint(
            "start one, such as analects chat \"Hello\", or see analects session list --all",
        ),
    }
}

/// The failure for a message that does not exist.
fn no_message(of: &ChainName, word: &str) -> Failure {
    let error = StoreError::MessageNotFound {
        name: of.to_string(),
        id: word.to_string(),
    };
    let tail = format!("analects session tail {} shows the last ones", &*of.session);
    Failure::from(error).or_hint(tail)
}

/// Says that several sessions or messages, as `what` says, begin with this word.
/// Lists at most [`MAX_CANDIDATES`] of them.
fn ambiguous(what: &str, word: &str, ids: Vec<String>) -> Failure {
    let count = ids.len();
    let mut candidates = ids[..count.min(MAX_CANDIDATES)].join(", ");
    if count > MAX_CANDIDATES {
        candidates += ", …";
    }
    Failure::usage(
        format!("{word:?} may be any of {count} {what}s"),
        format!("type more of its id: {candidates}"),
    )
}

/// The shortest beginnings of these ids that tell them apart, though at least [`SHORT_ID`] characters.
/// In the order given. For lists, where a full id would fill the line.
pub fn short_ids(ids: &[&str]) -> Vec<String> {
    // In sorted order, an id shares most with its neighbours.
    let unique: BTreeSet<&str> = ids.iter().copied().collect();
    let sorted: Vec<&str> = unique.into_iter().collect();
    ids.iter().map(|id| short_id(id, &sorted)).collect()
}

/// The beginning of an id that no other id in the sorted list shares.
fn short_id(id: &str, sorted: &[&str]) -> String {
    let at = sorted.partition_point(|other| *other < id);
    let mut shared = 0;
    for neighbour in [at.checked_sub(1), Some(at + 1)].into_iter().flatten() {
        if let Some(other) = sorted.get(neighbour) {
            shared = shared.max(shared_start(id, other));
        }
    }
    id.chars().take(SHORT_ID.max(shared + 1)).collect()
}

/// How many characters two texts have in common at their beginning.
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
