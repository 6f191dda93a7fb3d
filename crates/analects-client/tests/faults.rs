//! A server that fails in every way that servers have. Each failure gets its kind, is retried where that
//! makes sense, and never after something of the answer was passed on.
#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use analects_client::{
    ClientError, ModelAdapter, Options, ProviderSettings, Response, RetryNotice, blocking, resolve,
};
use analects_core::{ApiErrorKind, Request, Role, StreamEvent, Turn};
use analects_providers::RetryPolicy;
use analects_testkit::server::{Answer, Server};

const KEY: &str = "sk-very-secret-key";

const STREAM: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

const FIRST: &str =
    "data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello\"}}]}\n\n";
const LAST: &str =
    "data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
const DONE: &str = "data: [DONE]\n\n";

/// An answer that is written as it stands.
fn says(text: impl Into<Vec<u8>>) -> Answer {
    let text = text.into();
    Box::new(move |_, stream| {
        // The other side may have heard enough.
        let _ = stream.write_all(&text);
    })
}

fn streams(events: &[&str]) -> Answer {
    says([&[STREAM], events].concat().concat())
}

fn status(line: &str, headers: &str, body: &str) -> Answer {
    let length = body.len();
    says(format!(
        "HTTP/1.1 {line}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
    ))
}

/// Keeps the connection open until the other side hangs up.
fn hangs(text: String) -> Answer {
    Box::new(move |_, stream| {
        let _ = stream.write_all(text.as_bytes());
        let _ = stream.read_to_end(&mut Vec::new());
    })
}

/// What the client said before it tried again.
type Waits = Arc<Mutex<Vec<RetryNotice>>>;

fn options(waits: &Waits) -> Options {
    let waits = waits.clone();
    let retries = RetryPolicy {
        first_ms: 1,
        budget_ms: 1000,
        ..RetryPolicy::default()
    };
    let on_retry = move |waiting: &RetryNotice| waits.lock().unwrap().push(waiting.clone());
    let short = Duration::from_millis(150);
    Options {
        retries,
        first_byte_timeout: short,
        idle_timeout: short,
        on_retry: Some(Arc::new(on_retry)),
        ..Options::default()
    }
}

fn adapter(server: &Server, options: Options) -> ModelAdapter {
    let url = server.base_url.clone();
    let settings = ProviderSettings::read(|name| match name {
        "OPENAI_BASE_URL" => Some(url.clone()),
        "OPENAI_API_KEY" => Some(KEY.to_string()),
        _ => None,
    });
    ModelAdapter::new(resolve("openai/tiny", &settings).unwrap(), options)
}

