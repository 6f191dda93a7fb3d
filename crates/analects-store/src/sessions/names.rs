//! Finding sessions by name, and reading the links of the records of a chain without their content.

use std::ops::ControlFlow;

use analects_core::{Link, MessageId};
use analects_formats::transcript::{Envelope, OwnedLink, read_line};

use super::{ChainName, ChainRow, ListedSession, TranscriptStore};
use crate::StoreError;

/// Returns the last record that can end a chain.
pub(crate) fn last_record<S: TranscriptStore + ?Sized>(
    store: &S,
    of: &ChainName,
) -> Result<Option<MessageId>, StoreError> {
    let mut leaf = None;
    visit_links_backward(store, of, &mut |link| {
        let link = link.link();
        if link.agent == of.agent.as_deref() && link.can_be_leaf() {
            leaf = Some(link.id.into());
        }
        leaf.is_none()
    })?;
    Ok(leaf)
}

/// Visits the links of all records from the last to the first, while `visit` returns `true`.
pub(crate) fn visit_links_backward<S: TranscriptStore + ?Sized>(
    store: &S,
    of: &ChainName,
    visit: &mut dyn FnMut(OwnedLink) -> bool,
) -> Result<(), StoreError> {
    store.scan_backward(of, &mut |row| {
        for link in links_of(row).into_iter().rev() {
            if !visit(link) {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    })
}

/// Returns the links of the records in a row.
fn links_of(row: ChainRow<'_>) -> Vec<OwnedLink> {
    let Some(bytes) = row.bytes else {
        return row.long_record_link().into_iter().collect();
    };
    let envelope = std::str::from_utf8(bytes).ok().and_then(Envelope::read);
    if let Some(envelope) = envelope
        && !envelope.needs_body()
    {
        return vec![envelope.link()];
    }
    let mut links = Vec::new();
    for message in read_line(bytes).messages {
        links.push(OwnedLink::of(&Link::of(&message)));
    }
    links
}

/// The result of [`find`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionMatch {
    /// Exactly one session.
    One(ChainName),
    /// Several sessions: the name is ambiguous.
    Many(Vec<ChainName>),
    /// No session.
    None,
}

/// Finds a session of a project, or of all projects, by its id, the beginning of its id, or its title, in this order.
/// Without a name, returns the session that was written to last.
pub fn find(
    store: &dyn TranscriptStore,
    project: Option<&str>,
    name: Option<&str>,
) -> Result<SessionMatch, StoreError> {
    let sessions = store.list(project)?;
    let Some(wanted) = name else {
        let latest = sessions.into_iter().next();
        return Ok(latest.map_or(SessionMatch::None, |session| {
            SessionMatch::One(session.name)
        }));
    };
    let exact = names_with(&sessions, |name| &*name.session == wanted);
    if !exact.is_empty() {
        return Ok(match_of(exact));
    }
    let starts = names_with(&sessions, |name| {
        !wanted.is_empty() && name.session.starts_with(wanted)
    });
    if !starts.is_empty() {
        return Ok(match_of(starts));
    }
    let summaries = store.summaries(&sessions)?;
    let mut titled = Vec::new();
    for (session, summary) in sessions.iter().zip(&summaries) {
        if summary.name.as_deref() == Some(wanted) {
            titled.push(session.name.clone());
        }
    }
    Ok(match_of(titled))
}

/// Returns the names of the sessions that a test accepts, in their order.
fn names_with(
    sessions: &[ListedSession],
    is_wanted: impl Fn(&ChainName) -> bool,
) -> Vec<ChainName> {
    let mut names = Vec::new();
    for session in sessions {
        if is_wanted(&session.name) {
            names.push(session.name.clone());
        }
    }
    names
}

/// Returns the match for the names that were found.
fn match_of(mut names: Vec<ChainName>) -> SessionMatch {
    match names.len() {
        0 => SessionMatch::None,
        1 => SessionMatch::One(names.swap_remove(0)),
        _ => SessionMatch::Many(names),
    }
}

/// Visits the links of the records of a chain from the last to the first; `Break` ends it.
pub fn visit_links(
    store: &dyn TranscriptStore,
    of: &ChainName,
    visit: &mut dyn FnMut(Link<'_>) -> ControlFlow<()>,
) -> Result<(), StoreError> {
    store.scan_backward(of, &mut |row| {
        let Some(bytes) = row.bytes else {
            return match row.long_record_link() {
                Some(link) => visit(link.link()),
                None => ControlFlow::Continue(()),
            };
        };
        let envelope = std::str::from_utf8(bytes).ok().and_then(Envelope::read);
        if let Some(envelope) = envelope {
            return visit(envelope.link().link());
        }
        for message in read_line(bytes).messages.iter().rev() {
            if visit(Link::of(message)).is_break() {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    })
}
