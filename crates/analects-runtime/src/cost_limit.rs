//! The cost limit of a turn. A request is checked before it is sent, and its cost is counted afterwards.
//!
//! The check adds the error bound of the estimate to the tokens of the request, so it rather refuses than overspends.
//! Where the price of a model is unknown, a limit refuses every request.

use analects_client::{Model, cost};
use analects_context::Count;
use analects_core::{Message, Request, TokenUsage};

use crate::dollars;

/// How many tokens an answer needs to be worth a request.
const SHORTEST_ANSWER: u64 = 16;

/// How many tokens a summary needs to be worth a request. It replaces much, so it needs more.
const SHORTEST_SUMMARY: u64 = 512;

/// Why a cost limit does not allow a request.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CostLimitError {
    /// The request would cost more than is left.
    #[error("a summary costs {} at least, and {} are left of what is allowed", dollars(*.next), dollars(*.left))]
    TooCostly {
        /// The lowest possible cost of the request, in US dollars.
        next: f64,
        /// What is left of the limit, in US dollars.
        left: f64,
    },
    /// There is a limit, and the price of the model with this name is unknown.
    #[error("there is a limit for the cost, and what {0} costs is not known")]
    PriceUnknown(String),
}

/// What one step of a turn may spend, and what it spent.
/// A turn makes one for each step, with what the turn has left.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CostLimit {
    /// What the step may spend, in US dollars; `None` without a limit.
    allowed: Option<f64>,
    /// What the step spent, in US dollars.
    pub spent: f64,
}

impl CostLimit {
    /// A limit of so many US dollars; `None` for no limit.
    pub fn new(allowed: Option<f64>) -> CostLimit {
        CostLimit {
            allowed,
            spent: 0.0,
        }
    }

    /// Checks the request for a summary, and shortens the summary to what the limit still allows.
    /// Without a limit, nothing is checked and nothing is shortened, even if the price is unknown.
    pub fn allow_summary(
        &self,
        model: &Model,
        count: Count,
        request: &mut Request,
    ) -> Result<(), CostLimitError> {
        let Some(allowed) = self.allowed else {
            return Ok(());
        };
        let left = (allowed - self.spent).max(0.0);
        let wanted = request.max_output_tokens.unwrap_or(u64::MAX);
        let Some(next) = cost_with(model, count, SHORTEST_SUMMARY.min(wanted)) else {
            return Err(CostLimitError::PriceUnknown(model.name.clone()));
        };
        if next > left {
            return Err(CostLimitError::TooCostly { next, left });
        }
        request.max_output_tokens = affordable(model, count, left, Some(wanted));
        Ok(())
    }

    /// Counts the cost of an answer. An unknown cost counts as 0.
    pub fn pay(&mut self, model: &Model, answer: &Message) {
        self.spent += cost(model, answer.usage.as_deref()).unwrap_or(0.0);
    }
}

/// The lowest possible cost of a request and its answer, in US dollars; `None` if the price is unknown.
/// It assumes an answer of [`SHORTEST_ANSWER`] tokens.
pub(crate) fn least_cost(model: &Model, count: Count) -> Option<f64> {
    cost_with(model, count, SHORTEST_ANSWER)
}

/// How many tokens an answer may have so that it and its request cost at most `left`, but no more than `wanted`. At
/// least 1; `None` if the price is unknown.
/// A free model may write as much as is `wanted`.
pub(crate) fn affordable(
    model: &Model,
    count: Count,
    left: f64,
    wanted: Option<u64>,
) -> Option<u64> {
    const MANY: u64 = 1_000_000;
    let request = cost_with(model, count, 0)?;
    let per_token = (cost_with(model, count, MANY)? - request) / MANY as f64;
    let left_for_answer = (left - request).max(0.0);
    let tokens = (left_for_answer / per_token.max(f64::MIN_POSITIVE)) as u64;
    Some(tokens.max(1).min(wanted.unwrap_or(u64::MAX)))
}

/// The cost of a request and an answer of so many tokens. The error bound of the estimate counts in full.
fn cost_with(model: &Model, count: Count, output_tokens: u64) -> Option<f64> {
    let usage = TokenUsage {
        input_tokens: Some(count.tokens.saturating_add(count.error_bound)),
        output_tokens: Some(output_tokens),
        ..TokenUsage::default()
    };
    cost(model, Some(&usage))
}
