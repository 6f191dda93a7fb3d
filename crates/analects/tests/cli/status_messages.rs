//! Messages about conversations: the default agent, interrupted answers, dropped and edited messages, and ambiguous
//! names.

use crate::sandbox::{Sandbox, assert_success};
use crate::server::{Server, Step, answer, piece, stream_head};

const AGENTS: &str = "---\nagents:\n  coder:\n    models: [openai/big]\n  critic:\n    models: [openai/rhyme]\n---\n\n";

/// The default agents that `list` and `show --json` name, and the agent that would be asked.
fn default_agents(sandbox: &Sandbox) -> [String; 4] {
    let json = |args: &[&str]| -> serde_json::Value {
        serde_json::from_str(assert_success(&sandbox.run(args))).unwrap()
    };
    let listed = sandbox.run(&["list", "a.msg.md/agent"]);
    let people = assert_success(&listed)
        .lines()
        .filter(|line| line.contains("  default  "));
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
    [
        people.join(","),
        programs.join(","),
        word(&shown["default_agent"]),
        word(&asked["agent"]),
    ]
}

#[test]
fn every_command_names_the_same_default_agent() {
    let server = Server::new(vec![answer(&["1"]), answer(&["2"])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write("a.msg.md", format!("{AGENTS}# %%\n\nhi\n"));
    assert_eq!(default_agents(&sandbox), ["coder"; 4]);
    assert_success(&sandbox.run(&["chat", "a.msg.md", "--agent", "critic"]));
    assert_eq!(default_agents(&sandbox), ["critic"; 4]);
    // An added answer counts as that agent's, too.
    assert_success(&sandbox.run(&["add", "a.msg.md", "--output", "also mine"]));
    assert!(sandbox.read("a.msg.md").contains("[critic]\n\nalso mine"));
    assert_success(&sandbox.run(&["rewind", "a.msg.md", "1"]));
    assert_eq!(
        default_agents(&sandbox),
        ["coder"; 4],
        "nobody has answered on this branch"
    );
    assert_success(&sandbox.run(&["set", "default", "a.msg.md", "critic"]));
    assert_success(&sandbox.run(&["chat", "a.msg.md", "--agent", "coder"]));
    assert_eq!(
        default_agents(&sandbox),
        ["critic"; 4],
        "whom the file names"
    );
}

#[test]
fn an_unusable_agent_is_not_the_default() {
    let sandbox = Sandbox::new().with_server("http://127.0.0.1:9/v1");
    sandbox.write(
        "a.msg.md",
        AGENTS.replace("openai/big", "nobody/x") + "# %%\n\nhi\n",
    );
    assert_eq!(default_agents(&sandbox), ["critic"; 4]);
}

/// An answer that breaks off in the middle.
fn broken_answer() -> Vec<Step> {
    vec![stream_head(), piece("The half of")]
}

/// The ids of the messages of the last session.
fn message_ids(sandbox: &Sandbox) -> Vec<String> {
    let tail = sandbox.run(&["session", "tail", "last", "--json"]);
    let ids = assert_success(&tail).lines().map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).unwrap();
        message["id"].as_str().unwrap().to_string()
    });
    ids.collect()
}

