//! Disks for tests: one that fails at any operation, and one that forgets what was not synced.

mod faulty;
mod memory;

pub use faulty::{Fault, Faulty, Traffic};
pub use memory::{Memory, Unsynced};
