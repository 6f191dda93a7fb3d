//! A message reduced to what its cells can say to a person. Everything else is counted in [`LeftBehind`].

use analects_core::{
    Assistant, Attachment, Block, Body, Content, Document, History, Image, Message, Notification,
    Raw, RawMap, Source, Summary, System, Text, User,
};

use super::LeftBehind;
use crate::msgfile::messages::blocks::is_opaque;
use crate::msgfile::messages::provenance;

/// The message with nothing but what its cells can say; `None` if that is nothing.
pub(super) fn reduce(message: &Message, left_behind: &mut LeftBehind) -> Option<Message> {
    let Some(body) = reduce_body(&message.body, left_behind) else {
        left_behind.other_records += 1;
        return None;
    };
    let is_answer = matches!(body, Body::Assistant(_));
    left_behind.provider_details += unsaid_fields(message, is_answer);
    Some(Message {
        body,
        ..message.clone()
    })
}

/// How many fields of a message, outside of its body, no cell of a readable file says.
fn unsaid_fields(message: &Message, is_answer: bool) -> usize {
    let has_summary_text =
        message.history == History::Summary && message.extra.get("summary").is_some();
    // The cells get back what only a message file says.
    let is_from_cells = message.extra.get(provenance::KEY).is_some();
    let said = usize::from(has_summary_text) + usize::from(is_from_cells);
    unsaid_counts(message) + message.extra.len() - said
        + message.unknown.len()
        + usize::from(message.response_id.is_some())
        + usize::from(is_answer && message.duration_ms.is_some())
}

/// How many token counts of a message no cell of a readable file says.
fn unsaid_counts(message: &Message) -> usize {
    let Some(usage) = &message.usage else {
        return 0;
    };
    let counts = [
        usage.total_tokens,
        usage.cache_creation_5m_tokens,
        usage.cache_creation_1h_tokens,
        usage.reasoning_tokens,
    ];
    counts.iter().flatten().count() + usage.extra.len()
}

/// The body with nothing but words; `None` for a record without any.
fn reduce_body(body: &Body, left_behind: &mut LeftBehind) -> Option<Body> {
    match body {
        Body::User(body) => reduce_user(body, left_behind).map(Body::User),
        Body::Assistant(body) => reduce_answer(body, left_behind).map(Body::Assistant),
        Body::ToolUse(call) => Some(Body::Assistant(Assistant {
            content: Content::Blocks(vec![Block::ToolUse(call.clone())]),
            ..Assistant::default()
        })),
        Body::ToolResult(result) => Some(Body::User(User {
            content: Content::Blocks(vec![Block::ToolResult(result.clone())]),
            ..User::default()
        })),
        Body::System(body) => Some(Body::System(System {
            content: text_of(&body.content, left_behind)?,
        })),
        Body::Attachment(body) => reduce_attachment(body, left_behind).map(Body::Attachment),
        Body::Notification(body) => reduce_notification(body, left_behind).map(Body::Notification),
        Body::Summary(body) => {
            left_behind.provider_details += usize::from(body.count.is_some());
            let text = plain(&body.text);
            let body = Summary {
                text,
                ..body.clone()
            };
            (!body.text.is_empty()).then_some(Body::Summary(body))
        }
        Body::CompactBoundary(_) => Some(body.clone()),
        Body::Progress(_)
        | Body::Tombstone(_)
        | Body::Revision(_)
        | Body::State(_)
        | Body::Other(_) => None,
    }
}

/// What a person says, with its source.
fn reduce_user(body: &User, left_behind: &mut LeftBehind) -> Option<User> {
    let content = reduce_content(&body.content, left_behind)?;
    let reduced = User {
        content: content.clone(),
        source: body.source.clone(),
        ..User::default()
    };
    let full = User {
        content,
        ..body.clone()
    };
    left_behind.provider_details += usize::from(full != reduced);
    Some(reduced)
}

fn reduce_answer(body: &Assistant, left_behind: &mut LeftBehind) -> Option<Assistant> {
    let content = match reduce_content(&body.content, left_behind)? {
        // The cells of an answer are read as blocks.
        Content::Text(text) => Content::Blocks(vec![Block::from_text(text)]),
        content => content,
    };
    Some(Assistant {
        content,
        ..body.clone()
    })
}

