//! `convert`: files, folders, pipes, losses, and files made to do harm.

use std::fs;
#[cfg(target_os = "linux")]
use std::io::Write;
#[cfg(target_os = "linux")]
use std::process::Stdio;

use serde_json::Value;

#[cfg(unix)]
use crate::pseudo_terminal::{WIDE, receive, run_on_terminal};
use crate::sandbox::Sandbox;
#[cfg(unix)]
use crate::sandbox::skip;
#[cfg(target_os = "linux")]
use crate::sandbox::{CommandOutput, parse_json};

pub(crate) const CHAT: &str = "> ---\n> <USER author=\"me\" timestamp=\"2025-05-07T14:01:32Z\" />\n\nHello\n\n\
    > ---\n> <ASSISTANT author=\"m\" />\n\nHi there\n";
pub(crate) const LINE: &str =
    "{\"v\":1,\"type\":\"user\",\"id\":\"m1\",\"session_id\":\"s\",\"content\":\"Hello\"}\n";
pub(crate) const REQUEST: &str = "{\"model\":\"m\",\"messages\":[{\"role\":\"system\",\"content\":\"Be brief.\"},\
    {\"role\":\"user\",\"content\":\"Hello\"}]}";

#[test]
fn convert_takes_the_format_from_the_name() {
    let sandbox = Sandbox::new();
    sandbox.write("talk.md", CHAT);
    let run = sandbox.run(&["convert", "talk.md", "-o", "talk.msg.md"]);
    run.assert_prints("");
    assert_eq!(sandbox.message_texts("talk.msg.md"), ["Hello", "Hi there"]);
    let run = sandbox.run(&["convert", "talk.msg.md", "-o", "again.chat.md"]);
    run.assert_prints("");
    let run = sandbox.run(&["convert", "again.chat.md", "-o", "again.jsonl"]);
    run.assert_prints("");
    assert_eq!(sandbox.message_texts("again.jsonl"), ["Hello", "Hi there"]);
    assert_eq!(
        sandbox
            .run(&["check", "talk.msg.md", "again.chat.md", "again.jsonl"])
            .code,
        Some(0)
    );
}

#[test]
fn convert_reads_stdin_and_writes_stdout() {
    let sandbox = Sandbox::new();
    sandbox.write("talk.md", CHAT);
    let run = sandbox.run(&["convert", "talk.md", "--to", "transcript"]);
    assert_eq!(
        (run.code, &*run.stderr, run.stdout.lines().count()),
        (Some(0), "", 2)
    );
    assert_eq!(
        parse_json(run.stdout.lines().next().unwrap())["content"],
        "Hello"
    );
    for args in [
        &["convert", "-", "--to", "transcript"][..],
        &[
            "convert",
            "-",
            "-o",
            "-",
            "--to",
            "transcript",
            "--from",
            "chatmd",
        ],
    ] {
        let run = sandbox.run_with_stdin(args, CHAT);
        assert_eq!(
            (run.code, &*run.stderr, run.stdout.lines().count()),
            (Some(0), "", 2)
        );
    }
}

#[test]
fn convert_stops_and_lists_what_would_be_lost() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "t.jsonl",
        LINE.replace("\"content\"", "\"duration_ms\":5,\"content\""),
    );
    let run = sandbox.run(&["convert", "t.jsonl", "-o", "t.chat.md"]);
    run.assert_fails(
        1,
        "t.jsonl: loses 1 detail for programs: duration_ms\n\
         analects: t.jsonl: chatmd cannot hold 1 thing; nothing was written\n\
         hint: --lossy writes the rest; --losses FILE lists all of it\n",
    );
    assert!(!sandbox.path("t.chat.md").exists());
    let run = sandbox.run(&["convert", "t.jsonl", "--to", "chatmd"]);
    assert_eq!((run.code, &*run.stdout), (Some(1), ""));
    let run = sandbox.run(&["convert", "t.jsonl", "-o", "t.chat.md", "--lossy"]);
    assert_eq!((run.code, &*run.stdout), (Some(0), ""));
    assert_eq!(
        run.stderr,
        "t.jsonl: loses 1 detail for programs: duration_ms\n"
    );
    assert!(sandbox.read("t.chat.md").contains("Hello"));
    let run = sandbox.run(&["convert", "t.jsonl", "--to", "chatmd", "--lossy"]);
    assert_eq!(
        (run.code, &run.stdout),
        (Some(0), &sandbox.read("t.chat.md"))
    );
}

