//! How many tokens sessions took. One answer is several records, which repeat its counts, and of which only
//! the last knows them all; a resumed session copies old records into a new file; what a sub-agent took
//! may stand in the progress of its call. So answers are counted by their names, over all files together.

use std::collections::{BTreeMap, HashMap};

use analects_core::{Body, Message, Raw, TokenUsage};
use jiff::Timestamp;

use super::message::usage_of;

/// The model of messages that Claude Code made itself. They took nothing.
const SYNTHETIC: &str = "<synthetic>";

/// Sums of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TokenSums {
    /// Answers that were counted.
    pub answers: u64,
    /// Tokens read that were neither written to nor read from a cache.
    pub input: u64,
    /// Tokens written by the model.
    pub output: u64,
    /// Tokens written to the cache.
    pub cache_creation: u64,
    /// Of these, the ones kept for an hour.
    pub cache_creation_1h: u64,
    /// Tokens read from the cache.
    pub cache_read: u64,
}

/// One answer.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerUsage {
    /// The model that gave it.
    pub model: Option<String>,
    /// When the first of its records was made.
    pub at: Option<Timestamp>,
    /// The counts of the record with the most output.
    pub usage: TokenUsage,
    /// What it cost, where its record says so.
    pub cost_usd: Option<f64>,
}

/// Counts the answers of any number of sessions, each once.
///
/// Sub-agents are counted if their progress is among the messages: read the files in full.
///
/// ```
/// use analects_core::{Message, TokenUsage};
/// use analects_formats::claude_code::usage::UsageTotals;
///
/// let mut totals = UsageTotals::default();
/// for output in [1, 200, 200] {
///     let usage = TokenUsage { output_tokens: Some(output), ..TokenUsage::default() };
///     let answer = Message::assistant(format!("m{output}"), "Hello");
///     totals.add(&Message { response_id: Some("msg_1".into()), usage: Some(usage.into()), ..answer });
/// }
/// assert_eq!((totals.sum().answers, totals.sum().output), (1, 200));
/// ```
#[derive(Debug, Clone, Default)]
pub struct UsageTotals {
    answers: HashMap<String, AnswerUsage>,
}

impl UsageTotals {
    /// Adds a message, in any order.
    pub fn add(&mut self, message: &Message) {
        if let Body::Progress(progress) = &message.body {
            let answer = progress.content.as_ref().and_then(of_sub_agent);
            if let Some((name, mut answer)) = answer {
                answer.at = answer.at.or(message.created_at);
                self.count(name, answer);
            }
            return;
        }
        let Some(usage) = message.usage.as_deref() else {
            return;
        };
        let name = message
            .response_id
            .as_deref()
            .unwrap_or(&message.id)
            .to_string();
        let answer = AnswerUsage {
            model: message.model.clone(),
            at: message.created_at,
            usage: TokenUsage {
                extra: analects_core::RawMap::new(),
                ..usage.clone()
            },
            cost_usd: message.cost_usd,
        };
        self.count(name, answer);
    }

    fn count(&mut self, name: String, answer: AnswerUsage) {
        if answer.model.as_deref() == Some(SYNTHETIC) {
            return;
        }
        let Some(known) = self.answers.get_mut(&name) else {
            self.answers.insert(name, answer);
            return;
        };
        let at = match (known.at, answer.at) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        let output = |answer: &AnswerUsage| answer.usage.output_tokens.unwrap_or(0);
        if output(&answer) > output(known) {
            *known = answer;
        }
        known.at = at;
    }

    /// The answers, in no particular order, by their names.
    pub fn answers(&self) -> impl Iterator<Item = (&str, &AnswerUsage)> {
        self.answers
            .iter()
            .map(|(name, answer)| (name.as_str(), answer))
    }

    /// The sum over all answers.
    pub fn sum(&self) -> TokenSums {
        let mut sum = TokenSums::default();
        self.answers.values().for_each(|answer| sum.add(answer));
        sum
    }

    /// The sums of each model; of answers without one, under the empty name.
    pub fn by_model(&self) -> BTreeMap<&str, TokenSums> {
        let mut sums: BTreeMap<&str, TokenSums> = BTreeMap::new();
        for answer in self.answers.values() {
            sums.entry(answer.model.as_deref().unwrap_or_default())
                .or_default()
                .add(answer);
        }
        sums
    }
}

impl TokenSums {
    /// Adds an answer.
    pub fn add(&mut self, answer: &AnswerUsage) {
        let usage = &answer.usage;
        self.answers += 1;
        for (sum, count) in [
            (&mut self.input, usage.input_tokens),
            (&mut self.output, usage.output_tokens),
            (&mut self.cache_creation, usage.cache_creation_input_tokens),
            (&mut self.cache_creation_1h, usage.cache_creation_1h_tokens),
            (&mut self.cache_read, usage.cache_read_input_tokens),
        ] {
            // Counts are what a file says, and a file may say anything.
            *sum = sum.saturating_add(count.unwrap_or(0));
        }
    }
}

/// The answer of a sub-agent in the progress of its call.
fn of_sub_agent(content: &Raw) -> Option<(String, AnswerUsage)> {
    let data = content.as_object()?;
    data.get("type")
        .and_then(Raw::as_string)
        .filter(|kind| kind == "agent_progress")?;
    let record = data.get("message")?.as_object()?;
    let inner = record.get("message")?.as_object()?;
    let text = |raw: Option<&Raw>| raw.and_then(Raw::as_string).filter(|text| !text.is_empty());
    let usage = usage_of(inner.get("usage")?, &mut Vec::new())?;
    let name = text(inner.get("id")).or(text(record.get("uuid")))?;
    let answer = AnswerUsage {
        model: text(inner.get("model")),
        at: text(record.get("timestamp")).and_then(|time| time.parse().ok()),
        usage: TokenUsage {
            extra: analects_core::RawMap::new(),
            ..usage
        },
        cost_usd: None,
    };
    Some((name, answer))
}
