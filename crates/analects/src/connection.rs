//! What every verb that asks a model has in common: the options of the connection, the limits of a turn, the model for
//! summaries, and a warning if an answer ended in an unusual way.
//!
//! A verb flattens [`ConnectionArgs`] and [`LimitArgs`] into its own arguments, so the options read the same
//! everywhere. It calls [`ConnectionArgs::allow`] before a model is looked up, and [`turn_config`] before a turn.

use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use analects_client::{Client, Model, Options, RetryNotice, resolve};
use analects_core::{Body, Message, StopReason};
use analects_runtime::TurnConfig;
use analects_runtime::turn::TurnLimits;
use analects_store::FileGrants;

use crate::config::Config;
use crate::environment::Environment;
use crate::failure::{Failure, io_error_text};
use crate::local::LocalStarter;
use crate::ui;

/// Options of the connection to a model.
#[derive(Debug, Default, clap::Args)]
pub struct ConnectionArgs {
    /// Give up after this many seconds without data [default: 120 until the first byte, then 90]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,

    /// Record the bytes of the answer in a new FILE for replay:FILE; API keys are left out
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,

    /// Allow http:// to other machines, although anyone on the way can read your key and the conversation
    #[arg(long)]
    allow_http: bool,
}

impl ConnectionArgs {
    /// Whether a question may limit how long its answer takes: not if `--timeout` says it.
    pub fn question_timeouts(&self) -> bool {
        self.timeout.is_none()
    }

    /// Passes `--allow-http` on to the environment, where models are looked up.
    pub fn allow(&self, environment: &mut Environment) {
        environment.models.allow_http |= self.allow_http;
    }

    /// The options of the client. Fails if the answer cannot be recorded.
    /// Without `--timeout`, the client has one limit until the first byte and another between bytes; with it, both are
    /// the same.
    pub fn options(&self, environment: &Environment) -> Result<Options, Failure> {
        let record = self.record.clone();
        if let Some(path) = &record {
            check_recording(path)?;
        }
        let recording = record.clone().unwrap_or_default();
        let on_lost = move |error: &io::Error| remark_lost_recording(&recording, error);
        let defaults = Options::default();
        Ok(Options {
            first_byte_timeout: self.timeout.unwrap_or(defaults.first_byte_timeout),
            idle_timeout: self.timeout.unwrap_or(defaults.idle_timeout),
            proxies: environment.proxies.clone(),
            record_to: record,
            on_recording_error: Some(Arc::new(on_lost)),
            on_retry: Some(Arc::new(remark_wait)),
            ..defaults
        })
    }

    /// Refuses to record an answer in the conversation's own file, which would overwrite it.
    /// Links to the same file count as the same. Call it with the path of each conversation that is written.
    pub fn check_not_recorded_over(&self, file: &Path) -> Result<(), Failure> {
        match &self.record {
            Some(recording) if target(recording) == target(file) => Err(file_exists(recording)),
            _ => Ok(()),
        }
    }
}

/// Says why and how long the client waits before it tries again.
/// The client calls it between two attempts, while the status line still says what it waits for.
fn remark_wait(waiting: &RetryNotice) {
    let error = &waiting.error;
    let seconds = waiting.wait.as_secs_f64();
    ui::remark(&format!("{error}; trying again in {seconds:.1} s"));
}

/// Warns that the recording is incomplete. The answer itself goes on.
fn remark_lost_recording(path: &Path, error: &io::Error) {
    let path = path.display();
    let reason = io_error_text(error);
    ui::remark(&format!(
        "warning: {path}: the answer could not be recorded: {reason}"
    ));
}

/// Checks that an answer can be recorded at this path, before it is asked for and paid. No file is overwritten: it may
/// hold anything.
/// An empty file is fine, such as one that `mktemp` made.
fn check_recording(path: &Path) -> Result<(), Failure> {
    let result = match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(metadata) if metadata.is_file() && metadata.len() > 0 => return Err(file_exists(path)),
        Ok(metadata) if metadata.is_file() => OpenOptions::new().append(true).open(path).map(drop),
        // Opening a pipe would take it away from the process that waits at its other end.
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => try_create(path),
        Err(error) => Err(error),
    };
    result.map_err(|error| {
        let reason = io_error_text(&error);
        Failure::input(format!("{}: cannot record there: {reason}", path.display()))
    })
}

/// Creates a file and removes it again.
/// Tells whether the folder exists and can be written.
fn try_create(path: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).open(path)?;
    std::fs::remove_file(path)
}

/// The failure for a recording that would overwrite a file.
fn file_exists(path: &Path) -> Failure {
    Failure::input(format!("{}: there is a file already", path.display()))
        .or_hint("choose another name for the recording, or remove that file")
}

