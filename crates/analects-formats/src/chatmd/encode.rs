//! A conversation in, chat Markdown out. What the dialect cannot say is a list of losses; the rest is
//! read back exactly.

use analects_core::{Body, Content, Message, SessionId};
use jiff::tz::TimeZone;

use super::attributes::{write_attribute, write_local_time};
use super::content::text_of;
use super::line::escape;
use super::messages::{NOTE_ATTRIBUTES, TEXT, foreign_item, item_id};
use super::reduce::{ChatTarget, Reduction, note_attributes, reduce, soften, usual_shape};
use super::{ChatSessionInfo, Dialect, decode, session};
use crate::Loss;
use crate::convert::is_derived_id;
use crate::msgfile::encode::{open_fence, stored};

/// An item that is to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewChatItem {
    /// The tag's name, such as `USER`: letters only; anything else is left out of it.
    pub name: String,
    /// The attributes, in order.
    pub attributes: Vec<(String, String)>,
    /// AttributeScanner of a note-taking program, for a line below the tag.
    pub note_attributes: Vec<(String, String)>,
    /// The text, any text; pictures as HTML.
    pub text: String,
}

impl NewChatItem {
    /// An item with nothing but a text.
    pub fn new(name: &str, text: impl Into<String>) -> NewChatItem {
        let (attributes, note_attributes) = (Vec::new(), Vec::new());
        NewChatItem {
            name: name.to_string(),
            attributes,
            note_attributes,
            text: text.into(),
        }
    }

    /// Adds an attribute.
    pub fn with(mut self, key: &str, value: impl Into<String>) -> NewChatItem {
        self.attributes.push((key.to_string(), value.into()));
        self
    }

    /// The items that say a message, and what they cannot say: mostly one, none for a message that has no
    /// place, and several where results of tools become items of their own.
    #[doc(alias = "item2markdown")]
    pub fn of(message: &Message) -> (Vec<NewChatItem>, Vec<Loss>) {
        let Reduction { messages, losses } = reduce(
            std::slice::from_ref(message),
            &message.session_id,
            &ChatTarget::Ours,
        );
        let items = messages
            .iter()
            .map(|message| item(message, None, &ChatTarget::Ours))
            .collect();
        (items, losses)
    }

    /// The whole item, with `line_end` after each of its own lines.
    #[doc(alias = "formatSingleItem")]
    pub fn to_text(&self, line_end: &str) -> String {
        self.write(ItemForm {
            line_end,
            ..ItemForm::default()
        })
    }

    pub(super) fn write(&self, form: ItemForm<'_>) -> String {
        let end = form.line_end;
        let gap = if form.gap {
            format!(">{end}")
        } else {
            String::new()
        };
        let mut out = format!("> ---{end}{gap}{}{end}", self.tag(form));
        if !self.note_attributes.is_empty() {
            out.push_str("{:");
            for (key, value) in &self.note_attributes {
                write_attribute(&mut out, key, value);
            }
            out.push_str(" }");
            out.push_str(end);
        }
        if !self.text.is_empty() {
            out.push_str(end);
            out.push_str(&self.body(end, form.raw));
        }
        out
    }

    /// The tag's line, without its line end.
    pub(super) fn tag(&self, form: ItemForm<'_>) -> String {
        let letters = self.name.chars().filter(char::is_ascii_alphabetic);
        let name: String = letters.collect();
        let mut out = format!("> <{}", if name.is_empty() { "ITEM" } else { &name });
        for (key, value) in &self.attributes {
            if form.raw {
                out.push_str(&format!(" {key}=\"{value}\""));
            } else {
                write_attribute(&mut out, key, value);
            }
        }
        let words = if form.raw {
            None
        } else {
            stored_words(&self.text, form.apart)
        };
        if let Some(words) = words {
            write_attribute(&mut out, "stored", &words);
        }
        // The plugin writes no blank after attributes.
        out.push_str(if form.raw && !self.attributes.is_empty() {
            "/>"
        } else {
            " />"
        });
        out
    }

    /// The text with its line end, escaped, and with a line that closes its code block if it has to.
    pub(super) fn body(&self, line_end: &str, raw: bool) -> String {
        // A line end right after a lone `\r` would make it part of the line end.
        let after = if self.text.ends_with('\r') {
            "\r\n"
        } else {
            line_end
        };
        let mut text = format!("{}{after}", self.text);
        if raw {
            return text;
        }
        if let Some(closer) = open_fence(&self.text) {
            text.push_str(&closer);
            text.push_str(line_end);
        }
        escape(&text).into_owned()
    }
}

