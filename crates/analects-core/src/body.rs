//! Message bodies: the fields of each message type beyond the common ones.

use crate::block::{BlockParent, Content, ToolResult, ToolUse, object};
use crate::json::{ObjectWriter, flag, nonempty_strings, shared_string};
use crate::{
    AttachmentKind, CompactTrigger, History, MessageId, Problem, Raw, RawMap, Role, StopReason,
    Text, UserSource,
};

/// The body of a message, by its `type`.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// Instructions for the model.
    System(System),
    /// The words of a person, or of a program on their behalf.
    User(User),
    /// A model's answer.
    Assistant(Assistant),
    /// A tool call as a message of its own, for stores that keep one block per line.
    ToolUse(ToolUse),
    /// A tool result as a message of its own.
    ToolResult(ToolResult),
    /// A progress report from a running tool; never part of the conversation.
    Progress(Progress),
    /// A structured event that belongs to the conversation, such as a file or a reminder.
    Attachment(Attachment),
    /// A structured event that happened in the meantime.
    Notification(Notification),
    /// A summary that replaces earlier messages in the model's view.
    Summary(Summary),
    /// The point after which the model reads the summary in place of the earlier messages.
    CompactBoundary(CompactBoundary),
    /// Hides a message. Nothing is ever deleted.
    Tombstone(Tombstone),
    /// Changes the content of an earlier message, or whether the model sees it.
    Revision(Revision),
    /// A change of the session's state.
    State(StateChange),
    /// A type that this version does not know. Its fields are among the message's unknown fields.
    Other(Other),
}

/// Body of a `system` message.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct System {
    /// The instructions.
    pub content: Content,
}

/// Body of a `user` message.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct User {
    /// The content.
    pub content: Content,
    /// Where the content came from.
    pub source: Option<UserSource>,
    /// Whether it was sent in koding mode.
    pub is_koding_request: bool,
    /// Context that koding mode added.
    pub koding_context: Option<Text>,
    /// The command that produced it, such as `/review`.
    pub command_name: Option<String>,
    /// That command's arguments.
    pub command_args: Option<Text>,
}

/// Body of an `assistant` message.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Assistant {
    /// Text, tool calls and thinking.
    pub content: Content,
    /// Why the answer ended.
    pub stop_reason: Option<StopReason>,
}

/// Body of a `progress` message.
#[doc(alias = "ProgressMessage")]
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Progress {
    /// The content as the tool reported it.
    pub content: Option<Raw>,
    /// The call that is running.
    pub tool_use_id: Option<String>,
    /// Calls of the same turn.
    pub sibling_tool_use_ids: Vec<String>,
    /// The tools that were available.
    pub tools: Option<Raw>,
    /// The conversation so far, in the source's normal form.
    pub normalized_messages: Option<Raw>,
}

/// Body of an `attachment` message.
#[derive(Debug, Clone, PartialEq)]
pub struct Attachment {
    /// The kind of event.
    pub kind: AttachmentKind,
    /// The part that the model reads.
    pub content: Content,
    /// The event's own data.
    pub data: Option<Raw>,
}

/// Body of a `notification` message.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Notification {
    /// The kind of event, such as `task_finished`.
    pub kind: String,
    /// The part that people and models read.
    pub content: Content,
    /// The event's own data.
    pub data: Option<Raw>,
}

/// Body of a `summary` message.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Summary {
    /// The summary.
    pub text: Text,
    /// The first message that the summary replaces.
    pub from: Option<MessageId>,
    /// The last message that the summary replaces.
    pub to: Option<MessageId>,
    /// How many messages the summary replaces.
    pub count: Option<u64>,
}

/// Body of a `compact_boundary` message.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CompactBoundary {
    /// What triggered the compaction.
    pub trigger: Option<CompactTrigger>,
    /// Tokens in the context before the compaction.
    pub tokens_before: Option<u64>,
    /// Tokens in the context after the compaction.
    pub tokens_after: Option<u64>,
    /// The summary that replaces the earlier messages.
    pub summary_id: Option<MessageId>,
    /// The first of the earlier messages that stays visible.
    pub kept_from: Option<MessageId>,
}

/// Body of a `tombstone` message.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tombstone {
    /// The message that it hides.
    pub target: MessageId,
    /// That message's parent, which becomes the parent of its children.
    pub target_parent: Option<MessageId>,
}

/// Body of a `revision` message. The chain reads the target with these changes, and the messages after the target stay
/// attached to it. If several revisions have one target, the last one counts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Revision {
    /// The message to change.
    pub target: MessageId,
    /// The tool call of the target that `history` applies to; `None` is the whole message.
    pub call: Option<String>,
    /// The target's new content.
    pub content: Option<Content>,
    /// How much of the target the model sees from now on.
    pub history: Option<History>,
}

