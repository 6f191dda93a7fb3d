//! Encodes a request for Chat Completions.

use std::borrow::Cow;

use analects_core::{
    Block, Content, Raw, RawMap, Request, Role, Text, ToolChoice, ToolResult, ToolSpec, ToolUse,
    Turn,
};

use super::attachments::{OpenAiAttachment, attachment};
use super::thinking::reasoning_details;
use super::turns::{fit_turns, temperature};
use super::wire::{
    OpenAiContent, OpenAiFile, OpenAiFunctionCall, OpenAiImageUrl, OpenAiMessage, OpenAiPart,
    OpenAiRequest, OpenAiStreamOptions, OpenAiToolCall,
};
use super::{OpenAiApi, TOOL_NAMES, parameters};
use crate::encoding::{
    EncodeProblems, ToolIdMap, always_thinks, merge_metadata, result_text, settings,
};
use crate::{Auth, HttpRequest, MaxTokensField, Quirks, ReasoningRequest, ThinkingField};

/// OpenAI refuses more stop sequences.
const MAX_STOP_SEQUENCES: usize = 4;

/// The fields that the request's metadata cannot replace.
const FIXED_FIELDS: [&str; 3] = ["model", "messages", "stream"];

/// Encodes a request for `/chat/completions`.
///
/// ```text
/// POST /chat/completions
/// {"model":"gpt","messages":[{"role":"user","content":"Hello"}],"stream":true, …}
/// ```
pub(crate) fn encode(request: &Request, quirks: &Quirks) -> HttpRequest {
    let mut problems = EncodeProblems::default();
    let turns = fit_turns(request, quirks, OpenAiApi::Chat, &mut problems);
    let ids = ToolIdMap::new(&turns, quirks.tool_ids);
    let writer = OpenAiWriter { quirks, ids: &ids };
    let messages = writer.messages(request.system.as_ref(), &turns);
    if messages.is_empty() {
        problems.omit_everything();
    }
    let body = body(request, quirks, messages, &mut problems);
    // These shapes have neither maps with odd keys nor types that fail, so writing them succeeds.
    let json = serde_json::to_string(&body).unwrap_or_default();
    let json = add_reasoning(json, request, quirks, &mut problems);
    let json = merge_metadata(json, &request.metadata, &FIXED_FIELDS, &mut problems);
    HttpRequest::stream("/chat/completions", Auth::Bearer, json.into_bytes())
        .with_problems(problems.into_problems())
}

/// Builds the body around the messages.
fn body<'a>(
    request: &'a Request,
    quirks: &Quirks,
    messages: Vec<OpenAiMessage<'a>>,
    problems: &mut EncodeProblems,
) -> OpenAiRequest<'a> {
    let thinks = always_thinks(&request.model);
    let temperature = temperature(request, quirks, thinks, problems);
    let limit = settings::output_limit(request, 1..=u64::MAX, problems);
    let has_new_name = uses_max_completion_tokens(quirks, thinks);
    let stop = stop_sequences(request, thinks, problems);
    let specs = settings::tools(request, TOOL_NAMES, problems);
    let choice = settings::tool_choice(request, &specs, problems);
    let tools = specs.into_iter().map(|spec| tool(spec, problems));
    OpenAiRequest {
        model: &request.model,
        messages,
        stream: true,
        stream_options: quirks.stream_options.then_some(OpenAiStreamOptions {
            include_usage: true,
        }),
        temperature,
        max_tokens: limit.filter(|_| !has_new_name),
        max_completion_tokens: limit.filter(|_| has_new_name),
        stop,
        tools: tools.collect(),
        tool_choice: choice.map(tool_choice),
    }
}

/// Whether the limit of output tokens goes under its newer name.
fn uses_max_completion_tokens(quirks: &Quirks, thinks: bool) -> bool {
    match quirks.max_tokens {
        MaxTokensField::MaxTokens => false,
        MaxTokensField::MaxCompletionTokens => true,
        MaxTokensField::ByModel => thinks,
    }
}

/// The stop sequences. OpenAI's models that always think refuse them.
fn stop_sequences<'a>(
    request: &'a Request,
    thinks: bool,
    problems: &mut EncodeProblems,
) -> Vec<&'a str> {
    if thinks && !request.stop_sequences.is_empty() {
        problems.omit_setting("a stop sequence", "the model takes none");
        return Vec::new();
    }
    settings::stop_sequences(request, MAX_STOP_SEQUENCES, problems)
}

