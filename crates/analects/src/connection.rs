//! What every verb that asks a model lets the person say about the connection.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use analects_client::{Options, Waiting};

use crate::failure::{Failure, words};
use crate::surroundings::Surroundings;
use crate::ui;

/// Options of the connection to a model.
#[derive(Debug, Default, clap::Args)]
pub struct Connection {
    /// Give up if nothing comes for this many seconds [default: 120 until the first byte, then 90]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,

    /// Record the bytes of the answer in FILE, for replay:FILE; keys are left out
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,

    /// Allow http:// to other machines, where everybody on the way can read along
    #[arg(long)]
    allow_http: bool,
}

impl Connection {
    /// Lets the surroundings know what is allowed here.
    pub fn allow(&self, surroundings: &mut Surroundings) {
        surroundings.models.allow_http |= self.allow_http;
    }

    /// The options of the client.
    pub fn options(&self, surroundings: &Surroundings) -> Options {
        let usual = Options::default();
        let on_wait = |waiting: &Waiting| {
            let seconds = waiting.wait.as_secs_f64();
            ui::remark(&format!("{}; trying again in {seconds:.1} s", waiting.error));
        };
        Options {
            first_byte: self.timeout.unwrap_or(usual.first_byte),
            idle: self.timeout.unwrap_or(usual.idle),
            proxies: surroundings.proxies.clone(),
            record: self.record.clone(),
            on_wait: Some(Arc::new(on_wait)),
            ..usual
        }
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.001..=86_400.0).contains(seconds));
    let seconds = seconds.ok_or("expected seconds, such as 30 or 2.5")?;
    Ok(Duration::from_secs_f64(seconds))
}

/// Runs what waits for a model.
pub fn block_on<T>(work: impl Future<Output = T>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| Failure::ours(format!("cannot start: {}", words(&error))))?;
    Ok(runtime.block_on(work))
}
