//! Ten turns with servers that send everything that providers usually send: the file holds the words, and the
//! journal holds the technical details.

use analects_testkit::{Rules, validate};
use serde_json::{Value, json};

use crate::sandbox::Sandbox;
use crate::server::{Server, Step, stream_head};

/// A provider: how to ask it, what it sends, and what it expects back.
struct Provider {
    model: &'static str,
    /// The variables for its address and its key.
    variables: [&'static str; 2],
    rules: Rules,
    events: fn(turn: usize) -> Vec<Value>,
    /// Whether events carry their names.
    is_named: bool,
    /// What the next request carries of the details of a turn.
    sealed: fn(turn: usize) -> Option<String>,
}

const PROVIDERS: [Provider; 4] = [
    Provider {
        model: "openai/gpt-5-mini",
        variables: ["OPENAI_BASE_URL", "OPENAI_API_KEY"],
        rules: Rules::OpenAiChat,
        events: chat_events,
        is_named: false,
        sealed: |_| None,
    },
    Provider {
        model: "openai-responses/gpt-5-mini",
        variables: ["OPENAI_BASE_URL", "OPENAI_API_KEY"],
        rules: Rules::OpenAiResponses,
        events: responses_events,
        is_named: true,
        sealed: |turn| Some(format!("encrypted-{turn}-")),
    },
    Provider {
        model: "anthropic/claude-sonnet-4-5",
        variables: ["ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"],
        rules: Rules::Anthropic,
        events: anthropic_events,
        is_named: true,
        sealed: |turn| Some(format!("signature-{turn}-")),
    },
    Provider {
        model: "gemini/gemini-2.5-flash",
        variables: ["GEMINI_BASE_URL", "GEMINI_API_KEY"],
        rules: Rules::Gemini,
        events: gemini_events,
        is_named: false,
        sealed: |turn| Some(format!("dGhvdWdodA{turn:02}")),
    },
];

/// A thousand characters of plain words.
fn answer_text(turn: usize) -> String {
    let words = format!("Turn {turn} says what a reader of the file wants to read. ");
    words
        .repeat(1 + 1000 / words.len())
        .chars()
        .take(999)
        .chain(['.'])
        .collect()
}

fn question_text(turn: usize) -> String {
    let words = format!("Question {turn}: what would somebody ask who wants to know it exactly? ");
    words.repeat(2).chars().take(99).chain(['?']).collect()
}

fn signature(name: &str, turn: usize) -> String {
    format!("{name}-{turn}-{}", "QUJD".repeat(80))
}

fn chat_events(turn: usize) -> Vec<Value> {
    let chunk = |delta: Value, finish: Value| {
        json!({
            "id": format!("chatcmpl-{turn}"), "object": "chat.completion.chunk", "created": 1_763_000_000,
            "model": "gpt-5-mini-2025-08-07", "service_tier": "default", "system_fingerprint": "fp_1",
            "obfuscation": "aB3x",
            "choices": [{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}],
        })
    };
    let mut usage = chunk(json!({}), Value::Null);
    usage["choices"] = json!([]);
    usage["usage"] = json!({
        "prompt_tokens": 1200, "completion_tokens": 190, "total_tokens": 1390,
        "prompt_tokens_details": {"cached_tokens": 1024, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 64, "audio_tokens": 0,
            "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0},
    });
    vec![
        chunk(
            json!({"role": "assistant", "content": "", "refusal": null}),
            Value::Null,
        ),
        chunk(json!({"content": answer_text(turn)}), Value::Null),
        chunk(json!({}), json!("stop")),
        usage,
    ]
}

fn responses_events(turn: usize) -> Vec<Value> {
    let thought = json!({"id": format!("rs_{turn}"), "type": "reasoning", "summary": [],
        "encrypted_content": signature("encrypted", turn)});
    let part = json!({"type": "output_text", "annotations": [], "logprobs": [], "text": answer_text(turn)});
    let message = json!({"id": format!("msg_{turn}"), "type": "message", "status": "completed",
        "content": [part], "role": "assistant"});
    let mut begun = message.clone();
    begun["content"] = json!([]);
    let response = json!({
        "id": format!("resp_{turn}"), "object": "response", "created_at": 1, "status": "completed",
        "error": null, "incomplete_details": null, "instructions": null, "model": "gpt-5-mini-2025-08-07",
        "output": [thought, message], "parallel_tool_calls": true, "previous_response_id": null,
        "service_tier": "default", "store": false, "temperature": 1.0, "top_p": 1.0, "truncation": "disabled",
        "reasoning": {"effort": "medium", "summary": null}, "text": {"format": {"type": "text"}}, "metadata": {},
        "usage": {"input_tokens": 1200, "input_tokens_details": {"cached_tokens": 1024}, "output_tokens": 190,
            "output_tokens_details": {"reasoning_tokens": 64}, "total_tokens": 1390},
    });
    let of_text = |kind: &str, key: &str| {
        let mut event = json!({"type": kind, "item_id": format!("msg_{turn}"), "output_index": 1,
            "content_index": 0, "logprobs": []});
        event[key] = json!(answer_text(turn));
        event
    };
    vec![
        json!({"type": "response.created", "response": {"id": format!("resp_{turn}"), "object": "response",
            "status": "in_progress", "model": "gpt-5-mini-2025-08-07", "output": [], "error": null}}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": thought}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": thought}),
        json!({"type": "response.output_item.added", "output_index": 1, "item": begun}),
        of_text("response.output_text.delta", "delta"),
        of_text("response.output_text.done", "text"),
        json!({"type": "response.output_item.done", "output_index": 1, "item": message}),
        json!({"type": "response.completed", "response": response}),
    ]
}

fn anthropic_events(turn: usize) -> Vec<Value> {
    let usage = json!({"input_tokens": 25, "cache_creation_input_tokens": 100, "cache_read_input_tokens": 1075,
        "cache_creation": {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 0},
        "output_tokens": 1, "service_tier": "standard"});
    let start = |index: usize, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let delta = |index: usize, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let stop = |index: usize| json!({"type": "content_block_stop", "index": index});
    vec![
        json!({"type": "message_start", "message": {"id": format!("msg_{turn}"), "type": "message",
            "role": "assistant", "content": [], "model": "claude-sonnet-4-5-20250929", "stop_reason": null,
            "stop_sequence": null, "usage": usage}}),
        start(
            0,
            json!({"type": "thinking", "thinking": "", "signature": ""}),
        ),
        delta(
            0,
            json!({"type": "thinking_delta", "thinking": "Let me think about it."}),
        ),
        delta(
            0,
            json!({"type": "signature_delta", "signature": signature("signature", turn)}),
        ),
        stop(0),
        start(
            1,
            json!({"type": "redacted_thinking", "data": signature("redacted", turn)}),
        ),
        stop(1),
        start(2, json!({"type": "text", "text": ""})),
        delta(2, json!({"type": "text_delta", "text": answer_text(turn)})),
        stop(2),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": null},
            "usage": {"output_tokens": 190}}),
        json!({"type": "message_stop"}),
    ]
}

