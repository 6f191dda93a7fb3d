//! A record as a message. Whatever the message does not say stays in `extra`, under the name that it has in
//! the record, so that the record could be written again.

use analects_core::{
    Assistant, Attachment, AttachmentKind, Block, Body, CompactBoundary, Content, Json, Message,
    Notification, Problem, Progress, Raw, StateChange, StopReason, Summary, System, Text,
    TokenUsage, User, UserSource,
};
use jiff::Timestamp;
use serde_json::value::RawValue;

use super::links::ChainPosition;
use super::record::{RecordFields, RecordKind, string};

/// Makes a message of a record; its name and its place are not yet in it.
pub(super) fn draft<'a>(
    kind: RecordKind,
    fields: RecordFields<'a>,
    problems: &mut Vec<Problem>,
) -> MessageBuilder<'a> {
    let message = Message::new("", Body::Progress(Progress::default()));
    let mut draft = MessageBuilder {
        kind,
        message,
        fields,
        left: None,
    };
    draft.shared();
    draft.left = match kind {
        RecordKind::User | RecordKind::Assistant | RecordKind::System | RecordKind::Summary => {
            draft.inner(problems)
        }
        RecordKind::Queued => draft.queued(problems),
        RecordKind::Boundary => draft.boundary(),
        RecordKind::Notice => draft.notice(problems),
        RecordKind::Attachment => draft.attachment(),
        RecordKind::Title => draft.title(),
        RecordKind::Beside => draft.beside(),
    };
    draft
}

/// A line that is JSON and no object.
pub(super) fn value(raw: &RawValue) -> Message {
    let progress = Progress {
        content: Some(Raw::from(raw)),
        ..Progress::default()
    };
    Message::new("", Body::Progress(progress))
}

/// The time of a record as Claude Code writes it.
pub(super) fn time_text(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// A message in the making.
pub(super) struct MessageBuilder<'a> {
    kind: RecordKind,
    pub message: Message,
    /// What the message does not say so far.
    fields: RecordFields<'a>,
    left: Remainder,
}

