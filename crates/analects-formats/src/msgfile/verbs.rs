//! The verbs of [`analects_core::verbs`] on a file. Each change is a splice, and no other byte changes. Text that a
//! change removes is gone from the file; keeping it elsewhere is up to the caller.

use std::fmt;

use analects_core::verbs::{Change, NotEditable, Target, VerbError, fork as fork_positions};
use analects_core::{Body, Hint, History, Ids, Message, MessageId, Raw, RawMap, SessionId};
use jiff::tz::TimeZone;

use super::cell_edits::{CellEdit, Edit, edit_cells, would_change_others};
use super::code::code;
use super::edit::ready_cell_text;
use super::item::{ItemError, ItemErrorKind};
use super::messages::{check_is_first, details_cell, details_lines, put_messages};
use super::{Cell, CellMessages, CellRole, Document, MetaKey, NewCell, Splice, append};

/// Makes changes to a file, whose messages `read` are. A cell without an id gets one if a change names it.
///
/// Fails if a change is about a message that is not in the file, or if it would make another cell read differently.
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
    apply_in(document, read, changes, &TimeZone::UTC, ids)
}

/// Like [`apply`], with the times of new cells in a zone.
pub fn apply_in(
    document: &Document,
    read: &CellMessages,
    changes: &[Change],
    zone: &TimeZone,
    ids: &mut dyn Ids,
) -> Result<Document, ItemError> {
    let plan = ChangePlan::of(document, read, changes)?;
    let mut after = None;
    if let Some(parent) = plan.rewind {
        after = Some(rewind(document, read, parent)?);
    }
    if !plan.edits.is_empty() {
        let base = after.as_ref().unwrap_or(document);
        after = Some(edit_cells(base, &plan.edits)?);
    }
    if !plan.new.is_empty() {
        let base = after.as_ref().unwrap_or(document);
        let splice = put_messages(base, read.session(), &plan.new, zone, ids)?.splice;
        after = Some(base.with_source_within_section(splice.apply(base.source())));
    }
    Ok(after.unwrap_or_else(|| document.with_source_within_section(document.source().to_vec())))
}

/// Changes, sorted by how they are made.
#[derive(Default)]
struct ChangePlan<'c> {
    edits: Vec<CellEdit>,
    /// The message that the next one follows; inside, `None` for the beginning of the conversation.
    rewind: Option<Option<&'c MessageId>>,
    /// Messages to add.
    new: Vec<Message>,
}

impl<'c> ChangePlan<'c> {
    fn of(
        document: &Document,
        read: &CellMessages,
        changes: &'c [Change],
    ) -> Result<ChangePlan<'c>, ItemError> {
        let mut plan = ChangePlan::default();
        for change in changes {
            match change {
                Change::SetHistory { target, history } => {
                    let edits = history_edits(document, read, target, *history)?;
                    plan.edits.extend(edits);
                }
                Change::Revise { target, text } => {
                    let cell = read.text_cell(target);
                    let cell = cell.ok_or_else(|| no_cell(&target.message))?;
                    plan.edits.push(CellEdit::text(cell, text));
                }
                Change::ContinueFrom { parent } => plan.rewind = Some(parent.as_ref()),
                Change::Append(message) => plan.new.push((**message).clone()),
            }
        }
        Ok(plan)
    }
}

/// The document whose next message follows this one, or begins the conversation anew.
fn rewind(
    document: &Document,
    read: &CellMessages,
    parent: Option<&MessageId>,
) -> Result<Document, ItemError> {
    let Some(parent) = parent else {
        return with_rewind_mark(document, "");
    };
    let at = read.head(parent).ok_or_else(|| no_cell(parent))?;
    let Some(cell) = document.cell_at(at) else {
        return with_rewind_mark(document, "");
    };
    check_is_first(document, cell)?;
    if cell.id().is_some() {
        return with_rewind_mark(document, &cell.name());
    }
    let edit = CellEdit {
        cell: at,
        edit: Edit::Id,
    };
    let named = edit_cells(document, &[edit])?;
    let name = named.cell_at(at).map(|cell| cell.name().into_owned());
    with_rewind_mark(&named, &name.unwrap_or_default())
}

/// The edits that set how much of a message, or of a call and its result, the model sees.
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
        // An answer that is nothing but calls is hidden call by call.
        cells = read.call_cells(&target.message);
    }
    let edits = cells.into_iter().map(|cell| history_edit(cell, history));
    Ok(edits.collect())
}

