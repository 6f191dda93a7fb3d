//! Session state rebuilt from records. Merged objects have sorted keys.

use super::*;

fn change(patch: &str) -> Message {
    let changes = Raw::parse(patch).unwrap();
    Message::new(
        "s",
        StateChange {
            changes,
            is_snapshot: false,
        }
        .into(),
    )
}

const FULL: &str = r#"{"session_id":"s1","cwd":"/work","title":"Tea","current_task_id":"t1","memory_summary":"green","active_agent_ids":["a","b"],"current_permission_mode":"ask","token_budget_state":{"left":12345678901234567890123},"models":{"main":"openai/x","task":"local"},"later":[1,null]}"#;

#[test]
fn every_field_of_the_state_comes_back() {
    let state = SessionState::rebuild(&[change(FULL)]);
    assert_eq!(state.session_id, "s1".into());
    assert_eq!(state.cwd.as_deref(), Some("/work"));
    assert_eq!(state.title.as_deref(), Some("Tea"));
    assert_eq!(state.current_task_id.as_deref(), Some("t1"));
    assert_eq!(state.memory_summary.as_deref(), Some("green"));
    assert_eq!(state.active_agent_ids, ["a", "b"]);
    assert_eq!(state.current_permission_mode.as_deref(), Some("ask"));
    let budget = state.token_budget_state.as_ref().map(Raw::as_str);
    assert_eq!(budget, Some(r#"{"left":12345678901234567890123}"#));
    assert_eq!(state.models["task"], "local");
    assert_eq!(state.extra.get("later").map(Raw::as_str), Some("[1,null]"));
    let snapshot = Message::new("x", state.snapshot().into());
    assert_eq!(SessionState::rebuild(&[snapshot]), state);
}

#[test]
fn changes_are_merged_and_null_removes() {
    let state = SessionState::rebuild(&[
        change(FULL),
        change(r#"{"cwd":null,"token_budget_state":{"used":1},"models":{"task":null}}"#),
        change(r#"{"cwd":"/else","title":7}"#),
    ]);
    assert_eq!(state.cwd.as_deref(), Some("/else"));
    let budget = state.token_budget_state.unwrap();
    assert_eq!(
        budget.as_str(),
        r#"{"left":12345678901234567890123,"used":1}"#
    );
    assert_eq!(state.models.keys().collect::<Vec<_>>(), ["main"]);
    // A value of an unexpected type is kept.
    assert_eq!(
        (state.title, state.extra.get("title").map(Raw::as_str)),
        (None, Some("7"))
    );
}

#[test]
fn a_snapshot_forgets_what_was_before_it() {
    let snapshot = SessionState {
        title: Some("new".into()),
        ..SessionState::default()
    }
    .snapshot();
    let records = [
        change(FULL),
        Message::new("x", snapshot.into()),
        change(r#"{"cwd":"/c"}"#),
    ];
    let state = SessionState::rebuild(&records);
    assert_eq!(
        (state.title.as_deref(), state.cwd.as_deref()),
        (Some("new"), Some("/c"))
    );
    assert_eq!(state.models.len(), 0);
}

#[test]
fn the_session_is_that_of_the_records() {
    let said = Message {
        session_id: "s9".into(),
        ..Message::user("a", "Hi")
    };
    assert_eq!(SessionState::rebuild(&[said]).session_id, "s9".into());
}

#[test]
fn hostile_changes_are_read_all_the_same() {
    let deep = format!("{}1{}", r#"{"a":"#.repeat(20_000), "}".repeat(20_000));
    let state = SessionState::rebuild(&[
        change(&deep),
        change(&deep),
        change(r#"{"\u0063wd":"/a","\ud83d":1,"cwd":"/b"}"#),
        change(r#"{"a":{"b":1},"a":2}"#),
    ]);
    assert_eq!(state.cwd.as_deref(), Some("/b"));
    assert_eq!(state.extra.get("a").map(Raw::as_str), Some("2"));
    assert!(state.to_json().contains("\\ud83d"));
    // A record without an object changes nothing and is kept.
    let other = Message::from_json(r#"{"type":"state","id":"a","state":[1]}"#).unwrap();
    assert!(matches!(other.body, Body::Other(_)));
    assert!(other.to_json().contains(r#""state":[1]"#));
}

#[test]
fn a_difference_leads_from_one_state_to_the_other() {
    let state = |json: &str| SessionState::from_json(json).unwrap();
    let states = [
        state("{}"),
        state(FULL),
        state(r#"{"cwd":"/x","token_budget_state":{"deep":{"a":{"b":1}},"left":1}}"#),
        state(r#"{"token_budget_state":{"deep":{"a":{"c":1}}},"models":{"main":"m"}}"#),
        state(r#"{"token_budget_state":5}"#),
    ];
    for before in &states {
        assert_eq!(before.change_to(before), None);
        for after in states.iter().filter(|after| *after != before) {
            let first = Message::new("a", before.snapshot().into());
            let second = Message::new("b", before.change_to(after).unwrap().into());
            assert_eq!(&SessionState::rebuild(&[first, second]), after);
        }
    }
}
