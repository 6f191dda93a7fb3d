//! The block that a cell holds.

use analects_core::{
    Block, Content, Document, Image, Json, Problem, Raw, RawMap, Source, Text, Thinking,
    ToolResult, ToolUse,
};

use super::{CallIds, fenced_json};
use crate::msgfile::invoke::{self, Arguments, Invoke};
use crate::msgfile::messages::partial::CellView;
use crate::msgfile::{CellRole, MetaKey, base64, output};

/// Reads a cell as a block, with the problem if the cell does not hold what its role promises. A call is noted in
/// `calls`, so that its results find it.
pub(in crate::msgfile::messages) fn read(
    cell: &CellView<'_>,
    calls: &mut CallIds,
) -> (Block, Option<Problem>) {
    match cell.role() {
        CellRole::Block | CellRole::UserBlock => read_json(&cell.text),
        CellRole::ToolCall => read_call(cell, calls),
        CellRole::ToolResult => read_result(cell, calls),
        CellRole::CodeOutput => read_code_output(cell),
        CellRole::Raw => text_or_bytes(cell, cell.get(MetaKey::MimeType)),
        CellRole::Thinking if cell.binary_type().is_none() => (thinking(cell), None),
        CellRole::User | CellRole::Code | CellRole::AgentDefinition => text_or_bytes(cell, None),
        CellRole::Reply
        | CellRole::Thinking
        | CellRole::System
        | CellRole::Summary
        | CellRole::CompactBoundary
        | CellRole::Attachment
        | CellRole::Notification
        | CellRole::Progress
        | CellRole::Tombstone
        | CellRole::Details => text_or_bytes(cell, cell.binary_type()),
    }
}

/// Bytes of a media type, or text without one.
fn text_or_bytes(cell: &CellView<'_>, mime_type: Option<&str>) -> (Block, Option<Problem>) {
    match mime_type {
        Some(mime_type) => read_binary(&cell.text, mime_type),
        None => (Block::from_text(&*cell.text), None),
    }
}

/// The reasoning of a model.
fn thinking(cell: &CellView<'_>) -> Block {
    Block::Thinking(Thinking {
        thinking: Text::from(&*cell.text),
        ..Thinking::default()
    })
}

/// A block that the cell holds as JSON. If that cannot be read, the text is kept as it is.
fn read_json(text: &str) -> (Block, Option<Problem>) {
    let block = fenced_json(text).and_then(|json| Block::from_json(&json).ok());
    if let Some(block) = block {
        return (block, None);
    }
    let problem = Problem::error("bad-json", "this cell should hold a block as JSON");
    let problem = problem.hint("put the JSON into a fenced code block");
    (Block::Other(Raw::string(text)), Some(problem))
}

/// A tool call. If it cannot be read, the text of the cell becomes its arguments.
fn read_call(cell: &CellView<'_>, calls: &mut CallIds) -> (Block, Option<Problem>) {
    let id = cell.get(MetaKey::CallId).unwrap_or(&cell.name).to_string();
    calls.note(&cell.name, &id);
    let invoke = match invoke::decode(&cell.text) {
        Ok(invoke) => invoke,
        Err(error) => {
            let name = cell.string(MetaKey::Name).unwrap_or_default();
            let arguments = Arguments::Text(cell.text.to_string());
            let text = format!("cannot read this tool call: {}", error.message);
            let problem = Problem::error("bad-tool-call", text).hint(
                "write it as <invoke name=\"…\"><parameter name=\"…\">…</parameter></invoke>",
            );
            return (tool_use(id, Invoke { name, arguments }), Some(problem));
        }
    };
    (tool_use(id, invoke), None)
}

/// A call as a block. Arguments that are not JSON become a string, and are marked.
fn tool_use(id: String, invoke: Invoke) -> Block {
    let mut extra = RawMap::new();
    let input = match invoke.arguments {
        Arguments::Json(input) => input,
        Arguments::Text(text) => {
            if let Ok(yes) = Raw::parse("true") {
                extra.push("malformed_input", yes);
            }
            Raw::string(&text)
        }
    };
    Block::ToolUse(ToolUse {
        id,
        name: invoke.name,
        input,
        extra,
    })
}

