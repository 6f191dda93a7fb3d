//! The other shapes of requests and answers: the whole answer at once instead of a stream, and recorded
//! answers of which nobody said who gave them.

use analects_core::{Raw, RawMap};
use memchr::memmem;

use crate::{Api, HttpRequest, gemini};

/// The same request for an answer in one piece.
pub fn at_once(api: Api, mut request: HttpRequest) -> HttpRequest {
    for (name, value) in &mut request.headers {
        if name == "accept" {
            *value = "application/json".to_string();
        }
    }
    if api == Api::Gemini {
        request.path = gemini::path_at_once(&request.path);
        return request;
    }
    let text = String::from_utf8_lossy(&request.body);
    if let Ok(body) = RawMap::parse(&text) {
        let is_about_streams =
            |key: &Raw| matches!(key.as_str(), "\"stream\"" | "\"stream_options\"");
        let mut rest = RawMap::new();
        for (key, value) in body.iter().filter(|(key, _)| !is_about_streams(key)) {
            rest.push_raw(key.clone(), value.clone());
        }
        request.body = rest.to_raw().to_string().into_bytes();
    }
    request
}

/// The wire format of a recorded answer, by the words that only one of them has; `None` where the
/// beginning of the answer does not tell.
pub fn recognise(answer: &[u8]) -> Option<Api> {
    let marks: [(&[&str], Api); 4] = [
        (
            &["\"response.created\"", "\"object\":\"response\"", "\"object\": \"response\""],
            Api::OpenAiResponses,
        ),
        (&["\"choices\""], Api::OpenAiChat),
        (&["\"candidates\"", "\"promptFeedback\"", "\"usageMetadata\""], Api::Gemini),
        (&["\"message_start\"", "\"stop_reason\""], Api::AnthropicMessages),
    ];
    let place = |mark: &&str| memmem::find(answer, mark.as_bytes());
    let first =
        |(words, api): &(&[&str], Api)| Some((words.iter().filter_map(&place).min()?, *api));
    marks.iter().filter_map(first).min_by_key(|(at, _)| *at).map(|(_, api)| api)
}

#[cfg(test)]
mod tests {
    //! Shapes of every wire format.

    use super::*;

    #[test]
    fn an_answer_at_once_is_asked_for_without_a_stream() {
        let request = analects_core::Request { model: "m".into(), ..Default::default() };
        for api in [Api::AnthropicMessages, Api::OpenAiChat, Api::OpenAiResponses, Api::Gemini] {
            let stream = crate::encode(api, &request);
            let whole = at_once(api, stream.clone());
            let body = String::from_utf8(whole.body).unwrap();
            assert!(!body.contains("\"stream"), "{api:?}: {body}");
            assert!(!whole.path.contains("stream"), "{api:?}: {}", whole.path);
            let accepts =
                |(name, value): &(String, String)| name == "accept" && value == "application/json";
            assert!(whole.headers.iter().any(accepts), "{api:?}");
            let asks = String::from_utf8(stream.body).unwrap().contains("\"stream\":true");
            assert!(asks || stream.path.contains("stream"), "{api:?}");
        }
    }

    #[test]
    fn recordings_tell_who_gave_them() {
        let cases = [
            (
                "event: message_start\ndata: {\"type\":\"message_start\"}\n\n",
                Some(Api::AnthropicMessages),
            ),
            (
                "{\"id\":\"msg\",\"type\":\"message\",\"stop_reason\":\"end_turn\"}",
                Some(Api::AnthropicMessages),
            ),
            ("data: {\"id\":\"r\",\"choices\":[]}\n\n", Some(Api::OpenAiChat)),
            (
                "event: response.created\ndata: {\"type\":\"response.created\"}\n\n",
                Some(Api::OpenAiResponses),
            ),
            ("data: {\"candidates\":[{}]}\n\n", Some(Api::Gemini)),
            (
                "data: {\"choices\":[{\"delta\":{\"content\":\"\\\"candidates\\\"\"}}]}",
                Some(Api::OpenAiChat),
            ),
            ("hello", None),
        ];
        for (answer, api) in cases {
            assert_eq!(recognise(answer.as_bytes()), api, "{answer}");
        }
    }
}
