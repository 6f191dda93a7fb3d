//! The plan: the request itself, and for every message what happens to it, why, and its tokens. What a
//! person can print is what is sent.

mod budget;
mod shorten;
mod trim;

use analects_core::{
    Agent, Chain, Hint, Message, MessageId, Problem, Raw, Request, Role, ToolChoice, ToolSpec,
};

use crate::boundary::after_boundary;
use crate::normalize::{Draft, draft, joined};
use crate::tokens::{Calibration, Count, Counter, count_tokens_from_usage};

pub use budget::{Budget, TooLarge};
pub(crate) use shorten::shortened;

/// A request, and what became of every message on the way to it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Plan {
    /// What is sent. Ask [`Plan::ready`] whether it may be.
    pub request: Request,
    /// One row for each message of the chain, in order.
    pub rows: Vec<Row>,
    /// What fits.
    pub budget: Budget,
    /// The whole request.
    pub count: Count,
    /// Of it, the instructions.
    pub system: Count,
    /// Of it, the tools.
    pub tools: Count,
    /// What was not trimmed though it does not fit; `None` if everything fits.
    pub too_large: Option<TooLarge>,
    /// Messages of which only a summary may be sent, and that have none yet.
    pub needs_summary: Vec<MessageId>,
    /// What was added or left out so that every provider accepts the request, and what else a person
    /// should know about it.
    pub notes: Vec<Problem>,
    /// What estimates were multiplied with.
    factor: f64,
    /// Whether the model's vocabulary counted.
    is_exact: bool,
}

impl Plan {
    /// Whether messages are left out because not everything fits.
    pub fn drops(&self) -> bool {
        self.rows.iter().any(|row| row.fate == Fate::Dropped)
    }

    /// The request, if it fits.
    pub fn ready(&self) -> Result<&Request, TooLarge> {
        self.too_large.map_or(Ok(&self.request), Err)
    }

    /// Whether any message is not sent, or not as it is, because of the budget.
    pub fn is_trimmed(&self) -> bool {
        self.rows
            .iter()
            .any(|row| matches!(row.fate, Fate::Shortened | Fate::Dropped))
    }

    /// Learns from the answer to this very request.
    pub fn learn(&self, usage: &analects_core::TokenUsage, calibration: &mut Calibration) {
        if self.is_exact || self.factor <= 0.0 {
            return;
        }
        let tokens = (self.count.tokens as f64 / self.factor).round() as u64;
        calibration.learn(&self.request.model, Count::estimate(tokens, 0), usage);
    }
}

/// How exactly the plan counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Precision {
    /// By estimates alone.
    Estimate,
    /// By estimates, and with the model's vocabulary, if it is at hand, once they come near the window.
    #[default]
    WhenItMatters,
    /// With the model's vocabulary, if it is at hand. Of a conversation that is far beyond the window, what cannot be
    /// sent in any case is estimated.
    Exact,
}

/// The share of the window above which an exact count is worth its price.
const MATTERS_ABOVE: f64 = 0.7;

/// Plans requests with which an agent is asked to go on with a conversation. The model is the first of the
/// agent's.
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
    /// A planner for an agent, with the agent's own limits and instructions.
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

    /// Other limits than the agent's.
    pub fn with_budget(self, budget: Budget) -> Planner<'a> {
        Planner { budget, ..self }
    }

    /// Other instructions than the agent's prompt alone: see
    /// [`format_system_prompt_with_context`](crate::format_system_prompt_with_context).
    pub fn with_system(self, system: impl Into<String>) -> Planner<'a> {
        Planner {
            system: Some(system.into()).filter(|text| !text.trim().is_empty()),
            ..self
        }
    }

    /// Tools that the model may call.
    pub fn with_tools(self, tools: &'a [ToolSpec], choice: Option<ToolChoice>) -> Planner<'a> {
        Planner {
            tools,
            tool_choice: choice,
            ..self
        }
    }

    /// How exactly to count.
    pub fn with_precision(self, precision: Precision) -> Planner<'a> {
        Planner { precision, ..self }
    }

    /// Asks the provider to cache the prompt; for those that have to be asked, in the words of Anthropic's
    /// API.
    pub fn caching_the_prompt(self, yes: bool) -> Planner<'a> {
        Planner {
            caches_prompt: yes,
            ..self
        }
    }

    /// The limits.
    pub fn budget(&self) -> Budget {
        self.budget
    }

    /// Plans the request. `counter` counts for the agent's model, and is worth keeping: what it has counted
    /// once costs nothing the next time.
    pub fn plan(&self, chain: &Chain<'_>, counter: &mut Counter<'_>) -> Plan {
        let Draft {
            mut system,
            items,
            left_out,
            needs_summary,
        } = draft(chain, self.agent);
        system.splice(0..0, self.system.clone());
        let request = self.request(joined(&system));
        let mut work = self.counted(&request, items, counter);
        let fits = work.fit();
        let mut rows = rows_of(chain, &left_out);
        work.tell(&mut rows);
        let too_large = (!fits).then_some(TooLarge {
            count: work.total,
            budget: self.budget,
        });
        let mut notes = self.budget.notes();
        notes.extend(note(&rows));
        notes.append(&mut work.mended);
        Plan {
            request: Request {
                turns: work.turns,
                ..request
            },
            rows,
            budget: self.budget,
            count: work.total,
            system: work.system,
            tools: work.tools,
            too_large,
            needs_summary,
            notes,
            factor: counter.factor(),
            is_exact: counter.is_exact(),
        }
    }

    /// Everything of the request but its turns.
    fn request(&self, system: Option<analects_core::Text>) -> Request {
        let agent = self.agent;
        let mut request = Request {
            model: agent.models.first().cloned().unwrap_or_default(),
            system,
            tools: self.tools.to_vec(),
            tool_choice: self.tool_choice.clone(),
            temperature: agent.use_temperature.then_some(agent.temperature),
            max_output_tokens: Some(agent.max_output_tokens.min(self.budget.reserved).max(1)),
            reasoning: agent.reasoning,
            ..Request::default()
        };
        if let Ok(mark) = Raw::parse(r#"{"type":"ephemeral"}"#)
            && self.caches_prompt
        {
            request.metadata.push("cache_control", mark);
        }
        request
    }

    /// The items with their counts, as exact as it was asked for.
    fn counted<'c, 't>(
        &self,
        request: &Request,
        items: Vec<crate::normalize::Item>,
        counter: &'c mut Counter<'t>,
    ) -> trim::Work<'c, 't> {
        counter.use_vocabulary(false);
        let mut work = trim::Work::new(request, items, self.budget, counter);
        let matters = match self.precision {
            Precision::Estimate => false,
            Precision::WhenItMatters => {
                work.upper().tokens as f64 >= MATTERS_ABOVE * self.budget.window as f64
            }
            Precision::Exact => true,
        };
        if matters {
            work.count_exactly(request);
        }
        work
    }
}

