//! The command as a person uses it: the real binary, a real server on loopback, real files.
#![allow(clippy::unwrap_used, clippy::panic)]

mod add;
mod agents;
mod chat;
mod completions;
mod config;
mod failures;
mod help;
mod kills;
mod new;
mod output;
mod sandbox;
mod server;
mod set;
mod show;
