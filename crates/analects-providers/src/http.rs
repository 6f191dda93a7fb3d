//! A request in HTTP's terms, as plain data. Keys and host names are not part of it: the client,
//! which knows both, adds them.

use analects_core::{Problem, RawMap};

use crate::{Api, gemini};

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
        let request = HttpRequest {
            method: Method::Post,
            path: path.to_string(),
            headers: Vec::new(),
            auth,
            body,
            left_out: Vec::new(),
        };
        request
            .header("content-type", "application/json")
            .header("accept", "text/event-stream")
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
        HttpRequest::stream(path, auth, body).accepting_json()
    }

    fn accepting_json(mut self) -> HttpRequest {
        for (name, value) in &mut self.headers {
            if name == "accept" {
                *value = "application/json".to_string();
            }
        }
        self
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

/// The same request for an answer in one piece.
pub fn at_once(api: Api, request: HttpRequest) -> HttpRequest {
    let mut request = request.accepting_json();
    if api == Api::Gemini {
        request.path = gemini::path_at_once(&request.path);
        return request;
    }
    if let Ok(mut body) = RawMap::parse(&String::from_utf8_lossy(&request.body)) {
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
    fn an_answer_at_once_is_asked_for_without_a_stream() {
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
            let whole = at_once(api, stream.clone());
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
