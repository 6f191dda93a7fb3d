//! Request in, HTTP body out. What the API has no place for is left out, and the request says so.

use std::borrow::Cow;

use analects_core::{
    Block, Content, Document, Image, Raw, RawMap, Request, Role, Source, Thinking, ToolChoice,
    ToolResult, ToolSpec, ToolUse, Turn,
};

use super::wire;
use crate::outgoing::{
    CallIds, LeftOut, always_thinks, data_url, file_name, plain_document, result_text, same_maker,
    with_metadata,
};
use crate::{
    Auth, HttpRequest, MaxTokens, Quirks, ReasoningRequest, SystemRole, Temperature, Thoughts,
};

/// Turns a request into the call of `/chat/completions`.
pub(crate) fn encode(request: &Request, quirks: &Quirks) -> HttpRequest {
    let ids = CallIds::new(request, quirks.tool_ids);
    let mut outgoing = Outgoing { request, quirks, ids: &ids, left_out: LeftOut::default() };
    let messages = outgoing.messages();
    let body = body(request, quirks, messages, &mut outgoing.left_out);
    // These shapes have neither maps with odd keys nor types that fail, so writing them succeeds.
    let json = serde_json::to_string(&body).unwrap_or_default();
    let json = with_reasoning(json, request, quirks, &mut outgoing.left_out);
    let fixed = ["model", "messages", "stream"];
    let json = with_metadata(json, &request.metadata, &fixed, &mut outgoing.left_out);
    HttpRequest::stream("/chat/completions", Auth::Bearer, json.into_bytes())
        .leaving_out(outgoing.left_out.into_problems())
}

fn body<'a>(
    request: &'a Request,
    quirks: &Quirks,
    messages: Vec<wire::Message<'a>>,
    left_out: &mut LeftOut,
) -> wire::Body<'a> {
    let thinks = always_thinks(&request.model);
    let tools: Vec<_> = request.tools.iter().map(tool).collect();
    let choice = request.tool_choice.as_ref().filter(|_| !tools.is_empty());
    let new_name = match quirks.max_tokens {
        MaxTokens::MaxTokens => false,
        MaxTokens::MaxCompletionTokens => true,
        MaxTokens::ByModel => thinks,
    };
    let may_warm = match quirks.temperature {
        Temperature::Sent => true,
        Temperature::Refused => false,
        Temperature::ByModel => !thinks,
    };
    if request.temperature.is_some() && !may_warm {
        left_out.setting("the temperature", "the model takes none");
    }
    let options = wire::StreamOptions { include_usage: true };
    wire::Body {
        model: &request.model,
        messages,
        stream: true,
        stream_options: quirks.stream_options.then_some(options),
        temperature: request.temperature.filter(|value| value.is_finite() && may_warm),
        max_tokens: request.max_output_tokens.filter(|_| !new_name),
        max_completion_tokens: request.max_output_tokens.filter(|_| new_name),
        stop: &request.stop_sequences,
        tools,
        tool_choice: choice.map(tool_choice),
    }
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
            left_out.setting("the wish to think first", "how to ask this provider is not known");
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

/// What becomes of the turns.
struct Outgoing<'a> {
    request: &'a Request,
    quirks: &'a Quirks,
    ids: &'a CallIds,
    left_out: LeftOut,
}

