//! Plans: the request itself, and for every message its fate, the reason, and its tokens. What a plan shows is what is
//! sent.

mod budget;
mod cut_text;
mod trim;

use analects_core::{
    Agent, Chain, Hint, MessageId, Problem, Raw, RawMap, Request, Role, TokenUsage, ToolChoice,
    ToolSpec,
};

use crate::boundary::after_boundary;
use crate::normalize::{OutgoingItem, draft_items, join_instructions};
use crate::tokens::{Calibration, Count, Counter, count_tokens_from_usage};

pub use budget::{Budget, TooLarge};
pub(crate) use cut_text::shorten_text;
use trim::Trimmer;

/// A request, and what happens to every message of the conversation.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Plan {
    /// The request. [`Plan::ready`] says whether it fits.
    pub request: Request,
    /// One row per message of the chain, in order.
    pub rows: Vec<Row>,
    /// The limits of the request.
    pub budget: Budget,
    /// The tokens of the whole request.
    pub count: Count,
    /// The tokens of the instructions.
    pub system: Count,
    /// The tokens of the tools.
    pub tools: Count,
    /// By how much the request exceeds the budget after trimming; `None` if it fits.
    pub too_large: Option<TooLarge>,
    /// Messages that may only be sent as a summary, and have none yet.
    pub needs_summary: Vec<MessageId>,
    /// What was added or left out so that every provider accepts the request, and other notes for the user.
    pub notes: Vec<Problem>,
    /// The factor that calibrated the estimates.
    factor: f64,
    /// Whether the model's vocabulary was used.
    is_exact: bool,
}

impl Plan {
    /// Returns whether messages are left out because not everything fits.
    pub fn drops(&self) -> bool {
        self.rows.iter().any(|row| row.fate == Fate::Dropped)
    }

    /// Returns the request, if it fits.
    pub fn ready(&self) -> Result<&Request, TooLarge> {
        self.too_large.map_or(Ok(&self.request), Err)
    }

    /// Returns whether the budget shortens or drops any message.
    pub fn is_trimmed(&self) -> bool {
        self.rows
            .iter()
            .any(|row| matches!(row.fate, Fate::Shortened | Fate::Dropped))
    }

    /// Calibrates later estimates by the usage of the answer to this request. Does nothing after an exact count.
    pub fn learn(&self, usage: &TokenUsage, calibration: &mut Calibration) {
        if self.is_exact || self.factor <= 0.0 {
            return;
        }
        let tokens = (self.count.tokens as f64 / self.factor).round() as u64;
        calibration.learn(&self.request.model, Count::estimate(tokens, 0), usage);
    }
}

/// How exactly a plan counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Precision {
    /// With estimates only.
    Estimate,
    /// With estimates, and with the model's vocabulary, if available, once they come near the window.
    #[default]
    WhenItMatters,
    /// With the model's vocabulary, if available. If a conversation is far above the window, the part that cannot be
    /// sent in any case is estimated.
    Exact,
}

/// The share of the window above which an exact count is worth its time.
const MATTERS_ABOVE: f64 = 0.7;

/// Plans the request that asks an agent to continue a conversation. The model is the first one of the agent.
///
/// ```
/// use analects_context::{Budget, Counter, Planner};
/// use analects_core::{Agent, Message, chain};
///
/// let messages = [Message::user("a", "What is six times seven?")];
/// let agent = Agent::of_model("quick", "gpt-5-mini");
/// let mut counter = Counter::of_model("gpt-5-mini");
/// let plan = Planner::new(&agent).with_budget(Budget::new(128, 64)).plan(&chain(&messages), &mut counter);
/// assert!(plan.ready().is_ok());
/// assert!(plan.count.tokens < 64);
/// ```
#[doc(alias = "MessageContextManager")]
#[derive(Debug, Clone)]
pub struct Planner<'a> {
    agent: &'a Agent,
    budget: Budget,
    system: Option<String>,
    tools: &'a [ToolSpec],
    tool_choice: Option<ToolChoice>,
    precision: Precision,
    caches_prompt: bool,
}

