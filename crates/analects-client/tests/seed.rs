//! What the project was founded on, point by point: one interface for sending and streaming, with chunks,
//! usage, cost, duration, ids, errors and options.
#![allow(clippy::unwrap_used, clippy::panic)]

use analects_client::{
    ClientError, Model, ModelAdapter, Options, ProviderSettings, blocking, cost, resolve,
};
use analects_core::{
    Body, Content, Delta, Json, Message, ModelFacts, Request, Role, StreamEvent, Turn, User,
};

/// An answer with a thought, a text and a call, as Anthropic's Messages send it.
const ANSWER: &str = concat!(
    "data: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"model\":\"claude-sonnet-4-5\",\"usage\":{\"input_tokens\":1000}}}\n\n",
    "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\"}}\n\n",
    "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"hm\"}}\n\n",
    "data: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
    "data: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
    "data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\"你好\"}}\n\n",
    "data: {\"type\":\"content_block_stop\",\"index\":1}\n\n",
    "data: {\"type\":\"content_block_start\",\"index\":2,\"content_block\":{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"weather\",\"input\":{}}}\n\n",
    "data: {\"type\":\"content_block_delta\",\"index\":2,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"city\\\":\\\"Paris\\\"}\"}}\n\n",
    "data: {\"type\":\"content_block_stop\",\"index\":2}\n\n",
    "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":100}}\n\n",
    "data: {\"type\":\"message_stop\"}\n\n",
);

/// A model that gives this answer, of which the catalogue knows what Claude costs.
fn model(folder: &tempfile::TempDir) -> Model {
    let path = folder.path().join("answer.sse");
    std::fs::write(&path, ANSWER).unwrap();
    let model = resolve(
        &format!("replay:{}", path.display()),
        &ProviderSettings::default(),
    )
    .unwrap();
    let facts: Option<ModelFacts> = analects_providers::facts("anthropic", "claude-sonnet-4-5");
    Model { facts, ..model }
}

fn request() -> Request {
    let turn = Turn {
        role: Role::User,
        content: "Weather?".into(),
        model: None,
    };
    Request {
        turns: vec![turn],
        ..Request::default()
    }
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(work)
}

#[test]
fn send_message_synchronous_and_asynchronous() {
    let folder = tempfile::tempdir().unwrap();
    let adapter = ModelAdapter::new(model(&folder), Options::default());
    let one = block_on(adapter.send_message(&request())).unwrap();
    let blocking = blocking::ModelAdapter::new(model(&folder), Options::default());
    let other = blocking.send_message(&request()).unwrap();
    assert_eq!(one.message.text(), "你好");
    assert_eq!(one.message.body, other.message.body);
}

#[test]
fn stream_message_and_its_kinds_of_chunks() {
    let folder = tempfile::tempdir().unwrap();
    let adapter = blocking::ModelAdapter::new(model(&folder), Options::default());
    let events: Vec<StreamEvent> = adapter
        .stream_message(&request())
        .unwrap()
        .collect::<Result<_, ClientError>>()
        .unwrap();
    let count = |is: fn(&StreamEvent) -> bool| events.iter().filter(|event| is(event)).count();
    assert_eq!(
        count(|event| matches!(event, StreamEvent::MessageStart { .. })),
        1
    );
    assert_eq!(
        count(|event| matches!(event, StreamEvent::BlockStart { .. })),
        3
    );
    assert_eq!(
        count(|event| matches!(event, StreamEvent::BlockStop { .. })),
        3
    );
    assert!(
        count(|event| matches!(
            event,
            StreamEvent::BlockDelta {
                delta: Delta::Thinking(_),
                ..
            }
        )) > 0
    );
    assert!(
        count(|event| matches!(
            event,
            StreamEvent::BlockDelta {
                delta: Delta::Text(_),
                ..
            }
        )) > 0
    );
    assert_eq!(
        count(|event| matches!(event, StreamEvent::ToolUse { .. })),
        1
    );
    assert!(count(|event| matches!(event, StreamEvent::Usage(_))) > 0);
    assert!(matches!(
        events.last(),
        Some(StreamEvent::MessageStop { .. })
    ));
}

#[test]
fn token_usage_cost_duration_and_response_id() {
    let folder = tempfile::tempdir().unwrap();
    let model = model(&folder);
    let adapter = blocking::ModelAdapter::new(model.clone(), Options::default());
    let message = adapter.send_message(&request()).unwrap().message;
    let usage = message.usage.clone().unwrap();
    assert_eq!(
        (usage.input_tokens, usage.output_tokens),
        (Some(1000), Some(100))
    );
    // 1 000 tokens at $3 and 100 at $15 a million.
    assert!((message.cost_usd.unwrap() - 0.0045).abs() < 1e-12);
    assert_eq!(
        cost(
            &Model {
                facts: None,
                ..model
            },
            Some(&usage)
        ),
        None,
        "unknown is not free"
    );
    assert!(message.duration_ms.is_some());
    assert_eq!(message.response_id.as_deref(), Some("msg_1"));
}

#[test]
fn an_api_error_is_marked_as_one() {
    let mut message = Message::assistant("a", "the provider answered 500");
    message.is_api_error_message = true;
    let json = message.to_json();
    assert!(json.contains("\"is_api_error_message\":true"), "{json}");
    assert!(Message::from_json(&json).unwrap().is_api_error_message);
}

#[test]
fn koding_requests_keep_their_context() {
    let body = User {
        content: Content::from("fix it"),
        is_koding_request: true,
        koding_context: Some("in main.rs".into()),
        ..User::default()
    };
    let message = Message::new("u", Body::User(body));
    let again = Message::from_json(&message.to_json()).unwrap();
    assert_eq!(again, message);
    assert!(message.to_json().contains("\"is_koding_request\":true"));
}
