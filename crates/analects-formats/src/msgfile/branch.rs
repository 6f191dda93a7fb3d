//! Going back, going elsewhere, and saying something else: a conversation in a file is never changed
//! but by additions. What the model does not see any more still stands where it stood.

use std::collections::HashSet;

use analects_core::{History, Raw, RawMap, Span};

use super::attributes::{with_id, would_change_others};
use super::choice::{BEFORE, Versions, hide_version, roles, shown};
use super::code::code;
use super::compaction::{
    Compaction, boundary_of, end_of_compaction, is_taken_back, renamed, tombstones_behind,
    with_firm_names,
};
use super::item::{ItemError, ItemErrorKind};
use super::messages::{details_cell, details_lines, side_places};
use super::{
    Attribute, Cell, CellKind, CellRole, Document, NewCell, Splice, append, set_attributes,
};

/// The kind of the notification that a rewind adds.
const REWIND: &str = "rewind";

/// Attributes that tell of a text, and not of another in its place.
const OF_THE_TEXT: [&str; 21] = [
    "history",
    BEFORE,
    "stored",
    "summary",
    "title",
    "uuid",
    "parent",
    "time",
    "response_id",
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_creation_tokens",
    "reasoning_tokens",
    "tokens",
    "cost",
    "duration",
    "stop_reason",
    "error",
    "content",
    "edit_of",
];

/// A file that goes on from an earlier cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewound {
    /// The file.
    pub source: Vec<u8>,
    /// The cell that it goes on from.
    pub to: String,
    /// The cell that it would have gone on from: to go back there undoes it.
    pub before: String,
    /// The summary that stood for the earlier part, if it does not count there: all of it is seen again.
    pub uncounted: Option<String>,
}

/// A file in which a cell says something else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    /// The file.
    pub source: Vec<u8>,
    /// The name of the new cell.
    pub new: String,
    /// The cell in whose place it stands: of one that was edited before, the edit.
    pub old: String,
    /// The cells that are hidden now.
    pub hidden: Vec<String>,
    /// Whether the old one was hidden already, for which the new one is, too.
    pub is_hidden: bool,
}

/// Goes back to a cell: what is said next follows it. What came after it stays in the file, as a branch
/// that is not sent. One cell is added, which says so; every other byte stays, but for the head of a cell
/// that has no id yet. A compaction is gone back to as a whole: to its summary is to the end of it.
///
/// ```
/// use analects_formats::msgfile;
///
/// let file = "# %% [^1]\n\n[^1]: [markdown]\n\none\n\n# %%% [^2]\n\n[^2]: [coder]\n\ntwo\n";
/// let rewound = msgfile::rewind(&msgfile::decode(file), 0)?;
/// assert!(rewound.source.starts_with(file.as_bytes()));
/// let document = msgfile::decode(rewound.source);
/// assert_eq!(document.unanswered()[0].name(), "1");
/// # Ok::<(), msgfile::item::ItemError>(())
/// ```
pub fn rewind(document: &Document, at: usize) -> Result<Rewound, ItemError> {
    let roles = roles(document);
    let cell = cell_at(document, at)?;
    check_is_message(cell, roles[at])?;
    let sides = side_places(document);
    if sides.contains(&at) {
        return Err(beside(cell));
    }
    check_summary_counts(document, roles[at], at)?;
    // To go back to where somebody went back is to go where they went.
    let at = leaf(document, at);
    let counted = Compaction::of(document);
    let (at, asked) = (end_of_compaction(document, &roles, at), at);
    let cell = cell_of(document, at);
    let before = end(document, &roles, &sides).unwrap_or(at);
    if before == at {
        let text = format!("nothing comes after cell {}", cell.name());
        return Err(ItemError::new(ItemErrorKind::Invalid, text));
    }
    // Places count from the top; a name would not do for a cell that another one shares it with.
    let (source, _) = with_id(document, before)?;
    let document = document.with_source(source);
    let (source, to) = with_id(&document, at)?;
    let document = document.with_source(source);
    let before = cell_of(&document, before).name().into_owned();
    let text = format!("Back to cell {to}; what stands between is another branch.");
    let source = append(&document, &marker(&document, &to, text)).apply(document.source());
    let counts = Compaction::of(&document.with_source(source.clone())).map(|it| it.boundary);
    if roles[asked] == "summary" && at != asked && counts.is_none() {
        return Err(uncounted_summary(cell_of(&document, asked)));
    }
    let uncounted = counted.filter(|it| counts < Some(it.boundary)).and_then(|it| it.summary);
    let uncounted = uncounted.map(|at| cell_of(&document, at).name().into_owned());
    Ok(Rewound { source, to, before, uncounted })
}

