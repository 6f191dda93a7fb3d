//! The kinds of message: what each says beyond the fields that all share.

use crate::block::{Content, Inside, ToolResult, ToolUse};
use crate::json::{ObjectWriter, flag, shared_string};
use crate::{
    AttachmentKind, CompactTrigger, History, MessageId, Problem, Raw, RawMap, StopReason, Text,
};
use crate::{Role, UserSource};

/// What a message is, by its `type`.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// Instructions that set the conversation up.
    System(System),
    /// Something that a person, or a program in their place, said.
    User(User),
    /// Something that a model said.
    Assistant(Assistant),
    /// A tool call as a message of its own, for stores that keep one block a line.
    ToolUse(ToolUse),
    /// A tool result as a message of its own.
    ToolResult(ToolResult),
    /// A sign of life of a running tool; never part of the conversation.
    Progress(Progress),
    /// A structured event that came along.
    Attachment(Attachment),
    /// A structured event that happened meanwhile.
    Notification(Notification),
    /// A summary that stands for earlier messages.
    Summary(Summary),
    /// The point from which the model sees the summary instead of what came before.
    CompactBoundary(CompactBoundary),
    /// Hides a message; nothing is ever deleted.
    Tombstone(Tombstone),
    /// Changes what an earlier message says, or whether the model sees it.
    Revision(Revision),
    /// A change of the session's state.
    State(StateChange),
    /// A type that this version does not know; its fields are among the message's unknown ones.
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
    /// What was said.
    pub content: Content,
    /// Where it came from.
    pub source: Option<UserSource>,
    /// Whether it was sent in koding mode.
    pub is_koding_request: bool,
    /// Context that koding mode added.
    pub koding_context: Option<Text>,
    /// The command it came from, such as `/review`.
    pub command_name: Option<String>,
    /// That command's arguments.
    pub command_args: Option<Text>,
}

/// Body of an `assistant` message.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Assistant {
    /// What was said, called and thought.
    pub content: Content,
    /// Why it ended.
    pub stop_reason: Option<StopReason>,
}

/// Body of a `progress` message.
#[doc(alias = "ProgressMessage")]
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Progress {
    /// The content as the tool gave it.
    pub content: Option<Raw>,
    /// The call that is running.
    pub tool_use_id: Option<String>,
    /// Calls of the same turn.
    pub sibling_tool_use_ids: Vec<String>,
    /// The tools that were at hand.
    pub tools: Option<Raw>,
    /// The conversation so far, in the source's normal form.
    pub normalized_messages: Option<Raw>,
}

/// Body of an `attachment` message.
#[derive(Debug, Clone, PartialEq)]
pub struct Attachment {
    /// What it is about.
    pub kind: AttachmentKind,
    /// What the model reads of it.
    pub content: Content,
    /// The event's own data.
    pub data: Option<Raw>,
}

/// Body of a `notification` message.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Notification {
    /// What happened, such as `task_finished`.
    pub kind: String,
    /// What to read of it.
    pub content: Content,
    /// The event's own data.
    pub data: Option<Raw>,
}

/// Body of a `summary` message.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Summary {
    /// The summary.
    pub text: Text,
    /// The first message that it stands for.
    pub from: Option<MessageId>,
    /// The last message that it stands for.
    pub to: Option<MessageId>,
    /// How many it stands for.
    pub count: Option<u64>,
}

/// Body of a `compact_boundary` message.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CompactBoundary {
    /// What set the compaction off.
    pub trigger: Option<CompactTrigger>,
    /// Tokens in the context before.
    pub tokens_before: Option<u64>,
    /// Tokens in the context after.
    pub tokens_after: Option<u64>,
    /// The summary that stands for what came before.
    pub summary_id: Option<MessageId>,
    /// The first of the earlier messages that stay visible.
    pub kept_from: Option<MessageId>,
}

/// Body of a `tombstone` message.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tombstone {
    /// The message that it hides.
    pub target: MessageId,
    /// That message's parent, to which its children now belong.
    pub target_parent: Option<MessageId>,
}

/// Body of a `revision` message. The chain reads its target with these changes; what followed the target still
/// follows it. Of several revisions, the last one counts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Revision {
    /// The message that it changes.
    pub target: MessageId,
    /// The one call of the target that `history` is about; `None` is the whole message.
    pub call: Option<String>,
    /// What the target says from now on.
    pub content: Option<Content>,
    /// How much of the target the model sees from now on.
    pub history: Option<History>,
}

/// Body of a `state` message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateChange {
    /// What changes, as a merge patch: an object in which `null` removes.
    pub changes: Raw,
    /// Whether this is the state as a whole, and not a change to what was before.
    pub is_snapshot: bool,
}

/// A type of message that this version does not know.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Other {
    /// Its `type`; `None` where there was none that is a string.
    pub type_name: Option<String>,
}

impl Body {
    /// The `type` under which it is written; empty for a record without one.
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

    /// Who speaks, as the model's API sees it.
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

    /// The content, for the bodies that have one.
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

    /// Says something else. Bodies without words stay as they are.
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

    /// Takes a body's fields out of `fields`. What lacks a field that gives it meaning stays
    /// whole among the unknown fields, as `Other`.
    pub(crate) fn read(
        type_name: Option<String>,
        fields: &mut RawMap,
        problems: &mut Vec<Problem>,
    ) -> Body {
        let known = type_name
            .as_deref()
            .and_then(|name| read_known(name, fields, problems));
        known.unwrap_or(Body::Other(Other { type_name }))
    }

