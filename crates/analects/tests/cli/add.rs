//! `add`: text goes in unchanged and in the right place, or nothing is written.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::sandbox::{CommandOutput, Sandbox};

const AGENTS: &str = "---\nagents:\n  coder:\n    models: [openai/big]\n  poet:\n    \
                      models: [openai/rhyme]\n---\n\n";

const CODE: &str = "# %% [^1]\n\n[^1]: [code]\n\n```python\nprint(1)\n```\n";

#[track_caller]
fn cell_contents(sandbox: &Sandbox, name: &str) -> Vec<String> {
    let show = sandbox.show_json(name);
    let cells = show["cells"].as_array().unwrap().iter();
    cells
        .map(|cell| cell["content"].as_str().unwrap().to_string())
        .collect()
}

#[test]
fn add_takes_text_from_arguments_or_stdin() {
    let sandbox = Sandbox::new();
    sandbox
        .run(&["add", "a.msg.md", "one", "two"])
        .assert_prints("1\n");
    sandbox
        .run_with_stdin(&["add", "a.msg.md", "Look:"], "a\nb\r\n\n")
        .assert_prints("2\n");
    sandbox
        .run_with_stdin(&["add", "a.msg.md"], "a\nb\r\n\n")
        .assert_prints("3\n");
    assert_eq!(
        cell_contents(&sandbox, "a.msg.md"),
        ["one two", "Look:\n\na\nb", "a\nb\r\n\n"]
    );
    let args = ["add", "a.msg.md", "a cat", "--mime-type", "image/png"];
    let run = sandbox.run_with_stdin(&args, b"\x89PNG");
    assert_eq!(run.code, Some(2), "{}", run.stderr);
}

#[test]
fn added_text_reads_back_exactly() {
    let sandbox = Sandbox::new();
    let long = "# %% [^1]\n\n[^1]: [agent] name=\"x\"\n\n```\n\u{0}\r".repeat(140_000);
    assert!(long.len() > 5_000_000);
    let texts = [
        "\0",
        "\r\n",
        "\n",
        " ",
        "\t\n\t",
        "no final newline",
        "crlf\r\nfile\r\n",
        "lone \r end\r",
        "# %% [^1]\n\n[^1]: [markdown]\n\nforged",
        "[^1]: [markdown] history=none",
        "# %%\n",
        "\\# %%% x[^2]",
        "```python\n# %%\n",
        "---\ntitle: x\n---\n",
        "\u{feff}bom",
        "a\u{2028}b",
        "text[^9]\n\n[^9]: a footnote\n",
        "- ```\n  x\n",
        "\u{202e}\u{1b}[31m 你好 👩\u{200d}💻",
        &long,
    ];
    let mut added = Vec::new();
    for (number, text) in texts.into_iter().enumerate() {
        let run = sandbox.run_with_stdin(&["add", "a.msg.md"], text);
        run.assert_prints(&format!("{}\n", number + 1));
        added.push(text.to_string());
    }
    let back = cell_contents(&sandbox, "a.msg.md");
    assert_eq!(back.len(), added.len());
    for (back, added) in back.into_iter().zip(added) {
        assert!(
            back == added,
            "{:?}",
            added.chars().take(80).collect::<String>()
        );
    }
}

