//! What every verb that asks a model lets the person say: about the connection, what a turn may take, and who
//! writes summaries. And what it says of how an answer ended.

use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use analects_client::{Client, Model, Options, Waiting, resolve};
use analects_core::{Body, Message, StopReason};
use analects_runtime::TurnConfig;
use analects_runtime::turn::TurnLimits;
use analects_store::FileGrants;

use crate::config::Config;
use crate::failure::{Failure, words};
use crate::local::LocalStarter;
use crate::surroundings::Surroundings;
use crate::ui;

/// Options of the connection to a model.
#[derive(Debug, Default, clap::Args)]
pub struct Connection {
    /// Give up after this many seconds without data [default: 120 until the first byte, then 90]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,

    /// Record the bytes of the answer in a new FILE for replay:FILE; API keys are left out
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,

    /// Allow http:// to other machines; anyone on the network path can read it
    #[arg(long)]
    allow_http: bool,
}

impl Connection {
    /// Lets the surroundings know what is allowed here.
    pub fn allow(&self, surroundings: &mut Surroundings) {
        surroundings.models.allow_http |= self.allow_http;
    }

    /// The options of the client.
    pub fn options(&self, surroundings: &Surroundings) -> Result<Options, Failure> {
        if let Some(path) = &self.record {
            check_recording(path)?;
        }
        let usual = Options::default();
        let on_wait = |waiting: &Waiting| {
            let seconds = waiting.wait.as_secs_f64();
            ui::remark(&format!(
                "{}; trying again in {seconds:.1} s",
                waiting.error
            ));
        };
        let recording = self.record.clone().unwrap_or_default();
        let on_lost = move |error: &io::Error| {
            let (path, words) = (recording.display(), words(error));
            ui::remark(&format!(
                "warning: {path}: the answer could not be recorded: {words}"
            ));
        };
        Ok(Options {
            first_byte: self.timeout.unwrap_or(usual.first_byte),
            idle: self.timeout.unwrap_or(usual.idle),
            proxies: surroundings.proxies.clone(),
            record: self.record.clone(),
            on_lost: Some(Arc::new(on_lost)),
            on_wait: Some(Arc::new(on_wait)),
            ..usual
        })
    }

    /// Refuses to record an answer in the file that the conversation is in, which would be gone.
    pub fn spare(&self, file: &Path) -> Result<(), Failure> {
        match &self.record {
            Some(recording) if place(recording) == place(file) => Err(taken(recording)),
            _ => Ok(()),
        }
    }
}

/// Whether an answer can be recorded there, before it is asked for and paid. No file is overwritten:
/// it may hold anything.
fn check_recording(path: &Path) -> Result<(), Failure> {
    let fail = |error: io::Error| {
        Failure::input(format!(
            "{}: cannot record there: {}",
            path.display(),
            words(&error)
        ))
    };
    match std::fs::metadata(path) {
        Ok(facts) if facts.is_file() && facts.len() > 0 => Err(taken(path)),
        Ok(facts) if facts.is_dir() => Err(fail(io::ErrorKind::IsADirectory.into())),
        Ok(facts) if facts.is_file() => OpenOptions::new()
            .append(true)
            .open(path)
            .map(drop)
            .map_err(fail),
        // To open a pipe would take it away from whoever waits at its other end.
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let made = OpenOptions::new().write(true).create_new(true).open(path);
            made.and_then(|_| std::fs::remove_file(path)).map_err(fail)
        }
        Err(error) => Err(fail(error)),
    }
}

fn taken(path: &Path) -> Failure {
    let failure = Failure::input(format!("{}: there is a file already", path.display()));
    failure.or_hint("name another one for the recording, or remove that one")
}

/// Where a file is, or will be, whatever way leads there.
fn place(path: &Path) -> Option<PathBuf> {
    let whole = std::path::absolute(path).ok()?;
    let folder = whole.parent()?.canonicalize().ok()?;
    whole
        .canonicalize()
        .ok()
        .or_else(|| Some(folder.join(whole.file_name()?)))
}

/// A time, as people type it.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text
        .parse::<f64>()
        .ok()
        .filter(|seconds| (0.001..=86_400.0).contains(seconds));
    let seconds = seconds.ok_or("expected seconds, such as 30 or 2.5")?;
    Ok(Duration::from_secs_f64(seconds))
}

/// Runs what waits for a model.
pub fn block_on<T>(work: impl Future<Output = T>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime =
        runtime.map_err(|error| Failure::ours(format!("cannot start: {}", words(&error))))?;
    Ok(runtime.block_on(work))
}

/// What a turn may take, as a person says it.
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
    pub fn limits(self) -> TurnLimits {
        let usual = TurnLimits::default();
        TurnLimits {
            questions: self.max_turns.unwrap_or(usual.questions),
            cost: self.max_cost,
        }
    }
}

fn dollars(text: &str) -> Result<f64, String> {
    let amount = text.trim_start_matches('$').parse::<f64>().ok();
    let amount = amount.filter(|amount| amount.is_finite() && *amount >= 0.0);
    amount.ok_or_else(|| "expected US dollars, such as 0.05".to_string())
}

/// How a turn goes, as the person and the configuration say it.
pub fn turn_config(
    options: Options,
    limits: TurnLimits,
    config: &Config,
    surroundings: &Surroundings,
) -> TurnConfig {
    let turn = TurnConfig {
        client: Arc::new(Client::new(options)),
        // The server of a local model that writes summaries is started when one is due.
        starter: Some(Arc::new(LocalStarter::new(surroundings))),
        grants: Some(FileGrants::new(&surroundings.places)),
        limits,
        ..TurnConfig::default()
    };
    configure(turn, config, surroundings)
}

/// The same with another configuration.
pub fn configure(turn: TurnConfig, config: &Config, surroundings: &Surroundings) -> TurnConfig {
    let summariser = config
        .pointer("compact")
        .and_then(|name| summariser(name, surroundings));
    TurnConfig {
        summariser,
        threshold: config.compact_at(),
        ..turn
    }
}

/// The model that is configured for summaries, if it can be asked.
fn summariser(name: &str, surroundings: &Surroundings) -> Option<Model> {
    match resolve(name, &surroundings.models) {
        Ok(model) => Some(model),
        Err(error) => {
            ui::remark(&format!(
                "warning: the model for summaries cannot be asked: {error}"
            ));
            None
        }
    }
}

/// Why a complete answer may not be what the person expects.
pub fn what_is_odd(answer: &Message) -> Option<String> {
    let Body::Assistant(body) = &answer.body else {
        return None;
    };
    let silent = answer.text().trim().is_empty();
    let text = match &body.stop_reason {
        Some(StopReason::MaxTokens) if silent => {
            "the answer was cut at the token limit before any text came"
        }
        Some(StopReason::MaxTokens) => "the answer was cut at the token limit",
        Some(StopReason::Refusal) => "the model or its provider refused to answer",
        Some(StopReason::ToolUse) => "the model asks for a tool, and tools are not run",
        Some(reason @ (StopReason::PauseTurn | StopReason::Other(_))) => {
            return Some(format!(
                "the answer ended for an unusual reason: {}",
                reason.as_str()
            ));
        }
        _ if silent => "the answer holds no text",
        _ => return None,
    };
    Some(text.to_string())
}
