//! What a server does with a connection, step by step, and the steps of answers as Chat Completions streams them.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

/// What the server does with a connection, in order.
#[derive(Debug, Clone)]
pub enum Step {
    /// Sends this as it stands.
    Send(String),
    /// Holds the connection open until the other side goes away.
    Hang,
    /// Waits until there is a file.
    Until(PathBuf),
    /// Waits so many milliseconds between two pieces, so that they arrive apart.
    Pause(u64),
}

/// Does one step after the other, and stops when the other side goes away.
pub(super) fn play(stream: &mut TcpStream, script: &[Step]) {
    for step in script {
        match step {
            Step::Send(text) => {
                if stream
                    .write_all(text.as_bytes())
                    .and_then(|()| stream.flush())
                    .is_err()
                {
                    return;
                }
            }
            Step::Hang => {
                let _ = stream.read(&mut [0]);
            }
            Step::Until(path) => {
                while !path.exists() {
                    thread::sleep(Duration::from_millis(10));
                }
            }
            Step::Pause(milliseconds) => {
                thread::sleep(Duration::from_millis(*milliseconds));
            }
        }
    }
}

/// The head of a streamed answer; the body ends with the connection.
pub fn stream_head() -> Step {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    Step::Send(head.to_string())
}

/// One piece of an answer's text.
pub fn piece(text: &str) -> Step {
    let delta = serde_json::json!({ "content": text });
    Step::Send(chunk(&delta, None))
}

/// One piece of a thought.
pub fn thought(text: &str) -> Step {
    Step::Send(chunk(
        &serde_json::json!({ "reasoning_content": text }),
        None,
    ))
}

/// A call of a tool, with its name and its arguments.
pub fn call(index: usize, name: &str, arguments: &str) -> Step {
    let function = serde_json::json!({ "name": name, "arguments": arguments });
    let call = serde_json::json!({ "index": index, "id": format!("call-{index}"), "type": "function", "function": function });
    Step::Send(chunk(&serde_json::json!({ "tool_calls": [call] }), None))
}

/// The end of an answer.
pub fn done() -> Step {
    done_because("stop")
}

/// The end of an answer, for this reason.
pub fn done_because(reason: &str) -> Step {
    let end = chunk(&serde_json::json!({}), Some(reason));
    let usage = r#"{"id":"r-1","choices":[],"usage":{"prompt_tokens":5,"completion_tokens":7}}"#;
    Step::Send(format!("{end}data: {usage}\n\ndata: [DONE]\n\n"))
}

fn chunk(delta: &serde_json::Value, finish: Option<&str>) -> String {
    let choice = serde_json::json!({ "index": 0, "delta": delta, "finish_reason": finish });
    let data = serde_json::json!({ "id": "r-1", "model": "tiny", "choices": [choice] });
    format!("data: {data}\n\n")
}

/// A whole answer in these pieces.
pub fn answer(pieces: &[&str]) -> Vec<Step> {
    let pieces = pieces.iter().map(|text| piece(text));
    [stream_head()]
        .into_iter()
        .chain(pieces)
        .chain([done()])
        .collect()
}

/// An answer whose rest comes when there is a file.
pub fn in_halves(first: &str, gate: PathBuf, rest: &str) -> Vec<Step> {
    vec![
        stream_head(),
        piece(first),
        Step::Until(gate),
        piece(rest),
        done(),
    ]
}

/// An answer that is an error.
pub fn error(status: &str, body: &str) -> Vec<Step> {
    vec![Step::Send(format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n{body}",
        body.len()
    ))]
}