/// Body of a `state` message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateChange {
    /// The changes as a JSON merge patch: an object in which `null` removes.
    pub changes: Raw,
    /// Whether this is the whole state instead of a change to the previous one.
    pub is_snapshot: bool,
}

/// A message type that this version does not know.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Other {
    /// Its `type`; `None` if that is missing or not a string.
    pub type_name: Option<String>,
}

impl Body {
    /// The value of the `type` field; empty for a record without one.
    pub fn type_name(&self) -> &str {
        match self {
            Body::System(_) => "system",
            Body::User(_) => "user",
            Body::Assistant(_) => "assistant",
            Body::ToolUse(_) => "tool_use",
            Body::ToolResult(_) => "tool_result",
            Body::Progress(_) => "progress",
            Body::Attachment(_) => "attachment",
            Body::Notification(_) => "notification",
            Body::Summary(_) => "summary",
            Body::CompactBoundary(_) => "compact_boundary",
            Body::Tombstone(_) => "tombstone",
            Body::Revision(_) => "revision",
            Body::State(_) => "state",
            Body::Other(other) => other.type_name.as_deref().unwrap_or(""),
        }
    }

    /// The role that a model's API gives this body.
    pub fn role(&self) -> Role {
        match self {
            Body::Assistant(_) | Body::ToolUse(_) => Role::Assistant,
            Body::User(_)
            | Body::ToolResult(_)
            | Body::Attachment(_)
            | Body::Notification(_)
            | Body::Summary(_) => Role::User,
            Body::System(_)
            | Body::Progress(_)
            | Body::CompactBoundary(_)
            | Body::Tombstone(_)
            | Body::Revision(_)
            | Body::State(_)
            | Body::Other(_) => Role::System,
        }
    }

    /// The content, for bodies that have one.
    pub fn content(&self) -> Option<&Content> {
        match self {
            Body::System(body) => Some(&body.content),
            Body::User(body) => Some(&body.content),
            Body::Assistant(body) => Some(&body.content),
            Body::ToolResult(body) => Some(&body.content),
            Body::Attachment(body) => Some(&body.content),
            Body::Notification(body) => Some(&body.content),
            Body::ToolUse(_)
            | Body::Progress(_)
            | Body::Summary(_)
            | Body::CompactBoundary(_)
            | Body::Tombstone(_)
            | Body::Revision(_)
            | Body::State(_)
            | Body::Other(_) => None,
        }
    }

    /// Replaces the content. Bodies without text stay as they are.
    pub(crate) fn set_content(&mut self, content: Content) {
        match self {
            Body::System(body) => body.content = content,
            Body::User(body) => body.content = content,
            Body::Assistant(body) => body.content = content,
            Body::ToolResult(body) => body.content = content,
            Body::Attachment(body) => body.content = content,
            Body::Notification(body) => body.content = content,
            Body::Summary(body) => body.text = content.text().into(),
            Body::ToolUse(_)
            | Body::Progress(_)
            | Body::CompactBoundary(_)
            | Body::Tombstone(_)
            | Body::Revision(_)
            | Body::State(_)
            | Body::Other(_) => {}
        }
    }

    /// Takes a body's fields out of `fields`. A body that lacks a required field becomes `Other`, and its fields stay
    /// in `fields`.
    pub(crate) fn read(
        type_name: Option<String>,
        fields: &mut RawMap,
        problems: &mut Vec<Problem>,
    ) -> Body {
        let known = type_name
            .as_deref()
            .and_then(|name| read_typed(name, fields, problems));
        known.unwrap_or(Body::Other(Other { type_name }))
    }

    /// The names of all fields that `write_fields` may write.
    pub(crate) fn field_names(&self) -> &'static [&'static str] {
        match self {
            Body::System(_) => &["content"],
            Body::User(_) => &[
                "content",
                "source",
                "is_koding_request",
                "koding_context",
                "command_name",
                "command_args",
            ],
            Body::Assistant(_) => &["content", "stop_reason"],
            Body::ToolUse(_) | Body::ToolResult(_) => &["block"],
            Body::Progress(_) => &[
                "content",
                "tool_use_id",
                "sibling_tool_use_ids",
                "tools",
                "normalized_messages",
            ],
            Body::Attachment(_) | Body::Notification(_) => &["kind", "content", "data"],
            Body::Summary(_) => &["text", "from", "to", "count"],
            Body::CompactBoundary(_) => &[
                "trigger",
                "tokens_before",
                "tokens_after",
                "summary_id",
                "kept_from",
            ],
            Body::Tombstone(_) => &["target", "target_parent"],
            Body::Revision(_) => &["target", "target_call", "target_history", "content"],
            Body::State(_) => &["state", "snapshot"],
            Body::Other(_) => &[],
        }
    }

    pub(crate) fn write_fields(&self, writer: &mut ObjectWriter<'_>) {
        match self {
            Body::System(body) => body.content.write_field("content", writer),
            Body::User(body) => body.write_fields(writer),
            Body::Assistant(body) => body.write_fields(writer),
            Body::ToolUse(block) => write_block(writer, |out| block.write(out)),
            Body::ToolResult(block) => write_block(writer, |out| block.write(out)),
            Body::Progress(body) => body.write_fields(writer),
            Body::Attachment(body) => body.write_fields(writer),
            Body::Notification(body) => body.write_fields(writer),
            Body::Summary(body) => body.write_fields(writer),
            Body::CompactBoundary(body) => body.write_fields(writer),
            Body::Tombstone(body) => body.write_fields(writer),
            Body::Revision(body) => body.write_fields(writer),
            Body::State(body) => body.write_fields(writer),
            Body::Other(_) => {}
        }
    }
}

