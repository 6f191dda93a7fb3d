//! Sessions that are cut off, garbled or too long.

use analects_core::{Content, Text};

use super::pitfalls::SNAPSHOT;
use super::records::*;
use super::*;

#[test]
fn lines_of_several_megabytes_come_in_pieces() {
    let picture = "A".repeat(5_000_000);
    let block = format!(
        r#"{{"type":"image","source":{{"type":"base64","media_type":"image/png","data":"{picture}"}}}}"#
    );
    let rest = format!(r#""message":{{"role":"user","content":[{block}]}}"#);
    let file = [
        prompt("u1", "-"),
        line("user", "u2", "u1", &rest),
        prompt("u3", "u2"),
    ]
    .concat();
    let whole = read(&file, false);
    assert_eq!(codes(&whole), []);
    let mut reader = Box::new(SessionReader::new(&ReadOptions::named("talk.jsonl")));
    let mut out = ReadOutput::default();
    for piece in file.as_bytes().chunks(65_537) {
        reader.feed(piece, &mut out);
    }
    reader.finish(&mut out);
    assert!(out == whole);
    assert_eq!(ids(&out.messages), ["u1", "u2", "u3"]);
}

#[test]
fn a_line_that_is_too_long_is_refused_and_not_kept() {
    let mut reader = Box::new(SessionReader::new(&ReadOptions::named("talk.jsonl")));
    let mut out = ReadOutput::default();
    reader.feed(prompt("u1", "-").as_bytes(), &mut out);
    reader.feed(b"{\"type\":\"user\",\"message\":\"", &mut out);
    for _ in 0..80 {
        reader.feed(&[b'x'; 1 << 20], &mut out);
    }
    reader.feed(b"\"}\n", &mut out);
    reader.feed(prompt("u2", "u1").as_bytes(), &mut out);
    reader.finish(&mut out);
    assert_eq!(seen(&out.messages), ["u1", "u2"]);
    assert_eq!(codes(&out), [("long-line", 2)]);
}

#[test]
fn the_last_line_may_be_cut_anywhere() {
    let (first, last) = (prompt("u1", "-"), prompt("ü2", "u1"));
    let whole = [first.clone(), last.clone()].concat().into_bytes();
    for cut in first.len() + 1..whole.len() - 1 {
        let got = read(&whole[..cut], false);
        assert_eq!(ids(&got.messages), ["u1"], "cut at {cut}");
        assert_eq!(codes(&got), [("torn-line", 2)], "cut at {cut}");
    }
    // Without its line end, it is whole all the same: live files are like that.
    let got = read(&whole[..whole.len() - 1], false);
    assert_eq!(
        (ids(&got.messages), codes(&got)),
        (vec!["u1", "ü2"], vec![])
    );
}

#[test]
fn content_may_be_null_or_anything() {
    let file = [
        line(
            "user",
            "u1",
            "-",
            r#""message":{"role":"user","content":null}"#,
        ),
        line("user", "u2", "u1", r#""message":{"role":"user"}"#),
        line("user", "u3", "u2", r#""message":"just text""#),
        line(
            "user",
            "u4",
            "u3",
            r#""message":{"role":"user","content":12345}"#,
        ),
        line("assistant", "a1", "u4", r#""message":null"#),
        line(
            "assistant",
            "a2",
            "a1",
            r#""message":{"role":"assistant","content":["a string",{"type":"new"}]}"#,
        ),
    ]
    .concat();
    let got = read(&file, false);
    assert_eq!(seen(&got.messages), ["u1", "u2", "u3", "u4", "a1", "a2"]);
    assert_eq!(
        extra(&got.messages[0], "message"),
        Some(r#"{"role":"user","content":null}"#)
    );
    assert_eq!(got.messages[2].text(), "just text");
    assert_eq!(
        extra(&got.messages[3], "message"),
        Some(r#"{"role":"user","content":12345}"#)
    );
    assert_eq!(extra(&got.messages[4], "message"), Some("null"));
    let Some(Content::Blocks(blocks)) = got.messages[5].body.content() else {
        panic!()
    };
    assert_eq!(blocks.len(), 2);
}

#[test]
fn a_killed_session_ends_with_calls() {
    let file = [
        prompt("u1", "-"),
        answer("a1", "u1", "msg_1", &call("t1")),
        result("r9", "a1", "t9"),
    ]
    .concat();
    let got = read(&file, false);
    assert_eq!(
        codes(&got),
        [("result-without-call", 3), ("call-without-result", 2)]
    );
    assert_eq!(seen(&got.messages), ["u1", "a1", "r9"]);
}

#[test]
fn a_parent_may_be_lost() {
    let sign = r#""data":{"type":"hook_progress"}"#;
    let file = [
        prompt("u1", "-"),
        answer("a1", "u1", "msg_1", &text("One.")),
        // What was lost is the end of the answer.
        line("progress", "p1", "lost", sign),
        prompt("u2", "p1"),
        prompt("u3", "gone"),
    ]
    .concat();
    let got = read(&file, false);
    assert_eq!(parents(&got.messages), ["-", "u1", "a1", "gone"]);
    assert_eq!(
        codes(&got),
        [
            ("unknown-parent", 3),
            ("unknown-parent", 5),
            ("left-out", 0)
        ]
    );
}

#[test]
fn joined_records_are_all_read() {
    let (one, two) = (prompt("u1", "-"), prompt("u2", "u1"));
    let glued = format!("{}{}", one.trim_end(), two);
    let got = read(glued, false);
    assert_eq!(seen(&got.messages), ["u1", "u2"]);
    assert_eq!(codes(&got), [("joined-lines", 1)]);
    // One that was cut off, and the next behind it.
    let torn = format!("{}{}", &one[..70], two);
    let got = read(torn, false);
    assert_eq!(ids(&got.messages), ["u2"]);
    assert_eq!(got.problems[0].severity, analects_core::Severity::Error);
    assert_eq!(codes(&got)[0], ("joined-lines", 1));
}

#[test]
fn zeros_marks_and_other_line_ends_do_no_harm() {
    let zeros = "\0".repeat(4096);
    let file = format!(
        "\u{feff}{}\r\n\n{zeros}{}not json\n{zeros}\n",
        prompt("u1", "-").trim_end(),
        prompt("u2", "u1")
    );
    let got = read(file, false);
    assert_eq!(seen(&got.messages), ["u1", "u2"]);
    assert_eq!(
        codes(&got),
        [("nul-run", 3), ("unreadable-line", 4), ("nul-run", 5)]
    );
    let bytes = [
        prompt("u1", "-").as_bytes(),
        b"\xff\xfe{}\n",
        prompt("u2", "u1").as_bytes(),
    ]
    .concat();
    let got = read(bytes, false);
    assert_eq!(codes(&got)[0], ("not-utf8", 2));
    assert_eq!(seen(&got.messages), ["u1", "u2"]);
}

#[test]
fn half_characters_and_line_separators_stay() {
    let rest = "\"message\":{\"role\":\"user\",\"content\":\"half \\ud83d, \u{2028} and \\u2029 \u{85}\"},\"note\\ud800\":\"\\udc00\"";
    let got = read(line("user", "u1", "-", rest), false);
    assert_eq!(codes(&got), [("lone-surrogate", 1)]);
    let Body::User(user) = &got.messages[0].body else {
        panic!()
    };
    assert!(matches!(user.content, Content::Text(Text::Broken(_))));
    assert_eq!(
        got.messages[0].text(),
        "half \u{fffd}, \u{2028} and \u{2029} \u{85}"
    );
    let line = crate::transcript::encode(&got.messages[0]);
    assert!(line.contains(r#""note\ud800":"\udc00""#), "{line}");
    assert_eq!(
        crate::transcript::decode(line.as_bytes()).messages,
        got.messages
    );
}

#[test]
fn deep_json_and_large_numbers_survive() {
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    let rest = format!(
        r#""message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t","content":{deep}}}]}},"deep":{deep},"big":123456789012345678901234567890,"huge":1e400"#
    );
    let bad = format!(
        "{deep}\n{}\n{}\n",
        "[".repeat(100_000),
        "{\"a\":".repeat(100_000)
    );
    let got = read([bad, line("user", "u1", "-", &rest)].concat(), true);
    assert_eq!(extra(&got.messages[1], "deep"), Some(&*deep));
    assert_eq!(
        extra(&got.messages[1], "big"),
        Some("123456789012345678901234567890")
    );
    assert_eq!(extra(&got.messages[1], "huge"), Some("1e400"));
    assert_eq!(
        codes(&got)[..3],
        [
            ("not-a-record", 1),
            ("unreadable-line", 2),
            ("unreadable-line", 3)
        ]
    );
}

#[test]
fn problems_are_listed_up_to_a_limit() {
    let got = read("no\n".repeat(20_000), false);
    assert_eq!(got.problems.len(), 10_001);
    assert_eq!(got.problems[10_000].code, "more-problems");
}

#[test]
fn messages_wait_for_their_session_up_to_a_limit() {
    let options = ReadOptions {
        full: true,
        ..ReadOptions::named("talk.jsonl")
    };
    let (many, large) = (
        SNAPSHOT.repeat(1_100),
        SNAPSHOT.replace("{}", &format!("\"{}\"", "x".repeat(5 << 20))),
    );
    for bytes in [many, large.repeat(4)] {
        let mut reader = Box::new(SessionReader::new(&options));
        let mut out = ReadOutput::default();
        reader.feed(bytes.as_bytes(), &mut out);
        assert!(!out.messages.is_empty(), "everything is held in memory");
        let lines = bytes.lines().count();
        reader.feed(prompt("u1", "-").as_bytes(), &mut out);
        reader.finish(&mut out);
        assert_eq!(out.messages.len(), lines + 1);
    }
}
