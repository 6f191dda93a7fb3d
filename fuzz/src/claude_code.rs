//! Any bytes are a session of Claude Code, in pieces or in one. What is read can be written and read
//! again, the two readings differ in what is beside the conversation only, and no chain gets a problem
//! that the file did not have.

use analects_core::{Body, CountingIds, Message};
use analects_formats::claude_code::usage::UsageTotals;
use analects_formats::claude_code::{ClaudeCodeFormat, SessionReader};
use analects_formats::{Format, FormatReader, ReadOptions, ReadOutput, msgfile, transcript};

use crate::Target;

pub(crate) const TARGET: Target = Target {
    name: "claude_code",
    run,
    tokens: &[
        b"\"uuid\":\"a1\"",
        b"\"uuid\":\"u1\"",
        b"\"parentUuid\":\"a1\"",
        b"\"parentUuid\":null",
        b"\"isSidechain\":true",
        b"\"agentId\":\"a4f\"",
        b"\"isMeta\":true",
        b"\"isCompactSummary\":true",
        b"\"type\":\"user\"",
        b"\"type\":\"assistant\"",
        b"\"type\":\"system\"",
        b"\"type\":\"progress\"",
        b"\"type\":\"agent_progress\"",
        b"\"data\":{\"type\":\"agent_progress\",\"agentId\":\"a4f\",\"message\":{\"type\":\"user\",\"uuid\":\"u2\",\"message\":{\"content\":\"x\"}}}",
        b"\"type\":\"attachment\"",
        b"\"type\":\"summary\"",
        b"\"subtype\":\"compact_boundary\"",
        b"\"logicalParentUuid\":\"u1\"",
        b"\"message\":null",
        b"\"content\":[]",
        b"\"content\":null",
        b"\\ud83d",
        b"}{",
        b"null",
        b",",
        b"{\"type\":\"user\",\"uuid\":\"u9\",\"parentUuid\":\"u1\",\"message\":{\"content\":\"x\"}}\n",
    ],
};

fn run(bytes: &[u8]) {
    ClaudeCodeFormat.recognise(bytes, "talk.jsonl");
    let some = read(bytes, false, bytes.len().max(1));
    assert_eq!(read(bytes, false, 7), some, "pieces make no difference");
    let all = read(bytes, true, bytes.len().max(1));
    let spoken = all
        .messages
        .iter()
        .filter(|message| !matches!(message.body, Body::Progress(_)));
    assert!(
        spoken.eq(&some.messages),
        "the conversation is the same in full"
    );
    assert_eq!(
        all.messages.len(),
        some.messages.len() + some.left_out,
        "what is left out is counted"
    );
    let mut totals = UsageTotals::default();
    all.messages.iter().for_each(|message| totals.add(message));
    totals.sum();
    write(&all.messages);
}

fn read(bytes: &[u8], full: bool, piece: usize) -> ReadOutput {
    let options = ReadOptions {
        full,
        ..ReadOptions::named("talk.jsonl")
    };
    let mut reader = Box::new(SessionReader::new(&options));
    let mut out = ReadOutput::default();
    bytes
        .chunks(piece)
        .for_each(|piece| reader.feed(piece, &mut out));
    reader.finish(&mut out);
    out
}

fn write(messages: &[Message]) {
    let lines: String = messages.iter().map(transcript::encode).collect();
    assert_eq!(
        transcript::decode(lines.as_bytes()).messages,
        messages,
        "as a transcript"
    );
    let file = msgfile::encode(messages, &mut CountingIds::default());
    let again = msgfile::messages(&msgfile::decode(file), &"other".into()).messages;
    assert_eq!(again, messages, "as a message file");
}