fn request() -> Request {
    let turn = Turn {
        role: Role::User,
        content: "Hello".into(),
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

/// Asks, and folds what comes.
fn ask(answers: Vec<Answer>) -> (Result<Response, ClientError>, Vec<RetryNotice>, usize) {
    let server = Server::with(answers);
    let waits = Waits::default();
    let adapter = adapter(&server, options(&waits));
    let response = block_on(stream(&adapter));
    if let Err(error) = &response {
        assert!(!format!("{error} {error:?}").contains(KEY), "{error:?}");
    }
    let waits = waits.lock().unwrap().clone();
    (response, waits, server.all_received().len())
}

/// The text that was passed on, and how it ended.
async fn stream(adapter: &ModelAdapter) -> Result<Response, ClientError> {
    let mut stream = adapter.stream_message(&request()).await?;
    let (mut fold, mut failure) = (analects_core::Fold::default(), None);
    while let Some(event) = stream.next().await {
        match event {
            Ok(event) => fold.push(&event),
            Err(error) => failure = Some(error),
        }
    }
    let folded = fold.finish(analects_core::Message::assistant("", ""));
    let text = folded.message.text();
    if let Some(error) = failure.filter(|_| text.is_empty()) {
        return Err(error);
    }
    let (message, complete, error) = (folded.message, folded.complete, folded.error);
    Ok(Response {
        message,
        complete,
        error,
        problems: folded.problems,
        first_token: None,
    })
}

fn fine() -> Answer {
    streams(&[FIRST, LAST, DONE])
}

#[test]
fn temporary_errors_are_retried() {
    let date = |seconds: i64| {
        let then = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(seconds);
        then.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
    };
    let busy = "{\"error\":{\"message\":\"busy\"}}";
    let first: Vec<Answer> = vec![
        status("429 Slow", "retry-after: 0\r\n", busy),
        status("429 Slow", &format!("retry-after: {}\r\n", date(-5)), busy),
        status("429 Slow", "retry-after-ms: 20\r\n", busy),
        status("529 Overloaded", "", busy),
        status("500 Oh", "", "no json at all"),
        status("503 Oh", "", ""),
        status("408 Late", "", busy),
        status("409 Conflict", "", busy),
        // The connection breaks before the answer, and before anything of it came.
        says(""),
        streams(&[]),
        streams(&["data: {\"error\":{\"message\":\"busy\",\"type\":\"overloaded_error\"}}\n\n"]),
        hangs(String::new()),
        hangs(STREAM.to_string()),
    ];
    for (number, answer) in first.into_iter().enumerate() {
        let (response, waits, requests) = ask(vec![answer, fine()]);
        let response = response.unwrap_or_else(|error| panic!("{number}: {error}"));
        assert_eq!(response.message.text(), "Hello", "{number}");
        assert!(response.complete, "{number}");
        assert_eq!((waits.len(), requests), (1, 2), "{number}");
    }
}

#[test]
fn a_retry_sends_the_same_bytes() {
    let busy = || status("503 Oh", "", "");
    let server = Server::with(vec![busy(), busy(), fine()]);
    let adapter = adapter(&server, options(&Waits::default()));
    block_on(stream(&adapter)).unwrap();
    let sent = server.all_received();
    assert_eq!(sent.len(), 3);
    assert!(sent[0].body.contains("\"Hello\""), "{:?}", sent[0]);
    assert!(sent.iter().all(|request| *request == sent[0]), "{sent:?}");
}

#[test]
fn a_wait_that_the_server_asks_for_is_kept() {
    let answer = || status("429 Slow", "retry-after-ms: 300\r\n", "");
    let start = Instant::now();
    let (response, waits, _) = ask(vec![answer(), fine()]);
    assert!(response.is_ok());
    assert_eq!(waits[0].wait, Duration::from_millis(300));
    assert!(start.elapsed() >= Duration::from_millis(300));
    // One that is longer than our patience is not waited for, and said.
    let (response, waits, requests) = ask(vec![status("429 Slow", "retry-after: 3600\r\n", "")]);
    let error = response.unwrap_err();
    assert_eq!(error.kind(), ApiErrorKind::RateLimit);
    assert_eq!(error.retry_after(), Some(Duration::from_secs(3600)));
    assert_eq!((waits.len(), requests), (0, 1));
}

#[test]
fn permanent_errors_are_not_retried() {
    let body = |kind: &str| {
        format!("{{\"error\":{{\"message\":\"no\",\"type\":\"{kind}\",\"code\":\"{kind}\"}}}}")
    };
    let cases: Vec<(Answer, ApiErrorKind)> = vec![
        (
            status("400 Bad", "", &body("invalid_request_error")),
            ApiErrorKind::BadRequest,
        ),
        (
            status("401 No", "", &body("authentication_error")),
            ApiErrorKind::Auth,
        ),
        (
            status("403 No", "", &body("permission_error")),
            ApiErrorKind::Auth,
        ),
        (
            status("404 No", "", &body("not_found_error")),
            ApiErrorKind::NotFound,
        ),
        (
            status("429 Slow", "", &body("insufficient_quota")),
            ApiErrorKind::RateLimit,
        ),
        (
            status("429 Slow", "x-should-retry: false\r\n", ""),
            ApiErrorKind::RateLimit,
        ),
        (
            status("400 Bad", "", &body("context_length_exceeded")),
            ApiErrorKind::ContextOverflow,
        ),
    ];
    for (number, (answer, kind)) in cases.into_iter().enumerate() {
        let (response, waits, requests) = ask(vec![answer, fine()]);
        assert_eq!(response.unwrap_err().kind(), kind, "{number}");
        assert_eq!((waits.len(), requests), (0, 1), "{number}");
    }
}

#[test]
fn after_three_tries_it_is_given_up() {
    let answers = (0..5).map(|_| status("500 Oh", "", "")).collect();
    let (response, waits, requests) = ask(answers);
    assert_eq!(response.unwrap_err().kind(), ApiErrorKind::Server);
    assert_eq!((waits.len(), requests), (2, 3));
}

#[test]
fn nothing_is_tried_again_once_something_was_passed_on() {
    let reset: Answer = Box::new(|_, stream| {
        let text = [STREAM, FIRST]
            .concat()
            .replace("connection: close", "transfer-encoding: chunked");
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let _ = write!(stream, "{head}\r\n\r\n{:x}\r\n{body}\r\n", body.len());
        // What the other side still wants to say makes the system send a reset.
        let _ = stream.shutdown(std::net::Shutdown::Both);
    });
    let error = "data: {\"error\":{\"message\":\"busy\",\"type\":\"overloaded_error\"}}\n\n";
    let cases: Vec<Answer> = vec![
        reset,
        streams(&[FIRST, error]),
        hangs([STREAM, FIRST].concat()),
        streams(&[FIRST]),
        streams(&[
            FIRST,
            "data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\u{d6}",
        ]),
    ];
    for (number, answer) in cases.into_iter().enumerate() {
        let (response, waits, requests) = ask(vec![answer, fine()]);
        let response = response.unwrap_or_else(|error| panic!("{number}: {error}"));
        assert_eq!(response.message.text(), "Hello", "{number}");
        assert!(!response.complete, "{number}");
        assert_eq!((waits.len(), requests), (0, 1), "{number}");
    }
}

#[test]
fn half_a_character_at_the_end_is_no_panic() {
    let mut text = [STREAM, FIRST].concat().into_bytes();
    text.extend_from_slice(b"data: {\"id\":\"r\",\"choices\":[{\"delta\":{\"content\":\"gr\xc3");
    let (response, ..) = ask(vec![says(text)]);
    let response = response.unwrap();
    assert_eq!(response.message.text(), "Hello");
    assert!(!response.complete);
}

#[test]
fn a_slow_drip_is_life() {
    let drip: Answer = Box::new(|_, stream| {
        stream.write_all(STREAM.as_bytes()).unwrap();
        for byte in [FIRST, LAST, DONE].concat().as_bytes() {
            if stream.write_all(&[*byte]).is_err() {
                return;
            }
            thread::sleep(Duration::from_millis(2));
        }
    });
    let (response, waits, _) = ask(vec![drip]);
    assert!(response.unwrap().complete);
    assert_eq!(waits.len(), 0);
}

#[test]
fn an_answer_that_is_no_stream_is_malformed() {
    let page = "<html><body>Log in to the hotel</body></html>";
    let cases = [
        status("200 OK", "content-type: text/html\r\n", page),
        status(
            "200 OK",
            "content-type: text/event-stream\r\ncontent-encoding: gzip\r\n",
            "\u{1f}",
        ),
    ];
    for (number, answer) in cases.into_iter().enumerate() {
        let (response, waits, _) = ask(vec![answer]);
        let kind = match response {
            Err(error) => error.kind(),
            Ok(response) => response.error.map(|error| error.kind).unwrap(),
        };
        assert_eq!(kind, ApiErrorKind::Malformed, "{number}");
        assert_eq!(waits.len(), 0, "{number}");
    }
}

#[test]
fn a_very_large_event_in_small_pieces_arrives() {
    let text = "x".repeat(16 << 20);
    let event = FIRST.replace("Hello", &text);
    let body = [STREAM, &event, LAST, DONE].concat();
    let pieces: Answer = Box::new(move |_, stream| {
        for piece in body.as_bytes().chunks(1400) {
            if stream.write_all(piece).is_err() {
                return;
            }
        }
    });
    let server = Server::with(vec![pieces]);
    let patient = Options {
        idle_timeout: Duration::from_secs(20),
        ..Options::default()
    };
    let response = block_on(stream(&adapter(&server, patient))).unwrap();
    assert_eq!(response.message.text().len(), text.len());
    assert!(response.complete);
}

#[test]
fn an_endless_answer_is_cut_off_and_kept() {
    let events = vec![FIRST; 100];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("answer.sse");
    std::fs::write(&path, events.concat()).unwrap();
    let replayed = format!("replay:{}", path.display());
    let replayed = resolve(&replayed, &ProviderSettings::default()).unwrap();
    let limited = Options {
        max_content_bytes: 250,
        ..Options::default()
    };
    let server = Server::with(vec![streams(&events), streams(&events)]);
    let adapters = [
        adapter(&server, limited.clone()),
        ModelAdapter::new(replayed.clone(), limited),
    ];
    for adapter in adapters {
        let response = block_on(adapter.send_message(&request())).unwrap();
        let error = response.error.unwrap();
        assert_eq!(error.kind, ApiErrorKind::Malformed);
        assert_eq!(
            error.message,
            "it holds more than 250 bytes, the most that is taken"
        );
        assert_eq!(response.message.text(), "Hello".repeat(50));
        assert!(!response.complete);
    }
    let limited = Options {
        max_bytes: 1000,
        ..Options::default()
    };
    for adapter in [
        adapter(&server, limited.clone()),
        ModelAdapter::new(replayed, limited),
    ] {
        let error = match block_on(adapter.send_message(&request())) {
            Err(error) => error.to_string(),
            Ok(response) => response.error.unwrap().message,
        };
        assert!(
            error.contains("it has more than 1000 bytes, the most that is taken"),
            "{error}"
        );
    }
}

#[test]
fn a_redirect_gets_nothing() {
    let elsewhere = Server::with(vec![fine()]);
    let location = format!("location: {}/chat/completions\r\n", elsewhere.base_url);
    let (response, waits, requests) = ask(vec![status("302 There", &location, "")]);
    assert!(matches!(
        response.unwrap_err(),
        ClientError::Redirected { .. }
    ));
    assert_eq!(
        (waits.len(), requests, elsewhere.all_received().len()),
        (0, 1, 0)
    );
}

#[test]
fn an_answer_in_one_piece_is_the_same_message() {
    let body = "{\"id\":\"r\",\"model\":\"tiny\",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"Hello\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":1}}";
    let server = Server::with(vec![status(
        "200 OK",
        "content-type: application/json\r\n",
        body,
    )]);
    let adapter = adapter(&server, Options::default());
    let response = block_on(adapter.send_message(&request())).unwrap();
    assert_eq!(response.message.text(), "Hello");
    assert!(response.complete);
    assert_eq!(response.message.response_id.as_deref(), Some("r"));
    assert_eq!(response.message.usage.unwrap().output_tokens, Some(1));
    assert!(response.message.duration_ms.is_some());
    let sent = server.request();
    assert!(!sent.contains("\"stream\":true"), "{sent}");
}

#[test]
fn the_same_calls_without_a_runtime_and_from_inside_one() {
    let server = Server::with(vec![fine(), fine(), fine()]);
    let settings =
        ProviderSettings::read(|name| (name == "OPENAI_BASE_URL").then(|| server.base_url.clone()));
    let model = resolve("openai/tiny", &settings).unwrap();
    let adapter = blocking::ModelAdapter::new(model, Options::default());
    assert_eq!(
        adapter.send_message(&request()).unwrap().message.text(),
        "Hello"
    );
    let events: Result<Vec<StreamEvent>, ClientError> =
        adapter.stream_message(&request()).unwrap().collect();
    assert!(matches!(
        events.unwrap().last(),
        Some(StreamEvent::MessageStop { .. })
    ));
    let inside = block_on(async { adapter.send_message(&request()) });
    assert_eq!(inside.unwrap().message.text(), "Hello");
}

#[test]
fn dropping_blocking_events_hangs_up() {
    let (sender, closed) = channel();
    let waits: Answer = Box::new(move |_, stream| {
        stream
            .write_all([STREAM, FIRST].concat().as_bytes())
            .unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
        let _ = sender.send(());
    });
    let server = Server::with(vec![waits]);
    let settings =
        ProviderSettings::read(|name| (name == "OPENAI_BASE_URL").then(|| server.base_url.clone()));
    let model = resolve("openai/tiny", &settings).unwrap();
    let adapter = blocking::ModelAdapter::new(model, Options::default());
    let mut events = adapter.stream_message(&request()).unwrap();
    assert!(events.next().is_some());
    drop(events);
    closed.recv_timeout(Duration::from_secs(10)).unwrap();
}

#[test]
fn a_recording_plays_again_and_holds_no_key() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("answer.sse");
    let leak = FIRST.replace("Hello", &format!("Hello {KEY}"));
    let server = Server::with(vec![streams(&[&leak, LAST, DONE])]);
    let options = Options {
        record_to: Some(path.clone()),
        ..Options::default()
    };
    block_on(stream(&adapter(&server, options))).unwrap();
    let recorded = std::fs::read_to_string(&path).unwrap();
    assert!(!recorded.contains(KEY), "{recorded}");
    let model = resolve(
        &format!("replay:{}", path.display()),
        &ProviderSettings::default(),
    )
    .unwrap();
    let adapter = ModelAdapter::new(model, Options::default());
    let again = block_on(stream(&adapter)).unwrap();
    assert_eq!(again.message.text(), "Hello [key]");
}
