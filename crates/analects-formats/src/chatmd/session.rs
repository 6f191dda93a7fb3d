//! What a file says about the conversation as a whole: YAML frontmatter whose first key is `chat`, and
//! the text before the first item. Any other block at the start of a file is part of that text. As a message of
//! the model, it is a change of state before the first message, so that it goes wherever messages go.

use std::borrow::Cow;

use analects_core::{Body, Message, Raw, RawMap, SessionId, Span, StateChange};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::attributes::read_time;
use super::line::{escape, unescape};
use super::{ChatMdDocument, decode};
use crate::Loss;
use crate::convert::is_derived_id;
use crate::msgfile::FrontmatterProblem;
use crate::msgfile::frontmatter::yaml::{Yaml, YamlEntry, scalar};
use crate::msgfile::frontmatter::{FrontmatterReader, text_span};
use crate::msgfile::messages::derived_id;

/// A conversation as a whole.
#[doc(alias = "IChatSessionHistory")]
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChatSessionInfo {
    /// Its id.
    pub id: Option<String>,
    /// Its title.
    pub title: Option<String>,
    /// When it was started.
    pub timestamp: Option<Timestamp>,
    /// When it was changed last.
    pub updated: Option<Timestamp>,
    /// Its tags.
    pub tags: Vec<String>,
    /// The text before the first item; never sent.
    pub preamble: Option<String>,
    /// What its source said and this type does not name.
    pub extra: RawMap,
}

/// The keys of the frontmatter that mean something here.
const KEYS: [&str; 6] = ["chat", "id", "title", "timestamp", "updated", "tags"];
/// The longest frontmatter that is written; readers have limits.
const MAX_BYTES: usize = 1 << 19;

/// What the frontmatter says; times as they stand there, since their zone is not known.
#[derive(Debug, Default)]
pub(super) struct ChatFrontmatter {
    id: Option<String>,
    title: Option<String>,
    timestamp: Option<Yaml>,
    updated: Option<Yaml>,
    tags: Vec<String>,
    extra: RawMap,
    pub(super) problems: Vec<FrontmatterProblem>,
}

/// Reads the frontmatter at `span`.
pub(super) fn read(source: &[u8], span: Span) -> ChatFrontmatter {
    let yaml = text_span(source, span)
        .map(|span| span.of(source))
        .unwrap_or_default();
    let yaml = String::from_utf8_lossy(yaml);
    let mut reader = FrontmatterReader::new(&yaml);
    let mut front = ChatFrontmatter::default();
    match Yaml::parse(&yaml) {
        Ok(tree) => {
            let entries = tree.entries().unwrap_or_default();
            entries
                .iter()
                .for_each(|entry| front.take(entry, &mut reader));
        }
        Err(error) => reader.unreadable(&error),
    }
    front.problems = reader.problems;
    front
}

impl ChatFrontmatter {
    fn take(&mut self, entry: &YamlEntry, reader: &mut FrontmatterReader) {
        let some = |text: Option<String>| text.filter(|text| !text.is_empty());
        let taken = match entry.key.as_str() {
            "chat" | "id" => {
                let id = some(reader.text(entry));
                let found = id.is_some();
                self.id = id.or(self.id.take());
                found || matches!(&entry.value, Yaml::Null)
            }
            "title" => {
                self.title = reader.text(entry);
                self.title.is_some()
            }
            "timestamp" => take_time(entry, &mut self.timestamp, reader),
            "updated" => take_time(entry, &mut self.updated, reader),
            "tags" => {
                let tags = tags(&entry.value);
                if tags.is_none() {
                    reader.wrong_type(entry, "a list of texts");
                }
                self.tags = tags.clone().unwrap_or_default();
                tags.is_some_and(|tags| !tags.is_empty())
            }
            _ => false,
        };
        if !taken {
            self.extra.push(&entry.key, json(&entry.value));
        }
    }
}

/// Whether a value is a time in some zone.
fn take_time(entry: &YamlEntry, place: &mut Option<Yaml>, reader: &mut FrontmatterReader) -> bool {
    let found = time_of(&entry.value, &TimeZone::UTC).is_some();
    if found {
        *place = Some(entry.value.clone());
    } else if entry.value != Yaml::Null {
        reader.wrong_type(entry, "a time such as \"2025-05-07T14:01:32Z\"");
    }
    found
}

