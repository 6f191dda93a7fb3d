//! Everything that can go wrong between a request and the last byte of its answer.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use analects_core::{ApiError, ApiErrorKind};
use thiserror::Error;

/// Why there is no answer, or not all of it. No message holds a key, but it may name addresses and
/// files of this machine; [`ClientError::public_message`] does not.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ClientError {
    /// No provider goes by this name.
    #[error("unknown model \"{0}\"")]
    UnknownModel(String),
    /// The provider wants a key and none is set.
    #[error("no key for this model: {0} is not set")]
    NoKey(&'static str),
    /// A key, or another header, holds characters that HTTP does not allow.
    #[error("the {0} header holds characters that HTTP does not allow")]
    BadHeader(String),
    /// The base URL is not one.
    #[error("the base URL cannot be used: {0}")]
    BadAddress(String),
    /// This machine cannot make connections at all.
    #[error("cannot set up connections: {0}")]
    Setup(String),
    /// No connection came about.
    #[error("cannot reach {url}: {reason}")]
    Unreachable {
        /// Where.
        url: String,
        /// Why.
        reason: String,
    },
    /// The connection broke in the middle of the answer.
    #[error("the connection to {url} broke: {reason}")]
    Broken {
        /// Where to.
        url: String,
        /// Why.
        reason: String,
    },
    /// Nothing came in time.
    #[error("{url} {wait} within {} s", .limit.as_secs_f64())]
    TimedOut {
        /// Where.
        url: String,
        /// What was waited for.
        wait: Wait,
        /// How long.
        limit: Duration,
    },
    /// The server points elsewhere.
    #[error("{url} redirects to {to}, which is not followed")]
    Redirected {
        /// Who points.
        url: String,
        /// Where to.
        to: String,
    },
    /// The provider answered with an error.
    #[error("{url} answered {}: {error}", .error.status.unwrap_or_default())]
    Api {
        /// Who.
        url: String,
        /// What it said.
        error: ApiError,
        /// Whether it said that another try may help, or that none does.
        should_retry: Option<bool>,
    },
    /// The answer began and broke off.
    #[error("the answer broke off: {0}")]
    BrokeOff(ApiError),
    /// The provider has nothing of the kind.
    #[error("{0}")]
    Unsupported(&'static str),
    /// A key would travel over a connection that others can read.
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
        /// Where it should be.
        path: PathBuf,
        /// What kind of error reading it is.
        kind: io::ErrorKind,
        /// Why.
        reason: String,
    },
}

/// What was waited for in vain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Wait {
    /// A connection.
    #[error("did not accept the connection")]
    Connect,
    /// The first byte of the answer.
    #[error("did not begin to answer")]
    FirstByte,
    /// The next bytes of the answer.
    #[error("sent nothing more")]
    Idle,
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

    /// What went wrong, in words that may be kept and passed on: with what the provider said, but
    /// without the addresses and files of this machine, which are in the message for its user.
    pub fn public_message(&self) -> String {
        match self {
            ClientError::UnknownModel(_) => "unknown model".to_string(),
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
            | ClientError::BrokeOff(_) => self.to_string(),
        }
    }

    /// The error in the terms of the core, which knows nothing of connections.
    pub(crate) fn to_api_error(&self) -> ApiError {
        match self {
            ClientError::Api { error, .. } | ClientError::BrokeOff(error) => error.clone(),
            other => ApiError::new(other.kind(), other.public_message()),
        }
    }

    /// Whether the server said that another try may help, or that none does.
    pub(crate) fn should_retry(&self) -> Option<bool> {
        match self {
            ClientError::Api { should_retry, .. } => *should_retry,
            _ => None,
        }
    }

    /// Whether a file is missing that should hold the answer.
    pub fn is_not_found(&self) -> bool {
        matches!(
            self,
            ClientError::Replay {
                kind: io::ErrorKind::NotFound,
                ..
            }
        )
    }

    /// What went wrong, in the words that hold for every provider.
    pub fn kind(&self) -> ApiErrorKind {
        match self {
            ClientError::NoKey(_) => ApiErrorKind::Auth,
            ClientError::UnknownModel(_) | ClientError::Replay { .. } => ApiErrorKind::NotFound,
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
            ClientError::Api { error, .. } | ClientError::BrokeOff(error) => error.kind,
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

    /// How long the provider asks to wait before the next try.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            ClientError::Api { error, .. } => error.retry_after_ms.map(Duration::from_millis),
            _ => None,
        }
    }

    /// Whether the conversation is longer than the model can read.
    pub fn is_context_overflow(&self) -> bool {
        self.kind() == ApiErrorKind::ContextOverflow
    }

    /// How many tokens the model can read, if the refusal of a longer conversation says so.
    pub fn context_window(&self) -> Option<u64> {
        match self {
            ClientError::Api { error, .. } | ClientError::BrokeOff(error)
                if self.is_context_overflow() =>
            {
                analects_providers::context_window_in(&error.message)
            }
            _ => None,
        }
    }

    /// Whether a server that was asked for https seems to speak plain HTTP.
    pub fn speaks_plain_http(&self) -> bool {
        match self {
            // Whoever answers with something else than TLS speaks plain HTTP.
            ClientError::Unreachable { url, reason } => {
                url.starts_with("https:") && reason.contains("InvalidContentType")
            }
            _ => false,
        }
    }

    /// The model that was probably meant, where only its provider is unknown.
    pub fn meant_model(&self) -> Option<String> {
        let ClientError::UnknownModel(name) = self else {
            return None;
        };
        let (provider, model) = name
            .split_once('/')
            .filter(|(_, model)| !model.is_empty())?;
        let known = analects_providers::vendors()
            .iter()
            .map(|vendor| vendor.name);
        Some(format!(
            "{}/{model}",
            analects_core::nearest(provider, known)?
        ))
    }
}

/// What happened, and why, as far as the reason names neither the host of `url` (as errors of
/// certificates do) nor anything else that looks like an address or a path.
fn because(what: &str, reason: &str, url: &str) -> String {
    let host = reqwest::Url::parse(url)
        .ok()
        .and_then(|url| Some(url.host_str()?.to_string()));
    let names_host = host.is_some_and(|host| reason.contains(&host));
    // What stands before these names is still worth telling.
    let general = reason.split(" for name").next().unwrap_or_default();
    let told = if names_host { general } else { reason };
    let told = if told.contains(['/', '\\', '"']) {
        ""
    } else {
        told
    };
    if told.is_empty() {
        what.to_string()
    } else {
        format!("{what}: {told}")
    }
}

/// The words of the innermost cause. Outer ones only repeat that sending failed, and where to.
pub(crate) fn reason(error: &(dyn Error + 'static)) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    let text = match inner.downcast_ref::<std::io::Error>() {
        // The system's words come with a number that says nothing to a reader.
        Some(io) => io
            .to_string()
            .split(" (os error")
            .next()
            .unwrap_or_default()
            .to_string(),
        None => inner.to_string(),
    };
    let mut chars = text.chars();
    chars
        .next()
        .map(|first| first.to_lowercase().chain(chars).collect())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests;
