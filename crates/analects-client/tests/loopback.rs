//! Against a real socket: a server on the loopback interface that misbehaves as told.
#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::channel;
use std::time::Duration;

use analects_client::{
    Client, ClientError, Model, ModelAdapter, Options, ProviderSettings, resolve,
};
use analects_core::{
    ApiError, ApiErrorKind, Folded, Message, Request, Role, StreamEvent, Turn, fold,
};
use analects_providers::{Api, RetryPolicy};
use analects_testkit::server::{Answer, Server};

const KEY: &str = "sk-very-secret-key";

const ANSWER: &str = concat!(
    "data: {\"id\":\"r\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Grüße, \"}}]}\n\n",
    "data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"world\"}}]}\n\n",
    "data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
    "data: [DONE]\n\n",
);

const STREAM: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

/// A server for one request: `answer` gets the connection after the request was read.
fn serve(answer: impl FnOnce(&mut TcpStream) + Send + 'static) -> (String, Server) {
    let answer: Answer = Box::new(move |_, stream| answer(stream));
    let server = Server::with([answer]);
    (server.base_url.clone(), server)
}

fn write_chunks(stream: &mut TcpStream, bytes: &[u8], size: usize) {
    for chunk in bytes.chunks(size) {
        let head = format!("{:x}\r\n", chunk.len());
        stream
            .write_all(&[head.as_bytes(), chunk, b"\r\n"].concat())
            .unwrap();
        stream.flush().unwrap();
    }
}

/// Waits until the other side hangs up.
fn wait_for_close(stream: &mut TcpStream) {
    let _ = stream.read_to_end(&mut Vec::new());
}

fn model(url: &str, key: Option<&str>) -> Model {
    let settings = ProviderSettings::read(|name| match name {
        "OPENAI_BASE_URL" => Some(url.to_string()),
        "OPENAI_API_KEY" => key.map(str::to_string),
        _ => None,
    });
    resolve("openai/tiny", &settings).unwrap()
}

/// Options under which nothing is sent twice.
fn once() -> Options {
    Options {
        retries: RetryPolicy {
            retries: 0,
            ..RetryPolicy::default()
        },
        ..Options::default()
    }
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(work)
}

/// Asks and gives the events that came, and the error that ended them.
fn ask(model: &Model, options: Options) -> (Vec<StreamEvent>, Option<ClientError>) {
    let turn = Turn {
        role: Role::User,
        content: "Hello".into(),
        model: None,
    };
    let request = Request {
        model: model.name.clone(),
        turns: vec![turn],
        ..Request::default()
    };
    block_on(async {
        let mut stream = match Client::new(options).stream(model, &request).await {
            Ok(stream) => stream,
            Err(error) => return (Vec::new(), Some(error)),
        };
        let mut events = Vec::new();
        while let Some(event) = stream.next().await {
            match event {
                Ok(event) => events.push(event),
                Err(error) => {
                    assert!(stream.next().await.is_none());
                    return (events, Some(error));
                }
            }
        }
        (events, None)
    })
}

fn folded(events: &[StreamEvent]) -> Folded {
    fold(events, Message::assistant("a", ""))
}

fn error_of(url: &str) -> ClientError {
    let (events, error) = ask(&model(url, Some(KEY)), once());
    assert_eq!(events, []);
    let error = error.unwrap();
    assert!(!format!("{error} {error:?}").contains(KEY));
    error
}

