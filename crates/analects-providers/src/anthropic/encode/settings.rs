//! Limits, tools and thinking: what of them goes together.

use std::collections::BTreeSet;

use analects_core::{Raw, RawMap, Request, ToolChoice, ToolSpec};

use super::NAMES;
use super::blocks::typed;
use super::turns::{Message, begins_without_thinking};
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
            let called = messages
                .iter()
                .flat_map(Message::called)
                .collect::<BTreeSet<String>>();
            tools.extend(called.into_iter().map(|name| undefined_tool(&name)));
            tool_choice = tool_choice.or_else(|| (!tools.is_empty()).then(|| typed("none")));
        }
        let thinking = thinking(
            request,
            max_tokens,
            messages,
            tool_choice.as_ref(),
            left_out,
        );
        let given = request.metadata.get("thinking").and_then(Raw::as_object);
        let thinks = match &given {
            Some(given) => given
                .get("type")
                .is_none_or(|kind| kind.as_str() != "\"disabled\""),
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
        if let Some(temperature) = self
            .temperature
            .and_then(|it| Raw::parse(&it.to_string()).ok())
        {
            body.push("temperature", temperature);
        }
        let lists = [
            ("stop_sequences", self.stop_sequences),
            ("tools", self.tools),
        ];
        for (key, values) in lists.into_iter().filter(|(_, values)| !values.is_empty()) {
            body.push(key, Raw::array(&values));
        }
        let objects = [
            ("tool_choice", self.tool_choice),
            ("thinking", self.thinking),
        ];
        for (key, value) in objects {
            if let Some(value) = value {
                body.push(key, value.to_raw());
            }
        }
    }
}

fn max_tokens(request: &Request, left_out: &mut LeftOut) -> u64 {
    request
        .max_output_tokens
        .filter(|limit| *limit > 0)
        .unwrap_or_else(|| {
            let limit = largest_limit(&request.model);
            left_out.choice(format!(
                "the answer is limited to {limit} tokens: the API wants a limit"
            ));
            limit
        })
}

fn temperature(request: &Request, thinks: bool, left_out: &mut LeftOut) -> Option<f64> {
    request.temperature.filter(|value| value.is_finite())?;
    if thinks || !takes_temperature(&request.model) {
        let why = if thinks {
            "a model that thinks takes none"
        } else {
            "the model takes none"
        };
        left_out.setting("temperature", why);
        return None;
    }
    settings::temperature(request, 0.0..=1.0, left_out)
}

fn stop_sequences(request: &Request, left_out: &mut LeftOut) -> Vec<Raw> {
    let (filled, blank): (Vec<_>, Vec<_>) = request
        .stop_sequences
        .iter()
        .partition(|stop| !stop.trim().is_empty());
    if !blank.is_empty() {
        left_out.setting("a stop sequence", "it is blank");
    }
    filled.into_iter().map(|stop| Raw::string(stop)).collect()
}

fn tool(spec: &ToolSpec, left_out: &mut LeftOut) -> Raw {
    let schema = settings::object_schema(spec, left_out);
    let mut tool = RawMap::from([("name", Raw::string(&spec.name))]);
    if !spec.description.is_empty() {
        tool.push("description", Raw::string(&spec.description));
    }
    tool.push("input_schema", schema.to_raw());
    tool.to_raw()
}

/// A tool that was called, and of which nothing else is known.
fn undefined_tool(name: &str) -> Raw {
    RawMap::from([
        ("name", Raw::string(name)),
        ("description", Raw::string("Not available any more.")),
        ("input_schema", typed("object").to_raw()),
    ])
    .to_raw()
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
    let adaptive = thinks_adaptively(&request.model);
    let choice = choice.and_then(|choice| choice.string("type"));
    let forced = matches!(choice.as_deref(), Some("any" | "tool"));
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
    thinking.push("budget_tokens", budget.into());
    Some(thinking)
}

// What a model's name tells about it. Names that tell nothing are of models that take everything.

/// Whether both names are of one model: an alias and a dated snapshot are.
pub(super) fn is_same_model(left: &str, right: &str) -> bool {
    !left.is_empty() && undated(left) == undated(right)
}

/// Whether this is one of Anthropic's models.
pub(super) fn is_anthropic(model: &str) -> bool {
    model.starts_with("claude")
}

/// The name without `-20250929` or `-latest`.
fn undated(model: &str) -> &str {
    let is_date = |end: &str| end.len() == 8 && end.bytes().all(|byte| byte.is_ascii_digit());
    match model.rsplit_once('-') {
        Some((name, end)) if end == "latest" || is_date(end) => name,
        _ => model,
    }
}

/// The version in a name such as `claude-3-7-sonnet-latest` or `claude-opus-4-20250514`.
fn version(model: &str) -> Option<(u32, u32)> {
    let parts = model.strip_prefix("claude-")?.split('-');
    let numbers = parts.map(|part| part.parse().ok().filter(|_| part.len() <= 2));
    let mut numbers = numbers.skip_while(Option::is_none);
    Some((numbers.next()??, numbers.next().flatten().unwrap_or(0)))
}

/// Whether the model decides itself how long it thinks. Older ones want a budget, and the newest
/// refuse one.
fn thinks_adaptively(model: &str) -> bool {
    version(model).is_some_and(|version| version >= (4, 6))
}

/// Whether the model takes a temperature.
fn takes_temperature(model: &str) -> bool {
    version(model).is_none_or(|version| version < (4, 7))
}

/// A limit for answers that every version of the model accepts: the API wants one.
fn largest_limit(model: &str) -> u64 {
    match version(model) {
        Some(version) if version < (3, 5) => 4096,
        Some(version) if version < (3, 7) => 8192,
        Some(_) => 32_000,
        None => 8192,
    }
}