#[test]
fn convert_json_lists_losses() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "t.jsonl",
        LINE.replace("\"content\"", "\"duration_ms\":5,\"content\""),
    );
    let run = sandbox.run(&["convert", "t.jsonl", "-o", "t.chat.md", "--json"]);
    assert_eq!(run.code, Some(1));
    let done = parse_json(&run.stdout);
    let expected = serde_json::json!({
        "path": "t.jsonl", "output": "t.chat.md", "from": "transcript", "to": "chatmd",
        "written": false, "messages": 1, "left_out": 0, "problems": [],
        "losses": [{"path": "t.jsonl", "message": "m1", "kind": "detail", "what": "duration_ms", "why": "there is no place for it"}],
        "left_behind": {"provider_details": 0, "signatures": 0, "encrypted_reasoning": 0, "other_records": 0, "links_to_later": 0},
    });
    assert_eq!(done, expected);
    assert_eq!(parse_json(&run.stderr)["error"]["kind"], "input");
    let run = sandbox.run(&["convert", "t.jsonl", "-o", "t.chat.md", "--json", "--lossy"]);
    assert_eq!(
        (run.code, &parse_json(&run.stdout)["written"]),
        (Some(0), &Value::Bool(true))
    );
    let run = sandbox.run(&["convert", "t.jsonl", "--to", "chatmd", "--json"]);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
}

#[test]
fn unreadable_records_count_as_losses() {
    let sandbox = Sandbox::new();
    sandbox.write("t.jsonl", format!("{LINE}{{\"v\":1,\"type\":\"us"));
    let run = sandbox.run(&["convert", "t.jsonl", "-o", "t.msg.md"]);
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("[torn-line]"), "{}", run.stderr);
    assert!(!sandbox.path("t.msg.md").exists());
    let run = sandbox.run(&["convert", "t.jsonl", "-o", "t.msg.md", "--lossy"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(sandbox.message_texts("t.msg.md"), ["Hello"]);
}

#[test]
fn convert_does_not_replace_files() {
    let sandbox = Sandbox::new();
    sandbox.write("talk.md", CHAT);
    sandbox.write("talk.msg.md", "mine");
    let run = sandbox.run(&["convert", "talk.md", "-o", "talk.msg.md"]);
    run.assert_fails(
        1,
        "analects: talk.msg.md: this file already exists\n\
         hint: choose another name, or add --force; nothing was written\n",
    );
    assert_eq!(sandbox.read("talk.msg.md"), "mine");
    sandbox
        .run(&["convert", "talk.md", "-o", "talk.msg.md", "--force"])
        .assert_prints("");
    assert_eq!(sandbox.message_texts("talk.msg.md"), ["Hello", "Hi there"]);
    let left: Vec<String> = names(&sandbox, ".");
    assert_eq!(left, ["talk.md", "talk.msg.md"]);
}

/// The names in a folder, sorted.
pub(crate) fn names(sandbox: &Sandbox, folder: &str) -> Vec<String> {
    let entries = fs::read_dir(sandbox.path(folder)).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.retain(|name| name != "home" && name != "stdin");
    names.sort();
    names
}

#[test]
fn a_failed_convert_leaves_nothing_behind() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "t.jsonl",
        LINE.replace("\"content\"", "\"duration_ms\":5,\"content\""),
    );
    sandbox.run(&["convert", "t.jsonl", "-o", "t.chat.md"]);
    assert_eq!(names(&sandbox, "."), ["t.jsonl"]);
}

#[test]
fn convert_to_the_same_format_copies_bytes() {
    let sandbox = Sandbox::new();
    let odd = "Preamble.\r\n\r\n> -----\r\n> <user author='a'>\r\n\r\nHi  \n\n\n";
    sandbox.write("odd.md", odd);
    sandbox
        .run(&["convert", "odd.md", "-o", "copy.chat.md"])
        .assert_prints("");
    assert_eq!(sandbox.read("copy.chat.md"), odd);
    // A dialect counts as another format.
    let run = sandbox.run(&[
        "convert",
        "odd.md",
        "--to",
        "chatmd",
        "--dialect",
        "v2",
        "--lossy",
    ]);
    assert!(
        run.stdout.contains("> ---\n>\n> <USER author=\"a\"/>"),
        "{}",
        run.stdout
    );
}

