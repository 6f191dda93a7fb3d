//! The operations on a small conversation with calls, code and a compaction.

use super::*;
use crate::{Body, Chain, Json, chain};

const TALK: [&str; 8] = [
    r#"{"type":"user","id":"1","content":"weather?"}"#,
    r#"{"type":"assistant","id":"2","parent_id":"1","content":[{"type":"text","text":"let me see"},{"type":"tool_use","id":"a","name":"w","input":{}},{"type":"tool_use","id":"b","name":"w","input":{}}]}"#,
    r#"{"type":"user","id":"3","parent_id":"2","content":[{"type":"tool_result","tool_use_id":"a","content":"sun"},{"type":"tool_result","tool_use_id":"b","content":"rain"}]}"#,
    r#"{"type":"user","id":"4","parent_id":"3","source":"code","content":"print(1)"}"#,
    r#"{"type":"attachment","id":"5","parent_id":"4","kind":"code_output","content":"stdout> 1"}"#,
    r#"{"type":"user","id":"6","parent_id":"5","content":"and now?"}"#,
    r#"{"type":"state","id":"7","parent_id":"6","state":{}}"#,
    r#"{"type":"assistant","id":"8","parent_id":"7","content":"fine"}"#,
];

fn talk() -> Vec<Message> {
    TALK.iter()
        .map(|json| Message::from_json(json).unwrap())
        .collect()
}

/// The conversation with the records that a session appends for changes.
fn recorded(mut messages: Vec<Message>, changes: Vec<Change>) -> Vec<Message> {
    for change in changes {
        let record = change.into_record().unwrap();
        let id = format!("r{}", messages.len());
        let parent_id = messages.last().map(|last| last.id.clone());
        messages.push(Message {
            id: id.as_str().into(),
            parent_id,
            ..record
        });
    }
    messages
}

fn texts(chain: &Chain<'_>) -> String {
    let turns = chain.turns();
    let texts: Vec<String> = turns
        .iter()
        .map(|turn| format!("{:?}", turn.content))
        .collect();
    texts.join("\n")
}

fn view(messages: &[Message]) -> String {
    texts(&chain(&revised(messages.to_vec())))
}

#[test]
fn a_message_of_results_goes_with_its_calls_and_comes_back_with_them() {
    let target = Target::message("3");
    let hidden = recorded(talk(), drop(&talk(), &target).unwrap());
    let seen = view(&hidden);
    assert!(
        seen.contains("let me see") && !seen.contains("ToolUse"),
        "{seen}"
    );
    assert!(!seen.contains("sun") && !seen.contains("rain"), "{seen}");
    let in_full = revised_in_full(hidden.clone());
    assert!(matches!(
        drop(&in_full, &target),
        Err(VerbError::AlreadyHidden(_))
    ));
    let shown = recorded(hidden, restore(&in_full, &target).unwrap());
    assert_eq!(view(&shown), view(&talk()));
    let again = revised_in_full(shown);
    assert!(matches!(
        restore(&again, &target),
        Err(VerbError::NotHidden(_))
    ));
}

#[test]
fn one_call_goes_with_its_result_alone() {
    let target = Target::call("2", "a");
    let hidden = recorded(talk(), drop(&talk(), &target).unwrap());
    let seen = view(&hidden);
    assert!(!seen.contains("sun") && seen.contains("rain"), "{seen}");
    // Its result can still be edited, and has the new text when it is visible again.
    let in_full = revised_in_full(hidden.clone());
    assert!(edit(&in_full, &target, "snow").is_ok());
    let shown = recorded(hidden, restore(&in_full, &target).unwrap());
    assert_eq!(view(&shown), view(&talk()));
}

#[test]
fn a_call_that_is_shown_is_not_hidden_for_that() {
    let set = |history| Change::set_history(Target::call("2", "a"), history);
    let shown = with_history(talk(), &[set(History::Exclude), set(History::Include)]);
    assert_eq!(shown, talk());
    assert_ne!(with_history(talk(), &[set(History::Exclude)]), talk());
}

