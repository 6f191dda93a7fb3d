//! Everything that can go wrong between a request and the last byte of its answer.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use analects_core::{ApiError, ApiErrorKind};
use thiserror::Error;

/// Why there is no answer, or only a part of it. No message contains a key, but it may name
/// addresses and files of this machine; [`ClientError::public_message`] does not.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ClientError {
    /// No provider has this name.
    #[error("unknown model \"{name}\"")]
    UnknownModel {
        /// The name.
        name: String,
        /// The known models that were probably meant, as `provider/NAME`, the nearest first.
        near: Vec<String>,
    },
    /// The provider requires a key, and none is set.
    #[error("no key for this model: {0} is not set")]
    NoKey(&'static str),
    /// A key, or another header, contains characters that HTTP does not allow.
    #[error("the {0} header holds characters that HTTP does not allow")]
    BadHeader(String),
    /// The base URL is invalid.
    #[error("the base URL cannot be used: {0}")]
    BadAddress(String),
    /// This machine cannot make connections at all.
    #[error("cannot set up connections: {0}")]
    Setup(String),
    /// No connection could be made.
    #[error("cannot reach {url}: {reason}")]
    Unreachable {
        /// The address.
        url: String,
        /// Why.
        reason: String,
    },
    /// The connection broke in the middle of the answer.
    #[error("the connection to {url} broke: {reason}")]
    Broken {
        /// The address.
        url: String,
        /// Why.
        reason: String,
    },
    /// Nothing came in time.
    #[error("{url} {wait} within {} s", .limit.as_secs_f64())]
    TimedOut {
        /// The address.
        url: String,
        /// What did not happen in time.
        wait: TimeoutPhase,
        /// The time limit.
        limit: Duration,
    },
    /// The server redirects to another address.
    #[error("{url} redirects to {to}, which is not followed")]
    Redirected {
        /// The address of the server.
        url: String,
        /// The address that it redirects to.
        to: String,
    },
    /// The provider answered with an error.
    #[error("{url} answered {}: {error}", .error.status.unwrap_or_default())]
    Api {
        /// The address.
        url: Box<str>,
        /// The error that it reported.
        error: ApiError,
        /// Whether the server says that another try may help; `None` if it says nothing.
        should_retry: Option<bool>,
        /// If the provider does not know the model, those that were probably meant.
        near: Option<Box<NearModels>>,
    },
    /// The answer began, and was cut off or ended with an error.
    #[error("the answer broke off: {0}")]
    Interrupted(ApiError),
    /// The provider or the server does not support this.
    #[error("{0}")]
    Unsupported(&'static str),
    /// A key would be sent over a connection that others can read.
    #[error("{0} is not on this machine, and http:// would send everything in the clear")]
    PlainHttp(String),
    /// Several providers have a model of that name.
    #[error("several providers have a model \"{name}\"")]
    Ambiguous {
        /// The name.
        name: String,
        /// The same model with each of its providers, as `provider/NAME`.
        models: Vec<String>,
    },
    /// A recorded answer cannot be read.
    #[error("cannot read {}: {reason}", .path.display())]
    Replay {
        /// The file.
        path: PathBuf,
        /// The kind of the error.
        kind: io::ErrorKind,
        /// Why.
        reason: String,
    },
}

/// Known models of a provider that are much like one that it does not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NearModels {
    /// Each as `provider/NAME`, the nearest first.
    pub names: Vec<String>,
}

/// What did not happen in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TimeoutPhase {
    /// A connection.
    #[error("did not accept the connection")]
    Connect,
    /// The first byte of the answer.
    #[error("did not begin to answer")]
    FirstByte,
    /// The next bytes of the answer.
    #[error("sent nothing more")]
    Idle,
    /// The end of the answer.
    #[error("did not finish the answer")]
    Answer,
}

impl ClientError {
    pub(crate) fn replay(path: &Path, error: &io::Error) -> ClientError {
        let (path, kind) = (path.to_path_buf(), error.kind());
        ClientError::Replay {
            path,
            kind,
            reason: reason(error),
        }
    }

    /// A message that may be saved and passed on: it contains the provider's words, but not the
    /// addresses and files of this machine, which are only for its user.
    pub fn public_message(&self) -> String {
        match self {
            ClientError::UnknownModel { .. } => "unknown model".to_string(),
            ClientError::Setup(reason) => because("cannot set up connections", reason, ""),
            ClientError::Unreachable { url, reason } => {
                because("cannot reach the provider", reason, url)
            }
            ClientError::Broken { url, reason } => {
                because("the connection to the provider broke", reason, url)
            }
            ClientError::TimedOut { wait, limit, .. } => {
                format!("the provider {wait} within {} s", limit.as_secs_f64())
            }
            ClientError::Redirected { .. } => {
                "the provider redirects to another address, which is not followed".to_string()
            }
            ClientError::Api { error, .. } => match error.status {
                Some(status) => format!("the provider answered {status}: {error}"),
                None => format!("the provider answered: {error}"),
            },
            ClientError::Replay {
                kind: io::ErrorKind::NotFound,
                ..
            } => "cannot read the recording: no such file".to_string(),
            ClientError::Replay { reason, .. } => because("cannot read the recording", reason, ""),
            ClientError::PlainHttp(_) => "the address is not one of https".to_string(),
            ClientError::NoKey(_)
            | ClientError::BadHeader(_)
            | ClientError::BadAddress(_)
            | ClientError::Unsupported(_)
            | ClientError::Ambiguous { .. }
            | ClientError::Interrupted(_) => self.to_string(),
        }
    }