/// The absolute path that a file has, or will have, with all links resolved.
/// `None` if the folder does not exist.
fn target(path: &Path) -> Option<PathBuf> {
    let whole = std::path::absolute(path).ok()?;
    let folder = whole.parent()?.canonicalize().ok()?;
    if let Ok(existing) = whole.canonicalize() {
        return Some(existing);
    }
    Some(folder.join(whole.file_name()?))
}

/// Parses a number of seconds, from a millisecond to a day.
pub fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.001..=86_400.0).contains(&seconds) => {
            Ok(Duration::from_secs_f64(seconds))
        }
        _ => Err("expected seconds, such as 30 or 2.5".to_string()),
    }
}

/// Runs a future on this thread until it is done.
/// Fails only if the system refuses what the runtime needs. Must not be called within another.
pub fn block_on<T>(future: impl Future<Output = T>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::internal(format!("cannot start: {}", io_error_text(&error))))?;
    Ok(runtime.block_on(future))
}

/// Limits of a turn.
#[derive(Debug, Default, Clone, Copy, clap::Args)]
pub struct LimitArgs {
    /// Send at most N requests for one prompt; each request after the first sends tool results [default:
    /// 50]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_turns: Option<u32>,

    /// Do not ask if the cost of one prompt, including summaries, could exceed this many US dollars
    #[arg(long, value_name = "USD", value_parser = dollars)]
    max_cost: Option<f64>,
}

impl LimitArgs {
    /// The limits, with defaults for the options that are not given.
    pub fn limits(self) -> TurnLimits {
        let defaults = TurnLimits::default();
        TurnLimits {
            questions: self.max_turns.unwrap_or(defaults.questions),
            cost: self.max_cost,
        }
    }
}

/// Parses an amount that is not negative, with or without a `$`.
/// Zero is allowed: it refuses every model that costs something.
fn dollars(text: &str) -> Result<f64, String> {
    match text.trim_start_matches('$').parse::<f64>() {
        Ok(amount) if amount.is_finite() && amount >= 0.0 => Ok(amount),
        _ => Err("expected US dollars, such as 0.05".to_string()),
    }
}

/// How to run a turn, from the options of the call and the configuration.
/// Starts nothing and sends nothing yet.
pub fn turn_config(
    options: Options,
    limits: TurnLimits,
    config: &Config,
    environment: &Environment,
) -> TurnConfig {
    let turn = TurnConfig {
        client: Arc::new(Client::new(options)),
        // Starts the server of a local model for summaries when one is due.
        starter: Some(Arc::new(LocalStarter::new(environment))),
        grants: Some(FileGrants::new(&environment.places)),
        limits,
        ..TurnConfig::default()
    };
    with_config(turn, config, environment)
}

/// The same turn with the summaries of another configuration.
/// A session calls this when the configuration may have changed.
pub fn with_config(turn: TurnConfig, config: &Config, environment: &Environment) -> TurnConfig {
    let summariser = config
        .pointer("compact")
        .and_then(|name| summariser(name, environment));
    TurnConfig {
        summariser,
        threshold: config.compact_at(),
        ..turn
    }
}

/// The configured model for summaries. If it cannot be asked, warns and returns `None`.
/// The answer itself does not depend on it, so a warning is enough.
fn summariser(name: &str, environment: &Environment) -> Option<Model> {
    match resolve(name, &environment.models) {
        Ok(model) => Some(model),
        Err(error) => {
            ui::remark(&format!(
                "warning: the model for summaries cannot be asked: {error}"
            ));
            None
        }
    }
}

/// Why a complete answer may not be what you expect. `None` if it ended as usual.
/// The caller prints it after `warning:`. A partial answer that you stopped is not unusual.
pub fn stop_reason_warning(answer: &Message) -> Option<String> {
    let Body::Assistant(body) = &answer.body else {
        return None;
    };
    let is_silent = answer.text().trim().is_empty();
    let text = match &body.stop_reason {
        Some(StopReason::MaxTokens) if is_silent => {
            "the answer was cut at the token limit before any text came"
        }
        Some(StopReason::MaxTokens) => "the answer was cut at the token limit",
        Some(StopReason::Refusal) => "the model or its provider refused to answer",
        Some(StopReason::ToolUse) => "the model asks for a tool, but this program runs no tools",
        Some(reason @ (StopReason::PauseTurn | StopReason::Other(_))) => {
            let reason = reason.as_str();
            return Some(format!("the answer ended for an unusual reason: {reason}"));
        }
        _ if is_silent => "the answer holds no text",
        _ => return None,
    };
    Some(text.to_string())
}
