//! Prepares the turns of a request for Gemini: omits what the API cannot express, and reports it.
//! Signatures and other fields of Gemini go back only to Gemini.

use analects_core::{
    Block, Content, Document, Image, Raw, RawMap, Request, Role, TextBlock, Thinking, ToolResult,
    ToolUse, Turn, replace_lone_surrogates,
};

use super::super::wire::remaining_fields;
use super::super::{PART_REST, PART_TYPE, SIGNATURE};
use super::parts::{is_fetchable, source_part};
use crate::decoding::object_member;
use crate::encoding::{EncodeProblems, ToolNameRule, fit_call, mentions_local_file};

/// Why a block of unknown type is not sent.
const FOREIGN_BLOCK: &str = "it is not of this API";

/// Why a block of the user is not sent as a call or as thinking.
const NOT_THE_MODELS: &str = "it is not the model's";

/// The contents of parts, in both spellings that the API accepts. A part has one of them.
const PART_CONTENTS: [&str; 13] = [
    "text",
    "inlineData",
    "inline_data",
    "fileData",
    "file_data",
    "functionCall",
    "function_call",
    "functionResponse",
    "function_response",
    "executableCode",
    "executable_code",
    "codeExecutionResult",
    "code_execution_result",
];

/// The contents for which the core has blocks of its own.
const CORE_CONTENTS: [&str; 4] = [
    "text",
    "function_call",
    "functionResponse",
    "function_response",
];

/// Returns the turns of a request, ready to be written. A turn of one of Gemini's models has the
/// name of the model to ask, and all other turns have none. The other fields of blocks are those of
/// their parts.
pub(super) fn fit_turns(request: &Request, problems: &mut EncodeProblems) -> Vec<Turn> {
    let mut fit = Vec::with_capacity(request.turns.len());
    for (number, turn) in request.turns.iter().enumerate() {
        let mut fitter = GeminiTurnFitter {
            number,
            is_own: None,
            problems: &mut *problems,
        };
        fit.push(fitter.turn(turn, request));
    }
    fit
}

/// Whether a turn is of a model of this API; `None` if that is not known.
fn is_own_turn(turn: &Turn, request: &Request) -> Option<bool> {
    if turn.role != Role::Assistant {
        return None;
    }
    let model = turn.model.as_deref()?;
    let name = model.strip_prefix("models/").unwrap_or(model);
    Some(name.starts_with("gemini") || model == request.model)
}

/// Prepares one turn.
struct GeminiTurnFitter<'a> {
    /// The number of the turn, for reports.
    number: usize,
    /// Whether the turn is of a model of this API; `None` if that is not known.
    is_own: Option<bool>,
    problems: &'a mut EncodeProblems,
}

