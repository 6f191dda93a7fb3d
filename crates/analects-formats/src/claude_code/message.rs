//! Builds a message from a record. What the message does not say stays in `extra`, under the record's field names, so
//! that the record could be written again.

use analects_core::{
    Assistant, Attachment, AttachmentKind, Block, Body, CompactBoundary, Content, Json, Message,
    Notification, Problem, Progress, Raw, RawMap, StateChange, StopReason, Summary, System, Text,
    TokenUsage, User, UserSource,
};
use jiff::Timestamp;
use serde_json::value::RawValue;

use super::links::ChainPosition;
use super::record::{RecordFields, RecordKind, string};

/// Builds a message for JSON that is not an object.
pub(super) fn message_of_value(raw: &RawValue) -> Message {
    let progress = Progress {
        content: Some(Raw::from(raw)),
        ..Progress::default()
    };
    Message::new("", Body::Progress(progress))
}

/// Formats a time as Claude Code does.
pub(super) fn time_text(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// A message that still lacks its id and its position.
pub(super) struct RecordConverter<'a> {
    kind: RecordKind,
    /// The message so far. Its id, parent and session are empty.
    pub message: Message,
    /// The fields of the record that the message does not say.
    fields: RecordFields<'a>,
    /// What is left of a field whose value was taken apart.
    remainder: Option<Remainder>,
}

/// A field of the record, and the part of its value that the message does not say.
struct Remainder {
    key: &'static str,
    value: Raw,
}