/// How an item is written.
#[derive(Debug, Clone, Copy)]
pub(super) struct ItemForm<'a> {
    pub(super) line_end: &'a str,
    /// Whether a code block above is still open, so that the item must say that it is none of it.
    pub(super) apart: bool,
    /// Whether a `>` line stands between separator and tag.
    pub(super) gap: bool,
    /// Whether nothing is escaped, because the plugin would not take it off again.
    pub(super) raw: bool,
}

impl Default for ItemForm<'_> {
    fn default() -> Self {
        ItemForm {
            line_end: "\n",
            apart: false,
            gap: false,
            raw: false,
        }
    }
}

/// What `stored` must say so that a text comes back.
pub(super) fn stored_words(text: &str, apart: bool) -> Option<String> {
    let exact = stored(text, open_fence(text).is_some());
    match (exact, apart) {
        (Some(words), true) => Some(format!("{words} apart")),
        (None, true) => Some("apart".to_string()),
        (words, false) => words,
    }
}

/// Writes a conversation as chat Markdown, and says what of it the dialect has no place for. Times
/// for the plugin, which knows no zones, are in UTC.
#[doc(alias = "chatHistoryToMarkdown")]
pub fn encode(
    messages: &[Message],
    session: &ChatSessionInfo,
    dialect: Dialect,
) -> (String, Vec<Loss>) {
    encode_in(messages, session, dialect, &TimeZone::UTC)
}

/// The same, with times for the plugin in `zone`.
pub fn encode_in(
    messages: &[Message],
    session: &ChatSessionInfo,
    dialect: Dialect,
    zone: &TimeZone,
) -> (String, Vec<Loss>) {
    let target = ChatTarget::of(dialect, zone);
    let mut session = session.clone();
    let session_id = named(&mut session, messages);
    let mut losses = Vec::new();
    report_sessions(messages, &session_id, &mut losses);
    let reduced = reduce(messages, &session_id, &target);
    losses.extend(reduced.losses);
    let items = reduced.messages.len();
    let mut out = match target {
        ChatTarget::Ours => session::write(&session, items > 0, &mut losses),
        _ => plugin_preamble(&session, items > 0, &mut losses),
    };
    let open = decode::scan(out.as_bytes(), 0).has_open_fence_at(out.len());
    for (at, message) in reduced.messages.iter().enumerate() {
        let implied = item_id(&session_id, at + 1);
        let item = item(message, Some(&implied), &target);
        let is_separator = matches!(message.body, Body::CompactBoundary(_));
        let raw = dialect != Dialect::Ours;
        let gap = dialect == Dialect::V2 && !is_separator;
        let apart = open && at == 0 && !raw;
        out.push_str(&item.write(ItemForm {
            line_end: "\n",
            apart,
            gap,
            raw,
        }));
        if at + 1 < items {
            out.push('\n');
        }
    }
    (out, losses)
}

/// The conversation's name, which is written if its file does not give it one anyway.
pub(super) fn named(session: &mut ChatSessionInfo, messages: &[Message]) -> SessionId {
    let own = session
        .id
        .take()
        .filter(|id| !id.is_empty())
        .map(SessionId::from);
    let first = messages.first().map(|first| first.session_id.clone());
    let is_own = own.is_some();
    let id = own.or(first).unwrap_or_default();
    let is_written = !id.is_empty() && (is_own || !is_derived_id(&id));
    session.id = is_written.then(|| id.to_string());
    id
}

/// A conversation is one session; what belongs to another changes hands.
pub(super) fn report_sessions(messages: &[Message], session: &SessionId, losses: &mut Vec<Loss>) {
    for message in messages
        .iter()
        .filter(|message| message.session_id != *session)
    {
        let why = "all items belong to the file's session";
        losses.push(Loss::of(&message.id, "session_id", why));
    }
}

/// The plugin has a place for a preamble and for nothing else that is about the whole.
fn plugin_preamble(session: &ChatSessionInfo, items: bool, losses: &mut Vec<Loss>) -> String {
    let lost = [
        ("session id", session.id.is_some()),
        ("title", session.title.is_some()),
        ("timestamp", session.timestamp.is_some()),
        ("updated", session.updated.is_some()),
        ("tags", !session.tags.is_empty()),
        ("extra", !session.extra.is_empty()),
    ];
    for (what, _) in lost.into_iter().filter(|(_, is_there)| *is_there) {
        losses.push(Loss::of_session(
            what,
            "the plugin's files have no place for it",
        ));
    }
    let Some(preamble) = &session.preamble else {
        return String::new();
    };
    let soft = soften(preamble);
    if soft != *preamble {
        let why = "the plugin cannot read it as it is; blanks or a closing line differ";
        losses.push(Loss::of_session("preamble", why));
    }
    let text = session::write_preamble(&soft, items).into_owned();
    // It must not be taken for frontmatter.
    if decode::frontmatter(text.as_bytes(), 0).is_some() {
        format!("\n{text}")
    } else {
        text
    }
}

