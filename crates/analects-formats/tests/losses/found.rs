//! What a reader of a target finds: the texts with their places, fields, and which message follows which. The readers
//! look at bytes and JSON only, and share nothing with the code that they check.

use serde_json::{Map, Value};

use crate::marks::Mark;

/// The place of what only a message file says, and other formats keep as it is: whole cells and frontmatter.
pub const KEPT: &str = "kept";

/// Everything that was found in an output.
#[derive(Debug, Default)]
pub struct Found {
    /// Texts by place.
    texts: Vec<(&'static str, String)>,
    /// Fields: a path of names, and a value.
    fields: Vec<(String, String)>,
    /// The messages in order: all their text, and the position of the message that each of them follows.
    messages: Vec<(String, Option<usize>)>,
    /// The output itself.
    pub raw: String,
}

impl Found {
    pub fn of(raw: &[u8]) -> Found {
        Found {
            raw: String::from_utf8_lossy(raw).into_owned(),
            ..Found::default()
        }
    }

    /// Starts a message that follows another one.
    pub fn message(&mut self, parent: Option<usize>) {
        self.messages.push((String::new(), parent));
    }

    /// Starts a message that follows the one before it.
    pub fn next_message(&mut self) {
        self.message(self.messages.len().checked_sub(1));
    }

    /// Adds a text of the current message.
    pub fn text(&mut self, place: &'static str, text: impl Into<String>) {
        let text = text.into();
        if let Some((all, _)) = self.messages.last_mut() {
            all.push_str(&text);
            all.push('\n');
        }
        self.texts.push((place, text));
    }

    /// Adds a line to the current text, or starts a text in another place.
    pub fn line(&mut self, place: &'static str, line: &str) {
        if let Some((last, text)) = self.texts.last_mut()
            && *last == place
        {
            text.push('\n');
            text.push_str(line);
            if let Some((all, _)) = self.messages.last_mut() {
                all.push_str(line);
                all.push('\n');
            }
        } else {
            self.text(place, line);
        }
    }

    /// Adds everything that was found in a part of the output.
    pub fn take(&mut self, part: Found) {
        self.texts.extend(part.texts);
        self.fields.extend(part.fields);
        if let Some((all, _)) = self.messages.last_mut() {
            let texts = part.messages.into_iter().map(|(text, _)| text);
            all.extend(texts);
        }
    }

    /// Forgets pictures that the target cannot load: files beside a file.
    pub fn forget_files(&mut self) {
        self.texts.retain(|(place, text)| {
            *place != "picture" || text.contains(':') || !text.contains('.')
        });
    }

    /// Adds a field.
    pub fn field(&mut self, path: &str, value: impl Into<String>) {
        let value = value.into();
        if path.ends_with(".preamble") {
            self.text("preamble", value.clone());
        }
        if path.contains("msgfile") {
            self.text(KEPT, value.clone());
        }
        self.fields.push((path.to_string(), value));
    }

    /// Adds all fields of an object, except those with these names.
    pub fn fields(&mut self, path: &str, object: &Map<String, Value>, except: &[&str]) {
        for (key, value) in object {
            if !except.contains(&key.as_str()) {
                let path = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                self.values(&path, value);
            }
        }
    }

    /// Adds a value and everything in it as fields.
    pub fn values(&mut self, path: &str, value: &Value) {
        match value {
            Value::Object(object) => self.fields(path, object, &[]),
            Value::Array(values) => values.iter().for_each(|value| self.values(path, value)),
            Value::String(text) => self.field(path, text.clone()),
            Value::Null => {}
            value => self.field(path, value.to_string()),
        }
    }

    /// Returns whether a mark is where it belongs.
    pub fn has(&self, mark: &Mark) -> bool {
        mark.places.iter().any(|place| match *place {
            "field" => self.has_field(mark),
            "raw" => mark.values.iter().any(|value| self.raw.contains(value)),
            "link" => self.has_link(&mark.values[0], &mark.values[1]),
            "root" => self.has_root(&mark.values[0]),
            "apart" => self.has_apart(&mark.values[0], &mark.values[1]),
            place => self.texts.iter().any(|(other, text)| {
                (*other == place || *other == KEPT)
                    && mark.values.iter().any(|value| text.contains(value))
            }),
        })
    }

    fn has_field(&self, mark: &Mark) -> bool {
        let has_value = |text: &str| mark.values.iter().any(|value| text.contains(value));
        let is_kept = self.texts.iter().any(|(place, text)| {
            let is_type = mark
                .values
                .iter()
                .any(|value| text.contains(&format!("[{value}]")));
            let is_named = is_type || mark.keys.iter().any(|key| text.contains(key));
            *place == KEPT && has_value(text) && is_named
        });
        if is_kept {
            return true;
        }
        self.fields.iter().any(|(path, found)| {
            let last = path.rsplit('.').next().unwrap_or(path);
            // The heading of a page says who and when in words of its own.
            let is_word = |value: &&String| value.len() > 2 && found.contains(value.as_str());
            let in_heading = last == "heading" && mark.values.iter().any(|value| is_word(&value));
            let is_named = mark.keys.iter().any(|key| *key == last || *key == path);
            in_heading || is_named && mark.values.iter().any(|value| same(value, found))
        })
    }

