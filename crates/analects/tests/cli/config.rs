//! The configuration: which setting wins, where it comes from, and what is never shown.

use serde_json::{Value, json};

use crate::sandbox::{CommandOutput, Sandbox};
use crate::server::{Server, answer};

#[track_caller]
fn settings(sandbox: &Sandbox) -> Vec<Value> {
    let run = sandbox.run(&["config", "show", "--json"]);
    assert_eq!((run.code, &*run.stderr), (Some(0), ""));
    let json: Value = serde_json::from_str(&run.stdout).unwrap();
    json["settings"].as_array().unwrap().clone()
}

#[track_caller]
fn setting(sandbox: &Sandbox, key: &str) -> Value {
    settings(sandbox)
        .into_iter()
        .find(|setting| setting["key"] == key)
        .unwrap()
}

#[test]
fn config_show_names_the_source_of_every_value() {
    let sandbox = Sandbox::new().with_server("http://127.0.0.1:9/v1");
    sandbox.write_config(
        "config.toml",
        "[models]\ndefault = 'openai/a'\nquick = 'openai/b'\n",
    );
    sandbox.write_config("agents/poet.md", "---\nmodels: openai/rhyme\n---\nRhyme.\n");
    sandbox.write(
        ".analects.toml",
        "\n[models]\nquick = 'openai/c'\n[agents.coder]\nreasoning = true\n",
    );
    let folder = std::fs::canonicalize(sandbox.path("")).unwrap();
    let file = |name: &str, line: usize| json!({ "kind": "file", "path": folder.join(name).to_string_lossy(), "line": line });
    let home = |name: &str, line: usize| {
        let path = sandbox.path("home/config").join(name);
        json!({ "kind": "file", "path": path.to_string_lossy(), "line": line })
    };
    let variable = |name: &str| json!({ "kind": "environment", "name": name });
    let data = sandbox.path("home/data");
    for (key, value, from) in [
        (
            "folders.data",
            json!(data.to_string_lossy()),
            variable("ANALECTS_HOME"),
        ),
        (
            "openai.base_url",
            json!("http://127.0.0.1:9/v1"),
            variable("OPENAI_BASE_URL"),
        ),
        ("openai.key", json!("not set"), variable("OPENAI_API_KEY")),
        ("models.default", json!("openai/a"), home("config.toml", 2)),
        ("models.quick", json!("openai/c"), file(".analects.toml", 3)),
        (
            "models.task",
            json!("not set"),
            json!({ "kind": "built-in" }),
        ),
        (
            "agents.coder.reasoning",
            json!(true),
            file(".analects.toml", 5),
        ),
        (
            "agents.coder.temperature",
            json!(0.7),
            json!({ "kind": "built-in" }),
        ),
        (
            "agents.poet.models",
            json!(["openai/rhyme"]),
            home("agents/poet.md", 2),
        ),
        (
            "agents.poet.system_prompt",
            json!("Rhyme."),
            home("agents/poet.md", 4),
        ),
    ] {
        assert_eq!(
            setting(&sandbox, key),
            json!({ "key": key, "value": value, "from": from })
        );
    }
    let run = sandbox.run(&["config", "show"]);
    assert_eq!((run.code, &*run.stderr), (Some(0), ""));
    let line = run
        .stdout
        .lines()
        .find(|line| line.starts_with("models.default"))
        .unwrap();
    assert!(
        line.contains(" openai/a ") && line.ends_with("config.toml:2"),
        "{line}"
    );
    assert_eq!(run.stdout.lines().count(), settings(&sandbox).len());
}