impl GeminiTurnFitter<'_> {
    /// Prepares a turn.
    fn turn(&mut self, turn: &Turn, request: &Request) -> Turn {
        // The API has no third role.
        if turn.role == Role::System && !turn.content.is_empty() {
            let text = "instructions in the middle are sent as words of the user";
            self.problems.change_turn(self.number, text);
        }
        self.is_own = is_own_turn(turn, request);
        let is_answer = turn.role == Role::Assistant;
        let content = match &turn.content {
            Content::Blocks(blocks) if is_answer => Content::Blocks(self.answer(blocks)),
            Content::Blocks(blocks) => Content::Blocks(self.question(blocks)),
            content => content.clone(),
        };
        let role = if is_answer {
            Role::Assistant
        } else {
            Role::User
        };
        let is_own = self.is_own == Some(true);
        Turn {
            role,
            content,
            model: is_own.then(|| request.model.clone()),
        }
    }

    /// The blocks of a turn of the model.
    fn answer(&mut self, blocks: &[Block]) -> Vec<Block> {
        let blocks = blocks.iter();
        blocks
            .filter_map(|block| self.answer_block(block))
            .collect()
    }

    /// The blocks of a turn of the user.
    fn question(&mut self, blocks: &[Block]) -> Vec<Block> {
        let blocks = blocks.iter();
        blocks
            .filter_map(|block| self.question_block(block))
            .collect()
    }

    /// A block of the user; `None` if it is not sent.
    fn question_block(&mut self, block: &Block) -> Option<Block> {
        match block {
            Block::Text(text) => text_with_fields(text, RawMap::new()),
            Block::ToolResult(result) => Some(self.result(result)),
            Block::ToolUse(_) => self.omit("a tool call", NOT_THE_MODELS),
            Block::Thinking(_) | Block::RedactedThinking(_) => self.omit_thinking(NOT_THE_MODELS),
            Block::Image(_) | Block::Document(_) | Block::Other(_) => {
                self.file(block, RawMap::new())
            }
        }
    }

    /// A tool result, without blocks that a result cannot contain.
    fn result(&mut self, result: &ToolResult) -> Block {
        let content = match &result.content {
            Content::Blocks(blocks) => Content::Blocks(self.result_blocks(blocks)),
            content => content.clone(),
        };
        Block::ToolResult(ToolResult {
            tool_use_id: result.tool_use_id.clone(),
            content,
            is_error: result.is_error,
            extra: RawMap::new(),
        })
    }

    /// The blocks in a tool result, which cannot contain other results.
    fn result_blocks(&mut self, blocks: &[Block]) -> Vec<Block> {
        let mut fit = Vec::new();
        for block in blocks {
            fit.extend(match block {
                Block::ToolResult(_) => self.omit("a block", FOREIGN_BLOCK),
                block => self.question_block(block),
            });
        }
        fit
    }

    /// A block of a model; `None` if it is not sent.
    fn answer_block(&mut self, block: &Block) -> Option<Block> {
        match block {
            Block::Text(text) => text_with_fields(text, self.own_fields(&text.extra)),
            Block::Thinking(thinking) => self.thinking(thinking),
            Block::RedactedThinking(_) => self.omit_thinking("another model had it"),
            Block::ToolUse(call) => Some(self.call(call)),
            Block::ToolResult(result) => Some(self.result(result)),
            Block::Image(Image { extra, .. }) | Block::Document(Document { extra, .. }) => {
                let fields = self.own_fields(extra);
                self.file(block, fields)
            }
            Block::Other(raw) => self.own_part(raw),
        }
    }

    /// The fields beside the content of a block's part. Their names are Gemini's, so they are kept
    /// unless the turn is of another model.
    fn own_fields(&self, extra: &RawMap) -> RawMap {
        if self.is_own == Some(false) {
            return RawMap::new();
        }
        part_fields(extra)
    }

    /// A call with a name that Gemini accepts, and with the fields that Gemini added to it.
    fn call(&mut self, call: &ToolUse) -> Block {
        let fit = fit_call(call, self.number, ToolNameRule::Gemini, self.problems);
        let mut extra = self.own_fields(&call.extra);
        if self.is_own != Some(false)
            && let Some(fields) = other_call_fields(&call.extra)
        {
            extra.push("functionCall", fields);
        }
        Block::ToolUse(ToolUse { extra, ..fit })
    }

    /// Thinking goes back only to Gemini, and only with its signature: without one, it says nothing
    /// that the answer does not say.
    fn thinking(&mut self, thinking: &Thinking) -> Option<Block> {
        if self.is_own != Some(true) {
            return self.omit_thinking("another model had it");
        }
        let signature = thinking.signature.as_deref().unwrap_or_default();
        if signature.is_empty() {
            return self.omit_thinking("it has no signature");
        }
        let fields = part_fields(&thinking.extra);
        Some(Block::Thinking(Thinking {
            extra: remaining_fields(&fields, |key, _| key == SIGNATURE),
            ..thinking.clone()
        }))
    }

    /// An image or a document; any other block is omitted.
    fn file(&mut self, block: &Block, fields: RawMap) -> Option<Block> {
        let what = if matches!(block, Block::Image(_)) {
            "an image"
        } else {
            "a document"
        };
        let mut block = block.clone();
        let (Block::Image(Image { source, extra }) | Block::Document(Document { source, extra })) =
            &mut block
        else {
            return self.omit("a block", FOREIGN_BLOCK);
        };
        if source_part(source).is_none() {
            return self.omit(what, "its bytes are not at hand");
        }
        *extra = fields;
        Some(block)
    }

    /// A part that came from Gemini and fits into no block of the core.
    fn own_part(&mut self, raw: &Raw) -> Option<Block> {
        let Some(part) = kept_part(raw) else {
            return self.omit("a block", FOREIGN_BLOCK);
        };
        if part.get("functionCall").is_some() {
            // Only a part of the call arrived, so it cannot have a result.
            return self.omit("a call", "it broke off");
        }
        if !is_sendable_part(&part) {
            return self.omit("a block", FOREIGN_BLOCK);
        }
        Some(Block::Other(replace_lone_surrogates(&part.to_raw())))
    }

    /// Reports an omitted block. Returns `None`, which stands for the block.
    fn omit(&mut self, what: &str, why: &str) -> Option<Block> {
        self.problems.omit_content(self.number, what, why);
        None
    }

    /// Reports an omitted block of thinking. Returns `None`, which stands for the block.
    fn omit_thinking(&mut self, why: &str) -> Option<Block> {
        self.problems.omit_thinking(self.number, why);
        None
    }
}

