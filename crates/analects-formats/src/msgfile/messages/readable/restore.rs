//! Gives a readable file back what only a message file says: the frontmatter, the preamble, titles, attributes, and ids
//! that an author chose.

use std::collections::{HashMap, HashSet};

use analects_core::{Raw, RawMap, StateChange};

use crate::msgfile::frontmatter::yaml::scalar;
use crate::msgfile::messages::cells::MessageCells;
use crate::msgfile::messages::provenance::{
    ATTRIBUTES, CELLS, FRONTMATTER, ID, JUNK, KEY, OUTPUT, TEXT, TITLE, TYPE, is_generated,
};
use crate::msgfile::{NewCell, frontmatter};

/// What a change of state puts at the beginning of a file.
pub(super) struct Opening {
    /// The frontmatter with its `---` lines, or nothing.
    pub(super) frontmatter: String,
    /// The text before the first cell.
    pub(super) preamble: String,
    /// Cells that hold no message, such as definitions of agents.
    pub(super) cells: Vec<String>,
    /// The model that each agent of the frontmatter asks first.
    pub(super) models: HashMap<String, String>,
    /// How many other things the change of state says.
    pub(super) unsaid: usize,
}

impl Opening {
    /// Returns what a change of state says that a file begins with; `None` if that is nothing.
    pub(super) fn of(change: &StateChange) -> Option<Opening> {
        let state = change.changes.as_object()?;
        let file = state.get(KEY).and_then(Raw::as_object).unwrap_or_default();
        let chat = state.get("chat").and_then(Raw::as_object);
        let chat = chat.unwrap_or_default();
        let title = state.string(TITLE);
        let tags: Option<Vec<String>> = chat.get("tags").and_then(Raw::to);
        let cells: Option<Vec<String>> = file.get(CELLS).and_then(Raw::to);
        let yaml = file.string(FRONTMATTER);
        let mut known = usize::from(title.is_some()) + usize::from(!file.is_empty());
        known += usize::from(!chat.is_empty());
        let read_of_chat = ["preamble", "tags"]
            .iter()
            .filter(|key| chat.get(key).is_some());
        let unsaid = state.len() - known.min(state.len()) + chat.len() - read_of_chat.count();
        let opening = Opening {
            models: models(yaml.as_deref()),
            frontmatter: frontmatter_text(yaml, title.as_deref(), &tags.unwrap_or_default()),
            preamble: chat.string("preamble").unwrap_or_default(),
            cells: cells.unwrap_or_default(),
            unsaid,
        };
        let is_empty = opening.frontmatter.is_empty()
            && opening.preamble.is_empty()
            && opening.cells.is_empty();
        (!is_empty).then_some(opening)
    }

    /// Returns its text, up to the first message.
    pub(super) fn text(&self) -> String {
        let mut parts: Vec<&str> = Vec::new();
        parts.extend([
            self.frontmatter.trim_end(),
            self.preamble.trim_matches('\n'),
        ]);
        parts.extend(self.cells.iter().map(|cell| cell.trim_end()));
        parts.retain(|part| !part.is_empty());
        format!("{}\n", parts.join("\n\n"))
    }
}

/// Returns the frontmatter with its `---` lines; empty if there is nothing to say.
fn frontmatter_text(yaml: Option<String>, title: Option<&str>, tags: &[String]) -> String {
    if let Some(yaml) = yaml {
        let line_end = if yaml.ends_with('\n') { "" } else { "\n" };
        return format!("---\n{yaml}{line_end}---\n");
    }
    let mut lines = String::new();
    if let Some(title) = title {
        lines.push_str(&format!("title: {}\n", scalar(title)));
    }
    if !tags.is_empty() {
        let tags: Vec<String> = tags.iter().map(|tag| scalar(tag)).collect();
        lines.push_str(&format!("tags: [{}]\n", tags.join(", ")));
    }
    if lines.is_empty() {
        return String::new();
    }
    format!("---\n{lines}---\n")
}