/// A time as text, or in milliseconds since 1970 as the plugin counts.
fn time_of(value: &Yaml, zone: &TimeZone) -> Option<Timestamp> {
    match value {
        Yaml::Text(text) => read_time(text, zone),
        Yaml::Int(number) => Timestamp::from_millisecond(i64::try_from(*number).ok()?).ok(),
        _ => None,
    }
}

fn tags(value: &Yaml) -> Option<Vec<String>> {
    let tag = |value: &Yaml| match value {
        Yaml::Text(text) => Some(text.clone()),
        Yaml::Int(_) | Yaml::Bool(_) => Some(value.to_string()),
        _ => None,
    };
    match value {
        Yaml::Null => Some(Vec::new()),
        Yaml::List(items) => items.iter().map(tag).collect(),
        value => tag(value).map(|tag| vec![tag]),
    }
}

/// A tree as JSON. Its depth is bounded, as it was read from YAML.
fn json(value: &Yaml) -> Raw {
    let text = json_text(value);
    Raw::parse(&text).unwrap_or_else(|_| Raw::string(&text))
}

fn json_text(value: &Yaml) -> String {
    let string = |text: &str| Raw::string(text).as_str().to_string();
    match value {
        Yaml::Null => "null".to_string(),
        Yaml::Bool(_) | Yaml::Int(_) | Yaml::Float(_) => value.to_string(),
        Yaml::Text(text) => string(text),
        Yaml::List(items) => {
            let items: Vec<String> = items.iter().map(json_text).collect();
            format!("[{}]", items.join(","))
        }
        Yaml::Map(entries) => {
            let entry =
                |entry: &YamlEntry| format!("{}:{}", string(&entry.key), json_text(&entry.value));
            let entries: Vec<String> = entries.iter().map(entry).collect();
            format!("{{{}}}", entries.join(","))
        }
    }
}

impl ChatMdDocument {
    /// What the file says about the conversation as a whole. Times without a zone are taken as UTC.
    pub fn session(&self) -> ChatSessionInfo {
        self.session_in(&TimeZone::UTC)
    }

    /// The same, with times without a zone taken as those of `zone`.
    pub fn session_in(&self, zone: &TimeZone) -> ChatSessionInfo {
        let front = &self.front;
        let read = |value: &Option<Yaml>| value.as_ref().and_then(|value| time_of(value, zone));
        ChatSessionInfo {
            id: front.id.clone(),
            title: front.title.clone(),
            timestamp: read(&front.timestamp),
            updated: read(&front.updated),
            tags: front.tags.clone(),
            preamble: self.preamble_text(),
            extra: front.extra.clone(),
        }
    }

    /// The preamble without the line ends that part it from what stands around it: one after the
    /// frontmatter, and two before the first item.
    fn preamble_text(&self) -> Option<String> {
        let mut text = self.preamble().of(&self.source);
        let strip = |text: &[u8]| {
            let rest = text.strip_suffix(b"\n")?;
            Some(rest.strip_suffix(b"\r").unwrap_or(rest).len())
        };
        if self.frontmatter.is_some() {
            let rest = text
                .strip_prefix(b"\r\n")
                .or_else(|| text.strip_prefix(b"\n"));
            text = rest.unwrap_or(text);
        }
        for _ in 0..2 {
            text = strip(text).map_or(text, |length| &text[..length]);
        }
        let text = unescape(String::from_utf8_lossy(text));
        (!text.is_empty()).then(|| text.into_owned())
    }
}

/// The beginning of a file: frontmatter and preamble. Items follow if `items` is set.
pub(super) fn write(session: &ChatSessionInfo, items: bool, losses: &mut Vec<Loss>) -> String {
    let mut out = frontmatter(session, losses);
    let preamble = session.preamble.as_deref().unwrap_or_default();
    if !out.is_empty() {
        out.push('\n');
    } else if would_be_frontmatter(preamble) {
        out.push_str("---\nchat:\n---\n\n");
    }
    out.push_str(&write_preamble(preamble, items));
    if !items && preamble.is_empty() {
        // A file that ends with its frontmatter needs no empty line.
        out.truncate(out.trim_end_matches('\n').len() + usize::from(!out.is_empty()));
    }
    out
}

fn would_be_frontmatter(preamble: &str) -> bool {
    let text = write_preamble(preamble, true);
    decode::frontmatter(text.as_bytes(), 0).is_some() || text.starts_with('\u{feff}')
}

