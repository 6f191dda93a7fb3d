//! The role of a cell. It is decided once, when the file is read, by the cell's marker, type word, id and attributes.

use std::fmt;

use serde::{Serialize, Serializer};

use super::CellKind;
use super::owners::is_thought_id;

/// The role of a cell. Code that depends on it matches on all variants, so that the compiler finds it when there is a new
/// one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CellRole {
    /// Text that a person wrote.
    User,
    /// Code that a person wrote.
    Code,
    /// Raw input of a person, such as the bytes of a picture.
    Raw,
    /// A part of a person's message that only JSON can express.
    UserBlock,
    /// The definition of an agent.
    AgentDefinition,
    /// The reply of an agent.
    Reply,
    /// The reasoning of a model before its reply.
    Thinking,
    /// A call of a tool.
    ToolCall,
    /// The result of a tool call.
    ToolResult,
    /// What running a code cell printed.
    CodeOutput,
    /// An instruction to the model.
    System,
    /// A summary that stands for earlier cells.
    Summary,
    /// Where a compaction cut the conversation.
    CompactBoundary,
    /// A file or a reminder for the model.
    Attachment,
    /// An event outside of the conversation.
    Notification,
    /// The progress of a task.
    Progress,
    /// The removal of an earlier message.
    Tombstone,
    /// A part of an answer, or a whole message, that only JSON can express.
    Block,
    /// What other cells cannot say about their messages.
    Details,
}

impl CellRole {
    /// The word for a role in `list` and `show`: everything from a person is `user`, and thinking is part of the `reply`.
    pub fn as_str(self) -> &'static str {
        match self {
            CellRole::User | CellRole::Code | CellRole::Raw | CellRole::UserBlock => "user",
            CellRole::AgentDefinition => "agent_definition",
            CellRole::Reply | CellRole::Thinking => "reply",
            CellRole::ToolCall => "tool_call",
            CellRole::ToolResult => "tool_result",
            CellRole::CodeOutput => "code_output",
            CellRole::System => "system",
            CellRole::Summary => "summary",
            CellRole::CompactBoundary => "compact_boundary",
            CellRole::Attachment => "attachment",
            CellRole::Notification => "notification",
            CellRole::Progress => "progress",
            CellRole::Tombstone => "tombstone",
            CellRole::Block => "block",
            CellRole::Details => "details",
        }
    }

    /// Whether a person says it to the model.
    pub fn is_user(self) -> bool {
        matches!(
            self,
            CellRole::User | CellRole::Code | CellRole::Raw | CellRole::UserBlock
        )
    }

    /// Whether it is a reply of an agent, or a thought that belongs to one.
    pub fn is_reply(self) -> bool {
        matches!(self, CellRole::Reply | CellRole::Thinking)
    }

    /// Whether it is a call of a tool, or the result of one.
    pub fn is_tool(self) -> bool {
        matches!(self, CellRole::ToolCall | CellRole::ToolResult)
    }

    /// Whether it is an output that answers nothing: an event or an instruction.
    pub fn is_event(self) -> bool {
        match self {
            CellRole::System
            | CellRole::Summary
            | CellRole::CompactBoundary
            | CellRole::Attachment
            | CellRole::Notification
            | CellRole::Progress
            | CellRole::Tombstone
            | CellRole::Details => true,
            CellRole::User
            | CellRole::Code
            | CellRole::Raw
            | CellRole::UserBlock
            | CellRole::AgentDefinition
            | CellRole::Reply
            | CellRole::Thinking
            | CellRole::ToolCall
            | CellRole::ToolResult
            | CellRole::CodeOutput
            | CellRole::Block => false,
        }
    }

    /// Whether it is an output that may be a part of an answer, or have such parts.
    pub(super) fn is_part_of_speech(self) -> bool {
        self.is_reply() || matches!(self, CellRole::CodeOutput | CellRole::Block)
    }

    /// The role of a cell; `is_code` tells whether an earlier cell with this id holds code.
    pub(super) fn of(cell: RoleFacts<'_>, is_code: impl Fn(&[u8]) -> bool) -> CellRole {
        match cell.kind {
            CellKind::Message => message_role(cell.type_word),
            CellKind::Output => match output_role(cell.type_word) {
                Some(CellRole::ToolResult) if cell.has_name => CellRole::ToolCall,
                Some(role) => role,
                None if is_output_of(cell.id, is_code) => CellRole::CodeOutput,
                None if cell.is_reasoning || is_thought_id(cell.id) => CellRole::Thinking,
                None => CellRole::Reply,
            },
        }
    }
}

impl fmt::Display for CellRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for CellRole {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// The facts that decide the role of a cell.
#[derive(Debug, Clone, Copy)]
pub(super) struct RoleFacts<'a> {
    pub(super) kind: CellKind,
    pub(super) type_word: &'a str,
    pub(super) id: &'a [u8],
    /// Whether it has a `name`, as calls have.
    pub(super) has_name: bool,
    /// Whether it says `reasoning=1`.
    pub(super) is_reasoning: bool,
}

/// The role of a cell that a person wrote.
fn message_role(word: &str) -> CellRole {
    match word {
        "agent" => CellRole::AgentDefinition,
        "code" => CellRole::Code,
        "raw" => CellRole::Raw,
        "block" => CellRole::UserBlock,
        // The type word of an output has no meaning here, so the cell is text.
        _ => CellRole::User,
    }
}

/// The role of an output whose type word is fixed. A `[tool]` cell with a name is a call, whatever this returns.
fn output_role(word: &str) -> Option<CellRole> {
    match word {
        "tool" => Some(CellRole::ToolResult),
        "system" => Some(CellRole::System),
        "summary" => Some(CellRole::Summary),
        "compact_boundary" => Some(CellRole::CompactBoundary),
        "attachment" => Some(CellRole::Attachment),
        "notification" => Some(CellRole::Notification),
        "progress" => Some(CellRole::Progress),
        "tombstone" => Some(CellRole::Tombstone),
        "block" => Some(CellRole::Block),
        "details" => Some(CellRole::Details),
        _ => None,
    }
}

/// Whether a type word is fixed by the format, so that no agent can have this name.
pub fn is_fixed_word(word: &str) -> bool {
    matches!(word, "markdown" | "code" | "raw" | "agent") || output_role(word).is_some()
}

/// Whether a type word is for outputs only. On a cell that a person wrote it is ignored.
pub(super) fn is_output_word(word: &str) -> bool {
    word != "block" && output_role(word).is_some()
}

/// Whether the type word of an output is the name of its author; `assistant` stands for an unnamed one.
pub(super) fn names_author(word: &str) -> bool {
    word != "assistant" && !is_fixed_word(word)
}

/// Whether this is the id of an output of a code cell: the id of the code cell, a dot and a number, and for further
/// outputs of the same execution a hyphen and another number.
fn is_output_of(id: &[u8], is_code: impl Fn(&[u8]) -> bool) -> bool {
    let Some(dot) = id.iter().rposition(|byte| *byte == b'.') else {
        return false;
    };
    let is_number = |digits: &[u8]| !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    id[dot + 1..].split(|byte| *byte == b'-').all(is_number) && is_code(&id[..dot])
}