/// What is left of a field, to be put in its place.
type Remainder = Option<(&'static str, Raw)>;

impl<'a> MessageBuilder<'a> {
    /// Gives the message its name and its place; what that says need not be kept.
    pub(super) fn finish(mut self, id: String, session: &str, place: ChainPosition) -> Message {
        // Progress keeps its type, as all that is beside a conversation does.
        if self.kind != RecordKind::Beside {
            self.fields
                .remove_same("type", self.message.body.type_name());
        }
        self.fields.remove_same("uuid", &id);
        self.fields.remove_same("sessionId", session);
        let is_boundary = matches!(self.message.body, Body::CompactBoundary(_));
        let key = if is_boundary {
            "logicalParentUuid"
        } else {
            "parentUuid"
        };
        place
            .parent
            .iter()
            .for_each(|parent| self.fields.remove_same(key, parent));
        place
            .agent
            .iter()
            .for_each(|agent| self.fields.remove_same("agentId", agent));
        let (key, value) = self
            .left
            .map_or(("", None), |(key, value)| (key, Some(value)));
        Message {
            id: id.into(),
            parent_id: place.parent.map(Into::into),
            session_id: session.into(),
            agent_id: place.agent,
            extra: self.fields.into_map(key, value),
            ..self.message
        }
    }

    fn shared(&mut self) {
        if let Some(text) = self.fields.string("timestamp") {
            self.message.created_at = text.parse().ok();
            if self
                .message
                .created_at
                .is_some_and(|time| time_text(time) == text)
            {
                self.fields.remove("timestamp");
            }
        }
        if self.fields.is_true("isApiErrorMessage") {
            self.message.is_api_error_message = true;
            self.fields.remove("isApiErrorMessage");
        }
    }

    /// What only messages of the API have, from records of old versions.
    fn price(&mut self) {
        if let Some(raw) = self.fields.get("costUSD") {
            let cost = serde_json::from_str::<f64>(raw.get())
                .ok()
                .filter(|cost| cost.is_finite());
            self.message.cost_usd = cost;
            if cost.is_some_and(|cost| format!("{cost:?}") == raw.get()) {
                self.fields.remove("costUSD");
            }
        }
        self.message.duration_ms = self.fields.number("durationMs");
        if self.message.duration_ms.is_some() {
            self.fields.remove("durationMs");
        }
    }

    /// The record's `message`.
    fn inner(&mut self, problems: &mut Vec<Problem>) -> Remainder {
        let inner = self.fields.object("message");
        let was_object = inner.is_some();
        let mut inner = inner.unwrap_or_default();
        let raw = if was_object {
            inner.get("content")
        } else {
            self.fields.get("message")
        };
        let content = raw.and_then(|raw| content(raw, problems));
        let is_read = content.is_some();
        let content = content.unwrap_or_default();
        self.price();
        let is_kept = match self.kind {
            RecordKind::Assistant => {
                self.answer(&mut inner, problems);
                let stop_reason = inner.take_string("stop_reason").map(StopReason::from);
                self.message.body = Body::Assistant(Assistant {
                    content,
                    stop_reason,
                });
                is_read
            }
            RecordKind::System => {
                self.message.body = Body::System(System { content });
                is_read
            }
            RecordKind::Summary => {
                let (text, is_all) = summary(content);
                self.message.body = Body::Summary(Summary {
                    text,
                    ..Summary::default()
                });
                is_all && is_read
            }
            _ => {
                self.message.body = Body::User(self.user(content));
                is_read
            }
        };
        if is_kept && was_object {
            inner.remove("content");
        } else if is_kept {
            self.fields.remove("message");
        }
        was_object.then(|| ("message", inner.into_map("", None).to_raw()))
    }

    fn answer(&mut self, inner: &mut RecordFields<'a>, problems: &mut Vec<Problem>) {
        self.message.model = inner.take_string("model");
        self.message.response_id = inner.take_string("id");
        let usage = inner.get("usage").map(Raw::from);
        self.message.usage = usage.and_then(|raw| usage_of(&raw, problems)).map(Box::new);
        if self.message.usage.is_some() {
            inner.remove("usage");
        }
    }

    fn user(&self, content: Content) -> User {
        let text = first_text(&content);
        let command = text.filter(|text| text.trim_start().starts_with("<command-"));
        let tag = |name| command.and_then(|text| between(text, name));
        let origin = self
            .fields
            .object("origin")
            .and_then(|origin| origin.string("kind"));
        let is_program = self.fields.is_true("isMeta")
            || self.fields.get("sourceToolUseID").is_some()
            || origin.is_some_and(|kind| kind != "human")
            || text.is_some_and(is_written_by_program);
        User {
            source: is_program.then_some(UserSource::Program),
            command_name: tag("command-name").map(str::to_string),
            command_args: tag("command-args").map(Text::from),
            content,
            ..User::default()
        }
    }

    fn queued(&mut self, problems: &mut Vec<Problem>) -> Remainder {
        let mut attachment = self.fields.object("attachment").unwrap_or_default();
        let prompt = attachment
            .get("prompt")
            .and_then(|raw| content(raw, problems));
        if prompt.is_some() {
            attachment.remove("prompt");
        }
        self.message.body = Body::User(self.user(prompt.unwrap_or_default()));
        Some(("attachment", attachment.into_map("", None).to_raw()))
    }

    fn boundary(&mut self) -> Remainder {
        let facts = self.fields.object("compactMetadata").unwrap_or_default();
        self.message.body = Body::CompactBoundary(CompactBoundary {
            trigger: facts.string("trigger").map(|word| word.into_owned().into()),
            tokens_before: facts.number("preTokens"),
            tokens_after: facts.number("postTokens"),
            ..CompactBoundary::default()
        });
        None
    }

    fn notice(&mut self, problems: &mut Vec<Problem>) -> Remainder {
        let content = self
            .fields
            .get("content")
            .and_then(|raw| content(raw, problems));
        self.fields.remove("content");
        let kind = self
            .fields
            .take_string("subtype")
            .unwrap_or_else(|| "system".to_string());
        let content = content.unwrap_or_default();
        self.message.body = Body::Notification(Notification {
            kind,
            content,
            data: None,
        });
        None
    }

    fn attachment(&mut self) -> Remainder {
        let data = self.fields.get("attachment").map(Raw::from);
        let attachment = self.fields.object("attachment").unwrap_or_default();
        let name = attachment.string("type").unwrap_or_default();
        let texts = ["content", "prompt"]
            .iter()
            .find_map(|key| attachment.string(key));
        let content = texts.map_or(Content::Empty, |text| Content::from(text.into_owned()));
        self.fields.remove("attachment");
        let kind = attachment_kind(&name);
        self.message.body = Body::Attachment(Attachment {
            kind,
            content,
            data,
        });
        None
    }

    fn title(&mut self) -> Remainder {
        let title = ["customTitle", "aiTitle"]
            .iter()
            .find_map(|key| self.fields.string(key));
        let title = Raw::string(&title.unwrap_or_default());
        let mut changes = analects_core::RawMap::new();
        changes.push("title", title);
        let changes = changes.to_raw();
        self.message.body = Body::State(StateChange {
            changes,
            is_snapshot: false,
        });
        None
    }

    fn beside(&mut self) -> Remainder {
        let mut progress = Progress::default();
        if self.fields.string("type").as_deref() == Some("progress") {
            progress.content = self.fields.get("data").map(Raw::from);
            self.fields.remove("data");
            progress.tool_use_id = self.fields.take_string("parentToolUseID");
        }
        self.message.body = Body::Progress(progress);
        None
    }
}

/// A string or an array of blocks; `None` for anything else, which then stays where it is.
fn content(raw: &RawValue, problems: &mut Vec<Problem>) -> Option<Content> {
    if !raw.get().starts_with(['"', '[']) {
        return None;
    }
    if let Some(text) = string(raw) {
        return Some(Content::Text(Text::Plain(text.into_owned())));
    }
    Content::read(&Raw::from(raw), problems).ok()
}

/// The text of a summary, and whether that is all there was.
fn summary(content: Content) -> (Text, bool) {
    match content {
        Content::Text(text) => (text, true),
        content => (content.text().into(), false),
    }
}

/// The text with which a content begins.
fn first_text(content: &Content) -> Option<&str> {
    let text = match content {
        Content::Text(text) => text,
        Content::Blocks(blocks) => {
            let Some(Block::Text(block)) = blocks.first() else {
                return None;
            };
            &block.text
        }
        Content::Empty => return None,
    };
    match text {
        Text::Plain(text) => Some(text),
        Text::Broken(_) => None,
    }
}

/// What Claude Code puts into the mouth of a person.
fn is_written_by_program(text: &str) -> bool {
    const TAGS: [&str; 6] = [
        "<local-command-",
        "<bash-stdout>",
        "<bash-stderr>",
        "<system-reminder>",
        "<task-notification>",
        "[Request interrupted by user",
    ];
    let text = text.trim_start();
    TAGS.iter().any(|tag| text.starts_with(tag))
}

/// What stands between a tag and its end, unless there is nothing.
fn between<'t>(text: &'t str, tag: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(&format!("<{tag}>"))?;
    let (inside, _) = rest.split_once(&format!("</{tag}>"))?;
    Some(inside.trim()).filter(|inside| !inside.is_empty())
}

