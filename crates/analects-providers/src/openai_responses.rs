//! OpenAI's Responses. The whole conversation goes out each time and nothing is stored over there;
//! the name that the provider gives an answer is only recorded.

mod block;
mod decode;
mod encode;
mod item;
mod wire;

pub(crate) use decode::Decoder;
pub(crate) use encode::encode;

#[cfg(test)]
mod tests;
