//! Times: in the local zone for people, with an offset in files. Each test sets the zone by `TZ`.

use crate::sandbox::{CommandOutput, Sandbox, assert_success, parse_json};
use crate::server::{Server, answer};

/// Half past five hours ahead of UTC, without a database of zones.
const ZONE: &str = "<+0530>-5:30";

const TALK: &str = concat!(
    "{\"type\":\"user\",\"id\":\"u1\",\"created_at\":\"2026-01-02T23:04:05Z\",\"content\":\"Hello\"}\n",
    "{\"type\":\"assistant\",\"id\":\"a1\",\"created_at\":\"2026-01-02T23:04:06.5Z\",\"content\":\"Hi\"}\n",
);

fn run_in_zone(sandbox: &Sandbox, zone: &str, args: &[&str]) -> CommandOutput {
    let mut command = sandbox.command(args);
    command.env("TZ", zone).output().unwrap().into()
}

fn sandbox_with_session() -> Sandbox {
    let sandbox = Sandbox::new();
    assert_success(&sandbox.run_with_stdin(&["session", "append"], TALK));
    sandbox
}

#[test]
fn people_read_local_times() {
    let sandbox = sandbox_with_session();
    let run = |zone: &str, args: &[&str]| {
        let run = run_in_zone(&sandbox, zone, args);
        assert_success(&run).to_string()
    };
    let tail = run(ZONE, &["session", "tail"]);
    assert!(
        tail.starts_with("[u1] user  2026-01-03 04:34:05\n"),
        "{tail}"
    );
    let tail = run("UTC", &["session", "tail"]);
    assert!(
        tail.starts_with("[u1] user  2026-01-02 23:04:05\n"),
        "{tail}"
    );
    let shown = run(ZONE, &["session", "show"]);
    assert!(shown.contains("2026-01-03 04:34:05"), "{shown}");
    // Programs read the time as it is stored.
    let json = parse_json(&run(ZONE, &["session", "show", "--json"]));
    assert_eq!(json["created_at"], "2026-01-02T23:04:05Z");

    sandbox.write("talk.jsonl", run("UTC", &["session", "export"]));
    let page = run(
        ZONE,
        &["convert", "talk.jsonl", "--to", "markdown", "--lossy"],
    );
    assert!(page.contains("2026-01-03 04:34:05"), "{page}");
}

