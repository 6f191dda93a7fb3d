//! The state of a session beside its messages: where it works, on what, with whom. It is kept as
//! changes among the messages, and made again from them alone.
//!
//! The changes are merge patches (RFC 7396) over JSON as text: objects are merged key by key, `null` removes, anything
//! else replaces.

use std::collections::BTreeMap;

use crate::json::write_string;
use crate::{Body, Json, JsonError, Message, Problem, Raw, RawMap, SessionId, StateChange};

/// The state of a session.
///
/// ```
/// use analects_core::{Message, Raw, SessionState, StateChange};
///
/// let change = |id: &str, patch: &str| {
///     let changes = Raw::parse(patch).unwrap_or(Raw::empty_object());
///     Message::new(id, StateChange { changes, is_snapshot: false }.into())
/// };
/// let records = [change("a", r#"{"cwd":"/work","title":"Tea"}"#), change("b", r#"{"title":null}"#)];
/// let state = SessionState::rebuild(&records);
/// assert_eq!((state.cwd.as_deref(), state.title), (Some("/work"), None));
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SessionState {
    /// The session.
    pub session_id: SessionId,
    /// The folder that it works in.
    pub cwd: Option<String>,
    /// What it is called.
    pub title: Option<String>,
    /// The task at hand.
    pub current_task_id: Option<String>,
    /// What is remembered of what is no longer seen.
    pub memory_summary: Option<String>,
    /// Agents that are at work.
    pub active_agent_ids: Vec<String>,
    /// What may be done without asking.
    pub current_permission_mode: Option<String>,
    /// What is left of the tokens, as whoever counts them has it.
    pub token_budget_state: Option<Raw>,
    /// The models in use, by what they are used for.
    pub models: BTreeMap<String, String>,
    /// What this version does not know, or could not read as the type that it expects.
    pub extra: RawMap,
}

const NAMES: [&str; 9] = [
    "session_id",
    "cwd",
    "title",
    "current_task_id",
    "memory_summary",
    "active_agent_ids",
    "current_permission_mode",
    "token_budget_state",
    "models",
];

impl SessionState {
    /// The state after all changes among these records, which are in the order in which they were
    /// written.
    pub fn rebuild<'a>(records: impl IntoIterator<Item = &'a Message>) -> SessionState {
        let mut rebuilding = Rebuilding::default();
        for record in records {
            rebuilding.push(record);
        }
        rebuilding.finish()
    }

    /// The state as a whole, as it is kept at each compaction.
    pub fn snapshot(&self) -> StateChange {
        let changes = self.to_raw();
        StateChange {
            changes,
            is_snapshot: true,
        }
    }

    /// What makes `after` of this state; `None` if nothing changes.
    pub fn change_to(&self, after: &SessionState) -> Option<StateChange> {
        let (before, after) = (self.to_raw(), after.to_raw());
        let changes = difference(&before, &after)?;
        Some(StateChange {
            changes,
            is_snapshot: false,
        })
    }

    fn to_raw(&self) -> Raw {
        Raw::trusted(self.to_json())
    }
}

impl From<StateChange> for Body {
    fn from(change: StateChange) -> Body {
        Body::State(change)
    }
}

impl Json for SessionState {
    fn read(raw: &Raw, _: &mut Vec<Problem>) -> Result<SessionState, JsonError> {
        let mut fields = RawMap::parse(raw.as_str())?;
        let fields = &mut fields;
        let mut state = SessionState {
            session_id: fields.take("session_id", some).unwrap_or_default().into(),
            cwd: fields.take("cwd", Raw::as_string),
            title: fields.take("title", Raw::as_string),
            current_task_id: fields.take("current_task_id", Raw::as_string),
            memory_summary: fields.take("memory_summary", Raw::as_string),
            active_agent_ids: fields
                .take("active_agent_ids", |raw| {
                    raw.to().filter(|ids: &Vec<_>| !ids.is_empty())
                })
                .unwrap_or_default(),
            current_permission_mode: fields.take("current_permission_mode", Raw::as_string),
            token_budget_state: fields.take("token_budget_state", |raw| Some(raw.clone())),
            models: fields
                .take("models", |raw| {
                    raw.to()
                        .filter(|models: &BTreeMap<_, _>| !models.is_empty())
                })
                .unwrap_or_default(),
            extra: RawMap::new(),
        };
        state.extra = std::mem::take(fields);
        Ok(state)
    }

    fn write(&self, out: &mut String) {
        crate::json::write_object(out, &NAMES, &self.extra, |writer| {
            writer.some_string("session_id", &self.session_id);
            writer.opt_string("cwd", self.cwd.as_deref());
            writer.opt_string("title", self.title.as_deref());
            writer.opt_string("current_task_id", self.current_task_id.as_deref());
            writer.opt_string("memory_summary", self.memory_summary.as_deref());
            writer.strings("active_agent_ids", &self.active_agent_ids);
            writer.opt_string(
                "current_permission_mode",
                self.current_permission_mode.as_deref(),
            );
            writer.opt_json("token_budget_state", self.token_budget_state.as_ref());
            if !self.models.is_empty() {
                writer.json("models", &Raw::trusted(strings(&self.models)));
            }
        });
    }
}

fn some(raw: &Raw) -> Option<String> {
    raw.as_string().filter(|text| !text.is_empty())
}

