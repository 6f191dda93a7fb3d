//! The system prompt and its context, and reminders. What seldom changes comes first, so that a provider's cache
//! holds it.

use analects_core::{Attachment, AttachmentKind, Body, Ids, Message};
use jiff::Timestamp;

/// A document of the project that goes into the prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectDocument {
    /// Its name, such as `AGENTS.md`.
    pub name: String,
    /// What it says.
    pub text: String,
}

/// The agent's parts of the prompt, then the project's documents, then each entry of the context as
/// `<context name="key">value</context>`. An empty part, document or context adds nothing.
///
/// ```
/// use analects_context::format_system_prompt_with_context;
///
/// let context = [("branch".to_string(), "a<b".to_string())];
/// let prompt = format_system_prompt_with_context(&["Be brief."], &[], &context);
/// assert_eq!(prompt, "Be brief.\n\n<context name=\"branch\">a&lt;b</context>");
/// ```
pub fn format_system_prompt_with_context(
    parts: &[&str],
    documents: &[ProjectDocument],
    context: &[(String, String)],
) -> String {
    let said = |text: &str| !text.trim().is_empty();
    let parts = parts
        .iter()
        .filter(|part| said(part))
        .map(|part| part.trim_end().to_string());
    let documents = documents
        .iter()
        .filter(|document| said(&document.text))
        .map(|document| {
            let (name, text) = (escaped(&document.name), defused(document.text.trim_end()));
            format!("<document name=\"{name}\">\n{text}\n</document>")
        });
    let entries = context
        .iter()
        .filter(|(_, value)| said(value))
        .map(|(key, value)| {
            format!(
                "<context name=\"{}\">{}</context>",
                escaped(key),
                escaped(value)
            )
        });
    let entries: Vec<String> = entries.collect();
    let context = (!entries.is_empty()).then(|| entries.join("\n"));
    parts
        .chain(documents)
        .chain(context)
        .collect::<Vec<_>>()
        .join("\n\n")
}

/// A value between tags, or in quotation marks.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}

/// The tags that mean something in what we send. What comes from elsewhere must not open or close them.
const TAGS: [&str; 6] = [
    "system-reminder",
    "context",
    "document",
    "conversation",
    "summary",
    "file",
];

/// A longer text that keeps its own signs, but for the beginnings of our tags.
pub(crate) fn defused(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        let (before, behind) = rest.split_at(at);
        out.push_str(before);
        let inside = behind[1..].trim_start_matches(['/', ' ', '\t']);
        let is_ours = TAGS.iter().any(|tag| {
            inside
                .get(..tag.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(tag))
        });
        out.push_str(if is_ours { "&lt;" } else { "<" });
        rest = &behind[1..];
    }
    out.push_str(rest);
    out
}

/// The most reminders that go with one call.
pub const REMINDERS: usize = 5;

/// Reminders as messages that follow `parent`, the last message of the chain, at most five. They are recorded,
/// and sent at the same place ever after; never as the user's own words. What is left over is for the next
/// call: the answer's length says how many were taken.
///
/// If the message before is the user's, and plain text, they are sent before it; else behind it.
pub fn reminders(
    texts: &[String],
    parent: &Message,
    ids: &mut dyn Ids,
    now: Timestamp,
) -> Vec<Message> {
    let mut made: Vec<Message> = Vec::new();
    for text in texts
        .iter()
        .filter(|text| !text.trim().is_empty())
        .take(REMINDERS)
    {
        let text = format!(
            "<system-reminder>\n{}\n</system-reminder>",
            defused(text.trim())
        );
        let kind = AttachmentKind::Reminder;
        let body = Attachment {
            kind,
            content: text.into(),
            data: None,
        };
        let message = Message::new("", Body::Attachment(body));
        made.push(following(made.last().unwrap_or(parent), message, ids, now));
    }
    made
}

/// A message with the name and the place of one that follows another.
pub(crate) fn following(
    before: &Message,
    message: Message,
    ids: &mut dyn Ids,
    now: Timestamp,
) -> Message {
    Message {
        id: ids.uuid(now).into(),
        parent_id: Some(before.id.clone()),
        session_id: before.session_id.clone(),
        agent_id: before.agent_id.clone(),
        created_at: Some(now),
        ..message
    }
}
