//! Gemini's answers, written by hand after its documentation: whole, cut, in pieces, and broken.
#![allow(clippy::unwrap_used, clippy::panic)]

mod encoding;
mod errors;

use std::path::PathBuf;

use analects_core::{
    ApiErrorKind, Block, Content, Folded, Json, Message, Raw, StopReason, StreamEvent, fold,
};
use proptest::prelude::*;

use crate::{Api, decoder};

fn folder() -> PathBuf {
    PathBuf::from(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/fixtures/gemini"
    ))
}

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(folder().join(name)).unwrap()
}

/// All streams, the one that is an array among them.
fn streams() -> Vec<(String, Vec<u8>)> {
    let names = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    let names = names.map(|name| name.into_string().unwrap());
    let mut names: Vec<_> = names
        .filter(|name| name.ends_with(".sse") || name.ends_with("-array.json"))
        .collect();
    names.retain(|name| !name.starts_with("error-"));
    names.sort();
    assert!(names.len() >= 7, "{names:?}");
    names
        .into_iter()
        .map(|name| (name.clone(), fixture(&name)))
        .collect()
}

fn events(pieces: &[&[u8]]) -> Vec<StreamEvent> {
    let mut decoder = decoder(Api::Gemini);
    let mut events: Vec<_> = pieces
        .iter()
        .flat_map(|piece| decoder.push(piece))
        .collect();
    events.extend(decoder.finish());
    events
}

fn folded(bytes: &[u8]) -> Folded {
    fold(&events(&[bytes]), Message::assistant("a", ""))
}

fn blocks(folded: &Folded) -> Vec<Block> {
    match folded.message.body.content() {
        Some(Content::Blocks(blocks)) => blocks.clone(),
        _ => Vec::new(),
    }
}

fn content(name: &str) -> String {
    folded(&fixture(name))
        .message
        .body
        .content()
        .unwrap()
        .to_json()
}

fn extra(name: &str) -> String {
    folded(&fixture(name)).message.extra.to_raw().to_string()
}

/// A stream of one chunk.
fn stream_of(chunk: &str) -> Vec<u8> {
    format!("data: {chunk}\n\n").into_bytes()
}

fn finished(reason: &str) -> Folded {
    let chunk = format!(
        r#"{{"candidates":[{{"content":{{"parts":[{{"text":"a"}}]}},"finishReason":"{reason}"}}]}}"#
    );
    folded(&stream_of(&chunk))
}

#[test]
fn every_cut_into_two_and_single_bytes_give_the_same_events() {
    for (name, bytes) in streams() {
        let whole = events(&[&bytes]);
        for at in 0..=bytes.len() {
            assert_eq!(
                events(&[&bytes[..at], &bytes[at..]]),
                whole,
                "{name} cut at {at}"
            );
        }
        let single: Vec<_> = bytes.chunks(1).collect();
        assert_eq!(events(&single), whole, "{name}");
    }
}

#[test]
fn streams_and_plain_answers_fold_into_the_same_message() {
    let mut pairs = 0;
    for (name, bytes) in streams() {
        let plain = name
            .replace("-array.json", ".json")
            .replace(".sse", ".json");
        let (streamed, plain) = (folded(&bytes), folded(&fixture(&plain)));
        assert!(streamed.complete && plain.complete, "{name}");
        assert_eq!(streamed, plain, "{name}");
        assert_eq!(streamed.problems, [], "{name}");
        let json = streamed.message.to_json();
        assert_eq!(
            Message::from_json(&json).unwrap(),
            streamed.message,
            "{name}"
        );
        pairs += 1;
    }
    assert!(pairs >= 7);
}

