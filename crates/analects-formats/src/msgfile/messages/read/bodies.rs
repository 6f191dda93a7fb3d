//! The first cell of a message: which kind of message it begins, and with which body.

use analects_core::{
    Assistant, Attachment, AttachmentKind, Body, CompactBoundary, CompactTrigger, Content, History,
    Json, Message, MessageId, Notification, Other, Problem, Progress, Raw, Summary, System, Text,
    Tombstone, User, UserSource,
};

use super::MessageReader;
use crate::msgfile::messages::cells::path_data;
use crate::msgfile::messages::partial::{CellView, ContentShape, PartialMessage, read_attributes};
use crate::msgfile::messages::{blocks, images};
use crate::msgfile::{CellRole, MetaKey};

impl<'a> MessageReader<'a> {
    /// The message that a cell begins, described by `head`, which may be another cell. `None` if the cell is an empty
    /// one of a person.
    pub(super) fn read_first_cell(
        &mut self,
        view: &CellView<'a>,
        head: &CellView<'a>,
    ) -> Option<PartialMessage<'a>> {
        if view.get(MetaKey::Json) == Some("message") {
            return Some(self.read_json_message(view));
        }
        if is_empty_prompt(view) {
            return None;
        }
        let mut partial = PartialMessage {
            shape: head.get(MetaKey::Content).map(ContentShape::of),
            is_assembled: true,
            ..PartialMessage::complete(self.described_message(view, head), head)
        };
        let is_alone = view.cell.at == head.cell.at;
        let is_silent = view.text.is_empty() && partial.shape != Some(ContentShape::Blocks);
        if !has_content(view.role(), is_alone && is_silent) {
            return Some(partial);
        }
        if let Some(blocks) = images::split(view).filter(|_| partial.shape.is_none()) {
            partial.blocks = blocks;
        } else {
            // Most messages have one block, and a growing list would reserve room for more.
            partial.blocks = vec![self.read_block(view)];
        }
        Some(partial)
    }

    /// A message without content, with all that its head says about it.
    fn described_message(&self, view: &CellView<'_>, head: &CellView<'_>) -> Message {
        let mut message = Message::new("", self.body(head));
        read_attributes(head, &mut message);
        if matches!(message.body, Body::Assistant(_)) && message.model.is_none() {
            let author = message.author.as_ref();
            message.model = author.and_then(|author| self.models.get(author)).cloned();
        }
        if matches!(message.body, Body::Attachment(_)) {
            message.author = view.string(MetaKey::Author);
        }
        // An answer that is nothing but calls is hidden call by call.
        if head.role() == CellRole::ToolCall && message.history == History::Exclude {
            message.history = History::Include;
        }
        message
    }

    /// A message that its cell holds as JSON. If the JSON cannot be read, the cell's text takes its place.
    fn read_json_message(&mut self, view: &CellView<'a>) -> PartialMessage<'a> {
        let json = blocks::fenced_json(&view.text).unwrap_or_default();
        let error = match Message::from_json(&json) {
            Ok(message) => return PartialMessage::complete(message, view),
            Err(error) => error,
        };
        let text = format!("the JSON of this cell is no message: {error}");
        self.report(view, Problem::error("bad-json", text));
        let mut message = Message::new("", Body::Other(Other::default()));
        message.unknown.push("content", Raw::string(&view.text));
        PartialMessage {
            is_assembled: true,
            ..PartialMessage::complete(message, view)
        }
    }

    /// The body of a message with this head, still without content.
    fn body(&self, head: &CellView<'_>) -> Body {
        let source = head.get(MetaKey::Source).map(UserSource::from);
        match head.role() {
            CellRole::Code => user(source.or(Some(UserSource::Code))),
            CellRole::User | CellRole::Raw | CellRole::UserBlock | CellRole::AgentDefinition => {
                user(source)
            }
            CellRole::ToolResult => user(source),
            CellRole::CodeOutput => attachment(AttachmentKind::CodeOutput, None),
            CellRole::System => Body::System(System::default()),
            CellRole::Summary => Body::Summary(self.summary(head)),
            CellRole::CompactBoundary => Body::CompactBoundary(self.compact_boundary(head)),
            CellRole::Attachment => {
                let kind = AttachmentKind::from(head.get(MetaKey::Kind).unwrap_or_default());
                attachment(kind, head.get(MetaKey::Path).map(path_data))
            }
            CellRole::Notification => Body::Notification(Notification {
                kind: head.string(MetaKey::Kind).unwrap_or_default(),
                ..Notification::default()
            }),
            CellRole::Progress => Body::Progress(Progress {
                content: Some(Raw::string(&head.text)),
                ..Progress::default()
            }),
            CellRole::Tombstone => Body::Tombstone(Tombstone {
                target: self.message_in(head, MetaKey::Target).unwrap_or_default(),
                target_parent: self.message_in(head, MetaKey::TargetParent),
            }),
            CellRole::Reply
            | CellRole::Thinking
            | CellRole::ToolCall
            | CellRole::Block
            | CellRole::Details => Body::Assistant(Assistant::default()),
        }
    }

    /// The body of a summary, with the range that it stands for.
    fn summary(&self, head: &CellView<'_>) -> Summary {
        Summary {
            text: Text::from(&*head.text),
            from: self.message_in(head, MetaKey::From),
            to: self.message_in(head, MetaKey::To),
            count: head.parsed(MetaKey::Count),
        }
    }

    /// The body of a boundary that has a cell of its own.
    fn compact_boundary(&self, head: &CellView<'_>) -> CompactBoundary {
        CompactBoundary {
            trigger: head.get(MetaKey::Trigger).map(CompactTrigger::from),
            tokens_before: head.parsed(MetaKey::TokensBefore),
            tokens_after: head.parsed(MetaKey::TokensAfter),
            summary_id: self.message_in(head, MetaKey::SummaryId),
            kept_from: self.message_in(head, MetaKey::KeptFrom),
        }
    }

    /// The message that an attribute names: by a cell of this file, or by its own id, which may come from elsewhere.
    fn message_in(&self, head: &CellView<'_>, key: MetaKey) -> Option<MessageId> {
        let name = head.get(key)?;
        let owner = self.owners.get(name);
        let id = owner.map(|owner| self.messages[*owner].message.id.clone());
        Some(id.unwrap_or_else(|| MessageId::from(name)))
    }
}

