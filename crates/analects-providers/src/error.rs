//! Errors that providers report, in the words of the core: by status, type and message. No
//! transport errors here; those are the client's.

use analects_core::{ApiError, ApiErrorKind, Raw, RawMap};

use crate::{Api, gemini};

/// Reads an answer whose status says that it is an error. `header` looks a header up by its
/// lower-case name.
pub fn error_from_response(
    api: Api,
    status: u16,
    header: impl Fn(&str) -> Option<String>,
    body: &[u8],
) -> ApiError {
    let text = String::from_utf8_lossy(body);
    let mut error = match api {
        Api::Gemini => gemini::error_of_body(status, &text),
        _ => said_in_body(status, &text),
    };
    let request_id = match api {
        Api::AnthropicMessages => header("request-id").or_else(|| body_request_id(&text)),
        _ => header("x-request-id"),
    };
    error.request_id = request_id.or(error.request_id);
    error.retry_after_ms = crate::retry::after_ms(header).or(error.retry_after_ms);
    error
}

fn said_in_body(status: u16, text: &str) -> ApiError {
    let said = RawMap::parse(text)
        .map(|map| Said::in_object(&map))
        .unwrap_or_default();
    let mut error = said.into_error(Some(status));
    if error.message.is_empty() {
        error.message = plain_message(text);
    }
    error
}

/// Anthropic names the request beside the error, too, where a proxy may have dropped its header.
fn body_request_id(body: &str) -> Option<String> {
    RawMap::parse(body).ok()?.get("request_id")?.as_string()
}

/// Reads the `error` member of an event in the middle of a stream.
pub(crate) fn error_in_stream(error: &Raw) -> ApiError {
    let mut error = Said::in_error(error).into_error(None);
    if error.message.is_empty() {
        error.message = "the provider gave up without saying why".to_string();
    }
    error
}

/// The `error` member of an event as it came, if it says more than an [`ApiError`] can hold.
pub(crate) fn more_in_stream(error: &Raw) -> Option<Raw> {
    let held = ["\"message\"", "\"type\"", "\"code\"", "\"sequence_number\""];
    let map = error.as_object()?;
    let mut more = map.iter().filter(|(key, value)| {
        !held.contains(&key.as_str()) && !matches!(value.as_str(), "null" | "{}")
    });
    more.next().map(|_| error.clone())
}

/// Whether the same request may succeed later. Whether it may be sent again is another question:
/// never after a part of the answer was shown.
pub fn is_retryable(error: &ApiError) -> bool {
    crate::retry::why_never(error).is_none()
}

/// What a body says about an error, in any of the shapes that OpenAI and its likes use:
/// `{"error":{"message","type","code"}}`, `{"error":"…"}`, `{"message":"…"}`, `{"detail":"…"}`.
#[derive(Debug, Default)]
struct Said {
    message: String,
    kind: Option<String>,
    code: Option<String>,
}

impl Said {
    fn in_object(map: &RawMap) -> Said {
        match map.get("error") {
            Some(error) => Said::in_error(error),
            None => Said::in_members(map),
        }
    }

    fn in_error(error: &Raw) -> Said {
        match error.as_object() {
            Some(map) => Said::in_members(&map),
            None => Said {
                message: words(error).unwrap_or_default(),
                ..Said::default()
            },
        }
    }

    fn in_members(map: &RawMap) -> Said {
        let member = |key| map.get(key).and_then(words);
        let mut message = member("message")
            .or_else(|| member("detail"))
            .unwrap_or_default();
        // llama.cpp says beside the message how much would fit.
        if let Some(window) = member("n_ctx").filter(|_| named_window(&message).is_none()) {
            message.push_str(&format!(" (n_ctx {window})"));
        }
        Said {
            message,
            kind: member("type"),
            code: member("code"),
        }
    }

    fn into_error(self, status: Option<u16>) -> ApiError {
        let number = self.code.as_deref().and_then(|code| code.parse().ok());
        let status = status.or(number.filter(|code| (400..600).contains(code)));
        let kind = self.special_kind().or_else(|| status.map(kind_of_status));
        let kind = kind
            .or_else(|| self.named_kind())
            .unwrap_or(ApiErrorKind::Server);
        let mut error = ApiError::new(kind, self.message);
        error.status = status;
        // OpenAI's codes say more than its types, unless they repeat the status.
        error.error_type = self.code.filter(|_| number.is_none()).or(self.kind);
        error
    }

