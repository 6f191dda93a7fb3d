//! The conversation as Gemini's contents: turns of `user` and `model` in alternation, results of
//! tools first. What only Gemini understands goes back to Gemini only.

use std::collections::BTreeMap;

use analects_core::{
    Block, Content, Problem, Raw, RawMap, Request, Role, Source, Text, Thinking, ToolResult,
    ToolUse, Turn,
};

use super::super::wire::{self, object};
use super::super::{MADE_ID, PART_REST, PART_TYPE, SIGNATURE};
use super::{generation, leave_out};

/// What Gemini documents for calls of a conversation that another model led.
const FOREIGN: &str = "skip_thought_signature_validator";

const USER: &str = "user";
const MODEL: &str = "model";

/// The contents of a request, and what has no place among them.
pub(super) fn contents(request: &Request) -> (Vec<wire::Content>, Vec<Problem>) {
    let mut writer = Writer { calls: calls(request), ..Writer::default() };
    for turn in &request.turns {
        writer.turn(turn, is_own(turn, request));
    }
    let Writer { mut contents, left_out, .. } = writer;
    // Older models do not look; for these it is an error not to have one.
    if generation(&request.model).is_some_and(|number| number >= (3, 0)) {
        sign_open_calls(&mut contents);
    }
    (contents, left_out)
}

/// Whether a turn was said by a model of this API; `None` where nobody knows.
fn is_own(turn: &Turn, request: &Request) -> Option<bool> {
    let model = turn.model.as_deref()?;
    let name = model.strip_prefix("models/").unwrap_or(model);
    Some(name.starts_with("gemini") || model == request.model)
}

/// The calls of a request by id: the name, and whether Gemini gave the id.
fn calls(request: &Request) -> BTreeMap<&str, (&str, bool)> {
    let mut calls = BTreeMap::new();
    for turn in &request.turns {
        let Content::Blocks(blocks) = &turn.content else {
            continue;
        };
        let own = is_own(turn, request) == Some(true);
        for block in blocks {
            if let Block::ToolUse(call) = block {
                calls.insert(call.id.as_str(), (call.name.as_str(), own && is_given(&call.id)));
            }
        }
    }
    calls
}

fn is_given(id: &str) -> bool {
    !id.is_empty() && !id.starts_with(MADE_ID)
}

#[derive(Default)]
struct Writer<'a> {
    calls: BTreeMap<&'a str, (&'a str, bool)>,
    contents: Vec<wire::Content>,
    left_out: Vec<Problem>,
}

