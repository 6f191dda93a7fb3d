//! Answers in the shape of Anthropic's Messages: fixtures of our own, and recorded answers of a real
//! server where the samples are at hand; those are not part of this repository.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

use std::io::Write;
use std::path::{Path, PathBuf};

use analects_core::{
    ApiErrorKind, Block, Content, Folded, Json, Message, StreamEvent, Text, TokenUsage, fold,
};
use analects_providers::{Api, decode_count, decoder, error_from_response};
use proptest::prelude::*;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/anthropic");
const SAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/samples/wire");

fn files(folder: &str, wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| wanted(&path.file_name().unwrap_or_default().to_string_lossy()));
    paths.sort();
    paths
}

fn fixtures(suffix: &str) -> Vec<PathBuf> {
    let paths = files(FIXTURES, |name| name.ends_with(suffix));
    assert!(!paths.is_empty());
    paths
}

/// The recorded answers that end in `suffix`; none, said loudly, where there are none.
fn samples(test: &str, suffix: &str) -> Vec<PathBuf> {
    let wanted = |name: &str| {
        name.contains("-messages-") && name.ends_with(suffix) && !name.ends_with(".req.json")
    };
    let paths = files(SAMPLES, wanted);
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

fn events(pieces: &[&[u8]]) -> Vec<StreamEvent> {
    let mut decoder = decoder(Api::AnthropicMessages);
    let mut events: Vec<_> = pieces.iter().flat_map(|piece| decoder.push(piece)).collect();
    events.extend(decoder.finish());
    events
}

fn folded(bytes: &[u8]) -> Folded {
    fold(&events(&[bytes]), Message::assistant("a", ""))
}

fn fixture(name: &str) -> Folded {
    folded(&std::fs::read(format!("{FIXTURES}/{name}")).unwrap())
}

fn blocks(folded: &Folded) -> Vec<Block> {
    match folded.message.body.content() {
        Some(Content::Blocks(blocks)) => blocks.clone(),
        _ => Vec::new(),
    }
}

fn json(folded: &Folded) -> String {
    folded.message.body.content().unwrap().to_json()
}

fn stop_reason(folded: &Folded) -> String {
    let json = folded.message.to_json();
    let at = json.find("\"stop_reason\":\"").unwrap() + 15;
    json[at..].split('"').next().unwrap().to_string()
}

fn all_streams(test: &str) -> Vec<(String, Vec<u8>)> {
    let paths = fixtures(".sse").into_iter().chain(samples(test, ".sse"));
    paths.map(|path| (path.display().to_string(), std::fs::read(&path).unwrap())).collect()
}

#[test]
fn a_stream_is_the_same_however_it_is_split() {
    for (name, bytes) in all_streams("a_stream_is_the_same_however_it_is_split") {
        let whole = events(&[&bytes]);
        for at in 0..bytes.len() {
            let (left, right) = bytes.split_at(at);
            assert_eq!(events(&[left, right]), whole, "{name} split at {at}");
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(events(&single), whole, "{name} byte by byte");
    }
}

/// Whether `part` may be what came of `whole` before the stream was cut.
fn is_start(part: &Block, whole: &Block) -> bool {
    let starts = |part: &Text, whole: &Text| whole.as_str().starts_with(&*part.as_str());
    match (part, whole) {
        (Block::Text(part), Block::Text(whole)) => starts(&part.text, &whole.text),
        (Block::Thinking(part), Block::Thinking(whole)) => {
            let sealed = part.signature.is_none() || part.signature == whole.signature;
            starts(&part.thinking, &whole.thinking) && sealed
        }
        _ => part == whole,
    }
}

#[test]
fn a_stream_that_is_cut_gives_what_came() {
    for (name, bytes) in all_streams("a_stream_that_is_cut_gives_what_came") {
        let whole = folded(&bytes);
        let all = blocks(&whole);
        // The last event is complete with its last bracket, whether its blank line comes or not.
        let end = bytes.iter().rposition(|byte| *byte == b'}').unwrap();
        for at in 0..end {
            let cut = folded(&bytes[..at]);
            let came = blocks(&cut);
            assert!(!cut.complete, "{name} cut at {at}");
            assert_eq!(stop_reason(&cut), "interrupted");
            assert!(came.len() <= all.len(), "{name} cut at {at}");
            for (nth, (part, whole)) in came.iter().zip(&all).enumerate() {
                let last = nth + 1 == came.len();
                assert!(part == whole || last && is_start(part, whole), "{name} cut at {at}");
            }
        }
    }
}

#[test]
fn a_stream_says_what_a_plain_answer_says() {
    for path in fixtures(".json") {
        let plain = folded(&std::fs::read(&path).unwrap());
        let streamed = folded(&std::fs::read(path.with_extension("sse")).unwrap());
        assert!(plain.complete && streamed.complete, "{}", path.display());
        assert_eq!(streamed, plain, "{}", path.display());
    }
    let test = "a_stream_says_what_a_plain_answer_says";
    for path in samples(test, "-stream.sse").iter().filter(|path| status(path) == 200) {
        let plain = PathBuf::from(path.to_string_lossy().replace("-stream.sse", ".json"));
        let Ok(plain) = std::fs::read(plain) else { continue };
        let (plain, streamed) = (folded(&plain), folded(&std::fs::read(path).unwrap()));
        assert!(plain.complete && streamed.complete, "{}", path.display());
        assert_eq!(streamed.message.text(), plain.message.text(), "{}", path.display());
        assert_eq!(stop_reason(&streamed), stop_reason(&plain), "{}", path.display());
    }
}

#[test]
fn blocks_keep_their_order_and_their_seals() {
    assert_eq!(
        json(&fixture("thinking-text-call-twice.sse")),
        concat!(
            r#"[{"type":"thinking","thinking":"Let me look.","signature":"EqQBCgIYAhIM1gbcDa9GJwZA2b3h"},"#,
            r#"{"type":"text","text":"Looking."},"#,
            r#"{"type":"tool_use","id":"toolu_01A","name":"weather","input":{"city": "Paris", "n": 123456789012345678901},"caller":{"type":"direct"}},"#,
            r#"{"type":"redacted_thinking","data":"EmwKAhgBEgy3va3pzix"},"#,
            r#"{"type":"text","text":"And the time."},"#,
            r#"{"type":"tool_use","id":"toolu_01B","name":"time","input":{}}]"#,
        )
    );
}

#[test]
fn tokens_are_counted_by_kind() {
    let usage = fixture("thinking-text-call-twice.sse").message.usage.unwrap();
    let extra = usage.extra.to_raw();
    assert_eq!(extra.as_str(), r#"{"service_tier":"standard"}"#);
    assert_eq!(
        TokenUsage { extra: Default::default(), ..*usage },
        TokenUsage {
            input_tokens: Some(25),
            output_tokens: Some(120),
            cache_creation_input_tokens: Some(100),
            cache_creation_5m_tokens: Some(60),
            cache_creation_1h_tokens: Some(40),
            cache_read_input_tokens: Some(2000),
            ..TokenUsage::default()
        }
    );
}

#[test]
fn server_tools_and_citations_are_kept_as_they_are() {
    let folded = fixture("server-tool-and-citations.sse");
    let json = json(&folded);
    assert!(json.starts_with(r#"[{"type":"server_tool_use","id":"srvtoolu_01","name":"web_search","input":{"query":"rain"}},{"type":"web_search_tool_result""#), "{json}");
    assert!(json.contains(r#""encrypted_content":"EqgfCioIARgB","page_age":null"#), "{json}");
    assert!(json.contains(r#"{"type":"text","text":"It rains.","citations":[{"#), "{json}");
    assert!(json.ends_with(r#"{"type":"compaction","content":"What was said."}]"#), "{json}");
    assert_eq!(stop_reason(&folded), "pause_turn");
    assert!(folded.message.extra.get("container").is_some());
}

#[test]
fn half_of_a_server_tools_call_is_kept_beside_the_answer() {
    let stream =
        std::fs::read_to_string(format!("{FIXTURES}/server-tool-and-citations.sse")).unwrap();
    let cut = stream.find("\"rain").or_else(|| stream.find("rain")).unwrap() - 40;
    let folded = folded(&stream.as_bytes()[..cut]);
    assert_eq!(blocks(&folded), []);
    let partial = folded.message.extra.get("partial_block").unwrap().as_str();
    assert!(partial.contains(r#""partial_json":"{\"query\":""#), "{partial}");
}

#[test]
fn an_error_in_mid_stream_keeps_what_came() {
    let folded = fixture("overloaded-in-mid-stream.sse");
    assert!(!folded.complete);
    assert_eq!(folded.message.text(), "So far");
    let error = folded.error.unwrap();
    assert_eq!(error.kind, ApiErrorKind::Overloaded);
    assert_eq!(error.message, "Overloaded");
    assert_eq!(error.error_type.as_deref(), Some("overloaded_error"));
    assert_eq!(error.request_id.as_deref(), Some("req_011"));
}

#[test]
fn a_call_that_the_limit_cut_is_no_call() {
    let folded = fixture("call-cut-by-the-limit.sse");
    assert!(folded.complete);
    assert_eq!(json(&folded), r#"[{"type":"text","text":"Writing."}]"#);
    assert_eq!(stop_reason(&folded), "max_tokens");
    assert_eq!(folded.problems[0].code, "partial-tool-call");
    let partial = folded.message.extra.get("partial_tool_use").unwrap().as_str();
    assert!(partial.contains("Once up"), "{partial}");
}

#[test]
fn a_call_that_is_not_json_is_still_a_call() {
    let stream = std::fs::read_to_string(format!("{FIXTURES}/call-cut-by-the-limit.sse")).unwrap();
    let folded = folded(stream.replace("max_tokens", "tool_use").as_bytes());
    assert!(json(&folded).contains(r#""malformed_input":true"#), "{}", json(&folded));
}

#[test]
fn what_nobody_knows_survives() {
    let folded = fixture("unknown-everything.sse");
    assert!(folded.complete);
    assert_eq!(stop_reason(&folded), "model_context_window_exceeded");
    assert_eq!(
        json(&folded),
        r#"[{"type":"text","text":"Hi","mood":"fine"},{"type":"hologram","shape":{"n":2}}]"#
    );
    assert_eq!(
        folded.message.extra.to_raw().as_str(),
        concat!(
            r#"{"novelty":[1],"unknown_event":{"type":"new_event","n":1},"#,
            r#""unknown_delta":{"type":"content_block_delta","index":0,"delta":{"type":"mood_delta","mood":"better"}},"#,
            r#""malformed_chunk":"{\"type\":\"content_block_delta\",\"ind","#,
            r#""stop_details":{"type":"x"},"late":true}"#,
        )
    );
    assert_eq!(folded.message.usage.unwrap().extra.to_raw().as_str(), r#"{"new_count":5}"#);
}

#[test]
fn every_stop_reason_is_told() {
    let stream = std::fs::read_to_string(format!("{FIXTURES}/text-with-ping.sse")).unwrap();
    let words = ["end_turn", "max_tokens", "tool_use", "pause_turn", "refusal", "of_the_future"];
    for word in words {
        let folded = folded(
            stream.replace("\"stop_sequence\",\"stop", &format!("\"{word}\",\"stop")).as_bytes(),
        );
        assert_eq!(stop_reason(&folded), word);
    }
    let stopped = folded(stream.as_bytes());
    assert_eq!(stop_reason(&stopped), "stop_sequence");
    assert_eq!(stopped.message.extra.get("stop_sequence").unwrap().as_str(), "\"END\"");
    assert_eq!(events(&[stream.as_bytes()]).iter().filter(|e| **e == StreamEvent::Ping).count(), 1);
}

#[test]
fn halves_of_a_character_meet() {
    let stream = std::fs::read_to_string(format!("{FIXTURES}/text-with-ping.sse")).unwrap();
    let stream = stream.replace("Grüß\"", "a\\ud83d\"").replace(" dich", "\\ude00b");
    assert_eq!(folded(stream.as_bytes()).message.text(), "a😀b, 世界 😀");
}

#[test]
fn recorded_errors_have_kinds_and_words() {
    for path in samples("recorded_errors_have_kinds_and_words", ".json") {
        if status(&path) < 400 {
            continue;
        }
        let body = std::fs::read(&path).unwrap();
        let error = error_from_response(Api::AnthropicMessages, status(&path), |_| None, &body);
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let expected = match name.as_str() {
            name if name.ends_with("toolong") => "context_overflow",
            name if name.ends_with("401") => "auth",
            // This server says 500 where it means 400.
            _ => "server",
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

/// Pieces of streams, in any order.
fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let stream = fixtures(".sse").into_iter().map(|path| std::fs::read_to_string(path).unwrap());
    let mut tokens: Vec<String> = stream
        .flat_map(|stream| stream.split_inclusive("\n\n").map(str::to_string).collect::<Vec<_>>())
        .collect();
    let odd = [
        "data: {\"type\":\"content_block_stop\"}\n\n",
        "data: {",
        "\r",
        "\n\n",
        "\u{0}",
        "data: null\n\n",
    ];
    tokens.extend(odd.map(str::to_string));
    proptest::collection::vec(proptest::sample::select(tokens), 0..12)
        .prop_map(|tokens| tokens.concat().into_bytes())
}

fn check_any(bytes: &[u8]) {
    let whole = events(&[bytes]);
    let (left, right) = bytes.split_at(bytes.len() / 2);
    assert_eq!(events(&[left, right]), whole);
    let message = fold(&whole, Message::assistant("a", "")).message;
    assert_eq!(Message::from_json(&message.to_json()), Ok(message));
}

proptest! {
    #[test]
    fn any_bytes_can_be_read(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        check_any(&bytes);
    }

    #[test]
    fn any_order_of_events_can_be_read(bytes in pieces()) {
        check_any(&bytes);
    }
}

#[test]
fn many_unknown_members_take_time_in_proportion() {
    const MEMBERS: usize = 50_000;
    let members: Vec<_> = (0..MEMBERS).map(|n| format!("\"k{n}\":{n}")).collect();
    let members = members.join(",");
    let usage =
        format!("data: {{\"type\":\"message_start\",\"message\":{{\"usage\":{{{members}}}}}}}\n\n");
    let start = "data: {\"type\":\"content_block_start\",\"index\":0,\
                 \"content_block\":{\"type\":\"new\"}}\n\n";
    let delta = format!(
        "data: {{\"type\":\"content_block_delta\",\"index\":0,\
         \"delta\":{{\"type\":\"new_delta\",{members}}}}}\n\n"
    );
    let end = "data: {\"type\":\"content_block_stop\",\"index\":0}\n\n\
               data: {\"type\":\"message_stop\"}\n\n";
    let begin = std::time::Instant::now();
    let stream = format!("{usage}{start}{delta}{end}");
    let folded = fold(&events(&[stream.as_bytes()]), Message::assistant("a", ""));
    assert_eq!(folded.message.usage.unwrap().extra.len(), MEMBERS);
    assert!(begin.elapsed() < std::time::Duration::from_secs(20), "{:?}", begin.elapsed());
}

#[test]
fn what_only_the_first_counts_said_stays() {
    let stream = "data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":1,\
                  \"service_tier\":\"standard\"}}}\n\n\
                  data: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":2}}\n\n\
                  data: {\"type\":\"message_stop\"}\n\n";
    let usage = fold(&events(&[stream.as_bytes()]), Message::assistant("a", "")).message.usage;
    let usage = usage.unwrap();
    assert_eq!((usage.input_tokens, usage.output_tokens), (Some(1), Some(2)));
    assert_eq!(usage.extra.get("service_tier").unwrap().as_str(), "\"standard\"");
}