fn respond(head: &'static str, body: &'static str) -> String {
    let length = body.len();
    let (url, _) = serve(move |stream| {
        write!(
            stream,
            "HTTP/1.1 {head}\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .unwrap();
    });
    url
}

#[test]
fn an_answer_in_odd_pieces_arrives_whole() {
    for size in [1, 7, 1000] {
        let (url, requests) = serve(move |stream| {
            stream.write_all(STREAM.as_bytes()).unwrap();
            write_chunks(stream, ANSWER.as_bytes(), size);
            stream.write_all(b"0\r\n\r\n").unwrap();
        });
        let (events, error) = ask(&model(&url, Some(KEY)), once());
        assert_eq!(error, None);
        assert!(folded(&events).complete);
        assert_eq!(folded(&events).message.text(), "Grüße, world");
        let request = requests.received().to_string();
        assert!(
            request.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"),
            "{request}"
        );
        assert!(
            request.contains("\r\nauthorization: Bearer sk-very-secret-key\r\n"),
            "{request}"
        );
        assert!(request.contains("\"content\":\"Hello\""), "{request}");
    }
}

#[test]
fn without_a_key_no_key_is_sent() {
    let (url, requests) = serve(|stream| stream.write_all(b"HTTP/1.1 500 Oh\r\n\r\n").unwrap());
    ask(&model(&url, None), once());
    assert!(!requests.received().head.contains("authorization"));
}

#[test]
fn the_end_of_the_answer_is_not_waited_for() {
    let (url, _) = serve(|stream| {
        stream.write_all(STREAM.as_bytes()).unwrap();
        write_chunks(stream, ANSWER.as_bytes(), 1000);
        wait_for_close(stream);
    });
    let (events, error) = ask(&model(&url, None), once());
    assert_eq!(error, None);
    assert!(folded(&events).complete);
}

const GIVING_UP: &str =
    "data: {\"error\":{\"message\":\"busy\",\"type\":\"overloaded_error\"}}\n\n";

#[test]
fn after_an_error_in_the_stream_nothing_is_waited_for() {
    // One server goes on, one keeps the connection open, one breaks it.
    for (rest, waits) in [(ANSWER, true), ("", true), ("", false)] {
        let (url, _) = serve(move |stream| {
            stream.write_all(STREAM.as_bytes()).unwrap();
            let begin = &ANSWER[..ANSWER.find("data: {\"id\":\"r\",\"choices\"").unwrap()];
            write_chunks(stream, format!("{begin}{GIVING_UP}{rest}").as_bytes(), 1000);
            if waits {
                wait_for_close(stream);
            }
        });
        let (events, error) = ask(&model(&url, None), once());
        assert_eq!(error, None);
        assert!(
            matches!(events.last(), Some(StreamEvent::Error(error)) if error.message == "busy")
        );
        assert_eq!(
            folded(&events).error.unwrap().kind,
            ApiErrorKind::Overloaded
        );
        assert_eq!(folded(&events).message.text(), "Grüße, ");
    }
}

#[test]
fn a_broken_connection_is_reported_instead_of_a_malformed_answer() {
    let (url, _) = serve(|stream| {
        stream.write_all(STREAM.as_bytes()).unwrap();
        write_chunks(stream, b"{\"id\":\"r\",\"choi", 1000);
    });
    let (events, error) = ask(&model(&url, None), once());
    assert_eq!(error.unwrap().kind(), ApiErrorKind::Network);
    assert_eq!(folded(&events).error, None);
}

#[test]
fn a_provider_error_keeps_its_message_without_the_key() {
    let body =
        r#"{"error":{"message":"Wrong key: sk-very-secret-key","type":"authentication_error"}}"#;
    let url = respond("401 Unauthorized\r\nx-request-id: req_1", body);
    let error = error_of(&url);
    assert_eq!(
        error.to_string(),
        format!("{url} answered 401: Wrong key: [key]")
    );
    assert_eq!(error.kind(), ApiErrorKind::Auth);
    assert!(!error.is_retryable());
    let named = |error: &ApiError| error.request_id.as_deref() == Some("req_1");
    assert!(matches!(&error, ClientError::Api { error, .. } if named(error)));
}

#[test]
fn a_busy_provider_says_when_to_come_back() {
    let error = error_of(&respond("429 Slow\r\nretry-after: 3", ""));
    assert!(error.is_retryable());
    assert_eq!(error.retry_after(), Some(Duration::from_secs(3)));
    let body = r#"{"error":{"message":"long","code":"context_length_exceeded"}}"#;
    assert!(error_of(&respond("400 Bad", body)).is_context_overflow());
}

#[test]
fn a_broken_connection_keeps_the_partial_answer() {
    let (url, _) = serve(|stream| {
        stream.write_all(STREAM.as_bytes()).unwrap();
        write_chunks(
            stream,
            &ANSWER.as_bytes()[..ANSWER.find("world").unwrap()],
            1000,
        );
    });
    let (events, error) = ask(&model(&url, None), once());
    let error = error.unwrap();
    assert_eq!(error.kind(), ApiErrorKind::Network);
    assert!(
        error
            .to_string()
            .starts_with(&format!("the connection to {url} broke: ")),
        "{error}"
    );
    assert!(!folded(&events).complete);
    assert_eq!(folded(&events).message.text(), "Grüße, ");
}

#[test]
fn a_connection_that_breaks_after_the_answer_took_nothing_away() {
    let (url, _) = serve(|stream| {
        stream.write_all(STREAM.as_bytes()).unwrap();
        write_chunks(
            stream,
            &ANSWER.as_bytes()[..ANSWER.find("data: [DONE]").unwrap()],
            1000,
        );
    });
    let (events, error) = ask(&model(&url, None), once());
    assert_eq!(error, None);
    assert!(folded(&events).complete);
}

const SHORT: Duration = Duration::from_millis(50);

#[test]
fn a_server_that_falls_silent_is_given_up() {
    let (url, _) = serve(|stream| {
        stream.write_all(STREAM.as_bytes()).unwrap();
        write_chunks(
            stream,
            &ANSWER.as_bytes()[..ANSWER.find("world").unwrap()],
            1000,
        );
        wait_for_close(stream);
    });
    let (events, error) = ask(
        &model(&url, None),
        Options {
            idle_timeout: SHORT,
            ..once()
        },
    );
    let error = error.unwrap();
    assert_eq!(
        error.to_string(),
        format!("{url} sent nothing more within 0.05 s")
    );
    assert_eq!(error.kind(), ApiErrorKind::Timeout);
    assert!(error.is_retryable());
    assert_eq!(folded(&events).message.text(), "Grüße, ");
}

#[test]
fn a_server_that_never_begins_is_given_up() {
    for head in ["", STREAM] {
        let (url, _) = serve(move |stream| {
            stream.write_all(head.as_bytes()).unwrap();
            wait_for_close(stream);
        });
        let (_, error) = ask(
            &model(&url, None),
            Options {
                first_byte_timeout: SHORT,
                ..once()
            },
        );
        let text = format!("{url} did not begin to answer within 0.05 s");
        assert_eq!(error.unwrap().to_string(), text);
    }
}

#[test]
fn an_unreachable_server_is_reported_plainly() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    drop(listener);
    let error = error_of(&url);
    assert_eq!(
        error.to_string(),
        format!("cannot reach {url}: connection refused")
    );
    assert_eq!(error.kind(), ApiErrorKind::Network);
}

