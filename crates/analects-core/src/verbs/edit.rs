//! Replaces the text of a message.

use super::groups::MessageGroups;
use super::{Change, NotEditable, Target, VerbError, position};
use crate::{AttachmentKind, Block, Body, Content, Message, Tree};

/// Returns the change that replaces the text of a message. The messages after it stay attached to it.
///
/// Of an answer, the first text is replaced, and its thinking and calls stay. Of a call, the result is replaced.
pub fn edit(messages: &[Message], target: &Target, text: &str) -> Result<Vec<Change>, VerbError> {
    let at = text_of(messages, target)?;
    if target.call.is_none() && has_orphan_result(messages, at) {
        return Err(not_editable(target, NotEditable::OrphanResult));
    }
    let content = edited_content(&messages[at], target.call.as_deref(), text);
    content.map_err(|reason| not_editable(target, reason))?;
    Ok(vec![Change::revise(target.clone(), text)])
}

/// Returns the position of the message that holds the text of a target: of a call, the message with its result.
pub fn text_of(messages: &[Message], target: &Target) -> Result<usize, VerbError> {
    let tree = Tree::of(messages);
    let at = position(&tree, &target.message)?;
    let Some(call) = &target.call else {
        return Ok(at);
    };
    let groups = MessageGroups::of(messages);
    let result = groups.results(at, call).last();
    result
        .copied()
        .ok_or_else(|| not_editable(target, NotEditable::Call))
}

/// Returns whether a message holds the result of a call that does not exist.
fn has_orphan_result(messages: &[Message], at: usize) -> bool {
    let groups = MessageGroups::of(messages);
    let results = &groups.pairing[at].results;
    results.iter().any(|call| groups.caller(at, call).is_none())
}

fn not_editable(target: &Target, reason: NotEditable) -> VerbError {
    VerbError::NotEditable {
        id: target.message.clone(),
        reason,
    }
}

/// Returns the content of a message with its text replaced. With `call`, the result of that call is replaced.
pub fn edited_content(
    message: &Message,
    call: Option<&str>,
    text: &str,
) -> Result<Content, NotEditable> {
    match &message.body {
        Body::User(body) => replace_text(&body.content, call, text),
        Body::Assistant(body) => replace_text(&body.content, None, text),
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

/// Replaces the text in a content: in the result of `call`, else in its only result, else in its first text block.
fn replace_text(content: &Content, call: Option<&str>, text: &str) -> Result<Content, NotEditable> {
    let Content::Blocks(blocks) = content else {
        return Ok(Content::from(text));
    };
    if blocks.is_empty() {
        return Ok(Content::from(text));
    }
    let results = blocks.iter().filter_map(Block::as_tool_result).count();
    if call.is_none() && results > 1 {
        return Err(NotEditable::SeveralResults);
    }
    let replaces_result = call.is_some() || results > 0;
    let mut blocks = blocks.clone();
    for block in &mut blocks {
        if let Block::ToolResult(result) = block
            && call.is_none_or(|call| call == result.tool_use_id)
        {
            result.content = Content::from(text);
            return Ok(Content::Blocks(blocks));
        }
        if let Block::Text(old) = block
            && !replaces_result
        {
            old.text = text.into();
            return Ok(Content::Blocks(blocks));
        }
    }
    if blocks.iter().any(|block| block.as_tool_use().is_some()) {
        Err(NotEditable::Call)
    } else {
        Err(NotEditable::NoText)
    }
}
