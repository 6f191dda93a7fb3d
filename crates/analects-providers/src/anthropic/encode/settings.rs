//! Limits, tools and thinking: what of them goes together.

use std::collections::BTreeSet;

use analects_core::{Raw, RawMap, Request, ToolChoice, ToolSpec};

use super::super::wire::with;
use super::notes::Notes;
use super::turns::{Message, begins_without_thinking};
use super::{clean, family, literal, number};
use crate::openai::list;

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
    pub fn of(request: &Request, messages: &[Message], notes: &mut Notes) -> Settings {
        let max_tokens = max_tokens(request, notes);
        let (names, tools) = tools(&request.tools, notes);
        let tool_choice = tool_choice(request, &names, notes);
        let thinking = thinking(request, max_tokens, messages, tool_choice.as_ref(), notes);
        let given = request.metadata.get("thinking").and_then(Raw::as_object);
        let thinks = match &given {
            Some(given) => given.get("type").is_none_or(|kind| kind.as_str() != "\"disabled\""),
            None => thinking.is_some(),
        };
        Settings {
            max_tokens,
            temperature: temperature(request, thinks, notes),
            stop_sequences: stop_sequences(request, notes),
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

fn max_tokens(request: &Request, notes: &mut Notes) -> u64 {
    request.max_output_tokens.filter(|limit| *limit > 0).unwrap_or_else(|| {
        let limit = family::max_tokens(&request.model);
        notes.choice(format!("the answer is limited to {limit} tokens: the API wants a limit"));
        limit
    })
}

fn temperature(request: &Request, thinks: bool, notes: &mut Notes) -> Option<f64> {
    let wanted = request.temperature.filter(|value| value.is_finite())?;
    if thinks || !family::takes_temperature(&request.model) {
        let why = if thinks { "a model that thinks takes none" } else { "the model takes none" };
        notes.setting("temperature", why);
        return None;
    }
    let clamped = wanted.clamp(0.0, 1.0);
    if clamped != wanted {
        notes
            .otherwise(format!("temperature is {clamped}, not {wanted}: the API goes from 0 to 1"));
    }
    Some(clamped)
}

fn stop_sequences(request: &Request, notes: &mut Notes) -> Vec<Raw> {
    let (filled, blank): (Vec<_>, Vec<_>) =
        request.stop_sequences.iter().partition(|stop| !stop.trim().is_empty());
    if !blank.is_empty() {
        notes.setting("a stop sequence", "it is blank");
    }
    filled.into_iter().map(|stop| Raw::string(stop)).collect()
}

fn tools<'a>(specs: &'a [ToolSpec], notes: &mut Notes) -> (BTreeSet<&'a str>, Vec<Raw>) {
    let mut names = BTreeSet::new();
    let mut tools = Vec::new();
    for spec in specs {
        let what = format!("the tool \"{}\"", spec.name);
        // A name cannot be changed here: the model would call a tool that nobody knows.
        if !clean::is_name(&spec.name) {
            notes.setting(
                &what,
                "its name has other characters than letters, digits, _ and -, or too many",
            );
        } else if !names.insert(spec.name.as_str()) {
            notes.setting(&what, "another has the same name");
        } else {
            tools.push(tool(spec, notes));
        }
    }
    (names, tools)
}

fn tool(spec: &ToolSpec, notes: &mut Notes) -> Raw {
    let object = Raw::string("object");
    let schema = clean::mended(&spec.input_schema).as_object();
    let fits = schema.as_ref().is_some_and(|schema| schema.get("type") == Some(&object));
    if !fits {
        notes.otherwise(format!("the arguments of {} are sent as an object", spec.name));
    }
    let schema = schema.unwrap_or_default();
    let schema = if fits { schema } else { with(&schema, "type", object) };
    let mut tool = RawMap::new();
    tool.push("name", Raw::string(&spec.name));
    if !spec.description.is_empty() {
        tool.push("description", Raw::string(&spec.description));
    }
    tool.push("input_schema", schema.to_raw());
    tool.to_raw()
}

fn tool_choice(request: &Request, names: &BTreeSet<&str>, notes: &mut Notes) -> Option<RawMap> {
    let server_tools = request.metadata.get("tools").is_some();
    let choice = request.tool_choice.as_ref().filter(|_| !names.is_empty() || server_tools)?;
    let word = match choice {
        ToolChoice::Auto => "auto",
        ToolChoice::Any => "any",
        ToolChoice::None => "none",
        ToolChoice::Tool(_) => "tool",
    };
    let mut map = typed(word);
    if let ToolChoice::Tool(name) = choice {
        if !names.contains(name.as_str()) && !server_tools {
            notes.setting("the choice of a tool", &format!("there is no tool \"{name}\""));
            return None;
        }
        map.push("name", Raw::string(name));
    }
    Some(map)
}

/// Asks for thinking where the API allows it.
fn thinking(
    request: &Request,
    max_tokens: u64,
    messages: &[Message],
    choice: Option<&RawMap>,
    notes: &mut Notes,
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
        notes.setting("the wish for thinking", why);
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
