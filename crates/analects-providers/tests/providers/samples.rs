//! Recorded answers of a real server, where the samples are at hand; they are not part of this
//! repository.

use std::path::{Path, PathBuf};

use analects_core::{Message, fold};
use analects_providers::{Api, decode_count, error_from_response};
use analects_testkit::{how_many, skip};

use super::fixtures::check_what_came;
use super::{events, folded, stop_reason};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/samples/wire");

/// The samples that end in `suffix`, of the APIs that are read; none, said loudly, where there are none.
fn samples(test: &str, suffix: &str) -> Vec<PathBuf> {
    let is_wanted = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_request = name.ends_with(".req.json");
        kind(&name).is_some() && name.ends_with(suffix) && !is_request
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

fn status(path: &Path) -> u16 {
    let meta = std::fs::read_to_string(path.with_extension("meta")).unwrap();
    meta.lines()
        .nth(1)
        .unwrap()
        .split(' ')
        .next()
        .unwrap()
        .parse()
        .unwrap()
}

/// The API whose answer a file of this name holds.
fn kind(name: &str) -> Option<Api> {
    let apis = [
        ("-chat-", Api::OpenAiChat),
        ("-responses-", Api::OpenAiResponses),
        ("-messages-", Api::AnthropicMessages),
    ];
    apis.into_iter()
        .find(|(part, _)| name.contains(part))
        .map(|(_, api)| api)
}

fn api(path: &Path) -> Api {
    kind(&path.to_string_lossy()).unwrap()
}

#[test]
fn recorded_streams_are_whole_however_they_are_cut() {
    for path in samples("recorded_streams_are_whole_however_they_are_cut", ".sse") {
        let bytes = std::fs::read(&path).unwrap();
        let whole = events(api(&path), &[&bytes]);
        let step = how_many(1 + bytes.len() / 2_000, 1);
        for at in (0..bytes.len()).step_by(step) {
            let (left, right) = bytes.split_at(at);
            assert_eq!(
                events(api(&path), &[left, right]),
                whole,
                "{} cut at {at}",
                path.display()
            );
        }
        if api(&path) == Api::AnthropicMessages {
            check_what_came(api(&path), &path);
        }
        let folded = fold(&whole, Message::assistant("a", ""));
        assert_eq!(folded.complete, status(&path) == 200, "{}", path.display());
        assert_eq!(
            folded.error.is_some(),
            status(&path) != 200,
            "{}",
            path.display()
        );
    }
}

#[test]
fn recorded_answers_without_a_stream_say_the_same() {
    for path in samples(
        "recorded_answers_without_a_stream_say_the_same",
        "-stream.sse",
    ) {
        let plain = PathBuf::from(path.to_string_lossy().replace("-stream.sse", ".json"));
        if !plain.exists() || status(&path) != 200 {
            continue;
        }
        let streamed = folded(api(&path), &std::fs::read(&path).unwrap());
        let plain = folded(api(&path), &std::fs::read(&plain).unwrap());
        assert!(plain.complete && streamed.complete, "{}", path.display());
        assert_eq!(
            stop_reason(&streamed),
            stop_reason(&plain),
            "{}",
            path.display()
        );
        let (streamed, plain) = (streamed.message, plain.message);
        assert_eq!(streamed.text(), plain.text(), "{}", path.display());
        assert_eq!(streamed.model, plain.model, "{}", path.display());
        assert_eq!(
            streamed.body.content().is_some(),
            plain.body.content().is_some()
        );
    }
}

#[test]
fn recorded_errors_have_kinds_and_messages() {
    for path in samples("recorded_errors_have_kinds_and_messages", ".json") {
        if status(&path) < 400 {
            continue;
        }
        let body = std::fs::read(&path).unwrap();
        let error = error_from_response(api(&path), status(&path), |_| None, &body);
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let expected = match name.as_str() {
            name if name.ends_with("toolong") => "context_overflow",
            name if name.ends_with("401") => "auth",
            // There, this server says 500 where it means 400.
            _ if api(&path) == Api::AnthropicMessages => "server",
            _ => "bad_request",
        };
        assert_eq!(error.kind.as_str(), expected, "{name}");
        assert!(!error.message.starts_with('{'), "{name}: {}", error.message);
    }
}

#[test]
fn a_recorded_count_is_read() {
    for path in samples("a_recorded_count_is_read", "count_tokens.json") {
        let body = std::fs::read(&path).unwrap();
        assert_eq!(decode_count(Api::AnthropicMessages, &body), Some(43));
    }
}