#[test]
fn recover_lists_local_times() {
    let server = Server::new(vec![answer(&["One."])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let args = ["chat", "a.msg.md", "-m", "openai/tiny", "Count"];
    assert_success(&sandbox.run(&args));
    sandbox.write("a.msg.md", "# %% [^1]\n\n[^1]: [markdown]\n\nCount\n");
    let records = sandbox.recoverable_records("a.msg.md");
    let time: jiff::Timestamp = records[0]["time"].as_str().unwrap().parse().unwrap();
    let local = time.to_zoned(jiff::tz::TimeZone::posix(ZONE).unwrap());
    let local = local.strftime("%Y-%m-%d %H:%M:%S").to_string();
    let listed = run_in_zone(&sandbox, ZONE, &["recover", "a.msg.md"]).stdout;
    assert!(listed.contains(&local), "{local}: {listed}");
}

#[test]
fn files_hold_times_with_an_offset() {
    let sandbox = sandbox_with_session();
    let run = run_in_zone(&sandbox, ZONE, &["session", "export", "-o", "a.msg.md"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let exported = sandbox.read("a.msg.md");
    assert!(
        exported.contains("time=\"2026-01-03T04:34:05+05:30\""),
        "{exported}"
    );
    let run = run_in_zone(&sandbox, "UTC", &["session", "export", "-o", "b.msg.md"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(
        sandbox
            .read("b.msg.md")
            .contains("time=\"2026-01-02T23:04:05Z\"")
    );
    let times = |name: &str| -> Vec<_> {
        let messages = sandbox.messages(name).messages.into_iter();
        messages
            .map(|message| message.created_at.unwrap())
            .collect()
    };
    assert_eq!(times("a.msg.md"), times("b.msg.md"));
}

#[test]
fn chat_writes_times_with_an_offset() {
    let server = Server::new(vec![answer(&["One."]), answer(&["Two."])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let chat = |zone: &str, prompt: &str| {
        let args = ["chat", "a.msg.md", "-m", "openai/tiny", prompt];
        assert_success(&run_in_zone(&sandbox, zone, &args));
    };
    chat(ZONE, "Count");
    chat("UTC", "Go on");
    let file = sandbox.show_json("a.msg.md");
    let time = |cell: usize| file["cells"][cell]["attributes"]["time"].as_str().unwrap();
    assert!(time(1).ends_with("+05:30"), "{}", time(1));
    assert!(time(3).ends_with('Z'), "{}", time(3));
    let parse = |text: &str| text.parse::<jiff::Timestamp>().unwrap();
    let between = parse(time(3)).duration_since(parse(time(1)));
    assert!((0..3600).contains(&between.as_secs()), "{between}");
    assert_eq!(sandbox.run(&["check", "a.msg.md"]).code, Some(0));
}

/// Berlin without a database of zones: on 29 March 2026 clocks skip 02:00, on 25 October 2026 they go back at 03:00.
const BERLIN: &str = "CET-1CEST,M3.5.0,M10.5.0/3";

/// Times of chat Markdown that name no zone: in winter, in summer, in the hour that clocks skip, and in the hour that
/// they show twice.
const CHAT: &str = "> ---\n> <USER timestamp=\"2026-01-02 12:00:00\" />\n\nWinter\n\n\
    > ---\n> <ASSISTANT timestamp=\"2026-07-02 12:00:00\" />\n\nSummer\n\n\
    > ---\n> <USER timestamp=\"2026-03-29 02:30:00\" />\n\nGap\n\n\
    > ---\n> <ASSISTANT timestamp=\"2026-10-25 02:30:00\" />\n\nFold\n";

#[test]
fn chat_markdown_is_read_in_the_local_zone() {
    let sandbox = Sandbox::new();
    sandbox.write("talk.chat.md", CHAT);
    let times = |zone: &str| -> Vec<String> {
        let args = ["convert", "talk.chat.md", "--to", "transcript"];
        let run = run_in_zone(&sandbox, zone, &args);
        let lines = assert_success(&run).lines();
        lines
            .map(|line| parse_json(line)["created_at"].as_str().unwrap().to_string())
            .collect()
    };
    // In the gap, clocks have gone forward; of a time that is there twice, the first one counts.
    let berlin = [
        "2026-01-02T11:00:00Z",
        "2026-07-02T10:00:00Z",
        "2026-03-29T01:30:00Z",
        "2026-10-25T00:30:00Z",
    ];
    assert_eq!(times(BERLIN), berlin);
    assert_eq!(times(ZONE)[0], "2026-01-02T06:30:00Z");
    assert_eq!(times("UTC")[2], "2026-03-29T02:30:00Z");

    // What is imported as a session has the same times.
    assert_success(&run_in_zone(
        &sandbox,
        BERLIN,
        &["session", "import", "talk.chat.md"],
    ));
    let run = run_in_zone(&sandbox, ZONE, &["session", "export"]);
    let exported: Vec<String> = assert_success(&run)
        .lines()
        .filter_map(|line| Some(parse_json(line)["created_at"].as_str()?.to_string()))
        .collect();
    assert_eq!(exported, berlin);
    // A check reads the times too.
    assert_eq!(
        run_in_zone(&sandbox, BERLIN, &["check", "talk.chat.md"]).code,
        Some(0)
    );
}

#[test]
fn chat_markdown_is_written_in_the_local_zone() {
    let sandbox = sandbox_with_session();
    let run = run_in_zone(&sandbox, "UTC", &["session", "export"]);
    sandbox.write("talk.jsonl", assert_success(&run));
    for (zone, time) in [
        (ZONE, "2026-01-03 04:34:05"),
        (BERLIN, "2026-01-03 00:04:05"),
    ] {
        let args = [
            "convert",
            "talk.jsonl",
            "--to",
            "chatmd",
            "--dialect",
            "v1",
            "--lossy",
        ];
        let written = run_in_zone(&sandbox, zone, &args).stdout;
        assert!(
            written.contains(&format!("timestamp=\"{time}\"")),
            "{written}"
        );
    }
}

#[test]
fn converted_message_files_have_times_with_the_local_offset() {
    let sandbox = sandbox_with_session();
    let run = run_in_zone(&sandbox, "UTC", &["session", "export"]);
    sandbox.write("talk.jsonl", assert_success(&run));
    let winter = "time=\"2026-01-03T00:04:05+01:00\"";
    for args in [
        &["convert", "talk.jsonl", "--to", "msgfile"][..],
        &["convert", "talk.jsonl", "--to", "msgfile", "--full"],
    ] {
        let file = run_in_zone(&sandbox, BERLIN, args).stdout;
        assert!(file.contains(winter), "{args:?}: {file}");
    }
    let args = ["session", "export", "--full", "-o", "full.msg.md"];
    assert_success(&run_in_zone(&sandbox, BERLIN, &args));
    let file = sandbox.read("full.msg.md");
    assert!(file.contains(winter), "{file}");
    let times = |name: &str| -> Vec<_> {
        let messages = sandbox.messages(name).messages.into_iter();
        messages.filter_map(|message| message.created_at).collect()
    };
    assert_eq!(times("full.msg.md"), times("talk.jsonl"));
}
