//! The agents of a file: reading and writing `[agent]` cells, and the default agent.

use analects_core::{Agent, Body};

use super::encode::type_word;
use super::{Cell, CellKind, CellRole, Document, MetaKey, NewCell, current_branch, is_fixed_word};

/// Why no agent can have this name, as the code and the text of a problem. `None` for a valid name. Replies carry the
/// name of their agent as their type word, so it must be one.
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
    if cell.role() != CellRole::AgentDefinition {
        return None;
    }
    let number = |key| cell.get(key).and_then(|value| value.parse().ok());
    let flag = |key| cell.get(key).map(|value| value == "1" || value == "true");
    let plain = Agent::default();
    let title = cell.title();
    let temperature = cell
        .get(MetaKey::Temperature)
        .and_then(|value| value.parse().ok());
    Some(Agent {
        name: cell.get(MetaKey::Name).unwrap_or(&title).to_string(),
        models: models(cell.get(MetaKey::Models).unwrap_or(&title)),
        context_window: number(MetaKey::ContextWindow),
        max_output_tokens: number(MetaKey::MaxOutputTokens).unwrap_or(plain.max_output_tokens),
        reasoning: flag(MetaKey::Reasoning).unwrap_or(plain.reasoning),
        use_temperature: flag(MetaKey::UseTemperature).unwrap_or(plain.use_temperature),
        temperature: temperature.unwrap_or(plain.temperature),
        system_prompt: None,
    })
}

/// The models in a list with commas.
fn models(listed: &str) -> Vec<String> {
    let names = listed
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty());
    names.map(str::to_string).collect()
}

impl NewCell {
    /// A cell that defines an agent, without its system prompt, which such a cell cannot hold.
    pub fn agent(id: impl Into<String>, agent: &Agent) -> NewCell {
        let plain = Agent::default();
        let flag = |value: bool| if value { "1" } else { "0" }.to_string();
        let settings = [
            agent
                .context_window
                .map(|window| ("context_window", window.to_string())),
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
        let cell = cell
            .with("name", agent.name.as_str())
            .with("models", agent.models.join(","));
        settings
            .into_iter()
            .flatten()
            .fold(cell, |cell, (key, value)| cell.with(key, value))
    }
}

impl Document {
    /// The agent that answers unless the prompt names one: the `default_agent` of the frontmatter, else the author of the
    /// last answer on the current branch, else the first agent.
    ///
    /// ```
    /// use analects_formats::msgfile::decode;
    ///
    /// let agents = "---\nagents:\n  a: {models: [gpt-5]}\n  b: {models: [gpt-5]}\n---\n\n";
    /// let named = |rest: &str| decode(format!("{agents}{rest}")).default_agent().map(|it| it.name);
    /// assert_eq!(named("").as_deref(), Some("a"));
    /// assert_eq!(named("# %%% [^1]\n\n[^1]: [b]\n\nHello\n").as_deref(), Some("b"));
    /// ```
    pub fn default_agent(&self) -> Option<Agent> {
        self.default_agent_among(|_| true)
    }

    /// The default agent among those that can be asked, by the same rule.
    pub fn default_agent_among(&self, can_be_asked: impl Fn(&Agent) -> bool) -> Option<Agent> {
        let mut agents = self.agents();
        agents.retain(can_be_asked);
        let named = |name: &str| agents.iter().find(|agent| agent.name == name);
        let default = self.frontmatter().default_agent.as_deref().and_then(named);
        // With one agent, the messages need not be read.
        if default.is_some() || agents.len() < 2 {
            return default.or(agents.first()).cloned();
        }
        let last = authors(self).iter().find_map(|author| named(author));
        last.or(agents.first()).cloned()
    }
}

/// The authors of the answers on the current branch, the last one first.
fn authors(document: &Document) -> Vec<String> {
    let mut authors = Vec::new();
    for step in current_branch(document) {
        let is_answer = matches!(step.message.body, Body::Assistant(_));
        if !is_answer || step.cell.is_failed() {
            continue;
        }
        // An answer that is nothing but a call has `tool` as its type word.
        let author = step.message.author;
        authors.push(author.unwrap_or_else(|| step.cell.type_word().to_string()));
    }
    authors
}