impl<'a> RecordConverter<'a> {
    /// Reads all fields of a record except for its ids and links. Unreadable values are problems.
    pub(super) fn new(
        kind: RecordKind,
        fields: RecordFields<'a>,
        problems: &mut Vec<Problem>,
    ) -> RecordConverter<'a> {
        let mut converter = RecordConverter {
            kind,
            message: Message::new("", Body::Progress(Progress::default())),
            fields,
            remainder: None,
        };
        converter.read_common_fields();
        match kind {
            RecordKind::User | RecordKind::Assistant | RecordKind::System | RecordKind::Summary => {
                converter.read_inner_message(problems);
            }
            RecordKind::Queued => converter.read_queued_prompt(problems),
            RecordKind::Boundary => converter.read_boundary(),
            RecordKind::Notice => converter.read_notice(problems),
            RecordKind::Attachment => converter.read_attachment(),
            RecordKind::Title => converter.read_title(),
            RecordKind::SubAgent | RecordKind::Beside => converter.read_progress(),
        }
        converter
    }

    /// Adds the id and the position, and drops the fields that say the same.
    pub(super) fn finish(mut self, id: String, session: &str, position: ChainPosition) -> Message {
        // A record outside of the conversation keeps its type, since it becomes progress.
        if self.kind != RecordKind::Beside {
            self.fields
                .remove_same("type", self.message.body.type_name());
        }
        self.fields.remove_same("uuid", &id);
        self.fields.remove_same("sessionId", session);
        let parent_key = match self.message.body {
            Body::CompactBoundary(_) => "logicalParentUuid",
            _ => "parentUuid",
        };
        if let Some(parent) = &position.parent {
            self.fields.remove_same(parent_key, parent);
        }
        if let Some(agent) = &position.agent {
            self.fields.remove_same("agentId", agent);
        }
        let extra = match self.remainder {
            Some(Remainder { key, value }) => self.fields.into_map_with(key, value),
            None => self.fields.into_map(),
        };
        Message {
            id: id.into(),
            parent_id: position.parent.map(Into::into),
            session_id: session.into(),
            agent_id: position.agent,
            extra,
            ..self.message
        }
    }

    /// Reads what records of all kinds may have.
    fn read_common_fields(&mut self) {
        if let Some(text) = self.fields.string("timestamp") {
            let time = text.parse().ok();
            self.message.created_at = time;
            if time.is_some_and(|time| time_text(time) == text) {
                self.fields.remove("timestamp");
            }
        }
        if self.fields.is_true("isApiErrorMessage") {
            self.message.is_api_error_message = true;
            self.fields.remove("isApiErrorMessage");
        }
    }

    /// Reads the cost and the duration, which old versions noted.
    fn read_cost(&mut self) {
        if let Some(raw) = self.fields.get("costUSD") {
            let cost: Option<f64> = serde_json::from_str(raw.get()).ok();
            let cost = cost.filter(|cost| cost.is_finite());
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

    /// Reads the record's `message`: an object of the API, or, in old versions, its content alone.
    fn read_inner_message(&mut self, problems: &mut Vec<Problem>) {
        self.read_cost();
        let Some(mut inner) = self.fields.object("message") else {
            let content = self.fields.get("message");
            let content = content.and_then(|raw| read_content(raw, problems));
            if self.set_body(content, &mut RecordFields::default(), problems) {
                self.fields.remove("message");
            }
            return;
        };
        let content = inner.get("content");
        let content = content.and_then(|raw| read_content(raw, problems));
        if self.set_body(content, &mut inner, problems) {
            inner.remove("content");
        }
        self.set_remainder("message", inner);
    }

    /// Sets the body to this content. Returns whether the body says all of it.
    fn set_body(
        &mut self,
        content: Option<Content>,
        inner: &mut RecordFields<'a>,
        problems: &mut Vec<Problem>,
    ) -> bool {
        let is_read = content.is_some();
        let content = content.unwrap_or_default();
        match self.kind {
            RecordKind::Assistant => self.read_answer(content, inner, problems),
            RecordKind::System => self.message.body = Body::System(System { content }),
            RecordKind::Summary => {
                let is_plain = matches!(content, Content::Text(_));
                let text = match content {
                    Content::Text(text) => text,
                    content => content.text().into(),
                };
                self.message.body = Body::Summary(Summary {
                    text,
                    ..Summary::default()
                });
                return is_plain && is_read;
            }
            _ => self.message.body = Body::User(self.user(content)),
        }
        is_read
    }

    /// Reads what only answers have: model, response id, usage and stop reason.
    fn read_answer(
        &mut self,
        content: Content,
        inner: &mut RecordFields<'a>,
        problems: &mut Vec<Problem>,
    ) {
        self.message.model = inner.take_string("model");
        self.message.response_id = inner.take_string("id");
        if let Some(raw) = inner.get("usage") {
            let usage = read_usage(&Raw::from(raw), problems);
            self.message.usage = usage.map(Box::new);
        }
        if self.message.usage.is_some() {
            inner.remove("usage");
        }
        let stop_reason = inner.take_string("stop_reason").map(StopReason::from);
        self.message.body = Body::Assistant(Assistant {
            content,
            stop_reason,
        });
    }

    /// Builds the body of a user's message, and finds out whether the program wrote it.
    fn user(&self, content: Content) -> User {
        let text = first_text(&content);
        let is_program = self.is_by_program() || text.is_some_and(is_written_by_program);
        let command = text.filter(|text| text.trim_start().starts_with("<command-"));
        let name = command.and_then(|text| text_in_tag(text, "command-name"));
        let args = command.and_then(|text| text_in_tag(text, "command-args"));
        User {
            source: is_program.then_some(UserSource::Program),
            command_name: name.map(str::to_string),
            command_args: args.map(Text::from),
            content,
            ..User::default()
        }
    }

    /// Returns whether the record says that the program wrote it.
    fn is_by_program(&self) -> bool {
        if self.fields.is_true("isMeta") || self.fields.get("sourceToolUseID").is_some() {
            return true;
        }
        let origin = self.fields.object("origin");
        let kind = origin.and_then(|origin| origin.string("kind"));
        kind.is_some_and(|kind| kind != "human")
    }

    /// Reads a prompt that reached the model as an attachment.
    fn read_queued_prompt(&mut self, problems: &mut Vec<Problem>) {
        let mut attachment = self.fields.object("attachment").unwrap_or_default();
        let prompt = attachment.get("prompt");
        let prompt = prompt.and_then(|raw| read_content(raw, problems));
        if prompt.is_some() {
            attachment.remove("prompt");
        }
        self.message.body = Body::User(self.user(prompt.unwrap_or_default()));
        self.set_remainder("attachment", attachment);
    }

    /// Reads the facts about a compaction. They also stay in `extra`, since not all of them have a field.
    fn read_boundary(&mut self) {
        let facts = self.fields.object("compactMetadata").unwrap_or_default();
        let trigger = facts.string("trigger");
        self.message.body = Body::CompactBoundary(CompactBoundary {
            trigger: trigger.map(|word| word.into_owned().into()),
            tokens_before: facts.number("preTokens"),
            tokens_after: facts.number("postTokens"),
            ..CompactBoundary::default()
        });
    }

    /// Reads a message of the program to the person. Its subtype becomes the kind.
    fn read_notice(&mut self, problems: &mut Vec<Problem>) {
        let content = self.fields.get("content");
        let content = content.and_then(|raw| read_content(raw, problems));
        self.fields.remove("content");
        let kind = self.fields.take_string("subtype");
        self.message.body = Body::Notification(Notification {
            kind: kind.unwrap_or_else(|| "system".to_string()),
            content: content.unwrap_or_default(),
            data: None,
        });
    }

    /// Reads a message of the program to the model. All of it stays in `data`.
    fn read_attachment(&mut self) {
        let data = self.fields.get("attachment").map(Raw::from);
        let attachment = self.fields.object("attachment").unwrap_or_default();
        let name = attachment.string("type").unwrap_or_default();
        let text = attachment
            .string("content")
            .or_else(|| attachment.string("prompt"));
        self.fields.remove("attachment");
        self.message.body = Body::Attachment(Attachment {
            kind: attachment_kind(&name),
            content: text.map_or(Content::Empty, |text| Content::from(text.into_owned())),
            data,
        });
    }

    /// Reads a title as a change of state. A title by the user comes before a generated one.
    fn read_title(&mut self) {
        let custom = self.fields.string("customTitle");
        let title = custom.or_else(|| self.fields.string("aiTitle"));
        let mut changes = RawMap::new();
        changes.push("title", Raw::string(&title.unwrap_or_default()));
        self.message.body = Body::State(StateChange {
            changes: changes.to_raw(),
            is_snapshot: false,
        });
    }

    /// Reads a record outside of the conversation.
    fn read_progress(&mut self) {
        let mut progress = Progress::default();
        if self.fields.string("type").as_deref() == Some("progress") {
            progress.content = self.fields.get("data").map(Raw::from);
            self.fields.remove("data");
            progress.tool_use_id = self.fields.take_string("parentToolUseID");
        }
        self.message.body = Body::Progress(progress);
    }

    /// Keeps what is left of an object under its key.
    fn set_remainder(&mut self, key: &'static str, fields: RecordFields<'a>) {
        let value = fields.into_map().to_raw();
        self.remainder = Some(Remainder { key, value });
    }
}

/// Reads a string or an array of blocks; `None` for anything else, which then stays in `extra`.
fn read_content(raw: &RawValue, problems: &mut Vec<Problem>) -> Option<Content> {
    if !raw.get().starts_with(['"', '[']) {
        return None;
    }
    if let Some(text) = string(raw) {
        return Some(Content::Text(Text::Plain(text.into_owned())));
    }
    Content::read(&Raw::from(raw), problems).ok()
}

/// Returns the text that a content begins with; `None` if it begins with another block, or if the text is not Unicode.
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

/// Returns whether Claude Code wrote a text in the user's name.
fn is_written_by_program(text: &str) -> bool {
    /// The starts of texts that people do not type.
    const STARTS: [&str; 6] = [
        "<local-command-",
        "<bash-stdout>",
        "<bash-stderr>",
        "<system-reminder>",
        "<task-notification>",
        "[Request interrupted by user",
    ];
    let text = text.trim_start();
    STARTS.iter().any(|start| text.starts_with(start))
}

/// Returns the text between a tag and its end tag, unless it is empty.
fn text_in_tag<'t>(text: &'t str, tag: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(&format!("<{tag}>"))?;
    let (inside, _) = rest.split_once(&format!("</{tag}>"))?;
    Some(inside.trim()).filter(|inside| !inside.is_empty())
}

