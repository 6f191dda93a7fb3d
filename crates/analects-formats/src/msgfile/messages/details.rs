//! What a message has and its cells cannot say: unknown fields, signatures, raw usage. It stands in the
//! `[details]` cell at the end of a file, one JSON object a line, and only ever adds to what the cells say:
//! where a person has changed a cell, the cell counts.

use std::collections::HashMap;

use analects_core::{Json, Message, Problem, Raw, RawMap};
use uuid::Uuid;

use super::blocks::{fence_json, fenced_json};
use crate::msgfile::{Cell, CellKind, CellRole, Document, NewCell};

/// The type word of the cell that holds details, and its id.
const DETAILS: &str = "details";

/// The cell that holds these lines of details.
pub(crate) fn details_cell(lines: &str) -> NewCell {
    let cell = NewCell::new(CellKind::Output, DETAILS, DETAILS, fence_json(lines));
    cell.with("history", "none")
}

/// What stands before the lines of details in a file, and what behind them.
pub(super) fn details_around() -> (String, String) {
    const LINE: &str = "{}\n";
    let cell = details_cell(LINE.trim_end()).to_text(1, "\n");
    let (before, behind) = cell.split_once(LINE).unwrap_or_default();
    (before.to_string(), behind.to_string())
}

/// The details of a file, by the name of a message's head.
#[derive(Debug, Default)]
pub(super) struct MessageDetails {
    entries: HashMap<String, RawMap>,
}

impl MessageDetails {
    pub(super) fn read(document: &Document, problems: &mut Vec<Problem>) -> MessageDetails {
        let mut details = MessageDetails::default();
        let places = document.lines();
        for cell in document.cells().filter(is_details) {
            let text = cell.content();
            let json = fenced_json(&text).unwrap_or_else(|| text.into_owned());
            for line in json.lines().filter(|line| !line.trim().is_empty()) {
                if !details.read_line(line) {
                    let problem = Problem::error("bad-json", "a line of details cannot be read");
                    problems.push(problem.at(cell.head(), &places));
                }
            }
        }
        details
    }

    /// The cells that it is about.
    pub(super) fn cells(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

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

    /// Adds to a message what its cells do not say. Gives the problem of details that fit the cells no more.
    pub(super) fn apply(&mut self, cell: &str, message: &mut Message) -> Option<Problem> {
        if self.entries.is_empty() {
            return None;
        }
        let entry = self.entries.remove(cell)?;
        let json = Raw::parse(&message.to_json()).ok()?.as_object()?;
        let fields = entry
            .get("fields")
            .and_then(Raw::as_object)
            .unwrap_or_default();
        let blocks = entry
            .get("blocks")
            .and_then(Raw::as_object)
            .unwrap_or_default();
        let (content, stale) = patch_content(json.get("content"), &blocks);
        let mut whole = RawMap::new();
        for (key, value) in json.iter() {
            let name = key.as_string().unwrap_or_default();
            match (name.as_str(), &content) {
                ("content", Some(content)) => whole.push_raw(key.clone(), content.clone()),
                ("usage", _) => whole.push_raw(key.clone(), merged(value, fields.get("usage"))),
                _ => whole.push_raw(key.clone(), value.clone()),
            }
        }
        for (key, value) in fields.iter() {
            if key.as_string().is_none_or(|name| json.get(&name).is_none()) {
                whole.push_raw(key.clone(), value.clone());
            }
        }
        if let Ok(patched) = Message::from_json(whole.to_raw().as_str()) {
            *message = patched;
        }
        stale.then(|| stale_problem(cell))
    }
}

/// The lines of details of a file, as they are.
pub(crate) fn details_lines(document: &Document) -> Vec<String> {
    let mut found = Vec::new();
    for cell in document.cells().filter(is_details) {
        let text = cell.content();
        let json = fenced_json(&text).unwrap_or_else(|| text.into_owned());
        found.extend(
            json.lines()
                .filter(|line| !line.trim().is_empty())
                .map(str::to_string),
        );
    }
    found
}

/// Whether a cell holds details.
fn is_details(cell: &Cell<'_>) -> bool {
    cell.role() == CellRole::Details
}

fn stale_problem(cell: &str) -> Problem {
    let text = format!("cell {cell} was edited; what belonged to its old text is left out");
    Problem::warning("stale-details", text)
}

/// An object with the entries of another that it lacks.
fn merged(value: &Raw, more: Option<&Raw>) -> Raw {
    let (Some(mut map), Some(more)) = (value.as_object(), more.and_then(Raw::as_object)) else {
        return value.clone();
    };
    for (key, value) in more.iter() {
        if key.as_string().is_none_or(|name| map.get(&name).is_none()) {
            map.push_raw(key.clone(), value.clone());
        }
    }
    map.to_raw()
}

/// The content with the fields that its blocks lack, and whether a block has changed since.
fn patch_content(content: Option<&Raw>, patches: &RawMap) -> (Option<Raw>, bool) {
    let Some(mut blocks) = content
        .and_then(Raw::as_array)
        .filter(|_| !patches.is_empty())
    else {
        return (None, !patches.is_empty());
    };
    let mut stale = false;
    for (at, block) in blocks.iter_mut().enumerate() {
        let Some(patch) = patches.get(&at.to_string()).and_then(Raw::as_object) else {
            continue;
        };
        let of = patch.get("of").and_then(Raw::as_string);
        if of.as_deref() == Some(&hash(block)) {
            *block = merged(block, patch.get("fields"));
        } else {
            stale = true;
        }
    }
    let items: Vec<&str> = blocks.iter().map(Raw::as_str).collect();
    (Raw::parse(&format!("[{}]", items.join(","))).ok(), stale)
}

/// A fingerprint of a block as its cell says it.
fn hash(block: &Raw) -> String {
    let uuid = Uuid::new_v5(&Uuid::NAMESPACE_OID, block.as_str().as_bytes());
    uuid.simple().to_string()[..16].to_string()
}

/// What turns `read` into `wanted`, for [`line`]; `None` where adding fields cannot.
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

/// The line of details of the message whose head has this name.
pub(super) fn line(cell: &str, difference: &RawMap) -> String {
    let mut entry = RawMap::new();
    entry.push("cell", Raw::string(cell));
    for (key, value) in difference.iter() {
        entry.push_raw(key.clone(), value.clone());
    }
    entry.to_raw().to_string()
}

/// The entries of `wanted` that `read` lacks; `None` if they differ in another way.
fn missing(wanted: &Raw, read: &Raw) -> Option<Raw> {
    let (wanted, read) = (wanted.as_object()?, read.as_object()?);
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

fn block_differences(wanted: &Raw, read: &Raw) -> Option<RawMap> {
    let (wanted, read) = (wanted.as_array()?, read.as_array()?);
    let mut blocks = RawMap::new();
    if wanted.len() != read.len() {
        return None;
    }
    for (at, (wanted, read)) in wanted.iter().zip(&read).enumerate() {
        if wanted != read {
            let mut patch = RawMap::new();
            patch.push("of", Raw::string(&hash(read)));
            patch.push("fields", missing(wanted, read)?);
            blocks.push(&at.to_string(), patch.to_raw());
        }
    }
    Some(blocks)
}