impl<'a> Planner<'a> {
    /// Creates a planner with the agent's own limits and instructions.
    pub fn new(agent: &'a Agent) -> Planner<'a> {
        Planner {
            agent,
            budget: Budget::of(agent),
            system: agent.system_prompt.clone(),
            tools: &[],
            tool_choice: None,
            precision: Precision::default(),
            caches_prompt: false,
        }
    }

    /// Replaces the agent's limits.
    pub fn with_budget(self, budget: Budget) -> Planner<'a> {
        Planner { budget, ..self }
    }

    /// Replaces the agent's instructions. Build them with
    /// [`format_system_prompt_with_context`](crate::format_system_prompt_with_context).
    pub fn with_system(self, system: impl Into<String>) -> Planner<'a> {
        Planner {
            system: Some(system.into()).filter(|text| !text.trim().is_empty()),
            ..self
        }
    }

    /// Sets the tools that the model may call.
    pub fn with_tools(self, tools: &'a [ToolSpec], choice: Option<ToolChoice>) -> Planner<'a> {
        Planner {
            tools,
            tool_choice: choice,
            ..self
        }
    }

    /// Sets how exactly to count.
    pub fn with_precision(self, precision: Precision) -> Planner<'a> {
        Planner { precision, ..self }
    }

    /// Sets whether to ask the provider to cache the prompt, as Anthropic's API requires.
    pub fn caching_the_prompt(self, yes: bool) -> Planner<'a> {
        Planner {
            caches_prompt: yes,
            ..self
        }
    }

    /// The limits of the request.
    pub fn budget(&self) -> Budget {
        self.budget
    }

    /// Plans the request. `counter` counts for the agent's model; reuse it, since it remembers what it has counted.
    pub fn plan(&self, chain: &Chain<'_>, counter: &mut Counter<'_>) -> Plan {
        let draft = draft_items(chain, self.agent);
        let request = self.request(&draft.system);
        let mut rows = rows_of(chain, &draft.left_out);
        let mut trimmer = self.count_items(&request, draft.items, counter);
        let fits = trimmer.fit();
        trimmer.update_rows(&mut rows);
        let too_large = (!fits).then_some(TooLarge {
            count: trimmer.total,
            budget: self.budget,
        });
        let mut notes = self.budget.notes();
        notes.extend(trimming_note(&rows));
        notes.extend(draft.notes);
        notes.append(&mut trimmer.mended);
        Plan {
            request: Request {
                turns: trimmer.turns,
                ..request
            },
            rows,
            budget: self.budget,
            count: trimmer.total,
            system: trimmer.system,
            tools: trimmer.tools,
            too_large,
            needs_summary: draft.needs_summary,
            notes,
            factor: counter.factor(),
            is_exact: counter.is_exact(),
        }
    }

    /// Builds the request without its turns. `instructions` are those of the conversation; the agent's come first.
    fn request(&self, instructions: &[String]) -> Request {
        let agent = self.agent;
        let mut system: Vec<String> = self.system.iter().cloned().collect();
        system.extend_from_slice(instructions);
        let mut request = Request {
            model: agent.models.first().cloned().unwrap_or_default(),
            system: join_instructions(&system),
            tools: self.tools.to_vec(),
            tool_choice: self.tool_choice.clone(),
            temperature: agent.use_temperature.then_some(agent.temperature),
            max_output_tokens: Some(agent.max_output_tokens.min(self.budget.reserved).max(1)),
            reasoning: agent.reasoning,
            ..Request::default()
        };
        if self.caches_prompt {
            let ephemeral = RawMap::from([("type", Raw::string("ephemeral"))]);
            request.metadata.push("cache_control", ephemeral.to_raw());
        }
        request
    }

    /// Counts the items of a request as exactly as the planner's precision requires.
    fn count_items<'c, 't>(
        &self,
        request: &Request,
        items: Vec<OutgoingItem>,
        counter: &'c mut Counter<'t>,
    ) -> Trimmer<'c, 't> {
        counter.use_vocabulary(false);
        let mut trimmer = Trimmer::new(request, items, self.budget, counter);
        let is_exact = match self.precision {
            Precision::Estimate => false,
            Precision::WhenItMatters => {
                let threshold = MATTERS_ABOVE * self.budget.window as f64;
                trimmer.upper_bound().tokens as f64 >= threshold
            }
            Precision::Exact => true,
        };
        if is_exact {
            trimmer.count_exactly(request);
        }
        trimmer
    }
}

