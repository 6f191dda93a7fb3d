//! Conversations of sub-agents: in progress records, in files of their own, and in both.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use analects_core::{Block, Content, CountingIds};
use analects_testkit::skip;
use serde_json::Value;

use super::records::*;
use super::restore::{record, without_made_up};
use super::*;
use crate::msgfile;

/// A session whose two sub-agents work side by side, as versions before 2.1.177 write it.
const SESSION: &str = concat!(
    r#"{"parentUuid":null,"isSidechain":false,"sessionId":"s1","type":"user","uuid":"u1","timestamp":"2026-03-01T08:00:00.000Z","message":{"role":"user","content":"Count the birds."}}"#,
    "\n",
    r#"{"parentUuid":"u1","isSidechain":false,"sessionId":"s1","type":"assistant","uuid":"a1","timestamp":"2026-03-01T08:00:01.000Z","message":{"id":"msg_1","type":"message","role":"assistant","model":"large","content":[{"type":"tool_use","id":"toolu_1","name":"Task","input":{"prompt":"Count the gulls."}}],"stop_reason":null,"usage":{"input_tokens":5,"output_tokens":7}}}"#,
    "\n",
    r#"{"parentUuid":"a1","isSidechain":false,"sessionId":"s1","type":"assistant","uuid":"a2","timestamp":"2026-03-01T08:00:01.100Z","message":{"id":"msg_1","type":"message","role":"assistant","model":"large","content":[{"type":"tool_use","id":"toolu_2","name":"Task","input":{"prompt":"Count the terns."}}],"stop_reason":"tool_use","usage":{"input_tokens":5,"output_tokens":7}}}"#,
    "\n",
    r#"{"parentUuid":"a1","isSidechain":false,"sessionId":"s1","slug":"grey-gull","type":"progress","data":{"message":{"type":"user","message":{"role":"user","content":[{"type":"text","text":"Count the gulls."}]},"uuid":"g1","timestamp":"2026-03-01T08:00:02.000Z"},"normalizedMessages":[],"type":"agent_progress","prompt":"Count the gulls.","agentId":"gulls"},"toolUseID":"agent_msg_1","parentToolUseID":"toolu_1","uuid":"p1","timestamp":"2026-03-01T08:00:02.003Z"}"#,
    "\n",
    r#"{"parentUuid":"a2","isSidechain":false,"sessionId":"s1","type":"progress","data":{"message":{"type":"user","message":{"role":"user","content":"Count the terns."},"uuid":"t1","timestamp":"2026-03-01T08:00:02.100Z"},"type":"agent_progress","prompt":"Count the terns.","agentId":"terns"},"toolUseID":"agent_msg_2","parentToolUseID":"toolu_2","uuid":"p2","timestamp":"2026-03-01T08:00:02.103Z"}"#,
    "\n",
    r#"{"parentUuid":"p1","isSidechain":false,"sessionId":"s1","type":"progress","data":{"message":{"type":"assistant","timestamp":"2026-03-01T08:00:03.000Z","message":{"model":"small","id":"msg_g","type":"message","role":"assistant","content":[{"type":"tool_use","id":"toolu_g","name":"Bash","input":{"command":"echo 8"}}],"stop_reason":null,"usage":{"input_tokens":3,"output_tokens":2}},"requestId":"req_g","uuid":"g2"},"normalizedMessages":[],"type":"agent_progress","prompt":"","agentId":"gulls"},"toolUseID":"agent_msg_1","parentToolUseID":"toolu_1","uuid":"p3","timestamp":"2026-03-01T08:00:03.001Z"}"#,
    "\n",
    r#"{"parentUuid":"p3","isSidechain":false,"sessionId":"s1","type":"progress","data":{"type":"bash_progress","output":"8"},"toolUseID":"bash-progress-0","parentToolUseID":"toolu_g","uuid":"p4","timestamp":"2026-03-01T08:00:03.500Z"}"#,
    "\n",
    r#"{"parentUuid":"p4","isSidechain":false,"sessionId":"s1","type":"progress","data":{"message":{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_g","type":"tool_result","content":"8","is_error":false}]},"uuid":"g3","timestamp":"2026-03-01T08:00:04.000Z","toolUseResult":{"stdout":"8"}},"normalizedMessages":[],"type":"agent_progress","prompt":"","agentId":"gulls"},"toolUseID":"agent_msg_1","parentToolUseID":"toolu_1","uuid":"p5","timestamp":"2026-03-01T08:00:04.001Z"}"#,
    "\n",
    r#"{"parentUuid":"p2","isSidechain":false,"sessionId":"s1","type":"progress","data":{"message":{"type":"assistant","timestamp":"2026-03-01T08:00:04.100Z","message":{"model":"small","id":"msg_t","type":"message","role":"assistant","content":[{"type":"text","text":"2 terns."}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":4}},"uuid":"t2"},"type":"agent_progress","prompt":"","agentId":"terns"},"toolUseID":"agent_msg_2","parentToolUseID":"toolu_2","uuid":"p6","timestamp":"2026-03-01T08:00:04.101Z"}"#,
    "\n",
    r#"{"parentUuid":"p6","isSidechain":false,"sessionId":"s1","type":"user","uuid":"r2","timestamp":"2026-03-01T08:00:05.000Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_2","content":"2 terns."}]},"toolUseResult":{"agentId":"terns"}}"#,
    "\n",
    r#"{"parentUuid":"p5","isSidechain":false,"sessionId":"s1","type":"user","uuid":"r1","timestamp":"2026-03-01T08:00:05.100Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"8 gulls."}]},"toolUseResult":{"agentId":"gulls"}}"#,
    "\n",
    r#"{"parentUuid":"r1","isSidechain":false,"sessionId":"s1","type":"assistant","uuid":"b1","timestamp":"2026-03-01T08:00:06.000Z","message":{"id":"msg_2","type":"message","role":"assistant","model":"large","content":[{"type":"text","text":"8 gulls, 2 terns."}],"stop_reason":"end_turn","usage":{"input_tokens":9,"output_tokens":6}}}"#,
    "\n",
);

