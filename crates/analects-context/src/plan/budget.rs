//! What fits: the model's window, less the room that is kept for its answer.

use analects_core::{Agent, Problem};
use serde::Serialize;

use crate::tokens::Count;

/// The limits of a request, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Budget {
    /// What fits into the model's context, question and answer together.
    pub window: u64,
    /// Of it, what is kept for the answer.
    pub reserved: u64,
    /// What was asked to be kept for the answer.
    #[serde(skip)]
    wanted: u64,
}

impl Budget {
    /// A window of which so many tokens are kept for the answer, but never more than half of it.
    pub fn new(window: u64, answer: u64) -> Budget {
        Budget {
            window,
            reserved: answer.min(window / 2),
            wanted: answer,
        }
    }

    /// What an agent says of itself.
    pub fn of(agent: &Agent) -> Budget {
        let window = agent.context_window.unwrap_or(Agent::USUAL_WINDOW);
        Budget::new(window, agent.max_output_tokens)
    }

    /// What the request may take.
    pub fn limit(&self) -> u64 {
        self.window - self.reserved
    }

    /// What a person should know about it.
    pub(crate) fn notes(&self) -> Vec<Problem> {
        if self.reserved == self.wanted {
            return Vec::new();
        }
        let Budget {
            window,
            reserved,
            wanted,
        } = self;
        let text = format!(
            "the answer may take {reserved} tokens and not {wanted}: the window has {window}, of which half \
             is for the question"
        );
        let hint = "set max_output_tokens lower, or context_window to the model's own";
        vec![Problem::warning("answer-limited", text).hint(hint)]
    }
}

/// A request that does not fit, though all that may go is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the request takes {} tokens and {} fit: the window has {}, of which {} are for the answer",
    .count, .budget.limit(), .budget.window, .budget.reserved
)]
pub struct TooLarge {
    /// What it takes at least.
    pub count: Count,
    /// What fits.
    pub budget: Budget,
}

impl TooLarge {
    /// By how many tokens it is too large.
    pub fn excess(&self) -> u64 {
        self.count.tokens.saturating_sub(self.budget.limit())
    }

    /// What can be done.
    pub fn hint(&self) -> &'static str {
        "shorten the last message or the instructions, or choose a model with a larger window"
    }
}
