//! Each kind of damage, written by hand: found with its line and code, repaired without losses, and in order after that.

use analects_core::{Body, CountingIds, chain};
use proptest::prelude::*;

use super::*;

const A: &str = r#"{"v":1,"type":"user","id":"a","session_id":"s","content":"one"}"#;
const B: &str =
    r#"{"v":1,"type":"assistant","id":"b","parent_id":"a","session_id":"s","content":"two"}"#;
const C: &str =
    r#"{"v":1,"type":"user","id":"c","parent_id":"b","session_id":"s","content":"three"}"#;

/// A file as it was mended: its lines, and those that went beside it.
#[derive(Debug, PartialEq)]
struct Fixed {
    file: Vec<u8>,
    rest: Vec<Vec<u8>>,
}

fn fix(bytes: &[u8]) -> Fixed {
    let now = "2026-11-15T18:17:00Z".parse().unwrap();
    let repair = check(bytes).repair(&mut CountingIds::default(), now);
    let mut fixed = Fixed {
        file: Vec::new(),
        rest: Vec::new(),
    };
    for (line, number) in bytes.split_inclusive(|byte| *byte == b'\n').zip(1..) {
        let mended = repair.line(number, line);
        fixed.file.extend_from_slice(&mended.lines);
        if mended.is_aside {
            fixed.rest.push(line.to_vec());
        }
    }
    fixed.file.extend_from_slice(repair.end().as_bytes());
    fixed
}

fn codes(bytes: &[u8]) -> Vec<(String, usize)> {
    check(bytes)
        .problems
        .iter()
        .map(|odd| (odd.code.to_string(), odd.line))
        .collect()
}

fn texts(bytes: &[u8]) -> Vec<String> {
    let messages = decode(bytes).messages;
    chain(&messages)
        .messages
        .iter()
        .map(|message| message.text())
        .collect()
}

/// Damage is found as expected; the mended file is in order, says what is expected, holds every line
/// that is not beside it, and needs no further mending.
#[track_caller]
fn check_case(bytes: &[u8], found: &[(&str, usize)], says: &[&str]) -> Fixed {
    let expected: Vec<(String, usize)> = found
        .iter()
        .map(|(code, line)| (code.to_string(), *line))
        .collect();
    assert_eq!(codes(bytes), expected);
    let fixed = fix(bytes);
    let text = String::from_utf8_lossy(&fixed.file).into_owned();
    assert_eq!(codes(&fixed.file), [], "{text}");
    assert_eq!(texts(&fixed.file), says, "{text}");
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let kept = fixed
            .file
            .split(|byte| *byte == b'\n')
            .any(|l| l == line.trim_ascii());
        assert!(
            kept || fixed.rest.contains(&line.to_vec()),
            "lost: {line:?}"
        );
    }
    let again = fix(&fixed.file);
    assert_eq!(
        (again.file, again.rest),
        (fixed.file.clone(), vec![]),
        "mended twice"
    );
    fixed
}

#[test]
fn a_sound_transcript_is_unchanged() {
    let bytes = format!("{A}\n{B}\n\n{C}");
    let fixed = check_case(bytes.as_bytes(), &[], &["one", "two", "three"]);
    assert_eq!(String::from_utf8(fixed.file).unwrap(), format!("{bytes}\n"));
}

#[test]
fn what_editors_add_is_no_damage() {
    let bytes = format!(
        "\u{feff}{A}\r\n  {B}\r\n{}\r\n",
        encode(&Message::user("x", "y")).trim()
    );
    assert_eq!(codes(bytes.as_bytes()), []);
    assert_eq!(decode(bytes.as_bytes()).messages.len(), 3);
    let fixed = fix(bytes.as_bytes());
    assert_eq!((fixed.file, fixed.rest), (bytes.into_bytes(), vec![]));
}

#[test]
fn a_torn_tail() {
    let bytes = format!("{A}\n{B}\n{}", &C[..40]);
    let fixed = check_case(bytes.as_bytes(), &[("torn-line", 3)], &["one", "two"]);
    assert_eq!(fixed.rest, [&C.as_bytes()[..40]]);
}

