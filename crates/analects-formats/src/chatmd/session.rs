//! The facts about a conversation: YAML frontmatter whose first key is `chat`, and the text before the first item. Any
//! other block at the start of a file is part of that text. Among messages, these facts are a change of state before the
//! first message.

use std::borrow::Cow;

use analects_core::{Body, Content, Message, Raw, RawMap, SessionId, Span, StateChange, System};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::attributes::read_time;
use super::line::{escape, unescape};
use super::{ChatMdDocument, decode};
use crate::Loss;
use crate::losses::difference::state_losses;
use crate::losses::facts::answering_agent;
use crate::losses::is_made_up;
use crate::msgfile::FrontmatterProblem;
use crate::msgfile::frontmatter::yaml::{Yaml, YamlEntry, scalar};
use crate::msgfile::frontmatter::{FrontmatterReader, text_span};
use crate::msgfile::messages::derived_id;

/// The facts about a conversation.
///
/// ```
/// use analects_formats::chatmd::{decode, split_session_info, with_session_info};
///
/// let document = decode("---\nchat: talk-1\ntitle: Greetings\n---\n\n> ---\n> <USER />\n\nHello\n");
/// let session = document.session();
/// assert_eq!(session.title.as_deref(), Some("Greetings"));
/// // Among messages, the facts are a change of state before the first one.
/// let messages = with_session_info(&session, &"talk-1".into(), Vec::new());
/// assert_eq!(split_session_info(messages).0.title, session.title);
/// ```
#[doc(alias = "IChatSessionHistory")]
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ChatSessionInfo {
    /// The id of the conversation.
    pub id: Option<String>,
    /// The title.
    pub title: Option<String>,
    /// When the conversation was started.
    pub timestamp: Option<Timestamp>,
    /// When the conversation was last changed.
    pub updated: Option<Timestamp>,
    /// The tags.
    pub tags: Vec<String>,
    /// The text before the first item, which is never sent.
    pub preamble: Option<String>,
    /// Other fields of the source.
    pub extra: RawMap,
}

/// The known keys of the frontmatter.
const KEYS: [&str; 6] = ["chat", "id", "title", "timestamp", "updated", "tags"];
/// The longest frontmatter that is written, in bytes, because readers have limits.
const MAX_BYTES: usize = 1 << 19;

/// The frontmatter. Times stay YAML, because their zone is not known yet.
#[derive(Debug, Default)]
pub(super) struct ChatFrontmatter {
    id: Option<String>,
    title: Option<String>,
    /// A text or a number that is a time in some zone.
    timestamp: Option<Yaml>,
    /// As `timestamp`.
    updated: Option<Yaml>,
    tags: Vec<String>,
    /// Entries with unknown keys or unusable values, as JSON.
    extra: RawMap,
    /// Positions are relative to the YAML.
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
            for entry in tree.entries().unwrap_or_default() {
                front.read_entry(entry, &mut reader);
            }
        }
        Err(error) => reader.unreadable(&error),
    }
    front.problems = reader.problems;
    front
}

impl ChatFrontmatter {
    /// Reads an entry. If its key is unknown or its value unusable, it becomes an extra field.
    fn read_entry(&mut self, entry: &YamlEntry, reader: &mut FrontmatterReader) {
        let is_read = match entry.key.as_str() {
            "chat" | "id" => self.read_id(entry, reader),
            "title" => {
                self.title = reader.text(entry);
                self.title.is_some()
            }
            "timestamp" => read_time_entry(entry, &mut self.timestamp, reader),
            "updated" => read_time_entry(entry, &mut self.updated, reader),
            "tags" => self.read_tags(entry, reader),
            _ => false,
        };
        if !is_read {
            self.extra.push(&entry.key, json(&entry.value));
        }
    }

    /// Reads the id; `false` keeps a value that is no text as an extra field. `chat:` alone is fine.
    fn read_id(&mut self, entry: &YamlEntry, reader: &mut FrontmatterReader) -> bool {
        let id = reader.text(entry).filter(|id| !id.is_empty());
        if id.is_some() {
            self.id = id;
            return true;
        }
        matches!(&entry.value, Yaml::Null)
    }

    /// Reads the tags. An empty list is kept as an extra field, so that it is written again.
    fn read_tags(&mut self, entry: &YamlEntry, reader: &mut FrontmatterReader) -> bool {
        let tags = tags(&entry.value);
        if tags.is_none() {
            reader.wrong_type(entry, "a list of texts");
        }
        self.tags = tags.unwrap_or_default();
        !self.tags.is_empty()
    }
}

