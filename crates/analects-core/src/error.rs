//! Errors of the model's side, in words that hold for every provider. No transport here: the
//! client turns what it meets into these.

use serde::{Deserialize, Serialize};

/// What went wrong at the model's side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApiErrorKind {
    /// The key is missing, wrong, or not allowed to do this.
    Auth,
    /// No such model or address.
    NotFound,
    /// The provider does not accept the request.
    BadRequest,
    /// The conversation is longer than the model can read.
    ContextOverflow,
    /// Too many requests, or no credit left.
    RateLimit,
    /// The provider has too much to do.
    Overloaded,
    /// The provider failed.
    Server,
    /// The provider could not be reached, or the connection broke.
    Network,
    /// Nothing came in time.
    Timeout,
    /// The person stopped it.
    Cancelled,
    /// The provider refuses the content.
    ContentRefused,
    /// What came back cannot be read.
    Malformed,
}

impl ApiErrorKind {
    /// The word under which it is written, such as `rate_limit`.
    pub fn as_str(self) -> &'static str {
        match self {
            ApiErrorKind::Auth => "auth",
            ApiErrorKind::NotFound => "not_found",
            ApiErrorKind::BadRequest => "bad_request",
            ApiErrorKind::ContextOverflow => "context_overflow",
            ApiErrorKind::RateLimit => "rate_limit",
            ApiErrorKind::Overloaded => "overloaded",
            ApiErrorKind::Server => "server",
            ApiErrorKind::Network => "network",
            ApiErrorKind::Timeout => "timeout",
            ApiErrorKind::Cancelled => "cancelled",
            ApiErrorKind::ContentRefused => "content_refused",
            ApiErrorKind::Malformed => "malformed",
        }
    }
}

/// An error of the model's side, with everything that the provider said about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct ApiError {
    /// What went wrong.
    pub kind: ApiErrorKind,
    /// The provider's own words, or ours where it said nothing.
    pub message: String,
    /// The HTTP status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The provider's own name for the kind of error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_type: Option<String>,
    /// The provider's name for the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// How long to wait before the next try.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

impl ApiError {
    /// An error of which no more is known than its kind and a message.
    pub fn new(kind: ApiErrorKind, message: impl Into<String>) -> ApiError {
        ApiError {
            kind,
            message: message.into(),
            status: None,
            error_type: None,
            request_id: None,
            retry_after_ms: None,
        }
    }

    /// Whether the conversation is longer than the model can read.
    pub fn is_context_overflow(&self) -> bool {
        self.kind == ApiErrorKind::ContextOverflow
    }
}
