//! No model is named: the suggestions, and the defaults that make them unnecessary.

use serde_json::Value;

use crate::sandbox::{CommandOutput, Sandbox};
use crate::server::{Server, Step, answer};

/// The lines of the hint, one for each suggestion.
#[track_caller]
fn suggestions(run: &CommandOutput) -> Vec<String> {
    assert_eq!((run.code, &*run.stdout), (Some(2), ""), "{}", run.stderr);
    let (_, hint) = run
        .stderr
        .split_once("\nhint: choose one of these:\n")
        .unwrap();
    hint.lines().map(|line| line.trim().to_string()).collect()
}

/// A server that returns this list of models.
fn server_with_models(body: &str) -> Server {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
    Server::new(vec![vec![Step::Send(head + body)]])
}

fn run_with_variables(
    sandbox: &Sandbox,
    args: &[&str],
    variables: &[(&str, &str)],
) -> CommandOutput {
    let mut command = sandbox.command(args);
    // A port where nothing listens, because this machine may run Ollama.
    command
        .env("OLLAMA_HOST", "127.0.0.1:9")
        .envs(variables.iter().copied());
    command.output().unwrap().into()
}

#[test]
fn the_local_model_and_key_variables_are_suggested() {
    let sandbox = Sandbox::new();
    for verb in ["ask", "chat"] {
        let run = run_with_variables(&sandbox, &[verb, "Hi"], &[]);
        let start = "analects: no model to ask: none was named, and no provider's key is set\n";
        assert!(run.stderr.starts_with(start), "{}", run.stderr);
        let ways = suggestions(&run);
        assert_eq!(ways.len(), 3, "{ways:?}");
        assert!(
            ways[0].contains(": -m local/smollm2 (a tiny model"),
            "{ways:?}"
        );
        assert!(
            ways[1].contains("OPENAI_API_KEY") && ways[1].contains("ANTHROPIC_API_KEY"),
            "{ways:?}"
        );
        assert!(ways[2].contains("ANALECTS_MODEL"), "{ways:?}");
    }
    let run = run_with_variables(&sandbox, &["ask", "--json", "Hi"], &[]);
    let error: Value = serde_json::from_str(&run.stderr).unwrap();
    assert!(
        error["error"]["hint"]
            .as_str()
            .unwrap()
            .contains("-m local/smollm2"),
        "{error}"
    );
}

#[test]
fn a_running_ollama_and_a_set_key_come_first() {
    let server = server_with_models(
        "{\"object\":\"list\",\"data\":[{\"id\":\"qwen3:4b\"},{\"id\":\"other\"}]}",
    );
    let host = server
        .base_url
        .trim_start_matches("http://")
        .trim_end_matches("/v1")
        .to_string();
    let sandbox = Sandbox::new();
    let run = run_with_variables(&sandbox, &["ask", "Hi"], &[("OLLAMA_HOST", &host)]);
    assert_eq!(
        suggestions(&run)[0],
        "the Ollama that runs here: -m ollama/qwen3:4b"
    );
    let key = [
        ("OPENAI_API_KEY", "sk-never-shown-anywhere"),
        ("GROQ_API_KEY", "gsk-never-shown"),
    ];
    let run = run_with_variables(&sandbox, &["ask", "Hi"], &key);
    assert!(
        run.stderr
            .starts_with("analects: no model to ask: none was named\n"),
        "{}",
        run.stderr
    );
    assert!(!run.stderr.contains("never-shown"), "{}", run.stderr);
    let ways = suggestions(&run);
    assert!(
        ways[0].starts_with("with your key for Groq: -m groq/NAME; "),
        "{ways:?}"
    );
    assert_eq!(ways[1], "with your key for OpenAI: -m openai/gpt-5-mini");
    assert!(ways[2].contains("local/smollm2"), "{ways:?}");
}

#[test]
fn another_server_on_the_ollama_port_is_ignored() {
    let sandbox = Sandbox::new();
    for body in [
        "",
        "not JSON",
        "{\"data\":3}",
        "{\"data\":[{\"id\":\"\u{1b}[31mred\"}]}",
    ] {
        let server = server_with_models(body);
        let host = server
            .base_url
            .trim_start_matches("http://")
            .trim_end_matches("/v1")
            .to_string();
        let run = run_with_variables(&sandbox, &["ask", "Hi"], &[("OLLAMA_HOST", &host)]);
        assert!(
            !run.stderr.contains('\u{1b}') && run.stderr.contains("local/smollm2"),
            "{}",
            run.stderr
        );
    }
    // A server that never answers delays the command only briefly.
    let silent = Server::new(vec![vec![Step::Hang]]);
    let host = silent
        .base_url
        .trim_start_matches("http://")
        .trim_end_matches("/v1")
        .to_string();
    let start = std::time::Instant::now();
    assert_eq!(
        suggestions(&run_with_variables(
            &sandbox,
            &["ask", "Hi"],
            &[("OLLAMA_HOST", &host)]
        ))
        .len(),
        3
    );
    assert!(start.elapsed() < std::time::Duration::from_secs(10));
}

#[test]
fn analects_model_sets_the_default_model() {
    let server = Server::new(vec![
        answer(&["one"]),
        answer(&["two"]),
        answer(&["three"]),
        answer(&["four"]),
    ]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write_config(
        "config.toml",
        "[models]\ndefault = \"openai/configured\"\nquick = \"openai/small\"\n",
    );
    let model = || serde_json::from_str::<Value>(&server.request()).unwrap()["model"].clone();
    let tiny = [("ANALECTS_MODEL", "openai/tiny")];
    run_with_variables(&sandbox, &["ask", "Hi"], &tiny).assert_prints("one\n");
    assert_eq!(model(), "tiny");
    run_with_variables(&sandbox, &["chat", "a.msg.md", "Hi"], &tiny).assert_prints("two\n");
    assert_eq!(model(), "tiny");
    run_with_variables(&sandbox, &["ask", "Hi"], &[("ANALECTS_MODEL", "quick")])
        .assert_prints("three\n");
    assert_eq!(model(), "small");
    run_with_variables(&sandbox, &["ask", "-m", "default", "Hi"], &[]).assert_prints("four\n");
    assert_eq!(model(), "configured");
    let shown = run_with_variables(&sandbox, &["config", "show"], &tiny).stdout;
    let line = shown
        .lines()
        .find(|line| line.starts_with("models.default"))
        .unwrap();
    assert!(
        line.contains("openai/tiny") && line.ends_with("ANALECTS_MODEL"),
        "{line}"
    );
    let run = run_with_variables(
        &sandbox,
        &["ask", "Hi"],
        &[("ANALECTS_MODEL", "replay:a.sse")],
    );
    assert_eq!(run.code, Some(2), "{}", run.stderr);
}

#[test]
fn model_list_shows_whether_ollama_runs() {
    let sandbox = Sandbox::new();
    let state = |host: &str| {
        let run = run_with_variables(&sandbox, &["model", "list"], &[("OLLAMA_HOST", host)]);
        let line = run
            .stdout
            .lines()
            .find(|line| line.starts_with("ollama "))
            .unwrap();
        line["ollama".len()..]
            .trim_start()
            .split("  ")
            .next()
            .unwrap()
            .to_string()
    };
    assert_eq!(state("127.0.0.1:9"), "not running");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    assert_eq!(state(&listener.local_addr().unwrap().to_string()), "ready");
}
