//! From an empty home to a conversation of two turns, on a real terminal, with the real model: the terminal, the
//! file, and the output of `list`, `context` and `check` agree.

use std::process::Command;

use analects_core::Message;
use serde_json::Value;

use crate::machine::{Machine, error_line, skip};

/// Runs a command on a pseudo-terminal and records the length of the file after each piece of output. Prints
/// everything as JSON.
const PTY: &str = r"
import fcntl, json, os, pty, select, struct, sys, termios
file = sys.argv[1]
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack('HHHH', 24, 60, 0, 0))
    os.execv(sys.argv[2], sys.argv[2:])
seen, steps = b'', []
while select.select([terminal], [], [], 120)[0]:
    try:
        piece = os.read(terminal, 65536)
    except OSError:
        break
    if not piece:
        break
    seen += piece
    steps.append([len(seen), os.path.getsize(file) if os.path.exists(file) else 0])
_, status = os.waitpid(pid, 0)
print(json.dumps({'seen': seen.decode(), 'steps': steps, 'code': os.waitstatus_to_exitcode(status)}))
";

/// What a terminal received, and how terminal and file grew.
struct TerminalRecord {
    seen: String,
    steps: Vec<(u64, u64)>,
}

/// Runs `chat` on a terminal; `None` without Python.
fn chat(machine: &Machine, prompt: &str) -> Option<TerminalRecord> {
    // A small model may not stop by itself.
    let limits = ["--temperature", "0", "--max-tokens", "60"];
    let mut command = machine.command(&["chat", "hello.msg.md", "-m", "local/smollm2", prompt]);
    command.args(limits);
    let mut python = Command::new("python3");
    python.arg("-c").arg(PTY).arg("hello.msg.md");
    python
        .arg(command.get_program())
        .args(command.get_args())
        .current_dir(machine.path(""));
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => python.env(name, value),
            None => python.env_remove(name),
        };
    }
    // Without colour, the terminal gets what the model wrote.
    let output = python.env("NO_COLOR", "1").output().ok()?;
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["code"], 0, "{json}");
    let seen = json["seen"].as_str().unwrap().replace("\r\n", "\n");
    let seen = seen.replace("warning: the answer was cut at the token limit\n", "");
    let number = |value: &Value| value.as_u64().unwrap();
    let steps = json["steps"].as_array().unwrap().iter();
    let steps = steps
        .map(|step| (number(&step[0]), number(&step[1])))
        .collect();
    Some(TerminalRecord { seen, steps })
}

/// The conversation in the file, without the empty cell.
fn messages(machine: &Machine) -> Vec<Message> {
    let bytes = std::fs::read(machine.path("hello.msg.md")).unwrap();
    let decoded = analects_formats::decode(&bytes, "hello.msg.md");
    assert_eq!(decoded.problems, []);
    decoded
        .messages
        .into_iter()
        .filter(|message| !message.text().is_empty())
        .collect()
}

/// Checks that an answer reached the terminal in pieces, and the file in one step, below its agent and its question.
fn check_streamed(shown: &TerminalRecord, answer: &str) {
    assert!(
        shown.seen.trim_end().ends_with(answer.trim_end()),
        "{:?}: {answer:?}",
        shown.seen
    );
    let grew = |sizes: Vec<u64>| sizes.windows(2).filter(|pair| pair[0] < pair[1]).count();
    let (terminal, file): (Vec<u64>, Vec<u64>) = shown.steps.iter().copied().unzip();
    assert!(
        grew(terminal) > 1,
        "the terminal got all of it at once: {:?}",
        shown.steps
    );
    assert!(
        grew(file) <= 3,
        "the file got it in pieces: {:?}",
        shown.steps
    );
}

fn json(machine: &Machine, args: &[&str]) -> Value {
    let run = machine.run(args);
    assert_eq!(run.code, Some(0), "{args:?}: {}", error_line(&run));
    serde_json::from_str(&run.stdout).unwrap()
}

