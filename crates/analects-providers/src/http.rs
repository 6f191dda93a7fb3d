//! A request in HTTP's terms, as plain data. Keys and host names are not part of it: the client,
//! which knows both, adds them.

use analects_core::Problem;

/// What is to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpRequest {
    /// The method.
    pub method: Method,
    /// The path below the provider's base URL, such as `/chat/completions`, and the query, if any.
    pub path: String,
    /// Headers, without the one that carries the key.
    pub headers: Vec<(String, String)>,
    /// How the key is to be sent.
    pub auth: Auth,
    /// The body.
    pub body: Vec<u8>,
    /// What was asked for and is not in the body, because the API has no place for it.
    pub left_out: Vec<Problem>,
}

/// An HTTP method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Asks for something to be told; there is no body.
    Get,
    /// Asks for something to be done.
    Post,
}

/// How a provider wants to see the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Auth {
    /// As `Authorization: Bearer …`.
    Bearer,
    /// As `x-goog-api-key: …`.
    GoogleKey,
    /// As `x-api-key: …`.
    XApiKey,
}

impl HttpRequest {
    /// A request with a JSON body whose answer is a stream of events.
    pub(crate) fn stream(path: &str, auth: Auth, body: Vec<u8>) -> HttpRequest {
        let header = |name: &str, value: &str| (name.to_string(), value.to_string());
        HttpRequest {
            method: Method::Post,
            path: path.to_string(),
            headers: vec![
                header("content-type", "application/json"),
                header("accept", "text/event-stream"),
            ],
            auth,
            body,
            left_out: Vec::new(),
        }
    }

    /// A request for something that is told in JSON.
    pub(crate) fn get(path: String, auth: Auth) -> HttpRequest {
        HttpRequest {
            method: Method::Get,
            path,
            headers: vec![("accept".to_string(), "application/json".to_string())],
            auth,
            body: Vec::new(),
            left_out: Vec::new(),
        }
    }

    /// A request with a JSON body whose answer is JSON, too.
    pub(crate) fn json(path: &str, auth: Auth, body: Vec<u8>) -> HttpRequest {
        let mut request = HttpRequest::stream(path, auth, body);
        request.headers[1].1 = "application/json".to_string();
        request
    }

    /// The same with one more header.
    pub(crate) fn header(mut self, name: &str, value: &str) -> HttpRequest {
        self.headers.push((name.to_string(), value.to_string()));
        self
    }

    /// Says what the body leaves out.
    pub(crate) fn leaving_out(mut self, left_out: Vec<Problem>) -> HttpRequest {
        self.left_out = left_out;
        self
    }
}
