//! Requests and answers in the wire formats of the providers: fixtures of our own, recorded answers of a
//! real server where they are at hand, and anything at all.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::PathBuf;

use analects_core::{Block, Content, Folded, Json, Message, StreamEvent, fold};
use analects_providers::{Api, decoder};

mod anthropic;
mod any_request;
mod fixtures;
mod repairs;
mod samples;
mod switching;

/// The fixtures of an API.
fn fixtures_of(api: Api) -> PathBuf {
    let folder = match api {
        Api::AnthropicMessages => "anthropic",
        Api::Gemini => "gemini",
        Api::OpenAiChat => "openai",
        Api::OpenAiResponses => "openai-responses",
    };
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(folder)
}

/// What a decoder makes of an answer that comes in these pieces.
fn events(api: Api, pieces: &[&[u8]]) -> Vec<StreamEvent> {
    let mut decoder = decoder(api);
    let mut events: Vec<_> = pieces
        .iter()
        .flat_map(|piece| decoder.push(piece))
        .collect();
    events.extend(decoder.finish());
    events
}

fn folded(api: Api, bytes: &[u8]) -> Folded {
    fold(&events(api, &[bytes]), Message::assistant("a", ""))
}

fn blocks(folded: &Folded) -> Vec<Block> {
    match folded.message.body.content() {
        Some(Content::Blocks(blocks)) => blocks.clone(),
        _ => Vec::new(),
    }
}

fn stop_reason(folded: &Folded) -> String {
    let json = folded.message.to_json();
    let (_, reason) = json.split_once("\"stop_reason\":\"").unwrap();
    reason.split('"').next().unwrap().to_string()
}