/// Goes back before the first message: what is said next is the first one again. What was said so far stays in the
/// file, as a branch that is not sent.
///
/// ```
/// use analects_formats::msgfile;
///
/// let file = "# %% [^1]\n\n[^1]: [markdown]\n\none\n";
/// let rewound = msgfile::rewind_to_start(&msgfile::decode(file))?;
/// assert_eq!(rewound.before, "1");
/// assert!(msgfile::current_branch(&msgfile::decode(rewound.source)).is_empty());
/// # Ok::<(), msgfile::item::ItemError>(())
/// ```
pub fn rewind_to_start(document: &Document) -> Result<Rewound, ItemError> {
    let nothing = || ItemError::new(ItemErrorKind::Invalid, "nothing was said yet");
    let before = end(document, &roles(document), &side_places(document)).ok_or_else(nothing)?;
    let counted = Compaction::of(document).and_then(|it| it.summary);
    let (source, before) = with_id(document, before)?;
    let document = document.with_source(source);
    let text = "Back to the beginning; what stands above is another branch.".to_string();
    let marker = marker(&document, "", text);
    let source = append(&document, &marker).apply(document.source());
    let uncounted = counted.map(|at| cell_of(&document, at).name().into_owned());
    Ok(Rewound { source, to: marker.id, before, uncounted })
}

/// The cell that says that a conversation goes on from elsewhere.
fn marker(document: &Document, to: &str, text: String) -> NewCell {
    NewCell::new(CellKind::Output, document.next_event_id('n'), "notification", text)
        .with("kind", REWIND)
        .with("parent", to)
        .with("history", "none")
}

/// The cell that a conversation would go on from, if anything was said in it.
fn end(document: &Document, roles: &[&str], sides: &HashSet<usize>) -> Option<usize> {
    let is_message = |at: &usize| {
        why_no_message(cell_of(document, *at), roles[*at]).is_none() && !sides.contains(at)
    };
    let last = (0..roles.len()).rev().find(is_message)?;
    Some(leaf(document, last))
}

fn beside(cell: Cell<'_>) -> ItemError {
    let text = format!("cell {} is in a side chain, with which a file does not go on", cell.name());
    ItemError::new(ItemErrorKind::Invalid, text).hinting("name a cell without agent_id")
}

/// A summary that was taken back, or that another one has replaced, is nothing to go on from.
fn check_summary_counts(document: &Document, role: &str, at: usize) -> Result<(), ItemError> {
    let cell = cell_of(document, at);
    let is_hidden = || cell.history() == Some(History::Exclude);
    let is_replaced = || is_hidden() && boundary_of(document, at).is_none();
    match role == "summary" && (is_replaced() || is_taken_back(document, at)) {
        true => Err(uncounted_summary(cell)),
        false => Ok(()),
    }
}

fn uncounted_summary(cell: Cell<'_>) -> ItemError {
    let text = format!("cell {} is a summary that does not count any more", cell.name());
    ItemError::new(ItemErrorKind::Invalid, text).hinting("name a message or an answer")
}

/// Whether a cell only says that a conversation goes on from elsewhere: it is no message, and answers nothing.
pub(super) fn is_rewind(cell: Cell<'_>) -> bool {
    cell.role() == CellRole::Notification && cell.attribute("kind") == Some(REWIND)
}

/// The cell that a conversation goes on from, if its last message is in this cell: where a rewind went.
fn leaf(document: &Document, mut at: usize) -> usize {
    loop {
        let cell = cell_of(document, at);
        let parent = cell.attribute("parent").filter(|_| is_rewind(cell));
        match parent.and_then(|parent| document.cell(parent)).filter(|parent| parent.at < at) {
            Some(parent) => at = parent.at,
            None => return at,
        }
    }
}

/// What has to change so that whoever went back to one version of a cell went back to another one, which is seen in its
/// place from now on: with what belongs to it, or else calls would be without their results.
pub(super) fn rewinds_moved(document: &Document, from: usize, to: usize) -> Vec<Attribute> {
    let parts = |at: usize| cell_of(document, at).parts().map(|part| part.name().into_owned());
    let (old, new) = (parts(from).collect::<HashSet<String>>(), parts(to).last());
    let rewinds = document.cells().filter(|cell| is_rewind(*cell));
    let moved = rewinds.filter(|cell| cell.attribute("parent").is_some_and(|at| old.contains(at)));
    let value = new.unwrap_or_default();
    moved.map(|cell| Attribute { cell: cell.at, key: "parent", value: value.clone() }).collect()
}

