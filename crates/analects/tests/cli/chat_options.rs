//! The options of one `chat` call: which cells are sent, which agent answers, with which settings, and whether
//! anything is sent at all.

use std::time::Duration;

use serde_json::Value;

use crate::sandbox::Sandbox;
use crate::server::{Server, Step, answer, in_halves, stream_head};

const FILE: &str = "---\nagents:\n  coder:\n    models: [openai/big]\n  poet:\n    models: [openai/rhyme]\n---\n\n\
    # %% [^1]\n\n[^1]: [markdown]\n\nalpha\n\n\
    # %%% [^2]\n\n[^2]: [coder]\n\nbeta\n\n\
    # %% [^3]\n\n[^3]: [markdown]\n\ngamma\n\n\
    # %%% [^4]\n\n[^4]: [poet]\n\ndelta\n";

fn sandbox_with(answers: usize) -> (Server, Sandbox) {
    let server = Server::new(vec![answer(&["fine"]); answers]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write("a.msg.md", FILE);
    (server, sandbox)
}

/// The words of `FILE` that a request contains.
fn words_sent(request: &str) -> Vec<&'static str> {
    let all = ["alpha", "beta", "gamma", "delta", "omega"];
    all.into_iter()
        .filter(|word| request.contains(word))
        .collect()
}

#[test]
fn chat_sends_only_the_chosen_cells() {
    let choices: [(&[&str], &[&str]); 6] = [
        (&["-i", "1"], &["alpha", "omega"]),
        (&["-i", "1-2", "-e", "2"], &["alpha", "omega"]),
        (&["-e", "2-3"], &["alpha", "delta", "omega"]),
        (&["--include", "2,4"], &["beta", "delta", "omega"]),
        (&["-e", "1", "-e", "4"], &["beta", "gamma", "omega"]),
        (&["-i", "4-"], &["delta", "omega"]),
    ];
    for (flags, expected) in choices {
        let (server, sandbox) = sandbox_with(1);
        let args = [&["chat", "a.msg.md", "omega", "--agent", "coder"], flags].concat();
        // If an answer comes first, a user message is put before it, and the command says so.
        assert_eq!(sandbox.run(&args).code, Some(0), "{flags:?}");
        assert_eq!(words_sent(&server.request()), expected, "{flags:?}");
        let file = sandbox.read("a.msg.md");
        assert!(file.starts_with(FILE), "{flags:?}: {file}");
        // The request shown before is the one that is sent.
        sandbox.write("a.msg.md", FILE.to_string() + "\n# %%\n\nomega\n");
        let args = [
            &["context", "a.msg.md", "--agent", "coder", "--request"],
            flags,
        ]
        .concat();
        assert_eq!(
            words_sent(&sandbox.run(&args).stdout),
            expected,
            "{flags:?}"
        );
    }
}

#[test]
fn chosen_cells_never_reveal_hidden_cells() {
    let waiting = "\n# %%\n\nomega\n\n# %% [^n]\n\n[^n]: [markdown] history=none\n\nPRIVATE\n\n\
        # %% [^d]\n\n[^d]: [markdown]\n\nDROPPED\n\n# %%\n\nzeta\n";
    let (server, sandbox) = sandbox_with(2);
    sandbox.write("a.msg.md", FILE.to_string() + waiting);
    assert_eq!(sandbox.run(&["drop", "a.msg.md", "d"]).code, Some(0));
    let before = sandbox.read("a.msg.md");
    for save in [&[][..], &["--save"]] {
        sandbox.write("a.msg.md", &before);
        let args = ["chat", "a.msg.md", "-i", "1", "--agent", "coder"];
        let shown = sandbox.run(&[&args[..], &["--dry-run"]].concat());
        assert_eq!(shown.code, Some(0), "{}", shown.stderr);
        assert_eq!(sandbox.run(&[&args[..], save].concat()).code, Some(0));
        let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
        let request: Value = serde_json::from_str(&server.request()).unwrap();
        assert_eq!(shown["body"]["messages"], request["messages"], "{save:?}");
        let sent = request.to_string();
        assert!(
            !sent.contains("PRIVATE") && !sent.contains("DROPPED"),
            "{save:?}: {sent}"
        );
        assert!(sent.contains("alpha") && sent.contains("omega") && sent.contains("zeta"));
        let file = sandbox.show_json("a.msg.md");
        let cells = file["cells"].as_array().unwrap();
        for name in ["n", "d"] {
            let cell = cells.iter().find(|cell| cell["id"] == name).unwrap();
            assert_eq!(cell["history"], "exclude", "{save:?}: {cell}");
        }
    }
}

