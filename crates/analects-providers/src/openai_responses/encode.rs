//! Encodes a request for the Responses API. Thinking goes back as the items that it came as,
//! directly before what it led to. Of other items only the content goes back, because the server
//! stores nothing under their ids.

use analects_core::{
    Block, Content, Raw, RawMap, Request, Role, Text, TextBlock, ToolChoice, ToolResult, ToolSpec,
    ToolUse, Turn,
};

use super::wire::{
    ResponsesContent, ResponsesItem, ResponsesPart, ResponsesReasoning, ResponsesRequest,
};
use crate::decoding::object_member;
use crate::encoding::{
    EncodeProblems, ToolIdMap, always_thinks, merge_metadata, result_text, settings,
};
use crate::openai::attachments::{OpenAiAttachment, attachment};
use crate::openai::thinking::reasoning_item;
use crate::openai::turns::{fit_turns, temperature};
use crate::openai::{OpenAiApi, TOOL_NAMES, parameters};
use crate::{Auth, HttpRequest, Quirks};

/// The fields that the request's metadata cannot replace: with another value, the answer could not
/// be read, would be stored, or would answer something else.
const FIXED_FIELDS: [&str; 7] = [
    "model",
    "input",
    "stream",
    "store",
    "previous_response_id",
    "conversation",
    "background",
];

/// OpenAI refuses a smaller limit of output tokens.
const MIN_OUTPUT_LIMIT: u64 = 16;

/// Encodes a request for `/responses`.
///
/// ```text
/// POST /responses
/// {"model":"gpt","input":[{"type":"message","role":"user","content":"Hello"}],"store":false, …}
/// ```
pub(crate) fn encode(request: &Request, quirks: &Quirks) -> HttpRequest {
    let mut problems = EncodeProblems::default();
    let turns = fit_turns(request, quirks, OpenAiApi::Responses, &mut problems);
    let ids = ToolIdMap::new(&turns, quirks.tool_ids);
    let mut writer = ResponsesWriter {
        quirks,
        ids: &ids,
        items: Vec::new(),
    };
    for turn in turns.iter() {
        writer.turn(turn);
    }
    let items = writer.items;
    if items.is_empty() {
        problems.omit_everything();
    }
    let json = to_raw(&body(request, quirks, items, &mut problems)).to_string();
    let json = merge_metadata(json, &request.metadata, &FIXED_FIELDS, &mut problems);
    HttpRequest::stream("/responses", Auth::Bearer, json.into_bytes())
        .with_problems(problems.into_problems())
}

/// Builds the body around the input.
fn body<'a>(
    request: &'a Request,
    quirks: &Quirks,
    input: Vec<Raw>,
    problems: &mut EncodeProblems,
) -> ResponsesRequest<'a> {
    let thinks = always_thinks(&request.model);
    let temperature = temperature(request, quirks, thinks, problems);
    let max_output_tokens = settings::output_limit(request, MIN_OUTPUT_LIMIT..=u64::MAX, problems);
    if !request.stop_sequences.is_empty() {
        problems.omit_setting("a stop sequence", "the Responses API has none");
    }
    let specs = settings::tools(request, TOOL_NAMES, problems);
    let choice = settings::tool_choice(request, &specs, problems);
    let tools = specs.into_iter().map(|spec| tool(spec, problems));
    ResponsesRequest {
        model: &request.model,
        instructions: request.system.as_ref().map(Text::as_str),
        input,
        stream: true,
        store: false,
        include: included_fields(request.reasoning || thinks),
        reasoning: request
            .reasoning
            .then_some(ResponsesReasoning { summary: "auto" }),
        temperature,
        max_output_tokens,
        tools: tools.collect(),
        tool_choice: choice.map(tool_choice),
    }
}

/// Asks for the encrypted thinking, if there may be any. Otherwise thinking could not go back: it
/// would be an id under which nothing is stored.
fn included_fields(may_think: bool) -> &'static [&'static str] {
    if may_think {
        &["reasoning.encrypted_content"]
    } else {
        &[]
    }
}