/// A text with these other fields; `None` for a blank text without a signature, which Gemini
/// refuses.
fn text_with_fields(block: &TextBlock, extra: RawMap) -> Option<Block> {
    if block.text.is_blank() && extra.get(SIGNATURE).is_none() {
        return None;
    }
    Some(Block::Text(TextBlock {
        text: block.text.clone(),
        extra,
    }))
}

/// The fields that a part of Gemini has beside its content, as its block keeps them.
fn part_fields(extra: &RawMap) -> RawMap {
    let mut fields = RawMap::new();
    let signature = extra.string(SIGNATURE).unwrap_or_default();
    if !signature.is_empty() {
        fields.push(SIGNATURE, Raw::string(&signature));
    }
    let rest = extra.get(PART_REST).map(replace_lone_surrogates);
    if let Some(rest) = rest.and_then(|rest| rest.as_object()) {
        let beside = remaining_fields(&rest, |key, _| {
            key == SIGNATURE || PART_CONTENTS.contains(&key)
        });
        fields.extend(beside.iter());
    }
    fields
}

/// The fields of a function call that the core's calls do not have, as its block keeps them.
fn other_call_fields(extra: &RawMap) -> Option<Raw> {
    let rest = object_member(extra, PART_REST)?;
    let call = object_member(&rest, "functionCall")?;
    let other = remaining_fields(&call, |key, _| matches!(key, "id" | "name" | "args"));
    Some(replace_lone_surrogates(&other.to_raw()))
}

/// The part in a block that the decoder made for it; `None` for other blocks, and for a part with a
/// local file.
fn kept_part(raw: &Raw) -> Option<RawMap> {
    let block = raw.as_object()?;
    if block.string("type")? != PART_TYPE || mentions_local_file(raw) {
        return None;
    }
    let part = object_member(&block, "part")?;
    has_fetchable_file(&part).then_some(part)
}

/// Whether the file of a part, if it has one, is at an address that Gemini may fetch.
fn has_fetchable_file(part: &RawMap) -> bool {
    let file = part.get("fileData").or_else(|| part.get("file_data"));
    let Some(file) = file.and_then(Raw::as_object) else {
        return true;
    };
    let address = file.string("fileUri").or_else(|| file.string("file_uri"));
    address.is_none_or(|address| is_fetchable(&address))
}

/// Whether a part has at most one content, and none for which the core has a block.
fn is_sendable_part(part: &RawMap) -> bool {
    let contents = PART_CONTENTS.iter();
    let count = contents.filter(|key| part.get(key).is_some()).count();
    let has_core_content = CORE_CONTENTS.iter().any(|key| part.get(key).is_some());
    !part.is_empty() && count <= 1 && !has_core_content
}