fn user(source: Option<UserSource>) -> Body {
    Body::User(User {
        source,
        ..User::default()
    })
}

fn attachment(kind: AttachmentKind, data: Option<Raw>) -> Body {
    Body::Attachment(Attachment {
        kind,
        content: Content::Empty,
        data,
    })
}

/// Whether a person left this cell empty, and it does not say that its message is meant to be.
fn is_empty_prompt(view: &CellView<'_>) -> bool {
    !view.is_output()
        && view.text.is_empty()
        && view.get(MetaKey::Content).is_none()
        && view.role() != CellRole::Raw
}

/// Whether the text of a cell is content of its message. Some roles have none; some have content even if it is empty.
fn has_content(role: CellRole, says_nothing: bool) -> bool {
    match role {
        CellRole::CompactBoundary
        | CellRole::Tombstone
        | CellRole::Summary
        | CellRole::Progress => false,
        CellRole::ToolCall | CellRole::ToolResult | CellRole::Raw => true,
        CellRole::User
        | CellRole::Code
        | CellRole::UserBlock
        | CellRole::AgentDefinition
        | CellRole::Reply
        | CellRole::Thinking
        | CellRole::CodeOutput
        | CellRole::System
        | CellRole::Attachment
        | CellRole::Notification
        | CellRole::Block
        | CellRole::Details => !says_nothing,
    }
}
