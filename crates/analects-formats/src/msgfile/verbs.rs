//! The verbs of [`analects_core::verbs`] in a file: each change is a splice, and every other byte stays. What a change
//! takes out of the file is gone from it; whoever makes the change keeps that elsewhere.

use analects_core::verbs::{Change, NotEditable, Target, VerbError, fork as fork_positions};
use analects_core::{Body, Hint, History, Ids, MessageId, Raw, RawMap, SessionId};

use super::cell_edits::{CellEdit, Edit, edit_cells, would_change_others};
use super::code::code;
use super::item::{ItemError, ItemErrorKind};
use super::messages::{check_is_first, details_cell, details_lines, put_messages};
use super::{Cell, CellMessages, CellRole, Document, MetaKey, NewCell, Splice, append};

/// Makes changes to a file, whose messages were read before. A cell that a change names and that has no id gets one.
///
/// ```
/// use analects_core::CountingIds;
/// use analects_core::verbs::{self, Target};
/// use analects_formats::msgfile::{CellMessages, apply, decode, session_of};
///
/// let document = decode("# %%\n\none\n\n# %%% [^2]\n\n[^2]: [coder]\n\ntwo\n");
/// let read = CellMessages::of(&document, &session_of("talk.msg.md"));
/// let changes = verbs::drop(&read.messages, read.target(1).unwrap())?;
/// let after = apply(&document, &read, &changes, &mut CountingIds::default())?;
/// assert!(after.source().ends_with(b"[^2]: [coder] history=\"none\"\n\ntwo\n"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn apply(
    document: &Document,
    read: &CellMessages,
    changes: &[Change],
    ids: &mut dyn Ids,
) -> Result<Document, ItemError> {
    let mut edits = Vec::new();
    let mut rewind = None;
    let mut new = Vec::new();
    for change in changes {
        match change {
            Change::SetHistory { target, history } => {
                edits.extend(history_edits(document, read, target, *history)?);
            }
            Change::Revise { target, text } => {
                let cell = read
                    .text_cell(target)
                    .ok_or_else(|| no_cell(&target.message))?;
                edits.push(CellEdit::text(cell, text));
            }
            Change::ContinueFrom { parent } => rewind = Some(parent.as_ref()),
            Change::Append(message) => new.push((**message).clone()),
        }
    }
    let mut after = None;
    if let Some(parent) = rewind {
        let parent = match parent {
            Some(id) => Some(read.head(id).ok_or_else(|| no_cell(id))?),
            None => None,
        };
        if let Some(cell) = parent.and_then(|at| document.cell_at(at)) {
            check_is_first(document, cell)?;
        }
        let is_loose = |at: usize| document.cell_at(at).is_some_and(|cell| cell.id().is_none());
        if let Some(cell) = parent.filter(|at| is_loose(*at)) {
            after = Some(edit_cells(
                document,
                &[CellEdit {
                    cell,
                    edit: Edit::Id,
                }],
            )?);
        }
        let named = after.as_ref().unwrap_or(document);
        let name = parent
            .and_then(|at| named.cell_at(at))
            .map(|cell| cell.name().into_owned());
        after = Some(with_rewind_mark(named, &name.unwrap_or_default())?);
    }
    if !edits.is_empty() {
        after = Some(edit_cells(after.as_ref().unwrap_or(document), &edits)?);
    }
    if !new.is_empty() {
        let base = after.as_ref().unwrap_or(document);
        let splice = put_messages(base, read.session(), &new, ids)?.splice;
        after = Some(base.with_source_within_section(splice.apply(base.source())));
    }
    Ok(after.unwrap_or_else(|| document.with_source_within_section(document.source().to_vec())))
}

/// The cells that say how much of a message, or of a call and its result, the model sees.
fn history_edits(
    document: &Document,
    read: &CellMessages,
    target: &Target,
    history: History,
) -> Result<Vec<CellEdit>, ItemError> {
    let cell = read
        .cell_of(target)
        .ok_or_else(|| no_cell(&target.message))?;
    let mut cells = vec![cell];
    let is_call = document
        .cell_at(cell)
        .is_some_and(|cell| cell.role() == CellRole::ToolCall);
    if target.call.is_none() && is_call {
        // An answer of calls alone is hidden call by call.
        cells = read.call_cells(&target.message);
    }
    let edit = |cell| match history {
        History::Exclude => CellEdit::set(cell, MetaKey::History, "none"),
        History::Summary => CellEdit::set(cell, MetaKey::History, history.as_str()),
        History::Include => CellEdit::remove(cell, MetaKey::History),
    };
    Ok(cells.into_iter().map(edit).collect())
}

