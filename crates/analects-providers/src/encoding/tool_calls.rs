//! Tool calls in the form that a server accepts: their ids, the names of their tools, and their
//! arguments.

use std::collections::{HashMap, HashSet};

use analects_core::{Block, Content, Raw, RawMap, ToolUse, Turn, replace_lone_surrogates};

use super::EncodeProblems;
use crate::ToolIdRule;

/// Returns a call of the turn `turn` with a name and arguments that the API accepts.
pub(crate) fn fit_call(
    call: &ToolUse,
    turn: usize,
    names: ToolNameRule,
    problems: &mut EncodeProblems,
) -> ToolUse {
    ToolUse {
        id: call.id.clone(),
        name: fit_name(&call.name, turn, names, problems),
        input: fit_arguments(&call.input, turn, problems),
        extra: call.extra.clone(),
    }
}

/// Returns the nearest name that the API accepts.
fn fit_name(name: &str, turn: usize, names: ToolNameRule, problems: &mut EncodeProblems) -> String {
    if names.accepts(name) {
        return name.to_string();
    }
    let nearest = names.nearest(name);
    problems.change_turn(
        turn,
        &format!("the call of \"{name}\" is sent as {nearest}"),
    );
    nearest
}

/// Returns arguments that are an object. A model may write something else by mistake.
fn fit_arguments(input: &Raw, turn: usize, problems: &mut EncodeProblems) -> Raw {
    let input = replace_lone_surrogates(input);
    if input.as_str().starts_with('{') {
        return input;
    }
    problems.change_turn(turn, "arguments that are no object are sent inside one");
    RawMap::from([("input", input)]).to_raw()
}

/// The ids of tool calls that a server would refuse, and what is sent for them. A new id depends on
/// nothing behind its call: a longer conversation then begins with the same bytes, and the provider
/// can cache it.
#[derive(Debug, Default)]
pub(crate) struct ToolIdMap {
    new_ids: HashMap<String, String>,
}

impl ToolIdMap {
    /// Finds ids for turns in which no two calls have the same id.
    pub fn new(turns: &[Turn], rule: ToolIdRule) -> ToolIdMap {
        let mut used = HashSet::new();
        let mut new_ids = HashMap::new();
        for id in turns.iter().flat_map(|turn| call_ids(&turn.content)) {
            if is_accepted(id, rule) && !used.contains(id) {
                used.insert(id.to_string());
                continue;
            }
            let new = unused_id(id, rule, &used);
            new_ids.insert(id.to_string(), new.clone());
            used.insert(new);
        }
        ToolIdMap { new_ids }
    }

    /// The id to send for this one.
    pub fn get<'a>(&'a self, id: &'a str) -> &'a str {
        self.new_ids.get(id).map_or(id, String::as_str)
    }
}

/// The ids of the calls in a turn, in order.
fn call_ids(content: &Content) -> impl Iterator<Item = &str> {
    let blocks = match content {
        Content::Blocks(blocks) => blocks.as_slice(),
        Content::Empty | Content::Text(_) => &[],
    };
    let calls = blocks.iter().filter_map(Block::as_tool_use);
    calls.map(|call| call.id.as_str())
}

/// Whether a server with this rule accepts an id.
fn is_accepted(id: &str, rule: ToolIdRule) -> bool {
    match rule {
        ToolIdRule::Any => true,
        ToolIdRule::UpTo(most) => !id.is_empty() && id.chars().count() <= most,
        ToolIdRule::Exactly(len) => {
            id.len() == len && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
        }
    }
}

/// Returns an accepted id that is not used yet, or `id` itself if a rule leaves too few of them.
fn unused_id(id: &str, rule: ToolIdRule, used: &HashSet<String>) -> String {
    const ATTEMPTS: u64 = 1000;
    let mut candidates = (0..ATTEMPTS).map(|salt| hashed_id(id, salt, rule));
    let unused = candidates.find(|candidate| !used.contains(candidate));
    unused.unwrap_or_else(|| id.to_string())
}

/// Makes an id of letters and digits from the old one and a salt.
fn hashed_id(id: &str, salt: u64, rule: ToolIdRule) -> String {
    let digits = base36(fnv1a(id.as_bytes(), salt));
    match rule {
        ToolIdRule::Exactly(len) => digits.chars().cycle().take(len).collect(),
        ToolIdRule::UpTo(most) => format!("call{digits}").chars().take(most).collect(),
        ToolIdRule::Any => id.to_string(),
    }
}

/// The hash FNV-1a, which is the same on every machine and in every version. Two salts give two
/// different hashes.
pub(crate) fn fnv1a(bytes: &[u8], salt: u64) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ salt;
    for byte in bytes {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash
}

/// The last 12 digits of a number to the base 36, the last one first.
fn base36(mut number: u64) -> String {
    let mut digits = String::new();
    for _ in 0..12 {
        digits.extend(char::from_digit((number % 36) as u32, 36));
        number /= 36;
    }
    digits
}

/// The tool names that an API accepts.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ToolNameRule {
    /// Letters, digits, `_` and `-`, up to this many.
    Plain(usize),
    /// Gemini's rule: a letter or `_` first; `.` and `:` are allowed behind it; up to 64
    /// characters.
    Gemini,
}

impl ToolNameRule {
    /// Whether the API accepts the name.
    pub fn accepts(self, name: &str) -> bool {
        !name.is_empty()
            && name.len() <= self.max_len()
            && !self.is_bad_start(name)
            && name.chars().all(|c| self.accepts_char(c))
    }

    /// Returns the nearest name that the API accepts.
    pub fn nearest(self, name: &str) -> String {
        let mut near = String::new();
        for c in name.chars() {
            near.push(if self.accepts_char(c) { c } else { '_' });
        }
        if near.is_empty() {
            near.push_str("tool");
        }
        if self.is_bad_start(&near) {
            near.insert(0, '_');
        }
        near.truncate(self.max_len());
        near
    }

    /// Why a name is not accepted, for people.
    pub fn why_refused(self) -> &'static str {
        match self {
            ToolNameRule::Plain(_) => {
                "its name has other characters than letters, digits, _ and -, or too many"
            }
            ToolNameRule::Gemini => {
                "its name does not begin with a letter, has other characters than letters, \
                 digits, _, ., : and -, or too many"
            }
        }
    }

    /// The length of the longest accepted name, in bytes.
    fn max_len(self) -> usize {
        match self {
            ToolNameRule::Plain(most) => most,
            ToolNameRule::Gemini => 64,
        }
    }

    /// Whether a name may contain a character, anywhere but at its start.
    fn accepts_char(self, c: char) -> bool {
        let is_gemini = matches!(self, ToolNameRule::Gemini);
        is_plain_char(c) || (is_gemini && matches!(c, '.' | ':'))
    }

    /// Whether the first character may only stand further behind. An empty name has none.
    fn is_bad_start(self, name: &str) -> bool {
        let is_gemini = matches!(self, ToolNameRule::Gemini);
        is_gemini && name.starts_with(|c: char| !c.is_ascii_alphabetic() && c != '_')
    }
}

/// Whether this is a letter, a digit, `_` or `-`.
pub(crate) fn is_plain_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}
