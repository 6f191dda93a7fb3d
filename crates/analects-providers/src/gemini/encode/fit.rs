//! The turns as Gemini takes them: without what has no place there, which is said. What only Gemini
//! understands goes back to Gemini only.

use analects_core::{
    Block, Content, Document, Image, Raw, RawMap, Request, Role, TextBlock, Thinking, ToolResult,
    ToolUse, Turn,
};

use super::super::wire::take;
use super::super::{PART_REST, PART_TYPE, SIGNATURE};
use super::contents::{data, is_fetched};
use crate::outgoing::{LeftOut, Names, fit_call, mended, names_a_file};

const FOREIGN: &str = "it is not of this API";

/// What a part may hold, one of it, in both spellings of which the API knows.
const DATA: [&str; 13] = [
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

/// The turns of a request. A turn that a model of this API said has the name of the one that is asked,
/// and every other none: there is nothing left in it that tells who it was. The other fields of blocks
/// are those of their parts.
pub(super) fn turns(request: &Request, left_out: &mut LeftOut) -> Vec<Turn> {
    let turns = request.turns.iter().enumerate();
    turns
        .map(|(number, turn)| {
            Fit {
                number,
                left_out: &mut *left_out,
            }
            .turn(turn, request)
        })
        .collect()
}

/// Whether a turn was said by a model of this API; `None` where nobody knows.
fn is_own(turn: &Turn, request: &Request) -> Option<bool> {
    let model = turn.model.as_deref()?;
    let name = model.strip_prefix("models/").unwrap_or(model);
    Some(name.starts_with("gemini") || model == request.model)
}

/// One turn on its way.
struct Fit<'a> {
    number: usize,
    left_out: &'a mut LeftOut,
}

impl Fit<'_> {
    fn turn(&mut self, turn: &Turn, request: &Request) -> Turn {
        // There is no third role: instructions in the middle are said by the user.
        if turn.role == Role::System && !turn.content.is_empty() {
            let text = "instructions in the middle are sent as words of the user";
            self.left_out
                .otherwise(format!("turn {}: {text}", self.number + 1));
        }
        let is_model = turn.role == Role::Assistant;
        let own = is_own(turn, request).filter(|_| is_model);
        let content = match &turn.content {
            Content::Blocks(blocks) => {
                let fit = blocks.iter().filter_map(|block| {
                    if is_model {
                        self.answer(block, own)
                    } else {
                        self.question(block)
                    }
                });
                Content::Blocks(fit.collect())
            }
            content => content.clone(),
        };
        let role = if is_model {
            Role::Assistant
        } else {
            Role::User
        };
        Turn {
            role,
            content,
            model: (own == Some(true)).then(|| request.model.clone()),
        }
    }

    /// A block of the user.
    fn question(&mut self, block: &Block) -> Option<Block> {
        match block {
            Block::Text(text) => said(text, RawMap::new()),
            Block::ToolResult(result) => Some(self.result(result)),
            Block::ToolUse(_) => self.leave_out("a tool call", "it is not the model's"),
            Block::Thinking(_) | Block::RedactedThinking(_) => {
                self.leave_out_thought("it is not the model's")
            }
            block @ (Block::Image(_) | Block::Document(_) | Block::Other(_)) => {
                self.file(block, RawMap::new())
            }
        }
    }

    fn result(&mut self, result: &ToolResult) -> Block {
        let content = match &result.content {
            Content::Blocks(blocks) => {
                let fit = blocks.iter().filter_map(|block| {
                    if block.as_tool_result().is_some() {
                        return self.leave_out("a block", FOREIGN);
                    }
                    self.question(block)
                });
                Content::Blocks(fit.collect())
            }
            content => content.clone(),
        };
        let (tool_use_id, is_error) = (result.tool_use_id.clone(), result.is_error);
        Block::ToolResult(ToolResult {
            tool_use_id,
            content,
            is_error,
            extra: RawMap::new(),
        })
    }

    /// A block of a model. The names of its other fields are Gemini's, so they are its own unless it
    /// is known better.
    fn answer(&mut self, block: &Block, own: Option<bool>) -> Option<Block> {
        let kept = |extra| {
            if own == Some(false) {
                RawMap::new()
            } else {
                seals(extra)
            }
        };
        match block {
            Block::Text(text) => said(text, kept(&text.extra)),
            Block::Thinking(thought) => self.thought(thought, own),
            Block::RedactedThinking(_) => self.leave_out_thought("another model had it"),
            Block::ToolUse(call) => {
                let fit = fit_call(call, self.number, Names::Gemini, self.left_out);
                let mut extra = kept(&call.extra);
                let rest = call.extra.get(PART_REST).and_then(Raw::as_object);
                let more = rest.and_then(|rest| rest.get("functionCall")?.as_object());
                if let Some(more) = more.filter(|_| own != Some(false)) {
                    let more = take(&more, |key, _| ["id", "name", "args"].contains(&key));
                    extra.push("functionCall", mended(&more.to_raw()));
                }
                Some(Block::ToolUse(ToolUse { extra, ..fit }))
            }
            Block::ToolResult(result) => Some(self.result(result)),
            Block::Image(Image { extra, .. }) | Block::Document(Document { extra, .. }) => {
                self.file(block, kept(extra))
            }
            Block::Other(raw) => match own_part(raw) {
                // Nobody can have answered a call of which only a part came.
                Some(part) if part.get("functionCall").is_some() => {
                    self.leave_out("a call", "it broke off")
                }
                Some(part) if is_sound(&part) => Some(Block::Other(mended(&part.to_raw()))),
                _ => self.leave_out("a block", FOREIGN),
            },
        }
    }

    /// A thought without its seal says nothing to the model that the answer does not say.
    fn thought(&mut self, thought: &Thinking, own: Option<bool>) -> Option<Block> {
        let sealed = thought
            .signature
            .as_ref()
            .is_some_and(|seal| !seal.is_empty());
        match own {
            Some(true) if sealed => {
                let extra = take(&seals(&thought.extra), |key, _| key == SIGNATURE);
                Some(Block::Thinking(Thinking {
                    extra,
                    ..thought.clone()
                }))
            }
            Some(true) => self.leave_out_thought("it has no signature"),
            _ => self.leave_out_thought("another model had it"),
        }
    }

    /// A picture or a document; what is neither is left out.
    fn file(&mut self, block: &Block, kept: RawMap) -> Option<Block> {
        let what = if matches!(block, Block::Image(_)) {
            "an image"
        } else {
            "a document"
        };
        let mut block = block.clone();
        let (Block::Image(Image { source, extra }) | Block::Document(Document { source, extra })) =
            &mut block
        else {
            return self.leave_out("a block", FOREIGN);
        };
        if data(source).is_none() {
            return self.leave_out(what, "its bytes are not at hand");
        }
        *extra = kept;
        Some(block)
    }

    fn leave_out(&mut self, what: &str, why: &str) -> Option<Block> {
        self.left_out.content(self.number, what, why);
        None
    }

    fn leave_out_thought(&mut self, why: &str) -> Option<Block> {
        self.left_out.thought(self.number, why);
        None
    }
}

