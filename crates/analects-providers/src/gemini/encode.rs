//! Request in, HTTP body out. What the API has no place for is left out, and told.

mod contents;
mod fit;

use analects_core::{Problem, Raw, RawMap, Request, ToolChoice, ToolSpec};

use self::contents::contents;
use super::schema;
use super::wire;
use crate::models::percent_encoded;
use crate::outgoing::{LeftOut, Names, settings};
use crate::{Auth, HttpRequest};

/// More than these are an error to Gemini.
const MOST_STOPS: usize = 5;

/// Numbers of tokens are of 32 bits.
const MOST_TOKENS: u64 = i32::MAX as u64;

/// The budget for thinking that stands for no limit.
const AS_MUCH_AS_IT_LIKES: i64 = -1;

/// Turns a request into a call of `streamGenerateContent`.
pub(crate) fn encode(request: &Request) -> HttpRequest {
    let (body, left_out) = body(request);
    let path = path(&request.model, "streamGenerateContent?alt=sse");
    let body = body.to_raw().to_string().into_bytes();
    HttpRequest::stream(&path, Auth::GoogleKey, body).leaving_out(left_out)
}

/// The path of a call whose answer comes in one piece. The decoder reads it like a stream.
pub(crate) fn path_at_once(path: &str) -> String {
    path.replace(":streamGenerateContent?alt=sse", ":generateContent")
}

/// Turns a request into a call of `countTokens`: what it would read, instructions and tools
/// included.
pub(crate) fn encode_count(request: &Request) -> HttpRequest {
    let (body, left_out) = body(request);
    let mut whole = RawMap::from([("model", Raw::string(&full_name(&request.model)))]);
    whole.extend(body.iter());
    let body = RawMap::from([("generateContentRequest", whole.to_raw())]);
    let body = body.to_raw().to_string().into_bytes();
    HttpRequest::json(&path(&request.model, "countTokens"), Auth::GoogleKey, body)
        .leaving_out(left_out)
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
    format!("/{group}/{}:{verb}", percent_encoded(name))
}

fn body(request: &Request) -> (RawMap, Vec<Problem>) {
    let mut left_out = LeftOut::default();
    let contents = contents(request, &mut left_out);
    let system = request
        .system
        .as_ref()
        .filter(|text| !text.as_str().trim().is_empty());
    let specs = settings::tools(request, Names::Gemini, &mut left_out);
    let choice = settings::tool_choice(request, &specs, &mut left_out);
    let body = wire::Body {
        contents,
        system_instruction: system.map(|text| wire::Content {
            role: None,
            parts: vec![RawMap::from([("text", Raw::string(&text.as_str()))])],
        }),
        tools: tools(&specs, &mut left_out),
        tool_config: choice.map(tool_config),
        generation_config: generation_config(request, &mut left_out),
    };
    // These shapes have neither maps with odd keys nor types that fail, so writing them succeeds.
    let json = serde_json::to_string(&body).unwrap_or_default();
    let body = RawMap::parse(&json).unwrap_or_default();
    (
        with_metadata(&body, &request.metadata),
        left_out.into_problems(),
    )
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

fn thinking_config(request: &Request, left_out: &mut LeftOut) -> Option<RawMap> {
    if !request.reasoning {
        return None;
    }
    let generation = generation(&request.model);
    if generation.is_some_and(|number| number < (2, 5)) {
        left_out.setting("the wish for thinking", "the model does not think");
        return None;
    }
    let mut config = RawMap::from([("includeThoughts", true.into())]);
    if generation == Some((2, 5)) {
        // As much as it likes, which is not the default of every model of this generation.
        config.push("thinkingBudget", AS_MUCH_AS_IT_LIKES.into());
    }
    Some(config)
}

/// The number of a model, such as 2.5; `None` for names without one.
fn generation(model: &str) -> Option<(u32, u32)> {
    let name = model
        .strip_prefix("models/")
        .unwrap_or(model)
        .strip_prefix("gemini-")?;
    let number = name.split('-').next()?;
    let (major, minor) = number.split_once('.').unwrap_or((number, "0"));
    Some((major.parse().ok()?, minor.parse().ok()?))
}

fn tools(specs: &[&ToolSpec], left_out: &mut LeftOut) -> Vec<RawMap> {
    if specs.is_empty() {
        return Vec::new();
    }
    let functions: Vec<_> = specs.iter().map(|spec| function(spec, left_out)).collect();
    vec![RawMap::from([(
        "functionDeclarations",
        Raw::array(&functions),
    )])]
}

fn function(spec: &ToolSpec, left_out: &mut LeftOut) -> Raw {
    let (parameters, removed) = schema::clean(&spec.input_schema);
    if !removed.is_empty() {
        let removed = Vec::from_iter(removed).join(", ");
        left_out.detail(format!(
            "the schema of the tool {} goes without {removed}",
            spec.name
        ));
    }
    let mut function = RawMap::from([
        ("name", Raw::string(&spec.name)),
        ("description", Raw::string(&spec.description)),
    ]);
    if let Some(parameters) = parameters {
        function.push("parameters", parameters);
    }
    function.to_raw()
}

fn tool_config(choice: &ToolChoice) -> RawMap {
    let mode = match choice {
        ToolChoice::Auto => "AUTO",
        ToolChoice::Any | ToolChoice::Tool(_) => "ANY",
        ToolChoice::None => "NONE",
    };
    let mut config = RawMap::from([("mode", Raw::string(mode))]);
    if let ToolChoice::Tool(name) = choice {
        config.push("allowedFunctionNames", Raw::array(&[Raw::string(name)]));
    }
    RawMap::from([("functionCallingConfig", config.to_raw())])
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
    let is_ours = |key: &Raw| theirs.get(&key.as_string().unwrap_or_default()).is_none();
    let ours = ours.iter().filter(|(key, _)| is_ours(key));
    ours.chain(theirs.iter()).collect::<RawMap>().to_raw()
}

fn chained(ours: &Raw, theirs: &Raw) -> Raw {
    match (ours.as_array(), theirs.as_array()) {
        (Some(mut ours), Some(theirs)) => {
            ours.extend(theirs);
            Raw::array(&ours)
        }
        _ => theirs.clone(),
    }
}
