//! Writes the conversation as Gemini's contents: turns of `user` and `model` in alternation. Tool
//! results are a turn of their own, and what the user says besides is another.

use std::collections::HashMap;

use analects_core::{
    Block, Content, Document, Image, Raw, RawMap, Request, Role, ToolResult, ToolUse, Turn,
    sendable,
};

use super::super::wire::{GeminiContent, remaining_fields};
use super::super::{MADE_UP_ID_PREFIX, SIGNATURE};
use super::model_generation;
use super::parts::{source_part, text_part, thought_part, with_fields};
use super::turns::fit_turns;
use crate::encoding::EncodeProblems;

/// The signature that Gemini documents for calls of another model.
const FOREIGN_SIGNATURE: &str = "skip_thought_signature_validator";

/// The user's line behind a conversation that the model ended. The model reads it.
const GO_ON: &str = "(Please go on.)";

/// The role of the user, and of tool results.
const USER: &str = "user";
/// The role of the model.
const MODEL: &str = "model";

/// Returns the contents of a request.
pub(super) fn contents(request: &Request, problems: &mut EncodeProblems) -> Vec<GeminiContent> {
    let sent = sendable(fit_turns(request, problems));
    problems.extend(sent.mended);
    let mut writer = ContentsWriter::default();
    for turn in &sent.turns {
        writer.turn(turn);
    }
    let mut contents = writer.contents;
    // Older models do not check signatures; these refuse calls without one.
    let generation = model_generation(&request.model);
    if generation.is_some_and(|generation| generation >= (3, 0)) {
        sign_open_calls(&mut contents);
    }
    end_with_user(&mut contents, problems);
    contents
}

/// Adds a line of the user if the model spoke last: the API requires the last turn to be the
/// user's.
fn end_with_user(contents: &mut Vec<GeminiContent>, problems: &mut EncodeProblems) {
    let Some(last) = contents.last() else {
        problems.omit_everything();
        return;
    };
    if last.role == Some(MODEL) {
        problems.change("the model spoke last, so a line of the user is sent after it");
        contents.push(GeminiContent {
            role: Some(USER),
            parts: vec![RawMap::from([("text", Raw::string(GO_ON))])],
        });
    }
}

/// Whether Gemini gave a call this id. Those that we made up are not sent.
fn is_own_id(id: &str) -> bool {
    !id.is_empty() && !id.starts_with(MADE_UP_ID_PREFIX)
}

/// A call that waits for its result.
#[derive(Clone, Copy, Default)]
struct WaitingCall<'a> {
    name: &'a str,
    has_own_id: bool,
}

/// Writes turns as contents. The turns contain only what the API can express.
#[derive(Default)]
struct ContentsWriter<'a> {
    /// The calls of the last turn of the model, by id.
    calls: HashMap<&'a str, WaitingCall<'a>>,
    contents: Vec<GeminiContent>,
}

impl<'a> ContentsWriter<'a> {
    /// Writes a turn, as several contents if it has tool results.
    fn turn(&mut self, turn: &'a Turn) {
        let role = if turn.role == Role::Assistant {
            MODEL
        } else {
            USER
        };
        match &turn.content {
            Content::Empty => {}
            Content::Text(text) => self.push(role, text_part(text)),
            Content::Blocks(blocks) => self.blocks(role, turn, blocks),
        }
    }

    /// Writes the blocks of a turn: the results first, then the files in them, which a result
    /// cannot contain.
    fn blocks(&mut self, role: &'static str, turn: &'a Turn, blocks: &'a [Block]) {
        for result in blocks.iter().filter_map(Block::as_tool_result) {
            self.result(result);
        }
        for result in blocks.iter().filter_map(Block::as_tool_result) {
            self.files_of(result);
        }
        if role == MODEL {
            self.calls.clear();
        }
        for block in blocks {
            self.block(role, turn, block);
        }
    }

