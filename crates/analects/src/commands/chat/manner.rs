//! In what manner a model is asked: what a turn may take, when the conversation is compacted, and by whom.

use analects_client::{Client, Model, Options, resolve};
use analects_context::Threshold;
use analects_local::Serving;
use analects_runtime::Asked;
use analects_runtime::turn::Limits;
use analects_store::FileGrants;

use super::who::Who;
use crate::config::Config;
use crate::local::{LocalStarter, Vocabulary};
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

/// In what manner a model is asked.
pub struct Manner {
    pub options: Options,
    pub limits: Limits,
    pub threshold: Option<Threshold>,
    /// The model that writes summaries, if another one is configured for that.
    pub summariser: Option<Model>,
    /// What starts its server, if it is one of this machine.
    pub starter: LocalStarter,
    /// Whether an answer is shown while it comes.
    pub streams: bool,
    /// The files that the person let models see.
    pub grants: FileGrants,
}

impl Manner {
    pub fn new(
        options: Options,
        limits: Limits,
        config: &Config,
        surroundings: &Surroundings,
    ) -> Manner {
        let summariser = config.pointer("compact").and_then(|name| summariser(name, surroundings));
        let threshold = config.compact_at();
        let starter = LocalStarter::new(surroundings);
        let grants = FileGrants::of(&surroundings.places);
        Manner { options, limits, threshold, summariser, starter, streams: true, grants }
    }

    /// Everything that a turn has to know.
    pub fn asked<'a>(
        &'a self,
        client: &'a Client,
        who: &'a Who,
        vocabulary: Option<&'a Vocabulary<'a>>,
    ) -> Asked<'a> {
        Asked {
            summariser: self.summariser.as_ref().filter(|_| !who.is_recording()),
            starter: Some(&self.starter),
            tokenizer: vocabulary.map(|vocabulary| vocabulary as _),
            grants: Some(&self.grants),
            limits: self.limits,
            // A recorded answer is an answer to any question, and no summary.
            threshold: self.threshold.filter(|_| !who.is_recording()),
            ..Asked::new(client, &who.model, &who.agent)
        }
    }
}

/// The model that is configured for summaries. The server of a local one is started when a summary is due.
fn summariser(name: &str, surroundings: &Surroundings) -> Option<Model> {
    match resolve(name, &surroundings.models) {
        Ok(model) => Some(model),
        Err(error) => {
            ui::remark(&format!("warning: the model for summaries cannot be asked: {error}"));
            None
        }
    }
}

/// The vocabulary of a local model.
pub fn vocabulary(serving: Option<&Serving>) -> Option<Vocabulary<'_>> {
    serving.map(Vocabulary)
}
