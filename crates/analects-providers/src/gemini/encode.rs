//! Encodes a request for Gemini. What the API cannot express is omitted and reported.

mod contents;
mod parts;
mod turns;

use analects_core::{Problem, Raw, RawMap, Request, Text, ToolChoice, ToolSpec};

use self::contents::contents;
use super::schema;
use super::wire::{GeminiContent, GeminiRequest, GenerationConfig};
use crate::encoding::{EncodeProblems, ToolNameRule, settings};
use crate::models::percent_encode;
use crate::{Auth, HttpRequest};

/// Gemini refuses more stop sequences.
const MAX_STOP_SEQUENCES: usize = 5;

/// The largest limit of output tokens: Gemini reads it as a number of 32 bits.
const MAX_OUTPUT_LIMIT: u64 = i32::MAX as u64;

/// The budget for thinking that means that the model itself determines it.
const DYNAMIC_THINKING_BUDGET: i64 = -1;

/// The method that streams an answer, with the parameter that asks for server-sent events.
const STREAM_METHOD: &str = "streamGenerateContent?alt=sse";

/// Encodes a request for `streamGenerateContent`.
///
/// The address contains the model and the method; the body has the conversation as `contents`:
///
/// ```text
/// POST /models/gemini-2.5-pro:streamGenerateContent?alt=sse
/// {"contents":[{"role":"user","parts":[{"text":"Hello"}]}]}
/// ```
pub(crate) fn encode(request: &Request) -> HttpRequest {
    let (body, problems) = body(request);
    let path = method_path(&request.model, STREAM_METHOD);
    let body = body.to_raw().to_string().into_bytes();
    HttpRequest::stream(&path, Auth::GoogleKey, body).with_problems(problems)
}

/// Changes the path of a request for a stream to one for an answer in one piece. The decoder reads
/// both.
pub(crate) fn path_without_streaming(path: &str) -> String {
    path.replace(&format!(":{STREAM_METHOD}"), ":generateContent")
}

/// Encodes a request for `countTokens`, which counts instructions and tools as well.
pub(crate) fn encode_count(request: &Request) -> HttpRequest {
    let (body, problems) = body(request);
    let model = Raw::string(&resource_name(&request.model));
    let mut counted = RawMap::from([("model", model)]);
    counted.extend(body.iter());
    let body = RawMap::from([("generateContentRequest", counted.to_raw())]);
    let body = body.to_raw().to_string().into_bytes();
    let path = method_path(&request.model, "countTokens");
    HttpRequest::json(&path, Auth::GoogleKey, body).with_problems(problems)
}

/// The name of a model with its collection, such as `models/gemini-2.5-pro`.
fn resource_name(model: &str) -> String {
    match model.split_once('/') {
        Some(("models" | "tunedModels", _)) => model.to_string(),
        _ => format!("models/{model}"),
    }
}

/// The path of a method of a model.
fn method_path(model: &str, method: &str) -> String {
    let resource = resource_name(model);
    let (collection, name) = resource.split_once('/').unwrap_or(("models", &resource));
    format!("/{collection}/{}:{method}", percent_encode(name))
}

/// Builds the body, with the request's metadata, and the report.
fn body(request: &Request) -> (RawMap, Vec<Problem>) {
    let mut problems = EncodeProblems::default();
    let contents = contents(request, &mut problems);
    let specs = settings::tools(request, ToolNameRule::Gemini, &mut problems);
    let choice = settings::tool_choice(request, &specs, &mut problems);
    let body = GeminiRequest {
        contents,
        system_instruction: system_instruction(request.system.as_ref()),
        tools: tools(&specs, &mut problems),
        tool_config: choice.map(tool_config),
        generation_config: generation_config(request, &mut problems),
    };
    // These shapes have neither maps with odd keys nor types that fail, so writing them succeeds.
    let json = serde_json::to_string(&body).unwrap_or_default();
    let body = RawMap::parse(&json).unwrap_or_default();
    let body = merge_metadata(&body, &request.metadata);
    (body, problems.into_problems())
}

/// The instructions of a request; `None` for blank ones.
fn system_instruction(system: Option<&Text>) -> Option<GeminiContent> {
    let text = system.filter(|text| !text.is_blank())?;
    let part = RawMap::from([("text", Raw::string(&text.as_str()))]);
    Some(GeminiContent {
        role: None,
        parts: vec![part],
    })
}