/// A result of a tool call, or a part of one. It is kept even if the file has no such call.
fn read_result(cell: &CellView<'_>, calls: &CallIds) -> (Block, Option<Problem>) {
    let call = match cell.name.rsplit_once('.') {
        Some((call, _)) => call,
        None => &*cell.name,
    };
    let named = cell.get(MetaKey::CallId);
    let known = calls.id_of(call).or(named.filter(|id| calls.has(id)));
    let orphan = known.is_none().then(|| {
        let call = named.unwrap_or(call);
        let text = format!("this is the result of a call {call} that is not in the file");
        Problem::warning("orphan-result", text).hint("it is kept, and not sent to a model")
    });
    let (content, damage) = result_content(cell);
    let is_error = match cell.get(MetaKey::Status) {
        Some("success") => Some(false),
        Some("failed" | "interrupted") => Some(true),
        _ => None,
    };
    let block = Block::ToolResult(ToolResult {
        tool_use_id: known.or(named).unwrap_or(call).to_string(),
        content,
        is_error,
        extra: RawMap::new(),
    });
    (block, orphan.or(damage))
}

/// The content of a result, in the shape that `result=` names.
fn result_content(cell: &CellView<'_>) -> (Content, Option<Problem>) {
    if let Some(mime_type) = cell.binary_type() {
        let (block, problem) = read_binary(&cell.text, mime_type);
        return (Content::Blocks(vec![block]), problem);
    }
    if cell.get(MetaKey::Json) == Some("block") {
        let (block, problem) = read_json(&cell.text);
        let is_text = cell.get(MetaKey::Result) == Some("text");
        let content = match block {
            Block::Text(block) if is_text => Content::Text(block.text),
            block => Content::Blocks(vec![block]),
        };
        return (content, problem);
    }
    let content = match cell.get(MetaKey::Result) {
        Some("empty") => Content::Empty,
        Some("none") => Content::Blocks(Vec::new()),
        Some("blocks") => Content::Blocks(vec![Block::from_text(&*cell.text)]),
        _ => Content::Text(Text::from(&*cell.text)),
    };
    (content, None)
}

/// What running code printed, as a model reads it: text, or a picture.
fn read_code_output(cell: &CellView<'_>) -> (Block, Option<Problem>) {
    // Of an output in a file, only a picture is in base64 here.
    let is_attached = cell.cell.attached().is_some();
    let is_base64 = if is_attached {
        cell.cell.attached_binary().is_some()
    } else {
        !cell.cell.is_elsewhere()
    };
    let mime_type = cell.get(MetaKey::MimeType).filter(|_| is_base64);
    if let Some(mime_type) = mime_type.filter(|kind| kind.starts_with("image/")) {
        return read_binary(&cell.text, mime_type);
    }
    if is_attached || cell.get(MetaKey::Encoding) != Some("base64") {
        return (Block::from_text(&*cell.text), None);
    }
    let (chunks, odd_lines) = output::decode(&cell.text, true);
    let bytes: Vec<u8> = chunks.into_iter().flat_map(|chunk| chunk.bytes).collect();
    let problem = odd_lines.first().map(|line| {
        let text = format!("line {line} of this output is not base64");
        let problem = Problem::error("bad-base64", text);
        problem.hint("correct the line, or remove encoding=\"base64\" if the output is text")
    });
    (
        Block::from_text(String::from_utf8_lossy(&bytes).into_owned()),
        problem,
    )
}

/// Reads base64 as an image or a document, depending on its media type.
fn read_binary(text: &str, mime_type: &str) -> (Block, Option<Problem>) {
    if base64::decode(text).is_none_or(|bytes| bytes.is_empty()) {
        let problem = Problem::error("bad-base64", format!("this {mime_type} is not base64"));
        let problem = problem.hint("write the bytes in base64, 76 characters a line");
        return (Block::Other(Raw::string(text)), Some(problem));
    }
    let source = Source::Base64 {
        media_type: mime_type.to_string(),
        data: text.split_ascii_whitespace().collect(),
    };
    let source = source.to_raw();
    let extra = RawMap::new();
    let block = if mime_type.starts_with("image/") {
        Block::Image(Image { source, extra })
    } else {
        Block::Document(Document { source, extra })
    };
    (block, None)
}