/// The edit that sets the history of one cell.
fn history_edit(cell: usize, history: History) -> CellEdit {
    match history {
        History::Exclude => CellEdit::set(cell, MetaKey::History, "none"),
        History::Summary => CellEdit::set(cell, MetaKey::History, history.as_str()),
        History::Include => CellEdit::remove(cell, MetaKey::History),
    }
}

/// The document with an empty cell at its end that says which cell the next message follows; an empty name begins the
/// conversation anew.
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

/// The document with a plain empty cell in place of the rewind mark.
fn without_rewind_mark(document: &Document, ready: Cell<'_>) -> Document {
    let hashes = "#".repeat(ready.level());
    let bytes = format!("{hashes} %%{}", document.line_end()).into_bytes();
    let splice = Splice {
        at: ready.span(),
        bytes,
    };
    document.with_source_within_section(splice.apply(document.source()))
}

/// The head of the last message of the main chain above an empty cell, which the cell follows without `parent=`.
fn last_before(document: &Document, ready: Cell<'_>) -> Option<String> {
    let read = CellMessages::of(document, &SessionId::default());
    for (message, head) in read.messages.iter().zip(&read.heads).rev() {
        let is_on_chain = message.agent_id.is_none() && !matches!(message.body, Body::Progress(_));
        if is_on_chain && *head < ready.at {
            return Some(document.cell_at(*head)?.name().into_owned());
        }
    }
    None
}

/// The error for a message that is not in the file.
fn no_cell(message: &MessageId) -> ItemError {
    let text = format!("no cell says message {message}");
    ItemError::new(ItemErrorKind::UnknownCell, text)
}

/// A copy of the file up to a cell and what completes it: the results of calls, the outputs of code, what came with a
/// summary. Its bytes are those of the original. Tombstones and revisions of these cells further down, and their
/// details, are added to the copy. Without these, a copy that ends with a reply gets a ready cell, so that a person does
/// not type into the reply.
pub fn fork(document: &Document, at: usize) -> Result<Vec<u8>, ItemError> {
    let read = CellMessages::of(document, &SessionId::default());
    let message = read
        .message(at)
        .ok_or_else(|| not_a_message(document, at))?;
    let positions = fork_positions(&read.messages, Some(message))
        .map_err(|error| verb_error(&read, document, error))?;
    let mut last = at;
    let mut changes = Vec::new();
    for position in positions {
        if is_change(&read.messages[position]) {
            changes.push(read.heads[position]);
        } else {
            last = last.max(read.last_cell(position));
        }
    }
    changes.retain(|change| *change > last);
    let end = document.cell_at(last).map_or(0, |cell| cell.span().end);
    let mut copied = document.source()[..end].to_vec();
    if changes.is_empty() && details_lines(document).is_empty() {
        let last = document.cell_at(last);
        if last.is_some_and(|cell| cell.role() == CellRole::Reply) {
            copied.extend(ready_cell_text(document, end).into_bytes());
        }
        return Ok(copied);
    }
    let mut copy = document.with_source_within_section(copied);
    for change in changes {
        if let Some(cell) = document.cell_at(change) {
            let splice = append(&copy, &without_parent(cell));
            copy = copy.with_source_within_section(splice.apply(copy.source()));
        }
    }
    Ok(with_details(document, copy))
}

/// Whether a message only changes another one.
fn is_change(message: &Message) -> bool {
    matches!(message.body, Body::Tombstone(_) | Body::Revision(_))
}

/// The source of a copy with the details of its cells added, unless they were copied too.
fn with_details(document: &Document, copy: Document) -> Vec<u8> {
    let mut lines = details_lines(document);
    lines.retain(|line| cell_of_details(line).is_some_and(|name| copy.cell(&name).is_some()));
    if lines.is_empty() || !details_lines(&copy).is_empty() {
        return copy.into_source();
    }
    append(&copy, &details_cell(&lines.join("\n"))).apply(copy.source())
}

/// The name of the cell that a line of details belongs to.
fn cell_of_details(line: &str) -> Option<String> {
    let entry = RawMap::parse(line).unwrap_or_default();
    entry.get("cell").and_then(Raw::as_string)
}

