//! Which of an agent's models answers, and which agent continues a conversation.

use serde_json::Value;

use crate::sandbox::{Sandbox, parse_json};
use crate::server::{Server, answer, call, done, stream_head};

/// A file with one agent that has these models.
fn file_with_models(models: &str) -> String {
    format!("---\nagents:\n  w:\n    models: [{models}]\n---\n")
}

#[test]
fn chat_uses_the_first_usable_model_and_names_the_skipped_ones() {
    let cases = [
        ("openai/tiny, anthropic/claude-sonnet-4-5", ""),
        (
            "anthropc/x, openai/tiny",
            "warning: w: anthropc/x is skipped (unknown model)",
        ),
        (
            "local/smollm2, openai/tiny",
            "warning: w: local/smollm2 is skipped (not on this machine yet); openai/tiny answers",
        ),
        (
            "anthropic/claude-sonnet-4-5, openai/tiny",
            "is skipped (no key for this model: ANTHROPIC_API_KEY is not set); openai/tiny answers",
        ),
    ];
    for (models, told) in cases {
        let server = Server::new(vec![answer(&["Yes."])]);
        let sandbox = Sandbox::new().with_server(&server.base_url);
        sandbox.write("a.msg.md", file_with_models(models));
        let run = sandbox.run(&["chat", "a.msg.md", "Are you there?"]);
        assert_eq!(
            (run.code, &*run.stdout),
            (Some(0), "Yes.\n"),
            "{models}: {}",
            run.stderr
        );
        assert_eq!(parse_json(&server.request())["model"], "tiny");
        assert!(
            run.stderr.contains(told) && run.stderr.is_empty() == told.is_empty(),
            "{}",
            run.stderr
        );
    }
    // If no model is usable, the error is about the first one.
    let sandbox = Sandbox::new();
    sandbox.write(
        "a.msg.md",
        file_with_models("anthropic/claude-sonnet-4-5, openai/tiny"),
    );
    let run = sandbox.run(&["chat", "a.msg.md", "Are you there?"]);
    assert_eq!(run.code, Some(5), "{}", run.stderr);
    assert!(
        run.stderr.contains("ANTHROPIC_API_KEY is not set"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_session_continues_with_the_agent_that_answered_last() {
    let server = Server::new(vec![answer(&["Yes."]); 5]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let config = "[agents.coder]\nmodels = [\"openai/tiny\"]\nsystem_prompt = \"Be terse.\"\ntemperature = 0.1\n";
    sandbox.write_config("config.toml", config);
    let system = || {
        let sent = parse_json(&server.request());
        let is_system = sent["messages"][0]["role"] == "system";
        (
            is_system.then(|| sent["messages"][0]["content"].clone()),
            sent["temperature"].clone(),
        )
    };
    let coder = (Some(Value::from("Be terse.")), Value::from(0.1));
    for args in [
        &["chat", "--agent", "coder", "one?"][..],
        &["chat", "-c", "two?"],
    ] {
        let run = sandbox.run(args);
        assert_eq!((run.code, &*run.stderr), (Some(0), ""));
        assert_eq!(system(), coder, "{args:?}");
    }
    // A named model is asked without an agent, and stays so.
    for args in [
        &["chat", "-c", "-m", "openai/tiny", "three?"][..],
        &["chat", "-c", "four?"],
    ] {
        let run = sandbox.run(args);
        assert_eq!((run.code, &*run.stderr), (Some(0), ""));
        assert_eq!(system().0, None, "{args:?}");
    }
}

#[test]
fn chat_warns_when_the_last_agent_is_no_longer_configured() {
    let server = Server::new(vec![answer(&["Yes."]); 2]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write_config(
        "config.toml",
        "[agents.coder]\nmodels = [\"openai/tiny\"]\nsystem_prompt = \"Be terse.\"\n",
    );
    assert_eq!(
        sandbox.run(&["chat", "--agent", "coder", "one?"]).code,
        Some(0)
    );
    sandbox.write_config("config.toml", "");
    let run = sandbox.run(&["chat", "-c", "two?"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let told =
        "warning: the agent coder, which answered last, is not configured here: its model answers";
    assert!(run.stderr.contains(told), "{}", run.stderr);
}

#[test]
fn an_imported_session_continues_with_its_own_model() {
    let server = Server::new(vec![answer(&["Yes."])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let lines = "{\"type\":\"user\",\"content\":\"one?\"}\n\
                 {\"type\":\"assistant\",\"content\":\"1\",\"model\":\"gpt-5-mini\"}\n";
    assert_eq!(
        sandbox.run_with_stdin(&["session", "append"], lines).code,
        Some(0)
    );
    let run = sandbox.run(&["chat", "-c", "two?"]);
    assert_eq!((run.code, &*run.stderr), (Some(0), ""));
    assert_eq!(parse_json(&server.request())["model"], "gpt-5-mini");
}

#[test]
fn an_agent_that_only_called_a_tool_still_answers_next() {
    let asks = vec![stream_head(), call(0, "look", "{}"), done()];
    let server = Server::new(vec![asks, answer(&["Yes."])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let agents = "---\nagents:\n  a: {models: [openai/one]}\n  b: {models: [openai/two]}\n---\n";
    sandbox.write("a.msg.md", agents);
    for args in [
        &["chat", "a.msg.md", "--agent", "b", "look"][..],
        &["chat", "a.msg.md", "and now?"],
    ] {
        sandbox.run(args);
        assert_eq!(parse_json(&server.request())["model"], "two", "{args:?}");
    }
}

#[test]
fn an_agent_keeps_its_model_and_a_dry_run_names_it() {
    let server = Server::new(vec![answer(&["Yes."]); 3]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let models = "models = [\"groq/rhyme\", \"openai/rhyme\"]";
    sandbox.write_config(
        "config.toml",
        &format!("[agents.poet]\n{models}\nsystem_prompt = \"Rhyme.\"\n"),
    );
    let told = "warning: poet: groq/rhyme is skipped (no key";
    let calls: [&[&str]; 3] = [
        &["chat", "--agent", "poet", "one?"],
        &["chat", "-c", "two?"],
        &["chat", "-c", "three?"],
    ];
    for (at, args) in calls.into_iter().enumerate() {
        let dry = sandbox.run(&[args, &["--dry-run"]].concat());
        assert!(
            dry.stdout.contains(&server.base_url),
            "{args:?}: {} {}",
            dry.stdout,
            dry.stderr
        );
        let run = sandbox.run(args);
        assert_eq!(run.code, Some(0), "{args:?}: {}", run.stderr);
        assert_eq!(
            run.stderr.contains(told),
            at == 0,
            "{args:?}: {}",
            run.stderr
        );
        let sent = parse_json(&server.request());
        assert_eq!(
            (&sent["model"], &sent["messages"][0]["content"]),
            (&"rhyme".into(), &"Rhyme.".into())
        );
    }
}

#[test]
fn a_model_is_not_mistaken_for_an_agent_with_its_name() {
    let server = Server::new(vec![answer(&["Yes."]); 2]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write_config(
        "config.toml",
        "[agents.tiny]\nmodels = [\"openai/tiny\"]\nsystem_prompt = \"I am tiny.\"\n",
    );
    for args in [
        &["chat", "-m", "openai/tiny", "one?"][..],
        &["chat", "-c", "two?"],
    ] {
        assert_eq!(sandbox.run(args).code, Some(0));
        assert!(!server.request().contains("I am tiny."), "{args:?}");
    }
}

#[test]
fn an_imported_session_falls_back_to_the_default_model_and_says_so() {
    let server = Server::new(vec![answer(&["Yes."]), answer(&["Again."])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let lines = "{\"type\":\"user\",\"content\":\"one?\"}\n\
                 {\"type\":\"assistant\",\"content\":\"1\",\"model\":\"claude-opus-4-1\"}\n";
    assert_eq!(
        sandbox.run_with_stdin(&["session", "append"], lines).code,
        Some(0)
    );
    let run = sandbox.run(&["chat", "-c", "two?"]);
    let why = "analects: claude-opus-4-1, which answered last: no key for this model: ANTHROPIC_API_KEY is not set\n";
    assert!(run.stderr.starts_with(why), "{}", run.stderr);
    sandbox.write_config("config.toml", "[models]\ndefault = \"openai/tiny\"\n");
    let run = sandbox.run(&["chat", "-c", "two?"]);
    assert_eq!(run.code, Some(0));
    assert_eq!(
        run.stderr,
        "warning: claude-opus-4-1, which answered last, is skipped (no key for this model: ANTHROPIC_API_KEY is not \
         set); openai/tiny answers\n"
    );
    assert_eq!(parse_json(&server.request())["model"], "tiny");
    // From then on, the model that answered here goes on.
    let run = sandbox.run(&["chat", "-c", "three?"]);
    assert_eq!((&*run.stdout, &*run.stderr), ("Again.\n", ""));
}
