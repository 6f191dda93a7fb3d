//! What the conversation model was founded on, point by point: the five points of acceptance.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::ops::ControlFlow;

use analects_core::verbs;
use analects_core::{
    Attachment, Block, Body, CompactBoundary, Content, Json, Message, Notification, Progress, Raw,
    RawMap, SessionState, StateChange, Summary, System, Tombstone, ToolResult, ToolUse, chain,
};
use analects_formats::transcript::read_line;
use analects_store::{ChainName, JsonlStore, OsIds, Session, StoreFolders, TranscriptStore, load};
use jiff::Timestamp;
use tempfile::TempDir;

fn store() -> (TempDir, JsonlStore) {
    let folder = tempfile::tempdir().unwrap();
    let places = StoreFolders::in_folder(folder.path());
    let store = JsonlStore::new(&places);
    (folder, store)
}

fn talk() -> ChainName {
    ChainName::new("project", "0197f3c2-aaaa-7bbb-8ccc-0123456789ab")
}

fn now() -> Timestamp {
    "2026-11-15T18:17:00Z".parse().unwrap()
}

fn call(id: &str) -> ToolUse {
    let input = Raw::parse(r#"{"city":"Paris"}"#).unwrap();
    ToolUse {
        id: id.into(),
        name: "weather".into(),
        input,
        extra: RawMap::new(),
    }
}

fn result(id: &str) -> ToolResult {
    ToolResult {
        tool_use_id: id.into(),
        content: "18 degrees".into(),
        ..ToolResult::default()
    }
}

/// A turn with every type of message that the seed names.
fn turn() -> Vec<Message> {
    let changes = Raw::parse(r#"{"cwd":"/work"}"#).unwrap();
    let bodies = vec![
        Body::System(System {
            content: "Be brief.".into(),
        }),
        Message::user("", "How is the weather?").body,
        Message::assistant(
            "",
            vec![Block::from_text("I look."), Block::ToolUse(call("t1"))],
        )
        .body,
        Body::Progress(Progress {
            tool_use_id: Some("t1".into()),
            ..Progress::default()
        }),
        Message::user("", vec![Block::ToolResult(result("t1"))]).body,
        Body::ToolUse(call("t2")),
        Body::ToolResult(result("t2")),
        Body::Attachment(Attachment {
            kind: "hook_block".into(),
            content: "no".into(),
            data: None,
        }),
        Body::Notification(Notification {
            kind: "task_finished".into(),
            ..Notification::default()
        }),
        Body::State(StateChange {
            changes,
            is_snapshot: false,
        }),
        Body::Summary(Summary {
            text: "It is warm.".into(),
            ..Summary::default()
        }),
        Body::CompactBoundary(CompactBoundary::default()),
        Body::Tombstone(Tombstone {
            target: "none".into(),
            target_parent: None,
        }),
        Message::assistant("", "18 degrees.").body,
    ];
    bodies
        .into_iter()
        .map(|body| Message::new("", body))
        .collect()
}

fn stored(store: &dyn TranscriptStore, of: &ChainName) -> Vec<Message> {
    let mut found = Vec::new();
    let mut push = |row: analects_store::ChainRow<'_>| {
        let read = read_line(row.bytes.unwrap());
        assert_eq!(read.problems, []);
        found.extend(read.messages);
        ControlFlow::Continue(())
    };
    store.scan(of, 0, &mut push).unwrap();
    found
}

#[test]
fn every_turn_serialises() {
    let (_folder, store) = store();
    let mut session = Session::open(&store, talk()).unwrap();
    let placed = session.append(turn(), &mut OsIds, now()).unwrap();
    assert_eq!(stored(&store, &talk()), placed);
    for message in &placed {
        let json = serde_json::to_string(message).unwrap();
        assert_eq!(&serde_json::from_str::<Message>(&json).unwrap(), message);
        assert_eq!(json.lines().count(), 1);
        assert_eq!(
            Message::from_json(&json).unwrap().body.type_name(),
            message.body.type_name()
        );
        assert!(!message.id.is_empty() && message.session_id == talk().session);
        assert_eq!(message.created_at, Some(now()));
    }
    let types: std::collections::BTreeSet<&str> = placed
        .iter()
        .map(|message| message.body.type_name())
        .collect();
    assert_eq!(types.len(), 12, "all types: {types:?}");
}

#[test]
fn each_tool_use_has_its_tool_result() {
    let (_folder, store) = store();
    let mut session = Session::open(&store, talk()).unwrap();
    session.append(turn(), &mut OsIds, now()).unwrap();
    // A kill in mid-call, and a result that lost its call.
    let cut = vec![
        Message::user("", vec![Block::ToolResult(result("lost"))]),
        Message::assistant("", vec![Block::ToolUse(call("t3"))]),
    ];
    session.append(cut, &mut OsIds, now()).unwrap();
    let loaded = session.load().unwrap();
    let sent = loaded.chain().sendable().turns;
    for (at, turn) in sent.iter().enumerate() {
        let blocks = |turn: &analects_core::Turn| match &turn.content {
            Content::Blocks(blocks) => blocks.clone(),
            _ => Vec::new(),
        };
        let calls: Vec<String> = blocks(turn)
            .iter()
            .filter_map(|block| {
                if let Block::ToolUse(call) = block {
                    Some(call.id.clone())
                } else {
                    None
                }
            })
            .collect();
        let results: Vec<String> = sent
            .get(at + 1)
            .map(blocks)
            .unwrap_or_default()
            .iter()
            .filter_map(|block| match block {
                Block::ToolResult(result) => Some(result.tool_use_id.clone()),
                _ => None,
            })
            .collect();
        assert_eq!(calls, results, "turn {at}");
    }
    assert_eq!(
        sent.iter()
            .filter(|turn| turn.content.text().contains("lost"))
            .count(),
        0
    );
    // The record itself is as it was.
    assert_eq!(stored(&store, &talk()).len(), turn().len() + 2);
}

#[test]
fn progress_never_enters_the_chain() {
    let (_folder, store) = store();
    let mut session = Session::open(&store, talk()).unwrap();
    for number in 0..20 {
        let progress = Message::new("", Body::Progress(Progress::default()));
        let said = Message::user("", format!("{number}"));
        session
            .append(vec![progress.clone(), said, progress], &mut OsIds, now())
            .unwrap();
    }
    let loaded = session.load().unwrap();
    let texts: Vec<String> = loaded.messages.iter().map(Message::text).collect();
    assert_eq!(
        texts,
        (0..20).map(|number| number.to_string()).collect::<Vec<_>>()
    );
    let records = stored(&store, &talk());
    let progress: Vec<&str> = records
        .iter()
        .filter(|record| matches!(record.body, Body::Progress(_)))
        .map(|record| &*record.id)
        .collect();
    assert_eq!(progress.len(), 40, "it is kept");
    let parents = records
        .iter()
        .filter_map(|record| record.parent_id.as_deref());
    assert_eq!(
        parents.filter(|parent| progress.contains(parent)).count(),
        0
    );
}

#[test]
fn a_session_restores_by_its_chain() {
    let (_folder, store) = store();
    let state = SessionState {
        session_id: talk().session,
        cwd: Some("/work".into()),
        current_task_id: Some("task-1".into()),
        memory_summary: Some("likes tea".into()),
        active_agent_ids: vec!["helper".into()],
        current_permission_mode: Some("ask".into()),
        token_budget_state: Raw::parse(r#"{"left":1000}"#).ok(),
        title: Some("Tea".into()),
        ..SessionState::default()
    };
    let mut session = Session::open(&store, talk()).unwrap();
    let change = SessionState::default().change_to(&state).unwrap();
    session.set_state(change, &mut OsIds, now()).unwrap();
    let talks = ["one", "two", "three"]
        .map(|text| Message::user("", text))
        .to_vec();
    let placed = session.append(talks, &mut OsIds, now()).unwrap();
    let back = |messages: &[Message]| verbs::rewind(messages, Some(&placed[1].id));
    session.apply(back, &mut OsIds, now()).unwrap();
    session
        .append(vec![Message::user("", "other")], &mut OsIds, now())
        .unwrap();
    // Another process finds the same conversation, and goes on where it ended.
    let mut again = Session::open(&store, talk()).unwrap();
    let loaded = again.load().unwrap();
    let texts = |messages: &[Message]| messages.iter().map(Message::text).collect::<Vec<_>>();
    assert_eq!(texts(&loaded.messages), ["one", "two", "other"]);
    assert_eq!(loaded.state, state);
    // After a compaction only what is needed is loaded, the state included.
    let summary = Summary {
        text: "we counted".into(),
        ..Summary::default()
    };
    let boundary = CompactBoundary {
        summary_id: Some("s".into()),
        ..CompactBoundary::default()
    };
    let made = vec![
        Message::new("s", Body::Summary(summary)),
        Message::new("b", Body::CompactBoundary(boundary)),
    ];
    again.compact(made, &mut OsIds, now()).unwrap();
    again
        .append(vec![Message::user("", "and now")], &mut OsIds, now())
        .unwrap();
    let loaded = load(&store, &talk()).unwrap();
    assert_eq!(texts(&loaded.messages), ["we counted", "and now"]);
    assert_eq!(loaded.state, state);
    let records = stored(&store, &talk());
    let whole = chain(&records);
    assert_eq!(
        whole.messages.iter().map(|m| m.text()).collect::<Vec<_>>(),
        ["we counted", "and now"]
    );
    assert_eq!(store.overview(&talk()).unwrap().name(), Some("Tea"));
}

#[test]
fn a_side_chain_stands_alone() {
    let (_folder, store) = store();
    let mut session = Session::open(&store, talk()).unwrap();
    session
        .append(vec![Message::user("", "main")], &mut OsIds, now())
        .unwrap();
    let mut side = Session::open(&store, talk().side("helper")).unwrap();
    side.append(vec![Message::user("", "side")], &mut OsIds, now())
        .unwrap();
    assert_eq!(store.side_chains(&talk()).unwrap(), ["helper"]);
    let (main_file, side_file) = (
        store.path(&talk()).unwrap(),
        store.path(side.name()).unwrap(),
    );
    assert!(side_file.starts_with(main_file.with_extension("")));
    // Each loads without the other: not even a damaged one is in the way.
    std::fs::write(&main_file, b"\0\0\0").unwrap();
    let loaded = side.load().unwrap();
    assert_eq!(
        (loaded.messages[0].text().as_str(), loaded.problems.len()),
        ("side", 0)
    );
    assert_eq!(loaded.messages[0].agent_id.as_deref(), Some("helper"));
    assert_eq!(loaded.messages[0].parent_id, None, "its own root");
}
