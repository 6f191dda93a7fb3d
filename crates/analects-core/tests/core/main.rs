//! Tests of the core types: JSON that loses nothing, chains, folds.
#![allow(clippy::unwrap_used, clippy::panic)]

use proptest::prelude::*;

use analects_core::*;
use analects_testkit::values as generate;

mod chains;
mod folds;
mod growth;
mod round_trips;
mod sending;
mod states;
mod texts;
