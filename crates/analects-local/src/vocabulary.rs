//! How many tokens a text is, by the vocabulary of a model that is being served.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use crate::Serving;

/// How long the server may take; it counts megabytes in less than a second.
const LIMIT: Duration = Duration::from_secs(10);

impl Serving {
    /// The tokens of a text, without any that mark its beginning; `None` if the server does not say.
    pub fn count_tokens(&self, text: &str) -> Option<u64> {
        let body = serde_json::json!({ "content": text, "add_special": false }).to_string();
        let answer = self.post("/tokenize", &body).ok()?;
        let answer: serde_json::Value = serde_json::from_str(&answer).ok()?;
        answer["tokens"].as_array().map(|tokens| tokens.len() as u64)
    }

    fn post(&self, path: &str, body: &str) -> io::Result<String> {
        let mut stream =
            TcpStream::connect_timeout(&(Ipv4Addr::LOCALHOST, self.port).into(), LIMIT)?;
        stream.set_read_timeout(Some(LIMIT))?;
        stream.set_write_timeout(Some(LIMIT))?;
        // The older version, so that the answer ends with the connection and comes in one piece.
        let head = format!(
            "POST {path} HTTP/1.0\r\nhost: 127.0.0.1\r\nauthorization: Bearer {}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n",
            self.key,
            body.len()
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(body.as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let (head, body) = answer.split_once("\r\n\r\n").ok_or(io::ErrorKind::InvalidData)?;
        let is_fine = head.split(' ').nth(1) == Some("200");
        if is_fine { Ok(body.to_string()) } else { Err(io::ErrorKind::InvalidData.into()) }
    }
}