    fn says(&self, word: &str) -> bool {
        [&self.kind, &self.code]
            .into_iter()
            .flatten()
            .any(|said| said.contains(word))
    }

    /// Kinds that no status tells apart.
    fn special_kind(&self) -> Option<ApiErrorKind> {
        let message = self.message.to_lowercase();
        let overflow = ["context_length_exceeded", "exceed_context_size_error"];
        let too_long = [
            "maximum context length",
            "context length exceeded",
            // Anthropic's words for the prompt alone, and for the prompt with the answer's limit.
            "prompt is too long",
            "exceed context limit",
        ];
        if overflow.iter().any(|word| self.says(word))
            || too_long.iter().any(|words| message.contains(words))
        {
            return Some(ApiErrorKind::ContextOverflow);
        }
        let refused = self.says("content_filter") || self.says("content_policy");
        refused.then_some(ApiErrorKind::ContentRefused)
    }

    /// The kind by the provider's own name for it, where no status came along.
    fn named_kind(&self) -> Option<ApiErrorKind> {
        let names = [
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
        names
            .into_iter()
            .find(|(word, _)| self.says(word))
            .map(|(_, kind)| kind)
    }
}

/// A string as it is, a number or an object as its JSON; `None` for null.
fn words(raw: &Raw) -> Option<String> {
    (raw.as_str() != "null").then(|| raw.as_string().unwrap_or_else(|| raw.to_string()))
}

pub(crate) fn kind_of_status(status: u16) -> ApiErrorKind {
    match status {
        401 | 403 => ApiErrorKind::Auth,
        404 => ApiErrorKind::NotFound,
        408 => ApiErrorKind::Timeout,
        // A body that the server will not take is, in a conversation, one that grew too long.
        413 => ApiErrorKind::ContextOverflow,
        402 | 429 => ApiErrorKind::RateLimit,
        503 | 529 => ApiErrorKind::Overloaded,
        500.. => ApiErrorKind::Server,
        _ => ApiErrorKind::BadRequest,
    }
}

/// The message of a body that is not JSON. The pages of proxies are of no use to a reader.
pub(crate) fn plain_message(body: &str) -> String {
    const LONGEST: usize = 300;
    let body = body.trim();
    if body.is_empty() {
        return "no reason given".to_string();
    }
    if body.starts_with('<') {
        return "the answer is a web page".to_string();
    }
    body.chars()
        .take(LONGEST)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

/// The most bytes between the words and the number.
const NEAR: usize = 24;

/// Words before the number, in lower case.
const BEFORE: [&str; 6] = [
    // OpenAI and its likes.
    "maximum context length is",
    "maximum context length of",
    // llama.cpp, in its words and in the member that stands beside them.
    "available context size",
    "n_ctx",
    // Gemini.
    "maximum number of tokens allowed",
    // Ollama and others.
    "context window of",
];

/// Words of Anthropic, behind which two numbers are compared: the last one is the window.
const COMPARED: [&str; 2] = ["prompt is too long", "exceed context limit"];

/// How many tokens fit, if a refusal says so.
///
/// ```
/// use analects_providers::named_window;
///
/// let refusal = "This model's maximum context length is 8192 tokens. However, you requested 9000.";
/// assert_eq!(named_window(refusal), Some(8192));
/// assert_eq!(named_window("prompt is too long: 208310 tokens > 200000 maximum"), Some(200_000));
/// assert_eq!(named_window("it is too long"), None);
/// ```
pub fn named_window(message: &str) -> Option<u64> {
    let message = message.to_ascii_lowercase();
    let after = |words: &str| message.find(words).map(|at| &message[at + words.len()..]);
    let named = BEFORE
        .iter()
        .filter_map(|words| after(words))
        .find_map(number_near);
    let compared = || {
        let rest = COMPARED.iter().find_map(|words| after(words))?;
        number_near(rest.split_once('>')?.1)
    };
    named.or_else(compared)
}

/// The number with which a text begins, but for a few other characters. One that no machine can count is none.
fn number_near(text: &str) -> Option<u64> {
    let start = text
        .bytes()
        .take(NEAR)
        .position(|byte| byte.is_ascii_digit())?;
    let is_part = |c: char| c.is_ascii_digit() || c == ',' || c == '_';
    let digits = text[start..].split(|c| !is_part(c)).next()?;
    digits.replace([',', '_'], "").parse().ok()
}

#[cfg(test)]
mod tests;
