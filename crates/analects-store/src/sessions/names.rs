//! What a name means: which session is meant by an id, the beginning of one, a title, or none; and the names of the
//! records of a chain, without the rest of them.

use std::ops::ControlFlow;

use analects_core::{Link, MessageId};
use analects_formats::transcript::{Envelope, OwnedLink, read_line};

use super::{ChainName, ChainRow, TranscriptStore};
use crate::StoreError;

/// The last record of a chain that can end it.
pub(crate) fn last_record<S: TranscriptStore + ?Sized>(
    store: &S,
    of: &ChainName,
) -> Result<Option<MessageId>, StoreError> {
    let mut leaf = None;
    visit_names_backward(store, of, &mut |names| {
        let link = names.link();
        if link.agent == of.agent.as_deref() && link.can_be_leaf() {
            leaf = Some(link.id.into());
        }
        leaf.is_none()
    })?;
    Ok(leaf)
}

/// Goes over the names of all records, from the last to the first, for as long as `each` says so.
pub(crate) fn visit_names_backward<S: TranscriptStore + ?Sized>(
    store: &S,
    of: &ChainName,
    each: &mut dyn FnMut(OwnedLink) -> bool,
) -> Result<(), StoreError> {
    store.scan_backward(of, &mut |row| {
        let goes_on = names_of(row).into_iter().rev().all(&mut *each);
        if goes_on {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    })
}

/// The names of the records in a row.
fn names_of(row: ChainRow<'_>) -> Vec<OwnedLink> {
    let Some(bytes) = row.bytes else {
        return row.long_names().into_iter().collect();
    };
    let head = std::str::from_utf8(bytes).ok().and_then(Envelope::read);
    if let Some(head) = head.filter(|head| !head.needs_body()) {
        return vec![head.link()];
    }
    read_line(bytes)
        .messages
        .iter()
        .map(|message| OwnedLink::of(&Link::of(message)))
        .collect()
}

/// What came of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionMatch {
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
) -> Result<SessionMatch, StoreError> {
    let listed = store.list(project)?;
    let all = || listed.iter().map(|session| &session.name);
    let Some(wanted) = name else {
        return Ok(all()
            .next()
            .cloned()
            .map_or(SessionMatch::None, SessionMatch::One));
    };
    let exact: Vec<ChainName> = all()
        .filter(|name| &*name.session == wanted)
        .cloned()
        .collect();
    if !exact.is_empty() {
        return Ok(one_of(exact));
    }
    let starts = all().filter(|name| !wanted.is_empty() && name.session.starts_with(wanted));
    let starts: Vec<ChainName> = starts.cloned().collect();
    if !starts.is_empty() {
        return Ok(one_of(starts));
    }
    let digests = store.summaries(&listed)?;
    let titled = all()
        .zip(&digests)
        .filter(|(_, digest)| digest.name.as_deref() == Some(wanted));
    Ok(one_of(titled.map(|(name, _)| name.clone()).collect()))
}

fn one_of(mut names: Vec<ChainName>) -> SessionMatch {
    match names.len() {
        0 => SessionMatch::None,
        1 => SessionMatch::One(names.swap_remove(0)),
        _ => SessionMatch::Many(names),
    }
}

/// Goes over the names of the records of a chain, from the last to the first; `Break` ends it.
pub fn visit_links(
    store: &dyn TranscriptStore,
    of: &ChainName,
    each: &mut dyn FnMut(Link<'_>) -> ControlFlow<()>,
) -> Result<(), StoreError> {
    store.scan_backward(of, &mut |row| {
        let Some(bytes) = row.bytes else {
            return row
                .long_names()
                .iter()
                .try_for_each(|names| each(names.link()));
        };
        match std::str::from_utf8(bytes).ok().and_then(Envelope::read) {
            Some(head) => each(head.link().link()),
            None => {
                let read = read_line(bytes);
                read.messages
                    .iter()
                    .rev()
                    .try_for_each(|message| each(Link::of(message)))
            }
        }
    })
}
