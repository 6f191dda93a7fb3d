//! Pitfalls of real files, one test each. All of them are written by hand.

use analects_core::{CompactTrigger, Tree, UserSource};

use super::records::*;
use super::*;

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
fn texts_of_skills_stay_between_results() {
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
fn two_records_may_share_an_id() {
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
fn old_side_chains_are_between_other_records() {
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
fn files_of_sub_agents_name_their_agent() {
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
    let mut out = ReadOutput::default();
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
fn progress_is_never_a_parent() {
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
fn file_order_counts_and_not_time() {
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
fn user_messages_by_programs_are_marked() {
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
fn records_without_ids_get_stable_ids() {
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

pub(super) const SNAPSHOT: &str =
    "{\"type\":\"file-history-snapshot\",\"messageId\":\"u1\",\"snapshot\":{}}\n";

#[test]
fn early_messages_get_the_first_session() {
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
    let mut out = ReadOutput::default();
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
fn records_of_one_id_and_one_length_that_differ_are_both_kept() {
    let one = prompt("u1", "-");
    let file = [
        one.clone(),
        one.replace("Please.", "Thanks."),
        answer("u2", "u1", "r1", &text("Yes.")),
    ]
    .concat();
    let got = read(&file, false);
    let texts: Vec<String> = got.messages.iter().map(Message::text).collect();
    assert_eq!(texts, ["Please.", "Thanks.", "Yes."]);
    // Later references mean the nearest record before them.
    assert_eq!(parents(&got.messages)[2], "u1");
    assert_eq!(chain(&got.messages).messages.len(), 2);
    assert!(codes(&got).contains(&("duplicate-message-id", 2)));
}

#[test]
fn a_record_that_names_itself_follows_the_earlier_one_of_that_id() {
    let file = prompt("u1", "-") + &answer("u1", "u1", "r1", &text("Yes.")) + &prompt("u3", "u1");
    let got = read(&file, false);
    assert_eq!(parents(&got.messages), ["-", "u1", "u1"]);
    let chain = chain(&got.messages);
    let texts: Vec<String> = chain
        .messages
        .iter()
        .map(|message| message.text())
        .collect();
    assert_eq!(texts, ["Please.", "Yes.", "Please."]);
    assert!(chain.problems.iter().all(|odd| odd.code != "parent-cycle"));
}
