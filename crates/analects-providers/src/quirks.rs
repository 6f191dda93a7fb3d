//! In what the servers that speak OpenAI's APIs differ, as plain data: a row of a table each, and
//! no code.

/// What a server wants to see, and what it refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quirks {
    /// Under which name the limit of output tokens goes.
    pub max_tokens: MaxTokens,
    /// Whether `stream_options` is understood, which asks for token counts.
    pub stream_options: bool,
    /// Whether a temperature may be sent.
    pub temperature: Temperature,
    /// The role in which instructions are given.
    pub system_role: SystemRole,
    /// How a model is asked to think first.
    pub reasoning: ReasoningRequest,
    /// How thoughts of the model go back to it.
    pub thoughts: Thoughts,
    /// Which names of tool calls are accepted.
    pub tool_ids: ToolIds,
    /// Whether documents are taken, as file parts.
    pub files: bool,
}

impl Quirks {
    /// What most servers understand.
    pub const COMPATIBLE: Quirks = Quirks {
        max_tokens: MaxTokens::ByModel,
        stream_options: true,
        temperature: Temperature::ByModel,
        system_role: SystemRole::System,
        reasoning: ReasoningRequest::Unknown,
        thoughts: Thoughts::LeftOut,
        tool_ids: ToolIds::UpTo(40),
        files: true,
    };

    /// OpenAI's Chat Completions.
    pub const OPENAI_CHAT: Quirks = Quirks {
        reasoning: ReasoningRequest::Effort,
        ..Quirks::COMPATIBLE
    };

    /// OpenAI's Responses.
    pub const OPENAI_RESPONSES: Quirks = Quirks {
        tool_ids: ToolIds::UpTo(64),
        ..Quirks::OPENAI_CHAT
    };
}

impl Default for Quirks {
    fn default() -> Quirks {
        Quirks::COMPATIBLE
    }
}

/// The name of the limit of output tokens in Chat Completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MaxTokens {
    /// `max_tokens`, the older name, which most servers know as the only one.
    MaxTokens,
    /// `max_completion_tokens`.
    MaxCompletionTokens,
    /// The newer name for OpenAI's models that refuse the older one, known by their names.
    ByModel,
}

/// Whether a temperature may be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Temperature {
    /// Always.
    Sent,
    /// Never.
    Refused,
    /// Not to OpenAI's models that refuse one, known by their names.
    ByModel,
}

/// The role in which instructions are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SystemRole {
    /// `system`, which everybody understands.
    System,
    /// `developer`.
    Developer,
    /// `user`, for models that know no instructions.
    User,
}

impl SystemRole {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            SystemRole::System => "system",
            SystemRole::Developer => "developer",
            SystemRole::User => "user",
        }
    }
}

/// How a model is asked in Chat Completions to think first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReasoningRequest {
    /// Nobody knows. OpenAI's models that always think are asked in OpenAI's way, others not.
    Unknown,
    /// `"reasoning_effort": "medium"`.
    Effort,
    /// `"reasoning": {"enabled": true}`.
    Object,
    /// `"thinking": {"type": "enabled"}`.
    Thinking,
    /// `"enable_thinking": true`.
    EnableThinking,
    /// `"chat_template_kwargs": {"enable_thinking": true}`, for servers that run open models.
    ChatTemplate,
    /// There is nothing to ask: the model thinks, or it does not.
    ByItself,
}

/// How thoughts of the model go back to it in Chat Completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thoughts {
    /// Not at all.
    LeftOut,
    /// Their text as `reasoning_content`.
    ReasoningContent,
    /// `reasoning_details` as they came.
    ReasoningDetails,
}

/// Which names of tool calls are accepted. Others are replaced, in the call and in its result alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolIds {
    /// Any.
    Any,
    /// At most this many characters.
    UpTo(usize),
    /// Exactly this many letters and digits.
    Exactly(usize),
}
