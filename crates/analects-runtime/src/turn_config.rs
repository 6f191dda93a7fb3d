//! How a turn goes, whoever answers: limits, helpers, what the model is to know. With the agent, it decides what is
//! sent.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use analects_client::{Client, Model, Transport};
use analects_context::{
    BackOff, Budget, Calibration, Count, Counter, Plan, Planner, ProjectDocument, Threshold,
    Tokenizer, count_tokens_from_usage, format_system_prompt_with_context, should_compact,
};
use analects_core::{Agent, Chain, Message};
use analects_store::FileGrants;
use jiff::{Timestamp, Unit};

use crate::ResolvedAgent;
use crate::turn::TurnLimits;

/// Makes a model ready to be asked whose server this machine runs. Nobody is asked before that is needed.
pub trait ServerStarter: std::fmt::Debug + Send + Sync {
    /// The model with the way to its server; `None` if there is none to be had, which it has told.
    fn start(&self, model: &Model) -> Option<Model>;
}

/// How a turn goes, whoever answers.
#[derive(Debug, Clone)]
pub struct TurnConfig {
    /// The way to the providers.
    pub client: Arc<Client>,
    /// The model that writes summaries of the conversation, if it is not the one that answers.
    pub summariser: Option<Model>,
    /// What starts the server of a model that has none yet.
    pub starter: Option<Arc<dyn ServerStarter>>,
    /// The model's own vocabulary, where it can be asked.
    pub tokenizer: Option<Arc<dyn Tokenizer + Send>>,
    /// Documents of the project, for the system prompt.
    pub documents: Vec<ProjectDocument>,
    /// What else the model is to know, for the system prompt: names and values.
    pub context: Vec<(String, String)>,
    /// The files that may be read again; `None` for none.
    pub grants: Option<FileGrants>,
    /// What the turn may take.
    pub limits: TurnLimits,
    /// How full the context must be to be compacted without anybody asking; `None` for never.
    pub threshold: Option<Threshold>,
}

impl Default for TurnConfig {
    fn default() -> TurnConfig {
        TurnConfig {
            client: Arc::default(),
            summariser: None,
            starter: None,
            tokenizer: None,
            documents: Vec::new(),
            context: Vec::new(),
            grants: None,
            limits: TurnLimits::default(),
            threshold: Some(Threshold::default()),
        }
    }
}

/// What fits into a request: what the agent's settings say, but never more than is known of the model.
pub fn budget(agent: &Agent, model: &Model) -> Budget {
    let facts = model.facts.as_ref();
    let known = facts.and_then(|facts| facts.context_window);
    let window = known.unwrap_or(agent.context_window.unwrap_or(Agent::USUAL_WINDOW));
    let window = agent
        .context_window
        .map_or(window, |wanted| wanted.min(window));
    let answer = facts
        .and_then(|facts| facts.max_output_tokens)
        .unwrap_or(u64::MAX);
    Budget::new(window, agent.max_output_tokens.min(answer))
}

/// Who answers, and how the turn goes.
#[derive(Debug, Clone)]
pub(crate) struct TurnSetup {
    pub(crate) agent: ResolvedAgent,
    pub(crate) config: TurnConfig,
}

impl TurnSetup {
    /// A recorded answer is an answer to any question, and no summary.
    pub(crate) fn new(agent: ResolvedAgent, mut config: TurnConfig) -> TurnSetup {
        if agent.is_recording() {
            config.summariser = None;
            config.threshold = None;
        }
        TurnSetup { agent, config }
    }

    /// What fits into a request.
    pub(crate) fn budget(&self) -> Budget {
        budget(&self.agent.agent, &self.agent.model)
    }

    /// A model that can be asked: as it is, or with its server started.
    pub(crate) fn ready<'m>(&self, model: &'m Model) -> Option<Cow<'m, Model>> {
        match (&model.transport, &self.config.starter) {
            (Transport::Local, Some(starter)) => starter.start(model).map(Cow::Owned),
            _ => Some(Cow::Borrowed(model)),
        }
    }

    /// Whether the context is so full that the conversation is compacted before anybody is asked.
    pub(crate) fn is_full(
        &self,
        plan: &Plan,
        chain: &Chain<'_>,
        counter: &mut Counter<'_>,
    ) -> bool {
        let Some(threshold) = self.config.threshold else {
            return false;
        };
        // Before anything is left out, a summary is worth its price, however much room an answer takes.
        let window = if plan.drops() { 0 } else { plan.budget.window };
        // Counting properly costs as much as planning; mostly there is no need for it.
        let used = count_tokens_from_usage(&chain.messages).map_or(0, |used| used.count.tokens);
        let most = used.saturating_add(plan.count.tokens + plan.count.error_bound);
        if (most as f64) < threshold.share() * window as f64 {
            return false;
        }
        let count = self.count(chain, counter);
        let (messages, back_off) = (chain.messages.len(), BackOff::of(chain));
        should_compact(count, window, messages, threshold, &back_off).is_ok()
    }

    /// The agent, with the one model that is asked.
    pub(crate) fn asking(&self) -> Agent {
        Agent {
            models: vec![self.agent.model.name.clone()],
            ..self.agent.agent.clone()
        }
    }

    pub(crate) fn planner<'p>(&self, agent: &'p Agent) -> Planner<'p> {
        let planner = Planner::new(agent).with_budget(budget(agent, &self.agent.model));
        let TurnConfig {
            documents, context, ..
        } = &self.config;
        if documents.is_empty() && context.is_empty() {
            return planner;
        }
        let prompt: Vec<&str> = agent.system_prompt.as_deref().into_iter().collect();
        planner.with_system(format_system_prompt_with_context(
            &prompt, documents, context,
        ))
    }

    pub(crate) fn counter(&self, calibration: &Calibration) -> Counter<'_> {
        let counter = Counter::of_model(&self.agent.model.name).with_calibration(calibration);
        match &self.config.tokenizer {
            Some(tokenizer) => counter.with_tokenizer(&**tokenizer),
            None => counter,
        }
    }

    /// How large the context of a conversation is, whether or not it fits.
    pub(crate) fn count(&self, chain: &Chain<'_>, counter: &mut Counter<'_>) -> Count {
        let agent = self.asking();
        self.planner(&agent).count(chain, counter)
    }

    /// What is known about an answer beside what it says.
    pub(crate) fn base(&self, began: Timestamp, took: Duration) -> Message {
        let mut base = Message::assistant("", "");
        base.created_at = began.round(Unit::Millisecond).ok();
        base.author = Some(self.agent.agent.name.clone());
        base.model = Some(self.agent.model.name.clone());
        base.duration_ms = u64::try_from(took.as_millis()).ok();
        base
    }
}
