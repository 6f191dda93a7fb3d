//! A model server on loopback that does exactly what a test says, byte for byte, and remembers what it was asked.

mod script;

use std::fmt;
use std::io::Read;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

pub use script::{
    Step, answer, call, done, done_because, error, in_halves, piece, stream_head, thought,
};

/// How long a test waits for a request before it fails.
const PATIENCE: Duration = Duration::from_secs(20);

/// What the server does with a connection once its request is read.
pub type Answer = Box<dyn FnOnce(&ReceivedRequest, &mut TcpStream) + Send>;

/// A request as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedRequest {
    /// The request line and the headers.
    pub head: String,
    /// What comes behind the empty line.
    pub body: String,
}

impl fmt::Display for ReceivedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\r\n\r\n{}", self.head, self.body)
    }
}

/// A server that runs until the test ends.
#[derive(Debug)]
pub struct Server {
    /// Its address as clients of OpenAI's API want it, with `/v1` at the end.
    pub base_url: String,
    /// Where it listens.
    pub address: SocketAddr,
    requests: Receiver<ReceivedRequest>,
}

impl Server {
    /// Serves one connection after the other, each with its own script; later ones are refused.
    pub fn new(scripts: Vec<Vec<Step>>) -> Server {
        Server::with(
            scripts.into_iter().map(|script| -> Answer {
                Box::new(move |_, stream| script::play(stream, &script))
            }),
        )
    }

    /// Serves whoever asks, with the script that `answer` gives for the request.
    pub fn answering(answer: impl FnMut(&ReceivedRequest) -> Vec<Step> + Send + 'static) -> Server {
        let answer = Arc::new(Mutex::new(answer));
        Server::with(std::iter::repeat_with(move || -> Answer {
            let answer = answer.clone();
            Box::new(move |request, stream| {
                let script = (answer.lock().unwrap())(request);
                script::play(stream, &script);
            })
        }))
    }

    /// Serves one connection after the other, each in its own way; later ones are refused.
    pub fn with<I>(answers: I) -> Server
    where
        I: IntoIterator<Item = Answer>,
        I::IntoIter: Send + 'static,
    {
        let answers = answers.into_iter();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, requests) = channel();
        thread::spawn(move || {
            for answer in answers {
                let Ok((mut stream, _)) = listener.accept() else {
                    return;
                };
                let request = read_request(&mut stream);
                let _ = sender.send(request.clone());
                thread::spawn(move || answer(&request, &mut stream));
            }
        });
        Server {
            base_url: format!("http://{address}/v1"),
            address,
            requests,
        }
    }

    /// The next request that came; waits for it, and panics if none comes.
    pub fn received(&self) -> ReceivedRequest {
        self.requests.recv_timeout(PATIENCE).unwrap()
    }

    /// All requests that came and were not looked at yet.
    pub fn all_received(&self) -> Vec<ReceivedRequest> {
        self.requests.try_iter().collect()
    }

    /// The body of the next request that came.
    pub fn request(&self) -> String {
        self.received().body
    }

    /// The body of the next request, if one comes in time.
    pub fn request_within(&self, time: Duration) -> Option<String> {
        self.requests
            .recv_timeout(time)
            .ok()
            .map(|request| request.body)
    }
}

/// Reads a request to its end. One that begins a TLS handshake has no head and no body.
fn read_request(stream: &mut TcpStream) -> ReceivedRequest {
    let mut bytes = Vec::new();
    let mut buffer = [0; 65536];
    loop {
        let count = stream.read(&mut buffer).unwrap_or(0);
        bytes.extend_from_slice(&buffer[..count]);
        if bytes.first() == Some(&0x16) {
            return ReceivedRequest {
                head: String::new(),
                body: String::new(),
            };
        }
        let text = String::from_utf8_lossy(&bytes);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let is_whole = head.len() < text.len() && body.len() >= content_length(head);
        if count == 0 || is_whole {
            return ReceivedRequest {
                head: head.to_string(),
                body: body.to_string(),
            };
        }
    }
}

fn content_length(head: &str) -> usize {
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.trim().parse().unwrap())
    });
    length.unwrap_or(0)
}
