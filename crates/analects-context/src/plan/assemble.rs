//! Items as the turns of a request, as every provider accepts them.

use analects_core::{Sendable, sendable};

use crate::normalize::Item;

/// The turns of the items that are kept.
pub(super) fn of(items: &[Item]) -> Sendable {
    let kept = items.iter().filter(|item| !item.content.is_empty());
    sendable(kept.map(Item::to_turn).collect())
}

/// The turns of all items, whose contents move there.
pub(super) fn from(items: &mut [Item]) -> Sendable {
    sendable(items.iter_mut().map(Item::take_turn).collect())
}