/// Plans the request that asks `agent` to continue the conversation, with the agent's own limits.
pub fn plan(chain: &Chain<'_>, agent: &Agent) -> Plan {
    let model = agent.models.first().map_or("", String::as_str);
    Planner::new(agent).plan(chain, &mut Counter::of_model(model))
}

impl Planner<'_> {
    /// Returns the size of the context: the reported usage of the last answer plus a count of what follows it. Without
    /// a usage that is still valid, everything is counted.
    pub fn count(&self, chain: &Chain<'_>, counter: &mut Counter<'_>) -> Count {
        let draft = draft_items(chain, self.agent);
        let since = after_boundary(chain);
        if let Some(used) = count_tokens_from_usage(&chain.messages[since..]) {
            let last_answer = since + used.at;
            let later = draft.items.iter().filter(|item| item.at > last_answer);
            let later = later.map(|item| counter.content(&item.content) + counter.per_turn());
            return later.fold(used.count, |sum, count| sum + count);
        }
        let request = self.request(&draft.system);
        let is_exact = counter.is_exact();
        counter.use_vocabulary(false);
        let mut trimmer = Trimmer::new(&request, draft.items, self.budget, counter);
        if is_exact {
            trimmer.count_exactly(&request);
        }
        trimmer.upper_bound()
    }
}

/// What happens to a message in a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fate {
    /// It is sent unchanged.
    #[default]
    Sent,
    /// Only a part is sent, for lack of room.
    Shortened,
    /// It is not sent, for lack of room.
    Dropped,
    /// It is not sent, because it is not for this model.
    LeftOut,
}

impl Fate {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Fate::Sent => "sent",
            Fate::Shortened => "shortened",
            Fate::Dropped => "dropped",
            Fate::LeftOut => "left out",
        }
    }
}

/// What happens to one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The message.
    pub id: MessageId,
    /// The role of its speaker.
    pub role: Role,
    /// What happens to it.
    pub fate: Fate,
    /// The reason, unless it is sent unchanged.
    pub why: Option<&'static str>,
    /// The tokens of what is sent, without the turn around it.
    pub tokens: Count,
    /// The tokens of the whole message.
    pub whole: Count,
}

impl Row {
    /// Returns why nothing of it is sent; `None` if something is.
    pub fn left_out(&self) -> Option<&'static str> {
        self.why
            .filter(|_| matches!(self.fate, Fate::LeftOut | Fate::Dropped))
    }
}

/// Returns a row for each message of the chain, before trimming.
fn rows_of(chain: &Chain<'_>, left_out: &[Option<&'static str>]) -> Vec<Row> {
    let mut rows = Vec::with_capacity(left_out.len());
    for (message, why) in chain.messages.iter().zip(left_out) {
        let fate = if why.is_some() {
            Fate::LeftOut
        } else {
            Fate::Sent
        };
        rows.push(Row {
            id: message.id.clone(),
            role: message.role(),
            fate,
            why: *why,
            tokens: Count::default(),
            whole: Count::default(),
        });
    }
    rows
}

/// Returns a note if there was no room for everything.
fn trimming_note(rows: &[Row]) -> Option<Problem> {
    let dropped = rows.iter().filter(|row| row.fate == Fate::Dropped).count();
    let shortened = rows
        .iter()
        .filter(|row| row.fate == Fate::Shortened)
        .count();
    let text = match (dropped, shortened) {
        (0, 0) => return None,
        (dropped, 0) => format!("{dropped} earlier messages are not sent: they do not fit"),
        (0, shortened) => format!("{shortened} messages are sent in part: all of them do not fit"),
        (dropped, shortened) => format!(
            "{dropped} earlier messages are not sent and {shortened} are sent in part: all of them do not fit"
        ),
    };
    Some(Problem::warning("sent-in-part", text).hint(Hint::CompactOrLargerModel))
}
