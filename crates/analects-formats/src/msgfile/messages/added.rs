//! Messages added to an existing file: results of calls, a summary and its boundary, reminders. They follow the last
//! message, and name other messages by their cells, so that they stay right when the file is moved.

use std::collections::{BTreeSet, HashMap, HashSet};

use analects_core::{
    Body, CompactBoundary, Ids, LinkKind, Message, MessageId, SessionId, Summary, Tree,
};
use jiff::tz::TimeZone;

use super::cell_messages::CellMessages;
use super::cells::CellWriter;
use super::describe::Style;
use super::known::{CellsHash, is_partial, may_be_known};
use super::lookup::{MessageCellNames, head_indexes, messages_of_cells};
use crate::msgfile::cell_edits::with_ids;
use crate::msgfile::item::{ItemError, ItemErrorKind};
use crate::msgfile::{Cell, Document, NewCell, Splice, answer_below, append_all};

/// The cells of messages that are added.
#[derive(Debug, Default)]
struct NewCells {
    /// The cells, in order.
    cells: Vec<NewCell>,
    /// The name of each message's head.
    heads: Vec<String>,
}

/// Messages that were added to a file.
#[derive(Debug, Clone, PartialEq)]
pub struct AddedMessages {
    /// The change of the file.
    pub splice: Splice,
    /// The messages whose cells say less than the message, each with the hash of its cells.
    pub partial: Vec<(CellsHash, Message)>,
}

/// Adds messages at the end of a file, or results of calls below their calls if a prompt follows there. A cell that
/// a message names gets an id if it has none, since its number changes as soon as a cell is typed above it. No other
/// byte changes. Times have the offset of the zone.
///
/// Fails if a message names another one that is not in the file any more, or that cannot be named because two cells
/// have its id.
pub fn put_messages(
    document: &Document,
    session: &SessionId,
    new: &[Message],
    zone: &TimeZone,
    ids: &mut dyn Ids,
) -> Result<AddedMessages, ItemError> {
    let new = &with_compactions_merged(document, session, new)?;
    let (sealed, named) = with_mentions_sealed(document, session, new)?;
    let made = new_cells(&sealed, session, &named, zone, ids);
    let after = insertion(&sealed, &made.cells).apply(sealed.source());
    let splice = Splice::between(document.source(), &after);
    let after = document.with_source_within_section(after);
    let read = messages_of_cells(&after, session, &made.heads);
    let mut partial = Vec::new();
    for (message, read) in new.iter().zip(read) {
        if let Some((read, hash)) = read
            && may_be_known(&read)
            && is_partial(message, &read)
        {
            partial.push((hash, message.clone()));
        }
    }
    Ok(AddedMessages { splice, partial })
}

/// A summary and its boundary, which a file holds in one cell.
struct Compaction {
    boundary: MessageId,
    /// The last message that the summary stands for.
    through: MessageId,
}

/// The messages with each compaction as its summary alone, which names the last message that it stands for.
fn with_compactions_merged(
    document: &Document,
    session: &SessionId,
    new: &[Message],
) -> Result<Vec<Message>, ItemError> {
    let mut compactions: HashMap<&MessageId, Compaction> = HashMap::new();
    for message in new {
        let Body::CompactBoundary(body) = &message.body else {
            continue;
        };
        let Some(summary) = summary_of(body, new) else {
            continue;
        };
        let through = last_before(document, session, body.kept_from.as_ref());
        let compaction = Compaction {
            boundary: message.id.clone(),
            through: through.ok_or_else(changed_meanwhile)?,
        };
        compactions.insert(&summary.id, compaction);
    }
    let boundaries: HashSet<&MessageId> = compactions.values().map(|it| &it.boundary).collect();
    let mut messages = Vec::with_capacity(new.len());
    for message in new {
        if boundaries.contains(&message.id) {
            continue;
        }
        let mut message = message.clone();
        if let Body::Summary(body) = &mut message.body {
            *body = Summary {
                text: body.text.clone(),
                to: compactions.get(&message.id).map(|it| it.through.clone()),
                ..Summary::default()
            };
        }
        messages.push(message);
    }
    Ok(messages)
}

/// The summary that a boundary belongs to, if it is among these messages.
fn summary_of<'m>(boundary: &CompactBoundary, messages: &'m [Message]) -> Option<&'m Message> {
    let id = boundary.summary_id.as_ref()?;
    messages
        .iter()
        .find(|message| message.id == *id && matches!(message.body, Body::Summary(_)))
}

