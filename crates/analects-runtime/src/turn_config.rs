//! The settings of a turn that do not depend on who answers: limits, the client, and what goes into the system prompt.
//! Together with the agent, they decide what is sent.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use analects_client::{Client, Model, Transport};
use analects_context::{
    BackOff, Budget, Calibration, Count, Counter, Plan, Planner, ProjectDocument, Threshold,
    Tokenizer, count_tokens_from_usage, format_system_prompt_with_context, should_compact,
};
use analects_core::{Agent, Chain, Message, ToolChoice, ToolSpec};
use analects_store::FileGrants;
use jiff::{Timestamp, Unit};

use crate::turn::TurnLimits;
use crate::{ResolvedAgent, ToolRunner};

/// Starts the server of a local model just before the first request to it.
/// A turn that ends before it asks starts no server.
pub trait ServerStarter: std::fmt::Debug + Send + Sync {
    /// Returns the model with the address of its server. `None` if the server cannot be started; the implementation
    /// reports why.
    fn start(&self, model: &Model) -> Option<Model>;
}

/// The settings of a turn that do not depend on who answers.
#[derive(Debug, Clone)]
pub struct TurnConfig {
    /// Sends the requests.
    pub client: Arc<Client>,
    /// The model that writes summaries of the conversation; `None` for the one that answers.
    pub summariser: Option<Model>,
    /// Starts the servers of local models; `None` if they need no start.
    pub starter: Option<Arc<dyn ServerStarter>>,
    /// Counts tokens with the vocabulary of the model; `None` to estimate.
    pub tokenizer: Option<Arc<dyn Tokenizer + Send>>,
    /// Documents of the project that go into the system prompt.
    pub documents: Vec<ProjectDocument>,
    /// The tools that the model is offered; `None` for none.
    pub tools: Option<Arc<dyn ToolRunner>>,
    /// Names and values that go into the system prompt, such as the date.
    pub context: Vec<(String, String)>,
    /// The permissions to read attached files again; `None` to read none.
    pub grants: Option<FileGrants>,
    /// Whether a question may limit how long its answer takes.
    pub question_timeouts: bool,
    /// When the turn has to end.
    pub limits: TurnLimits,
    /// How full the context must be for an automatic compaction; `None` for never.
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
            tools: None,
            context: Vec::new(),
            grants: None,
            question_timeouts: true,
            limits: TurnLimits::default(),
            threshold: Some(Threshold::default()),
        }
    }
}

/// How many tokens fit into a request and its answer: what the agent's settings say, but at most what is known about the
/// model.
/// An unknown model without a setting gets [`Agent::USUAL_WINDOW`]. A setting may lower what is known about a model but
/// never raise it, since the provider would refuse the request.
pub fn budget(agent: &Agent, model: &Model) -> Budget {
    let facts = model.facts.as_ref();
    let known_window = facts.and_then(|facts| facts.context_window);
    let window = match (known_window, agent.context_window) {
        (Some(known), Some(wanted)) => wanted.min(known),
        (Some(window), None) | (None, Some(window)) => window,
        (None, None) => Agent::USUAL_WINDOW,
    };
    let longest_answer = facts.and_then(|facts| facts.max_output_tokens);
    let answer = agent.max_output_tokens;
    Budget::new(
        window,
        longest_answer.map_or(answer, |most| answer.min(most)),
    )
}

/// Who answers, and the settings of the turn.
#[derive(Debug, Clone)]
pub(crate) struct TurnSetup {
    pub(crate) agent: ResolvedAgent,
    pub(crate) config: TurnConfig,
    /// The tools that the request names.
    tool_specs: Vec<ToolSpec>,
}

impl TurnSetup {
    /// A recording answers every question with the same text, so it cannot write summaries.
    pub(crate) fn new(agent: ResolvedAgent, mut config: TurnConfig) -> TurnSetup {
        if agent.is_recording() {
            config.summariser = None;
            config.threshold = None;
        }
        let tools = config.tools.as_ref().filter(|_| takes_tools(&agent.model));
        let tool_specs = tools.map(|tools| tools.specs()).unwrap_or_default();
        TurnSetup {
            agent,
            config,
            tool_specs,
        }
    }

