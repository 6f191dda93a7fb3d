//! OpenAI's Chat Completions, and what its compatible vendors made of them.

mod calls;
mod decode;
mod details;
mod encode;
pub(crate) mod extras;
pub(crate) mod fit;
mod others;
mod wire;

// What the Responses API has in common with Chat Completions.
pub(crate) use calls::join;
pub(crate) use decode::{Decoder, token_usage};
pub(crate) use encode::encode;
pub(crate) use extras::{Extras, list};
pub(crate) use wire::{Rest, filled, put, take};

#[cfg(test)]
mod tests;