    /// Writes a block. Results were written before.
    fn block(&mut self, role: &'static str, turn: &'a Turn, block: &'a Block) {
        match block {
            Block::ToolResult(_) | Block::RedactedThinking(_) => {}
            Block::Text(text) => self.push(role, with_fields(text_part(&text.text), &text.extra)),
            Block::Thinking(thinking) => self.push(role, thought_part(thinking)),
            Block::ToolUse(call) => self.call(call, turn.model.is_some()),
            Block::Image(image) => self.file(role, &image.source, &image.extra),
            Block::Document(document) => self.file(role, &document.source, &document.extra),
            Block::Other(raw) => self.push(role, raw.as_object().unwrap_or_default()),
        }
    }

    /// Writes a call. `is_own` says whether a model of this API made it.
    fn call(&mut self, call: &'a ToolUse, is_own: bool) {
        let has_own_id = is_own && is_own_id(&call.id);
        let name = call.name.as_str();
        self.calls
            .insert(&call.id, WaitingCall { name, has_own_id });
        let mut function = RawMap::new();
        if has_own_id {
            function.push("id", Raw::string(&call.id));
        }
        function.push("name", Raw::string(name));
        function.push("args", call.input.clone());
        if let Some(fields) = call.extra.get("functionCall").and_then(Raw::as_object) {
            function.extend(fields.iter());
        }
        let part = RawMap::from([("functionCall", function.to_raw())]);
        let beside = remaining_fields(&call.extra, |key, _| key == "functionCall");
        self.push(MODEL, with_fields(part, &beside));
    }

    /// Writes a tool result. Consecutive results belong into one turn, in the order of their calls.
    fn result(&mut self, result: &ToolResult) {
        let call = self.calls.get(result.tool_use_id.as_str());
        let call = call.copied().unwrap_or_default();
        let mut function = RawMap::new();
        if call.has_own_id {
            function.push("id", Raw::string(&result.tool_use_id));
        }
        function.push("name", Raw::string(call.name));
        function.push("response", response(result));
        let part = RawMap::from([("functionResponse", function.to_raw())]);
        match self.contents.last_mut() {
            Some(last) if has_results(last) => last.parts.push(part),
            _ => self.push_content(USER, part),
        }
    }

    /// Writes the images and documents in a result.
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

    /// Writes an image or a document with its other fields.
    fn file(&mut self, role: &'static str, source: &Raw, extra: &RawMap) {
        if let Some(part) = source_part(source) {
            self.push(role, with_fields(part, extra));
        }
    }

    /// Adds a part to the last turn, or to a new one if that is of another role, or of results.
    fn push(&mut self, role: &'static str, part: RawMap) {
        match self.contents.last_mut() {
            Some(last) if last.role == Some(role) && !has_results(last) => last.parts.push(part),
            _ => self.push_content(role, part),
        }
    }

    /// Begins a turn with this part.
    fn push_content(&mut self, role: &'static str, part: RawMap) {
        self.contents.push(GeminiContent {
            role: Some(role),
            parts: vec![part],
        });
    }
}

/// What a tool returned, as the object that the API requires.
fn response(result: &ToolResult) -> Raw {
    let key = if result.is_error == Some(true) {
        "error"
    } else {
        "output"
    };
    RawMap::from([(key, Raw::string(&result.content.text()))]).to_raw()
}

/// Whether this is a turn of tool results.
fn has_results(content: &GeminiContent) -> bool {
    let first = content.parts.first();
    first.is_some_and(|part| part.get("functionResponse").is_some())
}

/// Signs the first call of every turn since the user last spoke. Gemini refuses calls without a
/// signature there, and those of other models have none.
fn sign_open_calls(contents: &mut [GeminiContent]) {
    let last_prompt = contents.iter().rposition(is_prompt);
    let start = last_prompt.map_or(0, |at| at + 1);
    for content in &mut contents[start..] {
        let mut parts = content.parts.iter_mut();
        let call = parts.find(|part| part.get("functionCall").is_some());
        if let Some(call) = call
            && call.get(SIGNATURE).is_none()
        {
            call.push(SIGNATURE, Raw::string(FOREIGN_SIGNATURE));
        }
    }
}

/// Whether the user says something in a turn.
fn is_prompt(content: &GeminiContent) -> bool {
    content.role == Some(USER) && !has_results(content)
}
