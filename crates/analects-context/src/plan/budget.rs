//! Budgets: the model's window, minus the room for its answer.

use analects_core::{Agent, Problem};
use serde::Serialize;

use crate::tokens::Count;

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
