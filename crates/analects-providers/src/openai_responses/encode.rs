//! Request in, HTTP body out. Thoughts go back as the items that they were, to their own maker and
//! directly before what they led to; of other items only what they say goes back, since nothing is
//! stored under their names.

use analects_core::{
    Block, Content, Document, Image, Json, Raw, RawMap, Request, Role, Source, TextBlock, Thinking,
    ToolChoice, ToolResult, ToolSpec, Turn,
};

use super::wire;
use crate::openai::filled;
use crate::outgoing::{
    CallIds, LeftOut, always_thinks, data_url, file_name, plain_document, result_text, same_maker,
    with_metadata,
};
use crate::{Auth, HttpRequest, Quirks, Temperature};

/// Fields that are not up to the request's metadata: with them, the answer could not be read, or
/// would be stored, or would be an answer to something else.
const FIXED: [&str; 7] =
    ["model", "input", "stream", "store", "previous_response_id", "conversation", "background"];

/// Turns a request into the call of `/responses`.
pub(crate) fn encode(request: &Request, quirks: &Quirks) -> HttpRequest {
    let ids = CallIds::new(request, quirks.tool_ids);
    let mut input =
        Input { request, quirks, ids: &ids, items: Vec::new(), left_out: <_>::default() };
    for (number, turn) in request.turns.iter().enumerate() {
        input.turn(number, turn);
    }
    let Input { items, mut left_out, .. } = input;
    let json = write(&body(request, quirks, items, &mut left_out));
    let json = with_metadata(json.to_string(), &request.metadata, &FIXED, &mut left_out);
    HttpRequest::stream("/responses", Auth::Bearer, json.into_bytes())
        .leaving_out(left_out.into_problems())
}

fn body<'a>(
    request: &'a Request,
    quirks: &Quirks,
    input: Vec<Raw>,
    left_out: &mut LeftOut,
) -> wire::Body<'a> {
    let thinks = always_thinks(&request.model);
    let tools: Vec<_> = request.tools.iter().map(tool).collect();
    let choice = request.tool_choice.as_ref().filter(|_| !tools.is_empty());
    let may_warm = match quirks.temperature {
        Temperature::Sent => true,
        Temperature::Refused => false,
        Temperature::ByModel => !thinks,
    };
    if request.temperature.is_some() && !may_warm {
        left_out.setting("the temperature", "the model takes none");
    }
    if !request.stop_sequences.is_empty() {
        left_out.setting("a stop sequence", "the Responses API has none");
    }
    // Without this a thought is only a name, under which nothing is stored.
    let include: &[&str] =
        if request.reasoning || thinks { &["reasoning.encrypted_content"] } else { &[] };
    wire::Body {
        model: &request.model,
        instructions: request.system.as_ref().map(analects_core::Text::as_str),
        input,
        stream: true,
        store: false,
        include,
        reasoning: request.reasoning.then_some(wire::Reasoning { summary: "auto" }),
        temperature: request.temperature.filter(|value| value.is_finite() && may_warm),
        max_output_tokens: request.max_output_tokens,
        tools,
        tool_choice: choice.map(tool_choice),
    }
}

/// The input in the making.
struct Input<'a> {
    request: &'a Request,
    quirks: &'a Quirks,
    ids: &'a CallIds,
    items: Vec<Raw>,
    left_out: LeftOut,
}

impl<'a> Input<'a> {
    fn turn(&mut self, number: usize, turn: &'a Turn) {
        let role = match turn.role {
            Role::System => self.quirks.system_role.as_str(),
            role => role.as_str(),
        };
        match (&turn.content, turn.role) {
            (Content::Empty, _) => {}
            (Content::Text(text), _) if text.is_empty() => {}
            (Content::Text(text), Role::Assistant) => {
                let text = wire::Part::OutputText { text: text.as_str() };
                self.message(role, wire::Content::Parts(vec![text]), None);
            }
            (Content::Text(text), _) => {
                self.message(role, wire::Content::Text(text.as_str()), None);
            }
            (Content::Blocks(blocks), Role::Assistant) => self.answer(number, turn, blocks),
            (Content::Blocks(blocks), _) => self.question(number, role, blocks),
        }
    }

    fn message(&mut self, role: &'static str, content: wire::Content<'_>, phase: Option<Raw>) {
        self.items.push(write(&wire::Item::Message { role, content, phase }));
    }

