//! Sessions longer than any model's window: what is loaded, shown and sent.

use serde_json::Value;

use crate::sandbox::{Sandbox, parse_json};
use crate::server::{Server, answer};

/// A session of about three megabytes.
fn long_session(sandbox: &Sandbox) {
    let text = "What was said is kept, word for word. ".repeat(100);
    let mut lines = String::from("{\"type\":\"system\",\"content\":\"Be brief.\"}\n");
    for number in 0..400 {
        lines.push_str(&format!(
            "{{\"type\":\"user\",\"content\":\"question {number}: {text}\"}}\n\
             {{\"type\":\"assistant\",\"content\":\"answer {number}: {text}\"}}\n"
        ));
    }
    let run = sandbox.run_with_stdin(&["session", "append"], lines);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    sandbox.write_config("config.toml", "[context]\ncompact_at = \"never\"\n");
}

#[test]
fn context_shows_what_is_sent_of_a_long_session() {
    let server = Server::new(vec![answer(&["Fine."]); 2]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    long_session(&sandbox);
    let args = ["chat", "-c", "-m", "openai/gpt-4o", "And now?"];
    let dry = sandbox.run(&[&args[..], &["--dry-run"]].concat());
    assert_eq!(dry.code, Some(0), "{}", dry.stderr);
    let told = "MB of the session are not sent: they do not fit";
    assert!(dry.stderr.contains(told), "{}", dry.stderr);
    let run = sandbox.run(&args);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stderr.contains(told), "{}", run.stderr);
    let (said, sent) = (
        parse_json(&dry.stdout)["body"].clone(),
        parse_json(&server.request()),
    );
    assert_eq!(said["messages"], sent["messages"]);
    let messages = sent["messages"].as_array().unwrap();
    let (roles, count): (Vec<&Value>, usize) = (
        messages.iter().take(3).map(|it| &it["role"]).collect(),
        messages.len(),
    );
    assert_eq!(roles, ["system", "user", "assistant"]);
    assert_eq!(messages[0]["content"], "Be brief.");
    assert_eq!(messages[count - 1]["content"], "And now?");
    // The next request begins as this one did.
    let run = sandbox.run(&["chat", "-c", "And then?"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let next = parse_json(&server.request());
    assert_eq!(next["messages"].as_array().unwrap()[..count], messages[..]);
}

#[test]
fn context_has_a_row_for_the_unsent_part_of_a_long_session() {
    let sandbox = Sandbox::new();
    long_session(&sandbox);
    let shown = |model: &str| {
        let table = sandbox.run(&["context", "last", "-m", model]);
        let plan = parse_json(
            &sandbox
                .run(&["context", "last", "-m", model, "--json"])
                .stdout,
        );
        assert_eq!(table.code, Some(0), "{}", table.stderr);
        let row = table
            .stdout
            .lines()
            .find(|line| line.contains("of the session"))
            .map(str::to_string);
        (
            row,
            plan["earlier_bytes"].as_u64(),
            plan["messages"].as_array().unwrap().len(),
        )
    };
    let (row, earlier, small) = shown("openai/gpt-4o");
    let row = row.unwrap();
    assert!(
        row.contains("not sent: no room") && row.contains("the first 1."),
        "{row}"
    );
    assert!(
        earlier.is_some_and(|bytes| bytes > 1_000_000),
        "{earlier:?}"
    );
    assert!(small < 500, "{small}");
    // The model with the largest window gets all of it.
    assert_eq!(shown("openai/gpt-4.1"), (None, None, 801));
}
