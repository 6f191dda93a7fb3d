//! How full the context may be, in the spellings that people use.

use std::str::FromStr;

/// The share of the window at which a conversation is compacted.
///
/// ```
/// use analects_context::Threshold;
///
/// let same: Vec<Threshold> = ["0.85", "85", "85%"].iter().filter_map(|text| text.parse().ok()).collect();
/// assert!(same.len() == 3 && same.iter().all(|threshold| threshold.share() == 0.85));
/// assert_eq!(Threshold::default().share(), 0.92);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Threshold(f64);

/// A text that is no such share.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a share of the window; expected 0.85, 85 or 85%")]
pub struct ThresholdError(String);

impl Threshold {
    /// The share, between 0 and 1.
    pub fn share(self) -> f64 {
        self.0
    }
}

impl Default for Threshold {
    fn default() -> Threshold {
        Threshold(0.92)
    }
}

impl FromStr for Threshold {
    type Err = ThresholdError;

    fn from_str(text: &str) -> Result<Threshold, ThresholdError> {
        let error = || ThresholdError(text.to_string());
        let trimmed = text.trim();
        let (digits, percent) = match trimmed.strip_suffix('%') {
            Some(digits) => (digits.trim_end(), true),
            None => (trimmed, false),
        };
        let plain = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let number: f64 = digits.parse().ok().filter(|_| plain).ok_or_else(error)?;
        // 1 alone would be one percent or all of it: all of it is meant.
        let share = if percent || number > 1.0 { number / 100.0 } else { number };
        if share > 0.0 && share <= 1.0 { Ok(Threshold(share)) } else { Err(error()) }
    }
}