/// The cell for another file, where it follows the cell above it.
fn without_parent(cell: Cell<'_>) -> NewCell {
    let mut new = NewCell::new(cell.kind(), cell.name(), cell.type_word(), cell.content());
    new.title = cell.title().into_owned();
    for (key, value) in cell.attributes() {
        // Writing the cell decides anew whether it needs `stored`.
        if key != "parent" && key != "stored" {
            new = new.with(key, value);
        }
    }
    new
}

/// The error of a verb on a cell that is not part of a message.
pub fn not_a_message(document: &Document, at: usize) -> ItemError {
    let name = document.cell_at(at).map(Cell::name).unwrap_or_default();
    ItemError::new(ItemErrorKind::Invalid, format!("cell {name} is no message"))
        .hinting("name a message or an answer")
}

/// The error of a verb, with cells in place of messages.
pub fn verb_error(read: &CellMessages, document: &Document, error: VerbError) -> ItemError {
    let name = |id: &MessageId| match read.head(id).and_then(|at| document.cell_at(at)) {
        Some(cell) => cell.name().into_owned(),
        None => id.to_string(),
    };
    let hint = match &error {
        VerbError::AlreadyHidden(id) => Some(Hint::Restore(name(id).into())),
        _ => None,
    };
    let kind = match &error {
        VerbError::UnknownMessage(_) => ItemErrorKind::UnknownCell,
        _ => ItemErrorKind::Invalid,
    };
    let named = error.naming(|id| format!("cell {}", name(id)).into());
    let error = ItemError::new(kind, named.to_string());
    match hint {
        Some(hint) => error.hinting(hint),
        None => error,
    }
}

/// Replaces the text of a cell. A person may not edit what a model called or thought, or what code printed; see
/// [`replace_text`] for a change without this check.
pub fn edit_text(document: &Document, at: usize, text: &str) -> Result<Document, ItemError> {
    let cell = document
        .cell_at(at)
        .ok_or_else(|| not_a_message(document, at))?;
    check_is_first(document, cell)?;
    check_is_editable(cell, text)?;
    edit_cells(document, &[CellEdit::text(at, text)])
}

/// Fails unless a person may replace the text of this cell by `text`.
fn check_is_editable(cell: Cell<'_>, text: &str) -> Result<(), ItemError> {
    match cell.role() {
        CellRole::ToolCall => Err(not_editable(cell, &NotEditable::Call)),
        CellRole::Thinking => Err(not_editable(cell, &NotEditable::Thought)),
        CellRole::CodeOutput => Err(not_editable(cell, &NotEditable::CodeOutput)),
        CellRole::CompactBoundary
        | CellRole::Notification
        | CellRole::Progress
        | CellRole::Tombstone => Err(not_editable(cell, &NotEditable::NoText)),
        CellRole::AgentDefinition | CellRole::Details => Err(not_a_message(cell.document, cell.at)),
        CellRole::User if cell.is_ready() => Err(not_a_message(cell.document, cell.at)),
        CellRole::Code => match code(text) {
            Ok(_) => Ok(()),
            Err(error) => Err(not_editable(cell, &error)
                .hinting("give a fenced code block that names its language")),
        },
        CellRole::User
        | CellRole::Raw
        | CellRole::UserBlock
        | CellRole::Reply
        | CellRole::ToolResult
        | CellRole::System
        | CellRole::Summary
        | CellRole::Attachment
        | CellRole::Block => {
            let is_json = cell.get(MetaKey::Json).is_some();
            if is_json || cell.get(MetaKey::MimeType).is_some() {
                return Err(not_editable(cell, &NotEditable::NoText));
            }
            Ok(())
        }
    }
}

/// The error for a cell whose text cannot be replaced.
fn not_editable(cell: Cell<'_>, reason: &dyn fmt::Display) -> ItemError {
    let message = format!("cell {} cannot be edited: {reason}", cell.name());
    ItemError::new(ItemErrorKind::Invalid, message)
}

/// The splice that replaces the text of a cell. Fails if another cell would read differently.
pub fn replace_text(document: &Document, name: &str, text: &str) -> Result<Splice, ItemError> {
    let missing = || ItemError::new(ItemErrorKind::UnknownCell, "there is no such cell");
    let cell = document.cell(name).ok_or_else(missing)?;
    let after = edit_cells(document, &[CellEdit::text(cell.at, text)])?;
    Ok(Splice::between(document.source(), after.source()))
}
