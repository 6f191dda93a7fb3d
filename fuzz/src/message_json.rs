//! Any JSON that reads as a message is written on one line and reads back as the same message.

use analects_core::{Json, Message};

use crate::Target;

pub(crate) const TARGET: Target = Target {
    name: "message_json",
    run,
    tokens: &[
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b"\"",
        b"\\\"",
        b"null",
        b"true",
        b"-0",
        b"1e400",
        b"12345678901234567890123",
        b"0.10",
        b"\"\\ud800\"",
        b"\"\\ud83d\\ude00\"",
        b"\"type\":\"user\",",
        b"\"type\":\"assistant\",",
        b"\"type\":\"system\",",
        b"\"id\":\"m1\",",
        b"\"content\":",
        b"\"v\":2,",
        b"\"usage\":{},",
        b"\"history\":\"exclude\",",
        b"\"extra\":{\"a\":1},",
    ],
};

fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let Ok(message) = Message::from_json(text) else {
        return;
    };
    let json = message.to_json();
    assert!(
        !json.contains(['\n', '\r']),
        "the JSON of a message has a line end: {json:?}"
    );
    assert_eq!(
        Message::from_json(&json),
        Ok(message),
        "read back from {json:?}"
    );
}
