//! Counts the tokens of sessions. One answer is several records, which repeat its counts, and only the last one has the
//! final counts. A resumed session copies old records into a new file. The usage of a sub-agent may be in the progress of
//! its call. So each answer is counted once, by its id, over all files.
//!
//! # Limitations
//!
//! - Costs are only known for records of old versions, which noted them.
//! - The usage of a sub-agent that is neither in a file of its own nor in the progress of its call is not counted.
//! - The counts of an answer without an id are added for each of its records, under the record's id.

use std::collections::{BTreeMap, HashMap};

use analects_core::{Message, RawMap, TokenUsage};
use jiff::Timestamp;

/// The model of messages that Claude Code made itself, without tokens.
const SYNTHETIC: &str = "<synthetic>";

/// Sums over answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TokenSums {
    /// The number of answers.
    pub answers: u64,
    /// Input tokens that were neither written to nor read from the cache.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
    /// Input tokens written to the cache.
    pub cache_creation: u64,
    /// Input tokens written to the cache for an hour; a part of `cache_creation`.
    pub cache_creation_1h: u64,
    /// Input tokens read from the cache.
    pub cache_read: u64,
}

/// The usage of one answer.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerUsage {
    /// The model.
    pub model: Option<String>,
    /// The time of its first record.
    pub at: Option<Timestamp>,
    /// The counts of the record with the most output.
    pub usage: TokenUsage,
    /// Its cost, if its record has one.
    pub cost_usd: Option<f64>,
}

/// Counts the answers of any number of sessions and their sub-agents, each once.
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
    /// The answers by id: the response id, or else the message's.
    answers: HashMap<String, AnswerUsage>,
}

impl UsageTotals {
    /// Adds a message. The order does not matter.
    pub fn add(&mut self, message: &Message) {
        let Some(usage) = message.usage.as_deref() else {
            return;
        };
        let id = message.response_id.as_deref().unwrap_or(&message.id);
        let answer = AnswerUsage {
            model: message.model.clone(),
            at: message.created_at,
            usage: TokenUsage {
                extra: RawMap::new(),
                ..usage.clone()
            },
            cost_usd: message.cost_usd,
        };
        self.add_answer(id.to_string(), answer);
    }

    /// Adds a record of an answer. The first time and the highest counts are kept.
    fn add_answer(&mut self, id: String, answer: AnswerUsage) {
        if answer.model.as_deref() == Some(SYNTHETIC) {
            return;
        }
        let Some(known) = self.answers.get_mut(&id) else {
            self.answers.insert(id, answer);
            return;
        };
        let first = match (known.at, answer.at) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        if answer.usage.output_tokens.unwrap_or(0) > known.usage.output_tokens.unwrap_or(0) {
            *known = answer;
        }
        known.at = first;
    }

    /// Returns the answers with their ids, in no particular order.
    pub fn answers(&self) -> impl Iterator<Item = (&str, &AnswerUsage)> {
        self.answers
            .iter()
            .map(|(name, answer)| (name.as_str(), answer))
    }

    /// Returns the sums over all answers.
    pub fn sum(&self) -> TokenSums {
        let mut sum = TokenSums::default();
        for answer in self.answers.values() {
            sum.add(answer);
        }
        sum
    }

    /// Returns the sums of each model. Answers without a model are under an empty name.
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
            // A file can claim any number.
            *sum = sum.saturating_add(count.unwrap_or(0));
        }
    }
}
