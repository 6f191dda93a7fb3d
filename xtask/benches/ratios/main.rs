//! The measurements of `cargo xtask bench`. A new one is a function that returns a [`Row`], named in
//! [`ROWS`].

mod chat_markdown;
mod claude_code;
mod command;
mod context;
mod growth;
mod message_file;
mod sessions;
mod shapes;
mod streaming;
mod terminal;
mod transcript;
mod wire;

use std::process::ExitCode;

use analects_core::{Json, Message};
use serde_json::value::RawValue;
use xtask::bench::{Bar, Row, ratio, table};

type Measure = fn() -> Row;

macro_rules! rows {
    ($($row:path,)*) => { &[$((stringify!($row), $row)),*] };
}

/// The rows, each with its path, by which one can ask for it alone.
const ROWS: &[(&str, Measure)] = rows![
    message_json,
    message_file::english_20k,
    message_file::chinese_20k,
    message_file::english_200,
    message_file::growth,
    message_file::append_growth,
    message_file::append_on_disk,
    message_file::memory,
    chat_markdown::english_20k,
    chat_markdown::chinese_20k,
    chat_markdown::english_200,
    claude_code::speed,
    claude_code::to_message_file,
    claude_code::to_full_message_file,
    claude_code::memory,
    command::start_up,
    command::start_up_per_nothing,
    command::list,
    command::turn,
    command::edit_per_check,
    terminal::first_words,
    transcript::append_without_sync,
    transcript::append_with_sync,
    transcript::tail,
    transcript::late_boundary,
    transcript::late_boundary_memory,
    transcript::envelopes,
    transcript::sendable,
    sessions::context_memory,
    sessions::context,
    sessions::resume_memory,
    sessions::resume,
    sessions::tail,
    sessions::list,
    streaming::import_transcript,
    streaming::export_transcript,
    streaming::export_readable,
    streaming::export_full,
    streaming::fork,
    streaming::convert_to_page,
    streaming::convert_to_message_file,
    growth::check_side_chains,
    growth::repair_side_chains,
    context::plan_cached,
    context::plan_cold,
    context::plan_per_message,
    context::plan_growth,
    context::trim_growth,
    context::trim_cold,
    wire::chat,
    wire::anthropic,
    wire::responses,
    wire::gemini,
    wire::large_event,
    wire::loopback,
];

fn main() -> ExitCode {
    if let Some(size) = std::env::args().find_map(|arg| arg.strip_prefix("--memory=")?.parse().ok())
    {
        message_file::check_once(size);
        return ExitCode::SUCCESS;
    }
    if let Some(folder) =
        std::env::args().find_map(|arg| Some(arg.strip_prefix("--load=")?.to_string()))
    {
        transcript::load_once(folder.as_ref());
        return ExitCode::SUCCESS;
    }
    if let Some(size) =
        std::env::args().find_map(|arg| arg.strip_prefix("--session=")?.parse().ok())
    {
        claude_code::read_once(size);
        return ExitCode::SUCCESS;
    }
    // Cargo adds an option of its own.
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| !arg.starts_with('-'))
        .collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|part| name.contains(part));
    let mut rows: Vec<Row> = ROWS
        .iter()
        .filter(|(name, _)| is_wanted(name))
        .map(|(_, row)| row())
        .collect();
    rows.extend(shapes::rows(is_wanted));
    if rows.is_empty() {
        let names: Vec<&str> = ROWS.iter().map(|(name, _)| *name).collect();
        eprintln!(
            "error: no measurement is called so; there are {}",
            names.join(", ")
        );
        return ExitCode::FAILURE;
    }
    print!("{}", table(&rows));
    if rows.iter().all(Row::holds) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// A message read and written, against the least that a reader can do: find where its JSON ends.
fn message_json() -> Row {
    let text = format!(
        r#"{{"v":1,"type":"assistant","id":"m1","parent_id":"m0","content":[{{"type":"text","text":"{}"}},{{"type":"tool_use","id":"t1","name":"read","input":{{"path":"a.md","lines":[1,2,3]}}}}],"model":"m","usage":{{"input_tokens":12,"output_tokens":34}},"other":{{"kept":1.50}}}}"#,
        "All that was said, word for word. ".repeat(20),
    );
    let round_trip = || Message::from_json(&text).map(|message| message.to_json());
    let scan = || serde_json::from_str::<&RawValue>(&text).map(|raw| raw.get().len());
    let value = ratio(round_trip, scan);
    Row {
        name: "message_json_round_trip_per_scan",
        value,
        unit: "x",
        bar: Bar::AtMost(40.0),
    }
}
