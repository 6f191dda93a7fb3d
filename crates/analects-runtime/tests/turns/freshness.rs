//! Files that a model has seen, changed behind its back.

use std::fs;

use crate::place::{Place, add_prompt, agent};
use crate::server::{Reply, Server};

const CHANGED: &str = "was changed by somebody else";

fn count(text: &str, part: &str) -> usize {
    text.matches(part).count()
}

#[test]
fn a_file_that_changed_is_told_once_and_at_the_same_place_ever_after() {
    for place in Place::both() {
        let server = Server::start(|_| Reply::text("I see."));
        let model = server.model();
        let path = place.folder.path().join("notes.txt");
        fs::write(&path, "first version").unwrap();
        place.attach(&path).unwrap();
        place.say(&model, "What is in it?");
        let sent = server.last().text();
        assert!(
            sent.contains("<file path=\"notes.txt\">\nfirst version\n</file>"),
            "{sent}"
        );
        let turned = place.say(&model, "Again?");
        assert!(!turned.saw("Reminded") && !server.last().text().contains(CHANGED));
        // In the same second, and of the same length.
        fs::write(&path, "other version").unwrap();
        let turned = place.say(&model, "And now?");
        assert!(turned.saw("Reminded"));
        let reminded = server.last().text();
        assert_eq!(count(&reminded, CHANGED), 1, "{reminded}");
        assert!(
            reminded.find(CHANGED) < reminded.find("And now?"),
            "before plain words"
        );
        let turned = place.say(&model, "Still?");
        assert!(!turned.saw("Reminded"), "one reminder, not one a turn");
        assert!(
            server.last().text().starts_with(&reminded),
            "the prefix is stable"
        );
        // Another change, by rename, is another reminder.
        fs::write(place.folder.path().join("new"), "a third").unwrap();
        fs::rename(place.folder.path().join("new"), &path).unwrap();
        place.say(&model, "Third?");
        assert_eq!(count(&server.last().text(), CHANGED), 2);
        // The same content once more is none.
        fs::remove_file(&path).unwrap();
        fs::write(&path, "a third").unwrap();
        let turned = place.say(&model, "The same?");
        assert!(!turned.saw("Reminded"), "{:?}", turned.seen);
        fs::remove_file(&path).unwrap();
        let turned = place.say(&model, "Gone?");
        assert!(
            turned.seen[0].contains("no longer there"),
            "{:?}",
            turned.seen
        );
        // Shown again, it is fresh.
        fs::write(&path, "a fourth").unwrap();
        place.attach(&path).unwrap();
        let turned = place.say(&model, "Fresh?");
        assert!(!turned.saw("Reminded") && server.last().text().contains("a fourth"));
    }
}

#[test]
fn a_compaction_shows_the_files_again_as_they_are_now() {
    for place in Place::both() {
        let server = Server::start(|question| match question.wants_summary() {
            true => Reply::text("They spoke of a file."),
            false => Reply::text("It is long. ".repeat(20)),
        });
        let model = server.model();
        let path = place.folder.path().join("notes.txt");
        fs::write(&path, "first version").unwrap();
        place.attach(&path).unwrap();
        for prompt in ["one?", "two?", "three?"] {
            place.say(&model, prompt);
        }
        fs::write(&path, "second version, ".repeat(60)).unwrap();
        let compacted = place.compact(&mut *place.open(), &model).unwrap();
        assert_eq!(compacted.files, ["notes.txt"]);
        assert!(compacted.after > 60, "the file counts: {compacted:?}");
        let turned = place.say(&model, "four?");
        let sent = server.last().text();
        assert!(
            sent.contains("second version") && !sent.contains("first version"),
            "{sent}"
        );
        assert!(
            !turned.saw("Reminded"),
            "it has seen that version: {:?}",
            turned.seen
        );
    }
}

#[test]
fn a_file_in_what_a_compaction_keeps_is_not_shown_twice() {
    for place in Place::both() {
        let server = Server::start(|question| match question.wants_summary() {
            true => Reply::text("They spoke of files."),
            false => Reply::text("It is long. ".repeat(20)),
        });
        let model = server.model();
        for prompt in ["one?", "two?", "three?", "four?"] {
            place.say(&model, prompt);
        }
        // What is shown with a question that waits for its answer is kept with it.
        let (kept, changed) = ("kept.txt", "changed.txt");
        add_prompt(&mut *place.open(), "five?");
        for name in [kept, changed] {
            let path = place.folder.path().join(name);
            fs::write(&path, format!("what is in {name}")).unwrap();
            place.attach(&path).unwrap();
        }
        fs::write(place.folder.path().join(changed), "something else").unwrap();
        let compacted = place.compact(&mut *place.open(), &model).unwrap();
        assert_eq!(
            compacted.files,
            [changed],
            "the one that the model has not seen as it is now"
        );
        place.ask(
            &mut *place.open(),
            &model,
            None,
            agent(),
            place.config(),
            None,
        );
        let sent = server.last().text();
        assert_eq!(count(&sent, "what is in kept.txt"), 1, "{sent}");
        assert_eq!(count(&sent, "something else"), 1, "{sent}");
        assert!(
            sent.contains("They spoke of files.") && sent.contains("five?"),
            "{sent}"
        );
    }
}

#[test]
fn what_is_no_text_or_is_not_there_cannot_be_shown() {
    let place = Place::file();
    let path = place.folder.path().join("x");
    let attach = || place.attach(&path).map_err(|e| e.to_string());
    assert!(attach().unwrap_err().contains("no such file"));
    fs::write(&path, [0xff, 0xfe, 0x00]).unwrap();
    assert!(attach().unwrap_err().contains("not text"));
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(attach().unwrap_err().contains("not a file"));
}