    /// Results come first, since they have to follow their calls.
    fn question(&mut self, number: usize, role: &'static str, blocks: &'a [Block]) {
        let mut parts = Vec::new();
        for block in blocks {
            match block {
                Block::ToolResult(result) => self.result(number, result),
                block => parts.extend(self.part(number, block)),
            }
        }
        if !parts.is_empty() {
            self.message(role, wire::Content::Parts(parts), None);
        }
    }

    fn result(&mut self, number: usize, result: &'a ToolResult) {
        let text = result_text(result.content.text(), result.is_error);
        let mut parts = Vec::new();
        if let Content::Blocks(blocks) = &result.content {
            parts = blocks.iter().filter_map(|block| self.part(number, block)).collect();
        }
        let says_text_only = parts.iter().all(|part| matches!(part, wire::Part::InputText { .. }));
        let output = if says_text_only {
            wire::Content::Text(text.into())
        } else {
            if result.is_error == Some(true) {
                parts.insert(0, wire::Part::InputText { text: "error".into() });
            }
            wire::Content::Parts(parts)
        };
        let call_id = self.ids.of(&result.tool_use_id);
        self.items.push(write(&wire::Item::FunctionCallOutput { call_id, output }));
    }

    /// A part of what somebody else than the model said.
    fn part(&mut self, number: usize, block: &'a Block) -> Option<wire::Part<'a>> {
        match block {
            Block::Text(block) => filled_text(block).map(|text| wire::Part::InputText { text }),
            Block::Image(image) => self.image(number, image),
            Block::Document(document) => self.document(number, document),
            Block::Thinking(_) | Block::RedactedThinking(_) => {
                self.left_out.thought(number, "it is not the model's");
                None
            }
            Block::ToolUse(_) | Block::ToolResult(_) => {
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
        let image_url = match Source::of(&image.source) {
            Some(Source::Base64 { media_type, data }) => data_url(&media_type, &data),
            Some(Source::Url(url)) => url,
            _ => {
                self.left_out.content(number, "an image", "its bytes are not at hand");
                return None;
            }
        };
        Some(wire::Part::InputImage { image_url })
    }

    fn document(&mut self, number: usize, document: &Document) -> Option<wire::Part<'a>> {
        if let Some(text) = plain_document(&document.source) {
            return Some(wire::Part::InputText { text: text.into() });
        }
        let file = |filename, file_data, file_url| {
            Some(wire::Part::InputFile { filename, file_data, file_url })
        };
        match Source::of(&document.source) {
            _ if !self.quirks.files => {
                self.left_out.content(number, "a document", "this provider takes none");
                None
            }
            Some(Source::Base64 { media_type, data }) => {
                let name = file_name(&document.extra, &media_type);
                file(Some(name), Some(data_url(&media_type, &data)), None)
            }
            Some(Source::Url(url)) => file(None, None, Some(url)),
            _ => {
                self.left_out.content(number, "a document", "its bytes are not at hand");
                None
            }
        }
    }

    /// What the model said, item by item.
    fn answer(&mut self, number: usize, turn: &'a Turn, blocks: &'a [Block]) {
        let own = same_maker(turn.model.as_deref(), &self.request.model);
        let mut results = Vec::new();
        let mut said = Said::default();
        // Thoughts that wait for the item that they led to.
        let mut thoughts = Vec::new();
        for block in blocks {
            if !matches!(block, Block::Text(_)) {
                self.say(&mut said);
            }
            match block {
                Block::Text(text) => {
                    if filled_text(text).is_some() {
                        self.items.append(&mut thoughts);
                        self.text(text, own, &mut said);
                    }
                }
                Block::Thinking(thought) => match thought_item(thought).filter(|_| own) {
                    Some(item) => thoughts.push(item),
                    None => self.left_out.thought(number, "it is of another provider, or unsealed"),
                },
                Block::RedactedThinking(_) => {
                    self.left_out.thought(number, "it is of another provider");
                }
                Block::ToolUse(call) => {
                    self.items.append(&mut thoughts);
                    let call_id = self.ids.of(&call.id);
                    let (name, arguments) = (call.name.as_str(), call.input.as_str());
                    self.items.push(write(&wire::Item::FunctionCall { call_id, name, arguments }));
                }
                Block::ToolResult(result) => results.push(result),
                Block::Other(raw) if own && is_item(raw) => {
                    self.items.append(&mut thoughts);
                    self.items.push(raw.clone());
                }
                Block::Image(_) | Block::Document(_) | Block::Other(_) => {
                    let what = "a block of the model's answer";
                    self.left_out.content(number, what, "the API has no place for it");
                }
            }
        }
        self.say(&mut said);
        for _ in thoughts {
            self.left_out.thought(number, "what it led to is missing");
        }
        for result in results {
            self.result(number, result);
        }
    }

    /// Adds a text to the message that is being said; a text that began an item begins one again.
    fn text(&mut self, text: &'a TextBlock, own: bool, said: &mut Said<'a>) {
        let item = text.extra.get("item").and_then(Raw::as_object);
        if item.is_some() {
            self.say(said);
        }
        let phase = item.as_ref().and_then(|item| item.get("phase")).filter(|_| own);
        said.phase = phase.cloned().or(said.phase.take());
        let words = text.text.as_str();
        let refused = text.extra.get("refusal").is_some_and(|raw| raw.as_str() == "true");
        said.parts.push(match refused {
            true => wire::Part::Refusal { refusal: words },
            false => wire::Part::OutputText { text: words },
        });
    }

    fn say(&mut self, said: &mut Said<'a>) {
        let Said { parts, phase } = std::mem::take(said);
        if !parts.is_empty() {
            self.message("assistant", wire::Content::Parts(parts), phase);
        }
    }
}

/// A message of the model in the making.
#[derive(Default)]
struct Said<'a> {
    parts: Vec<wire::Part<'a>>,
    phase: Option<Raw>,
}

fn filled_text(block: &TextBlock) -> Option<std::borrow::Cow<'_, str>> {
    (!block.text.is_empty()).then(|| block.text.as_str())
}

