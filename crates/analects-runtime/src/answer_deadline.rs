//! When an answer must be complete, if its question sets a limit.

use std::time::Duration;

use analects_client::{ClientError, Model, TimeoutPhase};
use tokio::time::{Instant, timeout_at};

/// The moment at which an answer must be complete, counted from the request.
pub(crate) struct AnswerDeadline {
    /// The limit, and when it is reached; `None` without a limit.
    end: Option<(Duration, Instant)>,
    /// The model, as `provider/NAME`.
    model: String,
}

impl AnswerDeadline {
    /// A deadline for an answer that is requested now.
    pub(crate) fn new(model: &Model, limit: Option<Duration>) -> AnswerDeadline {
        let end = limit.and_then(|limit| Some((limit, Instant::now().checked_add(limit)?)));
        AnswerDeadline {
            end,
            model: format!("{}/{}", model.provider, model.name),
        }
    }

    /// Waits for `work`, but no longer than until the deadline.
    pub(crate) async fn watch<T>(&self, work: impl Future<Output = T>) -> Result<T, ClientError> {
        let Some((limit, end)) = self.end else {
            return Ok(work.await);
        };
        let done = timeout_at(end, work).await;
        done.map_err(|_| ClientError::TimedOut {
            url: self.model.clone(),
            wait: TimeoutPhase::Answer,
            limit,
        })
    }
}
