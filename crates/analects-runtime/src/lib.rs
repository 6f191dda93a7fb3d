//! One turn of a conversation: prepare, ask, stream, record.
//!
//! This crate ties the other crates together and holds the only loop that waits. It knows neither the terminal nor the
//! environment; a callback decides what a person sees.
//!
//! # Types, in reading order
//!
//! 1. [`Conversation`] is anything that stores a conversation: [`FileConversation`] in a message file,
//!    [`StoredConversation`] in the transcript store. A [`Snapshot`] is its content at one moment.
//! 2. [`prepare()`] takes [`AskOptions`] and finds who answers ([`ResolvedAgent`]), which [`Question`]s wait and what is
//!    sent. It writes nothing. An [`AnswerQueue`] prepares the answers of a call that gets several.
//! 3. [`Prepared::plan`] shows what would be sent. [`Prepared::ask`] and [`Prepared::ask_blocking`] ask the model, report
//!    each [`TurnEvent`] and return an [`Outcome`].
//! 4. [`turn`] is the turn as a pure state machine: what happened goes in, what to do next comes out.
//! 5. [`Prepared::compact_blocking`] compacts a conversation on request, as a turn does when the context is full;
//!    [`undo_compaction`](analects_core::verbs::undo_compaction) takes it back.
//!
//! # Answering a file
//!
//! The agent that usually answers in a file answers the questions that wait there. Here `model` names a recorded answer
//! instead, which needs no key; `ProviderSettings::read` finds keys for others. A program without an asynchronous runtime blocks:
//!
//! ```
//! use analects_client::ProviderSettings;
//! use analects_runtime::{AskOptions, FileConversation, prepare};
//! use analects_store::StoreFolders;
//!
//! # let temporary = tempfile::tempdir()?;
//! # let folder = temporary.path().to_path_buf();
//! # let recording = folder.join("answer.sse");
//! # std::fs::write(&recording, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Forty-two.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")?;
//! # let path = folder.join("talk.msg.md");
//! # std::fs::write(&path, "# %%\n\nWhat is six times seven?\n")?;
//! # let model = format!("replay:{}", recording.display());
//! let places = StoreFolders::in_folder(&folder);
//! let environment = ProviderSettings::default();
//! let options = AskOptions { model: Some(&model), ..AskOptions::new(&environment) };
//! let mut conversation = FileConversation::open(&path, &places)?;
//! let mut prepared = prepare(&mut conversation, &options)?;
//! let outcome = prepared.ask_blocking(&mut |_| {}, std::future::pending())?;
//! assert_eq!(outcome.answer.map(|answer| answer.text()).as_deref(), Some("Forty-two."));
//! # assert!(std::fs::read_to_string(&path)?.contains("Forty-two."));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! An asynchronous program awaits the answer. The turn runs on a blocking thread of the runtime, so the conversation
//! moves there. Opening it reads the disk, so that belongs on such a thread as well:
//!
//! ```
//! use analects_client::ProviderSettings;
//! use analects_runtime::{AskOptions, FileConversation, prepare};
//! use analects_store::StoreFolders;
//!
//! # let temporary = tempfile::tempdir()?;
//! # let folder = temporary.path().to_path_buf();
//! # let recording = folder.join("answer.sse");
//! # std::fs::write(&recording, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Forty-two.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")?;
//! # let path = folder.join("talk.msg.md");
//! # std::fs::write(&path, "# %%\n\nWhat is six times seven?\n")?;
//! # let model = format!("replay:{}", recording.display());
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! let prepared = tokio::task::spawn_blocking(move || {
//!     let places = StoreFolders::in_folder(&folder);
//!     let environment = ProviderSettings::default();
//!     let options = AskOptions { model: Some(&model), ..AskOptions::new(&environment) };
//!     let conversation = FileConversation::open(&path, &places)?;
//!     Ok::<_, Box<dyn std::error::Error + Send + Sync>>(prepare(conversation, &options)?)
//! });
//! let outcome = prepared.await??.ask(|_event| {}).await?;
//! assert_eq!(outcome.answer.map(|answer| answer.text()).as_deref(), Some("Forty-two."));
//! # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
//! # }).map_err(|error| error.to_string())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Limitations
//!
//! - Tools run only if the caller brings a [`ToolRunner`]. Else each call gets a result that says so, and the turn ends.
//! - In a stored conversation, an answer reaches the disk when it is finished or stopped, not while it arrives.
//! - The calibration of token estimates is stored with a session, but not with a message file.
//! - Two programs that continue the same session at once make two branches; nothing merges them.

mod agents;
mod answer_deadline;
mod answer_queue;
mod compaction;
mod conversation;
mod cost_limit;
mod drive;
mod file;
mod files;
mod money;
mod network;
mod prepare;
mod stored;
mod tools;
pub mod turn;
mod turn_config;

pub use agents::{
    AgentSource, NothingConfigured, RECORDING_AUTHOR, ResolvedAgent, ResponderNote, is_askable,
    next_agent,
};
pub use answer_queue::{AnswerQueue, ChosenMessages, QueueReport, broken_answer};
pub use compaction::{CompactionError, CompactionReport};
pub use conversation::{Conversation, Notes, Question, Responders, Snapshot};
pub use cost_limit::CostLimitError;
pub use drive::{Outcome, TurnEnd, TurnEvent};
pub use file::{FileConversation, NamedPicture, agent_name, named_pictures};
pub use files::{AttachError, attach_file, attachment_preview};
pub use money::dollars;
pub use network::NetworkError;
pub use prepare::{AskError, AskOptions, PrepareError, Prepared, TurnPlan, WriteProgress, prepare};
pub use stored::{Branches, StoredConversation, size_in_words};
pub use tools::{CallResult, ToolRunner};
pub use turn_config::{ServerStarter, TurnConfig, budget};
