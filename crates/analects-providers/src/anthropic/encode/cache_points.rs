//! Marks in a prompt up to which the provider caches it.

use analects_core::{Raw, RawMap};

use super::message::AnthropicMessage;
use crate::decoding::list_member;
use crate::encoding::EncodeProblems;

/// The field of a block, a tool or the whole body that marks the end of a cached prefix.
pub(super) const CACHE_CONTROL: &str = "cache_control";

/// The API's limit.
const MAX_CACHE_POINTS: usize = 4;

/// Keeps as many marks as the API allows, from the end. Those of the metadata always stay.
pub(super) fn limit(
    system: &mut [RawMap],
    messages: &mut [AnthropicMessage],
    metadata: &RawMap,
    problems: &mut EncodeProblems,
) {
    let mut marked: Vec<&mut RawMap> = Vec::new();
    marked.extend(system.iter_mut().filter(|block| is_marked(block)));
    for message in messages {
        let blocks = message.results.iter_mut().chain(&mut message.content);
        marked.extend(blocks.filter(|block| is_marked(block)));
    }
    let total = marked.len() + count_fixed(metadata);
    let surplus = total.saturating_sub(MAX_CACHE_POINTS);
    for block in marked.into_iter().take(surplus) {
        block.remove(CACHE_CONTROL);
    }
    if surplus > 0 {
        let why = "the API takes four marks, and the last are kept";
        problems.omit_setting(CACHE_CONTROL, why);
    }
}

/// The number of marks in the metadata: on its tools, and on the body as a whole.
fn count_fixed(metadata: &RawMap) -> usize {
    let tools = list_member(metadata, "tools");
    let tools = tools.iter().filter_map(Raw::as_object);
    tools.filter(is_marked).count() + usize::from(is_marked(metadata))
}

/// Whether an object has a cache point.
fn is_marked(map: &RawMap) -> bool {
    map.get(CACHE_CONTROL).is_some()
}