fn text_strategy() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        3 => any::<String>(),
        1 => Just("\n".to_string()),
        1 => Just("\r\n".to_string()),
        1 => proptest::sample::select(vec![
            "# %%", "# %% t[^1]", "[^1]: [markdown] a=1", "\\", "```", "~~~", "# %%%", "##### %% [^2]",
            "---", "\r", "\0", " ", "[^2]: [code] stored=\"lines=2\"", "- ", "    ",
        ]).prop_map(str::to_string),
    ];
    proptest::collection::vec(piece, 1..12)
        .prop_map(|pieces| pieces.concat())
        .prop_filter("nothing is not added", |text| !text.is_empty())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: ProptestConfig::default().cases / 6, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn random_text_reads_back_exactly(
        texts in proptest::collection::vec((text_strategy(), any::<bool>()), 1..4),
        before in text_strategy(),
        title in any::<String>(),
    ) {
        let sandbox = Sandbox::new();
        // Any file, with a last cell whose content can be compared.
        sandbox.write("a.msg.md", &before);
        let title = title.replace('\0', "");
        let title_option = format!("--title={title}");
        for (text, output) in &texts {
            let mut args = vec!["add", "a.msg.md", &title_option];
            args.extend(output.then_some(["--output", "--type", "someone"]).into_iter().flatten());
            let run = sandbox.run_with_stdin(&args, text);
            prop_assert_eq!(run.code, Some(0), "{}", run.stderr);
        }
        let run = sandbox.run(&["show", "--json", "a.msg.md"]);
        let show: Value = serde_json::from_str(&run.stdout).unwrap();
        // An empty cell at the end stays there for the next prompt.
        let is_ready = |cell: &&Value| cell["content"] == "" && cell["id"].is_null();
        let cells = show["cells"].as_array().unwrap().iter().rev().skip_while(is_ready);
        for ((text, output), cell) in texts.iter().rev().zip(cells) {
            prop_assert_eq!(&cell["content"], &json!(text));
            prop_assert_eq!(&cell["title"], &json!(title));
            prop_assert_eq!(&cell["kind"], if *output { "output" } else { "message" });
        }
    }
}

#[test]
fn add_refuses_empty_text() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(&["add", "a.msg.md"]);
    assert_eq!(run.code, Some(2));
    assert!(
        run.stderr.starts_with("analects: nothing to add\nhint: "),
        "{}",
        run.stderr
    );
    assert_eq!(sandbox.run(&["add", "a.msg.md", ""]).code, Some(2));
    assert!(!sandbox.path("a.msg.md").exists());
    // The output of a program may be empty.
    sandbox.write("a.msg.md", CODE);
    sandbox
        .run(&["add", "a.msg.md", "--output", "--of", "1"])
        .assert_prints("1.1\n");
}

#[test]
fn add_binary_data_needs_a_type() {
    let sandbox = Sandbox::new();
    let bytes = b"\x89PNG\r\n\x1a\n\xff\x00";
    let run = sandbox.run_with_stdin(&["add", "a.msg.md"], bytes);
    run.assert_fails(
        1,
        "analects: this is not text: the bytes at offset 0 are not UTF-8\n\
         hint: say what it is, such as --mime-type image/png\n",
    );
    assert!(!sandbox.path("a.msg.md").exists());
    let args = [
        "add",
        "a.msg.md",
        "--mime-type",
        "image/png",
        "--attr",
        "history=none",
    ];
    sandbox.run_with_stdin(&args, bytes).assert_prints("1\n");
    assert_eq!(
        sandbox.read("a.msg.md"),
        "# %% [^1]\n\n[^1]: [raw] mime_type=\"image/png\" history=\"none\"\n\niVBORw0KGgr/AA==\n"
    );
    assert_eq!(sandbox.messages("a.msg.md").problems, []);
    for kind in ["png", "image/", "a/b/c", "a b/c", "/"] {
        let args = ["add", "a.msg.md", "--mime-type", kind, "x"];
        assert_eq!(sandbox.run(&args).code, Some(2), "{kind}");
    }
    let run = sandbox.run(&["add", "a.msg.md", "--mime-type", "image/png"]);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    let args = [
        "add",
        "a.msg.md",
        "--output",
        "--type",
        "x",
        "--mime-type",
        "image/png",
        "x",
    ];
    assert_eq!(sandbox.run(&args).code, Some(2));
}

