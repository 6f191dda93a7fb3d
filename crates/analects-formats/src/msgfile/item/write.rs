//! An item in, its cell out: the opposite of [`read`](super::read).

use analects_core::History;

use super::check::TEXT;
use super::prompts::ItemFields;
use super::{AnswerOutput, CallItem, CodeOutput, PromptItem, seconds};
use crate::msgfile::{CellKind, NewCell, output};

/// A message as a cell.
pub(super) fn message_cell(message: &PromptItem, id: &str) -> NewCell {
    let content = message.content.to_cell();
    let cell = NewCell::new(CellKind::Message, id, &message.type_word, content);
    let cell = with(cell, "agent", message.agent_name.clone());
    let cell = with(cell, "tool", message.tool.clone());
    let cell = with_item_fields(cell, &message.fields);
    with_mime_type(cell, &message.mime_type)
}

/// A function call as a cell.
pub(super) fn call_cell(call: &CallItem, id: &str) -> NewCell {
    let content = call.to_cell().unwrap_or_default();
    let cell = NewCell::new(CellKind::Output, id, "tool", content);
    with_item_fields(cell.with("name", call.function_name.as_str()), &call.fields)
}

/// A reply or a result as a cell with this type word.
pub(super) fn answer_cell(answer: &AnswerOutput, id: &str, word: &str) -> NewCell {
    let cell = NewCell::new(CellKind::Output, id, word, answer.content.to_cell());
    with_answer_fields(cell, answer, answer.content.as_text().is_none())
}

/// The output of code as a cell.
pub(super) fn code_cell(code: &CodeOutput, id: &str) -> NewCell {
    // The media type of a picture implies base64.
    let mut content = code.answer.content.to_cell();
    let mut is_base64 = false;
    if code.answer.mime_type == TEXT {
        let encoded = output::encode(&code.chunks);
        content = encoded.text;
        is_base64 = encoded.base64;
    }
    let cell = NewCell::new(CellKind::Output, id, &code.lang, content);
    with_answer_fields(cell, &code.answer, is_base64)
}

/// Adds the values that messages and function calls have in common.
fn with_item_fields(cell: NewCell, fields: &ItemFields) -> NewCell {
    let cell = with(cell, "timeout", fields.timeout.map(seconds::format));
    let history = Some(fields.history).filter(|history| *history != History::Include);
    let cell = with(
        cell,
        "history",
        history.map(|history| history.as_str().to_string()),
    );
    NewCell {
        level: fields.heading_level,
        ..cell
    }
}

/// Adds the values that all outputs have.
fn with_answer_fields(cell: NewCell, answer: &AnswerOutput, is_base64: bool) -> NewCell {
    let cell = with(cell, "time", answer.time.clone());
    let cell = with(cell, "status", answer.status.clone());
    let cell = with(cell, "duration", answer.duration.map(seconds::format));
    let cell = with(cell, "nonce", answer.nonce.clone());
    let cell = with_mime_type(cell, &answer.mime_type);
    let cell = if is_base64 {
        cell.with("encoding", "base64")
    } else {
        cell
    };
    with(cell, "output_file", answer.output_file.clone())
}

/// Adds a media type, unless it is the default.
fn with_mime_type(cell: NewCell, mime_type: &str) -> NewCell {
    if mime_type == TEXT {
        cell
    } else {
        cell.with("mime_type", mime_type)
    }
}

/// Adds an attribute if there is a value.
fn with(cell: NewCell, key: &str, value: Option<String>) -> NewCell {
    match value {
        Some(value) => cell.with(key, value),
        None => cell,
    }
}
