//! A message in the making.

use std::borrow::Cow;

use analects_core::{Block, Body, Content, Message, StopReason, Text};

use super::cell::Read;
use super::known::CellsHash;
use crate::msgfile::Cell;

/// A message in the making: its blocks come from several cells.
#[derive(Clone)]
pub(super) struct Draft<'a> {
    pub(super) message: Message,
    /// The name of the cell that says what is known of it.
    pub(super) name: Cow<'a, str>,
    pub(super) cell: Cell<'a>,
    /// Its other cells.
    pub(super) parts: Vec<Cell<'a>>,
    pub(super) blocks: Vec<Block>,
    pub(super) shape: Option<Shape>,
    /// Whether its blocks are put together at the end.
    pub(super) open: bool,
}

/// How the first cell of a message says its content is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Empty,
    Text,
    Blocks,
    Other,
}

impl Shape {
    pub(super) fn of(word: &str) -> Shape {
        match word {
            "empty" => Shape::Empty,
            "text" => Shape::Text,
            "blocks" => Shape::Blocks,
            _ => Shape::Other,
        }
    }
}

impl Draft<'_> {
    /// The hash of its cells.
    pub(super) fn hash(&self) -> CellsHash {
        let mut cells = self.parts.clone();
        cells.push(self.cell);
        cells.sort_unstable_by_key(|cell| cell.at);
        CellsHash::of(cells)
    }

    /// Whether a cell can be a part of this message: both are of the same side.
    pub(super) fn takes(&self, read: &Read<'_>) -> bool {
        match self.message.body {
            Body::User(_) => read.is_users(),
            Body::Assistant(_) => !read.is_users(),
            Body::System(_)
            | Body::ToolUse(_)
            | Body::ToolResult(_)
            | Body::Progress(_)
            | Body::Attachment(_)
            | Body::Notification(_)
            | Body::Summary(_)
            | Body::CompactBoundary(_)
            | Body::Tombstone(_)
            | Body::Revision(_)
            | Body::State(_)
            | Body::Other(_) => self.open,
        }
    }
}

/// Puts the blocks of a message together.
pub(super) fn close(draft: Draft<'_>) -> Message {
    let Draft { mut message, blocks, shape, .. } = draft;
    let calls = blocks.iter().any(|block| matches!(block, Block::ToolUse(_)));
    let is_answer = matches!(message.body, Body::Assistant(_));
    let content = match (shape, blocks) {
        (Some(Shape::Empty), _) => Content::Empty,
        (Some(Shape::Text), blocks) => Content::Text(text_of(blocks)),
        (Some(_), blocks) => Content::Blocks(blocks),
        (None, blocks) if is_answer || blocks.len() > 1 => Content::Blocks(blocks),
        (None, blocks) if matches!(blocks.as_slice(), [Block::Text(_)]) => {
            Content::Text(text_of(blocks))
        }
        (None, blocks) if blocks.is_empty() => Content::Empty,
        (None, blocks) => Content::Blocks(blocks),
    };
    match &mut message.body {
        Body::User(body) => body.content = content,
        Body::System(body) => body.content = content,
        Body::Attachment(body) => body.content = content,
        Body::Notification(body) => body.content = content,
        Body::Assistant(body) => {
            body.content = content;
            if body.stop_reason.is_none() && !message.is_api_error_message {
                body.stop_reason =
                    Some(if calls { StopReason::ToolUse } else { StopReason::EndTurn });
            }
            body.stop_reason = body.stop_reason.take().filter(|reason| !reason.as_str().is_empty());
        }
        Body::ToolUse(_)
        | Body::ToolResult(_)
        | Body::Progress(_)
        | Body::Summary(_)
        | Body::CompactBoundary(_)
        | Body::Tombstone(_)
        | Body::Revision(_)
        | Body::State(_)
        | Body::Other(_) => {}
    }
    message
}

fn text_of(blocks: Vec<Block>) -> Text {
    let Some(Block::Text(block)) = blocks.into_iter().next() else { return Text::default() };
    block.text
}
