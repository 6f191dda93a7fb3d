//! What comes in pieces beside the answer, put together again: log probabilities, the
//! `reasoning_details` of vendors who pass on the sealed thoughts of others, and the answers that were not
//! the first.

use std::collections::BTreeMap;

use analects_core::{Fold, Json, Message, Raw, RawMap, StreamEvent, Text};

use super::decode::Decoder;
use super::wire::Choice;
use crate::reading::{filled, put, take};

/// Log probabilities: an object of lists, each of which goes on from chunk to chunk.
#[derive(Debug, Clone, Default)]
pub(super) struct Logprobs {
    lists: BTreeMap<String, Vec<Raw>>,
    others: BTreeMap<String, Raw>,
}

impl Logprobs {
    /// `false` for anything but an object.
    pub fn add(&mut self, value: &Raw) -> bool {
        let Some(map) = value.as_object() else {
            return false;
        };
        for (key, value) in take(&map, |_, _| false) {
            match value.as_array() {
                Some(items) => self.lists.entry(key).or_default().extend(items),
                None => drop(self.others.insert(key, value)),
            }
        }
        true
    }

    /// All of them as one object; `None` where nothing came.
    pub fn take(&mut self) -> Option<Raw> {
        let Logprobs { lists, others } = std::mem::take(self);
        let mut map = RawMap::new();
        for (key, items) in &lists {
            map.push(key, Raw::array(items));
        }
        for (key, value) in others {
            map.push(&key, value);
        }
        (!map.is_empty()).then(|| map.to_raw())
    }
}

/// Details of thoughts, put together from their pieces.
#[derive(Debug, Clone, Default)]
pub(super) struct Details {
    details: Vec<Detail>,
}

/// One detail. Pieces of the same type and number, one after the other, are one detail.
#[derive(Debug, Clone, Default)]
struct Detail {
    kind: Option<String>,
    number: Option<u64>,
    /// Which of its fields grows: `text`, `summary` or `data`.
    grows: Option<String>,
    text: Text,
    /// Its other fields, by name, since each piece has some of them.
    rest: BTreeMap<String, Raw>,
}

impl Details {
    /// Takes a list of pieces and gives the words in them; `None` for anything but a list.
    pub fn add(&mut self, value: &Raw) -> Option<Text> {
        let mut words = Text::default();
        for raw in value.as_array()? {
            let Some(piece) = Detail::read(&raw) else {
                continue;
            };
            if piece.grows.as_deref() != Some("data") {
                words.push(&piece.text);
            }
            match self
                .details
                .last_mut()
                .filter(|last| last.goes_on_with(&piece))
            {
                Some(last) => last.add(piece),
                None => self.details.push(piece),
            }
        }
        Some(words)
    }

    /// All of them as one list; `None` where nothing came.
    pub fn take(&mut self) -> Option<Raw> {
        let details: Vec<_> = std::mem::take(&mut self.details)
            .iter()
            .map(Detail::raw)
            .collect();
        (!details.is_empty()).then(|| Raw::array(&details))
    }
}

impl Detail {
    fn read(raw: &Raw) -> Option<Detail> {
        let mut detail = Detail::default();
        let rest = take(&raw.as_object()?, |key, value| match key {
            "type" => put(&mut detail.kind, filled(value)),
            "index" => put(&mut detail.number, value.to()),
            "text" | "summary" | "data" if detail.grows.is_none() => match Text::from_raw(value) {
                Some(text) => {
                    detail.text = text;
                    put(&mut detail.grows, Some(key.to_string()))
                }
                None => false,
            },
            _ => false,
        });
        detail.rest = rest.into_iter().collect();
        Some(detail)
    }

    fn goes_on_with(&self, next: &Detail) -> bool {
        let grows = next.grows.is_none() || self.grows.is_none() || self.grows == next.grows;
        // Without a number nothing says where one ends, and whole ones come in a list.
        self.number.is_some() && self.number == next.number && self.kind == next.kind && grows
    }

    fn add(&mut self, next: Detail) {
        self.text.push(&next.text);
        self.grows = self.grows.take().or(next.grows);
        self.rest.extend(next.rest);
    }

    fn raw(&self) -> Raw {
        let mut map = RawMap::new();
        if let Some(kind) = &self.kind {
            map.push("type", Raw::string(kind));
        }
        if let Some(key) = &self.grows {
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

/// How many answers are read. No server gives more than 128 at once, and each takes far more memory than the
/// bytes that it came in.
const MOST_ANSWERS: usize = 128;

/// The answers that were not the first, by their numbers: each is read like the first, and kept beside it as
/// what it says.
#[derive(Debug, Clone, Default)]
pub(super) struct Others {
    answers: BTreeMap<u64, (Decoder, Fold)>,
}

impl Others {
    /// Whether a piece of the answer of that number is taken.
    pub fn takes(&self, number: u64) -> bool {
        self.answers.len() < MOST_ANSWERS || self.answers.contains_key(&number)
    }

    /// Takes a piece of one of them.
    pub fn add(&mut self, choice: Choice) {
        let (decoder, fold) = self.answers.entry(choice.index).or_default();
        let mut events = Vec::new();
        decoder.choice(choice, &mut events);
        push(fold, &events);
    }

    /// All of them, as far as they came.
    pub fn take(&mut self) -> Vec<Raw> {
        let answers = std::mem::take(&mut self.answers);
        answers
            .into_iter()
            .map(|(number, (decoder, fold))| told(number, decoder, fold))
            .collect()
    }
}

fn push(fold: &mut Fold, events: &[StreamEvent]) {
    for event in events {
        fold.push(event);
    }
}

fn told(number: u64, mut decoder: Decoder, mut fold: Fold) -> Raw {
    let mut events = Vec::new();
    decoder.finish(&mut events);
    push(&mut fold, &events);
    let message = fold.finish(Message::assistant("", "")).message;
    let fields = RawMap::parse(&message.to_json()).unwrap_or_default();
    let mut map = RawMap::from([("index", number.into())]);
    for key in ["content", "stop_reason", "extra"] {
        if let Some(value) = fields.get(key) {
            map.push(key, value.clone());
        }
    }
    map.to_raw()
}
