//! Repairs of damaged sessions. What changes is compared line by line, as bytes.

use analects_core::{CountingIds, Severity};
use jiff::Timestamp;
use proptest::prelude::*;

use super::records::*;
use super::*;
use crate::convert::Format;

/// A repaired file, the old lines that it does not have as they were, and what was changed in which line.
#[derive(Debug, Default)]
struct Repaired {
    file: Vec<u8>,
    rest: Vec<u8>,
    changes: Vec<(usize, String)>,
}

fn repair(file: &[u8]) -> Repaired {
    let mut check = ClaudeCodeFormat.repair("s.jsonl").unwrap();
    for line in file.split_inclusive(|byte| *byte == b'\n') {
        check.push(line);
    }
    let (_, plan) = check.finish(&mut CountingIds::default(), Timestamp::UNIX_EPOCH);
    let mut repaired = Repaired::default();
    for (at, line) in file.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let new = plan.line(at + 1, line);
        repaired.file.extend_from_slice(&new.lines);
        if new.is_aside {
            repaired.rest.extend_from_slice(line);
        }
        let changes = new.changes.into_iter();
        repaired.changes.extend(changes.map(|text| (at + 1, text)));
    }
    repaired.file.extend_from_slice(plan.end().as_bytes());
    repaired
}

/// Repairs a file, and checks what must hold for each: the new file is read without errors, another repair changes
/// nothing, and each old line is in one of the files.
fn check(file: &[u8]) -> Repaired {
    let repaired = repair(file);
    let text = String::from_utf8(repaired.file.clone()).unwrap();
    let again = repair(&repaired.file);
    assert_eq!(again.changes, [], "{text}");
    assert_eq!(again.file, repaired.file);
    let errors = read(&text, true).problems;
    let errors: Vec<_> = errors
        .iter()
        .filter(|odd| odd.severity == Severity::Error)
        .collect();
    assert!(errors.is_empty(), "{errors:?}\n{text}");
    let kept = [&repaired.file[..], b"\n", &repaired.rest].concat();
    let kept: Vec<&[u8]> = kept.split(|byte| *byte == b'\n').collect();
    for line in file.split(|byte| *byte == b'\n') {
        assert!(kept.contains(&line), "{}", String::from_utf8_lossy(line));
    }
    repaired
}

/// Three records that need no repair.
fn intact() -> [String; 3] {
    [
        prompt("u1", "-"),
        answer("a1", "u1", "r1", &text("Yes.")),
        prompt("u2", "a1"),
    ]
}

fn words(repaired: &Repaired) -> Vec<(usize, &str)> {
    repaired
        .changes
        .iter()
        .map(|(line, text)| (*line, text.as_str()))
        .collect()
}

#[test]
fn an_intact_session_stays_byte_for_byte() {
    let mut file = intact().concat();
    file.insert(0, '\u{feff}');
    file +=
        "\n{ \"type\": \"file-history-snapshot\", \"messageId\": \"x\", \"n\": 1e-09 }\r\n[1, 2]\n";
    let repaired = check(file.as_bytes());
    assert_eq!(words(&repaired), []);
    assert_eq!(repaired.file, file.as_bytes());
    assert!(repaired.rest.is_empty());
}

#[test]
fn a_torn_last_line_is_left_out() {
    let [one, two, three] = intact();
    let file = [&one, &two, &three[..40]].concat();
    let repaired = check(file.as_bytes());
    assert_eq!(repaired.file, [one, two].concat().as_bytes());
    assert_eq!(repaired.rest, &three.as_bytes()[..40]);
    assert_eq!(
        words(&repaired),
        [(3, "it was cut off while it was written; left out")]
    );
}

#[test]
fn joined_records_get_lines_of_their_own() {
    let [one, two, three] = intact();
    let file = [one.trim_end(), &two, &three].concat();
    let repaired = check(file.as_bytes());
    assert_eq!(repaired.file, intact().concat().as_bytes());
    assert_eq!(
        words(&repaired),
        [(1, "its 2 records got lines of their own")]
    );
    // The beginning of a record that was cut off stands before another one.
    let file = [&one[..30], &two, &three].concat();
    let repaired = check(file.as_bytes());
    let root = two.replace("\"parentUuid\":\"u1\"", "\"parentUuid\":null");
    assert_eq!(repaired.file, [root, three].concat().as_bytes());
    assert_eq!(
        words(&repaired),
        [
            (1, "a part that is no record was left out"),
            (1, "it now follows no record")
        ]
    );
}

