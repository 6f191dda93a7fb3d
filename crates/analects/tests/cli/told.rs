//! What is told about conversations: who answers by default, what broke off, what was dropped or edited in a
//! session, and which message or file is meant.

use crate::sandbox::{Run, Sandbox};
use crate::server::{Server, Step, answer, piece, stream_head};

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

/// An answer that breaks off in the middle.
fn broken() -> Vec<Step> {
    vec![stream_head(), piece("The half of")]
}

fn session_id(sandbox: &Sandbox) -> String {
    let listed = done(&sandbox.run(&["session", "list", "--json"])).to_string();
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    listed["sessions"][0]["id"].as_str().unwrap().to_string()
}

/// The ids of the messages of the last session.
fn ids(sandbox: &Sandbox) -> Vec<String> {
    let tail = sandbox.run(&["session", "tail", "last", "--json"]);
    let ids = done(&tail).lines().map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).unwrap();
        message["id"].as_str().unwrap().to_string()
    });
    ids.collect()
}

#[test]
fn an_answer_of_a_session_that_broke_off_is_called_so_and_can_be_asked_again() {
    let server = Server::new(vec![broken(), answer(&["All of it."])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let run = sandbox.run(&["chat", "-m", "openai/tiny", "tell me"]);
    assert_eq!(run.code, Some(5), "{}", run.stderr);
    let (session, ids) = (session_id(&sandbox), ids(&sandbox));
    let ways = format!(
        "hide what came to ask again: analects drop {session} {}, then analects session resume {session}\n",
        ids[1]
    );
    assert!(run.stderr.ends_with(&ways), "{}", run.stderr);
    for args in [&["chat", "-c"][..], &["session", "resume", "last"]] {
        sandbox.run(args).assert_failure(
            2,
            &format!(
                "analects: nothing to ask: the last answer, {}, broke off\n\
                 hint: add a prompt, or {ways}",
                ids[1]
            ),
        );
    }
    done(&sandbox.run(&["drop", &session, &ids[1]]));
    sandbox.run(&["session", "resume", &session]).assert_answer("All of it.\n");
    server.request();
    let request = server.request();
    assert!(request.contains("tell me") && !request.contains("The half of"), "{request}");
    // Now it has its answer.
    let run = sandbox.run(&["session", "resume", "last"]);
    assert!(run.stderr.contains("what was asked last has its answer"), "{}", run.stderr);
}