/// Returns the kind for a type of Claude Code. Other types keep their names.
fn attachment_kind(name: &str) -> AttachmentKind {
    match name {
        "todo_reminder" | "task_reminder" => AttachmentKind::Reminder,
        "mcp_instructions_delta" => AttachmentKind::McpContext,
        "command_permissions" => AttachmentKind::PermissionNote,
        "hook_blocking_error" => AttachmentKind::HookBlock,
        name => name.into(),
    }
}

/// Reads the token counts of an answer. The counts per lifetime of the cache are in an object of their own, which is
/// taken apart only if nothing gets lost.
fn read_usage(raw: &Raw, problems: &mut Vec<Problem>) -> Option<TokenUsage> {
    let mut usage = TokenUsage::read(raw, problems).ok()?;
    let Some(lifetimes) = cache_lifetimes(&usage) else {
        return Some(usage);
    };
    let count = |key| lifetimes.get(key).and_then(Raw::to::<u64>);
    let short = count("ephemeral_5m_input_tokens");
    let long = count("ephemeral_1h_input_tokens");
    usage.cache_creation_5m_tokens = short;
    usage.cache_creation_1h_tokens = long;
    if lifetimes.len() == usize::from(short.is_some()) + usize::from(long.is_some()) {
        usage.extra.remove("cache_creation");
    }
    Some(usage)
}

/// Returns the object with the counts per lifetime, unless it is repeated or the counts are there already.
fn cache_lifetimes(usage: &TokenUsage) -> Option<RawMap> {
    if usage.cache_creation_5m_tokens.is_some() || usage.cache_creation_1h_tokens.is_some() {
        return None;
    }
    let keys = usage.extra.iter().map(|(key, _)| key.as_str());
    let is_single = keys.filter(|key| *key == "\"cache_creation\"").count() == 1;
    let lifetimes = usage.extra.get("cache_creation")?;
    lifetimes.as_object().filter(|_| is_single)
}
