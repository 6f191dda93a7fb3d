//! A conversation of any size is written in little memory. Alone in this file, because it measures its own process.
#![allow(clippy::unwrap_used)]

use analects_core::{Block, Content, Message, Raw, RawMap, ToolResult, ToolUse};
use analects_formats::convert::{FormatWriter, WriteOptions, WriteOutput, format_by_id};

/// How much the conversation says, and how much memory that may take: some facts of each message are kept.
const SIZE: usize = 16 << 20;
const BOUND: usize = 8 << 20;

/// The most memory that this process ever had, in bytes, where the system tells.
fn peak() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim()
        .strip_suffix("kB")?
        .trim()
        .parse::<usize>()
        .ok()
        .map(|kilobytes| kilobytes * 1024)
}

/// The messages of a long conversation, made one by one: a question, a call, its result.
fn messages() -> impl Iterator<Item = Message> {
    let text = "What was said is kept, word for word.\n".repeat(60);
    let name = |at: usize| format!("0197f3c2-aaaa-7bbb-8ccc-{at:012x}");
    (0..SIZE / text.len()).map(move |at| {
        let call = ToolUse {
            id: format!("call_{}", at / 3),
            name: "read".into(),
            input: Raw::empty_object(),
            extra: RawMap::new(),
        };
        let result = ToolResult {
            tool_use_id: call.id.clone(),
            content: Content::from(text.as_str()),
            ..ToolResult::default()
        };
        let message = match at % 3 {
            0 => Message::user(name(at), text.as_str()),
            1 => {
                let blocks = vec![Block::from_text(text.clone()), Block::ToolUse(call)];
                Message::assistant(name(at), Content::Blocks(blocks))
            }
            _ => Message::user(name(at), Content::Blocks(vec![Block::ToolResult(result)])),
        };
        let parent_id = at.checked_sub(1).map(|before| name(before).into());
        Message {
            parent_id,
            response_id: Some(name(at)),
            ..message
        }
    })
}

/// Writes everything, and lets go what is written.
fn write_all(mut writer: Box<dyn FormatWriter>) -> usize {
    let mut written = 0;
    for message in messages() {
        let mut out = WriteOutput::default();
        writer.push(&message, &mut out);
        written += out.bytes.len() + out.tail.len();
    }
    let mut out = WriteOutput::default();
    writer.finish(&mut out);
    written + out.bytes.len() + out.tail.len()
}

#[test]
fn a_conversation_is_written_in_little_memory() {
    let Some(before) = peak() else {
        eprintln!("SKIPPED: this system does not say how much memory a process has");
        return;
    };
    for id in ["msgfile", "markdown"] {
        let mut survey = format_by_id(id)
            .unwrap()
            .first_pass(&WriteOptions::default())
            .unwrap();
        messages().for_each(|message| survey.observe(&message));
        assert!(write_all(survey.writer()) > SIZE, "{id}");
        let used = peak().unwrap() - before;
        assert!(used < BOUND, "{id}: {used} bytes for {SIZE}");
    }
    let options = WriteOptions {
        full: true,
        ..WriteOptions::default()
    };
    assert!(write_all(format_by_id("msgfile").unwrap().writer(&options).unwrap()) > SIZE);
    let used = peak().unwrap() - before;
    assert!(used < BOUND, "{used} bytes for {SIZE} in full");
}