/// The last message on the current branch before the message `kept_from`, or the last of all.
fn last_before(
    document: &Document,
    session: &SessionId,
    kept_from: Option<&MessageId>,
) -> Option<MessageId> {
    let read = CellMessages::of(document, session);
    let tree = Tree::of(&read.messages);
    let mut branch = tree.ancestors(tree.leaf(None)?);
    if let Some(id) = kept_from {
        branch.find(|at| tree.link(*at).id == &**id)?;
    }
    for at in branch {
        let link = tree.link(at);
        if link.is_shown() || matches!(link.kind, LinkKind::Boundary { .. }) {
            return Some(read.messages[at].id.clone());
        }
    }
    None
}

/// The document with an id for every cell that the messages mention, and the messages with the ids that this gives
/// those cells' messages.
fn with_mentions_sealed(
    document: &Document,
    session: &SessionId,
    new: &[Message],
) -> Result<(Document, Vec<Message>), ItemError> {
    let own: HashSet<&MessageId> = new.iter().map(|message| &message.id).collect();
    let mut mentioned: Vec<Mention<'_>> = new
        .iter()
        .flat_map(|message| mentions(&message.body))
        .collect();
    mentioned.retain(|mention| !own.contains(mention.id));
    if mentioned.is_empty() {
        let same = document.with_source_within_section(document.source().to_vec());
        return Ok((same, new.to_vec()));
    }
    let (sealed, renamed) = with_named_sealed(document, session, &mentioned)?;
    let mut messages = new.to_vec();
    for message in &mut messages {
        rename_mentions(&mut message.body, |id| renamed.get(id).cloned());
    }
    Ok((sealed, messages))
}

/// Where new cells go: results of calls below their calls if a prompt follows there, all other cells to the end.
fn insertion(document: &Document, cells: &[NewCell]) -> Splice {
    if let Some(call) = call_of_results(document, cells)
        && document.cells().skip(call.ordinal()).any(Cell::is_prompt)
    {
        return answer_below(document, call, cells);
    }
    append_all(document, cells)
}

/// The call of the last of these cells, if all of them are results of calls in the file.
fn call_of_results<'a>(document: &'a Document, cells: &[NewCell]) -> Option<Cell<'a>> {
    let mut last = None;
    for cell in cells {
        let (call, _) = cell.id.rsplit_once('.')?;
        let call = document.cell(call)?;
        if !cell.role().is_tool() || !call.role().is_tool() {
            return None;
        }
        last = Some(call);
    }
    last
}

/// The id of another message in the body of a message.
struct Mention<'a> {
    id: &'a MessageId,
    /// Whether it may be missing from the file: a message that came from elsewhere may have a parent there.
    may_be_elsewhere: bool,
    /// Whether what the model sees depends on it.
    matters: bool,
}

