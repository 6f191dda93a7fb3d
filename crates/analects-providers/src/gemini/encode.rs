//! Request in, HTTP body out. What the API has no place for is left out, and told.

mod contents;

use analects_core::{Problem, Raw, RawMap, Request, Severity, ToolChoice, ToolSpec};

use self::contents::contents;
use super::models::escaped;
use super::schema;
use super::wire::{self, object};
use crate::{Auth, HttpRequest};

/// More than these are an error to Gemini.
const MOST_STOPS: usize = 5;

/// Turns a request into a call of `streamGenerateContent`.
pub(crate) fn encode(request: &Request) -> HttpRequest {
    let (body, left_out) = body(request);
    let path = path(&request.model, "streamGenerateContent?alt=sse");
    let body = body.to_raw().to_string().into_bytes();
    HttpRequest { left_out, ..HttpRequest::stream(&path, Auth::GoogleKey, body) }
}

/// The path of a call whose answer comes in one piece. The decoder reads it like a stream.
pub(crate) fn path_at_once(path: &str) -> String {
    path.replace(":streamGenerateContent?alt=sse", ":generateContent")
}

/// Turns a request into a call of `countTokens`: what it would read, instructions and tools
/// included.
pub fn encode_count(request: &Request) -> HttpRequest {
    let (body, left_out) = body(request);
    let mut whole = object([("model", Raw::string(&full_name(&request.model)))]);
    for (key, value) in body.iter() {
        whole.push_raw(key.clone(), value.clone());
    }
    let body = object([("generateContentRequest", whole.to_raw())]);
    plain(&request.model, "countTokens", &body, left_out)
}

fn plain(model: &str, verb: &str, body: &RawMap, left_out: Vec<Problem>) -> HttpRequest {
    let body = body.to_raw().to_string().into_bytes();
    let mut http = HttpRequest::stream(&path(model, verb), Auth::GoogleKey, body);
    for (name, value) in &mut http.headers {
        if name == "accept" {
            *value = "application/json".to_string();
        }
    }
    HttpRequest { left_out, ..http }
}

fn full_name(model: &str) -> String {
    match model.split_once('/') {
        Some(("models" | "tunedModels", _)) => model.to_string(),
        _ => format!("models/{model}"),
    }
}

fn path(model: &str, verb: &str) -> String {
    let name = full_name(model);
    let (group, name) = name.split_once('/').unwrap_or(("models", &name));
    format!("/{group}/{}:{verb}", escaped(name))
}

fn body(request: &Request) -> (RawMap, Vec<Problem>) {
    let (contents, mut left_out) = contents(request);
    let system = request.system.as_ref().filter(|text| !text.is_empty());
    let tools = tools(&request.tools, &mut left_out);
    let body = wire::Body {
        contents,
        system_instruction: system.map(|text| wire::Content {
            role: None,
            parts: vec![object([("text", Raw::string(&text.as_str()))])],
        }),
        tool_config: request.tool_choice.as_ref().filter(|_| !tools.is_empty()).map(tool_config),
        tools,
        generation_config: generation_config(request, &mut left_out),
    };
    // These shapes have neither maps with odd keys nor types that fail, so writing them succeeds.
    let json = serde_json::to_string(&body).unwrap_or_default();
    let body = RawMap::parse(&json).unwrap_or_default();
    (with_metadata(&body, &request.metadata), left_out)
}

fn generation_config<'a>(
    request: &'a Request,
    left_out: &mut Vec<Problem>,
) -> wire::GenerationConfig<'a> {
    let stops = &request.stop_sequences;
    let taken = stops.len().min(MOST_STOPS);
    if taken < stops.len() {
        let text = format!("Gemini takes {MOST_STOPS} stop sequences; the others do not go out");
        leave_out(left_out, text);
    }
    wire::GenerationConfig {
        temperature: request.temperature.filter(|value| value.is_finite()),
        max_output_tokens: request.max_output_tokens,
        stop_sequences: &stops[..taken],
        thinking_config: thinking_config(request, left_out),
    }
}