/// Reads the body of a known type; `None` for an unknown type, and if a required field is missing.
fn read_typed(name: &str, fields: &mut RawMap, problems: &mut Vec<Problem>) -> Option<Body> {
    Some(match name {
        "system" => Body::System(System {
            content: take_content(fields, problems),
        }),
        "user" => Body::User(User::read(fields, problems)),
        "assistant" => Body::Assistant(Assistant::read(fields, problems)),
        "tool_use" => Body::ToolUse(fields.take("block", ToolUse::from_raw)?),
        "tool_result" => {
            Body::ToolResult(fields.take("block", |raw| ToolResult::from_raw(raw, problems))?)
        }
        "progress" => Body::Progress(Progress::read(fields)),
        "attachment" => Body::Attachment(Attachment::read(fields, problems)?),
        "notification" => Body::Notification(Notification::read(fields, problems)?),
        "summary" => Body::Summary(Summary::read(fields)?),
        "compact_boundary" => Body::CompactBoundary(CompactBoundary::read(fields)),
        "tombstone" => Body::Tombstone(Tombstone::read(fields)?),
        "revision" => Body::Revision(Revision::read(fields, problems)?),
        "state" => Body::State(StateChange::read(fields)?),
        _ => return None,
    })
}

fn take_content(fields: &mut RawMap, problems: &mut Vec<Problem>) -> Content {
    take_optional_content(fields, problems).unwrap_or_default()
}

fn take_optional_content(fields: &mut RawMap, problems: &mut Vec<Problem>) -> Option<Content> {
    fields.take("content", |raw| {
        Content::from_raw(raw, BlockParent::Message, problems)
    })
}

fn take_raw(fields: &mut RawMap, key: &str) -> Option<Raw> {
    fields.take(key, |raw| Some(raw.clone()))
}

pub(crate) fn take_id(fields: &mut RawMap, key: &str) -> Option<MessageId> {
    fields.take(key, shared_string).map(MessageId::from)
}

/// Writes a call or a result as the field `block`.
fn write_block(writer: &mut ObjectWriter<'_>, write: impl FnOnce(&mut String)) {
    let mut block = String::new();
    write(&mut block);
    writer.json("block", &Raw::trusted(block));
}

impl Assistant {
    fn read(fields: &mut RawMap, problems: &mut Vec<Problem>) -> Assistant {
        Assistant {
            content: take_content(fields, problems),
            stop_reason: fields
                .take("stop_reason", Raw::as_string)
                .map(StopReason::from),
        }
    }

    fn write_fields(&self, writer: &mut ObjectWriter<'_>) {
        self.content.write_field("content", writer);
        let stop_reason = self.stop_reason.as_ref().map(StopReason::as_str);
        writer.opt_string("stop_reason", stop_reason);
    }
}

impl Attachment {
    fn read(fields: &mut RawMap, problems: &mut Vec<Problem>) -> Option<Attachment> {
        Some(Attachment {
            kind: fields.take("kind", Raw::as_string)?.into(),
            content: take_content(fields, problems),
            data: take_raw(fields, "data"),
        })
    }

    fn write_fields(&self, writer: &mut ObjectWriter<'_>) {
        writer.string("kind", self.kind.as_str());
        self.content.write_field("content", writer);
        writer.opt_json("data", self.data.as_ref());
    }
}

impl Notification {
    fn read(fields: &mut RawMap, problems: &mut Vec<Problem>) -> Option<Notification> {
        Some(Notification {
            kind: fields.take("kind", Raw::as_string)?,
            content: take_content(fields, problems),
            data: take_raw(fields, "data"),
        })
    }

    fn write_fields(&self, writer: &mut ObjectWriter<'_>) {
        writer.string("kind", &self.kind);
        self.content.write_field("content", writer);
        writer.opt_json("data", self.data.as_ref());
    }
}

