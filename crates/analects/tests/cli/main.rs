//! The command as a person uses it: the real binary, a real server on loopback, real files.
#![allow(clippy::unwrap_used, clippy::panic)]

mod chat;
mod failures;
mod kills;
mod sandbox;
mod server;
mod show;