#[test]
fn requests_survive_a_message_file() {
    let sandbox = Sandbox::new();
    sandbox.write("r.json", REQUEST);
    sandbox
        .run(&["convert", "r.json", "-o", "r.msg.md", "--full"])
        .assert_prints("");
    let run = sandbox.run(&["convert", "r.msg.md", "--to", "openai"]);
    assert_eq!((run.code, &*run.stderr), (Some(0), ""));
    assert_eq!(parse_json(&run.stdout), parse_json(REQUEST));
    let run = sandbox.run(&["convert", "r.json", "--to", "anthropic", "--lossy"]);
    assert_eq!(run.code, Some(0));
    let expected = serde_json::json!({
        "system": "Be brief.", "messages": [{"role": "user", "content": "Hello"}],
    });
    assert_eq!(parse_json(&run.stdout), expected);
    assert!(run.stderr.contains("state.openai"), "{}", run.stderr);
}

#[test]
fn convert_keeps_progress_records_only_with_full() {
    let sandbox = Sandbox::new();
    let progress =
        "{\"v\":1,\"type\":\"progress\",\"id\":\"p\",\"session_id\":\"s\",\"parent_id\":\"m1\"}\n";
    sandbox.write("t.jsonl", format!("{LINE}{progress}"));
    let run = sandbox.run(&["convert", "t.jsonl", "-o", "a.msg.md"]);
    assert_eq!(run.code, Some(0));
    let said =
        "t.jsonl: 1 record that is not part of the conversation is left out; --full keeps them\n";
    assert_eq!(run.stderr, said);
    sandbox
        .run(&["convert", "t.jsonl", "-o", "b.msg.md", "--full"])
        .assert_prints("");
    assert_eq!(sandbox.messages("b.msg.md").messages.len(), 2);
}

#[test]
fn convert_explains_wrong_options() {
    let sandbox = Sandbox::new();
    sandbox.write("talk.md", CHAT);
    sandbox.write("notes.txt", "nothing");
    for (args, code, said) in [
        (
            &["convert", "talk.md"][..],
            2,
            "the format to write is not named",
        ),
        (
            &["convert", "talk.md", "-o", "x.md"],
            2,
            "fits several formats",
        ),
        (
            &["convert", "talk.md", "-o", "x.json"],
            2,
            "fits several formats",
        ),
        (
            &["convert", "talk.md", "-o", "x"],
            2,
            "is not clear from this name",
        ),
        (
            &["convert", "talk.md", "--to", "opnai"],
            2,
            "did you mean openai?",
        ),
        (
            &["convert", "talk.md", "--to", "openai", "--from", "markdown"],
            2,
            "only be written",
        ),
        (
            &["convert", "talk.md", "--to", "openai", "--dialect", "v1"],
            2,
            "--dialect",
        ),
        (&["convert", "gone.md", "--to", "openai"], 3, "gone.md"),
        (
            &["convert", "notes.txt", "--to", "openai"],
            1,
            "is not clear from its content",
        ),
        (
            &["convert", "talk.md", "-o", "no/such/x.msg.md"],
            3,
            "make its folder first",
        ),
    ] {
        let run = sandbox.run(args);
        assert_eq!(
            (run.code, &*run.stdout),
            (Some(code), ""),
            "{args:?}: {}",
            run.stderr
        );
        assert!(run.stderr.contains(said), "{args:?}: {}", run.stderr);
    }
    assert_eq!(names(&sandbox, "."), ["notes.txt", "talk.md"]);
}

/// The command with a memory limit in kilobytes.
#[cfg(target_os = "linux")]
fn limited(sandbox: &Sandbox, limit: u32, args: &[&str]) -> std::process::Command {
    in_shell(sandbox, &format!("ulimit -v {limit}"), args)
}

/// The command in a shell that does something else before.
#[cfg(target_os = "linux")]
pub(crate) fn in_shell(sandbox: &Sandbox, before: &str, args: &[&str]) -> std::process::Command {
    let inner = sandbox.command(args);
    let mut command = std::process::Command::new("sh");
    command
        .arg("-c")
        .arg(format!("{before}; exec \"$0\" \"$@\""));
    command
        .arg(inner.get_program())
        .args(inner.get_args())
        .current_dir(sandbox.path("."));
    command
        .env("ANALECTS_HOME", sandbox.path("home"))
        .stdin(Stdio::null());
    command
}