/// Returns the model that each agent of the frontmatter asks first.
fn models(yaml: Option<&str>) -> HashMap<String, String> {
    let front = yaml.map(frontmatter::read).unwrap_or_default();
    let agents = front.agents.into_iter();
    agents
        .filter_map(|agent| Some((agent.name, agent.models.into_iter().next()?)))
        .collect()
}

/// The ids that cells got back.
#[derive(Debug, Default)]
pub(super) struct RestoredIds {
    /// The ids in use that no writer would make up.
    used: HashSet<String>,
    /// The new ids of cells whose old ones are known.
    renamed: HashMap<String, String>,
}

impl RestoredIds {
    /// Gives the cells of a message back what `extra` keeps of them. Returns how many things have no place.
    pub(super) fn restore(&mut self, kept: &Raw, cells: &mut MessageCells) -> usize {
        let Some(entries) = kept.as_array() else {
            return 1;
        };
        let entries: Vec<RawMap> = entries.iter().filter_map(Raw::as_object).collect();
        let mut unsaid = 0;
        for (at, entry) in entries.iter().enumerate() {
            match cells.cells.get_mut(at) {
                Some(cell) => unsaid += self.restore_cell(entry, cell),
                None => unsaid += entry.len(),
            }
        }
        unsaid
    }

    /// Gives one cell back what is known of it.
    fn restore_cell(&mut self, entry: &RawMap, cell: &mut NewCell) -> usize {
        let mut unsaid = 0;
        let id = entry.string(ID);
        let is_output = self.restore_output(entry, id.as_deref(), cell);
        for (key, value) in entry.iter() {
            let text = value.as_string().unwrap_or_default();
            match key.as_string().unwrap_or_default().as_str() {
                ID if is_output => {}
                ID => self.restore_id(text, cell),
                TITLE => cell.title = text,
                TYPE if is_output => {}
                TYPE if cell.attributes.iter().any(|(key, _)| key == "author") => {
                    cell.type_word = text;
                }
                OUTPUT if is_output => cell.content = text,
                TEXT if cell.content.is_empty() => cell.content = text,
                TEXT => cell.content.push_str(&format!("\n\n{text}")),
                ATTRIBUTES => {
                    restore_attributes(value, cell);
                    if entry.get(OUTPUT).is_none() {
                        // The text is no base64 any more.
                        cell.attributes.retain(|(key, _)| key != "encoding");
                    }
                }
                JUNK => unsaid += 1,
                _ => unsaid += 1,
            }
        }
        unsaid
    }

    /// Makes a cell the output of a code cell again, if that cell is in the file. Returns whether it is.
    fn restore_output(&self, entry: &RawMap, id: Option<&str>, cell: &mut NewCell) -> bool {
        let (Some(word), Some((code, number))) =
            (entry.string(TYPE), id.and_then(|id| id.rsplit_once('.')))
        else {
            return false;
        };
        let Some(code) = self.renamed.get(code) else {
            return false;
        };
        cell.id = format!("{code}.{number}");
        cell.type_word = word;
        cell.attributes.retain(|(key, _)| key != "kind");
        true
    }

    /// Gives a cell its id back, unless another cell has it. A number may have become another one.
    fn restore_id(&mut self, id: String, cell: &mut NewCell) {
        if is_generated(&id) {
            self.renamed.insert(id, cell.id.clone());
        } else if self.used.insert(id.clone()) {
            self.renamed.insert(id.clone(), id.clone());
            cell.id = id;
        }
    }
}

/// Adds attributes to a cell. A repeated one is a list.
fn restore_attributes(attributes: &Raw, cell: &mut NewCell) {
    for (key, value) in attributes.as_object().unwrap_or_default().iter() {
        let key = key.as_string().unwrap_or_default();
        let values = value.as_array().unwrap_or_else(|| vec![value.clone()]);
        for value in values {
            let value = value.as_string().unwrap_or_default();
            cell.attributes.push((key.clone(), value));
        }
    }
}
