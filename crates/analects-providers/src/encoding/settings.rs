//! The settings of a request in the form that the APIs accept: tools, the choice among them, and
//! numbers within limits.

use std::collections::HashSet;
use std::ops::RangeInclusive;

use analects_core::{Raw, RawMap, Request, ToolChoice, ToolSpec, replace_lone_surrogates};

use super::{EncodeProblems, ToolNameRule};

/// Returns the tools whose names the API accepts, each name once. A name cannot be changed here:
/// the model would call a tool that does not exist.
pub(crate) fn tools<'a>(
    request: &'a Request,
    names: ToolNameRule,
    problems: &mut EncodeProblems,
) -> Vec<&'a ToolSpec> {
    let mut used = HashSet::new();
    let mut tools = Vec::new();
    for spec in &request.tools {
        let what = format!("the tool \"{}\"", spec.name);
        if !names.accepts(&spec.name) {
            problems.omit_setting(&what, names.why_refused());
        } else if !used.insert(spec.name.as_str()) {
            problems.omit_setting(&what, "another has the same name");
        } else {
            tools.push(spec);
        }
    }
    tools
}

/// Returns the tool choice, unless `tools` makes it void. If the metadata adds tools of the
/// provider, whose names are not known here, every choice is sent.
pub(crate) fn tool_choice<'a>(
    request: &'a Request,
    tools: &[&ToolSpec],
    problems: &mut EncodeProblems,
) -> Option<&'a ToolChoice> {
    const WHAT: &str = "the choice of a tool";
    let choice = request.tool_choice.as_ref()?;
    if request.metadata.get("tools").is_some() {
        return Some(choice);
    }
    match choice {
        ToolChoice::Auto | ToolChoice::None if tools.is_empty() => None,
        ToolChoice::Any if tools.is_empty() => {
            problems.omit_setting(WHAT, "there are no tools");
            None
        }
        ToolChoice::Tool(name) if !has_tool(tools, name) => {
            problems.omit_setting(WHAT, &format!("there is no tool \"{name}\""));
            None
        }
        _ => Some(choice),
    }
}

/// Whether a tool with this name is sent.
fn has_tool(tools: &[&ToolSpec], name: &str) -> bool {
    tools.iter().any(|tool| tool.name == name)
}

/// Returns the schema of a tool's arguments. The APIs require its type to be `object`.
pub(crate) fn object_schema(spec: &ToolSpec, problems: &mut EncodeProblems) -> RawMap {
    let object = Raw::string("object");
    let schema = replace_lone_surrogates(&spec.input_schema);
    let mut schema = schema.as_object().unwrap_or_default();
    if schema.get("type") != Some(&object) {
        problems.change(format!(
            "the arguments of {} are sent as an object",
            spec.name
        ));
        schema.set("type", object);
    }
    schema
}

/// Returns the temperature, moved into the range that the API accepts.
pub(crate) fn temperature(
    request: &Request,
    range: RangeInclusive<f64>,
    problems: &mut EncodeProblems,
) -> Option<f64> {
    let wanted = request.temperature.filter(|value| value.is_finite())?;
    let (low, high) = range.into_inner();
    let sent = wanted.clamp(low, high);
    if sent != wanted {
        let text = format!("the API goes from {low} to {high}");
        problems.change(format!("temperature is {sent}, not {wanted}: {text}"));
    }
    Some(sent)
}

/// Returns the limit of output tokens, moved into the range that the API accepts. A limit of 0 is
/// omitted.
pub(crate) fn output_limit(
    request: &Request,
    range: RangeInclusive<u64>,
    problems: &mut EncodeProblems,
) -> Option<u64> {
    let wanted = request.max_output_tokens?;
    if wanted == 0 {
        problems.omit_setting("the limit of the answer", "it is 0");
        return None;
    }
    let sent = wanted.clamp(*range.start(), *range.end());
    if sent != wanted {
        problems.change(format!(
            "the answer is limited to {sent} tokens, not {wanted}"
        ));
    }
    Some(sent)
}

/// Returns the stop sequences that are not empty, and no more of them than `most`, which is the
/// API's limit.
pub(crate) fn stop_sequences<'a>(
    request: &'a Request,
    most: usize,
    problems: &mut EncodeProblems,
) -> Vec<&'a str> {
    const WHAT: &str = "a stop sequence";
    let all = request.stop_sequences.iter().map(String::as_str);
    let mut stops: Vec<&str> = all.filter(|stop| !stop.is_empty()).collect();
    if stops.len() < request.stop_sequences.len() {
        problems.omit_setting(WHAT, "it is empty");
    }
    if stops.len() > most {
        let why = format!("the API takes {most}, and the first go");
        problems.omit_setting(WHAT, &why);
        stops.truncate(most);
    }
    stops
}
