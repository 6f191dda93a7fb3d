//! What a change of state says about a conversation, and what `extra` keeps of a message file, as single facts. A writer
//! takes the facts that it has a place for, and the others are losses.

use analects_core::{Agent, Message, Raw, RawMap};

use crate::msgfile::frontmatter::yaml::Yaml;
use crate::msgfile::messages::provenance::{
    ATTRIBUTES, CELLS, COMMENTS, DETAILS, FRONTMATTER, ID, JUNK, KEY, OUTPUT, TEXT, TITLE, TYPE,
    is_generated,
};
use crate::msgfile::{self, CellRole, MetaKey, frontmatter};

/// A fact about a conversation or a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fact {
    /// Its name in a list of losses, such as `title`.
    pub(crate) name: String,
    /// Its value, in JSON or as text.
    pub(crate) value: String,
}

impl Fact {
    /// Creates a fact.
    fn new(name: impl Into<String>, value: impl Into<String>) -> Fact {
        Fact {
            name: name.into(),
            value: value.into(),
        }
    }
}

/// Returns the facts in the changes of a state.
pub(crate) fn state_facts(changes: &Raw) -> Vec<Fact> {
    let Some(state) = changes.as_object() else {
        return vec![Fact::new("state", changes.as_str())];
    };
    let title = state.string(TITLE);
    let mut facts = Vec::new();
    for (key, value) in state.iter() {
        let name = key.as_string().unwrap_or_else(|| key.to_string());
        match (name.as_str(), value.as_object()) {
            (TITLE, _) => facts.push(Fact::new(TITLE, value.as_str())),
            ("chat", Some(chat)) => {
                let known = chat.iter();
                facts.extend(known.flat_map(|(key, value)| chat_facts(key, value)));
            }
            (KEY, Some(file)) => add_file_facts(&file, title.as_deref(), &mut facts),
            _ => facts.push(Fact::new(format!("state.{name}"), value.as_str())),
        }
    }
    facts
}

/// Returns the facts in a field of a chat's state.
fn chat_facts(key: &Raw, value: &Raw) -> Vec<Fact> {
    let name = key.as_string().unwrap_or_else(|| key.to_string());
    let extra = value.as_object().filter(|_| name == "extra");
    let Some(extra) = extra else {
        return vec![Fact::new(name, value.as_str())];
    };
    let mut facts = Vec::new();
    for (key, value) in extra.iter() {
        let name = key.as_string().unwrap_or_else(|| key.to_string());
        facts.push(Fact::new(format!("extra.{name}"), value.as_str()));
    }
    facts
}

/// Adds what a message file says as a whole. `title` is known already.
fn add_file_facts(file: &RawMap, title: Option<&str>, facts: &mut Vec<Fact>) {
    for (key, value) in file.iter() {
        let name = key.as_string().unwrap_or_default();
        match (name.as_str(), value.as_string(), value.as_array()) {
            (FRONTMATTER, Some(yaml), _) => add_frontmatter_facts(&yaml, title, facts),
            (DETAILS, Some(text), _) => facts.push(Fact::new(DETAILS, text)),
            (CELLS, _, Some(cells)) => {
                for cell in &cells {
                    add_cell_facts(&cell.as_string().unwrap_or_default(), facts);
                }
            }
            _ => facts.push(Fact::new(format!("state.{KEY}.{name}"), value.as_str())),
        }
    }
}

/// Adds what frontmatter says. The id names the conversation, and is no fact about it.
fn add_frontmatter_facts(yaml: &str, title: Option<&str>, facts: &mut Vec<Fact>) {
    let Ok(tree) = Yaml::parse(yaml) else {
        return facts.push(Fact::new("frontmatter", yaml));
    };
    let entries = tree.entries().unwrap_or_default();
    for entry in entries {
        let is_title = matches!(&entry.value, Yaml::Text(text) if Some(text.as_str()) == title);
        match entry.key.as_str() {
            "id" if matches!(entry.value, Yaml::Text(_)) => {}
            TITLE if is_title => {}
            "agents" => {
                for agent in entry.value.entries().unwrap_or_default() {
                    add_agent_facts(&agent.key, &agent.value, facts);
                }
            }
            "default_agent" => facts.push(Fact::new("default_agent", entry.value.to_string())),
            key => facts.push(Fact::new(
                format!("frontmatter {key}"),
                entry.value.to_string(),
            )),
        }
    }
    let comments = yaml.lines().filter_map(comment);
    facts.extend(comments.map(|comment| Fact::new("comment", comment)));
}

