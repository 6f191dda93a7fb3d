//! Messages that are added to a file that is there already: results of calls, a summary and its boundary,
//! reminders. They follow what stands in the file, and name other messages by their cells, so that they stay
//! right when the file is moved.

use std::collections::{BTreeSet, HashMap, HashSet};

use analects_core::{Body, Ids, LinkKind, Message, MessageId, SessionId, Summary, Tree};

use super::cells::CellWriter;
use super::describe::Style;
use super::known::{CellsHash, is_partial, may_be_known};
use super::lookup::{
    CellMessages, MessageCellNames, message_of_new_cells, messages_of_cells, places,
};
use crate::msgfile::cell_edits::{with_ids, with_numbers};
use crate::msgfile::item::{ItemError, ItemErrorKind};
use crate::msgfile::{
    Cell, CellKind, Document, NewCell, Splice, answer_behind, append_all, append_answer,
};

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
    /// The messages whose cells do not say everything, each with the hash of its cells.
    pub partial: Vec<(CellsHash, Message)>,
}

/// Adds messages at the end of a file; results of calls below their calls, if somebody has typed something
/// there meanwhile. A cell that they name and that has no id gets one: its place, by which
/// it would else be named, is another one as soon as somebody types a cell above it. Every other byte stays.
pub fn put_messages(
    document: &Document,
    session: &SessionId,
    new: &[Message],
    ids: &mut dyn Ids,
) -> Result<AddedMessages, ItemError> {
    let new = &with_through(document, session, new)?;
    let (sealed, named) = with_mentions_sealed(document, session, new)?;
    let made = new_cells(&sealed, session, &named, ids);
    let after = placed(&sealed, &made.cells).apply(sealed.source());
    let splice = Splice::between(document.source(), &after);
    let read = messages_of_cells(
        &document.with_source_within_section(after),
        session,
        &made.heads,
    );
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

/// The messages in which a compaction is its summary alone, which names the last message that it stands for.
fn with_through(
    document: &Document,
    session: &SessionId,
    new: &[Message],
) -> Result<Vec<Message>, ItemError> {
    let boundaries = new.iter().filter_map(|message| {
        let Body::CompactBoundary(body) = &message.body else {
            return None;
        };
        Some((message, body))
    });
    let mut compactions = HashMap::new();
    for (boundary, body) in boundaries {
        let is_summary = |message: &&Message| {
            Some(&message.id) == body.summary_id.as_ref()
                && matches!(message.body, Body::Summary(_))
        };
        if let Some(summary) = new.iter().find(is_summary) {
            let through = last_before(document, session, body.kept_from.as_ref());
            let through = through.ok_or_else(gone)?;
            compactions.insert(summary.id.clone(), (boundary.id.clone(), through));
        }
    }
    let is_merged = |message: &Message| compactions.values().any(|(id, _)| *id == message.id);
    let mut messages = Vec::with_capacity(new.len());
    for message in new.iter().filter(|message| !is_merged(message)) {
        let mut message = message.clone();
        if let Body::Summary(body) = &mut message.body {
            let through = compactions
                .get(&message.id)
                .map(|(_, through)| through.clone());
            *body = Summary {
                text: body.text.clone(),
                to: through,
                ..Summary::default()
            };
        }
        messages.push(message);
    }
    Ok(messages)
}

/// The last message of the branch of a file that comes before another one, or the last of all.
fn last_before(
    document: &Document,
    session: &SessionId,
    kept_from: Option<&MessageId>,
) -> Option<MessageId> {
    let read = CellMessages::of(document, session);
    let tree = Tree::of(&read.messages);
    let mut way = tree.ancestors(tree.leaf(None)?);
    if let Some(id) = kept_from {
        way.find(|at| tree.link(*at).id == &**id)?;
    }
    let is_said = |at: &usize| {
        let link = tree.link(*at);
        link.is_shown() || matches!(link.kind, LinkKind::Boundary { .. })
    };
    way.find(is_said).map(|at| read.messages[at].id.clone())
}

/// The document in which all cells that messages mention have an id, and the messages with these names.
fn with_mentions_sealed(
    document: &Document,
    session: &SessionId,
    new: &[Message],
) -> Result<(Document, Vec<Message>), ItemError> {
    let own: HashSet<&MessageId> = new.iter().map(|message| &message.id).collect();
    let mut named: Vec<Mention<'_>> = new
        .iter()
        .flat_map(|message| mentions(&message.body))
        .collect();
    named.retain(|mention| !own.contains(mention.id));
    if named.is_empty() {
        return Ok((
            document.with_source_within_section(document.source().to_vec()),
            new.to_vec(),
        ));
    }
    let (sealed, renamed) = with_named_sealed(document, session, &named)?;
    let rename = |message: &Message| {
        let body = meaning(&message.body, |id| renamed.get(id).cloned());
        Message {
            body,
            ..message.clone()
        }
    };
    Ok((sealed, new.iter().map(rename).collect()))
}

/// Cells in their place.
fn placed(document: &Document, cells: &[NewCell]) -> Splice {
    let is_followed = |call: &Cell<'_>| document.cells().skip(call.ordinal()).any(Cell::is_prompt);
    match call_of_all(document, cells).filter(is_followed) {
        Some(call) => answer_behind(document, call, cells),
        None => append_all(document, cells),
    }
}

/// The call of the last of these cells, if all of them are results of calls of the file.
fn call_of_all<'a>(document: &'a Document, cells: &[NewCell]) -> Option<Cell<'a>> {
    let call_of = |cell: &NewCell| {
        let (call, _) = cell.id.rsplit_once('.').filter(|_| cell.role().is_tool())?;
        document.cell(call).filter(|call| call.role().is_tool())
    };
    let calls: Option<Vec<Cell<'a>>> = cells.iter().map(call_of).collect();
    calls?.pop()
}

