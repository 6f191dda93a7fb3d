//! Agents that cells define: `[agent]` cells, and how one is written.

use analects_core::Agent;

use super::encode::type_word;
use super::{Cell, CellKind, Meta, NewCell};

/// The type words of cells that a person writes.
const MESSAGE_WORDS: [&str; 4] = ["markdown", "code", "raw", "agent"];

/// The type words of cells that come back. A `block` may stand on either side.
pub(super) const OUTPUT_WORDS: [&str; 10] = [
    "tool",
    "system",
    "summary",
    "compact_boundary",
    "attachment",
    "notification",
    "progress",
    "tombstone",
    "details",
    "block",
];

/// Whether the type word of an output says that nobody speaks in it: what it holds happened beside the
/// conversation, and answers nothing.
pub(super) fn is_event(word: &str) -> bool {
    !matches!(word, "tool" | "block") && OUTPUT_WORDS.contains(&word)
}

/// Whether a type word has a meaning of its own, so that no agent can have it for a name.
pub fn is_fixed_word(word: &str) -> bool {
    MESSAGE_WORDS.contains(&word) || OUTPUT_WORDS.contains(&word)
}

/// Whether the type word of an output is the name of its author; `assistant` is nobody's name.
pub(super) fn names_author(word: &str) -> bool {
    word != "assistant" && !is_fixed_word(word)
}

/// Why no agent can have that name, if none can: a problem's code, and its text. An agent's replies
/// carry its name as their type word.
pub(super) fn why_not_a_name(name: &str) -> Option<(&'static str, String)> {
    let shown: String = name.chars().take(60).collect();
    if is_fixed_word(name) {
        let message = format!("{shown:?} is a type of cell and cannot be the name of an agent");
        return Some(("reserved-agent-name", message));
    }
    if name.trim().is_empty() {
        return Some(("bad-agent-name", "an agent must have a name".to_string()));
    }
    if name != name.trim() || type_word(name) != name {
        let message =
            format!("{shown:?} cannot be the name of an agent; leave out [ ] = and breaks");
        return Some(("bad-agent-name", message));
    }
    None
}

/// The agent that an `[agent]` cell defines.
pub(super) fn agent(cell: Cell<'_>) -> Option<Agent> {
    // Cells are many, and most need not be read for this.
    let is_agent = cell.kind() == CellKind::Message && cell.word() == "agent";
    agent_of(cell, &is_agent.then(|| cell.meta()).flatten()?)
}

/// The agent that a cell defines whose metadata has been read already.
pub(super) fn agent_of(cell: Cell<'_>, meta: &Meta) -> Option<Agent> {
    if cell.kind() != CellKind::Message || meta.type_word.as_deref() != Some("agent") {
        return None;
    }
    let number = |key: &str| meta.get(key).and_then(|value| value.parse().ok());
    let flag = |key: &str| meta.get(key).map(|value| value == "1" || value == "true");
    let (plain, title) = (Agent::default(), cell.title());
    let temperature = meta.get("temperature").and_then(|value| value.parse().ok());
    Some(Agent {
        name: meta.get("name").unwrap_or(&title).to_string(),
        models: models(meta.get("models").unwrap_or(&title)),
        context_window: number("context_window"),
        max_output_tokens: number("max_output_tokens").unwrap_or(plain.max_output_tokens),
        reasoning: flag("reasoning").unwrap_or(plain.reasoning),
        use_temperature: flag("use_temperature").unwrap_or(plain.use_temperature),
        temperature: temperature.unwrap_or(plain.temperature),
        system_prompt: None,
    })
}

fn models(listed: &str) -> Vec<String> {
    let names = listed.split(',').map(str::trim).filter(|name| !name.is_empty());
    names.map(str::to_string).collect()
}

impl NewCell {
    /// A cell that defines an agent; its system prompt has no place there.
    pub fn agent(id: impl Into<String>, agent: &Agent) -> NewCell {
        let plain = Agent::default();
        let flag = |value: bool| if value { "1" } else { "0" }.to_string();
        let settings = [
            agent.context_window.map(|window| ("context_window", window.to_string())),
            (agent.max_output_tokens != plain.max_output_tokens)
                .then(|| ("max_output_tokens", agent.max_output_tokens.to_string())),
            (agent.reasoning != plain.reasoning).then(|| ("reasoning", flag(agent.reasoning))),
            (agent.use_temperature != plain.use_temperature)
                .then(|| ("use_temperature", flag(agent.use_temperature))),
            (agent.temperature != plain.temperature)
                .then(|| ("temperature", agent.temperature.to_string())),
        ];
        let cell = NewCell {
            title: agent.name.clone(),
            ..NewCell::new(CellKind::Message, id, "agent", "")
        };
        let cell = cell.with("name", agent.name.as_str()).with("models", agent.models.join(","));
        settings.into_iter().flatten().fold(cell, |cell, (key, value)| cell.with(key, value))
    }
}