/// The file of the first sub-agent, which has one record more than the session reports.
const GULLS: &str = concat!(
    r#"{"parentUuid":null,"isSidechain":true,"agentId":"gulls","sessionId":"s1","type":"user","uuid":"g1","timestamp":"2026-03-01T08:00:02.000Z","message":{"role":"user","content":"Count the gulls."}}"#,
    "\n",
    r#"{"parentUuid":"g1","isSidechain":true,"agentId":"gulls","sessionId":"s1","type":"assistant","uuid":"g2","timestamp":"2026-03-01T08:00:03.000Z","message":{"model":"small","id":"msg_g","type":"message","role":"assistant","content":[{"type":"tool_use","id":"toolu_g","name":"Bash","input":{"command":"echo 8"}}],"stop_reason":"tool_use","usage":{"input_tokens":3,"output_tokens":20}}}"#,
    "\n",
    r#"{"parentUuid":"g2","isSidechain":true,"agentId":"gulls","sessionId":"s1","type":"user","uuid":"g3","timestamp":"2026-03-01T08:00:04.000Z","message":{"role":"user","content":[{"tool_use_id":"toolu_g","type":"tool_result","content":"8","is_error":false}]}}"#,
    "\n",
    r#"{"parentUuid":"g3","isSidechain":true,"agentId":"gulls","sessionId":"s1","type":"assistant","uuid":"g4","timestamp":"2026-03-01T08:00:05.000Z","message":{"model":"small","id":"msg_h","type":"message","role":"assistant","content":[{"type":"text","text":"8 gulls."}],"stop_reason":"end_turn","usage":{"input_tokens":4,"output_tokens":3}}}"#,
    "\n",
);

/// How much one sub-agent says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Counts {
    users: usize,
    assistants: usize,
    calls: usize,
    results: usize,
}

