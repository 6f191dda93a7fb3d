//! Which agent answers, by default and by request.

use crate::sandbox::Sandbox;
use crate::server::{Server, answer, error};

const TWO_AGENTS: &str = "# %% coder[^1]\n\n[^1]: [agent] name=\"coder\" models=\"openai/big\" \
                          use_temperature=1 temperature=0.25\n\n\
                          # %% poet[^2]\n\n[^2]: [agent] name=\"poet\" models=\"openai/rhyme\"\n";

const RECORDED: &str =
    "data: {\"choices\":[{\"delta\":{\"content\":\"recorded\"}}]}\n\ndata: [DONE]\n\n";

#[test]
fn chat_asks_the_agent_that_answered_last() {
    let server = Server::new(vec![
        answer(&["1"]),
        answer(&["2"]),
        error("400 Oops", "{}"),
        answer(&["4"]),
    ]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write("a.msg.md", TWO_AGENTS);
    sandbox.write("r.sse", RECORDED);
    let chat = |args: &[&str], model: &str| {
        let run = sandbox.run(&[&["chat", "a.msg.md"], args].concat());
        let request = server.request();
        assert!(
            request.contains(&format!("\"model\":\"{model}\"")),
            "{request}"
        );
        run
    };
    chat(&["to the first"], "big").assert_prints("1\n");
    chat(&["-m", "openai/rhyme", "to the poet"], "rhyme").assert_prints("2\n");
    // Neither an error nor a recording counts as an answer.
    assert_eq!(chat(&["-m", "openai/big", "fails"], "big").code, Some(5));
    sandbox
        .run(&["chat", "a.msg.md", "-m", "replay:r.sse", "plays"])
        .assert_prints("recorded\n");
    chat(&["to the poet again"], "rhyme").assert_prints("4\n");
    let file = sandbox.read("a.msg.md");
    assert_eq!(file.matches("[agent]").count(), 2, "{file}");
    let authors: Vec<_> = sandbox.messages("a.msg.md").messages;
    let authors: Vec<_> = authors
        .iter()
        .filter_map(|message| message.author.as_deref())
        .collect();
    assert_eq!(authors, ["coder", "poet", "coder", "replay", "poet"]);
}

#[test]
fn chat_prefers_the_default_agent_of_the_file() {
    let chat = [
        &["one"][..],
        &["-m", "openai/rhyme", "two"],
        &["three"],
        &["-m", "openai/big", "four"],
    ];
    let chat = [&chat[..], &[&["five"]]].concat();
    let named = ["rhyme", "rhyme", "rhyme", "big", "rhyme"];
    let unnamed = ["big", "rhyme", "rhyme", "big", "big"];
    for (front, models) in [("---\ndefault_agent: poet\n---\n\n", named), ("", unnamed)] {
        let server = Server::new(vec![answer(&["1"]); 5]);
        let sandbox = Sandbox::new().with_server(&server.base_url);
        sandbox.write("a.msg.md", format!("{front}{TWO_AGENTS}"));
        for (args, model) in chat.iter().zip(models) {
            assert_eq!(
                sandbox.run(&[&["chat", "a.msg.md"], *args].concat()).code,
                Some(0)
            );
            let request = server.request();
            assert!(
                request.contains(&format!("\"model\":\"{model}\"")),
                "{request}"
            );
        }
    }
}

#[test]
fn chat_never_asks_a_recording_again() {
    let sandbox = Sandbox::new();
    sandbox.write("r.sse", RECORDED);
    sandbox
        .run(&["chat", "a.msg.md", "-m", "replay:r.sse", "hi"])
        .assert_prints("recorded\n");
    sandbox.run(&["chat", "a.msg.md", "hi"]).assert_no_model();
}

#[test]
fn chat_skips_agents_without_a_usable_model() {
    let server = Server::new(vec![answer(&["1"])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let nobody = "# %% x[^0]\n\n[^0]: [agent] name=\"x\" models=\"nobody/x,replay:secret\"\n\n";
    sandbox.write("a.msg.md", format!("{nobody}{TWO_AGENTS}"));
    sandbox
        .run(&["chat", "a.msg.md", "hi"])
        .assert_prints("1\n");
    assert!(server.request().contains("\"model\":\"big\""));
}

#[test]
fn chat_asks_a_model_through_the_agent_that_has_it() {
    let server = Server::new(vec![answer(&["1"])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write("a.msg.md", TWO_AGENTS);
    sandbox
        .run(&["chat", "a.msg.md", "-m", "openai/big", "hi"])
        .assert_prints("1\n");
    let request = server.request();
    assert!(request.contains("\"temperature\":0.25"), "{request}");
    let messages = sandbox.messages("a.msg.md").messages;
    assert_eq!(messages[1].author.as_deref(), Some("coder"));
}

#[test]
fn a_new_agent_gets_an_unused_name() {
    let server = Server::new(vec![answer(&["1"]), answer(&["2"])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write("a.msg.md", TWO_AGENTS);
    sandbox
        .run(&["chat", "a.msg.md", "-m", "openai/poet", "hi"])
        .assert_prints("1\n");
    assert!(server.request().contains("\"model\":\"poet\""));
    let file = sandbox.read("a.msg.md");
    assert!(
        file.contains("  poet-2:\n    models: [openai/poet]\n"),
        "{file}"
    );
    sandbox
        .run(&["chat", "a.msg.md", "again"])
        .assert_prints("2\n");
    assert!(server.request().contains("\"model\":\"poet\""));
}

#[test]
fn the_agent_named_in_a_cell_answers_it() {
    let server = Server::new(vec![answer(&["1"]), answer(&["2"]), answer(&["3"])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write("a.msg.md", TWO_AGENTS);
    let chat = |args: &[&str], model: &str| {
        assert_eq!(
            sandbox.run(&[&["chat", "a.msg.md"], args].concat()).code,
            Some(0)
        );
        let request = server.request();
        assert!(
            request.contains(&format!("\"model\":\"{model}\"")),
            "{request}"
        );
    };
    let for_poet = ["add", "a.msg.md", "--agent", "poet", "a poem, please"];
    assert_eq!(sandbox.run(&for_poet).code, Some(0));
    chat(&[], "rhyme");
    // The command line chooses the model of the agent, and a new prompt is for the agent that answered last.
    assert_eq!(sandbox.run(&for_poet).code, Some(0));
    chat(&["-m", "openai/big"], "big");
    assert_eq!(sandbox.run(&for_poet).code, Some(0));
    chat(&["no, wait"], "rhyme");
}

#[test]
fn a_model_on_the_command_line_answers_for_the_agent_of_the_cell() {
    let server = Server::new(vec![answer(&["1"]), answer(&["2"])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let both = "---\ndefault_agent: writer\nagents:\n  writer:\n    models: [openai/big]\n  critic:\n    \
                models: [openai/big]\n    system_prompt: Name one weakness.\n---\n";
    sandbox.write(
        "a.msg.md",
        format!("{both}\n# %%\n\nq1\n\n# %% [^c]\n\n[^c]: [markdown] agent=critic\n\nq2\n"),
    );
    let run = sandbox.run(&["chat", "a.msg.md", "-m", "openai/big"]);
    assert_eq!(
        (run.code, &*run.stdout),
        (Some(0), "1\n2\n"),
        "{}",
        run.stderr
    );
    let requests = [server.request(), server.request()];
    let has_instructions = requests.map(|request| request.contains("Name one weakness."));
    assert_eq!(has_instructions, [false, true]);
    assert_eq!(cells_with_authors(&sandbox), "q1:- 1:writer q2:- 2:critic");
}

#[test]
fn chat_says_which_agent_settings_are_not_sent() {
    let server = Server::new(vec![answer(&["1"])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write("a.msg.md", TWO_AGENTS.replace("openai/big", "openai/gpt-5"));
    let run = sandbox.run(&["chat", "a.msg.md", "hi"]);
    assert_eq!((run.code, &*run.stdout), (Some(0), "1\n"));
    assert!(!server.request().contains("temperature"));
    assert!(
        run.stderr.contains("the temperature is not sent"),
        "{}",
        run.stderr
    );
}

#[test]
fn chat_asks_the_agent_that_answered_last_on_the_branch() {
    let talk = "# %% [^q1]\n\n[^q1]: [markdown]\n\none\n\n# %%% [^a1]\n\n[^a1]: [coder]\n\nuno\n\n\
                # %% [^q2]\n\n[^q2]: [markdown]\n\ntwo\n\n# %%% [^a2]\n\n[^a2]: [poet]\n\ndue\n";
    let side = "\n# %%% [^s]\n\n[^s]: [poet] agent_id=side\n\nbeside\n";
    let coder = &talk[..talk.find("# %% [^q2]").unwrap()];
    let cases = [
        (talk.to_string(), &[][..], "rhyme"),
        (talk.to_string(), &["rewind", "a.msg.md", "a1"], "big"),
        (talk.to_string(), &["drop", "a.msg.md", "a2"], "big"),
        (format!("{coder}{side}"), &[], "big"),
    ];
    for (talk, verb, model) in cases {
        let server = Server::new(vec![answer(&["1"])]);
        let sandbox = Sandbox::new().with_server(&server.base_url);
        sandbox.write("a.msg.md", format!("{TWO_AGENTS}\n{talk}"));
        if !verb.is_empty() {
            assert_eq!(sandbox.run(verb).code, Some(0));
        }
        sandbox
            .run(&["chat", "a.msg.md", "and now?"])
            .assert_prints("1\n");
        let request = server.request();
        assert!(
            request.contains(&format!("\"model\":\"{model}\"")),
            "{verb:?}: {request}"
        );
    }
}

#[test]
fn a_new_agent_gets_the_requested_name() {
    let server = Server::new(vec![answer(&["1"]), answer(&["2"])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write("a.msg.md", TWO_AGENTS);
    let run = [
        "chat",
        "a.msg.md",
        "-m",
        "openai/fifth",
        "--set-default-agent",
        "wise",
        "hi",
    ];
    sandbox.run(&run).assert_prints("1\n");
    let file = sandbox.read("a.msg.md");
    assert!(
        file.contains("  wise:\n    models: [openai/fifth]\n"),
        "{file}"
    );
    assert!(file.contains("default_agent: wise"), "{file}");
    server.request();
    sandbox
        .run(&["chat", "a.msg.md", "again"])
        .assert_prints("2\n");
    assert!(server.request().contains("\"model\":\"fifth\""));
    // A name that may be a typo creates no agent.
    for name in ["codr", "Coder", "no name", "markdown"] {
        let run = sandbox.run(&["chat", "a.msg.md", "-m", "openai/x", "--agent", name, "hi"]);
        assert_eq!(run.code, Some(3), "{name}: {}", run.stderr);
    }
    assert_eq!(sandbox.read("a.msg.md").matches("models").count(), 3);
}

/// The text and author of each cell with text, in order, as `text:author`.
fn cells_with_authors(sandbox: &Sandbox) -> String {
    let shown = sandbox.show_json("a.msg.md");
    let cells = shown["cells"].as_array().unwrap().iter();
    let said = cells.filter(|cell| cell["content"] != "" && cell["type"] != "agent");
    let word = |cell: &serde_json::Value| {
        let agent = cell["agent"].as_str().unwrap_or("-");
        format!("{}:{agent}", cell["content"].as_str().unwrap())
    };
    said.map(word).collect::<Vec<_>>().join(" ")
}

#[test]
fn several_agents_answer_their_cells_in_order() {
    let cell = |name: &str, agent: &str| {
        format!("\n# %% [^{name}]\n\n[^{name}]: [markdown] {agent}\n\nq{name}\n")
    };
    let (poet, coder) = ("agent=poet", "agent=coder");
    let cases = [
        (
            cell("3", coder) + &cell("4", poet),
            "q3:- 1:coder q4:- 2:poet",
            &["big", "rhyme"][..],
        ),
        (
            cell("3", poet) + &cell("4", coder),
            "q3:- 1:poet q4:- 2:coder",
            &["rhyme", "big"],
        ),
        // The agent that answered last also answers cells without an agent.
        (
            cell("3", poet) + "\n# %%\n\nq4\n",
            "q3:- 1:poet q4:- 2:poet",
            &["rhyme", "rhyme"],
        ),
        (
            cell("3", "") + &cell("4", poet),
            "q3:- 1:coder q4:- 2:poet",
            &["big", "rhyme"],
        ),
        (
            cell("3", poet) + &cell("4", poet) + &cell("5", coder) + &cell("6", poet),
            "q3:- q4:- 1:poet q5:- 2:coder q6:- 3:poet",
            &["rhyme", "big", "rhyme"],
        ),
    ];
    for (cells, expected, models) in cases {
        assert_answers_in_order(&cells, expected, models);
    }
}

/// Checks that each model in turn answers its cell and sees only the cells before it.
fn assert_answers_in_order(cells: &str, expected: &str, models: &[&str]) {
    let answers = ["1", "2", "3"].map(|text| answer(&[text]));
    let server = Server::new(answers.to_vec());
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write("a.msg.md", format!("{TWO_AGENTS}{cells}"));
    let dry = sandbox.run(&["chat", "a.msg.md", "--dry-run"]);
    let context = sandbox.run(&["context", "a.msg.md", "--request"]);
    assert_eq!(
        (&context.stdout, &context.stderr),
        (&dry.stdout, &dry.stderr)
    );
    let last = expected.rsplit(' ').nth(1).unwrap().trim_end_matches(":-");
    assert!(
        dry.stdout.contains("q3") && !dry.stdout.contains(last),
        "{}",
        dry.stdout
    );
    assert!(
        dry.stdout.contains(&format!("\"model\":\"{}\"", models[0])),
        "{}",
        dry.stdout
    );
    let run = sandbox.run(&["chat", "a.msg.md"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let out: String = (1..=models.len())
        .map(|number| format!("{number}\n"))
        .collect();
    assert_eq!(run.stdout, out);
    assert_eq!(
        run.stderr.matches(" answers cell").count(),
        models.len(),
        "{}",
        run.stderr
    );
    for (at, model) in models.iter().enumerate() {
        let request = server.request();
        assert!(
            request.contains(&format!("\"model\":\"{model}\"")),
            "{request}"
        );
        // Each agent sees the cells before its own, and none after it.
        let last = cells_before_answer(expected, at + 1);
        for word in expected
            .split([' ', ':'])
            .filter(|word| word.starts_with('q'))
        {
            assert_eq!(
                request.contains(word),
                last.contains(word),
                "{word}: {request}"
            );
        }
    }
    assert_eq!(cells_with_authors(&sandbox), expected);
    assert_eq!(sandbox.run(&["chat", "a.msg.md"]).code, Some(2));
    assert_eq!(sandbox.run(&["check", "a.msg.md"]).code, Some(0));
}

/// The part of `all` before an answer.
fn cells_before_answer(all: &str, answer: usize) -> &str {
    &all[..all.find(&format!(" {answer}:")).unwrap()]
}

#[test]
fn an_unanswered_cell_still_waits_for_its_agent() {
    let server = Server::new(vec![
        answer(&["1"]),
        error("400 Oops", "{}"),
        answer(&["3"]),
    ]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let cells = "\n# %% [^3]\n\n[^3]: [markdown] agent=coder\n\nq3\n\n\
                 # %% [^4]\n\n[^4]: [markdown] agent=poet\n\nq4\n";
    sandbox.write("a.msg.md", format!("{TWO_AGENTS}{cells}"));
    let run = sandbox.run(&["chat", "a.msg.md"]);
    assert_eq!((run.code, &*run.stdout), (Some(5), "1\n"), "{}", run.stderr);
    sandbox.run(&["chat", "a.msg.md"]).assert_prints("3\n");
    for model in ["big", "rhyme", "rhyme"] {
        let request = server.request();
        assert!(
            request.contains(&format!("\"model\":\"{model}\"")),
            "{request}"
        );
    }
    // The agent on the command line answers all waiting cells.
    let server = Server::new(vec![answer(&["1"])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write("a.msg.md", format!("{TWO_AGENTS}{cells}"));
    sandbox
        .run(&["chat", "a.msg.md", "--agent", "poet"])
        .assert_prints("1\n");
    let request = server.request();
    assert!(
        request.contains("q3") && request.contains("q4"),
        "{request}"
    );
    assert_eq!(cells_with_authors(&sandbox), "q3:- q4:- 1:poet");
}

#[test]
#[cfg(unix)]
fn several_agents_answer_a_watched_file() {
    let server = Server::new(vec![
        error("400 Oops", "{}"),
        answer(&["one"]),
        answer(&["two"]),
    ]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let cells = "\n# %% [^3]\n\n[^3]: [markdown] agent=coder\n\nq3\n\n\
                 # %% [^4]\n\n[^4]: [markdown] agent=poet\n\nq4\n";
    sandbox.write("a.msg.md", format!("{TWO_AGENTS}{cells}"));
    // The error is below its question, which still waits.
    assert_eq!(sandbox.run(&["chat", "a.msg.md"]).code, Some(5));
    let file = sandbox.read("a.msg.md");
    assert!(file.find("error=1") < file.find("[^4]:"), "{file}");
    let mut child = sandbox.spawn(&["chat", "--watch", "a.msg.md"]);
    sandbox.wait_for("a.msg.md", "two");
    child.kill().unwrap();
    child.wait().unwrap();
    for model in ["big", "big", "rhyme"] {
        let request = server.request();
        assert!(
            request.contains(&format!("\"model\":\"{model}\"")),
            "{request}"
        );
        assert_eq!(request.contains("q4"), model == "rhyme", "{request}");
    }
    let file = sandbox.read("a.msg.md");
    let order = ["q3", "one", "q4", "two"].map(|text| file.find(text).unwrap());
    assert!(order.is_sorted(), "{file}");
}

/// A question with an id and more attributes.
fn question_cell(id: &str, more: &str, text: &str) -> String {
    format!("\n# %% [^{id}]\n\n[^{id}]: [markdown] {more}\n\n{text}\n")
}

#[test]
fn questions_with_the_same_id_are_answered_in_their_places() {
    let (poet, coder) = ("agent=poet", "agent=coder");
    let answered = "\n# %%% [^x]\n\n[^x]: [coder]\n\nold\n";
    let note = |text: &str| question_cell("n", "history=none", text);
    let cases = [
        (
            question_cell("3", "", "q1") + answered + &question_cell("3", "", "q2"),
            "q1:- old:coder q2:- 1:coder",
        ),
        // With the same text, too.
        (
            question_cell("3", "", "q") + answered + &question_cell("3", "", "q"),
            "q:- old:coder q:- 1:coder",
        ),
        (
            question_cell("3", coder, "q") + &question_cell("3", poet, "q"),
            "q:- 1:coder q:- 2:poet",
        ),
        (
            question_cell("3", coder, "q1")
                + &question_cell("3", poet, "q2")
                + &question_cell("3", coder, "q3"),
            "q1:- 1:coder q2:- 2:poet q3:- 3:coder",
        ),
        (
            note("n1")
                + &question_cell("3", "", "q1")
                + answered
                + &question_cell("4", "", "q2")
                + &note("n2"),
            "n1:- q1:- old:coder q2:- 1:coder n2:-",
        ),
    ];
    for (cells, expected) in cases {
        let server = Server::new(["1", "2", "3"].map(|text| answer(&[text])).to_vec());
        let sandbox = Sandbox::new().with_server(&server.base_url);
        sandbox.write("a.msg.md", format!("{TWO_AGENTS}{cells}"));
        let run = sandbox.run(&["chat", "a.msg.md"]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert!(!run.stderr.contains("was changed"), "{}", run.stderr);
        assert_eq!(cells_with_authors(&sandbox), expected);
        assert_eq!(
            sandbox.run(&["chat", "a.msg.md"]).code,
            Some(2),
            "{expected}"
        );
    }
}

#[test]
fn chosen_cells_and_recordings_apply_to_one_answer() {
    let two = question_cell("x", "agent=coder", "q1") + &question_cell("y", "agent=poet", "q2");
    let cases = [
        (
            two.clone() + &question_cell("n", "", "n"),
            &["-e", "n"][..],
            "q1:- 1:coder q2:- n:-",
        ),
        (two.clone(), &["--record", "r.sse"], "q1:- 1:coder q2:-"),
        (
            question_cell("0", "history=none", "old") + &two,
            &["-i", "0"],
            "old:- q1:- 1:coder q2:-",
        ),
    ];
    for (cells, args, expected) in cases {
        let server = Server::new(vec![answer(&["1"]), answer(&["2"])]);
        let sandbox = Sandbox::new().with_server(&server.base_url);
        sandbox.write("a.msg.md", format!("{TWO_AGENTS}{cells}"));
        let run = sandbox.run(&[&["chat", "a.msg.md"], args].concat());
        assert_eq!((run.code, &*run.stdout), (Some(0), "1\n"), "{}", run.stderr);
        let own = if args[0] == "--record" {
            ""
        } else {
            ", with its own -i or -e"
        };
        let told = format!("coder answers cell x; cell y waits: a further call asks it{own}\n");
        assert!(run.stderr.contains(&told), "{}", run.stderr);
        assert_eq!(cells_with_authors(&sandbox), expected);
        let request = server.request();
        assert!(
            request.contains("q1") && !request.contains("q2"),
            "{request}"
        );
        assert!(!request.contains("\"n\""), "{request}");
        let again = if args[0] == "--record" { &[][..] } else { args };
        let run = sandbox.run(&[&["chat", "a.msg.md"], again].concat());
        assert_eq!((run.code, &*run.stdout), (Some(0), "2\n"), "{}", run.stderr);
        assert!(!server.request().contains("\"n\""));
        assert!(
            cells_with_authors(&sandbox).contains("q2:- 2:poet"),
            "{}",
            cells_with_authors(&sandbox)
        );
        if args[0] == "--record" {
            assert!(
                sandbox.read("r.sse").contains("\"1\""),
                "{}",
                sandbox.read("r.sse")
            );
        }
    }
}

#[test]
fn a_choice_by_position_sticks_to_its_cells() {
    let server = Server::new(vec![answer(&["1"]), answer(&["2"])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let (one, two) = (
        question_cell("x", "agent=coder", "q1"),
        question_cell("y", "agent=poet", "q2"),
    );
    sandbox.write(
        "a.msg.md",
        format!("{TWO_AGENTS}{one}\n# %%\n\nsecret\n{two}"),
    );
    let run = sandbox.run(&["chat", "a.msg.md", "-e", "#4", "--save"]);
    assert_eq!((run.code, &*run.stdout), (Some(0), "1\n"), "{}", run.stderr);
    sandbox.run(&["chat", "a.msg.md"]).assert_prints("2\n");
    for _ in 0..2 {
        assert!(!server.request().contains("secret"));
    }
    let file = sandbox.read("a.msg.md");
    assert_eq!(file.matches("history=").count(), 1, "{file}");
    let order = ["q1", "\n1\n", "secret", "q2", "\n2\n"].map(|text| file.find(text).unwrap());
    assert!(order.is_sorted(), "{file}");
}

/// Runs `chat` for two agents and changes the file before the first word arrives. Returns its stderr, and the cells of
/// the file after that.
fn chat_while_file_changes(change: impl Fn(&str) -> String) -> (String, String) {
    use crate::server::{Step, done, piece, stream_head};
    let mut sandbox = Sandbox::new();
    let first = vec![
        stream_head(),
        Step::Until(sandbox.path("go")),
        piece("1"),
        done(),
    ];
    let server = Server::new(vec![first, answer(&["2"]), answer(&["3"])]);
    sandbox.set_server(&server.base_url);
    let two = question_cell("x", "agent=coder", "q1") + &question_cell("y", "agent=poet", "q2");
    sandbox.write("a.msg.md", format!("{TWO_AGENTS}{two}"));
    let child = sandbox.spawn(&["chat", "a.msg.md"]);
    server.request();
    sandbox.write("a.msg.md", change(&sandbox.read("a.msg.md")));
    sandbox.write("go", "");
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    (stderr, cells_with_authors(&sandbox))
}

#[test]
fn the_announced_cell_is_asked_next_and_new_cells_wait() {
    let next = "coder answers cell x; next: cell y\n";
    let (stderr, said) = chat_while_file_changes(|file| format!("{file}\n# %%\n\nq3\n"));
    assert_eq!(said, "q1:- 1:coder q2:- 2:poet q3:-");
    let waits = "poet answers cell y; cell 3 waits: a further call asks it\n";
    assert!(stderr.contains(next) && stderr.contains(waits), "{stderr}");
    // A question typed above it comes first.
    let (stderr, said) =
        chat_while_file_changes(|file| file.replace("\n# %% [^y]", "\n# %%\n\nq3\n\n# %% [^y]"));
    assert_eq!(said, "q1:- 1:coder q3:- 2:coder q2:- 3:poet");
    assert!(stderr.contains(next), "{stderr}");
    assert_eq!(stderr.matches("; next: cell y\n").count(), 2, "{stderr}");
}

#[test]
fn deleting_a_waiting_question_is_not_an_error() {
    let without = |file: &str| file[..file.find("\n# %% [^y]").unwrap()].to_string();
    let (stderr, said) = chat_while_file_changes(without);
    assert_eq!(said, "q1:- 1:coder");
    assert!(!stderr.contains("error"), "{stderr}");
    let (stderr, said) =
        chat_while_file_changes(|file| without(file) + &question_cell("z", "", "q3"));
    assert_eq!(said, "q1:- 1:coder q3:-");
    assert!(
        stderr.contains("cell z waits: a further call asks it\n"),
        "{stderr}"
    );
    // Deleting a question during its answer is no error either: the answer is kept, and not taken for the next
    // question's.
    let from = |file: &str| {
        (
            file.find("\n# %% [^x]").unwrap(),
            file.find("\n# %% [^y]").unwrap(),
        )
    };
    let (stderr, said) = chat_while_file_changes(|file| {
        let (first, second) = from(file);
        format!("{}{}", &file[..first], &file[second..])
    });
    assert_eq!(said, "q2:- 2:poet", "{stderr}");
    assert!(
        stderr.contains("to see it: analects recover a.msg.md"),
        "{stderr}"
    );
}

#[test]
fn problems_show_the_line_numbers_from_before_the_answer() {
    let server = Server::new(vec![answer(&["1"]), answer(&["2"])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let two = question_cell("3", "agent=coder", "q1") + &question_cell("3", "agent=poet", "q2");
    sandbox.write("a.msg.md", format!("{TWO_AGENTS}{two}"));
    let run = sandbox.run(&["chat", "a.msg.md"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    for line in [15, 21] {
        let shown = format!("a.msg.md:{line}:1: error: the id 3 is used by an earlier cell");
        assert!(run.stderr.contains(&shown), "{}", run.stderr);
        assert!(
            run.stderr.contains(&format!(" {line} | # %% [^3]\n")),
            "{}",
            run.stderr
        );
    }
}