/// Stores the value of an entry if it is a time. Returns whether it is.
fn read_time_entry(
    entry: &YamlEntry,
    time: &mut Option<Yaml>,
    reader: &mut FrontmatterReader,
) -> bool {
    let is_time = time_of(&entry.value, &TimeZone::UTC).is_some();
    if is_time {
        *time = Some(entry.value.clone());
    } else if entry.value != Yaml::Null {
        reader.wrong_type(entry, "a time such as \"2025-05-07T14:01:32Z\"");
    }
    is_time
}

/// Reads a time: a text, or milliseconds since 1970 as the plugin writes.
fn time_of(value: &Yaml, zone: &TimeZone) -> Option<Timestamp> {
    match value {
        Yaml::Text(text) => read_time(text, zone),
        Yaml::Int(number) => Timestamp::from_millisecond(i64::try_from(*number).ok()?).ok(),
        _ => None,
    }
}

/// Reads a list of tags, or a single one; `None` if it is of another type.
fn tags(value: &Yaml) -> Option<Vec<String>> {
    match value {
        Yaml::Null => Some(Vec::new()),
        Yaml::List(items) => items.iter().map(tag).collect(),
        value => Some(vec![tag(value)?]),
    }
}

/// Returns a single tag; `None` if it is a list, a map or a fraction.
fn tag(value: &Yaml) -> Option<String> {
    match value {
        Yaml::Text(text) => Some(text.clone()),
        Yaml::Int(_) | Yaml::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}

/// Converts a YAML value to JSON. The YAML reader has limited its depth.
fn json(value: &Yaml) -> Raw {
    let text = json_text(value);
    Raw::parse(&text).unwrap_or_else(|_| Raw::string(&text))
}

/// Converts a YAML value to the text of JSON.
fn json_text(value: &Yaml) -> String {
    match value {
        Yaml::Null => "null".to_string(),
        Yaml::Bool(_) | Yaml::Int(_) | Yaml::Float(_) => value.to_string(),
        Yaml::Text(text) => Raw::string(text).to_string(),
        Yaml::List(items) => {
            let items: Vec<String> = items.iter().map(json_text).collect();
            format!("[{}]", items.join(","))
        }
        Yaml::Map(entries) => {
            let entries: Vec<String> = entries.iter().map(json_entry).collect();
            format!("{{{}}}", entries.join(","))
        }
    }
}

/// Converts an entry of a map to the text of JSON.
fn json_entry(entry: &YamlEntry) -> String {
    format!("{}:{}", Raw::string(&entry.key), json_text(&entry.value))
}

impl ChatMdDocument {
    /// Returns the facts about the conversation. Times without a zone are taken as UTC.
    pub fn session(&self) -> ChatSessionInfo {
        self.session_in(&TimeZone::UTC)
    }

    /// Like [`session`](ChatMdDocument::session), with times without a zone taken as times of `zone`.
    pub fn session_in(&self, zone: &TimeZone) -> ChatSessionInfo {
        let front = &self.front;
        let timestamp = front.timestamp.as_ref();
        let updated = front.updated.as_ref();
        ChatSessionInfo {
            id: front.id.clone(),
            title: front.title.clone(),
            timestamp: timestamp.and_then(|value| time_of(value, zone)),
            updated: updated.and_then(|value| time_of(value, zone)),
            tags: front.tags.clone(),
            preamble: self.preamble_text(),
            extra: front.extra.clone(),
        }
    }

    /// Returns the preamble without the line ends around it: one after the frontmatter, and two before the first item.
    fn preamble_text(&self) -> Option<String> {
        let mut text = self.preamble().of(&self.source);
        if self.frontmatter.is_some() {
            let rest = text
                .strip_prefix(b"\r\n")
                .or_else(|| text.strip_prefix(b"\n"));
            text = rest.unwrap_or(text);
        }
        text = without_line_end(without_line_end(text));
        let text = unescape(String::from_utf8_lossy(text));
        (!text.is_empty()).then(|| text.into_owned())
    }
}

/// Removes one line end.
fn without_line_end(text: &[u8]) -> &[u8] {
    let Some(rest) = text.strip_suffix(b"\n") else {
        return text;
    };
    rest.strip_suffix(b"\r").unwrap_or(rest)
}

/// Writes the beginning of a file: frontmatter and preamble. `items` says whether items follow.
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

/// Returns whether a preamble would be read as frontmatter or as a byte-order mark.
fn would_be_frontmatter(preamble: &str) -> bool {
    let text = write_preamble(preamble, true);
    decode::frontmatter(text.as_bytes(), 0).is_some() || text.starts_with('\u{feff}')
}

/// Writes a preamble with the line ends after it.
pub(super) fn write_preamble(preamble: &str, items: bool) -> Cow<'_, str> {
    if preamble.is_empty() {
        return Cow::Borrowed("");
    }
    let line_end = if preamble.ends_with('\r') {
        "\r\n"
    } else {
        "\n"
    };
    let mut text = format!("{preamble}{line_end}");
    if items || preamble.ends_with('\n') {
        text.push_str(line_end);
    }
    Cow::Owned(escape(&text).into_owned())
}

