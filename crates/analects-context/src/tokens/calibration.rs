//! Calibration: correction factors for estimates, learned from real answers.

use std::collections::BTreeMap;

use analects_core::{Raw, TokenUsage};
use serde::{Deserialize, Serialize};

use super::{Count, prompt_tokens};

/// Correction factors for estimates, by model. Store it with the state of a session.
///
/// ```
/// use analects_context::{Calibration, Count};
/// use analects_core::TokenUsage;
///
/// let mut calibration = Calibration::default();
/// let usage = TokenUsage { input_tokens: Some(1200), ..TokenUsage::default() };
/// calibration.learn("claude-opus-4-1", Count::estimate(1000, 25), &usage);
/// assert_eq!(calibration.factor("claude-opus-4-1"), 1.2);
/// assert_eq!(calibration.factor("another"), 1.0);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Calibration {
    models: BTreeMap<String, TokenSums>,
}

/// The sums of estimated and real tokens, in which older answers count less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
struct TokenSums {
    estimated: u64,
    real: u64,
}

/// The largest plausible factor. No vocabulary is four times better than another, so a larger factor means that usage
/// and estimate belong to different requests.
const MAX_FACTOR: f64 = 4.0;
/// The smallest estimate to learn from. In a shorter request, the overhead outweighs the text.
const MIN_TOKENS: u64 = 50;
/// The maximum number of models to remember.
const MAX_MODELS: usize = 64;

impl Calibration {
    /// Learns from an answer: `estimated` is the estimate of the request without calibration, and `usage` what the
    /// provider reported. An exact count teaches nothing.
    pub fn learn(&mut self, model: &str, estimated: Count, usage: &TokenUsage) {
        let real = prompt_tokens(usage);
        let ratio = real as f64 / estimated.tokens.max(1) as f64;
        let is_plausible =
            (1.0 / MAX_FACTOR..=MAX_FACTOR).contains(&ratio) && estimated.tokens >= MIN_TOKENS;
        let has_room = self.knows(model) || self.models.len() < MAX_MODELS;
        if estimated.method.is_exact() || !is_plausible || !has_room {
            return;
        }
        let sums = self.models.entry(model.to_string()).or_default();
        sums.estimated = (sums.estimated / 4).saturating_add(estimated.tokens);
        sums.real = (sums.real / 4).saturating_add(real);
    }

    /// Returns the factor for estimates of a model; 1 before anything was learned.
    pub fn factor(&self, model: &str) -> f64 {
        match self.models.get(model) {
            Some(sums) if sums.estimated > 0 && sums.real > 0 => {
                (sums.real as f64 / sums.estimated as f64).clamp(1.0 / MAX_FACTOR, MAX_FACTOR)
            }
            _ => 1.0,
        }
    }

    /// Returns whether anything was learned about the model.
    pub fn knows(&self, model: &str) -> bool {
        self.models.contains_key(model)
    }

    /// Returns the calibration as JSON, for `token_budget_state` of a session.
    pub fn to_raw(&self) -> Raw {
        let json = serde_json::to_string(self).unwrap_or_default();
        Raw::parse(&json).unwrap_or_else(|_| Raw::empty_object())
    }

    /// Reads the JSON of [`Calibration::to_raw`]. Anything else yields an empty calibration.
    pub fn from_raw(raw: &Raw) -> Calibration {
        raw.to().unwrap_or_default()
    }
}