impl<'a> Outgoing<'a> {
    fn messages(&mut self) -> Vec<wire::Message<'a>> {
        let mut out = Vec::new();
        if let Some(system) = &self.request.system {
            let role = self.quirks.system_role.as_str();
            out.push(message(role, wire::Content::Text(system.as_str())));
        }
        for (number, turn) in self.request.turns.iter().enumerate() {
            self.turn(number, turn, &mut out);
        }
        out
    }

    fn role(&self, role: Role) -> &'static str {
        match (role, self.quirks.system_role) {
            (Role::System, SystemRole::System) | (Role::User | Role::Assistant, _) => role.as_str(),
            (Role::System, other) => other.as_str(),
        }
    }

    /// One turn may become several messages, since results of tools are messages of their own. They
    /// have to follow the calls directly, so they come before anything else that the person said.
    fn turn(&mut self, number: usize, turn: &'a Turn, out: &mut Vec<wire::Message<'a>>) {
        let role = self.role(turn.role);
        let blocks = match &turn.content {
            Content::Empty => return,
            Content::Text(text) => {
                return out.push(message(role, wire::Content::Text(text.as_str())));
            }
            Content::Blocks(blocks) => blocks,
        };
        let results = || blocks.iter().filter_map(as_tool_result);
        if turn.role == Role::Assistant {
            out.extend(self.answer(number, turn, blocks));
            out.extend(results().map(|result| self.result(result)));
            return;
        }
        out.extend(results().map(|result| self.result(result)));
        // A tool message holds text only, so pictures that a tool gave follow in the turn.
        let mut parts = Vec::new();
        for result in results() {
            parts.extend(self.pictures(number, result));
        }
        for block in blocks {
            parts.extend(self.part(number, block));
        }
        out.extend(content(parts).map(|said| message(role, said)));
    }

    /// What the model said, as one string: many servers take nothing else from it.
    fn answer(
        &mut self,
        number: usize,
        turn: &'a Turn,
        blocks: &'a [Block],
    ) -> Option<wire::Message<'a>> {
        let mut texts = Vec::new();
        let mut calls = Vec::new();
        let mut thoughts = Vec::new();
        for block in blocks {
            match block {
                Block::Text(block) => texts.push(block.text.as_str()),
                Block::ToolUse(call) => calls.push(self.call(call)),
                Block::Thinking(thought) => thoughts.push(thought),
                Block::ToolResult(_) => {}
                Block::RedactedThinking(_) => {
                    self.left_out.thought(number, "it is of another provider");
                }
                Block::Image(_) | Block::Document(_) | Block::Other(_) => {
                    let what = "a block of the model's answer";
                    self.left_out.content(number, what, "the API has no place for it");
                }
            }
        }
        let said = joined(texts.iter().map(Cow::as_ref));
        let content = (!said.is_empty()).then(|| wire::Content::Text(said.into()));
        if content.is_none() && calls.is_empty() {
            for _ in thoughts {
                self.left_out.thought(number, "nothing was said after it");
            }
            return None;
        }
        let own = same_maker(turn.model.as_deref(), &self.request.model);
        let (reasoning_content, reasoning_details) = self.thoughts(number, own, &thoughts);
        Some(wire::Message {
            content,
            tool_calls: calls,
            reasoning_content,
            reasoning_details,
            ..message("assistant", wire::Content::Text("".into()))
        })
    }

    /// Thoughts as the server wants to see them again, if it does.
    fn thoughts(
        &mut self,
        number: usize,
        own: bool,
        thoughts: &[&'a Thinking],
    ) -> (Option<String>, Option<Raw>) {
        if thoughts.is_empty() {
            return (None, None);
        }
        match self.quirks.thoughts {
            Thoughts::ReasoningContent if own => {
                let texts: Vec<_> = thoughts.iter().map(|it| it.thinking.as_str()).collect();
                let text = joined(texts.iter().map(Cow::as_ref));
                return (Some(text).filter(|text| !text.is_empty()), None);
            }
            Thoughts::ReasoningDetails if own => {
                let details = thoughts.iter().find_map(|it| it.extra.get("reasoning_details"));
                if let Some(details) = details {
                    return (None, Some(details.clone()));
                }
            }
            _ => {}
        }
        let why = if own { "the API has no place for it" } else { "it is of another model" };
        for _ in thoughts {
            self.left_out.thought(number, why);
        }
        (None, None)
    }

    fn call(&self, call: &'a ToolUse) -> wire::ToolCall<'a> {
        let function = wire::FunctionCall { name: &call.name, arguments: call.input.as_str() };
        wire::ToolCall { id: self.ids.of(&call.id), r#type: "function", function }
    }

    fn result(&self, result: &'a ToolResult) -> wire::Message<'a> {
        let text = result_text(result.content.text(), result.is_error);
        let id = self.ids.of(&result.tool_use_id);
        wire::Message {
            tool_call_id: Some(id),
            ..message("tool", wire::Content::Text(text.into()))
        }
    }

    /// What a tool gave that is not text.
    fn pictures(&mut self, number: usize, result: &'a ToolResult) -> Vec<wire::Part<'a>> {
        let Content::Blocks(blocks) = &result.content else {
            return Vec::new();
        };
        let others = blocks.iter().filter(|block| !matches!(block, Block::Text(_)));
        others.filter_map(|block| self.part(number, block)).collect()
    }

    fn part(&mut self, number: usize, block: &'a Block) -> Option<wire::Part<'a>> {
        match block {
            Block::Text(block) => Some(wire::Part::Text { text: block.text.as_str() }),
            Block::Image(image) => self.image(number, image),
            Block::Document(document) => self.document(number, document),
            Block::ToolResult(_) => None,
            Block::Thinking(_) | Block::RedactedThinking(_) => {
                self.left_out.thought(number, "it is not the model's");
                None
            }
            Block::ToolUse(_) => {
                self.left_out.content(number, "a tool call", "it is not the model's");
                None
            }
            Block::Other(_) => {
                self.left_out.content(number, "a block", "its type is unknown");
                None
            }
        }
    }

    fn image(&mut self, number: usize, image: &Image) -> Option<wire::Part<'a>> {
        let url = match Source::of(&image.source) {
            Some(Source::Base64 { media_type, data }) => data_url(&media_type, &data),
            Some(Source::Url(url)) => url,
            // Whoever reads files has put its bytes there by now, or said why not.
            _ => {
                self.left_out.content(number, "an image", "its bytes are not at hand");
                return None;
            }
        };
        Some(wire::Part::ImageUrl { image_url: wire::ImageUrl { url } })
    }

    fn document(&mut self, number: usize, document: &Document) -> Option<wire::Part<'a>> {
        if let Some(text) = plain_document(&document.source) {
            return Some(wire::Part::Text { text: text.into() });
        }
        let why = match Source::of(&document.source) {
            _ if !self.quirks.files => "this provider takes none",
            Some(Source::Base64 { media_type, data }) if media_type == "application/pdf" => {
                let filename = file_name(&document.extra, &media_type);
                let file_data = data_url(&media_type, &data);
                return Some(wire::Part::File { file: wire::File { filename, file_data } });
            }
            Some(Source::Base64 { .. }) => "the API takes PDF files only",
            Some(Source::Url(_)) => "the API takes no addresses of documents",
            _ => "its bytes are not at hand",
        };
        self.left_out.content(number, "a document", why);
        None
    }
}

fn message<'a>(role: &'static str, content: wire::Content<'a>) -> wire::Message<'a> {
    wire::Message { role, content: Some(content), ..wire::Message::default() }
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
        wire::Part::ImageUrl { .. } | wire::Part::File { .. } => None,
    }
}

/// Texts that stood in blocks of their own, as one.
fn joined<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n")
}

fn as_tool_result(block: &Block) -> Option<&ToolResult> {
    match block {
        Block::ToolResult(result) => Some(result),
        _ => None,
    }
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

#[cfg(test)]
mod tests;
