//! A person edits the file while an answer streams into it: their bytes win, the answer is placed below
//! what they typed, and if they changed the question itself, that is said and both are kept.

use std::process::Child;

use crate::sandbox::Sandbox;
use crate::server::{
    Server, Step, answer, call, done, done_because, in_halves, piece, stream_head,
};

/// A question that is asked, while another one is typed below it before the first word of an answer has come.
/// The answer comes with `steps`, the next one is `Two.`.
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
    sandbox.write("a.msg.md", sandbox.read("a.msg.md") + "\n# %%\n\nQuestion two?\n");
    sandbox.write("go", "");
    (sandbox, server, child)
}

/// A server that gives the first half of an answer, and the second one when there is a file `go`.
fn halves() -> (Sandbox, Server) {
    let sandbox = Sandbox::new();
    let script = in_halves("The first half\n", sandbox.path("go"), "and the second half.");
    let server = Server::new(vec![script]);
    (sandbox.with_server(&server.base_url), server)
}

/// An answer of which the first half is in the file.
fn begin(file: &str) -> (Sandbox, Server, Child) {
    let (sandbox, server) = halves();
    sandbox.write("a.msg.md", file);
    let child = sandbox.spawn(&["chat", "a.msg.md", "-m", "openai/tiny"]);
    sandbox.wait_for("a.msg.md", "The first half\n");
    (sandbox, server, child)
}

/// Lets the second half come, and waits for the end.
#[track_caller]
fn finish(sandbox: &Sandbox, child: Child) -> String {
    sandbox.write("go", "");
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert_eq!(output.stdout, b"The first half\nand the second half.\n");
    stderr
}

const ANSWER: &str = "The first half\nand the second half.";

#[test]
fn a_question_that_was_changed_is_told_and_both_texts_are_kept() {
    for question in ["# %%\n\nWhy?\n", "# %% [^7]\n\n[^7]: [markdown]\n\nWhy?\n"] {
        let (sandbox, _server, child) = begin(question);
        let edited = sandbox.read("a.msg.md").replace("Why?", "Why not?");
        sandbox.write("a.msg.md", edited);
        let stderr = finish(&sandbox, child);
        assert!(stderr.contains("was changed while it was being answered"), "{stderr}");
        assert_eq!(sandbox.texts("a.msg.md"), ["Why not?", ANSWER]);
        let file = sandbox.read("a.msg.md");
        assert!(file.contains("asked=\"Why?\""), "{file}");
        assert_eq!(sandbox.run(&["check", "a.msg.md"]).code, Some(0));
    }
}

#[test]
fn a_question_that_was_removed_is_kept_with_its_answer() {
    let (sandbox, _server, child) = begin(
        "# %% [^7]\n\n[^7]: [markdown]\n\nWhy?\n\n# %% [^8]\n\n[^8]: [markdown]\n\nAnd how?\n",
    );
    let file = sandbox.read("a.msg.md");
    let cut = file.find("# %% [^8]").unwrap()..file.find("And how?\n").unwrap() + 9;
    sandbox.write("a.msg.md", [&file[..cut.start], &file[cut.end..]].concat());
    let stderr = finish(&sandbox, child);
    assert!(stderr.contains("cell 8 was changed"), "{stderr}");
    assert_eq!(sandbox.texts("a.msg.md"), ["Why?", ANSWER]);
    assert!(sandbox.read("a.msg.md").contains("asked=\"And how?\""));
}

#[test]
fn a_change_elsewhere_is_nobodys_question() {
    let (sandbox, _server, child) = begin("# %%\n\nWhy?\n");
    // A cell above, and a line below the answer.
    let file =
        format!("# %%\n\nA word before.\n\n{}\n# %%\n\nAnd then?\n", sandbox.read("a.msg.md"));
    sandbox.write("a.msg.md", file);
    let stderr = finish(&sandbox, child);
    assert_eq!(stderr, "");
    assert_eq!(sandbox.texts("a.msg.md"), ["A word before.", "Why?", ANSWER, "And then?"]);
    assert!(!sandbox.read("a.msg.md").contains("asked="));
}

