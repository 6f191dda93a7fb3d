//! Usage, counted by hand, and how confident the format is of a file.

use super::super::usage::{TokenSums, UsageTotals};
use super::*;

/// A record of an answer: its name, its output, and what else it took.
fn answer(uuid: &str, response: &str, output: u64, model: &str) -> String {
    format!(
        r#"{{"type":"assistant","uuid":"{uuid}","sessionId":"s1","timestamp":"2026-01-02T00:00:0{output}.000Z","message":{{"id":"{response}","role":"assistant","model":"{model}","content":[],"usage":{{"input_tokens":3,"output_tokens":{output},"cache_creation_input_tokens":40,"cache_read_input_tokens":500,"cache_creation":{{"ephemeral_5m_input_tokens":30,"ephemeral_1h_input_tokens":10}}}}}}}}"#
    ) + "\n"
}

fn progress(uuid: &str, response: &str, output: u64) -> String {
    let usage =
        format!(r#"{{"input_tokens":1,"output_tokens":{output},"cache_read_input_tokens":20}}"#);
    let said = format!(
        r#"{{"id":"{response}","role":"assistant","model":"small","content":[],"usage":{usage}}}"#
    );
    let data = format!(
        r#"{{"type":"agent_progress","agentId":"a1","message":{{"type":"assistant","uuid":"x-{uuid}","message":{said}}}}}"#
    );
    format!(r#"{{"type":"progress","uuid":"{uuid}","sessionId":"s1","data":{data}}}"#) + "\n"
}

fn totals(files: &[String]) -> UsageTotals {
    let mut totals = UsageTotals::default();
    for file in files {
        read(file, true)
            .messages
            .iter()
            .for_each(|message| totals.add(message));
    }
    totals
}

#[test]
fn an_answer_is_counted_once_with_its_largest_output() {
    // Three records of one answer, of which the second knows the end; and one of another.
    let file = [
        answer("a1", "msg_1", 1, "large"),
        answer("a2", "msg_1", 9, "large"),
        answer("a3", "msg_1", 4, "large"),
        answer("b1", "msg_2", 2, "large"),
    ];
    let totals = totals(&[file.concat()]);
    let sum = totals.sum();
    let expected = TokenSums {
        answers: 2,
        input: 6,
        output: 11,
        cache_creation: 80,
        cache_creation_1h: 20,
        cache_read: 1000,
    };
    assert_eq!(sum, expected);
    // It is dated by its first record.
    let (_, first) = totals.answers().find(|(name, _)| *name == "msg_1").unwrap();
    assert_eq!(first.at.unwrap().to_string(), "2026-01-02T00:00:01Z");
}

#[test]
fn sub_agents_are_counted_once_over_all_files() {
    let session = [
        answer("a1", "msg_1", 1, "large"),
        progress("p1", "msg_s", 1),
        progress("p2", "msg_s", 5),
    ];
    // The same answer of the sub-agent in its own file, and the session copied when it was resumed.
    let sub_agent = answer("s1", "msg_s", 7, "small");
    let resumed = session
        .concat()
        .replace("\"sessionId\":\"s1\"", "\"sessionId\":\"s2\"");
    let totals = totals(&[session.concat(), sub_agent, resumed]);
    let models = totals.by_model();
    assert_eq!((models["large"].output, models["large"].answers), (1, 1));
    // The record with the largest output counts, with all that it says.
    assert_eq!(
        (
            models["small"].output,
            models["small"].input,
            models["small"].answers
        ),
        (7, 3, 1)
    );
    assert_eq!((totals.sum().output, totals.sum().cache_read), (8, 1000));
}

#[test]
fn sub_agents_in_progress_records_are_counted() {
    let file = [
        answer("a1", "msg_1", 1, "large"),
        progress("p1", "msg_s", 5),
    ]
    .concat();
    let mut totals = UsageTotals::default();
    read(file, false)
        .messages
        .iter()
        .for_each(|message| totals.add(message));
    assert_eq!((totals.sum().answers, totals.sum().output), (2, 6));
}

#[test]
fn made_up_and_nameless_answers_are_told_apart() {
    let nameless = answer("a1", "", 2, "large");
    let synthetic = answer("a2", "x", 3, "<synthetic>");
    let strange =
        answer("a3", "msg_3", 4, "large").replace("\"output_tokens\":4", "\"output_tokens\":\"4\"");
    // A record without a name for its answer counts by its own.
    let totals = totals(&[[nameless.clone(), synthetic, strange].concat(), nameless]);
    assert_eq!((totals.sum().answers, totals.sum().output), (2, 2));
}

#[test]
fn sums_do_not_overflow() {
    let most = answer("a1", "msg_1", 1, "m").replace(
        "\"output_tokens\":1",
        &format!("\"output_tokens\":{}", u64::MAX),
    );
    let totals = totals(&[
        most.clone(),
        most.replace("msg_1", "msg_2").replace("\"a1\"", "\"a2\""),
    ]);
    assert_eq!(totals.sum().output, u64::MAX);
}

fn sure(head: impl AsRef<[u8]>) -> Confidence {
    ClaudeCodeFormat.recognise(head.as_ref(), "x.jsonl")
}

#[test]
fn a_session_is_recognised_by_its_lines() {
    let record = answer("a1", "msg_1", 1, "m");
    let snapshot = r#"{"type":"file-history-snapshot","messageId":"m","snapshot":{},"isSnapshotUpdate":false}"#;
    let summary = r#"{"type":"summary","summary":"Tea","leafUuid":"x"}"#;
    let mode = r#"{"type":"permission-mode","permissionMode":"default","sessionId":"s"}"#;
    let marked = format!("\u{feff}{record}");
    for head in [
        &record,
        snapshot,
        summary,
        mode,
        &marked,
        &format!("torn\n\0\0\n{record}"),
    ] {
        assert_eq!(sure(head), Confidence::Yes, "{head}");
    }
    // The first line is longer than what is shown of it.
    let picture = "A".repeat(70_000);
    let long = format!(
        r#"{{"parentUuid":null,"sessionId":"s","type":"user","message":{{"content":"{picture}"#
    );
    assert_eq!(sure(long), Confidence::Yes);
    let untyped = r#"{"sessionId":"s","message":{"role":"user","content":"Hello"}}"#;
    assert_eq!(sure(untyped), Confidence::Maybe);
}

#[test]
fn files_of_other_programs_are_not_recognised() {
    for head in [
        "",
        "Hello",
        "# %%\n\nHello\n",
        "[1, 2]",
        "{\n  \"sessionId\": \"s\",\n  \"messages\": [{\"id\": \"x\", \"type\": \"user\"}]\n}\n",
        "{\"v\":1,\"type\":\"user\",\"id\":\"a\",\"session_id\":\"s\",\"content\":\"one\"}\n",
        "{\"timestamp\":\"t\",\"type\":\"response_item\",\"payload\":{\"type\":\"message\"}}\n",
        "{\"type\":\"session\",\"id\":\"s\",\"timestamp\":\"t\",\"cwd\":\"/\"}\n",
        "{\"type\":\"message\",\"timestamp\":\"t\",\"message\":{\"role\":\"user\"}}\n",
        "{\"messages\":[{\"role\":\"user\",\"content\":\"Hello\"}]}\n",
    ] {
        assert_eq!(sure(head), Confidence::No, "{head}");
    }
    let by_name = |name| ClaudeCodeFormat.recognise(b"", name);
    assert_eq!(
        by_name("~/.claude/projects/-work/0197.jsonl"),
        Confidence::ByName
    );
    assert_eq!(
        by_name("C:\\Users\\me\\.claude\\projects\\x\\0197.jsonl"),
        Confidence::ByName
    );
}