#[test]
fn save_keeps_the_choice_for_the_next_call() {
    let (server, sandbox) = sandbox_with(3);
    let args = ["chat", "a.msg.md", "omega", "-i", "1,4", "--save"];
    sandbox.run(&args).assert_prints("fine\n");
    assert_eq!(words_sent(&server.request()), ["alpha", "delta", "omega"]);
    let file = sandbox.read("a.msg.md");
    let saved = FILE
        .replace("[^2]: [coder]", "[^2]: [coder] history=\"none\"")
        .replace("[^3]: [markdown]", "[^3]: [markdown] history=\"none\"");
    assert!(file.starts_with(&saved), "{file}");
    sandbox
        .run(&["chat", "a.msg.md", "so?"])
        .assert_prints("fine\n");
    assert_eq!(words_sent(&server.request()), ["alpha", "delta", "omega"]);
    // Hidden cells can be chosen again.
    let args = ["chat", "a.msg.md", "-i", "3", "-m", "openai/big", "well?"];
    sandbox.run(&args).assert_prints("fine\n");
    assert_eq!(words_sent(&server.request()), ["gamma"]);
}

#[test]
fn other_agents_are_quoted_by_name() {
    let (server, sandbox) = sandbox_with(2);
    sandbox
        .run(&["chat", "a.msg.md", "--agent", "coder", "omega"])
        .assert_prints("fine\n");
    let request: Value = serde_json::from_str(&server.request()).unwrap();
    assert_eq!(request["model"], "big");
    let turns: Vec<String> = request["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|turn| format!("{}: {}", turn["role"].as_str().unwrap(), turn["content"]))
        .collect();
    let text = turns.join("\n");
    assert!(text.contains("assistant: \"beta\""), "{text}");
    assert!(text.contains("[poet]: delta"), "{text}");
    // A cell can name the agent that should answer it.
    let asked = format!("{FILE}\n# %% [^9]\n\n[^9]: [markdown] agent=\"poet\"\n\nomega\n");
    sandbox.write("a.msg.md", &asked);
    sandbox.run(&["chat", "a.msg.md"]).assert_prints("fine\n");
    let request: Value = serde_json::from_str(&server.request()).unwrap();
    assert_eq!(request["model"], "rhyme");
    assert!(request.to_string().contains("[coder]: beta"), "{request}");
}

#[test]
fn chat_refuses_a_cell_for_an_unknown_agent() {
    let (_, sandbox) = sandbox_with(0);
    let asked = format!("{FILE}\n# %% [^9]\n\n[^9]: [markdown] agent=\"ghost\"\n\nomega\n");
    sandbox.write("a.msg.md", &asked);
    let run = sandbox.run(&["chat", "a.msg.md"]);
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    assert!(run.stderr.contains("ghost"), "{}", run.stderr);
    assert_eq!(sandbox.read("a.msg.md"), asked);
}

#[test]
fn a_new_agent_keeps_the_settings_of_its_first_call() {
    let (server, sandbox) = sandbox_with(3);
    let more = ["--temperature", "0.25", "--max-tokens", "77"];
    let args = [&["chat", "a.msg.md", "-m", "openai/tiny", "one"], &more[..]].concat();
    sandbox.run(&args).assert_prints("fine\n");
    let request: Value = serde_json::from_str(&server.request()).unwrap();
    assert_eq!(
        (&request["temperature"], &request["model"]),
        (&0.25.into(), &"tiny".into())
    );
    assert!(request.to_string().contains(":77"), "{request}");
    let file = sandbox.read("a.msg.md");
    assert!(
        file.contains("  tiny:\n    models: [openai/tiny]\n"),
        "{file}"
    );
    assert!(
        file.contains("temperature: 0.25") && file.contains("max_output_tokens: 77"),
        "{file}"
    );
    // For an existing agent, the settings apply to this call only.
    let args = [
        "chat",
        "a.msg.md",
        "-m",
        "openai/tiny",
        "--temperature",
        "0.5",
        "two",
    ];
    sandbox.run(&args).assert_prints("fine\n");
    assert!(server.request().contains("\"temperature\":0.5"));
    sandbox
        .run(&["chat", "a.msg.md", "three"])
        .assert_prints("fine\n");
    assert!(server.request().contains("\"temperature\":0.25"));
    assert_eq!(sandbox.read("a.msg.md").matches("  tiny:").count(), 1);
}

#[test]
fn set_default_agent_takes_effect_at_once() {
    let (server, sandbox) = sandbox_with(1);
    let args = ["chat", "a.msg.md", "--set-default-agent", "coder", "omega"];
    sandbox.run(&args).assert_prints("fine\n");
    assert!(server.request().contains("\"model\":\"big\""));
    assert!(
        sandbox
            .read("a.msg.md")
            .contains("\ndefault_agent: coder\n---\n")
    );
    let before = sandbox.read("a.msg.md");
    let run = sandbox.run(&["chat", "a.msg.md", "--set-default-agent", "ghost", "omega"]);
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    assert_eq!(sandbox.read("a.msg.md"), before);
}

#[test]
fn chat_dry_run_prints_the_request_and_writes_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write("a.msg.md", FILE);
    let args = [
        "chat",
        "a.msg.md",
        "--dry-run",
        "--agent",
        "coder",
        "-e",
        "1",
        "--temperature",
        "1",
        "omega",
    ];
    let run = sandbox.run(&args);
    let warning = "a.msg.md: warning: the model spoke first, so a line of the user is sent before it \
                   [sent-otherwise]\n";
    assert_eq!((run.code, &*run.stderr), (Some(0), warning));
    let shown: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(
        (&shown["body"]["model"], &shown["body"]["temperature"]),
        (&"big".into(), &1.0.into())
    );
    assert_eq!(words_sent(&run.stdout), ["beta", "gamma", "delta", "omega"]);
    assert_eq!(sandbox.read("a.msg.md"), FILE);
    let run = sandbox.run(&[
        "chat",
        "new.msg.md",
        "--dry-run",
        "-m",
        "openai/tiny",
        "omega",
    ]);
    assert_eq!(
        (run.code, words_sent(&run.stdout)),
        (Some(0), vec!["omega"])
    );
    assert!(!sandbox.path("new.msg.md").exists());
    let run = sandbox.run(&["chat", "--dry-run", "-m", "openai/tiny", "omega"]);
    assert_eq!(
        (run.code, words_sent(&run.stdout)),
        (Some(0), vec!["omega"])
    );
    assert!(!sandbox.path("home/data/sessions").exists());
    assert_eq!(
        sandbox.run(&["chat", "a.msg.md", "--dry-run"]).code,
        Some(2)
    );
}

