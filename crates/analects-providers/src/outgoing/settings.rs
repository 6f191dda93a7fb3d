//! Settings as the APIs accept them: tools, the choice among them, and numbers within limits.

use std::collections::HashSet;
use std::ops::RangeInclusive;

use analects_core::{Raw, RawMap, Request, ToolChoice, ToolSpec};

use super::{LeftOut, Names, mended};

/// The tools whose names the API accepts, each once. A name cannot be changed here: the model would
/// call a tool that nobody knows.
pub(crate) fn tools<'a>(
    request: &'a Request,
    names: Names,
    left_out: &mut LeftOut,
) -> Vec<&'a ToolSpec> {
    let mut seen = HashSet::new();
    let mut tools = Vec::new();
    for spec in &request.tools {
        let what = format!("the tool \"{}\"", spec.name);
        if !names.fit(&spec.name) {
            left_out.setting(&what, names.why_not());
        } else if !seen.insert(spec.name.as_str()) {
            left_out.setting(&what, "another has the same name");
        } else {
            tools.push(spec);
        }
    }
    tools
}

/// The choice, if there is something to choose from. Tools of the provider's own come in by the
/// metadata, and nobody here knows their names.
pub(crate) fn tool_choice<'a>(
    request: &'a Request,
    tools: &[&ToolSpec],
    left_out: &mut LeftOut,
) -> Option<&'a ToolChoice> {
    const WHAT: &str = "the choice of a tool";
    let choice = request.tool_choice.as_ref()?;
    let has_others = request.metadata.get("tools").is_some();
    match choice {
        _ if has_others => Some(choice),
        ToolChoice::Auto | ToolChoice::None if tools.is_empty() => None,
        ToolChoice::Any if tools.is_empty() => {
            left_out.setting(WHAT, "there are no tools");
            None
        }
        ToolChoice::Tool(name) if !tools.iter().any(|tool| tool.name == *name) => {
            left_out.setting(WHAT, &format!("there is no tool \"{name}\""));
            None
        }
        _ => Some(choice),
    }
}

/// The schema of a tool's arguments, which the APIs want to be an object's.
pub(crate) fn object_schema(spec: &ToolSpec, left_out: &mut LeftOut) -> RawMap {
    let object = Raw::string("object");
    let mut schema = mended(&spec.input_schema).as_object().unwrap_or_default();
    if schema.get("type") != Some(&object) {
        left_out.otherwise(format!(
            "the arguments of {} are sent as an object",
            spec.name
        ));
        schema.set("type", object);
    }
    schema
}

/// The temperature within what the API takes.
pub(crate) fn temperature(
    request: &Request,
    range: RangeInclusive<f64>,
    left_out: &mut LeftOut,
) -> Option<f64> {
    let wanted = request.temperature.filter(|value| value.is_finite())?;
    let (low, high) = range.into_inner();
    let taken = wanted.clamp(low, high);
    if taken != wanted {
        let text = format!("the API goes from {low} to {high}");
        left_out.otherwise(format!("temperature is {taken}, not {wanted}: {text}"));
    }
    Some(taken)
}

/// The limit of the answer within what the API takes; 0 is none.
pub(crate) fn limit(
    request: &Request,
    range: RangeInclusive<u64>,
    left_out: &mut LeftOut,
) -> Option<u64> {
    let wanted = request.max_output_tokens?;
    if wanted == 0 {
        left_out.setting("the limit of the answer", "it is 0");
        return None;
    }
    let taken = wanted.clamp(*range.start(), *range.end());
    if taken != wanted {
        left_out.otherwise(format!(
            "the answer is limited to {taken} tokens, not {wanted}"
        ));
    }
    Some(taken)
}

/// The texts that end an answer: not the empty ones, and not more than the API takes.
pub(crate) fn stop_sequences<'a>(
    request: &'a Request,
    most: usize,
    left_out: &mut LeftOut,
) -> Vec<&'a str> {
    let filled = request
        .stop_sequences
        .iter()
        .filter(|stop| !stop.is_empty());
    let mut stops: Vec<&str> = filled.map(String::as_str).collect();
    if stops.len() < request.stop_sequences.len() {
        left_out.setting("a stop sequence", "it is empty");
    }
    if stops.len() > most {
        left_out.setting(
            "a stop sequence",
            &format!("the API takes {most}, and the first go"),
        );
        stops.truncate(most);
    }
    stops
}