/// A preamble with the line ends after it.
pub(super) fn write_preamble(preamble: &str, items: bool) -> Cow<'_, str> {
    if preamble.is_empty() {
        return Cow::Borrowed("");
    }
    let end = if preamble.ends_with('\r') {
        "\r\n"
    } else {
        "\n"
    };
    let ends = if items || preamble.ends_with('\n') {
        2
    } else {
        1
    };
    Cow::Owned(escape(&format!("{preamble}{}", end.repeat(ends))).into_owned())
}

fn frontmatter(session: &ChatSessionInfo, losses: &mut Vec<Loss>) -> String {
    let quoted = |text: &str| scalar(text);
    let text = |text: &String| (quoted(text), Yaml::Text(text.clone()));
    let time = |time: &Timestamp| text(&time.to_string());
    let tags: Vec<String> = session.tags.iter().map(|tag| quoted(tag)).collect();
    let tag_tree = Yaml::List(session.tags.iter().cloned().map(Yaml::Text).collect());
    let tags = (!tags.is_empty()).then(|| (format!("[{}]", tags.join(", ")), tag_tree));
    let known = [
        ("title", session.title.as_ref().map(text)),
        ("timestamp", session.timestamp.as_ref().map(time)),
        ("updated", session.updated.as_ref().map(time)),
        ("tags", tags),
    ];
    let mut yaml = FrontmatterText::default();
    let id = session.id.as_ref().filter(|id| !id.is_empty());
    match id {
        Some(id) if yaml.add("chat", &quoted(id), &Yaml::Text(id.clone())) => {}
        Some(_) => {
            losses.push(Loss::of_session("id", "frontmatter cannot hold it"));
            yaml.text.push_str("chat:\n");
        }
        None => yaml.text.push_str("chat:\n"),
    }
    yaml.keys.push("chat".to_string());
    for (key, value) in known {
        let Some((value, tree)) = value else { continue };
        if !yaml.add(key, &value, &tree) {
            losses.push(Loss::of_session(key, "frontmatter cannot hold it"));
        }
    }
    yaml.extra(session, losses);
    if Yaml::parse(&yaml.text).is_err() {
        // Each line can be read, but there are too many things on them.
        let why = "frontmatter cannot hold so many";
        losses.push(Loss::of_session("tags and extra fields", why));
        let smaller = ChatSessionInfo {
            tags: Vec::new(),
            extra: RawMap::new(),
            ..session.clone()
        };
        return frontmatter(&smaller, losses);
    }
    if yaml.text == "chat:\n" {
        String::new()
    } else {
        format!("---\n{}---\n", yaml.text)
    }
}

/// Lines of frontmatter, each of which reads back as what it says.
#[derive(Default)]
struct FrontmatterText {
    text: String,
    keys: Vec<String>,
}

impl FrontmatterText {
    fn add(&mut self, key: &str, value: &str, meant: &Yaml) -> bool {
        let line = format!("{}: {value}\n", scalar(key));
        let is_said = || {
            let tree = Yaml::parse(&line).ok();
            tree.is_some_and(|tree| tree.get(key) == Some(meant))
        };
        let fits = self.text.len() + line.len() <= MAX_BYTES;
        let is_new = !self.keys.iter().any(|known| known == key);
        let holds = fits && is_new && is_said();
        if holds {
            self.text.push_str(&line);
            self.keys.push(key.to_string());
        }
        holds
    }

    /// Adds what the session does not name, as JSON, which is YAML as well.
    fn extra(&mut self, session: &ChatSessionInfo, losses: &mut Vec<Loss>) {
        for (key, value) in session.extra.iter() {
            let name = key.as_string();
            let json = compact(value.as_str());
            let tree = Yaml::parse(&format!("x: {json}\n")).ok();
            let meant = tree.as_ref().and_then(|tree| tree.get("x"));
            let exact = meant.filter(|meant| json_text(meant) == json);
            let is_taken = |name: &str| KEYS.contains(&name) && reads(name, exact);
            let added = match (&name, exact) {
                (Some(name), Some(meant)) if !is_taken(name) => self.add(name, &json, meant),
                _ => false,
            };
            if !added {
                let shown = name.unwrap_or_else(|| key.to_string());
                let why = "frontmatter cannot hold this value under this name";
                losses.push(Loss::of_session(format!("extra.{shown}"), why));
            }
        }
    }
}

