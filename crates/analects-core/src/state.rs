//! The state of a session beyond its messages: its folder, its task, its agents. Sessions store changes among their
//! messages, and the state is rebuilt from them.
//!
//! The changes are merge patches (RFC 7396) over JSON text: objects are merged key by key, `null` removes, anything
//! else replaces.

use std::collections::BTreeMap;

use crate::json::{nonempty_strings, write_string};
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
    /// The working folder.
    pub cwd: Option<String>,
    /// The title.
    pub title: Option<String>,
    /// The current task.
    pub current_task_id: Option<String>,
    /// A summary of what the model no longer sees.
    pub memory_summary: Option<String>,
    /// The agents that are running.
    pub active_agent_ids: Vec<String>,
    /// Which actions are allowed without asking.
    pub current_permission_mode: Option<String>,
    /// The remaining token budget, in the form of the program that counts it.
    pub token_budget_state: Option<Raw>,
    /// The models in use, by purpose.
    pub models: BTreeMap<String, String>,
    /// Fields that this version does not know, or that have an unexpected type.
    pub extra: RawMap,
}

const FIELD_NAMES: [&str; 9] = [
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
    /// Returns the state after all changes among these records, which must be in the order in which they were written.
    pub fn rebuild<'a>(records: impl IntoIterator<Item = &'a Message>) -> SessionState {
        let mut rebuilding = Rebuilding::default();
        for record in records {
            rebuilding.push(record);
        }
        rebuilding.finish()
    }

    /// Returns the whole state as one change, as each compaction stores it.
    pub fn snapshot(&self) -> StateChange {
        StateChange {
            changes: self.to_raw(),
            is_snapshot: true,
        }
    }

    /// Returns the change from this state to `after`; `None` if they are equal.
    pub fn change_to(&self, after: &SessionState) -> Option<StateChange> {
        Some(StateChange {
            changes: diff_objects(&self.to_raw(), &after.to_raw(), MAX_DEPTH)?,
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
            session_id: fields
                .take("session_id", nonempty_string)
                .unwrap_or_default()
                .into(),
            cwd: fields.take("cwd", Raw::as_string),
            title: fields.take("title", Raw::as_string),
            current_task_id: fields.take("current_task_id", Raw::as_string),
            memory_summary: fields.take("memory_summary", Raw::as_string),
            active_agent_ids: fields
                .take("active_agent_ids", nonempty_strings)
                .unwrap_or_default(),
            current_permission_mode: fields.take("current_permission_mode", Raw::as_string),
            token_budget_state: fields.take("token_budget_state", |raw| Some(raw.clone())),
            models: fields
                .take("models", nonempty_string_map)
                .unwrap_or_default(),
            extra: RawMap::new(),
        };
        state.extra = std::mem::take(fields);
        Ok(state)
    }

    fn write(&self, out: &mut String) {
        crate::json::write_object(out, &FIELD_NAMES, &self.extra, |writer| {
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
                writer.json("models", &Raw::trusted(string_map_json(&self.models)));
            }
        });
    }
}

fn nonempty_string(raw: &Raw) -> Option<String> {
    raw.as_string().filter(|text| !text.is_empty())
}

fn nonempty_string_map(raw: &Raw) -> Option<BTreeMap<String, String>> {
    raw.to().filter(|map: &BTreeMap<_, _>| !map.is_empty())
}

fn string_map_json(map: &BTreeMap<String, String>) -> String {
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

/// Rebuilds a state record by record. Applying a change takes time in proportion to the change, not to the state.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rebuilding {
    session: Option<SessionId>,
    merged: MergedObject,
}

impl Rebuilding {
    /// Sets the session's id, unless a change states one. The first call counts.
    pub fn name(&mut self, session: &str) {
        if self.session.is_none() && !session.is_empty() {
            self.session = Some(session.into());
        }
    }

    /// Adds the next record. A record that is not a state change only supplies the session's id.
    pub fn push(&mut self, record: &Message) {
        self.name(&record.session_id);
        if let Body::State(change) = &record.body {
            self.change(change);
        }
    }

