//! The attributes of a head that describe its message: author, time, model, tokens, cost, and why it ended.

use std::collections::HashMap;

use analects_core::{Block, Body, Content, History, Message, Raw, StopReason, TokenUsage};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::answer::AnswerDetail;
use crate::msgfile::{Document, NewCell};

/// How much the cells of a message say about it.
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

/// The attributes of a head that describe its message.
pub(super) struct HeadAttributes {
    attributes: Vec<(&'static str, String)>,
}

impl HeadAttributes {
    /// The attributes that describe a message; `usual_model` is the one that its agent asks first, which need not be
    /// said. Times are those of the zone.
    pub(super) fn of(
        message: &Message,
        style: Style,
        usual_model: Option<&str>,
        zone: &TimeZone,
    ) -> HeadAttributes {
        let mut head = HeadAttributes {
            attributes: Vec::new(),
        };
        head.add_history(message, style);
        let time = message.created_at;
        head.add(
            "time",
            time.map(|time| time_text(time, message, style, zone)),
        );
        head.add("model", unusual_model(message, style, usual_model));
        if let Some(usage) = &message.usage {
            head.add_usage(usage, style);
        }
        head.add("cost", message.cost_usd);
        let is_answer = matches!(message.body, Body::Assistant(_));
        if style != Style::Usual || !is_answer {
            let seconds = message.duration_ms.map(|ms| ms as f64 / 1000.0);
            head.add("duration", seconds.map(|seconds| format!("{seconds}s")));
        }
        if style != Style::Usual {
            head.add("response_id", message.response_id.as_ref());
        }
        head.add("stop_reason", unusual_stop(message));
        head.add("error", message.is_api_error_message.then_some("1"));
        head
    }

    fn add_history(&mut self, message: &Message, style: Style) {
        // People write `none`, which sessions call `exclude`.
        let word = match message.history {
            History::Include => return,
            History::Exclude => "none",
            history @ History::Summary => history.as_str(),
        };
        self.add("history", Some(word));
        if style != Style::Exact {
            let summary = message.extra.get("summary").and_then(Raw::as_string);
            self.add("summary", summary);
        }
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

    /// Adds `tokens=IN/OUT`, or one attribute for each count if there are more counts to say.
    fn add_usage(&mut self, usage: &TokenUsage, style: Style) {
        let has_more = usage.cache_read_input_tokens.is_some()
            || usage.cache_creation_input_tokens.is_some()
            || usage.reasoning_tokens.is_some();
        if style == Style::Usual || !has_more {
            return self.add_token_sums(usage, style);
        }
        self.add("input_tokens", usage.input_tokens);
        self.add("output_tokens", usage.output_tokens);
        self.add("cache_read_tokens", usage.cache_read_input_tokens);
        self.add("cache_creation_tokens", usage.cache_creation_input_tokens);
        self.add("reasoning_tokens", usage.reasoning_tokens);
    }

    /// Adds all input and all output. Only an exact file says zeros.
    fn add_token_sums(&mut self, usage: &TokenUsage, style: Style) {
        let input = all_input(usage);
        let output = usage.output_tokens;
        if let (Some(input), Some(output)) = (input, output) {
            if style == Style::Exact || input > 0 || output > 0 {
                self.add("tokens", Some(format!("{input}/{output}")));
            }
            return;
        }
        let is_said = |count: &u64| style == Style::Exact || *count > 0;
        self.add("input_tokens", input.filter(is_said));
        self.add("output_tokens", output.filter(is_said));
    }
}

/// The tokens that a model read, from a cache or not.
fn all_input(usage: &TokenUsage) -> Option<u64> {
    let counts = [
        usage.input_tokens,
        usage.cache_read_input_tokens,
        usage.cache_creation_input_tokens,
    ];
    counts.into_iter().flatten().reduce(u64::saturating_add)
}

/// The model that answered, unless it is the one that everybody expects.
fn unusual_model<'m>(
    message: &'m Message,
    style: Style,
    usual_model: Option<&str>,
) -> Option<&'m String> {
    let model = message.model.as_ref()?;
    let is_usual = usual_model.is_some_and(|usual| is_model(model, usual));
    (style == Style::Exact || !is_usual).then_some(model)
}

/// The time of a message, in whole seconds for people. Events that came with a compaction are recognized by their
/// exact time.
fn time_text(time: Timestamp, message: &Message, style: Style, zone: &TimeZone) -> String {
    let is_speech = matches!(message.body, Body::User(_) | Body::Assistant(_));
    if style == Style::Exact || !is_speech {
        return with_offset(time, zone);
    }
    let whole = Timestamp::from_second(time.as_second()).unwrap_or(time);
    with_offset(whole, zone)
}

/// A time with the offset that the zone has then. RFC 3339 can write whole minutes only, so old offsets with seconds
/// become `Z`, as UTC does.
fn with_offset(time: Timestamp, zone: &TimeZone) -> String {
    let offset = zone.to_offset(time);
    if offset.is_zero() || offset.seconds() % 60 != 0 {
        return time.to_string();
    }
    time.display_with_offset(offset).to_string()
}

/// Whether a model is the one that an agent asks first, or a dated version of it: `gpt-5-mini-2025-08-07` is
/// `openai/gpt-5-mini`.
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
    /// The model that each agent asks first, as the file names it.
    pub(super) fn usual_models(&self) -> HashMap<String, String> {
        let mut models = HashMap::new();
        for agent in self.agents() {
            if let Some(model) = agent.models.into_iter().next() {
                models.insert(agent.name, model);
            }
        }
        models
    }

    /// The model of each agent, for answers that name none.
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

/// Why an answer ended, if a reader would not guess it: the usual reasons are `end_turn`, and `tool_use` after calls.
fn unusual_stop(message: &Message) -> Option<String> {
    let Body::Assistant(body) = &message.body else {
        return None;
    };
    let usual = if message.is_api_error_message {
        None
    } else if makes_calls(&body.content) {
        Some(StopReason::ToolUse)
    } else {
        Some(StopReason::EndTurn)
    };
    if body.stop_reason == usual {
        return None;
    }
    let reason = body.stop_reason.clone();
    Some(reason.map(String::from).unwrap_or_default())
}

fn makes_calls(content: &Content) -> bool {
    let Content::Blocks(blocks) = content else {
        return false;
    };
    blocks
        .iter()
        .any(|block| matches!(block, Block::ToolUse(_)))
}