/// Writes turns as input items. The turns contain only what the API can express.
struct ResponsesWriter<'a> {
    /// What the server requires.
    quirks: &'a Quirks,
    /// The ids of calls that the server accepts.
    ids: &'a ToolIdMap,
    /// The items so far.
    items: Vec<Raw>,
}

impl<'a> ResponsesWriter<'a> {
    /// Writes a turn. Its text becomes a message; the blocks become one item or several.
    fn turn(&mut self, turn: &'a Turn) {
        let is_answer = turn.role == Role::Assistant;
        match &turn.content {
            Content::Empty => {}
            Content::Text(text) if is_answer => {
                let text = text.as_str();
                self.answer_message(vec![ResponsesPart::OutputText { text }], None);
            }
            Content::Text(text) => {
                self.message(self.role(turn.role), ResponsesContent::Text(text.as_str()));
            }
            Content::Blocks(blocks) if is_answer => self.answer(blocks),
            Content::Blocks(blocks) => self.question(self.role(turn.role), blocks),
        }
    }

    /// The role of a message. That of instructions depends on the server.
    fn role(&self, role: Role) -> &'static str {
        match role {
            Role::System => self.quirks.system_role.as_str(),
            Role::User | Role::Assistant => role.as_str(),
        }
    }

    /// Writes a message of the user, or instructions.
    fn message(&mut self, role: &'static str, content: ResponsesContent<'_>) {
        self.push(&ResponsesItem::Message {
            role,
            content,
            phase: None,
        });
    }

    /// Writes a message of the model. `phase` is a field that some messages of the API have.
    fn answer_message(&mut self, parts: Vec<ResponsesPart<'_>>, phase: Option<Raw>) {
        self.push(&ResponsesItem::Message {
            role: Role::Assistant.as_str(),
            content: ResponsesContent::Parts(parts),
            phase,
        });
    }

    /// Writes an item in the form of the API.
    fn push(&mut self, item: &ResponsesItem<'_>) {
        self.items.push(to_raw(item));
    }

    /// Writes a turn of the user or of instructions: tool results first, as items of their own.
    fn question(&mut self, role: &'static str, blocks: &'a [Block]) {
        let mut parts = Vec::new();
        for block in blocks {
            if let Block::ToolResult(result) = block {
                self.result(result);
            } else {
                parts.extend(self.part(block));
            }
        }
        if !parts.is_empty() {
            self.message(role, ResponsesContent::Parts(parts));
        }
    }

    /// Writes a tool result, which is an item of its own.
    fn result(&mut self, result: &'a ToolResult) {
        let output = self.output(result);
        self.push(&ResponsesItem::FunctionCallOutput {
            call_id: self.ids.get(&result.tool_use_id),
            output,
        });
    }

    /// The output of a tool: a string for text only, which every server reads, else parts.
    fn output(&self, result: &'a ToolResult) -> ResponsesContent<'a> {
        let mut parts = Vec::new();
        if let Content::Blocks(blocks) = &result.content {
            parts.extend(blocks.iter().filter_map(|block| self.part(block)));
        }
        if parts.iter().all(is_input_text) {
            let text = result_text(result.content.text(), result.is_error);
            return ResponsesContent::Text(text.into());
        }
        if result.is_error == Some(true) {
            let text = "error".into();
            parts.insert(0, ResponsesPart::InputText { text });
        }
        ResponsesContent::Parts(parts)
    }

    /// Writes a block of the user, of instructions or of a tool result; `None` for blocks that are
    /// no parts.
    fn part(&self, block: &'a Block) -> Option<ResponsesPart<'a>> {
        if let Block::Text(block) = block {
            let text = block.text.as_str();
            return Some(ResponsesPart::InputText { text });
        }
        match attachment(block, OpenAiApi::Responses, self.quirks.files).ok()? {
            OpenAiAttachment::Text(text) => Some(ResponsesPart::InputText { text: text.into() }),
            OpenAiAttachment::Image(image_url) => Some(ResponsesPart::InputImage { image_url }),
            OpenAiAttachment::File { name, data } => Some(ResponsesPart::InputFile {
                filename: Some(name),
                file_data: Some(data),
                file_url: None,
            }),
            OpenAiAttachment::FileUrl(url) => Some(ResponsesPart::InputFile {
                filename: None,
                file_data: None,
                file_url: Some(url),
            }),
        }
    }

    /// Writes a turn of the model, item by item.
    fn answer(&mut self, blocks: &'a [Block]) {
        let mut message = PendingMessage::default();
        for block in blocks {
            if let Block::Text(text) = block {
                self.text(text, &mut message);
                continue;
            }
            self.end_message(&mut message);
            match block {
                Block::Thinking(thinking) => {
                    let item = reasoning_item(thinking);
                    self.items.extend(item.map(|item| item.to_raw()));
                }
                Block::ToolUse(call) => self.call(call),
                Block::Other(item) => self.items.push(item.clone()),
                Block::Text(_)
                | Block::Image(_)
                | Block::ToolResult(_)
                | Block::RedactedThinking(_)
                | Block::Document(_) => {}
            }
        }
        self.end_message(&mut message);
    }

    /// Writes a call. Its id is the one that the server accepts.
    fn call(&mut self, call: &ToolUse) {
        self.push(&ResponsesItem::FunctionCall {
            call_id: self.ids.get(&call.id),
            name: &call.name,
            arguments: call.input.as_str(),
        });
    }

    /// Adds a text to the current message. A text that began an item of the answer begins a message
    /// again.
    fn text(&mut self, text: &'a TextBlock, message: &mut PendingMessage<'a>) {
        if let Some(item) = object_member(&text.extra, "item") {
            self.end_message(message);
            message.phase = item.get("phase").cloned();
        }
        message.parts.push(answer_part(text));
    }

    /// Writes the current message and begins another.
    fn end_message(&mut self, message: &mut PendingMessage<'a>) {
        let message = std::mem::take(message);
        if !message.parts.is_empty() {
            self.answer_message(message.parts, message.phase);
        }
    }
}

/// The parts of a message of the model that is not written yet.
#[derive(Default)]
struct PendingMessage<'a> {
    parts: Vec<ResponsesPart<'a>>,
    phase: Option<Raw>,
}

