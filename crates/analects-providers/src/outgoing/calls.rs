//! Calls as a server accepts them: their ids, the names of their tools, and their arguments.

use std::collections::{HashMap, HashSet};

use analects_core::{Block, Content, RawMap, ToolUse, Turn};

use super::{LeftOut, mended};
use crate::ToolIds;

/// The call of turn `number` with a name and arguments that the API accepts.
pub(crate) fn fit_call(
    call: &ToolUse,
    number: usize,
    names: Names,
    left_out: &mut LeftOut,
) -> ToolUse {
    let mut name = call.name.clone();
    if !names.fit(&name) {
        name = names.nearest(&name);
        let text = format!("the call of \"{}\" is sent as {name}", call.name);
        left_out.otherwise(format!("turn {}: {text}", number + 1));
    }
    let mut input = mended(&call.input);
    // As a model may write them by mistake.
    if !input.as_str().starts_with('{') {
        let text = "arguments that are no object are sent inside one";
        left_out.otherwise(format!("turn {}: {text}", number + 1));
        input = RawMap::from([("input", input)]).to_raw();
    }
    ToolUse {
        id: call.id.clone(),
        name,
        input,
        extra: call.extra.clone(),
    }
}

/// Ids of tool calls as a server accepts them. What stands before a call decides alone on its id, so
/// that a longer conversation begins with the same bytes, and can be cached.
#[derive(Debug, Default)]
pub(crate) struct CallIds {
    renamed: HashMap<String, String>,
}

impl CallIds {
    /// The ids for turns in which every call has its own.
    pub fn new(turns: &[Turn], rule: ToolIds) -> CallIds {
        let mut taken = HashSet::new();
        let mut renamed = HashMap::new();
        for id in turns.iter().flat_map(|turn| calls(&turn.content)) {
            let mut new = id.to_string();
            if !fits(id, rule) || taken.contains(id) {
                // A rule that leaves too few names to go round is not worth waiting for.
                let mut names = (0..1000).map(|salt| made(id, salt, rule));
                new = names.find(|new| !taken.contains(new)).unwrap_or(new);
                renamed.insert(id.to_string(), new.clone());
            }
            taken.insert(new);
        }
        CallIds { renamed }
    }

    /// The id to send.
    pub fn of<'a>(&'a self, id: &'a str) -> &'a str {
        self.renamed.get(id).map_or(id, String::as_str)
    }
}

fn calls(content: &Content) -> impl Iterator<Item = &str> {
    let blocks = if let Content::Blocks(blocks) = content {
        blocks.as_slice()
    } else {
        &[]
    };
    blocks
        .iter()
        .filter_map(Block::as_tool_use)
        .map(|call| call.id.as_str())
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

/// Which names of tools an API accepts.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Names {
    /// Letters, digits, `_` and `-`, at most so many.
    Plain(usize),
    /// Gemini's: a letter or `_` first, then `.` and `:`, too; at most 64.
    Gemini,
}

impl Names {
    /// Whether the API accepts the name.
    pub fn fit(self, name: &str) -> bool {
        let start = match self {
            Names::Plain(_) => true,
            Names::Gemini => !name.starts_with(|c: char| !is_start(c)),
        };
        !name.is_empty() && start && name.len() <= self.longest() && name.chars().all(self.takes())
    }

    /// The nearest name that it accepts.
    pub fn nearest(self, name: &str) -> String {
        let takes = self.takes();
        let mut near: String = name
            .chars()
            .map(|c| if takes(c) { c } else { '_' })
            .collect();
        if near.is_empty() {
            near.push_str("tool");
        }
        if matches!(self, Names::Gemini) && near.starts_with(|c: char| !is_start(c)) {
            near.insert(0, '_');
        }
        near.truncate(self.longest());
        near
    }

    /// What is wrong with a name that it does not accept.
    pub fn why_not(self) -> &'static str {
        match self {
            Names::Plain(_) => {
                "its name has other characters than letters, digits, _ and -, or too many"
            }
            Names::Gemini => {
                "its name does not begin with a letter, has other characters than letters, \
                 digits, _, ., : and -, or too many"
            }
        }
    }

    fn longest(self) -> usize {
        match self {
            Names::Plain(longest) => longest,
            Names::Gemini => 64,
        }
    }

    fn takes(self) -> fn(char) -> bool {
        match self {
            Names::Plain(_) => is_plain_char,
            Names::Gemini => |c| is_plain_char(c) || c == '.' || c == ':',
        }
    }
}

fn is_start(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

/// Whether this is a letter, a digit, `_` or `-`.
pub(crate) fn is_plain_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}
