//! OpenAI's Chat Completions, and what its compatible vendors made of them.

mod decode;
mod encode;
mod wire;

pub(crate) use decode::Decoder;
pub(crate) use encode::encode;

#[cfg(test)]
mod tests;
