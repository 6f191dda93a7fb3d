//! The settings of a request in a combination that the API accepts: limits, tools and thinking.

use std::collections::BTreeSet;

use analects_core::{Raw, RawMap, Request, ToolChoice, ToolSpec};

use super::TOOL_NAMES;
use super::blocks::typed_object;
use super::message::AnthropicMessage;
use super::messages::began_without_thinking;
use super::model_names::{accepts_temperature, default_output_limit, thinks_adaptively};
use crate::decoding::object_member;
use crate::encoding::{EncodeProblems, settings};

/// The API refuses smaller budgets for thinking, in tokens.
const MIN_THINKING_BUDGET: u64 = 1024;

/// The largest budget for thinking that we ask for, in tokens.
const MAX_THINKING_BUDGET: u64 = 32_000;

/// Everything in the body besides the conversation.
pub(super) struct AnthropicSettings {
    /// The limit of output tokens, with thinking.
    pub max_tokens: u64,
    temperature: Option<f64>,
    stop_sequences: Vec<Raw>,
    /// The definitions of tools.
    tools: Vec<Raw>,
    /// Which tools the model may or must call.
    tool_choice: Option<RawMap>,
    /// How the model thinks; `None` if it is not asked to.
    thinking: Option<RawMap>,
}

impl AnthropicSettings {
    /// Chooses the settings. They depend on the messages, because thinking must not begin in the
    /// middle of a turn.
    pub fn new(
        request: &Request,
        messages: &[AnthropicMessage],
        problems: &mut EncodeProblems,
    ) -> AnthropicSettings {
        let max_tokens = max_tokens(request, problems);
        let specs = settings::tools(request, TOOL_NAMES, problems);
        let mut tools: Vec<Raw> = specs.iter().map(|spec| tool(spec, problems)).collect();
        let choice = settings::tool_choice(request, &specs, problems);
        let mut tool_choice = choice.map(tool_choice_object);
        if tools.is_empty() && request.metadata.get("tools").is_none() {
            // The API refuses a conversation with calls if no tools are defined. The model must not call these.
            tools = placeholder_tools(messages);
            if !tools.is_empty() && tool_choice.is_none() {
                tool_choice = Some(typed_object("none"));
            }
        }
        let thinking = if request.reasoning {
            let choice = tool_choice.as_ref();
            thinking(request, max_tokens, messages, choice, problems)
        } else {
            None
        };
        let thinks = thinks(request, thinking.as_ref());
        AnthropicSettings {
            max_tokens,
            temperature: temperature(request, thinks, problems),
            stop_sequences: stop_sequences(request, problems),
            tools,
            tool_choice,
            thinking,
        }
    }

    /// Writes the settings into the body, except for `max_tokens`, which stands before the
    /// conversation.
    pub fn write(self, body: &mut RawMap) {
        if let Some(temperature) = self.temperature
            && let Ok(number) = Raw::parse(&temperature.to_string())
        {
            body.push("temperature", number);
        }
        push_list(body, "stop_sequences", &self.stop_sequences);
        push_list(body, "tools", &self.tools);
        if let Some(choice) = self.tool_choice {
            body.push("tool_choice", choice.to_raw());
        }
        if let Some(thinking) = self.thinking {
            body.push("thinking", thinking.to_raw());
        }
    }
}

/// Writes a list, unless it is empty.
fn push_list(body: &mut RawMap, key: &str, values: &[Raw]) {
    if !values.is_empty() {
        body.push(key, Raw::array(values));
    }
}

/// The limit of output tokens, which the API requires.
fn max_tokens(request: &Request, problems: &mut EncodeProblems) -> u64 {
    if let Some(limit) = request.max_output_tokens
        && limit > 0
    {
        return limit;
    }
    let limit = default_output_limit(&request.model);
    problems.choose_default(format!(
        "the answer is limited to {limit} tokens: the API wants a limit"
    ));
    limit
}

/// Whether the model thinks before it answers. The metadata may say so, since it replaces our
/// field.
fn thinks(request: &Request, thinking: Option<&RawMap>) -> bool {
    match object_member(&request.metadata, "thinking") {
        Some(given) => {
            let kind = given.get("type");
            kind.is_none_or(|kind| kind.as_str() != "\"disabled\"")
        }
        None => thinking.is_some(),
    }
}

