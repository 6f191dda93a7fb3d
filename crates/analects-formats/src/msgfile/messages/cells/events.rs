//! The cells of events: messages that neither a person nor an agent says.

use analects_core::{
    Attachment, Body, CompactBoundary, CompactTrigger, Content, Notification, Raw, RawMap, Summary,
    Text, Tombstone,
};

use crate::msgfile::messages::describe::Style;
use crate::msgfile::{CellKind, NewCell};

/// The letter that the ids of a kind of event start with. `None` for questions and answers, whose ids are numbers.
pub(super) fn event_letter(body: &Body) -> Option<char> {
    match body {
        Body::User(_) | Body::Assistant(_) | Body::ToolUse(_) | Body::ToolResult(_) => None,
        Body::Attachment(_) => Some('a'),
        Body::CompactBoundary(_) => Some('b'),
        Body::Notification(_) => Some('n'),
        Body::Progress(_) => Some('p'),
        Body::Summary(_) => Some('s'),
        Body::Tombstone(_) => Some('t'),
        Body::System(_) => Some('y'),
        Body::Revision(_) | Body::State(_) | Body::Other(_) => Some('x'),
    }
}

/// The cell of an event, without its id; `None` for one that only JSON can express.
pub(super) fn event_cell(body: &Body, style: Style) -> Option<NewCell> {
    match body {
        Body::System(body) => with_text(output("system", ""), &body.content),
        Body::Attachment(body) => attachment_cell(body, style),
        Body::Notification(body) => notification_cell(body),
        Body::Summary(body) => summary_cell(body, style),
        Body::CompactBoundary(body) => Some(boundary_cell(body)),
        Body::Tombstone(body) => Some(tombstone_cell(body)),
        Body::User(_)
        | Body::Assistant(_)
        | Body::ToolUse(_)
        | Body::ToolResult(_)
        | Body::Progress(_)
        | Body::Revision(_)
        | Body::State(_)
        | Body::Other(_) => None,
    }
}

/// An output with this type word and text.
fn output(word: &str, text: &str) -> NewCell {
    NewCell::new(CellKind::Output, "", word, text)
}

/// The cell of a file or a reminder; `None` if its content is more than text.
fn attachment_cell(body: &Attachment, style: Style) -> Option<NewCell> {
    let cell = output("attachment", "").with("kind", body.kind.as_str());
    let cell = with_some(cell, "path", path_of(body.data.as_ref(), style));
    with_text(cell, &body.content)
}

fn notification_cell(body: &Notification) -> Option<NewCell> {
    let cell = output("notification", "").with("kind", body.kind.as_str());
    with_text(cell, &body.content)
}

/// A summary names its range exactly, or, for people, only the last message that it stands for.
fn summary_cell(body: &Summary, style: Style) -> Option<NewCell> {
    let Text::Plain(text) = &body.text else {
        return None;
    };
    let cell = output("summary", text);
    if style != Style::Exact {
        return Some(with_some(cell, "through", body.to.as_deref()));
    }
    let cell = with_some(cell, "from", body.from.as_deref());
    let cell = with_some(cell, "to", body.to.as_deref());
    Some(with_count(cell, "count", body.count))
}

/// The cell of the boundary of a compaction.
fn boundary_cell(body: &CompactBoundary) -> NewCell {
    let trigger = body.trigger.as_ref().map(CompactTrigger::as_str);
    let cell = with_some(output("compact_boundary", ""), "trigger", trigger);
    let cell = with_count(cell, "tokens_before", body.tokens_before);
    let cell = with_count(cell, "tokens_after", body.tokens_after);
    let cell = with_some(cell, "summary_id", body.summary_id.as_deref());
    with_some(cell, "kept_from", body.kept_from.as_deref())
}

/// The cell of the removal of a message.
fn tombstone_cell(body: &Tombstone) -> NewCell {
    let cell = output("tombstone", "").with("target", &*body.target);
    with_some(cell, "target_parent", body.target_parent.as_deref())
}

/// The path of an attachment that shows a file.
fn path_of(data: Option<&Raw>, style: Style) -> Option<String> {
    let data = data?;
    let path = data.as_object()?.get("path").and_then(Raw::as_string)?;
    // An exact file may say the path only if there is no other data.
    (style != Style::Exact || path_data(&path) == *data).then_some(path)
}

/// The data of an attachment that has nothing but a path.
pub(in crate::msgfile::messages) fn path_data(path: &str) -> Raw {
    let mut data = RawMap::new();
    data.push("path", Raw::string(path));
    data.to_raw()
}

/// Adds an attribute if it has a value.
fn with_some(cell: NewCell, key: &str, value: Option<impl Into<String>>) -> NewCell {
    match value {
        Some(value) => cell.with(key, value),
        None => cell,
    }
}

fn with_count(cell: NewCell, key: &str, count: Option<impl ToString>) -> NewCell {
    with_some(cell, key, count.map(|count| count.to_string()))
}

/// Adds the content of an event; `None` if it is more than plain text.
fn with_text(mut cell: NewCell, content: &Content) -> Option<NewCell> {
    match content {
        Content::Empty => Some(cell.with("content", "empty")),
        Content::Text(Text::Plain(text)) if text.is_empty() => Some(cell.with("content", "text")),
        Content::Text(Text::Plain(text)) => {
            cell.content.clone_from(text);
            Some(cell)
        }
        Content::Text(_) | Content::Blocks(_) => None,
    }
}