/// Returns the comment in a line of YAML.
fn comment(line: &str) -> Option<&str> {
    let start = if line.trim_start().starts_with('#') {
        line.find('#')
    } else {
        line.find(" #").map(|at| at + 1)
    };
    // A quoted `#` is part of a value, and then the value says it.
    let comment = &line[start?..];
    let is_text = comment.contains(['"', '\'']);
    (!is_text).then_some(comment)
}

/// Adds what the frontmatter says about an agent.
fn add_agent_facts(name: &str, properties: &Yaml, facts: &mut Vec<Fact>) {
    let Some(entries) = properties.entries() else {
        return facts.push(Fact::new(format!("agent {name}"), properties.to_string()));
    };
    for property in entries {
        let value = match &property.value {
            Yaml::Text(text) => text.clone(),
            value => value.to_string(),
        };
        let fact = match property.key.as_str() {
            "system_prompt" => format!("system_prompt {name}"),
            key => format!("agent {name} {key}"),
        };
        facts.push(Fact::new(fact, value));
    }
}

/// Adds what a cell without a message says.
fn add_cell_facts(text: &str, facts: &mut Vec<Fact>) {
    let document = msgfile::decode(text);
    let Some(cell) = document.cells().next() else {
        return facts.push(Fact::new("cell", text));
    };
    if cell.role() == CellRole::AgentDefinition {
        let name = cell.get(MetaKey::Name).unwrap_or_default();
        for (key, value) in cell.attributes().filter(|(key, _)| *key != "name") {
            facts.push(Fact::new(format!("agent {name} {key}"), value));
        }
        if !cell.title().is_empty() {
            facts.push(Fact::new(format!("agent {name} models"), cell.title()));
        }
        if !cell.body().is_empty() {
            facts.push(Fact::new("cell", cell.content()));
        }
    } else {
        facts.push(Fact::new(format!("cell {}", cell.name()), text));
    }
}

/// Returns the facts that `extra` keeps of the cells of a message.
pub(crate) fn cell_facts(kept: &Raw) -> Vec<Fact> {
    let Some(cells) = kept.as_array() else {
        return vec![Fact::new(format!("extra.{KEY}"), kept.as_str())];
    };
    let mut facts = Vec::new();
    for cell in cells {
        let Some(entry) = cell.as_object() else {
            facts.push(Fact::new(format!("extra.{KEY}"), cell.as_str()));
            continue;
        };
        for (key, value) in entry.iter() {
            add_entry_facts(&key.as_string().unwrap_or_default(), value, &mut facts);
        }
    }
    facts
}

/// Returns the titles that `extra` keeps of the cells of a message.
pub(crate) fn cell_titles(message: &Message) -> Vec<String> {
    let Some(kept) = message.extra.get(KEY) else {
        return Vec::new();
    };
    let facts = cell_facts(kept).into_iter();
    facts
        .filter(|fact| fact.name == TITLE)
        .map(|fact| fact.value)
        .collect()
}

/// Adds the facts in one field of what is kept of a cell.
fn add_entry_facts(name: &str, value: &Raw, facts: &mut Vec<Fact>) {
    let text = value.as_string().unwrap_or_default();
    match name {
        // Numbers are made up, and say no more than the order.
        ID if is_generated(&text) => {
            if text.contains('.') {
                facts.push(Fact::new("link", text));
            }
        }
        ID => facts.push(Fact::new("cell_id", text)),
        TITLE | TEXT | OUTPUT => facts.push(Fact::new(name, text)),
        TYPE => facts.push(Fact::new("type_word", text)),
        ATTRIBUTES => {
            for (key, value) in value.as_object().unwrap_or_default().iter() {
                let key = key.as_string().unwrap_or_default();
                let name = match MetaKey::of(&key) {
                    Some(known) => known.as_str().to_string(),
                    None => format!("attribute {key}"),
                };
                facts.push(Fact::new(name, value.as_str()));
            }
        }
        JUNK => facts.push(Fact::new("attribute", value.as_str())),
        COMMENTS => facts.push(Fact::new("comment", value.as_str())),
        _ => facts.push(Fact::new(format!("extra.{KEY}.{name}"), value.as_str())),
    }
}

/// Returns the agent that answers in a conversation whose state changes like this: the default one, or else the one that
/// answered last, or else the first.
pub(crate) fn answering_agent(changes: &Raw, last_author: Option<&str>) -> Option<Agent> {
    let file = changes.as_object()?.get(KEY)?.as_object()?;
    let yaml = file.string(FRONTMATTER)?;
    let front = frontmatter::read(&yaml);
    let named = |name: &str| front.agents.iter().find(|agent| agent.name == name);
    let default = front.default_agent.as_deref().and_then(named);
    let answering = default.or_else(|| last_author.and_then(named));
    answering.or(front.agents.first()).cloned()
}