    /// The names of the fields that `write_fields` may write.
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
            Body::Assistant(body) => {
                body.content.write_field("content", writer);
                writer.opt_string(
                    "stop_reason",
                    body.stop_reason.as_ref().map(StopReason::as_str),
                );
            }
            Body::ToolUse(block) => writer.json("block", &block_json(|out| block.write(out))),
            Body::ToolResult(block) => writer.json("block", &block_json(|out| block.write(out))),
            Body::Progress(body) => body.write_fields(writer),
            Body::Attachment(body) => {
                write_event(
                    body.kind.as_str(),
                    &body.content,
                    body.data.as_ref(),
                    writer,
                );
            }
            Body::Notification(body) => {
                write_event(&body.kind, &body.content, body.data.as_ref(), writer);
            }
            Body::Summary(body) => {
                writer.json("text", &body.text);
                writer.opt_string("from", body.from.as_deref());
                writer.opt_string("to", body.to.as_deref());
                writer.opt_u64("count", body.count);
            }
            Body::CompactBoundary(body) => body.write_fields(writer),
            Body::Tombstone(body) => {
                writer.string("target", &body.target);
                writer.opt_string("target_parent", body.target_parent.as_deref());
            }
            Body::Revision(body) => {
                writer.string("target", &body.target);
                writer.opt_string("target_call", body.call.as_deref());
                writer.opt_string("target_history", body.history.map(History::as_str));
                if let Some(content) = &body.content {
                    content.write_field("content", writer);
                }
            }
            Body::State(body) => {
                writer.json("state", &body.changes);
                writer.flag("snapshot", body.is_snapshot);
            }
            Body::Other(_) => {}
        }
    }
}

fn read_known(name: &str, fields: &mut RawMap, problems: &mut Vec<Problem>) -> Option<Body> {
    Some(match name {
        "system" => Body::System(System {
            content: take_content(fields, problems),
        }),
        "user" => Body::User(User::read(fields, problems)),
        "assistant" => {
            let content = take_content(fields, problems);
            let stop_reason = fields
                .take("stop_reason", Raw::as_string)
                .map(StopReason::from);
            Body::Assistant(Assistant {
                content,
                stop_reason,
            })
        }
        "tool_use" => Body::ToolUse(fields.take("block", ToolUse::from_raw)?),
        "tool_result" => {
            let read = |raw: &Raw| ToolResult::from_raw(raw, problems);
            Body::ToolResult(fields.take("block", read)?)
        }
        "progress" => Body::Progress(Progress::read(fields)),
        "attachment" => {
            let kind = AttachmentKind::from(fields.take("kind", Raw::as_string)?);
            let (content, data) = take_event(fields, problems);
            Body::Attachment(Attachment {
                kind,
                content,
                data,
            })
        }
        "notification" => {
            let kind = fields.take("kind", Raw::as_string)?;
            let (content, data) = take_event(fields, problems);
            Body::Notification(Notification {
                kind,
                content,
                data,
            })
        }
        "summary" => Body::Summary(Summary {
            text: fields.take("text", Text::from_raw)?,
            from: take_id(fields, "from"),
            to: take_id(fields, "to"),
            count: fields.take("count", Raw::to),
        }),
        "compact_boundary" => Body::CompactBoundary(CompactBoundary::read(fields)),
        "tombstone" => {
            let target = take_id(fields, "target")?;
            let target_parent = take_id(fields, "target_parent");
            Body::Tombstone(Tombstone {
                target,
                target_parent,
            })
        }
        "revision" => {
            let target = take_id(fields, "target")?;
            let call = fields.take("target_call", Raw::as_string);
            let history = fields.take("target_history", Raw::to);
            let read = |raw: &Raw| Content::from_raw(raw, Inside::Message, problems);
            let content = fields.take("content", read);
            Body::Revision(Revision {
                target,
                call,
                content,
                history,
            })
        }
        "state" => {
            let object = |raw: &Raw| raw.as_str().starts_with('{').then(|| raw.clone());
            let changes = fields.take("state", object)?;
            let is_snapshot = fields.take("snapshot", flag).is_some();
            Body::State(StateChange {
                changes,
                is_snapshot,
            })
        }
        _ => return None,
    })
}

fn take_content(fields: &mut RawMap, problems: &mut Vec<Problem>) -> Content {
    let read = |raw: &Raw| Content::from_raw(raw, Inside::Message, problems);
    fields.take("content", read).unwrap_or_default()
}

fn take_event(fields: &mut RawMap, problems: &mut Vec<Problem>) -> (Content, Option<Raw>) {
    (take_content(fields, problems), take_any(fields, "data"))
}

fn take_any(fields: &mut RawMap, key: &str) -> Option<Raw> {
    fields.take(key, |raw| Some(raw.clone()))
}

pub(crate) fn take_id(fields: &mut RawMap, key: &str) -> Option<MessageId> {
    fields.take(key, shared_string).map(MessageId::from)
}

fn block_json(write: impl FnOnce(&mut String)) -> Raw {
    let mut out = String::new();
    write(&mut out);
    Raw::trusted(out)
}

fn write_event(kind: &str, content: &Content, data: Option<&Raw>, writer: &mut ObjectWriter<'_>) {
    writer.string("kind", kind);
    content.write_field("content", writer);
    writer.opt_json("data", data);
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
            content: take_any(fields, "content"),
            tool_use_id: fields.take("tool_use_id", Raw::as_string),
            sibling_tool_use_ids: fields
                .take("sibling_tool_use_ids", |raw| {
                    raw.to().filter(|ids: &Vec<_>| !ids.is_empty())
                })
                .unwrap_or_default(),
            tools: take_any(fields, "tools"),
            normalized_messages: take_any(fields, "normalized_messages"),
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
