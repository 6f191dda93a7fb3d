//! The provider adapters against a real server: few and short requests with repeatable answers.

use std::io::{Read, Write};
use std::net::TcpStream;

use analects_client::{
    BaseUrl, ClientError, Key, Model, ModelAdapter, Options, ProviderSettings, Response,
};
use analects_client::{Transport, resolve};
use analects_core::{ApiErrorKind, Body, Fold, Message, Raw, Request, Role, StopReason, Turn};
use analects_local::LocalServer;
use analects_providers::Api;
use serde_json::{Value, json};

use crate::machine::Machine;

const APIS: [Api; 3] = [
    Api::AnthropicMessages,
    Api::OpenAiChat,
    Api::OpenAiResponses,
];

/// An adapter for the server of the local model.
fn adapter(api: Api, serving: &LocalServer, key: &str) -> ModelAdapter {
    let base_url = format!("http://127.0.0.1:{}/v1", serving.port);
    adapter_at(api, &base_url, key)
}

/// An adapter that sends requests for the local model to this address.
pub fn adapter_at(api: Api, base_url: &str, key: &str) -> ModelAdapter {
    let base_url = BaseUrl::parse(base_url).unwrap();
    let transport = Transport::Http {
        base_url,
        key: Key::new(key),
        as_bearer: false,
    };
    let model = resolve("local/smollm2", &ProviderSettings::default()).unwrap();
    ModelAdapter::new(
        Model {
            api,
            transport,
            ..model
        },
        Options::default(),
    )
}

pub fn request(text: &str, max: u64) -> Request {
    let turn = Turn {
        role: Role::User,
        content: text.into(),
        model: None,
    };
    Request {
        turns: vec![turn],
        temperature: Some(0.0),
        max_output_tokens: Some(max),
        ..Request::default()
    }
}

/// The message that a stream folds into.
pub async fn streamed_message(adapter: &ModelAdapter, request: &Request) -> Message {
    let mut stream = adapter.stream_message(request).await.unwrap();
    let mut fold = Fold::default();
    let mut pieces = 0;
    while let Some(event) = stream.next().await {
        fold.push(&event.unwrap());
        pieces += 1;
    }
    let folded = fold.finish(Message::assistant("", ""));
    assert!(
        folded.complete && folded.error.is_none() && pieces > 3,
        "{folded:?}"
    );
    folded.message
}

fn stop_reason(message: &Message) -> Option<StopReason> {
    let Body::Assistant(body) = &message.body else {
        panic!("{message:?}")
    };
    body.stop_reason.clone()
}

/// Sends one request outside any adapter.
fn post(serving: &LocalServer, path: &str, body: &Value) -> Value {
    let (port, key, body) = (serving.port, &serving.key, body.to_string());
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let method = if body == "null" { "GET" } else { "POST" };
    let head = format!(
        "{method} {path} HTTP/1.0\r\nhost: x\r\nauthorization: Bearer {key}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    serde_json::from_str(text.split_once("\r\n\r\n").unwrap().1).unwrap()
}

#[test]
fn every_adapter_works_with_a_real_server() {
    let Some(machine) = Machine::with_model("every_adapter_works_with_a_real_server") else {
        return;
    };
    let serving = machine.local().serve("smollm2", &mut |_| {}).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let text = check_answers(&serving).await;
        check_stop_sequences(&serving, &text).await;
        check_refusals(&serving).await;
        check_counts(&serving).await;
        check_cancel(&serving).await;
    });
}

/// The smallest answer limit that every API accepts, in tokens.
const LIMIT: u64 = 16;

/// Asks the same question over every API, streamed and not, and expects the same answer.
async fn check_answers(serving: &LocalServer) -> String {
    let question = request("What is the capital of France?", LIMIT);
    let mut texts = Vec::new();
    for api in APIS {
        let message = streamed_message(&adapter(api, serving, &serving.key), &question).await;
        check_limited(api, &message, LIMIT);
        texts.push(message.text());
    }
    let Response {
        message, complete, ..
    } = adapter(APIS[1], serving, &serving.key)
        .send_message(&question)
        .await
        .unwrap();
    assert!(complete);
    check_limited(APIS[1], &message, LIMIT);
    texts.push(message.text());
    assert!(
        !texts[0].trim().is_empty() && texts.iter().all(|text| *text == texts[0]),
        "{texts:?}"
    );
    texts.remove(0)
}