    fn has_root(&self, child: &str) -> bool {
        let child = self.messages.iter().find(|(text, _)| text.contains(child));
        child.is_some_and(|(_, parent)| parent.is_none())
    }

    fn has_apart(&self, first: &str, second: &str) -> bool {
        let mut texts = self.texts.iter().map(|(_, text)| text);
        let is_alone = |text: &String| text.contains(first) && !text.contains(second);
        texts.any(is_alone)
    }

    fn has_link(&self, child: &str, parent: &str) -> bool {
        let found = self.messages.iter().find(|(text, _)| text.contains(child));
        // Messages of one role may have become one.
        if let Some((text, _)) = found
            && text.find(parent) < text.find(child)
            && text.contains(parent)
        {
            return true;
        }
        let Some((_, Some(at))) = found else {
            return false;
        };
        // Messages without a text stand between others, such as marks of a compaction.
        let mut at = Some(*at);
        while let Some((text, before)) = at.and_then(|at| self.messages.get(at)) {
            if !text.trim().is_empty() {
                return text.contains(parent);
            }
            at = *before;
        }
        false
    }
}

/// Returns whether two values are the same text or the same number.
fn same(wanted: &str, found: &str) -> bool {
    if wanted == found {
        return true;
    }
    match (wanted.parse::<f64>(), found.parse::<f64>()) {
        (Ok(wanted), Ok(found)) => wanted == found,
        _ => false,
    }
}

/// Returns an output as text that `serde_json` can read. It refuses half of a surrogate pair, which becomes U+FFFD.
pub fn readable(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let mut readable = String::with_capacity(text.len());
    let mut rest = &*text;
    while let Some(at) = rest.find("\\ud") {
        let escape = rest.get(at..at + 6).unwrap_or(&rest[at..]);
        let next = rest.get(at + 6..at + 12).unwrap_or_default();
        let is_high = matches!(escape.as_bytes().get(3), Some(b'8'..=b'b'));
        let is_pair =
            is_high && next.starts_with("\\ud") && matches!(next.as_bytes()[3], b'c'..=b'f');
        let is_half = !is_pair && matches!(escape.as_bytes().get(3), Some(b'8'..=b'f'));
        readable.push_str(&rest[..at]);
        readable.push_str(if is_half { "\\ufffd" } else { escape });
        readable.push_str(if is_pair { next } else { "" });
        rest = &rest[at + escape.len() + if is_pair { next.len() } else { 0 }..];
    }
    readable.push_str(rest);
    readable
}

/// Returns the string of a key.
pub fn string<'a>(object: &'a Value, key: &str) -> &'a str {
    object.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Reads content in the form of the Anthropic API, which transcripts share.
pub fn blocks(found: &mut Found, role: &'static str, content: &Value) {
    if let Some(text) = content.as_str() {
        return found.text(role, text);
    }
    for block in content.as_array().into_iter().flatten() {
        let Some(object) = block.as_object() else {
            // A block of an unknown form.
            found.text("block", block.as_str().unwrap_or_default());
            continue;
        };
        match string(block, "type") {
            "text" => {
                found.text(role, string(block, "text"));
                found.fields("block", object, &["type", "text"]);
            }
            "thinking" => {
                found.text("thinking", string(block, "thinking"));
                found.fields("thinking", object, &["type", "thinking"]);
            }
            "image" => source(found, "picture", block),
            "document" => source(found, "document", block),
            "tool_use" => {
                found.text("call", string(block, "name"));
                let input = block.get("input").unwrap_or(&Value::Null);
                leaves(input, &mut |leaf| found.text("call", leaf));
                found.fields("tool_use", object, &["type", "name", "input"]);
            }
            "tool_result" => {
                let content = block.get("content").unwrap_or(&Value::Null);
                blocks(found, "result", content);
                found.fields("tool_result", object, &["type", "content"]);
            }
            kind => {
                found.text("block", kind);
                found.text("block", block.to_string());
            }
        }
    }
}

/// Reads a picture or a document.
fn source(found: &mut Found, place: &'static str, block: &Value) {
    let source = block.get("source").unwrap_or(&Value::Null);
    for key in ["data", "url", "path"] {
        if let Some(value) = source.get(key).and_then(Value::as_str) {
            found.text(place, value);
        }
    }
    found.field("media_type", string(source, "media_type"));
    if let Some(object) = block.as_object() {
        found.fields(place, object, &["type", "source"]);
    }
}

/// Visits the keys and the values of a JSON value, in the order of the text.
pub fn leaves(value: &Value, each: &mut dyn FnMut(String)) {
    match value {
        Value::Object(object) => object.iter().for_each(|(key, value)| {
            each(key.clone());
            leaves(value, each);
        }),
        Value::Array(values) => values.iter().for_each(|value| leaves(value, each)),
        Value::String(text) => each(text.clone()),
        value => each(value.to_string()),
    }
}
