//! Items as the turns of a request.

use analects_core::{Problem, Sendable, Turn, sendable};

use crate::normalize::Item;

/// The turns of the items that are kept, as every provider accepts them, and what was mended for that.
pub(super) fn turns(items: &[Item]) -> (Vec<Turn>, Vec<Problem>) {
    let kept = items.iter().filter(|item| !item.content.is_empty());
    let Sendable { turns, mended, .. } = sendable(kept.map(Item::to_turn).collect());
    (turns, mended)
}
