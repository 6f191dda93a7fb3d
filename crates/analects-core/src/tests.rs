//! Tests of the core types: JSON that loses nothing, chains, folds.

use proptest::prelude::*;

use crate::testing as generate;
use crate::*;

mod chains;
mod folds;
mod growth;
mod round_trips;
mod sending;
mod states;
mod texts;
