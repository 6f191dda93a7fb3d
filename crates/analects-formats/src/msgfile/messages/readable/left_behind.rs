//! The count of what a readable file does not hold.

use std::fmt;

use serde::Serialize;

/// How much of a conversation a readable file leaves out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct LeftBehind {
    /// Fields that no cell has an attribute for.
    pub provider_details: usize,
    /// Signatures of thoughts.
    pub signatures: usize,
    /// Thoughts that are encrypted.
    pub encrypted_reasoning: usize,
    /// Records that say nothing to a person or to a model.
    pub other_records: usize,
    /// Links to messages that come later: a cell can only follow one above it.
    pub links_to_later: usize,
}

impl LeftBehind {
    /// Whether all of the conversation is in the file.
    pub fn is_empty(&self) -> bool {
        *self == LeftBehind::default()
    }
}

/// One line: `412 provider details, 3 signatures`.
impl fmt::Display for LeftBehind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = [
            (self.provider_details, "provider detail", "provider details"),
            (self.signatures, "signature", "signatures"),
            (
                self.encrypted_reasoning,
                "encrypted thought",
                "encrypted thoughts",
            ),
            (self.other_records, "other record", "other records"),
            (
                self.links_to_later,
                "link to a later message",
                "links to later messages",
            ),
        ];
        let mut separator = "";
        for (count, one, many) in counts.into_iter().filter(|(count, _, _)| *count > 0) {
            let name = if count == 1 { one } else { many };
            write!(formatter, "{separator}{count} {name}")?;
            separator = ", ";
        }
        Ok(())
    }
}