impl Writer<'_> {
    fn turn(&mut self, turn: &Turn, own: Option<bool>) {
        // There is no third role: instructions in the middle are said by the user.
        let role = if turn.role == Role::Assistant { MODEL } else { USER };
        match &turn.content {
            Content::Empty => {}
            Content::Text(text) => self.push_text(role, text),
            Content::Blocks(blocks) if role == USER => self.user(blocks),
            Content::Blocks(blocks) => {
                for block in blocks {
                    self.said_by_model(block, own);
                }
            }
        }
    }

    /// The results have to follow their calls directly, so they come before anything else; what a
    /// tool gave besides text follows them.
    fn user(&mut self, blocks: &[Block]) {
        let results = || {
            blocks.iter().filter_map(|block| match block {
                Block::ToolResult(result) => Some(result),
                _ => None,
            })
        };
        results().for_each(|result| self.result(result));
        results().for_each(|result| self.files_of(result));
        for block in blocks {
            match block {
                Block::ToolResult(_) => {}
                Block::Text(block) => self.push_text(USER, &block.text),
                _ => self.file(USER, block, &RawMap::new()),
            }
        }
    }

    fn said_by_model(&mut self, block: &Block, own: Option<bool>) {
        // The names of these fields are Gemini's, so they are its own unless it is known better.
        let none = RawMap::new();
        let extra = |extra| if own == Some(false) { &none } else { extra };
        match block {
            Block::Text(block) => {
                let seals = seals(extra(&block.extra));
                if !block.text.is_empty() || !seals.is_empty() {
                    let text = Raw::string(&block.text.as_str());
                    self.push(MODEL, joined(object([("text", text)]), seals));
                }
            }
            Block::Thinking(block) => self.thought(block, own),
            // Nobody but their maker can read these.
            Block::RedactedThinking(_) => {}
            Block::ToolUse(call) => self.call(call, extra(&call.extra), own),
            Block::ToolResult(result) => {
                self.result(result);
                self.files_of(result);
            }
            Block::Image(image) => self.file(MODEL, block, extra(&image.extra)),
            Block::Document(document) => self.file(MODEL, block, extra(&document.extra)),
            Block::Other(raw) => match own_part(raw) {
                // Nobody can have answered a call of which only a part came.
                Some(part) if part.get("functionCall").is_some() => {
                    self.leave_out("a call that broke off");
                }
                Some(part) => self.push(MODEL, part),
                None => self.leave_out("a block of an unknown type"),
            },
        }
    }

    /// A thought without its seal says nothing to the model that the answer does not say.
    fn thought(&mut self, block: &Thinking, own: Option<bool>) {
        if let (Some(true), Some(seal)) = (own, &block.signature) {
            let part = object([
                ("text", Raw::string(&block.thinking.as_str())),
                ("thought", Raw::parse("true").unwrap_or_else(|_| Raw::empty_object())),
                (SIGNATURE, Raw::string(seal)),
            ]);
            self.push(MODEL, joined(part, seals(&block.extra)));
        }
    }

    fn call(&mut self, call: &ToolUse, extra: &RawMap, own: Option<bool>) {
        let mut function = RawMap::new();
        if own == Some(true) && is_given(&call.id) {
            function.push("id", Raw::string(&call.id));
        }
        function.push("name", Raw::string(&call.name));
        let input = match call.input.as_str().starts_with('{') {
            true => call.input.clone(),
            // Arguments that are not an object, as a model may write them by mistake.
            false => object([("input", call.input.clone())]).to_raw(),
        };
        function.push("args", input);
        let mut seals = seals(extra);
        if let Some(more) = seals.get("functionCall").and_then(Raw::as_object) {
            function = joined(function, more);
            seals = wire::take(&seals, |key, _| key == "functionCall");
        }
        let part = object([("functionCall", function.to_raw())]);
        self.push(MODEL, joined(part, seals));
    }

    fn result(&mut self, result: &ToolResult) {
        let Some((name, given)) = self.calls.get(result.tool_use_id.as_str()).copied() else {
            return self.leave_out("a result without its call");
        };
        let mut function = RawMap::new();
        if given {
            function.push("id", Raw::string(&result.tool_use_id));
        }
        function.push("name", Raw::string(name));
        let key = if result.is_error == Some(true) { "error" } else { "output" };
        let response = object([(key, Raw::string(&result.content.text()))]);
        function.push("response", response.to_raw());
        self.push(USER, object([("functionResponse", function.to_raw())]));
    }

    fn files_of(&mut self, result: &ToolResult) {
        let known = self.calls.contains_key(result.tool_use_id.as_str());
        if let (Content::Blocks(blocks), true) = (&result.content, known) {
            for block in blocks.iter().filter(|block| !matches!(block, Block::Text(_))) {
                self.file(USER, block, &RawMap::new());
            }
        }
    }

    /// A picture or a document; what is neither is left out.
    fn file(&mut self, role: &'static str, block: &Block, extra: &RawMap) {
        let (what, source) = match block {
            Block::Image(image) => ("image", &image.source),
            Block::Document(document) => ("document", &document.source),
            Block::Thinking(_) | Block::RedactedThinking(_) => return,
            Block::ToolUse(_) => return self.leave_out("a tool call that no model made"),
            _ => return self.leave_out("a block of an unknown type"),
        };
        match data(source) {
            Some(part) => self.push(role, joined(part, seals(extra))),
            None => {
                let kind = source.as_object().and_then(|map| map.get("type")?.as_string());
                let kind = kind.unwrap_or_else(|| "unknown".to_string());
                self.leave_out(&format!("the {what} of a source of type {kind}"));
            }
        }
    }

    fn push_text(&mut self, role: &'static str, text: &Text) {
        // An empty part is an error to Gemini.
        if !text.is_empty() {
            self.push(role, object([("text", Raw::string(&text.as_str()))]));
        }
    }

    fn push(&mut self, role: &'static str, part: RawMap) {
        match self.contents.last_mut() {
            Some(last) if last.role == Some(role) => last.parts.push(part),
            _ => self.contents.push(wire::Content { role: Some(role), parts: vec![part] }),
        }
    }

    fn leave_out(&mut self, what: &str) {
        leave_out(&mut self.left_out, format!("{what} has no place in a request to Gemini"));
    }
}

/// The part of an image or a document.
fn data(source: &Raw) -> Option<RawMap> {
    let map = source.as_object()?;
    let string = |key| map.get(key).and_then(Raw::as_string);
    match Source::of(source) {
        Some(Source::Base64 { media_type, data }) => Some(inline(&media_type, &data)),
        Some(Source::Url(url)) => Some(match inline_of_url(&url) {
            Some(part) => part,
            None => by_address(&url, string("media_type")),
        }),
        // Whoever reads files has put its bytes there by now, or said why not.
        Some(Source::File(_)) => None,
        None if string("type")? == "text" => Some(object([("text", map.get("data")?.clone())]))
            .filter(|_| string("data").is_some_and(|text| !text.is_empty())),
        None => None,
    }
}

fn inline(media_type: &str, data: &str) -> RawMap {
    let data = object([("mimeType", Raw::string(media_type)), ("data", Raw::string(data))]);
    object([("inlineData", data.to_raw())])
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
    object([("fileData", data.to_raw())])
}

/// What a part of Gemini's carried beside its data.
fn seals(extra: &RawMap) -> RawMap {
    let mut seals = RawMap::new();
    if let Some(seal) = extra.get(SIGNATURE) {
        seals.push(SIGNATURE, seal.clone());
    }
    match extra.get(PART_REST).and_then(Raw::as_object) {
        Some(rest) => joined(seals, rest),
        None => seals,
    }
}

fn joined(mut map: RawMap, more: RawMap) -> RawMap {
    for (key, value) in more.iter() {
        map.push_raw(key.clone(), value.clone());
    }
    map
}

/// A part that came from Gemini and that nobody else understands.
fn own_part(raw: &Raw) -> Option<RawMap> {
    let map = raw.as_object()?;
    map.get("type")?.as_string().filter(|kind| kind == PART_TYPE)?;
    map.get("part")?.as_object()
}

/// Every step since the person last said something begins with a sealed call, or the request is
/// refused; calls that another model made have no seal.
fn sign_open_calls(contents: &mut [wire::Content]) {
    let says = |content: &wire::Content| {
        let result = |part: &RawMap| part.get("functionResponse").is_some();
        content.role == Some(USER) && !content.parts.iter().any(result)
    };
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
