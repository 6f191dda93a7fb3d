//! Builders: every value is checked when it is built, and an error says what is missing or wrong.

/// The methods of builders whose content is text or bytes.
macro_rules! content_methods {
    () => {
        /// The text; it may be empty.
        #[must_use]
        pub fn with_content(mut self, text: impl Into<String>) -> Self {
            self.given.text = Some(text.into());
            self
        }

        /// The bytes, instead of text; they need a media type.
        #[must_use]
        pub fn with_binary_content(mut self, bytes: impl Into<Vec<u8>>) -> Self {
            self.given.bytes = Some(bytes.into());
            self
        }
    };
}

mod outputs;
mod prompts;

use super::{Content, ItemError};

pub use outputs::{CodeExecutionOutputBuilder, MessageOutputBuilder};
pub use prompts::{FunctionCallBuilder, MessageBuilder};

/// Content that may have been given as text, as bytes, or, wrongly, as both.
#[derive(Debug, Clone, Default)]
struct Given {
    text: Option<String>,
    bytes: Option<Vec<u8>>,
}

impl Given {
    fn content(self) -> Result<Content, ItemError> {
        match (self.text, self.bytes) {
            (Some(text), None) => Ok(Content::Text(text)),
            (None, Some(bytes)) => Ok(Content::Binary(bytes)),
            (None, None) => Err(ItemError::missing("the content", "with_content")),
            (Some(_), Some(_)) => Err(ItemError::invalid("content is given as text and as bytes")
                .hinting("call with_content or with_binary_content, not both")),
        }
    }
}