/// The document whose next message follows this cell, or nobody.
fn with_rewind_mark(document: &Document, parent: &str) -> Result<Document, ItemError> {
    if let Some(ready) = document.ready_cell() {
        if last_before(document, ready).is_some_and(|last| last == parent) {
            return Ok(without_rewind_mark(document, ready));
        }
        return edit_cells(
            document,
            &[CellEdit::set(ready.at, MetaKey::Parent, parent)],
        );
    }
    let mark = NewCell::message(document.next_id(), "").with("parent", parent);
    let splice = append(document, &mark);
    let after = document.with_source_within_section(splice.apply(document.source()));
    if after.cells().len() == document.cells().len() + 1 {
        Ok(after)
    } else {
        Err(would_change_others())
    }
}

/// The document whose next message follows the last one.
fn without_rewind_mark(document: &Document, ready: Cell<'_>) -> Document {
    let hashes = "#".repeat(ready.level());
    let bytes = format!("{hashes} %%{}", document.line_end()).into_bytes();
    let splice = Splice {
        at: ready.span(),
        bytes,
    };
    document.with_source_within_section(splice.apply(document.source()))
}

/// The name of the message that an empty cell at the end follows if it says nothing else.
fn last_before(document: &Document, ready: Cell<'_>) -> Option<String> {
    let read = CellMessages::of(document, &SessionId::default());
    let is_said = |at: &usize| {
        let message = &read.messages[*at];
        read.heads[*at] < ready.at
            && message.agent_id.is_none()
            && !matches!(message.body, Body::Progress(_))
    };
    let last = (0..read.messages.len()).rev().find(is_said)?;
    Some(document.cell_at(read.heads[last])?.name().into_owned())
}

fn no_cell(message: &MessageId) -> ItemError {
    let text = format!("no cell says message {message}");
    ItemError::new(ItemErrorKind::UnknownCell, text)
}

/// The file up to a cell and what completes it: calls and their results, code and its outputs, a summary and what
/// came with it. Every byte is that of the original; what the end of the file tells about these cells comes along.
pub fn fork(document: &Document, at: usize) -> Result<Vec<u8>, ItemError> {
    let read = CellMessages::of(document, &SessionId::default());
    let message = read
        .message(at)
        .ok_or_else(|| not_a_message(document, at))?;
    let positions = fork_positions(&read.messages, Some(message));
    let positions = positions.map_err(|error| verb_error(&read, document, error))?;
    let is_told = |at: &&usize| {
        matches!(
            read.messages[**at].body,
            Body::Tombstone(_) | Body::Revision(_)
        )
    };
    let way = positions
        .iter()
        .filter(|at| !is_told(at))
        .map(|at| read.last_cell(*at));
    let last = way.max().unwrap_or(at).max(at);
    let end = document.cell_at(last).map_or(0, |cell| cell.span().end);
    let copied = document.source()[..end].to_vec();
    let told = positions.iter().filter(is_told).map(|at| read.heads[*at]);
    let told: Vec<usize> = told.filter(|at| *at > last).collect();
    if told.is_empty() && details_lines(document).is_empty() {
        return Ok(copied);
    }
    let mut copy = document.with_source_within_section(copied);
    for at in told {
        if let Some(cell) = document.cell_at(at) {
            let splice = append(&copy, &without_parent(cell));
            copy = copy.with_source_within_section(splice.apply(copy.source()));
        }
    }
    Ok(with_details(document, copy))
}

/// A copy with the details of its cells. Where the original ends with the copy, they are there already.
fn with_details(document: &Document, copy: Document) -> Vec<u8> {
    let mut lines = details_lines(document);
    lines.retain(|line| {
        let entry = RawMap::parse(line).unwrap_or_default();
        let name = entry.get("cell").and_then(Raw::as_string);
        name.is_some_and(|name| copy.cell(&name).is_some())
    });
    if lines.is_empty() || !details_lines(&copy).is_empty() {
        return copy.into_source();
    }
    append(&copy, &details_cell(&lines.join("\n"))).apply(copy.source())
}

