//! The conversation as Gemini's contents: turns of `user` and `model` in alternation. Results of tools
//! are a turn of their own, and what the user says besides is another.

use std::collections::HashMap;

use analects_core::{
    Block, Content, Document, Image, Raw, RawMap, Request, Role, Source, Text, Thinking,
    ToolResult, ToolUse, Turn, sendable,
};

use super::super::wire::{self, take};
use super::super::{MADE_ID, SIGNATURE};
use super::{fit, generation};
use crate::outgoing::{LeftOut, is_data, may_be_passed_on};

/// What Gemini documents for calls of a conversation that another model led.
const FOREIGN: &str = "skip_thought_signature_validator";

/// What a conversation ends with that the model ended.
const GO_ON: &str = "(Please go on.)";

const USER: &str = "user";
const MODEL: &str = "model";

/// The contents of a request.
pub(super) fn contents(request: &Request, left_out: &mut LeftOut) -> Vec<wire::Content> {
    let sent = sendable(fit::turns(request, left_out));
    left_out.add(sent.mended);
    let mut writer = Writer::default();
    for turn in &sent.turns {
        writer.turn(turn);
    }
    let mut contents = writer.contents;
    // Older models do not look; for these it is an error not to have one.
    if generation(&request.model).is_some_and(|number| number >= (3, 0)) {
        sign_open_calls(&mut contents);
    }
    match contents.last().map(|last| last.role) {
        None => left_out.everything(),
        Some(Some(MODEL)) => {
            left_out.otherwise("the model spoke last, so a line of the user is sent after it");
            let parts = vec![RawMap::from([("text", Raw::string(GO_ON))])];
            contents.push(wire::Content {
                role: Some(USER),
                parts,
            });
        }
        Some(_) => {}
    }
    contents
}

fn is_given(id: &str) -> bool {
    !id.is_empty() && !id.starts_with(MADE_ID)
}

/// Writes turns in which there is nothing that has no place there.
#[derive(Default)]
struct Writer<'a> {
    /// The calls that are answered next, by id: the name, and whether Gemini gave the id.
    calls: HashMap<&'a str, (&'a str, bool)>,
    contents: Vec<wire::Content>,
}

impl<'a> Writer<'a> {
    fn turn(&mut self, turn: &'a Turn) {
        let role = if turn.role == Role::Assistant {
            MODEL
        } else {
            USER
        };
        let blocks = match &turn.content {
            Content::Empty => return,
            Content::Text(text) => return self.push(role, text_part(text)),
            Content::Blocks(blocks) => blocks,
        };
        let results = || blocks.iter().filter_map(Block::as_tool_result);
        results().for_each(|result| self.result(result));
        results().for_each(|result| self.files_of(result));
        if role == MODEL {
            self.calls.clear();
        }
        for block in blocks {
            match block {
                Block::ToolResult(_) | Block::RedactedThinking(_) => {}
                Block::Text(text) => {
                    self.push(role, joined(text_part(&text.text), &text.extra));
                }
                Block::Thinking(thought) => self.push(role, thought_part(thought)),
                Block::ToolUse(call) => self.call(call, turn.model.is_some()),
                Block::Image(image) => self.file(role, &image.source, &image.extra),
                Block::Document(document) => self.file(role, &document.source, &document.extra),
                Block::Other(raw) => self.push(role, raw.as_object().unwrap_or_default()),
            }
        }
    }

    fn call(&mut self, call: &'a ToolUse, own: bool) {
        let given = own && is_given(&call.id);
        self.calls.insert(&call.id, (&call.name, given));
        let mut function = RawMap::new();
        if given {
            function.push("id", Raw::string(&call.id));
        }
        function.push("name", Raw::string(&call.name));
        function.push("args", call.input.clone());
        if let Some(more) = call.extra.get("functionCall").and_then(Raw::as_object) {
            function.extend(more.iter());
        }
        let part = RawMap::from([("functionCall", function.to_raw())]);
        self.push(
            MODEL,
            joined(part, &take(&call.extra, |key, _| key == "functionCall")),
        );
    }

    fn result(&mut self, result: &ToolResult) {
        let call = self.calls.get(result.tool_use_id.as_str()).copied();
        let (name, given) = call.unwrap_or_default();
        let mut function = RawMap::new();
        if given {
            function.push("id", Raw::string(&result.tool_use_id));
        }
        function.push("name", Raw::string(name));
        let key = if result.is_error == Some(true) {
            "error"
        } else {
            "output"
        };
        let response = RawMap::from([(key, Raw::string(&result.content.text()))]);
        function.push("response", response.to_raw());
        let part = RawMap::from([("functionResponse", function.to_raw())]);
        match self.contents.last_mut() {
            Some(last) if answers(last) => last.parts.push(part),
            _ => self.contents.push(wire::Content {
                role: Some(USER),
                parts: vec![part],
            }),
        }
    }