/// Whether a value under a name that is known here would be read as what that name means.
fn reads(key: &str, value: Option<&Yaml>) -> bool {
    let Some(value) = value else { return true };
    let mut front = ChatFrontmatter::default();
    let entry = YamlEntry {
        key: key.to_string(),
        at: None,
        value: value.clone(),
    };
    front.take(&entry, &mut FrontmatterReader::new(""));
    front.extra.is_empty()
}

/// JSON without the blanks between its tokens.
fn compact(json: &str) -> String {
    let (mut in_string, mut escaped) = (false, false);
    let keep = |c: &char| {
        let keeps = in_string || !c.is_ascii_whitespace();
        match c {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            _ => {}
        }
        keeps
    };
    json.chars().filter(keep).collect()
}

/// The field of a state under which everything but the title stands.
const CHAT: &str = "chat";

/// The messages, after one with what is known of the conversation as a whole, if there is anything.
pub fn with_session_info(
    session: &ChatSessionInfo,
    id: &SessionId,
    mut messages: Vec<Message>,
) -> Vec<Message> {
    if let Some(record) = session_info_message(session, id) {
        if let Some(first) = messages.first_mut() {
            first.parent_id = Some(record.id.clone());
        }
        messages.insert(0, record);
    }
    messages
}

/// Takes what is known of the conversation as a whole from its messages, if the first of them says it.
pub fn split_session_info(mut messages: Vec<Message>) -> (ChatSessionInfo, Vec<Message>) {
    let others = messages.get(1).map(|next| next.session_id.clone());
    let is_own = |record: &&Message| others.is_none_or(|session| session == record.session_id);
    let Some(session) = messages.first().filter(is_own).and_then(read_session_info) else {
        return (ChatSessionInfo::default(), messages);
    };
    let record = messages.remove(0);
    if let Some(first) = messages.first_mut()
        && first.parent_id.as_ref() == Some(&record.id)
    {
        first.parent_id = None;
    }
    let id = Some(record.session_id)
        .filter(|id| !is_derived_id(id))
        .map(|id| id.to_string());
    (ChatSessionInfo { id, ..session }, messages)
}

fn session_info_message(session: &ChatSessionInfo, id: &SessionId) -> Option<Message> {
    let tags: Vec<Raw> = session.tags.iter().map(|tag| Raw::string(tag)).collect();
    let time = |time: Timestamp| Raw::string(&time.to_string());
    let known = [
        ("timestamp", session.timestamp.map(time)),
        ("updated", session.updated.map(time)),
        ("tags", (!tags.is_empty()).then(|| Raw::array(&tags))),
        ("preamble", session.preamble.as_deref().map(Raw::string)),
        (
            "extra",
            (!session.extra.is_empty()).then(|| session.extra.to_raw()),
        ),
    ];
    let chat: RawMap = known
        .into_iter()
        .filter_map(|(key, value)| Some((key, value?)))
        .collect();
    let mut state = RawMap::new();
    session
        .title
        .iter()
        .for_each(|title| state.push("title", Raw::string(title)));
    if !chat.is_empty() {
        state.push(CHAT, chat.to_raw());
    }
    let change = StateChange {
        changes: state.to_raw(),
        is_snapshot: false,
    };
    let name = derived_id(id, "chat session");
    let message = Message {
        session_id: id.clone(),
        ..Message::new(name, change.into())
    };
    (!state.is_empty()).then_some(message)
}

/// The conversation that a message speaks of, if that is all that it says.
fn read_session_info(message: &Message) -> Option<ChatSessionInfo> {
    let Body::State(change) = &message.body else {
        return None;
    };
    let state = change.changes.as_object()?;
    let chat = state.get(CHAT).and_then(Raw::as_object).unwrap_or_default();
    let time = |key: &str| chat.string(key)?.parse().ok();
    let tags: Option<Vec<String>> = chat.get("tags").and_then(Raw::to);
    let session = ChatSessionInfo {
        id: None,
        title: state.string("title"),
        timestamp: time("timestamp"),
        updated: time("updated"),
        tags: tags.unwrap_or_default(),
        preamble: chat.string("preamble"),
        extra: chat
            .get("extra")
            .and_then(Raw::as_object)
            .unwrap_or_default(),
    };
    (session_info_message(&session, &message.session_id).as_ref() == Some(message))
        .then_some(session)
}
