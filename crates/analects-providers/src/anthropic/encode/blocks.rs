//! One block of the core as one block of the API, or the reason why there is none.

use analects_core::{
    Block, Content, Document, Image, Raw, RawMap, Role, Text, TextBlock, Thinking, ToolResult,
    ToolUse, Turn,
};

use super::NAMES;
use super::settings::{is_anthropic, is_same_model};
use crate::outgoing::{
    LeftOut, NOT_PASSED_ON, fit_call, is_data, is_plain_char, may_be_passed_on, mended,
    names_a_file,
};

/// Why a picture or a document stays at home.
const NOT_IN_THIS_FORM: &str = "the API does not take it in this form";

/// A block on its way.
pub(super) enum Piece {
    /// Something that a role says.
    Said(Role, RawMap),
    /// A call, by the identifier that it has in the conversation.
    Call { id: String, block: RawMap },
    /// A result, by the identifier that its call has in the conversation.
    Answer { id: String, block: RawMap },
}

/// Who speaks, and what of it the API believes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Speaker {
    role: Role,
    turn: usize,
    /// Whether the asked model spoke, so that its thoughts are its own.
    same_model: bool,
    /// Whether a model of this provider spoke, so that blocks of its own making are known here.
    same_provider: bool,
}

/// A block of text; `None` if it is blank, which the API refuses.
pub(super) fn text_block(text: &str) -> Option<RawMap> {
    let is_blank = text.trim().is_empty();
    (!is_blank).then(|| RawMap::from([("type", Raw::string("text")), ("text", Raw::string(text))]))
}

/// An object of this type.
pub(super) fn typed(kind: &str) -> RawMap {
    RawMap::from([("type", Raw::string(kind))])
}

impl Speaker {
    /// Whoever gives instructions.
    pub fn system() -> Speaker {
        Speaker {
            role: Role::System,
            turn: 0,
            same_model: false,
            same_provider: false,
        }
    }

    /// Who speaks in a turn, to the model that is asked.
    pub fn of(index: usize, turn: &Turn, asked: &str) -> Speaker {
        let model = turn.model.as_deref().unwrap_or_default();
        let same_model = is_same_model(model, asked);
        let same_provider = same_model || is_anthropic(model);
        // Instructions in the middle are words of the user.
        let role = if turn.role == Role::Assistant {
            Role::Assistant
        } else {
            Role::User
        };
        Speaker {
            role,
            turn: index,
            same_model,
            same_provider,
        }
    }

    fn is_model(self) -> bool {
        self.role == Role::Assistant
    }

    /// A text that is a whole turn.
    pub fn words(self, text: &Text) -> Option<Piece> {
        Some(Piece::Said(self.role, text_block(&text.as_str())?))
    }

    /// A block, if the API takes it.
    pub fn block(self, block: &Block, left_out: &mut LeftOut) -> Option<Piece> {
        let said = |map| Piece::Said(self.role, map);
        match block {
            Block::Text(text) => self.text(text).map(said),
            Block::Image(_) | Block::Document(_) if self.is_model() => {
                left_out.content(
                    self.turn,
                    "a picture or document",
                    "the model may not send one",
                );
                None
            }
            Block::Image(image) => self.image(image, left_out).map(said),
            Block::Document(document) => self.document(document, left_out).map(said),
            Block::ToolUse(_) if !self.is_model() => {
                left_out.content(self.turn, "a call", "only the model calls tools");
                None
            }
            Block::ToolUse(call) => Some(self.call(call, left_out)),
            Block::ToolResult(result) => Some(self.result(result, left_out)),
            Block::Thinking(thought) => self.thought(thought, left_out).map(said),
            Block::RedactedThinking(thought) => {
                let mut map = typed("redacted_thinking");
                map.push("data", Raw::string(&thought.data));
                let whole = !thought.data.is_empty();
                self.own_thought(whole, left_out).then_some(map).map(said)
            }
            Block::Other(raw) => self.other(raw, left_out).map(said),
        }
    }

    /// Text with its mark for the cache and, from this provider's models, its sources.
    pub fn text(self, block: &TextBlock) -> Option<RawMap> {
        let mut map = text_block(&block.text.as_str())?;
        if self.is_model() && self.same_provider {
            keep(&mut map, &block.extra, &["citations"]);
        }
        keep_cache(&mut map, &block.extra);
        Some(map)
    }

