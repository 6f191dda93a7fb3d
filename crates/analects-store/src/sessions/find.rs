//! Which session is meant: by its id, the beginning of one, its title, or simply the last.

use std::ops::ControlFlow;

use analects_core::Link;
use analects_formats::transcript::{Envelope, read_line};

use super::{ChainName, TranscriptStore};
use crate::StoreError;

/// What came of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// One session.
    One(ChainName),
    /// More than one: their ids.
    Many(Vec<ChainName>),
    /// None.
    None,
}

/// Finds a session of a project, or of all. Without a name, the one that was written to last is meant.
/// A whole id counts before the beginning of one, and that before a title.
pub fn find(
    store: &dyn TranscriptStore,
    project: Option<&str>,
    name: Option<&str>,
) -> Result<Found, StoreError> {
    let listed = store.list(project)?;
    let all = || listed.iter().map(|session| &session.name);
    let Some(wanted) = name else {
        return Ok(all().next().cloned().map_or(Found::None, Found::One));
    };
    let exact: Vec<ChainName> = all().filter(|name| &*name.session == wanted).cloned().collect();
    if !exact.is_empty() {
        return Ok(one_of(exact));
    }
    let starts = all().filter(|name| !wanted.is_empty() && name.session.starts_with(wanted));
    let starts: Vec<ChainName> = starts.cloned().collect();
    if !starts.is_empty() {
        return Ok(one_of(starts));
    }
    let mut titled = Vec::new();
    for name in all() {
        if store.overview(name)?.name() == Some(wanted) {
            titled.push(name.clone());
        }
    }
    Ok(one_of(titled))
}

fn one_of(mut names: Vec<ChainName>) -> Found {
    match names.len() {
        0 => Found::None,
        1 => Found::One(names.swap_remove(0)),
        _ => Found::Many(names),
    }
}

/// Goes over the names of the records of a chain, from the last to the first; `Break` ends it.
pub fn message_names(
    store: &dyn TranscriptStore,
    of: &ChainName,
    each: &mut dyn FnMut(Link<'_>) -> ControlFlow<()>,
) -> Result<(), StoreError> {
    store.scan_back(of, &mut |row| {
        let Some(bytes) = row.bytes else {
            return row.long_names().iter().try_for_each(|names| each(names.link()));
        };
        match std::str::from_utf8(bytes).ok().and_then(Envelope::read) {
            Some(head) => each(head.names().link()),
            None => {
                let read = read_line(bytes);
                read.messages.iter().rev().try_for_each(|message| each(Link::of(message)))
            }
        }
    })
}
