//! What real files hold, one named case each. All of it is written by hand.

use analects_core::{CompactTrigger, Content, Text, Tree, UserSource};

use super::*;

fn ids(messages: &[Message]) -> Vec<&str> {
    messages.iter().map(|message| &*message.id).collect()
}

fn parents(messages: &[Message]) -> Vec<&str> {
    messages
        .iter()
        .map(|message| message.parent_id.as_deref().unwrap_or("-"))
        .collect()
}

fn seen(messages: &[Message]) -> Vec<&str> {
    chain(messages)
        .messages
        .iter()
        .map(|message| &*message.id)
        .collect()
}

fn codes(got: &Read) -> Vec<(&str, usize)> {
    got.problems
        .iter()
        .map(|odd| (&*odd.code, odd.line))
        .collect()
}

fn extra<'a>(message: &'a Message, key: &str) -> Option<&'a str> {
    message.extra.get(key).map(|raw| raw.as_str())
}

/// A record of the main chain; `rest` is what else it says.
fn line(kind: &str, id: &str, parent: &str, rest: &str) -> String {
    let parent = if parent == "-" {
        "null".to_string()
    } else {
        format!("\"{parent}\"")
    };
    format!(
        r#"{{"parentUuid":{parent},"isSidechain":false,"sessionId":"s1","type":"{kind}","uuid":"{id}",{rest}}}"#
    ) + "\n"
}

fn prompt(id: &str, parent: &str) -> String {
    line(
        "user",
        id,
        parent,
        r#""message":{"role":"user","content":"Please."}"#,
    )
}

fn answer(id: &str, parent: &str, response: &str, block: &str) -> String {
    let usage = r#"{"input_tokens":5,"output_tokens":7}"#;
    let rest = format!(
        r#""message":{{"id":"{response}","type":"message","role":"assistant","model":"m","content":[{block}],"stop_reason":null,"usage":{usage}}}"#
    );
    line("assistant", id, parent, &rest)
}