/// Adds the field that asks the model to think, if the request wants that and the server has such a
/// field.
fn add_reasoning(
    json: String,
    request: &Request,
    quirks: &Quirks,
    problems: &mut EncodeProblems,
) -> String {
    if !request.reasoning || quirks.reasoning == ReasoningRequest::ByItself {
        return json;
    }
    let Some(field) = reasoning_field(quirks.reasoning, &request.model) else {
        problems.omit_setting(
            "the wish to think first",
            "how to ask this provider is not known",
        );
        return json;
    };
    let field = RawMap::parse(field).unwrap_or_default();
    merge_metadata(json, &field, &[], problems)
}

/// The field that asks a model to think, as a JSON object; `None` if it is not known.
fn reasoning_field(reasoning: ReasoningRequest, model: &str) -> Option<&'static str> {
    const EFFORT: &str = r#"{"reasoning_effort":"medium"}"#;
    match reasoning {
        ReasoningRequest::ByItself => None,
        ReasoningRequest::Unknown => always_thinks(model).then_some(EFFORT),
        ReasoningRequest::Effort => Some(EFFORT),
        ReasoningRequest::Object => Some(r#"{"reasoning":{"enabled":true}}"#),
        ReasoningRequest::Thinking => Some(r#"{"thinking":{"type":"enabled"}}"#),
        ReasoningRequest::EnableThinking => Some(r#"{"enable_thinking":true}"#),
        ReasoningRequest::ChatTemplate => {
            Some(r#"{"chat_template_kwargs":{"enable_thinking":true}}"#)
        }
    }
}

/// Writes turns as messages. The turns contain only what the API can express.
struct OpenAiWriter<'a> {
    /// What the server requires.
    quirks: &'a Quirks,
    /// The ids of calls that the server accepts.
    ids: &'a ToolIdMap,
}

impl<'a> OpenAiWriter<'a> {
    /// Writes the instructions, then the turns.
    fn messages(&self, system: Option<&'a Text>, turns: &'a [Turn]) -> Vec<OpenAiMessage<'a>> {
        let mut out = Vec::new();
        if let Some(text) = system
            && !text.is_blank()
        {
            let role = self.quirks.system_role.as_str();
            out.push(OpenAiMessage::new(role, OpenAiContent::Text(text.as_str())));
        }
        for turn in turns {
            self.turn(turn, &mut out);
        }
        out
    }

    /// The role of a message. That of instructions depends on the server.
    fn role(&self, role: Role) -> &'static str {
        match role {
            Role::System => self.quirks.system_role.as_str(),
            Role::User | Role::Assistant => role.as_str(),
        }
    }

    /// Writes a turn, as several messages if it contains tool results.
    fn turn(&self, turn: &'a Turn, out: &mut Vec<OpenAiMessage<'a>>) {
        let role = self.role(turn.role);
        match &turn.content {
            Content::Empty => {}
            Content::Text(text) => {
                out.push(OpenAiMessage::new(role, OpenAiContent::Text(text.as_str())));
            }
            Content::Blocks(blocks) if turn.role == Role::Assistant => {
                out.push(self.answer(blocks));
            }
            Content::Blocks(blocks) => self.question(role, blocks, out),
        }
    }

    /// Writes the tool results of a turn, then its other blocks. A tool message contains only text,
    /// so images in results move to the message behind it.
    fn question(&self, role: &'static str, blocks: &'a [Block], out: &mut Vec<OpenAiMessage<'a>>) {
        let mut parts = Vec::new();
        for result in blocks.iter().filter_map(Block::as_tool_result) {
            out.push(self.result(result));
            if let Content::Blocks(inner) = &result.content {
                let others = inner.iter().filter(|block| !is_text(block));
                parts.extend(others.filter_map(|block| self.part(block)));
            }
        }
        parts.extend(blocks.iter().filter_map(|block| self.part(block)));
        if !parts.is_empty() {
            out.push(OpenAiMessage::new(role, content(parts)));
        }
    }

    /// Writes a turn of the model. Its text is one string, because many servers accept nothing
    /// else.
    fn answer(&self, blocks: &'a [Block]) -> OpenAiMessage<'a> {
        let mut texts = Vec::new();
        let mut thinking = Vec::new();
        let mut details = Vec::new();
        let mut tool_calls = Vec::new();
        for block in blocks {
            match block {
                Block::Text(block) => texts.push(block.text.as_str()),
                Block::ToolUse(call) => tool_calls.push(self.call(call)),
                Block::Thinking(block) if self.sends_details() => {
                    details.extend(reasoning_details(block).unwrap_or_default());
                }
                Block::Thinking(block) => thinking.push(block.thinking.as_str()),
                Block::Image(_)
                | Block::ToolResult(_)
                | Block::RedactedThinking(_)
                | Block::Document(_)
                | Block::Other(_) => {}
            }
        }
        let text = join_texts(&texts).map(Cow::Owned);
        OpenAiMessage {
            role: Role::Assistant.as_str(),
            content: text.map(OpenAiContent::Text),
            tool_calls,
            reasoning_content: join_texts(&thinking),
            reasoning_details: (!details.is_empty()).then(|| Raw::array(&details)),
            tool_call_id: None,
        }
    }

    /// Whether thinking goes back as `reasoning_details`, not as text.
    fn sends_details(&self) -> bool {
        self.quirks.thinking == ThinkingField::ReasoningDetails
    }

    /// Writes a call. Its id is the one that the server accepts.
    fn call(&self, call: &'a ToolUse) -> OpenAiToolCall<'a> {
        OpenAiToolCall {
            id: self.ids.get(&call.id),
            r#type: "function",
            function: OpenAiFunctionCall {
                name: &call.name,
                arguments: call.input.as_str(),
            },
        }
    }

    /// Writes a tool result. Only its text fits into a tool message.
    fn result(&self, result: &'a ToolResult) -> OpenAiMessage<'a> {
        let text = result_text(result.content.text(), result.is_error);
        OpenAiMessage {
            tool_call_id: Some(self.ids.get(&result.tool_use_id)),
            ..OpenAiMessage::new("tool", OpenAiContent::Text(text.into()))
        }
    }

    /// Writes a block of a message; `None` for tool results, which are messages of their own.
    fn part(&self, block: &'a Block) -> Option<OpenAiPart<'a>> {
        if let Block::Text(block) = block {
            let text = block.text.as_str();
            return Some(OpenAiPart::Text { text });
        }
        match attachment(block, OpenAiApi::Chat, self.quirks.files).ok()? {
            OpenAiAttachment::Text(text) => Some(OpenAiPart::Text { text: text.into() }),
            OpenAiAttachment::Image(url) => Some(OpenAiPart::ImageUrl {
                image_url: OpenAiImageUrl { url },
            }),
            OpenAiAttachment::File { name, data } => Some(OpenAiPart::File {
                file: OpenAiFile {
                    filename: name,
                    file_data: data,
                },
            }),
            OpenAiAttachment::FileUrl(_) => None,
        }
    }
}

fn is_text(block: &Block) -> bool {
    matches!(block, Block::Text(_))
}

/// Parts that are text only become one string, since not every server reads parts.
fn content(parts: Vec<OpenAiPart<'_>>) -> OpenAiContent<'_> {
    let mut texts = Vec::new();
    for part in &parts {
        let OpenAiPart::Text { text } = part else {
            return OpenAiContent::Parts(parts);
        };
        texts.push(Cow::Borrowed(&**text));
    }
    OpenAiContent::Text(join_texts(&texts).unwrap_or_default().into())
}

/// Joins the texts of several blocks with blank lines; `None` if all are empty.
fn join_texts(texts: &[Cow<'_, str>]) -> Option<String> {
    let mut joined = String::new();
    for text in texts.iter().filter(|text| !text.is_empty()) {
        if !joined.is_empty() {
            joined.push_str("\n\n");
        }
        joined.push_str(text);
    }
    (!joined.is_empty()).then_some(joined)
}

/// Writes the definition of a tool.
fn tool(spec: &ToolSpec, problems: &mut EncodeProblems) -> RawMap {
    let function = RawMap::from([
        ("name", Raw::string(&spec.name)),
        ("description", Raw::string(&spec.description)),
        ("parameters", parameters(spec, problems)),
    ]);
    function_object(function)
}

/// The tool choice in the words of the API.
fn tool_choice(choice: &ToolChoice) -> Raw {
    match choice {
        ToolChoice::Auto => Raw::string("auto"),
        ToolChoice::Any => Raw::string("required"),
        ToolChoice::None => Raw::string("none"),
        ToolChoice::Tool(name) => {
            let name = RawMap::from([("name", Raw::string(name))]);
            function_object(name).to_raw()
        }
    }
}

/// Wraps a function as the API does: `{"type":"function","function":{…}}`.
fn function_object(function: RawMap) -> RawMap {
    RawMap::from([
        ("type", Raw::string("function")),
        ("function", function.to_raw()),
    ])
}

#[cfg(test)]
mod tests;
