//! Asks a server on this machine whether it is ready and ours, which models it has, and how many tokens a text has. Each
//! question is one HTTP request over loopback.
//!
//! A few lines of HTTP 1.0 are enough for that, so the crate needs neither an HTTP library nor an asynchronous runtime.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::LocalServer;

/// How many bytes of an answer are read, at most.
/// Reading stops there, so another program on the port cannot fill the memory.
const ENOUGH: usize = 1 << 26;

/// How long counting tokens may take. A server counts megabytes in less than a second.
const COUNTING: Duration = Duration::from_secs(10);

/// Whether the server at `port` accepts `key` and serves the model `name`. False while the server is loading, or if
/// another program has the port.
/// `limit` is for the whole exchange. The name is compared so that a server of another model is never mistaken for this
/// one.
pub(crate) fn is_ready(port: u16, key: &str, name: &str, limit: Duration) -> bool {
    let request = format!("GET /v1/models HTTP/1.0\r\nauthorization: Bearer {key}\r\n");
    let address = (Ipv4Addr::LOCALHOST, port).into();
    let Ok(body) = ask(address, &request, "", limit) else {
        return false;
    };
    let models = body["data"].as_array();
    models.is_some_and(|models| models.iter().any(|model| model["id"] == name))
}

/// Whether a program listens at a port, even if it hangs.
/// Only a refused connection proves that nothing listens: a hanging program may just not accept in time.
pub(crate) fn is_listening(port: u16) -> bool {
    let limit = Duration::from_secs(1);
    match TcpStream::connect_timeout(&(Ipv4Addr::LOCALHOST, port).into(), limit) {
        Ok(_) => true,
        Err(error) => error.kind() != io::ErrorKind::ConnectionRefused,
    }
}

/// The models of a server that needs no key, such as Ollama; `None` if none answers in time.
pub fn models_at(address: SocketAddr, limit: Duration) -> Option<Vec<String>> {
    let body = ask(address, "GET /v1/models HTTP/1.0\r\n", "", limit).ok()?;
    // With nothing pulled, the list is null.
    let models = body["data"].as_array().cloned().unwrap_or_default();
    Some(
        models
            .iter()
            .filter_map(|model| Some(model["id"].as_str()?.to_string()))
            .collect(),
    )
}

impl LocalServer {
    /// Counts the tokens of a text with the vocabulary of the model, without a token that marks the beginning. `None` if
    /// the server does not answer.
    pub fn count_tokens(&self, text: &str) -> Option<u64> {
        self.tokenize(&json!({ "content": text, "add_special": false }))
    }

    /// Counts the tokens that the model reads of a conversation: one message of each role, all with the same text, and
    /// what the model's chat template adds. `None` if the server does not answer, or the template refuses the roles.
    pub fn count_prompt_tokens(&self, roles: &[&str], text: &str) -> Option<u64> {
        let messages: Vec<Value> = roles
            .iter()
            .map(|role| json!({ "role": role, "content": text }))
            .collect();
        let answer = self.post("/apply-template", &json!({ "messages": messages }))?;
        let prompt = answer["prompt"].as_str()?;
        self.tokenize(&json!({ "content": prompt, "add_special": true, "parse_special": true }))
    }

    /// The number of tokens that the server finds.
    fn tokenize(&self, body: &Value) -> Option<u64> {
        let answer = self.post("/tokenize", body)?;
        let tokens = answer["tokens"].as_array()?;
        Some(tokens.len() as u64)
    }

    /// Posts JSON to the server. `None` if it does not answer with JSON in time.
    fn post(&self, path: &str, body: &Value) -> Option<Value> {
        let body = body.to_string();
        let request = format!(
            "POST {path} HTTP/1.0\r\nauthorization: Bearer {}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n",
            self.key,
            body.len()
        );
        let address = (Ipv4Addr::LOCALHOST, self.port).into();
        ask(address, &request, &body, COUNTING).ok()
    }
}