fn attachment_kind(name: &str) -> AttachmentKind {
    match name {
        "todo_reminder" | "task_reminder" => AttachmentKind::Reminder,
        "mcp_instructions_delta" => AttachmentKind::McpContext,
        "command_permissions" => AttachmentKind::PermissionNote,
        "hook_blocking_error" => AttachmentKind::HookBlock,
        name => name.into(),
    }
}

/// The counts of an answer. How long what was written to the cache is kept stands in an object of its own;
/// it is taken apart where that loses nothing.
pub(super) fn usage_of(raw: &Raw, problems: &mut Vec<Problem>) -> Option<TokenUsage> {
    let mut usage = TokenUsage::read(raw, problems).ok()?;
    let is_lifetimes = |(key, _): &(&Raw, &Raw)| key.as_str() == "\"cache_creation\"";
    let is_plain = usage.cache_creation_5m_tokens.is_none()
        && usage.cache_creation_1h_tokens.is_none()
        && usage.extra.iter().filter(is_lifetimes).count() == 1;
    let lifetimes = usage.extra.get("cache_creation").and_then(Raw::as_object);
    let Some(lifetimes) = lifetimes.filter(|_| is_plain) else {
        return Some(usage);
    };
    let count = |key| lifetimes.get(key).and_then(Raw::to::<u64>);
    let short = count("ephemeral_5m_input_tokens");
    let long = count("ephemeral_1h_input_tokens");
    (
        usage.cache_creation_5m_tokens,
        usage.cache_creation_1h_tokens,
    ) = (short, long);
    if lifetimes.len() == usize::from(short.is_some()) + usize::from(long.is_some()) {
        usage.extra.remove("cache_creation");
    }
    Some(usage)
}
