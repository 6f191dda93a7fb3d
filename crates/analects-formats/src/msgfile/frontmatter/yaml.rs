//! YAML as a plain tree: maps keep their order, and keys are text. Hostile input is an error, never a deep recursion or
//! a large allocation. A text is written on one line: plain if every YAML reader takes it for text, else quoted.

use std::cell::Cell;
use std::fmt;
use std::fmt::Write as _;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_saphyr::options::{DuplicateKeyPolicy, NonFiniteFloatPolicy};
use serde_saphyr::{MessageFormatter, Options, Spanned, UserMessageFormatter};

/// The largest text that is read, in bytes.
pub(crate) const MAX_BYTES: usize = 1 << 20;
/// How deep lists and maps may be nested, after aliases are resolved.
const MAX_DEPTH: usize = 32;
/// How many nodes and bytes of text a tree may have, after aliases are resolved.
const MAX_SIZE: usize = 2 * MAX_BYTES;

/// A YAML value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Yaml {
    Null,
    Bool(bool),
    Int(i128),
    /// Always finite: `.inf` and `.nan` are read as text.
    Float(f64),
    Text(String),
    List(Vec<Yaml>),
    Map(Vec<YamlEntry>),
}

/// A key of a map and its value.
#[derive(Debug, Clone)]
pub(crate) struct YamlEntry {
    pub(crate) key: String,
    /// The offset of the key, if the parser knows it.
    pub(crate) at: Option<usize>,
    pub(crate) value: Yaml,
}

/// Entries are equal if their keys and values are; their offsets do not matter.
impl PartialEq for YamlEntry {
    fn eq(&self, other: &YamlEntry) -> bool {
        self.key == other.key && self.value == other.value
    }
}

/// Why a text could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct YamlError {
    /// The line, from 1, as YAML counts them.
    pub(crate) line: Option<usize>,
    pub(crate) message: String,
}

impl Yaml {
    /// Reads a text with one document; an empty text is [`Yaml::Null`].
    pub(crate) fn parse(text: &str) -> Result<Yaml, YamlError> {
        if text.len() > MAX_BYTES {
            let message = format!("it is longer than {MAX_BYTES} bytes");
            return Err(YamlError {
                line: None,
                message,
            });
        }
        let left = Cell::new(MAX_SIZE);
        let seed = YamlSeed {
            left: &left,
            depth: 0,
        };
        serde_saphyr::with_deserializer_from_str_with_options(text, options(), |deserializer| {
            seed.deserialize(deserializer)
        })
        .map_err(|error| YamlError::of(&error))
    }

    /// The entries of a map; `null` counts as an empty map.
    pub(crate) fn entries(&self) -> Option<&[YamlEntry]> {
        match self {
            Yaml::Null => Some(&[]),
            Yaml::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// The value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<&Yaml> {
        self.entries()?
            .iter()
            .find(|entry| entry.key == key)
            .map(|entry| &entry.value)
    }

    /// This map with one key set, in its place or at the end. `None` if this is not a map.
    pub(crate) fn with(&self, key: &str, value: Yaml) -> Option<Yaml> {
        let mut entries = self.entries()?.to_vec();
        match entries.iter_mut().find(|entry| entry.key == key) {
            Some(entry) => entry.value = value,
            None => entries.push(YamlEntry {
                key: key.to_string(),
                at: None,
                value,
            }),
        }
        Some(Yaml::Map(entries))
    }
}

/// A value as a message shows it.
impl fmt::Display for Yaml {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Yaml::Null => f.write_str("nothing"),
            Yaml::Bool(value) => write!(f, "{value}"),
            Yaml::Int(value) => write!(f, "{value}"),
            Yaml::Float(value) => write!(f, "{value:?}"),
            Yaml::Text(value) => write!(f, "{:?}", shortened(value)),
            Yaml::List(_) => f.write_str("a list"),
            Yaml::Map(_) => f.write_str("a map"),
        }
    }
}

/// The beginning of a text, for messages, which must not grow with their input.
pub(crate) fn shortened(text: &str) -> String {
    const MAX_CHARS: usize = 40;
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}

impl YamlError {
    /// What to do about it.
    pub(crate) fn hint(&self) -> &'static str {
        let says = |words: &str| self.message.contains(words);
        if says("duplicate mapping key") {
            "remove one of the two"
        } else if says("mapping values") {
            "put a value with a colon into quotes"
        } else if says("tabs") {
            "indent with spaces instead of tabs"
        } else if says("unclosed") {
            "close it on the same line"
        } else if self.line.is_some() && !says("too large") && !says("too deeply") {
            "correct this line or one above it; a text in quotes is always valid"
        } else {
            "make it shorter or simpler"
        }
    }

    fn of(error: &serde_saphyr::Error) -> YamlError {
        let line = error
            .location()
            .and_then(|location| usize::try_from(location.line()).ok());
        let mut message = UserMessageFormatter.format_message(error.without_snippet());
        // What follows are names and numbers of the parser's own limits.
        if message.starts_with("YAML document too large") {
            message = "it is too large or nested too deeply".into();
        }
        YamlError {
            line: line.filter(|line| *line > 0),
            message: as_one_line(&message),
        }
    }
}

