//! What arrives in pieces beside the answer, put together: log probabilities, the
//! `reasoning_details` of vendors that pass on the encrypted thinking of others, and the choices
//! behind the first.

use std::collections::BTreeMap;

use analects_core::{Fold, Json, Message, Raw, RawMap, StreamEvent, Text};

use super::decode::OpenAiDecoder;
use super::wire::OpenAiChoice;
use crate::decoding::{EventDecoder, fields_except, fill, non_empty_string, read_fields};

/// Log probabilities: an object of lists, which grow from chunk to chunk.
#[derive(Debug, Clone, Default)]
pub(super) struct LogProbabilities {
    /// The lists so far, by name.
    lists: BTreeMap<String, Vec<Raw>>,
    /// Members that are no lists. The last value of each counts.
    others: BTreeMap<String, Raw>,
}

impl LogProbabilities {
    /// Adds those of a chunk. Returns `false` for anything but an object.
    pub fn add(&mut self, value: &Raw) -> bool {
        let Some(map) = value.as_object() else {
            return false;
        };
        for (key, value) in fields_except(&map, &[]) {
            if let Some(items) = value.as_array() {
                self.lists.entry(key).or_default().extend(items);
            } else {
                self.others.insert(key, value);
            }
        }
        true
    }

    /// Takes all of them out, as one object; `None` if there are none.
    pub fn take(&mut self) -> Option<Raw> {
        let all = std::mem::take(self);
        let mut map = RawMap::new();
        for (key, items) in &all.lists {
            map.push(key, Raw::array(items));
        }
        for (key, value) in all.others {
            map.push(&key, value);
        }
        (!map.is_empty()).then(|| map.to_raw())
    }
}

/// The `reasoning_details` of an answer, put together from their pieces.
#[derive(Debug, Clone, Default)]
pub(super) struct ReasoningDetails(Vec<ReasoningDetail>);

/// One detail. Consecutive pieces with the same type and number belong to the same detail.
#[derive(Debug, Clone, Default)]
struct ReasoningDetail {
    /// The type, such as `reasoning.text`.
    kind: Option<String>,
    /// The number of the detail.
    number: Option<u64>,
    /// The name of its field that grows: `text`, `summary` or `data`.
    text_key: Option<String>,
    /// The value of that field so far.
    text: Text,
    /// Its other fields, by name, since each piece has only some of them.
    rest: BTreeMap<String, Raw>,
}

impl ReasoningDetails {
    /// Adds a list of pieces and returns the readable text in them; `None` for anything but a list.
    pub fn add(&mut self, value: &Raw) -> Option<Text> {
        let mut readable = Text::default();
        for raw in value.as_array()? {
            let Some(piece) = ReasoningDetail::read(&raw) else {
                continue;
            };
            if !piece.is_encrypted() {
                readable.push(&piece.text);
            }
            self.push(piece);
        }
        Some(readable)
    }

    /// Appends a piece to the last detail, or begins a new one.
    fn push(&mut self, piece: ReasoningDetail) {
        match self.0.last_mut() {
            Some(last) if last.continues_with(&piece) => last.append(piece),
            _ => self.0.push(piece),
        }
    }

    /// Takes all of them out, as one list; `None` if there are none.
    pub fn take(&mut self) -> Option<Raw> {
        let details = std::mem::take(&mut self.0);
        let list: Vec<Raw> = details.iter().map(ReasoningDetail::to_raw).collect();
        (!list.is_empty()).then(|| Raw::array(&list))
    }
}

impl ReasoningDetail {
    /// Reads a piece; `None` for anything but an object.
    fn read(raw: &Raw) -> Option<ReasoningDetail> {
        let mut detail = ReasoningDetail::default();
        let unknown = read_fields(&raw.as_object()?, |key, value| match key {
            "type" => fill(&mut detail.kind, non_empty_string(value)),
            "index" => fill(&mut detail.number, value.to()),
            "text" | "summary" | "data" => detail.read_text(key, value),
            _ => false,
        });
        detail.rest = unknown.into_iter().collect();
        Some(detail)
    }