#[test]
fn a_server_without_tls_is_no_https_server() {
    let (url, _) = serve(|_| {});
    assert_eq!(
        error_of(&url.replace("http:", "https:")).kind(),
        ApiErrorKind::Network
    );
}

#[test]
fn a_redirect_is_not_followed() {
    let (elsewhere, visits) = serve(|_| {});
    let host = elsewhere.trim_end_matches("/v1").to_string();
    let (url, _) = serve(move |stream| {
        let head = "HTTP/1.1 307 Temporary Redirect\r\ncontent-length: 0\r\nlocation: ";
        write!(stream, "{head}{elsewhere}?token=abc\r\n\r\n").unwrap();
    });
    let error = error_of(&url);
    let text = format!("{url} redirects to {host}/v1, which is not followed");
    assert_eq!(error.to_string(), text);
    assert!(visits.all_received().is_empty());
}

#[test]
fn dropping_the_stream_hangs_up() {
    let (sender, closed) = channel();
    let (url, _) = serve(move |stream| {
        stream.write_all(STREAM.as_bytes()).unwrap();
        let begin = &ANSWER[..ANSWER.find("data: {\"id\":\"r\",\"choices\"").unwrap()];
        write_chunks(stream, begin.as_bytes(), 1000);
        wait_for_close(stream);
        let _ = sender.send(());
    });
    block_on(async {
        let client = Client::default();
        let mut stream = client
            .stream(&model(&url, None), &Request::default())
            .await
            .unwrap();
        assert!(matches!(
            stream.next().await,
            Some(Ok(StreamEvent::MessageStart { .. }))
        ));
        drop(stream);
        // The connection is closed by the runtime, which has to run for that.
        tokio::task::spawn_blocking(move || closed.recv().unwrap())
            .await
            .unwrap();
    });
}

