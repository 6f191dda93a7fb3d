//! A small reader of message files, as our writer writes them: line by line, with cells that all have metadata.

use std::collections::HashMap;

use serde_json::Value;

use crate::found::{Found, KEPT, blocks, leaves, readable};

/// A cell: its head and metadata, and its text.
struct Cell {
    is_output: bool,
    title: String,
    id: String,
    kind: String,
    attributes: Vec<(String, String)>,
    text: String,
}

impl Cell {
    fn attribute(&self, key: &str) -> Option<&str> {
        let found = self.attributes.iter().rfind(|(name, _)| name == key);
        found.map(|(_, value)| value.as_str())
    }
}

pub fn message_file(output: &[u8]) -> Found {
    let mut found = Found::of(output);
    let raw = found.raw.clone();
    let body = read_frontmatter(&mut found, &raw);
    let lines: Vec<&str> = body.split('\n').collect();
    let heads: Vec<usize> = (0..lines.len()).filter(|at| is_head(lines[*at])).collect();
    let first = heads.first().copied().unwrap_or(lines.len());
    found.text("preamble", lines[..first].join("\n"));
    let ends = heads.iter().skip(1).copied().chain([lines.len()]);
    let cells: Vec<Cell> = heads
        .iter()
        .zip(ends)
        .map(|(start, end)| read_cell(&lines[*start..end]))
        .collect();
    let mut links = Links::default();
    for cell in &cells {
        links.start(&mut found, cell);
        add_cell(&mut found, &cells, cell);
    }
    found
}

fn is_head(line: &str) -> bool {
    let marks = line.trim_start_matches('#');
    let level = line.len() - marks.len();
    let rest = marks.trim_start_matches([' ', '\t']);
    // All heads that are written have an id. Others stand in code blocks.
    (1..=5).contains(&level)
        && line.contains("[^")
        && rest.len() < marks.len()
        && (rest.starts_with("%% ") || rest.starts_with("%%% ") || rest == "%%" || rest == "%%%")
}

/// Reads the keys of the frontmatter, and returns the rest of the file.
fn read_frontmatter<'a>(found: &mut Found, text: &'a str) -> &'a str {
    let Some((front, rest)) = text
        .strip_prefix("---\n")
        .and_then(|text| text.split_once("\n---\n"))
    else {
        return text;
    };
    found.text(KEPT, front);
    for line in front.lines() {
        if let Some((key, value)) = line.split_once(": ") {
            let value = value.trim().trim_matches('"');
            found.field(key.trim(), value);
            if key == "title" {
                found.text("title", value);
            }
        }
        found.text("frontmatter", line);
    }
    rest
}

fn read_cell(lines: &[&str]) -> Cell {
    let marks = lines[0].trim_start_matches('#').trim_start();
    let is_output = marks.starts_with("%%%");
    let head = marks.trim_start_matches('%').trim();
    let (title, id) = match head
        .strip_suffix(']')
        .and_then(|head| head.rsplit_once("[^"))
    {
        Some((title, id)) => (title.trim(), id),
        None => (head, ""),
    };
    let mut rest = lines[1..]
        .iter()
        .copied()
        .skip_while(|line| line.trim().is_empty());
    let metadata_start = format!("[^{id}]:");
    let mut rest: Vec<&str> = rest.by_ref().collect();
    let mut kind = String::new();
    let mut attributes = Vec::new();
    if let Some(metadata) = rest
        .first()
        .and_then(|line| line.strip_prefix(&metadata_start))
    {
        (kind, attributes) = read_metadata(metadata.trim());
        rest.remove(0);
    }
    let mut text: Vec<&str> = rest.iter().map(|line| unescape(line)).collect();
    let stored = attributes.iter().find(|(key, _)| key == "stored");
    let lines = stored.and_then(|(_, value)| value.split(' ').next()?.strip_prefix("lines="));
    let text = match lines {
        Some(lines) => {
            text = text[1..=lines.parse().unwrap()].to_vec();
            text.join("\n")
        }
        None => text.join("\n").trim_matches('\n').to_string(),
    };
    Cell {
        is_output,
        title: title.to_string(),
        id: id.to_string(),
        kind,
        attributes,
        text,
    }
}

/// Removes one backslash from a line that is backslashes and a head.
fn unescape(line: &str) -> &str {
    let rest = line.trim_start_matches('\\');
    match line.strip_prefix('\\') {
        Some(unescaped) if is_head(rest) => unescaped,
        _ => line,
    }
}

/// Reads the type word and the attributes.
fn read_metadata(text: &str) -> (String, Vec<(String, String)>) {
    let (kind, mut rest) = match text.strip_prefix('[').and_then(|text| text.split_once(']')) {
        Some((kind, rest)) => (kind.to_string(), rest.trim()),
        None => (String::new(), text),
    };
    let mut attributes = Vec::new();
    while let Some((key, after)) = rest.split_once('=') {
        let (value, after) = read_value(after);
        attributes.push((key.trim().to_string(), value));
        rest = after.trim();
    }
    (kind, attributes)
}

/// Reads a value in double quotes or a bare one, and returns what follows.
fn read_value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(' ').unwrap_or(text.len());
        return (text[..end].to_string(), &text[end..]);
    };
    let mut value = String::new();
    let mut characters = quoted.char_indices();
    while let Some((at, c)) = characters.next() {
        match c {
            '"' => return (value, &quoted[at + 1..]),
            '\\' => match characters.next() {
                Some((_, 'n')) => value.push('\n'),
                Some((_, 'r')) => value.push('\r'),
                Some((_, 't')) => value.push('\t'),
                Some((start, 'u')) => {
                    let code = &quoted[start + 2..];
                    let (digits, _) = code.split_once('}').unwrap();
                    let code = u32::from_str_radix(digits, 16).unwrap();
                    value.extend(char::from_u32(code));
                    characters.nth(digits.len() + 1);
                }
                Some((_, c)) => value.push(c),
                None => {}
            },
            c => value.push(c),
        }
    }
    (value, "")
}