fn text(said: &str) -> String {
    format!(r#"{{"type":"text","text":"{said}"}}"#)
}

fn call(id: &str) -> String {
    format!(r#"{{"type":"tool_use","id":"{id}","name":"Read","input":{{}}}}"#)
}

fn result(id: &str, parent: &str, call: &str) -> String {
    let block = format!(r#"{{"type":"tool_result","tool_use_id":"{call}","content":"ok"}}"#);
    let rest = format!(
        r#""message":{{"role":"user","content":[{block}]}},"toolUseResult":{{"stdout":"ok"}}"#
    );
    line("user", id, parent, &rest)
}

#[test]
fn one_answer_is_several_records() {
    let file = [
        prompt("u1", "-"),
        answer(
            "a1",
            "u1",
            "msg_1",
            r#"{"type":"thinking","thinking":"Hm.","signature":"sig"}"#,
        ),
        answer("a2", "a1", "msg_1", &text("Hello.")),
        answer("a3", "a2", "msg_1", &call("t1")),
        result("r1", "a3", "t1"),
    ]
    .concat();
    let got = read(&file, false);
    assert_eq!(codes(&got), []);
    assert_eq!(seen(&got.messages), ["u1", "a1", "a2", "a3", "r1"]);
    for answer in &got.messages[1..4] {
        assert_eq!(answer.response_id.as_deref(), Some("msg_1"));
        assert_eq!(answer.model.as_deref(), Some("m"));
        assert_eq!(answer.usage.as_ref().unwrap().output_tokens, Some(7));
        assert_eq!(
            extra(answer, "message"),
            Some(r#"{"type":"message","role":"assistant","stop_reason":null}"#)
        );
    }
    // A model reads one turn of it.
    assert_eq!(chain(&got.messages).sendable().turns.len(), 3);
}

#[test]
fn parallel_calls_keep_all_their_results() {
    let file = [
        prompt("u1", "-"),
        answer("a1", "u1", "msg_1", &call("t1")),
        answer("a2", "a1", "msg_1", &call("t2")),
        result("r1", "a1", "t1"),
        result("r2", "a2", "t2"),
        answer("b1", "r1", "msg_2", &text("Done.")),
    ]
    .concat();
    let got = read(&file, false);
    assert_eq!(parents(&got.messages), ["-", "u1", "a1", "a2", "r1", "r2"]);
    assert_eq!(chain(&got.messages).unpaired(), []);
    // What the record says instead is kept.
    assert_eq!(extra(&got.messages[3], "parentUuid"), Some("\"a1\""));
    assert_eq!(extra(&got.messages[1], "parentUuid"), None);
}

#[test]
fn calls_and_results_may_take_turns() {
    let file = [
        prompt("u1", "-"),
        answer("a1", "u1", "msg_1", &call("t1")),
        result("r1", "a1", "t1"),
        answer("a2", "a1", "msg_1", &call("t2")),
        result("r2", "a2", "t2"),
        answer("b1", "r2", "msg_2", &text("Done.")),
    ]
    .concat();
    let got = read(&file, false);
    assert_eq!(seen(&got.messages), ["u1", "a1", "r1", "a2", "r2", "b1"]);
    assert_eq!(chain(&got.messages).unpaired(), []);
}

#[test]
fn what_a_skill_says_stays_between_results() {
    let skill = r#""isMeta":true,"sourceToolUseID":"t1","message":{"role":"user","content":[{"type":"text","text":"How to."}]}"#;
    let file = [
        prompt("u1", "-"),
        answer("a1", "u1", "msg_1", &call("t1")),
        answer("a2", "a1", "msg_1", &call("t2")),
        result("r1", "a1", "t1"),
        line("user", "k1", "r1", skill),
        result("r2", "a2", "t2"),
        answer("b1", "r2", "msg_2", &text("Done.")),
    ]
    .concat();
    let got = read(&file, false);
    assert_eq!(
        seen(&got.messages),
        ["u1", "a1", "a2", "r1", "k1", "r2", "b1"]
    );
    let Body::User(user) = &got.messages[4].body else {
        panic!()
    };
    assert_eq!(user.source, Some(UserSource::Program));
}

#[test]
fn forks_share_a_prefix() {
    let file = [
        prompt("u1", "-"),
        answer("a1", "u1", "msg_1", &text("One.")),
        prompt("u2", "a1"),
        answer("a2", "u2", "msg_2", &text("Two.")),
        prompt("u3", "a1"),
        answer("a3", "u3", "msg_3", &text("Three.")),
        // An answer that was tried again.
        answer("a4", "u3", "msg_4", &text("Four.")),
    ]
    .concat();
    let got = read(&file, false);
    let tree = Tree::of(&got.messages);
    assert_eq!(tree.forks().collect::<Vec<_>>(), [1, 4]);
    assert_eq!(seen(&got.messages), ["u1", "a1", "u3", "a4"]);
}

#[test]
fn a_resumed_session_repeats_earlier_lines() {
    let first = [
        prompt("u1", "-"),
        answer("a1", "u1", "msg_1", &text("One.")),
    ]
    .concat();
    let again = first.replace("\"s1\"", "\"s2\"");
    let file = [
        first.clone(),
        again,
        prompt("u2", "a1").replace("\"s1\"", "\"s2\""),
    ]
    .concat();
    let got = read(&file, false);
    assert_eq!(seen(&got.messages), ["u1", "a1", "u2"]);
    assert_eq!(got.left_out, 2);
    assert_eq!(
        codes(&got),
        [("foreign-session", 3), ("repeated-records", 0)]
    );
    let all = read(&file, true);
    assert_eq!(all.messages.len(), 5);
    assert_eq!(seen(&all.messages), ["u1", "a1", "u2"]);
    assert_eq!(extra(&all.messages[2], "uuid"), Some("\"u1\""));
    assert!(
        extra(&all.messages[2], "message")
            .unwrap()
            .contains("Please.")
    );
    assert_eq!(chain(&all.messages).problems, []);
}

#[test]
fn a_name_may_be_used_for_two_records() {
    let other = prompt("u1", "-").replace("Please.", "Something else.");
    let got = read(
        [prompt("u1", "-"), other, prompt("u2", "u1")].concat(),
        false,
    );
    assert_eq!(codes(&got), [("duplicate-message-id", 2)]);
    assert_eq!(ids(&got.messages), ["u1", "u1", "u2"]);
}

#[test]
fn records_of_other_sessions_keep_their_session() {
    let foreign = prompt("x1", "-").replace("\"s1\"", "\"s0\"");
    let got = read(
        [prompt("u1", "-"), foreign, prompt("u2", "u1")].concat(),
        false,
    );
    let sessions: Vec<&str> = got
        .messages
        .iter()
        .map(|message| &*message.session_id)
        .collect();
    assert_eq!(sessions, ["s1", "s0", "s1"]);
    assert_eq!(codes(&got), [("foreign-session", 2)]);
    assert_eq!(seen(&got.messages), ["u1", "u2"]);
}

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
    let mut out = Read::default();
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
    let mut out = Read::default();
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
fn records_of_unknown_types_are_counted_or_kept() {
    let file = [
        prompt("u1", "-"),
        line("telepathy", "x1", "u1", r#""thought":{"deep":[1.50]}"#),
        answer("a1", "x1", "msg_1", &text("One.")),
        r#"{"type":"queue-operation","operation":"enqueue","sessionId":"s1"}"#.to_string() + "\n",
        r#"{"type":"file-history-snapshot","messageId":"u1","snapshot":{},"isSnapshotUpdate":false}"#.to_string() + "\n",
        r#"{"silly":"this"}"#.to_string() + "\n42\n",
    ]
    .concat();
    let got = read(&file, false);
    assert_eq!(seen(&got.messages), ["u1", "a1"]);
    assert_eq!(got.left_out, 5);
    assert_eq!(codes(&got), [("not-a-record", 7), ("left-out", 0)]);
    let told = &got.problems[1].message;
    assert!(
        told.ends_with(
            "1 file-history-snapshot, 1 no record, 1 no type, 1 queue-operation, 1 telepathy"
        ),
        "{told}"
    );
    let all = read(&file, true);
    assert_eq!(seen(&all.messages), ["u1", "a1"]);
    assert_eq!(all.messages.len(), 7);
    assert_eq!(
        extra(&all.messages[1], "thought"),
        Some(r#"{"deep":[1.50]}"#)
    );
    assert_eq!(extra(&all.messages[1], "type"), Some("\"telepathy\""));
    assert_eq!(chain(&all.messages).problems, []);
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
fn old_side_chains_stand_between_the_lines() {
    let side = |line: String| line.replace("\"isSidechain\":false", "\"isSidechain\":true");
    let file = [
        prompt("u1", "-"),
        answer("a1", "u1", "msg_1", &call("t1")),
        side(prompt("x1", "-")),
        side(answer("x2", "x1", "msg_2", &text("Looking."))),
        result("r1", "a1", "t1"),
        side(prompt("y1", "a1")),
    ]
    .concat();
    let got = read(&file, false);
    assert_eq!(seen(&got.messages), ["u1", "a1", "r1"]);
    let agents: Vec<_> = got
        .messages
        .iter()
        .map(|message| message.agent_id.as_deref())
        .collect();
    let (x, y) = (Some("sidechain-x1"), Some("sidechain-y1"));
    assert_eq!(agents, [None, None, x, x, None, y]);
    assert_eq!(got.messages[5].parent_id, None);
    assert_eq!(extra(&got.messages[5], "parentUuid"), Some("\"a1\""));
    assert_eq!(chain(&got.messages).problems, []);
}

#[test]
fn files_of_sub_agents_say_whose_they_are() {
    let side = |line: String| {
        line.replace(
            "\"isSidechain\":false",
            "\"isSidechain\":true,\"agentId\":\"a4f\"",
        )
    };
    let file = [
        side(prompt("x1", "-")),
        side(answer("x2", "x1", "msg_1", &text("Looking."))),
    ]
    .concat();
    let got = read(&file, false);
    for message in &got.messages {
        assert_eq!(
            (message.agent_id.as_deref(), &*message.session_id),
            (Some("a4f"), "s1")
        );
        assert_eq!(extra(message, "agentId"), None);
    }
    // Other programs name the main chain.
    let main = prompt("u1", "-").replace(
        "\"isSidechain\":false",
        "\"isSidechain\":false,\"agentId\":\"main\"",
    );
    let got = read(main, false);
    assert_eq!(got.messages[0].agent_id, None);
    assert_eq!(extra(&got.messages[0], "agentId"), Some("\"main\""));
}

#[test]
fn a_compaction_is_a_boundary_with_its_summary() {
    let boundary = r#""subtype":"compact_boundary","content":"Conversation compacted","logicalParentUuid":"a1","compactMetadata":{"trigger":"manual","preTokens":900,"postTokens":80}"#;
    let summary = r#""isCompactSummary":true,"isVisibleInTranscriptOnly":true,"message":{"role":"user","content":"We talked."}"#;
    let file = [
        prompt("u1", "-"),
        answer("a1", "u1", "msg_1", &text("One.")),
        line("system", "c1", "-", boundary),
        line("user", "s2", "c1", summary),
        prompt("u2", "s2"),
    ]
    .concat();
    let got = read(&file, false);
    assert_eq!(codes(&got), []);
    assert_eq!(parents(&got.messages), ["-", "u1", "a1", "c1", "s2"]);
    let Body::CompactBoundary(compaction) = &got.messages[2].body else {
        panic!()
    };
    assert_eq!(compaction.summary_id.as_deref(), Some("s2"));
    assert_eq!(compaction.trigger, Some(CompactTrigger::Manual));
    assert_eq!(
        (compaction.tokens_before, compaction.tokens_after),
        (Some(900), Some(80))
    );
    assert_eq!(seen(&got.messages), ["s2", "u2"]);
    assert_eq!(got.messages[3].text(), "We talked.");
}

#[test]
fn a_compaction_may_follow_what_is_elsewhere_and_lack_its_summary() {
    let boundary = r#""subtype":"compact_boundary","logicalParentUuid":"lost""#;
    let file = [
        prompt("u1", "-"),
        line("system", "c1", "-", boundary),
        prompt("u2", "c1"),
    ]
    .concat();
    let got = read(&file, false);
    assert_eq!(parents(&got.messages), ["-", "u1", "c1"]);
    assert_eq!(
        extra(&got.messages[1], "logicalParentUuid"),
        Some("\"lost\"")
    );
    assert_eq!(seen(&got.messages), ["u1", "u2"]);
    // One that never gets its summary holds nothing back for long.
    let many: String = (0..100).map(|at| prompt(&format!("v{at}"), "u2")).collect();
    let mut reader = SessionReader::new(&ReadOptions::named("talk.jsonl"));
    let mut out = Read::default();
    reader.feed([file, many].concat().as_bytes(), &mut out);
    assert_eq!(out.messages.len(), 103);
}

#[test]
fn a_small_compaction_is_a_notice() {
    let small = r#""subtype":"microcompact_boundary","content":"Context microcompacted","microcompactMetadata":{"preTokens":9}"#;
    let file = [
        prompt("u1", "-"),
        line("system", "n1", "u1", small),
        prompt("u2", "n1"),
    ]
    .concat();
    let got = read(&file, false);
    assert_eq!(parents(&got.messages), ["-", "u1", "n1"]);
    let Body::Notification(notice) = &got.messages[1].body else {
        panic!()
    };
    assert_eq!(
        (&*notice.kind, notice.content.text()),
        (
            "microcompact_boundary",
            "Context microcompacted".to_string()
        )
    );
    assert_eq!(
        extra(&got.messages[1], "microcompactMetadata"),
        Some("{\"preTokens\":9}")
    );
}

#[test]
fn progress_is_nobodys_parent() {
    let sign = r#""data":{"type":"bash_progress","output":"."},"toolUseID":"bash-1","parentToolUseID":"t1""#;
    let file = [
        prompt("u1", "-"),
        answer("a1", "u1", "msg_1", &call("t1")),
        line("progress", "p1", "a1", sign),
        line("progress", "p2", "p1", sign),
        result("r1", "a1", "t1"),
        answer("b1", "p2", "msg_2", &text("Done.")),
    ]
    .concat();
    for full in [false, true] {
        let got = read(&file, full);
        assert_eq!(seen(&got.messages), ["u1", "a1", "r1", "b1"]);
        assert_eq!(chain(&got.messages).problems, []);
    }
    let Body::Progress(progress) = &read(&file, true).messages[2].body else {
        panic!()
    };
    assert_eq!(progress.tool_use_id.as_deref(), Some("t1"));
    assert_eq!(
        progress.content.as_ref().unwrap().as_str(),
        r#"{"type":"bash_progress","output":"."}"#
    );
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
fn two_records_may_be_glued() {
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
fn depth_and_numbers_are_nobodys_problem() {
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
fn order_is_not_the_order_of_time() {
    let at = |line: String, time: &str| {
        line.replace("\"type\"", &format!("\"timestamp\":\"{time}\",\"type\""))
    };
    let file = [
        at(prompt("u1", "-"), "2026-01-02T00:00:01.500Z"),
        at(prompt("u2", "u1"), "2026-01-02T00:00:00.000Z"),
        at(prompt("u3", "u2"), "2026-01-02T01:00:00+01:00"),
        at(prompt("u4", "u3"), "soon"),
    ]
    .concat();
    let got = read(&file, false);
    assert_eq!(ids(&got.messages), ["u1", "u2", "u3", "u4"]);
    let times: Vec<_> = got
        .messages
        .iter()
        .map(|message| message.created_at.map(|time| time.to_string()))
        .collect();
    let nought = Some("2026-01-02T00:00:00Z".to_string());
    assert_eq!(
        times,
        [
            Some("2026-01-02T00:00:01.5Z".to_string()),
            nought.clone(),
            nought,
            None
        ]
    );
    // Only what Claude Code would write again is taken apart.
    assert_eq!(extra(&got.messages[1], "timestamp"), None);
    assert_eq!(
        extra(&got.messages[2], "timestamp"),
        Some("\"2026-01-02T01:00:00+01:00\"")
    );
    assert_eq!(extra(&got.messages[3], "timestamp"), Some("\"soon\""));
}

#[test]
fn synthetic_answers_and_errors_of_the_api_are_told_apart() {
    let rest = r#""isApiErrorMessage":true,"error":"rate_limit","message":{"id":"x","model":"<synthetic>","role":"assistant","content":[{"type":"text","text":"API Error"}],"usage":{"input_tokens":0,"output_tokens":0}}"#;
    let retry = r#""subtype":"api_error","level":"error","error":{"status":529},"retryAttempt":1"#;
    let file = [
        prompt("u1", "-"),
        line("system", "e1", "u1", retry),
        line("assistant", "a1", "e1", rest),
    ]
    .concat();
    let got = read(&file, false);
    assert_eq!(parents(&got.messages), ["-", "u1"]);
    assert!(got.messages[1].is_api_error_message);
    assert_eq!(got.messages[1].model.as_deref(), Some("<synthetic>"));
    assert_eq!(read(&file, true).messages.len(), 3);
}

#[test]
fn what_people_typed_is_told_from_what_programs_wrote() {
    let said = |id: &str, rest: &str, text: &str| {
        line(
            "user",
            id,
            "-",
            &format!(r#"{rest}"message":{{"role":"user","content":"{text}"}}"#),
        )
    };
    let file = [
        said("u1", "", "Please."),
        said("u2", r#""isMeta":true,"#, "Caveat."),
        said("u3", "", "<local-command-stdout>ok</local-command-stdout>"),
        said("u4", r#""origin":{"kind":"task-notification"},"#, "Done."),
        said(
            "u5",
            "",
            "<command-name>/review</command-name>\\n<command-args>all of it</command-args>",
        ),
        said(
            "u6",
            r#""isMeta":null,"#,
            "Say <command-name>x</command-name>.",
        ),
    ]
    .concat();
    let got = read(&file, false);
    let of = |message: &Message| match &message.body {
        Body::User(user) => (user.source.is_some(), user.command_name.clone()),
        _ => panic!(),
    };
    let told: Vec<_> = got.messages.iter().map(of).collect();
    let review = Some("/review".to_string());
    assert_eq!(
        told,
        [
            (false, None),
            (true, None),
            (true, None),
            (true, None),
            (false, review),
            (false, None)
        ]
    );
}

#[test]
fn attachments_and_prompts_in_the_queue_are_read() {
    let queued =
        r#""attachment":{"type":"queued_command","prompt":"And this.","commandMode":"prompt"}"#;
    let reminder = r#""attachment":{"type":"todo_reminder","content":[],"itemCount":0}"#;
    let listing = r#""attachment":{"type":"skill_listing","content":"- simplify","skillCount":1}"#;
    let file = [
        prompt("u1", "-"),
        line("attachment", "t1", "u1", listing),
        line("attachment", "t2", "t1", reminder),
        line("attachment", "t3", "t2", queued),
        answer("a1", "t3", "msg_1", &text("Both.")),
    ]
    .concat();
    let got = read(&file, false);
    assert_eq!(seen(&got.messages), ["u1", "t1", "t2", "t3", "a1"]);
    let Body::Attachment(attachment) = &got.messages[1].body else {
        panic!()
    };
    assert_eq!(
        (attachment.kind.as_str(), attachment.content.text()),
        ("skill_listing", "- simplify".to_string())
    );
    let Body::Attachment(attachment) = &got.messages[2].body else {
        panic!()
    };
    assert_eq!(attachment.kind.as_str(), "reminder");
    assert!(matches!(got.messages[3].body, Body::User(_)));
    assert_eq!(got.messages[3].text(), "And this.");
}

#[test]
fn titles_are_the_state_of_a_session() {
    let file = [
        r#"{"type":"summary","summary":"Another session","leafUuid":"elsewhere"}"#.to_string()
            + "\n",
        prompt("u1", "-"),
        r#"{"type":"ai-title","aiTitle":"Tea","sessionId":"s1"}"#.to_string() + "\n",
        r#"{"type":"custom-title","customTitle":"Green tea","sessionId":"s1"}"#.to_string() + "\n",
    ]
    .concat();
    let got = read(&file, false);
    let state = analects_core::SessionState::rebuild(&got.messages);
    assert_eq!(state.title.as_deref(), Some("Green tea"));
    assert_eq!(seen(&got.messages), ["u1"]);
    assert_eq!(got.left_out, 1);
}

#[test]
fn records_without_names_get_lasting_ones() {
    let file = "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"One\"}}\n{\"message\":{\"role\":\"assistant\",\"content\":\"Two\"},\"costUSD\":0.25,\"durationMs\":12}\n";
    let got = read(file, false);
    assert_eq!(got.messages, read(file, true).messages);
    assert_eq!(
        got.messages[1].parent_id.as_ref(),
        Some(&got.messages[0].id)
    );
    assert_eq!(
        (got.messages[1].cost_usd, got.messages[1].duration_ms),
        (Some(0.25), Some(12))
    );
    assert_eq!(
        got.messages[0].session_id,
        crate::msgfile::session_of("talk.jsonl")
    );
}

#[test]
fn problems_are_listed_up_to_a_limit() {
    let got = read("no\n".repeat(20_000), false);
    assert_eq!(got.problems.len(), 10_001);
    assert_eq!(got.problems[10_000].code, "more-problems");
}

const SNAPSHOT: &str =
    "{\"type\":\"file-history-snapshot\",\"messageId\":\"u1\",\"snapshot\":{}}\n";

#[test]
fn what_comes_before_the_first_session_is_of_it() {
    let summary = "{\"type\":\"summary\",\"summary\":\"Greetings\",\"leafUuid\":\"u1\"}\n";
    let got = read(format!("{SNAPSHOT}{summary}7\n{}", prompt("u1", "-")), true);
    assert_eq!(got.messages.len(), 4);
    assert_eq!(&*got.messages[3].id, "u1", "the order stays");
    for message in &got.messages {
        assert_eq!(&*message.session_id, "s1", "{message:?}");
    }
    // Also in pieces of one byte, and when nobody ever says which session it is.
    let bytes = format!("{SNAPSHOT}{summary}7\n{}", prompt("u1", "-"));
    let mut reader = Box::new(SessionReader::new(&ReadOptions {
        full: true,
        ..ReadOptions::named("talk.jsonl")
    }));
    let mut out = Read::default();
    bytes
        .as_bytes()
        .chunks(1)
        .for_each(|piece| reader.feed(piece, &mut out));
    reader.finish(&mut out);
    assert_eq!(out.messages, got.messages);
    let got = read(SNAPSHOT.repeat(2), true);
    assert_eq!(got.messages.len(), 2);
    assert_eq!(got.messages[0].session_id, got.messages[1].session_id);
}

#[test]
fn a_session_is_waited_for_only_so_long() {
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
        let mut out = Read::default();
        reader.feed(bytes.as_bytes(), &mut out);
        assert!(!out.messages.is_empty(), "everything is held in memory");
        let lines = bytes.lines().count();
        reader.feed(prompt("u1", "-").as_bytes(), &mut out);
        reader.finish(&mut out);
        assert_eq!(out.messages.len(), lines + 1);
    }
}