/// Plans the request with which `agent` is asked to go on with the conversation, with the agent's own limits.
pub fn plan(chain: &Chain<'_>, agent: &Agent) -> Plan {
    let model = agent.models.first().map_or("", String::as_str);
    Planner::new(agent).plan(chain, &mut Counter::of_model(model))
}

impl Planner<'_> {
    /// The size of the context: the real usage up to the last answer, and the best count of what came
    /// after it; without a usage that still holds, the best count of everything.
    pub fn count(&self, chain: &Chain<'_>, counter: &mut Counter<'_>) -> Count {
        let Draft {
            mut system, items, ..
        } = draft(chain, self.agent);
        let since = after_boundary(chain);
        let used = count_tokens_from_usage(&chain.messages[since..]);
        if let Some(used) = used {
            let later = items.iter().filter(|item| item.at > since + used.at);
            let later = later.map(|item| counter.content(&item.content) + counter.per_turn());
            return later.fold(used.count, |sum, count| sum + count);
        }
        system.splice(0..0, self.system.clone());
        let request = self.request(joined(&system));
        let is_exact = counter.is_exact();
        counter.use_vocabulary(false);
        let mut work = trim::Work::new(&request, items, self.budget, counter);
        if is_exact {
            work.count_exactly(&request);
        }
        work.upper()
    }
}

/// What happens to a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fate {
    /// It is sent as it is.
    #[default]
    Sent,
    /// A part of it is sent: there was no room for all.
    Shortened,
    /// It is not sent: there was no room.
    Dropped,
    /// It is not sent: it is not for this model.
    LeftOut,
}

impl Fate {
    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Fate::Sent => "sent",
            Fate::Shortened => "shortened",
            Fate::Dropped => "dropped",
            Fate::LeftOut => "left out",
        }
    }
}

/// What became of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The message.
    pub id: MessageId,
    /// Who speaks in it.
    pub role: Role,
    /// What happens to it.
    pub fate: Fate,
    /// Why, if it is not just sent.
    pub why: Option<&'static str>,
    /// What it takes in the request, the turn around it not counted.
    pub tokens: Count,
    /// What it would take as a whole.
    pub whole: Count,
}

impl Row {
    /// Why nothing of it is sent; `None` if something is.
    pub fn left_out(&self) -> Option<&'static str> {
        self.why
            .filter(|_| matches!(self.fate, Fate::LeftOut | Fate::Dropped))
    }
}

/// A row for each message of the chain, before anything was trimmed.
fn rows_of(chain: &Chain<'_>, left_out: &[Option<&'static str>]) -> Vec<Row> {
    let row = |(message, why): (&&Message, &Option<&'static str>)| Row {
        id: message.id.clone(),
        role: message.role(),
        fate: if why.is_some() {
            Fate::LeftOut
        } else {
            Fate::Sent
        },
        why: *why,
        tokens: Count::default(),
        whole: Count::default(),
    };
    chain.messages.iter().zip(left_out).map(row).collect()
}

/// Says that there was no room for everything.
fn note(rows: &[Row]) -> Option<Problem> {
    let count = |fate: Fate| rows.iter().filter(|row| row.fate == fate).count();
    let (dropped, shortened) = (count(Fate::Dropped), count(Fate::Shortened));
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
