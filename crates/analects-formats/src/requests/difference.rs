//! What a message loses in a request: the parts that differ when it is read back, by name. Also decides whether two JSON
//! texts have the same value.

use analects_core::{Block, Body, Content, Json, Message, Raw, RawMap};

use crate::Loss;

/// The reason for parts that the API does not have.
const NO_PLACE: &str = "there is no place for it";
/// The reason for parts that come back changed.
const NOT_EXACT: &str = "it cannot be said as it is";

/// Fields of a body that repeat what its blocks say.
const BODY_FIELDS: [&str; 4] = ["content", "block", "text", "stop_reason"];

/// Lists what a message loses if it is read back as `read`.
pub(super) fn difference(message: &Message, read: &Message) -> Vec<Loss> {
    if message == read {
        return Vec::new();
    }
    let mut comparison = Comparison {
        message,
        has_other_type: message.body.type_name() != read.body.type_name(),
        losses: Vec::new(),
    };
    if comparison.has_other_type {
        comparison.compare_blocks(read);
    }
    comparison.compare_fields(read);
    if comparison.losses.is_empty() {
        // Unknown fields may be repeated or in another order.
        comparison.lose("message", NOT_EXACT);
    }
    comparison.losses
}

/// Collects the differences between a message and what is read back.
struct Comparison<'a> {
    message: &'a Message,
    /// Whether the message comes back as another type, so that fields of the body differ anyway.
    has_other_type: bool,
    losses: Vec<Loss>,
}

impl Comparison<'_> {
    /// Adds a loss of the message.
    fn lose(&mut self, what: impl Into<String>, why: &str) {
        self.losses.push(Loss::of(&self.message.id, what, why));
    }

    /// Compares the content of messages of different types.
    fn compare_blocks(&mut self, read: &Message) {
        let becomes = format!("it becomes a message of type {}", read.body.type_name());
        self.lose(self.message.body.type_name(), &becomes);
        let wanted = blocks_as_json(self.message);
        let kept = blocks_as_json(read);
        if wanted != kept {
            self.compare_content(&wanted, &kept);
        }
    }

    /// Compares the fields in both directions: a field may be missing, changed, or come from nowhere.
    fn compare_fields(&mut self, read: &Message) {
        let wanted = fields_of(self.message);
        let kept = fields_of(read);
        for (key, value) in wanted.iter() {
            let name = key_name(key);
            let other = kept.get(&name);
            if other != Some(value) && !self.is_compared(&name) {
                self.compare_field(&name, value, other);
            }
        }
        for (key, _) in kept.iter() {
            let name = key.as_string().unwrap_or_default();
            if wanted.get(&name).is_none() && !self.is_compared(&name) {
                self.lose(name.clone(), why_position(&name));
            }
        }
    }

    /// Returns whether a field was compared as a part of the body.
    fn is_compared(&self, name: &str) -> bool {
        name == "type" || (self.has_other_type && BODY_FIELDS.contains(&name))
    }

    /// Reports a field that is missing or different.
    fn compare_field(&mut self, name: &str, value: &Raw, kept: Option<&Raw>) {
        match (name, kept) {
            ("id" | "parent_id", _) => self.lose(name, why_position(name)),
            ("content", Some(kept)) => self.compare_content(value, kept),
            ("extra", kept) => self.compare_extra(value, kept),
            (_, Some(_)) => self.lose(name, NOT_EXACT),
            (_, None) => self.lose(name, NO_PLACE),
        }
    }

    /// Reports each extra field that is missing or different.
    fn compare_extra(&mut self, wanted: &Raw, kept: Option<&Raw>) {
        let kept = kept.and_then(Raw::as_object).unwrap_or_default();
        for (key, value) in wanted.as_object().unwrap_or_default().iter() {
            let name = key_name(key);
            if kept.get(&name) != Some(value) {
                self.lose(format!("extra.{name}"), NO_PLACE);
            }
        }
    }

    /// Reports each block that is missing or different. If none is, their order differs.
    fn compare_content(&mut self, wanted: &Raw, kept: &Raw) {
        let (Some(wanted), Some(mut rest)) = (wanted.as_array(), kept.as_array()) else {
            self.lose("content", NOT_EXACT);
            return;
        };
        let mut is_complete = true;
        for block in &wanted {
            if let Some(at) = rest.iter().position(|kept| kept == block) {
                rest.remove(at);
                continue;
            }
            is_complete = false;
            let name = block_name(block);
            let why = if rest.iter().any(|kept| block_name(kept) == name) {
                NOT_EXACT
            } else {
                "there is no place for such a block; it is left out"
            };
            self.lose(name, why);
        }
        if is_complete {
            let why = "the blocks come back in another order, or others beside them";
            self.lose("order", why);
        }
    }
}

