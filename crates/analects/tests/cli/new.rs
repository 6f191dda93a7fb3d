//! `new`: creates files that are ready to type into, and touches nothing else.

use crate::sandbox::Sandbox;

/// Creates a file, and checks that it has no problems.
#[track_caller]
fn create_file(sandbox: &Sandbox, args: &[&str]) -> String {
    sandbox
        .run(&[&["new"], args].concat())
        .assert_prints(&format!("{}\n", args[0]));
    assert_eq!(
        sandbox.show_json(args[0])["problems"],
        serde_json::json!([])
    );
    sandbox.read(args[0])
}

#[test]
fn new_creates_a_message_file() {
    let sandbox = Sandbox::new();
    assert_eq!(create_file(&sandbox, &["talk.msg.md"]), "# %%\n\n");
    let text = create_file(
        &sandbox,
        &["b.msg.md", "-m", "openai/gpt-5-mini", "-s", "Be brief."],
    );
    let expected = "---\nagents:\n  gpt-5-mini:\n    models: [openai/gpt-5-mini]\n    \
                    system_prompt: \"Be brief.\"\n---\n\n# %%\n\n";
    assert_eq!(text, expected);
    let text = create_file(
        &sandbox,
        &["c.msg.md", "--agent", "tutor", "-m", "openai/gpt-5"],
    );
    assert_eq!(
        text,
        "---\nagents:\n  tutor:\n    models: [openai/gpt-5]\n---\n\n# %%\n\n"
    );
}

#[test]
fn new_creates_a_file_with_a_message_section() {
    let sandbox = Sandbox::new();
    let text = create_file(&sandbox, &["notes.md"]);
    assert_eq!(
        text,
        "---\nmessage_section: Discussion\n---\n\n## Discussion\n\n### %%\n\n"
    );
    let text = create_file(
        &sandbox,
        &["more.md", "--section", "讨论 #1", "-m", "openai/x"],
    );
    let expected = "---\nmessage_section: \"讨论 #1\"\nagents:\n  x:\n    \
                    models: [openai/x]\n---\n\n## 讨论 #1\n\n### %%\n\n";
    assert_eq!(text, expected);
}

#[test]
fn add_replaces_the_empty_cell() {
    let sandbox = Sandbox::new();
    for name in ["talk.msg.md", "notes.md"] {
        create_file(&sandbox, &[name, "-m", "openai/x"]);
        sandbox.run(&["add", name, "hello"]).assert_prints("1\n");
        let show = sandbox.show_json(name);
        assert_eq!(show["cells"].as_array().unwrap().len(), 1);
        assert_eq!(
            (&show["cells"][0]["content"], &show["default_agent"]),
            (&"hello".into(), &"x".into())
        );
    }
    create_file(&sandbox, &["named.msg.md"]);
    sandbox
        .run(&["add", "named.msg.md", "--id", "1", "hello"])
        .assert_prints("1\n");
}

#[test]
fn any_system_prompt_reads_back() {
    let sandbox = Sandbox::new();
    let prompts = [
        "a\nb\n",
        "---\nx: 1\n---",
        "  two  \n\n\n",
        "# %% [^1]\n\n[^1]: [agent]",
        "\u{1b}\t\"'\\",
    ];
    for (number, prompt) in prompts.into_iter().enumerate() {
        let name = format!("{number}.msg.md");
        create_file(
            &sandbox,
            &[&name, "-m", "openai/x", &format!("--system={prompt}")],
        );
        assert_eq!(
            sandbox.show_json(&name)["agents"][0]["system_prompt"],
            prompt
        );
    }
}

#[test]
fn new_never_touches_existing_files() {
    let sandbox = Sandbox::new();
    sandbox.write("a.msg.md", "mine");
    std::fs::create_dir(sandbox.path("b.msg.md")).unwrap();
    for name in ["a.msg.md", "b.msg.md"] {
        sandbox.run(&["new", name]).assert_fails(
            1,
            &format!(
                "analects: {name}: this name is already taken\n\
                 hint: add adds a message to it, chat continues it\n"
            ),
        );
    }
    assert_eq!(sandbox.read("a.msg.md"), "mine");
}

#[cfg(unix)]
#[test]
fn new_does_not_follow_a_dangling_link() {
    let sandbox = Sandbox::new();
    std::os::unix::fs::symlink(sandbox.path("elsewhere"), sandbox.path("a.msg.md")).unwrap();
    assert_eq!(sandbox.run(&["new", "a.msg.md"]).code, Some(1));
    assert!(!sandbox.path("elsewhere").exists());
}

#[cfg(unix)]
#[test]
fn new_files_follow_the_umask() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::new();
    for (umask, mode) in [("022", 0o644), ("077", 0o600), ("000", 0o666)] {
        let command = sandbox.command(&[]);
        let name = format!("{umask}.msg.md");
        let call = format!(
            "umask {umask}; '{}' new {name}",
            command.get_program().display()
        );
        let mut shell = std::process::Command::new("sh");
        shell
            .args(["-c", &call])
            .current_dir(sandbox.path(""))
            .env("ANALECTS_HOME", sandbox.path("home"));
        assert!(shell.status().unwrap().success());
        let facts = std::fs::metadata(sandbox.path(&name)).unwrap();
        assert_eq!(facts.permissions().mode() & 0o777, mode);
    }
}

