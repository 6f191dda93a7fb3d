//! What encoders share: saying what is left out of a request, new names for tool calls whose names
//! a server refuses, and fields that go to the provider as they are.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use analects_core::{Block, Content, Problem, Raw, RawMap, Request, Severity};

use crate::ToolIds;

/// Collects what is left out.
#[derive(Debug, Default)]
pub(crate) struct LeftOut(Vec<Problem>);

impl LeftOut {
    /// Something that was said and does not go out: `what` and why, in a few words.
    pub fn content(&mut self, turn: usize, what: &str, why: &str) {
        let text = format!("turn {}: {what} is not sent: {why}", turn + 1);
        self.push(text, Severity::Warning);
    }

    /// A thought, which only its own provider reads: nothing to worry about.
    pub fn thought(&mut self, turn: usize, why: &str) {
        let text = format!("turn {}: a thought is not sent: {why}", turn + 1);
        self.push(text, Severity::Hint);
    }

    /// A setting of the request.
    pub fn setting(&mut self, name: &str, why: &str) {
        self.push(format!("{name} is not sent: {why}"), Severity::Warning);
    }

    fn push(&mut self, text: String, severity: Severity) {
        self.0.push(Problem::warning("not-sent", text).with(severity));
    }

    /// What was collected.
    pub fn into_problems(self) -> Vec<Problem> {
        self.0
    }
}

/// Names of tool calls as a server accepts them. The same name gives the same new one in every
/// request, so that prompts can be cached.
#[derive(Debug, Default)]
pub(crate) struct CallIds {
    renamed: HashMap<String, String>,
}

impl CallIds {
    pub fn new(request: &Request, rule: ToolIds) -> CallIds {
        let ids = || request.turns.iter().flat_map(|turn| ids_in(&turn.content));
        let mut taken: HashSet<String> =
            ids().filter(|id| fits(id, rule)).map(str::to_string).collect();
        let mut renamed = HashMap::new();
        for id in ids().filter(|id| !fits(id, rule)) {
            if !renamed.contains_key(id) {
                // A rule that leaves too few names to go round is not worth waiting for.
                let mut names = (0..1000).map(|salt| made(id, salt, rule));
                let new = names.find(|new| !taken.contains(new)).unwrap_or_else(|| id.to_string());
                taken.insert(new.clone());
                renamed.insert(id.to_string(), new);
            }
        }
        CallIds { renamed }
    }

    /// The name to send.
    pub fn of<'a>(&'a self, id: &'a str) -> &'a str {
        self.renamed.get(id).map_or(id, String::as_str)
    }
}

fn ids_in(content: &Content) -> impl Iterator<Item = &str> {
    let blocks = if let Content::Blocks(blocks) = content { blocks.as_slice() } else { &[] };
    blocks.iter().filter_map(|block| match block {
        Block::ToolUse(call) => Some(call.id.as_str()),
        Block::ToolResult(result) => Some(result.tool_use_id.as_str()),
        _ => None,
    })
}

fn fits(id: &str, rule: ToolIds) -> bool {
    match rule {
        ToolIds::Any => true,
        ToolIds::UpTo(most) => !id.is_empty() && id.chars().count() <= most,
        ToolIds::Exactly(len) => id.len() == len && id.bytes().all(|b| b.is_ascii_alphanumeric()),
    }
}

/// A name of letters and digits that follows from the old one alone (FNV-1a, spelled in base 36).
fn made(id: &str, salt: u64, rule: ToolIds) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ salt;
    for byte in id.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    let mut digits = String::new();
    for _ in 0..12 {
        digits.extend(char::from_digit((hash % 36) as u32, 36));
        hash /= 36;
    }
    match rule {
        ToolIds::Exactly(len) => digits.chars().cycle().take(len).collect(),
        ToolIds::UpTo(most) => format!("call{digits}").chars().take(most).collect(),
        ToolIds::Any => id.to_string(),
    }
}

/// Adds the provider's own fields. They win over ours, except for `fixed` ones, without which the
/// answer could not be read, or would not be the answer to what was shown.
pub(crate) fn with_metadata(
    json: String,
    metadata: &RawMap,
    fixed: &[&str],
    left_out: &mut LeftOut,
) -> String {
    let body = RawMap::parse(&json).unwrap_or_default();
    if metadata.is_empty() || body.is_empty() {
        return json;
    }
    let name = |key: &Raw| key.as_string().unwrap_or_default();
    let is_fixed = |key: &Raw| fixed.contains(&name(key).as_str());
    let ours = body.iter().filter(|(key, _)| is_fixed(key) || metadata.get(&name(key)).is_none());
    let theirs = metadata.iter().filter(|(key, _)| !is_fixed(key));
    let mut merged = RawMap::new();
    for (key, value) in ours.chain(theirs) {
        merged.push_raw(key.clone(), value.clone());
    }
    for (key, _) in metadata.iter().filter(|(key, _)| is_fixed(key)) {
        left_out.setting(&name(key), "this field is not up to the metadata");
    }
    merged.to_raw().to_string()
}

/// Whether this is one of OpenAI's models that think before every answer: they refuse a temperature
/// and the older name of the token limit, which most other servers know as the only one.
pub(crate) fn always_thinks(model: &str) -> bool {
    let numbered = |prefix: &str| {
        let rest = model.strip_prefix(prefix)?;
        rest.chars().next().filter(char::is_ascii_digit)
    };
    numbered("o").is_some() || numbered("gpt-").is_some_and(|digit| digit >= '5')
}

/// Whether what `by` thought may go back to `model`. Nobody reads the sealed thoughts of others:
/// OpenAI's models read each other's, any other model its own. Where nobody knows who it was, the
/// seal's shape has to do.
pub(crate) fn same_maker(by: Option<&str>, model: &str) -> bool {
    by.is_none_or(|by| by == model || (is_openai(by) && is_openai(model)))
}

fn is_openai(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    let families = ["gpt-", "chatgpt-", "codex-", "computer-use-"];
    always_thinks(name) || families.iter().any(|family| name.starts_with(family))
}

/// What a tool gave back, as text. These APIs have no word for a call that failed, so the text says
/// so.
pub(crate) fn result_text(text: String, is_error: Option<bool>) -> String {
    let told = text.trim_start().get(..5).is_some_and(|start| start.eq_ignore_ascii_case("error"));
    match is_error {
        Some(true) if text.trim().is_empty() => "error".to_string(),
        Some(true) if !told => format!("error: {text}"),
        _ => text,
    }
}

/// A document or an image as a URL that holds its bytes.
pub(crate) fn data_url(media_type: &str, data: &str) -> String {
    format!("data:{media_type};base64,{data}")
}

/// The name of a document, which the APIs want to see: its title, or one made of its type.
pub(crate) fn file_name(extra: &RawMap, media_type: &str) -> String {
    let named = ["filename", "title"].iter().find_map(|key| extra.get(key)?.as_string());
    named.filter(|name| !name.trim().is_empty()).unwrap_or_else(|| {
        let kind: Cow<'_, str> = match media_type {
            "text/plain" => "txt".into(),
            "text/markdown" => "md".into(),
            other => other.rsplit('/').next().unwrap_or("bin").to_string().into(),
        };
        format!("document.{kind}")
    })
}

/// The text of a document that holds it in plain words.
pub(crate) fn plain_document(source: &Raw) -> Option<String> {
    let map = source.as_object()?;
    let kind = map.get("type").and_then(Raw::as_string)?;
    map.get("data").filter(|_| kind == "text").and_then(Raw::as_string)
}
