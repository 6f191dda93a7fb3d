//! `chat -s`: the system prompt of a new conversation or agent.

use crate::sandbox::{Sandbox, parse_json};
use crate::server::{Server, answer, error};

fn sandbox_with(answers: usize) -> (Server, Sandbox) {
    let server = Server::new(vec![answer(&["Arr."]); answers]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    (server, sandbox)
}

/// The system prompt of the next request.
fn system_prompt(server: &Server) -> String {
    let sent = parse_json(&server.request());
    let first = &sent["messages"][0];
    assert_eq!(first["role"], "system", "{sent}");
    first["content"].as_str().unwrap().to_string()
}

#[test]
fn a_new_conversation_keeps_its_system_prompt() {
    let follow_ups = [
        (&["chat", "a.msg.md"][..], &["chat", "a.msg.md"][..]),
        (&["chat"], &["chat", "-c"]),
    ];
    for (first, next) in follow_ups {
        let (server, sandbox) = sandbox_with(2);
        let options = ["-m", "openai/tiny", "-s", "You are a pirate.", "Hello?"];
        sandbox
            .run(&[first, &options].concat())
            .assert_prints("Arr.\n");
        assert!(system_prompt(&server).contains("You are a pirate."));
        sandbox
            .run(&[next, &["And now?"]].concat())
            .assert_prints("Arr.\n");
        assert!(system_prompt(&server).contains("You are a pirate."));
    }
}

#[test]
fn an_agent_of_the_file_keeps_its_own_system_prompt() {
    let (server, sandbox) = sandbox_with(1);
    let file = "---\nagents:\n  poet:\n    models: [openai/tiny]\n    system_prompt: Rhyme.\n---\n";
    sandbox.write("a.msg.md", file);
    let run = sandbox.run(&["chat", "a.msg.md", "-s", "Be brief.", "Hello?"]);
    assert_eq!(run.code, Some(2));
    assert_eq!(
        run.stderr,
        "analects: --system is for a new agent, and the agent poet is defined with its own system prompt\n\
         hint: leave out --system and change the agent's system_prompt where it is defined, or add a new agent: \
         --agent NAME -m MODEL\n"
    );
    assert_eq!(sandbox.read("a.msg.md"), file);
    let new = ["--agent", "brief", "-m", "openai/tiny", "-s", "Be brief."];
    sandbox
        .run(&[&["chat", "a.msg.md"][..], &new, &["Hello?"]].concat())
        .assert_prints("Arr.\n");
    let prompt = system_prompt(&server);
    assert!(
        prompt.contains("Be brief.") && !prompt.contains("Rhyme."),
        "{prompt}"
    );
}

#[test]
fn a_failed_call_with_a_system_prompt_can_be_repeated() {
    let refused = error("401 Unauthorized", r#"{"error":{"message":"no"}}"#);
    let server = Server::new(vec![refused, answer(&["Arr."])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let args = [
        "chat",
        "a.msg.md",
        "-m",
        "openai/tiny",
        "-s",
        "You are a pirate.",
        "Hello?",
    ];
    assert_eq!(sandbox.run(&args).code, Some(5));
    sandbox.run(&args).assert_prints("Arr.\n");
}