/// An attachment, of whose data only a path stays.
fn reduce_attachment(body: &Attachment, left_behind: &mut LeftBehind) -> Option<Attachment> {
    let content = text_of(&body.content, left_behind)?;
    left_behind.provider_details += body.data.as_ref().map_or(0, fields_beside_path);
    Some(Attachment {
        content,
        ..body.clone()
    })
}

fn reduce_notification(body: &Notification, left_behind: &mut LeftBehind) -> Option<Notification> {
    let content = text_of(&body.content, left_behind)?;
    left_behind.provider_details += usize::from(body.data.is_some());
    Some(Notification {
        content,
        data: None,
        ..body.clone()
    })
}

/// How many fields the data of an attachment has besides the path of a file.
fn fields_beside_path(data: &Raw) -> usize {
    let Some(fields) = data.as_object() else {
        return 1;
    };
    let path = fields.get("path").and_then(Raw::as_string);
    fields.len() - usize::from(path.is_some())
}

/// The blocks that people can read; `None` if there are none.
fn reduce_content(content: &Content, left_behind: &mut LeftBehind) -> Option<Content> {
    let blocks = match content {
        Content::Empty => return None,
        Content::Text(text) => {
            let text = plain(text);
            return (!text.is_empty()).then_some(Content::Text(text));
        }
        Content::Blocks(blocks) => blocks,
    };
    let mut reduced: Vec<Block> = Vec::new();
    for block in blocks {
        reduced.extend(reduce_block(block, left_behind));
    }
    match reduced.as_slice() {
        [] => None,
        [Block::Text(text)] => Some(Content::Text(text.text.clone())),
        _ => Some(Content::Blocks(reduced)),
    }
}

/// The block as people can read it; `None` if there is nothing to read.
fn reduce_block(block: &Block, left_behind: &mut LeftBehind) -> Option<Block> {
    if is_opaque(block) {
        left_behind.encrypted_reasoning += 1;
        return None;
    }
    let mut block = block.clone();
    let is_empty = match &mut block {
        Block::Text(block) => {
            reduce_text(&mut block.text, &mut block.extra, left_behind);
            block.text.is_empty()
        }
        Block::Thinking(block) => {
            left_behind.signatures += usize::from(block.signature.take().is_some());
            reduce_text(&mut block.thinking, &mut block.extra, left_behind);
            block.thinking.is_empty()
        }
        Block::ToolUse(call) => {
            left_behind.provider_details += unsaid_extra(&call.extra);
            false
        }
        Block::ToolResult(result) => {
            left_behind.provider_details += unsaid_extra(&result.extra);
            false
        }
        Block::Image(Image { source, extra }) | Block::Document(Document { source, extra }) => {
            // A cell with the bytes has no place for anything else. Other sources become JSON, which keeps everything.
            if let Some(Source::Base64 { .. }) = Source::of(source) {
                left_behind.provider_details += extra.len();
            }
            false
        }
        Block::RedactedThinking(_) | Block::Other(_) => false,
    };
    (!is_empty).then_some(block)
}

fn reduce_text(text: &mut Text, extra: &mut RawMap, left_behind: &mut LeftBehind) {
    *text = plain(text);
    left_behind.provider_details += std::mem::take(extra).len();
}

/// How many extra fields of a call or a result no cell says. Arguments that are not JSON are in the cell as they are.
fn unsaid_extra(extra: &RawMap) -> usize {
    extra.len() - usize::from(extra.get("malformed_input").is_some())
}

/// The text of a content; `None` if there is none.
fn text_of(content: &Content, left_behind: &mut LeftBehind) -> Option<Content> {
    if let Content::Blocks(blocks) = content {
        let others = blocks
            .iter()
            .filter(|block| !matches!(block, Block::Text(_)));
        left_behind.provider_details += others.count();
        for block in blocks {
            if let Block::Text(text) = block {
                left_behind.provider_details += text.extra.len();
            }
        }
    }
    let text = content.text();
    (!text.is_empty()).then_some(Content::Text(Text::Plain(text)))
}

/// The text without broken characters.
fn plain(text: &Text) -> Text {
    Text::Plain(text.as_str().into_owned())
}
