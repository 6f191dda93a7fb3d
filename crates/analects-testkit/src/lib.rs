//! What the tests of the other crates share: arbitrary values, the rules of the APIs, a model server, disks that
//! fail, and what every store has to do.
//!
//! No program depends on this crate, and it panics where a test would. A crate's unit tests may use it as long as
//! none of their own types is involved; tests that need those stand in the crate's `tests/` folder.
//!
//! # In reading order
//!
//! 1. [`values`] has generators of the core types, odd JSON included; [`conversations`] has whole conversations.
//! 2. [`validate`](validate()) says where a body on its way to a provider breaks that API's [`Rules`].
//! 3. [`server::Server`] is a model server on loopback that answers as scripted.
//! 4. [`skip()`] says that a test cannot run here; [`how_many`] tells a quick run from `cargo xtask torture`.
//! 5. With the feature `store`: `disks` has a disk that fails at any operation and one that forgets what was not
//!    synced; `conformance` is what every transcript store has to do.
#![allow(clippy::unwrap_used, clippy::panic)]

#[cfg(feature = "store")]
pub mod conformance;
pub mod conversations;
#[cfg(feature = "store")]
pub mod disks;
pub mod server;
mod skip;
mod torture;
mod validate;
pub mod values;

pub use skip::skip;
pub use torture::{how_many, is_torture};
pub use validate::{Rules, Violation, validate};
