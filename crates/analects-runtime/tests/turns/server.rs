//! A server of Chat Completions that answers as a test says, and remembers what it was asked.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use analects_client::{Model, Surroundings, resolve};
use serde_json::{Value, json};

/// What the server answers.
pub enum Reply {
    /// A text, and how many tokens it counted of the question.
    Text(String, u64),
    /// A call of a tool.
    Call(&'static str),
    /// A refusal.
    Status(u16, Value),
}

impl Reply {
    pub fn text(text: impl Into<String>) -> Reply {
        Reply::Text(text.into(), 0)
    }

    pub fn too_long() -> Reply {
        Reply::longer_than("100")
    }

    /// Refuses, and says how many tokens would fit.
    pub fn longer_than(window: &str) -> Reply {
        let message = format!("This model's maximum context length is {window} tokens.");
        let error = json!({ "message": message, "code": "context_length_exceeded" });
        Reply::Status(400, json!({ "error": error }))
    }

    pub fn refusal() -> Reply {
        Reply::Status(400, json!({ "error": { "message": "no summaries here" } }))
    }
}

/// A question, as it came.
#[derive(Debug, Clone)]
pub struct Question(pub Value);

impl Question {
    /// All that is said in it, in order.
    pub fn text(&self) -> String {
        let messages = self.0["messages"].as_array().unwrap();
        let texts = messages.iter().map(|message| match &message["content"] {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        });
        texts.collect::<Vec<_>>().join("\n")
    }

    /// Whether a summary of the conversation is asked for.
    pub fn wants_summary(&self) -> bool {
        self.text().contains("You summarise conversations")
    }
}

pub struct Server {
    address: String,
    asked: Arc<Mutex<Vec<Question>>>,
}

impl Server {
    pub fn start(mut answer: impl FnMut(&Question) -> Reply + Send + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/v1", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = asked.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let Some(question) = read(&stream) else { continue };
                seen.lock().unwrap().push(question.clone());
                let bytes = write(answer(&question));
                let _ = stream.write_all(bytes.as_bytes());
            }
        });
        Server { address, asked }
    }

    pub fn model(&self) -> Model {
        let address = &self.address;
        let variable = |name: &str| (name == "OPENAI_BASE_URL").then(|| address.clone());
        resolve("openai/tiny", &Surroundings::read(variable)).unwrap()
    }

    pub fn asked(&self) -> Vec<Question> {
        self.asked.lock().unwrap().clone()
    }

    pub fn last(&self) -> Question {
        self.asked().pop().unwrap()
    }
}

fn read(stream: &TcpStream) -> Option<Question> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|count| *count > 0)?;
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Question(serde_json::from_slice(&body).unwrap()))
}

fn write(reply: Reply) -> String {
    let stream = |deltas: Vec<Value>, finish: &str, usage: u64| {
        let mut events = String::new();
        for delta in deltas {
            let choice = json!({ "index": 0, "delta": delta });
            events += &format!("data: {}\n\n", json!({ "id": "r", "choices": [choice] }));
        }
        let last = json!({ "index": 0, "delta": {}, "finish_reason": finish });
        let usage = (usage > 0).then(
            || json!({ "prompt_tokens": usage, "completion_tokens": 5, "total_tokens": usage + 5 }),
        );
        let last = json!({ "id": "r", "choices": [last], "usage": usage });
        events += &format!("data: {last}\n\ndata: [DONE]\n\n");
        format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{events}"
        )
    };
    match reply {
        Reply::Text(text, usage) => stream(vec![json!({ "content": text })], "stop", usage),
        Reply::Call(name) => {
            let function = json!({ "name": name, "arguments": "{\"city\":\"Paris\"}" });
            let call =
                json!({ "index": 0, "id": "call_1", "type": "function", "function": function });
            stream(
                vec![json!({ "content": "I look." }), json!({ "tool_calls": [call] })],
                "tool_calls",
                0,
            )
        }
        Reply::Status(status, body) => {
            let body = body.to_string();
            format!(
                "HTTP/1.1 {status} No\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            )
        }
    }
}