/// Whether `part` is what `whole` begins with; the last block of `part` may be shorter.
fn is_prefix(part: &[Block], whole: &[Block]) -> bool {
    let Some((last, before)) = part.split_last() else {
        return true;
    };
    let Some(same) = whole.get(before.len()) else {
        return false;
    };
    let grows = match (last, same) {
        (Block::Text(last), Block::Text(same)) => {
            same.text.as_str().starts_with(&*last.text.as_str())
        }
        (Block::Thinking(last), Block::Thinking(same)) => {
            same.thinking.as_str().starts_with(&*last.thinking.as_str())
        }
        (last, same) => last == same,
    };
    grows && whole.starts_with(before)
}

#[test]
fn an_answer_cut_off_anywhere_gives_a_prefix_and_no_stop() {
    for (name, bytes) in streams() {
        let whole = blocks(&folded(&bytes));
        let text = String::from_utf8(bytes.clone()).unwrap();
        let end = text.trim_end_matches(['\r', '\n', ']']).len();
        for at in 0..bytes.len() {
            let cut = folded(&bytes[..at]);
            assert!(
                is_prefix(&blocks(&cut), &whole),
                "{name} cut at {at}: {cut:?}"
            );
            assert_eq!(cut.complete, at >= end, "{name} cut at {at}");
            assert_eq!(cut.error, None, "{name} cut at {at}");
            if at < end {
                assert!(
                    cut.problems
                        .iter()
                        .any(|problem| problem.code == "interrupted-answer")
                );
            }
        }
    }
}