#[test]
fn add_writes_replies_below_the_right_cell() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "a.msg.md",
        format!("{AGENTS}# %% [^q]\n\n[^q]: [markdown]\n\nhi\n"),
    );
    let add = |args: &[&str]| sandbox.run(&[&["add", "a.msg.md", "--output"], args].concat());
    add(&["from the default"]).assert_prints("1\n");
    add(&["--agent", "poet", "--of", "q", "a poem"]).assert_prints("2\n");
    sandbox
        .run(&["add", "a.msg.md", "more"])
        .assert_prints("3\n");
    add(&["--of", "q", "a second thought"]).assert_prints("4\n");
    add(&["--of", "3", "--id", "last", "an answer"]).assert_prints("last\n");
    let show = sandbox.show_json("a.msg.md");
    let cells = show["cells"].as_array().unwrap();
    let authors: Vec<_> = cells
        .iter()
        .map(|cell| cell["agent"].as_str().unwrap_or(""))
        .collect();
    assert_eq!(authors, ["", "coder", "poet", "", "poet", "poet"]);
    let parents: Vec<_> = cells
        .iter()
        .map(|cell| &cell["attributes"]["parent"])
        .collect();
    assert_eq!(
        parents.iter().filter(|parent| parent.is_string()).count(),
        1
    );
    assert_eq!(parents[4], "q");
    assert_eq!(show["problems"], json!([]));
    let run = add(&["--agent", "poett", "x"]);
    run.assert_fails(
        3,
        "analects: a.msg.md: there is no agent poett\nhint: did you mean poet?\n",
    );
    assert_eq!(add(&["--of", "nowhere", "x"]).code, Some(3));
    assert_eq!(add(&["--of", "2", "x"]).code, Some(2));
    assert_eq!(add(&["--of", "q", "--type", "tool", "x"]).code, Some(2));
    assert_eq!(
        add(&["--type", "coder", "--agent", "coder", "x"]).code,
        Some(2)
    );
    for word in ["markdown", "agent", "details", "tool", "a]b"] {
        assert_eq!(add(&["--type", word, "x"]).code, Some(2), "{word}");
    }
    assert_eq!(
        sandbox.show_json("a.msg.md")["cells"]
            .as_array()
            .unwrap()
            .len(),
        6
    );
}

#[test]
fn add_output_needs_an_author() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(&["add", "a.msg.md", "--output", "x"]);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert!(
        run.stderr
            .ends_with("hint: name the agent that it comes from with --agent\n")
    );
    sandbox
        .run(&["add", "a.msg.md", "--output", "--agent", "someone", "x"])
        .assert_prints("1\n");
    // A loose cell other than the last message has no name to refer to.
    sandbox.write("b.msg.md", "# %%\n\none\n\n# %%\n\ntwo\n");
    let run = sandbox.run(&[
        "add", "b.msg.md", "--output", "--agent", "x", "--of", "1", "y",
    ]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(
        run.stderr
            .contains("hint: end its first line with an id, such as [^1]")
    );
    sandbox
        .run(&[
            "add", "b.msg.md", "--output", "--agent", "x", "--of", "2", "y",
        ])
        .assert_prints("3\n");
}

#[test]
fn add_does_not_double_the_names_of_streams() {
    let sandbox = Sandbox::new();
    sandbox.write("a.msg.md", CODE);
    let add = |stdin: &str| {
        let args = ["add", "a.msg.md", "--output", "--of", "1"];
        assert_eq!(sandbox.run_with_stdin(&args, stdin).code, Some(0));
    };
    add("stdout> 1\nstderr> careful\n");
    add("stdout> 1\nand this\n");
    add("stdout> 1\nstdout>\\ no end\n");
    let show = sandbox.show_json("a.msg.md");
    let contents = ["1.1", "1.2", "1.3"].map(|id| {
        let mut cells = show["cells"].as_array().unwrap().iter();
        cells.find(|cell| cell["id"] == id).unwrap()["content"].clone()
    });
    let expected = [
        "stdout> 1\nstderr> careful",
        "stdout> stdout> 1\nstdout> and this",
        "stdout> 1\nstdout>\\ no end",
    ];
    assert_eq!(contents, expected);
    assert_eq!(show["problems"], json!([]));
}

