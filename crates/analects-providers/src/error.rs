//! Errors that providers report, as the core's [`ApiError`]s: their kind follows from status, type
//! and message. The errors of connections are the client's.

use analects_core::{ApiError, ApiErrorKind, Raw, RawMap};

use crate::{Api, gemini};

/// What an error says that came without a message.
pub(crate) const NO_MESSAGE: &str = "the provider gave up without saying why";

/// Reads an answer whose status is an error. `header` returns the value of a header by its
/// lower-case name.
///
/// ```
/// use analects_core::ApiErrorKind;
/// use analects_providers::{Api, error_from_response};
///
/// let body = br#"{"error":{"message":"Slow down.","type":"rate_limit"}}"#;
/// let header = |name: &str| (name == "retry-after").then(|| "3".to_string());
/// let error = error_from_response(Api::OpenAiChat, 429, header, body);
/// assert_eq!(error.kind, ApiErrorKind::RateLimit);
/// assert_eq!(error.retry_after_ms, Some(3000));
/// ```
pub fn error_from_response(
    api: Api,
    status: u16,
    header: impl Fn(&str) -> Option<String>,
    body: &[u8],
) -> ApiError {
    let text = String::from_utf8_lossy(body);
    let mut error = if api == Api::Gemini {
        gemini::error_in_body(status, &text)
    } else {
        error_in_body(status, &text)
    };
    let request_id = if api == Api::AnthropicMessages {
        header("request-id").or_else(|| request_id_in_body(&text))
    } else {
        header("x-request-id")
    };
    error.request_id = request_id.or(error.request_id);
    error.retry_after_ms = crate::retry::wait_in_headers(header).or(error.retry_after_ms);
    error
}

/// An error for an answer that cannot be read.
pub(crate) fn malformed(message: impl Into<String>) -> ApiError {
    ApiError::new(ApiErrorKind::Malformed, message)
}

/// Reads the body of an error from Anthropic, OpenAI or a compatible server.
fn error_in_body(status: u16, text: &str) -> ApiError {
    let reported = match RawMap::parse(text) {
        Ok(map) => ReportedError::in_body(&map),
        Err(_) => ReportedError::default(),
    };
    let mut error = reported.into_error(Some(status));
    if error.message.is_empty() {
        error.message = message_of_body(text);
    }
    error
}

/// Anthropic repeats the request's id in the body, which helps if a proxy drops the header.
fn request_id_in_body(body: &str) -> Option<String> {
    RawMap::parse(body).ok()?.string("request_id")
}

/// Reads the `error` member of an event in a stream that began with status 200.
pub(crate) fn error_in_stream(error: &Raw) -> ApiError {
    let mut error = ReportedError::in_member(error).into_error(None);
    if error.message.is_empty() {
        error.message = NO_MESSAGE.to_string();
    }
    error
}

/// Returns the `error` member of an event, if it contains more than an [`ApiError`] can hold.
pub(crate) fn error_with_more_fields(error: &Raw) -> Option<Raw> {
    let map = error.as_object()?;
    let has_more = map
        .iter()
        .any(|(key, value)| !is_held_by_api_error(key) && !is_empty(value));
    has_more.then(|| error.clone())
}

/// Whether the core's error has a place for a member, or does not need it.
fn is_held_by_api_error(key: &Raw) -> bool {
    let held = ["\"message\"", "\"type\"", "\"code\"", "\"sequence_number\""];
    held.contains(&key.as_str())
}

/// Whether a member says nothing.
fn is_empty(value: &Raw) -> bool {
    matches!(value.as_str(), "null" | "{}")
}

/// Whether the same request may succeed later. Whether it may be sent again also depends on the
/// answer: never after a part of it was shown.
///
/// ```
/// use analects_core::{ApiError, ApiErrorKind};
/// use analects_providers::is_retryable;
///
/// assert!(is_retryable(&ApiError::new(ApiErrorKind::Overloaded, "try later")));
/// assert!(!is_retryable(&ApiError::new(ApiErrorKind::Auth, "wrong key")));
/// ```
pub fn is_retryable(error: &ApiError) -> bool {
    crate::retry::permanent_reason(error).is_none()
}

