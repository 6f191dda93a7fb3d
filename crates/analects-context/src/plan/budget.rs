//! Budgets: the model's window, minus the room for its answer.

use analects_core::{Agent, Problem, Request};
use serde::Serialize;

use super::MATTERS_ABOVE;
use crate::tokens::{Count, Counter};

/// The limits of a request, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Budget {
    /// The model's context window: question and answer together.
    pub window: u64,
    /// The part of the window that is reserved for the answer.
    pub reserved: u64,
    /// The part that was requested for the answer.
    #[serde(skip)]
    requested: u64,
}

impl Budget {
    /// Creates a budget that reserves `answer` tokens of the window, but never more than half of it.
    pub fn new(window: u64, answer: u64) -> Budget {
        Budget {
            window,
            reserved: answer.min(window / 2),
            requested: answer,
        }
    }

    /// Creates the budget of an agent.
    pub fn of(agent: &Agent) -> Budget {
        let window = agent.context_window.unwrap_or(Agent::USUAL_WINDOW);
        Budget::new(window, agent.max_output_tokens)
    }

    /// The maximum size of the request.
    pub fn limit(&self) -> u64 {
        self.window - self.reserved
    }

    /// Checks that a request fits that cannot be trimmed. It counts with the model's vocabulary, if there is one, once
    /// an estimate comes near the window. An estimate fails only if the request is too large by any count that the
    /// estimate's error allows.
    ///
    /// ```
    /// use analects_context::{Budget, Counter};
    /// use analects_core::{Request, Turn};
    ///
    /// let request = Request { turns: vec![Turn::user("one two three four")], ..Request::default() };
    /// let mut counter = Counter::of_model("gpt-5-mini");
    /// assert!(Budget::new(128, 64).check(&request, &mut counter).is_ok());
    /// assert!(Budget::new(8, 4).check(&request, &mut counter).is_err());
    /// ```
    pub fn check(&self, request: &Request, counter: &mut Counter<'_>) -> Result<(), TooLarge> {
        counter.use_vocabulary(false);
        let mut count = counter.request(request);
        if counter.has_vocabulary() && count.tokens as f64 >= MATTERS_ABOVE * self.window as f64 {
            counter.use_vocabulary(true);
            count = counter.request(request);
        }
        if count.tokens.saturating_sub(count.error_bound) <= self.limit() {
            return Ok(());
        }
        Err(TooLarge {
            count,
            budget: *self,
        })
    }

    /// Returns notes about the budget for the user.
    pub(crate) fn notes(&self) -> Vec<Problem> {
        if self.reserved == self.requested {
            return Vec::new();
        }
        let Budget {
            window,
            reserved,
            requested,
        } = self;
        let text = format!(
            "the answer may take {reserved} tokens and not {requested}: the window has {window}, of which half \
             is for the question"
        );
        let hint = "set max_output_tokens lower, or context_window to the model's own";
        vec![Problem::warning("answer-limited", text).hint(hint)]
    }
}

/// The error for a request that does not fit even after trimming.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the request takes {} tokens and {} fit: the window has {}, of which {} are for the answer",
    .count, .budget.limit(), .budget.window, .budget.reserved
)]
pub struct TooLarge {
    /// The smallest size of the request.
    pub count: Count,
    /// The limits that it exceeds.
    pub budget: Budget,
}

impl TooLarge {
    /// The number of tokens above the limit.
    pub fn excess(&self) -> u64 {
        self.count.tokens.saturating_sub(self.budget.limit())
    }

    /// How to resolve it.
    pub fn hint(&self) -> &'static str {
        "shorten the last message or the instructions, or choose a model with a larger window"
    }
}