#[test]
fn the_last_revision_counts() {
    let revision = |id: &str, text: &str| {
        let content = Some(text.into());
        let revision = Revision {
            target: "1".into(),
            content,
            ..Revision::default()
        };
        Message {
            parent_id: Some("8".into()),
            ..Message::new(id, Body::Revision(revision))
        }
    };
    let mut messages = talk();
    messages.extend([revision("x", "storm?"), revision("y", "hail?")]);
    let seen = view(&messages);
    assert!(seen.contains("hail?") && !seen.contains("storm?") && !seen.contains("weather?"));
    assert!(seen.contains("fine"), "what followed still follows");
    // A revision without a target changes nothing and is reported.
    messages.push(Message::new(
        "z",
        Body::Revision(Revision {
            target: "lost".into(),
            ..Revision::default()
        }),
    ));
    assert_eq!(view(&messages), seen);
    let problems = chain(&messages).problems;
    assert_eq!(problems[0].code, "unknown-target");
}

#[test]
fn edits_change_a_text_and_nothing_else() {
    let edited = |target: Target| {
        let messages = talk();
        edit(&messages, &target, "new")?;
        let at = text_of(&messages, &target)?;
        edited_content(&messages[at], target.call.as_deref(), "new").map_err(|reason| {
            VerbError::NotEditable {
                id: target.message,
                reason,
            }
        })
    };
    let content = format!("{:?}", edited(Target::message("2")).unwrap());
    assert!(
        content.contains("new") && content.matches("ToolUse(").count() == 2,
        "{content}"
    );
    let content = format!("{:?}", edited(Target::call("2", "b")).unwrap());
    assert!(content.contains("sun") && content.contains("new") && !content.contains("rain"));
    let refused = |target| match edited(target) {
        Err(VerbError::NotEditable { reason, .. }) => reason,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(Target::message("3")), NotEditable::SeveralResults);
    assert_eq!(refused(Target::message("5")), NotEditable::CodeOutput);
    assert_eq!(refused(Target::message("7")), NotEditable::NoText);
    assert_eq!(refused(Target::call("2", "c")), NotEditable::Call);
    assert!(matches!(
        edited(Target::message("9")),
        Err(VerbError::UnknownMessage(_))
    ));
}

#[test]
fn nobody_stops_between_calls_and_results() {
    let messages = talk();
    let to = |id: &str| rewind(&messages, Some(id));
    let from = |id: &str| {
        Ok(vec![Change::ContinueFrom {
            parent: Some(id.into()),
        }])
    };
    assert_eq!(to("1"), from("1"));
    assert_eq!(to("2"), from("3"));
    assert_eq!(to("4"), from("5"));
    assert_eq!(to("8"), Err(VerbError::NothingAfter("8".into())));
    assert_eq!(to("7"), Err(VerbError::NotAMessage("7".into())));
    assert_eq!(
        rewind(&messages, None),
        Ok(vec![Change::ContinueFrom { parent: None }])
    );
    assert_eq!(rewind(&[], None), Err(VerbError::NothingSaid));
}

#[test]
fn a_copy_has_what_hides_or_revises_something_in_it() {
    let messages = recorded(talk(), drop(&talk(), &Target::message("1")).unwrap());
    let revision = messages.len() - 1;
    assert_eq!(fork(&messages, Some("2")), Ok(vec![0, 1, 2, revision]));
    assert_eq!(fork(&talk(), Some("1")), Ok(vec![0]));
    assert_eq!(fork(&talk(), None).unwrap().len(), talk().len());
}

#[test]
fn hiding_the_summary_undoes_the_compaction() {
    let made: Vec<Message> = [
        r#"{"type":"summary","id":"s","text":"They spoke."}"#,
        r#"{"type":"compact_boundary","id":"b","summary_id":"s","kept_from":"6"}"#,
    ]
    .iter()
    .map(|json| Message::from_json(json).unwrap())
    .collect();
    assert_eq!(
        compact(made[..1].to_vec()),
        Err(VerbError::IncompleteCompaction)
    );
    let mut messages = talk();
    let mut parent = messages.last().unwrap().id.clone();
    for message in made {
        let id = message.id.clone();
        messages.push(Message {
            parent_id: Some(std::mem::replace(&mut parent, id)),
            ..message
        });
    }
    let seen = view(&messages);
    assert!(
        seen.contains("They spoke.") && !seen.contains("weather?"),
        "{seen}"
    );
    for target in ["s", "b"] {
        let changes = drop(&messages, &Target::message(target)).unwrap();
        assert_eq!(changes, undo_compaction(&messages).unwrap());
        let undone = recorded(messages.clone(), changes);
        assert_eq!(view(&undone), view(&talk()));
        let undone = revised_in_full(undone);
        assert_eq!(undo_compaction(&undone), Err(VerbError::NoCompaction));
        let again = recorded(
            undone.clone(),
            restore(&undone, &Target::message("s")).unwrap(),
        );
        assert_eq!(view(&again), seen);
    }
}
