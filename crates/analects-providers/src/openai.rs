//! OpenAI's Chat Completions, and what its compatible vendors made of them.

mod calls;
mod decode;
mod details;
mod encode;
pub(crate) mod fit;
mod wire;

// What the Responses API has in common with Chat Completions: `fit`, and the counts.
pub(crate) use decode::{Decoder, token_usage};
pub(crate) use encode::encode;

#[cfg(test)]
mod tests;
