//! Request in, HTTP body out. What the API has no place for is left out, and told.

mod contents;
mod fit;

use analects_core::{Problem, Raw, RawMap, Request, ToolChoice, ToolSpec};

use self::contents::contents;
use super::models::escaped;
use super::schema;
use super::wire::{self, object};
use crate::outgoing::{LeftOut, Names, settings};
use crate::{Auth, HttpRequest};

/// More than these are an error to Gemini.
const MOST_STOPS: usize = 5;

/// Numbers of tokens are of 32 bits.
const MOST_TOKENS: u64 = i32::MAX as u64;

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
    let mut left_out = LeftOut::default();
    let contents = contents(request, &mut left_out);
    let system = request.system.as_ref().filter(|text| !text.as_str().trim().is_empty());
    let specs = settings::tools(request, Names::Gemini, &mut left_out);
    let choice = settings::tool_choice(request, &specs, &mut left_out);
    let body = wire::Body {
        contents,
        system_instruction: system.map(|text| wire::Content {
            role: None,
            parts: vec![object([("text", Raw::string(&text.as_str()))])],
        }),
        tools: tools(&specs, &mut left_out),
        tool_config: choice.map(tool_config),
        generation_config: generation_config(request, &mut left_out),
    };
    // These shapes have neither maps with odd keys nor types that fail, so writing them succeeds.
    let json = serde_json::to_string(&body).unwrap_or_default();
    let body = RawMap::parse(&json).unwrap_or_default();
    (with_metadata(&body, &request.metadata), left_out.into_problems())
}

fn generation_config<'a>(
    request: &'a Request,
    left_out: &mut LeftOut,
) -> wire::GenerationConfig<'a> {
    wire::GenerationConfig {
        temperature: settings::temperature(request, 0.0..=2.0, left_out),
        max_output_tokens: settings::limit(request, 1..=MOST_TOKENS, left_out),
        stop_sequences: settings::stop_sequences(request, MOST_STOPS, left_out),
        thinking_config: thinking_config(request, left_out),
    }
}

fn thinking_config(request: &Request, left_out: &mut LeftOut) -> Option<wire::ThinkingConfig> {
    if !request.reasoning {
        return None;
    }
    let generation = generation(&request.model);
    if generation.is_some_and(|number| number < (2, 5)) {
        left_out.setting("the wish for thinking", "the model does not think");
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

fn tools<'a>(specs: &[&'a ToolSpec], left_out: &mut LeftOut) -> Vec<wire::Tools<'a>> {
    let declaration = |spec: &&'a ToolSpec| {
        let (parameters, removed) = schema::clean(&spec.input_schema);
        if !removed.is_empty() {
            let removed: Vec<_> = removed.into_iter().collect();
            let (name, removed) = (&spec.name, removed.join(", "));
            left_out.detail(format!("the schema of the tool {name} goes without {removed}"));
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