#[test]
fn blocks_keep_their_order_and_their_signatures() {
    assert_eq!(
        content("order.sse"),
        concat!(
            r#"[{"type":"thinking","thinking":"**Plan**\n\nLook it up first."},"#,
            r#"{"type":"text","text":"Let me see."},"#,
            r#"{"type":"tool_use","id":"gemini_r-order_2","name":"weather","#,
            r#""input":{"city": "Paris", "n": 12345678901234567890123},"#,
            r#""thoughtSignature":"CsQBAXLI2nw+/Qk9aGVsbG8tc2lnbmF0dXJl=="},"#,
            r#"{"type":"thinking","thinking":"And now?"},"#,
            r#"{"type":"text","text":"The time, too."},"#,
            r#"{"type":"tool_use","id":"fc-7","name":"time","input":{},"#,
            r#""thoughtSignature":"EvYC_second-seal/+=="}]"#,
        )
    );
    let message = folded(&fixture("order.sse")).message;
    assert_eq!(message.model.as_deref(), Some("gemini-3-pro-preview"));
    assert_eq!(message.response_id.as_deref(), Some("r-order"));
    assert!(message.to_json().contains(r#""stop_reason":"tool_use""#));
}

#[test]
fn a_part_with_a_signature_is_a_block_of_its_own() {
    assert_eq!(
        content("sealed-text.sse"),
        concat!(
            r#"[{"type":"thinking","thinking":"A thought","signature":"dGhvdWdodA=="},"#,
            r#"{"type":"text","text":"Answer"},"#,
            r#"{"type":"text","text":"","thoughtSignature":"bGFzdA=="},"#,
            r#"{"type":"text","text":" more"}]"#,
        )
    );
}

#[test]
fn calls_without_ids_get_the_same_ones_every_time() {
    let json = content("parallel-calls.sse");
    for id in ["gemini_r-par_0", "gemini_r-par_1", "gemini_r-par_2"] {
        assert!(json.contains(&format!(r#""id":"{id}""#)), "{json}");
    }
    // Without a name for the answer the chunk stands for it.
    let call = |prompt: u32| {
        let parts = r#"[{"functionCall":{"name":"f"}}]"#;
        let chunk = format!(
            r#"{{"candidates":[{{"content":{{"parts":{parts}}},"finishReason":"STOP"}}],"usageMetadata":{{"promptTokenCount":{prompt}}}}}"#
        );
        match &blocks(&folded(&stream_of(&chunk)))[0] {
            Block::ToolUse(call) => call.id.clone(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(call(1), call(1));
    assert_ne!(call(1), call(2));
    assert!(
        call(1).starts_with("gemini_") && call(1).ends_with("_0"),
        "{}",
        call(1)
    );
}

#[test]
fn code_files_and_unknown_parts_are_kept() {
    assert_eq!(
        content("code-and-files.sse"),
        concat!(
            r#"[{"type":"text","text":"I run it."},"#,
            r#"{"type":"gemini_part","part":{"executableCode": {"language": "PYTHON", "code": "print(1+1)\n"}}},"#,
            r#"{"type":"gemini_part","part":{"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2\n"}}},"#,
            r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="},"thoughtSignature":"aW1n"},"#,
            r#"{"type":"document","source":{"type":"url","url":"https://generativelanguage.googleapis.com/v1beta/files/abc","media_type":"application/pdf"}},"#,
            r#"{"type":"gemini_part","part":{"hologram": {"n": 12}, "partMetadata": {"k": "v"}}},"#,
            r#"{"type":"gemini_part","part":{"functionCall": {"name": "f", "willContinue": true, "partialArgs": [{"jsonPath": "$.a", "stringValue": "x"}]}}},"#,
            r#"{"type":"text","text":"Two.","gemini_part":{"partMetadata":{"k": [1]}}}]"#,
        )
    );
    let folded = folded(&fixture("code-and-files.sse"));
    assert!(matches!(blocks(&folded)[3], Block::Image(_)));
    assert!(
        folded
            .message
            .to_json()
            .contains(r#""stop_reason":"end_turn""#)
    );
}

#[test]
fn grounding_citations_and_other_candidates_are_kept() {
    let extra = extra("grounded.sse");
    for kept in [
        r#""safetyRatings":[{"category""#,
        r#""webSearchQueries": ["euro 2024"]"#,
        r#""citationSources""#,
        r#""avgLogprobs":-0.25"#,
        r#""other_candidates":{"index": 1"#,
        r#""modelStatus":{"modelStage""#,
    ] {
        assert!(extra.contains(kept), "{kept} in {extra}");
    }
}

#[test]
fn counts_have_the_cores_names() {
    let usage = folded(&fixture("order.sse")).message.usage.unwrap();
    assert_eq!(
        (usage.input_tokens, usage.cache_read_input_tokens),
        (Some(36), Some(64))
    );
    assert_eq!(
        (usage.output_tokens, usage.reasoning_tokens),
        (Some(65), Some(25))
    );
    assert_eq!(usage.total_tokens, None, "it is the sum");
    assert!(usage.extra.get("cacheTokensDetails").is_some());
    let usage = folded(&fixture("grounded.sse")).message.usage.unwrap();
    assert_eq!(
        (usage.input_tokens, usage.output_tokens),
        (Some(42), Some(2))
    );
    assert_eq!(
        usage.extra.get("toolUsePromptTokenCount").unwrap().as_str(),
        "30"
    );
}

#[test]
fn thinking_included_in_the_answer_is_not_counted_twice() {
    let output = |total: u32| {
        let usage = format!(
            r#"{{"promptTokenCount":10,"candidatesTokenCount":30,"thoughtsTokenCount":20,"totalTokenCount":{total}}}"#
        );
        let bytes = stream_of(&format!(r#"{{"responseId":"r","usageMetadata":{usage}}}"#));
        let usage = folded(&bytes).message.usage.unwrap();
        (
            usage.output_tokens,
            usage.reasoning_tokens,
            usage.total_tokens,
        )
    };
    assert_eq!(output(60), (Some(50), Some(20), None));
    assert_eq!(output(40), (Some(30), Some(20), None));
    assert_eq!(output(99), (Some(50), Some(20), Some(99)));
}

#[test]
fn a_total_is_corrected_by_a_later_one() {
    let chunk = |total: u32, rest: &str| {
        let usage = format!(r#"{{"promptTokenCount":5,"totalTokenCount":{total}{rest}}}"#);
        stream_of(&format!(r#"{{"responseId":"r","usageMetadata":{usage}}}"#))
    };
    let bytes = [chunk(9, ""), chunk(8, r#","candidatesTokenCount":3"#)].concat();
    assert_eq!(folded(&bytes).message.usage.unwrap().total_tokens, Some(8));
}

#[test]
fn reasons_have_the_cores_names() {
    let reasons = [
        ("STOP", "end_turn", false),
        ("MAX_TOKENS", "max_tokens", false),
        ("SAFETY", "refusal", true),
        ("RECITATION", "refusal", true),
        ("BLOCKLIST", "refusal", true),
        ("PROHIBITED_CONTENT", "refusal", true),
        ("SPII", "refusal", true),
        ("IMAGE_SAFETY", "refusal", true),
        ("MALFORMED_FUNCTION_CALL", "MALFORMED_FUNCTION_CALL", false),
        ("LANGUAGE", "LANGUAGE", false),
        ("SOMETHING_NEW", "SOMETHING_NEW", false),
    ];
    for (wire, ours, kept) in reasons {
        let folded = finished(wire);
        assert!(folded.complete);
        let json = folded.message.to_json();
        assert!(
            json.contains(&format!(r#""stop_reason":"{ours}""#)),
            "{json}"
        );
        assert_eq!(
            json.contains(&format!(r#""finishReason":"{wire}""#)),
            kept,
            "{json}"
        );
    }
}

#[test]
fn a_reason_with_every_chunk_ends_nothing() {
    let chunk = |text: &str| {
        stream_of(&format!(
            r#"{{"candidates":[{{"content":{{"parts":[{{"text":"{text}"}}]}},"finishReason":"STOP"}}]}}"#
        ))
    };
    let folded = folded(&[chunk("a"), chunk("b")].concat());
    assert_eq!(folded.message.text(), "ab");
    assert_eq!(blocks(&folded).len(), 1);
}

#[test]
fn a_refused_prompt_is_an_error_with_its_reason() {
    let folded = folded(&fixture("prompt-blocked.json"));
    let error = folded.error.clone().unwrap();
    assert_eq!(error.kind, ApiErrorKind::ContentRefused);
    assert_eq!(error.message, "the prompt was refused (PROHIBITED_CONTENT)");
    assert_eq!(error.error_type.as_deref(), Some("PROHIBITED_CONTENT"));
    assert!(!folded.complete);
    assert!(folded.message.extra.get("promptFeedback").is_some());
    assert_eq!(folded.message.usage.unwrap().input_tokens, Some(7));
    let message = r#"{"promptFeedback":{"blockReason":"OTHER","blockReasonMessage":"no"}}"#;
    let error = self::folded(message.as_bytes()).error.unwrap();
    assert_eq!(error.message, "the prompt was refused (OTHER): no");
}

#[test]
fn an_error_in_mid_stream_is_the_last_event() {
    let mut bytes = fixture("text.sse");
    let cut = bytes
        .windows(9)
        .rposition(|window| window == b"\r\n\r\ndata:")
        .unwrap();
    bytes.truncate(cut + 4);
    bytes.extend(stream_of(
        r#"{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}"#,
    ));
    bytes.extend(stream_of(r#"{"candidates":[{"finishReason":"STOP"}]}"#));
    let events = events(&[&bytes]);
    assert!(matches!(events.last(), Some(StreamEvent::Error(_))));
    let folded = fold(&events, Message::assistant("a", ""));
    assert_eq!(folded.message.text(), "Hello, 你好 😀");
    let error = folded.error.unwrap();
    assert_eq!(
        (error.kind, error.status),
        (ApiErrorKind::Overloaded, Some(503))
    );
    assert!(!folded.complete);
}

#[test]
fn a_malformed_chunk_costs_nothing_else() {
    let bytes = [
        stream_of("{\"oops"),
        fixture("text.sse"),
        stream_of("[DONE]"),
    ]
    .concat();
    let folded = folded(&bytes);
    assert!(folded.complete);
    assert_eq!(folded.message.text(), "Hello, 你好 😀!\n");
    assert_eq!(
        folded.message.extra.get("malformed_chunk").unwrap(),
        &Raw::string("{\"oops")
    );
}

#[test]
fn bodies_that_are_no_answer_say_so() {
    for body in ["<html>log in</html>", "[]", "[1, \"x\"]", "{\"cut"] {
        let folded = folded(body.as_bytes());
        assert_eq!(
            folded.error.unwrap().kind,
            ApiErrorKind::Malformed,
            "{body}"
        );
        assert!(
            folded.message.extra.get("malformed_chunk").is_some(),
            "{body}"
        );
    }
    let error = folded(&fixture("error-too-long-array.json")).error.unwrap();
    assert_eq!(error.kind, ApiErrorKind::ContextOverflow);
    for body in ["", "[", "[{\"candidates\":[", ": keep-alive\n\n"] {
        assert_eq!(events(&[body.as_bytes()]), [], "{body}");
    }
}

#[test]
fn odd_shapes_are_kept_and_do_no_harm() {
    let chunk = r#"{"candidates":[7,{"content":"x"},{"content":{"parts":[3,{},{"text":5},{"text":"a","functionCall":{"name":"f"}},{"functionCall":{"args":{}}},{"inlineData":{"mimeType":"image/png","data":"AA","displayName":"d"}}],"role":"user"},"finishReason":"STOP"}]}"#;
    let folded = folded(&stream_of(chunk));
    assert!(folded.complete);
    let blocks = blocks(&folded);
    assert_eq!(blocks.len(), 6);
    assert!(
        blocks.iter().all(|block| matches!(block, Block::Other(_))),
        "{blocks:?}"
    );
    let extra = folded.message.extra.to_raw().to_string();
    assert!(extra.contains(r#""other_candidates":7"#) && extra.contains(r#""content":["x","#));
    let json = folded.message.to_json();
    assert_eq!(Message::from_json(&json).unwrap(), folded.message);
}

#[test]
fn stop_reasons_of_calls_are_only_for_calls() {
    let chunk = r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f"}}]},"finishReason":"MAX_TOKENS"}]}"#;
    let events = events(&[&stream_of(chunk)]);
    let stop = StreamEvent::MessageStop {
        stop_reason: Some(StopReason::MaxTokens),
    };
    assert_eq!(events.last(), Some(&stop));
}

/// Text that is likely to look like an answer.
fn bytes_of_an_answer() -> impl Strategy<Value = Vec<u8>> {
    let pieces = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..20),
        proptest::sample::select(vec![
            "data: ", "\n\n", "\r", "[", "]", "{", "}", ",", "\"", "\\", "\"text\":\"a\"", "null",
            "{\"candidates\":[{\"content\":{\"parts\":[", "]},\"finishReason\":\"STOP\"}]}",
            "{\"functionCall\":{\"name\":\"f\",\"args\":{}},\"thoughtSignature\":\"s\"}",
            "{\"text\":\"\\ud83d\",\"thought\":true}", "{\"inlineData\":{\"mimeType\":\"a/b\",\"data\":\"\"}}",
            "\"usageMetadata\":{\"promptTokenCount\":18446744073709551615,\"toolUsePromptTokenCount\":9}",
            "{\"error\":{\"code\":429}}", "{\"promptFeedback\":{\"blockReason\":\"X\"}}",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
    ];
    proptest::collection::vec(pieces, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_harm(bytes in bytes_of_an_answer(), at in any::<prop::sample::Index>()) {
        let whole = events(&[&bytes]);
        let at = at.index(bytes.len() + 1);
        prop_assert_eq!(&events(&[&bytes[..at], &bytes[at..]]), &whole);
        let message = fold(&whole, Message::assistant("a", "")).message;
        prop_assert_eq!(Message::from_json(&message.to_json()).unwrap(), message);
    }
}
