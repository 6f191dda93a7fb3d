//! What is odd about the cells of a document as messages, found without making all the messages: of
//! most cells nothing can be odd, and a large file would need several times its size.

use std::collections::{BTreeSet, HashMap};

use analects_core::{Problem, SessionId, chain};

use super::details::Details;
use super::read::read_cells;
use crate::msgfile::agents::is_fixed_word;
use crate::msgfile::{Cell, CellKind, Document, place_in};

/// Attributes that say something about a message alone, and nothing about its place.
const PLAIN_KEYS: [&str; 21] = [
    "time",
    "model",
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_creation_tokens",
    "reasoning_tokens",
    "reasoning",
    "tokens",
    "cost",
    "duration",
    "response_id",
    "stop_reason",
    "stored",
    "title",
    "agent",
    "timeout",
    "error",
    "history",
    "summary",
    "author",
];

/// Attributes that name other cells.
const MENTIONING_KEYS: [&str; 9] = [
    "part",
    "parent",
    "from",
    "to",
    "summary_id",
    "kept_from",
    "target",
    "target_parent",
    "edit_of",
];

/// The problems of a document's messages and of their chain: those of [`messages`](super::messages)
/// and [`chain`], in the order of the file.
pub fn message_problems(document: &Document, session: &SessionId) -> Vec<Problem> {
    let interesting = interesting(document);
    let all = document.cells().enumerate();
    let cells = all.filter(|(at, _)| interesting.contains(at)).map(|(_, cell)| cell);
    let mut read = read_cells(document, session, cells);
    read.problems.extend(chain(&read.messages).problems);
    read.problems
}

/// The cells of which something may be odd, and those that they are about.
fn interesting(document: &Document) -> BTreeSet<usize> {
    let mut found: BTreeSet<usize> = BTreeSet::new();
    let mut names: HashMap<&str, usize> = HashMap::with_capacity(document.cells().len());
    for (at, cell) in document.cells().enumerate() {
        // Of a repeated id, the first counts.
        let first = cell.id().map_or(at, |id| *names.entry(id).or_insert(at));
        if first != at || !is_plain(cell) {
            found.extend([first, at]);
        }
    }
    let details = Details::read(document, &mut Vec::new());
    found.extend(details.cells().filter_map(|name| find(document, &names, name)));
    let mut waiting: Vec<usize> = found.iter().copied().collect();
    while let Some(at) = waiting.pop() {
        for name in mentioned_by(Cell { document, at }) {
            if let Some(named) = find(document, &names, &name)
                && found.insert(named)
            {
                waiting.push(named);
            }
        }
    }
    found
}

fn find(document: &Document, names: &HashMap<&str, usize>, name: &str) -> Option<usize> {
    let by_place = || document.loose_cell(place_in(name)?).map(|cell| cell.at);
    names.get(name).copied().or_else(by_place)
}

/// Whether a cell is just something that somebody said.
fn is_plain(cell: Cell<'_>) -> bool {
    let Some(meta) = cell.meta() else { return true };
    let word = meta.type_word.as_deref().unwrap_or("markdown");
    let is_plain_word = word == "markdown"
        || (word == "agent" && cell.kind() == CellKind::Message)
        || (!is_fixed_word(word) && cell.kind() == CellKind::Output);
    let id = cell.id().unwrap_or_default();
    is_plain_word
        && !id.contains(['.', '-'])
        && meta.attributes.iter().all(|(key, _)| PLAIN_KEYS.contains(&key.as_str()))
}

/// The names that a cell mentions, in its attributes and in its own name.
pub(crate) fn mentioned_by(cell: Cell<'_>) -> Vec<String> {
    let meta = cell.meta().unwrap_or_default();
    let attributes = MENTIONING_KEYS.into_iter().filter_map(|key| meta.get(key));
    let mut names: Vec<String> = attributes.map(str::to_string).collect();
    let mut name = cell.id().unwrap_or_default();
    while let Some((longer, _)) = name.rsplit_once(['.', '-']) {
        names.push(longer.to_string());
        name = longer;
    }
    names
}
