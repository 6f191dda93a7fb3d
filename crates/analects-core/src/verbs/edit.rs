//! Saying something else in the place of a message.

use super::families::Families;
use super::{Change, NotEditable, Target, VerbError, position};
use crate::{AttachmentKind, Block, Body, Content, Message, Tree};

/// The message says `text` from now on, and what followed it still follows. Of an answer, its first text changes; its
/// thoughts and calls stay. Of a call, the result changes.
pub fn edit(messages: &[Message], target: &Target, text: &str) -> Result<Vec<Change>, VerbError> {
    let at = text_of(messages, target)?;
    if target.call.is_none() && has_orphan_result(messages, at) {
        return Err(not_editable(target, NotEditable::OrphanResult));
    }
    let content = edited_content(&messages[at], target.call.as_deref(), text);
    content.map_err(|reason| not_editable(target, reason))?;
    Ok(vec![Change::revise(target.clone(), text)])
}

/// The position of the message that holds the text of a target: of a call, its result.
pub fn text_of(messages: &[Message], target: &Target) -> Result<usize, VerbError> {
    let tree = Tree::of(messages);
    let at = position(&tree, &target.message)?;
    let Some(call) = &target.call else {
        return Ok(at);
    };
    let families = Families::of(messages);
    let result = families.results(at, call).last();
    result
        .copied()
        .ok_or_else(|| not_editable(target, NotEditable::Call))
}

/// Whether a message brings the result of a call that nobody made.
fn has_orphan_result(messages: &[Message], at: usize) -> bool {
    let families = Families::of(messages);
    families.said[at]
        .results
        .iter()
        .any(|call| families.caller(at, call).is_none())
}

fn not_editable(target: &Target, reason: NotEditable) -> VerbError {
    VerbError::NotEditable {
        id: target.message.clone(),
        reason,
    }
}

/// The content of a message with another text in it; `call` is the one whose result the text is.
pub fn edited_content(
    message: &Message,
    call: Option<&str>,
    text: &str,
) -> Result<Content, NotEditable> {
    match &message.body {
        Body::User(body) => in_content(&body.content, call, text),
        Body::Assistant(body) => in_content(&body.content, None, text),
        Body::Attachment(body) if body.kind == AttachmentKind::CodeOutput => {
            Err(NotEditable::CodeOutput)
        }
        Body::System(_) | Body::Summary(_) | Body::Attachment(_) | Body::ToolResult(_) => {
            Ok(Content::from(text))
        }
        Body::ToolUse(_) => Err(NotEditable::Call),
        Body::Notification(_)
        | Body::Progress(_)
        | Body::CompactBoundary(_)
        | Body::Tombstone(_)
        | Body::Revision(_)
        | Body::State(_)
        | Body::Other(_) => Err(NotEditable::NoText),
    }
}

/// Another text in a content: of its results in one, else in its first text.
fn in_content(content: &Content, call: Option<&str>, text: &str) -> Result<Content, NotEditable> {
    let Content::Blocks(blocks) = content else {
        return Ok(Content::from(text));
    };
    let mut blocks = blocks.clone();
    let results = blocks
        .iter()
        .filter(|block| matches!(block, Block::ToolResult(_)))
        .count();
    if call.is_none() && results > 1 {
        return Err(NotEditable::SeveralResults);
    }
    let has_calls = blocks
        .iter()
        .any(|block| matches!(block, Block::ToolUse(_)));
    for block in &mut blocks {
        if let Block::ToolResult(result) = block
            && call.is_none_or(|call| call == result.tool_use_id)
        {
            result.content = Content::from(text);
            return Ok(Content::Blocks(blocks));
        }
        if let Block::Text(old) = block
            && call.is_none()
            && results == 0
        {
            old.text = text.into();
            return Ok(Content::Blocks(blocks));
        }
    }
    match blocks.is_empty() {
        true => Ok(Content::from(text)),
        false if has_calls => Err(NotEditable::Call),
        false => Err(NotEditable::NoText),
    }
}
