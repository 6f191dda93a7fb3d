//! The interface of items on a real disk: what is saved, what is put together, what is refused.

use std::fs;

use analects_core::Agent;
use analects_formats::msgfile::item::{
    AnswerOutput, FunctionCall, Message, MessageItem, MessageOutput, MessageOutputBuilder, Output,
};
use analects_store::{MessageFile, OsIds, StoreError};

use super::Disk;

const FRONT: &str =
    "---\nagents:\n  one:\n    models: [openai/a]\n  two:\n    models: [openai/b]\n---\n";

fn load(disk: &Disk) -> MessageFile {
    MessageFile::load(&disk.path("a.msg.md"), &disk.places).unwrap()
}

fn prepared(text: &str) -> Disk {
    let disk = Disk::new();
    fs::write(disk.path("a.msg.md"), format!("{FRONT}{text}")).unwrap();
    disk
}

fn say(file: &mut MessageFile, text: &str) -> String {
    file.add_message_text(text.into(), None, None, None, None)
        .unwrap()
        .name()
        .to_string()
}

fn answer(text: &str) -> Output {
    let built: AnswerOutput = MessageOutputBuilder::new()
        .with_content(text)
        .build()
        .unwrap();
    built.into()
}

#[test]
fn nothing_is_written_before_a_save_and_everything_with_it() {
    let disk = Disk::new();
    let mut file = load(&disk);
    file.add_agent_with_definition("coder", &Agent::of_model("coder", "openai/a"))
        .unwrap();
    let name = say(&mut file, "What is the weather?");
    let call = file
        .add_function_call(
            &name,
            "weather",
            Some(serde_json::json!({"city": "Paris"})),
            None,
            None,
            &mut OsIds,
        )
        .unwrap();
    let call = call.name().to_string();
    file.add_output(&call, &answer("18 degrees")).unwrap();
    assert!(!disk.path("a.msg.md").exists());
    assert_eq!(file.save().unwrap().iter().count(), 0);
    assert!(!file.has_changes());

    let file = load(&disk);
    let item = file.item(&*call).unwrap();
    let read = item.as_function_call().unwrap();
    assert_eq!(read.function_name(), "weather");
    assert_eq!(read.outputs().len(), 1);
    assert_eq!(file.item(0).unwrap().name(), name);
    assert_eq!(file.document().problems(), []);
}

#[test]
fn what_others_added_meanwhile_stays_and_ours_gets_new_numbers() {
    let disk = prepared("");
    let (mut ours, mut theirs) = (load(&disk), load(&disk));
    let name = say(&mut ours, "ours");
    let call = ours
        .add_function_call(&name, "two", None, None, None, &mut OsIds)
        .unwrap();
    let call = call.name().to_string();
    say(&mut theirs, "theirs");
    theirs.save().unwrap();
    let renames = ours.save().unwrap();
    let (new_name, new_call) = (renames.get(&name).unwrap(), renames.get(&call).unwrap());
    assert_eq!((&*name, new_name), ("1", "2"));
    assert_eq!(new_call, call.replacen("1.", "2.", 1));
    let file = load(&disk);
    assert_eq!(
        file.item(new_call)
            .unwrap()
            .as_function_call()
            .unwrap()
            .function_name(),
        "two"
    );
    assert_eq!(disk.contents("a.msg.md").len(), 3);
    assert_eq!(file.document().problems(), []);
}

#[test]
fn cells_are_added_to_a_file_that_an_editor_rewrote() {
    let disk = prepared("\n# %%\n\nfirst\n");
    let mut file = load(&disk);
    say(&mut file, "ours");
    fs::write(
        disk.path("a.msg.md"),
        format!("{FRONT}\n# %%\n\nrewritten\n\n# %%\n\nmore\n"),
    )
    .unwrap();
    file.save().unwrap();
    assert_eq!(disk.contents("a.msg.md"), ["rewritten", "more", "ours"]);
    assert_eq!(file.items().len(), 3);
}

#[test]
fn versions_that_cannot_be_put_together_are_both_kept() {
    let disk = prepared("\n# %%\n\nfirst\n");
    let mut file = load(&disk);
    file.set_default_agent("two").unwrap();
    let rewritten = format!("{FRONT}\n# %%\n\nrewritten\n");
    fs::write(disk.path("a.msg.md"), &rewritten).unwrap();
    let StoreError::Conflict { conflict, .. } = file.save().unwrap_err() else {
        panic!("not a conflict")
    };
    assert_eq!(conflict.theirs, rewritten.as_bytes());
    let ours = String::from_utf8(conflict.ours).unwrap();
    assert!(
        ours.contains("default_agent: two") && ours.contains("first"),
        "{ours}"
    );
    assert_eq!(disk.text("a.msg.md"), rewritten);
    assert!(file.has_changes());
    file.reload().unwrap();
    file.set_default_agent("two").unwrap();
    file.save().unwrap();
    assert!(disk.text("a.msg.md").contains("default_agent: two"));
}

#[test]
fn a_file_that_was_removed_is_not_made_again_by_a_save() {
    let disk = prepared("");
    let mut file = load(&disk);
    say(&mut file, "ours");
    fs::remove_file(disk.path("a.msg.md")).unwrap();
    assert!(file.save().unwrap_err().is_not_found());
    assert!(!disk.path("a.msg.md").exists());
}

#[test]
fn a_place_is_kept_for_an_answer_and_filled_by_a_later_call() {
    let disk = prepared("");
    let mut file = load(&disk);
    let name = say(&mut file, "Take your time");
    let place = file
        .add_output_placeholder(&name, "answers/1.md", Some("one"), None)
        .unwrap();
    file.save().unwrap();
    assert!(
        disk.text("a.msg.md").contains("status=\"pending\""),
        "{}",
        disk.text("a.msg.md")
    );
    let mut later = load(&disk);
    later
        .fill_placeholder(&place, &answer("Here it is"))
        .unwrap();
    later.save().unwrap();
    let text = disk.text("a.msg.md");
    assert!(
        text.contains("Here it is") && !text.contains("pending"),
        "{text}"
    );
    let item = load(&disk).item(&*name).unwrap();
    let message = item.as_message().unwrap();
    assert_eq!(message.outputs()[0].content().as_ref(), b"Here it is");
    assert_eq!(message.text(), Some("Take your time"));
}