#[test]
fn no_stream_prints_the_answer_as_a_whole() {
    for more in [&[][..], &["--no-stream"]] {
        let sandbox = Sandbox::new();
        let held = in_halves("half ", sandbox.path("go"), "and half");
        let server = Server::new(vec![held]);
        let sandbox = sandbox.with_server(&server.base_url);
        let args = ["chat", "a.msg.md", "-m", "openai/tiny", "omega"];
        let mut command = sandbox.command(&[&args, more].concat());
        let out = std::fs::File::create(sandbox.path("out")).unwrap();
        let mut child = command.stdout(out).spawn().unwrap();
        // Half of the answer has arrived and is stored, whether or not it is printed yet.
        sandbox.wait_for_journal("half ");
        if more.is_empty() {
            sandbox.wait_for("out", "half ");
        } else {
            assert_eq!(sandbox.read("out"), "");
        }
        assert_eq!(sandbox.message_texts("a.msg.md"), ["omega"]);
        sandbox.write("go", "");
        assert!(child.wait().unwrap().success());
        assert_eq!(sandbox.read("out"), "half and half\n");
        assert_eq!(
            sandbox.message_texts("a.msg.md"),
            ["omega", "half and half"]
        );
    }
}

#[test]
fn chat_converts_a_plain_file_only_with_force() {
    let (server, sandbox) = sandbox_with(2);
    let notes = "# Notes\r\n\r\nMine, with `Discussion` in it.\r\n";
    sandbox.write("notes.md", notes);
    let args = ["chat", "notes.md", "-m", "openai/tiny", "omega"];
    let run = sandbox.run(&args);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("--force"), "{}", run.stderr);
    assert_eq!(sandbox.read("notes.md"), notes);
    sandbox
        .run(&[&args[..], &["--force"]].concat())
        .assert_prints("fine\n");
    let file = sandbox.read("notes.md");
    let start = format!(
        "---\r\nmessage_section: Discussion\r\nagents:\r\n  tiny:\r\n    models: [openai/tiny]\r\n---\r\n\r\n\
         {notes}\r\n## Discussion\r\n\r\n### %%"
    );
    assert!(file.starts_with(&start), "{file:?}");
    assert!(!server.request().contains("Mine"));
    // From now on, it is a message file.
    sandbox
        .run(&["chat", "notes.md", "again"])
        .assert_prints("fine\n");
    assert_eq!(
        sandbox.message_texts("notes.md"),
        ["omega", "fine", "again", "fine"]
    );
    sandbox.write("taken.md", "# A\n\n## Discussion\n\nours\n");
    let run = sandbox.run(&["chat", "taken.md", "--force", "-m", "openai/tiny", "omega"]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert_eq!(sandbox.read("taken.md"), "# A\n\n## Discussion\n\nours\n");
}