    fn image(self, image: &Image, left_out: &mut LeftOut) -> Option<RawMap> {
        let Some(source) = image_source(&image.source) else {
            left_out.content(self.turn, "a picture", NOT_IN_THIS_FORM);
            return None;
        };
        let mut map = typed("image");
        map.push("source", source.to_raw());
        keep_cache(&mut map, &image.extra);
        Some(map)
    }

    fn document(self, document: &Document, left_out: &mut LeftOut) -> Option<RawMap> {
        let Some(source) = document_source(&document.source) else {
            left_out.content(self.turn, "a document", NOT_IN_THIS_FORM);
            return None;
        };
        let mut map = typed("document");
        map.push("source", source.to_raw());
        keep(
            &mut map,
            &document.extra,
            &["title", "context", "citations"],
        );
        keep_cache(&mut map, &document.extra);
        Some(map)
    }

    fn call(self, call: &ToolUse, left_out: &mut LeftOut) -> Piece {
        let fit = fit_call(call, self.turn, NAMES, left_out);
        let mut map = typed("tool_use");
        map.push("id", Raw::string(&call.id));
        map.push("name", Raw::string(&fit.name));
        map.push("input", fit.input);
        if self.same_provider {
            keep(&mut map, &call.extra, &["caller"]);
        }
        keep_cache(&mut map, &call.extra);
        Piece::Call {
            id: call.id.clone(),
            block: map,
        }
    }

    fn result(self, result: &ToolResult, left_out: &mut LeftOut) -> Piece {
        let mut map = typed("tool_result");
        map.push("tool_use_id", Raw::string(&result.tool_use_id));
        let failed = result.is_error == Some(true);
        match &result.content {
            Content::Empty => {}
            Content::Text(text) => map.push("content", Raw::string(&text.as_str())),
            Content::Blocks(blocks) => {
                let user = Speaker {
                    role: Role::User,
                    same_provider: false,
                    ..self
                };
                let inner = blocks
                    .iter()
                    .filter_map(|block| user.inside(block, failed, left_out));
                let inner: Vec<Raw> = inner.map(|map| map.to_raw()).collect();
                if !inner.is_empty() {
                    map.push("content", Raw::array(&inner));
                }
            }
        }
        if failed {
            map.push("is_error", true.into());
        }
        keep_cache(&mut map, &result.extra);
        Piece::Answer {
            id: result.tool_use_id.clone(),
            block: map,
        }
    }

    /// A block inside a result; one that reports a failure has text only.
    fn inside(self, block: &Block, failed: bool, left_out: &mut LeftOut) -> Option<RawMap> {
        let taken = match block {
            Block::Text(text) => return text_block(&text.text.as_str()),
            Block::Image(image) if !failed => self.image(image, left_out)?,
            Block::Document(document) if !failed => self.document(document, left_out)?,
            Block::Other(raw) if !failed && may_be_inside(raw) => mended(raw).as_object()?,
            Block::Image(_)
            | Block::Document(_)
            | Block::ToolUse(_)
            | Block::ToolResult(_)
            | Block::Thinking(_)
            | Block::RedactedThinking(_)
            | Block::Other(_) => {
                let why = "the API does not take it there";
                left_out.content(self.turn, "a block of a result", why);
                return None;
            }
        };
        // Inside a result there is no place for a mark for the cache.
        Some(without_cache(taken))
    }

    fn thought(self, thought: &Thinking, left_out: &mut LeftOut) -> Option<RawMap> {
        let seal = thought.signature.as_deref().unwrap_or_default();
        // A seal holds for these exact bytes, so nothing may be mended here.
        let whole = !seal.is_empty() && matches!(thought.thinking, Text::Plain(_));
        self.own_thought(whole, left_out).then(|| {
            let mut map = typed("thinking");
            map.push("thinking", Raw::string(&thought.thinking.as_str()));
            map.push("signature", Raw::string(seal));
            map
        })
    }

    /// Whether a thought goes back: whole, and to the model that had it.
    fn own_thought(self, whole: bool, left_out: &mut LeftOut) -> bool {
        let own = self.is_model() && self.same_model;
        if !own {
            left_out.thought(self.turn, "another model had it");
        } else if !whole {
            left_out.thought(self.turn, "it has no signature");
        }
        own && whole
    }