/// Sends a request and returns the JSON of an answer with status 200. It uses HTTP 1.0, so that the answer is not
/// chunked and ends with the connection.
/// `head` is the request line and the headers, each with its line end, but without `Host` and the blank line, which are
/// added here. `limit` bounds the whole exchange, not each read, so a server that sends a byte now and then cannot hold
/// a command up.
fn ask(address: SocketAddr, head: &str, body: &str, limit: Duration) -> io::Result<Value> {
    let end = Instant::now() + limit;
    let left = || {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            Err(io::Error::from(io::ErrorKind::TimedOut))
        } else {
            Ok(left)
        }
    };
    let mut stream = TcpStream::connect_timeout(&address, left()?)?;
    stream.set_write_timeout(Some(left()?))?;
    stream.write_all(format!("{head}host: {address}\r\n\r\n{body}").as_bytes())?;
    let mut bytes = Vec::new();
    let mut buffer = [0; 8192];
    loop {
        stream.set_read_timeout(Some(left()?))?;
        let count = stream.read(&mut buffer)?;
        bytes.extend_from_slice(&buffer[..count]);
        if count == 0 || bytes.len() > ENOUGH || is_whole(&bytes) {
            return read(&bytes);
        }
    }
}

/// Whether the whole body has arrived, by its content length. Some servers keep the connection open.
fn is_whole(bytes: &[u8]) -> bool {
    let Some((head, body)) = split(bytes) else {
        return false;
    };
    let length = String::from_utf8_lossy(head).lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.trim().parse::<usize>().ok())?
    });
    length.is_some_and(|length| body.len() >= length)
}

/// The JSON of a complete answer with status 200.
/// Everything else is [`io::ErrorKind::InvalidData`], since callers only ask whether they got an answer.
fn read(bytes: &[u8]) -> io::Result<Value> {
    let (head, body) = split(bytes).ok_or(io::ErrorKind::InvalidData)?;
    if String::from_utf8_lossy(head).split_whitespace().nth(1) != Some("200") {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok(serde_json::from_slice(body)?)
}

/// The head and the body of an answer; `None` until the head is complete.
fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    const BLANK: &[u8] = b"\r\n\r\n";
    let at = bytes
        .windows(BLANK.len())
        .position(|window| window == BLANK)?;
    Some((&bytes[..at], &bytes[at + BLANK.len()..]))
}

#[cfg(test)]
mod tests {
    //! Servers that are there, are somebody else's, or say nothing.

    use std::net::TcpListener;

    use super::*;

    /// A server that answers everybody alike, and then keeps the connection or closes it.
    fn server(answer: &'static str, keeps: bool) -> u16 {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            let mut kept = Vec::new();
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let _ = stream.read(&mut [0; 4096]);
                let _ = stream.write_all(answer.as_bytes());
                kept.extend(keeps.then_some(stream));
            }
        });
        port
    }

    fn ready(answer: &'static str, keeps: bool) -> bool {
        is_ready(
            server(answer, keeps),
            "key",
            "tiny",
            Duration::from_secs(20),
        )
    }

    #[test]
    fn only_a_server_with_our_model_is_ours() {
        let good = "HTTP/1.1 200 OK\r\nContent-Length: 24\r\n\r\n{\"data\":[{\"id\":\"tiny\"}]}";
        assert!(ready(good, false) && ready(good, true));
        assert!(ready(
            "HTTP/1.1 200 OK\r\n\r\n{\"data\":[{\"id\":\"tiny\"}]}",
            false
        ));
        for bad in [
            "",
            "HTTP/1.1 503 Loading\r\n\r\n{\"error\":{}}",
            "HTTP/1.1 401 No\r\n\r\n{\"data\":[{\"id\":\"tiny\"}]}",
            "HTTP/1.1 200 OK\r\n\r\n{\"data\":[{\"id\":\"other\"}]}",
            "HTTP/1.1 200 OK\r\n\r\n{\"data\":null}",
            "HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n{",
            "\u{0}\u{1}\u{2}\r\n\r\n",
        ] {
            assert!(!ready(bad, false), "{bad:?}");
        }
        // One that says nothing costs no more than the limit.
        let start = Instant::now();
        assert!(!is_ready(
            server("", true),
            "key",
            "tiny",
            Duration::from_millis(100)
        ));
        assert!(start.elapsed() < Duration::from_secs(20));
        assert!(is_listening(server("", true)));
    }
}
