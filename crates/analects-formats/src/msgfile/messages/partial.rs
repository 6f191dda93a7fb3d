//! A message in the making: a cell read for it, what any cell may say about it, and its blocks put together.

use std::borrow::Cow;

use analects_core::{Block, Body, Content, History, Message, Raw, StopReason, Text, TokenUsage};

use super::describe::read_tokens;
use super::known::CellsHash;
use crate::msgfile::owners::whole_of;
use crate::msgfile::role::names_author;
use crate::msgfile::{Cell, CellKind, CellRole, MetaKey};

/// A message in the making: its blocks come from several cells.
#[derive(Clone)]
pub(super) struct PartialMessage<'a> {
    pub(super) message: Message,
    /// The name of the cell that says what is known of it.
    pub(super) name: Cow<'a, str>,
    pub(super) cell: Cell<'a>,
    /// Its other cells.
    pub(super) parts: Vec<Cell<'a>>,
    pub(super) blocks: Vec<Block>,
    pub(super) shape: Option<ContentShape>,
    /// Whether its blocks are put together at the end.
    pub(super) open: bool,
}

/// How the first cell of a message says its content is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ContentShape {
    Empty,
    Text,
    Blocks,
    Other,
}

impl ContentShape {
    pub(super) fn of(word: &str) -> ContentShape {
        match word {
            "empty" => ContentShape::Empty,
            "text" => ContentShape::Text,
            "blocks" => ContentShape::Blocks,
            _ => ContentShape::Other,
        }
    }
}

impl PartialMessage<'_> {
    /// The hash of its cells.
    pub(super) fn hash(&self) -> CellsHash {
        let mut cells = self.parts.clone();
        cells.push(self.cell);
        cells.sort_unstable_by_key(|cell| cell.at);
        CellsHash::of(cells)
    }

    /// Whether a cell can be a part of this message: both are of the same side.
    pub(super) fn takes(&self, read: &CellView<'_>) -> bool {
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
pub(super) fn close(draft: PartialMessage<'_>) -> Message {
    let PartialMessage {
        mut message,
        blocks,
        shape,
        ..
    } = draft;
    let calls = blocks
        .iter()
        .any(|block| matches!(block, Block::ToolUse(_)));
    let is_answer = matches!(message.body, Body::Assistant(_));
    let content = match (shape, blocks) {
        (Some(ContentShape::Empty), _) => Content::Empty,
        (Some(ContentShape::Text), blocks) => Content::Text(text_of(blocks)),
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
                body.stop_reason = Some(if calls {
                    StopReason::ToolUse
                } else {
                    StopReason::EndTurn
                });
            }
            body.stop_reason = body
                .stop_reason
                .take()
                .filter(|reason| !reason.as_str().is_empty());
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
    let Some(Block::Text(block)) = blocks.into_iter().next() else {
        return Text::default();
    };
    block.text
}

/// A cell with what is read of it more than once.
pub(super) struct CellView<'a> {
    pub(super) cell: Cell<'a>,
    pub(super) name: Cow<'a, str>,
    pub(super) text: Cow<'a, str>,
}

impl<'a> CellView<'a> {
    pub(super) fn new(cell: Cell<'a>) -> CellView<'a> {
        CellView {
            cell,
            name: cell.name(),
            text: cell.content(),
        }
    }

    pub(super) fn role(&self) -> CellRole {
        self.cell.role()
    }

    pub(super) fn get(&self, key: MetaKey) -> Option<&'a str> {
        self.cell.get(key)
    }

    /// The media type of an output that says that it is bytes in base64.
    pub(super) fn binary_type(&self) -> Option<&'a str> {
        let is_base64 = self.is_output() && self.get(MetaKey::Encoding) == Some("base64");
        self.get(MetaKey::MimeType).filter(|_| is_base64)
    }

    pub(super) fn is_output(&self) -> bool {
        self.cell.kind() == CellKind::Output
    }

    /// Whether it stands on the person's side of the conversation: what a person writes, and the
    /// results of tools.
    pub(super) fn is_users(&self) -> bool {
        !self.is_output() || self.role() == CellRole::ToolResult
    }

    /// The id of the cell that it is a call or another part of, by its own id.
    pub(super) fn whole_id(&self) -> Option<&str> {
        if self.role() == CellRole::ToolCall {
            return self.name.rsplit_once('.').map(|(whole, _)| whole);
        }
        whole_of(&self.name).filter(|_| self.role().is_part_of_speech())
    }
}

/// Reads what any cell may say about its message.
pub(super) fn read_shared(read: &CellView<'_>, message: &mut Message) {
    let string = |key| read.get(key).map(str::to_string);
    let number = |key| read.get(key).and_then(|value| value.parse().ok());
    let tokens = read.get(MetaKey::Tokens).and_then(read_tokens);
    let usage = TokenUsage {
        input_tokens: number(MetaKey::InputTokens).or(tokens.map(|(input, _)| input)),
        output_tokens: number(MetaKey::OutputTokens).or(tokens.map(|(_, output)| output)),
        cache_read_input_tokens: number(MetaKey::CacheReadTokens),
        cache_creation_input_tokens: number(MetaKey::CacheCreationTokens),
        reasoning_tokens: number(MetaKey::ReasoningTokens),
        ..TokenUsage::default()
    };
    message.history = read.cell.history().unwrap_or_default();
    message.created_at = read.get(MetaKey::Time).and_then(|time| time.parse().ok());
    message.agent_id = string(MetaKey::AgentId);
    message.author = string(MetaKey::Author).or_else(|| default_author(read));
    message.author = message.author.take().filter(|author| !author.is_empty());
    message.model = string(MetaKey::Model);
    message.response_id = string(MetaKey::ResponseId);
    message.cost_usd = read.get(MetaKey::Cost).and_then(|value| value.parse().ok());
    message.duration_ms = read.get(MetaKey::Duration).and_then(milliseconds);
    message.usage = (!usage.is_empty()).then(|| Box::new(usage));
    message.is_api_error_message = read.cell.is_failed();
    let summary = read.get(MetaKey::Summary);
    if let Some(summary) = summary.filter(|_| message.history != History::Include) {
        message.extra.push("summary", Raw::string(summary));
    }
    if let Body::Assistant(body) = &mut message.body {
        body.stop_reason = read.cell.stop_reason().map(StopReason::from);
    }
}

/// The author of a reply is its type word.
fn default_author(read: &CellView<'_>) -> Option<String> {
    let word = read.cell.written_type()?;
    (read.is_output() && names_author(word)).then(|| word.to_string())
}

fn milliseconds(duration: &str) -> Option<u64> {
    let seconds: f64 = duration.strip_suffix('s')?.parse().ok()?;
    (0.0..1e12)
        .contains(&seconds)
        .then(|| (seconds * 1000.0).round() as u64)
}
