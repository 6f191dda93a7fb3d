//! Any bytes that a server may send: reading them never panics, how they are cut changes nothing,
//! and what they fold into is a message that survives its JSON.

use analects_core::{Json, Message, StreamEvent, fold};
use analects_providers::{Api, decoder};

use crate::Target;

pub(crate) const TARGET: Target = Target {
    name: "chat_stream",
    run,
    tokens: &[
        b"data: ", b"\n\n", b"data: [DONE]\n\n", b": comment\n", b"event: x\n", b"\r\n\r\n",
        b"{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}", b"\"finish_reason\":\"stop\"",
        b"\"tool_calls\":[{\"index\":0,\"id\":\"t\",\"function\":{\"name\":\"n\",\"arguments\":\"{\"}}]",
        b"\"\\ud83d\"", b"\"reasoning_content\":\"r\"", b"{\"error\":{\"message\":\"no\"}}", b"null",
        b"\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}",
    ],
};

fn run(bytes: &[u8]) {
    let whole = events(&[bytes]);
    let (left, right) = bytes.split_at(bytes.len() / 3);
    assert_eq!(events(&[left, right]), whole, "a cut changes nothing");
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(events(&single), whole, "byte by byte is the same");
    let message = fold(&whole, Message::assistant("a", "")).message;
    assert_eq!(Message::from_json(&message.to_json()), Ok(message));
}

fn events(chunks: &[&[u8]]) -> Vec<StreamEvent> {
    let mut decoder = decoder(Api::OpenAiChat);
    let mut events: Vec<StreamEvent> =
        chunks.iter().flat_map(|chunk| decoder.push(chunk)).collect();
    events.extend(decoder.finish());
    events
}
