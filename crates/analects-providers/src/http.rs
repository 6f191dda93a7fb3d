//! A request in HTTP's terms, as plain data. Keys and host names are not part of it: the client,
//! which knows both, adds them.

/// What is to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpRequest {
    /// The method.
    pub method: Method,
    /// The path below the provider's base URL, such as `/chat/completions`.
    pub path: String,
    /// Headers, without the one that carries the key.
    pub headers: Vec<(String, String)>,
    /// How the key is to be sent.
    pub auth: Auth,
    /// The body.
    pub body: Vec<u8>,
}

/// An HTTP method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Asks for something to be done.
    Post,
}

/// How a provider wants to see the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Auth {
    /// As `Authorization: Bearer …`.
    Bearer,
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
        }
    }
}
