//! Sending a request again: the waiting and the counting. Whether it makes sense is decided by
//! `analects-providers`.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use analects_providers::{RetryDecision, RetryHeaders, RetryState, retry};

use crate::ClientError;
use crate::client::{Options, Waiting};

/// How often a request was sent, and what was waited.
pub(crate) struct Tries<'a> {
    options: &'a Options,
    made: u32,
    waited: Duration,
}

impl<'a> Tries<'a> {
    pub(crate) fn new(options: &'a Options) -> Tries<'a> {
        Tries {
            options,
            made: 0,
            waited: Duration::ZERO,
        }
    }

    /// Waits until the request may be sent again; false if it is not to be. Only for requests of
    /// whose answer nothing was passed on.
    pub(crate) async fn again(&mut self, error: &ClientError) -> bool {
        if matches!(error, ClientError::Setup(_)) {
            // Nothing was sent, and nothing changes by waiting.
            return false;
        }
        let headers = RetryHeaders {
            after_ms: None,
            should_retry: error.should_retry(),
        };
        let waited_ms = u64::try_from(self.waited.as_millis()).unwrap_or(u64::MAX);
        let (retries_made, random) = (self.made, chance());
        let at = RetryState {
            retries_made,
            waited_ms,
            delivered: false,
            headers,
            random,
        };
        let decision = retry(&self.options.retries, &error.to_api_error(), &at);
        let RetryDecision::After(milliseconds) = decision else {
            return false;
        };
        let wait = Duration::from_millis(milliseconds);
        if let Some(on_wait) = &self.options.on_wait {
            on_wait(&Waiting {
                error: error.clone(),
                wait,
            });
        }
        tokio::time::sleep(wait).await;
        self.made += 1;
        self.waited += wait;
        true
    }
}

/// A random number from 0 to 1: good enough for not all coming back at once.
fn chance() -> f64 {
    RandomState::new().hash_one(()) as f64 / u64::MAX as f64
}
