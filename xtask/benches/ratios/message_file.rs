//! How fast a message file is read, against the least that a reader must do: look at every byte for
//! UTF-8 and at every line end.

use std::hint::black_box;
use std::process::Command;
use std::time::{Duration, Instant};

use analects_formats::msgfile::{NewCell, append, decode, message_problems, session_of};
use analects_store::{LockedFile, StoreFolders};
use xtask::bench::{Bar, Row, ratio};

pub(crate) const MB: usize = 1_000_000;

/// What a file of this many bytes is made of: cells whose content is `cell` bytes long.
fn file(size: usize, cell: usize, line: &str) -> Vec<u8> {
    let mut out = String::with_capacity(size + 2 * cell);
    let mut id = 0;
    while out.len() < size {
        id += 1;
        let (marker, word) = if id % 2 == 1 {
            ("%%", "markdown")
        } else {
            ("%%%", "coder")
        };
        out.push_str(&format!("# {marker} [^{id}]\n\n[^{id}]: [{word}]\n\n"));
        let start = out.len();
        while out.len() - start < cell {
            out.push_str(line);
            out.push('\n');
        }
        out.push('\n');
    }
    out.into_bytes()
}

pub(crate) const ENGLISH: &str =
    "All that was said is kept, word for word, and nothing else is added to it here.";
pub(crate) const CHINESE: &str =
    "学而时习之，不亦说乎？有朋自远方来，不亦乐乎？人不知而不愠，不亦君子乎？";
pub(crate) const SHORT: &str =
    "A short line, as in a short answer, of which there may be very many indeed.";

pub(crate) fn floor(source: &[u8]) -> usize {
    let valid = simdutf8::basic::from_utf8(black_box(source)).is_ok();
    // A walk stops at every line; `count` would only add up bits.
    let longest = memchr::memchr_iter(b'\n', source).fold((0, 0), |(last, longest), at| {
        (at, black_box(longest.max(at - last)))
    });
    longest.1 + usize::from(valid)
}

pub(crate) fn time(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// Time to read a file, and the floor of the same file: the two take turns, and the quickest round
/// of each counts.
fn measure(mut source: Vec<u8>, rounds: usize) -> (Duration, Duration) {
    let mut best = (Duration::MAX, Duration::MAX);
    for _ in 0..rounds {
        let mut read = Vec::new();
        let reading = time(|| {
            let document = decode(std::mem::take(&mut source));
            black_box(document.cells().len());
            read = document.into_source();
        });
        source = read;
        let least = time(|| {
            black_box(floor(&source));
        });
        best = (best.0.min(reading), best.1.min(least));
    }
    best
}

fn per_floor(name: &'static str, cell: usize, line: &str, limit: f64) -> Row {
    let (reading, floor) = measure(file(64 * MB, cell, line), 15);
    let value = reading.as_secs_f64() / floor.as_secs_f64();
    Row {
        name,
        value,
        unit: "x",
        bar: Bar::AtMost(limit),
    }
}

/// English in cells of 20 KB.
pub fn english_20k() -> Row {
    per_floor("message_file_20k_english_per_floor", 20_000, ENGLISH, 2.0)
}

/// Chinese in cells of 20 KB.
pub fn chinese_20k() -> Row {
    per_floor("message_file_20k_chinese_per_floor", 20_000, CHINESE, 2.0)
}

/// Cells of 200 bytes.
pub fn english_200() -> Row {
    per_floor("message_file_200_per_floor", 120, SHORT, 6.0)
}

/// The cost of a byte in a file of 1 GB, against one of 64 MB.
pub fn growth() -> Row {
    let per_byte = |size: usize| {
        let (reading, _) = measure(file(size, 20_000, ENGLISH), 3);
        reading.as_secs_f64() / size as f64
    };
    let value = per_byte(1000 * MB) / per_byte(64 * MB);
    let name = "message_file_cost_per_byte_1gb_per_64mb";
    Row {
        name,
        value,
        unit: "x",
        bar: Bar::AtMost(1.5),
    }
}

/// A cell added to an open file of 1 GB, against one of 1 KB: the splice, without the disk.
pub fn append_growth() -> Row {
    let (large, small) = (
        decode(file(1000 * MB, 20_000, ENGLISH)),
        decode(file(1000, 200, ENGLISH)),
    );
    let cell = NewCell::message("1000000", "And now?");
    let value = ratio(|| append(&large, &cell), || append(&small, &cell));
    let name = "message_file_append_to_1gb_per_1kb";
    Row {
        name,
        value,
        unit: "x",
        bar: Bar::AtMost(3.0),
    }
}

/// The same on the disk, until it is safe there; short cells, so that there are many of them.
pub fn append_on_disk() -> Row {
    let name = "message_file_append_to_1gb_per_1kb_on_disk";
    let value = time_on_disk().unwrap_or_else(|error| {
        eprintln!("{name}: {error}");
        f64::NAN
    });
    Row {
        name,
        value,
        unit: "x",
        bar: Bar::AtMost(3.0),
    }
}

fn time_on_disk() -> Result<f64, Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let (data, state) = (folder.path().join("data"), folder.path().join("state"));
    let places = StoreFolders {
        data,
        state,
        ..StoreFolders::in_folder("")
    };
    let open = |name: &str, size| {
        let path = folder.path().join(name);
        std::fs::write(&path, file(size, 120, SHORT))?;
        std::fs::File::open(&path)?.sync_all()?;
        Ok::<_, Box<dyn std::error::Error>>(LockedFile::open(&path, &places)?)
    };
    let (mut large, mut small) = (
        open("large.msg.md", 1000 * MB)?,
        open("small.msg.md", 1000)?,
    );
    let mut best = (Duration::MAX, Duration::MAX);
    for _ in 0..30 {
        for (file, best) in [(&mut large, &mut best.0), (&mut small, &mut best.1)] {
            let start = Instant::now();
            file.append(|document| NewCell::message(document.next_id(), "And now?"))?;
            *best = (*best).min(start.elapsed());
        }
    }
    Ok(best.0.as_secs_f64() / best.1.as_secs_f64())
}

/// The memory that checking a file takes beyond the file itself, 64 MB and 160 bytes a cell, as a
/// share of that allowance.
pub fn memory() -> Row {
    let size = 200 * MB;
    let source = file(size, 120, SHORT);
    let allowed = source.len() + 64 * MB + 160 * decode(source).cells().len();
    let peak = std::env::current_exe().ok().and_then(|program| {
        let output = Command::new(program)
            .arg(format!("--memory={size}"))
            .output()
            .ok()?;
        String::from_utf8_lossy(&output.stdout)
            .trim()
            .parse::<f64>()
            .ok()
    });
    let value = peak.unwrap_or(f64::NAN) / allowed as f64;
    Row {
        name: "check_peak_memory_per_allowance",
        value,
        unit: "x",
        bar: Bar::AtMost(1.0),
    }
}

/// Checks one file and prints the most memory that this process ever had, in bytes.
pub fn check_once(size: usize) {
    let document = decode(file(size, 120, SHORT));
    black_box(document.problems().len());
    black_box(message_problems(&document, &session_of("x")).len());
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes =
        peak.and_then(|peak| peak.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    println!("{}", kilobytes.unwrap_or_default() * 1024);
}
