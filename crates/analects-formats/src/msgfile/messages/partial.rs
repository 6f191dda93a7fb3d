//! A message that is being assembled from its cells: what the attributes of its head say about it, and how the blocks
//! of its cells become its content.

use std::borrow::Cow;
use std::str::FromStr;

use analects_core::{Block, Body, Content, History, Message, Raw, StopReason, Text, TokenUsage};

use super::describe::read_tokens;
use super::known::CellsHash;
use crate::msgfile::owners::whole_of;
use crate::msgfile::role::names_author;
use crate::msgfile::{Cell, CellKind, CellRole, MetaKey};

/// A message that is being assembled; its blocks may come from several cells.
#[derive(Clone)]
pub(super) struct PartialMessage<'a> {
    pub(super) message: Message,
    /// The name of its head: the cell whose attributes describe the message.
    pub(super) name: Cow<'a, str>,
    /// Its head.
    pub(super) cell: Cell<'a>,
    /// Its other cells.
    pub(super) parts: Vec<Cell<'a>>,
    pub(super) blocks: Vec<Block>,
    pub(super) shape: Option<ContentShape>,
    /// Whether [`assemble`] builds the content from the blocks. Not so for a message that a cell holds as JSON, and
    /// for one that no cell says.
    pub(super) is_assembled: bool,
}

/// The value of a head's `content=`: how the message held its content before it became cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ContentShape {
    Empty,
    Text,
    Blocks,
    /// Any other value; it counts as blocks.
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

impl<'a> PartialMessage<'a> {
    /// A message that is complete as it is, with this cell as its head.
    pub(super) fn complete(message: Message, head: &CellView<'a>) -> PartialMessage<'a> {
        PartialMessage {
            message,
            name: head.name.clone(),
            cell: head.cell,
            parts: Vec::new(),
            blocks: Vec::new(),
            shape: None,
            is_assembled: false,
        }
    }

    /// All its cells, the head last.
    pub(super) fn cells(&self) -> impl Iterator<Item = Cell<'a>> + Clone {
        self.parts.iter().copied().chain([self.cell])
    }

    /// The hash of its cells, in the order of the file.
    pub(super) fn hash(&self) -> CellsHash {
        let mut cells: Vec<Cell<'_>> = self.cells().collect();
        cells.sort_unstable_by_key(|cell| cell.at);
        CellsHash::of(cells)
    }

    /// Whether a cell can be a part of this message: both must be on the same side of the conversation.
    pub(super) fn can_take(&self, view: &CellView<'_>) -> bool {
        match self.message.body {
            // JSON is an output on both sides.
            Body::User(_) => {
                view.is_on_user_side()
                    || view.role() == CellRole::Block && view.cell.part().is_some()
            }
            Body::Assistant(_) => !view.is_on_user_side(),
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
            | Body::Other(_) => self.is_assembled,
        }
    }
}

/// Puts the blocks of a message together as its content.
pub(super) fn assemble(partial: PartialMessage<'_>) -> Message {
    let mut message = partial.message;
    let makes_calls = partial
        .blocks
        .iter()
        .any(|block| matches!(block, Block::ToolUse(_)));
    let is_answer = matches!(message.body, Body::Assistant(_));
    let content = content_of(partial.shape, partial.blocks, is_answer);
    if let Some(place) = content_mut(&mut message.body) {
        *place = content;
    }
    complete_stop_reason(&mut message, makes_calls);
    message
}

/// The content made of these blocks. Without a shape, an answer is blocks, and one text of a person is just text.
fn content_of(shape: Option<ContentShape>, blocks: Vec<Block>, is_answer: bool) -> Content {
    match shape {
        Some(ContentShape::Empty) => return Content::Empty,
        Some(ContentShape::Text) => return Content::Text(first_text(blocks)),
        Some(ContentShape::Blocks | ContentShape::Other) => return Content::Blocks(blocks),
        None => {}
    }
    if is_answer {
        return Content::Blocks(blocks);
    }
    match blocks.as_slice() {
        [] => Content::Empty,
        [Block::Text(_)] => Content::Text(first_text(blocks)),
        _ => Content::Blocks(blocks),
    }
}

fn first_text(blocks: Vec<Block>) -> Text {
    match blocks.into_iter().next() {
        Some(Block::Text(block)) => block.text,
        _ => Text::default(),
    }
}

/// The content of a body that is built of blocks.
fn content_mut(body: &mut Body) -> Option<&mut Content> {
    match body {
        Body::User(body) => Some(&mut body.content),
        Body::System(body) => Some(&mut body.content),
        Body::Attachment(body) => Some(&mut body.content),
        Body::Notification(body) => Some(&mut body.content),
        Body::Assistant(body) => Some(&mut body.content),
        Body::ToolUse(_)
        | Body::ToolResult(_)
        | Body::Progress(_)
        | Body::Summary(_)
        | Body::CompactBoundary(_)
        | Body::Tombstone(_)
        | Body::Revision(_)
        | Body::State(_)
        | Body::Other(_) => None,
    }
}