#[test]
fn what_is_typed_below_the_growing_answer_stays_below_it() {
    for by_rename in [false, true] {
        let (sandbox, _server, child) = begin("# %%\n\nWhy?\n");
        let file = format!("{}\n# %%\n\nNext question\n", sandbox.read("a.msg.md"));
        if by_rename {
            sandbox.write("new", file);
            std::fs::rename(sandbox.path("new"), sandbox.path("a.msg.md")).unwrap();
        } else {
            sandbox.write("a.msg.md", file);
        }
        assert_eq!(finish(&sandbox, child), "");
        assert_eq!(sandbox.texts("a.msg.md"), ["Why?", ANSWER, "Next question"]);
    }
}

#[test]
fn the_file_is_removed_while_it_grows() {
    let (sandbox, _server, child) = begin("# %%\n\nWhy?\n");
    std::fs::remove_file(sandbox.path("a.msg.md")).unwrap();
    finish(&sandbox, child);
    assert!(sandbox.texts("a.msg.md").contains(&ANSWER.to_string()));
}

#[test]
fn a_question_typed_before_the_first_word_stays_below_the_answer_and_is_asked_next() {
    let loose = "\n# %%\n\nQuestion one?\n";
    let failed = "\n# %% [^1]\n\n[^1]: [markdown]\n\nQuestion one?\n\n# %%% [^2]\n\n[^2]: [tiny] error=1\n\nNo luck\n";
    let steps = [piece("The first half\n```\n"), Step::Pause(150), piece("the second"), done()];
    for (start, more) in [
        (loose, &[][..]),
        (loose, &["--no-stream"]),
        (failed, &[]),
        // The agent that is named gets a cell of its own, below the question.
        (loose, &["-m", "openai/other"]),
        ("", &["Question one?"]),
    ] {
        let (sandbox, server, child) = type_before_the_first_word(start, more, &steps);
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        let answer = "The first half\n```\nthe second";
        let texts: Vec<String> = sandbox.texts("a.msg.md");
        let from = texts.iter().position(|text| text == answer).unwrap();
        assert_eq!(texts[from + 1..], ["Question two?"], "{start} {more:?}: {texts:?}");
        assert!(!sandbox.read("a.msg.md").contains("streaming"), "{}", sandbox.read("a.msg.md"));
        assert_eq!(sandbox.run(&["check", "a.msg.md"]).code, Some(0));
        let run = sandbox.run(&["chat", "a.msg.md"]);
        assert_eq!((run.code, &*run.stdout), (Some(0), "Two.\n"), "{}", run.stderr);
        assert!(server.request().contains("Question two?"));
    }
}

#[test]
fn a_kill_while_an_answer_grows_above_a_question_keeps_what_came() {
    let start = "\n# %%\n\nQuestion one?\n";
    for (came, more) in [
        ("The first half\n```", &[][..]),
        ("The first half\n```\nand more", &[Step::Pause(150), piece("and more\n")]),
    ] {
        let steps = [&[piece("The first half\n```\n")], more, &[Step::Hang]].concat();
        let (sandbox, server, mut child) = type_before_the_first_word(start, &[], &steps);
        sandbox.wait_for("a.msg.md", came);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(sandbox.messages("a.msg.md").problems, []);
        assert_eq!(sandbox.texts("a.msg.md"), ["Question one?", came, "Question two?"]);
        let run = sandbox.run(&["chat", "a.msg.md"]);
        assert_eq!((run.code, &*run.stdout), (Some(0), "Two.\n"), "{}", run.stderr);
        assert!(server.request().contains("Question two?"));
    }
}

