//! What was learnt from real answers: by how much an estimate for a model has to be corrected.

use std::collections::BTreeMap;

use analects_core::{Raw, TokenUsage};
use serde::{Deserialize, Serialize};

use super::{Count, prompt};

/// Corrections of estimates, by model: a value that can be kept with a session's state.
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
    models: BTreeMap<String, Learnt>,
}

/// Tokens of the last answers, estimated and real; what is older counts for less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
struct Learnt {
    estimated: u64,
    real: u64,
}

/// No vocabulary is four times better or worse than another; a usage that says so is about something
/// else than what was estimated.
const MOST: f64 = 4.0;
/// What is too short says little: the frame of the request outweighs its words.
const LEAST: u64 = 50;
/// More models than this are not remembered.
const MODELS: usize = 64;

impl Calibration {
    /// Learns from an answer: the request was estimated so, without what was learnt before, and the provider
    /// read so many tokens. An exact count teaches nothing.
    pub fn learn(&mut self, model: &str, estimated: Count, usage: &TokenUsage) {
        let (estimated, real, exact) =
            (estimated.tokens, prompt(usage), estimated.method.is_exact());
        let ratio = real as f64 / estimated.max(1) as f64;
        let is_sane = (1.0 / MOST..=MOST).contains(&ratio) && estimated >= LEAST;
        let is_known = self.models.contains_key(model);
        if exact || !is_sane || (!is_known && self.models.len() >= MODELS) {
            return;
        }
        let learnt = self.models.entry(model.to_string()).or_default();
        learnt.estimated = (learnt.estimated / 4).saturating_add(estimated);
        learnt.real = (learnt.real / 4).saturating_add(real);
    }

    /// What to multiply an estimate for the model with; 1 before anything was learnt.
    pub fn factor(&self, model: &str) -> f64 {
        match self.models.get(model) {
            Some(Learnt {
                estimated: 1..,
                real: 1..,
            }) => {
                let learnt = self.models[model];
                (learnt.real as f64 / learnt.estimated as f64).clamp(1.0 / MOST, MOST)
            }
            _ => 1.0,
        }
    }

    /// Whether anything was learnt about the model.
    pub fn knows(&self, model: &str) -> bool {
        self.models.contains_key(model)
    }

    /// As JSON, for `token_budget_state` of a session.
    pub fn to_raw(&self) -> Raw {
        let json = serde_json::to_string(self).unwrap_or_default();
        Raw::parse(&json).unwrap_or_else(|_| Raw::empty_object())
    }

    /// Reads what [`Calibration::to_raw`] wrote; anything else is as if nothing was learnt.
    pub fn from_raw(raw: &Raw) -> Calibration {
        raw.to().unwrap_or_default()
    }
}