/// Writes a text of the model, which may be a refusal.
fn answer_part(block: &TextBlock) -> ResponsesPart<'_> {
    let text = block.text.as_str();
    let is_refusal = block.extra.get("refusal");
    if is_refusal.is_some_and(|value| value.as_str() == "true") {
        return ResponsesPart::Refusal { refusal: text };
    }
    ResponsesPart::OutputText { text }
}

fn is_input_text(part: &ResponsesPart<'_>) -> bool {
    matches!(part, ResponsesPart::InputText { .. })
}

/// Writes the definition of a tool.
fn tool(spec: &ToolSpec, problems: &mut EncodeProblems) -> RawMap {
    RawMap::from([
        ("type", Raw::string("function")),
        ("name", Raw::string(&spec.name)),
        ("description", Raw::string(&spec.description)),
        ("parameters", parameters(spec, problems)),
        // The API is strict by default, and then refuses most schemas.
        ("strict", false.into()),
    ])
}

/// The tool choice in the words of the API.
fn tool_choice(choice: &ToolChoice) -> Raw {
    match choice {
        ToolChoice::Auto => Raw::string("auto"),
        ToolChoice::Any => Raw::string("required"),
        ToolChoice::None => Raw::string("none"),
        ToolChoice::Tool(name) => RawMap::from([
            ("type", Raw::string("function")),
            ("name", Raw::string(name)),
        ])
        .to_raw(),
    }
}

/// Writes a shape as JSON. The shapes have neither maps with odd keys nor types that fail, so this
/// succeeds.
fn to_raw(shape: &impl serde::Serialize) -> Raw {
    let json = serde_json::to_string(shape).unwrap_or_default();
    Raw::parse(&json).unwrap_or_else(|_| Raw::empty_object())
}