/// Explains why a field differs that depends on the position of the message.
fn why_position(name: &str) -> &'static str {
    match name {
        "parent_id" => "messages follow one another; branches have no place",
        "id" => "messages are named by their place",
        _ => "it cannot be said that there is none",
    }
}

/// Returns a message as the fields of its JSON.
fn fields_of(message: &Message) -> RawMap {
    RawMap::parse(&message.to_json()).unwrap_or_default()
}

/// Returns a key as text. A key that is not Unicode stays JSON.
fn key_name(key: &Raw) -> String {
    key.as_string().unwrap_or_else(|| key.as_str().to_string())
}

/// Returns the content of a message as blocks.
pub(super) fn blocks(message: &Message) -> Vec<Block> {
    let content = match &message.body {
        Body::ToolUse(call) => return vec![Block::ToolUse(call.clone())],
        Body::ToolResult(result) => return vec![Block::ToolResult(result.clone())],
        Body::Summary(summary) => Content::Text(summary.text.clone()),
        body @ (Body::System(_)
        | Body::User(_)
        | Body::Assistant(_)
        | Body::Progress(_)
        | Body::Attachment(_)
        | Body::Notification(_)
        | Body::CompactBoundary(_)
        | Body::Tombstone(_)
        | Body::Revision(_)
        | Body::State(_)
        | Body::Other(_)) => body.content().cloned().unwrap_or_default(),
    };
    match content {
        Content::Empty => Vec::new(),
        Content::Text(text) => vec![Block::from_text(text)],
        Content::Blocks(blocks) => blocks,
    }
}

/// Returns the content of a message as a JSON list, to compare messages of different types.
fn blocks_as_json(message: &Message) -> Raw {
    let blocks: Vec<Raw> = blocks(message)
        .iter()
        .map(|block| Raw::parse(&block.to_json()).unwrap_or_else(|_| Raw::empty_object()))
        .collect();
    Raw::array(&blocks)
}

/// Returns the type of a block, which names it in a loss.
fn block_name(block: &Raw) -> String {
    let fields = block.as_object();
    let name = fields.and_then(|fields| fields.get("type")?.as_string());
    name.unwrap_or_else(|| "block".to_string())
}

/// The nesting depth down to which the order of keys and the escapes of strings are ignored. Deeper values are the same
/// only if their texts are.
const DEPTH: usize = 12;

/// Returns whether two JSON texts have the same value.
pub(crate) fn same(left: &Raw, right: &Raw) -> bool {
    same_to(left, right, DEPTH)
}

/// Compares two values down to a depth.
fn same_to(left: &Raw, right: &Raw, depth: usize) -> bool {
    if left == right {
        return true;
    }
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    let first = left.as_str().as_bytes().first();
    if first != right.as_str().as_bytes().first() {
        return false;
    }
    match first {
        Some(b'{') => same_objects(left, right, depth),
        Some(b'[') => same_arrays(left, right, depth),
        Some(b'"') => left.as_string().is_some() && left.as_string() == right.as_string(),
        _ => false,
    }
}

/// Compares lists element by element.
fn same_arrays(left: &Raw, right: &Raw, depth: usize) -> bool {
    let (Some(left), Some(right)) = (left.as_array(), right.as_array()) else {
        return false;
    };
    let mut pairs = left.iter().zip(&right);
    left.len() == right.len() && pairs.all(|(left, right)| same_to(left, right, depth))
}

/// Compares objects in any order of their keys. Repeated keys must be in the same order.
fn same_objects(left: &Raw, right: &Raw, depth: usize) -> bool {
    let (Some(left), Some(right)) = (left.as_object(), right.as_object()) else {
        return false;
    };
    let left = sorted_entries(&left);
    let right = sorted_entries(&right);
    let mut pairs = left.iter().zip(&right);
    left.len() == right.len()
        && pairs.all(|(left, right)| left.0 == right.0 && same_to(&left.1, &right.1, depth))
}

/// Returns the entries sorted by key. Repeated keys keep their order.
fn sorted_entries(map: &RawMap) -> Vec<(String, Raw)> {
    let mut entries: Vec<(String, Raw)> = map
        .iter()
        .map(|(key, value)| (key_name(key), value.clone()))
        .collect();
    entries.sort_by(|left, right| left.0.cmp(&right.0));
    entries
}