impl<'a> Mention<'a> {
    fn needed(id: &'a MessageId) -> Mention<'a> {
        Mention {
            id,
            may_be_elsewhere: false,
            matters: true,
        }
    }

    fn parent(id: &'a MessageId) -> Mention<'a> {
        Mention {
            id,
            may_be_elsewhere: true,
            matters: false,
        }
    }
}

fn mentions(body: &Body) -> Vec<Mention<'_>> {
    match body {
        Body::Summary(body) => body.to.iter().map(Mention::needed).collect(),
        Body::CompactBoundary(body) => {
            let ids = body.summary_id.iter().chain(&body.kept_from);
            ids.map(Mention::needed).collect()
        }
        Body::Tombstone(body) => {
            let mut mentions = vec![Mention::needed(&body.target)];
            mentions.extend(body.target_parent.as_ref().map(Mention::parent));
            mentions
        }
        Body::System(_)
        | Body::User(_)
        | Body::Assistant(_)
        | Body::ToolUse(_)
        | Body::ToolResult(_)
        | Body::Progress(_)
        | Body::Attachment(_)
        | Body::Notification(_)
        | Body::Revision(_)
        | Body::State(_)
        | Body::Other(_) => Vec::new(),
    }
}

/// The document with an id for every cell that is mentioned, and the new ids of all messages by their old ones.
fn with_named_sealed(
    document: &Document,
    session: &SessionId,
    mentioned: &[Mention<'_>],
) -> Result<(Document, HashMap<MessageId, MessageId>), ItemError> {
    let before = head_indexes(document, session);
    let mut cells = BTreeSet::new();
    for mention in mentioned {
        match before.get(mention.id) {
            Some(at) => _ = cells.insert(*at),
            None if mention.may_be_elsewhere => {}
            None => return Err(changed_meanwhile()),
        }
    }
    let sealed = with_ids(document, cells)?;
    for mention in mentioned.iter().filter(|mention| mention.matters) {
        let at = before.get(mention.id);
        if let Some(cell) = at.and_then(|at| sealed.cell_at(*at)) {
            check_is_first(&sealed, cell)?;
        }
    }
    let mut ids_after = HashMap::new();
    for (id, at) in head_indexes(&sealed, session) {
        ids_after.insert(at, id);
    }
    let mut renamed = HashMap::with_capacity(before.len());
    for (id, at) in before {
        if let Some(after) = ids_after.get(&at) {
            renamed.insert(id, after.clone());
        }
    }
    Ok((sealed, renamed))
}

fn changed_meanwhile() -> ItemError {
    let text = "the file has changed, and a cell that is to be named is not there any more";
    ItemError::new(ItemErrorKind::UnknownCell, text).hinting("try again")
}

/// Fails for the second of two cells with the same id, which nothing can name.
pub(crate) fn check_is_first(document: &Document, cell: Cell<'_>) -> Result<(), ItemError> {
    let name = cell.name();
    let first = document.cell(&name);
    if first.is_none_or(|first| first.ordinal() == cell.ordinal()) {
        return Ok(());
    }
    let text = format!("two cells are called {name}, and nothing could say which one is meant");
    Err(ItemError::new(ItemErrorKind::Duplicate, text).hinting("give each an id of its own"))
}

/// The cells of messages that are added at the end of a file, each following the one before. They name each other,
/// and messages of the file, by the names of cells.
fn new_cells(
    document: &Document,
    session: &SessionId,
    new: &[Message],
    zone: &TimeZone,
    ids: &mut dyn Ids,
) -> NewCells {
    let known = MessageCellNames::of(document, session);
    let mut names = known.messages;
    let calls = with_result_counts(document, known.calls);
    let mut writer = CellWriter::after(document, ids, Style::Usual, calls);
    writer.zone.clone_from(zone);
    let mut made = NewCells::default();
    for message in new {
        let mut named = message.clone();
        rename_mentions(&mut named.body, |id| {
            let name = names.get(id)?;
            Some(MessageId::from(name.as_str()))
        });
        let mut cells = writer.cells(&named);
        let head = cells.name().to_string();
        names.insert(message.id.clone(), head.clone());
        made.heads.push(head);
        made.cells.append(&mut cells.cells);
    }
    made
}

/// The names of the heads of a file's messages.
pub fn cell_names(document: &Document, session: &SessionId) -> HashMap<MessageId, String> {
    MessageCellNames::of(document, session).messages
}

/// The name of the head of a message in a file.
pub fn cell_of(document: &Document, session: &SessionId, message: &MessageId) -> Option<String> {
    MessageCellNames::of(document, session)
        .messages
        .remove(message)
}

/// The cells of calls, each with the number of its results.
fn with_result_counts(
    document: &Document,
    calls: HashMap<String, String>,
) -> HashMap<String, (String, usize)> {
    let mut results: HashMap<&str, usize> = HashMap::new();
    for id in document.cells().filter_map(Cell::id) {
        if let Some((call, _)) = id.rsplit_once('.') {
            *results.entry(call).or_default() += 1;
        }
    }
    let mut counted = HashMap::with_capacity(calls.len());
    for (call, cell) in calls {
        let count = results.get(cell.as_str()).copied().unwrap_or(0);
        counted.insert(call, (cell, count));
    }
    counted
}

/// Replaces the ids of other messages in a body, where `new_id` has a new one.
fn rename_mentions(body: &mut Body, new_id: impl Fn(&MessageId) -> Option<MessageId>) {
    for id in mentioned_ids(body) {
        if let Some(new) = new_id(id) {
            *id = new;
        }
    }
}

fn mentioned_ids(body: &mut Body) -> Vec<&mut MessageId> {
    match body {
        Body::Summary(body) => body.from.iter_mut().chain(&mut body.to).collect(),
        Body::CompactBoundary(body) => {
            let ids = body.summary_id.iter_mut().chain(&mut body.kept_from);
            ids.collect()
        }
        Body::Tombstone(body) => {
            let target = std::iter::once(&mut body.target);
            target.chain(&mut body.target_parent).collect()
        }
        Body::System(_)
        | Body::User(_)
        | Body::Assistant(_)
        | Body::ToolUse(_)
        | Body::ToolResult(_)
        | Body::Progress(_)
        | Body::Attachment(_)
        | Body::Notification(_)
        | Body::Revision(_)
        | Body::State(_)
        | Body::Other(_) => Vec::new(),
    }
}
