//! You edit the file while an answer arrives: your edits stay, and the answer goes below its question. If the
//! question is gone, the answer stays in the journal, and the command says so.

use std::path::Path;
use std::process::Child;

use crate::sandbox::Sandbox;
use crate::server::{
    Server, Step, answer, call, done, done_because, in_halves, piece, stream_head,
};

/// Asks a question and types another one below it before the first word of the answer arrives. The first answer is
/// `steps`, the second is `Two.`.
fn type_before_the_first_word(
    start: &str,
    more: &[&str],
    steps: &[Step],
) -> (Sandbox, Server, Child) {
    let mut sandbox = Sandbox::new();
    let script = [&[stream_head(), Step::Until(sandbox.path("go"))], steps].concat();
    let server = Server::new(vec![script, answer(&["Two."])]);
    sandbox.set_server(&server.base_url);
    sandbox.write(
        "a.msg.md",
        format!("---\nagents:\n  tiny:\n    models: [openai/tiny]\n---\n{start}"),
    );
    let child = sandbox.spawn(&[&["chat", "a.msg.md"], more].concat());
    assert!(server.request().contains("Question one?"));
    sandbox.write(
        "a.msg.md",
        sandbox.read("a.msg.md") + "\n# %%\n\nQuestion two?\n",
    );
    sandbox.write("go", "");
    (sandbox, server, child)
}

/// Starts an answer in a file with this name and waits for the first half. The rest arrives once there is a file `go`.
fn start_answer_in(name: &str, prepare: impl Fn(&Sandbox)) -> (Sandbox, Server, Child) {
    let sandbox = Sandbox::new();
    let script = in_halves(
        "The first half\n",
        sandbox.path("go"),
        "and the second half.",
    );
    let server = Server::new(vec![script]);
    let sandbox = sandbox.with_server(&server.base_url);
    prepare(&sandbox);
    let child = sandbox.spawn(&["chat", name, "-m", "openai/tiny"]);
    sandbox.wait_for_journal("The first half\n");
    (sandbox, server, child)
}

fn start_answer(file: &str) -> (Sandbox, Server, Child) {
    start_answer_in("a.msg.md", |sandbox| sandbox.write("a.msg.md", file))
}

/// Lets the second half arrive, and waits for the command.
#[track_caller]
fn finish_answer(sandbox: &Sandbox, child: Child, code: i32) -> String {
    sandbox.write("go", "");
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    assert_eq!(output.stdout, format!("{ANSWER}\n").as_bytes());
    stderr
}

const ANSWER: &str = "The first half\nand the second half.";

#[test]
fn text_typed_elsewhere_during_an_answer_is_kept() {
    for by_rename in [false, true] {
        let (sandbox, _server, child) = start_answer("# %%\n\nWhy?\n");
        let file = sandbox.read("a.msg.md");
        let file = file.replace("# %%\n\nWhy?", "# %%\n\nA word before.\n\n# %%\n\nWhy?");
        let file = format!("{file}\n# %%\n\nAnd then?\n");
        if by_rename {
            sandbox.write("new", file);
            std::fs::rename(sandbox.path("new"), sandbox.path("a.msg.md")).unwrap();
        } else {
            sandbox.write("a.msg.md", file);
        }
        assert_eq!(finish_answer(&sandbox, child, 0), "");
        let texts = ["A word before.", "Why?", ANSWER, "And then?"];
        assert_eq!(sandbox.message_texts("a.msg.md"), texts);
    }
}

