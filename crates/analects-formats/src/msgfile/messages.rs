//! Cells and messages: how the cells of a file become a conversation, and how an answer becomes a
//! cell.

use analects_core::{
    Agent, Assistant, Body, Content, History, Message, MessageId, Other, Problem, Raw, RawMap,
    SessionId, StopReason, TokenUsage, User, UserSource,
};
use uuid::Uuid;

use super::{Cell, CellKind, Document, NewCell};
use crate::Decoded;

/// The type words that are no agent's name.
const FIXED_WORDS: [&str; 10] = [
    "tool",
    "system",
    "summary",
    "compact_boundary",
    "attachment",
    "notification",
    "progress",
    "tombstone",
    "block",
    "residue",
];

/// The conversation that a file of that name holds.
pub fn session_of(name: &str) -> SessionId {
    Uuid::new_v5(&Uuid::NAMESPACE_URL, name.as_bytes()).to_string().into()
}

/// The messages of a document: each follows the one before it, unless `parent=` says otherwise.
pub fn messages(document: &Document, session: &SessionId) -> Decoded {
    let mut decoded = Decoded::default();
    let mut names: Vec<(String, MessageId)> = Vec::new();
    for cell in &document.cells {
        let Some(mut message) = message(document, cell, &mut decoded.problems) else {
            continue;
        };
        message.session_id = session.clone();
        message.id = id_of(cell, session);
        message.parent_id = match cell.attribute("parent") {
            Some(name) => names.iter().find(|(cell, _)| cell == name).map(|(_, id)| id.clone()),
            None => decoded.messages.last().map(|last| last.id.clone()),
        };
        names.push((cell.name(), message.id.clone()));
        decoded.messages.push(message);
    }
    decoded
}

fn id_of(cell: &Cell, session: &SessionId) -> MessageId {
    let derived = || {
        let session = Uuid::new_v5(&Uuid::NAMESPACE_URL, session.as_bytes());
        Uuid::new_v5(&session, cell.name().as_bytes()).to_string()
    };
    cell.attribute("uuid").map_or_else(derived, str::to_string).into()
}

fn message(document: &Document, cell: &Cell, problems: &mut Vec<Problem>) -> Option<Message> {
    let text = document.content(cell);
    let body = match (cell.kind, cell.type_word()) {
        (CellKind::Message, "agent") => return None,
        (CellKind::Message, _) if text.is_empty() => return None,
        (CellKind::Message, word) => user(word, text),
        (CellKind::Output, word) if is_reply(cell) => reply(cell, word, text),
        (CellKind::Output, word) => {
            let what = format!("a cell of type {word} is kept, and not sent to the model yet");
            let problem = Problem::warning("unsupported-cell", what);
            problems.push(problem.at(cell.head, document.lines()));
            return Some(unsupported(word, &text));
        }
    };
    let mut message = Message::new("", body);
    message.history = cell.attribute("history").and_then(History::parse).unwrap_or_default();
    message.created_at = cell.attribute("time").and_then(|time| time.parse().ok());
    if cell.kind == CellKind::Output {
        read_figures(cell, &mut message);
    }
    Some(message)
}

/// Whether an output cell is something that an agent said. Code output has the id of a cell, a dot
/// and a number.
fn is_reply(cell: &Cell) -> bool {
    !FIXED_WORDS.contains(&cell.type_word()) && !cell.id.as_deref().unwrap_or("").contains('.')
}

fn user(word: &str, text: String) -> Body {
    let source = (word == "code").then_some(UserSource::Code);
    Body::User(User { content: text.into(), source, ..User::default() })
}

fn reply(cell: &Cell, _word: &str, text: String) -> Body {
    let interrupted = cell.attribute("status") == Some("streaming");
    let stop_reason = match cell.attribute("stop_reason") {
        Some(reason) => Some(StopReason::from(reason)),
        None => interrupted.then_some(StopReason::Interrupted),
    };
    Body::Assistant(Assistant { content: Content::from(text), stop_reason })
}

