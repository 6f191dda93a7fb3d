//! Whole turns with a real server behind a real socket, in a message file and in the store.
#![allow(clippy::unwrap_used, clippy::panic)]

mod compacting;
mod freshness;
mod limits;
mod place;
mod server;
mod summaries;
mod tools;
