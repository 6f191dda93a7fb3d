//! OpenAI's Responses. Each request contains the whole conversation, and the server stores nothing.
//! The id that the provider gives an answer is only recorded.

mod block_writer;
mod decode;
mod encode;
mod item;
mod wire;

pub(crate) use decode::ResponsesDecoder;
pub(crate) use encode::encode;

#[cfg(test)]
mod tests;
