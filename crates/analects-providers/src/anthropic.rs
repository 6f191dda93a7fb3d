//! Anthropic's Messages, also as other servers speak them.

mod decode;
mod encode;
mod wire;

pub(crate) use decode::Decoder;
pub(crate) use encode::{encode, encode_count};
pub(crate) use wire::VERSION;

#[cfg(test)]
mod tests;