#[test]
fn an_interrupted_session_answer_is_marked_and_can_be_retried() {
    let server = Server::new(vec![broken_answer(), answer(&["All of it."])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let run = sandbox.run(&["chat", "-m", "openai/tiny", "tell me"]);
    assert_eq!(run.code, Some(5), "{}", run.stderr);
    let (session, ids) = (sandbox.last_session_id(), message_ids(&sandbox));
    let ways = format!(
        "hide the partial answer to ask again: analects drop {session} {}, then analects session resume {session}\n",
        ids[1]
    );
    assert!(run.stderr.ends_with(&ways), "{}", run.stderr);
    for args in [&["chat", "-c"][..], &["session", "resume", "last"]] {
        sandbox.run(args).assert_fails(
            2,
            &format!(
                "analects: nothing to ask: the last answer, {}, broke off\n\
                 hint: add a prompt, or {ways}",
                ids[1]
            ),
        );
    }
    assert_success(&sandbox.run(&["drop", &session, &ids[1]]));
    sandbox
        .run(&["session", "resume", &session])
        .assert_prints("All of it.\n");
    server.request();
    let request = server.request();
    assert!(
        request.contains("tell me") && !request.contains("The half of"),
        "{request}"
    );
    // Now it has its answer.
    let run = sandbox.run(&["session", "resume", "last"]);
    assert!(
        run.stderr.contains("the last question has an answer"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_dropped_message_is_restored_by_its_own_id() {
    let server = Server::new(vec![answer(&["Forty-two."])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    assert_success(&sandbox.run(&["chat", "-m", "openai/tiny", "six times seven?"]));
    let (session, ids) = (sandbox.last_session_id(), message_ids(&sandbox));
    let seen = || {
        let run = sandbox.run(&["context", "last", "--request"]);
        assert_success(&run).contains("Forty-two.")
    };
    let undo = format!("analects restore {session} {}", ids[1]);
    let not_hidden = format!("analects: {} is not hidden\n", ids[1]);
    sandbox
        .run(&["restore", "last", &ids[1]])
        .assert_fails(1, &not_hidden);
    for _ in 0..2 {
        let run = sandbox.run(&["drop", "last", &ids[1]]);
        assert_success(&run);
        assert_eq!(run.stderr, format!("to undo this: {undo}\n"));
        assert!(!seen());
        sandbox.run(&["drop", "last", &ids[1]]).assert_fails(
            1,
            &format!(
                "analects: {} is hidden already\nhint: {undo} shows it\n",
                ids[1]
            ),
        );
        let run = sandbox.run(&["restore", "last", &ids[1]]);
        assert_eq!((assert_success(&run), &*run.stderr), (&*ids[1], ""));
        assert!(seen());
    }
    let run = sandbox.run(&["drop", "last", &ids[1], "--json"]);
    let dropped: serde_json::Value = serde_json::from_str(assert_success(&run)).unwrap();
    assert_eq!(
        (&dropped["message_id"], &dropped["hidden"]),
        (&ids[1].clone().into(), &true.into())
    );
    assert!(dropped["revision_id"].is_string() && !seen(), "{dropped}");
    let run = sandbox.run(&["restore", "last", &ids[1], "--json"]);
    let shown: serde_json::Value = serde_json::from_str(assert_success(&run)).unwrap();
    assert_eq!(
        (&shown["message_id"], &shown["hidden"]),
        (&ids[1].clone().into(), &false.into())
    );
    assert!(seen());
    assert_eq!(sandbox.run(&["check", "home"]).code, Some(0));
}

#[test]
fn one_restore_undoes_two_drops() {
    let sandbox = Sandbox::new();
    let lines = "{\"type\":\"user\",\"id\":\"u1\",\"content\":\"one\"}\n\
        {\"type\":\"assistant\",\"id\":\"a1\",\"content\":\"two\"}\n\
        {\"type\":\"tombstone\",\"id\":\"t1\",\"target\":\"a1\"}\n\
        {\"type\":\"tombstone\",\"id\":\"t2\",\"target\":\"a1\"}\n";
    assert_success(&sandbox.run_with_stdin(&["session", "append"], lines));
    let seen = || {
        sandbox
            .run(&["context", "last", "-m", "openai/tiny", "--request"])
            .stdout
    };
    assert!(!seen().contains("two"));
    assert_success(&sandbox.run(&["restore", "last", "a1"]));
    assert!(seen().contains("two"), "{}", seen());
}

#[test]
fn an_id_prefix_means_a_visible_message() {
    let server = Server::new(vec![answer(&["Hi."])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    assert_success(&sandbox.run(&["chat", "-m", "openai/tiny", "hello"]));
    // A state record may have been written in the same millisecond.
    let export = assert_success(&sandbox.run(&["session", "export", "last"])).to_string();
    let state = export
        .lines()
        .find(|line| line.contains("\"type\":\"state\""))
        .unwrap();
    let state: serde_json::Value = serde_json::from_str(state).unwrap();
    let question = message_ids(&sandbox)[0].clone();
    let other = state["id"].as_str().unwrap();
    let shared = question
        .chars()
        .zip(other.chars())
        .take_while(|(a, b)| a == b)
        .count();
    assert!(shared > 8, "{question} {other}");
    let run = sandbox.run(&["edit", "last", &question[..shared], "hello?"]);
    assert_success(&run);
    assert_eq!(assert_success(&run), question);
    // If nothing else starts like this, it means the state record, which is no message.
    let none = format!("analects: {other} is a record of the conversation, not a message in it\n");
    sandbox
        .run(&["rewind", "last", &other[..shared + 1]])
        .assert_fails(1, &none);
}

#[test]
fn editing_an_open_question_says_how_to_ask_it() {
    let server = Server::new(vec![answer(&["Hi."]), answer(&["Hello!"])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    assert_success(&sandbox.run(&["chat", "-m", "openai/tiny", "hello"]));
    let (session, ids) = (sandbox.last_session_id(), message_ids(&sandbox));
    let run = sandbox.run(&["edit", "last", &ids[1], "Good day."]);
    assert_success(&run);
    assert_eq!(run.stderr, "");
    // An answered question is asked again after a rewind.
    assert_eq!(
        sandbox
            .run(&["edit", "last", &ids[0], "hello again"])
            .stderr,
        ""
    );
    assert_success(&sandbox.run(&["rewind", "last", &ids[0]]));
    let run = sandbox.run(&["edit", "last", &ids[0], "hello there"]);
    assert_eq!(assert_success(&run), ids[0]);
    assert_eq!(
        run.stderr,
        format!("to ask it: analects session resume {session}\n")
    );
    server.request();
    sandbox
        .run(&["session", "resume", &session])
        .assert_prints("Hello!\n");
    let request = server.request();
    assert!(
        request.contains("hello there") && !request.contains("Good day."),
        "{request}"
    );
}

#[test]
fn a_missing_plain_file_is_reported_as_missing() {
    let sandbox = Sandbox::new().with_server("http://127.0.0.1:9/v1");
    for more in [&[][..], &["--dry-run"]] {
        let args = [&["chat", "nosuch.md", "-m", "openai/tiny", "hi"], more].concat();
        sandbox.run(&args).assert_fails(
            3,
            "analects: nosuch.md: not found\n\
             hint: analects new nosuch.md makes it, with a section for messages; \
             or name it nosuch.msg.md, which chat makes\n",
        );
    }
    assert!(!sandbox.path("nosuch.md").exists());
    assert_success(&sandbox.run(&["new", "nosuch.md"]));
    let run = sandbox.run(&["chat", "nosuch.md", "-m", "openai/tiny", "hi", "--dry-run"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
}

#[test]
fn a_missing_cell_points_to_show() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "a.msg.md",
        format!("{AGENTS}# %% [^q]\n\n[^q]: [markdown]\n\nhi\n"),
    );
    let verbs: [&[&str]; 5] = [
        &["drop", "a.msg.md", "777"],
        &["restore", "a.msg.md", "777"],
        &["edit", "a.msg.md", "777", "x"],
        &["rewind", "a.msg.md", "777"],
        &["fork", "a.msg.md", "--at", "777"],
    ];
    for args in verbs {
        let told = "analects: a.msg.md: there is no cell 777\nhint: analects show a.msg.md shows the cells\n";
        sandbox.run(args).assert_fails(3, told);
    }
}