/// A text, unless it is blank: that is an error to Gemini. A seal may come without text.
fn said(block: &TextBlock, extra: RawMap) -> Option<Block> {
    let blank = block.text.as_str().trim().is_empty();
    let sealed = extra.get(SIGNATURE).is_some();
    (!blank || sealed).then(|| {
        Block::Text(TextBlock {
            text: block.text.clone(),
            extra,
        })
    })
}

/// What a part of Gemini's carried beside its data.
fn seals(extra: &RawMap) -> RawMap {
    let mut seals = RawMap::new();
    let seal = extra.string(SIGNATURE).filter(|seal| !seal.is_empty());
    if let Some(seal) = seal {
        seals.push(SIGNATURE, Raw::string(&seal));
    }
    let rest = extra
        .get(PART_REST)
        .map(mended)
        .and_then(|rest| rest.as_object());
    if let Some(rest) = rest {
        seals.extend(take(&rest, |key, _| key == SIGNATURE || DATA.contains(&key)).iter());
    }
    seals
}

/// A part that came from Gemini and that nobody else understands.
fn own_part(raw: &Raw) -> Option<RawMap> {
    let map = raw.as_object().filter(|_| !names_a_file(raw))?;
    map.string("type").filter(|kind| kind == PART_TYPE)?;
    map.get("part")?.as_object().filter(names_no_path)
}

/// Whether a part that names a file names one that the API can fetch.
fn names_no_path(part: &RawMap) -> bool {
    let file = part.get("fileData").or_else(|| part.get("file_data"));
    let Some(file) = file.and_then(Raw::as_object) else {
        return true;
    };
    let address = file.string("fileUri").or_else(|| file.string("file_uri"));
    address.is_none_or(|address| is_fetched(&address))
}

/// Whether a part holds one thing at most, and none that other blocks are for.
fn is_sound(part: &RawMap) -> bool {
    let blocks = [
        "text",
        "function_call",
        "functionResponse",
        "function_response",
    ];
    let held = DATA.iter().filter(|key| part.get(key).is_some()).count();
    !part.is_empty() && held <= 1 && blocks.iter().all(|key| part.get(key).is_none())
}
