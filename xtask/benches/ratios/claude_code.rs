//! What reading sessions of Claude Code costs, against parsing the same lines as JSON values.

use std::error::Error;
use std::hint::black_box;
use std::process::Command;
use std::time::Instant;

use analects_formats::claude_code::SessionReader;
use analects_formats::convert::{Conversion, FirstPassRunner, format_by_id};
use analects_formats::{FormatReader, ReadOptions, ReadOutput, WriteOptions, transcript};
use serde_json::Value;
use xtask::bench::{Bar, Row};

const MB: usize = 1_000_000;

/// The size of the pieces in which a file is read.
const PIECE: usize = 64 << 10;

/// The session that memory is measured with has a picture of this size now and then.
const PICTURE: usize = 4 * MB;

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

/// What all records of a session have.
fn shared(number: usize) -> String {
    let (id, parent) = (name(number), name(number.wrapping_sub(1)));
    format!(
        r#""parentUuid":"{parent}","isSidechain":false,"userType":"external","cwd":"/project","sessionId":"0197f3c2-0000-4000-8000-000000000000","version":"2.1.29","gitBranch":"main","slug":"quiet-green-tea","uuid":"{id}","timestamp":"2026-01-02T03:04:05.678Z""#
    )
}

fn name(number: usize) -> String {
    format!("0197f3c2-aaaa-4bbb-8ccc-{:012x}", number & 0xffff_ffff_ffff)
}

