//! Request in, HTTP body out. Thoughts go back as the items that they were, to their own maker and
//! directly before what they led to; of other items only what they say goes back, since nothing is
//! stored under their names.

use analects_core::{
    Block, Content, Raw, RawMap, Request, Role, Text, TextBlock, ToolChoice, ToolResult, ToolSpec,
    Turn,
};

use super::wire;
use crate::openai::fit::{self, Kind, Media, NAMES};
use crate::outgoing::{CallIds, LeftOut, always_thinks, result_text, settings, with_metadata};
use crate::{Auth, HttpRequest, Quirks};

/// Fields that are not up to the request's metadata: with them, the answer could not be read, or
/// would be stored, or would be an answer to something else.
const FIXED: [&str; 7] = [
    "model",
    "input",
    "stream",
    "store",
    "previous_response_id",
    "conversation",
    "background",
];

/// A smaller limit is an error to OpenAI.
const SMALLEST_LIMIT: u64 = 16;

/// Turns a request into the call of `/responses`.
pub(crate) fn encode(request: &Request, quirks: &Quirks) -> HttpRequest {
    let mut left_out = LeftOut::default();
    let turns = fit::turns(request, quirks, Kind::Responses, &mut left_out);
    let ids = CallIds::new(&turns, quirks.tool_ids);
    let mut input = Input {
        quirks,
        ids: &ids,
        items: Vec::new(),
    };
    turns.iter().for_each(|turn| input.turn(turn));
    let items = input.items;
    if items.is_empty() {
        left_out.everything();
    }
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
    let temperature = fit::temperature(request, quirks, thinks, left_out);
    let max_output_tokens = settings::limit(request, SMALLEST_LIMIT..=u64::MAX, left_out);
    if !request.stop_sequences.is_empty() {
        left_out.setting("a stop sequence", "the Responses API has none");
    }
    let specs = settings::tools(request, NAMES, left_out);
    let choice = settings::tool_choice(request, &specs, left_out);
    // Without this a thought is only a name, under which nothing is stored.
    let include: &[&str] = if request.reasoning || thinks {
        &["reasoning.encrypted_content"]
    } else {
        &[]
    };
    wire::Body {
        model: &request.model,
        instructions: request.system.as_ref().map(Text::as_str),
        input,
        stream: true,
        store: false,
        include,
        reasoning: request
            .reasoning
            .then_some(wire::Reasoning { summary: "auto" }),
        temperature,
        max_output_tokens,
        tools: specs.into_iter().map(|spec| tool(spec, left_out)).collect(),
        tool_choice: choice.map(tool_choice),
    }
}

/// The input in the making, of turns in which there is nothing that the API has no place for.
struct Input<'a> {
    quirks: &'a Quirks,
    ids: &'a CallIds,
    items: Vec<Raw>,
}

impl<'a> Input<'a> {
    fn turn(&mut self, turn: &'a Turn) {
        let role = match turn.role {
            Role::System => self.quirks.system_role.as_str(),
            role => role.as_str(),
        };
        match (&turn.content, turn.role) {
            (Content::Empty, _) => {}
            (Content::Text(text), Role::Assistant) => {
                let text = wire::Part::OutputText {
                    text: text.as_str(),
                };
                self.message(role, wire::Content::Parts(vec![text]), None);
            }
            (Content::Text(text), _) => {
                self.message(role, wire::Content::Text(text.as_str()), None);
            }
            (Content::Blocks(blocks), Role::Assistant) => self.answer(blocks),
            (Content::Blocks(blocks), _) => self.question(role, blocks),
        }
    }