/// Adds the stop reason that cells leave out because it is the usual one.
fn complete_stop_reason(message: &mut Message, makes_calls: bool) {
    let is_error = message.is_api_error_message;
    let Body::Assistant(body) = &mut message.body else {
        return;
    };
    let usual = if makes_calls {
        StopReason::ToolUse
    } else {
        StopReason::EndTurn
    };
    let reason = body.stop_reason.take().or((!is_error).then_some(usual));
    // `stop_reason=""` means that the message has none.
    body.stop_reason = reason.filter(|reason| !reason.as_str().is_empty());
}

/// A cell with its name and its text, which are needed more than once.
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

    /// The value of an attribute as an owned string.
    pub(super) fn string(&self, key: MetaKey) -> Option<String> {
        self.get(key).map(str::to_string)
    }

    /// The value of an attribute, parsed; `None` if it is missing or cannot be parsed.
    pub(super) fn parsed<T: FromStr>(&self, key: MetaKey) -> Option<T> {
        self.get(key)?.parse().ok()
    }

    /// The media type of an output that holds bytes as base64.
    pub(super) fn binary_type(&self) -> Option<&'a str> {
        let says_base64 = self.get(MetaKey::Encoding) == Some("base64");
        let is_base64 = match self.cell.attached() {
            Some(_) => self.cell.attached_binary().is_some(),
            None => self.is_output() && says_base64 && !self.cell.is_elsewhere(),
        };
        self.get(MetaKey::MimeType).filter(|_| is_base64)
    }

    pub(super) fn is_output(&self) -> bool {
        self.cell.kind() == CellKind::Output
    }

    /// Whether it is on the person's side of the conversation: what a person writes, and the results of tools.
    pub(super) fn is_on_user_side(&self) -> bool {
        !self.is_output() || self.role() == CellRole::ToolResult
    }

    /// The id of the cell that this one's own id makes it a call or another part of.
    pub(super) fn whole_id(&self) -> Option<&str> {
        if self.role() == CellRole::ToolCall {
            return self.name.rsplit_once('.').map(|(whole, _)| whole);
        }
        whole_of(&self.name).filter(|_| self.role().is_part_of_speech())
    }
}

/// Reads the attributes that any head may have into its message.
pub(super) fn read_attributes(head: &CellView<'_>, message: &mut Message) {
    message.history = head.cell.history().unwrap_or_default();
    message.created_at = head.parsed(MetaKey::Time);
    message.agent_id = head.string(MetaKey::AgentId);
    message.author = author_of(head);
    message.model = head.string(MetaKey::Model);
    message.response_id = head.string(MetaKey::ResponseId);
    message.cost_usd = head.parsed(MetaKey::Cost);
    message.duration_ms = head.get(MetaKey::Duration).and_then(milliseconds);
    message.usage = usage_of(head).map(Box::new);
    message.is_api_error_message = head.cell.is_failed();
    let summary = head.get(MetaKey::Summary);
    if let Some(summary) = summary.filter(|_| message.history != History::Include) {
        message.extra.push("summary", Raw::string(summary));
    }
    if let Body::Assistant(body) = &mut message.body {
        body.stop_reason = head.cell.stop_reason().map(StopReason::from);
    }
}

/// The token counts of a head; `None` if it has none. A count of its own overrides the one in `tokens=`.
fn usage_of(head: &CellView<'_>) -> Option<TokenUsage> {
    let tokens = head.get(MetaKey::Tokens).and_then(read_tokens);
    let usage = TokenUsage {
        input_tokens: head
            .parsed(MetaKey::InputTokens)
            .or(tokens.map(|(input, _)| input)),
        output_tokens: head
            .parsed(MetaKey::OutputTokens)
            .or(tokens.map(|(_, output)| output)),
        cache_read_input_tokens: head.parsed(MetaKey::CacheReadTokens),
        cache_creation_input_tokens: head.parsed(MetaKey::CacheCreationTokens),
        reasoning_tokens: head.parsed(MetaKey::ReasoningTokens),
        ..TokenUsage::default()
    };
    (!usage.is_empty()).then_some(usage)
}

/// The author of a message: `author=`, or else the type word of a reply.
fn author_of(head: &CellView<'_>) -> Option<String> {
    let author = head
        .string(MetaKey::Author)
        .or_else(|| author_in_type_word(head));
    author.filter(|author| !author.is_empty())
}

fn author_in_type_word(head: &CellView<'_>) -> Option<String> {
    let word = head.cell.written_type()?;
    (head.is_output() && names_author(word)).then(|| word.to_string())
}

/// Reads `1.5s` as 1500; `None` for anything but a reasonable number of seconds.
fn milliseconds(duration: &str) -> Option<u64> {
    let seconds: f64 = duration.strip_suffix('s')?.parse().ok()?;
    (0.0..1e12)
        .contains(&seconds)
        .then(|| (seconds * 1000.0).round() as u64)
}
