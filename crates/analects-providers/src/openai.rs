//! OpenAI's Chat Completions, and what its compatible vendors made of them.

mod calls;
mod decode;
mod encode;
mod extras;
mod wire;

pub(crate) use decode::Decoder;
pub(crate) use encode::encode;

#[cfg(test)]
mod tests;
