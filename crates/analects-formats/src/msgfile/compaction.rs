//! Compactions in a file, by their cells: which one counts, what came with it, and who names whom.

use std::collections::{BTreeSet, HashSet};

use analects_core::{Body, Message, MessageId, SessionId, Tree, chain};

use super::attributes::with_ids;
use super::choice::{original, tops};
use super::item::ItemError;
use super::messages::{messages, placed_messages, places};
use super::{Attribute, Cell, CellKind, Document, NewCell, set_attributes};

/// The compaction that counts, by the places of its cells.
pub(super) struct Compaction {
    pub(super) boundary: usize,
    pub(super) summary: Option<usize>,
    /// The cells that begin the messages that are seen.
    pub(super) seen: HashSet<usize>,
}

impl Compaction {
    pub(super) fn of(document: &Document) -> Option<Compaction> {
        if !document.cells().any(is_boundary) {
            return None;
        }
        let session = SessionId::default();
        let (read, places) = (messages(document, &session).messages, places(document, &session));
        let chain = chain(&read);
        let place = |message: &Message| places.get(&message.id).copied();
        let boundary = place(chain.boundary?)?;
        let is_summary = |at: &usize| cell_word(Cell { document, at: *at }) == "summary";
        let summary = chain.messages.first().and_then(|first| place(first)).filter(is_summary);
        let seen = chain.messages.iter().filter_map(|message| place(message)).collect();
        Some(Compaction { boundary, summary, seen })
    }

    /// The copy of an instruction that counts in the place of this one, which the compaction hides.
    pub(super) fn copy_of<'a>(&self, document: &'a Document, at: usize) -> Option<Cell<'a>> {
        if at > self.boundary || self.seen.contains(&at) {
            return None;
        }
        let text = Cell { document, at }.content();
        let is_copy = |cell: &Cell<'_>| {
            self.seen.contains(&cell.at)
                && cell_word(*cell) == "system"
                && cell.history() != Some(analects_core::History::Exclude)
                && first_version(*cell).content() == text
        };
        document.cells().skip(self.boundary).find(is_copy)
    }
}

/// The name of the summary that stands for the earlier part of a file, if one does.
pub fn counting_summary(document: &Document) -> Option<String> {
    let at = Compaction::of(document)?.summary?;
    Some(Cell { document, at }.name().into_owned())
}

/// Those of some cells that a summary stands for, so that the model sees nothing else of them. What is on another
/// branch has no summary.
pub fn summed_up(document: &Document, cells: &[usize]) -> Vec<usize> {
    let Some(counts) = Compaction::of(document) else { return Vec::new() };
    let (messages, places) = placed_messages(document);
    let tree = Tree::of(&messages);
    let way = tree.leaf(None).into_iter().flat_map(|leaf| tree.ancestors(leaf));
    let way: HashSet<usize> = way.map(|at| places[at]).collect();
    let tops = tops(document);
    let is_summed_up = |at: &usize| {
        let top = tops[*at];
        top < counts.boundary && way.contains(&top) && !counts.seen.contains(&top)
    };
    cells.iter().copied().filter(is_summed_up).collect()
}

/// What a cell was before it was edited.
fn first_version(mut cell: Cell<'_>) -> Cell<'_> {
    while let Some(old) = original(cell) {
        cell = old;
    }
    cell
}

/// The type word of an output; nothing for what a person wrote.
fn cell_word(cell: Cell<'_>) -> String {
    match cell.kind() {
        CellKind::Output => cell.type_word().to_string(),
        CellKind::Message => String::new(),
    }
}

fn is_boundary(cell: Cell<'_>) -> bool {
    cell_word(cell) == "compact_boundary"
}

/// The last cell of a compaction, if this is its summary, its boundary, or stands between them: there the
/// summary would be seen with all that it stands for. The copies of instructions and the files that came with
/// it belong to it. Any other cell stands for itself.
pub(super) fn end_of_compaction(document: &Document, roles: &[&str], at: usize) -> usize {
    let boundary = match roles[at] {
        "summary" => boundary_of(document, at),
        "compact_boundary" => Some(at),
        _ => boundary_around(document, at),
    };
    let Some(boundary) = boundary else { return at };
    let (messages, places) = placed_messages(document);
    let mut behind = messages.iter().zip(places).skip_while(|(_, place)| *place < boundary);
    let Some((first, _)) = behind.next() else { return boundary };
    let mut end = boundary;
    for (message, place) in behind {
        let is_next =
            place == end + 1 && Cell { document, at: place }.attribute("parent").is_none();
        if !is_next || !message.came_with(first) {
            break;
        }
        end = place;
    }
    end
}

/// The boundary below a cell whose summary stands above it.
fn boundary_around(document: &Document, at: usize) -> Option<usize> {
    let boundary = document.cells().skip(at + 1).find(|cell| is_boundary(*cell))?;
    let name = boundary.attribute("summary_id")?;
    let place = || places(document, &SessionId::default()).remove(&MessageId::from(name));
    let summary = document.cell(name).map(|cell| cell.at).or_else(place)?;
    (summary < at).then_some(boundary.at)
}

/// The boundary that has this summary.
pub(super) fn boundary_of(document: &Document, summary: usize) -> Option<usize> {
    let names = Called::new(document, summary);
    let has_it = |cell: &Cell<'_>| {
        is_boundary(*cell) && cell.attribute("summary_id").is_some_and(|name| names.is(name))
    };
    document.cells().skip(summary).find(has_it).map(|cell| cell.at)
}

