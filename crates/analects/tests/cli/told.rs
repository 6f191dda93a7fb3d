//! What is told about conversations: who answers by default, what broke off, what was dropped or edited in a
//! session, and which message or file is meant.

use crate::sandbox::{Run, Sandbox};
use crate::server::{Server, answer};

const AGENTS: &str = "---\nagents:\n  coder:\n    models: [openai/big]\n  critic:\n    models: [openai/rhyme]\n---\n\n";

#[track_caller]
fn done(run: &Run) -> &str {
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    run.stdout.trim_end()
}

/// The agents that `list` and `show --json` call the default, and the one that would be asked.
fn defaults(sandbox: &Sandbox) -> [String; 4] {
    let json = |args: &[&str]| -> serde_json::Value {
        serde_json::from_str(done(&sandbox.run(args))).unwrap()
    };
    let listed = sandbox.run(&["list", "a.msg.md/agent"]);
    let people = done(&listed).lines().filter(|line| line.contains("  default  "));
    let people: Vec<&str> = people.map(|line| line.split(' ').next().unwrap()).collect();
    let agents = json(&["list", "a.msg.md/agent", "--json"]);
    let agents = agents["agents"].as_array().unwrap().iter();
    let programs: Vec<&str> = agents
        .filter(|agent| agent["default"] == true)
        .map(|agent| agent["name"].as_str().unwrap())
        .collect();
    let shown = json(&["show", "a.msg.md", "--json"]);
    let asked = json(&["context", "a.msg.md", "--json"]);
    let word = |value: &serde_json::Value| value.as_str().unwrap().to_string();
    [people.join(","), programs.join(","), word(&shown["default_agent"]), word(&asked["agent"])]
}

#[test]
fn the_default_agent_is_the_one_that_answers() {
    let server = Server::new(vec![answer(&["1"]), answer(&["2"])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write("a.msg.md", format!("{AGENTS}# %%\n\nhi\n"));
    assert_eq!(defaults(&sandbox), ["coder"; 4]);
    done(&sandbox.run(&["chat", "a.msg.md", "--agent", "critic"]));
    assert_eq!(defaults(&sandbox), ["critic"; 4]);
    // What is added as an answer is that agent's, too.
    done(&sandbox.run(&["add", "a.msg.md", "--output", "also mine"]));
    assert!(sandbox.read("a.msg.md").contains("[critic]\n\nalso mine"));
    done(&sandbox.run(&["rewind", "a.msg.md", "1"]));
    assert_eq!(defaults(&sandbox), ["coder"; 4], "nobody has answered on this branch");
    done(&sandbox.run(&["set", "default", "a.msg.md", "critic"]));
    done(&sandbox.run(&["chat", "a.msg.md", "--agent", "coder"]));
    assert_eq!(defaults(&sandbox), ["critic"; 4], "whom the file names");
}

#[test]
fn an_agent_that_cannot_be_asked_is_not_the_default() {
    let sandbox = Sandbox::new().with_server("http://127.0.0.1:9/v1");
    sandbox.write("a.msg.md", AGENTS.replace("openai/big", "nobody/x") + "# %%\n\nhi\n");
    assert_eq!(defaults(&sandbox), ["critic"; 4]);
}
