//! Who is asked, what is sent to them, and what it may take.

use std::borrow::Cow;
use std::time::Duration;

use analects_client::{Client, Model, Transport};
use analects_context::{
    BackOff, Budget, Calibration, Count, Counter, Plan, Planner, Precision, ProjectDocument,
    Threshold, Tokenizer, count_tokens_from_usage, format_system_prompt_with_context,
    should_compact,
};
use analects_core::{Agent, Chain, Message};
use analects_store::FileGrants;
use jiff::{Timestamp, Unit};

use crate::turn::Limits;

/// Makes a model ready to be asked whose server this machine runs. Nobody is asked before that is needed.
pub trait Starter: std::fmt::Debug + Sync {
    /// The model with the way to its server; `None` if there is none to be had, which it has told.
    fn start(&self, model: &Model) -> Option<Model>;
}

/// Who is asked, and how.
#[derive(Debug, Clone)]
pub struct Asked<'a> {
    /// The way to the provider.
    pub client: &'a Client,
    /// The model.
    pub model: &'a Model,
    /// The agent in whose name it answers.
    pub agent: &'a Agent,
    /// The model that writes summaries of the conversation, if it is another one.
    pub summariser: Option<&'a Model>,
    /// What starts the server of a model that has none yet.
    pub starter: Option<&'a dyn Starter>,
    /// The model's own vocabulary, where it can be asked.
    pub tokenizer: Option<&'a dyn Tokenizer>,
    /// Documents of the project, for the system prompt.
    pub documents: &'a [ProjectDocument],
    /// What else the model is to know, for the system prompt: names and values.
    pub context: &'a [(String, String)],
    /// The files that may be read again; `None` for none.
    pub grants: Option<&'a FileGrants>,
    /// What the turn may take.
    pub limits: Limits,
    /// How full the context must be to be compacted without anybody asking; `None` for never.
    pub threshold: Option<Threshold>,
}

/// What fits into a request: what the agent's settings say, but never more than is known of the model.
pub fn budget(agent: &Agent, model: &Model) -> Budget {
    let facts = model.facts.as_ref();
    let known = facts.and_then(|facts| facts.context_window);
    let window = known.unwrap_or(agent.context_window.unwrap_or(Agent::USUAL_WINDOW));
    let window = agent.context_window.map_or(window, |wanted| wanted.min(window));
    let answer = facts.and_then(|facts| facts.max_output_tokens).unwrap_or(u64::MAX);
    Budget::new(window, agent.max_output_tokens.min(answer))
}

impl<'a> Asked<'a> {
    /// An agent and the model that answers in its name, with the usual limits.
    pub fn new(client: &'a Client, model: &'a Model, agent: &'a Agent) -> Asked<'a> {
        Asked {
            client,
            model,
            agent,
            summariser: None,
            starter: None,
            tokenizer: None,
            documents: &[],
            context: &[],
            grants: None,
            limits: Limits::default(),
            threshold: Some(Threshold::default()),
        }
    }

    /// A model that can be asked: as it is, or with its server started.
    pub(crate) fn ready<'m>(&self, model: &'m Model) -> Option<Cow<'m, Model>> {
        match (&model.transport, self.starter) {
            (Transport::Local, Some(starter)) => starter.start(model).map(Cow::Owned),
            _ => Some(Cow::Borrowed(model)),
        }
    }

    /// What would be sent to go on with a conversation.
    pub fn plan(&self, chain: &Chain<'_>, calibration: &Calibration, precision: Precision) -> Plan {
        let (agent, mut counter) = (self.asking(), self.counter(calibration));
        self.planner(&agent).with_precision(precision).plan(chain, &mut counter)
    }

    /// How large the context is: what the model's side counted up to the last answer, and the best count of what
    /// came since. By this it is decided whether the context is full.
    pub fn used(&self, chain: &Chain<'_>, calibration: &Calibration) -> Count {
        self.count(chain, &mut self.counter(calibration))
    }

    /// Whether the context is so full that a turn would compact the conversation before it asks.
    pub fn would_compact(&self, plan: &Plan, chain: &Chain<'_>, calibration: &Calibration) -> bool {
        self.is_full(plan, chain, &mut self.counter(calibration))
    }

    pub(crate) fn is_full(
        &self,
        plan: &Plan,
        chain: &Chain<'_>,
        counter: &mut Counter<'_>,
    ) -> bool {
        let Some(threshold) = self.threshold else { return false };
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
        Agent { models: vec![self.model.name.clone()], ..self.agent.clone() }
    }

    pub(crate) fn planner<'p>(&self, agent: &'p Agent) -> Planner<'p> {
        let planner = Planner::new(agent).with_budget(budget(agent, self.model));
        if self.documents.is_empty() && self.context.is_empty() {
            return planner;
        }
        let prompt: Vec<&str> = agent.system_prompt.as_deref().into_iter().collect();
        planner.with_system(format_system_prompt_with_context(
            &prompt,
            self.documents,
            self.context,
        ))
    }

    pub(crate) fn counter(&self, calibration: &Calibration) -> Counter<'a> {
        let counter = Counter::of_model(&self.model.name).with_calibration(calibration);
        match self.tokenizer {
            Some(tokenizer) => counter.with_tokenizer(tokenizer),
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
        base.author = Some(self.agent.name.clone());
        base.model = Some(self.model.name.clone());
        base.duration_ms = u64::try_from(took.as_millis()).ok();
        base
    }
}