/// The item that a thought was. `None` where it is none of this API's, or came without its sealed
/// content: then there is nothing over there that its name could stand for.
fn thought_item(thought: &Thinking) -> Option<Raw> {
    let seal = thought.signature.as_ref()?;
    let item = thought.extra.get("item")?.as_object()?;
    let mut out = RawMap::new();
    out.push("type", Raw::string("reasoning"));
    out.push("id", item.get("id").filter(|id| filled(id).is_some())?.clone());
    out.push("summary", item.get("summary").cloned().unwrap_or_else(|| summary(thought)));
    out.push("encrypted_content", Raw::string(seal));
    let placed = ["id", "summary", "encrypted_content", "type"];
    for (key, value) in item.iter() {
        if !key.as_string().is_some_and(|key| placed.contains(&key.as_str())) {
            out.push_raw(key.clone(), value.clone());
        }
    }
    Some(out.to_raw())
}

/// A summary of one part, or of none.
fn summary(thought: &Thinking) -> Raw {
    let mut part = RawMap::new();
    if !thought.thinking.is_empty() {
        part.push("type", Raw::string("summary_text"));
        let text = Raw::parse(&thought.thinking.to_json());
        part.push("text", text.unwrap_or_else(|_| Raw::string(&thought.thinking.as_str())));
        return crate::openai::list(&[part.to_raw()]);
    }
    crate::openai::list(&[])
}

/// Whether a block of unknown type is an item of this API: the call of a tool that the provider
/// runs, or one of the few others.
fn is_item(raw: &Raw) -> bool {
    let kind = raw.as_object().and_then(|map| map.get("type").and_then(filled));
    let others = ["mcp_list_tools", "mcp_approval_request", "compaction"];
    kind.is_some_and(|kind| {
        kind.ends_with("_call") || kind.ends_with("_call_output") || others.contains(&&*kind)
    })
}

fn tool(spec: &ToolSpec) -> wire::Tool<'_> {
    wire::Tool {
        r#type: "function",
        name: &spec.name,
        description: &spec.description,
        parameters: &spec.input_schema,
        strict: false,
    }
}

fn tool_choice(choice: &ToolChoice) -> Raw {
    match choice {
        ToolChoice::Auto => Raw::string("auto"),
        ToolChoice::Any => Raw::string("required"),
        ToolChoice::None => Raw::string("none"),
        ToolChoice::Tool(name) => {
            let mut choice = RawMap::new();
            choice.push("type", Raw::string("function"));
            choice.push("name", Raw::string(name));
            choice.to_raw()
        }
    }
}

/// These shapes have neither maps with odd keys nor types that fail, so writing them succeeds.
fn write(shape: &impl serde::Serialize) -> Raw {
    let json = serde_json::to_string(shape).unwrap_or_default();
    Raw::parse(&json).unwrap_or_else(|_| Raw::empty_object())
}
