//! How the servers that speak OpenAI's APIs differ, as plain data without code. Each vendor has a
//! row.

/// What a server requires, and what it refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quirks {
    /// The field for the limit of output tokens.
    pub max_tokens: MaxTokensField,
    /// Whether the server knows `stream_options`, which asks for token counts. Some refuse unknown
    /// fields.
    pub stream_options: bool,
    /// Whether a temperature may be sent.
    pub temperature: TemperatureSupport,
    /// The role of instructions.
    pub system_role: SystemRole,
    /// How to ask a model to think before it answers.
    pub reasoning: ReasoningRequest,
    /// The field in which the model's earlier thinking is sent back.
    pub thinking: ThinkingField,
    /// The ids of tool calls that are accepted.
    pub tool_ids: ToolIdRule,
    /// Whether documents are accepted, as file parts.
    pub files: bool,
}

impl Quirks {
    /// What most servers accept.
    pub const COMPATIBLE: Quirks = Quirks {
        max_tokens: MaxTokensField::ByModel,
        stream_options: true,
        temperature: TemperatureSupport::ByModel,
        system_role: SystemRole::System,
        reasoning: ReasoningRequest::Unknown,
        thinking: ThinkingField::Omitted,
        tool_ids: ToolIdRule::UpTo(40),
        files: true,
    };

    /// OpenAI's Chat Completions.
    pub const OPENAI_CHAT: Quirks = Quirks {
        reasoning: ReasoningRequest::Effort,
        ..Quirks::COMPATIBLE
    };

    /// OpenAI's Responses.
    pub const OPENAI_RESPONSES: Quirks = Quirks {
        tool_ids: ToolIdRule::UpTo(64),
        ..Quirks::OPENAI_CHAT
    };
}

impl Default for Quirks {
    fn default() -> Quirks {
        Quirks::COMPATIBLE
    }
}

/// The field for the limit of output tokens in Chat Completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MaxTokensField {
    /// `max_tokens`, the older field, and the only one that most servers know.
    MaxTokens,
    /// `max_completion_tokens`.
    MaxCompletionTokens,
    /// The newer field for OpenAI's models that refuse the older one, which are known by their
    /// names.
    ByModel,
}

/// Whether a temperature may be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TemperatureSupport {
    /// Every model accepts one.
    Accepted,
    /// No model accepts one.
    Refused,
    /// OpenAI's models that always think refuse one; they are known by their names.
    ByModel,
}

/// The role of instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SystemRole {
    /// `system`, which every server knows.
    System,
    /// `developer`.
    Developer,
    /// `user`, for models without a role for instructions.
    User,
}

impl SystemRole {
    /// The role's name in JSON.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            SystemRole::System => "system",
            SystemRole::Developer => "developer",
            SystemRole::User => "user",
        }
    }
}

/// How to ask a model in Chat Completions to think before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReasoningRequest {
    /// Not known. OpenAI's models that always think are asked in OpenAI's way, others are not
    /// asked.
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
    /// There is no such field: the model alone determines whether it thinks.
    ByItself,
}

/// The field in which the model's earlier thinking is sent back in Chat Completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThinkingField {
    /// Thinking is not sent back.
    Omitted,
    /// Its text is sent as `reasoning_content`.
    ReasoningContent,
    /// `reasoning_details` are sent back unchanged.
    ReasoningDetails,
}

/// The ids of tool calls that a server accepts. Other ids are replaced, both in the call and in its
/// result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolIdRule {
    /// Any id.
    Any,
    /// Ids of up to this many characters.
    UpTo(usize),
    /// Ids of exactly this many letters and digits.
    Exactly(usize),
}
