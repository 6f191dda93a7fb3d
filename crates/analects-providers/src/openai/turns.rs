//! Prepares the turns of a request for OpenAI's two APIs: omits what an API cannot express, reports
//! it, and puts the rest in an accepted order. The code that writes the wire formats omits nothing
//! more.

use std::borrow::Cow;
use std::collections::HashSet;

use analects_core::{
    Agent, Block, Content, Raw, RawMap, Request, Role, TextBlock, Thinking, ToolResult, Turn,
    replace_lone_surrogates, sendable,
};

use super::attachments::{OpenAiAttachment, attachment};
use super::thinking::{is_returnable_item, is_tool_output, reasoning_details, reasoning_item};
use super::{OpenAiApi, TOOL_NAMES};
use crate::decoding::string_member;
use crate::encoding::{EncodeProblems, can_read_thinking, fit_call, mentions_local_file, settings};
use crate::{Quirks, TemperatureSupport, ThinkingField};

/// Why a block of somebody else than the model is not sent as a call or as thinking.
const NOT_THE_MODELS: &str = "it is not the model's";

/// Returns the turns of a request, ready to be written. They name no models any more: what only one
/// model can read is kept only if that model is asked.
pub(crate) fn fit_turns<'a>(
    request: &'a Request,
    quirks: &Quirks,
    api: OpenAiApi,
    problems: &mut EncodeProblems,
) -> Cow<'a, [Turn]> {
    // Most conversations are plain text and go out without a copy.
    if are_plain(&request.turns) {
        return Cow::Borrowed(&request.turns);
    }
    let mut fitter = OpenAiTurnFitter {
        request,
        quirks,
        api,
        item_ids: HashSet::new(),
        turn: 0,
        problems,
    };
    let turns = request.turns.iter().enumerate();
    let turns = turns
        .map(|(number, turn)| fitter.turn(number, turn))
        .collect();
    let sent = sendable(turns);
    problems.extend(sent.mended);
    Cow::Owned(sent.turns)
}

/// Whether the turns are plain text and in an accepted order already.
fn are_plain(turns: &[Turn]) -> bool {
    let first = turns.iter().find(|turn| turn.role != Role::System);
    let begins_with_user = first.is_none_or(|first| first.role == Role::User);
    let alternate = turns.windows(2).all(|pair| pair[0].role != pair[1].role);
    begins_with_user && alternate && turns.iter().all(|turn| is_plain(&turn.content))
}

/// Whether a content can be sent as it is.
fn is_plain(content: &Content) -> bool {
    match content {
        Content::Empty => false,
        Content::Text(text) => !text.as_str().trim().is_empty(),
        Content::Blocks(blocks) => !blocks.is_empty() && blocks.iter().all(is_plain_text),
    }
}

/// Whether a block is text that can be sent as it is.
fn is_plain_text(block: &Block) -> bool {
    match block {
        Block::Text(text) => text.extra.is_empty() && !is_blank(text),
        _ => false,
    }
}

/// Returns the temperature, if the model accepts one. `thinks` says whether it is one of OpenAI's
/// models that always think.
pub(crate) fn temperature(
    request: &Request,
    quirks: &Quirks,
    thinks: bool,
    problems: &mut EncodeProblems,
) -> Option<f64> {
    let wanted = request.temperature?;
    let is_accepted = match quirks.temperature {
        TemperatureSupport::Accepted => true,
        TemperatureSupport::Refused => false,
        TemperatureSupport::ByModel => !thinks,
    };
    if is_accepted {
        return settings::temperature(request, 0.0..=2.0, problems);
    }
    // The default was chosen by nobody, so its absence is not worth a report.
    if wanted != Agent::default().temperature {
        problems.omit_setting("the temperature", "the model takes none");
    }
    None
}

/// Prepares the turns one by one.
struct OpenAiTurnFitter<'a> {
    /// The request, for the model to ask.
    request: &'a Request,
    /// What the server accepts.
    quirks: &'a Quirks,
    /// The API that the turns are for.
    api: OpenAiApi,
    /// The ids of the items that are sent; each may be sent once.
    item_ids: HashSet<String>,
    /// The number of the current turn, for reports.
    turn: usize,
    problems: &'a mut EncodeProblems,
}