#[test]
fn zeros_go_and_what_is_around_them_stays() {
    let [one, two, three] = intact();
    let file = [
        one.as_bytes(),
        b"\0\0\0",
        two.as_bytes(),
        b"\0\0\n",
        three.as_bytes(),
    ]
    .concat();
    let repaired = check(&file);
    assert_eq!(repaired.file, intact().concat().as_bytes());
    assert_eq!(
        words(&repaired),
        [
            (2, "zeros in it were removed"),
            (3, "it holds nothing but zeros; left out")
        ]
    );
}

#[test]
fn bytes_that_are_not_utf8_are_replaced() {
    let [one, two, three] = intact();
    let at = one.find("Please").unwrap();
    let file = [
        &one.as_bytes()[..at],
        b"\xff\xfe",
        &one.as_bytes()[at..],
        two.as_bytes(),
        three.as_bytes(),
    ];
    let repaired = check(&file.concat());
    let expected = one.replace("Please", "\u{fffd}\u{fffd}Please");
    assert_eq!(repaired.file, [expected, two, three].concat().as_bytes());
    assert_eq!(
        words(&repaired),
        [(1, "bytes that are not UTF-8 became U+FFFD")]
    );
}

#[test]
fn halves_of_surrogate_pairs_are_replaced_in_place() {
    let [one, two, three] = intact();
    let broken = one.replace("Please", "\\ud83d \\ud83d\\ude00 Please");
    let repaired = check([broken.as_str(), &two, &three].concat().as_bytes());
    let expected = broken.replacen("\\ud83d ", "\\ufffd ", 1);
    assert_eq!(repaired.file, [expected, two, three].concat().as_bytes());
    assert_eq!(repaired.rest, broken.as_bytes());
}

#[test]
fn a_lost_parent_is_replaced_by_the_record_before() {
    let [one, _, three] = intact();
    let repaired = check([one.as_str(), &three].concat().as_bytes());
    let expected = three.replace("\"parentUuid\":\"a1\"", "\"parentUuid\":\"u1\"");
    assert_eq!(repaired.file, [one, expected].concat().as_bytes());
    assert_eq!(words(&repaired), [(2, "it now follows u1")]);
    assert_eq!(repaired.rest, three.as_bytes());
}

#[test]
fn a_lost_parent_of_a_side_chain_is_not_looked_for_in_the_main_chain() {
    let side = |line: String, agent: &str| {
        let flag = format!("\"isSidechain\":true,\"agentId\":\"{agent}\"");
        line.replace("\"isSidechain\":false", &flag)
    };
    let file = [
        prompt("u1", "-"),
        side(prompt("s1", "-"), "x"),
        prompt("u2", "u1"),
        side(prompt("s3", "s2"), "x"),
        side(prompt("t1", "t0"), "y"),
    ];
    let repaired = check(file.concat().as_bytes());
    assert_eq!(
        words(&repaired),
        [(4, "it now follows s1"), (5, "it now follows no record")]
    );
}

#[test]
fn a_circle_of_parents_is_cut() {
    let file = [
        prompt("u1", "u2"),
        answer("u2", "u1", "r1", &text("Yes.")),
        prompt("u3", "u2"),
    ];
    let repaired = check(file.concat().as_bytes());
    assert_eq!(words(&repaired), [(1, "it now follows no record")]);
}

#[test]
fn a_second_record_with_an_id_gets_another_one() {
    let file = [
        prompt("u1", "-"),
        answer("u1", "u1", "r1", &text("Yes.")),
        prompt("u3", "u1"),
    ];
    let repaired = check(file.concat().as_bytes());
    let new = "00000000-0000-7000-8000-000000000001";
    let expected = [
        file[0].clone(),
        file[1].replace("\"uuid\":\"u1\"", &format!("\"uuid\":\"{new}\"")),
        file[2].replace(
            "\"parentUuid\":\"u1\"",
            &format!("\"parentUuid\":\"{new}\""),
        ),
    ];
    assert_eq!(repaired.file, expected.concat().as_bytes());
}

#[test]
fn copies_of_records_stay() {
    let file = [intact().concat(), intact().concat()].concat();
    let repaired = check(file.as_bytes());
    assert_eq!(repaired.file, file.as_bytes());
}

