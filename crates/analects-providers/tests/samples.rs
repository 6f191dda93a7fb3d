//! Recorded answers of a real server, where the samples are at hand; they are not part of this
//! repository.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::io::Write;
use std::path::{Path, PathBuf};

use analects_core::{Folded, Message, StreamEvent, fold};
use analects_providers::{Api, decoder, error_from_response};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/samples/wire");

/// The samples that end in `suffix`, of the APIs that are read; none, said loudly, where there are none.
fn samples(test: &str, suffix: &str) -> Vec<PathBuf> {
    let is_wanted = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        (name.contains("-chat-") || name.contains("-responses-")) && name.ends_with(suffix)
    };
    let entries = std::fs::read_dir(FOLDER).into_iter().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| is_wanted(path));
    paths.sort();
    if paths.is_empty() {
        skip(test, "no recorded answers");
    }
    paths
}

fn skip(test: &str, reason: &str) {
    let line = format!("SKIPPED: {test}: {reason}");
    eprintln!("{line}");
    if let Some(path) = std::env::var_os("ANALECTS_SKIPS") {
        let mut file = std::fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
        // In one write, since other tests append at the same time.
        file.write_all(format!("{line}\n").as_bytes()).unwrap();
    }
}

fn status(path: &Path) -> u16 {
    let meta = std::fs::read_to_string(path.with_extension("meta")).unwrap();
    meta.lines().nth(1).unwrap().split(' ').next().unwrap().parse().unwrap()
}

fn api(path: &Path) -> Api {
    let chat = path.to_string_lossy().contains("-chat-");
    if chat { Api::OpenAiChat } else { Api::OpenAiResponses }
}

fn events(api: Api, pieces: &[&[u8]]) -> Vec<StreamEvent> {
    let mut decoder = decoder(api);
    let mut events: Vec<_> = pieces.iter().flat_map(|piece| decoder.push(piece)).collect();
    events.extend(decoder.finish());
    events
}

fn folded(api: Api, bytes: &[u8]) -> Folded {
    fold(&events(api, &[bytes]), Message::assistant("a", ""))
}

#[test]
fn recorded_streams_are_whole_however_they_are_cut() {
    for path in samples("recorded_streams_are_whole_however_they_are_cut", ".sse") {
        let bytes = std::fs::read(&path).unwrap();
        let whole = events(api(&path), &[&bytes]);
        for at in 0..bytes.len() {
            let (left, right) = bytes.split_at(at);
            assert_eq!(events(api(&path), &[left, right]), whole, "{} cut at {at}", path.display());
        }
        let folded = fold(&whole, Message::assistant("a", ""));
        assert_eq!(folded.complete, status(&path) == 200, "{}", path.display());
        assert_eq!(folded.error.is_some(), status(&path) != 200, "{}", path.display());
    }
}

#[test]
fn recorded_answers_without_a_stream_say_the_same() {
    for path in samples("recorded_answers_without_a_stream_say_the_same", "-stream.sse") {
        let plain = PathBuf::from(path.to_string_lossy().replace("-stream.sse", ".json"));
        if !plain.exists() || status(&path) != 200 {
            continue;
        }
        let streamed = folded(api(&path), &std::fs::read(&path).unwrap()).message;
        let plain = folded(api(&path), &std::fs::read(&plain).unwrap()).message;
        assert_eq!(streamed.text(), plain.text(), "{}", path.display());
        assert_eq!(streamed.model, plain.model, "{}", path.display());
        assert_eq!(streamed.body.content().is_some(), plain.body.content().is_some());
    }
}

#[test]
fn recorded_errors_have_kinds_and_words() {
    for path in samples("recorded_errors_have_kinds_and_words", ".json") {
        let request = path.to_string_lossy().ends_with(".req.json");
        if request || status(&path) < 400 {
            continue;
        }
        let body = std::fs::read(&path).unwrap();
        let error = error_from_response(api(&path), status(&path), |_| None, &body);
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let expected = match name.as_str() {
            name if name.ends_with("toolong") => "context_overflow",
            name if name.ends_with("401") => "auth",
            _ => "bad_request",
        };
        assert_eq!(error.kind.as_str(), expected, "{name}");
        assert!(!error.message.starts_with('{'), "{name}: {}", error.message);
    }
}
