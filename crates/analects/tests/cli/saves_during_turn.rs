//! An older or the current text is saved over the file at any moment of a turn, in every way that programs save.
//! Every typed line stays, and each answer is in the file once, or `recover` offers it.

use std::io::Write;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::file_watcher::AGENT;
use crate::sandbox::{CommandOutput, Sandbox};
use crate::server::{Server, Step, done, piece, stream_head};

pub const FILE: &str = "a.msg.md";
const NOTES: &str = "\n# %% [^n]\n\n[^n]: [markdown] history=\"none\"\n\nnotes:\n";

/// When the file is saved.
#[derive(Debug, Clone, Copy)]
pub enum SaveMoment {
    BeforeTheFirstWord,
    InMidAnswer,
    /// When the answer is in the file.
    AfterTheAnswer,
    /// So long after the start of the turn, wherever it is then.
    After(Duration),
}

pub const MOMENTS: [SaveMoment; 3] = [
    SaveMoment::BeforeTheFirstWord,
    SaveMoment::InMidAnswer,
    SaveMoment::AfterTheAnswer,
];

/// Saves a file that was opened earlier.
pub type PendingSave = Box<dyn FnOnce(&Sandbox)>;

/// A conversation of many turns, in each of which another program saves the file.
pub struct Conversation {
    pub sandbox: Sandbox,
    server: Server,
    turns: usize,
    /// How many answers were saved over, and put back.
    pub recovered: usize,
}

impl Conversation {
    pub fn new(turns: usize) -> Conversation {
        let sandbox = Sandbox::new();
        let server = Server::new(
            (0..turns)
                .map(|turn| answer_script(&sandbox, turn))
                .collect(),
        );
        let sandbox = sandbox.with_server(&server.base_url);
        sandbox.write(FILE, format!("{AGENT}{NOTES}"));
        Conversation {
            sandbox,
            server,
            turns: 0,
            recovered: 0,
        }
    }

    /// Types a question, asks it, and meanwhile saves the file that was opened, with a line below the notes.
    pub fn turn(&mut self, moment: SaveMoment, open: &dyn Fn(&Sandbox, &str) -> PendingSave) {
        let (sandbox, turn) = (&self.sandbox, self.turns);
        let what = format!("turn {turn}, {moment:?}");
        sandbox.write(
            FILE,
            format!("{}\n# %%\n\nquestion {turn:04}\n", sandbox.read(FILE)),
        );
        let save = open(sandbox, &format!("typed line {turn:04}"));
        let mut child = sandbox.spawn(&["chat", FILE]);
        let gates = [format!("first {turn}"), format!("rest {turn}")];
        let open_gates = |count| {
            gates[..count]
                .iter()
                .for_each(|gate| sandbox.write(gate, ""))
        };
        match moment {
            SaveMoment::BeforeTheFirstWord => {
                let question = format!("question {turn:04}");
                while !self.server.request().contains(&question) {}
            }
            SaveMoment::InMidAnswer => {
                open_gates(1);
                sandbox.wait_for_journal(&answer_parts(turn)[0]);
            }
            SaveMoment::AfterTheAnswer => {
                open_gates(2);
                child.wait().unwrap();
            }
            SaveMoment::After(time) => {
                open_gates(2);
                std::thread::sleep(time);
            }
        }
        save(sandbox);
        open_gates(2);
        let mut run: CommandOutput = child.wait_with_output().unwrap().into();
        // A command that reads the file right after an editor truncated it sees nothing to ask.
        if matches!(moment, SaveMoment::After(_)) && run.stderr.contains("nothing to ask") {
            run = sandbox.run(&["chat", FILE]);
        }
        assert_eq!(run.code, Some(0), "{what}: {}", run.stderr);
        self.turns += 1;
        self.check(&what);
    }