#[test]
fn a_key_that_no_header_can_hold_is_an_error_without_it() {
    let (_, error) = ask(
        &model("http://127.0.0.1:9/v1", Some("sk-se\ncret-key")),
        once(),
    );
    let error = error.unwrap();
    let text = "the authorization header holds characters that HTTP does not allow";
    assert_eq!(error.to_string(), text);
}

fn replay(path: &std::path::Path) -> Model {
    resolve(
        &format!("replay:{}", path.display()),
        &ProviderSettings::default(),
    )
    .unwrap()
}

#[test]
fn a_recorded_answer_plays_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("answer.sse");
    std::fs::write(&path, ANSWER).unwrap();
    let (events, error) = ask(&replay(&path), once());
    assert_eq!(error, None);
    assert!(folded(&events).complete);
    assert_eq!(folded(&events).message.text(), "Grüße, world");
}

#[test]
fn a_recorded_answer_that_is_missing_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none.sse");
    let (_, error) = ask(&replay(&path), once());
    let text = format!("cannot read {}: no such file or directory", path.display());
    assert_eq!(error.as_ref().unwrap().to_string(), text);
    assert!(error.as_ref().unwrap().is_not_found());
    assert_eq!(replay(&path).check().err(), error);
}

#[test]
fn a_recorded_answer_is_looked_for_before_anything_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("answer.sse");
    std::fs::write(&path, ANSWER).unwrap();
    assert_eq!(replay(&path).check(), Ok(()));
    let error = replay(folder.path()).check().unwrap_err();
    assert!(!error.is_not_found(), "{error}");
    assert_eq!(model("http://127.0.0.1:9/v1", None).check(), Ok(()));
}