fn gemini_events(turn: usize) -> Vec<Value> {
    let chunk = |part: Value, finish: Option<&str>| {
        let mut candidate = json!({"content": {"parts": [part], "role": "model"}, "index": 0});
        if let Some(reason) = finish {
            candidate["finishReason"] = json!(reason);
        }
        json!({"candidates": [candidate], "modelVersion": "gemini-2.5-flash", "responseId": format!("r-{turn}"),
            "usageMetadata": {"promptTokenCount": 1200, "candidatesTokenCount": 190, "totalTokenCount": 1454,
                "thoughtsTokenCount": 64, "cachedContentTokenCount": 1024,
                "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 1200}]}})
    };
    let signature = format!("dGhvdWdodA{turn:02}{}", "QUJD".repeat(40));
    vec![
        chunk(json!({"text": "I think about it.", "thought": true}), None),
        chunk(
            json!({"text": answer_text(turn), "thoughtSignature": signature}),
            Some("STOP"),
        ),
    ]
}

/// The answer to one turn, as the provider's server sends it.
fn answer_stream(provider: &Provider, turn: usize) -> Vec<Step> {
    let mut text = String::new();
    for event in (provider.events)(turn) {
        if let Some(name) = event["type"].as_str().filter(|_| provider.is_named) {
            text.push_str(&format!("event: {name}\n"));
        }
        text.push_str(&format!("data: {event}\n\n"));
    }
    if provider.rules == Rules::OpenAiChat {
        text.push_str("data: [DONE]\n\n");
    }
    vec![stream_head(), Step::Send(text)]
}

/// Asks the next question, and returns the body of the request.
#[track_caller]
fn ask_next_question(
    provider: &Provider,
    server: &Server,
    sandbox: &Sandbox,
    turn: usize,
) -> String {
    let mut args = vec!["chat", "a.msg.md"];
    if turn == 1 {
        args.extend(["-m", provider.model]);
    }
    let question = question_text(turn);
    args.push(&question);
    let [address, key] = provider.variables;
    let mut command = sandbox.command(&args);
    command
        .env(address, &server.base_url)
        .env(key, "sk-0123456789abcdef");
    let output = command.output().unwrap();
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let body = server.request();
    assert_eq!(
        validate(provider.rules, body.as_bytes()),
        [],
        "{}: {body}",
        provider.model
    );
    body
}

#[test]
fn the_file_holds_only_words_and_the_journal_the_details() {
    for provider in &PROVIDERS {
        let server = Server::new((1..=12).map(|turn| answer_stream(provider, turn)).collect());
        let sandbox = Sandbox::new();
        for turn in 1..=10 {
            ask_next_question(provider, &server, &sandbox, turn);
        }
        let file = sandbox.read("a.msg.md");
        check_file(provider, &file);
        let body = ask_next_question(provider, &server, &sandbox, 11);
        let sealed: Vec<String> = (1..=10).filter_map(provider.sealed).collect();
        for seal in &sealed {
            assert!(
                body.contains(seal.as_str()),
                "{}: {seal} is not in {body}",
                provider.model
            );
        }
        // Another machine has no journal.
        std::fs::remove_dir_all(sandbox.path("home/state/journal")).unwrap();
        sandbox.write("a.msg.md", file);
        let body = ask_next_question(provider, &server, &sandbox, 12);
        assert!(
            sealed.iter().all(|seal| !body.contains(seal.as_str())),
            "{}",
            provider.model
        );
        assert!(body.contains("Turn 10 says"), "{}", provider.model);
    }
}

/// Checks that the file has no JSON, little metadata, and numbered ids.
#[track_caller]
fn check_file(provider: &Provider, file: &str) {
    let what = format!("{}:\n{file}", provider.model);
    for odd in [
        "{",
        "}",
        "residue",
        "details",
        "signature",
        "encrypted",
        "fp_1",
    ] {
        assert!(!file.contains(odd), "{odd} in {what}");
    }
    let cells = &file[file.find("# %%").unwrap()..];
    let said: usize = (1..=10)
        .map(|turn| question_text(turn).len() + answer_text(turn).len())
        .sum();
    let thought = cells.matches("Let me think about it.").count() * 22
        + cells.matches("I think about it.").count() * 17;
    let metadata = cells.len() - said - thought;
    let share = metadata as f64 / cells.len() as f64;
    assert!(share <= 0.15, "{:.1} % of {what}", share * 100.0);
    let heads = cells.lines().filter(|line| line.starts_with("# %%"));
    let ids: Vec<&str> = heads
        .filter_map(|head| head.split_once("[^")?.1.strip_suffix(']'))
        .filter(|id| !id.ends_with(".think"))
        .collect();
    let expected: Vec<String> = (1..=20).map(|id| id.to_string()).collect();
    assert_eq!(ids, expected, "{what}");
    let line = cells
        .lines()
        .find(|line| line.starts_with("[^2]:"))
        .unwrap();
    assert!(
        line.contains(" tokens=1200/") && line.contains(" cost="),
        "{line}"
    );
    for unwanted in ["model=", "duration", "response_id", "_tokens", "uuid"] {
        assert!(!line.contains(unwanted), "{line}");
    }
}
