//! OpenAI's Chat Completions, and what compatible vendors made of them. The Responses API shares
//! the modules that prepare turns, attachments and thinking.

mod accumulate;
pub(crate) mod attachments;
mod decode;
mod encode;
pub(crate) mod thinking;
mod tool_calls;
pub(crate) mod turns;
mod usage;
mod wire;

use analects_core::{Raw, ToolSpec};

use crate::encoding::{EncodeProblems, ToolNameRule, settings};

pub(crate) use decode::OpenAiDecoder;
pub(crate) use encode::encode;
pub(crate) use usage::token_usage;

/// The tool names that both of OpenAI's APIs accept.
pub(crate) const TOOL_NAMES: ToolNameRule = ToolNameRule::Plain(64);

/// One of OpenAI's two APIs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OpenAiApi {
    /// Chat Completions.
    Chat,
    /// Responses.
    Responses,
}

/// The schema of a tool's arguments. OpenAI refuses one without `properties`.
pub(crate) fn parameters(spec: &ToolSpec, problems: &mut EncodeProblems) -> Raw {
    let mut schema = settings::object_schema(spec, problems);
    let properties = schema.get("properties");
    if !properties.is_some_and(|properties| properties.as_str().starts_with('{')) {
        schema.set("properties", Raw::empty_object());
    }
    schema.to_raw()
}

#[cfg(test)]
mod tests;
