//! Request in, HTTP body out. What the API has no place for is left out: see the crate's
//! Limitations.

use std::borrow::Cow;

use analects_core::{
    Block, Content, Raw, RawMap, Request, Role, Source, ToolChoice, ToolResult, ToolSpec, ToolUse,
    Turn,
};

use super::wire;
use crate::{Auth, HttpRequest};

/// Turns a request into the call of `/chat/completions`.
pub(crate) fn encode(request: &Request) -> HttpRequest {
    let tools: Vec<_> = request.tools.iter().map(tool).collect();
    let choice = request.tool_choice.as_ref().filter(|_| !tools.is_empty());
    let thinks = always_thinks(&request.model);
    let limit = request.max_output_tokens;
    let body = wire::Body {
        model: &request.model,
        messages: messages(request),
        stream: true,
        stream_options: wire::StreamOptions { include_usage: true },
        temperature: request.temperature.filter(|value| value.is_finite() && !thinks),
        max_tokens: limit.filter(|_| !thinks),
        max_completion_tokens: limit.filter(|_| thinks),
        stop: &request.stop_sequences,
        tools,
        tool_choice: choice.map(tool_choice),
    };
    // These shapes have neither maps with odd keys nor types that fail, so writing them succeeds.
    let json = serde_json::to_string(&body).unwrap_or_default();
    let json = with_metadata(json, &request.metadata);
    HttpRequest::stream("/chat/completions", Auth::Bearer, json.into_bytes())
}

/// Whether this is one of OpenAI's models that think before every answer: they refuse a temperature
/// and the older name of the token limit, which most other servers know as the only one.
fn always_thinks(model: &str) -> bool {
    let numbered = |prefix: &str| {
        let rest = model.strip_prefix(prefix)?;
        rest.chars().next().filter(char::is_ascii_digit)
    };
    numbered("o").is_some() || numbered("gpt-").is_some_and(|digit| digit >= '5')
}

/// Adds the provider's own fields. They win over ours, except where the answer could then not be
/// read, or would not be the answer to what was shown.
fn with_metadata(json: String, metadata: &RawMap) -> String {
    let fixed = ["model", "messages", "stream"];
    let body = RawMap::parse(&json).unwrap_or_default();
    if metadata.is_empty() || body.is_empty() {
        return json;
    }
    let name = |key: &Raw| key.as_string().unwrap_or_default();
    let is_fixed = |key: &Raw| fixed.contains(&name(key).as_str());
    let ours = body.iter().filter(|(key, _)| is_fixed(key) || metadata.get(&name(key)).is_none());
    let theirs = metadata.iter().filter(|(key, _)| !is_fixed(key));
    let mut merged = RawMap::new();
    for (key, value) in ours.chain(theirs) {
        merged.push(&name(key), value.clone());
    }
    merged.to_raw().to_string()
}

fn messages(request: &Request) -> Vec<wire::Message<'_>> {
    let mut out = Vec::new();
    if let Some(system) = &request.system {
        out.push(message("system", wire::Content::Text(system.as_str())));
    }
    for turn in &request.turns {
        push_turn(turn, &mut out);
    }
    out
}

fn message<'a>(role: &'static str, content: wire::Content<'a>) -> wire::Message<'a> {
    wire::Message { role, content: Some(content), tool_calls: Vec::new(), tool_call_id: None }
}

/// One turn may become several messages, since results of tools are messages of their own. They
/// have to follow the calls directly, so they come before anything else that the person said.
fn push_turn<'a>(turn: &'a Turn, out: &mut Vec<wire::Message<'a>>) {
    let blocks = match &turn.content {
        Content::Empty => return,
        Content::Text(text) => {
            return out.push(message(turn.role.as_str(), wire::Content::Text(text.as_str())));
        }
        Content::Blocks(blocks) => blocks,
    };
    let results = || blocks.iter().filter_map(as_tool_result);
    let spoken = match turn.role {
        Role::Assistant => assistant(blocks),
        Role::User | Role::System => {
            out.extend(results().map(tool_result));
            // A tool message holds text only, so pictures that a tool gave follow in the turn.
            let pictures = results().flat_map(|result| parts(&result.content));
            let pictures = pictures.filter(|part| matches!(part, wire::Part::ImageUrl { .. }));
            let said = blocks.iter().filter_map(part);
            content(pictures.chain(said).collect()).map(|said| message(turn.role.as_str(), said))
        }
    };
    out.extend(spoken);
    if turn.role == Role::Assistant {
        out.extend(results().map(tool_result));
    }
}