impl Summary {
    fn read(fields: &mut RawMap) -> Option<Summary> {
        Some(Summary {
            text: fields.take("text", Text::from_raw)?,
            from: take_id(fields, "from"),
            to: take_id(fields, "to"),
            count: fields.take("count", Raw::to),
        })
    }

    fn write_fields(&self, writer: &mut ObjectWriter<'_>) {
        writer.json("text", &self.text);
        writer.opt_string("from", self.from.as_deref());
        writer.opt_string("to", self.to.as_deref());
        writer.opt_u64("count", self.count);
    }
}

impl Tombstone {
    fn read(fields: &mut RawMap) -> Option<Tombstone> {
        Some(Tombstone {
            target: take_id(fields, "target")?,
            target_parent: take_id(fields, "target_parent"),
        })
    }

    fn write_fields(&self, writer: &mut ObjectWriter<'_>) {
        writer.string("target", &self.target);
        writer.opt_string("target_parent", self.target_parent.as_deref());
    }
}

impl Revision {
    fn read(fields: &mut RawMap, problems: &mut Vec<Problem>) -> Option<Revision> {
        Some(Revision {
            target: take_id(fields, "target")?,
            call: fields.take("target_call", Raw::as_string),
            history: fields.take("target_history", Raw::to),
            content: take_optional_content(fields, problems),
        })
    }

    fn write_fields(&self, writer: &mut ObjectWriter<'_>) {
        writer.string("target", &self.target);
        writer.opt_string("target_call", self.call.as_deref());
        writer.opt_string("target_history", self.history.map(History::as_str));
        if let Some(content) = &self.content {
            content.write_field("content", writer);
        }
    }
}

impl StateChange {
    fn read(fields: &mut RawMap) -> Option<StateChange> {
        Some(StateChange {
            changes: fields.take("state", object)?,
            is_snapshot: fields.take("snapshot", flag).is_some(),
        })
    }

    fn write_fields(&self, writer: &mut ObjectWriter<'_>) {
        writer.json("state", &self.changes);
        writer.flag("snapshot", self.is_snapshot);
    }
}

impl User {
    fn read(fields: &mut RawMap, problems: &mut Vec<Problem>) -> User {
        User {
            content: take_content(fields, problems),
            source: fields.take("source", Raw::as_string).map(UserSource::from),
            is_koding_request: fields.take("is_koding_request", flag).is_some(),
            koding_context: fields.take("koding_context", Text::from_raw),
            command_name: fields.take("command_name", Raw::as_string),
            command_args: fields.take("command_args", Text::from_raw),
        }
    }

    fn write_fields(&self, writer: &mut ObjectWriter<'_>) {
        self.content.write_field("content", writer);
        writer.opt_string("source", self.source.as_ref().map(UserSource::as_str));
        writer.flag("is_koding_request", self.is_koding_request);
        writer.opt_text("koding_context", self.koding_context.as_ref());
        writer.opt_string("command_name", self.command_name.as_deref());
        writer.opt_text("command_args", self.command_args.as_ref());
    }
}

impl Progress {
    fn read(fields: &mut RawMap) -> Progress {
        Progress {
            content: take_raw(fields, "content"),
            tool_use_id: fields.take("tool_use_id", Raw::as_string),
            sibling_tool_use_ids: fields
                .take("sibling_tool_use_ids", nonempty_strings)
                .unwrap_or_default(),
            tools: take_raw(fields, "tools"),
            normalized_messages: take_raw(fields, "normalized_messages"),
        }
    }

    fn write_fields(&self, writer: &mut ObjectWriter<'_>) {
        writer.opt_json("content", self.content.as_ref());
        writer.opt_string("tool_use_id", self.tool_use_id.as_deref());
        writer.strings("sibling_tool_use_ids", &self.sibling_tool_use_ids);
        writer.opt_json("tools", self.tools.as_ref());
        writer.opt_json("normalized_messages", self.normalized_messages.as_ref());
    }
}

impl CompactBoundary {
    fn read(fields: &mut RawMap) -> CompactBoundary {
        CompactBoundary {
            trigger: fields
                .take("trigger", Raw::as_string)
                .map(CompactTrigger::from),
            tokens_before: fields.take("tokens_before", Raw::to),
            tokens_after: fields.take("tokens_after", Raw::to),
            summary_id: take_id(fields, "summary_id"),
            kept_from: take_id(fields, "kept_from"),
        }
    }

    fn write_fields(&self, writer: &mut ObjectWriter<'_>) {
        writer.opt_string("trigger", self.trigger.as_ref().map(CompactTrigger::as_str));
        writer.opt_u64("tokens_before", self.tokens_before);
        writer.opt_u64("tokens_after", self.tokens_after);
        writer.opt_string("summary_id", self.summary_id.as_deref());
        writer.opt_string("kept_from", self.kept_from.as_deref());
    }
}
