//! Whether a server on this machine is there, and is ours: one small request over loopback.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// The most that is read of an answer.
const ENOUGH: u64 = 1 << 20;

/// Whether the server at `port` answers to `key` and serves the model `name`. A server that is still
/// loading, or another that has come by the port, does not.
pub(crate) fn is_ready(port: u16, key: &str, name: &str, limit: Duration) -> bool {
    let Ok((200, body)) = get(port, "/v1/models", Some(key), limit) else { return false };
    let Ok(body) = serde_json::from_str::<serde_json::Value>(&body) else { return false };
    let models = body["data"].as_array();
    models.is_some_and(|models| models.iter().any(|model| model["id"] == name))
}

/// Whether anybody listens at a port; a server that hangs does.
pub(crate) fn is_listening(port: u16) -> bool {
    let limit = Duration::from_secs(1);
    match TcpStream::connect_timeout(&(Ipv4Addr::LOCALHOST, port).into(), limit) {
        Ok(_) => true,
        Err(error) => error.kind() != io::ErrorKind::ConnectionRefused,
    }
}

/// The models of a server that needs no key, such as an Ollama; `None` if nobody answers in time.
pub fn models_at(address: SocketAddr, limit: Duration) -> Option<Vec<String>> {
    let (status, body) = get_from(address, "/v1/models", None, limit).ok()?;
    let body: serde_json::Value = serde_json::from_str(&body).ok().filter(|_| status == 200)?;
    // With nothing pulled, the list is null.
    let models = body["data"].as_array().cloned().unwrap_or_default();
    Some(models.iter().filter_map(|model| Some(model["id"].as_str()?.to_string())).collect())
}

fn get(port: u16, path: &str, key: Option<&str>, limit: Duration) -> io::Result<(u16, String)> {
    get_from((Ipv4Addr::LOCALHOST, port).into(), path, key, limit)
}

fn get_from(
    address: SocketAddr,
    path: &str,
    key: Option<&str>,
    limit: Duration,
) -> io::Result<(u16, String)> {
    let end = Instant::now() + limit;
    let left = || {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::Error::from(io::ErrorKind::TimedOut)) } else { Ok(left) }
    };
    let mut stream = TcpStream::connect_timeout(&address, left()?)?;
    let key = key.map(|key| format!("authorization: Bearer {key}\r\n")).unwrap_or_default();
    // The older version, so that the answer ends with the connection and comes in one piece.
    let request = format!("GET {path} HTTP/1.0\r\nhost: {address}\r\n{key}\r\n");
    stream.set_write_timeout(Some(left()?))?;
    stream.write_all(request.as_bytes())?;
    let mut bytes = Vec::new();
    let mut buffer = [0; 8192];
    loop {
        stream.set_read_timeout(Some(left()?))?;
        let count = stream.read(&mut buffer)?;
        bytes.extend_from_slice(&buffer[..count]);
        if count == 0 || bytes.len() as u64 > ENOUGH || is_whole(&bytes) {
            return parse(&bytes);
        }
    }
}

/// Whether all of the body that was announced has come: some servers keep the connection open.
fn is_whole(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let Some((head, _)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    length.is_some_and(|length| bytes.len() >= head.len() + 4 + length)
}

fn parse(bytes: &[u8]) -> io::Result<(u16, String)> {
    let text = String::from_utf8_lossy(bytes);
    let (head, body) = text.split_once("\r\n\r\n").ok_or(io::ErrorKind::InvalidData)?;
    let status = head.split_whitespace().nth(1).and_then(|word| word.parse().ok());
    Ok((status.ok_or(io::ErrorKind::InvalidData)?, body.to_string()))
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
        is_ready(server(answer, keeps), "key", "tiny", Duration::from_secs(20))
    }

    #[test]
    fn only_a_server_with_our_model_is_ours() {
        let good = "HTTP/1.1 200 OK\r\nContent-Length: 24\r\n\r\n{\"data\":[{\"id\":\"tiny\"}]}";
        assert!(ready(good, false) && ready(good, true));
        assert!(ready("HTTP/1.1 200 OK\r\n\r\n{\"data\":[{\"id\":\"tiny\"}]}", false));
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
        assert!(!is_ready(server("", true), "key", "tiny", Duration::from_millis(100)));
        assert!(start.elapsed() < Duration::from_secs(20));
        assert!(is_listening(server("", true)));
    }
}
