//! Tests of the message file: reading, writing, and that no text can forge a cell.

use analects_core::{Body, CountingIds, Ids, StopReason};
use proptest::prelude::*;

use super::*;

mod adding;
mod compacted;
mod conversations;
pub(crate) mod generate;
mod ids;
mod knowing;
mod metadata;
mod promises;
mod readable;
mod reading;
mod round_trips;
mod tidying;
