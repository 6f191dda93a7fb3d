//! Limits, tools and thinking: what of them goes together.

use std::collections::BTreeSet;

use analects_core::{Raw, RawMap, Request, ToolChoice, ToolSpec};

use super::turns::{Message, begins_without_thinking};
use super::{clean::NAMES, family, literal, number};
use crate::openai::list;
use crate::outgoing::{LeftOut, settings};

const SMALLEST_BUDGET: u64 = 1024;
const LARGEST_BUDGET: u64 = 32_000;

/// What goes out beside the conversation.
pub(super) struct Settings {
    pub max_tokens: u64,
    temperature: Option<f64>,
    stop_sequences: Vec<Raw>,
    tools: Vec<Raw>,
    tool_choice: Option<RawMap>,
    thinking: Option<RawMap>,
}

impl Settings {
    pub fn of(request: &Request, messages: &[Message], left_out: &mut LeftOut) -> Settings {
        let max_tokens = max_tokens(request, left_out);
        let specs = settings::tools(request, NAMES, left_out);
        let mut tools: Vec<Raw> = specs.iter().map(|spec| tool(spec, left_out)).collect();
        let choice = settings::tool_choice(request, &specs, left_out);
        let mut tool_choice = choice.map(tool_choice);
        if tools.is_empty() && request.metadata.get("tools").is_none() {
            // A conversation with calls is refused where no tools are defined; called they must not be.
            let called = messages.iter().flat_map(Message::called).collect::<BTreeSet<String>>();
            tools.extend(called.into_iter().map(|name| undefined_tool(&name)));
            tool_choice = tool_choice.or_else(|| (!tools.is_empty()).then(|| typed("none")));
        }
        let thinking = thinking(request, max_tokens, messages, tool_choice.as_ref(), left_out);
        let given = request.metadata.get("thinking").and_then(Raw::as_object);
        let thinks = match &given {
            Some(given) => given.get("type").is_none_or(|kind| kind.as_str() != "\"disabled\""),
            None => thinking.is_some(),
        };
        Settings {
            max_tokens,
            temperature: temperature(request, thinks, left_out),
            stop_sequences: stop_sequences(request, left_out),
            tools,
            tool_choice,
            thinking,
        }
    }

    pub fn write(self, body: &mut RawMap) {
        if let Some(temperature) = self.temperature {
            body.push("temperature", literal(&temperature.to_string()));
        }
        let lists = [("stop_sequences", self.stop_sequences), ("tools", self.tools)];
        for (key, values) in lists.into_iter().filter(|(_, values)| !values.is_empty()) {
            body.push(key, list(&values));
        }
        let objects = [("tool_choice", self.tool_choice), ("thinking", self.thinking)];
        for (key, value) in objects {
            if let Some(value) = value {
                body.push(key, value.to_raw());
            }
        }
    }
}

fn max_tokens(request: &Request, left_out: &mut LeftOut) -> u64 {
    request.max_output_tokens.filter(|limit| *limit > 0).unwrap_or_else(|| {
        let limit = family::max_tokens(&request.model);
        left_out.choice(format!("the answer is limited to {limit} tokens: the API wants a limit"));
        limit
    })
}

fn temperature(request: &Request, thinks: bool, left_out: &mut LeftOut) -> Option<f64> {
    request.temperature.filter(|value| value.is_finite())?;
    if thinks || !family::takes_temperature(&request.model) {
        let why = if thinks { "a model that thinks takes none" } else { "the model takes none" };
        left_out.setting("temperature", why);
        return None;
    }
    settings::temperature(request, 0.0..=1.0, left_out)
}

fn stop_sequences(request: &Request, left_out: &mut LeftOut) -> Vec<Raw> {
    let (filled, blank): (Vec<_>, Vec<_>) =
        request.stop_sequences.iter().partition(|stop| !stop.trim().is_empty());
    if !blank.is_empty() {
        left_out.setting("a stop sequence", "it is blank");
    }
    filled.into_iter().map(|stop| Raw::string(stop)).collect()
}

fn tool(spec: &ToolSpec, left_out: &mut LeftOut) -> Raw {
    let schema = settings::object_schema(spec, left_out);
    let mut tool = RawMap::new();
    tool.push("name", Raw::string(&spec.name));
    if !spec.description.is_empty() {
        tool.push("description", Raw::string(&spec.description));
    }
    tool.push("input_schema", schema.to_raw());
    tool.to_raw()
}

/// A tool that was called, and of which nothing else is known.
fn undefined_tool(name: &str) -> Raw {
    let mut tool = RawMap::new();
    tool.push("name", Raw::string(name));
    tool.push("description", Raw::string("Not available any more."));
    tool.push("input_schema", typed("object").to_raw());
    tool.to_raw()
}

fn tool_choice(choice: &ToolChoice) -> RawMap {
    let word = match choice {
        ToolChoice::Auto => "auto",
        ToolChoice::Any => "any",
        ToolChoice::None => "none",
        ToolChoice::Tool(_) => "tool",
    };
    let mut map = typed(word);
    if let ToolChoice::Tool(name) = choice {
        map.push("name", Raw::string(name));
    }
    map
}

/// Asks for thinking where the API allows it.
fn thinking(
    request: &Request,
    max_tokens: u64,
    messages: &[Message],
    choice: Option<&RawMap>,
    left_out: &mut LeftOut,
) -> Option<RawMap> {
    if !request.reasoning {
        return None;
    }
    let adaptive = family::thinks_adaptively(&request.model);
    let forced = [Raw::string("any"), Raw::string("tool")];
    let forced =
        choice.and_then(|choice| choice.get("type")).is_some_and(|kind| forced.contains(kind));
    let why_not = if forced {
        Some("a call is forced")
    } else if adaptive {
        None
    } else if max_tokens < 2 * SMALLEST_BUDGET {
        Some("the limit of the answer leaves no room for it")
    } else if begins_without_thinking(messages) {
        Some("the turn that goes on began without it")
    } else {
        None
    };
    if let Some(why) = why_not {
        left_out.setting("the wish for thinking", why);
        return None;
    }
    if adaptive {
        return Some(typed("adaptive"));
    }
    let mut thinking = typed("enabled");
    let budget = (max_tokens / 2).clamp(SMALLEST_BUDGET, LARGEST_BUDGET);
    thinking.push("budget_tokens", number(budget));
    Some(thinking)
}

/// An object of this type.
fn typed(kind: &str) -> RawMap {
    let mut map = RawMap::new();
    map.push("type", Raw::string(kind));
    map
}
