//! The outline of a session: its records without their content, which is all that the verbs need of a conversation of any
//! length.

use std::ops::ControlFlow;

use analects_core::verbs::revised_in_full;
use analects_core::{
    Block, Body, Content, Link, Message, MessageId, Raw, RawMap, SessionId, StateChange, Text,
    ToolUse,
};
use analects_formats::transcript::read_line;

use super::{ChainName, ChainRow, RecordPosition, TranscriptStore};
use crate::StoreError;

/// The messages of a session without their texts, with their revisions applied.
#[derive(Debug, Default)]
pub(super) struct Outline {
    /// The messages, in the order of the records.
    pub messages: Vec<Message>,
    /// The position of each message in the chain.
    pub positions: Vec<RecordPosition>,
    /// The indexes of the records that are too long to be read.
    pub long_records: Vec<usize>,
}

impl Outline {
    /// Reads the outline of a chain. The messages of a side chain are read as those of a main chain.
    pub fn read(store: &dyn TranscriptStore, of: &ChainName) -> Result<Outline, StoreError> {
        let mut outline = Outline::default();
        store.scan(of, 0, &mut |row| {
            outline.add_row(row);
            ControlFlow::Continue(())
        })?;
        outline.messages = revised_in_full(std::mem::take(&mut outline.messages));
        Ok(outline)
    }

    /// Adds the records of a row. A long record without a readable link is skipped.
    fn add_row(&mut self, row: ChainRow<'_>) {
        let Some(bytes) = row.bytes else {
            if let Some(link) = row.long_record_link() {
                self.long_records.push(self.messages.len());
                self.push(long_record(link.link()), row.at, 0);
            }
            return;
        };
        for (nth, message) in read_line(bytes).messages.into_iter().enumerate() {
            self.push(without_text(message), row.at, nth);
        }
    }

    /// Adds a message as one of the main chain.
    fn push(&mut self, message: Message, row: u64, nth: usize) {
        self.messages.push(Message {
            agent_id: None,
            ..message
        });
        self.positions.push(RecordPosition { row, nth });
    }
}

/// Returns an empty message that keeps the place in the chain of a record that is too long to be read.
fn long_record(link: Link<'_>) -> Message {
    let change = StateChange {
        changes: Raw::empty_object(),
        is_snapshot: false,
    };
    let parent_id = link.parent.map(MessageId::from);
    Message {
        parent_id,
        ..Message::new(link.id, change.into())
    }
}

/// Removes the text of a message. Instructions, which are compared, and changes of the state stay complete.
fn without_text(mut message: Message) -> Message {
    message.usage = None;
    message.unknown = RawMap::new();
    message.session_id = SessionId::default();
    message.author = None;
    message.model = None;
    message.response_id = None;
    if message.extra.get("summary").is_none() {
        message.extra = RawMap::new();
    }
    match &mut message.body {
        Body::User(body) => empty(&mut body.content),
        Body::Assistant(body) => empty(&mut body.content),
        Body::Attachment(body) => {
            empty(&mut body.content);
            body.data = None;
        }
        Body::Notification(body) => {
            empty(&mut body.content);
            body.data = None;
        }
        Body::ToolResult(body) => body.content = Content::Empty,
        Body::ToolUse(call) => *call = bare_call(call),
        Body::Summary(body) => body.text = Text::default(),
        Body::Revision(body) => body.content.iter_mut().for_each(empty),
        Body::System(_)
        | Body::Progress(_)
        | Body::CompactBoundary(_)
        | Body::Tombstone(_)
        | Body::State(_)
        | Body::Other(_) => {}
    }
    message
}

/// Removes the text of a content.
fn empty(content: &mut Content) {
    match content {
        Content::Empty => {}
        Content::Text(text) => *text = Text::default(),
        Content::Blocks(blocks) => blocks.iter_mut().for_each(empty_block),
    }
}

/// Removes the text of a block. The data of pictures and documents goes as a whole.
fn empty_block(block: &mut Block) {
    match block {
        Block::ToolUse(call) => *call = bare_call(call),
        Block::ToolResult(result) => result.content = Content::Empty,
        Block::Text(text) => text.text = Text::default(),
        Block::Thinking(thought) => thought.thinking = Text::default(),
        Block::Image(_) | Block::Document(_) | Block::RedactedThinking(_) | Block::Other(_) => {
            *block = Block::Other(Raw::empty_object())
        }
    }
}

/// Returns a tool call without its arguments.
fn bare_call(call: &ToolUse) -> ToolUse {
    ToolUse {
        id: call.id.clone(),
        name: call.name.clone(),
        input: Raw::empty_object(),
        extra: RawMap::new(),
    }
}