/// Whether a tombstone has taken this cell back, and was not taken back itself.
pub(super) fn is_taken_back(document: &Document, at: usize) -> bool {
    let (messages, places) = placed_messages(document);
    let position = places.iter().position(|place| *place == at);
    position.is_some_and(|position| Tree::of(&messages).is_hidden(position))
}

/// The tombstones behind so many cells of a file that take one of these back, for a copy that has only these.
pub(super) fn tombstones_behind(document: &Document, count: usize) -> Vec<NewCell> {
    let (messages, places) = placed_messages(document);
    let tree = Tree::of(&messages);
    let takes_back = |at: &usize| {
        let Body::Tombstone(tombstone) = &messages[*at].body else { return false };
        // Of messages of one name, the nearest before is meant.
        let target = messages[..*at].iter().rposition(|message| message.id == tombstone.target);
        let is_of_copy = target.is_some_and(|target| places[target] < count);
        places[*at] >= count && is_of_copy && !tree.is_hidden(*at)
    };
    let cells = (0..messages.len()).filter(takes_back).map(|at| Cell { document, at: places[at] });
    cells.map(without_parent).collect()
}

/// The same cell in another file, where it follows what stands above it.
fn without_parent(cell: Cell<'_>) -> NewCell {
    let mut new = NewCell::new(cell.kind(), cell.name(), cell.type_word(), cell.content());
    new.title = cell.title().into_owned();
    // How a text is stored is found out anew when it is written.
    let stays = |key: &str| key != "parent" && key != "stored";
    let kept = cell.attributes().filter(|(key, _)| stays(key));
    new.attributes.extend(kept.map(|(key, value)| (key.to_string(), value.to_string())));
    new
}

/// What a cell may be called by others.
struct Called {
    names: Vec<String>,
}

impl Called {
    fn new(document: &Document, at: usize) -> Called {
        let cell = Cell { document, at };
        let name = cell.name().into_owned();
        let found = places(document, &SessionId::default()).into_iter().find(|(_, of)| *of == at);
        let mut names: Vec<String> = found.into_iter().map(|(id, _)| id.to_string()).collect();
        // Of two cells of one id, the first is meant.
        if document.cell(&name).is_some_and(|first| first.at == at) {
            names.push(name);
        }
        Called { names }
    }

    fn is(&self, name: &str) -> bool {
        self.names.iter().any(|own| own == name)
    }
}

/// What has to change so that a compaction that names a cell names another one in its place.
pub(super) fn renamed(document: &Document, at: usize, new: &str) -> Vec<Attribute> {
    let names = Called::new(document, at);
    let mut changes = Vec::new();
    for cell in document.cells().skip(at + 1) {
        let keys: &[&'static str] = match cell_word(cell).as_str() {
            "summary" => &["from", "to"],
            "compact_boundary" => &["summary_id", "kept_from"],
            _ => &[],
        };
        let named = |key: &&&str| cell.attribute(key).is_some_and(|name| names.is(name));
        let change = |key: &&'static str| Attribute { cell: cell.at, key, value: new.to_string() };
        changes.extend(keys.iter().filter(named).map(change));
    }
    changes
}

/// The document in which no cell names another by its place: a cell that is put between them would move it.
pub(super) fn with_firm_names(document: &Document) -> Result<Document, ItemError> {
    let ids: HashSet<&str> = document.cells().filter_map(Cell::id).collect();
    let mut found: Vec<(usize, &'static str, usize)> = Vec::new();
    for cell in document.cells() {
        for key in naming_keys(cell) {
            let Some(name) = cell.attribute(key).filter(|name| !ids.contains(name)) else {
                continue;
            };
            let loose = document.cell(name).filter(|cell| cell.id().is_none());
            let loose = loose.filter(|loose| loose.at < cell.at);
            found.extend(loose.map(|loose| (cell.at, *key, loose.at)));
        }
    }
    let places: BTreeSet<usize> = found.iter().map(|(_, _, at)| *at).collect();
    let sealed = with_ids(document, places)?;
    let changes = found.into_iter().map(|(cell, key, at)| {
        let value = Cell { document: &sealed, at }.name().into_owned();
        Attribute { cell, key, value }
    });
    // Most names are the same as before, and then nothing need be written.
    let is_new = |change: &Attribute| {
        Cell { document: &sealed, at: change.cell }.attribute(change.key)
            != Some(change.value.as_str())
    };
    let changes: Vec<Attribute> = changes.filter(is_new).collect();
    let source = set_attributes(&sealed, &changes)?;
    Ok(sealed.with_source(source))
}

/// The attributes by which a cell names others.
fn naming_keys(cell: Cell<'_>) -> &'static [&'static str] {
    match cell_word(cell).as_str() {
        "summary" => &["parent", "part", "from", "to"],
        "compact_boundary" => &["parent", "part", "summary_id", "kept_from"],
        "tombstone" => &["parent", "part", "target", "target_parent"],
        _ => &["parent", "part"],
    }
}