#[test]
fn chat_refuses_wrong_choices_before_sending() {
    let (_, sandbox) = sandbox_with(0);
    let run = |args: &[&str]| sandbox.run(&[&["chat", "a.msg.md"], args].concat());
    assert_eq!(run(&["-e", "17", "omega"]).code, Some(3));
    assert_eq!(run(&["--save", "omega"]).code, Some(2));
    assert_eq!(run(&["--temperature", "9", "omega"]).code, Some(2));
    assert_eq!(run(&["--max-tokens", "0", "omega"]).code, Some(2));
    assert_eq!(sandbox.read("a.msg.md"), FILE);
    sandbox.write(
        "open.msg.md",
        format!("{FILE}\n# %% [^5]\n\n[^5]: [markdown]\n\nomega\n"),
    );
    let run = sandbox.run(&["chat", "open.msg.md", "-e", "5"]);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    for flags in [
        &["-i", "1"][..],
        &["--save"],
        &["--force"],
        &["--set-default-agent", "x"],
    ] {
        let run = sandbox.run(&[&["chat", "-m", "openai/tiny", "omega"], flags].concat());
        assert_eq!(run.code, Some(2), "{flags:?}: {}", run.stderr);
    }
}

#[test]
fn chat_keeps_the_prompt_when_there_is_no_model() {
    let sandbox = Sandbox::new();
    sandbox.write("a.msg.md", "---\ntitle: x\n---\n\n# %%\n\n");
    let run = sandbox.run(&["chat", "a.msg.md", "my long thought"]);
    run.assert_no_model();
    assert!(
        run.stderr.contains("your prompt is kept in a.msg.md"),
        "{}",
        run.stderr
    );
    let kept = "---\ntitle: x\n---\n\n# %% [^1]\n\n[^1]: [markdown]\n\nmy long thought\n";
    assert_eq!(sandbox.read("a.msg.md"), kept);
    sandbox.run(&["chat", "a.msg.md"]).assert_no_model();
    assert_eq!(sandbox.read("a.msg.md"), kept);
    let server = Server::new(vec![answer(&["fine"])]);
    let mut sandbox = sandbox;
    sandbox.set_server(&server.base_url);
    sandbox
        .run(&["chat", "a.msg.md", "-m", "openai/tiny"])
        .assert_prints("fine\n");
    assert_eq!(
        sandbox.message_texts("a.msg.md"),
        ["my long thought", "fine"]
    );
}

/// A file whose cells no longer have the numbers of their positions, because some were deleted.
const FILE_WITH_GAPS: &str = "# %% t[^a]\n\n[^a]: [agent] name=\"tiny\" models=\"openai/tiny\"\n\n\
    # %% [^4]\n\n[^4]: [markdown]\n\nSECRET one\n\n# %%% [^5]\n\n[^5]: [tiny]\n\npublic answer\n\n\
    # %%\n\nmy question\n";