/// The same cell in another file, where it follows what stands above it.
fn without_parent(cell: Cell<'_>) -> NewCell {
    let mut new = NewCell::new(cell.kind(), cell.name(), cell.type_word(), cell.content());
    new.title = cell.title().into_owned();
    // How a text is stored is found out anew when it is written.
    let stays = |key: &str| key != "parent" && key != "stored";
    let kept = cell.attributes().filter(|(key, _)| stays(key));
    new.attributes
        .extend(kept.map(|(key, value)| (key.to_string(), value.to_string())));
    new
}

/// The error of a verb on a cell that says no message.
pub fn not_a_message(document: &Document, at: usize) -> ItemError {
    let name = document.cell_at(at).map(Cell::name).unwrap_or_default();
    ItemError::new(ItemErrorKind::Invalid, format!("cell {name} is no message"))
        .hinting("name a message or an answer")
}

/// The error of a verb, which names messages by their cells.
pub fn verb_error(read: &CellMessages, document: &Document, error: VerbError) -> ItemError {
    let name = |id: &MessageId| match read.head(id).and_then(|at| document.cell_at(at)) {
        Some(cell) => cell.name().into_owned(),
        None => id.to_string(),
    };
    let hint = match &error {
        VerbError::AlreadyHidden(id) => Some(Hint::Restore(name(id).into())),
        _ => None,
    };
    let is_unknown = matches!(error, VerbError::UnknownMessage(_));
    let kind = if is_unknown {
        ItemErrorKind::UnknownCell
    } else {
        ItemErrorKind::Invalid
    };
    let text = error
        .naming(|id| format!("cell {}", name(id)).into())
        .to_string();
    let error = ItemError::new(kind, text);
    match hint {
        Some(hint) => error.hinting(hint),
        None => error,
    }
}

/// Writes another text into a cell that holds one. What a model called, thought or printed is not a person's to change.
pub fn edit_text(document: &Document, at: usize, text: &str) -> Result<Document, ItemError> {
    let cell = document
        .cell_at(at)
        .ok_or_else(|| not_a_message(document, at))?;
    check_is_first(document, cell)?;
    let refuse = |reason: &dyn std::fmt::Display| {
        let message = format!("cell {} cannot be edited: {reason}", cell.name());
        ItemError::new(ItemErrorKind::Invalid, message)
    };
    let holds_data = cell.get(MetaKey::Json).is_some() || cell.get(MetaKey::MimeType).is_some();
    match cell.role() {
        CellRole::ToolCall => return Err(refuse(&NotEditable::Call)),
        CellRole::Thinking => return Err(refuse(&NotEditable::Thought)),
        CellRole::CodeOutput => return Err(refuse(&NotEditable::CodeOutput)),
        CellRole::Code => {
            let hint = "give a fenced code block that names its language";
            code(text).map_err(|error| refuse(&error).hinting(hint))?;
        }
        CellRole::CompactBoundary
        | CellRole::Notification
        | CellRole::Progress
        | CellRole::Tombstone => return Err(refuse(&NotEditable::NoText)),
        CellRole::AgentDefinition | CellRole::Details => return Err(not_a_message(document, at)),
        CellRole::User if cell.is_ready() => return Err(not_a_message(document, at)),
        CellRole::User
        | CellRole::Raw
        | CellRole::UserBlock
        | CellRole::Reply
        | CellRole::ToolResult
        | CellRole::System
        | CellRole::Summary
        | CellRole::Attachment
        | CellRole::Block => {
            if holds_data {
                return Err(refuse(&NotEditable::NoText));
            }
        }
    }
    edit_cells(document, &[CellEdit::text(at, text)])
}

/// Writes another text into a cell. Every other cell reads as before, or nothing is changed.
pub fn replace_text(document: &Document, name: &str, text: &str) -> Result<Splice, ItemError> {
    let missing = || ItemError::new(ItemErrorKind::UnknownCell, "there is no such cell");
    let cell = document.cell(name).ok_or_else(missing)?;
    let after = edit_cells(document, &[CellEdit::text(cell.at, text)])?;
    Ok(Splice::between(document.source(), after.source()))
}