/// The temperature, if the model accepts one.
fn temperature(request: &Request, thinks: bool, problems: &mut EncodeProblems) -> Option<f64> {
    request.temperature.filter(|value| value.is_finite())?;
    if thinks {
        problems.omit_setting("temperature", "a model that thinks takes none");
        return None;
    }
    if !accepts_temperature(&request.model) {
        problems.omit_setting("temperature", "the model takes none");
        return None;
    }
    settings::temperature(request, 0.0..=1.0, problems)
}

/// The stop sequences that are not blank.
fn stop_sequences(request: &Request, problems: &mut EncodeProblems) -> Vec<Raw> {
    let all = request.stop_sequences.iter();
    let filled = all.filter(|stop| !stop.trim().is_empty());
    let stops: Vec<Raw> = filled.map(|stop| Raw::string(stop)).collect();
    if stops.len() < request.stop_sequences.len() {
        problems.omit_setting("a stop sequence", "it is blank");
    }
    stops
}

/// Writes the definition of a tool.
fn tool(spec: &ToolSpec, problems: &mut EncodeProblems) -> Raw {
    let schema = settings::object_schema(spec, problems);
    let mut tool = RawMap::from([("name", Raw::string(&spec.name))]);
    if !spec.description.is_empty() {
        tool.push("description", Raw::string(&spec.description));
    }
    tool.push("input_schema", schema.to_raw());
    tool.to_raw()
}

/// Definitions for the tools that a conversation calls and the request does not define.
fn placeholder_tools(messages: &[AnthropicMessage]) -> Vec<Raw> {
    let names = messages.iter().flat_map(AnthropicMessage::called_tools);
    let names: BTreeSet<String> = names.collect();
    names.iter().map(|name| placeholder_tool(name)).collect()
}

/// A definition that accepts any arguments.
fn placeholder_tool(name: &str) -> Raw {
    RawMap::from([
        ("name", Raw::string(name)),
        ("description", Raw::string("Not available any more.")),
        ("input_schema", typed_object("object").to_raw()),
    ])
    .to_raw()
}

/// The tool choice in the words of the API.
fn tool_choice_object(choice: &ToolChoice) -> RawMap {
    match choice {
        ToolChoice::Auto => typed_object("auto"),
        ToolChoice::Any => typed_object("any"),
        ToolChoice::None => typed_object("none"),
        ToolChoice::Tool(name) => {
            let mut object = typed_object("tool");
            object.push("name", Raw::string(name));
            object
        }
    }
}

/// The field that asks the model to think; `None` if the API refuses that here.
fn thinking(
    request: &Request,
    max_tokens: u64,
    messages: &[AnthropicMessage],
    choice: Option<&RawMap>,
    problems: &mut EncodeProblems,
) -> Option<RawMap> {
    let is_adaptive = thinks_adaptively(&request.model);
    let why_not = if forces_call(choice) {
        Some("a call is forced")
    } else if is_adaptive {
        None
    } else {
        why_no_budget(max_tokens, messages)
    };
    if let Some(why) = why_not {
        problems.omit_setting("the wish for thinking", why);
        return None;
    }
    if is_adaptive {
        return Some(typed_object("adaptive"));
    }
    let budget = (max_tokens / 2).clamp(MIN_THINKING_BUDGET, MAX_THINKING_BUDGET);
    let mut thinking = typed_object("enabled");
    thinking.push("budget_tokens", budget.into());
    Some(thinking)
}

/// Whether the model has to call a tool. The API refuses thinking then.
fn forces_call(choice: Option<&RawMap>) -> bool {
    let kind = choice.and_then(|choice| choice.string("type"));
    matches!(kind.as_deref(), Some("any" | "tool"))
}

/// Why a model that requires a budget cannot think here.
fn why_no_budget(max_tokens: u64, messages: &[AnthropicMessage]) -> Option<&'static str> {
    if max_tokens < 2 * MIN_THINKING_BUDGET {
        return Some("the limit of the answer leaves no room for it");
    }
    if began_without_thinking(messages) {
        return Some("the turn that goes on began without it");
    }
    None
}