/// The file up to a cell and what belongs to it: its calls and their results, the outputs of its code.
/// Of a compaction, all of it is copied. Every byte is that of the original; what the end of the file tells about
/// these cells comes along, and so does what takes one of them back.
pub fn fork(document: &Document, at: usize) -> Result<Vec<u8>, ItemError> {
    cell_at(document, at)?;
    let at = end_of_compaction(document, &roles(document), at);
    let end = cell_of(document, at).parts().map(|part| part.span().end).max().unwrap_or_default();
    let mut copy = document.with_source(document.source()[..end].to_vec());
    let count = copy.cells().len();
    for tombstone in tombstones_behind(document, count) {
        copy = copy.with_source(append(&copy, &tombstone).apply(copy.source()));
    }
    let kept: HashSet<String> = copy.cells().map(|cell| cell.name().into_owned()).collect();
    let is_kept = |line: &String| {
        let entry = RawMap::parse(line).unwrap_or_default();
        entry.get("cell").and_then(Raw::as_string).is_some_and(|cell| kept.contains(&cell))
    };
    // Where the file ends with this cell, they are there already.
    let has_details = !details_lines(&copy).is_empty();
    let lines: Vec<String> = details_lines(document).into_iter().filter(is_kept).collect();
    if lines.is_empty() || has_details {
        return Ok(copy.into_source());
    }
    Ok(append(&copy, &details_cell(&lines.join("\n"))).apply(copy.source()))
}

/// Says something else in the place of a cell. The old one stays, hidden from the model, with what
/// belongs to it; the new one stands above it, so that whatever follows the old one follows the new one.
/// A cell that was edited before is hidden already: its edit is replaced. What was hidden otherwise stays so.
/// A compaction that names the old one names the new one from then on.
pub fn edit_text(document: &Document, at: usize, text: &str) -> Result<Edited, ItemError> {
    let named = cell_at(document, at)?.at;
    let (shown, versions) = (shown(document), Versions::of(document));
    let at = versions.current(named, |at| shown[at]);
    let (old, role) = (cell_at(document, at)?, roles(document)[at]);
    check_can_be_edited(old, role, text)?;
    check_is_the_one_that_counts(document, at, role)?;
    let document = with_firm_names(document)?;
    let (source, old_id) = with_id(&document, at)?;
    let document = document.with_source(source);
    let old = cell_of(&document, at);
    let mut new = new_cell(old, role, &old_id, text);
    let mut changes: Vec<Attribute> = Vec::new();
    match old.history() {
        Some(History::Exclude) => new = new.with("history", "none"),
        _ => changes.extend(hide_version(&document, at)),
    }
    if named != at {
        // There may be several, and all of them are replaced.
        let others = versions.edits(named).into_iter().filter(|edit| shown[*edit] && *edit != at);
        changes.extend(others.flat_map(|edit| hide_version(&document, edit)));
    }
    if old.attribute("parent").is_some() {
        changes.push(Attribute { cell: at, key: "parent", value: new.id.clone() });
    }
    let hidden = hidden_names(&document, &changes, &old_id, role);
    changes.extend(renamed(&document, at, &new.id));
    let document = document.with_source(set_attributes(&document, &changes)?);
    let source = insert_before(&document, at, &new)?;
    Ok(Edited { source, new: new.id, old: old_id, hidden, is_hidden: !shown[at] })
}

/// The cells that are hidden by an edit: those that say so, and the calls and results of a reply.
fn hidden_names(document: &Document, changes: &[Attribute], old: &str, role: &str) -> Vec<String> {
    let said: HashSet<usize> = changes.iter().map(|change| change.cell).collect();
    let follows = |cell: &Cell<'_>| role == "reply" && cell.belongs_to(old);
    let hidden = document.cells().filter(|cell| said.contains(&cell.at) || follows(cell));
    hidden.map(|cell| cell.name().into_owned()).collect()
}

fn new_cell(old: Cell<'_>, role: &str, old_id: &str, text: &str) -> NewCell {
    let id = match role {
        "tool_result" => next_result(old.document, old_id),
        _ => old.document.next_id(),
    };
    let mut new = NewCell::new(old.kind(), id, old.type_word(), text).with("edit_of", old_id);
    new.title = old.full_title().into_owned();
    new.level = Some(old.level());
    if let Some(parent) = old.parent() {
        new = new.with("parent", parent);
    }
    for (key, value) in old.attributes() {
        if !OF_THE_TEXT.contains(&key) && new.attributes.iter().all(|(k, _)| *k != key) {
            new.attributes.push((key.to_string(), value.to_string()));
        }
    }
    new
}

/// The name of one more result of the same call.
fn next_result(document: &Document, old: &str) -> String {
    let call = old.rsplit_once('.').map_or(old, |(call, _)| call);
    let names = (1_u64..).map(|number| format!("{call}.{number}"));
    let mut free = names.filter(|name| document.cell(name).is_none());
    free.next().unwrap_or_default()
}