    /// Checks that every typed line and every answer is there once; a missing answer must be offered, and is restored.
    #[track_caller]
    fn check(&mut self, what: &str) {
        let sandbox = &self.sandbox;
        let answer = answer_parts(self.turns - 1).concat();
        let is_missing =
            |record: &&Value| record["text"] == answer && record["stands_in"].is_null();
        if let Some(missing) = sandbox.recoverable_records(FILE).iter().find(is_missing) {
            let name = missing["name"].as_str().unwrap();
            let run = sandbox.run(&["recover", FILE, name]);
            assert_eq!(run.code, Some(0), "{what}: {}", run.stderr);
            self.recovered += 1;
        }
        let file = sandbox.read(FILE);
        let texts = sandbox.message_texts(FILE);
        for turn in 0..self.turns {
            let answer = answer_parts(turn).concat();
            let count = |text: &str| texts.iter().filter(|other| *other == text).count();
            assert_eq!(
                count(&format!("question {turn:04}")),
                1,
                "{what}: {turn}: {file}"
            );
            assert_eq!(count(&answer), 1, "{what}: {turn}: {file}");
            for words in [
                format!("typed line {turn:04}"),
                answer_parts(turn)[1].clone(),
            ] {
                assert_eq!(file.matches(&words).count(), 1, "{what}: {words}: {file}");
            }
        }
        let run = sandbox.run(&["check", FILE]);
        assert_eq!(run.code, Some(0), "{what}: {}", run.stderr);
        let left = std::fs::read_dir(sandbox.path("")).unwrap();
        let is_kept = |name: std::ffi::OsString| name.to_string_lossy().contains("kept");
        assert!(
            !left
                .into_iter()
                .any(|entry| is_kept(entry.unwrap().file_name())),
            "{what}"
        );
    }
}

/// The two parts of an answer, which arrive once their files exist.
fn answer_parts(turn: usize) -> [String; 2] {
    [
        format!("answer {turn:04}\n# %% no head[^1]\n"),
        format!("end of answer {turn:04}"),
    ]
}

fn answer_script(sandbox: &Sandbox, turn: usize) -> Vec<Step> {
    let gate = |name: &str| Step::Until(sandbox.path(&format!("{name} {turn}")));
    let [first, rest] = answer_parts(turn).map(|part| piece(&part));
    vec![
        stream_head(),
        gate("first"),
        first,
        gate("rest"),
        rest,
        done(),
    ]
}

/// Saves the text from when the file was opened, or the text at the time of the save.
fn save_with(is_older: bool, save: fn(&Sandbox, &str)) -> impl Fn(&Sandbox, &str) -> PendingSave {
    move |sandbox, line| {
        let older = sandbox.read(FILE);
        let line = line.to_string();
        Box::new(move |sandbox| {
            let text = if is_older { older } else { sandbox.read(FILE) };
            save(
                sandbox,
                &text.replacen("notes:\n", &format!("notes:\n{line}\n"), 1),
            )
        })
    }
}

fn by_rename(sandbox: &Sandbox, text: &str) {
    sandbox.write("editor.tmp", text);
    std::fs::rename(sandbox.path("editor.tmp"), sandbox.path(FILE)).unwrap();
}

fn by_emptying(sandbox: &Sandbox, text: &str) {
    std::fs::write(sandbox.path(FILE), text).unwrap();
}

fn by_overwriting(sandbox: &Sandbox, text: &str) {
    let mut file = std::fs::File::options()
        .write(true)
        .open(sandbox.path(FILE))
        .unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file.set_len(text.len() as u64).unwrap();
}

fn with_sed(_: &Sandbox, line: &str) -> PendingSave {
    let script = format!("s/^notes:$/notes:\\n{line}/");
    Box::new(move |sandbox| {
        let sed = Command::new("sed")
            .args(["-i", &script])
            .arg(sandbox.path(FILE))
            .status();
        assert!(sed.unwrap().success());
    })
}

#[test]
fn a_save_at_any_moment_of_a_turn_loses_nothing() {
    let saves = [by_rename, by_emptying, by_overwriting];
    let mut talk = Conversation::new(MOMENTS.len() * (2 * saves.len() + 1));
    for moment in MOMENTS {
        for save in saves {
            talk.turn(moment, &save_with(true, save));
            talk.turn(moment, &save_with(false, save));
        }
        talk.turn(moment, &with_sed);
    }
    assert_eq!(talk.recovered, saves.len());
}

/// The same wherever the turn is, also in the middle of a write.
#[test]
fn saves_during_a_write_lose_nothing() {
    let turns = if analects_testkit::is_torture() {
        300
    } else {
        12
    };
    let mut step: u64 = 0;
    for _ in 0..turns / 12 {
        let mut talk = Conversation::new(12);
        for save in [by_rename, by_emptying, by_overwriting] {
            for is_older in [true, false, true, false] {
                // Moments spread over the whole turn, none of them twice.
                step += 1;
                let moment = SaveMoment::After(Duration::from_micros(step * 7_919 % 90_000));
                talk.turn(moment, &save_with(is_older, save));
            }
        }
    }
}
