//! The turns as OpenAI's two APIs take them: without what they have no place for, which is said, and in
//! an order that they accept. Whoever writes the wire format has nothing more to leave out.

use std::borrow::Cow;
use std::collections::HashSet;

use analects_core::{
    Agent, Block, Content, Document, Image, Raw, RawMap, Request, Role, Source, TextBlock,
    Thinking, ToolResult, ToolSpec, Turn, sendable,
};

use crate::outgoing::{
    LeftOut, NOT_PASSED_ON, Names, data_url, file_name, fit_call, is_data, may_be_passed_on,
    mended, names_a_file, plain_document, same_maker, settings,
};
use crate::reading::{filled, word};
use crate::{Quirks, Temperature, Thoughts};

/// The names of tools.
pub(crate) const NAMES: Names = Names::Plain(64);

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Chat Completions.
    Chat,
    /// Responses.
    Responses,
}

/// The turns of a request, ready to be written. Whoever writes them looks at no model in them: what only
/// one model may see again is there only if it is asked.
pub(crate) fn turns<'a>(
    request: &'a Request,
    quirks: &Quirks,
    kind: Kind,
    left_out: &mut LeftOut,
) -> Cow<'a, [Turn]> {
    if are_plain(&request.turns) {
        return Cow::Borrowed(&request.turns);
    }
    let mut fit = Fit {
        request,
        quirks,
        kind,
        items: HashSet::new(),
        left_out,
    };
    let turns = request.turns.iter().enumerate();
    let sent = sendable(turns.map(|(number, turn)| fit.turn(number, turn)).collect());
    left_out.add(sent.mended);
    Cow::Owned(sent.turns)
}

/// Whether turns are words and nothing else, and in order: these go out as they are, without a copy.
fn are_plain(turns: &[Turn]) -> bool {
    let first = turns.iter().find(|turn| turn.role != Role::System);
    let is_joined = |pair: &[Turn]| pair[0].role == pair[1].role;
    first.is_none_or(|first| first.role == Role::User)
        && !turns.windows(2).any(is_joined)
        && turns.iter().all(|turn| is_plain(&turn.content))
}

fn is_plain(content: &Content) -> bool {
    let is_plain = |block: &Block| {
        let Block::Text(block) = block else {
            return false;
        };
        block.extra.is_empty() && words(block).is_some()
    };
    match content {
        Content::Empty => false,
        Content::Text(text) => !text.as_str().trim().is_empty(),
        Content::Blocks(blocks) => !blocks.is_empty() && blocks.iter().all(is_plain),
    }
}

/// The temperature, if the model takes one.
pub(crate) fn temperature(
    request: &Request,
    quirks: &Quirks,
    thinks: bool,
    left_out: &mut LeftOut,
) -> Option<f64> {
    request.temperature?;
    let may_warm = match quirks.temperature {
        Temperature::Sent => true,
        Temperature::Refused => false,
        Temperature::ByModel => !thinks,
    };
    if !may_warm {
        // One that nobody chose is nothing that anybody misses.
        if request.temperature != Some(Agent::default().temperature) {
            left_out.setting("the temperature", "the model takes none");
        }
        return None;
    }
    settings::temperature(request, 0.0..=2.0, left_out)
}

/// The schema of a tool's arguments; one that lists no properties is refused.
pub(crate) fn parameters(spec: &ToolSpec, left_out: &mut LeftOut) -> Raw {
    let mut schema = settings::object_schema(spec, left_out);
    if !schema
        .get("properties")
        .is_some_and(|listed| listed.as_str().starts_with('{'))
    {
        schema.set("properties", Raw::empty_object());
    }
    schema.to_raw()
}

/// A picture or a document as these APIs take it.
pub(crate) enum Media {
    /// Its words.
    Text(String),
    /// A picture, by its address or as one that holds its bytes.
    Image(String),
    /// A document, as an address that holds its bytes.
    File { name: String, data: String },
    /// A document elsewhere.
    FileUrl(String),
}

/// A picture or a document, or the reason why it does not go out: what it is, and what is wrong.
pub(crate) fn media(
    block: &Block,
    kind: Kind,
    files: bool,
) -> Result<Media, (&'static str, &'static str)> {
    if let Block::Image(image) = block {
        return picture(image).map_err(|why| ("an image", why));
    }
    if let Block::Document(file) = block {
        return document(file, kind, files).map_err(|why| ("a document", why));
    }
    Err(("a block", "its type is unknown"))
}

// Whoever reads files has put their bytes there by now, or said why not.
const NOT_AT_HAND: &str = "its bytes are not at hand";

fn picture(image: &Image) -> Result<Media, &'static str> {
    match Source::of(&image.source) {
        Some(Source::Base64 { media_type, data }) if is_data(&media_type, &data) => {
            Ok(Media::Image(data_url(&media_type, &data)))
        }
        Some(Source::Url(url)) if may_be_passed_on(&url) => Ok(Media::Image(url)),
        Some(Source::Url(_)) => Err(NOT_PASSED_ON),
        Some(Source::Base64 { .. } | Source::File(_)) | None => Err(NOT_AT_HAND),
    }
}