fn unsupported(word: &str, text: &str) -> Message {
    let body = Body::Other(Other { type_name: Some(word.to_string()) });
    let mut unknown = RawMap::new();
    unknown.push("content", Raw::string(text));
    Message { unknown, ..Message::new("", body) }
}

fn read_figures(cell: &Cell, message: &mut Message) {
    let number = |key: &str| cell.attribute(key).and_then(|value| value.parse().ok());
    let usage = TokenUsage {
        input_tokens: number("input_tokens"),
        output_tokens: number("output_tokens"),
        ..TokenUsage::default()
    };
    message.author = Some(cell.type_word().to_string());
    message.model = cell.attribute("model").map(str::to_string);
    message.response_id = cell.attribute("response_id").map(str::to_string);
    message.cost_usd = cell.attribute("cost_usd").and_then(|value| value.parse().ok());
    message.duration_ms = cell.attribute("duration").and_then(milliseconds);
    message.usage = (!usage.is_empty()).then_some(usage);
    message.is_api_error_message = cell.is_failed();
}

fn milliseconds(duration: &str) -> Option<u64> {
    let seconds: f64 = duration.strip_suffix('s')?.parse().ok()?;
    (seconds >= 0.0).then(|| (seconds * 1000.0).round() as u64)
}

impl NewCell {
    /// Notes on a reply what is known about the answer: its time, model, tokens and how it ended.
    pub fn describe(mut self, message: &Message) -> NewCell {
        let usage = message.usage.clone().unwrap_or_default();
        let stop_reason = match &message.body {
            Body::Assistant(body) => body.stop_reason.as_ref().filter(|reason| is_unusual(reason)),
            _ => None,
        };
        let known = [
            ("time", message.created_at.map(|time| time.to_string())),
            ("model", message.model.clone()),
            ("input_tokens", usage.input_tokens.map(|count| count.to_string())),
            ("output_tokens", usage.output_tokens.map(|count| count.to_string())),
            ("cost_usd", message.cost_usd.map(|cost| cost.to_string())),
            ("duration", message.duration_ms.map(|ms| format!("{}s", ms as f64 / 1000.0))),
            ("response_id", message.response_id.clone()),
            ("stop_reason", stop_reason.map(|reason| reason.as_str().to_string())),
            ("error", message.is_api_error_message.then(|| "1".to_string())),
        ];
        for (key, value) in known {
            self.attributes.extend(value.map(|value| (key.to_string(), value)));
        }
        self
    }
}

fn is_unusual(reason: &StopReason) -> bool {
    !matches!(reason, StopReason::EndTurn | StopReason::ToolUse)
}

/// The agent that an `[agent]` cell defines.
pub(super) fn agent(cell: &Cell) -> Option<Agent> {
    if cell.kind != CellKind::Message || cell.type_word() != "agent" {
        return None;
    }
    let number = |key: &str| cell.attribute(key).and_then(|value| value.parse().ok());
    let flag = |key: &str| cell.attribute(key).map(|value| value == "1" || value == "true");
    let plain = Agent::default();
    Some(Agent {
        name: cell.attribute("name").unwrap_or(&cell.title).to_string(),
        models: models(cell),
        context_window: number("context_window").unwrap_or(plain.context_window),
        max_output_tokens: number("max_output_tokens").unwrap_or(plain.max_output_tokens),
        reasoning: flag("reasoning").unwrap_or(plain.reasoning),
        use_temperature: flag("use_temperature").unwrap_or(plain.use_temperature),
        temperature: cell
            .attribute("temperature")
            .and_then(|value| value.parse().ok())
            .unwrap_or(plain.temperature),
        system_prompt: None,
    })
}

fn models(cell: &Cell) -> Vec<String> {
    let listed = cell.attribute("models").unwrap_or(&cell.title);
    let names = listed.split(',').map(str::trim).filter(|name| !name.is_empty());
    names.map(str::to_string).collect()
}