/// Checks an answer that was cut at its token limit.
fn check_limited(api: Api, message: &Message, max: u64) {
    let usage = message.usage.clone().unwrap_or_default();
    assert_eq!(usage.output_tokens, Some(max), "{api:?}: {usage:?}");
    assert!(usage.input_tokens.is_some(), "{api:?}: {usage:?}");
    assert!(message.response_id.is_some(), "{api:?}");
    // This server's Responses API reports every answer as completed, even a cut one.
    if api != Api::OpenAiResponses {
        assert_eq!(stop_reason(message), Some(StopReason::MaxTokens), "{api:?}");
    }
}

/// Checks that both APIs with stop sequences stop before one.
async fn check_stop_sequences(serving: &LocalServer, text: &str) {
    let word = text.split_whitespace().nth(2).unwrap();
    let mut question = request("What is the capital of France?", LIMIT);
    question.stop_sequences = vec![word.to_string()];
    for api in [Api::AnthropicMessages, Api::OpenAiChat] {
        let message = streamed_message(&adapter(api, serving, &serving.key), &question).await;
        let expected = text.split(word).next().unwrap();
        assert_eq!(message.text(), expected, "{api:?}");
        let reason = stop_reason(&message);
        assert!(
            reason.is_some() && reason != Some(StopReason::MaxTokens),
            "{api:?}: {reason:?}"
        );
    }
}

/// Checks a wrong key, and a conversation that is too long.
async fn check_refusals(serving: &LocalServer) {
    let wrong = adapter(
        Api::AnthropicMessages,
        serving,
        "not-the-key-of-this-server",
    );
    let error = wrong
        .stream_message(&request("Hi", 4))
        .await
        .map(drop)
        .unwrap_err();
    assert_eq!(error.kind(), ApiErrorKind::Auth, "{error}");
    assert!(!error.is_retryable() && matches!(error, ClientError::Api { .. }));
    let long = request(&"word ".repeat(9000), 4);
    for api in [Api::AnthropicMessages, Api::OpenAiResponses] {
        let error = adapter(api, serving, &serving.key)
            .send_message(&long)
            .await
            .unwrap_err();
        assert!(error.is_context_overflow(), "{api:?}: {error}");
    }
}

/// Checks that the adapter counts as the server's own tokenizer does.
async fn check_counts(serving: &LocalServer) {
    let adapter = adapter(Api::AnthropicMessages, serving, &serving.key);
    let mut question = request("Wie heißt das? 论语 is 3 words, no?\n\tfn main() {}", 4);
    question.system = Some("You count.".into());
    let counted = adapter.count_tokens(&question).await.unwrap();
    let text = question.turns[0].content.text();
    let messages =
        json!([{ "role": "system", "content": "You count." }, { "role": "user", "content": text }]);
    let prompt = post(serving, "/apply-template", &json!({ "messages": messages }));
    let content = prompt["prompt"].as_str().unwrap();
    let wanted = json!({ "content": content, "add_special": true, "parse_special": true });
    let tokens = post(serving, "/tokenize", &wanted)["tokens"]
        .as_array()
        .unwrap()
        .len() as u64;
    assert_eq!(counted, tokens, "{content}");
    // And so does the answer.
    let usage = adapter
        .send_message(&question)
        .await
        .unwrap()
        .message
        .usage
        .unwrap_or_default();
    let cached = usage.cache_read_input_tokens.unwrap_or(0);
    assert_eq!(
        usage.input_tokens.unwrap_or(0) + cached,
        tokens,
        "{usage:?}"
    );
}

/// Checks that dropping a stream stops the server, which would otherwise write thousands of words.
async fn check_cancel(serving: &LocalServer) {
    const WORK: u64 = 7000;
    let mut question = request("Count.", WORK);
    question
        .metadata
        .push("ignore_eos", Raw::parse("true").unwrap());
    let mut stream = adapter(Api::OpenAiChat, serving, &serving.key)
        .stream_message(&question)
        .await
        .unwrap();
    stream.next().await.unwrap().unwrap();
    let slots = || {
        post(serving, "/slots", &Value::Null)
            .as_array()
            .unwrap()
            .clone()
    };
    let is_busy = |slot: &Value| slot["is_processing"] == true;
    assert!(slots().iter().any(is_busy), "nobody works on it");
    drop(stream);
    let mut idle = slots();
    // The connection is closed by the runtime, so it has to run. If the server did not see it, it
    // would be busy until all of it is done.
    while idle.iter().any(is_busy) {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        idle = slots();
    }
    let tokens = |slot: &Value| slot["n_prompt_tokens"].as_u64().unwrap_or(0);
    let most = idle.iter().map(tokens).max().unwrap();
    assert!(most < WORK, "the server went on to its end: {most} tokens");
}
