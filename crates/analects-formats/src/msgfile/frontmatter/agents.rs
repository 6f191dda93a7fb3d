//! The agents that frontmatter defines: `agents:`, a map of names to properties.

use super::super::agents::why_not_a_name;
use analects_core::{Agent, Severity, nearest};

use super::Reader;
use super::yaml::{Entry, Yaml, shortened};

impl Reader {
    /// The agents of `agents:`; those whose names cannot be used are left out.
    pub(super) fn agents(&mut self, entry: &Entry) -> Vec<Agent> {
        let Some(entries) = entry.value.entries() else {
            self.wrong_type(entry, "a map of names to properties");
            return Vec::new();
        };
        entries.iter().filter_map(|entry| self.agent(entry)).collect()
    }

    /// One agent. Properties that cannot be read keep their defaults.
    pub(super) fn agent(&mut self, entry: &Entry) -> Option<Agent> {
        if let Some((code, message)) = why_not_a_name(&entry.key) {
            self.report(code, Severity::Error, entry.at, message);
            return None;
        }
        let mut agent = Agent { name: entry.key.clone(), ..Agent::default() };
        let Some(properties) = entry.value.entries() else {
            let (name, value) = (shortened(&entry.key), &entry.value);
            let message = format!("agent {name:?} must be a map of properties, not {value}");
            self.report("frontmatter-type", Severity::Error, entry.at, message).hint =
                Some(format!("{name}: {{ models: [MODEL] }}"));
            return Some(agent);
        };
        for property in properties {
            self.property(&mut agent, property);
        }
        if agent.models.is_empty() {
            let message = format!("agent {:?} names no models", shortened(&entry.key));
            self.report("agent-without-models", Severity::Hint, entry.at, message).hint =
                Some("models: [MODEL]".to_string());
        }
        Some(agent)
    }

    fn property(&mut self, agent: &mut Agent, entry: &Entry) {
        // A key without a value says nothing.
        if entry.value == Yaml::Null && Agent::PROPERTIES.contains(&entry.key.as_str()) {
            return;
        }
        match entry.key.as_str() {
            "models" => set(&mut agent.models, self.models(entry)),
            "context_window" => agent.context_window = self.count(entry),
            "max_output_tokens" => set(&mut agent.max_output_tokens, self.count(entry)),
            "reasoning" => set(&mut agent.reasoning, self.truth(entry)),
            "use_temperature" => set(&mut agent.use_temperature, self.truth(entry)),
            "temperature" => set(&mut agent.temperature, self.number(entry)),
            "system_prompt" => agent.system_prompt = self.text(entry),
            _ => self.unknown_key(entry),
        }
    }

    fn models(&mut self, entry: &Entry) -> Option<Vec<String>> {
        let as_text = |item: &Yaml| match item {
            Yaml::Text(text) if !text.trim().is_empty() => Some(text.clone()),
            _ => None,
        };
        let models = match &entry.value {
            Yaml::List(items) => items.iter().map(as_text).collect(),
            one => as_text(one).map(|model| vec![model]),
        };
        if models.is_none() {
            self.wrong_type(entry, "a list of names");
        }
        models
    }

    fn count(&mut self, entry: &Entry) -> Option<u64> {
        let count = match entry.value {
            Yaml::Int(number) => u64::try_from(number).ok(),
            _ => None,
        };
        if count.is_none() {
            self.wrong_type(entry, "a whole number");
        }
        count
    }

    fn truth(&mut self, entry: &Entry) -> Option<bool> {
        if let Yaml::Bool(value) = entry.value {
            return Some(value);
        }
        self.wrong_type(entry, "true or false");
        None
    }

    fn number(&mut self, entry: &Entry) -> Option<f64> {
        match entry.value {
            Yaml::Float(number) => Some(number),
            Yaml::Int(number) => Some(number as f64),
            _ => {
                self.wrong_type(entry, "a number");
                None
            }
        }
    }

    fn unknown_key(&mut self, entry: &Entry) {
        let message = format!("unknown agent property {:?}", shortened(&entry.key));
        let hint = match nearest(&entry.key, Agent::PROPERTIES) {
            Some(known) => format!("did you mean {known}?"),
            None => format!("expected one of {}", Agent::PROPERTIES.join(", ")),
        };
        self.report("unknown-agent-key", Severity::Hint, entry.at, message).hint = Some(hint);
    }
}

fn set<T>(property: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *property = value;
    }
}
