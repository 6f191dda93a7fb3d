//! What the transcript store costs, against the bare system calls and the least that a reader must do.

use std::error::Error;
use std::fs::{File, OpenOptions};
use std::hint::black_box;
use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use analects_core::{
    Block, Body, CompactBoundary, Message, Raw, RawMap, Summary, ToolResult, ToolUse, chain,
};
use analects_formats::transcript::{Envelope, decode, encode, encode_to};
use analects_store::{
    ChainName, JsonlStore, OsIds, Session, StoreFolders, SyncPolicy, TranscriptStore, load,
    tail as tail_of,
};
use serde_json::value::RawValue;
use xtask::bench::{Bar, Row};

const MB: u64 = 1_000_000;

type Measured = Result<f64, Box<dyn Error>>;

fn row(name: &'static str, bar: Bar, measured: Measured) -> Row {
    let value = measured.unwrap_or_else(|error| {
        eprintln!("{name}: {error}");
        f64::NAN
    });
    Row {
        name,
        value,
        unit: "x",
        bar,
    }
}

fn places(folder: &Path) -> StoreFolders {
    StoreFolders {
        data: folder.join("data"),
        state: folder.join("state"),
        ..StoreFolders::in_folder("")
    }
}

fn talk() -> ChainName {
    ChainName::new("project", "talk")
}

/// A message as they come in a conversation, with text of a few hundred to a few thousand bytes.
fn message(number: usize) -> Message {
    let parent_id = number
        .checked_sub(1)
        .map(|before| format!("0197f3c2-{before:012}").into());
    let words = "What was said is kept, word for word, with \"quotes\" and\nline ends. ";
    let text = words.repeat(4 + number % 5 * 12);
    let id = format!("0197f3c2-{number:012}");
    let said = if number.is_multiple_of(2) {
        Message::user(id, text)
    } else {
        Message::assistant(id, text)
    };
    Message {
        parent_id,
        session_id: "talk".into(),
        created_at: "2026-11-15T18:17:00.123456789Z".parse().ok(),
        ..said
    }
}

/// The quickest round of each, in turns.
fn best(rounds: usize, mut one: impl FnMut(), mut other: impl FnMut()) -> f64 {
    let mut best = (Duration::MAX, Duration::MAX);
    for _ in 0..rounds {
        let start = Instant::now();
        one();
        best.0 = best.0.min(start.elapsed());
        let start = Instant::now();
        other();
        best.1 = best.1.min(start.elapsed());
    }
    best.0.as_secs_f64() / best.1.as_secs_f64()
}

fn append(policy: SyncPolicy, count: usize) -> Measured {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let store = JsonlStore::new(&places(folder.path())).with_sync(policy);
    let bare_path = folder.path().join("bare.jsonl");
    let mut bare = OpenOptions::new()
        .append(true)
        .create(true)
        .open(bare_path)?;
    let records: Vec<Message> = (0..count).map(message).collect();
    let lines: Vec<String> = records.iter().map(encode).collect();
    let mut failed = None;
    // Short rounds, so that some of them are not disturbed by whatever else runs.
    let value = best(
        100,
        || {
            for record in &records {
                if let Err(error) = store.append(&talk(), std::slice::from_ref(record)) {
                    failed = Some(error);
                }
            }
        },
        || {
            for line in &lines {
                let written = bare.write_all(line.as_bytes());
                let synced = if policy == SyncPolicy::Always {
                    bare.sync_data()
                } else {
                    Ok(())
                };
                black_box(written.and(synced).is_ok());
            }
        },
    );
    failed.map_or(Ok(value), |error| Err(error.into()))
}

/// A message appended and not synced, against a bare write of the same line.
pub fn append_without_sync() -> Row {
    row(
        "append_per_bare_write",
        Bar::AtMost(6.0),
        append(SyncPolicy::Never, 250),
    )
}

/// The same until it is safe.
pub fn append_with_sync() -> Row {
    row(
        "append_synced_per_write_and_fdatasync",
        Bar::AtMost(1.3),
        append(SyncPolicy::Always, 5),
    )
}

