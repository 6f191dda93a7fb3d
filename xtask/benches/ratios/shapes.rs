//! Shapes that message files and sessions can have, and what each verb costs on them: four times as many of something
//! must not take more than six times the processor's time.

mod files;
mod sessions;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use xtask::bench::{Bar, Row};

use crate::command::program;

/// Less than this is noise, in seconds.
const NOISE: f64 = 0.010;

/// What four times as many may cost.
const LIMIT: f64 = 6.0;

/// How often what seems to cost more is looked at again; the quickest times count.
const LOOKS: usize = 4;

/// A verb, and its arguments: `FILE` stands for the file, `REPLAY` for a recorded answer.
const VERBS: &[(&str, &[&str])] = &[
    ("list", &["list", "FILE"]),
    ("show", &["show", "FILE"]),
    ("show_json", &["show", "--json", "FILE"]),
    ("show_cell", &["show", "FILE", "1"]),
    ("check", &["check", "FILE"]),
    ("context", &["context", "FILE", "-m", "REPLAY"]),
    (
        "dry_run",
        &["chat", "--dry-run", "FILE", "-m", "REPLAY", "And now?"],
    ),
    ("chat", &["chat", "FILE", "-m", "REPLAY", "And now?"]),
    ("answer", &["chat", "FILE", "-m", "REPLAY"]),
    ("edit", &["edit", "FILE", "1", "Another text."]),
    ("edit_last", &["edit", "FILE", "last", "Another text."]),
    ("drop", &["drop", "FILE", "1"]),
    ("rewind", &["rewind", "FILE", "1"]),
    ("fork", &["fork", "FILE", "--at", "last"]),
    (
        "convert",
        &[
            "convert",
            "FILE",
            "--from",
            "msgfile",
            "--to",
            "transcript",
            "--lossy",
        ],
    ),
];

/// The verbs of a session: `FILE` is its transcript, and it is in the store, too.
const SESSION_VERBS: &[(&str, &[&str])] = &[
    ("check", &["check", "FILE"]),
    ("repair", &["repair", "FILE", "-o", "NEW"]),
    ("import", &["session", "import", "FILE"]),
    (
        "to_msgfile",
        &[
            "convert", "FILE", "--to", "msgfile", "--lossy", "-o", "NEW.md",
        ],
    ),
    (
        "to_markdown",
        &[
            "convert", "FILE", "--to", "markdown", "--lossy", "-o", "NEW.md",
        ],
    ),
    (
        "to_openai",
        &[
            "convert", "FILE", "--to", "openai", "--lossy", "-o", "NEW.json",
        ],
    ),
    ("show", &["session", "show", "last"]),
    ("tail", &["session", "tail", "last"]),
    ("context", &["context", "last", "-m", "REPLAY"]),
    (
        "dry_run",
        &["chat", "-c", "--dry-run", "-m", "REPLAY", "And now?"],
    ),
    (
        "resume",
        &["session", "resume", "last", "-m", "REPLAY", "And now?"],
    ),
    ("export", &["session", "export", "last", "-o", "NEW.md"]),
    ("fork", &["fork", "last"]),
    ("drop", &["session", "drop", "last", "m1"]),
    ("rewind", &["session", "rewind", "last", "m1"]),
];

/// A shape: its name, how many of something it has at first, and a conversation with so many.
type Shape = (&'static str, usize, fn(usize) -> String);

/// Where conversations are, what can be done with them, and what they can look like.
struct Kind {
    file: &'static str,
    verbs: &'static [(&'static str, &'static [&'static str])],
    /// What is done before each of these.
    before: Option<&'static [&'static str]>,
    shapes: &'static [Shape],
    /// A conversation with hardly anything in it.
    nothing: fn() -> String,
}

const KINDS: [Kind; 2] = [
    Kind {
        file: "talk.msg.md",
        verbs: VERBS,
        before: None,
        shapes: files::SHAPES,
        nothing: || files::file(""),
    },
    Kind {
        file: "talk.jsonl",
        verbs: SESSION_VERBS,
        before: Some(&["session", "import", "FILE"]),
        shapes: sessions::SHAPES,
        nothing: || sessions::messages(1),
    },
];

/// The rows of all shapes that are wanted.
pub fn rows(is_wanted: impl Fn(&str) -> bool) -> Vec<Row> {
    let mut rows = Vec::new();
    for kind in KINDS {
        let shapes = kind
            .shapes
            .iter()
            .filter(|(name, ..)| is_wanted(&format!("shapes::{name}")));
        let wanted: Vec<&Shape> = shapes.collect();
        if !wanted.is_empty() {
            let mut bench = Bench::new(kind);
            rows.extend(wanted.into_iter().map(|shape| row(shape, bench.as_mut())));
        }
    }
    rows
}

/// The growth of the worst verb of a shape, which gives the row its name.
fn row(shape: &Shape, bench: Option<&mut Bench>) -> Row {
    let worst = bench.and_then(|bench| bench.worst(shape));
    let (verb, value) = worst.unwrap_or(("nothing", f64::NAN));
    let name = format!("{}_4n_per_n ({verb})", shape.0);
    // The name of a row lives as long as the program, of which there are few.
    Row {
        name: name.leak(),
        value,
        unit: "x",
        bar: Bar::AtMost(LIMIT),
    }
}

