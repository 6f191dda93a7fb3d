//! `ask`: one question, nothing stored.

use crate::sandbox::{CommandOutput, Sandbox, parse_json};
use crate::server::{Server, Step, answer, done, done_because, error, piece, stream_head, thought};

const KEY: &str = "sk-a-key-that-nobody-may-see";

/// Asks with a key, and checks that no output contains it.
fn ask(sandbox: &Sandbox, args: &[&str], stdin: Option<&str>) -> CommandOutput {
    let args = [&["ask", "-m", "openai/tiny"], args].concat();
    let mut command = sandbox.command(&args);
    command.env("OPENAI_API_KEY", KEY);
    if let Some(text) = stdin {
        sandbox.write("stdin", text);
        command.stdin(std::fs::File::open(sandbox.path("stdin")).unwrap());
    }
    let run: CommandOutput = command.output().unwrap().into();
    assert!(
        !run.stdout.contains(KEY) && !run.stderr.contains(KEY),
        "{}{}",
        run.stdout,
        run.stderr
    );
    run
}

#[test]
fn ask_prints_the_answer_and_stores_nothing() {
    let server = Server::new(vec![answer(&["Hel", "lo"])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    ask(&sandbox, &["Hi", "there"], None).assert_prints("Hello\n");
    assert_eq!(
        parse_json(&server.request())["messages"][0]["content"],
        "Hi there"
    );
    assert_eq!(
        std::fs::read_dir(sandbox.path("")).unwrap().count(),
        0,
        "something was kept"
    );
}

#[test]
fn ask_joins_arguments_files_and_stdin() {
    let server = Server::new(vec![answer(&["ok"])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write("notes.txt", "the notes\n");
    sandbox.write("dot.png", b"\x89PNG\r\n");
    let args = [
        "-s",
        "Be brief",
        "-f",
        "notes.txt",
        "-f",
        "dot.png",
        "Look:",
    ];
    ask(&sandbox, &args, Some("and this\n")).assert_prints("ok\n");
    let sent = parse_json(&server.request());
    assert_eq!(sent["messages"][0]["content"], "Be brief");
    let parts = sent["messages"][1]["content"].as_array().unwrap();
    assert_eq!(parts[0]["text"], "Look:");
    assert_eq!(parts[1]["text"], "notes.txt:\n\nthe notes\n");
    assert_eq!(
        parts[2]["image_url"]["url"],
        "data:image/png;base64,iVBORw0K"
    );
    assert_eq!(parts[3]["text"], "and this");
}

#[test]
fn ask_prints_usage_and_thinking_apart_from_the_answer() {
    let script = vec![stream_head(), thought("hm"), piece("Yes"), done()];
    let server = Server::new(vec![script]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let run = ask(&sandbox, &["-u", "Really?"], None);
    assert_eq!((run.code, &*run.stdout), (Some(0), "Yes\n"));
    assert!(
        run.stderr
            .starts_with("5 tokens in, 7 tokens out, cost unknown, first token "),
        "{}",
        run.stderr
    );
    assert!(run.stderr.ends_with(" s in all\n"), "{}", run.stderr);
}

#[test]
fn ask_json_has_every_field() {
    let server = Server::new(vec![answer(&["Hello"])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let run = ask(&sandbox, &["--json", "Hi"], None);
    let found = parse_json(&run.stdout);
    assert_eq!(
        (&found["text"], &found["complete"]),
        (&"Hello".into(), &true.into())
    );
    assert_eq!(found["message"]["type"], "assistant");
    assert_eq!(found["message"]["content"][0]["text"], "Hello");
    assert!(found["first_token_ms"].is_u64() && found["message"]["duration_ms"].is_u64());
    assert_eq!(found["problems"], serde_json::json!([]));
    let mut keys: Vec<&String> = found.as_object().unwrap().keys().collect();
    keys.sort();
    assert_eq!(
        keys,
        ["complete", "first_token_ms", "message", "problems", "text"]
    );
}

#[test]
fn ask_dry_run_prints_the_request_and_sends_nothing() {
    let sandbox = Sandbox::new().with_server("http://127.0.0.1:9/v1");
    let run = ask(&sandbox, &["--dry-run", "--temperature", "0.2", "Hi"], None);
    let shown = parse_json(&run.stdout);
    assert_eq!(shown["url"], "http://127.0.0.1:9/v1/chat/completions");
    assert_eq!(shown["body"]["messages"][0]["content"], "Hi");
    assert_eq!(shown["body"]["temperature"], 0.2);
    assert!(shown["headers"].get("authorization").is_none());
}

#[test]
fn ask_dry_run_needs_no_key() {
    let sandbox = Sandbox::new();
    for (model, host) in [
        ("anthropic/claude-sonnet-4-5", "https://api.anthropic.com/"),
        (
            "gemini/gemini-2.5-flash",
            "https://generativelanguage.googleapis.com/",
        ),
    ] {
        let run = sandbox.run(&["ask", "--dry-run", "-m", model, "Hi"]);
        assert_eq!((run.code, &*run.stderr), (Some(0), ""));
        assert!(
            parse_json(&run.stdout)["url"]
                .as_str()
                .unwrap()
                .starts_with(host),
            "{}",
            run.stdout
        );
        assert_ne!(sandbox.run(&["ask", "-m", model, "Hi"]).code, Some(0));
    }
}

#[test]
fn ask_caps_max_tokens_at_the_limit_of_the_model() {
    let sandbox = Sandbox::new();
    let asked_for = |more: &[&str]| {
        let args = [
            &["ask", "--dry-run", "-m", "anthropic/claude-3-haiku"],
            more,
            &["Hi"],
        ]
        .concat();
        parse_json(&sandbox.run(&args).stdout)["body"]["max_tokens"].clone()
    };
    assert_eq!(asked_for(&[]), 4096);
    assert_eq!(asked_for(&["--max-tokens", "100000"]), 4096);
    assert_eq!(asked_for(&["--max-tokens", "7"]), 7);
}

#[test]
fn ask_prints_an_answer_that_is_not_streamed() {
    let json = "{\"id\":\"r\",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"All of it\"},\"finish_reason\":\"stop\"}]}";
    let length = json.len();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    );
    let server = Server::new(vec![vec![Step::Send(head + json)]]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    ask(&sandbox, &["--no-stream", "Hi"], None).assert_prints("All of it\n");
    assert!(parse_json(&server.request()).get("stream").is_none());
}

#[test]
fn ask_explains_failures_with_a_hint() {
    let said = format!(
        "{{\"error\":{{\"message\":\"bad key {KEY}\",\"type\":\"authentication_error\"}}}}"
    );
    let server = Server::new(vec![
        error("401 No", &said),
        vec![stream_head(), piece("Half")],
    ]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let run = ask(&sandbox, &["Hi"], None);
    assert_eq!(run.code, Some(5), "{}", run.stderr);
    assert!(
        run.stderr.contains("answered 401: bad key [key]"),
        "{}",
        run.stderr
    );
    assert!(
        run.stderr.contains("\nhint: check the key"),
        "{}",
        run.stderr
    );
    let run = ask(&sandbox, &["Hi"], None);
    assert_eq!(
        (run.code, &*run.stdout),
        (Some(5), "Half\n"),
        "{}",
        run.stderr
    );
    let run = ask(&sandbox, &["--json", "-f", "none.txt", "Hi"], None);
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    assert_eq!(parse_json(&run.stderr)["error"]["kind"], "not_found");
    sandbox.write("bytes", b"\xff\xfe\x00");
    assert_eq!(ask(&sandbox, &["-f", "bytes", "Hi"], None).code, Some(1));
    assert_eq!(ask(&sandbox, &[], None).code, Some(2));
    assert_eq!(
        ask(&sandbox, &["--timeout", "never", "Hi"], None).code,
        Some(2)
    );
}

#[test]
fn ask_replays_recordings_of_every_provider() {
    let server = Server::new(vec![answer(&["Recorded"])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    ask(&sandbox, &["--record", "r.sse", "Hi"], None).assert_prints("Recorded\n");
    sandbox
        .run(&["ask", "-m", "replay:r.sse", "Hi"])
        .assert_prints("Recorded\n");
    let anthropic = concat!(
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"role\":\"assistant\",\"content\":[],\"usage\":{\"input_tokens\":1}}}\n\n",
        "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
        "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"From Claude\"}}\n\n",
        "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
        "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":2}}\n\n",
        "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
    );
    sandbox.write("a.sse", anthropic);
    sandbox
        .run(&["ask", "-m", "replay:a.sse", "Hi"])
        .assert_prints("From Claude\n");
    let gemini = "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"From Gemini\"}]},\"finishReason\":\"STOP\"}]}\n\n";
    sandbox.write("g.sse", gemini);
    sandbox
        .run(&["ask", "-m", "replay:g.sse", "Hi"])
        .assert_prints("From Gemini\n");
}

#[test]
fn ask_refuses_plain_http_to_other_machines() {
    let sandbox = Sandbox::new().with_server("http://example.invalid/v1");
    let run = ask(&sandbox, &["Hi"], None);
    assert_eq!(run.code, Some(5), "{}", run.stderr);
    assert!(
        run.stderr
            .contains("hint: use https://, or allow it with --allow-http"),
        "{}",
        run.stderr
    );
}

#[test]
fn ask_warns_about_cut_refused_and_empty_answers() {
    let cases = [
        (
            vec![stream_head(), piece("half"), done_because("length")],
            "was cut at the token limit",
        ),
        (
            vec![stream_head(), done_because("content_filter")],
            "refused to answer",
        ),
        (vec![stream_head(), done()], "holds no text"),
    ];
    for (script, words) in cases {
        let server = Server::new(vec![script.clone(), script]);
        let sandbox = Sandbox::new().with_server(&server.base_url);
        for args in [&["Hi"][..], &["--no-stream", "Hi"]] {
            let run = ask(&sandbox, args, None);
            assert_eq!(run.code, Some(0));
            assert!(
                run.stderr.starts_with("warning: ") && run.stderr.contains(words),
                "{words}"
            );
        }
    }
}

#[test]
fn ask_prints_deep_and_large_json_unchanged() {
    let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
    let data = format!(
        r#"{{"id":"r","deep":{deep},"big":123456789012345678901234567890,"choices":[{{"index":0,"delta":{{"content":"Hi"}},"finish_reason":"stop"}}]}}"#
    );
    let script = vec![
        stream_head(),
        Step::Send(format!("data: {data}\n\ndata: [DONE]\n\n")),
    ];
    let server = Server::new(vec![script]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let run = ask(&sandbox, &["--json", "Hi"], None);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stdout.contains(&deep) && run.stdout.contains("123456789012345678901234567890"));
}

#[test]
fn ask_stops_the_answer_when_its_reader_leaves() {
    let more = std::iter::repeat_n([Step::Pause(20), piece("more\n")], 500).flatten();
    let script = [stream_head(), piece("one\n")]
        .into_iter()
        .chain(more)
        .chain([Step::Hang]);
    let server = Server::new(vec![script.collect()]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let mut child = sandbox.spawn(&["ask", "-m", "openai/tiny", "Hi"]);
    // The server never stops by itself; closing the pipe after the first words ends the command.
    let mut out = child.stdout.take().unwrap();
    std::io::Read::read_exact(&mut out, &mut [0; 4]).unwrap();
    drop(out);
    let run: CommandOutput = child.wait_with_output().unwrap().into();
    assert_eq!((run.code, &*run.stderr), (Some(0), ""));
}

#[test]
fn ask_refuses_nonsensical_settings() {
    let sandbox = Sandbox::new();
    for (name, value) in [
        ("--temperature", "nan"),
        ("--temperature", "inf"),
        ("--temperature", "-1"),
        ("--max-tokens", "0"),
        ("--max-tokens", "-5"),
    ] {
        let run = ask(&sandbox, &["--dry-run", name, value, "Hi"], None);
        assert_eq!(run.code, Some(2), "{name} {value}");
        assert!(
            run.stderr
                .contains(&format!("invalid value '{value}' for '{name}")),
            "{}",
            run.stderr
        );
    }
}

#[test]
fn ask_sends_no_empty_instructions() {
    let run = ask(&Sandbox::new(), &["--dry-run", "-s", " ", "Hi"], None);
    let sent = parse_json(&run.stdout);
    assert_eq!(sent["body"]["messages"].as_array().unwrap().len(), 1);
}

#[test]
fn ask_refuses_endless_stdin() {
    let sandbox = Sandbox::new();
    let file = std::fs::File::create(sandbox.path("large")).unwrap();
    file.set_len(30_000_001).unwrap();
    for verb in ["ask", "chat"] {
        let mut command = sandbox.command(&[verb, "-m", "openai/tiny", "Hi"]);
        command.env("OPENAI_API_KEY", KEY);
        command.stdin(std::fs::File::open(sandbox.path("large")).unwrap());
        let run: CommandOutput = command.output().unwrap().into();
        assert_eq!(
            (run.code, &*run.stderr),
            (Some(1), "analects: stdin: larger than 30 MB\n")
        );
    }
    let run = sandbox.run_with_stdin(&["ask", "-m", "openai/tiny", "--dry-run"], b"a\xff");
    let told = "analects: stdin: not text: the bytes at offset 1 are not UTF-8\n";
    assert_eq!((run.code, &*run.stderr), (Some(1), told));
}

#[test]
#[cfg(unix)]
fn ask_reads_a_pipe_like_a_file() {
    let sandbox = Sandbox::new();
    let pipe = sandbox.path("pipe");
    assert!(
        std::process::Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    let writer = std::thread::spawn(move || std::fs::write(pipe, "from a pipe"));
    let run = ask(&sandbox, &["--dry-run", "-f", "pipe", "Hi"], None);
    writer.join().unwrap().unwrap();
    assert_eq!(
        parse_json(&run.stdout)["body"]["messages"][0]["content"],
        "Hi\n\nfrom a pipe"
    );
    let run = ask(&sandbox, &["--dry-run", "-f", "/dev/zero", "Hi"], None);
    assert!(
        run.stderr.contains("neither a file nor a pipe"),
        "{}",
        run.stderr
    );
}

#[test]
fn ask_record_never_overwrites_a_file() {
    let server = Server::new(vec![answer(&["Hello"])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let talk = "# %% [user]\nHi\n";
    sandbox.write("talk.msg.md", talk);
    for args in [
        &["ask", "-m", "openai/tiny", "--record", "talk.msg.md", "Hi"][..],
        &[
            "chat",
            "talk.msg.md",
            "-m",
            "openai/tiny",
            "--record",
            "./talk.msg.md",
        ],
        &["chat", "-m", "openai/tiny", "--record", "talk.msg.md", "Hi"],
        &["model", "list", "openai", "--record", "talk.msg.md"],
    ] {
        let run = sandbox.run(args);
        assert_eq!(run.code, Some(1), "{args:?}: {}", run.stderr);
        assert!(
            run.stderr.contains("talk.msg.md: there is a file already"),
            "{}",
            run.stderr
        );
        assert_eq!(sandbox.read("talk.msg.md"), talk);
    }
    let args = [
        "chat",
        "new.msg.md",
        "-m",
        "openai/tiny",
        "--record",
        "./new.msg.md",
        "Hi",
    ];
    let run = sandbox.run(&args);
    assert!(
        run.stderr.contains("new.msg.md: there is a file already"),
        "{}",
        run.stderr
    );
}

#[test]
fn ask_record_fails_before_anything_is_sent() {
    let sandbox = Sandbox::new().with_server("http://127.0.0.1:9/v1");
    for place in ["nowhere/r.sse", "home/.."] {
        std::fs::create_dir_all(sandbox.path("home")).unwrap();
        let run = ask(&sandbox, &["--record", place, "Hi"], None);
        assert_eq!(run.code, Some(1), "{}", run.stderr);
        assert!(
            run.stderr
                .contains(&format!("{place}: cannot record there: ")),
            "{}",
            run.stderr
        );
    }
    #[cfg(target_os = "linux")]
    {
        let server = Server::new(vec![answer(&["Hello"])]);
        let sandbox = Sandbox::new().with_server(&server.base_url);
        let run = ask(&sandbox, &["--record", "/dev/full", "Hi"], None);
        assert_eq!((run.code, &*run.stdout), (Some(0), "Hello\n"));
        assert!(
            run.stderr
                .contains("/dev/full: the answer could not be recorded"),
            "{}",
            run.stderr
        );
    }
}

/// Nothing listens at this address, so a request that is sent fails in another way.
#[test]
fn ask_refuses_a_question_beyond_the_window_before_it_is_sent() {
    let sandbox = Sandbox::new().with_server("http://127.0.0.1:9/v1");
    sandbox.write("long.txt", "The quick brown fox. ".repeat(6000));
    for more in [&[][..], &["--dry-run"], &["--no-stream"]] {
        let args = ["ask", "-m", "openai/gpt-3.5-turbo", "-f", "long.txt", "Hi"];
        let run = sandbox.run(&[&args, more].concat());
        assert_eq!((run.code, &*run.stdout), (Some(1), ""), "{}", run.stderr);
        let (message, hint) = run.stderr.split_once('\n').unwrap();
        assert!(
            message.starts_with("analects: the request takes ~")
                && message.ends_with(
                    " tokens and 12289 fit: the window has 16385, of which 4096 are for the answer"
                ),
            "{message}"
        );
        assert!(
            hint.starts_with(
                "hint: send less text, or choose a model with a larger window with -m"
            ),
            "{hint}"
        );
    }
}

#[test]
fn ask_sends_what_fits_and_what_nobody_knows_the_window_of() {
    for model in ["openai/gpt-4o", "openai/tiny"] {
        let server = Server::new(vec![answer(&["Hello"])]);
        let sandbox = Sandbox::new().with_server(&server.base_url);
        sandbox.write("long.txt", "The quick brown fox. ".repeat(6000));
        let run = sandbox.run(&["ask", "-m", model, "-f", "long.txt", "Hi"]);
        run.assert_prints("Hello\n");
    }
}
