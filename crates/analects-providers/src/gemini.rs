//! Google's Gemini API: `streamGenerateContent`, `generateContent`, `countTokens` and the list of
//! models, below a base URL that ends in `/v1beta`.

mod decode;
mod encode;
mod error;
mod schema;
mod wire;

pub(crate) use decode::Decoder;
pub(crate) use encode::{encode, encode_count, path_at_once};
pub(crate) use error::error_of_body;
pub(crate) use wire::elements;

/// The type of a block that holds a part of an answer that no other block has a place for. The part
/// is in its `part`, and goes back to Gemini as it came.
const PART_TYPE: &str = "gemini_part";

/// The field of a block that holds what else its part said.
const PART_REST: &str = "gemini_part";

/// The field of a block that holds the seal that its part carried. A thought has its own field.
const SIGNATURE: &str = "thoughtSignature";

/// How the id of a call begins that Gemini did not give one.
const MADE_ID: &str = "gemini_";

#[cfg(test)]
mod tests;
