//! A session of any size is read in little memory. Alone in this file, because it measures its own process.
#![allow(clippy::unwrap_used)]

use std::fmt::Write;

use analects_formats::claude_code::SessionReader;
use analects_formats::{FormatReader, ReadOptions, ReadOutput, transcript};

/// The longest line.
const LONGEST: usize = 2 << 20;

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

fn record(out: &mut String, number: usize, length: usize) {
    let kind = ["user", "assistant", "progress", "file-history-snapshot"][number % 4];
    let text = "x".repeat(length);
    writeln!(
        out,
        r#"{{"type":"{kind}","uuid":"0197f3c2-aaaa-4bbb-8ccc-{number:012x}","parentUuid":"0197f3c2-aaaa-4bbb-8ccc-{:012x}","sessionId":"s1","message":{{"id":"msg_{number}","role":"{kind}","content":[{{"type":"text","text":"{text}"}}]}},"toolUseResult":"{text}"}}"#,
        number.saturating_sub(1)
    )
    .unwrap();
}

#[test]
fn a_session_is_read_in_little_memory() {
    let Some(before) = peak() else {
        eprintln!("SKIPPED: this system does not say how much memory a process has");
        return;
    };
    let is_torture = std::env::var_os("ANALECTS_TORTURE").is_some();
    let size = if is_torture {
        1_000_000_000
    } else {
        100_000_000
    };
    let mut reader = Box::new(SessionReader::new(&ReadOptions::named("talk.jsonl")));
    let (mut out, mut text, mut line) = (ReadOutput::default(), String::new(), String::new());
    let (mut made, mut number, mut messages) = (0, 0, 0);
    while made < size {
        text.clear();
        let length = if number % 1000 == 999 {
            LONGEST / 2 - 1000
        } else {
            1700
        };
        record(&mut text, number, length);
        made += text.len();
        number += 1;
        for piece in text.as_bytes().chunks(64 << 10) {
            reader.feed(piece, &mut out);
        }
        for message in out.messages.drain(..) {
            line.clear();
            transcript::encode_to(&mut line, &message);
            messages += 1;
        }
    }
    reader.finish(&mut out);
    assert_eq!(out.messages.len() + messages + out.left_out, number);
    let used = peak().unwrap() - before;
    assert!(used < LONGEST + (64 << 20), "{used} bytes for {size}");
}
