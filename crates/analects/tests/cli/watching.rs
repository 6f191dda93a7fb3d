//! `chat --watch`: whoever lives in an editor types a question, saves, and gets an answer into the file.
#![cfg(unix)]

use std::io::{Read, Write};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use crate::sandbox::{Run, Sandbox, skip};
use crate::server::{Server, Step, answer, done, error, in_halves, piece, stream_head};

pub const AGENT: &str = "---\nagents:\n  tiny:\n    models: [openai/tiny]\n---\n";

/// A command that watches a file, and is ended with the test.
pub struct Watching(Option<Child>);

impl Watching {
    pub fn start(sandbox: &Sandbox, more: &[&str]) -> Watching {
        let args = [&["chat", "--watch", "a.msg.md"], more].concat();
        let mut child = sandbox.spawn(&args);
        // The first line says that it listens.
        let mut line = Vec::new();
        let mut byte = [0];
        while child.stderr.as_mut().unwrap().read(&mut byte).unwrap() == 1 && byte != *b"\n" {
            line.extend(byte);
        }
        let line = String::from_utf8(line).unwrap();
        assert_eq!(line, "a.msg.md: waiting for questions; Ctrl-C ends");
        Watching(Some(child))
    }

    /// The process, which nobody ends then but the test.
    pub fn into_child(mut self) -> Child {
        self.0.take().unwrap()
    }

