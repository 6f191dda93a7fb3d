//! What a turn may still spend: a request is looked at before it is made, and paid for afterwards.

use analects_client::{Model, cost};
use analects_context::Count;
use analects_core::{Message, Request, TokenUsage};

/// The tokens of an answer that is worth asking for.
const SHORTEST_ANSWER: u64 = 16;

/// The same of a summary, which stands for much.
const SHORTEST_SUMMARY: u64 = 512;

/// Why a request is not made.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CostLimitError {
    /// It would cost more than is left.
    #[error("a summary costs ${next:.6} at least, and ${left:.6} are left of what is allowed")]
    TooCostly {
        /// The least that it costs, in US dollars.
        next: f64,
        /// What is left.
        left: f64,
    },
    /// There is a limit, and the price of the model is not known.
    #[error("there is a limit for the cost, and what {0} costs is not known")]
    PriceUnknown(String),
}

/// The money of one step of a turn.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CostLimit {
    /// What may be spent, in US dollars; `None` if nobody counts it.
    left: Option<f64>,
    /// What was spent.
    pub spent: f64,
}

impl CostLimit {
    /// So much may be spent.
    pub fn new(left: Option<f64>) -> CostLimit {
        CostLimit { left, spent: 0.0 }
    }

    /// Lets a summary be no longer than can be paid for, or says why it must not be asked for.
    pub fn allow_summary(
        &self,
        model: &Model,
        count: Count,
        request: &mut Request,
    ) -> Result<(), CostLimitError> {
        let Some(left) = self.left else { return Ok(()) };
        let left = (left - self.spent).max(0.0);
        let wanted = request.max_output_tokens.unwrap_or(u64::MAX);
        let next = cost_with(model, count, SHORTEST_SUMMARY.min(wanted));
        match next {
            Some(next) if next <= left => {
                request.max_output_tokens = affordable(model, count, left, Some(wanted));
                Ok(())
            }
            Some(next) => Err(CostLimitError::TooCostly { next, left }),
            None => Err(CostLimitError::PriceUnknown(model.name.clone())),
        }
    }

    /// Takes out what an answer cost, where that is known.
    pub fn pay(&mut self, model: &Model, answer: &Message) {
        self.spent += cost(model, answer.usage.as_deref()).unwrap_or(0.0);
    }
}

/// What a question costs, and the shortest answer.
pub(crate) fn least_cost(model: &Model, count: Count) -> Option<f64> {
    cost_with(model, count, SHORTEST_ANSWER)
}

/// How many tokens an answer may have that costs no more than this, together with its question.
pub(crate) fn affordable(
    model: &Model,
    count: Count,
    left: f64,
    wanted: Option<u64>,
) -> Option<u64> {
    const MANY: u64 = 1_000_000;
    let question = cost_with(model, count, 0)?;
    let per_token = (cost_with(model, count, MANY)? - question) / MANY as f64;
    let tokens = ((left - question).max(0.0) / per_token.max(f64::MIN_POSITIVE)) as u64;
    Some(tokens.max(1).min(wanted.unwrap_or(u64::MAX)))
}

/// What a question and an answer of so many tokens cost.
fn cost_with(model: &Model, count: Count, output_tokens: u64) -> Option<f64> {
    let usage = TokenUsage {
        input_tokens: Some(count.tokens.saturating_add(count.error_bound)),
        output_tokens: Some(output_tokens),
        ..TokenUsage::default()
    };
    cost(model, Some(&usage))
}