#[test]
fn gemini_gets_its_key_and_its_query() {
    let body = "data: {\"responseId\":\"r\",\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Hi\"}]},\"finishReason\":\"STOP\"}]}\n\n";
    let (url, requests) = serve(move |stream| {
        let length = body.len();
        write!(
            stream,
            "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .unwrap();
    });
    let model = Model {
        api: Api::Gemini,
        ..model(&format!("{url}?route=a"), Some(KEY))
    };
    let (events, error) = ask(&model, once());
    assert_eq!(error, None);
    assert_eq!(folded(&events).message.text(), "Hi");
    let request = requests.received().to_string();
    let line = "POST /v1/models/tiny:streamGenerateContent?route=a&alt=sse HTTP/1.1";
    assert_eq!(request.lines().next(), Some(line));
    assert!(
        request.contains(&format!("x-goog-api-key: {KEY}\r\n")),
        "{request}"
    );
    assert!(!request.contains("authorization"), "{request}");
}

const SECRET: &str = "sk-a-very-secret-key-of-somebody";

#[test]
fn a_key_quoted_by_the_server_is_hidden() {
    let location = format!("HTTP/1.1 302 Found\r\nlocation: http://evil.example/{SECRET}\r\n\r\n");
    let encoding = format!("HTTP/1.1 200 OK\r\ncontent-encoding: {SECRET}\r\n\r\n");
    // The message of a plain body is cut, and must not be cut within the key.
    let plain = format!("HTTP/1.1 400 Bad\r\n\r\n{}{SECRET}", "x".repeat(290));
    let request_id = format!("HTTP/1.1 400 Bad\r\nx-request-id: {SECRET}\r\n\r\nno");
    for answer in [location, encoding, plain, request_id] {
        let (url, _requests) = serve(move |stream| {
            stream.write_all(answer.as_bytes()).unwrap();
        });
        let (_, error) = ask(&model(&url, Some(SECRET)), once());
        let error = error.unwrap();
        let told = format!("{error} {error:?} {}", error.public_message());
        assert!(!told.contains(&SECRET[..10]), "{told}");
    }
}

/// The answer that is read from an event, which comes in pieces from a server that knows the key.
fn read_with_key(event: String) -> Message {
    let (url, _requests) = serve(move |stream| {
        stream.write_all(STREAM.as_bytes()).unwrap();
        write_chunks(stream, format!("{event}data: [DONE]\n\n").as_bytes(), 7);
    });
    let (events, error) = ask(&model(&url, Some(SECRET)), once());
    assert_eq!(error, None);
    folded(&events).message
}

/// What is raw in a message would become the key again once somebody reads it as JSON.
#[test]
fn an_answer_that_spells_the_key_in_escapes_is_read_without_it() {
    let spelled: String = SECRET
        .bytes()
        .map(|byte| format!("\\u{byte:04x}"))
        .collect();
    let nested = spelled.replace('\\', "\\\\");
    let message = read_with_key(format!(
        "data: {{\"id\":\"{spelled}\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\
         \"Your key is {spelled}\",\"tool_calls\":[{{\"index\":0,\"id\":\"c\",\"function\":{{\
         \"name\":\"f\",\"arguments\":\"{{\\\"a\\\":\\\"{nested}\\\"}}\"}}}}]}},\
         \"finish_reason\":\"stop\"}}],\"headers\":\"{spelled}\"}}\n\n"
    ));
    assert_eq!(message.text(), "Your key is [key]");
    let shown = format!("{message:?}");
    assert!(shown.contains("{\"a\":\"[key]\"}"), "{shown}");
    assert!(!shown.contains("0073"), "{shown}");
}

#[test]
fn an_answer_that_quotes_the_key_is_read_without_it() {
    let message = read_with_key(format!(
        "data: {{\"id\":\"{SECRET}\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\
         \"Your key is {SECRET}\"}},\"finish_reason\":\"stop\"}}],\"headers\":\"{SECRET}\"}}\n\n"
    ));
    assert_eq!(message.text(), "Your key is [key]");
    assert!(!format!("{message:?}").contains(SECRET));
}

#[test]
fn a_server_that_does_not_stop_is_left() {
    let endless = |bytes: &'static [u8]| {
        let (url, _requests) = serve(move |stream| {
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
            while stream.write_all(bytes).is_ok() {}
        });
        url
    };
    let options = || Options {
        max_bytes: 1_000_000,
        ..once()
    };
    for bytes in [
        &b": nothing\n\n"[..],
        b"data: {\"type\":\"ping\"}\n\n",
        b"data: junk\n\n",
    ] {
        let (_, error) = ask(&model(&endless(bytes), None), options());
        let error = error.unwrap();
        assert_eq!(error.kind(), ApiErrorKind::Malformed, "{error}");
    }
    let adapter = ModelAdapter::new(model(&endless(b"{\"data\":[{}"), None), options());
    let error = block_on(adapter.list_models()).unwrap_err();
    assert_eq!(error.kind(), ApiErrorKind::Malformed, "{error}");
}

#[test]
fn a_slow_error_body_is_cut_off() {
    let (url, _requests) = serve(move |stream| {
        stream.write_all(b"HTTP/1.1 400 Bad\r\n\r\nno").unwrap();
        while stream.write_all(b"!").is_ok() {
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let started = std::time::Instant::now();
    let (_, error) = ask(
        &model(&url, None),
        Options {
            idle_timeout: Duration::from_millis(300),
            ..once()
        },
    );
    assert!(error.unwrap().to_string().contains("answered 400: no!!"));
    assert!(started.elapsed() < Duration::from_secs(20));
}
