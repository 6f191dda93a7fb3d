//! The command as a person uses it: the real binary, a real server on loopback, real files.
#![allow(clippy::unwrap_used, clippy::panic)]

mod agents;
mod chat;
mod failures;
mod kills;
mod output;
mod sandbox;
mod server;
mod show;