/// The settings that Gemini collects in one object.
fn generation_config<'a>(
    request: &'a Request,
    problems: &mut EncodeProblems,
) -> GenerationConfig<'a> {
    GenerationConfig {
        temperature: settings::temperature(request, 0.0..=2.0, problems),
        max_output_tokens: settings::output_limit(request, 1..=MAX_OUTPUT_LIMIT, problems),
        stop_sequences: settings::stop_sequences(request, MAX_STOP_SEQUENCES, problems),
        thinking_config: thinking_config(request, problems),
    }
}

/// The field that asks the model to think; `None` if it cannot, or is not asked to.
fn thinking_config(request: &Request, problems: &mut EncodeProblems) -> Option<RawMap> {
    if !request.reasoning {
        return None;
    }
    let generation = model_generation(&request.model);
    if generation.is_some_and(|generation| generation < (2, 5)) {
        problems.omit_setting("the wish for thinking", "the model does not think");
        return None;
    }
    let mut config = RawMap::from([("includeThoughts", true.into())]);
    if generation == Some((2, 5)) {
        // Not every model of this generation has this default.
        config.push("thinkingBudget", DYNAMIC_THINKING_BUDGET.into());
    }
    Some(config)
}

/// The generation in a model's name, such as 2.5; `None` for names without one.
fn model_generation(model: &str) -> Option<(u32, u32)> {
    let name = model.strip_prefix("models/").unwrap_or(model);
    let number = name.strip_prefix("gemini-")?.split('-').next()?;
    let (major, minor) = number.split_once('.').unwrap_or((number, "0"));
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// The functions of all tools, as one tool of the API.
fn tools(specs: &[&ToolSpec], problems: &mut EncodeProblems) -> Vec<RawMap> {
    if specs.is_empty() {
        return Vec::new();
    }
    let functions: Vec<Raw> = specs.iter().map(|spec| function(spec, problems)).collect();
    let functions = Raw::array(&functions);
    vec![RawMap::from([("functionDeclarations", functions)])]
}

/// Writes the definition of a tool, and reports what its schema loses.
fn function(spec: &ToolSpec, problems: &mut EncodeProblems) -> Raw {
    let schema = schema::rewrite(&spec.input_schema);
    if !schema.removed.is_empty() {
        let removed = Vec::from_iter(schema.removed).join(", ");
        problems.omit_detail(format!(
            "the schema of the tool {} goes without {removed}",
            spec.name
        ));
    }
    let mut function = RawMap::from([
        ("name", Raw::string(&spec.name)),
        ("description", Raw::string(&spec.description)),
    ]);
    if let Some(parameters) = schema.parameters {
        function.push("parameters", parameters);
    }
    function.to_raw()
}

/// The tool choice in the words of the API. To force one tool, it is the only allowed one.
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

/// Adds the request's metadata. Its fields replace ours, except for the conversation; settings are
/// merged one by one, and tools are added to ours.
fn merge_metadata(body: &RawMap, metadata: &RawMap) -> RawMap {
    let mut merged = RawMap::new();
    for (key, ours) in body.iter() {
        let name = key.as_string().unwrap_or_default();
        let value = merge_field(&name, ours, metadata.get(&name));
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

/// The value of a field that the body has, and maybe the metadata as well.
fn merge_field(name: &str, ours: &Raw, theirs: Option<&Raw>) -> Raw {
    match (name, theirs) {
        ("contents", _) | (_, None) => ours.clone(),
        ("generationConfig", Some(theirs)) => merge_objects(ours, theirs),
        ("tools", Some(theirs)) => join_lists(ours, theirs),
        (_, Some(theirs)) => theirs.clone(),
    }
}

/// Our fields that the metadata does not replace, and all of its own.
fn merge_objects(ours: &Raw, theirs: &Raw) -> Raw {
    let (Some(ours), Some(theirs)) = (ours.as_object(), theirs.as_object()) else {
        return theirs.clone();
    };
    let mut merged = RawMap::new();
    for (key, value) in ours.iter() {
        if theirs.get(&key.as_string().unwrap_or_default()).is_none() {
            merged.push_raw(key.clone(), value.clone());
        }
    }
    merged.extend(theirs.iter());
    merged.to_raw()
}

/// Our elements, then those of the metadata. If one of the two is no list, the metadata wins.
fn join_lists(ours: &Raw, theirs: &Raw) -> Raw {
    let (Some(mut list), Some(added)) = (ours.as_array(), theirs.as_array()) else {
        return theirs.clone();
    };
    list.extend(added);
    Raw::array(&list)
}