#[test]
fn add_writes_outputs_below_their_code() {
    let sandbox = Sandbox::new();
    sandbox.write("a.msg.md", CODE);
    let add = |args: &[&str], stdin: &[u8]| {
        sandbox.run_with_stdin(&[&["add", "a.msg.md", "--output"], args].concat(), stdin)
    };
    add(&["--of", "1"], b"1\nno end").assert_prints("1.1\n");
    add(&["--of", "1.1"], b"stderr> already so").assert_prints("1.1-2\n");
    add(&["--of", "1.1-2", "--mime-type", "image/png"], b"\xff\x00").assert_prints("1.1-3\n");
    add(&["--of", "1"], b"\xff\n").assert_prints("1.2\n");
    add(&["--of", "1", "--type", "ipython"], b"").assert_prints("1.3\n");
    let show = sandbox.show_json("a.msg.md");
    let cells = show["cells"].as_array().unwrap();
    assert!(
        cells[1..].iter().all(|cell| cell["role"] == "code_output"),
        "{cells:#?}"
    );
    assert_eq!(cells[1]["content"], "stdout> 1\nstdout>\\ no end");
    assert_eq!(
        (&cells[1]["language"], &cells[5]["language"]),
        (&json!("python"), &json!("ipython"))
    );
    assert_eq!(cells[2]["content"], "stderr> already so");
    assert_eq!(
        (
            &cells[3]["content_base64"],
            &cells[3]["attributes"]["mime_type"]
        ),
        (&json!("/wA="), &json!("image/png"))
    );
    assert_eq!(
        (&cells[4]["content"], &cells[4]["attributes"]["encoding"]),
        (&json!("stdout> /wo="), &json!("base64"))
    );
    assert_eq!(show["problems"], json!([]));
    assert_eq!(add(&["--of", "1", "--id", "x"], b"x").code, Some(2));
    assert_eq!(add(&["--of", "1", "--type", "tool"], b"x").code, Some(2));
    // A code cell whose block names no language.
    sandbox.write("b.msg.md", CODE.replace("python", ""));
    assert_eq!(
        sandbox
            .run(&["add", "b.msg.md", "--output", "--of", "1", "x"])
            .code,
        Some(2)
    );
}

#[test]
fn add_writes_tool_calls_and_their_results() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "a.msg.md",
        format!("{AGENTS}# %% [^1]\n\n[^1]: [markdown]\n\nhi\n"),
    );
    let add = |args: &[&str]| sandbox.run(&[&["add", "a.msg.md", "--output"], args].concat());
    add(&["let me see"]).assert_prints("2\n");
    let call = "<invoke name=\"weather\">\n<parameter name=\"city\">Paris</parameter>\n</invoke>";
    let tool = ["--type", "tool", "--attr", "name=weather", "--of"];
    let run = add(&[&tool[..], &["2", call]].concat());
    let name = run.stdout.trim_end().to_string();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(name.starts_with("2.") && name.len() == 10, "{name}");
    for number in 1..=2 {
        let run = add(&["--of", &name, "--attr", "status=success", "18 degrees"]);
        run.assert_prints(&format!("{name}.{number}\n"));
    }
    let show = sandbox.show_json("a.msg.md");
    let roles: Vec<_> = show["cells"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cell| &cell["role"])
        .collect();
    assert_eq!(
        roles,
        ["user", "reply", "tool_call", "tool_result", "tool_result"]
    );
    assert_eq!(show["problems"], json!([]));
    let run = add(&[&tool[..], &["2", "not XML"]].concat());
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(
        run.stderr.contains("cannot read this tool call"),
        "{}",
        run.stderr
    );
    assert_eq!(add(&["--of", &name, "--type", "coder", "x"]).code, Some(2));
    assert_eq!(add(&["--of", &format!("{name}.1"), "x"]).code, Some(2));
}