/// Counts what each sub-agent says in the text of a file, without the reader: each record by its own id, once.
fn counted(text: &str) -> BTreeMap<String, Counts> {
    let mut known = BTreeSet::new();
    let mut counts: BTreeMap<String, Counts> = BTreeMap::new();
    for line in text.lines() {
        let Ok(line) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        let (agent, record) = if line["data"]["type"] == "agent_progress" {
            (&line["data"]["agentId"], &line["data"]["message"])
        } else if line["isSidechain"] == true && line["agentId"].is_string() {
            (&line["agentId"], &line)
        } else {
            continue;
        };
        let is_new = record["uuid"]
            .as_str()
            .is_none_or(|id| known.insert(id.to_string()));
        let count = counts
            .entry(agent.as_str().unwrap_or_default().to_string())
            .or_default();
        match record["type"].as_str() {
            Some("user") if is_new => count.users += 1,
            Some("assistant") if is_new => count.assistants += 1,
            _ => continue,
        }
        for block in record["message"]["content"]
            .as_array()
            .into_iter()
            .flatten()
        {
            count.calls += usize::from(block["type"] == "tool_use");
            count.results += usize::from(block["type"] == "tool_result");
        }
    }
    counts.retain(|_, count| *count != Counts::default());
    counts
}

/// Counts what the reader gives for each sub-agent with a name of its own.
fn read_counts(got: &ReadOutput) -> BTreeMap<String, Counts> {
    let mut counts: BTreeMap<String, Counts> = BTreeMap::new();
    for message in &got.messages {
        let Some(agent) = message.agent_id.as_deref() else {
            continue;
        };
        if agent.starts_with("sidechain-") {
            continue;
        }
        let count = counts.entry(agent.to_string()).or_default();
        match message.body {
            Body::User(_) => count.users += 1,
            Body::Assistant(_) => count.assistants += 1,
            _ => continue,
        }
        if let Some(Content::Blocks(blocks)) = message.body.content() {
            let is_call = |block: &&Block| matches!(block, Block::ToolUse(_));
            let is_result = |block: &&Block| matches!(block, Block::ToolResult(_));
            count.calls += blocks.iter().filter(is_call).count();
            count.results += blocks.iter().filter(is_result).count();
        }
    }
    counts.retain(|_, count| *count != Counts::default());
    counts
}

#[test]
fn progress_of_sub_agents_is_conversation() {
    let got = read(SESSION, false);
    let agents: Vec<&str> = got
        .messages
        .iter()
        .map(|message| message.agent_id.as_deref().unwrap_or("-"))
        .collect();
    assert_eq!(
        ids(&got.messages),
        [
            "u1", "a1", "a2", "g1", "t1", "g2", "g3", "t2", "r2", "r1", "b1"
        ]
    );
    assert_eq!(
        agents,
        [
            "-", "-", "-", "gulls", "terns", "gulls", "gulls", "terns", "-", "-", "-"
        ]
    );
    assert_eq!(
        parents(&got.messages),
        [
            "-", "u1", "a1", "-", "-", "g1", "g2", "t1", "a2", "r2", "r1"
        ]
    );
    assert_eq!(codes(&got), [("left-out", 0)]);
    assert!(
        got.problems[0].message.ends_with(": 1 progress"),
        "{}",
        got.problems[0].message
    );
    // The main chain is what it was, and each sub-agent has its own.
    assert_eq!(seen(&got.messages), ["u1", "a1", "a2", "r2", "r1", "b1"]);
    assert_eq!(chain(&got.messages).problems, []);
    assert_eq!(chain(&got.messages).unpaired(), []);
    // Each message names the call that its agent works for.
    assert_eq!(
        extra(&got.messages[5], "parentToolUseID"),
        Some("\"toolu_1\"")
    );
    assert_eq!(got.messages[5].model.as_deref(), Some("small"));
    assert_eq!(
        got.messages[5].created_at.unwrap().to_string(),
        "2026-03-01T08:00:03Z"
    );
}

