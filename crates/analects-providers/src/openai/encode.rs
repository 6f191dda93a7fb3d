//! Request in, HTTP body out. What the API has no place for is left out, and the request says so.

use std::borrow::Cow;

use analects_core::{
    Block, Content, Raw, RawMap, Request, Role, Text, ToolChoice, ToolResult, ToolSpec, ToolUse,
    Turn,
};

use super::fit::{self, Kind, Media, NAMES};
use super::wire;
use crate::outgoing::{CallIds, LeftOut, always_thinks, result_text, settings, with_metadata};
use crate::{Auth, HttpRequest, MaxTokens, Quirks, ReasoningRequest, Thoughts};

/// More than these are an error to OpenAI.
const MOST_STOPS: usize = 4;

/// Turns a request into the call of `/chat/completions`.
pub(crate) fn encode(request: &Request, quirks: &Quirks) -> HttpRequest {
    let mut left_out = LeftOut::default();
    let turns = fit::turns(request, quirks, Kind::Chat, &mut left_out);
    let ids = CallIds::new(&turns, quirks.tool_ids);
    let writer = Writer { quirks, ids: &ids };
    let messages = writer.messages(request.system.as_ref(), &turns);
    if messages.is_empty() {
        left_out.everything();
    }
    let body = body(request, quirks, messages, &mut left_out);
    // These shapes have neither maps with odd keys nor types that fail, so writing them succeeds.
    let json = serde_json::to_string(&body).unwrap_or_default();
    let json = with_reasoning(json, request, quirks, &mut left_out);
    let fixed = ["model", "messages", "stream"];
    let json = with_metadata(json, &request.metadata, &fixed, &mut left_out);
    HttpRequest::stream("/chat/completions", Auth::Bearer, json.into_bytes())
        .leaving_out(left_out.into_problems())
}

fn body<'a>(
    request: &'a Request,
    quirks: &Quirks,
    messages: Vec<wire::Message<'a>>,
    left_out: &mut LeftOut,
) -> wire::Body<'a> {
    let thinks = always_thinks(&request.model);
    let new_name = match quirks.max_tokens {
        MaxTokens::MaxTokens => false,
        MaxTokens::MaxCompletionTokens => true,
        MaxTokens::ByModel => thinks,
    };
    let temperature = fit::temperature(request, quirks, thinks, left_out);
    let limit = settings::limit(request, 1..=u64::MAX, left_out);
    let stop = stop_sequences(request, thinks, left_out);
    let specs = settings::tools(request, NAMES, left_out);
    let choice = settings::tool_choice(request, &specs, left_out);
    let options = wire::StreamOptions {
        include_usage: true,
    };
    wire::Body {
        model: &request.model,
        messages,
        stream: true,
        stream_options: quirks.stream_options.then_some(options),
        temperature,
        max_tokens: limit.filter(|_| !new_name),
        max_completion_tokens: limit.filter(|_| new_name),
        stop,
        tools: specs.into_iter().map(|spec| tool(spec, left_out)).collect(),
        tool_choice: choice.map(tool_choice),
    }
}

/// OpenAI's models that always think refuse to be stopped.
fn stop_sequences<'a>(request: &'a Request, thinks: bool, left_out: &mut LeftOut) -> Vec<&'a str> {
    if thinks && !request.stop_sequences.is_empty() {
        left_out.setting("a stop sequence", "the model takes none");
        return Vec::new();
    }
    settings::stop_sequences(request, MOST_STOPS, left_out)
}

/// Asks the model to think first, in the words of its server.
fn with_reasoning(
    json: String,
    request: &Request,
    quirks: &Quirks,
    left_out: &mut LeftOut,
) -> String {
    if !request.reasoning {
        return json;
    }
    let field = match quirks.reasoning {
        ReasoningRequest::ByItself => return json,
        ReasoningRequest::Unknown if !always_thinks(&request.model) => {
            left_out.setting(
                "the wish to think first",
                "how to ask this provider is not known",
            );
            return json;
        }
        ReasoningRequest::Effort | ReasoningRequest::Unknown => r#"{"reasoning_effort":"medium"}"#,
        ReasoningRequest::Object => r#"{"reasoning":{"enabled":true}}"#,
        ReasoningRequest::Thinking => r#"{"thinking":{"type":"enabled"}}"#,
        ReasoningRequest::EnableThinking => r#"{"enable_thinking":true}"#,
        ReasoningRequest::ChatTemplate => r#"{"chat_template_kwargs":{"enable_thinking":true}}"#,
    };
    let field = RawMap::parse(field).unwrap_or_default();
    with_metadata(json, &field, &[], left_out)
}

/// Writes turns in which there is nothing that the API has no place for.
struct Writer<'a> {
    quirks: &'a Quirks,
    ids: &'a CallIds,
}

