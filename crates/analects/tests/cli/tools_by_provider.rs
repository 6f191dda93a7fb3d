//! A task with tools by each of the four APIs, in a file and in a session: read and search at once, edit, answer. Every
//! request is valid for its API, has each result once and in order, and gives the provider its signed thoughts back.

use analects_testkit::{Rules, validate};
use serde_json::{Value, json};

use crate::sandbox::Sandbox;
use crate::server::{Server, Step, stream_head};

/// One of the APIs, as its provider speaks it.
struct Provider {
    model: &'static str,
    rules: Rules,
    /// The variables for the address and the key.
    variables: [&'static str; 2],
    /// The events of an answer that calls tools; `turn` tells the answers apart.
    calling: fn(turn: usize, calls: &[Call]) -> Vec<Value>,
    /// The events of an answer in words.
    saying: fn(&str) -> Vec<Value>,
    /// What seals the thoughts of an answer, which the provider wants back with the results of its calls.
    seal: fn(turn: usize) -> Option<String>,
}

/// A call of a tool, with its arguments.
type Call = (&'static str, Value);

const PROVIDERS: [Provider; 4] = [
    Provider {
        model: "openai/gpt-5-mini",
        rules: Rules::OpenAiChat,
        variables: ["OPENAI_BASE_URL", "OPENAI_API_KEY"],
        calling: chat_calling,
        saying: chat_saying,
        seal: |_| None,
    },
    Provider {
        model: "openai-responses/gpt-5-mini",
        rules: Rules::OpenAiResponses,
        variables: ["OPENAI_BASE_URL", "OPENAI_API_KEY"],
        calling: responses_calling,
        saying: responses_saying,
        seal: |turn| Some(sealed(turn)),
    },
    Provider {
        model: "anthropic/claude-sonnet-4-5",
        rules: Rules::Anthropic,
        variables: ["ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"],
        calling: anthropic_calling,
        saying: anthropic_saying,
        seal: |turn| Some(sealed(turn)),
    },
    Provider {
        model: "gemini/gemini-2.5-flash",
        rules: Rules::Gemini,
        variables: ["GEMINI_BASE_URL", "GEMINI_API_KEY"],
        calling: gemini_calling,
        saying: gemini_saying,
        seal: |turn| Some(sealed(turn)),
    },
];

/// A signature, in base64 as the providers write it.
fn sealed(turn: usize) -> String {
    format!("c2VhbGVk{turn:04}{}", "QUJD".repeat(20))
}

fn chat_chunk(delta: Value, finish: Value) -> Value {
    json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "gpt-5-mini",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
}

fn chat_calling(turn: usize, calls: &[Call]) -> Vec<Value> {
    let call = |(index, (name, arguments)): (usize, &Call)| {
        let function = json!({"name": name, "arguments": arguments.to_string()});
        json!({"index": index, "id": format!("call-{turn}-{index}"), "type": "function", "function": function})
    };
    let calls: Vec<Value> = calls.iter().enumerate().map(call).collect();
    vec![
        chat_chunk(
            json!({"role": "assistant", "tool_calls": calls}),
            Value::Null,
        ),
        chat_chunk(json!({}), json!("tool_calls")),
    ]
}

fn chat_saying(text: &str) -> Vec<Value> {
    vec![
        chat_chunk(json!({"role": "assistant", "content": text}), Value::Null),
        chat_chunk(json!({}), json!("stop")),
    ]
}

fn responses_of(items: Vec<Value>) -> Vec<Value> {
    let mut events = vec![
        json!({"type": "response.created", "response": {"id": "r", "object": "response",
        "status": "in_progress", "model": "gpt-5-mini", "output": [], "error": null}}),
    ];
    for (index, item) in items.iter().enumerate() {
        for kind in ["response.output_item.added", "response.output_item.done"] {
            events.push(json!({"type": kind, "output_index": index, "item": item}));
        }
    }
    let response = json!({"id": "r", "object": "response", "status": "completed", "model": "gpt-5-mini",
        "error": null, "incomplete_details": null, "output": items,
        "usage": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}});
    events.push(json!({"type": "response.completed", "response": response}));
    events
}

fn responses_calling(turn: usize, calls: &[Call]) -> Vec<Value> {
    let mut items = vec![
        json!({"id": format!("rs_{turn}"), "type": "reasoning", "summary": [],
        "encrypted_content": sealed(turn)}),
    ];
    for (index, (name, arguments)) in calls.iter().enumerate() {
        items.push(json!({"id": format!("fc_{turn}_{index}"), "type": "function_call", "status": "completed",
            "call_id": format!("call-{turn}-{index}"), "name": name, "arguments": arguments.to_string()}));
    }
    responses_of(items)
}

fn responses_saying(text: &str) -> Vec<Value> {
    let part = json!({"type": "output_text", "annotations": [], "logprobs": [], "text": text});
    responses_of(vec![
        json!({"id": "msg", "type": "message", "status": "completed", "role": "assistant",
        "content": [part]}),
    ])
}

fn anthropic_of(blocks: Vec<(Value, Vec<Value>)>, stop_reason: &str) -> Vec<Value> {
    let usage = json!({"input_tokens": 10, "output_tokens": 1});
    let mut events = vec![
        json!({"type": "message_start", "message": {"id": "m", "type": "message",
        "role": "assistant", "content": [], "model": "claude-sonnet-4-5", "stop_reason": null,
        "stop_sequence": null, "usage": usage}}),
    ];
    for (index, (block, deltas)) in blocks.into_iter().enumerate() {
        events.push(json!({"type": "content_block_start", "index": index, "content_block": block}));
        for delta in deltas {
            events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        }
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    events.push(
        json!({"type": "message_delta", "usage": {"output_tokens": 5},
        "delta": {"stop_reason": stop_reason, "stop_sequence": null}}),
    );
    events.push(json!({"type": "message_stop"}));
    events
}

fn anthropic_calling(turn: usize, calls: &[Call]) -> Vec<Value> {
    let thought = vec![
        json!({"type": "thinking_delta", "thinking": "I look first."}),
        json!({"type": "signature_delta", "signature": sealed(turn)}),
    ];
    let mut blocks = vec![(
        json!({"type": "thinking", "thinking": "", "signature": ""}),
        thought,
    )];
    for (index, (name, arguments)) in calls.iter().enumerate() {
        let start = json!({"type": "tool_use", "id": format!("toolu_{turn}_{index}"), "name": name, "input": {}});
        let delta = json!({"type": "input_json_delta", "partial_json": arguments.to_string()});
        blocks.push((start, vec![delta]));
    }
    anthropic_of(blocks, "tool_use")
}

fn anthropic_saying(text: &str) -> Vec<Value> {
    let start = json!({"type": "text", "text": ""});
    let delta = json!({"type": "text_delta", "text": text});
    anthropic_of(vec![(start, vec![delta])], "end_turn")
}

fn gemini_of(parts: Vec<Value>) -> Vec<Value> {
    let content = json!({"parts": parts, "role": "model"});
    vec![
        json!({"candidates": [{"content": content, "index": 0, "finishReason": "STOP"}],
        "modelVersion": "gemini-2.5-flash",
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}}),
    ]
}

fn gemini_calling(turn: usize, calls: &[Call]) -> Vec<Value> {
    let part = |(index, (name, arguments)): (usize, &Call)| {
        let mut part = json!({"functionCall": {"name": name, "args": arguments}});
        if index == 0 {
            part["thoughtSignature"] = json!(sealed(turn));
        }
        part
    };
    gemini_of(calls.iter().enumerate().map(part).collect())
}

fn gemini_saying(text: &str) -> Vec<Value> {
    gemini_of(vec![json!({"text": text})])
}

/// The answer as the provider's server streams it.
fn stream(provider: &Provider, events: Vec<Value>) -> Vec<Step> {
    let mut text = String::new();
    for event in events {
        if let Some(name) = event["type"].as_str() {
            text.push_str(&format!("event: {name}\n"));
        }
        text.push_str(&format!("data: {event}\n\n"));
    }
    if provider.rules == Rules::OpenAiChat {
        text.push_str("data: [DONE]\n\n");
    }
    vec![stream_head(), Step::Send(text)]
}

/// The four answers of the task.
fn answers(provider: &Provider) -> Vec<Vec<Step>> {
    let look: [Call; 2] = [
        ("read_file", json!({"path": "notes.txt"})),
        ("grep", json!({"pattern": "sea", "files": "*.txt"})),
    ];
    let edit: [Call; 2] = [
        (
            "edit_file",
            json!({"path": "notes.txt", "old_text": "rivver", "new_text": "river"}),
        ),
        ("write_file", json!({"path": "/etc/passwd", "content": ""})),
    ];
    vec![
        stream(provider, (provider.calling)(1, &look)),
        stream(provider, (provider.calling)(2, &edit)),
        stream(provider, (provider.saying)("It is spelled well now.")),
        stream(provider, (provider.saying)("You are welcome.")),
    ]
}

/// What the results say, in the order in which the model gets them.
const RESULTS: [&str; 4] = [
    "A rivver flows.",
    "notes.txt:2: To the sea it goes",
    "edited notes.txt at line 1",
    "/etc/passwd: leads out of the folder",
];

/// Runs the command with the provider's address and key.
#[track_caller]
fn run(provider: &Provider, server: &Server, sandbox: &Sandbox, args: &[&str]) -> String {
    let [address, key] = provider.variables;
    let mut command = sandbox.command(args);
    command
        .env(address, &server.base_url)
        .env(key, "sk-0123456789abcdef");
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}: {stderr}",
        provider.model
    );
    stderr
}