#[test]
fn a_moved_file_gets_its_answer_with_the_next_command() {
    let (sandbox, _server, child) = start_answer("# %%\n\nWhy?\n");
    std::fs::rename(sandbox.path("a.msg.md"), sandbox.path("b.msg.md")).unwrap();
    let stderr = finish_answer(&sandbox, child, 0);
    assert!(
        stderr.contains("a.msg.md: the file no longer exists"),
        "{stderr}"
    );
    assert!(!sandbox.path("a.msg.md").exists());
    // Under its new name, too.
    let run = sandbox.run(&["add", "b.msg.md", "next"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(sandbox.message_texts("b.msg.md"), ["Why?", ANSWER, "next"]);
}

#[test]
fn a_question_typed_early_stays_below_the_answer_and_is_next() {
    let loose = "\n# %%\n\nQuestion one?\n";
    let failed = "\n# %% [^1]\n\n[^1]: [markdown]\n\nQuestion one?\n\n# %%% [^2]\n\n[^2]: [tiny] error=1\n\nNo luck\n";
    let steps = [piece("The first half\n```\n"), piece("the second"), done()];
    for (start, more) in [
        (loose, &[][..]),
        (loose, &["--no-stream"]),
        (failed, &[]),
        // The named agent gets a cell of its own, below the question.
        (loose, &["-m", "openai/other"]),
        ("", &["Question one?"]),
    ] {
        let (sandbox, server, child) = type_before_the_first_word(start, more, &steps);
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        let answer = "The first half\n```\nthe second";
        let texts: Vec<String> = sandbox.message_texts("a.msg.md");
        let from = texts.iter().position(|text| text == answer).unwrap();
        assert_eq!(
            texts[from + 1..],
            ["Question two?"],
            "{start} {more:?}: {texts:?}"
        );
        assert_eq!(sandbox.run(&["check", "a.msg.md"]).code, Some(0));
        let run = sandbox.run(&["chat", "a.msg.md"]);
        assert_eq!(
            (run.code, &*run.stdout),
            (Some(0), "Two.\n"),
            "{}",
            run.stderr
        );
        assert!(server.request().contains("Question two?"));
    }
}

#[test]
fn a_killed_answer_above_a_new_question_is_kept() {
    let start = "\n# %%\n\nQuestion one?\n";
    let steps = [
        piece("The first half\n```\n"),
        piece("and more\n"),
        Step::Hang,
    ];
    let (sandbox, server, mut child) = type_before_the_first_word(start, &[], &steps);
    sandbox.wait_for_journal("and more\n");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(
        sandbox.message_texts("a.msg.md"),
        ["Question one?", "Question two?"]
    );
    let run = sandbox.run(&["chat", "a.msg.md"]);
    assert_eq!(
        (run.code, &*run.stdout),
        (Some(0), "Two.\n"),
        "{}",
        run.stderr
    );
    assert!(server.request().contains("Question two?"));
    let came = "The first half\n```\nand more\n";
    assert_eq!(
        sandbox.message_texts("a.msg.md"),
        ["Question one?", came, "Question two?", "Two."]
    );
}

#[test]
fn tool_results_stay_below_their_calls_when_a_question_is_typed() {
    let calls = [
        call(0, "weather", r#"{"city":"Paris"}"#),
        call(1, "time", "{}"),
    ];
    for text in [&[][..], &[piece("I look it up.")]] {
        let steps = [text, &calls[..], &[done_because("tool_calls")]].concat();
        let start = "\n# %%\n\nQuestion one?\n";
        let (sandbox, server, child) = type_before_the_first_word(start, &[], &steps);
        assert!(child.wait_with_output().unwrap().status.success());
        let file = sandbox.read("a.msg.md");
        let order = ["one?", "name=\"time\"", "time was not run", "Question two?"];
        assert!(
            order.map(|word| file.find(word).unwrap()).is_sorted(),
            "{file}"
        );
        assert_eq!(sandbox.run(&["check", "a.msg.md"]).code, Some(0));
        let run = sandbox.run(&["chat", "a.msg.md"]);
        assert_eq!(
            (run.code, &*run.stdout),
            (Some(0), "Two.\n"),
            "{}",
            run.stderr
        );
        let request = server.request();
        assert!(
            request.find("was not run") < request.find("Question two?"),
            "{request}"
        );
    }
}

#[test]
fn reformatting_line_ends_and_blanks_keeps_the_question() {
    let trimmed = |file: &str| -> String {
        file.lines()
            .map(|line| format!("{}\n", line.trim_end()))
            .collect()
    };
    let saves: [&dyn Fn(&str) -> String; 2] = [&trimmed, &|file| file.replace('\n', "\r\n")];
    for save in saves {
        let (sandbox, _server, child) = start_answer("# %%\n\nWhy?  \nAnd how?\n");
        let file = format!("{}\n# %%\n\nNext question\n", sandbox.read("a.msg.md"));
        sandbox.write("a.msg.md", save(&file));
        assert_eq!(finish_answer(&sandbox, child, 0), "");
        let texts = sandbox.message_texts("a.msg.md");
        assert_eq!(
            texts[1..],
            [ANSWER, "Next question"],
            "{}",
            sandbox.read("a.msg.md")
        );
    }
}

#[cfg(unix)]
#[test]
fn a_link_that_replaces_the_file_receives_the_answer() {
    use std::os::unix::fs::symlink;
    for is_copy in [false, true] {
        let (sandbox, _server, child) = start_answer("# %%\n\nWhy?\n");
        std::fs::create_dir(sandbox.path("real")).unwrap();
        if is_copy {
            std::fs::copy(sandbox.path("a.msg.md"), sandbox.path("real/a.msg.md")).unwrap();
            symlink("real/a.msg.md", sandbox.path("link")).unwrap();
            std::fs::rename(sandbox.path("link"), sandbox.path("a.msg.md")).unwrap();
        } else {
            std::fs::rename(sandbox.path("a.msg.md"), sandbox.path("real/a.msg.md")).unwrap();
            symlink("real/a.msg.md", sandbox.path("a.msg.md")).unwrap();
        }
        assert_eq!(finish_answer(&sandbox, child, 0), "");
        let link = std::fs::read_link(sandbox.path("a.msg.md")).unwrap();
        assert_eq!(link, std::path::Path::new("real/a.msg.md"));
        assert_eq!(
            sandbox.message_texts("real/a.msg.md"),
            ["Why?", ANSWER],
            "{is_copy}"
        );
    }
}

/// A plain Markdown file with a section for messages.
const SECTION: &str = "---\ntitle: x\nmessage_section: Discussion\n---\n\n# Notes\n\n## Discussion\n\n### %%\n\nWhy?\n";

/// Changes the file while its answer arrives. The answer is written, or kept until the file is as it was. Returns
/// stderr.
#[track_caller]
fn change_during_answer(change: impl Fn(&Path)) -> String {
    let (sandbox, _server, child) =
        start_answer_in("a.md", |sandbox| sandbox.write("a.md", SECTION));
    let before = sandbox.read("a.md");
    let path = sandbox.path("a.md");
    change(&path);
    sandbox.write("go", "");
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.stdout, format!("{ANSWER}\n").as_bytes(), "{stderr}");
    let file = std::fs::read(&path).unwrap_or_default();
    if !String::from_utf8_lossy(&file).contains("second half") {
        let said = "the answer is kept, and the next change to the file adds it\n";
        assert!(stderr.contains(said), "{stderr}");
        let _ = std::fs::remove_dir(&path);
        sandbox.write("a.md", before);
        assert_eq!(sandbox.run(&["add", "a.md", "next"]).code, Some(0));
        assert_eq!(sandbox.message_texts("a.md"), ["Why?", ANSWER, "next"]);
    }
    stderr
}

#[test]
fn an_answer_that_cannot_be_written_is_saved_later() {
    let stderr = change_during_answer(|path| {
        std::fs::remove_file(path).unwrap();
        std::fs::create_dir(path).unwrap();
    });
    assert!(stderr.contains("not a regular file"), "{stderr}");
    let stderr =
        change_during_answer(|path| std::fs::write(path, b"### %%\n\nCaf\xe9?\n").unwrap());
    assert!(stderr.contains("not UTF-8"), "{stderr}");
    let stderr = change_during_answer(|path| std::fs::write(path, "# Only notes\n").unwrap());
    assert!(stderr.contains("not a message file"), "{stderr}");
}

#[test]
fn a_renamed_section_gets_its_answer_later() {
    for (from, to) in [
        ("message_section: Discussion\n", ""),
        ("## Discussion", "## Talk"),
        ("title: x", "title: \"x"),
    ] {
        change_during_answer(|path| {
            let text = std::fs::read_to_string(path).unwrap().replacen(from, to, 1);
            std::fs::write(path, text + "\n### %%\n\nNext?\n").unwrap();
        });
    }
}