    /// Applies the next change.
    pub fn change(&mut self, change: &StateChange) {
        if change.is_snapshot {
            self.merged = MergedObject::default();
        }
        self.merged.merge(&change.changes);
    }

    /// The session's id, if known so far.
    pub fn session(&self) -> Option<&SessionId> {
        self.session.as_ref()
    }

    /// Returns all changes so far as one snapshot, which another rebuild can start from.
    pub fn so_far(&self) -> StateChange {
        StateChange {
            changes: Raw::trusted(self.merged.to_json()),
            is_snapshot: true,
        }
    }

    /// Returns the state after all changes.
    pub fn finish(self) -> SessionState {
        let mut state = SessionState::from_json(&self.merged.to_json()).unwrap_or_default();
        if state.session_id.is_empty() {
            state.session_id = self.session.unwrap_or_default();
        }
        state
    }
}

/// Objects below this depth are replaced as a whole, so that no input makes the merge recurse without limit.
const MAX_DEPTH: usize = 32;

/// One value of a [`MergedObject`].
#[derive(Debug, Clone, PartialEq, Default)]
struct MergedValue {
    /// A value that was stored as a whole; `None` if `object` holds the value.
    value: Option<Raw>,
    object: MergedObject,
}

/// An object as the sum of the patches merged into it.
#[derive(Debug, Clone, PartialEq, Default)]
struct MergedObject {
    /// Values by key. Keys are JSON strings in their usual spelling.
    entries: BTreeMap<String, MergedValue>,
}

impl MergedObject {
    /// Merges a patch. A patch that is not an object changes nothing.
    fn merge(&mut self, patch: &Raw) {
        self.merge_below(patch, MAX_DEPTH);
    }

    fn merge_below(&mut self, patch: &Raw, depth: usize) {
        let Some(patch) = patch.as_object() else {
            return;
        };
        for (key, value) in patch.iter() {
            let key = normalized_key(key);
            if value.as_str() == "null" {
                self.entries.remove(&key);
            } else if depth > 0 && is_object(value) {
                self.object_at(key, depth).merge_below(value, depth - 1);
            } else {
                let node = MergedValue {
                    value: Some(value.clone()),
                    object: MergedObject::default(),
                };
                self.entries.insert(key, node);
            }
        }
    }

    /// Returns the object at a key, after converting whatever is there.
    fn object_at(&mut self, key: String, depth: usize) -> &mut MergedObject {
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

/// Returns a key in its usual spelling, so that `"a"` and `"\u0061"` are the same key.
fn normalized_key(key: &Raw) -> String {
    match key.as_string() {
        Some(text) => Raw::string(&text).as_str().to_string(),
        None => key.as_str().to_string(),
    }
}

/// Returns the patch from one object to another; `None` if they are equal. Values are compared as text.
fn diff_objects(before: &Raw, after: &Raw, depth: usize) -> Option<Raw> {
    let before = sorted_entries(before);
    let after = sorted_entries(after);
    let mut patch = RawMap::new();
    for key in before.keys().filter(|key| !after.contains_key(*key)) {
        patch.push_raw(Raw::trusted(key.clone()), Raw::trusted("null".to_string()));
    }
    for (key, value) in &after {
        if let Some(change) = diff_values(before.get(key), value, depth) {
            patch.push_raw(Raw::trusted(key.clone()), change);
        }
    }
    (!patch.is_empty()).then(|| patch.to_raw())
}

/// Returns the patch for one value. An object that is merged into keeps its other keys, so the patch names the keys
/// that are gone.
fn diff_values(before: Option<&Raw>, after: &Raw, depth: usize) -> Option<Raw> {
    match before {
        Some(before) if before == after => None,
        Some(before) if depth > 0 && is_object(before) && is_object(after) => {
            diff_objects(before, after, depth - 1)
        }
        _ => Some(after.clone()),
    }
}

fn is_object(raw: &Raw) -> bool {
    raw.as_str().starts_with('{')
}

fn sorted_entries(raw: &Raw) -> BTreeMap<String, Raw> {
    let map = raw.as_object().unwrap_or_default();
    map.iter()
        .map(|(key, value)| (normalized_key(key), value.clone()))
        .collect()
}