#[test]
fn results_of_calls_stand_below_their_calls_also_if_a_question_is_typed_meanwhile() {
    let calls = [call(0, "weather", r#"{"city":"Paris"}"#), call(1, "time", "{}")];
    let end = [done_because("tool_calls")];
    let start = "\n# %%\n\nQuestion one?\n";
    for text in [&[][..], &[piece("I look it up.")]] {
        let steps = [text, &calls[..], &end[..]].concat();
        let (sandbox, server, child) = type_before_the_first_word(start, &[], &steps);
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{stderr}");
        let cells = sandbox.show("a.msg.md")["cells"].clone();
        let roles: Vec<&str> =
            cells.as_array().unwrap().iter().map(|cell| cell["role"].as_str().unwrap()).collect();
        let mut expected =
            vec!["user", "tool_call", "tool_call", "tool_result", "tool_result", "user"];
        if !text.is_empty() {
            expected.insert(1, "reply");
        }
        assert_eq!(roles, expected, "{}", sandbox.read("a.msg.md"));
        assert!(!sandbox.read("a.msg.md").contains("[residue]"), "{}", sandbox.read("a.msg.md"));
        assert_eq!(sandbox.run(&["check", "a.msg.md"]).code, Some(0));
        let run = sandbox.run(&["chat", "a.msg.md"]);
        assert_eq!((run.code, &*run.stdout), (Some(0), "Two.\n"), "{}", run.stderr);
        let request = server.request();
        assert!(request.find("was not run") < request.find("Question two?"), "{request}");
    }
}

#[test]
fn an_editor_that_changes_line_ends_and_blanks_doubles_nothing() {
    let text = "The first half  \n\n  \n    and \n";
    let trimmed = |file: &str| -> String {
        file.lines().map(|line| format!("{}\n", line.trim_end())).collect()
    };
    let saves: [&dyn Fn(&str) -> String; 2] = [&trimmed, &|file| file.replace('\n', "\r\n")];
    for save in saves {
        let sandbox = Sandbox::new();
        let script = in_halves(text, sandbox.path("go"), "the second half.");
        let server = Server::new(vec![script]);
        let sandbox = sandbox.with_server(&server.base_url);
        sandbox.write("a.msg.md", "# %%\n\nWhy?  \nAnd how?\n");
        let child = sandbox.spawn(&["chat", "a.msg.md", "-m", "openai/tiny"]);
        sandbox.wait_for("a.msg.md", text);
        let file = format!("{}\n# %%\n\nNext question\n", sandbox.read("a.msg.md"));
        sandbox.write("a.msg.md", save(&file));
        sandbox.write("go", "");
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        let texts = sandbox.texts("a.msg.md");
        let answer = format!("{text}the second half.");
        assert_eq!(texts[1..], [&*answer, "Next question"], "{}", sandbox.read("a.msg.md"));
    }
}

#[test]
fn what_is_typed_below_an_older_part_of_the_answer_is_a_question() {
    for first in ["The first ", "The first half\n", "The first half\nand"] {
        let mut sandbox = Sandbox::new();
        let (more, end) = (Step::Until(sandbox.path("more")), Step::Until(sandbox.path("go")));
        let (middle, last) = ANSWER.strip_prefix(first).unwrap().split_at(6);
        let script =
            vec![stream_head(), piece(first), more, piece(middle), end, piece(last), done()];
        let server = Server::new(vec![script]);
        sandbox.set_server(&server.base_url);
        sandbox.write("a.msg.md", "# %%\n\nWhy?\n");
        let child = sandbox.spawn(&["chat", "a.msg.md", "-m", "openai/tiny"]);
        sandbox.wait_for("a.msg.md", first);
        let early = sandbox.read("a.msg.md");
        sandbox.write("more", "");
        sandbox.wait_for("a.msg.md", &format!("{first}{middle}"));
        sandbox.write("a.msg.md", format!("{early}\nMy next question?\n"));
        assert_eq!(finish(&sandbox, child), "");
        let texts = ["Why?", ANSWER, "My next question?"];
        assert_eq!(sandbox.texts("a.msg.md"), texts, "{}", sandbox.read("a.msg.md"));
    }
}

#[test]
fn a_question_with_code_below_an_older_part_of_an_answer_with_code_is_a_question() {
    let step = |n| format!("Step {n}:\n\n```\ncmd {n}\n```\n\n");
    for question in ["My next question:\n\n```\nmy code\n```\n\nwhy?", "Step", "```\nmy\n```\nwhy?"]
    {
        let mut sandbox = Sandbox::new();
        let (more, end) = (Step::Until(sandbox.path("more")), Step::Until(sandbox.path("end")));
        let (first, second) = (piece(&step(0)), piece(&step(1)));
        let script = vec![stream_head(), first, more, second, end, piece("done."), done()];
        let server = Server::new(vec![script]);
        sandbox.set_server(&server.base_url);
        sandbox.write("a.msg.md", "# %%\n\nWhy?\n");
        let child = sandbox.spawn(&["chat", "a.msg.md", "-m", "openai/tiny"]);
        sandbox.wait_for("a.msg.md", "cmd 0\n```\n");
        let early = sandbox.read("a.msg.md");
        sandbox.write("more", "");
        sandbox.wait_for("a.msg.md", "cmd 1\n```\n");
        sandbox.write("a.msg.md", format!("{early}{question}\n"));
        sandbox.write("end", "");
        assert_eq!(child.wait_with_output().unwrap().status.code(), Some(0));
        let texts = ["Why?", &format!("{}{}done.", step(0), step(1)), question];
        assert_eq!(sandbox.texts("a.msg.md"), texts, "{}", sandbox.read("a.msg.md"));
    }
}

#[cfg(unix)]
#[test]
fn a_symbolic_link_that_takes_the_place_of_the_file_stays_and_the_answer_goes_where_it_leads() {
    use std::os::unix::fs::symlink;
    for is_copy in [false, true] {
        let (sandbox, _server, child) = begin("# %%\n\nWhy?\n");
        std::fs::create_dir(sandbox.path("real")).unwrap();
        if is_copy {
            std::fs::copy(sandbox.path("a.msg.md"), sandbox.path("real/a.msg.md")).unwrap();
            symlink("real/a.msg.md", sandbox.path("link")).unwrap();
            std::fs::rename(sandbox.path("link"), sandbox.path("a.msg.md")).unwrap();
        } else {
            std::fs::rename(sandbox.path("a.msg.md"), sandbox.path("real/a.msg.md")).unwrap();
            symlink("real/a.msg.md", sandbox.path("a.msg.md")).unwrap();
        }
        assert_eq!(finish(&sandbox, child), "");
        let link = std::fs::read_link(sandbox.path("a.msg.md")).unwrap();
        assert_eq!(link, std::path::Path::new("real/a.msg.md"));
        assert_eq!(sandbox.texts("real/a.msg.md"), ["Why?", ANSWER], "{is_copy}");
        let file = sandbox.read("real/a.msg.md");
        assert!(!file.contains("streaming"), "{file}");
        for folder in ["", "real"] {
            let names = std::fs::read_dir(sandbox.path(folder)).unwrap();
            let mut names = names.map(|entry| entry.unwrap().file_name());
            assert!(names.all(|name| !name.to_string_lossy().starts_with('.')), "{folder}");
        }
    }
}

#[cfg(unix)]
#[test]
fn a_name_that_leads_elsewhere_by_now_leaves_the_answer_where_its_question_is() {
    use std::os::unix::fs::symlink;
    let (sandbox, _server) = halves();
    for name in ["one.msg.md", "two.msg.md"] {
        sandbox.write(name, "# %%\n\nWhy?\n");
    }
    symlink("one.msg.md", sandbox.path("a.msg.md")).unwrap();
    let child = sandbox.spawn(&["chat", "a.msg.md", "-m", "openai/tiny"]);
    sandbox.wait_for("a.msg.md", "The first half\n");
    symlink("two.msg.md", sandbox.path("link")).unwrap();
    std::fs::rename(sandbox.path("link"), sandbox.path("a.msg.md")).unwrap();
    assert_eq!(finish(&sandbox, child), "");
    assert_eq!(sandbox.texts("one.msg.md"), ["Why?", ANSWER]);
    assert_eq!(sandbox.texts("two.msg.md"), ["Why?"]);
}

/// A plain Markdown file with a section for messages.
const SECTION: &str = "---\ntitle: x\nmessage_section: Discussion\n---\n\n# Notes\n\n## Discussion\n\n### %%\n\nWhy?\n";

#[test]
fn a_section_that_is_not_named_while_an_answer_comes_gets_it_once_and_in_its_place() {
    let changes = [
        ("title: x", "title: \"x"),
        ("message_section: Discussion\n", ""),
        ("message_section: Discussion", "message_section: [Disc"),
        ("---\n\n", "\n\n"),
        ("## Discussion", "## Talk"),
        ("## Discussion\n\n", ""),
        ("message_section: Discussion", "message_section: Notes"),
        ("message_section: Discussion", "message_section: Talk"),
    ];
    for (from, to) in changes {
        // In some of them, the person also goes on typing.
        let typed = if to.is_empty() { "\n\n### %%\n\nNext?\n" } else { "" };
        let (sandbox, _server) = halves();
        sandbox.write("a.md", SECTION);
        let child = sandbox.spawn(&["chat", "a.md", "-m", "openai/tiny"]);
        sandbox.wait_for("a.md", "The first half\n");
        let file = sandbox.read("a.md");
        let edited = format!("{}{typed}", file.replacen(from, to, 1));
        assert_ne!(edited, file);
        sandbox.write("a.md", &edited);
        assert_eq!(finish(&sandbox, child), "", "{from:?}");
        let file = sandbox.read("a.md");
        assert_eq!(file.matches("half").count(), 2, "{from:?}: {file}");
        assert_eq!(file.matches(" %%%").count(), 1, "{from:?}: {file}");
        assert!(!file.contains("streaming") && !file.contains("asked="), "{from:?}: {file}");
        let (above, _) = edited.split_once("### %%% ").unwrap();
        assert!(file.starts_with(above), "{from:?}: {file}");
        // When it is mended, all is as it was.
        let mended = format!("{SECTION}{}", &file[file.find("Why?\n").unwrap() + 5..]);
        sandbox.write("a.md", mended);
        let mut texts = vec!["Why?", ANSWER];
        texts.extend((!typed.is_empty()).then_some("Next?"));
        assert_eq!(sandbox.texts("a.md"), texts, "{from:?}: {file}");
    }
}

#[test]
fn a_file_that_is_no_message_file_any_more_gets_no_answer() {
    let (sandbox, _server) = halves();
    sandbox.write("a.md", SECTION);
    let child = sandbox.spawn(&["chat", "a.md", "-m", "openai/tiny"]);
    sandbox.wait_for("a.md", "The first half\n");
    sandbox.write("a.md", "# Only notes\n");
    sandbox.write("go", "");
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_ne!(output.status.code(), Some(0), "{stderr}");
    assert!(stderr.contains("a.md: not a message file"), "{stderr}");
    assert_eq!(sandbox.read("a.md"), "# Only notes\n");
}

#[cfg(unix)]
#[test]
fn where_the_end_of_an_answer_cannot_be_written_that_is_said() {
    use std::path::Path;
    let utf16 =
        |text: String| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
    let folder = |path: &Path| {
        std::fs::remove_file(path).unwrap();
        std::fs::create_dir(path).unwrap();
    };
    let renamed = |path: &Path| {
        let folder = path.parent().unwrap();
        std::fs::rename(folder, folder.with_file_name("other")).unwrap();
    };
    let latin = |path: &Path| {
        let text = std::fs::read_to_string(path).unwrap().replace("Why?", "Why @?");
        let bytes = text.bytes().map(|byte| if byte == b'@' { 0xe9 } else { byte });
        std::fs::write(path, bytes.collect::<Vec<u8>>()).unwrap();
    };
    let other = |path: &Path| {
        let text = std::fs::read_to_string(path).unwrap();
        std::fs::write(path, [&b"\xff\xfe"[..], &utf16(text)].concat()).unwrap();
    };
    type Case<'a> = (&'a dyn Fn(&Path), i32, &'a str);
    let cases: [Case<'_>; 4] = [
        (&folder, 1, "not a regular file"),
        (&renamed, 3, "not found"),
        (&latin, 1, "not UTF-8"),
        (&other, 1, "not UTF-8"),
    ];
    for (change, code, why) in cases {
        let (sandbox, _server) = halves();
        std::fs::create_dir(sandbox.path("in")).unwrap();
        sandbox.write("in/a.msg.md", "# %%\n\nWhy?\n");
        let child = sandbox.spawn(&["chat", "in/a.msg.md", "-m", "openai/tiny"]);
        sandbox.wait_for("in/a.msg.md", "The first half\n");
        change(&sandbox.path("in/a.msg.md"));
        sandbox.write("go", "");
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{stderr}");
        assert_eq!(output.stdout, format!("{ANSWER}\n").as_bytes());
        let said = "only a part of the answer is in the file; all that came was printed\n";
        assert!(stderr.contains(why) && stderr.ends_with(said), "{stderr}");
    }
}