/// A message that another one is about.
struct Mention<'a> {
    id: &'a MessageId,
    /// Whether it need not be in the file: what came from elsewhere may have a parent there.
    may_be_elsewhere: bool,
    /// Whether what the model sees depends on it.
    counts: bool,
}

fn mentions(body: &Body) -> Vec<Mention<'_>> {
    let counting = |id| Mention {
        id,
        may_be_elsewhere: false,
        counts: true,
    };
    let parent = |id| Mention {
        id,
        may_be_elsewhere: true,
        counts: false,
    };
    match body {
        Body::Summary(body) => body.to.iter().map(counting).collect(),
        Body::CompactBoundary(body) => body
            .summary_id
            .iter()
            .chain(&body.kept_from)
            .map(counting)
            .collect(),
        Body::Tombstone(body) => {
            let target = std::iter::once(counting(&body.target));
            target
                .chain(body.target_parent.iter().map(parent))
                .collect()
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

/// The document in which all cells that are named have an id, and the names that this gives their messages.
fn with_named_sealed(
    document: &Document,
    session: &SessionId,
    named: &[Mention<'_>],
) -> Result<(Document, HashMap<MessageId, MessageId>), ItemError> {
    let before = places(document, session);
    let mut wanted = BTreeSet::new();
    for mention in named {
        match before.get(mention.id) {
            Some(at) => _ = wanted.insert(*at),
            None if mention.may_be_elsewhere => {}
            None => return Err(gone()),
        }
    }
    let sealed = with_ids(document, wanted)?;
    for mention in named.iter().filter(|mention| mention.counts) {
        let cell = before
            .get(mention.id)
            .and_then(|at| sealed.cells().nth(*at));
        cell.map_or(Ok(()), |cell| check_is_first(&sealed, cell))?;
    }
    let after: HashMap<usize, MessageId> = places(&sealed, session)
        .into_iter()
        .map(|(id, at)| (at, id))
        .collect();
    let renamed = before
        .into_iter()
        .filter_map(|(id, at)| Some((id, after.get(&at)?.clone())));
    let renamed = renamed.collect();
    Ok((sealed, renamed))
}

fn gone() -> ItemError {
    let text = "the file has changed, and a cell that is to be named is not there any more";
    ItemError::new(ItemErrorKind::UnknownCell, text).hinting("try again")
}

/// Of two cells of one id, only the first can be named.
pub(crate) fn check_is_first(document: &Document, cell: Cell<'_>) -> Result<(), ItemError> {
    let name = cell.name();
    if document
        .cell(&name)
        .is_none_or(|first| first.ordinal() == cell.ordinal())
    {
        return Ok(());
    }
    let text = format!("two cells are called {name}, and nothing could say which one is meant");
    Err(ItemError::new(ItemErrorKind::Duplicate, text).hinting("give each an id of its own"))
}

/// The cells of messages that are added at the end of a file, each following the one before. Where they name
/// each other, or messages of the file, the cells do so by the names of cells.
fn new_cells(
    document: &Document,
    session: &SessionId,
    new: &[Message],
    ids: &mut dyn Ids,
) -> NewCells {
    let MessageCellNames {
        messages: mut names,
        calls,
    } = MessageCellNames::of(document, session);
    let calls = with_results(document, calls);
    let mut writer = CellWriter::behind(document, ids, Style::Usual, calls);
    let mut made = NewCells::default();
    for message in new {
        let name = |id: &MessageId| names.get(id).map(|name| MessageId::from(name.as_str()));
        let named = Message {
            body: meaning(&message.body, name),
            ..message.clone()
        };
        let mut cells = writer.cells(&named);
        names.insert(message.id.clone(), cells.name().to_string());
        made.heads.push(cells.name().to_string());
        made.cells.append(&mut cells.cells);
    }
    made
}

/// The names of the first cells of the messages of a file.
pub fn cell_names(document: &Document, session: &SessionId) -> HashMap<MessageId, String> {
    MessageCellNames::of(document, session).messages
}

/// The name of the first cell of a message of a file.
pub fn cell_of(document: &Document, session: &SessionId, message: &MessageId) -> Option<String> {
    MessageCellNames::of(document, session)
        .messages
        .remove(message)
}

/// The cells of calls, each with the number of its results.
fn with_results(
    document: &Document,
    calls: HashMap<String, String>,
) -> HashMap<String, (String, usize)> {
    let mut results: HashMap<&str, usize> = HashMap::new();
    for (call, _) in document
        .cells()
        .filter_map(|cell| cell.id()?.rsplit_once('.'))
    {
        *results.entry(call).or_default() += 1;
    }
    let counted = calls.into_iter().map(|(call, cell)| {
        let count = results.get(cell.as_str()).copied().unwrap_or(0);
        (call, (cell, count))
    });
    counted.collect()
}

/// The body with other names for the messages that it is about, where there are such.
fn meaning(body: &Body, name: impl Fn(&MessageId) -> Option<MessageId>) -> Body {
    let mut body = body.clone();
    let rename = |id: &mut MessageId| {
        if let Some(name) = name(id) {
            *id = name;
        }
    };
    let rename_some = |id: &mut Option<MessageId>| id.iter_mut().for_each(&rename);
    match &mut body {
        Body::Summary(body) => {
            rename_some(&mut body.from);
            rename_some(&mut body.to);
        }
        Body::CompactBoundary(body) => {
            rename_some(&mut body.summary_id);
            rename_some(&mut body.kept_from);
        }
        Body::Tombstone(body) => {
            rename(&mut body.target);
            rename_some(&mut body.target_parent);
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
        | Body::Other(_) => {}
    }
    body
}

/// How much of what a provider tells of an answer stands in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AnswerDetail {
    /// What people read: who, when, which model, tokens, cost.
    #[default]
    Usual,
    /// Also durations, response ids and every count of tokens.
    All,
}

/// An answer that is put into a file.
#[derive(Debug, Clone, PartialEq)]
pub struct PlacedAnswer {
    /// The change of the file.
    pub splice: Splice,
    /// The name of the answer's cell.
    pub cell: String,
    /// The hash of the answer's cells.
    pub hash: CellsHash,
    /// Whether the cells say less than the message.
    pub is_partial: bool,
}

/// Puts an answer behind the cells that it answers, given by their places from 0, in order, and behind all that
/// follows them except further prompts; at the end of the file if there are none. A question without an id gets one, unless some cell would read differently then.
/// At the end of the file, an empty cell is ready for what is said next.
///
/// ```
/// use analects_core::{CountingIds, Message};
/// use analects_formats::msgfile::{AnswerDetail, decode, put_answer};
///
/// let document = decode("# %%\n\nWhat is a monad?\n");
/// let answer = Message { author: Some("coder".into()), ..Message::assistant("m", "A monoid.") };
/// let ids = &mut CountingIds::default();
/// let placed = put_answer(&document, &[0], &answer, AnswerDetail::Usual, ids);
/// let file = String::from_utf8(placed.splice.apply(document.source()))?;
/// assert!(file.starts_with("# %% [^1]\n\n[^1]: [markdown]\n\nWhat is a monad?\n\n# %%% [^2]\n"));
/// assert!(file.ends_with("A monoid.\n\n# %%\n"));
/// # Ok::<(), std::string::FromUtf8Error>(())
/// ```
pub fn put_answer(
    document: &Document,
    asked: &[usize],
    answer: &Message,
    detail: AnswerDetail,
    ids: &mut dyn Ids,
) -> PlacedAnswer {
    let sealed = with_numbers(document, asked).ok().flatten();
    let base = sealed.as_ref().unwrap_or(document);
    let mut writer = CellWriter::behind(base, ids, detail.into(), HashMap::new());
    let cells = writer.cells(answer);
    let name = cells.name().to_string();
    let cells = cells.cells;
    // An empty cell that says whom the answer follows gives it its place.
    let is_marked = base.ready_cell().is_some_and(Cell::is_rewind_mark);
    let splice = match last_before_answer(base, asked).filter(|_| !is_marked) {
        Some(last) => answer_behind(base, last, &cells),
        None => append_answer(base, &cells),
    };
    // What stands above its cells changes nothing of what they say, so a large file is not read again.
    let alone = base.with_cells(&splice.bytes);
    let (hash, is_partial) = match message_of_new_cells(&alone, base, &name) {
        Some((read, hash)) => (hash, is_partial(answer, &read)),
        None => (CellsHash::of(alone.cell(&name)), true),
    };
    let splice = match &sealed {
        Some(sealed) => Splice::between(document.source(), &splice.apply(sealed.source())),
        None => splice,
    };
    PlacedAnswer {
        splice,
        cell: name,
        hash,
        is_partial,
    }
}

/// The cell that an answer stands behind: its question, or what came back below that, as on another branch, up to the
/// next prompt that waits for another answer.
fn last_before_answer<'d>(document: &'d Document, asked: &[usize]) -> Option<Cell<'d>> {
    let last_asked = *asked.last()?;
    let is_other = |cell: &Cell<'_>| cell.at > last_asked && !asked.contains(&cell.at);
    let waiting = document.unanswered().into_iter().find(is_other);
    let end = waiting.map_or(document.cells().len(), |cell| cell.at);
    let mut before = document.cells().take(end);
    before.rfind(|cell| cell.at <= last_asked || cell.kind() == CellKind::Output)
}
