//! Requests in the terms of HTTP, as plain data. They contain neither keys nor host names; the
//! client adds both.

use analects_core::{Problem, RawMap};

use crate::{Api, gemini};

/// The media type of JSON.
const JSON: &str = "application/json";

/// A request to a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpRequest {
    /// The method.
    pub method: Method,
    /// The path below the provider's base URL, such as `/chat/completions`, with the query, if
    /// there is one.
    pub path: String,
    /// The headers, without the one for the key.
    pub headers: Vec<(String, String)>,
    /// How the key is sent.
    pub auth: Auth,
    /// The body; empty for [`Method::Get`].
    pub body: Vec<u8>,
    /// What the body omits, changes or adds, because the API requires it.
    pub left_out: Vec<Problem>,
}

/// An HTTP method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// `GET`, without a body.
    Get,
    /// `POST`.
    Post,
}

/// The header in which a provider expects the key.
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
    /// A request with a JSON body, whose answer is a stream of events.
    pub(crate) fn stream(path: &str, auth: Auth, body: Vec<u8>) -> HttpRequest {
        let request = HttpRequest {
            method: Method::Post,
            path: path.to_string(),
            headers: Vec::new(),
            auth,
            body,
            left_out: Vec::new(),
        };
        request
            .header("content-type", JSON)
            .header("accept", "text/event-stream")
    }

    /// A request without a body, whose answer is JSON.
    pub(crate) fn get(path: String, auth: Auth) -> HttpRequest {
        HttpRequest {
            method: Method::Get,
            path,
            headers: vec![("accept".to_string(), JSON.to_string())],
            auth,
            body: Vec::new(),
            left_out: Vec::new(),
        }
    }

    /// A request with a JSON body, whose answer is JSON as well.
    pub(crate) fn json(path: &str, auth: Auth, body: Vec<u8>) -> HttpRequest {
        HttpRequest::stream(path, auth, body).accept_json()
    }

    /// The same request, but for JSON instead of a stream.
    fn accept_json(mut self) -> HttpRequest {
        for (name, value) in &mut self.headers {
            if name == "accept" {
                *value = JSON.to_string();
            }
        }
        self
    }

    /// The same request with one more header.
    pub(crate) fn header(mut self, name: &str, value: &str) -> HttpRequest {
        self.headers.push((name.to_string(), value.to_string()));
        self
    }

    /// The same request with the report of its encoder.
    pub(crate) fn with_problems(mut self, problems: Vec<Problem>) -> HttpRequest {
        self.left_out = problems;
        self
    }
}

/// Changes a request for a stream to one for an answer in one piece. The
/// [`Decoder`](crate::Decoder) reads both.
///
/// ```
/// use analects_core::Request;
/// use analects_providers::{Api, encode, without_streaming};
///
/// let request = encode(Api::OpenAiChat, &Request::from_prompt("Hello"));
/// let request = without_streaming(Api::OpenAiChat, request);
/// assert!(!String::from_utf8_lossy(&request.body).contains("stream"));
/// ```
pub fn without_streaming(api: Api, request: HttpRequest) -> HttpRequest {
    let mut request = request.accept_json();
    if api == Api::Gemini {
        request.path = gemini::path_without_streaming(&request.path);
    } else if let Ok(mut body) = RawMap::parse(&String::from_utf8_lossy(&request.body)) {
        body.remove("stream");
        body.remove("stream_options");
        request.body = body.to_raw().to_string().into_bytes();
    }
    request
}

#[cfg(test)]
mod tests {
    //! Shapes of every wire format.

    use super::*;

    #[test]
    fn without_streaming_asks_for_plain_json() {
        let request = analects_core::Request {
            model: "m".into(),
            ..Default::default()
        };
        for api in [
            Api::AnthropicMessages,
            Api::OpenAiChat,
            Api::OpenAiResponses,
            Api::Gemini,
        ] {
            let stream = crate::encode(api, &request);
            let whole = without_streaming(api, stream.clone());
            let body = String::from_utf8(whole.body).unwrap();
            assert!(!body.contains("\"stream"), "{api:?}: {body}");
            assert!(!whole.path.contains("stream"), "{api:?}: {}", whole.path);
            let accepts =
                |(name, value): &(String, String)| name == "accept" && value == "application/json";
            assert!(whole.headers.iter().any(accepts), "{api:?}");
            let asks = String::from_utf8(stream.body)
                .unwrap()
                .contains("\"stream\":true");
            assert!(asks || stream.path.contains("stream"), "{api:?}");
        }
    }
}