/// Writes the frontmatter; empty if there is nothing to say.
fn frontmatter(session: &ChatSessionInfo, losses: &mut Vec<Loss>) -> String {
    let mut yaml = FrontmatterText::default();
    yaml.add_id(session.id.as_deref().unwrap_or_default(), losses);
    if let Some(title) = &session.title {
        yaml.add_text("title", title, losses);
    }
    if let Some(time) = session.timestamp {
        yaml.add_text("timestamp", &time.to_string(), losses);
    }
    if let Some(time) = session.updated {
        yaml.add_text("updated", &time.to_string(), losses);
    }
    yaml.add_tags(&session.tags, losses);
    yaml.add_extra(session, losses);
    if Yaml::parse(&yaml.text).is_err() {
        // Each line can be read alone, but together they exceed a limit.
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

/// Lines of frontmatter. Each one reads back as what it says.
#[derive(Default)]
struct FrontmatterText {
    text: String,
    /// The keys so far. YAML allows each of them once.
    keys: Vec<String>,
}

impl FrontmatterText {
    /// Adds a line if it reads back as `meaning`. Returns whether it does.
    fn add(&mut self, key: &str, value: &str, meaning: &Yaml) -> bool {
        let line = format!("{}: {value}\n", scalar(key));
        let fits = self.text.len() + line.len() <= MAX_BYTES;
        if !fits || self.keys.iter().any(|known| known == key) {
            return false;
        }
        let read = Yaml::parse(&line).ok();
        if read.as_ref().and_then(|tree| tree.get(key)) != Some(meaning) {
            return false;
        }
        self.text.push_str(&line);
        self.keys.push(key.to_string());
        true
    }

    /// Adds the first line, which makes it the frontmatter of a chat.
    fn add_id(&mut self, id: &str, losses: &mut Vec<Loss>) {
        let is_added = !id.is_empty() && self.add("chat", &scalar(id), &Yaml::Text(id.to_string()));
        if !is_added {
            self.text.push_str("chat:\n");
            self.keys.push("chat".to_string());
        }
        if !is_added && !id.is_empty() {
            losses.push(Loss::of_session("id", "frontmatter cannot hold it"));
        }
    }

    /// Adds a line with a text, or reports its loss.
    fn add_text(&mut self, key: &str, text: &str, losses: &mut Vec<Loss>) {
        if !self.add(key, &scalar(text), &Yaml::Text(text.to_string())) {
            losses.push(Loss::of_session(key, "frontmatter cannot hold it"));
        }
    }

    /// Adds the tags as a list on one line, or reports their loss.
    fn add_tags(&mut self, tags: &[String], losses: &mut Vec<Loss>) {
        if tags.is_empty() {
            return;
        }
        let quoted: Vec<String> = tags.iter().map(|tag| scalar(tag)).collect();
        let meaning = Yaml::List(tags.iter().cloned().map(Yaml::Text).collect());
        if !self.add("tags", &format!("[{}]", quoted.join(", ")), &meaning) {
            losses.push(Loss::of_session("tags", "frontmatter cannot hold it"));
        }
    }

    /// Adds the extra fields as JSON, which is YAML as well.
    fn add_extra(&mut self, session: &ChatSessionInfo, losses: &mut Vec<Loss>) {
        for (key, value) in session.extra.iter() {
            if !self.add_extra_field(key, value) {
                let shown = key.as_string().unwrap_or_else(|| key.to_string());
                let why = "frontmatter cannot hold this value under this name";
                losses.push(Loss::of_session(format!("extra.{shown}"), why));
            }
        }
    }

    /// Adds a line for an extra field. Returns whether it is read back as the same field.
    fn add_extra_field(&mut self, key: &Raw, value: &Raw) -> bool {
        let json = compact(value.as_str());
        let Ok(tree) = Yaml::parse(&format!("x: {json}\n")) else {
            return false;
        };
        let meaning = tree.get("x").filter(|meaning| json_text(meaning) == json);
        let (Some(name), Some(meaning)) = (key.as_string(), meaning) else {
            return false;
        };
        let is_taken = KEYS.contains(&name.as_str()) && has_meaning(&name, meaning);
        !is_taken && self.add(&name, &json, meaning)
    }
}

/// Returns whether a value under a known key would be read as what the key means.
fn has_meaning(key: &str, value: &Yaml) -> bool {
    let mut front = ChatFrontmatter::default();
    let entry = YamlEntry {
        key: key.to_string(),
        at: None,
        value: value.clone(),
    };
    front.read_entry(&entry, &mut FrontmatterReader::new(""));
    front.extra.is_empty()
}

/// Removes the white space between the tokens of JSON.
fn compact(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut in_string = false;
    let mut is_escaped = false;
    for c in json.chars() {
        if in_string || !c.is_ascii_whitespace() {
            out.push(c);
        }
        if is_escaped {
            is_escaped = false;
        } else if c == '"' {
            in_string = !in_string;
        } else {
            is_escaped = c == '\\' && in_string;
        }
    }
    out
}

/// The field of a change of state that holds everything but the title.
const CHAT: &str = "chat";

/// Puts a message with the facts about the conversation before the others, if there are any facts.
pub fn with_session_info(
    session: &ChatSessionInfo,
    id: &SessionId,
    mut messages: Vec<Message>,
) -> Vec<Message> {
    if let Some(info) = session_info_message(session, id) {
        if let Some(first) = messages.first_mut() {
            first.parent_id = Some(info.id.clone());
        }
        messages.insert(0, info);
    }
    messages
}

/// Takes the facts about the conversation from its changes of state. What else these say gets lost.
pub fn split_session_info(messages: Vec<Message>) -> (ChatSessionInfo, Vec<Message>) {
    let taken = TakenSession::of(messages);
    (taken.session, taken.messages)
}

/// A conversation without its changes of state.
#[derive(Debug, Default)]
pub(crate) struct TakenSession {
    /// What the changes of state say about the conversation.
    pub(crate) session: ChatSessionInfo,
    /// The other messages.
    pub(crate) messages: Vec<Message>,
    /// What else the changes of state say.
    pub(crate) losses: Vec<Loss>,
}

impl TakenSession {
    /// Takes the facts that a chat has a place for. The system prompt of the agent that answers becomes the first message.
    pub(crate) fn of(messages: Vec<Message>) -> TakenSession {
        let Some(first) = messages.first() else {
            return TakenSession::default();
        };
        let session = first.session_id.clone();
        let (states, mut rest): (Vec<Message>, Vec<Message>) = messages
            .into_iter()
            .partition(|message| is_state(message) && message.session_id == session);
        let mut taken = TakenSession::default();
        let mut prompt = None;
        for state in states.iter().rev() {
            skip(state, &mut rest);
        }
        for state in &states {
            let Body::State(change) = &state.body else {
                continue;
            };
            let losses = taken.session.take(state, change);
            taken.losses.extend(losses);
            prompt = prompt.or_else(|| agent_prompt(change, &rest));
        }
        if !states.is_empty() {
            let id = Some(&session).filter(|id| !id.is_empty() && !is_made_up(id));
            taken.session.id = id.map(|id| id.to_string());
        }
        if let Some((agent, prompt)) = prompt {
            let name = format!("system_prompt {agent}");
            taken.losses.retain(|loss| loss.what != name);
            add_prompt(prompt, &session, &mut rest);
        }
        taken.messages = rest;
        taken
    }
}

/// Returns whether a message is a change of state.
fn is_state(message: &Message) -> bool {
    matches!(message.body, Body::State(_))
}

/// Links messages past a change of state that is taken out.
fn skip(state: &Message, messages: &mut [Message]) {
    for message in messages {
        if message.parent_id.as_ref() == Some(&state.id) {
            message.parent_id.clone_from(&state.parent_id);
        }
    }
}

/// Returns the agent that answers, with its system prompt.
fn agent_prompt(change: &StateChange, messages: &[Message]) -> Option<(String, String)> {
    let answers = messages.iter().rev();
    let mut authors = answers.filter(|message| matches!(message.body, Body::Assistant(_)));
    let last = authors.find_map(|message| message.author.as_deref());
    let agent = answering_agent(&change.changes, last)?;
    Some((agent.name, agent.system_prompt?))
}

/// Puts a system prompt before the other messages.
fn add_prompt(prompt: String, session: &SessionId, messages: &mut Vec<Message>) {
    let body = Body::System(System {
        content: Content::from(prompt),
    });
    let message = Message {
        session_id: session.clone(),
        ..Message::new(derived_id(session, "system prompt"), body)
    };
    if let Some(first) = messages.first_mut()
        && first.parent_id.is_none()
    {
        first.parent_id = Some(message.id.clone());
    }
    messages.insert(0, message);
}

impl ChatSessionInfo {
    /// Takes what a change of state says and a chat has a place for. Later changes count. Returns what has no place.
    fn take(&mut self, message: &Message, change: &StateChange) -> Vec<Loss> {
        let read = read_session_info(change);
        let kept = session_info_message(&read, &message.session_id);
        let kept = kept.as_ref().and_then(|kept| match &kept.body {
            Body::State(kept) => Some(kept),
            _ => None,
        });
        let mut losses = state_losses(message, kept);
        if losses.is_empty() && kept.is_none() {
            losses.push(Loss::of(&message.id, "state", "it says nothing"));
        }
        let later = read;
        self.title = later.title.or(self.title.take());
        self.timestamp = later.timestamp.or(self.timestamp);
        self.updated = later.updated.or(self.updated);
        if !later.tags.is_empty() {
            self.tags = later.tags;
        }
        self.preamble = later.preamble.or(self.preamble.take());
        for (key, value) in later.extra.iter() {
            let name = key.as_string().unwrap_or_default();
            self.extra.remove(&name);
            self.extra.push_raw(key.clone(), value.clone());
        }
        losses
    }
}

/// Returns the facts as a change of state; `None` if there are none.
fn session_info_message(session: &ChatSessionInfo, id: &SessionId) -> Option<Message> {
    let mut chat = RawMap::new();
    if let Some(time) = session.timestamp {
        chat.push("timestamp", Raw::string(&time.to_string()));
    }
    if let Some(time) = session.updated {
        chat.push("updated", Raw::string(&time.to_string()));
    }
    if !session.tags.is_empty() {
        let tags: Vec<Raw> = session.tags.iter().map(|tag| Raw::string(tag)).collect();
        chat.push("tags", Raw::array(&tags));
    }
    if let Some(preamble) = &session.preamble {
        chat.push("preamble", Raw::string(preamble));
    }
    if !session.extra.is_empty() {
        chat.push("extra", session.extra.to_raw());
    }
    let mut changes = RawMap::new();
    if let Some(title) = &session.title {
        changes.push("title", Raw::string(title));
    }
    if !chat.is_empty() {
        changes.push(CHAT, chat.to_raw());
    }
    if changes.is_empty() {
        return None;
    }
    let body = Body::State(StateChange {
        changes: changes.to_raw(),
        is_snapshot: false,
    });
    Some(Message {
        session_id: id.clone(),
        ..Message::new(derived_id(id, "chat session"), body)
    })
}

/// Reads the facts in a change of state that a chat has a place for.
fn read_session_info(change: &StateChange) -> ChatSessionInfo {
    let state = change.changes.as_object().unwrap_or_default();
    let chat = state.get(CHAT).and_then(Raw::as_object).unwrap_or_default();
    let tags: Option<Vec<String>> = chat.get("tags").and_then(Raw::to);
    let extra = chat.get("extra").and_then(Raw::as_object);
    ChatSessionInfo {
        id: None,
        title: state.string("title"),
        timestamp: read_timestamp(&chat, "timestamp"),
        updated: read_timestamp(&chat, "updated"),
        tags: tags.unwrap_or_default(),
        preamble: chat.string("preamble"),
        extra: extra.unwrap_or_default(),
    }
}

/// Reads a time in a change of state; `None` if it is missing or invalid.
fn read_timestamp(fields: &RawMap, key: &str) -> Option<Timestamp> {
    fields.string(key)?.parse().ok()
}
