//! `ask`: one question, nothing kept.

use serde_json::Value;

use crate::sandbox::{Run, Sandbox};
use crate::server::{Server, Step, answer, done, error, piece, stream_head, thought};

const KEY: &str = "sk-a-key-that-nobody-may-see";

/// Asks with a key, which nothing that comes out may hold.
fn ask(sandbox: &Sandbox, args: &[&str], stdin: Option<&str>) -> Run {
    let args = [&["ask", "-m", "openai/tiny"], args].concat();
    let mut command = sandbox.command(&args);
    command.env("OPENAI_API_KEY", KEY);
    if let Some(text) = stdin {
        sandbox.write("stdin", text);
        command.stdin(std::fs::File::open(sandbox.path("stdin")).unwrap());
    }
    let run: Run = command.output().unwrap().into();
    assert!(!run.stdout.contains(KEY) && !run.stderr.contains(KEY), "{}{}", run.stdout, run.stderr);
    run
}

fn body(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn the_answer_is_printed_and_nothing_is_kept() {
    let server = Server::new(vec![answer(&["Hel", "lo"])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    ask(&sandbox, &["Hi", "there"], None).assert_answer("Hello\n");
    assert_eq!(body(&server.request())["messages"][0]["content"], "Hi there");
    assert_eq!(std::fs::read_dir(sandbox.path("")).unwrap().count(), 0, "something was kept");
}

#[test]
fn arguments_files_and_stdin_are_one_question() {
    let server = Server::new(vec![answer(&["ok"])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write("notes.txt", "the notes\n");
    sandbox.write("dot.png", b"\x89PNG\r\n");
    let args = ["-s", "Be brief", "-f", "notes.txt", "-f", "dot.png", "Look:"];
    ask(&sandbox, &args, Some("and this\n")).assert_answer("ok\n");
    let sent = body(&server.request());
    assert_eq!(sent["messages"][0]["content"], "Be brief");
    let parts = sent["messages"][1]["content"].as_array().unwrap();
    assert_eq!(parts[0]["text"], "Look:");
    assert_eq!(parts[1]["text"], "notes.txt:\n\nthe notes\n");
    assert_eq!(parts[2]["image_url"]["url"], "data:image/png;base64,iVBORw0K");
    assert_eq!(parts[3]["text"], "and this");
}

#[test]
fn figures_and_thoughts_stay_out_of_the_answer() {
    let script = vec![stream_head(), thought("hm"), piece("Yes"), done()];
    let server = Server::new(vec![script]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let run = ask(&sandbox, &["-u", "Really?"], None);
    assert_eq!((run.code, &*run.stdout), (Some(0), "Yes\n"));
    assert!(
        run.stderr.starts_with("5 tokens in, 7 tokens out, cost unknown, first token "),
        "{}",
        run.stderr
    );
    assert!(run.stderr.ends_with(" s in all\n"), "{}", run.stderr);
}

#[test]
fn json_has_everything_that_is_known() {
    let server = Server::new(vec![answer(&["Hello"])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let run = ask(&sandbox, &["--json", "Hi"], None);
    let found = body(&run.stdout);
    assert_eq!((&found["text"], &found["complete"]), (&"Hello".into(), &true.into()));
    assert_eq!(found["message"]["type"], "assistant");
    assert_eq!(found["message"]["content"][0]["text"], "Hello");
    assert!(found["first_token_ms"].is_u64() && found["message"]["duration_ms"].is_u64());
    assert_eq!(found["problems"], serde_json::json!([]));
    let mut keys: Vec<&String> = found.as_object().unwrap().keys().collect();
    keys.sort();
    assert_eq!(keys, ["complete", "first_token_ms", "message", "problems", "text"]);
}

#[test]
fn a_dry_run_shows_the_request_and_sends_nothing() {
    let sandbox = Sandbox::new().with_server("http://127.0.0.1:9/v1");
    let run = ask(&sandbox, &["--dry-run", "--temperature", "0.2", "Hi"], None);
    let shown = body(&run.stdout);
    assert_eq!(shown["url"], "http://127.0.0.1:9/v1/chat/completions");
    assert_eq!(shown["body"]["messages"][0]["content"], "Hi");
    assert_eq!(shown["body"]["temperature"], 0.2);
    assert!(shown["headers"].get("authorization").is_none());
}

#[test]
fn a_dry_run_needs_no_key() {
    let sandbox = Sandbox::new();
    for (model, host) in [
        ("anthropic/claude-sonnet-4-5", "https://api.anthropic.com/"),
        ("gemini/gemini-2.5-flash", "https://generativelanguage.googleapis.com/"),
    ] {
        let run = sandbox.run(&["ask", "--dry-run", "-m", model, "Hi"]);
        assert_eq!((run.code, &*run.stderr), (Some(0), ""));
        assert!(body(&run.stdout)["url"].as_str().unwrap().starts_with(host), "{}", run.stdout);
        assert_ne!(sandbox.run(&["ask", "-m", model, "Hi"]).code, Some(0));
    }
}

#[test]
fn an_answer_at_once() {
    let json = "{\"id\":\"r\",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"All of it\"},\"finish_reason\":\"stop\"}]}";
    let length = json.len();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    );
    let server = Server::new(vec![vec![Step::Send(head + json)]]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    ask(&sandbox, &["--no-stream", "Hi"], None).assert_answer("All of it\n");
    assert!(body(&server.request()).get("stream").is_none());
}

#[test]
fn failures_say_which_and_what_to_do() {
    let said = format!(
        "{{\"error\":{{\"message\":\"bad key {KEY}\",\"type\":\"authentication_error\"}}}}"
    );
    let server = Server::new(vec![error("401 No", &said), vec![stream_head(), piece("Half")]]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let run = ask(&sandbox, &["Hi"], None);
    assert_eq!(run.code, Some(5), "{}", run.stderr);
    assert!(run.stderr.contains("answered 401: bad key [key]"), "{}", run.stderr);
    assert!(run.stderr.contains("\nhint: check the key"), "{}", run.stderr);
    let run = ask(&sandbox, &["Hi"], None);
    assert_eq!((run.code, &*run.stdout), (Some(5), "Half\n"), "{}", run.stderr);
    let run = ask(&sandbox, &["--json", "-f", "none.txt", "Hi"], None);
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    assert_eq!(body(&run.stderr)["error"]["kind"], "not_found");
    sandbox.write("bytes", b"\xff\xfe\x00");
    assert_eq!(ask(&sandbox, &["-f", "bytes", "Hi"], None).code, Some(1));
    assert_eq!(ask(&sandbox, &[], None).code, Some(2));
    assert_eq!(ask(&sandbox, &["--timeout", "never", "Hi"], None).code, Some(2));
}

#[test]
fn a_recording_of_any_provider_plays_again() {
    let server = Server::new(vec![answer(&["Recorded"])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    ask(&sandbox, &["--record", "r.sse", "Hi"], None).assert_answer("Recorded\n");
    sandbox.run(&["ask", "-m", "replay:r.sse", "Hi"]).assert_answer("Recorded\n");
    let anthropic = concat!(
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"role\":\"assistant\",\"content\":[],\"usage\":{\"input_tokens\":1}}}\n\n",
        "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
        "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"From Claude\"}}\n\n",
        "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
        "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":2}}\n\n",
        "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
    );
    sandbox.write("a.sse", anthropic);
    sandbox.run(&["ask", "-m", "replay:a.sse", "Hi"]).assert_answer("From Claude\n");
    let gemini = "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"From Gemini\"}]},\"finishReason\":\"STOP\"}]}\n\n";
    sandbox.write("g.sse", gemini);
    sandbox.run(&["ask", "-m", "replay:g.sse", "Hi"]).assert_answer("From Gemini\n");
}

#[test]
fn nothing_is_sent_in_the_clear_to_others() {
    let sandbox = Sandbox::new().with_server("http://example.invalid/v1");
    let run = ask(&sandbox, &["Hi"], None);
    assert_eq!(run.code, Some(5), "{}", run.stderr);
    assert!(
        run.stderr.contains("hint: use https://, or allow it with --allow-http"),
        "{}",
        run.stderr
    );
}