#[cfg(target_os = "linux")]
#[test]
fn a_one_gigabyte_line_needs_little_memory() {
    let sandbox = Sandbox::new();
    let file = fs::File::create(sandbox.path("big.jsonl")).unwrap();
    file.set_len(1 << 30).unwrap();
    drop(file);
    let mut file = fs::File::options()
        .append(true)
        .open(sandbox.path("big.jsonl"))
        .unwrap();
    file.write_all(format!("\n{LINE}").as_bytes()).unwrap();
    let args = [
        "convert",
        "big.jsonl",
        "-o",
        "big.msg.md",
        "--from",
        "transcript",
        "--lossy",
    ];
    let run: CommandOutput = limited(&sandbox, 600_000, &args).output().unwrap().into();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stderr.contains("[long-line]"), "{}", run.stderr);
    assert_eq!(sandbox.message_texts("big.msg.md"), ["Hello"]);
    let args = [
        "convert",
        "big.jsonl",
        "--to",
        "msgfile",
        "--from",
        "openai",
    ];
    let run: CommandOutput = limited(&sandbox, 600_000, &args).output().unwrap().into();
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("[no-messages]"), "{}", run.stderr);
}

#[cfg(target_os = "linux")]
#[test]
fn a_one_gigabyte_file_is_refused_if_it_must_be_read_whole() {
    let sandbox = Sandbox::new();
    let mut command = limited(&sandbox, 2_000_000, &["convert", "-", "--to", "msgfile"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin
        .write_all(b"{\"messages\":[{\"role\":\"user\",\"content\":\"")
        .unwrap();
    let piece = vec![b'x'; 1 << 20];
    for _ in 0..1024 {
        stdin.write_all(&piece).unwrap();
    }
    drop(stdin);
    let run: CommandOutput = child.wait_with_output().unwrap().into();
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(run.stderr.contains("[file-too-large]"), "{}", run.stderr);
}

#[test]
fn deeply_nested_json_is_harmless() {
    let sandbox = Sandbox::new();
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    sandbox.write(
        "d.json",
        format!("{{\"messages\":[{{\"role\":\"user\",\"content\":{deep}}}]}}"),
    );
    for to in ["msgfile", "transcript", "anthropic", "chatmd", "markdown"] {
        let run = sandbox.run(&["convert", "d.json", "--to", to, "--lossy"]);
        assert_eq!(run.code, Some(0), "{to}: {}", run.stderr);
    }
}

#[test]
fn check_recognises_every_format() {
    let sandbox = Sandbox::new();
    sandbox.write("talk.md", CHAT);
    sandbox.write("r.json", REQUEST);
    sandbox.write("bad.json", REQUEST.replace("\"user\"", "\"robot\""));
    let run = sandbox.run(&["check", "--json", "talk.md", "r.json", "bad.json"]);
    assert_eq!(run.code, Some(1));
    let lines: Vec<Value> = run.stdout.lines().map(parse_json).collect();
    let formats: Vec<&str> = lines
        .iter()
        .map(|line| line["format"].as_str().unwrap())
        .collect();
    assert_eq!(formats, ["chatmd", "openai", "openai"]);
    assert_eq!(lines[0]["problems"], serde_json::json!([]));
    assert_eq!(lines[2]["problems"][0]["code"], "unknown-role");
}

#[test]
fn other_json_is_not_mistaken_for_a_request() {
    let sandbox = Sandbox::new();
    let other =
        "{\"sessionId\":\"s\",\"messages\":[{\"id\":\"m\",\"type\":\"user\",\"content\":\"Hi\"}]}";
    sandbox.write("other.json", other);
    let run = sandbox.run(&["convert", "other.json", "-o", "x.msg.md"]);
    assert_eq!((run.code, &*run.stdout), (Some(1), ""));
    let said = "analects: other.json: its format is not clear from its content or its name\n\
        hint: if you know it, add --from and one of ";
    assert!(run.stderr.starts_with(said), "{}", run.stderr);
    assert!(!sandbox.path("x.msg.md").exists());
    let run = sandbox.run(&["check", "--json", "other.json"]);
    assert_eq!(
        (run.code, &parse_json(&run.stdout)["format"]),
        (Some(1), &"unknown".into())
    );
}

#[test]
fn repair_refuses_other_formats() {
    let sandbox = Sandbox::new();
    sandbox.write("r.json", REQUEST);
    sandbox.write("talk.md", CHAT);
    sandbox.write(
        "codex.jsonl",
        "{\"type\":\"session_meta\",\"payload\":{}}\n",
    );
    sandbox.write(
        "over.jsonl",
        "{\n  \"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}]\n}\n",
    );
    for name in ["r.json", "talk.md", "codex.jsonl", "over.jsonl"] {
        let run = sandbox.run(&["repair", name]);
        assert_eq!(run.code, Some(2));
        assert!(
            run.stderr.contains("this has no records to repair"),
            "{}",
            run.stderr
        );
    }
}

#[test]
fn json_over_several_lines_is_named_as_what_it_may_be() {
    let sandbox = Sandbox::new();
    let record =
        "{\n  \"v\": 1,\n  \"type\": \"user\",\n  \"id\": \"a\",\n  \"content\": \"Hi\"\n}\n";
    sandbox.write("one.jsonl", record);
    sandbox.write("list.jsonl", format!("[{record}]\n"));
    sandbox.write("other.jsonl", "{\n  \"name\": \"package\"\n}\n");
    let like = |filter: &str| {
        format!(
            "hint: it seems to hold records of the format transcript, each over several lines; put each on a line \
             of its own, as jq -c {filter} does\n"
        )
    };
    let other =
        "hint: it is one JSON value over several lines, as no format here has\n".to_string();
    for (name, hint) in [
        ("one.jsonl", like(".")),
        ("list.jsonl", like("'.[]'")),
        ("other.jsonl", other),
    ] {
        for verb in [
            &["check", name][..],
            &["convert", name, "-o", "x.msg.md"],
            &["repair", name],
            &["session", "import", name],
        ] {
            let run = sandbox.run(verb);
            assert!(matches!(run.code, Some(1 | 2)), "{verb:?}: {}", run.stderr);
            assert!(run.stderr.contains(&hint), "{verb:?}: {}", run.stderr);
        }
    }
}

#[test]
fn repair_mends_requests_line_by_line() {
    let sandbox = Sandbox::new();
    let one = "{\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}], \"n\": 1e-09}";
    sandbox.write("r.jsonl", format!("{one}\n{one}{one}\n{}", &one[..20]));
    let run = sandbox.run(&["repair", "r.jsonl", "-o", "new.jsonl"]);
    run.assert_fails(
        0,
        "r.jsonl:2: its 2 records got lines of their own\n\
         r.jsonl:3: it was cut off while it was written; left out\n\
         made 2 changes; written to new.jsonl\n\
         2 old lines are kept in new.jsonl.rest\n",
    );
    assert_eq!(sandbox.read("new.jsonl"), format!("{one}\n{one}\n{one}\n"));
    assert_eq!(
        sandbox.read("new.jsonl.rest"),
        format!("{one}{one}\n{}", &one[..20])
    );
}

#[test]
fn convert_to_markdown_shows_who_said_what() {
    let sandbox = Sandbox::new();
    sandbox.write("talk.md", CHAT);
    let run = sandbox.run(&["convert", "talk.md", "--to", "markdown"]);
    run.assert_prints(
        "## User (me, 2025-05-07 14:01:32)\n\nHello\n\n## Assistant (m)\n\nHi there\n",
    );
}

#[test]
fn convert_help_names_every_format() {
    let help = Sandbox::new().run(&["convert", "--help"]).stdout;
    for format in analects_formats::convert::FORMATS {
        assert!(
            help.contains(format.id()),
            "{} is not in the help",
            format.id()
        );
    }
}

#[test]
fn a_claude_code_session_becomes_a_transcript() {
    let sandbox = Sandbox::new();
    let record = "{\"type\":\"user\",\"uuid\":\"u1\",\"parentUuid\":null,\"sessionId\":\"s1\",\"isSidechain\":false,\
        \"timestamp\":\"2026-11-15T18:17:00.000Z\",\"message\":{\"role\":\"user\",\"content\":\"Hello\"}}\n";
    sandbox.write("s1.jsonl", record);
    let run = sandbox.run(&["convert", "s1.jsonl", "--to", "transcript"]);
    assert_eq!((run.code, &*run.stderr), (Some(0), ""));
    assert_eq!(parse_json(&run.stdout)["id"], "u1");
    assert_eq!(sandbox.run(&["check", "s1.jsonl"]).code, Some(0));
}

#[test]
fn repair_mends_a_claude_code_session() {
    let sandbox = Sandbox::new();
    let record = |kind: &str, id: &str, parent: &str, content: &str| {
        format!(
            "{{\"type\":\"{kind}\",\"uuid\":\"{id}\",\"parentUuid\":{parent},\"sessionId\":\"s1\",\
             \"message\":{{\"role\":\"{kind}\",\"content\":{content}}}}}\n"
        )
    };
    let asked = record("user", "u1", "null", "\"Look.\"");
    let called = record(
        "assistant",
        "a1",
        "\"lost\"",
        "[{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"f\",\"input\":{\"n\":1e-09}}]",
    );
    sandbox.write("s1.jsonl", format!("{asked}{called}{}", &asked[..30]));
    let run = sandbox.run(&["repair", "s1.jsonl"]);
    run.assert_fails(
        0,
        "s1.jsonl:2: it now follows u1\n\
         s1.jsonl:2: after it, a result says that call t1 was interrupted\n\
         s1.jsonl:3: it was cut off while it was written; left out\n\
         made 3 changes; written to s1~repaired.jsonl\n\
         2 old lines are kept in s1~repaired.jsonl.rest\n",
    );
    let file = sandbox.read("s1~repaired.jsonl");
    let mended = called.replace("\"lost\"", "\"u1\"");
    assert!(file.starts_with(&format!("{asked}{mended}")), "{file}");
    assert_eq!(
        sandbox.read("s1~repaired.jsonl.rest"),
        format!("{called}{}", &asked[..30])
    );
    sandbox
        .run(&["check", "s1~repaired.jsonl"])
        .assert_fails(0, "checked 1 file: no problems\n");
    let again = sandbox.run(&["repair", "s1~repaired.jsonl", "-o", "again.jsonl"]);
    again.assert_fails(0, "nothing had to be repaired; written to again.jsonl\n");
    assert_eq!(sandbox.read("again.jsonl"), file);
}

#[cfg(unix)]
#[test]
fn convert_shows_progress_and_no_escapes_on_a_terminal() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("in")).unwrap();
    let hostile = "{\"messages\":[{\"role\":\"user\",\"content\":\"\\u001b]0;owned\\u0007\"}]}";
    sandbox.write("in/a.md", CHAT);
    sandbox.write("in/b\u{1b}]0;owned\u{7}.json", hostile);
    sandbox.write("b.json", hostile);
    let args = ["convert", "in", "-o", "out", "--to", "transcript"];
    let Some((seen, code)) = receive(&sandbox, WIDE, &args, true, &[]) else {
        return skip(
            "convert_shows_progress_and_no_escapes_on_a_terminal",
            "there is no Python to make a terminal",
        );
    };
    assert_eq!(code, 0, "{seen}");
    assert!(seen.contains("1 of 2 files: a.md"), "{seen:?}");
    assert!(seen.ends_with("in: 2 files written\r\n"), "{seen:?}");
    assert!(
        !seen.contains("\u{1b}]0;") && !seen.contains('\u{7}'),
        "{seen:?}"
    );
    for to in ["transcript", "msgfile", "markdown", "chatmd"] {
        let args = ["convert", "b.json", "--to", to, "--lossy"];
        let (seen, code) = run_on_terminal(&sandbox, &args, true).unwrap();
        assert_eq!(code, 0, "{seen}");
        assert!(seen.contains("owned"), "{seen:?}");
        assert!(
            !seen.contains('\u{1b}') && !seen.contains('\u{7}'),
            "{to}: {seen:?}"
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn convert_reports_a_full_disk() {
    let sandbox = Sandbox::new();
    sandbox.write("talk.md", CHAT);
    for lossy in [
        &["convert", "talk.md", "--to", "transcript"][..],
        &["convert", "talk.md", "--to", "transcript", "--lossy"],
    ] {
        let run: CommandOutput = sandbox
            .command(lossy)
            .stdout(Sandbox::full_device())
            .output()
            .unwrap()
            .into();
        assert_eq!(run.code, Some(1), "{}", run.stderr);
        assert!(
            run.stderr.contains("cannot write to stdout"),
            "{}",
            run.stderr
        );
    }
}