#[test]
fn every_command_agrees_about_a_two_turn_chat() {
    let test = "every_command_agrees_about_a_two_turn_chat";
    let Some(machine) = Machine::with_model(test) else {
        return;
    };
    let Some(first) = chat(&machine, "Tell me a story of three sentences.") else {
        return skip(test, "there is no Python to make a terminal");
    };
    let before = messages(&machine);
    assert_eq!(before.len(), 2, "{before:?}");
    check_streamed(&first, &before[1].text());
    let second = chat(&machine, "And now one about the sea.").unwrap();
    let after = messages(&machine);
    assert_eq!(after.len(), 4, "{after:?}");
    check_streamed(&second, &after[3].text());
    let texts = |messages: &[Message]| messages.iter().map(Message::text).collect::<Vec<_>>();
    assert_eq!(texts(&before), texts(&after)[..2], "what was said stays");

    // The first turn was sent again, so the model has read everything.
    let read = |message: &Message| {
        let usage = message.usage.clone().unwrap_or_default();
        usage.input_tokens.unwrap_or(0) + usage.cache_read_input_tokens.unwrap_or(0)
    };
    let said = before[1]
        .usage
        .clone()
        .unwrap_or_default()
        .output_tokens
        .unwrap();
    assert!(read(&after[3]) > read(&after[1]) + said, "{after:?}");

    check_list(&machine, &after);
    check_context(&machine, &after);
    let checked = machine.run(&["check", "hello.msg.md"]);
    assert_eq!(
        (checked.code, &*checked.stdout),
        (Some(0), ""),
        "{}",
        checked.stderr
    );
    assert!(
        checked.stderr.contains("checked 1 file: no problems"),
        "{}",
        checked.stderr
    );
}

/// Checks that `list` names the questions with their answers, in the order of the file.
fn check_list(machine: &Machine, messages: &[Message]) {
    let list = json(machine, &["list", "hello.msg.md", "--json"]);
    let items = list["items"].as_array().unwrap();
    let filled: Vec<&Value> = items.iter().filter(|item| item["text"] != "").collect();
    assert_eq!(filled.len() * 2, messages.len(), "{list}");
    for (item, pair) in filled.iter().zip(messages.chunks(2)) {
        assert_eq!(item["text"].as_str(), Some(&*pair[0].text()));
        let outputs = item["outputs"].as_array().unwrap();
        assert_eq!(outputs.len(), 1, "{item}");
        let answer = outputs[0].as_str().unwrap();
        let run = machine.run(&["show", "hello.msg.md", answer]);
        assert_eq!(
            run.stdout.trim_end(),
            pair[1].text().trim_end(),
            "{}",
            run.stderr
        );
    }
}

/// Checks that `context` would send exactly the messages, in order.
fn check_context(machine: &Machine, messages: &[Message]) {
    let context = json(machine, &["context", "hello.msg.md", "--json"]);
    let fates = context["messages"].as_array().unwrap();
    assert_eq!(fates.len(), messages.len(), "{context}");
    for (fate, message) in fates.iter().zip(messages) {
        assert_eq!(
            (&fate["fate"], &fate["id"]),
            (&"sent".into(), &message.id.to_string().into())
        );
    }
    let args = [
        "chat",
        "hello.msg.md",
        "-m",
        "local/smollm2",
        "--dry-run",
        "Go on.",
    ];
    let request = json(machine, &args);
    let sent = request["body"]["messages"].as_array().unwrap();
    let sent: Vec<&str> = sent
        .iter()
        .map(|turn| turn["content"].as_str().unwrap())
        .collect();
    let mut texts: Vec<String> = messages.iter().map(Message::text).collect();
    texts.push("Go on.".to_string());
    let trimmed = |texts: &[&str]| {
        texts
            .iter()
            .map(|it| it.trim().to_string())
            .collect::<Vec<_>>()
    };
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    assert_eq!(trimmed(&sent), trimmed(&texts));
}