    fn other(self, raw: &Raw, left_out: &mut LeftOut) -> Option<RawMap> {
        let kind = kind_of(raw);
        // These are blocks of the core; one of them that lacks something is of no use to anybody.
        let broken = [
            "",
            "text",
            "image",
            "document",
            "thinking",
            "redacted_thinking",
        ];
        let broken = broken.contains(&&*kind) || ["tool_use", "tool_result"].contains(&&*kind);
        let allowed = match self.role {
            Role::Assistant => self.same_provider && !broken && kind != "search_result",
            _ => ["search_result", "container_upload"].contains(&&*kind),
        };
        let is_local = names_a_file(raw);
        let is_sent = allowed && !is_local && is_callable(raw, &kind);
        let map = mended(raw).as_object().filter(|_| is_sent);
        if map.is_none() {
            let what = format!("a block of type \"{kind}\"");
            let why = if is_local {
                NOT_PASSED_ON
            } else {
                "it is not of this API"
            };
            left_out.content(self.turn, &what, why);
        }
        map
    }
}

/// Whether a call of the provider's own tools is whole.
fn is_callable(raw: &Raw, kind: &str) -> bool {
    if kind != "server_tool_use" {
        return true;
    }
    let map = raw.as_object().unwrap_or_default();
    let id = map.string("id").unwrap_or_default();
    let name = map.string("name").unwrap_or_default();
    let has_input = map
        .get("input")
        .is_some_and(|input| input.as_str().starts_with('{'));
    has_input && NAMES.fit(&name) && !id.is_empty() && id.chars().all(is_plain_char)
}

fn kind_of(raw: &Raw) -> String {
    raw.kind().unwrap_or_default()
}

/// Whether a block of a type that the core does not know may stand inside a result.
fn may_be_inside(raw: &Raw) -> bool {
    ["search_result", "tool_reference"].contains(&&*kind_of(raw)) && !names_a_file(raw)
}

fn without_cache(mut map: RawMap) -> RawMap {
    map.remove("cache_control");
    map
}

fn keep(map: &mut RawMap, extra: &RawMap, names: &[&str]) {
    for name in names {
        if let Some(value) = extra.get(name).filter(|value| value.as_str() != "null") {
            map.push(name, mended(value));
        }
    }
}

/// Keeps the mark for the cache, if it is one.
fn keep_cache(map: &mut RawMap, extra: &RawMap) {
    let mark = extra
        .get("cache_control")
        .filter(|value| kind_of(value) == "ephemeral");
    if let Some(mark) = mark {
        map.push("cache_control", mark.clone());
    }
}

/// A source with the members that the API knows, in its order.
fn source(raw: &Raw, kind: &str, members: &[&str]) -> Option<RawMap> {
    let given = raw.as_object()?;
    let mut map = typed(kind);
    for member in members {
        map.push(member, Raw::string(&given.string(member)?));
    }
    Some(map)
}

fn media_type(raw: &Raw) -> String {
    raw.as_object()
        .and_then(|map| map.string("media_type"))
        .unwrap_or_default()
}

fn image_source(raw: &Raw) -> Option<RawMap> {
    let types = ["image/jpeg", "image/png", "image/gif", "image/webp"];
    match kind_of(raw).as_str() {
        "base64" if types.contains(&&*media_type(raw)) => {
            source(raw, "base64", &["media_type", "data"]).filter(holds_data)
        }
        "url" => source(raw, "url", &["url"]).filter(is_passed_on),
        // A file of this disk has a path instead; whoever reads files has put its bytes there by now.
        "file" => source(raw, "file", &["file_id"]).filter(is_uploaded),
        _ => None,
    }
}

fn is_passed_on(source: &RawMap) -> bool {
    source
        .string("url")
        .is_some_and(|url| may_be_passed_on(&url))
}

fn holds_data(source: &RawMap) -> bool {
    source.string("data").is_some_and(|data| is_data("", &data))
}

/// Whether a file is named as the API names those that were uploaded to it.
fn is_uploaded(source: &RawMap) -> bool {
    source
        .string("file_id")
        .is_some_and(|id| id.chars().all(is_plain_char))
}

fn document_source(raw: &Raw) -> Option<RawMap> {
    match (kind_of(raw).as_str(), media_type(raw).as_str()) {
        ("base64", "application/pdf") => {
            source(raw, "base64", &["media_type", "data"]).filter(holds_data)
        }
        ("text", "text/plain") => source(raw, "text", &["media_type", "data"]),
        ("url", _) => source(raw, "url", &["url"]).filter(is_passed_on),
        ("file", _) => source(raw, "file", &["file_id"]).filter(is_uploaded),
        ("content", _) if !names_a_file(raw) => {
            let mut map = typed("content");
            map.push("content", mended(raw.as_object()?.get("content")?));
            Some(map)
        }
        _ => None,
    }
}
