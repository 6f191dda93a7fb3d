//! Anthropic's Messages, also as other servers speak them.

mod decode;
mod encode;
mod fields;
mod models;
mod wire;

pub(crate) use decode::Decoder;
pub(crate) use encode::{encode, encode_count};
pub(crate) use models::{decode_count, decode_models, list_request};

#[cfg(test)]
mod tests;