/// A message of the parser in our style: one short line, lower case, no full stop.
fn as_one_line(message: &str) -> String {
    const MAX_CHARS: usize = 200;
    let chars = message.trim_end_matches('.').chars().take(MAX_CHARS);
    let line: String = chars
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    let mut rest = line.chars();
    match rest.next() {
        Some(first) => first.to_lowercase().chain(rest).collect(),
        None => line,
    }
}

/// Options of the parser: strict about keys and booleans, with small limits against hostile input.
fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: MAX_DEPTH,
            flow_nesting_limit: MAX_DEPTH,
            max_events: 200_000,
            max_nodes: 100_000,
            max_aliases: 256,
            max_anchors: 256,
            max_merge_keys: 256,
            max_recorded_anchor_events: 100_000,
            max_recorded_anchor_bytes: MAX_SIZE,
            max_total_scalar_bytes: MAX_BYTES,
            // A second one is an error with a better message than that of a limit.
            max_documents: 2,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 10_000,
            max_replay_stack_depth: MAX_DEPTH,
        },
        duplicate_keys: DuplicateKeyPolicy::Error,
        strict_booleans: true,
        reject_unsupported_tags: true,
        non_finite_float_policy: NonFiniteFloatPolicy::AsString,
        with_snippet: false,
    }
}

/// Reads a value at a depth. The limits of the parser count what is written; aliases multiply it, so depth and size are
/// counted here once more.
#[derive(Clone, Copy)]
struct YamlSeed<'a> {
    left: &'a Cell<usize>,
    depth: usize,
}

impl YamlSeed<'_> {
    /// The seed for the values inside a list or a map.
    fn deeper<E: serde::de::Error>(self) -> Result<Self, E> {
        if self.depth >= MAX_DEPTH {
            return Err(E::custom("lists and maps are nested too deeply"));
        }
        Ok(YamlSeed {
            left: self.left,
            depth: self.depth + 1,
        })
    }

    /// Counts a node with this many bytes of text against the limit.
    fn pay<E: serde::de::Error>(self, bytes: usize) -> Result<(), E> {
        let left = self.left.get().checked_sub(bytes + 1);
        self.left.set(left.unwrap_or(0));
        left.map(drop)
            .ok_or_else(|| E::custom("its aliases make it too large"))
    }

    /// A value that counts as one node.
    fn node<E: serde::de::Error>(self, value: Yaml) -> Result<Yaml, E> {
        self.pay(0).map(|()| value)
    }
}

impl<'de> DeserializeSeed<'de> for YamlSeed<'_> {
    type Value = Yaml;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Yaml, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for YamlSeed<'_> {
    type Value = Yaml;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Yaml, E> {
        self.node(Yaml::Null)
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<Yaml, E> {
        self.node(Yaml::Bool(value))
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Yaml, E> {
        self.node(Yaml::Int(value.into()))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Yaml, E> {
        self.node(Yaml::Int(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Yaml, E> {
        self.node(Yaml::Float(value))
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Yaml, E> {
        self.pay(value.len())?;
        Ok(Yaml::Text(value.to_string()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Yaml, A::Error> {
        let inner = self.deeper()?;
        self.pay(0)?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(inner)? {
            list.push(item);
        }
        Ok(Yaml::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Yaml, A::Error> {
        let inner = self.deeper()?;
        self.pay(0)?;
        let mut entries = Vec::new();
        while let Some(key) = map.next_key::<Spanned<Option<String>>>()? {
            let at = key
                .referenced
                .span()
                .byte_offset()
                .and_then(|at| usize::try_from(at).ok());
            let key = key.value.unwrap_or_else(|| "null".to_string());
            self.pay(key.len())?;
            let value = map.next_value_seed(inner)?;
            entries.push(YamlEntry { key, at, value });
        }
        match repeated(&entries) {
            // `1` and `"1"` are different keys of YAML, but the same text.
            Some(key) => Err(A::Error::custom(format!("duplicate mapping key: {key}"))),
            None => Ok(Yaml::Map(entries)),
        }
    }
}

/// A key that occurs in a map twice.
fn repeated(entries: &[YamlEntry]) -> Option<String> {
    let mut keys: Vec<&str> = entries.iter().map(|entry| entry.key.as_str()).collect();
    keys.sort_unstable();
    let twice = keys.windows(2).find(|pair| pair[0] == pair[1])?;
    Some(shortened(twice[0]))
}

/// Words that some version or some reader of YAML does not take for text.
const RESERVED: [&str; 13] = [
    "true", "false", "yes", "no", "on", "off", "y", "n", "null", "nan", "inf", "infinity", "none",
];

/// Writes a text so that it is read back as the same text.
pub(crate) fn scalar(text: &str) -> String {
    if is_plain(text) {
        text.to_string()
    } else {
        quoted(text)
    }
}

/// Whether a text needs no quotes. A text that starts with a digit does, since some reader may take it for a number, a
/// date or a time.
pub(super) fn is_plain(text: &str) -> bool {
    let starts = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_./-".contains(&byte);
    starts
        && text.bytes().all(allowed)
        && !RESERVED.iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// Whether a character must be escaped: YAML forbids it, or takes it for the end of a line or for a
/// byte-order mark.
pub(super) fn must_be_escaped(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
        )
}

/// In double quotes, with the escapes that JSON and YAML share.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if must_be_escaped(c) => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
