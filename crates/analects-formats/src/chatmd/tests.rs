//! Tests of chat Markdown: every variant, every trap, and that no text can forge an item.

use analects_core::{Block, Body, Content, History, Message, Raw, SessionId, TokenUsage};
use jiff::tz::{Offset, TimeZone};
use proptest::prelude::*;

use super::*;

mod editing;
pub(crate) mod generate;
mod laws;
mod losses;
mod promises;
mod reading;
mod samples;
mod sessions;
mod writing;

/// How an item reads, wherever it stands.
fn reading(item: ChatItem<'_>) -> String {
    let (attributes, notes) = (item.attributes(), item.note_attributes());
    let attributes: Vec<_> = attributes
        .iter()
        .filter(|(key, _)| key != "stored")
        .collect();
    format!("{} {attributes:?} {notes:?} {:?}", item.name(), item.text())
}

fn readings(document: &ChatMdDocument) -> Vec<String> {
    document.items().map(reading).collect()
}

/// The messages of a text, as values of their JSON.
fn read(text: &str) -> Vec<Message> {
    messages(&decode(text), &"s".into()).messages
}

fn codes(text: &str) -> Vec<String> {
    decode(text)
        .problems()
        .into_iter()
        .map(|problem| problem.code.into_owned())
        .collect()
}