/// One turn as such sessions have them, by kind and by share of the bytes: a thought, words, a call, signs
/// of life, a result twice over, a snapshot.
fn turn(number: usize) -> String {
    let at = number * 6;
    let said =
        "What was said is kept, word for word, with \\\"quotes\\\" and\\nline ends. ".repeat(6);
    let code = "    let line = read(\\\"a.md\\\")?;\\n    out.push(line);\\n".repeat(30);
    let usage = r#"{"input_tokens":3,"cache_creation_input_tokens":400,"cache_read_input_tokens":50000,"cache_creation":{"ephemeral_5m_input_tokens":400,"ephemeral_1h_input_tokens":0},"output_tokens":7,"service_tier":"standard"}"#;
    let answer = |at: usize, block: &str| {
        format!(
            "{{{},\"type\":\"assistant\",\"requestId\":\"req_{number}\",\"message\":{{\"model\":\"claude-opus-4-5-20251101\",\"id\":\"msg_{number}\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[{block}],\"stop_reason\":null,\"stop_sequence\":null,\"usage\":{usage}}}}}\n",
            shared(at)
        )
    };
    let call = format!("toolu_{number}");
    let thought = format!(
        r#"{{"type":"thinking","thinking":"{said}","signature":"{}"}}"#,
        "EqRk".repeat(80)
    );
    let progress = format!(
        "{{{},\"type\":\"progress\",\"data\":{{\"type\":\"bash_progress\",\"output\":\"{code}\",\"fullOutput\":\"{code}\"}},\"toolUseID\":\"bash-1\",\"parentToolUseID\":\"{call}\"}}\n",
        shared(at + 3)
    );
    let result = format!(
        "{{{},\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":[{{\"tool_use_id\":\"{call}\",\"type\":\"tool_result\",\"content\":\"{code}\"}}]}},\"toolUseResult\":{{\"filePath\":\"/a.md\",\"oldString\":\"{said}\",\"newString\":\"{said}\",\"originalFile\":\"{code}{code}\",\"structuredPatch\":[{{\"oldStart\":1,\"lines\":[\"{said}\"]}}]}},\"sourceToolAssistantUUID\":\"{}\"}}\n",
        shared(at + 4),
        name(at + 2)
    );
    [
        answer(at, &thought),
        answer(at + 1, &format!(r#"{{"type":"text","text":"{said}"}}"#)),
        answer(at + 2, &format!(r#"{{"type":"tool_use","id":"{call}","name":"Edit","input":{{"file_path":"/a.md","old_string":"{said}","new_string":"{said}"}}}}"#)),
        progress,
        result,
        format!("{{{},\"type\":\"system\",\"subtype\":\"turn_duration\",\"durationMs\":812}}\n", shared(at + 5)),
    ]
    .concat()
}

/// Reads pieces and writes the transcript of them; gives its length.
fn convert(pieces: impl Iterator<Item = Vec<u8>>) -> usize {
    let mut reader = Box::new(SessionReader::new(&ReadOptions::named("talk.jsonl")));
    let (mut out, mut line, mut written) = (ReadOutput::default(), String::new(), 0);
    let mut write = |out: &mut ReadOutput| {
        for message in out.messages.drain(..) {
            line.clear();
            transcript::encode_to(&mut line, &message);
            written += black_box(&line).len();
        }
    };
    for piece in pieces {
        reader.feed(&piece, &mut out);
        write(&mut out);
    }
    reader.finish(&mut out);
    write(&mut out);
    written
}

/// A session to a transcript, against its lines as values: how many times as fast.
pub fn speed() -> Row {
    let bytes: Vec<u8> = (0..4000)
        .flat_map(|number| turn(number).into_bytes())
        .collect();
    let (mut ours, mut values) = (f64::MAX, f64::MAX);
    for _ in 0..8 {
        let start = Instant::now();
        black_box(convert(bytes.chunks(PIECE).map(<[u8]>::to_vec)));
        ours = ours.min(start.elapsed().as_secs_f64());
        let start = Instant::now();
        for line in bytes.split(|byte| *byte == b'\n') {
            black_box(serde_json::from_slice::<Value>(line).is_ok());
        }
        values = values.min(start.elapsed().as_secs_f64());
    }
    row(
        "claude_code_to_transcript_speed_per_values",
        Bar::AtLeast(0.33),
        Ok(values / ours),
    )
}

/// Converts pieces of a session to a format; gives the length of what is written.
fn convert_to(id: &str, pieces: &[u8], full: bool) -> Result<usize, Box<dyn Error>> {
    let from = format_by_id("claude-code").ok_or("no format for sessions")?;
    let to = format_by_id(id).ok_or("no format to write")?;
    let reader = |is_first_pass| {
        let options = ReadOptions {
            full,
            is_first_pass,
            ..ReadOptions::named("talk.jsonl")
        };
        from.reader(&options).ok_or("sessions cannot be read")
    };
    let options = WriteOptions {
        full,
        ..WriteOptions::default()
    };
    let writer = match to.first_pass(&options).filter(|it| !it.is_for_revisions()) {
        Some(first_pass) => {
            let mut runner = FirstPassRunner::new(reader(true)?, first_pass);
            pieces.chunks(PIECE).for_each(|piece| runner.feed(piece));
            runner.finish()
        }
        None => to.writer(&options).ok_or("the format cannot be written")?,
    };
    let mut conversion = Conversion::new(reader(false)?, writer);
    let mut written = 0;
    for piece in pieces.chunks(PIECE) {
        written += black_box(conversion.feed(piece)).len();
        written += black_box(std::mem::take(&mut conversion.tail)).len();
    }
    Ok(written + black_box(conversion.finish()).len())
}

/// How many times as long a session takes to a message file as to a page.
fn per_page(full: bool) -> Measured {
    let bytes: Vec<u8> = (0..4000)
        .flat_map(|number| turn(number).into_bytes())
        .collect();
    let (mut file, mut page) = (f64::MAX, f64::MAX);
    for _ in 0..8 {
        let start = Instant::now();
        convert_to("msgfile", &bytes, full)?;
        file = file.min(start.elapsed().as_secs_f64());
        let start = Instant::now();
        convert_to("markdown", &bytes, false)?;
        page = page.min(start.elapsed().as_secs_f64());
    }
    Ok(file / page)
}

/// A session to a message file for people, which takes two passes.
pub fn to_message_file() -> Row {
    row(
        "claude_code_to_message_file_per_page",
        Bar::AtMost(2.0),
        per_page(false),
    )
}

/// A session to a message file that keeps everything: it is written without being read back.
pub fn to_full_message_file() -> Row {
    row(
        "claude_code_to_full_message_file_per_page",
        Bar::AtMost(2.0),
        per_page(true),
    )
}

/// The memory that a session of 1 GB takes, as a share of its longest line and 64 MB.
pub fn memory() -> Row {
    let measure = || {
        let program = std::env::current_exe()?;
        let output = Command::new(program).arg("--session=1000").output()?;
        let peak: f64 = String::from_utf8_lossy(&output.stdout).trim().parse()?;
        Ok(peak / (64.0 * MB as f64 + PICTURE as f64))
    };
    row(
        "claude_code_1gb_peak_memory_per_line_and_64mb",
        Bar::AtMost(1.0),
        measure(),
    )
}

/// Reads a session of so many megabytes and prints the most memory that this process ever had, in bytes.
pub fn read_once(size: usize) {
    let picture = || {
        let data = "A".repeat(PICTURE - 1000);
        format!(
            "{{{},\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":[{{\"type\":\"image\",\"source\":{{\"type\":\"base64\",\"media_type\":\"image/png\",\"data\":\"{data}\"}}}}]}}}}\n",
            shared(0)
        )
    };
    let (mut made, mut number) = (0, 0);
    let lines = std::iter::from_fn(|| {
        number += 1;
        let line = if number % 5000 == 0 {
            picture()
        } else {
            turn(number)
        };
        made += line.len();
        (made < size * MB).then_some(line)
    });
    black_box(convert(lines.flat_map(|line| {
        line.into_bytes()
            .chunks(PIECE)
            .map(<[u8]>::to_vec)
            .collect::<Vec<_>>()
    })));
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes =
        peak.and_then(|peak| peak.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    println!("{}", kilobytes.unwrap_or_default() * 1024);
}