#[test]
fn add_sets_attributes_ids_and_titles() {
    let sandbox = Sandbox::new();
    let add = |args: &[&str]| sandbox.run(&[&["add", "a.msg.md"], args].concat());
    let value = "quo\"te \\ \n \u{1b} [x] = 你";
    let attribute = format!("note={value}");
    let args = [
        "--id",
        "idea",
        "--title",
        "On\nlines",
        "--attr",
        &attribute,
        "--attr",
        "n=1",
        "x",
    ];
    add(&args).assert_prints("idea\n");
    let cell = sandbox.show_json("a.msg.md")["cells"][0].clone();
    assert_eq!(
        (&cell["title"], &cell["attributes"]["note"]),
        (&json!("On\nlines"), &json!(value))
    );
    let before = sandbox.read("a.msg.md");
    let wrong: [(&[&str], i32); 14] = [
        (&["--attr", "stored=lines=1", "x"], 2),
        (&["--attr", "title=x", "x"], 2),
        (&["--attr", "status=streaming", "x"], 2),
        (&["--attr", "nothing", "x"], 2),
        (&["--attr", "=1", "x"], 2),
        (&["--attr", "1a=1", "x"], 2),
        (&["--attr", "a b=1", "x"], 2),
        (&["--attr", "a=1", "--attr", "a=2", "x"], 2),
        (&["--attr", "history=sumary", "x"], 1),
        (&["--id", "idea", "x"], 1),
        (&["--id", "a b", "x"], 2),
        (&["--id", "a]", "x"], 2),
        (&["--id", "1.2", "x"], 2),
        (&["--id", "", "x"], 2),
    ];
    for (args, code) in wrong {
        let run = add(args);
        assert_eq!(
            (run.code, &*run.stdout),
            (Some(code), ""),
            "{args:?}: {}",
            run.stderr
        );
        assert_eq!(run.stderr.lines().count(), 2, "{args:?}: {}", run.stderr);
    }
    let long = "x".repeat(65);
    assert_eq!(add(&["--id", &long, "x"]).code, Some(2));
    assert_eq!(sandbox.read("a.msg.md"), before);
    assert_eq!(add(&["--attr", "status=done", "x"]).code, Some(0));
}

#[test]
fn add_sets_the_type_and_agent_of_a_message() {
    let sandbox = Sandbox::new();
    sandbox.write("a.msg.md", AGENTS);
    let add = |args: &[&str]| sandbox.run(&[&["add", "a.msg.md"], args].concat());
    add(&["--type", "code", "```sh\nls\n```"]).assert_prints("1\n");
    add(&["--type", "raw", "x"]).assert_prints("2\n");
    add(&["--agent", "poet", "x"]).assert_prints("3\n");
    let show = sandbox.show_json("a.msg.md");
    assert_eq!(
        (
            &show["cells"][0]["language"],
            &show["cells"][2]["attributes"]["agent"]
        ),
        (&json!("sh"), &json!("poet"))
    );
    assert_eq!(add(&["--type", "code", "no fence"]).code, Some(1));
    assert_eq!(add(&["--type", "agent", "x"]).code, Some(2));
    assert_eq!(add(&["--type", "coder", "x"]).code, Some(2));
    assert_eq!(add(&["--agent", "nobody", "x"]).code, Some(3));
    assert_eq!(add(&["--of", "1", "x"]).code, Some(2));
}

#[test]
fn add_keeps_every_existing_byte() {
    let sandbox = Sandbox::new();
    let before =
        "\u{feff}---\r\ntitle: x   # mine\r\n---\r\n\r\nmine\r\n# %%\r\n\r\nodd  \r\n\r\n\r\n```";
    sandbox.write("a.msg.md", before);
    assert_eq!(sandbox.run(&["add", "a.msg.md", "more"]).code, Some(0));
    let after = sandbox.read("a.msg.md");
    assert_eq!(&after[..before.len()], before);
    assert!(after.ends_with("\r\n\r\nmore\r\n"), "{after:?}");
}