#[test]
fn every_word_of_a_sub_agent_is_read() {
    let expected: BTreeMap<String, Counts> = [("gulls", (2, 1, 1, 1)), ("terns", (1, 1, 0, 0))]
        .map(|(agent, (users, assistants, calls, results))| {
            let counts = Counts {
                users,
                assistants,
                calls,
                results,
            };
            (agent.to_string(), counts)
        })
        .into();
    assert_eq!(counted(SESSION), expected);
    assert_eq!(read_counts(&read(SESSION, false)), expected);
    assert_eq!(read_counts(&read(SESSION, true)), expected);
}

#[test]
fn progress_records_can_be_written_again() {
    let records = SESSION
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let records: Vec<Value> = records.collect();
    let all = read(SESSION, true);
    assert_eq!(all.messages.len(), records.len());
    for (message, original) in all.messages.iter().zip(records) {
        assert_eq!(without_made_up(record(message), &original), original);
    }
}

#[test]
fn sub_agents_survive_a_message_file() {
    for full in [false, true] {
        let direct = read([SESSION, GULLS].concat(), full).messages;
        let file = msgfile::encode(&direct, &mut CountingIds::default());
        let again = msgfile::messages(&msgfile::decode(file), &"other".into()).messages;
        assert!(again == direct);
    }
}

#[test]
fn a_message_is_read_once_from_the_progress_and_from_the_file_of_a_sub_agent() {
    for (first, second) in [(SESSION, GULLS), (GULLS, SESSION)] {
        let both = [first, second].concat();
        let got = read(&both, false);
        assert_eq!(read_counts(&got), counted(&both));
        let gulls: Vec<&str> = got
            .messages
            .iter()
            .filter(|message| message.agent_id.as_deref() == Some("gulls"))
            .map(|message| &*message.id)
            .collect();
        assert_eq!(gulls, ["g1", "g2", "g3", "g4"]);
        assert_eq!(seen(&got.messages), ["u1", "a1", "a2", "r2", "r1", "b1"]);
        assert!(
            codes(&got).contains(&("repeated-records", 0)),
            "{:?}",
            codes(&got)
        );
    }
}

#[test]
fn progress_without_a_message_or_an_agent_does_no_harm() {
    let mut file = prompt("u1", "-");
    for data in [
        r#"{"type":"agent_progress","agentId":"x"}"#,
        r#"{"type":"agent_progress","agentId":"x","message":{}}"#,
        r#"{"type":"agent_progress","agentId":"x","message":null}"#,
        r#"{"type":"agent_progress","agentId":"x","message":{"type":"progress","message":{}}}"#,
        r#"[1]"#,
    ] {
        file += &line("progress", data, "u1", &format!(r#""data":{data}"#)).replace(data, "p");
    }
    let nameless = r#""data":{"type":"agent_progress","message":{"type":"user","message":{"role":"user","content":"Hi"}}},"parentToolUseID":"toolu_9""#;
    file += &line("progress", "p9", "u1", nameless);
    let got = read(&file, false);
    let last = got.messages.last().unwrap();
    assert_eq!(got.messages.len(), 2);
    assert_eq!(last.agent_id.as_deref(), Some("sidechain-toolu_9"));
    assert_eq!(last.text(), "Hi");
}

/// All session files below a folder.
fn session_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            session_files(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "jsonl") {
            found.push(path);
        }
    }
}

#[test]
fn every_word_of_real_sub_agents_is_read() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/samples");
    let mut files = Vec::new();
    for folder in ["claude-code", "claude-code-subagents"] {
        session_files(&root.join(folder), &mut files);
    }
    if files.is_empty() {
        skip(
            "claude_code::tests::sub_agents::every_word_of_real_sub_agents_is_read",
            "the samples are not here",
        );
    }
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(
            read_counts(&read(&text, false)),
            counted(&text),
            "{}",
            path.display()
        );
    }
}
