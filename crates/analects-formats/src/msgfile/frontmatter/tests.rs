//! Tests of the frontmatter: what it says, and that changing a key changes that key alone.

use super::*;

mod editing;
mod hostile;
mod reading;
