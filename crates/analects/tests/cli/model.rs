//! `model`: providers and models.

use serde_json::{Value, json};

use crate::sandbox::Sandbox;
use crate::server::{Server, Step, error};

#[test]
fn model_list_names_key_variables_but_not_keys() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(&["model", "list"]);
    let output = command
        .env("ANTHROPIC_API_KEY", "sk-never-shown-anywhere")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(!text.contains("sk-never-shown"), "{text}");
    let row = |name: &str| {
        text.lines()
            .find(|line| line.starts_with(name))
            .unwrap()
            .to_string()
    };
    assert!(
        row("anthropic ").contains("ready") && row("openai ").contains("no key"),
        "{text}"
    );
    assert!(row("local ").contains("not pulled"), "{text}");
    let found: Value =
        serde_json::from_str(&sandbox.run(&["model", "list", "--json"]).stdout).unwrap();
    let openai = found["providers"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["name"] == "openai");
    assert_eq!(
        openai.unwrap(),
        &json!({"name": "openai", "ready": false, "needs_key": true, "key_variables": ["OPENAI_API_KEY"],
            "base_url_variables": ["OPENAI_BASE_URL", "OPENAI_API_BASE"], "tested": false})
    );
}

#[test]
fn model_list_asks_a_provider_for_its_models() {
    let body = "{\"object\":\"list\",\"data\":[{\"id\":\"small\"},{\"id\":\"big\"}]}";
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
    let server = Server::new(vec![vec![Step::Send(head + body)]]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox
        .run(&["model", "list", "openai"])
        .assert_prints("openai/big\nopenai/small\n");
    assert_eq!(sandbox.run(&["model", "list", "nobody"]).code, Some(3));
}

#[test]
fn model_info_shows_limits_and_prices() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(&["model", "info", "claude-sonnet-4-5"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(
        run.stdout
            .starts_with("anthropic/claude-sonnet-4-5\ncontext window   200000 tokens\n"),
        "{}",
        run.stdout
    );
    let run = sandbox.run(&["model", "info", "openai/no-such-model", "--json"]);
    let found: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(
        found,
        json!({"provider": "openai", "name": "no-such-model", "facts": null})
    );
    assert_eq!(
        sandbox.run(&["model", "info", "no-such-model"]).code,
        Some(2)
    );
}

#[test]
fn a_models_file_adds_facts_about_a_model() {
    let sandbox = Sandbox::new();
    std::fs::create_dir_all(sandbox.path("home/config")).unwrap();
    let own = r#"{"models":[{"provider":"openai","patterns":["tiny"],"context_window":4096,"prices":{"date":"2026-01-01","rates":{"input":1.5,"output":2.5}}}]}"#;
    sandbox.write("home/config/models.json", own);
    let run = sandbox.run(&["model", "info", "openai/tiny"]);
    assert!(
        run.stdout.contains("context window   4096 tokens\n"),
        "{}{}",
        run.stdout,
        run.stderr
    );
    assert!(
        run.stdout
            .contains("input            $1.5 a million tokens\n"),
        "{}",
        run.stdout
    );
    sandbox.write(
        "home/config/models.json",
        r#"{"models":[{"provider":"openai"}]}"#,
    );
    let run = sandbox.run(&["model", "info", "openai/tiny"]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(run.stderr.contains("models.json: "), "{}", run.stderr);
}

#[test]
fn unknown_models_and_providers_are_answered_with_the_nearest_known_ones() {
    let sandbox = Sandbox::new();
    for (name, meant) in [
        ("gpt5-mini", "openai/gpt-5-mini"),
        ("opnai/gpt-5", "openai/gpt-5"),
        ("opnai/gpt5", "openai/gpt-5"),
        ("smolm2", "local/smollm2"),
        ("quik", "quick"),
        (
            "openai",
            "openai/gpt-5.1, openai/gpt-5 or openai/gpt-5-codex",
        ),
    ] {
        let expected = format!("analects: unknown model \"{name}\"\nhint: did you mean {meant}?\n");
        for args in [
            &["ask", "-m", name, "Hi"][..],
            &["chat", "-m", name, "Hi"],
            &["model", "info", name],
        ] {
            sandbox.run(args).assert_fails(2, &expected);
        }
    }
    let expected = "analects: there is no provider opnai\nhint: did you mean openai?\n";
    let run = sandbox.run(&["model", "list", "opnai"]);
    run.assert_fails(3, expected);
}

#[test]
fn a_model_that_its_provider_does_not_know_is_answered_with_the_nearest_known_ones() {
    let body =
        r#"{"error":{"message":"The model `gpt5-mini` does not exist","code":"model_not_found"}}"#;
    for verb in ["ask", "chat"] {
        let server = Server::new(vec![error("404 Not Found", body)]);
        let sandbox = Sandbox::new().with_server(&server.base_url);
        let run = sandbox.run(&[verb, "-m", "openai/gpt5-mini", "Hi"]);
        assert_eq!(run.code, Some(5), "{}", run.stderr);
        assert!(run.stderr.contains("does not exist"), "{}", run.stderr);
        assert!(
            run.stderr.contains("hint: did you mean openai/gpt-5-mini?"),
            "{}",
            run.stderr
        );
    }
}

#[test]
fn a_model_of_the_users_own_file_is_suggested() {
    let sandbox = Sandbox::new();
    std::fs::create_dir_all(sandbox.path("home/config")).unwrap();
    let own = r#"{"models":[{"provider":"ollama","patterns":["housemate:7b"]}]}"#;
    sandbox.write("home/config/models.json", own);
    sandbox
        .run(&["ask", "-m", "housemat:7b", "Hi"])
        .assert_fails(
            2,
            "analects: unknown model \"housemat:7b\"\nhint: did you mean ollama/housemate:7b?\n",
        );
}

#[test]
fn model_list_says_who_has_not_tested_a_provider() {
    let shown = Sandbox::new().run(&["model", "list"]).stdout;
    let row = |name: &str| shown.lines().find(|line| line.starts_with(name)).unwrap();
    assert!(
        row("mistral ").ends_with("we have not tested it"),
        "{shown}"
    );
    assert!(!row("llamacpp ").contains("tested"), "{shown}");
}

#[test]
fn model_info_refuses_incomplete_names() {
    let hint = "hint: name a model as provider/NAME; analects model list has the providers\n";
    for name in ["vllm/", "replay:x", "nobody/x"] {
        let expected = format!("analects: unknown model \"{name}\"\n{hint}");
        Sandbox::new()
            .run(&["model", "info", name])
            .assert_fails(2, &expected);
    }
}

#[test]
fn missing_models_and_files_are_explained() {
    let sandbox = Sandbox::new();
    for words in [
        &["model", "rm", "nobody"][..],
        &["model", "rm", "smollm2"],
        &["model", "stop", "smollm2"],
        &["model", "pull", "nobody"],
        &["model", "add", "mine", "no.gguf"],
    ] {
        let run = sandbox.run(words);
        assert_eq!(run.code, Some(3), "{words:?}: {}", run.stderr);
        assert!(!run.stderr.contains("fetch it"), "{}", run.stderr);
    }
    // An existing file that is no model is a mistake of the user.
    sandbox.write("no.gguf", "GGML");
    assert_eq!(
        sandbox.run(&["model", "add", "mine", "no.gguf"]).code,
        Some(1)
    );
    let found: Value =
        serde_json::from_str(&sandbox.run(&["model", "list", "--json"]).stdout).unwrap();
    let local = found["providers"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["name"] == "local");
    assert_eq!(local.unwrap()["ready"], false);
}
