//! Tests of the frame.

use super::*;

mod pieces;