/// An error as a server reports it, in any of the shapes that OpenAI and compatible servers use:
/// `{"error":{"message","type","code"}}`, `{"error":"…"}`, `{"message":"…"}`, `{"detail":"…"}`.
#[derive(Debug, Default)]
struct ReportedError {
    /// The message; empty if there is none.
    message: String,
    /// The `type`.
    kind: Option<String>,
    /// The `code`, which may be a status.
    code: Option<String>,
}

impl ReportedError {
    /// Reads a body, which has the error as a member or is the error itself.
    fn in_body(map: &RawMap) -> ReportedError {
        match map.get("error") {
            Some(error) => ReportedError::in_member(error),
            None => ReportedError::in_object(map),
        }
    }

    /// Reads the `error` member, which is an object or the message itself.
    fn in_member(error: &Raw) -> ReportedError {
        match error.as_object() {
            Some(map) => ReportedError::in_object(&map),
            None => ReportedError {
                message: text_of(error).unwrap_or_default(),
                ..ReportedError::default()
            },
        }
    }

    /// Reads an object with the members of an error.
    fn in_object(map: &RawMap) -> ReportedError {
        let message = text_member(map, "message").or_else(|| text_member(map, "detail"));
        let mut message = message.unwrap_or_default();
        if context_window_in(&message).is_none()
            && let Some(window) = text_member(map, "n_ctx")
        {
            // llama.cpp reports its context size beside the message.
            message.push_str(&format!(" (n_ctx {window})"));
        }
        ReportedError {
            message,
            kind: text_member(map, "type"),
            code: text_member(map, "code"),
        }
    }

    /// Converts to the core's error. `status` is `None` for an error within a stream.
    fn into_error(self, status: Option<u16>) -> ApiError {
        let code_number = self.code_number();
        let status = status.or(code_number.filter(|code| (400..600).contains(code)));
        let kind = self
            .special_kind()
            .or_else(|| status.map(kind_of_status))
            .or_else(|| self.kind_of_name());
        let mut error = ApiError::new(kind.unwrap_or(ApiErrorKind::Server), self.message);
        error.status = status;
        // OpenAI's codes say more than its types, unless a code only repeats the status.
        let code = self.code.filter(|_| code_number.is_none());
        error.error_type = code.or(self.kind);
        error
    }

    /// The code, if it is a number, such as a status.
    fn code_number(&self) -> Option<u16> {
        self.code.as_deref()?.parse().ok()
    }

    /// Whether the type or the code contains a word.
    fn is_named(&self, word: &str) -> bool {
        let names = [&self.kind, &self.code];
        names.into_iter().flatten().any(|name| name.contains(word))
    }

    /// Kinds that share their status with others.
    fn special_kind(&self) -> Option<ApiErrorKind> {
        let overflow = ["context_length_exceeded", "exceed_context_size_error"];
        if overflow.iter().any(|name| self.is_named(name)) || self.says_too_long() {
            return Some(ApiErrorKind::ContextOverflow);
        }
        let is_refusal = self.is_named("content_filter") || self.is_named("content_policy");
        is_refusal.then_some(ApiErrorKind::ContentRefused)
    }

    /// Whether the message says that the conversation is too long.
    fn says_too_long(&self) -> bool {
        const PHRASES: [&str; 4] = [
            "maximum context length",
            "context length exceeded",
            // Anthropic's words for the prompt alone, and for the prompt with the answer's limit.
            "prompt is too long",
            "exceed context limit",
        ];
        let message = self.message.to_lowercase();
        PHRASES.iter().any(|phrase| message.contains(phrase))
    }

    /// The kind by the provider's own name for it, for errors without a status.
    fn kind_of_name(&self) -> Option<ApiErrorKind> {
        const NAMES: [(&str, ApiErrorKind); 10] = [
            ("rate_limit", ApiErrorKind::RateLimit),
            ("quota", ApiErrorKind::RateLimit),
            ("overloaded", ApiErrorKind::Overloaded),
            ("unavailable", ApiErrorKind::Overloaded),
            ("authentication", ApiErrorKind::Auth),
            ("permission", ApiErrorKind::Auth),
            ("image", ApiErrorKind::BadRequest),
            ("not_found", ApiErrorKind::NotFound),
            ("invalid_", ApiErrorKind::BadRequest),
            ("timeout", ApiErrorKind::Timeout),
        ];
        let (_, kind) = NAMES.into_iter().find(|(name, _)| self.is_named(name))?;
        Some(kind)
    }
}

