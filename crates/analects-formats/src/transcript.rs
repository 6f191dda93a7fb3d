//! The transcript: one message a line, as JSON. Lines end with `\n` and nothing else.

mod decode;
mod encode;

pub use decode::decode;
pub use encode::encode;

#[cfg(test)]
mod tests;