#[test]
fn add_explains_why_a_file_cannot_be_changed() {
    let sandbox = Sandbox::new();
    sandbox.write("notes.md", "mine");
    sandbox.write("bad.msg.md", b"# %%\n\n\xff\n");
    std::fs::create_dir(sandbox.path("folder.msg.md")).unwrap();
    for (name, code, part) in [
        ("notes.md", 2, "new NOTES.md makes such a file"),
        ("talk.txt", 2, "not a message file"),
        (
            "bad.msg.md",
            1,
            "bad.msg.md:3:1: the bytes at offset 6 are not UTF-8",
        ),
        ("folder.msg.md", 1, "not a regular file"),
        ("no/a.msg.md", 3, "not found"),
    ] {
        let run = sandbox.run(&["add", name, "x"]);
        assert_eq!(
            (run.code, &*run.stdout),
            (Some(code), ""),
            "{name}: {}",
            run.stderr
        );
        assert!(run.stderr.contains(part), "{name}: {}", run.stderr);
    }
    assert_eq!(sandbox.read("notes.md"), "mine");
    assert_eq!(
        std::fs::read(sandbox.path("bad.msg.md")).unwrap(),
        b"# %%\n\n\xff\n"
    );
}

#[test]
fn add_prints_json_for_programs() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(&["add", "--json", "a.msg.md", "x"]);
    let json: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(json, json!({ "path": "a.msg.md", "name": "1" }));
    let run = sandbox.run(&["add", "--json", "a.msg.md", "--output", "--of", "7", "x"]);
    let json: Value = serde_json::from_str(&run.stderr).unwrap();
    assert_eq!(
        (run.code, &json["error"]["kind"]),
        (Some(3), &json!("not_found"))
    );
}

/// Locks the file, as another writer does.
fn hold_lock(sandbox: &Sandbox) -> std::fs::File {
    sandbox
        .run(&["add", "a.msg.md", "one"])
        .assert_prints("1\n");
    let locks = std::fs::read_dir(sandbox.path("home/state/locks")).unwrap();
    let mut locks = locks.map(|entry| entry.unwrap().path());
    let lock = locks
        .find(|path| path.extension().is_some_and(|end| end == "lock"))
        .unwrap();
    let file = std::fs::File::options().write(true).open(lock).unwrap();
    file.lock().unwrap();
    file
}

#[test]
fn add_waits_for_another_writer() {
    let sandbox = Sandbox::new();
    let lock = hold_lock(&sandbox);
    let add = sandbox.spawn(&["add", "a.msg.md", "two"]);
    drop(lock);
    let run: CommandOutput = add.wait_with_output().unwrap().into();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(sandbox.message_texts("a.msg.md"), ["one", "two"]);
}

#[test]
fn add_gives_up_on_a_writer_that_never_finishes() {
    let sandbox = Sandbox::new();
    let _lock = hold_lock(&sandbox);
    let start = std::time::Instant::now();
    let run = sandbox.run(&["add", "--json", "a.msg.md", "two"]);
    assert!(start.elapsed().as_secs() >= 10);
    let json: Value = serde_json::from_str(&run.stderr).unwrap();
    assert_eq!(
        (run.code, &json["error"]["kind"]),
        (Some(4), &json!("locked"))
    );
    assert_eq!(sandbox.message_texts("a.msg.md"), ["one"]);
}

#[test]
fn many_adds_at_once_lose_nothing() {
    let sandbox = Sandbox::new();
    let texts: Vec<String> = (0..12).map(|number| format!("text {number}")).collect();
    let children: Vec<_> = texts
        .iter()
        .map(|text| sandbox.spawn(&["add", "a.msg.md", text]))
        .collect();
    for child in children {
        let run: CommandOutput = child.wait_with_output().unwrap().into();
        assert_eq!(run.code, Some(0), "{}", run.stderr);
    }
    let mut back = sandbox.message_texts("a.msg.md");
    back.sort_by_key(|text| text[5..].parse::<u32>().unwrap());
    assert_eq!(back, texts);
}
