//! Sends a request again: the waiting and the counting. `analects-providers` decides whether it
//! makes sense.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use analects_providers::{RetryDecision, RetryHeaders, RetryState, retry};

use crate::ClientError;
use crate::client::{Options, RetryNotice};

/// How often a request was sent again, and how long it waited for that.
pub(crate) struct RetryLoop<'a> {
    options: &'a Options,
    retries_made: u32,
    waited: Duration,
}

impl<'a> RetryLoop<'a> {
    /// The state before the first try.
    pub(crate) fn new(options: &'a Options) -> RetryLoop<'a> {
        RetryLoop {
            options,
            retries_made: 0,
            waited: Duration::ZERO,
        }
    }

    /// Waits until the request may be sent again. Returns `false` if it may not. Only for requests
    /// of whose answer nothing was passed on.
    pub(crate) async fn wait_for_retry(&mut self, error: &ClientError) -> bool {
        let Some(wait) = self.next_wait(error) else {
            return false;
        };
        if let Some(on_retry) = &self.options.on_retry {
            on_retry(&RetryNotice {
                error: error.clone(),
                wait,
            });
        }
        tokio::time::sleep(wait).await;
        self.retries_made += 1;
        self.waited += wait;
        true
    }

    /// How long to wait before the next try; `None` if there is none.
    fn next_wait(&self, error: &ClientError) -> Option<Duration> {
        if matches!(error, ClientError::Setup(_)) {
            // Nothing was sent, and waiting changes nothing.
            return None;
        }
        let state = RetryState {
            retries_made: self.retries_made,
            waited_ms: u64::try_from(self.waited.as_millis()).unwrap_or(u64::MAX),
            delivered: false,
            headers: RetryHeaders {
                after_ms: None,
                should_retry: error.should_retry(),
            },
            random: random_fraction(),
        };
        match retry(&self.options.retries, &error.to_api_error(), &state) {
            RetryDecision::After(milliseconds) => Some(Duration::from_millis(milliseconds)),
            RetryDecision::Stop(_) => None,
        }
    }
}

/// A random number from 0 to 1, good enough to keep clients from returning together.
fn random_fraction() -> f64 {
    RandomState::new().hash_one(()) as f64 / u64::MAX as f64
}