/// The next request, which has to be valid.
#[track_caller]
fn request(provider: &Provider, server: &Server) -> String {
    let body = server.request();
    let violations = validate(provider.rules, body.as_bytes());
    assert_eq!(violations, [], "{}: {body}", provider.model);
    body
}

/// Checks that a request has the first results once each and in order, and what sealed the answers before it.
#[track_caller]
fn check_request(provider: &Provider, body: &str, results: usize, seals: usize) {
    let what = provider.model;
    let mut at = 0;
    for (index, result) in RESULTS.iter().enumerate() {
        let expected = usize::from(index < results);
        assert_eq!(
            body.matches(result).count(),
            expected,
            "{what}: {result} in {body}"
        );
        if index < results {
            let found = body.find(result).unwrap();
            assert!(found > at, "{what}: {result} comes too early in {body}");
            at = found;
        }
    }
    for seal in (1..=seals).filter_map(provider.seal) {
        assert!(body.contains(&seal), "{what}: {seal} is not in {body}");
    }
}

/// Plays the task with these arguments before the prompt, and asks once more with those.
fn play(provider: &Provider, first: &[&str], again: &[&str]) -> Sandbox {
    let server = Server::new(answers(provider));
    let sandbox = Sandbox::new();
    sandbox.write("notes.txt", "A rivver flows.\nTo the sea it goes.\n");
    let tools = ["--tools", "write", "--allow", "*", "-m", provider.model];
    let args = [first, &tools[..], &["Mend the spelling."]].concat();
    let stderr = run(provider, &server, &sandbox, &args);
    assert_eq!(stderr.matches("→ ").count(), 4, "{stderr}");
    check_request(provider, &request(provider, &server), 0, 0);
    check_request(provider, &request(provider, &server), 2, 1);
    check_request(provider, &request(provider, &server), 4, 2);
    assert_eq!(
        sandbox.read("notes.txt"),
        "A river flows.\nTo the sea it goes.\n"
    );
    // A later call, without tools, sends the whole conversation and runs nothing again.
    sandbox.write("notes.txt", "A rivver again.\n");
    let stderr = run(provider, &server, &sandbox, &[again, &["Thanks"]].concat());
    assert!(!stderr.contains("→ "), "{stderr}");
    check_request(provider, &request(provider, &server), 4, 0);
    assert_eq!(sandbox.read("notes.txt"), "A rivver again.\n");
    sandbox
}

#[test]
fn a_task_in_a_file() {
    for provider in &PROVIDERS {
        let sandbox = play(provider, &["chat", "a.msg.md"], &["chat", "a.msg.md"]);
        let cells = sandbox.show_json("a.msg.md")["cells"].clone();
        let roles = cells.as_array().unwrap().iter();
        let count = |role: &str| roles.clone().filter(|cell| cell["role"] == role).count();
        assert_eq!(
            (count("tool_call"), count("tool_result")),
            (4, 4),
            "{cells:#}"
        );
        let check = sandbox.run(&["check", "a.msg.md"]);
        assert_eq!(check.code, Some(0), "{}: {}", provider.model, check.stderr);
    }
}

#[test]
fn a_task_in_a_session() {
    for provider in &PROVIDERS {
        play(provider, &["chat"], &["chat", "-c"]);
    }
}
