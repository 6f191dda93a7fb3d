//! Streams and plain answers written after the vendors' documentation, one folder for each API. A
//! `.sse` file is a stream, a `.json` file beside it the same answer without a stream, and a
//! `.message.txt` file what both become.

use std::path::{Path, PathBuf};

use analects_core::{Block, Json, Message, StopReason, fold};
use analects_providers::{Api, decoder};

use super::{blocks, events, fixtures_of, folded, stop_reason};

const APIS: [Api; 3] = [
    Api::AnthropicMessages,
    Api::OpenAiChat,
    Api::OpenAiResponses,
];

fn fixtures(suffix: &str) -> Vec<(Api, PathBuf)> {
    let mut found = Vec::new();
    for api in APIS {
        for entry in std::fs::read_dir(fixtures_of(api)).unwrap() {
            let path = entry.unwrap().path();
            if path.to_string_lossy().ends_with(suffix) {
                found.push((api, path));
            }
        }
    }
    assert!(found.len() > 10, "fixtures are missing");
    found.sort_by(|a, b| a.1.cmp(&b.1));
    found
}

/// Cutting within one event leaves no more trace than what the event tells and the state in which
/// the decoder waits for the next, so that not every cut needs to read the whole stream.
#[test]
fn every_cut_into_two_and_single_bytes_give_the_same_events() {
    for (api, path) in fixtures(".sse") {
        let text = std::fs::read_to_string(&path).unwrap();
        let mut base = decoder(api);
        for event in text.split_inclusive("\n\n") {
            let mut whole = base.clone();
            let told = whole.push(event.as_bytes());
            let state = format!("{whole:?}");
            for at in 0..=event.len() {
                let (left, right) = event.as_bytes().split_at(at);
                let mut cut = base.clone();
                let mut events = cut.push(left);
                events.extend(cut.push(right));
                assert_eq!(events, told, "{} cut at {at} of {event}", path.display());
                assert_eq!(format!("{cut:?}"), state, "{} cut at {at}", path.display());
            }
            base = whole;
        }
        let bytes = text.as_bytes();
        let single: Vec<_> = bytes.chunks(1).collect();
        assert_eq!(
            events(api, &single),
            events(api, &[bytes]),
            "{}",
            path.display()
        );
    }
}

/// The text of a block, and whether it may be cut short.
fn words(block: &Block) -> String {
    match block {
        Block::Text(text) => format!("text {}", text.text.as_str()),
        Block::Thinking(thought) => format!("thought {}", thought.thinking.as_str()),
        block => block.to_json(),
    }
}

#[test]
fn a_stream_that_is_cut_off_gives_a_prefix_and_no_half_call() {
    for (api, path) in fixtures(".sse") {
        check_what_came(api, &path);
    }
}

/// Cuts a stream off at every place, and looks at what came of it.
pub fn check_what_came(api: Api, path: &Path) {
    let bytes = std::fs::read(path).unwrap();
    let end = bytes.iter().rposition(|byte| *byte == b'}').unwrap();
    let whole = folded(api, &bytes);
    let expected = blocks(&whole);
    let mut decoder = decoder(api);
    let mut so_far = Vec::new();
    for (at, byte) in bytes.iter().enumerate() {
        let mut events = so_far.clone();
        events.extend(decoder.clone().finish());
        let cut = fold(&events, Message::assistant("a", ""));
        so_far.extend(decoder.push(&[*byte]));
        let place = format!("{} cut at {at}", path.display());
        let got = blocks(&cut);
        assert!(got.len() <= expected.len(), "{place}");
        for (got, whole) in got.iter().zip(&expected) {
            check_block(got, whole, &place);
        }
        if cut.complete {
            assert!(whole.complete && got.len() == expected.len(), "{place}");
            // Its last event says that it is over.
            assert!(api != Api::AnthropicMessages || at > end, "{place}");
        } else {
            assert_eq!(stop_reason(&cut), "interrupted", "{place}");
            assert!(!cut.problems.is_empty(), "{place}");
        }
    }
}

fn check_block(got: &Block, whole: &Block, place: &str) {
    match got {
        // A call is there when it is whole, and not before.
        Block::ToolUse(call) => {
            let Block::ToolUse(whole) = whole else {
                panic!("{place}")
            };
            assert_eq!(
                (&call.id, &call.input),
                (&whole.id, &whole.input),
                "{place}"
            );
        }
        // What is kept verbatim may be told twice, and is whole the second time.
        Block::Other(_) => assert!(matches!(whole, Block::Other(_)), "{place}"),
        got => {
            let got = words(got);
            let got = got.trim_end_matches('\u{fffd}');
            assert!(words(whole).starts_with(got), "{place}: {got:?}");
        }
    }
}

#[test]
fn a_stream_and_a_plain_answer_become_the_same_message() {
    let mut pairs = 0;
    for (api, path) in fixtures(".sse") {
        let plain = path.with_extension("json");
        let Ok(plain) = std::fs::read(&plain) else {
            continue;
        };
        let streamed = folded(api, &std::fs::read(&path).unwrap());
        let plain = folded(api, &plain);
        assert_eq!(streamed, plain, "{}", path.display());
        pairs += 1;
    }
    assert!(pairs > 10);
}

/// With `ANALECTS_BLESS` set, the files are written instead of compared.
#[test]
fn every_stream_becomes_the_message_beside_it() {
    // Those of Anthropic have tests of their own.
    for (api, path) in fixtures(".sse")
        .into_iter()
        .filter(|it| it.0 != Api::AnthropicMessages)
    {
        let folded = folded(api, &std::fs::read(&path).unwrap());
        let error = folded
            .error
            .as_ref()
            .map(|error| serde_json::to_string(error).unwrap());
        let mut said = vec![folded.message.to_json()];
        said.extend(error);
        said.extend(
            folded
                .problems
                .iter()
                .map(|problem| problem.message.clone()),
        );
        let said = said.join("\n") + "\n";
        let expected = path.with_extension("message.txt");
        if std::env::var_os("ANALECTS_BLESS").is_some() {
            std::fs::write(&expected, &said).unwrap();
        }
        assert_eq!(
            said,
            std::fs::read_to_string(&expected).unwrap(),
            "{}",
            path.display()
        );
    }
}

#[test]
fn an_answer_that_failed_is_not_complete() {
    for (api, path) in fixtures(".sse") {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let bad = name == "failed" || name.starts_with("error") || name.starts_with("overloaded");
        let folded = folded(api, &std::fs::read(&path).unwrap());
        assert_eq!(folded.complete, !bad, "{name}");
        assert_eq!(folded.error.is_some(), bad, "{name}");
        let interrupted = folded
            .message
            .to_json()
            .contains(StopReason::Interrupted.as_str());
        assert_eq!(interrupted, bad, "{name}");
    }
}
