//! The command as a person uses it: the real binary, a real server on loopback, real files.
#![allow(clippy::unwrap_used, clippy::panic)]

mod add;
mod agents;
mod chat;
mod completions;
mod config;
#[cfg(target_os = "linux")]
mod disk;
mod failures;
mod help;
mod kills;
mod new;
mod output;
#[cfg(target_os = "linux")]
mod power;
mod sandbox;
mod server;
mod set;
mod show;
#[cfg(target_os = "linux")]
mod syscalls;
#[cfg(target_os = "linux")]
mod writers;
