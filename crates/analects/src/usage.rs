//! What an answer used: its tokens, its cost and its time, as `--usage` prints them.

use std::time::{Duration, Instant};

use analects_client::is_content;
use analects_core::{Message, StreamEvent};
use analects_runtime::{TurnEvent, dollars};

use crate::ui;

/// Follows a turn, to print what each of its answers used.
pub struct UsageMeter {
    began: Instant,
    first_token: Option<Duration>,
    lines: Vec<String>,
}

impl UsageMeter {
    /// A meter for a turn that begins now.
    pub fn new() -> UsageMeter {
        UsageMeter {
            began: Instant::now(),
            first_token: None,
            lines: Vec::new(),
        }
    }

    /// Notes what happened.
    pub fn observe(&mut self, event: &TurnEvent) {
        match event {
            TurnEvent::Stream(event) => self.observe_stream(event),
            TurnEvent::Answer(answer) => self.end_answer(answer),
            _ => {}
        }
    }

    /// Notes what an answer used. An answer that failed before it began used nothing.
    fn end_answer(&mut self, answer: &Message) {
        let first_token = self.first_token.take();
        if answer.usage.is_some() || first_token.is_some() {
            let took = self.began.elapsed();
            self.lines.push(usage_in_words(answer, first_token, took));
        }
        self.began = Instant::now();
    }

    fn observe_stream(&mut self, event: &StreamEvent) {
        if is_content(event) {
            self.first_token.get_or_insert_with(|| self.began.elapsed());
        }
    }

    /// Prints a line for each answer.
    pub fn print(&self) {
        for line in &self.lines {
            ui::remark(line);
        }
    }
}

/// Tokens, cost and times in one line, for `--usage`. Counts that are not known are left out.
pub fn usage_in_words(message: &Message, first_token: Option<Duration>, took: Duration) -> String {
    let usage = message.usage.clone().unwrap_or_default();
    let counts = [
        (usage.input_tokens, "tokens in"),
        (positive(usage.cache_read_input_tokens), "from the cache"),
        (positive(usage.cache_creation_input_tokens), "to the cache"),
        (usage.output_tokens, "tokens out"),
        (positive(usage.reasoning_tokens), "of them thinking"),
    ];
    let mut parts = Vec::new();
    for (tokens, what) in counts {
        parts.extend(tokens.map(|tokens| format!("{tokens} {what}")));
    }
    if parts.is_empty() {
        parts.push("tokens unknown".to_string());
    }
    parts.push(match message.cost_usd {
        Some(cost) => dollars(cost),
        None => "cost unknown".to_string(),
    });
    if let Some(time) = first_token {
        parts.push(format!("first token {:.2} s", time.as_secs_f64()));
    }
    parts.push(format!("{:.2} s in all", took.as_secs_f64()));
    parts.join(", ")
}

/// A count that is worth printing: known and not zero.
fn positive(tokens: Option<u64>) -> Option<u64> {
    tokens.filter(|tokens| *tokens > 0)
}
