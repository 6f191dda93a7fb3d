//! The vocabulary `o200k` of OpenAI's models. It is large: it is unpacked when it is asked for the first
//! time, and stays.

use super::Tokenizer;

/// Counts with the vocabulary `o200k`.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct O200k;

impl Tokenizer for O200k {
    fn name(&self) -> &str {
        "o200k"
    }

    fn count(&self, text: &str) -> Option<u64> {
        Some(bpe_openai::o200k_base().count(text) as u64)
    }
}