    /// Reads the field that grows. Returns `false` if there is one already, or if the value is not
    /// text.
    fn read_text(&mut self, key: &str, value: &Raw) -> bool {
        if self.text_key.is_some() {
            return false;
        }
        let Some(text) = Text::from_raw(value) else {
            return false;
        };
        self.text = text;
        self.text_key = Some(key.to_string());
        true
    }

    /// Whether the text is encrypted content, which nobody can read.
    fn is_encrypted(&self) -> bool {
        self.text_key.as_deref() == Some("data")
    }

    /// Whether a piece belongs to this detail. Without numbers, each piece is a detail of its own,
    /// since vendors that send none send whole details.
    fn continues_with(&self, next: &ReasoningDetail) -> bool {
        let has_same_key = self.text_key == next.text_key;
        let grows = has_same_key || self.text_key.is_none() || next.text_key.is_none();
        self.number.is_some() && self.number == next.number && self.kind == next.kind && grows
    }

    /// Adds a later piece of the same detail. Its other fields replace earlier ones.
    fn append(&mut self, next: ReasoningDetail) {
        self.text.push(&next.text);
        self.text_key = self.text_key.take().or(next.text_key);
        self.rest.extend(next.rest);
    }

    /// Writes the detail as its vendor expects it back.
    fn to_raw(&self) -> Raw {
        let mut map = RawMap::new();
        if let Some(kind) = &self.kind {
            map.push("type", Raw::string(kind));
        }
        if let Some(key) = &self.text_key {
            let text = Raw::parse(&self.text.to_json());
            map.push(
                key,
                text.unwrap_or_else(|_| Raw::string(&self.text.as_str())),
            );
        }
        for (key, value) in &self.rest {
            map.push(key, value.clone());
        }
        if let Some(number) = self.number {
            map.push("index", number.into());
        }
        map.to_raw()
    }
}

/// The limit on other choices. No server returns more than 128, and each takes far more memory than
/// its bytes.
const MAX_CHOICES: usize = 128;

/// The choices behind the first, by their numbers. Each is decoded like the first, and kept beside
/// it as a message.
#[derive(Debug, Clone, Default)]
pub(super) struct OtherChoices(BTreeMap<u64, ChoiceFold>);

/// The decoder of one choice, and the message that its events make up.
#[derive(Debug, Clone, Default)]
struct ChoiceFold {
    decoder: OpenAiDecoder,
    fold: Fold,
}

impl OtherChoices {
    /// Whether the choice of this number can be added.
    pub fn accepts(&self, number: u64) -> bool {
        self.0.len() < MAX_CHOICES || self.0.contains_key(&number)
    }

    /// Adds a piece of a choice.
    pub fn add(&mut self, choice: OpenAiChoice) {
        let entry = self.0.entry(choice.index).or_default();
        let mut events = Vec::new();
        entry.decoder.choice(choice, &mut events);
        entry.push(&events);
    }

    /// Takes all of them out, as complete as they are.
    pub fn take(&mut self) -> Vec<Raw> {
        let choices = std::mem::take(&mut self.0).into_iter();
        choices
            .map(|(number, choice)| choice.finish(number))
            .collect()
    }
}

impl ChoiceFold {
    /// Adds events to the message.
    fn push(&mut self, events: &[StreamEvent]) {
        for event in events {
            self.fold.push(event);
        }
    }

    /// Ends the choice. Returns its number and those fields of the message that come from the
    /// answer.
    fn finish(mut self, number: u64) -> Raw {
        let mut events = Vec::new();
        self.decoder.finish(&mut events);
        self.push(&events);
        let message = self.fold.finish(Message::assistant("", "")).message;
        let fields = RawMap::parse(&message.to_json()).unwrap_or_default();
        let mut map = RawMap::from([("index", number.into())]);
        for key in ["content", "stop_reason", "extra"] {
            if let Some(value) = fields.get(key) {
                map.push(key, value.clone());
            }
        }
        map.to_raw()
    }
}
