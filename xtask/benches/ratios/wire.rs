//! What an answer costs on its way from the network: decoding, and the client around it.

use std::hint::black_box;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use analects_client::{Client, Options, ProviderSettings, resolve};
use analects_core::{Request, Role, Turn};
use analects_providers::{Api, decoder};
use xtask::bench::{Bar, Row};

const EVENTS: usize = 20_000;

/// One event in the middle of an answer, as each provider sends it.
const CHAT: &str = r#"{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1763251200,"model":"gpt-5-mini","choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null}]}"#;
const ANTHROPIC: &str = r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" word and another"}}"#;
const RESPONSES: &str = r#"{"type":"response.output_text.delta","sequence_number":7,"item_id":"msg_1","output_index":0,"content_index":0,"delta":" word","logprobs":[]}"#;
const GEMINI: &str = r#"{"candidates":[{"content":{"role":"model","parts":[{"text":" word"}]},"index":0}],"usageMetadata":{"promptTokenCount":9,"totalTokenCount":9},"modelVersion":"gemini-2.5-flash","responseId":"r1"}"#;

fn stream(event: &str, count: usize) -> Vec<u8> {
    format!("data: {event}\n\n").repeat(count).into_bytes()
}

/// The time to read the JSON of each event of a stream.
fn parse(bytes: &[u8]) -> Duration {
    let start = Instant::now();
    for line in bytes
        .split(|byte| *byte == b'\n')
        .filter_map(|l| l.strip_prefix(b"data: "))
    {
        black_box(serde_json::from_slice::<serde_json::Value>(line).ok());
    }
    start.elapsed()
}

/// Decoding a stream, in pieces as they come from a network, against parsing its JSON.
fn per_parse(name: &'static str, api: Api, event: &str) -> Row {
    let bytes = stream(event, EVENTS);
    let (mut decoding, mut parsing) = (Duration::MAX, Duration::MAX);
    for _ in 0..15 {
        let start = Instant::now();
        let mut decoder = decoder(api);
        for piece in bytes.chunks(1400) {
            black_box(decoder.push(piece));
        }
        decoding = decoding.min(start.elapsed());
        parsing = parsing.min(parse(&bytes));
    }
    let value = decoding.as_secs_f64() / parsing.as_secs_f64();
    Row {
        name,
        value,
        unit: "x",
        bar: Bar::AtMost(3.0),
    }
}

/// OpenAI's Chat Completions.
pub fn chat() -> Row {
    per_parse("decode_chat_per_json_parse", Api::OpenAiChat, CHAT)
}

/// Anthropic's Messages.
pub fn anthropic() -> Row {
    per_parse(
        "decode_anthropic_per_json_parse",
        Api::AnthropicMessages,
        ANTHROPIC,
    )
}

/// OpenAI's Responses.
pub fn responses() -> Row {
    per_parse(
        "decode_responses_per_json_parse",
        Api::OpenAiResponses,
        RESPONSES,
    )
}

/// Gemini.
pub fn gemini() -> Row {
    per_parse("decode_gemini_per_json_parse", Api::Gemini, GEMINI)
}

/// The cost of a byte of one event of 32 MB in small pieces, against one of 16 MB. Both are more than
/// a cache holds, and than the allocator keeps: of smaller events, the pages are there already.
pub fn large_event() -> Row {
    let per_byte = |size: usize| {
        let bytes = stream(&CHAT.replace(" word", &"x".repeat(size)), 1);
        let mut best = Duration::MAX;
        for _ in 0..7 {
            let start = Instant::now();
            let mut decoder = decoder(Api::OpenAiChat);
            for piece in bytes.chunks(1400) {
                black_box(decoder.push(piece));
            }
            best = best.min(start.elapsed());
        }
        best.as_secs_f64() / size as f64
    };
    let value = per_byte(32 << 20) / per_byte(16 << 20);
    Row {
        name: "large_event_cost_per_byte_32mb_per_16mb",
        value,
        unit: "x",
        bar: Bar::AtMost(1.5),
    }
}

/// A server that sends the same stream to whoever asks, a chunk for each event.
fn serve(connections: usize) -> Option<String> {
    let listener = TcpListener::bind("127.0.0.1:0").ok()?;
    let url = format!("http://{}/v1", listener.local_addr().ok()?);
    let event = String::from_utf8(stream(CHAT, 1)).ok()?;
    let chunk = format!("{:x}\r\n{event}\r\n", event.len());
    thread::spawn(move || {
        for _ in 0..connections {
            let Ok((mut stream, _)) = listener.accept() else {
                return;
            };
            let _ = stream.set_nodelay(true);
            let _ = stream.read(&mut [0; 65536]);
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
            let _ = stream.write_all(head.as_bytes());
            for _ in 0..EVENTS {
                if stream.write_all(chunk.as_bytes()).is_err() {
                    break;
                }
            }
            let _ = stream.write_all(b"0\r\n\r\n");
        }
    });
    Some(url)
}

/// What an event of an answer costs beyond its bare bytes, over loopback, against reading its JSON once: it is split
/// off, read, and told to whoever waits. Against the bare bytes alone this would measure how little the kernel does:
/// a microsecond an event, of which models send a hundred in a second.
pub fn loopback() -> Row {
    let value = over_loopback().unwrap_or(f64::NAN);
    Row {
        name: "loopback_event_per_json_parse",
        value,
        unit: "x",
        bar: Bar::AtMost(3.0),
    }
}

fn over_loopback() -> Option<f64> {
    const ROUNDS: usize = 25;
    let url = serve(2 * ROUNDS)?;
    let surroundings =
        ProviderSettings::read(|name| (name == "OPENAI_BASE_URL").then(|| url.clone()));
    let model = resolve("openai/tiny", &surroundings).ok()?;
    let turn = Turn {
        role: Role::User,
        content: "Hello".into(),
        model: None,
    };
    let request = Request {
        turns: vec![turn],
        ..Request::default()
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .ok()?;
    let said = stream(CHAT, EVENTS);
    let (mut events, mut bare, mut parsing) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let count = runtime.block_on(async {
            let client = Client::new(Options::default());
            let mut stream = client.stream(&model, &request).await.ok()?;
            let mut count = 0;
            while let Some(event) = stream.next().await {
                black_box(&event);
                count += 1;
            }
            Some(count)
        })?;
        events.push(start.elapsed());
        let start = Instant::now();
        let bytes = runtime.block_on(async {
            let client = reqwest::Client::builder()
                .no_proxy()
                .tls_certs_only([])
                .build()
                .ok()?;
            let sent = client
                .post(format!("{url}/chat/completions"))
                .body("{}")
                .send()
                .await;
            let mut response = sent.ok()?;
            let mut bytes = 0;
            while let Ok(Some(chunk)) = response.chunk().await {
                bytes += black_box(chunk).len();
            }
            Some(bytes)
        })?;
        bare.push(start.elapsed());
        parsing.push(parse(&said));
        if count < EVENTS || bytes < EVENTS {
            return None;
        }
    }
    // Who waits for whom is up to the scheduler, so the usual round counts, not the luckiest.
    let beyond = median(events).checked_sub(median(bare))?;
    Some(beyond.as_secs_f64() / median(parsing).as_secs_f64())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
