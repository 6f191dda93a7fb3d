//! The line of a message: who, when, which model, how many tokens, what it cost, how it ended.

use std::collections::HashMap;

use analects_core::{Agent, Block, Body, Content, History, Message, Raw, StopReason, TokenUsage};
use jiff::Timestamp;

use super::answer::AnswerDetail;
use crate::msgfile::{Document, NewCell};

/// How exactly cells say what is known of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// What people read.
    Usual,
    /// Also durations, response ids and every count of tokens.
    Detailed,
    /// Everything that a cell can say.
    Exact,
}

impl From<AnswerDetail> for Style {
    fn from(detail: AnswerDetail) -> Style {
        match detail {
            AnswerDetail::Usual => Style::Usual,
            AnswerDetail::All => Style::Detailed,
        }
    }
}

/// The attributes of a message's head.
pub(super) struct HeadAttributes {
    attributes: Vec<(&'static str, String)>,
}

impl HeadAttributes {
    /// What the head of a message says; `usual_model` is the one that its agent asks first.
    pub(super) fn of(message: &Message, style: Style, usual_model: Option<&str>) -> HeadAttributes {
        let mut description = HeadAttributes {
            attributes: Vec::new(),
        };
        let is_answer = matches!(message.body, Body::Assistant(_));
        let history = Some(message.history).filter(|history| *history != History::Include);
        // The word that people write.
        let word = |history: History| {
            if history == History::Exclude {
                "none"
            } else {
                history.as_str()
            }
        };
        description.add("history", history.map(word));
        if style != Style::Exact && message.history != History::Include {
            description.add(
                "summary",
                message.extra.get("summary").and_then(Raw::as_string),
            );
        }
        description.add(
            "time",
            message
                .created_at
                .map(|time| shown_time(time, message, style)),
        );
        let is_usual = |model: &&String| {
            style != Style::Exact && usual_model.is_some_and(|usual| is_model(model, usual))
        };
        description.add(
            "model",
            message.model.as_ref().filter(|model| !is_usual(model)),
        );
        if let Some(usage) = &message.usage {
            description.add_usage(usage, style);
        }
        description.add("cost", message.cost_usd);
        if style != Style::Usual || !is_answer {
            let duration = message
                .duration_ms
                .map(|ms| format!("{}s", ms as f64 / 1000.0));
            description.add("duration", duration);
        }
        if style != Style::Usual {
            description.add("response_id", message.response_id.as_ref());
        }
        description.add("stop_reason", unusual_stop(message));
        description.add("error", message.is_api_error_message.then_some("1"));
        description
    }

    /// The cell with these attributes.
    pub(super) fn on(self, cell: NewCell) -> NewCell {
        self.attributes
            .into_iter()
            .fold(cell, |cell, (key, value)| cell.with(key, value))
    }

    fn add(&mut self, key: &'static str, value: Option<impl ToString>) {
        self.attributes
            .extend(value.map(|value| (key, value.to_string())));
    }

    /// `tokens=IN/OUT`, unless more must be said.
    fn add_usage(&mut self, usage: &TokenUsage, style: Style) {
        let cached = [
            usage.cache_read_input_tokens,
            usage.cache_creation_input_tokens,
        ];
        let is_plain = cached == [None, None] && usage.reasoning_tokens.is_none();
        if style == Style::Usual || is_plain {
            let counts = [usage.input_tokens, cached[0], cached[1]];
            let input = counts.into_iter().flatten().reduce(u64::saturating_add);
            match (input, usage.output_tokens) {
                (Some(input), Some(output)) => {
                    let is_said = style == Style::Exact || input > 0 || output > 0;
                    self.add("tokens", is_said.then(|| format!("{input}/{output}")));
                }
                (input, output) => {
                    let is_said = |count: &u64| style == Style::Exact || *count > 0;
                    self.add("input_tokens", input.filter(is_said));
                    self.add("output_tokens", output.filter(is_said));
                }
            }
            return;
        }
        self.add("input_tokens", usage.input_tokens);
        self.add("output_tokens", usage.output_tokens);
        self.add("cache_read_tokens", cached[0]);
        self.add("cache_creation_tokens", cached[1]);
        self.add("reasoning_tokens", usage.reasoning_tokens);
    }
}

/// The time of a message: people read whole seconds. What came with a compaction is known by its exact time.
fn shown_time(time: Timestamp, message: &Message, style: Style) -> String {
    let is_said = matches!(message.body, Body::User(_) | Body::Assistant(_));
    let whole = Timestamp::from_second(time.as_second()).unwrap_or(time);
    let shown = if is_said && style != Style::Exact {
        whole
    } else {
        time
    };
    shown.to_string()
}

/// Whether a model is the one that an agent asks first, perhaps by the name of the version that answered:
/// `gpt-5-mini-2025-08-07` is `openai/gpt-5-mini`.
fn is_model(model: &str, usual: &str) -> bool {
    let version = model
        .strip_prefix(usual)
        .or(model.strip_prefix(without_provider(usual)));
    version.is_some_and(|version| {
        let is_date = |c: char| c.is_ascii_digit() || c == '-';
        version.is_empty() || (version.starts_with('-') && version.chars().all(is_date))
    })
}

fn without_provider(model: &str) -> &str {
    model.split_once('/').map_or(model, |(_, model)| model)
}

impl Document {
    /// The model that each agent asks first, as it is named.
    pub(super) fn usual_models(&self) -> HashMap<String, String> {
        let first = |agent: Agent| Some((agent.name, agent.models.into_iter().next()?));
        self.agents().into_iter().filter_map(first).collect()
    }

    /// The model of answers that name none, by their agents.
    pub(super) fn implied_models(&self) -> HashMap<String, String> {
        let mut models = self.usual_models();
        for model in models.values_mut() {
            *model = without_provider(model).to_string();
        }
        models
    }
}

/// Reads `tokens=IN/OUT`.
pub(super) fn read_tokens(value: &str) -> Option<(u64, u64)> {
    let (input, output) = value.split_once('/')?;
    Some((input.parse().ok()?, output.parse().ok()?))
}

/// How an answer ended, if a reader would not guess it: `end_turn`, or `tool_use` after calls.
fn unusual_stop(message: &Message) -> Option<String> {
    let Body::Assistant(body) = &message.body else {
        return None;
    };
    let calls = matches!(&body.content, Content::Blocks(blocks)
        if blocks.iter().any(|block| matches!(block, Block::ToolUse(_))));
    let usual = if message.is_api_error_message {
        None
    } else if calls {
        Some(StopReason::ToolUse)
    } else {
        Some(StopReason::EndTurn)
    };
    let stop = body.stop_reason.clone();
    (stop != usual).then(|| stop.map(String::from).unwrap_or_default())
}
