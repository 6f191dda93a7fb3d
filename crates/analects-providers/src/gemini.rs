//! Google's Gemini API: `streamGenerateContent`, `generateContent`, `countTokens` and the list of
//! models, below a base URL that ends in `/v1beta`.

mod decode;
mod encode;
mod error;
mod schema;
mod usage;
mod wire;

pub(crate) use decode::GeminiDecoder;
pub(crate) use encode::{encode, encode_count, path_without_streaming};
pub(crate) use error::error_in_body;
pub(crate) use wire::array_elements;

/// The type of a block for a part of an answer that fits into no other block. The part is in the
/// block's field `part`, and goes back to Gemini unchanged.
const PART_TYPE: &str = "gemini_part";

/// The field of a block for the other fields of its part.
const PART_REST: &str = "gemini_part";

/// The field of a part, and of a block, for the encrypted signature of thinking. A thinking block
/// has its own field.
const SIGNATURE: &str = "thoughtSignature";

/// The prefix of ids that we make up for calls without one. They are not sent back.
const MADE_UP_ID_PREFIX: &str = "gemini_";

#[cfg(test)]
mod tests;
