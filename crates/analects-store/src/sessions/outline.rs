//! The records of a session without their words: what the verbs have to know of a conversation of any length.

use std::ops::ControlFlow;

use analects_core::verbs::revised_in_full;
use analects_core::{
    Block, Body, Content, Message, MessageId, Raw, SessionId, StateChange, Text, ToolUse,
};
use analects_formats::transcript::read_line;

use super::{ChainName, TranscriptStore};
use crate::StoreError;

/// The messages of a session without their texts, with their revisions applied.
#[derive(Debug, Default)]
pub(super) struct Outline {
    /// The messages, in the order of the record.
    pub messages: Vec<Message>,
    /// Where each is: the row, and which of the records in it.
    pub positions: Vec<(u64, usize)>,
    /// The positions of records that are too long to be read.
    pub long: Vec<usize>,
}

impl Outline {
    /// Reads the outline of a chain. Whichever chain it is, its messages are read as those of a main chain.
    pub fn read(store: &dyn TranscriptStore, of: &ChainName) -> Result<Outline, StoreError> {
        let mut outline = Outline::default();
        store.scan(of, 0, &mut |row| {
            let Some(bytes) = row.bytes else {
                if let Some(names) = row.long_names() {
                    outline.long.push(outline.messages.len());
                    outline.push(long_record(names.link()), (row.at, 0));
                }
                return ControlFlow::Continue(());
            };
            for (nth, message) in read_line(bytes).messages.into_iter().enumerate() {
                outline.push(without_text(message), (row.at, nth));
            }
            ControlFlow::Continue(())
        })?;
        outline.messages = revised_in_full(std::mem::take(&mut outline.messages));
        Ok(outline)
    }

    fn push(&mut self, message: Message, place: (u64, usize)) {
        self.messages.push(Message {
            agent_id: None,
            ..message
        });
        self.positions.push(place);
    }
}

/// A record that is too long to be read keeps its place in the chain.
fn long_record(link: analects_core::Link<'_>) -> Message {
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

/// A message without its words. Instructions, which are compared, and changes of the state stay whole.
fn without_text(mut message: Message) -> Message {
    message.usage = None;
    message.unknown = analects_core::RawMap::new();
    message.session_id = SessionId::default();
    (message.author, message.model, message.response_id) = (None, None, None);
    if message.extra.get("summary").is_none() {
        message.extra = analects_core::RawMap::new();
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

fn empty(content: &mut Content) {
    match content {
        Content::Empty => {}
        Content::Text(text) => *text = Text::default(),
        Content::Blocks(blocks) => blocks.iter_mut().for_each(empty_block),
    }
}

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

fn bare_call(call: &ToolUse) -> ToolUse {
    let (input, extra) = (Raw::empty_object(), analects_core::RawMap::new());
    ToolUse {
        id: call.id.clone(),
        name: call.name.clone(),
        input,
        extra,
    }
}
