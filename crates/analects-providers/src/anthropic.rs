//! Anthropic's Messages, which some other servers speak too.

mod decode;
mod encode;
mod wire;

pub(crate) use decode::AnthropicDecoder;
pub(crate) use encode::{encode, encode_count};
pub(crate) use wire::VERSION;

#[cfg(test)]
mod tests;
