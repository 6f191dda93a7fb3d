//! What the decoders share: lenient reading of objects, since every vendor adds fields and changes
//! types; text that arrives in pieces; and fields of an answer that have no event of their own.

use std::collections::BTreeMap;

use analects_core::{ApiError, BlockStart, Delta, Raw, RawMap, StreamEvent, Text};

/// The decoder of one wire format: takes the data of each server-sent event of one answer.
pub(crate) trait EventDecoder {
    /// Takes the data of one event and appends what it means to `out`.
    fn event(&mut self, data: &str, out: &mut Vec<StreamEvent>);

    /// Ends the answer when no more data comes. Without its end, an answer is cut off: its blocks
    /// stay open, and there is no [`StreamEvent::MessageStop`].
    fn finish(&mut self, out: &mut Vec<StreamEvent>);

    /// The fields that are kept beside the events.
    fn extras(&mut self) -> &mut ExtraFields;

    /// Marks the answer as ended, so that all later data is ignored. Returns whether it was still
    /// running.
    fn mark_ended(&mut self) -> bool;

    /// Appends everything that is held back.
    fn flush(&mut self, out: &mut Vec<StreamEvent>);

    /// Keeps data that is not a JSON object beside the message. Later data is still read.
    fn keep_malformed(&mut self, data: &str) {
        self.extras().add("malformed_chunk", Raw::string(data));
    }

    /// Ends the answer with an error. Nothing comes after it, and blocks stay open.
    fn fail(&mut self, error: ApiError, out: &mut Vec<StreamEvent>) {
        if self.mark_ended() {
            self.flush(out);
            out.push(StreamEvent::Error(error));
        }
    }
}

/// Appends the start of the block `index`.
pub(crate) fn push_start(index: usize, block: BlockStart, out: &mut Vec<StreamEvent>) {
    out.push(StreamEvent::BlockStart { index, block });
}

/// Appends a piece of the block `index`.
pub(crate) fn push_delta(index: usize, delta: Delta, out: &mut Vec<StreamEvent>) {
    out.push(StreamEvent::BlockDelta { index, delta });
}

/// Appends another field of the block `index`.
pub(crate) fn push_extra(index: usize, key: &str, value: Raw, out: &mut Vec<StreamEvent>) {
    let key = key.to_string();
    out.push(StreamEvent::BlockExtra { index, key, value });
}

/// Appends the end of the block `index`.
pub(crate) fn push_stop(index: usize, out: &mut Vec<StreamEvent>) {
    out.push(StreamEvent::BlockStop { index });
}

/// The fields of an object that its reader does not know, in their order.
pub(crate) type UnknownFields = Vec<(String, Raw)>;

/// The string in a value, unless it is empty.
pub(crate) fn non_empty_string(value: &Raw) -> Option<String> {
    value.as_string().filter(|text| !text.is_empty())
}

/// The string in a member of an object, unless it is empty.
pub(crate) fn string_member(map: &RawMap, key: &str) -> Option<String> {
    map.get(key).and_then(non_empty_string)
}

/// The object in a member of an object.
pub(crate) fn object_member(map: &RawMap, key: &str) -> Option<RawMap> {
    map.get(key)?.as_object()
}

/// The elements of a list in a member of an object; none if there is no list.
pub(crate) fn list_member(map: &RawMap, key: &str) -> Vec<Raw> {
    map.get(key).and_then(Raw::as_array).unwrap_or_default()
}

/// The text in a member of an object, which may be empty.
pub(crate) fn text_member(map: &RawMap, key: &str) -> Option<Text> {
    map.get(key).and_then(Text::from_raw)
}

/// Stores a value, if there is one; without one, an older value stays. Returns whether there was
/// one.
pub(crate) fn fill<T>(slot: &mut Option<T>, value: Option<T>) -> bool {
    let is_some = value.is_some();
    if is_some {
        *slot = value;
    }
    is_some
}

/// Stores the elements of a list. Returns whether `value` is a list.
pub(crate) fn fill_list(slot: &mut Vec<Raw>, value: &Raw) -> bool {
    let Some(items) = value.as_array() else {
        return false;
    };
    *slot = items;
    true
}