#[test]
fn a_position_is_not_mistaken_for_an_id() {
    let server = Server::new(vec![answer(&["one"])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write("a.msg.md", FILE_WITH_GAPS);
    let list = sandbox.run(&["list", "a.msg.md"]).stdout;
    assert!(
        list.starts_with("4 ") && list.contains("\n1  user"),
        "{list}"
    );
    let get = sandbox.run(&["show", "a.msg.md", "#4"]);
    assert!(
        get.stdout.contains("my question"),
        "{}{}",
        get.stdout,
        get.stderr
    );
    let dry = sandbox.run(&["chat", "a.msg.md", "-i", "5", "--dry-run"]);
    assert!(
        !dry.stdout.contains("SECRET"),
        "{}{}",
        dry.stdout,
        dry.stderr
    );
    let run = sandbox.run(&["chat", "a.msg.md", "-i", "5"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let request = server.request();
    assert!(
        request.contains("my question") && request.contains("public answer"),
        "{request}"
    );
    assert!(!request.contains("SECRET"), "{request}");
    sandbox.run(&["drop", "a.msg.md", "#4"]);
    let hidden = sandbox.show_json("a.msg.md");
    assert_eq!(hidden["cells"][1]["history"], "include", "{hidden}");
    assert_eq!(hidden["cells"][3]["history"], "exclude", "{hidden}");
}

#[test]
fn an_open_range_excludes_the_new_prompt() {
    let server = Server::new(vec![answer(&["one"]), answer(&["two"])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox
        .run(&["chat", "a.msg.md", "-m", "openai/tiny", "first"])
        .assert_prints("one\n");
    let before = sandbox.read("a.msg.md");
    let run = sandbox.run(&["chat", "a.msg.md", "-e", "3", "more"]);
    assert_eq!(
        (run.code, sandbox.read("a.msg.md")),
        (Some(1), before),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("is empty"), "{}", run.stderr);
    let run = sandbox.run(&["chat", "a.msg.md", "-e", "2-", "go on"]);
    assert_eq!(
        (run.code, &*run.stdout),
        (Some(0), "two\n"),
        "{}",
        run.stderr
    );
    server.request();
    let request = server.request();
    assert!(
        request.contains("go on") && !request.contains("one"),
        "{request}"
    );
}

#[test]
fn an_id_that_looks_like_a_position_stays_excluded() {
    let server = Server::new(vec![answer(&["one"])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let cell = |head: &str, text: &str| format!("# %%{head}\n\n{text}\n\n");
    let agent = "# %% t[^a]\n\n[^a]: [agent] name=\"tiny\" models=\"openai/tiny\"\n\n";
    let texts = [
        cell("", "SECRET two"),
        cell(" [^#4]\n\n[^#4]: [markdown]", "SECRET three"),
    ];
    let file = format!("{agent}{}{}", texts.concat(), cell("", "SECRET four"));
    sandbox.write("a.msg.md", file);
    let run = sandbox.run(&["chat", "a.msg.md", "-e", "#2-", "well?"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let request = server.request();
    assert!(
        request.contains("well?") && !request.contains("SECRET"),
        "{request}"
    );
}

#[test]
fn the_default_agent_answers_again_after_another_agent() {
    let server = Server::new(["one", "two", "three"].map(|text| answer(&[text])).to_vec());
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let agents = "agents:\n  a:\n    models: [openai/first]\n  b:\n    models: [openai/second]\n";
    sandbox.write("a.msg.md", format!("---\ndefault_agent: a\n{agents}---\n"));
    sandbox
        .run(&["chat", "a.msg.md", "1"])
        .assert_prints("one\n");
    sandbox
        .run(&["chat", "a.msg.md", "--agent", "b", "2"])
        .assert_prints("two\n");
    sandbox
        .run(&["chat", "a.msg.md", "3"])
        .assert_prints("three\n");
    for model in ["first", "second", "first"] {
        let request = server.request();
        assert!(
            request.contains(&format!("\"model\":\"{model}\"")),
            "{request}"
        );
    }
}

#[test]
#[cfg(unix)]
fn force_creates_a_message_file_on_a_terminal() {
    use crate::pseudo_terminal::{press, run_steps};
    let server = Server::new(vec![answer(&["fine"])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let steps = vec![
        press("> ", "alpha\r"),
        press("fine", ""),
        press("> ", "\u{4}"),
    ];
    let command = sandbox.command(&["chat", "new.md", "--force", "-m", "openai/tiny"]);
    let Some((seen, code)) = run_steps(&sandbox, &command, steps) else {
        return crate::sandbox::skip(
            "force_creates_a_message_file_on_a_terminal",
            "there is no Python to make a terminal",
        );
    };
    assert_eq!(code, 0, "{seen}");
    assert_eq!(sandbox.message_texts("new.md"), ["alpha", "fine"]);
    // A file for messages only needs no conversion, and is created with the first prompt.
    let command = sandbox.command(&["chat", "new.msg.md", "--force", "-m", "openai/tiny"]);
    assert!(run_steps(&sandbox, &command, vec![press("> ", "\u{4}")]).is_some());
    assert!(!sandbox.path("new.msg.md").exists());
}

/// A file with a cell that needs a summary, so that `chat` reads the file again before it sends the prompt.
const FILE_WITH_SUMMARY: &str = "---\nagents:\n  tiny: {models: [openai/tiny]}\n---\n\n\
    # %%\n\nSECRET\n\n# %% [^9]\n\n[^9]: [markdown] history=summary\n\nthe price is 10\n\n\
    # %%% [^10]\n\n[^10]: [tiny]\n\nok\n\n";

/// Changes the file while the summary is being written. Returns stderr, the requests and the file.
fn chat_while_file_changes(args: &[&str], change: (&str, &str)) -> (String, Vec<String>, String) {
    let mut sandbox = Sandbox::new();
    let waits = [stream_head(), Step::Until(sandbox.path("go"))];
    let summary = [&waits[..], &answer(&["In short."])[1..]].concat();
    let server = Server::new(vec![summary, answer(&["Yes."])]);
    sandbox.set_server(&server.base_url);
    sandbox.write("a.msg.md", FILE_WITH_SUMMARY);
    let child = sandbox.spawn(&[&["chat", "a.msg.md"], args].concat());
    server.request();
    let file = sandbox.read("a.msg.md");
    assert!(file.contains(change.0), "{file}");
    sandbox.write("a.msg.md", file.replace(change.0, change.1));
    sandbox.write("go", "");
    let output = child.wait_with_output().unwrap();
    let within = Duration::from_millis(200);
    let sent = std::iter::from_fn(|| server.request_within(within)).collect();
    (
        String::from_utf8(output.stderr).unwrap(),
        sent,
        sandbox.read("a.msg.md"),
    )
}

#[test]
fn cells_excluded_by_position_stay_excluded_when_they_move() {
    let typed = ("# %%\n\nSECRET", "# %%\n\nNew.\n\n# %%\n\nSECRET");
    let (told, sent, file) = chat_while_file_changes(&["-e", "1", "What now?"], typed);
    assert!(
        sent.len() == 1 && !sent[0].contains("SECRET"),
        "{sent:?} {told}"
    );
    assert!(
        sent[0].contains("New.") && file.contains("What now?"),
        "{sent:?} {file}"
    );
    // An excluded cell whose text changed could be any cell.
    let changed = ("# %%\n\nSECRET", "# %%\n\nNew.\n\n# %%\n\nSECRETS");
    let (told, sent, file) = chat_while_file_changes(&["-e", "1", "What now?"], changed);
    assert!(sent.is_empty(), "{sent:?}");
    assert!(
        told.contains("not sent: a chosen cell was changed or removed"),
        "{told}"
    );
    assert!(
        file.contains("What now?") && file.contains("New."),
        "{file}"
    );
    // A cell that is named by its id can move.
    let (told, sent, _) = chat_while_file_changes(&["-e", "10", "What now?"], typed);
    assert!(
        sent.len() == 1 && !sent[0].contains("\"ok\""),
        "{sent:?} {told}"
    );
    assert!(
        sent[0].contains("New.") && sent[0].contains("SECRET"),
        "{sent:?}"
    );
}

#[test]
fn a_changed_cell_gets_no_summary_of_its_old_text() {
    let (told, sent, file) = chat_while_file_changes(&["What now?"], ("is 10", "is 20"));
    assert!(sent.is_empty(), "{sent:?}");
    assert!(
        told.contains("it was changed while its summary was being written"),
        "{told}"
    );
    assert!(
        !file.contains("In short.") && file.contains("the price is 20"),
        "{file}"
    );
}
