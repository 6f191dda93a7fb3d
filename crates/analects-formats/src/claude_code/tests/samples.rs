//! Real sessions, if there are any on this machine. They are not part of this project.

use std::fs;
use std::path::PathBuf;

use analects_core::CountingIds;
use analects_testkit::{is_torture, skip};
use serde_json::Value;

use super::super::usage::{TokenSums, UsageTotals};
use super::restore::{readable, record, without_made_up};
use super::*;
use crate::{msgfile, transcript};

/// The sample sessions by name, or a word about why there are none.
fn samples(test: &str) -> Vec<(String, Vec<u8>)> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/samples");
    let folders = ["claude-code", "malformed"].map(|folder| fs::read_dir(root.join(folder)));
    let mut found: Vec<(String, Vec<u8>)> = Vec::new();
    for entry in folders.into_iter().flatten().flatten() {
        let path = entry.unwrap().path();
        found.push((
            path.to_string_lossy().into_owned(),
            fs::read(&path).unwrap(),
        ));
    }
    found.sort();
    if found.is_empty() {
        skip(
            &format!("claude_code::tests::samples::{test}"),
            "the samples are not here",
        );
    }
    found
}

/// Keeps the first few hundred kilobytes of a long session, in whole lines.
fn truncate(bytes: &mut Vec<u8>) {
    const ENOUGH: usize = 400_000;
    let rest = bytes.iter().skip(ENOUGH);
    if let Some(end) = rest.copied().position(|byte| byte == b'\n') {
        bytes.truncate(ENOUGH + end + 1);
    }
}

#[test]
fn a_session_survives_a_message_file() {
    for (name, mut bytes) in samples("a_session_survives_a_message_file") {
        if !is_torture() {
            truncate(&mut bytes);
        }
        for full in [false, true] {
            let direct = read(&bytes, full).messages;
            let file = msgfile::encode(&direct, &mut CountingIds::default());
            let by_file = msgfile::messages(&msgfile::decode(file), &"other".into()).messages;
            let text =
                |messages: &[Message]| messages.iter().map(transcript::encode).collect::<String>();
            assert_eq!(text(&by_file), text(&direct), "{name}");
            let again = transcript::decode(text(&direct).as_bytes());
            assert!(again.messages == direct, "{name}");
        }
    }
}

#[test]
fn in_full_every_record_and_field_survives() {
    for (name, bytes) in samples("in_full_every_record_and_field_survives") {
        let text = String::from_utf8(bytes).unwrap();
        let mut records: Vec<Value> = Vec::new();
        for line in text.lines() {
            let line = readable(line);
            let values = serde_json::Deserializer::from_str(&line).into_iter::<Value>();
            records.extend(values.map_while(Result::ok));
        }
        let restored: Vec<Value> = read(&text, true).messages.iter().map(record).collect();
        assert_eq!(restored.len(), records.len(), "{name}");
        for (restored, original) in restored.into_iter().zip(records) {
            assert_eq!(without_made_up(restored, &original), original, "{name}");
        }
    }
}

#[test]
fn tools_of_real_sessions_keep_their_results() {
    for (name, bytes) in samples("tools_of_real_sessions_keep_their_results") {
        let real = name.contains("entire-");
        if !real {
            continue;
        }
        let got = read(&bytes, false);
        let orphans = got
            .problems
            .iter()
            .filter(|odd| odd.code == "call-without-result")
            .count();
        let chain = chain(&got.messages);
        assert_eq!(chain.problems, vec![], "{name}");
        assert!(
            chain.unpaired().len() <= orphans,
            "{name}: {:?}",
            chain.unpaired()
        );
        let tree = analects_core::Tree::of(&got.messages);
        assert_eq!(tree.branches(None).len(), 1, "{name}");
    }
}

#[test]
fn reading_in_full_only_adds_progress() {
    for (name, bytes) in samples("reading_in_full_only_adds_progress") {
        let all = read(&bytes, true);
        let spoken = all
            .messages
            .iter()
            .filter(|message| !matches!(message.body, Body::Progress(_)));
        let some = read(&bytes, false);
        assert!(spoken.eq(&some.messages), "{name}");
        assert_eq!(
            all.messages.len(),
            some.messages.len() + some.left_out,
            "{name}"
        );
    }
}

#[test]
fn usage_of_real_sessions_is_counted_once() {
    let files = samples("usage_of_real_sessions_is_counted_once");
    let mut totals = UsageTotals::default();
    for (_, bytes) in files
        .iter()
        .filter(|(name, _)| name.contains("claude-code/"))
    {
        read(bytes, true)
            .messages
            .iter()
            .for_each(|message| totals.add(message));
    }
    if files.is_empty() {
        return;
    }
    // Counted by another program, which knows nothing of this one. 1064 records say something of usage.
    let expected = TokenSums {
        answers: 479,
        input: 326_637,
        output: 9_133,
        cache_creation: 2_602_131,
        cache_creation_1h: 1_237_104,
        cache_read: 40_986_687,
    };
    assert_eq!(totals.sum(), expected);
}