    /// Converts to the error of the core, which knows nothing about connections.
    pub(crate) fn to_api_error(&self) -> ApiError {
        match self {
            ClientError::Api { error, .. } | ClientError::Interrupted(error) => error.clone(),
            other => ApiError::new(other.kind(), other.public_message()),
        }
    }

    /// Whether the server says that another try may help; `None` if it says nothing.
    pub(crate) fn should_retry(&self) -> Option<bool> {
        match self {
            ClientError::Api { should_retry, .. } => *should_retry,
            _ => None,
        }
    }

    /// Whether the file of a recorded answer is missing.
    pub fn is_not_found(&self) -> bool {
        matches!(
            self,
            ClientError::Replay {
                kind: io::ErrorKind::NotFound,
                ..
            }
        )
    }

    /// The kind of the error, in terms that hold for every provider.
    pub fn kind(&self) -> ApiErrorKind {
        match self {
            ClientError::NoKey(_) => ApiErrorKind::Auth,
            ClientError::UnknownModel { .. } | ClientError::Replay { .. } => ApiErrorKind::NotFound,
            ClientError::Ambiguous { .. } => ApiErrorKind::NotFound,
            ClientError::BadHeader(_)
            | ClientError::BadAddress(_)
            | ClientError::PlainHttp(_)
            | ClientError::Unsupported(_)
            | ClientError::Redirected { .. } => ApiErrorKind::BadRequest,
            ClientError::Setup(_)
            | ClientError::Unreachable { .. }
            | ClientError::Broken { .. } => ApiErrorKind::Network,
            ClientError::TimedOut { .. } => ApiErrorKind::Timeout,
            ClientError::Api { error, .. } | ClientError::Interrupted(error) => error.kind,
        }
    }

    /// Whether the same request may succeed later.
    pub fn is_retryable(&self) -> bool {
        match self {
            ClientError::Unreachable { .. }
            | ClientError::Broken { .. }
            | ClientError::TimedOut { .. } => true,
            ClientError::Api { error, .. } => analects_providers::is_retryable(error),
            _ => false,
        }
    }

    /// The wait that the provider asks for before the next try.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            ClientError::Api { error, .. } => error.retry_after_ms.map(Duration::from_millis),
            _ => None,
        }
    }

    /// Whether the conversation is too long for the model.
    pub fn is_context_overflow(&self) -> bool {
        self.kind() == ApiErrorKind::ContextOverflow
    }

    /// The size of the context window, if the refusal of a longer conversation names it.
    pub fn context_window(&self) -> Option<u64> {
        match self {
            ClientError::Api { error, .. } | ClientError::Interrupted(error)
                if self.is_context_overflow() =>
            {
                analects_providers::context_window_in(&error.message)
            }
            _ => None,
        }
    }

    /// Whether the name of the host could not be looked up: it is misspelt, or there is no network.
    pub fn is_unknown_host(&self) -> bool {
        match self {
            ClientError::Unreachable { reason, .. } => reason.contains("failed to lookup address"),
            _ => false,
        }
    }

    /// Whether a server at an `https` address seems to speak plain HTTP.
    pub fn speaks_plain_http(&self) -> bool {
        match self {
            // A server that answers with something else than TLS speaks plain HTTP.
            ClientError::Unreachable { url, reason } => {
                url.starts_with("https:") && reason.contains("InvalidContentType")
            }
            _ => false,
        }
    }
}

/// Joins what happened and why. The reason is left out as far as it names the host of `url`, as
/// certificate errors do, or anything else that looks like an address or a path.
fn because(what: &str, reason: &str, url: &str) -> String {
    let host = host_of(url);
    let names_host = host.is_some_and(|host| reason.contains(&host));
    // The part before the names is still useful.
    let general = reason.split(" for name").next().unwrap_or_default();
    let reason = if names_host { general } else { reason };
    if reason.is_empty() || reason.contains(['/', '\\', '"']) {
        return what.to_string();
    }
    format!("{what}: {reason}")
}

fn host_of(url: &str) -> Option<String> {
    let url = reqwest::Url::parse(url).ok()?;
    Some(url.host_str()?.to_string())
}

/// The message of the innermost cause. Outer ones only repeat that sending failed, and the address.
pub(crate) fn reason(error: &(dyn Error + 'static)) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    let mut text = inner.to_string();
    if inner.is::<io::Error>()
        && let Some(at) = text.find(" (os error")
    {
        // The system's message ends with a number that means nothing to a reader.
        text.truncate(at);
    }
    lower_first(&text)
}

/// The text with a small first letter, as inside a sentence.
fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    let Some(first) = chars.next() else {
        return String::new();
    };
    first.to_lowercase().chain(chars).collect()
}

#[cfg(test)]
mod tests;