/// A program that runs commands, and the folder in which they run.
struct Bench {
    kind: Kind,
    folder: tempfile::TempDir,
    program: String,
    child: Child,
    commands: ChildStdin,
    times: BufReader<ChildStdout>,
    /// What each verb costs on a file of hardly anything.
    least: HashMap<&'static str, f64>,
}

impl Bench {
    fn new(kind: Kind) -> Option<Bench> {
        let folder = tempfile::tempdir().ok()?;
        let delta = "data: {\"choices\":[{\"delta\":{\"content\":\"A few words.\"}}]}\n\n";
        let answer = format!("{}data: [DONE]\n\n", delta.repeat(20));
        std::fs::write(folder.path().join("answer.sse"), answer).ok()?;
        let mut python = Command::new("python3");
        python.arg("-c").arg(include_str!("measure.py"));
        python.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = python
            .env("ANALECTS_HOME", folder.path().join("home"))
            .spawn()
            .ok()?;
        let commands = child.stdin.take()?;
        let times = BufReader::new(child.stdout.take()?);
        let program = program()?.to_string_lossy().into_owned();
        let (verbs, nothing) = (kind.verbs, (kind.nothing)());
        let least = HashMap::new();
        let mut bench = Bench {
            kind,
            folder,
            program,
            child,
            commands,
            times,
            least,
        };
        for (verb, args) in verbs {
            let cost = bench.time(args, &nothing)?;
            bench.least.insert(verb, cost.seconds);
        }
        Some(bench)
    }

    /// The verb that grows most on a shape, and how much.
    fn worst(&mut self, (name, count, make): &Shape) -> Option<(&'static str, f64)> {
        let few = make(*count);
        let many = make(4 * count);
        let mut worst = ("nothing", 0.0);
        let mut line = format!("{name:24} {:5.1} MB", many.len() as f64 / 1e6);
        let only = std::env::var("VERBS").unwrap_or_default();
        for (verb, args) in self
            .kind
            .verbs
            .iter()
            .filter(|(verb, _)| only.is_empty() || only == *verb)
        {
            let least = self.least.get(verb).copied().unwrap_or_default();
            let mut once = self.time(args, &few)?;
            let mut more = self.time(args, &many)?;
            for _ in 0..LOOKS {
                if growth(once, more, least) > LIMIT {
                    once = once.or(self.time(args, &few)?);
                    more = more.or(self.time(args, &many)?);
                }
            }
            let value = growth(once, more, least);
            let Cost {
                seconds,
                memory,
                status,
            } = more;
            let status = if status == 0 {
                String::new()
            } else {
                format!(" (exit {status})")
            };
            let mark = if value > LIMIT { " !" } else { "" };
            let (time, memory) = (seconds * 1e3, memory / 1e3);
            let _ = write!(
                line,
                "\n    {verb:10} {time:6.0} ms {memory:5.0} MB {value:5.1}x{status}{mark}"
            );
            if value > worst.1 {
                worst = (verb, value);
            }
        }
        eprintln!("{line}");
        Some(worst)
    }

    /// What a command costs on a file of this text.
    fn time(&mut self, args: &[&str], text: &str) -> Option<Cost> {
        // What one run notes or writes, the next one would find.
        let _ = std::fs::remove_dir_all(self.folder.path().join("home"));
        for new in ["new", "new.md", "new.json"] {
            let _ = std::fs::remove_file(self.folder.path().join(new));
        }
        std::fs::write(self.folder.path().join(self.kind.file), text).ok()?;
        if let Some(before) = self.kind.before {
            self.run(before)?;
        }
        self.run(args)
    }

    fn run(&mut self, args: &[&str]) -> Option<Cost> {
        let path = |name: &str| self.folder.path().join(name).to_string_lossy().into_owned();
        let mut command = vec![self.program.clone()];
        for arg in args {
            command.push(match *arg {
                "FILE" => path(self.kind.file),
                "NEW" | "NEW.md" | "NEW.json" => path(&arg.to_lowercase()),
                "REPLAY" => format!("replay:{}", path("answer.sse")),
                arg => arg.to_string(),
            });
        }
        let command = serde_json::to_string(&command).ok()?;
        writeln!(self.commands, "{command}").ok()?;
        let mut line = String::new();
        self.times.read_line(&mut line).ok()?;
        let mut words = line.split_whitespace();
        let mut number = || words.next()?.parse::<f64>().ok();
        Some(Cost {
            seconds: number()?,
            memory: number()?,
            status: number()? as i32,
        })
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        // It ends when nobody tells it anything any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a command cost.
#[derive(Clone, Copy)]
struct Cost {
    seconds: f64,
    /// The most memory that it had, in kilobytes.
    memory: f64,
    status: i32,
}

impl Cost {
    /// The cheaper one.
    fn or(self, other: Cost) -> Cost {
        if other.seconds < self.seconds {
            other
        } else {
            self
        }
    }
}

/// How many times more one costs than the other, beside the least that either costs.
fn growth(once: Cost, more: Cost, least: f64) -> f64 {
    (more.seconds - least).max(0.0) / (once.seconds - least).max(NOISE)
}
