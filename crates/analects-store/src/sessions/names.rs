//! The names of records, without the rest of them.

use std::ops::ControlFlow;

use analects_core::{Link, MessageId};
use analects_formats::transcript::{Envelope, Names, read_line};

use super::{ChainName, Row, TranscriptStore};
use crate::StoreError;

/// The last record of a chain that can end it.
pub(crate) fn last_record<S: TranscriptStore + ?Sized>(
    store: &S,
    of: &ChainName,
) -> Result<Option<MessageId>, StoreError> {
    let mut leaf = None;
    names_back(store, of, &mut |names| {
        let link = names.link();
        if link.agent == of.agent.as_deref() && link.can_be_leaf() {
            leaf = Some(link.id.into());
        }
        leaf.is_none()
    })?;
    Ok(leaf)
}

/// Goes over the names of all records, from the last to the first, for as long as `each` says so.
pub(crate) fn names_back<S: TranscriptStore + ?Sized>(
    store: &S,
    of: &ChainName,
    each: &mut dyn FnMut(Names) -> bool,
) -> Result<(), StoreError> {
    store.scan_back(of, &mut |row| {
        let goes_on = names_of(row).into_iter().rev().all(&mut *each);
        if goes_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })
}

/// The names of the records in a row.
pub(super) fn names_of(row: Row<'_>) -> Vec<Names> {
    let Some(bytes) = row.bytes else { return row.long_names().into_iter().collect() };
    let head = std::str::from_utf8(bytes).ok().and_then(Envelope::read);
    if let Some(head) = head.filter(|head| !head.needs_body()) {
        return vec![head.names()];
    }
    read_line(bytes).messages.iter().map(|message| Names::of(&Link::of(message))).collect()
}