    /// Presses Ctrl-C, and waits for the end.
    pub fn stop(self) -> Run {
        let child = self.into_child();
        let pid = child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        child.wait_with_output().unwrap().into()
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

pub fn sandbox_with(server: &Server) -> Sandbox {
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write("a.msg.md", AGENT);
    sandbox
}

/// A file whose first question gets an answer of which the rest comes when there is a file `go`; what comes next, gets
/// `next`.
pub fn halves(first: &str, rest: &str, next: &str) -> (Sandbox, Server) {
    let sandbox = Sandbox::new();
    let slow = in_halves(first, sandbox.path("go"), rest);
    let server = Server::new(vec![slow, answer(&[next])]);
    sandbox.write("a.msg.md", AGENT);
    (sandbox.with_server(&server.base_url), server)
}

/// Saves one more cell as an editor does that replaces the file.
fn save_by_rename(sandbox: &Sandbox, text: &str) {
    sandbox.write(".a.swp", format!("{}\n# %%\n\n{text}\n", sandbox.read("a.msg.md")));
    std::fs::rename(sandbox.path(".a.swp"), sandbox.path("a.msg.md")).unwrap();
}

/// Saves one more cell over the file; gives what is in it then, of which an answer knows nothing.
pub fn save_in_place(sandbox: &Sandbox, text: &str) -> String {
    let file = format!("{}\n# %%\n\n{text}\n", sandbox.read("a.msg.md"));
    sandbox.write("a.msg.md", &file);
    file
}

/// Waits until nothing has been asked for as long as it takes to look several times.
#[track_caller]
pub fn nothing_more_is_asked(server: &Server) {
    let request = server.request_within(Duration::from_millis(2500));
    assert_eq!(request, None);
}

#[test]
fn whatever_is_saved_with_a_question_is_answered_once() {
    let answers = ["one", "two", "three"].map(|text| answer(&[text]));
    let server = Server::new([&answers[..], &[answer(&["too many"])]].concat());
    let sandbox = sandbox_with(&server);
    let watching = Watching::start(&sandbox, &[]);
    save_by_rename(&sandbox, "first?");
    sandbox.wait_for("a.msg.md", "\none\n");
    save_in_place(&sandbox, "second?");
    sandbox.wait_for("a.msg.md", "\ntwo\n");
    for _ in 0..2 {
        server.request();
    }
    // Neither an empty cell nor one without text, nor our own writes, nor a touched file ask anything.
    save_in_place(&sandbox, "");
    std::fs::File::options()
        .append(true)
        .open(sandbox.path("a.msg.md"))
        .unwrap()
        .write_all(b"\n")
        .unwrap();
    nothing_more_is_asked(&server);
    save_by_rename(&sandbox, "third?");
    sandbox.wait_for("a.msg.md", "\nthree\n");
    assert!(server.request().contains("third?"));
    let run = watching.stop();
    assert_eq!((run.code, &*run.stdout, &*run.stderr), (Some(0), "one\ntwo\nthree\n", ""));
    let texts = ["first?", "one", "second?", "two", "third?", "three"];
    assert_eq!(sandbox.texts("a.msg.md"), texts);
}

#[test]
fn what_fails_is_told_and_asked_again_only_when_it_is_saved_again() {
    let refusal = error("400 Bad Request", r#"{"error":{"message":"no such luck"}}"#);
    let server = Server::new(vec![refusal, answer(&["at last"]), answer(&["too many"])]);
    let sandbox = sandbox_with(&server);
    let watching = Watching::start(&sandbox, &[]);
    save_in_place(&sandbox, "question?");
    server.request();
    sandbox.wait_for("a.msg.md", "error=1");
    nothing_more_is_asked(&server);
    // The very same bytes, saved once more.
    let file = sandbox.read("a.msg.md");
    sandbox.write("a.msg.md", file);
    sandbox.wait_for("a.msg.md", "\nat last\n");
    let run = watching.stop();
    assert_eq!(run.code, Some(0));
    assert_eq!(run.stderr.matches("no such luck").count(), 1, "{}", run.stderr);
    assert!(run.stderr.contains("hint: to ask again, save the file again\n"), "{}", run.stderr);
}

#[test]
fn half_a_save_is_not_answered() {
    let server = Server::new(vec![answer(&["whole"]), answer(&["too many"])]);
    let sandbox = sandbox_with(&server);
    let watching = Watching::start(&sandbox, &["--settle", "3"]);
    // An editor that writes for longer than the system needs to tell of it, in pieces that each could be a
    // question, and once in the middle of a character.
    let whole = format!("{AGENT}\n# %%\n\nIs half of this, é, a question?\n").into_bytes();
    let cuts = [0, AGENT.len() + 20, whole.len() - 15, whole.len() - 14, whole.len()];
    let mut file = std::fs::File::create(sandbox.path("a.msg.md")).unwrap();
    for pair in cuts.windows(2) {
        file.write_all(&whole[pair[0]..pair[1]]).unwrap();
        file.sync_all().unwrap();
        std::thread::sleep(Duration::from_millis(300));
    }
    // As long as it is open, there may be more to come.
    drop(file);
    sandbox.wait_for("a.msg.md", "\nwhole\n");
    assert!(server.request().contains("Is half of this, é, a question?"));
    assert_eq!(watching.stop().code, Some(0));
}

#[test]
fn a_question_typed_while_another_is_answered_is_answered_next() {
    let (sandbox, _server) = halves("slow", "ly", "quickly");
    let watching = Watching::start(&sandbox, &[]);
    save_in_place(&sandbox, "first?");
    sandbox.wait_for("a.msg.md", "slow");
    save_by_rename(&sandbox, "second?");
    sandbox.write("go", "");
    sandbox.wait_for("a.msg.md", "\nquickly\n");
    assert_eq!(sandbox.texts("a.msg.md"), ["first?", "slowly", "second?", "quickly"]);
    assert_eq!(watching.stop().code, Some(0));
}

#[test]
fn an_answer_that_a_late_save_takes_away_is_put_back() {
    let trimmed = |file: String| -> String {
        file.lines().map(|line| format!("{}\n", line.trim_end())).collect()
    };
    let saves: [&dyn Fn(String) -> String; 3] =
        [&|file| file, &trimmed, &|file| file.replace('\n', "\r\n")];
    for save in saves {
        let (sandbox, _server) = halves("slow  \nand\n", "ly", "next");
        let watching = Watching::start(&sandbox, &[]);
        save_in_place(&sandbox, "first?");
        sandbox.wait_for("a.msg.md", "\nslow  \nand\n");
        let early = sandbox.read("a.msg.md");
        assert!(early.contains("status=\"streaming\""), "{early}");
        sandbox.write("go", "");
        sandbox.wait_for("a.msg.md", "\nly\n\n# %%\n");
        // Not at once, when the end of the answer is still looked after; and with a question typed above.
        std::thread::sleep(Duration::from_millis(1500));
        let typed = early.replace("first?", "first, I said?");
        sandbox.write("a.msg.md", save(format!("{typed}\n\n# %%\n\nsecond?\n")));
        sandbox.wait_for("a.msg.md", &save("\nnext\n\n# %%\n".to_string()));
        let texts = ["first, I said?", "slow  \nand\nly", "second?", "next"];
        assert_eq!(sandbox.texts("a.msg.md"), texts);
        let run = watching.stop();
        assert!(run.stderr.contains("saved over the last answer"), "{}", run.stderr);
        let file = sandbox.read("a.msg.md");
        assert!(!file.contains("streaming"), "{file}");
    }
}

#[test]
fn an_answer_that_has_just_come_is_put_back_once() {
    let server = Server::new(["one", "two", "again"].map(|text| answer(&[text])).to_vec());
    let sandbox = sandbox_with(&server);
    let watching = Watching::start(&sandbox, &[]);
    let early = save_in_place(&sandbox, "first?");
    sandbox.wait_for("a.msg.md", "\none\n\n# %%\n");
    // An editor that read the file before the answer began saves it with the next question.
    sandbox.write("a.msg.md", format!("{early}\n# %%\n\nsecond?\n"));
    sandbox.wait_for("a.msg.md", "\ntwo\n\n# %%\n");
    assert_eq!(sandbox.texts("a.msg.md"), ["first?", "one", "second?", "two"]);
    assert!(server.request().contains("first?"));
    let second = server.request();
    assert!(second.contains("second?") && second.contains("one"), "{second}");
    // Later, whoever takes an answer away means it, and asks again.
    std::thread::sleep(Duration::from_millis(5500));
    let file = sandbox.read("a.msg.md");
    let asked = file.find("second?").unwrap() + "second?\n".len();
    sandbox.write("a.msg.md", &file[..asked]);
    sandbox.wait_for("a.msg.md", "\nagain\n");
    assert_eq!(sandbox.texts("a.msg.md"), ["first?", "one", "second?", "again"]);
    assert_eq!(watching.stop().code, Some(0));
}

#[test]
fn an_answer_is_placed_below_its_own_question() {
    let (sandbox, _server) = halves("slow\n", "ly", "quickly");
    let watching = Watching::start(&sandbox, &[]);
    let early = save_in_place(&sandbox, "first?");
    sandbox.wait_for("a.msg.md", "\nslow");
    // The editor knows nothing of the answer that grows.
    sandbox.write("a.msg.md", format!("{early}\n# %%\n\nsecond?\n"));
    sandbox.write("go", "");
    sandbox.wait_for("a.msg.md", "\nquickly\n");
    assert_eq!(sandbox.texts("a.msg.md"), ["first?", "slow\nly", "second?", "quickly"]);
    assert_eq!(watching.stop().code, Some(0));
}

#[test]
fn an_answer_to_a_question_that_was_changed_is_placed_below_it_too() {
    let (sandbox, _server) = halves("slow\n", "ly", "quickly");
    let watching = Watching::start(&sandbox, &[]);
    let early = save_in_place(&sandbox, "first?").replace("first?", "first, changed?");
    sandbox.wait_for("a.msg.md", "\nslow");
    sandbox.write("a.msg.md", format!("{early}\n# %%\n\nsecond?\n"));
    sandbox.write("go", "");
    sandbox.wait_for("a.msg.md", "\nquickly\n");
    let texts = ["first, changed?", "slow\nly", "second?", "quickly"];
    assert_eq!(sandbox.texts("a.msg.md"), texts);
    assert!(sandbox.read("a.msg.md").contains("asked=\"first?\""));
    assert_eq!(watching.stop().code, Some(0));
}

#[test]
fn a_question_in_a_head_is_told() {
    let server = Server::new(vec![answer(&["one"])]);
    let sandbox = sandbox_with(&server);
    let watching = Watching::start(&sandbox, &[]);
    sandbox.write("a.msg.md", format!("{AGENT}\n# %% Is this one?\n"));
    nothing_more_is_asked(&server);
    let run = watching.stop();
    assert!(run.stderr.contains("the title of a cell is not sent"), "{}", run.stderr);
}

#[test]
fn ctrl_c_in_mid_answer_keeps_what_came() {
    let server = Server::new(vec![vec![stream_head(), piece("half an ans"), Step::Hang]]);
    let sandbox = sandbox_with(&server);
    let watching = Watching::start(&sandbox, &[]);
    save_in_place(&sandbox, "question?");
    sandbox.wait_for("a.msg.md", "half an ans");
    let run = watching.stop();
    assert_eq!(run.code, Some(130), "{}", run.stderr);
    assert_eq!(sandbox.texts("a.msg.md"), ["question?", "half an ans"]);
    assert!(sandbox.read("a.msg.md").contains("stop_reason=\"interrupted\""));
}

#[test]
fn a_file_that_goes_away_and_comes_back_is_still_watched() {
    let server = Server::new(vec![answer(&["back"])]);
    let sandbox = sandbox_with(&server);
    let watching = Watching::start(&sandbox, &[]);
    std::fs::remove_file(sandbox.path("a.msg.md")).unwrap();
    std::thread::sleep(Duration::from_millis(700));
    sandbox.write("a.msg.md", format!("{AGENT}\n# %%\n\nthere?\n"));
    sandbox.wait_for("a.msg.md", "\nback\n");
    assert_eq!(watching.stop().code, Some(0));
}

#[test]
fn somebody_else_who_writes_is_waited_for() {
    let (sandbox, server) = halves("", "by the other", "too many");
    let watching = Watching::start(&sandbox, &[]);
    let other = sandbox.spawn(&["chat", "a.msg.md", "question?"]);
    server.request();
    nothing_more_is_asked(&server);
    sandbox.write("go", "");
    assert!(other.wait_with_output().unwrap().status.success());
    nothing_more_is_asked(&server);
    assert_eq!(sandbox.texts("a.msg.md"), ["question?", "by the other"]);
    assert_eq!(watching.stop().code, Some(0));
}

#[test]
fn without_hints_from_the_system_looking_is_enough() {
    let test = "without_hints_from_the_system_looking_is_enough";
    let server = Server::new(vec![answer(&["seen"])]);
    let sandbox = sandbox_with(&server);
    let plain = sandbox.command(&["chat", "--watch", "a.msg.md"]);
    let mut strace = sandbox.in_place_of(&plain, "strace");
    strace.args([
        "-f",
        "-qq",
        "-e",
        "inject=inotify_init1:error=EMFILE",
        "-e",
        "trace=inotify_init1",
    ]);
    strace.args(["-o", "/dev/null"]).arg(plain.get_program()).args(plain.get_args());
    let Ok(mut tracer) = strace.spawn() else { return skip(test, "no strace") };
    std::thread::sleep(Duration::from_millis(1000));
    save_by_rename(&sandbox, "question?");
    let seen = || sandbox.read("a.msg.md").contains("\nseen\n");
    let deadline = Instant::now() + Duration::from_secs(20);
    while !seen() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(10));
    }
    // The command goes on without its tracer, so it is ended first.
    let pid = tracer.id();
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    for child in children.unwrap_or_default().split_whitespace() {
        let _ = Command::new("kill").args(["-KILL", child]).status();
    }
    let _ = tracer.wait();
    assert!(seen(), "{}", sandbox.read("a.msg.md"));
}

#[test]
fn wrong_uses_are_told() {
    let sandbox = Sandbox::new();
    sandbox.write("a.msg.md", AGENT);
    sandbox.write("plain.md", "# Notes\n");
    for (args, code) in [
        (&["chat", "--watch"][..], 2),
        (&["chat", "--watch", "a.msg.md", "prompt"], 2),
        (&["chat", "--watch", "nowhere.msg.md"], 3),
        (&["chat", "--watch", "-c", "a.msg.md"], 2),
        (&["chat", "--settle", "3", "a.msg.md"], 2),
        (&["chat", "--watch", "--settle", "x", "a.msg.md"], 2),
        (&["chat", "--watch", "plain.md"], 2),
        (&["chat", "--watch", "a.msg.md", "-e", "1"], 2),
    ] {
        let clock = Instant::now();
        let run = sandbox.run(args);
        assert_eq!(run.code, Some(code), "{args:?}: {}", run.stderr);
        assert!(clock.elapsed() < Duration::from_secs(10));
    }
}

#[test]
fn an_answer_that_breaks_off_is_told_with_the_way_to_ask_again() {
    let broken = [stream_head(), piece("half an ans"), Step::Pause(300)];
    let slow = [stream_head(), piece("half "), Step::Pause(3000), piece("late"), done()];
    for (script, more) in [(&broken[..], &[][..]), (&slow, &["--timeout", "1"])] {
        let server = Server::new(vec![script.to_vec(), answer(&["at last"])]);
        let sandbox = sandbox_with(&server);
        let watching = Watching::start(&sandbox, more);
        save_in_place(&sandbox, "question?");
        server.request();
        sandbox.wait_for("a.msg.md", "stop_reason=\"interrupted\"");
        // What came is an answer, however often it is saved.
        sandbox.write("a.msg.md", sandbox.read("a.msg.md"));
        nothing_more_is_asked(&server);
        let run = sandbox.run(&["chat", "a.msg.md"]);
        assert_eq!(run.code, Some(2), "{}", run.stderr);
        assert!(run.stderr.contains("analects drop a.msg.md 2"), "{}", run.stderr);
        assert_eq!(sandbox.run(&["drop", "a.msg.md", "2"]).code, Some(0));
        sandbox.wait_for("a.msg.md", "\nat last\n");
        let run = watching.stop();
        assert_eq!(run.stderr.matches("analects: ").count(), 1, "{}", run.stderr);
        assert_eq!(run.stderr.matches("analects drop a.msg.md 2").count(), 1, "{}", run.stderr);
    }
}

#[test]
fn an_answer_that_broke_off_is_put_back_too() {
    let sandbox = Sandbox::new();
    let gate = Step::Until(sandbox.path("go"));
    let broken = vec![stream_head(), piece("half\n"), gate, piece("an ans")];
    let server = Server::new(vec![broken, answer(&["next"])]);
    let sandbox = sandbox.with_server(&server.base_url);
    sandbox.write("a.msg.md", AGENT);
    let watching = Watching::start(&sandbox, &[]);
    save_in_place(&sandbox, "first?");
    sandbox.wait_for("a.msg.md", "\nhalf\n");
    let early = sandbox.read("a.msg.md");
    assert!(early.contains("status=\"streaming\""), "{early}");
    sandbox.write("go", "");
    sandbox.wait_for("a.msg.md", "stop_reason=\"interrupted\"");
    std::thread::sleep(Duration::from_millis(1500));
    sandbox.write("a.msg.md", format!("{early}\n# %%\n\nsecond?\n"));
    sandbox.wait_for("a.msg.md", "\nnext\n\n# %%\n");
    assert_eq!(sandbox.texts("a.msg.md"), ["first?", "half\nan ans", "second?", "next"]);
    let run = watching.stop();
    assert!(run.stderr.contains("saved over the last answer"), "{}", run.stderr);
    assert!(!sandbox.read("a.msg.md").contains("streaming"), "{}", sandbox.read("a.msg.md"));
}

#[test]
fn somebody_else_who_leaves_a_question_behind_is_told_once_and_waited_for() {
    // The other one holds the file until it is killed, and has not written a word of an answer.
    let server = Server::new(vec![vec![stream_head(), Step::Hang], answer(&["ours"])]);
    let sandbox = sandbox_with(&server);
    let watching = Watching::start(&sandbox, &[]);
    let mut other = sandbox.spawn(&["chat", "a.msg.md", "question?"]);
    server.request();
    nothing_more_is_asked(&server);
    nothing_more_is_asked(&server);
    other.kill().unwrap();
    other.wait().unwrap();
    // Nobody saves the file.
    sandbox.wait_for("a.msg.md", "\nours\n\n# %%\n");
    assert_eq!(sandbox.texts("a.msg.md"), ["question?", "ours"]);
    let run = watching.stop();
    assert_eq!(run.stderr.matches("is writing to this file").count(), 1, "{}", run.stderr);
    // It is tried again without anybody's doing.
    assert!(!run.stderr.contains("try again"), "{}", run.stderr);
}

#[test]
fn a_file_that_is_not_text_is_told_once() {
    let server = Server::new(vec![answer(&["fine"])]);
    let sandbox = sandbox_with(&server);
    let watching = Watching::start(&sandbox, &[]);
    for _ in 0..2 {
        let bytes = [AGENT.as_bytes(), b"\n# %%\n\nCaf\xe9?\n"].concat();
        sandbox.write("a.msg.md", bytes);
        nothing_more_is_asked(&server);
    }
    sandbox.write("a.msg.md", format!("{AGENT}\n# %%\n\nCafé?\n"));
    sandbox.wait_for("a.msg.md", "\nfine\n");
    let run = watching.stop();
    assert_eq!(run.stderr.matches("are not UTF-8").count(), 1, "{}", run.stderr);
}

#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_is_full_in_mid_answer_is_told() {
    let test = "a_disk_that_is_full_in_mid_answer_is_told";
    let pieces = ["A line of a long answer.\n"; 40].concat();
    let long = (0..40).flat_map(|_| [piece(&pieces), Step::Pause(20)]);
    let long = [stream_head()].into_iter().chain(long).chain([done()]).collect();
    let server = Server::new(vec![long, answer(&["too many"])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let Some(_disk) = crate::disk::Mounted::tmpfs(&sandbox.path(""), "128k") else {
        return skip(test, "a tmpfs cannot be mounted here");
    };
    sandbox.write("a.msg.md", AGENT);
    let watching = Watching::start(&sandbox, &[]);
    sandbox.write("ballast", vec![0; 64 * 1024]);
    save_in_place(&sandbox, "question?");
    server.request();
    nothing_more_is_asked(&server);
    let run = watching.stop();
    assert_eq!(run.stderr.matches("no space left").count(), 1, "{}", run.stderr);
    assert!(run.stderr.contains("analects drop a.msg.md 2"), "{}", run.stderr);
    assert!(sandbox.texts("a.msg.md")[1].starts_with("A line of a long answer."));
}

/// An answer with code in it, of which the first step and the rest come at different times.
fn steps_with_code() -> (String, String) {
    let step = |n| format!("Step {n}:\n\n```\ncmd {n}\n```\n\n");
    (step(0), format!("{}{}done.", step(1), step(2)))
}

#[test]
fn a_question_with_code_typed_into_an_older_text_takes_no_answer_away() {
    let (first, rest) = steps_with_code();
    for question in ["My next question:\n\n```\nmy code\n```\n\nwhy?", "Step"] {
        let (sandbox, _server) = halves(&first, &rest, "next");
        let watching = Watching::start(&sandbox, &[]);
        save_in_place(&sandbox, "first?");
        sandbox.wait_for("a.msg.md", "cmd 0\n```\n");
        let early = sandbox.read("a.msg.md");
        assert!(early.contains("status=\"streaming\""), "{early}");
        sandbox.write("go", "");
        sandbox.wait_for("a.msg.md", "\ndone.\n\n# %%\n");
        std::thread::sleep(Duration::from_millis(1500));
        sandbox.write("a.msg.md", format!("{early}\n{question}\n"));
        sandbox.wait_for("a.msg.md", "\nnext\n\n# %%\n");
        let texts = ["first?", &format!("{first}{rest}"), question, "next"];
        assert_eq!(sandbox.texts("a.msg.md"), texts);
        let run = watching.stop();
        assert!(run.stderr.contains("saved over the last answer"), "{}", run.stderr);
    }
}

/// A file with a question for each of two agents.
pub const TWO: &str = "---\nagents:\n  a:\n    models: [openai/ma]\n  b:\n    models: [openai/mb]\n---\n\n\
                   # %% [^1]\n\n[^1]: [markdown] agent=a\n\nfirst?\n\n\
                   # %% [^2]\n\n[^2]: [markdown] agent=b\n\nsecond?\n";

/// Such a file, and both answers, of which the rest comes when there is a file `go`, and a file `go on`.
pub fn two_halves(one: (&str, &str), two: (&str, &str)) -> (Sandbox, Server) {
    let sandbox = Sandbox::new();
    let one = in_halves(one.0, sandbox.path("go"), one.1);
    let two = in_halves(two.0, sandbox.path("go on"), two.1);
    let server = Server::new(vec![one, two, answer(&["too many"])]);
    sandbox.write("a.msg.md", TWO);
    (sandbox.with_server(&server.base_url), server)
}

#[test]
fn the_answers_of_several_agents_are_put_back() {
    // The older text is saved when both have come, or while the second one comes.
    for (half, while_it_comes) in [(false, false), (true, false), (false, true)] {
        let (sandbox, server) = two_halves(("one\n", "more"), ("two\n", "more"));
        let watching = Watching::start(&sandbox, &[]);
        sandbox.wait_for("a.msg.md", "\none\n");
        let old = if half { sandbox.read("a.msg.md") } else { TWO.to_string() };
        assert_eq!(half, old.contains("status=\"streaming\""), "{old}");
        sandbox.write("go", "");
        sandbox.wait_for("a.msg.md", "\ntwo\n");
        if !while_it_comes {
            sandbox.write("go on", "");
            sandbox.wait_for("a.msg.md", "\ntwo\nmore\n\n# %%");
        }
        for _ in 0..2 {
            server.request();
        }
        sandbox.write("a.msg.md", old);
        sandbox.write("go on", "");
        sandbox.wait_for("a.msg.md", "\none\nmore\n");
        sandbox.wait_for("a.msg.md", "\ntwo\nmore\n");
        nothing_more_is_asked(&server);
        let texts = ["first?", "one\nmore", "second?", "two\nmore"];
        assert_eq!(sandbox.texts("a.msg.md"), texts, "{half} {while_it_comes}");
        assert_eq!(sandbox.run(&["check", "a.msg.md"]).code, Some(0));
        assert_eq!(watching.stop().code, Some(0));
    }
}

#[test]
fn an_answer_that_was_changed_while_it_grew_is_left_alone_and_that_is_told_once() {
    let (sandbox, server) = halves("slow\nand\n", "steady", "too many");
    let watching = Watching::start(&sandbox, &[]);
    save_in_place(&sandbox, "first?");
    sandbox.wait_for("a.msg.md", "\nslow\nand\n");
    let early = sandbox.read("a.msg.md").replace("slow", "quick");
    assert!(early.contains("status=\"streaming\""), "{early}");
    sandbox.write("go", "");
    sandbox.wait_for("a.msg.md", "\nsteady\n\n# %%\n");
    server.request();
    std::thread::sleep(Duration::from_millis(1500));
    for _ in 0..2 {
        sandbox.write("a.msg.md", &early);
        nothing_more_is_asked(&server);
    }
    assert_eq!(sandbox.read("a.msg.md"), early);
    let run = watching.stop();
    assert_eq!(run.stderr.matches("it is not put back").count(), 1, "{}", run.stderr);
}
