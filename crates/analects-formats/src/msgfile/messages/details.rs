//! Details: what a message has and its cells cannot say, such as unknown fields, signatures and raw usage. They are in
//! the `[details]` cell at the end of a file, one JSON object a line. They only add to what the cells say: if a person
//! has changed a cell, the cell counts.

use std::collections::HashMap;

use analects_core::{Json, Message, Problem, Raw, RawMap, is_respelled};
use uuid::Uuid;

use super::blocks::{fence_json, fenced_json};
use crate::msgfile::{Cell, CellKind, CellRole, Document, NewCell};

/// The type word and the id of the cell that holds details.
const DETAILS: &str = "details";

/// The cell that holds these lines of details.
pub(crate) fn details_cell(lines: &str) -> NewCell {
    let cell = NewCell::new(CellKind::Output, DETAILS, DETAILS, fence_json(lines));
    cell.with("history", "none")
}

/// The text of a details cell before its lines, and after them.
pub(super) fn details_cell_around_lines() -> (String, String) {
    const LINE: &str = "{}\n";
    let cell = details_cell(LINE.trim_end()).to_text(1, "\n");
    let (before, after) = cell.split_once(LINE).unwrap_or_default();
    (before.to_string(), after.to_string())
}

/// The details of a file, by the names of the heads of messages.
#[derive(Debug, Default)]
pub(super) struct MessageDetails {
    entries: HashMap<String, RawMap>,
}

impl MessageDetails {
    /// Reads the details of a document, and reports lines that cannot be read.
    pub(super) fn read(document: &Document, problems: &mut Vec<Problem>) -> MessageDetails {
        let mut details = MessageDetails::default();
        let places = document.lines();
        for cell in document.cells().filter(is_details) {
            for line in lines_of(cell) {
                if !details.read_line(&line) {
                    let problem = Problem::error("bad-json", "a line of details cannot be read");
                    problems.push(problem.at(cell.head(), &places));
                }
            }
        }
        details
    }

