//! Token counts of an answer. Absent is not zero: the provider may not have reported a count.

use crate::json::write_object;
use crate::{Json, JsonError, Problem, Raw, RawMap};

/// Token counts of one answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TokenUsage {
    /// Input tokens that were neither written to nor read from a cache.
    pub input_tokens: Option<u64>,
    /// Output tokens.
    pub output_tokens: Option<u64>,
    /// The provider's own total.
    pub total_tokens: Option<u64>,
    /// Tokens written to the cache, for any lifetime.
    pub cache_creation_input_tokens: Option<u64>,
    /// Of these, the tokens cached for five minutes.
    pub cache_creation_5m_tokens: Option<u64>,
    /// Of these, the tokens cached for an hour.
    pub cache_creation_1h_tokens: Option<u64>,
    /// Tokens read from a cache.
    pub cache_read_input_tokens: Option<u64>,
    /// Of the output, the tokens spent on thinking.
    pub reasoning_tokens: Option<u64>,
    /// Unknown counts.
    pub extra: RawMap,
}

const FIELD_NAMES: [&str; 8] = [
    "input_tokens",
    "output_tokens",
    "total_tokens",
    "cache_creation_input_tokens",
    "cache_creation_5m_tokens",
    "cache_creation_1h_tokens",
    "cache_read_input_tokens",
    "reasoning_tokens",
];

impl TokenUsage {
    /// Overwrites every count that `later` has. Providers report usage in instalments.
    pub fn update(&mut self, later: &TokenUsage) {
        for (mine, theirs) in self.counts_mut().into_iter().zip(later.counts()) {
            *mine = theirs.or(*mine);
        }
        if !later.extra.is_empty() {
            self.extra = later.extra.clone();
        }
        self.adopt_known_extras();
    }

    /// Moves counts with our field names out of `extra`, since reading them back from JSON would do the same. Some
    /// gateways report counts under two names.
    fn adopt_known_extras(&mut self) {
        let mut extra = std::mem::take(&mut self.extra);
        for (name, count) in FIELD_NAMES.into_iter().zip(self.counts_mut()) {
            if count.is_none() {
                *count = extra.take(name, Raw::to);
            }
        }
        self.extra = extra;
    }

    /// Returns whether no count is known.
    pub fn is_empty(&self) -> bool {
        self.counts().iter().all(Option::is_none) && self.extra.is_empty()
    }

    fn counts(&self) -> [Option<u64>; 8] {
        [
            self.input_tokens,
            self.output_tokens,
            self.total_tokens,
            self.cache_creation_input_tokens,
            self.cache_creation_5m_tokens,
            self.cache_creation_1h_tokens,
            self.cache_read_input_tokens,
            self.reasoning_tokens,
        ]
    }

    fn counts_mut(&mut self) -> [&mut Option<u64>; 8] {
        [
            &mut self.input_tokens,
            &mut self.output_tokens,
            &mut self.total_tokens,
            &mut self.cache_creation_input_tokens,
            &mut self.cache_creation_5m_tokens,
            &mut self.cache_creation_1h_tokens,
            &mut self.cache_read_input_tokens,
            &mut self.reasoning_tokens,
        ]
    }
}

impl Json for TokenUsage {
    fn read(raw: &Raw, _: &mut Vec<Problem>) -> Result<TokenUsage, JsonError> {
        let mut fields = RawMap::parse(raw.as_str())?;
        let mut usage = TokenUsage::default();
        for (name, count) in FIELD_NAMES.into_iter().zip(usage.counts_mut()) {
            *count = fields.take(name, Raw::to);
        }
        usage.extra = fields;
        Ok(usage)
    }

    fn write(&self, out: &mut String) {
        write_object(out, &FIELD_NAMES, &self.extra, |writer| {
            for (name, count) in FIELD_NAMES.into_iter().zip(self.counts()) {
                writer.opt_u64(name, count);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    //! Counts in instalments.

    use super::*;

    #[test]
    fn a_count_under_our_name_is_that_count() {
        let mut extra = RawMap::new();
        extra.push("reasoning_tokens", Raw::parse("1").unwrap());
        extra.push("input_tokens", Raw::parse("7").unwrap());
        let mut usage = TokenUsage {
            input_tokens: Some(5),
            ..TokenUsage::default()
        };
        usage.update(&TokenUsage {
            extra,
            ..TokenUsage::default()
        });
        assert_eq!(
            (usage.input_tokens, usage.reasoning_tokens),
            (Some(5), Some(1))
        );
        assert_eq!(TokenUsage::from_json(&usage.to_json()), Ok(usage));
    }
}