fn document(document: &Document, kind: Kind, files: bool) -> Result<Media, &'static str> {
    if let Some(text) = plain_document(&document.source) {
        return Ok(Media::Text(text));
    }
    match Source::of(&document.source) {
        _ if !files => Err("this provider takes none"),
        Some(Source::Base64 { media_type, data }) if !is_data(&media_type, &data) => {
            Err(NOT_AT_HAND)
        }
        Some(Source::Base64 { media_type, .. })
            if kind == Kind::Chat && media_type != "application/pdf" =>
        {
            Err("the API takes PDF files only")
        }
        Some(Source::Base64 { media_type, data }) => Ok(Media::File {
            name: file_name(&document.extra, &media_type),
            data: data_url(&media_type, &data),
        }),
        Some(Source::Url(url)) if !may_be_passed_on(&url) => Err(NOT_PASSED_ON),
        Some(Source::Url(_)) if kind == Kind::Chat => {
            Err("the API takes no addresses of documents")
        }
        Some(Source::Url(url)) => Ok(Media::FileUrl(url)),
        _ => Err(NOT_AT_HAND),
    }
}

struct Fit<'a> {
    request: &'a Request,
    quirks: &'a Quirks,
    kind: Kind,
    /// The names of the items that go out; none may stand twice.
    items: HashSet<String>,
    left_out: &'a mut LeftOut,
}