impl OpenAiTurnFitter<'_> {
    /// Prepares a turn. The number is kept for reports.
    fn turn(&mut self, number: usize, turn: &Turn) -> Turn {
        self.turn = number;
        let content = match &turn.content {
            Content::Blocks(blocks) if turn.role == Role::Assistant => {
                Content::Blocks(self.answer(blocks, turn.model.as_deref()))
            }
            Content::Blocks(blocks) => Content::Blocks(self.question(blocks, turn.role)),
            content => content.clone(),
        };
        Turn {
            role: turn.role,
            content,
            model: None,
        }
    }

    /// The blocks of a turn of the user or of instructions.
    fn question(&mut self, blocks: &[Block], role: Role) -> Vec<Block> {
        let mut fit = Vec::new();
        for block in blocks {
            fit.extend(self.question_block(role, block));
        }
        fit
    }

    /// The blocks of a turn of the model.
    fn answer(&mut self, blocks: &[Block], model: Option<&str>) -> Vec<Block> {
        let own = can_read_thinking(model, &self.request.model);
        let mut fit = Vec::new();
        for block in blocks {
            fit.extend(self.answer_block(own, block));
        }
        self.without_trailing_thinking(fit)
    }

    /// A block of the user or of instructions; `None` if it is not sent.
    fn question_block(&mut self, role: Role, block: &Block) -> Option<Block> {
        match block {
            Block::Text(text) => text_with_fields(text, &[]),
            Block::ToolResult(result) => Some(self.result(result)),
            Block::ToolUse(_) => self.omit("a tool call", NOT_THE_MODELS),
            Block::Thinking(_) | Block::RedactedThinking(_) => self.omit_thinking(NOT_THE_MODELS),
            Block::Image(_) | Block::Document(_) | Block::Other(_) => self.attached(role, block),
        }
    }

    /// An image, a document or an unknown block of the user or of instructions.
    fn attached(&mut self, role: Role, block: &Block) -> Option<Block> {
        if role == Role::System && self.api == OpenAiApi::Chat {
            return self.omit("a block", "instructions are text");
        }
        match attachment(block, self.api, self.quirks.files) {
            Ok(OpenAiAttachment::Text(text)) if text.trim().is_empty() => None,
            Ok(_) => Some(block.clone()),
            Err(unsendable) => self.omit(unsendable.what, unsendable.why),
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
                Block::ToolResult(_) => self.omit("a block", "its type is unknown"),
                block => self.question_block(Role::User, block),
            });
        }
        fit
    }

    /// A block of the model; `None` if it is not sent. `own` says whether the asked model can read
    /// its thinking.
    fn answer_block(&mut self, own: bool, block: &Block) -> Option<Block> {
        match block {
            Block::Text(text) if own => text_with_fields(text, &["item", "refusal"]),
            Block::Text(text) => text_with_fields(text, &["refusal"]),
            Block::ToolUse(call) => {
                let call = fit_call(call, self.turn, TOOL_NAMES, self.problems);
                Some(Block::ToolUse(call))
            }
            Block::ToolResult(result) => Some(self.result(result)),
            Block::Thinking(thinking) => match self.why_omit_thinking(thinking, own) {
                Some(why) => self.omit_thinking(why),
                None => Some(block.clone()),
            },
            Block::RedactedThinking(_) => self.omit_thinking("it is of another provider"),
            Block::Other(item) if own && self.is_returnable(item) => {
                Some(Block::Other(replace_lone_surrogates(item)))
            }
            Block::Image(_) | Block::Document(_) | Block::Other(_) => self.omit(
                "a block of the model's answer",
                "the API has no place for it",
            ),
        }
    }

    /// Whether a block of unknown type is an item that goes back to the Responses API, and was not
    /// sent before.
    fn is_returnable(&mut self, item: &Raw) -> bool {
        let Some(map) = item.as_object() else {
            return false;
        };
        let kind = string_member(&map, "type").unwrap_or_default();
        if self.api == OpenAiApi::Chat || !is_returnable_item(&kind) {
            return false;
        }
        let id = string_member(&map, "id");
        let is_new = id.is_none_or(|id| self.item_ids.insert(id));
        is_new && !mentions_local_file(item)
    }

    /// Why a block of thinking is not sent; `None` if the server expects it.
    fn why_omit_thinking(&mut self, thinking: &Thinking, own: bool) -> Option<&'static str> {
        if self.api == OpenAiApi::Responses {
            return self.why_omit_item(thinking, own);
        }
        if !own {
            return Some("it is of another model");
        }
        let is_expected = match self.quirks.thinking {
            ThinkingField::Omitted => false,
            ThinkingField::ReasoningContent => !thinking.thinking.is_empty(),
            ThinkingField::ReasoningDetails => reasoning_details(thinking).is_some(),
        };
        (!is_expected).then_some("the API has no place for it")
    }

    /// Why thinking is not sent as an item of the Responses API.
    fn why_omit_item(&mut self, thinking: &Thinking, own: bool) -> Option<&'static str> {
        let item = reasoning_item(thinking).filter(|_| own);
        let Some(id) = item.and_then(|item| string_member(&item, "id")) else {
            return Some("it is of another provider, or unsealed");
        };
        let is_new = self.item_ids.insert(id);
        (!is_new).then_some("it stands before this already")
    }

    /// Drops thinking that no other block follows: the APIs require what it led to directly behind
    /// it.
    fn without_trailing_thinking(&mut self, blocks: Vec<Block>) -> Vec<Block> {
        let mut is_followed = false;
        let mut kept = Vec::with_capacity(blocks.len());
        for block in blocks.into_iter().rev() {
            match &block {
                Block::Thinking(_) if !is_followed => {
                    self.problems
                        .omit_thinking(self.turn, "what it led to is missing");
                    continue;
                }
                Block::Thinking(_) => {}
                Block::ToolResult(_) => is_followed = false,
                Block::Other(item) => is_followed = !is_tool_output(item),
                Block::Text(_)
                | Block::Image(_)
                | Block::ToolUse(_)
                | Block::RedactedThinking(_)
                | Block::Document(_) => is_followed = true,
            }
            kept.push(block);
        }
        kept.reverse();
        kept
    }

    /// Reports an omitted block. Returns `None`, which stands for the block.
    fn omit(&mut self, what: &str, why: &str) -> Option<Block> {
        self.problems.omit_content(self.turn, what, why);
        None
    }

    /// Reports an omitted block of thinking. Returns `None`, which stands for the block.
    fn omit_thinking(&mut self, why: &str) -> Option<Block> {
        self.problems.omit_thinking(self.turn, why);
        None
    }
}

fn is_blank(block: &TextBlock) -> bool {
    block.text.as_str().trim().is_empty()
}

/// A text with these of its other fields; `None` for a blank one, which the APIs refuse.
fn text_with_fields(block: &TextBlock, kept: &[&str]) -> Option<Block> {
    if is_blank(block) {
        return None;
    }
    let mut extra = RawMap::new();
    for key in kept {
        if let Some(value) = block.extra.get(key) {
            extra.push(key, replace_lone_surrogates(value));
        }
    }
    Some(Block::Text(TextBlock {
        text: block.text.clone(),
        extra,
    }))
}