/// Stores a number. Returns whether `value` is one.
pub(crate) fn fill_number(slot: &mut u64, value: &Raw) -> bool {
    let Some(number) = value.to() else {
        return false;
    };
    *slot = number;
    true
}

/// Passes the fields of an object to `read` one by one, and returns those for which it returns
/// `false`. Null and empty strings mean the same as no field, and are skipped.
pub(crate) fn read_fields(map: &RawMap, mut read: impl FnMut(&str, &Raw) -> bool) -> UnknownFields {
    let mut unknown = UnknownFields::new();
    for (key, value) in map.iter() {
        // A key with half a surrogate pair keeps its JSON spelling.
        let key = key.as_string().unwrap_or_else(|| key.to_string());
        let is_empty = matches!(value.as_str(), "null" | "\"\"");
        if !is_empty && !read(&key, value) {
            unknown.push((key, value.clone()));
        }
    }
    unknown
}

/// The fields of an object but for those with these names, and for empty ones.
pub(crate) fn fields_except(map: &RawMap, names: &[&str]) -> UnknownFields {
    read_fields(map, |key, _| names.contains(&key))
}

/// Half a character at the end of a text that arrives in pieces, while its other half is still
/// missing. Programs that show each piece at once would show two broken characters.
#[derive(Debug, Clone, Default)]
pub(crate) struct HalfCharacter(Text);

impl HalfCharacter {
    /// Puts the held half before `text`. If the result ends in half a character, this half is held
    /// in turn.
    pub fn join(&mut self, text: &Text) -> Text {
        let mut joined = self.take();
        joined.push(text);
        self.0 = joined.take_high_end();
        joined
    }

    /// Gives up waiting and returns the held half; empty if there is none.
    pub fn take(&mut self) -> Text {
        std::mem::take(&mut self.0)
    }

    /// The held half, which stays held.
    pub fn as_text(&self) -> &Text {
        &self.0
    }
}

/// Fields of an answer without an event of their own, in the order of their first appearance.
#[derive(Debug, Clone, Default)]
pub(crate) struct ExtraFields {
    entries: Vec<(String, Vec<Raw>)>,
    /// The index in `entries` of each name.
    positions: BTreeMap<String, usize>,
}

impl ExtraFields {
    /// Keeps the last value of a field, for the outer fields that every chunk repeats.
    pub fn set(&mut self, key: &str, value: Raw) {
        *self.values(key) = vec![value];
    }

    /// Keeps the last value of each of these fields.
    pub fn set_all(&mut self, fields: UnknownFields) {
        for (key, value) in fields {
            self.set(&key, value);
        }
    }

    /// Keeps every value of a field, for inner fields that continue from chunk to chunk.
    pub fn add(&mut self, key: &str, value: Raw) {
        self.values(key).push(value);
    }

    /// Keeps every value of a field that differs from the one before, since some chunks repeat it.
    pub fn add_changed(&mut self, key: &str, value: Raw) {
        let values = self.values(key);
        if values.last() != Some(&value) {
            values.push(value);
        }
    }

    /// The values of a field, which is added if it is new.
    fn values(&mut self, key: &str) -> &mut Vec<Raw> {
        let position = match self.positions.get(key) {
            Some(position) => *position,
            None => self.append(key),
        };
        &mut self.entries[position].1
    }

    /// Appends a field without values and returns its position.
    fn append(&mut self, key: &str) -> usize {
        let position = self.entries.len();
        self.positions.insert(key.to_string(), position);
        self.entries.push((key.to_string(), Vec::new()));
        position
    }

    /// Takes all fields out, as events. A field with several values becomes a list.
    pub fn drain(&mut self) -> impl Iterator<Item = StreamEvent> {
        let entries = std::mem::take(self).entries;
        entries.into_iter().map(|(key, values)| {
            let value = single_or_list(&values);
            StreamEvent::Extra { key, value }
        })
    }
}

/// A single value as it is, several values as a list.
fn single_or_list(values: &[Raw]) -> Raw {
    match values {
        [value] => value.clone(),
        values => Raw::array(values),
    }
}
