//! What a verb on a long session takes, and on many sessions: in the command itself, as a person has it.
//!
//! `ANALECTS_BENCH_GB` says how long the session is, in gigabytes, for a look at a longer one.

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use analects_core::{Block, Message, Raw, RawMap, SessionState, TextBlock, ToolResult, ToolUse};
use analects_formats::transcript::encode_to;
use analects_store::{ChainName, JsonlStore, StoreFolders};
use xtask::bench::{Bar, Row};

use crate::command::program;

type Measured = Result<f64, Box<dyn Error>>;

const MB: f64 = (1 << 20) as f64;

fn row(name: &'static str, unit: &'static str, bar: Bar, measured: Measured) -> Row {
    let value = measured.unwrap_or_else(|error| {
        eprintln!("{name}: {error}");
        f64::NAN
    });
    Row {
        name,
        value,
        unit,
        bar,
    }
}

/// What one run of a program took.
#[derive(Debug, Clone, Copy)]
struct Usage {
    memory: f64,
    processor: f64,
    time: f64,
}

/// A folder with everything that the command needs, in which it runs.
struct Home {
    folder: tempfile::TempDir,
    work: PathBuf,
}

impl Home {
    fn new() -> Result<Home, Box<dyn Error>> {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        let work = folder.path().canonicalize()?.join("work");
        std::fs::create_dir(&work)?;
        let delta = "data: {\"choices\":[{\"delta\":{\"content\":\"A few words.\"}}]}\n\n";
        std::fs::write(work.join("answer.sse"), format!("{delta}data: [DONE]\n\n"))?;
        Ok(Home { folder, work })
    }

    /// The file of a session.
    fn session(&self, name: &str) -> Result<PathBuf, Box<dyn Error>> {
        let store = JsonlStore::new(&StoreFolders::in_folder(self.folder.path()));
        let path = store.path(&ChainName::new(
            StoreFolders::project_name(&self.work),
            name,
        ))?;
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
        Ok(path)
    }

    fn run(&self, args: &[&str]) -> Result<Usage, Box<dyn Error>> {
        let mut command = Command::new("python3");
        command.arg("-c").arg(include_str!("usage.py"));
        command.arg(program().ok_or("no program")?).args(args);
        command
            .env("ANALECTS_HOME", self.folder.path())
            .current_dir(&self.work);
        let output = command.output()?;
        let printed = String::from_utf8(output.stdout)?;
        let numbers: Vec<f64> = printed
            .split_whitespace()
            .map(str::parse)
            .collect::<Result<_, _>>()?;
        let [memory, processor, time] = numbers[..] else {
            return Err(String::from_utf8_lossy(&output.stderr).into());
        };
        Ok(Usage {
            memory,
            processor,
            time,
        })
    }
}

/// Messages of 300 to 4,000 bytes, calls of a tool and their results, each behind the one before.
struct Talk {
    number: usize,
    last: Option<String>,
    line: String,
}

impl Talk {
    fn write(&mut self, file: &mut impl Write, said: Message) -> Result<u64, Box<dyn Error>> {
        let id = format!(
            "01a1f04d-{:04x}-7000-8000-{:012x}",
            self.number % 0xffff,
            self.number
        );
        let message = Message {
            id: id.as_str().into(),
            parent_id: self.last.take().map(|last| last.as_str().into()),
            session_id: "talk".into(),
            created_at: "2026-11-15T18:17:00.123456789Z".parse().ok(),
            ..said
        };
        self.line.clear();
        encode_to(&mut self.line, &message);
        file.write_all(self.line.as_bytes())?;
        self.last = Some(id);
        self.number += 1;
        Ok(self.line.len() as u64)
    }

    fn text(&self) -> String {
        let words = "What was said is kept, word for word, with \"quotes\" and\nline ends. ";
        words.repeat(5 + self.number * 7 % 50)
    }

