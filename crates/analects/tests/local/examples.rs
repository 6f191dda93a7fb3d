//! The examples of the README, answered by a real model.

use crate::machine::{Machine, error_line};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");

#[test]
fn the_local_model_answers_every_example() {
    let test = "the_local_model_answers_every_example";
    let Some(machine) = Machine::with_model(test) else {
        return;
    };
    for name in ["chat.msg.md", "two-agents.msg.md", "notes.md"] {
        let before = std::fs::read_to_string(format!("{FOLDER}/{name}")).unwrap();
        std::fs::write(machine.path(name), &before).unwrap();
        let run = machine.run(&["chat", name]);
        assert_eq!(run.code, Some(0), "{name}: {}", error_line(&run));
        let after = std::fs::read_to_string(machine.path(name)).unwrap();
        assert!(after.starts_with(&before), "{name}: {after}");
        let decoded = analects_formats::decode(after.as_bytes(), name);
        assert_eq!(decoded.problems, [], "{name}");
        let answer = decoded.messages.last().unwrap();
        let author = if name == "two-agents.msg.md" {
            "critic"
        } else {
            "smollm2"
        };
        assert_eq!(answer.author.as_deref(), Some(author), "{name}");
        assert!(!answer.text().trim().is_empty(), "{name}");
    }
}
