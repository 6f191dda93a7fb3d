//! The command as a person uses it: the real binary, a real server on loopback, real files.
#![allow(clippy::unwrap_used, clippy::panic)]

use analects_testkit::server;

mod add;
mod agents;
mod answerers;
mod ask;
mod asking;
mod branches;
#[cfg(target_os = "linux")]
mod chaos;
mod chat;
mod check;
mod choosing;
mod claude_code;
mod clean_files;
mod compact;
mod compacted;
mod completions;
mod config;
mod context;
mod convert;
mod converted_files;
#[cfg(target_os = "linux")]
mod costs;
mod decodes;
mod diagnostics;
#[cfg(target_os = "linux")]
mod disk;
mod dry_runs;
mod editing;
#[cfg(target_os = "linux")]
mod editors;
mod edits;
mod examples;
mod expected;
mod failures;
mod fmt;
mod forks;
mod get;
#[cfg(target_os = "linux")]
mod half_written;
mod help;
mod hiding;
mod hostile;
mod interactive;
mod journal;
mod keys;
mod kills;
mod limits;
mod list;
mod long_sessions;
mod mishaps;
mod model;
mod new;
mod output;
mod outside_edits;
#[cfg(target_os = "linux")]
mod pictures;
#[cfg(target_os = "linux")]
mod power;
mod pseudo_terminal;
mod ready;
mod recording;
mod recover;
mod rendering;
mod resumed;
mod rights;
mod sandbox;
#[cfg(target_os = "linux")]
mod session_crashes;
mod session_verbs;
mod sessions;
mod set;
mod show;
mod shown_files;
mod signals;
#[cfg(target_os = "linux")]
mod syscalls;
mod terminal;
mod told;
mod unseen;
mod watch;
mod watching;
mod ways;
#[cfg(target_os = "linux")]
mod whole_sessions;
#[cfg(target_os = "linux")]
mod writers;
