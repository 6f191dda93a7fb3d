//! `context` shows the request that is sent.

use serde_json::Value;

use crate::sandbox::{Sandbox, assert_success, parse_json};
use crate::server::{Server, answer};

const TALK: &str = "---\ndefault_agent: tiny\nagents:\n  tiny:\n    models: [openai/tiny]\n    system_prompt: Be brief.\n---\n\n\
    # %%\n\nOne?\n\n# %%% [^2]\n\n[^2]: [tiny]\n\nOne.\n\n# %% [^3]\n\n[^3]: [markdown] history=exclude\n\na note\n\n# %%\n\nTwo?\n";

#[test]
fn context_shows_the_request_that_chat_sends() {
    let server = Server::new(vec![answer(&["Two."])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write("a.msg.md", TALK);
    let shown = sandbox.run(&["context", "a.msg.md", "--request"]);
    assert_eq!((shown.code, &*shown.stderr), (Some(0), ""));
    let run = sandbox.run(&["chat", "a.msg.md"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(
        parse_json(&shown.stdout)["body"],
        parse_json(&server.request())
    );
}

#[test]
fn context_lists_every_message_and_the_tokens_add_up() {
    let sandbox = Sandbox::new().with_server("http://127.0.0.1:9/v1");
    sandbox.write("a.msg.md", TALK);
    let before = sandbox.read("a.msg.md");
    let shown = parse_json(&sandbox.run(&["context", "a.msg.md", "--json"]).stdout);
    let messages = shown["messages"].as_array().unwrap();
    let fates: Vec<_> = messages
        .iter()
        .map(|row| row["fate"].as_str().unwrap())
        .collect();
    assert_eq!(fates, ["sent", "sent", "left out", "sent"]);
    assert_eq!(messages[2]["why"], "hidden");
    assert_eq!(messages[2]["cell"], "3");
    let number = |value: &Value| value["tokens"].as_u64().unwrap();
    let parts: u64 = messages.iter().map(|row| number(&row["tokens"])).sum();
    let total = number(&shown["count"]);
    assert!(total >= parts + number(&shown["system"]), "{shown}");
    assert_eq!(shown["count"]["method"], "estimate");
    assert!(shown["count"]["error_bound"].as_u64().unwrap() > 0);
    assert_eq!(shown["limit"], 200_000 - 8192);
    let table = sandbox.run(&["context", "a.msg.md"]);
    assert_eq!(table.code, Some(0), "{}", table.stderr);
    assert!(
        table.stdout.contains("left out: hidden"),
        "{}",
        table.stdout
    );
    assert!(table.stdout.contains('░'), "{}", table.stdout);
    assert_eq!(sandbox.read("a.msg.md"), before);
}

#[test]
fn context_shows_what_is_dropped_or_why_nothing_fits() {
    let sandbox = Sandbox::new().with_server("http://127.0.0.1:9/v1");
    let head = "---\ndefault_agent: t\nagents:\n  t: {models: [openai/tiny], context_window: 400, max_output_tokens: 100}\n---\n\n";
    let turns: String = (0..30)
        .map(|n| {
            format!(
                "# %%\n\nquestion {n} {}\n\n# %%% [^r{n}]\n\n[^r{n}]: [t]\n\nanswer\n\n",
                "word ".repeat(8)
            )
        })
        .collect();
    sandbox.write("long.msg.md", format!("{head}{turns}# %%\n\nlast\n"));
    let shown = parse_json(&sandbox.run(&["context", "long.msg.md", "--json"]).stdout);
    let rows = shown["messages"].as_array().unwrap();
    assert_eq!(
        (&rows[0]["fate"], &rows.last().unwrap()["fate"]),
        (&"dropped".into(), &"sent".into())
    );
    assert_eq!(shown["fits"], true);
    assert!(shown["count"]["tokens"].as_u64() <= shown["limit"].as_u64());
    sandbox.write(
        "huge.msg.md",
        format!("{head}# %%\n\n{}\n", "word ".repeat(2000)),
    );
    for args in [
        &["context", "huge.msg.md"][..],
        &["context", "huge.msg.md", "--request"],
    ] {
        let run = sandbox.run(args);
        assert_eq!(run.code, Some(1), "{}", run.stderr);
        assert!(run.stderr.contains("300 fit"), "{}", run.stderr);
    }
    let run = sandbox.run(&["chat", "huge.msg.md"]);
    assert_ne!(run.code, Some(0), "nothing else is sent silently");
    assert!(run.stderr.contains("300 fit"), "{}", run.stderr);
}

/// An agent that sets no window has that of its model, be it smaller or larger than the usual one.
#[test]
fn an_agent_can_only_shrink_the_context_window() {
    let sandbox = Sandbox::new();
    let window = |model: &str, setting: &str| {
        let agent = format!("{{models: [{model}]{setting}}}");
        sandbox.write(
            "a.msg.md",
            format!("---\ndefault_agent: t\nagents:\n  t: {agent}\n---\n\n# %%\n\nHi\n"),
        );
        parse_json(&sandbox.run(&["context", "a.msg.md", "--json"]).stdout)["window"]
            .as_u64()
            .unwrap()
    };
    assert_eq!(window("local/smollm2", ""), 8192);
    assert_eq!(window("openai/gpt-5", ""), 400_000);
    assert_eq!(window("openai/gpt-5", ", context_window: 5000"), 5000);
    assert_eq!(window("openai/gpt-5", ", context_window: 200000"), 200_000);
    assert_eq!(window("openai/gpt-5", ", context_window: lots"), 400_000);
    assert_eq!(window("openai/nobody-knows", ""), 200_000);
    assert_eq!(window("local/smollm2", ", context_window: 50000"), 8192);
}

#[test]
fn context_works_for_sessions() {
    let server = Server::new(vec![answer(&["One."])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    assert_eq!(
        sandbox.run(&["chat", "-m", "openai/tiny", "Count"]).code,
        Some(0)
    );
    let shown = parse_json(&sandbox.run(&["context", "last", "--json"]).stdout);
    assert_eq!(shown["messages"].as_array().unwrap().len(), 2);
    assert_eq!(shown["model"], "openai/tiny");
    // The rows have names that other verbs take.
    let table = sandbox.run(&["context", "last"]).stdout;
    let row = table.lines().find(|line| line.ends_with("Count")).unwrap();
    let name = row.split(' ').next().unwrap();
    assert!(
        shown["messages"][0]["id"]
            .as_str()
            .unwrap()
            .starts_with(name),
        "{table}"
    );
    assert_eq!(sandbox.run(&["drop", "last", name]).code, Some(0));
    assert_eq!(sandbox.run(&["context", "nobody"]).code, Some(3));
    assert_eq!(sandbox.run(&["context", "nofile.msg.md"]).code, Some(3));
}

#[test]
fn tokens_prints_its_error_bound() {
    let sandbox = Sandbox::new();
    let text = "The quick brown fox jumps over the lazy dog. ".repeat(20);
    let run = sandbox.run_with_stdin(
        &["tokens", "--json", "-m", "anthropic/claude-sonnet-4-5"],
        &text,
    );
    let shown = parse_json(&run.stdout);
    assert_eq!(shown["method"], "estimate");
    let (tokens, bound) = (
        shown["tokens"].as_u64().unwrap(),
        shown["error_bound"].as_u64().unwrap(),
    );
    assert!((150..300).contains(&tokens) && bound > 0, "{shown}");
    let plain = sandbox.run_with_stdin(&["tokens", "-m", "anthropic/claude-sonnet-4-5"], &text);
    assert_eq!(plain.stdout, format!("~{tokens} ±{bound}\n"));
    sandbox.write("b.bin", b"\xff\xfe");
    assert_eq!(sandbox.run(&["tokens", "b.bin"]).code, Some(1));
    assert_eq!(sandbox.run(&["tokens", "missing"]).code, Some(3));
    // OpenAI's vocabulary is public, and counts exactly.
    assert_eq!(sandbox.run_with_stdin(&["tokens", "-"], "").stdout, "0\n");
    let exact = sandbox.run_with_stdin(
        &["tokens", "-m", "openai/gpt-5-mini", "--json"],
        "Hello world",
    );
    assert_eq!(
        (
            &parse_json(&exact.stdout)["tokens"],
            &parse_json(&exact.stdout)["method"]
        ),
        (&2.into(), &"tokenizer".into())
    );
}

#[test]
fn context_refuses_other_files() {
    let sandbox = Sandbox::new().with_server("http://127.0.0.1:9/v1");
    sandbox.write("notes.txt", "x\n");
    sandbox.write("notes.md", "x\n");
    for name in ["notes.txt", "notes.md"] {
        let run = sandbox.run(&["context", name, "-m", "openai/tiny"]);
        assert_eq!((run.code, &*run.stdout), (Some(2), ""), "{}", run.stderr);
        assert!(run.stderr.contains("not a message file"), "{}", run.stderr);
    }
}

#[test]
fn context_says_what_messages_without_text_do() {
    let sandbox = Sandbox::new();
    let call = r#"{"type":"tool_use","id":"c1","name":"search","input":{"for":"monoids"}}"#;
    let result = r#"{"type":"tool_result","tool_use_id":"c1","content":"nothing found"}"#;
    let lines = format!(
        "{{\"type\":\"user\",\"content\":\"Search.\"}}\n\
         {{\"type\":\"assistant\",\"content\":[{call}]}}\n\
         {{\"type\":\"user\",\"content\":[{result}]}}\n"
    );
    assert_success(&sandbox.run_with_stdin(&["session", "append"], lines));
    let run = sandbox.run(&["context", "last", "-m", "openai/tiny"]);
    let shown = assert_success(&run);
    for words in [
        "(calls search) {\"for\":\"monoids\"}",
        "(result) nothing found",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
}