    /// The names of the heads that have details.
    pub(super) fn cells(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// Reads one object; false if it is none, or names no cell.
    fn read_line(&mut self, line: &str) -> bool {
        let Ok(entry) = RawMap::parse(line) else {
            return false;
        };
        let Some(cell) = entry.get("cell").and_then(Raw::as_string) else {
            return false;
        };
        self.entries.insert(cell, entry);
        true
    }

    /// Adds to a message what its cells do not say. Returns a problem if a cell was edited, so that its details do not
    /// fit any more.
    pub(super) fn apply(&mut self, cell: &str, message: &mut Message) -> Option<Problem> {
        if self.entries.is_empty() {
            return None;
        }
        let entry = self.entries.remove(cell)?;
        let json = Raw::parse(&message.to_json()).ok()?.as_object()?;
        let fields = object_in(&entry, "fields");
        let (content, is_stale) = patch_content(json.get("content"), &object_in(&entry, "blocks"));
        let mut whole = RawMap::new();
        for (key, value) in json.iter() {
            let name = key.as_string().unwrap_or_default();
            let value = match (name.as_str(), &content) {
                ("content", Some(content)) => content.clone(),
                ("usage", _) => merged(value, fields.get("usage")),
                _ => respelled(&name, value, fields.get(&name)),
            };
            whole.push_raw(key.clone(), value);
        }
        push_missing(&mut whole, &fields, &json);
        if let Ok(patched) = Message::from_json(whole.to_raw().as_str()) {
            *message = patched;
        }
        is_stale.then(|| stale_problem(cell))
    }
}

/// The object under a key; empty if there is none.
fn object_in(entry: &RawMap, key: &str) -> RawMap {
    let object = entry.get(key).and_then(Raw::as_object);
    object.unwrap_or_default()
}

/// Adds to `map` the entries of `more` whose keys `known` does not have.
fn push_missing(map: &mut RawMap, more: &RawMap, known: &RawMap) {
    for (key, value) in more.iter() {
        let is_known = key
            .as_string()
            .is_some_and(|name| known.get(&name).is_some());
        if !is_known {
            map.push_raw(key.clone(), value.clone());
        }
    }
}

/// The lines of details of a file, as they are.
pub(crate) fn details_lines(document: &Document) -> Vec<String> {
    document
        .cells()
        .filter(is_details)
        .flat_map(lines_of)
        .collect()
}

/// The lines of a details cell that are not blank.
fn lines_of(cell: Cell<'_>) -> Vec<String> {
    let text = cell.content();
    let json = fenced_json(&text).unwrap_or_else(|| text.into_owned());
    let lines = json.lines().filter(|line| !line.trim().is_empty());
    lines.map(str::to_string).collect()
}

/// Whether a cell holds details.
fn is_details(cell: &Cell<'_>) -> bool {
    cell.role() == CellRole::Details
}

fn stale_problem(cell: &str) -> Problem {
    let text = format!("cell {cell} was edited; what belonged to its old text is left out");
    Problem::warning("stale-details", text)
}

/// An object with those entries of another one that it lacks. A value that is no object stays as it is.
fn merged(value: &Raw, more: Option<&Raw>) -> Raw {
    let (Some(mut map), Some(more)) = (value.as_object(), more.and_then(Raw::as_object)) else {
        return value.clone();
    };
    for (key, value) in more.iter() {
        let is_known = key.as_string().is_some_and(|name| map.get(&name).is_some());
        if !is_known {
            map.push_raw(key.clone(), value.clone());
        }
    }
    map.to_raw()
}

/// The same value as the details spell it. If a person has changed the value in the cell, the cell counts.
fn respelled(field: &str, value: &Raw, detail: Option<&Raw>) -> Raw {
    let same = detail.filter(|detail| is_respelled(field, value, detail));
    same.unwrap_or(value).clone()
}

/// The content with the fields that its blocks lack, if there are any, and whether a patched block has changed.
fn patch_content(content: Option<&Raw>, patches: &RawMap) -> (Option<Raw>, bool) {
    if patches.is_empty() {
        return (None, false);
    }
    let Some(mut blocks) = content.and_then(Raw::as_array) else {
        return (None, true);
    };
    let mut is_stale = false;
    for (at, block) in blocks.iter_mut().enumerate() {
        let Some(patch) = patches.get(&at.to_string()).and_then(Raw::as_object) else {
            continue;
        };
        let of = patch.get("of").and_then(Raw::as_string);
        if of.as_deref() == Some(&fingerprint(block)) {
            *block = merged(block, patch.get("fields"));
        } else {
            is_stale = true;
        }
    }
    let items: Vec<&str> = blocks.iter().map(Raw::as_str).collect();
    let content = Raw::parse(&format!("[{}]", items.join(",")));
    (content.ok(), is_stale)
}

/// A short hash of a block as its cell says it, to notice that a person has edited the cell.
pub(super) fn fingerprint(block: &Raw) -> String {
    let uuid = Uuid::new_v5(&Uuid::NAMESPACE_OID, block.as_str().as_bytes());
    uuid.simple().to_string()[..16].to_string()
}

/// The details that turn `read` into `wanted`, for [`details_line`]; `None` if adding fields is not enough.
pub(super) fn difference(wanted: &Message, read: &Message) -> Option<RawMap> {
    let wanted = RawMap::parse(&wanted.to_json()).ok()?;
    let read = RawMap::parse(&read.to_json()).ok()?;
    let mut fields = RawMap::new();
    let mut blocks = RawMap::new();
    for (key, value) in wanted.iter() {
        let name = key.as_string()?;
        match read.get(&name) {
            None => fields.push_raw(key.clone(), value.clone()),
            Some(same) if same == value => {}
            Some(other) if name == "usage" => fields.push_raw(key.clone(), missing(value, other)?),
            Some(other) if name == "content" => blocks = block_differences(value, other)?,
            Some(other) if is_respelled(&name, value, other) => {
                fields.push_raw(key.clone(), value.clone());
            }
            Some(_) => return None,
        }
    }
    let mut entry = RawMap::new();
    if !fields.is_empty() {
        entry.push("fields", fields.to_raw());
    }
    if !blocks.is_empty() {
        entry.push("blocks", blocks.to_raw());
    }
    Some(entry)
}

/// The details of the message with this head, as a line of the details cell.
pub(super) fn details_line(cell: &str, difference: &RawMap) -> String {
    let mut entry = RawMap::new();
    entry.push("cell", Raw::string(cell));
    for (key, value) in difference.iter() {
        entry.push_raw(key.clone(), value.clone());
    }
    entry.to_raw().to_string()
}

/// The entries of `wanted` that `read` lacks; `None` if they differ in another way.
fn missing(wanted: &Raw, read: &Raw) -> Option<Raw> {
    let wanted = wanted.as_object()?;
    let read = read.as_object()?;
    let mut more = RawMap::new();
    for (key, value) in wanted.iter() {
        match read.get(&key.as_string()?) {
            None => more.push_raw(key.clone(), value.clone()),
            Some(same) if same == value => {}
            Some(_) => return None,
        }
    }
    Some(more.to_raw())
}

/// The patches of the blocks that differ, by their indexes; `None` if adding fields is not enough.
fn block_differences(wanted: &Raw, read: &Raw) -> Option<RawMap> {
    let wanted = wanted.as_array()?;
    let read = read.as_array()?;
    let mut blocks = RawMap::new();
    if wanted.len() != read.len() {
        return None;
    }
    for (at, (wanted, read)) in wanted.iter().zip(&read).enumerate() {
        if wanted != read {
            let mut patch = RawMap::new();
            patch.push("of", Raw::string(&fingerprint(read)));
            patch.push("fields", missing(wanted, read)?);
            blocks.push(&at.to_string(), patch.to_raw());
        }
    }
    Some(blocks)
}
