//! A server of Chat Completions that answers as a test says, and remembers what it was asked.

use std::sync::{Arc, Mutex};

use analects_client::{Model, ProviderSettings, resolve};
use analects_testkit::server::{self, Step, call, error, piece, stream_head};
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
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = asked.clone();
        let server = server::Server::answering(move |request| {
            let question = Question(serde_json::from_str(&request.body).unwrap());
            seen.lock().unwrap().push(question.clone());
            script(answer(&question))
        });
        Server {
            address: server.base_url,
            asked,
        }
    }

    pub fn model(&self) -> Model {
        let address = &self.address;
        let variable = |name: &str| (name == "OPENAI_BASE_URL").then(|| address.clone());
        resolve("openai/tiny", &ProviderSettings::read(variable)).unwrap()
    }

    pub fn asked(&self) -> Vec<Question> {
        self.asked.lock().unwrap().clone()
    }

    pub fn last(&self) -> Question {
        self.asked().pop().unwrap()
    }
}

fn script(reply: Reply) -> Vec<Step> {
    match reply {
        Reply::Text(text, asked) => vec![stream_head(), piece(&text), end("stop", asked)],
        Reply::Call(name) => {
            let call = call(0, name, "{\"city\":\"Paris\"}");
            vec![stream_head(), piece("I look."), call, end("tool_calls", 0)]
        }
        Reply::Status(status, body) => error(&format!("{status} No"), &body.to_string()),
    }
}

/// The end of an answer, with a count of the question's tokens unless that is 0.
fn end(reason: &str, asked: u64) -> Step {
    let usage =
        json!({ "prompt_tokens": asked, "completion_tokens": 5, "total_tokens": asked + 5 });
    let usage = (asked > 0).then_some(usage);
    let last = json!({ "index": 0, "delta": {}, "finish_reason": reason });
    let last = json!({ "id": "r", "choices": [last], "usage": usage });
    Step::Send(format!("data: {last}\n\ndata: [DONE]\n\n"))
}
