//! Tests of the message file: reading, writing, and that no text can forge a cell.

use analects_core::{Body, CountingIds, Ids, StopReason};
use proptest::prelude::*;

use super::*;

mod adding;
mod conversations;
pub(crate) mod generate;
mod ids;
mod knowing;
mod metadata;
mod mistakes;
mod promises;
mod readable;
mod reading;
mod results;
mod round_trips;
mod tidying;
mod verbs;

use analects_core::SessionId;
use analects_core::verbs::{Change, Target, VerbError};

/// A verb of the core.
type CoreVerb = fn(&[analects_core::Message], &Target) -> Result<Vec<Change>, VerbError>;

/// A document after a verb on one of its cells.
fn changed(document: &Document, at: usize, verb: CoreVerb) -> Document {
    let read = CellMessages::of(document, &SessionId::default());
    let changes = verb(&read.messages, read.target(at).unwrap()).unwrap();
    apply(document, &read, &changes, &mut CountingIds::default()).unwrap()
}