/// The item of a message of which everything can be said. `implied` is the name that it has anyway.
fn item(message: &Message, implied: Option<&str>, target: &ChatTarget) -> NewChatItem {
    let (name, text, shape) = match &message.body {
        Body::System(body) => (
            "SYSTEM",
            text_of(&body.content),
            shape(&body.content, false),
        ),
        Body::Assistant(body) => (
            "ASSISTANT",
            text_of(&body.content),
            shape(&body.content, true),
        ),
        Body::ToolResult(body) => ("TOOL", text_of(&body.content), shape(&body.content, false)),
        Body::User(body) => ("USER", text_of(&body.content), shape(&body.content, false)),
        Body::CompactBoundary(_) => (
            "SEPERATOR",
            message.extra.string(TEXT).unwrap_or_default(),
            None,
        ),
        Body::ToolUse(_)
        | Body::Progress(_)
        | Body::Attachment(_)
        | Body::Notification(_)
        | Body::Summary(_)
        | Body::Tombstone(_)
        | Body::Revision(_)
        | Body::State(_)
        | Body::Other(_) => ("ITEM", String::new(), None),
    };
    let mut item = NewChatItem::new(name, text);
    if let Some((tag, text)) = foreign_item(message) {
        item = NewChatItem::new(&tag, text);
    }
    let is_exact = matches!(target, ChatTarget::Ours);
    let id = Some(message.id.to_string()).filter(|id| is_exact && implied != Some(id.as_str()));
    let mut known = known_attributes(message, target);
    known.extend(id.map(|id| ("id", id)));
    known.extend(
        shape
            .filter(|_| is_exact)
            .map(|shape| ("content", shape.to_string())),
    );
    let known = known
        .into_iter()
        .map(|(key, value)| (key.to_string(), value));
    item.attributes = with_extra(message, known.collect());
    let notes = message.extra.get(NOTE_ATTRIBUTES).and_then(note_attributes);
    item.note_attributes = notes.unwrap_or_default();
    item
}

fn known_attributes(message: &Message, target: &ChatTarget) -> Vec<(&'static str, String)> {
    let time = message.created_at.map(|time| match target {
        ChatTarget::Plugin(zone) => write_local_time(time, zone),
        _ => time.to_string(),
    });
    let usage = message.usage.as_ref();
    let count = |count: Option<u64>| count.map(|count| count.to_string());
    let call = match &message.body {
        Body::ToolResult(result) if !result.tool_use_id.is_empty() => {
            Some(result.tool_use_id.clone())
        }
        _ => None,
    };
    let known = [
        ("author", message.author.clone()),
        ("timestamp", time),
        ("prompt", count(usage.and_then(|usage| usage.input_tokens))),
        (
            "completion",
            count(usage.and_then(|usage| usage.output_tokens)),
        ),
        ("tool_call_id", call),
    ];
    known
        .into_iter()
        .filter_map(|(key, value)| Some((key, value?)))
        .collect()
}

/// The attributes with those of the extra fields that are some. They stand last, unless one of them has
/// the name of a known one: of a repeated key, the last counts.
fn with_extra(message: &Message, known: Vec<(String, String)>) -> Vec<(String, String)> {
    let is_text = matches!(message.body, Body::CompactBoundary(_));
    let extra = message.extra.iter().filter_map(|(key, value)| {
        let (key, value) = (key.as_string()?, value.as_string()?);
        let is_attribute = key != NOTE_ATTRIBUTES && !(is_text && key == TEXT);
        is_attribute.then_some((key, value))
    });
    let extra: Vec<(String, String)> = extra.collect();
    let repeats = extra
        .iter()
        .any(|(key, _)| known.iter().any(|(name, _)| name == key));
    let (first, last) = if repeats {
        (extra, known)
    } else {
        (known, extra)
    };
    first.into_iter().chain(last).collect()
}

/// What an item must say about the shape of its content, if a reader would not guess it.
fn shape(content: &Content, is_answer: bool) -> Option<&'static str> {
    if usual_shape(content, is_answer) == *content {
        return None;
    }
    Some(match content {
        Content::Empty => "empty",
        Content::Text(_) => "text",
        Content::Blocks(blocks) if blocks.is_empty() => "none",
        Content::Blocks(_) => "blocks",
    })
}