/// The text of a member, which may also be a number or an object.
fn text_member(map: &RawMap, key: &str) -> Option<String> {
    text_of(map.get(key)?)
}

/// A string, or the JSON of a number or an object; `None` for null.
fn text_of(raw: &Raw) -> Option<String> {
    if raw.as_str() == "null" {
        return None;
    }
    Some(raw.as_string().unwrap_or_else(|| raw.to_string()))
}

/// The kind of error that a status alone stands for.
pub(crate) fn kind_of_status(status: u16) -> ApiErrorKind {
    match status {
        401 | 403 => ApiErrorKind::Auth,
        404 => ApiErrorKind::NotFound,
        408 => ApiErrorKind::Timeout,
        // A body that is too large for the server is a conversation that is too long.
        413 => ApiErrorKind::ContextOverflow,
        402 | 429 => ApiErrorKind::RateLimit,
        503 | 529 => ApiErrorKind::Overloaded,
        500.. => ApiErrorKind::Server,
        _ => ApiErrorKind::BadRequest,
    }
}

/// The message of a body without a known error: its start. The web page of a proxy is of no use to
/// anybody.
pub(crate) fn message_of_body(body: &str) -> String {
    const MAX_CHARS: usize = 300;
    let body = body.trim();
    if body.is_empty() {
        return "no reason given".to_string();
    }
    if body.starts_with('<') {
        return "the answer is a web page".to_string();
    }
    let start = body.chars().take(MAX_CHARS);
    start
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

/// How many bytes may stand between the words and their number.
const MAX_DISTANCE: usize = 24;

/// Words before the size of the context window, in lower case.
const BEFORE_WINDOW: [&str; 6] = [
    // OpenAI and compatible servers.
    "maximum context length is",
    "maximum context length of",
    // llama.cpp, in its message and in the member beside it.
    "available context size",
    "n_ctx",
    // Gemini.
    "maximum number of tokens allowed",
    // Ollama and others.
    "context window of",
];

/// Anthropic's words before a comparison of two numbers, of which the second is the context window.
const BEFORE_COMPARISON: [&str; 2] = ["prompt is too long", "exceed context limit"];

/// Finds the size of the context window, in tokens, in a provider's message that a conversation is
/// too long.
///
/// ```
/// use analects_providers::context_window_in;
///
/// let message = "This model's maximum context length is 8192 tokens. However, you requested 9000.";
/// assert_eq!(context_window_in(message), Some(8192));
/// assert_eq!(context_window_in("prompt is too long: 208310 tokens > 200000 maximum"), Some(200_000));
/// assert_eq!(context_window_in("it is too long"), None);
/// ```
pub fn context_window_in(message: &str) -> Option<u64> {
    let message = message.to_ascii_lowercase();
    let named = BEFORE_WINDOW
        .iter()
        .find_map(|words| number_near_start(text_after(words, &message)?));
    named.or_else(|| compared_window(&message))
}

/// The second number of a comparison such as `208310 tokens > 200000 maximum`.
fn compared_window(message: &str) -> Option<u64> {
    let rest = BEFORE_COMPARISON
        .iter()
        .find_map(|words| text_after(words, message))?;
    let (_, window) = rest.split_once('>')?;
    number_near_start(window)
}

/// The text behind the first occurrence of these words.
fn text_after<'a>(words: &str, text: &'a str) -> Option<&'a str> {
    let at = text.find(words)?;
    Some(&text[at + words.len()..])
}

/// The number close to the start of a text, which may contain `,` or `_`. `None` if it is too large
/// for 64 bits.
fn number_near_start(text: &str) -> Option<u64> {
    let mut near = text.bytes().take(MAX_DISTANCE);
    let start = near.position(|byte| byte.is_ascii_digit())?;
    let number = text[start..].split(|c| !is_number_char(c)).next()?;
    number.replace([',', '_'], "").parse().ok()
}

fn is_number_char(c: char) -> bool {
    c.is_ascii_digit() || c == ',' || c == '_'
}

#[cfg(test)]
mod tests;