/// Puts a cell before another; all the others must read as before.
fn insert_before(document: &Document, at: usize, cell: &NewCell) -> Result<Vec<u8>, ItemError> {
    let (old, line_end) = (cell_of(document, at), document.line_end());
    let start = old.span().start;
    let text = format!("{}{line_end}", cell.to_text(old.level(), line_end));
    let splice = Splice { at: Span::new(start, start), bytes: text.into_bytes() };
    let after = document.with_source(splice.apply(document.source()));
    let says =
        |cell: Cell<'_>| (cell.kind(), cell.name().into_owned(), cell.content().into_owned());
    // A cell without id is named by its place, which is another one now.
    let same = |old: Cell<'_>, new: Cell<'_>| {
        old.id() == new.id() && old.kind() == new.kind() && old.content() == new.content()
    };
    let (mut new, count) = (after.cells(), document.cells().len());
    let is_right = after.cells().len() == count + 1
        && document.cells().take(at).all(|old| new.next().is_some_and(|new| same(old, new)))
        && new.next().map(says) == Some((cell.kind, cell.id.clone(), cell.content.clone()))
        && document.cells().skip(at).all(|old| new.next().is_some_and(|new| same(old, new)));
    drop(new);
    if is_right { Ok(after.into_source()) } else { Err(would_change_others()) }
}

fn check_can_be_edited(cell: Cell<'_>, role: &str, text: &str) -> Result<(), ItemError> {
    let refuse = |why: &str, hint: &str| {
        let text = format!("cell {} cannot be edited: {why}", cell.name());
        Err(ItemError::new(ItemErrorKind::Invalid, text).hinting(hint.to_string()))
    };
    match role {
        "tool_call" => refuse("it is a call, which the model made", "edit its result, or rewind"),
        "code_output" => refuse("it is what code printed", "drop it, or edit the code"),
        "user" | "reply" | "tool_result" | "system" | "summary" | "attachment" => {
            if cell.attribute("json").is_some() || cell.attribute("mime_type").is_some() {
                return refuse("it holds no text", "drop it, and add another one");
            }
            if cell.role() == CellRole::Thinking {
                return refuse(
                    "it is a thought of the model",
                    "edit the answer below it, or drop it",
                );
            }
            if cell.role() == CellRole::Code {
                let is_code = code(text).map(drop);
                return is_code.or_else(|error| {
                    refuse(&error.to_string(), "give a fenced code block that names its language")
                });
            }
            Ok(())
        }
        _ => check_is_message(cell, role).and_then(|()| {
            refuse("it only shapes the conversation", "edit a message or an answer")
        }),
    }
}

/// Something that was taken back, and an instruction of which another copy counts, would be edited in vain.
fn check_is_the_one_that_counts(
    document: &Document,
    at: usize,
    role: &str,
) -> Result<(), ItemError> {
    check_summary_counts(document, role, at)?;
    let refuse = |why: &str, hint: &str| {
        let text = format!("cell {} cannot be edited: {why}", cell_of(document, at).name());
        Err(ItemError::new(ItemErrorKind::Invalid, text).hinting(hint.to_string()))
    };
    if is_taken_back(document, at) {
        return refuse("it was taken back", "edit a message or an answer");
    }
    if role != "system" {
        return Ok(());
    }
    let copy = Compaction::of(document).and_then(|it| it.copy_of(document, at));
    copy.map_or(Ok(()), |copy| {
        let hint = format!("edit cell {}, its copy behind the compaction", copy.name());
        refuse("a compaction hides it, and a copy counts", &hint)
    })
}

fn check_is_message(cell: Cell<'_>, role: &str) -> Result<(), ItemError> {
    match why_no_message(cell, role) {
        None => Ok(()),
        Some(why) => {
            let text = format!("cell {} is no message: {why}", cell.name());
            Err(ItemError::new(ItemErrorKind::Invalid, text).hinting("name a message or an answer"))
        }
    }
}

/// Why nothing can follow a cell.
fn why_no_message(cell: Cell<'_>, role: &str) -> Option<&'static str> {
    match role {
        "agent_definition" => Some("it defines an agent"),
        "details" => Some("it holds what no other cell can say"),
        "progress" => Some("it tells of progress only"),
        "user" if cell.body().is_empty() => Some("it is empty"),
        _ => None,
    }
}

fn cell_at(document: &Document, at: usize) -> Result<Cell<'_>, ItemError> {
    let missing = || ItemError::new(ItemErrorKind::UnknownCell, "there is no such cell");
    document.cells().nth(at).ok_or_else(missing)
}

fn cell_of(document: &Document, at: usize) -> Cell<'_> {
    Cell { document, at }
}

#[cfg(test)]
mod tests;