/// Follows which message a cell belongs to.
#[derive(Default)]
struct Links {
    /// The position of the message of each cell.
    positions: HashMap<String, usize>,
    count: usize,
    /// The last message of each side chain.
    last: HashMap<String, usize>,
}

impl Links {
    /// Starts a message, unless the cell is a part of the message before it.
    fn start(&mut self, found: &mut Found, cell: &Cell) {
        let owner = cell.id.rsplit_once('.').map(|(owner, _)| owner);
        let own = owner.and_then(|owner| self.positions.get(owner)).copied();
        let is_part = cell.id.contains(".text") || cell.id.contains(".block");
        if let (Some(at), true) = (own, is_part) {
            self.positions.insert(cell.id.clone(), at);
            return;
        }
        let chain = cell.attribute("agent_id").unwrap_or_default().to_string();
        let before = self.last.get(&chain).copied();
        let parent = match cell.attribute("parent") {
            Some(parent) => self.positions.get(parent).copied(),
            None => before,
        };
        found.message(parent);
        for name in [Some(cell.id.as_str()), cell.attribute("uuid")]
            .into_iter()
            .flatten()
        {
            self.positions.insert(name.to_string(), self.count);
        }
        self.last.insert(chain, self.count);
        self.count += 1;
    }
}

fn add_cell(found: &mut Found, cells: &[Cell], cell: &Cell) {
    found.text("cell title", cell.title.clone());
    found.field("title", cell.title.clone());
    found.field("type", cell.kind.clone());
    found.field("cell", cell.id.clone());
    for (key, value) in &cell.attributes {
        found.field(key, value.clone());
        if let ("tokens", Some((read, written))) = (key.as_str(), value.split_once('/')) {
            found.field("input_tokens", read);
            found.field("output_tokens", written);
        }
    }
    let text = cell.text.clone();
    match (cell.is_output, cell.kind.as_str()) {
        (_, "block" | "progress") if cell.text.starts_with("```") => fenced_json(found, cell),
        (false, "raw") => {
            let bytes: String = text.split_whitespace().collect();
            match cell.attribute("mime_type") {
                Some(kind) if kind.starts_with("image/") => found.text("picture", bytes),
                Some(_) => found.text("document", bytes),
                None => found.text("user", text),
            }
        }
        (false, "agent") => found.text("agent", text),
        (false, _) => {
            if text.is_empty() && cell.attribute("parent").is_some() {
                found.text("state", "");
            }
            add_pictures(found, &text);
            found.text("user", text);
        }
        (true, "tool") if cell.attribute("name").is_some() => add_call(found, &text),
        (true, "tool") => match cell.attribute("mime_type") {
            Some(kind) if kind.starts_with("image/") => {
                found.text("picture", text.split_whitespace().collect::<String>());
            }
            _ => found.text("result", text),
        },
        (true, "details") => add_details(found, &text),
        (true, "system") => found.text("system", text),
        (true, "summary") => {
            if let Some(through) = cell.attribute("through") {
                found.text("separator", through);
            }
            found.text("summary", text);
        }
        (true, "attachment") => found.text("attachment", text),
        (true, "notification") => found.text("notification", text),
        (true, "compact_boundary") => found.text("separator", text),
        (true, "tombstone") => found.text("tombstone", text),
        (true, word) => {
            let owner = cell.id.rsplit_once('.').map(|(owner, _)| owner);
            let is_of_code = |cell: &Cell| cell.kind == "code" && owner == Some(&cell.id);
            found.field("author", word);
            if cells.iter().any(is_of_code) {
                found.text("attachment", text);
            } else if cell.id.contains(".think") || cell.attribute("reasoning") == Some("1") {
                found.text("thinking", text);
            } else {
                add_pictures(found, &text);
                found.text("assistant", text);
            }
        }
    }
}

/// Reads the lines that are nothing but a picture.
fn add_pictures(found: &mut Found, text: &str) {
    for line in text.lines() {
        if line.starts_with("![")
            && let Some((_, address)) = line.split_once("](")
        {
            found.text("picture", address.trim_end_matches(')'));
        }
    }
}

fn add_call(found: &mut Found, text: &str) {
    let plain = text
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&#13;", "\r")
        .replace("&amp;", "&");
    found.text("call", plain);
}

/// Reads a block, or a whole message, as JSON in a fence.
fn fenced_json(found: &mut Found, cell: &Cell) {
    let lines: Vec<&str> = cell.text.lines().collect();
    let json = readable(lines[1..lines.len() - 1].join("\n").as_bytes());
    let Ok(value) = serde_json::from_str::<Value>(&json) else {
        return found.text("block", json);
    };
    if cell.attribute("json") == Some("message") {
        let read = crate::json_targets::transcript(json.as_bytes());
        return found.take(read);
    }
    let role = if cell.is_output { "assistant" } else { "user" };
    blocks(found, role, &Value::Array(vec![value]));
}

/// Reads the lines of the details.
fn add_details(found: &mut Found, text: &str) {
    for line in text.lines().filter(|line| line.starts_with('{')) {
        let details: Value = serde_json::from_str(line).unwrap();
        let fields = details.get("fields").unwrap_or(&Value::Null);
        found.values("", fields);
        if let Some(object) = details.get("blocks").and_then(Value::as_object) {
            for block in object.values() {
                let fields = block.get("fields").unwrap_or(&Value::Null);
                found.values("", fields);
                leaves(fields, &mut |leaf| found.text("details", leaf));
            }
        }
    }
}
