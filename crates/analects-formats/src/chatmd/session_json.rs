//! The plugin's own JSON.

use analects_core::{Block, Message};

pub(super) fn said(block: &Block) -> Option<Block> {
    Some(block.clone())
}

pub(super) fn foreign_item(_message: &Message) -> Option<()> {
    None
}
