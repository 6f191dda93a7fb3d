//! The answers that were not the first: each is read like the first, and kept beside it as what it
//! says.

use std::collections::BTreeMap;

use analects_core::{Fold, Json, Message, Raw, RawMap, StreamEvent};

use super::decode::Decoder;
use super::wire::Choice;

/// How many are read. No server gives more than 128 at once, and each takes far more memory than the
/// bytes that it came in.
const MOST: usize = 128;

/// Answers by their numbers.
#[derive(Debug, Clone, Default)]
pub(super) struct Others {
    answers: BTreeMap<u64, (Decoder, Fold)>,
}

impl Others {
    /// Whether a piece of the answer of that number is taken.
    pub fn takes(&self, number: u64) -> bool {
        self.answers.len() < MOST || self.answers.contains_key(&number)
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
        answers.into_iter().map(|(number, (decoder, fold))| told(number, decoder, fold)).collect()
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
    let mut map = RawMap::new();
    if let Ok(number) = Raw::parse(&number.to_string()) {
        map.push("index", number);
    }
    for key in ["content", "stop_reason", "extra"] {
        if let Some(value) = fields.get(key) {
            map.push(key, value.clone());
        }
    }
    map.to_raw()
}
