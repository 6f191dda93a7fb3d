//! Tests of the core types: JSON that loses nothing, chains, folds.

use proptest::prelude::*;

use crate::*;

mod chains;
mod folds;
mod generate;
mod round_trips;
mod texts;