    /// A question, a call, its result, and the answer.
    fn turn(&mut self, file: &mut impl Write) -> Result<u64, Box<dyn Error>> {
        let id = format!("call-{}", self.number);
        let input = Raw::parse(r#"{"path":"src/lib.rs"}"#)?;
        let (name, extra) = ("read".to_string(), RawMap::new());
        let said = TextBlock {
            text: "Let me look.".into(),
            ..TextBlock::default()
        };
        let call = ToolUse {
            id: id.clone(),
            name,
            input,
            extra,
        };
        let content = self.text().into();
        let result = ToolResult {
            tool_use_id: id,
            content,
            ..ToolResult::default()
        };
        let call = vec![Block::Text(said), Block::ToolUse(call)];
        let mut written = self.write(file, Message::user("", self.text()))?;
        written += self.write(file, Message::assistant("", call))?;
        written += self.write(file, Message::user("", vec![Block::ToolResult(result)]))?;
        written += self.write(file, Message::assistant("", self.text()))?;
        Ok(written)
    }
}

/// Writes a session of so many bytes.
fn write(path: &Path, size: u64) -> Result<(), Box<dyn Error>> {
    let mut file = BufWriter::new(File::create(path)?);
    let mut talk = Talk {
        number: 0,
        last: None,
        line: String::new(),
    };
    let state = SessionState {
        title: Some("Tea".into()),
        ..SessionState::default()
    };
    let mut written = talk.write(&mut file, Message::new("", state.snapshot().into()))?;
    while written < size {
        written += talk.turn(&mut file)?;
    }
    Ok(file.flush()?)
}

/// What verbs take of a long session.
#[derive(Debug)]
struct Long {
    tail: f64,
    context: Usage,
    resume: Usage,
}

/// The index is there, as it is when we wrote the session; `tail` is measured before.
fn measure_long() -> Result<Long, Box<dyn Error>> {
    let home = Home::new()?;
    let gigabytes = std::env::var("ANALECTS_BENCH_GB")
        .ok()
        .and_then(|text| text.parse().ok());
    write(
        &home.session("talk")?,
        (gigabytes.unwrap_or(1.0) * 1e9) as u64,
    )?;
    let mut tail = f64::NAN;
    for _ in 0..5 {
        tail = tail.min(home.run(&["session", "tail", "talk"])?.time);
    }
    home.run(&["session", "show", "talk"])?;
    let context = home.run(&["context", "talk", "-m", "gemini/gemini-2.5-pro"])?;
    let answer = [
        "session",
        "resume",
        "talk",
        "-m",
        "replay:answer.sse",
        "And now?",
    ];
    Ok(Long {
        tail,
        context,
        resume: home.run(&answer)?,
    })
}

/// Measured once for all rows.
fn long(what: fn(&Long) -> f64) -> Measured {
    static LONG: OnceLock<Result<Long, String>> = OnceLock::new();
    let long = LONG.get_or_init(|| measure_long().map_err(|error| error.to_string()));
    Ok(what(long.as_ref().map_err(String::clone)?))
}

/// The most memory that `context` has for a session of a gigabyte and a window of a million tokens.
pub fn context_memory() -> Row {
    let value = long(|long| long.context.memory / MB);
    row("context_of_1gb_memory", "MB", Bar::AtMost(96.0), value)
}

/// The processor's time of the same.
pub fn context() -> Row {
    row(
        "context_of_1gb",
        "ms",
        Bar::AtMost(1000.0),
        long(|long| long.context.processor),
    )
}

/// The most memory that `session resume` has, with a recorded answer.
pub fn resume_memory() -> Row {
    let value = long(|long| long.resume.memory / MB);
    row("resume_of_1gb_memory", "MB", Bar::AtMost(96.0), value)
}

/// The processor's time of the same.
pub fn resume() -> Row {
    row(
        "resume_of_1gb",
        "ms",
        Bar::AtMost(1000.0),
        long(|long| long.resume.processor),
    )
}

/// The time that the end of a session takes that has no index.
pub fn tail() -> Row {
    row(
        "tail_of_1gb_without_index",
        "ms",
        Bar::AtMost(50.0),
        long(|long| long.tail),
    )
}

/// The processor's time of the second list of 20,000 sessions.
pub fn list() -> Row {
    let measure = || {
        let home = Home::new()?;
        for number in 0..20_000 {
            write(&home.session(&format!("s{number}"))?, 4000)?;
        }
        home.run(&["session", "list"])?;
        Ok(home.run(&["session", "list"])?.processor)
    };
    row(
        "list_of_20_000_sessions",
        "ms",
        Bar::AtMost(500.0),
        measure(),
    )
}
