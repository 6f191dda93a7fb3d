//! How a turn goes, as a person and the configuration say it: what it may take, and who writes summaries.

use std::sync::Arc;

use analects_client::{Client, Model, Options, resolve};
use analects_runtime::TurnConfig;
use analects_runtime::turn::Limits;
use analects_store::FileGrants;

use crate::config::Config;
use crate::local::LocalStarter;
use crate::surroundings::Surroundings;
use crate::ui;

/// What a turn may take, as a person says it.
#[derive(Debug, Default, Clone, Copy, clap::Args)]
pub struct LimitArgs {
    /// Ask the model at most this many times for one prompt; each time after the first follows results of tools
    /// [default: 50]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_turns: Option<u32>,

    /// Do not ask if that may bring the cost of one prompt, summaries included, above so many US dollars
    #[arg(long, value_name = "USD", value_parser = dollars)]
    max_cost: Option<f64>,
}

impl LimitArgs {
    pub fn limits(self) -> Limits {
        let usual = Limits::default();
        Limits { questions: self.max_turns.unwrap_or(usual.questions), cost: self.max_cost }
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
    limits: Limits,
    config: &Config,
    surroundings: &Surroundings,
) -> TurnConfig {
    let turn = TurnConfig {
        client: Arc::new(Client::new(options)),
        // The server of a local model that writes summaries is started when one is due.
        starter: Some(Arc::new(LocalStarter::new(surroundings))),
        grants: Some(FileGrants::of(&surroundings.places)),
        limits,
        ..TurnConfig::default()
    };
    configure(turn, config, surroundings)
}

/// The same with another configuration.
pub fn configure(turn: TurnConfig, config: &Config, surroundings: &Surroundings) -> TurnConfig {
    let summariser = config.pointer("compact").and_then(|name| summariser(name, surroundings));
    TurnConfig { summariser, threshold: config.compact_at(), ..turn }
}

/// The model that is configured for summaries, if it can be asked.
fn summariser(name: &str, surroundings: &Surroundings) -> Option<Model> {
    match resolve(name, &surroundings.models) {
        Ok(model) => Some(model),
        Err(error) => {
            ui::remark(&format!("warning: the model for summaries cannot be asked: {error}"));
            None
        }
    }
}