#[test]
fn config_show_never_shows_a_key() {
    let sandbox = Sandbox::new();
    let secret = "sk-very-secret";
    let run = |args: &[&str]| -> CommandOutput {
        let mut command = sandbox.command(args);
        command
            .env("OPENAI_API_KEY", secret)
            .env("ALL_PROXY", format!("http://me:{secret}@proxy"));
        command.env(
            "OPENAI_BASE_URL",
            format!("https://me:{secret}@host/v1?key={secret}"),
        );
        command.output().unwrap().into()
    };
    let all: [&[&str]; 4] = [
        &["config", "show"],
        &["config", "show", "--json"],
        &["new", "--json", "x.txt"],
        &["chat", "x"],
    ];
    for config in [
        "",
        "api_key = 'sk-very-secret'\n",
        "api_key = sk-very-secret\n",
        "[models]\ndefault = ['sk-very-secret']\n",
    ] {
        sandbox.write_config("config.toml", config);
        for args in all {
            let run = run(args);
            assert!(
                !run.stdout.contains(secret) && !run.stderr.contains(secret),
                "{args:?}: {} {}",
                run.stdout,
                run.stderr
            );
        }
    }
    sandbox.write_config("config.toml", "");
    let shown = run(&["config", "show"]).stdout;
    let line = shown
        .lines()
        .find(|line| line.starts_with("openai.key"))
        .unwrap();
    assert_eq!(
        line.split_whitespace().collect::<Vec<_>>(),
        ["openai.key", "set", "OPENAI_API_KEY"]
    );
}

#[test]
fn a_project_cannot_set_addresses() {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".analects.toml",
        "[models]\ndefault = 'openai/a'\n\n[openai]\nbase_url = 'http://evil'\n",
    );
    for args in [
        &["config", "show"][..],
        &["chat", "a.msg.md", "hi"],
        &["new", "a.msg.md"],
    ] {
        let run = sandbox.run(args);
        assert_eq!((run.code, &*run.stdout), (Some(1), ""), "{args:?}");
        let (first, hint) = run.stderr.split_once('\n').unwrap();
        assert!(
            first.ends_with("/.analects.toml:5:1: a project may not set base_url"),
            "{first}"
        );
        assert_eq!(
            hint,
            "hint: a project's file may set [models], [agents.NAME] and [context] only\n"
        );
    }
    assert!(!sandbox.path("a.msg.md").exists());
    let run = sandbox.run(&["config", "show", "--json"]);
    let json: Value = serde_json::from_str(&run.stderr).unwrap();
    assert_eq!(json["error"]["kind"], "input");
}

#[test]
fn a_typo_in_a_setting_is_a_warning() {
    let sandbox = Sandbox::new();
    sandbox.write_config("config.toml", "[models]\ndefualt = 'openai/a'\n");
    let run = sandbox.run(&["config", "show"]);
    assert_eq!(run.code, Some(0));
    let end = "config.toml:2:1: warning: unknown key models.defualt; did you mean default?\n";
    assert!(run.stderr.ends_with(end), "{}", run.stderr);
}

#[test]
fn config_reads_the_xdg_folders_without_analects_home() {
    let sandbox = Sandbox::new();
    let config = "[models]\ndefault = 'openai/xdg'\n";
    for folder in ["xdg/analects", ".config/analects"] {
        std::fs::create_dir_all(sandbox.path(folder)).unwrap();
    }
    sandbox.write("xdg/analects/config.toml", config);
    sandbox.write(
        ".config/analects/config.toml",
        config.replace("xdg", "usual"),
    );
    for (xdg, model) in [(Some("xdg"), "openai/xdg"), (None, "openai/usual")] {
        let mut command = sandbox.command(&["config", "show"]);
        command
            .env_remove("ANALECTS_HOME")
            .env_remove("XDG_CONFIG_HOME")
            .env("HOME", sandbox.path(""));
        xdg.map(|folder| command.env("XDG_CONFIG_HOME", sandbox.path(folder)));
        let run: CommandOutput = command.output().unwrap().into();
        assert!(run.stdout.contains(model), "{}", run.stdout);
    }
}

#[test]
fn config_paths_do_not_depend_on_the_working_folder() {
    let sandbox = Sandbox::new();
    let mut add = sandbox.command(&["add", "a.msg.md", "x"]);
    CommandOutput::from(add.env("ANALECTS_HOME", "mine").output().unwrap()).assert_fails(
        2,
        "analects: ANALECTS_HOME is mine, which is not an absolute path\n\
         hint: set it to a path that starts with /\n",
    );
    let mut add = sandbox.command(&["add", "a.msg.md", "x"]);
    add.env_remove("ANALECTS_HOME")
        .env("HOME", sandbox.path(""))
        .env("XDG_STATE_HOME", "mine");
    CommandOutput::from(add.output().unwrap()).assert_prints("1\n");
    assert!(sandbox.path(".local/state/analects/locks").is_dir() && !sandbox.path("mine").exists());
}

