//! What of a message is lost: what it says and what is read back do not say alike, by name. And
//! whether two JSON texts have the same value at all.

use analects_core::{Block, Body, Content, Json, Message, Raw, RawMap};

use super::array;
use crate::Loss;

const NO_PLACE: &str = "there is no place for it";

/// What `read` does not say of `wanted`. Both have the same name and place.
pub(super) fn difference(wanted: &Message, read: &Message) -> Vec<Loss> {
    let mut losses = Vec::new();
    if wanted == read {
        return losses;
    }
    let mut lose = |what: String, why: &str| losses.push(Loss::of(&wanted.id, what, why));
    let fields = |message: &Message| RawMap::parse(&message.to_json()).unwrap_or_default();
    let (said, kept) = (fields(wanted), fields(read));
    let (kind, other) = (wanted.body.type_name(), read.body.type_name());
    if kind != other {
        lose(
            kind.to_string(),
            &format!("it becomes a message of type {other}"),
        );
        let blocks = |message: &Message| array(blocks(message).iter().map(raw));
        let (said, kept) = (blocks(wanted), blocks(read));
        if said != kept {
            content(&said, &kept, &mut lose);
        }
    }
    // What a message of another type says otherwise has been compared block by block.
    let is_done = |name: &str| name == "type" || (kind != other && BODY.contains(&name));
    for (key, value) in said.iter() {
        let name = key.as_string().unwrap_or_else(|| key.as_str().to_string());
        match kept.get(&name) {
            Some(same) if same == value => {}
            _ if is_done(&name) => {}
            _ if name == "id" || name == "parent_id" => lose(name.clone(), place(&name)),
            Some(other) if name == "content" => content(value, other, &mut lose),
            other if name == "extra" => extra(value, other, &mut lose),
            Some(_) => lose(name, "it cannot be said as it is"),
            None => lose(name, NO_PLACE),
        }
    }
    for (key, _) in kept.iter() {
        let name = key.as_string().unwrap_or_default();
        if said.get(&name).is_none() && !is_done(&name) {
            lose(name.clone(), place(&name));
        }
    }
    if losses.is_empty() {
        // Fields that nobody knows may stand twice, or in another order.
        losses.push(Loss::of(
            &wanted.id,
            "message",
            "it cannot be said as it is",
        ));
    }
    losses
}

/// Fields of a body that say what its blocks say.
const BODY: [&str; 4] = ["content", "block", "text", "stop_reason"];

/// Why a field comes back otherwise that has to do with a message's place.
fn place(name: &str) -> &'static str {
    match name {
        "parent_id" => "messages follow one another; branches have no place",
        "id" => "messages are named by their place",
        _ => "it cannot be said that there is none",
    }
}

/// What a message says, as blocks.
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

fn raw(block: &Block) -> Raw {
    Raw::parse(&block.to_json()).unwrap_or_else(|_| Raw::empty_object())
}

fn extra(said: &Raw, kept: Option<&Raw>, lose: &mut impl FnMut(String, &str)) {
    let kept = kept.and_then(Raw::as_object).unwrap_or_default();
    for (key, value) in said.as_object().unwrap_or_default().iter() {
        let name = key.as_string().unwrap_or_else(|| key.as_str().to_string());
        if kept.get(&name) != Some(value) {
            lose(format!("extra.{name}"), NO_PLACE);
        }
    }
}

fn content(said: &Raw, kept: &Raw, lose: &mut impl FnMut(String, &str)) {
    let (Some(said), Some(kept)) = (said.as_array(), kept.as_array()) else {
        return lose("content".to_string(), "it cannot be said as it is");
    };
    let mut rest = kept.clone();
    let mut found = false;
    for block in &said {
        match rest.iter().position(|kept| kept == block) {
            Some(at) => {
                rest.remove(at);
            }
            None => {
                found = true;
                let name = block_name(block);
                match rest.iter().position(|kept| block_name(kept) == name) {
                    Some(_) => lose(name, "it cannot be said as it is"),
                    None => lose(name, "there is no place for such a block; it is left out"),
                }
            }
        }
    }
    if !found {
        lose(
            "order".to_string(),
            "the blocks come back in another order, or others beside them",
        );
    }
}

fn block_name(block: &Raw) -> String {
    let kind = block
        .as_object()
        .and_then(|fields| fields.get("type")?.as_string());
    kind.unwrap_or_else(|| "block".to_string())
}

/// How deep the order of keys and the spelling of strings are looked through. What lies deeper came from the
/// same text, or is taken for different.
const DEPTH: usize = 12;

/// Whether both are the same value.
pub(crate) fn same(left: &Raw, right: &Raw) -> bool {
    same_to(left, right, DEPTH)
}

fn same_to(left: &Raw, right: &Raw, depth: usize) -> bool {
    if left == right {
        return true;
    }
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    match (
        left.as_str().as_bytes().first(),
        right.as_str().as_bytes().first(),
    ) {
        (Some(b'{'), Some(b'{')) => same_objects(left, right, depth),
        (Some(b'['), Some(b'[')) => same_arrays(left, right, depth),
        (Some(b'"'), Some(b'"')) => left
            .as_string()
            .is_some_and(|left| Some(left) == right.as_string()),
        _ => false,
    }
}

fn same_arrays(left: &Raw, right: &Raw, depth: usize) -> bool {
    let (Some(left), Some(right)) = (left.as_array(), right.as_array()) else {
        return false;
    };
    let mut pairs = left.iter().zip(&right);
    left.len() == right.len() && pairs.all(|(left, right)| same_to(left, right, depth))
}

/// Repeated keys count each; what has some must have them in the same order.
fn same_objects(left: &Raw, right: &Raw, depth: usize) -> bool {
    let (Some(left), Some(right)) = (left.as_object(), right.as_object()) else {
        return false;
    };
    let sorted = |map: &analects_core::RawMap| {
        let entry = |(key, value): (&Raw, &Raw)| {
            (
                key.as_string().unwrap_or_else(|| key.as_str().to_string()),
                value.clone(),
            )
        };
        let mut entries: Vec<(String, Raw)> = map.iter().map(entry).collect();
        entries.sort_by(|left, right| left.0.cmp(&right.0));
        entries
    };
    let (left, right) = (sorted(&left), sorted(&right));
    let mut pairs = left.iter().zip(&right);
    left.len() == right.len()
        && pairs.all(|(left, right)| left.0 == right.0 && same_to(&left.1, &right.1, depth))
}