/// A session of so many bytes, with its index; gives the number of its messages.
fn session(store: &JsonlStore, size: u64) -> Result<usize, Box<dyn Error>> {
    let path = store.path(&talk())?;
    std::fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
    let mut file = BufWriter::new(File::create(&path)?);
    let (mut line, mut written, mut number) = (String::new(), 0, 0);
    while written < size {
        line.clear();
        encode_to(&mut line, &message(number));
        file.write_all(line.as_bytes())?;
        written += line.len() as u64;
        number += 1;
    }
    file.into_inner()?.sync_all()?;
    // The index grows a part with each append.
    for _ in 0..2 + size / (60 * MB) {
        store.append(&talk(), &[message(number)])?;
        number += 1;
    }
    Ok(number)
}

/// The last 20 messages, counts and totals of a session of 1 GB, against one of 10 MB.
pub fn tail() -> Row {
    let measure = || {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        let store = |name: &str, size| {
            let store = JsonlStore::new(&places(&folder.path().join(name)));
            let store = store.with_sync(SyncPolicy::Never);
            session(&store, size).map(|count| (store, count as u64))
        };
        let (large, small) = (store("large", 1000 * MB)?, store("small", 10 * MB)?);
        for (store, count) in [&large, &small] {
            let found = tail_of(store, &talk(), 20)?;
            let records = store.overview(&talk())?.records;
            if (found.messages.len(), records) != (20, *count) {
                return Err("the tail is wrong".into());
            }
        }
        let read = |store: &JsonlStore| {
            for _ in 0..10 {
                black_box(tail_of(store, &talk(), 20).is_ok());
            }
        };
        Ok(best(30, || read(&large.0), || read(&small.0)))
    };
    row("tail_of_1gb_per_10mb", Bar::AtMost(2.0), measure())
}

/// A session of 1 GB with a compaction, and a few megabytes after it.
fn compacted(folder: &Path) -> Result<(), Box<dyn Error>> {
    let store = JsonlStore::new(&places(folder)).with_sync(SyncPolicy::Never);
    session(&store, 1000 * MB)?;
    let now = "2026-11-15T18:17:00Z".parse()?;
    let mut session = Session::open(&store, talk())?;
    let boundary = CompactBoundary {
        summary_id: Some("s".into()),
        ..CompactBoundary::default()
    };
    let made = vec![
        Message::new("s", Body::Summary(Summary::default())),
        Message::new("b", Body::CompactBoundary(boundary)),
    ];
    session.compact(made, &mut OsIds, now)?;
    let unplaced = |number| Message {
        id: "".into(),
        parent_id: None,
        ..message(number)
    };
    session.append((0..2500).map(unplaced).collect(), &mut OsIds, now)?;
    store.sync(&talk())?;
    Ok(())
}

/// What the model sees of a session of 1 GB after a late compaction, against reading just these bytes.
pub fn late_boundary() -> Row {
    let measure = || {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        compacted(folder.path())?;
        let store = JsonlStore::new(&places(folder.path()));
        let path = store.path(&talk())?;
        let at = store
            .overview(&talk())?
            .last_boundary
            .ok_or("no boundary")?;
        let bytes = std::fs::read(&path)?.split_off(usize::try_from(at)?);
        let rest = folder.path().join("rest.jsonl");
        std::fs::write(&rest, &bytes)?;
        if load(&store, &talk())?.messages.len() != 2501 {
            return Err("what was loaded is wrong".into());
        }
        Ok(best(
            20,
            || {
                black_box(load(&store, &talk()).is_ok());
            },
            || {
                black_box(
                    std::fs::read(&rest)
                        .map(|bytes| decode(&bytes).messages.len())
                        .is_ok(),
                );
            },
        ))
    };
    row(
        "load_after_boundary_of_1gb_per_reading_the_rest",
        Bar::AtMost(2.0),
        measure(),
    )
}