    /// What a tool gave besides text.
    fn files_of(&mut self, result: &ToolResult) {
        let Content::Blocks(blocks) = &result.content else {
            return;
        };
        for block in blocks {
            if let Block::Image(Image { source, extra })
            | Block::Document(Document { source, extra }) = block
            {
                self.file(USER, source, extra);
            }
        }
    }

    fn file(&mut self, role: &'static str, source: &Raw, extra: &RawMap) {
        if let Some(part) = data(source) {
            self.push(role, joined(part, extra));
        }
    }

    fn push(&mut self, role: &'static str, part: RawMap) {
        match self.contents.last_mut() {
            Some(last) if last.role == Some(role) && !answers(last) => last.parts.push(part),
            _ => self.contents.push(wire::Content {
                role: Some(role),
                parts: vec![part],
            }),
        }
    }
}

/// Whether a turn is one of results.
fn answers(content: &wire::Content) -> bool {
    content
        .parts
        .first()
        .is_some_and(|part| part.get("functionResponse").is_some())
}

fn text_part(text: &Text) -> RawMap {
    RawMap::from([("text", Raw::string(&text.as_str()))])
}

fn thought_part(thought: &Thinking) -> RawMap {
    let part = RawMap::from([
        ("text", Raw::string(&thought.thinking.as_str())),
        ("thought", true.into()),
        (
            SIGNATURE,
            Raw::string(thought.signature.as_deref().unwrap_or_default()),
        ),
    ]);
    joined(part, &thought.extra)
}

/// The part of an image or a document.
pub(super) fn data(source: &Raw) -> Option<RawMap> {
    let map = source.as_object()?;
    match Source::of(source) {
        Some(Source::Base64 { media_type, data }) if is_data(&media_type, &data) => {
            Some(inline(&media_type, &data))
        }
        Some(Source::Url(url)) if !is_fetched(&url) => None,
        Some(Source::Url(url)) => {
            Some(inline_of_url(&url).unwrap_or_else(|| by_address(&url, map.string("media_type"))))
        }
        // Whoever reads files has put its bytes there by now, or said why not.
        Some(Source::File(_) | Source::Base64 { .. }) => None,
        None => {
            let is_text = map.string("type")? == "text";
            let text = map
                .string("data")
                .filter(|text| is_text && !text.is_empty())?;
            Some(RawMap::from([("text", Raw::string(&text))]))
        }
    }
}

/// Whether an address is one of the network, or the name of a file that was uploaded to the API.
pub(super) fn is_fetched(url: &str) -> bool {
    let is_plain = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    may_be_passed_on(url) || url.strip_prefix("files/").is_some_and(is_plain)
}

fn inline(media_type: &str, data: &str) -> RawMap {
    let data = RawMap::from([
        ("mimeType", Raw::string(media_type)),
        ("data", Raw::string(data)),
    ]);
    RawMap::from([("inlineData", data.to_raw())])
}

fn inline_of_url(url: &str) -> Option<RawMap> {
    let (media_type, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
    Some(inline(media_type, data))
}

fn by_address(url: &str, media_type: Option<String>) -> RawMap {
    let mut data = RawMap::new();
    if let Some(media_type) = media_type {
        data.push("mimeType", Raw::string(&media_type));
    }
    data.push("fileUri", Raw::string(url));
    RawMap::from([("fileData", data.to_raw())])
}

/// The entries of both.
fn joined(mut map: RawMap, more: &RawMap) -> RawMap {
    map.extend(more.iter());
    map
}

/// Every step since the person last said something begins with a sealed call, or the request is
/// refused; calls that another model made have no seal.
fn sign_open_calls(contents: &mut [wire::Content]) {
    let says = |content: &wire::Content| content.role == Some(USER) && !answers(content);
    let start = contents.iter().rposition(says).map_or(0, |at| at + 1);
    for content in &mut contents[start..] {
        let is_call = |part: &&mut RawMap| part.get("functionCall").is_some();
        if let Some(call) = content.parts.iter_mut().find(is_call)
            && call.get(SIGNATURE).is_none()
        {
            call.push(SIGNATURE, Raw::string(FOREIGN));
        }
    }
}