fn strings(map: &BTreeMap<String, String>) -> String {
    let mut out = String::from("{");
    for (key, value) in map {
        if out.len() > 1 {
            out.push(',');
        }
        write_string(&mut out, key);
        out.push(':');
        write_string(&mut out, value);
    }
    out.push('}');
    out
}

/// A state that is being made again, record by record. A change costs what it says, however large the
/// state has grown.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rebuilding {
    session: Option<SessionId>,
    patched: Patched,
}

impl Rebuilding {
    /// The session, unless a change says otherwise. The first name counts.
    pub fn name(&mut self, session: &str) {
        if self.session.is_none() && !session.is_empty() {
            self.session = Some(session.into());
        }
    }

    /// The next record; any that is no change of state only tells the session.
    pub fn push(&mut self, record: &Message) {
        self.name(&record.session_id);
        if let Body::State(change) = &record.body {
            self.change(change);
        }
    }

    /// The next change.
    pub fn change(&mut self, change: &StateChange) {
        if change.is_snapshot {
            self.patched = Patched::default();
        }
        self.patched.merge(&change.changes);
    }

    /// The session, as far as it is known.
    pub fn session(&self) -> Option<&SessionId> {
        self.session.as_ref()
    }

    /// All changes so far in one, from which another one can go on.
    pub fn so_far(&self) -> StateChange {
        StateChange {
            changes: Raw::trusted(self.patched.to_json()),
            is_snapshot: true,
        }
    }

    /// The state after all of them.
    pub fn finish(self) -> SessionState {
        let mut state = SessionState::from_json(&self.patched.to_json()).unwrap_or_default();
        if state.session_id.is_empty() {
            state.session_id = self.session.unwrap_or_default();
        }
        state
    }
}

/// Objects that are nested deeper are replaced as a whole, so that no input makes us recurse.
const DEEPEST: usize = 32;

/// A value that patches were merged into.
#[derive(Debug, Clone, PartialEq, Default)]
struct Node {
    /// Anything but an object that was merged; `None` is such an object.
    value: Option<Raw>,
    object: Patched,
}

/// An object that patches were merged into.
#[derive(Debug, Clone, PartialEq, Default)]
struct Patched {
    /// By their keys, which are JSON strings in their raw form.
    entries: BTreeMap<String, Node>,
}

impl Patched {
    /// Merges a patch; one that is no object changes nothing.
    fn merge(&mut self, patch: &Raw) {
        self.merge_below(patch, DEEPEST);
    }

    fn merge_below(&mut self, patch: &Raw, depth: usize) {
        let Some(patch) = patch.as_object() else {
            return;
        };
        for (key, value) in patch.iter() {
            let key = normal(key);
            if value.as_str() == "null" {
                self.entries.remove(&key);
            } else if depth > 0 && value.as_str().starts_with('{') {
                self.object_at(key, depth).merge_below(value, depth - 1);
            } else {
                let value = Some(value.clone());
                self.entries.insert(
                    key,
                    Node {
                        value,
                        object: Patched::default(),
                    },
                );
            }
        }
    }

    /// The object at a key, made of whatever is there.
    fn object_at(&mut self, key: String, depth: usize) -> &mut Patched {
        let node = self.entries.entry(key).or_default();
        if let Some(value) = node.value.take() {
            node.object.merge_below(&value, depth - 1);
        }
        &mut node.object
    }

    fn to_json(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        out.push('{');
        for (at, (key, node)) in self.entries.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            out.push_str(key);
            out.push(':');
            match &node.value {
                Some(value) => out.push_str(value.as_str()),
                None => node.object.write(out),
            }
        }
        out.push('}');
    }
}

/// A key in its usual spelling, so that `"a"` and `"\u0061"` are one.
fn normal(key: &Raw) -> String {
    match key.as_string() {
        Some(text) => Raw::string(&text).as_str().to_string(),
        None => key.as_str().to_string(),
    }
}

/// The patch that makes one object of another; `None` if they are equal. Values are compared as text.
fn difference(before: &Raw, after: &Raw) -> Option<Raw> {
    difference_below(before, after, DEEPEST)
}

fn difference_below(before: &Raw, after: &Raw, depth: usize) -> Option<Raw> {
    let (before, after) = (entries(before), entries(after));
    let mut patch = RawMap::new();
    let mut push = |key: &str, value: Raw| patch.push_raw(Raw::trusted(key.to_string()), value);
    for key in before.keys().filter(|key| !after.contains_key(*key)) {
        push(key, Raw::trusted("null".to_string()));
    }
    let is_object = |raw: &Raw| raw.as_str().starts_with('{');
    for (key, value) in &after {
        match before.get(key) {
            Some(old) if old == value => {}
            // What is merged into an object stays in it, so what is gone has to be named.
            Some(old) if depth > 0 && is_object(old) && is_object(value) => {
                if let Some(below) = difference_below(old, value, depth - 1) {
                    push(key, below);
                }
            }
            _ => push(key, value.clone()),
        }
    }
    (!patch.is_empty()).then(|| patch.to_raw())
}

fn entries(raw: &Raw) -> BTreeMap<String, Raw> {
    let map = raw.as_object().unwrap_or_default();
    map.iter()
        .map(|(key, value)| (normal(key), value.clone()))
        .collect()
}