#[test]
fn a_torn_line_in_the_middle() {
    let bytes = format!("{A}\n{}\n{C}\n", &B[..30]);
    let found = [("unreadable-line", 2), ("unknown-parent", 3)];
    let fixed = check_case(bytes.as_bytes(), &found, &["one", "three"]);
    assert!(String::from_utf8_lossy(&fixed.file).contains(r#""repaired_parent_id":"b""#));
    assert_eq!(
        fixed.rest.len(),
        2,
        "the line that is written anew is kept, too"
    );
}

#[test]
fn two_records_on_one_line() {
    let bytes = format!("{A}{B}\n{C}\n");
    check_case(
        bytes.as_bytes(),
        &[("joined-lines", 1)],
        &["one", "two", "three"],
    );
    // With their checksums, and blanks between.
    let (a, b) = (Message::user("a", "one"), Message::assistant("b", "two"));
    let b = Message {
        parent_id: Some("a".into()),
        ..b
    };
    let bytes = format!("{} {}", encode(&a).trim(), encode(&b));
    check_case(bytes.as_bytes(), &[("joined-lines", 1)], &["one", "two"]);
}

#[test]
fn a_torn_line_that_swallowed_the_next_record() {
    let bytes = format!("{A}\n{}{B}\n{C}\n", &B[..25]);
    check_case(
        bytes.as_bytes(),
        &[("joined-lines", 2)],
        &["one", "two", "three"],
    );
    // A record inside another one is none of its own.
    let nested = r#"{"v":1,"type":"user","id":"x","extra":{"v":1,"type":"user","id":"y"},"con"#;
    let bytes = format!("{A}\n{nested}\n");
    check_case(bytes.as_bytes(), &[("unreadable-line", 2)], &["one"]);
}

#[test]
fn runs_of_zeros() {
    let zeros = "\0".repeat(4096);
    check_case(
        format!("{A}\n{zeros}\n{B}\n").as_bytes(),
        &[("nul-run", 2)],
        &["one", "two"],
    );
    check_case(
        format!("{A}\n{zeros}{B}\n").as_bytes(),
        &[("nul-run", 2)],
        &["one", "two"],
    );
    check_case(
        format!("{A}\n{B}{zeros}").as_bytes(),
        &[("nul-run", 2)],
        &["one", "two"],
    );
    let torn = format!("{A}\n{}{zeros}\n", &B[..20]);
    check_case(
        torn.as_bytes(),
        &[("nul-run", 2), ("unreadable-line", 2)],
        &["one"],
    );
    let between = format!("{A}{zeros}{B}\n");
    check_case(
        between.as_bytes(),
        &[("nul-run", 1), ("joined-lines", 1)],
        &["one", "two"],
    );
}

#[test]
fn bytes_that_are_not_utf8() {
    let mut bytes = format!("{A}\n{B}\n").into_bytes();
    let at = bytes.windows(3).position(|word| word == b"two").unwrap();
    bytes[at] = 0xff;
    let fixed = check_case(&bytes, &[("not-utf8", 2)], &["one", "\u{fffd}wo"]);
    assert!(fixed.rest[0].contains(&0xff), "the bytes are kept");
}

#[test]
fn a_lone_surrogate_escape() {
    let line = B.replace("two", r"\ud83d!");
    let bytes = format!("{A}\n{line}\n");
    assert_eq!(codes(bytes.as_bytes()), [("lone-surrogate".to_string(), 2)]);
    // It is legal where it is: kept as it came, and shown and sent as U+FFFD.
    let fixed = fix(bytes.as_bytes());
    assert_eq!(
        (fixed.file, fixed.rest),
        (bytes.clone().into_bytes(), vec![])
    );
    assert_eq!(texts(bytes.as_bytes()), ["one", "\u{fffd}!"]);
}

#[test]
fn duplicate_ids() {
    // The same line twice is one record too many.
    let bytes = format!("{A}\n{B}\n{B}\n{C}\n");
    let fixed = check_case(
        bytes.as_bytes(),
        &[("duplicate-message-id", 3)],
        &["one", "two", "three"],
    );
    assert_eq!(fixed.rest.len(), 1);
    // Two messages of one name: both are kept, and whoever follows them follows the right one.
    let other = B
        .replace("two", "other")
        .replace(r#""parent_id":"a""#, r#""parent_id":"b""#);
    let bytes = format!("{A}\n{B}\n{other}\n{C}\n");
    let says = ["one", "two", "other", "three"];
    check_case(bytes.as_bytes(), &[("duplicate-message-id", 3)], &says);
    // A tombstone goes on to hide the one that it hid.
    let grave = r#"{"v":1,"type":"tombstone","id":"t","parent_id":"c","target":"b"}"#;
    let bytes = format!("{A}\n{B}\n{other}\n{C}\n{grave}\n");
    check_case(
        bytes.as_bytes(),
        &[("duplicate-message-id", 3)],
        &["one", "two", "three"],
    );
}

#[test]
fn a_missing_id() {
    let nameless = r#"{"v":1,"type":"user","parent_id":"b","content":"three"}"#;
    let bytes = format!("{A}\n{B}\n{nameless}\n");
    check_case(
        bytes.as_bytes(),
        &[("missing-id", 3)],
        &["one", "two", "three"],
    );
}

#[test]
fn a_dangling_parent() {
    let lost = C.replace(r#""parent_id":"b""#, r#""parent_id":"lost""#);
    let bytes = format!("{A}\n{B}\n{lost}\n");
    check_case(
        bytes.as_bytes(),
        &[("unknown-parent", 3)],
        &["one", "two", "three"],
    );
    // Of the first message, nobody can tell.
    let first = A.replace(r#""id":"a""#, r#""id":"a","parent_id":"lost""#);
    let bytes = format!("{first}\n{B}\n");
    check_case(bytes.as_bytes(), &[("unknown-parent", 1)], &["one", "two"]);
}

#[test]
fn a_cycle() {
    let a = A.replace(r#""id":"a""#, r#""id":"a","parent_id":"c""#);
    let bytes = format!("{a}\n{B}\n{C}\n");
    check_case(
        bytes.as_bytes(),
        &[("parent-cycle", 1)],
        &["one", "two", "three"],
    );
    // The record before the circle hangs on it, so it cannot be the one that it starts from.
    let x = r#"{"v":1,"type":"user","id":"x","parent_id":"c","content":"four"}"#;
    let bytes = format!("{x}\n{a}\n{B}\n{C}\n");
    check_case(
        bytes.as_bytes(),
        &[("parent-cycle", 2)],
        &["one", "two", "three"],
    );
    let own = A.replace(r#""id":"a""#, r#""id":"a","parent_id":"a""#);
    check_case(
        format!("{own}\n").as_bytes(),
        &[("parent-cycle", 1)],
        &["one"],
    );
}

#[test]
fn parents_in_another_chain_or_a_progress() {
    let side = r#"{"v":1,"type":"user","id":"x","parent_id":"a","agent_id":"g","content":"side"}"#;
    let bytes = format!("{A}\n{side}\n{B}\n");
    check_case(bytes.as_bytes(), &[("foreign-parent", 2)], &["one", "two"]);
    let progress = r#"{"v":1,"type":"progress","id":"p","parent_id":"b"}"#;
    let after = C.replace(r#""parent_id":"b""#, r#""parent_id":"p""#);
    let bytes = format!("{A}\n{B}\n{progress}\n{after}\n");
    check_case(
        bytes.as_bytes(),
        &[("progress-parent", 4)],
        &["one", "two", "three"],
    );
}

#[test]
fn a_boundary_without_its_summary() {
    let x = r#"{"v":1,"type":"compact_boundary","id":"x","parent_id":"b","summary_id":"lost"}"#;
    let after = C.replace(r#""parent_id":"b""#, r#""parent_id":"x""#);
    let bytes = format!("{A}\n{B}\n{x}\n{after}\n");
    let says = ["one", "two", "three"];
    let fixed = check_case(bytes.as_bytes(), &[("boundary-without-summary", 3)], &says);
    assert_eq!(fixed.rest.len(), 0, "a tombstone undoes the compaction");
}

const CALL: &str = r#"{"v":1,"type":"assistant","id":"b","parent_id":"a","content":[{"type":"tool_use","id":"t1","name":"read","input":{}},{"type":"tool_use","id":"t2","name":"read","input":{}}]}"#;
const RESULT: &str = r#"{"v":1,"type":"user","id":"r","parent_id":"b","content":[{"type":"tool_result","tool_use_id":"t1","content":"18"}]}"#;

#[test]
fn a_call_without_its_result() {
    let bytes = format!("{A}\n{CALL}\n{RESULT}\n{}\n", C.replace("\"b\"", "\"r\""));
    let fixed = check_case(
        bytes.as_bytes(),
        &[("call-without-result", 2)],
        &[
            "one",
            "",
            "The call was interrupted; there is no result.",
            "",
            "three",
        ],
    );
    let messages = decode(&fixed.file).messages;
    let chain = chain(&messages);
    assert_eq!(chain.sendable().mended, [], "nothing is left to mend");
    // At the end, where a kill leaves it; both calls.
    let bytes = format!("{A}\n{CALL}\n");
    let found = [("call-without-result", 2), ("call-without-result", 2)];
    let result = "The call was interrupted; there is no result.";
    check_case(bytes.as_bytes(), &found, &["one", "", result, result]);
}

#[test]
fn a_result_without_its_call() {
    let orphan = RESULT
        .replace(r#""id":"r""#, r#""id":"r2""#)
        .replace("t1", "t9");
    let bytes = format!("{A}\n{B}\n{orphan}\n{}\n", C.replace("\"b\"", "\"r2\""));
    check_case(
        bytes.as_bytes(),
        &[("result-without-call", 3)],
        &["one", "two", "three"],
    );
    // Beside other things it stays, and is just not sent.
    let mixed = orphan.replace("}]}", r#"},{"type":"text","text":"and"}]}"#);
    let bytes = format!("{A}\n{B}\n{mixed}\n");
    assert_eq!(fix(bytes.as_bytes()).file, bytes.as_bytes());
    let messages = decode(bytes.as_bytes()).messages;
    assert_eq!(chain(&messages).sendable().turns.len(), 3);
}

#[test]
fn empty_content() {
    let empty = B.replace(r#""two""#, r#""""#);
    let bytes = format!("{A}\n{empty}\n{C}\n");
    check_case(bytes.as_bytes(), &[("empty-content", 2)], &["one", "three"]);
    let none = B.replace(r#","content":"two""#, "");
    let bytes = format!("{A}\n{none}\n");
    check_case(bytes.as_bytes(), &[("empty-content", 2)], &["one"]);
}

#[test]
fn an_empty_file() {
    assert_eq!(codes(b""), [("empty-transcript".to_string(), 1)]);
    assert_eq!(
        fix(b""),
        Fixed {
            file: vec![],
            rest: vec![]
        }
    );
    assert_eq!(codes(b"\n\n"), [("empty-transcript".to_string(), 1)]);
}

#[test]
fn a_wrong_checksum() {
    let line = encode(&Message::user("a", "one"));
    let changed = line.replace("one", "two");
    let fixed = check_case(changed.as_bytes(), &[("wrong-crc", 1)], &["two"]);
    assert_eq!(fixed.rest, [changed.as_bytes()]);
    // Somebody wrote the fields in another order.
    let moved = r#"{"crc":"e6463f45","v":1,"type":"user","id":"a","content":"one"}"#;
    check_case(moved.as_bytes(), &[("wrong-crc", 1)], &["one"]);
    // Without one it is fine, and so is one in capitals.
    let seal = line.rfind("\"crc\":\"").unwrap() + 7;
    let capitals = format!(
        "{}{}{}",
        &line[..seal],
        line[seal..seal + 8].to_uppercase(),
        &line[seal + 8..]
    );
    assert_eq!(codes(capitals.as_bytes()), []);
}

#[test]
fn a_record_of_another_session() {
    let bytes = format!(
        "{A}\n{B}\n{}\n",
        C.replace(r#""session_id":"s""#, r#""session_id":"z""#)
    );
    assert_eq!(
        codes(bytes.as_bytes()),
        [("foreign-session".to_string(), 3)]
    );
    assert_eq!(fix(bytes.as_bytes()).file, bytes.as_bytes(), "only told");
}

#[test]
fn a_line_that_is_too_long() {
    let mut checker = Checker::default();
    checker.push(format!("{A}\n").as_bytes());
    checker.push_long(100_000_000, b"{\"content\":\"xxx");
    checker.push(C.as_bytes());
    let found: Vec<_> = checker.finish().problems;
    assert!(
        found[0]
            .message
            .contains(&format!("at byte {}, has 100000000 bytes", A.len() + 1))
    );
    let found: Vec<_> = found.iter().map(|odd| (&*odd.code, odd.line)).collect();
    assert_eq!(
        found,
        [("long-line", 2), ("unknown-parent", 3)],
        "nobody knows its name"
    );
}

#[test]
fn a_line_that_is_too_long_and_begins_with_its_names() {
    let mut checker = Checker::default();
    checker.push(format!("{A}\n").as_bytes());
    let cut = B.find("\"content\"").unwrap() + 12;
    checker.push_long(100_000_000, &B.as_bytes()[..cut]);
    checker.push(C.as_bytes());
    let checked = checker.finish();
    let codes: Vec<_> = checked
        .problems
        .iter()
        .map(|odd| (&*odd.code, odd.line))
        .collect();
    assert_eq!(codes, [("long-line", 2)], "what follows it stays linked");
    let now = "2026-11-15T18:17:00Z".parse().unwrap();
    let repair = checked.repair(&mut CountingIds::default(), now);
    let mended = repair.line(3, C.as_bytes());
    let line = String::from_utf8(mended.lines.into_owned()).unwrap();
    assert!(line.contains(r#""parent_id":"a""#), "{line}");
}

#[test]
fn a_file_of_nothing_but_damage_does_not_fill_the_memory() {
    let checked = check("x\n".repeat(30_000).as_bytes());
    assert_eq!(checked.problems.len(), 10_001);
    assert_eq!(checked.problems[10_000].code, "more-problems");
    assert_eq!(checked.lines, 30_000);
}

#[test]
fn much_damage_at_once() {
    let bytes = format!(
        "\0\0{A}\n{}{CALL}\n{}\nnot json\n{B}{B}\n{}",
        &B[..10],
        C.replace("\"b\"", "\"lost\""),
        &A[..9]
    );
    let fixed = fix(bytes.as_bytes());
    assert_eq!(codes(&fixed.file), []);
    let again = fix(&fixed.file);
    assert_eq!((again.file, again.rest), (fixed.file, vec![]));
}

/// A few records that hang together, with what real conversations hold.
fn records() -> Vec<String> {
    let mut lines = vec![A.to_string(), CALL.to_string(), RESULT.to_string()];
    lines.push(C.replace("\"b\"", "\"r\""));
    lines.push(r#"{"v":1,"type":"summary","id":"s1","parent_id":"c","text":"so far"}"#.into());
    lines.push(r#"{"v":1,"type":"compact_boundary","id":"x","parent_id":"s1","summary_id":"s1","kept_from":"c"}"#.into());
    lines.push(r#"{"v":1,"type":"progress","id":"p","parent_id":"x","content":"…"}"#.into());
    lines.push(r#"{"v":1,"type":"assistant","id":"d","parent_id":"x","content":"four é"}"#.into());
    lines.push(
        r#"{"v":1,"type":"tombstone","id":"t","parent_id":"d","target":"c","target_parent":"r"}"#
            .into(),
    );
    lines.push(r#"{"v":1,"type":"user","id":"g","agent_id":"helper","content":"side"}"#.into());
    lines
}

/// The records with damage: where, in thousandths of the file, of what kind, and a byte.
fn damaged(cuts: &[(usize, u8, u8)]) -> Vec<u8> {
    let mut bytes: Vec<u8> = records()
        .iter()
        .flat_map(|line| encode(&decode(line.as_bytes()).messages.remove(0)).into_bytes())
        .collect();
    for (place, kind, byte) in cuts {
        if bytes.is_empty() {
            break;
        }
        let at = place * bytes.len() / 1000;
        match kind {
            0 => bytes.truncate(at),
            1 => drop(bytes.remove(at)),
            2 => bytes.insert(at, *byte),
            3 => drop(bytes.splice(at..at, [0; 9])),
            4 => drop(bytes.drain(at..(at + 40).min(bytes.len()))),
            _ => bytes.extend_from_within(at..),
        }
    }
    bytes
}

/// What repair leaves as it is, and only tells.
const TOLD: [&str; 7] = [
    "unknown-type",
    "lone-surrogate",
    "foreign-session",
    "empty-transcript",
    "unknown-target",
    "unknown-kept-from",
    "result-without-call",
];

/// No line is thrown away, what is mended is in order but for what is only told, and it stays so.
#[track_caller]
fn check_damage(cuts: &[(usize, u8, u8)]) {
    let bytes = damaged(cuts);
    let fixed = fix(&bytes);
    let text = String::from_utf8_lossy(&fixed.file);
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    for line in lines.filter(|line| !line.trim_ascii().is_empty()) {
        let kept = fixed
            .file
            .split(|byte| *byte == b'\n')
            .any(|l| l.trim_ascii() == line.trim_ascii());
        assert!(
            kept || fixed.rest.contains(&line.to_vec()),
            "lost: {line:?}"
        );
    }
    for (code, line) in codes(&fixed.file) {
        assert!(TOLD.contains(&&*code), "{code} in {line}: {text}");
    }
    let again = fix(&fixed.file);
    assert_eq!(String::from_utf8_lossy(&again.file), text);
    assert!(again.rest.is_empty());
    let messages = decode(&fixed.file).messages;
    assert!(
        !messages
            .iter()
            .any(|message| matches!(&message.body, Body::State(_)))
    );
}

#[test]
fn a_parent_that_is_named_twice() {
    let twice = A.replace(
        r#""id":"a""#,
        r#""id":"a","parent_id":"lost","parent_id":"gone""#,
    );
    let bytes = format!("{twice}\n{B}\n");
    check_case(bytes.as_bytes(), &[("unknown-parent", 1)], &["one", "two"]);
}

#[test]
fn damage_that_once_needed_two_repairs() {
    check_damage(&[(241, 4, 0), (1, 1, 0)]);
    check_damage(&[(475, 2, 12)]);
}

/// Of a record that is there twice, one stays: what follows either of them must not become its parent.
#[test]
fn a_repeated_record_gets_no_parent_below_it() {
    let c = "{\"id\":\"c\",\"parent_id\":\"a\"}\n";
    let twice = "{\"id\":\"a\",\"parent_id\":\"lost\"}\n".repeat(2);
    for bytes in [
        format!("{{\"parent_id\":\"c\"}}\n{twice}{c}"),
        format!("{c}{c}{{\"id\":\"a\",\"parent_id\":\"c\"}}\n"),
    ] {
        let fixed = fix(bytes.as_bytes());
        let again = fix(&fixed.file);
        let text = |fixed: &Fixed| String::from_utf8_lossy(&fixed.file).into_owned();
        assert_eq!(text(&again), text(&fixed));
        assert!(
            codes(&fixed.file)
                .iter()
                .all(|(code, _)| code != "parent-cycle")
        );
    }
}

/// Progress follows its parent also when that gets a new name.
#[test]
fn progress_follows_a_renamed_parent() {
    let bytes = "{\"agent_id\":\"x\",\"id\":\"a\"}\n{\"id\":\"a\"}\n\
                 {\"type\":\"progress\",\"id\":\"p\",\"parent_id\":\"a\"}\n";
    let fixed = fix(bytes.as_bytes());
    let text = String::from_utf8_lossy(&fixed.file);
    assert!(
        text.contains("\"id\":\"p\",\"parent_id\":\"00000000-"),
        "{text}"
    );
    assert_eq!(
        fix(&fixed.file),
        Fixed {
            file: fixed.file.clone(),
            rest: vec![]
        }
    );
}

proptest! {
    /// Whatever happens to the bytes: nothing panics, and every line that was not touched is read.
    #[test]
    fn a_repaired_file_needs_no_repair(
        cuts in proptest::collection::vec((0..1000_usize, 0..6_u8, any::<u8>()), 1..5),
    ) {
        check_damage(&cuts);
    }
}