    fn message(&mut self, role: &'static str, content: wire::Content<'_>, phase: Option<Raw>) {
        self.items.push(write(&wire::Item::Message {
            role,
            content,
            phase,
        }));
    }

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
            self.message(role, wire::Content::Parts(parts), None);
        }
    }

    fn result(&mut self, result: &'a ToolResult) {
        let text = result_text(result.content.text(), result.is_error);
        let mut parts = Vec::new();
        if let Content::Blocks(blocks) = &result.content {
            parts = blocks.iter().filter_map(|block| self.part(block)).collect();
        }
        let says_text_only = parts
            .iter()
            .all(|part| matches!(part, wire::Part::InputText { .. }));
        let output = if says_text_only {
            wire::Content::Text(text.into())
        } else {
            if result.is_error == Some(true) {
                parts.insert(
                    0,
                    wire::Part::InputText {
                        text: "error".into(),
                    },
                );
            }
            wire::Content::Parts(parts)
        };
        let call_id = self.ids.of(&result.tool_use_id);
        self.items
            .push(write(&wire::Item::FunctionCallOutput { call_id, output }));
    }

    /// A part of what somebody else than the model said.
    fn part(&self, block: &'a Block) -> Option<wire::Part<'a>> {
        if let Block::Text(block) = block {
            return Some(wire::Part::InputText {
                text: block.text.as_str(),
            });
        }
        let file = |filename, file_data, file_url| wire::Part::InputFile {
            filename,
            file_data,
            file_url,
        };
        Some(
            match fit::media(block, Kind::Responses, self.quirks.files).ok()? {
                Media::Text(text) => wire::Part::InputText { text: text.into() },
                Media::Image(image_url) => wire::Part::InputImage { image_url },
                Media::File { name, data } => file(Some(name), Some(data), None),
                Media::FileUrl(url) => file(None, None, Some(url)),
            },
        )
    }

    /// What the model said, item by item.
    fn answer(&mut self, blocks: &'a [Block]) {
        let mut said = Said::default();
        for block in blocks {
            if !matches!(block, Block::Text(_)) {
                self.say(&mut said);
            }
            match block {
                Block::Text(text) => self.text(text, &mut said),
                Block::Thinking(thought) => {
                    self.items
                        .extend(fit::thought_item(thought).map(|item| item.to_raw()));
                }
                Block::ToolUse(call) => {
                    let call_id = self.ids.of(&call.id);
                    let (name, arguments) = (call.name.as_str(), call.input.as_str());
                    self.items.push(write(&wire::Item::FunctionCall {
                        call_id,
                        name,
                        arguments,
                    }));
                }
                Block::Other(raw) => self.items.push(raw.clone()),
                Block::Image(_)
                | Block::ToolResult(_)
                | Block::RedactedThinking(_)
                | Block::Document(_) => {}
            }
        }
        self.say(&mut said);
    }

    /// Adds a text to the message that is being said; a text that began an item begins one again.
    fn text(&mut self, text: &'a TextBlock, said: &mut Said<'a>) {
        let item = text.extra.get("item").and_then(Raw::as_object);
        if item.is_some() {
            self.say(said);
        }
        let phase = item.as_ref().and_then(|item| item.get("phase"));
        said.phase = phase.cloned().or(said.phase.take());
        let words = text.text.as_str();
        let refused = text
            .extra
            .get("refusal")
            .is_some_and(|raw| raw.as_str() == "true");
        said.parts.push(if refused {
            wire::Part::Refusal { refusal: words }
        } else {
            wire::Part::OutputText { text: words }
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

fn tool(spec: &ToolSpec, left_out: &mut LeftOut) -> RawMap {
    RawMap::from([
        ("type", Raw::string("function")),
        ("name", Raw::string(&spec.name)),
        ("description", Raw::string(&spec.description)),
        ("parameters", fit::parameters(spec, left_out)),
        // The API is strict unless told otherwise, and then refuses most schemas.
        ("strict", false.into()),
    ])
}

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

/// These shapes have neither maps with odd keys nor types that fail, so writing them succeeds.
fn write(shape: &impl serde::Serialize) -> Raw {
    let json = serde_json::to_string(shape).unwrap_or_default();
    Raw::parse(&json).unwrap_or_else(|_| Raw::empty_object())
}