fn thinking_config(request: &Request, left_out: &mut Vec<Problem>) -> Option<wire::ThinkingConfig> {
    if !request.reasoning {
        return None;
    }
    let generation = generation(&request.model);
    if generation.is_some_and(|number| number < (2, 5)) {
        leave_out(left_out, format!("{} does not think, so it is not asked to", request.model));
        return None;
    }
    // As much as it likes, which is not the default of every model of this generation.
    let thinking_budget = (generation == Some((2, 5))).then_some(-1);
    Some(wire::ThinkingConfig { include_thoughts: true, thinking_budget })
}

/// The number of a model, such as 2.5; `None` for names without one.
fn generation(model: &str) -> Option<(u32, u32)> {
    let name = model.strip_prefix("models/").unwrap_or(model).strip_prefix("gemini-")?;
    let number = name.split('-').next()?;
    let (major, minor) = number.split_once('.').unwrap_or((number, "0"));
    Some((major.parse().ok()?, minor.parse().ok()?))
}

fn tools<'a>(specs: &'a [ToolSpec], left_out: &mut Vec<Problem>) -> Vec<wire::Tools<'a>> {
    let declaration = |spec: &'a ToolSpec| {
        let (parameters, removed) = schema::clean(&spec.input_schema);
        if !removed.is_empty() {
            let removed: Vec<_> = removed.into_iter().collect();
            let (name, removed) = (&spec.name, removed.join(", "));
            let text = format!("the schema of the tool {name} goes without {removed}");
            left_out.push(Problem::warning("not-sent", text).with(Severity::Hint));
        }
        wire::Function { name: &spec.name, description: &spec.description, parameters }
    };
    let function_declarations: Vec<_> = specs.iter().map(declaration).collect();
    match function_declarations.is_empty() {
        true => Vec::new(),
        false => vec![wire::Tools { function_declarations }],
    }
}

fn tool_config(choice: &ToolChoice) -> wire::ToolConfig<'_> {
    let (mode, names) = match choice {
        ToolChoice::Auto => ("AUTO", vec![]),
        ToolChoice::Any => ("ANY", vec![]),
        ToolChoice::None => ("NONE", vec![]),
        ToolChoice::Tool(name) => ("ANY", vec![name.as_str()]),
    };
    let function_calling_config = wire::CallingConfig { mode, allowed_function_names: names };
    wire::ToolConfig { function_calling_config }
}

/// Adds the provider's own fields. They win over ours, except over what is said; settings are merged
/// one by one, and tools of the provider's own come after ours.
fn with_metadata(body: &RawMap, metadata: &RawMap) -> RawMap {
    let mut merged = RawMap::new();
    for (key, ours) in body.iter() {
        let name = key.as_string().unwrap_or_default();
        let value = match (name.as_str(), metadata.get(&name)) {
            ("contents", _) | (_, None) => ours.clone(),
            ("generationConfig", Some(theirs)) => overlaid(ours, theirs),
            ("tools", Some(theirs)) => chained(ours, theirs),
            (_, Some(theirs)) => theirs.clone(),
        };
        merged.push_raw(key.clone(), value);
    }
    for (key, value) in metadata.iter() {
        let name = key.as_string().unwrap_or_default();
        if name != "contents" && merged.get(&name).is_none() {
            merged.push_raw(key.clone(), value.clone());
        }
    }
    merged
}

fn overlaid(ours: &Raw, theirs: &Raw) -> Raw {
    let (Some(ours), Some(theirs)) = (ours.as_object(), theirs.as_object()) else {
        return theirs.clone();
    };
    let mut merged = RawMap::new();
    let is_ours = |key: &Raw| theirs.get(&key.as_string().unwrap_or_default()).is_none();
    let ours = ours.iter().filter(|(key, _)| is_ours(key));
    for (key, value) in ours.chain(theirs.iter()) {
        merged.push_raw(key.clone(), value.clone());
    }
    merged.to_raw()
}

fn chained(ours: &Raw, theirs: &Raw) -> Raw {
    match (ours.as_array(), theirs.as_array()) {
        (Some(mut ours), Some(theirs)) => {
            ours.extend(theirs);
            crate::openai::extras::list(&ours)
        }
        _ => theirs.clone(),
    }
}

/// Tells what does not go out; once, however often it happens.
fn leave_out(left_out: &mut Vec<Problem>, text: String) {
    let problem = Problem::warning("not-sent", text);
    if !left_out.contains(&problem) {
        left_out.push(problem);
    }
}