#[test]
fn chat_asks_the_configured_default_model() {
    let server = Server::new(vec![
        answer(&["1"]),
        answer(&["2"]),
        answer(&["3"]),
        answer(&["4"]),
    ]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write_config(
        "config.toml",
        "[models]\ndefault = 'openai/usual'\nquick = 'openai/fast'\n",
    );
    let asked = |args: &[&str], model: &str| {
        assert_eq!(sandbox.run(args).code, Some(0), "{args:?}");
        let request = server.request();
        assert!(
            request.contains(&format!("\"model\":\"{model}\"")),
            "{request}"
        );
    };
    asked(&["chat", "a.msg.md", "hi"], "usual");
    assert!(
        sandbox
            .read("a.msg.md")
            .contains("  usual:\n    models: [openai/usual]\n")
    );
    asked(&["chat", "b.msg.md", "-m", "quick", "hi"], "fast");
    // The file takes precedence over the configuration.
    asked(&["chat", "b.msg.md", "again"], "fast");
    asked(&["chat", "hi"], "usual");
}

#[test]
fn the_default_model_does_not_replace_unusable_agents() {
    let sandbox = Sandbox::new();
    sandbox.write_config("config.toml", "[models]\ndefault = 'openai/usual'\n");
    sandbox.write("a.msg.md", "---\nagents:\n  x: {models: nobody/x}\n---\n");
    let run = sandbox.run(&["chat", "a.msg.md", "hi"]);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert!(
        run.stderr
            .contains("the agent x names no model that can be asked"),
        "{}",
        run.stderr
    );
}

#[test]
fn chat_finds_configured_agents() {
    let server = Server::new(vec![answer(&["1"]), answer(&["2"]), answer(&["3"])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write_config(
        "config.toml",
        "[agents.coder]\nmodels = ['openai/big']\nsystem_prompt = 'Be brief.'\ntemperature = 0.25\n",
    );
    sandbox.write(
        "a.msg.md",
        "---\ntitle: mine # mine\n---\n\n# %%\n\nfirst\n",
    );
    sandbox
        .run(&["chat", "a.msg.md", "--agent", "coder"])
        .assert_prints("1\n");
    let request = server.request();
    for part in ["\"model\":\"big\"", "Be brief.", "\"temperature\":0.25"] {
        assert!(request.contains(part), "{request}");
    }
    let file = sandbox.read("a.msg.md");
    let front = "---\ntitle: mine # mine\nagents:\n  coder:\n    models: [openai/big]\n    \
                 temperature: 0.25\n    system_prompt: \"Be brief.\"\n---\n\n# %% [^1]\n\n\
                 [^1]: [markdown]\n\nfirst\n";
    assert!(file.starts_with(front), "{file}");
    // The file now names it, whatever the configuration says.
    sandbox.write_config("config.toml", "");
    sandbox
        .run(&["chat", "a.msg.md", "--agent", "coder", "again"])
        .assert_prints("2\n");
    assert!(server.request().contains("Be brief."));
    assert_eq!(sandbox.read("a.msg.md").matches("coder:").count(), 1);
    let run = sandbox.run(&["chat", "b.msg.md", "--agent", "coder", "hi"]);
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    assert!(!sandbox.path("b.msg.md").exists());
}

#[test]
fn a_broken_config_is_ignored_when_a_model_is_named() {
    let server = Server::new(vec![answer(&["1"])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write_config("config.toml", "[models\n");
    sandbox
        .run(&["chat", "a.msg.md", "-m", "openai/tiny", "hi"])
        .assert_prints("1\n");
    assert_eq!(
        sandbox.run(&["new", "b.msg.md", "-m", "openai/tiny"]).code,
        Some(0)
    );
    assert_eq!(sandbox.run(&["chat", "c.msg.md", "hi"]).code, Some(1));
    assert_eq!(sandbox.run(&["new", "c.msg.md"]).code, Some(1));
}

#[test]
fn config_explains_files_it_cannot_read() {
    let sandbox = Sandbox::new();
    sandbox.write_config("config.toml", "");
    std::fs::write(sandbox.path("home/config/config.toml"), b"a = '\xff'\n").unwrap();
    let run = sandbox.run(&["config", "show"]);
    assert_eq!(run.code, Some(1));
    assert!(
        run.stderr
            .contains("config.toml: the bytes at offset 5 are not UTF-8"),
        "{}",
        run.stderr
    );
    std::fs::remove_file(sandbox.path("home/config/config.toml")).unwrap();
    std::fs::create_dir(sandbox.path("home/config/config.toml")).unwrap();
    let run = sandbox.run(&["config", "show"]);
    assert_eq!(run.code, Some(1));
    assert!(
        run.stderr
            .contains("config.toml: cannot read: is a directory"),
        "{}",
        run.stderr
    );
}

#[test]
fn an_unknown_configured_model_is_reported_when_used() {
    let sandbox = Sandbox::new();
    sandbox.write_config("config.toml", "[models]\ndefault = 'somebody/new'\n");
    let run = sandbox.run(&["chat", "a.msg.md", "hi"]);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert!(
        run.stderr.contains("unknown model \"somebody/new\""),
        "{}",
        run.stderr
    );
    // Only the prompt is written, so that it need not be typed again.
    assert_eq!(sandbox.message_texts("a.msg.md"), ["hi"]);
}

#[test]
fn a_wrong_default_model_is_reported_with_its_source() {
    let sandbox = Sandbox::new().with_server("http://127.0.0.1:9/v1");
    sandbox.write_config("config.toml", "[models]\ndefault = 'opnai/tiny'\n");
    for args in [
        &["ask", "hi"][..],
        &["chat", "hi"],
        &["chat", "a.msg.md", "hi"],
    ] {
        let run = sandbox.run(args);
        assert_eq!(run.code, Some(2), "{args:?}: {}", run.stderr);
        for part in [
            "unknown model \"opnai/tiny\"",
            "did you mean openai/tiny?",
            "config.toml:2",
        ] {
            assert!(run.stderr.contains(part), "{args:?}: {}", run.stderr);
        }
    }
    let run = sandbox.run(&["ask", "-m", "opnai/tiny", "hi"]);
    assert!(!run.stderr.contains("config.toml"), "{}", run.stderr);
    let run = sandbox.run_with_stdin(&["tokens", "-m", "nope"], "text");
    assert_eq!((run.code, &*run.stdout), (Some(2), ""), "{}", run.stderr);
}

#[test]
fn a_key_in_the_config_is_reported_as_ignored() {
    let sandbox = Sandbox::new().with_server("http://127.0.0.1:9/v1");
    sandbox.write_config("config.toml", "[openai]\napi_key = 'sk-1'\n");
    let run = sandbox.run(&["model", "list"]);
    let run = if run.stderr.is_empty() {
        sandbox.run(&["config", "show"])
    } else {
        run
    };
    assert!(
        run.stderr
            .contains("keys are read from the environment only"),
        "{}",
        run.stderr
    );
    assert!(!run.stderr.contains("sk-1"), "{}", run.stderr);
    sandbox.write_config("config.toml", "[agents.c]\nmax_output_token = 4\n");
    let run = sandbox.run(&["config", "show"]);
    assert!(
        run.stderr.contains("did you mean max_output_tokens?"),
        "{}",
        run.stderr
    );
}

/// The line of `config show` for a setting.
fn shown_setting(sandbox: &Sandbox, key: &str) -> String {
    let shown = sandbox.run(&["config", "show"]).stdout;
    let line = shown.lines().find(|line| line.starts_with(key));
    line.unwrap_or_default().to_string()
}

#[test]
fn config_set_changes_one_value_and_keeps_every_other_byte() {
    let sandbox = Sandbox::new();
    let text = "# mine\r\n[models] # all\r\n\tdefault = 'openai/a'  # why\r\n\r\n[files]\r\ndetails = true";
    sandbox.write_config("config.toml", text);
    let run = sandbox.run(&["config", "set", "models.default", "openai/gpt-5-mini"]);
    assert_eq!((run.code, &*run.stdout), (Some(0), ""), "{}", run.stderr);
    assert!(
        run.stderr.starts_with("models.default is set in /"),
        "{}",
        run.stderr
    );
    assert_eq!(
        sandbox.read("home/config/config.toml"),
        text.replace("'openai/a'", "\"openai/gpt-5-mini\"")
    );
    let line = shown_setting(&sandbox, "models.default");
    assert!(
        line.contains("openai/gpt-5-mini") && line.ends_with("config.toml:3"),
        "{line}"
    );
    sandbox.run(&["config", "set", "models.quick", "ollama/b"]);
    sandbox.run(&["config", "set", "agents.coder.models", "ollama/b, ollama/c"]);
    let line = shown_setting(&sandbox, "models.quick");
    assert!(line.ends_with("config.toml:4"), "{line}");
    let line = shown_setting(&sandbox, "agents.coder.models");
    assert!(line.contains("ollama/b, ollama/c"), "{line}");
}

#[test]
fn config_set_creates_a_private_file() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(&["config", "set", "context.compact_at", "85%"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(
        sandbox.read("home/config/config.toml"),
        "[context]\ncompact_at = \"85%\"\n"
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let facts = std::fs::metadata(sandbox.path("home/config/config.toml")).unwrap();
        assert_eq!(facts.permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn config_set_refuses_what_is_no_setting() {
    let sandbox = Sandbox::new();
    for (key, value, expected) in [
        (
            "models.defualt",
            "openai/a",
            "unknown setting models.defualt\nhint: did you mean models.default?\n",
        ),
        (
            "default",
            "openai/a",
            "unknown setting default\nhint: did you mean models.default?\n",
        ),
        (
            "defualt",
            "openai/a",
            "unknown setting defualt\nhint: did you mean models.default?\n",
        ),
        (
            "agents.coder.temprature",
            "1",
            "unknown setting agents.coder.temprature\nhint: did you mean agents.coder.temperature?\n",
        ),
        (
            "openai.api_key",
            "sk-never-shown",
            "openai.api_key is a secret, and config.toml holds none\nhint: set OPENAI_API_KEY in your shell\n",
        ),
        (
            "openai.base_url",
            "http://x",
            "openai.base_url comes from the environment, and config.toml cannot set it\n\
             hint: set its variable in your shell; analects config show lists the variables\n",
        ),
        (
            "models.default",
            "gpt5-mini",
            "unknown model \"gpt5-mini\"\nhint: did you mean openai/gpt-5-mini?\n",
        ),
        (
            "context.pictures",
            "yes",
            "context.pictures must be true or false\n\
             hint: such as analects config set context.pictures true\n",
        ),
    ] {
        let run = sandbox.run(&["config", "set", key, value]);
        run.assert_fails(2, &format!("analects: {expected}"));
        assert!(!sandbox.path("home/config/config.toml").exists(), "{key}");
    }
}

#[test]
fn config_set_leaves_a_broken_file_alone() {
    let sandbox = Sandbox::new();
    sandbox.write_config("config.toml", "[models\n");
    let run = sandbox.run(&["config", "set", "models.default", "openai/a"]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(run.stderr.contains("config.toml:1:"), "{}", run.stderr);
    assert_eq!(sandbox.read("home/config/config.toml"), "[models\n");
}

#[test]
fn config_set_says_what_decides_instead_of_the_file() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(&["config", "set", "models.default", "openai/a"]);
    let run: CommandOutput = command
        .env("ANALECTS_MODEL", "openai/b")
        .output()
        .unwrap()
        .into();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let warning = "warning: ANALECTS_MODEL decides models.default here, and not this file\n";
    assert!(run.stderr.ends_with(warning), "{}", run.stderr);
}

#[test]
fn an_empty_value_says_how_to_remove_a_setting() {
    let sandbox = Sandbox::new();
    let file = sandbox.path("home/config/config.toml");
    let hint = format!(
        "hint: to remove the setting, delete its line in {}\n",
        file.display()
    );
    sandbox
        .run(&["config", "set", "models.default", ""])
        .assert_fails(
            2,
            &format!("analects: models.default needs a value\n{hint}"),
        );
}

#[test]
fn a_missing_key_names_the_model_and_the_line_that_names_it() {
    let sandbox = Sandbox::new();
    sandbox.write_config("config.toml", "[models]\ndefault = \"openai/gpt-5-mini\"\n");
    for verb in ["ask", "chat"] {
        let run = sandbox.run(&[verb, "hi"]);
        let file = sandbox.path("home/config/config.toml");
        let origin = format!(
            "; openai/gpt-5-mini is the default model of {}:2\n",
            file.display()
        );
        assert!(run.stderr.ends_with(&origin), "{verb}: {}", run.stderr);
    }
}
