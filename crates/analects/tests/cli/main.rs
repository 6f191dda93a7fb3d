//! The command as a person uses it: the real binary, a real server on loopback, real files.
#![allow(clippy::unwrap_used, clippy::panic)]

use analects_testkit::server;

mod add;
mod agent_models;
mod answer_limits;
mod ask;
mod ask_terminal;
mod chat;
mod chat_agents;
mod chat_file_contents;
mod chat_instructions;
mod chat_options;
mod chat_refusals;
mod chat_terminal;
mod chat_terminal_errors;
mod chat_watch;
mod chat_with_files;
mod check;
mod claude_code;
mod compact;
mod completions;
mod concurrent_sessions;
#[cfg(target_os = "linux")]
mod concurrent_writers;
mod config;
mod context;
mod convert;
mod convert_files;
mod convert_losses;
mod diagnostics;
#[cfg(target_os = "linux")]
mod disk_and_permissions;
#[cfg(target_os = "linux")]
mod disk_writes;
mod drop_and_restore;
mod dry_run;
mod edit;
mod edit_after_compact;
#[cfg(target_os = "linux")]
mod editor_setups;
mod edits_during_answer;
mod empty_cell;
mod error_messages;
mod examples;
mod external_editor;
mod file_access;
mod file_reads;
mod file_watcher;
mod fmt;
#[cfg(target_os = "linux")]
mod half_written_files;
mod help;
mod hostile_content;
#[cfg(target_os = "linux")]
mod import_crashes;
mod interrupted_answers;
mod journal;
mod keyboard;
#[cfg(target_os = "linux")]
mod kills_during_save;
mod list;
mod local_times;
mod long_sessions;
mod loss_reports;
mod markdown_rendering;
mod model;
mod new;
mod no_model;
mod notes_in_context;
mod output;
mod output_files;
#[cfg(target_os = "linux")]
mod pictures;
#[cfg(target_os = "linux")]
mod power_cuts;
mod pseudo_terminal;
mod readme_picture;
mod recover;
mod repeated_questions;
mod retry;
mod rewind_and_fork;
mod sandbox;
#[cfg(target_os = "linux")]
mod saves_during_turn;
#[cfg(target_os = "linux")]
mod session_crashes;
mod session_edits;
mod session_resume;
mod sessions;
mod set;
mod show;
mod show_cell;
mod signals;
mod size_limits;
mod snapshots;
mod status_messages;
mod stdin;
mod terminal_output;
mod tools;
mod tools_by_provider;
mod tools_hostile;
mod unseen_cells;
mod wrong_uses;