#[test]
fn new_explains_wrong_names() {
    let sandbox = Sandbox::new();
    let cases: [(&[&str], i32, &str); 16] = [
        (&["talk.txt"], 2, "hint: name it talk.msg.md, or talk.md"),
        (&["talk"], 2, "hint: name it talk.msg.md, or talk.md"),
        (&[""], 2, "a value is required for '<FILE>'"),
        (
            &["a.msg.md", "--section", "x"],
            2,
            "hint: leave out --section",
        ),
        (
            &["a.md", "--section", "%% x"],
            2,
            "must be the text of a heading",
        ),
        (
            &["a.md", "--section", "a\nb"],
            2,
            "must be the text of a heading",
        ),
        (&["a.md", "--section", " "], 2, "the section has no name"),
        (&["a.md", "--section", ""], 2, "the section has no name"),
        (
            &["a.msg.md", "--agent", "nobody"],
            3,
            "hint: define it as [agents.nobody]",
        ),
        (
            &["a.msg.md", "--agent", "tool", "-m", "openai/x"],
            2,
            "is a type of cell",
        ),
        (
            &["a.msg.md", "--agent", "a]b", "-m", "openai/x"],
            2,
            "cannot be the name of an agent",
        ),
        (&["a.msg.md", "-s", "x"], 2, "hint: name a model with -m"),
        (
            &["a.msg.md", "-m", "replay:x"],
            2,
            "a recording is named on the command line",
        ),
        (&["a.msg.md", "-m", "nobody/x"], 2, "unknown model"),
        (
            &["a.msg.md", "-m", "quick"],
            3,
            "hint: set quick under [models]",
        ),
        (&["no/a.msg.md"], 3, "no: not found"),
    ];
    for (args, code, part) in cases {
        let run = sandbox.run(&[&["new"], args].concat());
        assert_eq!(
            (run.code, &*run.stdout),
            (Some(code), ""),
            "{args:?}: {}",
            run.stderr
        );
        assert!(run.stderr.contains(part), "{args:?}: {}", run.stderr);
    }
    assert!(!sandbox.path("a.msg.md").exists() && !sandbox.path("a.md").exists());
}

#[test]
fn new_uses_configured_agents_and_the_default_model() {
    let sandbox = Sandbox::new();
    sandbox.write_config(
        "config.toml",
        "[models]\ndefault = 'openai/usual'\n[agents.coder]\nmodels = ['openai/big']\n\
         temperature = 0.2\nsystem_prompt = \"Be brief.\"\n[agents.bare]\n",
    );
    sandbox.write_config(
        "agents/poet.md",
        "---\nmodels: [openai/rhyme]\n---\n\nRhyme.\n",
    );
    let text = create_file(&sandbox, &["a.msg.md"]);
    assert_eq!(
        text,
        "---\nagents:\n  usual:\n    models: [openai/usual]\n---\n\n# %%\n\n"
    );
    create_file(&sandbox, &["b.msg.md", "--agent", "coder"]);
    let agent = sandbox.show_json("b.msg.md")["agents"][0].clone();
    assert_eq!(
        (&agent["temperature"], &agent["system_prompt"]),
        (&0.2.into(), &"Be brief.".into())
    );
    create_file(
        &sandbox,
        &["c.msg.md", "--agent", "poet", "-s", "Do not rhyme."],
    );
    let agent = sandbox.show_json("c.msg.md")["agents"][0].clone();
    assert_eq!(
        (&agent["models"][0], &agent["system_prompt"]),
        (&"openai/rhyme".into(), &"Do not rhyme.".into())
    );
    // An agent without models takes the default one.
    create_file(&sandbox, &["d.msg.md", "--agent", "bare", "-s", "x"]);
    assert_eq!(
        sandbox.show_json("d.msg.md")["agents"][0]["models"][0],
        "openai/usual"
    );
    let run = sandbox.run(&["new", "e.msg.md", "--agent", "codr"]);
    run.assert_fails(
        3,
        "analects: there is no agent codr\nhint: did you mean coder?\n",
    );
}

#[test]
fn new_prints_json_for_programs() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(&["new", "--json", "a.msg.md"]);
    let json: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(json, serde_json::json!({ "path": "a.msg.md" }));
    let run = sandbox.run(&["new", "--json", "a.msg.md"]);
    let json: serde_json::Value = serde_json::from_str(&run.stderr).unwrap();
    assert_eq!(
        (run.code, &json["error"]["kind"]),
        (Some(1), &"input".into())
    );
}

#[cfg(unix)]
#[test]
fn new_passes_the_path_to_the_editor_unchanged() {
    use std::os::unix::ffi::OsStrExt;
    let sandbox = Sandbox::new();
    let name = std::ffi::OsStr::from_bytes(b"a\xff \x1b.msg.md");
    let output = sandbox.command(&["new"]).arg(name).output().unwrap();
    assert_eq!(output.stdout, b"a\xff \x1b.msg.md\n");
    assert!(sandbox.path("").join(name).is_file());
}
