//! Provider errors, classified in the same way for every provider. No transport here: the client converts what it
//! receives into these.

use serde::{Deserialize, Serialize};

/// What went wrong on the provider's side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApiErrorKind {
    /// The key is missing, wrong, or lacks the permission.
    Auth,
    /// The model or the URL does not exist.
    NotFound,
    /// The provider rejects the request.
    BadRequest,
    /// The conversation exceeds the model's context window.
    ContextOverflow,
    /// Too many requests, or no credit left.
    RateLimit,
    /// The provider is overloaded.
    Overloaded,
    /// The provider failed internally.
    Server,
    /// The provider could not be reached, or the connection broke off.
    Network,
    /// The provider did not respond in time.
    Timeout,
    /// The user cancelled the request.
    Cancelled,
    /// The provider refuses the content.
    ContentRefused,
    /// The response cannot be read.
    Malformed,
}

impl ApiErrorKind {
    /// The serialized name, such as `rate_limit`.
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

/// A provider error, with everything that the provider reports about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct ApiError {
    /// The kind of error.
    pub kind: ApiErrorKind,
    /// The provider's message, or ours if it sent none.
    pub message: String,
    /// The HTTP status code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The provider's own name for the kind of error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_type: Option<String>,
    /// The provider's id for the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// How long to wait before a retry, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

impl ApiError {
    /// Creates an error with only a kind and a message.
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

    /// Returns whether the conversation exceeds the model's context window.
    pub fn is_context_overflow(&self) -> bool {
        self.kind == ApiErrorKind::ContextOverflow
    }
}
