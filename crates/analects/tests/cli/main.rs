//! The command as a person uses it: the real binary, a real server on loopback, real files.

mod chat;
mod failures;
mod kills;
mod sandbox;
mod server;
mod show;
