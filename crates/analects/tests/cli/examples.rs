//! The examples of the README: they have no problems, and every reading command works on them.

use crate::sandbox::Sandbox;
use crate::server::{Server, answer};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");

/// The name and text of every example.
fn examples() -> Vec<(String, String)> {
    let entries = std::fs::read_dir(FOLDER)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let files = entries.filter(|path| path.extension().is_some_and(|end| end == "md"));
    let name = |path: &std::path::Path| path.file_name().unwrap().to_str().unwrap().to_string();
    files
        .map(|path| (name(&path), std::fs::read_to_string(&path).unwrap()))
        .collect()
}

#[test]
fn the_examples_have_no_problems() {
    let sandbox = Sandbox::new();
    let all = examples();
    assert_eq!(all.len(), 3, "a new example needs a line in the tour");
    for (name, text) in all {
        sandbox.write(&name, &text);
        assert_eq!(
            sandbox.run(&["check", &name]).stderr,
            "checked 1 file: no problems\n",
            "{name}"
        );
        assert!(
            sandbox.run(&["list", &name]).stdout.contains("user"),
            "{name}"
        );
        assert_eq!(
            sandbox.run(&["fmt", "--check", &name]).code,
            Some(0),
            "{name}"
        );
        let run = sandbox.run(&["context", &name, "--json"]);
        assert_eq!(run.code, Some(0), "{name}: {}", run.stderr);
        let plan: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(
            (&plan["fits"], &plan["model"]),
            (&true.into(), &"local/smollm2".into()),
            "{name}"
        );
        assert_eq!(sandbox.read(&name), text, "{name}");
    }
}

#[test]
fn every_example_can_be_answered() {
    for (name, text) in examples() {
        let server = Server::new(vec![answer(&["An answer."])]);
        let sandbox = Sandbox::new().with_server(&server.base_url);
        sandbox.write(&name, text.replace("local/smollm2", "openai/tiny"));
        sandbox.run(&["chat", &name]).assert_prints("An answer.\n");
        let request = server.request();
        assert!(
            !request.contains("80 °C") && !request.contains("analects chat"),
            "{request}"
        );
        if name == "two-agents.msg.md" {
            assert!(request.contains("You name one weakness"), "{request}");
            assert!(
                request.contains("[writer]: People keep diaries"),
                "{request}"
            );
        }
        assert_eq!(sandbox.message_texts(&name).last().unwrap(), "An answer.");
        assert_eq!(
            sandbox.run(&["check", &name]).stderr,
            "checked 1 file: no problems\n",
            "{name}"
        );
    }
}

/// The file that a README shows, up to the end of its code block.
fn file_in_readme(readme: &str) -> String {
    let path = format!("{}/../../{readme}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let shown = text.split_once("$ cat hello.msg.md\n").unwrap().1;
    shown.split_once("```\n").unwrap().0.to_string()
}

/// A file without the parts that differ from one answer to the next.
fn without_times(file: &str) -> String {
    let words = file.split_inclusive(' ');
    words
        .filter(|word| !word.starts_with("time=") && !word.starts_with("duration="))
        .collect()
}

#[test]
fn the_readme_shows_the_file_that_its_command_writes() {
    let sandbox = Sandbox::new();
    let recording = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples/hello.sse");
    let run = sandbox.run(&[
        "chat",
        "hello.msg.md",
        "-m",
        &format!("replay:{recording}"),
        "hi",
    ]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let made = without_times(&sandbox.read("hello.msg.md"));
    for readme in ["README.md", "README.zh.md"] {
        assert_eq!(without_times(&file_in_readme(readme)), made, "{readme}");
    }
}