/// What the model said, as one string: many servers take nothing else from it.
fn assistant(blocks: &[Block]) -> Option<wire::Message<'_>> {
    let texts: Vec<_> = blocks.iter().filter_map(text).collect();
    let said = joined(texts.iter().map(Cow::as_ref));
    let calls: Vec<_> = blocks.iter().filter_map(as_tool_use).map(tool_call).collect();
    let content = (!said.is_empty()).then(|| wire::Content::Text(said.into()));
    let says_something = content.is_some() || !calls.is_empty();
    says_something.then_some(wire::Message {
        role: "assistant",
        content,
        tool_calls: calls,
        tool_call_id: None,
    })
}

/// A string where there is text only, since not every server reads parts.
fn content(parts: Vec<wire::Part<'_>>) -> Option<wire::Content<'_>> {
    if parts.is_empty() {
        return None;
    }
    let texts: Option<Vec<_>> = parts.iter().map(as_text).collect();
    match texts {
        Some(texts) => Some(wire::Content::Text(joined(texts.into_iter()).into())),
        None => Some(wire::Content::Parts(parts)),
    }
}

fn as_text<'a>(part: &'a wire::Part<'_>) -> Option<&'a str> {
    match part {
        wire::Part::Text { text } => Some(text),
        wire::Part::ImageUrl { .. } => None,
    }
}

/// Texts that stood in blocks of their own, as one.
fn joined<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n")
}

fn parts(content: &Content) -> Vec<wire::Part<'_>> {
    match content {
        Content::Blocks(blocks) => blocks.iter().filter_map(part).collect(),
        _ => Vec::new(),
    }
}

fn part(block: &Block) -> Option<wire::Part<'_>> {
    match block {
        Block::Image(image) => {
            let url = match Source::of(&image.source)? {
                Source::Base64 { media_type, data } => format!("data:{media_type};base64,{data}"),
                Source::Url(url) => url,
                // Whoever reads files has put its bytes there by now, or said why not.
                Source::File(_) => return None,
            };
            Some(wire::Part::ImageUrl { image_url: wire::ImageUrl { url } })
        }
        _ => text(block).map(|text| wire::Part::Text { text }),
    }
}

fn text(block: &Block) -> Option<Cow<'_, str>> {
    match block {
        Block::Text(block) => Some(block.text.as_str()),
        _ => None,
    }
}

fn as_tool_use(block: &Block) -> Option<&ToolUse> {
    match block {
        Block::ToolUse(call) => Some(call),
        _ => None,
    }
}

fn as_tool_result(block: &Block) -> Option<&ToolResult> {
    match block {
        Block::ToolResult(result) => Some(result),
        _ => None,
    }
}

fn tool_call(call: &ToolUse) -> wire::ToolCall<'_> {
    let function = wire::FunctionCall { name: &call.name, arguments: call.input.as_str() };
    wire::ToolCall { id: &call.id, r#type: "function", function }
}

fn tool_result(result: &ToolResult) -> wire::Message<'_> {
    let text = wire::Content::Text(result.content.text().into());
    wire::Message { tool_call_id: Some(&result.tool_use_id), ..message("tool", text) }
}

fn tool(spec: &ToolSpec) -> wire::Tool<'_> {
    wire::Tool {
        r#type: "function",
        function: wire::Function {
            name: &spec.name,
            description: &spec.description,
            parameters: &spec.input_schema,
        },
    }
}

fn tool_choice(choice: &ToolChoice) -> Raw {
    match choice {
        ToolChoice::Auto => Raw::string("auto"),
        ToolChoice::Any => Raw::string("required"),
        ToolChoice::None => Raw::string("none"),
        ToolChoice::Tool(name) => {
            let mut function = RawMap::new();
            function.push("name", Raw::string(name));
            let mut choice = RawMap::new();
            choice.push("type", Raw::string("function"));
            choice.push("function", function.to_raw());
            choice.to_raw()
        }
    }
}