impl<'a> Writer<'a> {
    fn messages(&self, system: Option<&'a Text>, turns: &'a [Turn]) -> Vec<wire::Message<'a>> {
        let mut out = Vec::new();
        if let Some(text) = system
            .map(Text::as_str)
            .filter(|text| !text.trim().is_empty())
        {
            out.push(message(
                self.quirks.system_role.as_str(),
                wire::Content::Text(text),
            ));
        }
        for turn in turns {
            self.turn(turn, &mut out);
        }
        out
    }

    fn role(&self, role: Role) -> &'static str {
        match role {
            Role::System => self.quirks.system_role.as_str(),
            Role::User | Role::Assistant => role.as_str(),
        }
    }

    /// One turn may become several messages, since results of tools are messages of their own.
    fn turn(&self, turn: &'a Turn, out: &mut Vec<wire::Message<'a>>) {
        let role = self.role(turn.role);
        let blocks = match &turn.content {
            Content::Empty => return,
            Content::Text(text) => {
                return out.push(message(role, wire::Content::Text(text.as_str())));
            }
            Content::Blocks(blocks) => blocks,
        };
        if turn.role == Role::Assistant {
            return out.push(self.answer(blocks));
        }
        // A tool message holds text only, so pictures that a tool gave follow in the turn.
        let mut parts = Vec::new();
        for result in blocks.iter().filter_map(Block::as_tool_result) {
            out.push(self.result(result));
            if let Content::Blocks(inner) = &result.content {
                let others = inner
                    .iter()
                    .filter(|block| !matches!(block, Block::Text(_)));
                parts.extend(others.filter_map(|block| self.part(block)));
            }
        }
        parts.extend(blocks.iter().filter_map(|block| self.part(block)));
        out.extend(content(parts).map(|said| message(role, said)));
    }

    /// What the model said, as one string: many servers take nothing else from it.
    fn answer(&self, blocks: &'a [Block]) -> wire::Message<'a> {
        let mut texts = Vec::new();
        let mut thoughts = Vec::new();
        let mut details = Vec::new();
        let mut tool_calls = Vec::new();
        for block in blocks {
            match block {
                Block::Text(block) => texts.push(block.text.as_str()),
                Block::ToolUse(call) => tool_calls.push(self.call(call)),
                Block::Thinking(thought) => match self.quirks.thoughts {
                    Thoughts::ReasoningDetails => {
                        details.extend(fit::details(thought).unwrap_or_default());
                    }
                    _ => thoughts.push(thought.thinking.as_str()),
                },
                Block::Image(_)
                | Block::ToolResult(_)
                | Block::RedactedThinking(_)
                | Block::Document(_)
                | Block::Other(_) => {}
            }
        }
        let said = joined(texts.iter().map(Cow::as_ref));
        let thought = joined(thoughts.iter().map(Cow::as_ref));
        wire::Message {
            role: Role::Assistant.as_str(),
            content: (!said.is_empty()).then(|| wire::Content::Text(said.into())),
            tool_calls,
            reasoning_content: Some(thought).filter(|text| !text.is_empty()),
            reasoning_details: (!details.is_empty()).then(|| Raw::array(&details)),
            tool_call_id: None,
        }
    }

    fn call(&self, call: &'a ToolUse) -> wire::ToolCall<'a> {
        let function = wire::FunctionCall {
            name: &call.name,
            arguments: call.input.as_str(),
        };
        wire::ToolCall {
            id: self.ids.of(&call.id),
            r#type: "function",
            function,
        }
    }

    fn result(&self, result: &'a ToolResult) -> wire::Message<'a> {
        let text = result_text(result.content.text(), result.is_error);
        let id = self.ids.of(&result.tool_use_id);
        wire::Message {
            tool_call_id: Some(id),
            ..message("tool", wire::Content::Text(text.into()))
        }
    }

    fn part(&self, block: &'a Block) -> Option<wire::Part<'a>> {
        if let Block::Text(block) = block {
            return Some(wire::Part::Text {
                text: block.text.as_str(),
            });
        }
        match fit::media(block, Kind::Chat, self.quirks.files).ok()? {
            Media::Text(text) => Some(wire::Part::Text { text: text.into() }),
            Media::Image(url) => Some(wire::Part::ImageUrl {
                image_url: wire::ImageUrl { url },
            }),
            Media::File {
                name: filename,
                data: file_data,
            } => Some(wire::Part::File {
                file: wire::File {
                    filename,
                    file_data,
                },
            }),
            Media::FileUrl(_) => None,
        }
    }
}

fn message<'a>(role: &'static str, content: wire::Content<'a>) -> wire::Message<'a> {
    wire::Message {
        role,
        content: Some(content),
        ..wire::Message::default()
    }
}

/// A string where there is text only, since not every server reads parts.
fn content(parts: Vec<wire::Part<'_>>) -> Option<wire::Content<'_>> {
    if parts.is_empty() {
        return None;
    }
    let texts: Option<Vec<&str>> = parts
        .iter()
        .map(|part| {
            if let wire::Part::Text { text } = part {
                Some(&**text)
            } else {
                None
            }
        })
        .collect();
    match texts {
        Some(texts) => Some(wire::Content::Text(joined(texts.into_iter()).into())),
        None => Some(wire::Content::Parts(parts)),
    }
}

/// Texts that stood in blocks of their own, as one.
fn joined<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    texts
        .filter(|text| !text.is_empty())
        .collect::<Vec<_>>()
        .join("\n\n")
}

fn tool(spec: &ToolSpec, left_out: &mut LeftOut) -> RawMap {
    let function = RawMap::from([
        ("name", Raw::string(&spec.name)),
        ("description", Raw::string(&spec.description)),
        ("parameters", fit::parameters(spec, left_out)),
    ]);
    RawMap::from([
        ("type", Raw::string("function")),
        ("function", function.to_raw()),
    ])
}

fn tool_choice(choice: &ToolChoice) -> Raw {
    match choice {
        ToolChoice::Auto => Raw::string("auto"),
        ToolChoice::Any => Raw::string("required"),
        ToolChoice::None => Raw::string("none"),
        ToolChoice::Tool(name) => {
            let function = RawMap::from([("name", Raw::string(name))]).to_raw();
            RawMap::from([("type", Raw::string("function")), ("function", function)]).to_raw()
        }
    }
}

#[cfg(test)]
mod tests;