/// The memory that this takes, as a share of what was loaded and 64 MB.
pub fn late_boundary_memory() -> Row {
    let measure = || {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        compacted(folder.path())?;
        let store = JsonlStore::new(&places(folder.path()));
        let loaded = load(&store, &talk())?;
        let chain: usize = loaded
            .messages
            .iter()
            .map(|message| encode(message).len())
            .sum();
        let program = std::env::current_exe()?;
        let output = Command::new(program)
            .arg(format!("--load={}", folder.path().display()))
            .output()?;
        let peak: f64 = String::from_utf8_lossy(&output.stdout).trim().parse()?;
        Ok(peak / (chain as f64 + 64.0 * MB as f64))
    };
    row(
        "load_peak_memory_per_chain_and_64mb",
        Bar::AtMost(1.0),
        measure(),
    )
}

/// Loads a session and prints the most memory that this process ever had, in bytes.
pub fn load_once(folder: &Path) {
    black_box(load(&JsonlStore::new(&places(folder)), &talk()).is_ok());
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes =
        peak.and_then(|peak| peak.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    println!("{}", kilobytes.unwrap_or_default() * 1024);
}

/// The head of a record as serde reads it by itself.
#[derive(serde::Deserialize)]
#[allow(dead_code)]
struct Head<'a> {
    #[serde(borrow)]
    r#type: &'a RawValue,
    #[serde(borrow)]
    id: &'a RawValue,
    #[serde(borrow)]
    parent_id: Option<&'a RawValue>,
    #[serde(borrow)]
    session_id: Option<&'a RawValue>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

/// Going over the heads of a whole file from the disk, against serde's of the same lines in memory: how
/// many times as fast.
pub fn envelopes() -> Row {
    let measure = || {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        let store = JsonlStore::new(&places(folder.path())).with_sync(SyncPolicy::Never);
        session(&store, 50 * MB)?;
        let bytes = std::fs::read(store.path(&talk())?)?;
        let ours = || {
            let mut count = 0;
            let scanned = store.scan(&talk(), 0, &mut |row| {
                let text = row.bytes.and_then(|bytes| std::str::from_utf8(bytes).ok());
                count += usize::from(text.and_then(Envelope::read).is_some_and(|head| {
                    black_box(head.link());
                    true
                }));
                ControlFlow::Continue(())
            });
            black_box((scanned.is_ok(), count));
        };
        let serde = || {
            let mut count = 0;
            for line in bytes.split_inclusive(|byte| *byte == b'\n') {
                count += usize::from(serde_json::from_slice::<Head<'_>>(line).is_ok());
            }
            black_box(count);
        };
        Ok(best(10, serde, ours))
    };
    row(
        "envelope_scan_speed_per_serde_raw_values",
        Bar::AtLeast(0.5),
        measure(),
    )
}

/// A conversation of 100 000 messages as every provider accepts it, against cloning it.
pub fn sendable() -> Row {
    let mut messages: Vec<Message> = (0..100_000).map(message).collect();
    for at in (1..messages.len() - 1).step_by(10) {
        let call = ToolUse {
            id: format!("t{at}"),
            name: "read".into(),
            input: Raw::empty_object(),
            extra: RawMap::new(),
        };
        let result = ToolResult {
            tool_use_id: format!("t{at}"),
            content: "18".into(),
            ..ToolResult::default()
        };
        let (id, next) = (messages[at].id.clone(), messages[at + 1].id.clone());
        let parents = (
            messages[at].parent_id.clone(),
            messages[at + 1].parent_id.clone(),
        );
        messages[at] = Message {
            parent_id: parents.0,
            ..Message::assistant(id, vec![Block::ToolUse(call)])
        };
        messages[at + 1] = Message {
            parent_id: parents.1,
            ..Message::user(next, vec![Block::ToolResult(result)])
        };
    }
    let chain = chain(&messages);
    let value = best(
        10,
        || {
            black_box(chain.sendable());
        },
        || {
            black_box(messages.clone());
        },
    );
    row("sendable_of_100_000_per_clone", Bar::AtMost(2.0), Ok(value))
}
