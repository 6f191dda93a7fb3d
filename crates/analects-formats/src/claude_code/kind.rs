//! What a record is for a conversation, by its `type` and a few fields more.

use super::fields::Fields;

/// What a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Something that a person or a program said, or the result of a call.
    User,
    /// A prompt that was typed while the model was at work, and reached it as an attachment.
    Queued,
    /// Something that a model said.
    Assistant,
    /// Instructions; Claude Code itself keeps none.
    System,
    /// The summary of a compaction.
    Summary,
    /// A compaction.
    Boundary,
    /// Something that the program told the person.
    Notice,
    /// Something that the program told the model.
    Attachment,
    /// What the session is called.
    Title,
    /// Anything else: progress, snapshots, queues, and types that nobody knows yet.
    Beside,
}

impl Kind {
    pub(super) fn of(fields: &Fields<'_>) -> Kind {
        let Some(name) = fields.string("type") else { return Kind::by_role(fields) };
        match &*name {
            "user" if fields.is_true("isCompactSummary") => Kind::Summary,
            "user" => Kind::User,
            "assistant" => Kind::Assistant,
            "system" => Kind::of_system(fields),
            "attachment" => Kind::of_attachment(fields),
            // Most summaries are titles of other sessions.
            "summary" if has_content(fields) => Kind::Summary,
            "ai-title" if fields.string("aiTitle").is_some() => Kind::Title,
            "custom-title" if fields.string("customTitle").is_some() => Kind::Title,
            _ => Kind::Beside,
        }
    }

    /// Records without a type are of old versions and of other programs.
    fn by_role(fields: &Fields<'_>) -> Kind {
        let role = fields.object("message").and_then(|message| message.string("role"));
        match role.as_deref() {
            Some("user") => Kind::User,
            Some("assistant") => Kind::Assistant,
            _ => Kind::Beside,
        }
    }

    fn of_system(fields: &Fields<'_>) -> Kind {
        let is_boundary = fields.string("subtype").as_deref() == Some("compact_boundary");
        match () {
            _ if is_boundary => Kind::Boundary,
            _ if has_content(fields) => Kind::System,
            _ if fields.string("content").is_some() => Kind::Notice,
            _ => Kind::Beside,
        }
    }

    fn of_attachment(fields: &Fields<'_>) -> Kind {
        let Some(attachment) = fields.object("attachment") else { return Kind::Beside };
        let is = |key, value| attachment.string(key).as_deref() == Some(value);
        let is_typed = is("commandMode", "prompt") || attachment.get("commandMode").is_none();
        let prompt = attachment.get("prompt").map(|prompt| prompt.get());
        let is_said = prompt.is_some_and(|prompt| prompt.starts_with(['"', '[']));
        match () {
            _ if is("type", "queued_command") && is_typed && is_said => Kind::Queued,
            _ => Kind::Attachment,
        }
    }
}

fn has_content(fields: &Fields<'_>) -> bool {
    fields.object("message").is_some_and(|message| message.get("content").is_some())
}