    /// The tools, if the model is offered any.
    pub(crate) fn tools(&self) -> Option<&dyn ToolRunner> {
        let tools = self.config.tools.as_deref();
        tools.filter(|_| !self.tool_specs.is_empty())
    }

    /// How many tokens fit into a request and its answer.
    pub(crate) fn budget(&self) -> Budget {
        budget(&self.agent.agent, &self.agent.model)
    }

    /// The model, with its server started if it is a local one; `None` if the server cannot be started.
    pub(crate) fn ready<'m>(&self, model: &'m Model) -> Option<Cow<'m, Model>> {
        match (&model.transport, &self.config.starter) {
            (Transport::Local, Some(starter)) => starter.start(model).map(Cow::Owned),
            _ => Some(Cow::Borrowed(model)),
        }
    }

    /// Whether the context is full enough to compact the conversation before the model is asked.
    /// First compares an upper estimate, which is cheap. Only if that reaches the threshold are the tokens counted
    /// properly. False for a while after a compaction failed: see [`BackOff`].
    pub(crate) fn is_full(
        &self,
        plan: &Plan,
        chain: &Chain<'_>,
        counter: &mut Counter<'_>,
    ) -> bool {
        let Some(threshold) = self.config.threshold else {
            return false;
        };
        // If the plan leaves messages out, any context counts as full: a summary is better than nothing.
        let window = if plan.drops() { 0 } else { plan.budget.window };
        if (most_tokens(plan, chain) as f64) < threshold.share() * window as f64 {
            return false;
        }
        let count = self.count(chain, counter);
        let back_off = BackOff::of(chain);
        should_compact(count, window, chain.messages.len(), threshold, &back_off).is_ok()
    }

    /// The agent with just the model that answers.
    /// The planner takes the model from the agent, and another model of the agent may have another window.
    pub(crate) fn agent_with_one_model(&self) -> Agent {
        Agent {
            models: vec![self.agent.model.name.clone()],
            ..self.agent.agent.clone()
        }
    }

    /// A planner for this agent, with the documents and values of the configuration in the system prompt.
    pub(crate) fn planner<'p>(&'p self, agent: &'p Agent) -> Planner<'p> {
        let mut planner = Planner::new(agent).with_budget(budget(agent, &self.agent.model));
        if !self.tool_specs.is_empty() {
            planner = planner.with_tools(&self.tool_specs, Some(ToolChoice::Auto));
        }
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

    /// Counts tokens for the model that answers.
    pub(crate) fn counter(&self, calibration: &Calibration) -> Counter<'_> {
        let counter = Counter::of_model(&self.agent.model.name).with_calibration(calibration);
        match &self.config.tokenizer {
            Some(tokenizer) => counter.with_tokenizer(&**tokenizer),
            None => counter,
        }
    }

    /// The tokens of the whole context, whether or not it fits.
    /// Uses what the provider reported for the last answer, and estimates only what came after it.
    pub(crate) fn count(&self, chain: &Chain<'_>, counter: &mut Counter<'_>) -> Count {
        let agent = self.agent_with_one_model();
        self.planner(&agent).count(chain, counter)
    }

    /// An empty answer with its author, model, start and duration.
    /// The start is in whole milliseconds, as records on disk have it.
    pub(crate) fn answer_base(&self, began: Timestamp, took: Duration) -> Message {
        let mut base = Message::assistant("", "");
        base.created_at = began.round(Unit::Millisecond).ok();
        base.author = Some(self.agent.agent.name.clone());
        base.model = Some(self.agent.model.name.clone());
        base.duration_ms = u64::try_from(took.as_millis()).ok();
        base
    }
}

/// Whether a model may be offered tools: unless it is known to call none.
fn takes_tools(model: &Model) -> bool {
    let facts = model.facts.as_ref();
    facts.and_then(|facts| facts.tools) != Some(false)
}

/// An upper estimate of the tokens of a context. It saves a proper count, which takes as long as planning.
fn most_tokens(plan: &Plan, chain: &Chain<'_>) -> u64 {
    let counted = count_tokens_from_usage(&chain.messages).map_or(0, |used| used.count.tokens);
    counted.saturating_add(plan.count.tokens + plan.count.error_bound)
}