impl Fit<'_> {
    fn turn(&mut self, number: usize, turn: &Turn) -> Turn {
        let content = match &turn.content {
            Content::Blocks(blocks) if turn.role == Role::Assistant => {
                let own = same_maker(turn.model.as_deref(), &self.request.model);
                let fit = blocks
                    .iter()
                    .filter_map(|block| self.answer(number, own, block));
                let fit = fit.collect();
                Content::Blocks(self.without_idle_thoughts(number, fit))
            }
            Content::Blocks(blocks) => {
                let fit = blocks
                    .iter()
                    .filter_map(|block| self.question(number, turn.role, block));
                Content::Blocks(fit.collect())
            }
            content => content.clone(),
        };
        Turn {
            role: turn.role,
            content,
            model: None,
        }
    }

    /// A block of somebody else than the model.
    fn question(&mut self, number: usize, role: Role, block: &Block) -> Option<Block> {
        match block {
            Block::Text(text) => words(text).map(|text| bare(text, &[])),
            Block::ToolResult(result) => Some(self.result(number, result)),
            Block::ToolUse(_) => {
                self.left_out
                    .content(number, "a tool call", "it is not the model's");
                None
            }
            Block::Thinking(_) | Block::RedactedThinking(_) => {
                self.left_out.thought(number, "it is not the model's");
                None
            }
            Block::Image(_) | Block::Document(_) | Block::Other(_) => {
                self.attached(number, role, block)
            }
        }
    }

    /// A picture, a document or a block that nobody knows, of somebody else than the model.
    fn attached(&mut self, number: usize, role: Role, block: &Block) -> Option<Block> {
        if role == Role::System && self.kind == Kind::Chat {
            self.left_out
                .content(number, "a block", "instructions are text");
            return None;
        }
        match media(block, self.kind, self.quirks.files) {
            Ok(Media::Text(text)) if text.trim().is_empty() => None,
            Ok(_) => Some(block.clone()),
            Err((what, why)) => {
                self.left_out.content(number, what, why);
                None
            }
        }
    }

    fn result(&mut self, number: usize, result: &ToolResult) -> Block {
        let content = match &result.content {
            Content::Blocks(blocks) => {
                let fit = blocks.iter().filter_map(|block| {
                    if block.as_tool_result().is_some() {
                        self.left_out
                            .content(number, "a block", "its type is unknown");
                        return None;
                    }
                    self.question(number, Role::User, block)
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

    /// A block of the model; `own` says whether it reads its own thoughts again.
    fn answer(&mut self, number: usize, own: bool, block: &Block) -> Option<Block> {
        match block {
            Block::Text(text) => {
                let kept: &[&str] = if own {
                    &["item", "refusal"]
                } else {
                    &["refusal"]
                };
                words(text).map(|text| bare(text, kept))
            }
            Block::ToolUse(call) => {
                Some(Block::ToolUse(fit_call(call, number, NAMES, self.left_out)))
            }
            Block::ToolResult(result) => Some(self.result(number, result)),
            Block::Thinking(thought) => {
                let why = self.why_not_thought(thought, own);
                let Some(why) = why else {
                    return Some(block.clone());
                };
                self.left_out.thought(number, why);
                None
            }
            Block::RedactedThinking(_) => {
                self.left_out.thought(number, "it is of another provider");
                None
            }
            Block::Other(raw) if own && self.is_new_item(raw) && !names_a_file(raw) => {
                Some(Block::Other(mended(raw)))
            }
            Block::Image(_) | Block::Document(_) | Block::Other(_) => {
                let what = "a block of the model's answer";
                self.left_out
                    .content(number, what, "the API has no place for it");
                None
            }
        }
    }

    fn is_new_item(&mut self, raw: &Raw) -> bool {
        let Some(map) = raw.as_object().filter(|_| self.kind == Kind::Responses) else {
            return false;
        };
        let kind = word(&map, "type").unwrap_or_default();
        let id = word(&map, "id");
        is_item(&kind) && id.is_none_or(|id| self.items.insert(id))
    }

    /// Why a thought stays at home; `None` if its server wants to see it again.
    fn why_not_thought(&mut self, thought: &Thinking, own: bool) -> Option<&'static str> {
        if self.kind == Kind::Responses {
            let item = thought_item(thought).filter(|_| own);
            let id = item.and_then(|item| word(&item, "id"));
            return match id.map(|id| self.items.insert(id)) {
                Some(true) => None,
                Some(false) => Some("it stands before this already"),
                None => Some("it is of another provider, or unsealed"),
            };
        }
        let wanted = match self.quirks.thoughts {
            Thoughts::LeftOut => false,
            Thoughts::ReasoningContent => !thought.thinking.is_empty(),
            Thoughts::ReasoningDetails => details(thought).is_some(),
        };
        match (own, wanted) {
            (false, _) => Some("it is of another model"),
            (true, false) => Some("the API has no place for it"),
            (true, true) => None,
        }
    }

    /// A thought stands directly before what it led to, or it stays at home.
    fn without_idle_thoughts(&mut self, number: usize, mut blocks: Vec<Block>) -> Vec<Block> {
        let mut led = false;
        let mut kept = Vec::with_capacity(blocks.len());
        while let Some(block) = blocks.pop() {
            match &block {
                Block::Thinking(_) if !led => {
                    self.left_out.thought(number, "what it led to is missing");
                    continue;
                }
                Block::Thinking(_) => {}
                Block::ToolResult(_) => led = false,
                Block::Other(raw) => led = !is_output(raw),
                Block::Text(_)
                | Block::Image(_)
                | Block::ToolUse(_)
                | Block::RedactedThinking(_)
                | Block::Document(_) => led = true,
            }
            kept.push(block);
        }
        kept.reverse();
        kept
    }
}

fn words(block: &TextBlock) -> Option<&TextBlock> {
    (!block.text.as_str().trim().is_empty()).then_some(block)
}

/// A text with these of its other fields.
fn bare(block: &TextBlock, kept: &[&str]) -> Block {
    let mut extra = RawMap::new();
    for key in kept {
        if let Some(value) = block.extra.get(key) {
            extra.push(key, mended(value));
        }
    }
    Block::Text(TextBlock {
        text: block.text.clone(),
        extra,
    })
}

/// The details of a thought, as some servers of Chat Completions send them.
pub(crate) fn details(thought: &Thinking) -> Option<Vec<Raw>> {
    thought.extra.get("reasoning_details")?.as_array()
}

/// The item of the Responses API that a thought was. `None` where it is none of this API's, or came
/// without its sealed content: then there is nothing over there that its name could stand for.
pub(crate) fn thought_item(thought: &Thinking) -> Option<RawMap> {
    let seal = thought.signature.as_ref()?;
    let item = mended(thought.extra.get("item")?).as_object()?;
    let listed = item
        .get("summary")
        .filter(|summary| summary.as_str().starts_with('['));
    let mut out = RawMap::from([
        ("type", Raw::string("reasoning")),
        (
            "id",
            item.get("id").filter(|id| filled(id).is_some())?.clone(),
        ),
        (
            "summary",
            listed.cloned().unwrap_or_else(|| summary(thought)),
        ),
        ("encrypted_content", Raw::string(seal)),
    ]);
    let placed = |key: &Raw| key.as_string().is_some_and(|key| out.get(&key).is_some());
    let rest: RawMap = item.iter().filter(|(key, _)| !placed(key)).collect();
    out.extend(rest.iter());
    Some(out)
}

/// A summary of one part, or of none.
fn summary(thought: &Thinking) -> Raw {
    if thought.thinking.is_empty() {
        return Raw::array(&[]);
    }
    let text = Raw::string(&thought.thinking.as_str());
    let part = RawMap::from([("type", Raw::string("summary_text")), ("text", text)]);
    Raw::array(&[part.to_raw()])
}

/// Whether a block of unknown type is an item of the Responses API: the call of a tool that the
/// provider runs, or one of the few others. Calls that somebody here would have to answer are none:
/// nobody did.
fn is_item(kind: &str) -> bool {
    let ours = [
        "function_call",
        "custom_tool_call",
        "computer_call",
        "local_shell_call",
    ];
    let others = ["mcp_list_tools", "mcp_approval_request", "compaction"];
    let call = kind.strip_suffix("_output").unwrap_or(kind);
    (call.ends_with("_call") && !ours.contains(&call)) || others.contains(&kind)
}

/// Whether an item is what a tool gave, which no thought leads to.
fn is_output(raw: &Raw) -> bool {
    raw.kind().is_some_and(|kind| kind.ends_with("_output"))
}