#[test]
fn a_call_without_a_result_gets_one_behind_its_answer() {
    let file = [
        prompt("u1", "-"),
        answer("a1", "u1", "r1", &call("t1")),
        answer("a2", "a1", "r1", &call("t2")),
        prompt("u2", "a2"),
    ];
    let repaired = check(file.concat().as_bytes());
    let text = String::from_utf8(repaired.file.clone()).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    assert_eq!(lines.len(), 6);
    assert_eq!(lines[..3], file[..3]);
    let first: serde_json::Value = serde_json::from_str(lines[3]).unwrap();
    let second: serde_json::Value = serde_json::from_str(lines[4]).unwrap();
    assert_eq!(first["parentUuid"], "a2");
    assert_eq!(first["sessionId"], "s1");
    assert_eq!(first["message"]["content"][0]["tool_use_id"], "t1");
    assert_eq!(first["message"]["content"][0]["is_error"], true);
    assert_eq!(second["parentUuid"], first["uuid"]);
    assert_eq!(second["message"]["content"][0]["tool_use_id"], "t2");
    let last = second["uuid"].as_str().unwrap();
    assert_eq!(lines[5], file[3].replace("\"a2\"", &format!("\"{last}\"")));
    let got = read(&text, false);
    assert_eq!(codes(&got), []);
    assert_eq!(seen(&got.messages).len(), 6);
}

#[test]
fn a_call_at_the_end_of_a_killed_session_gets_a_result() {
    let file = [prompt("u1", "-"), answer("a1", "u1", "r1", &call("t1"))].concat();
    let repaired = check(file.trim_end().as_bytes());
    assert!(repaired.file.starts_with(file.as_bytes()));
    assert!(repaired.rest.is_empty());
    assert_eq!(
        words(&repaired),
        [(2, "after it, a result says that call t1 was interrupted")]
    );
}

#[test]
fn a_result_without_a_call_is_left_out() {
    let mixed = line(
        "user",
        "u3",
        "r2",
        r#""message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t8","content":"x"}, {"type":"text","text":"And?"}]}"#,
    );
    let file = [
        prompt("u1", "-"),
        result("r1", "u1", "t9"),
        prompt("r2", "r1"),
        mixed.clone(),
    ];
    let repaired = check(file.concat().as_bytes());
    let kept = mixed.replace(
        r#"[{"type":"tool_result","tool_use_id":"t8","content":"x"}, {"#,
        "[{",
    );
    let moved = file[2].replace("\"parentUuid\":\"r1\"", "\"parentUuid\":\"u1\"");
    let expected = [file[0].clone(), moved, kept];
    assert_eq!(repaired.file, expected.concat().as_bytes());
    assert_eq!(repaired.rest, file[1..].concat().as_bytes());
    assert_eq!(
        words(&repaired),
        [
            (
                2,
                "it has only results of calls that are not there (t9); left out"
            ),
            (3, "it now follows u1"),
            (4, "the result of call t8, which is not there, was left out"),
        ]
    );
}

/// A session with calls, side chains and records beside the conversation, one line each.
fn session() -> Vec<String> {
    let mut lines = vec![prompt("u0", "-")];
    let mut last = "u0".to_string();
    for at in 1..6 {
        let (asked, said, called, given) = (
            format!("u{at}"),
            format!("a{at}"),
            format!("c{at}"),
            format!("g{at}"),
        );
        lines.push(prompt(&asked, &last));
        lines.push(answer(
            &said,
            &asked,
            &format!("r{at}"),
            &text("Let me see."),
        ));
        lines.push(answer(
            &called,
            &said,
            &format!("r{at}"),
            &call(&format!("t{at}")),
        ));
        lines.push("{\"type\":\"file-history-snapshot\",\"messageId\":\"x\"}\n".to_string());
        lines.push(result(&given, &called, &format!("t{at}")));
        last = given;
    }
    lines
}

proptest! {
    #[test]
    fn any_damage_is_repaired(
        damage in prop::collection::vec((any::<prop::sample::Index>(), 0..7_usize), 0..4),
    ) {
        let mut lines: Vec<Vec<u8>> = session().into_iter().map(String::into_bytes).collect();
        for (place, kind) in damage {
            let at = place.index(lines.len());
            let middle = lines[at].len() / 2;
            match kind {
                0 => _ = lines.remove(at),
                1 => _ = lines[at].pop(),
                2 => lines[at].truncate(middle),
                3 => _ = lines[at].splice(middle..middle, [0, 0, 0]),
                4 => _ = lines[at].splice(middle..middle, [0xff]),
                5 => lines.insert(at, b"\0\0\0\n".to_vec()),
                _ => lines.insert(at, lines[place.index(lines.len())].clone()),
            }
        }
        check(&lines.concat());
    }
}
