//! Keys that people type in the wrong place or by another name, each with the right one. Analects reads none of them.

use analects_core::{Agent, nearest};

use super::yaml::{Yaml, YamlEntry, shortened};

/// Other names for the properties of an agent, as other tools and APIs have them.
const OTHER_NAMES: [(&str, &str); 17] = [
    ("model", "models"),
    ("system", "system_prompt"),
    ("system_message", "system_prompt"),
    ("prompt", "system_prompt"),
    ("instructions", "system_prompt"),
    ("max_tokens", "max_output_tokens"),
    ("max_completion_tokens", "max_output_tokens"),
    ("num_predict", "max_output_tokens"),
    ("window", "context_window"),
    ("context_length", "context_window"),
    ("max_context", "context_window"),
    ("num_ctx", "context_window"),
    ("thinking", "reasoning"),
    ("effort", "reasoning"),
    ("reasoning_effort", "reasoning"),
    ("temp", "temperature"),
    ("provider", "models"),
];

/// What people try to set in a file and what no file can set.
const NOT_IN_A_FILE: [&str; 7] = [
    "api_key", "key", "token", "base_url", "api_base", "url", "endpoint",
];

/// The top-level keys that are too long to be a key of the author's by chance.
const LONG_KEYS: [&str; 2] = ["message_section", "default_agent"];

/// The property of an agent that a key means: its own name, or a name that other tools have for it.
pub(crate) fn property_meant(key: &str) -> Option<&'static str> {
    let name = normal(key);
    let mut properties = Agent::PROPERTIES.into_iter();
    properties.find(|property| *property == name).or_else(|| {
        let mut others = OTHER_NAMES.iter();
        others
            .find(|(other, _)| *other == name)
            .map(|(_, property)| *property)
    })
}

/// What to type instead of an unknown property of an agent.
pub(super) fn instead_of_property(key: &str) -> String {
    if NOT_IN_A_FILE.contains(&&*normal(key)) {
        return "a file cannot set keys and addresses; set them in your environment or configuration"
            .to_string();
    }
    let meant = property_meant(key).or_else(|| nearest(key, Agent::PROPERTIES));
    match meant {
        Some("models") if normal(key) == "provider" => {
            "put it before the name of the model: models: [PROVIDER/NAME]".to_string()
        }
        Some(known) => format!("did you mean {known}?"),
        None => format!("expected one of {}", Agent::PROPERTIES.join(", ")),
    }
}

/// Why a key at the top level has no effect, and what to type instead. `None` for the author's own keys.
pub(super) fn misplaced(entry: &YamlEntry) -> Option<(String, String)> {
    let name = normal(&entry.key);
    let key = shortened(&entry.key);
    if name == "agent" {
        let meant = if matches!(entry.value, Yaml::Map(_)) {
            "agents"
        } else {
            "default_agent"
        };
        let hint = format!("did you mean {meant}?");
        return Some((format!("{key} has no effect"), hint));
    }
    if let Some(property) = property_of_an_agent(&name) {
        let value = if property == "models" {
            "[MODEL]"
        } else {
            "VALUE"
        };
        let text = format!("{key} has no effect outside of an agent");
        let hint = format!("set it for an agent: agents: {{ NAME: {{ {property}: {value} }} }}");
        return Some((text, hint));
    }
    let meant = nearest(&entry.key, LONG_KEYS)?;
    Some((
        format!("{key} has no effect"),
        format!("did you mean {meant}?"),
    ))
}

/// The property that a key at the top level means. Words that an author may well use for something else do not count.
fn property_of_an_agent(name: &str) -> Option<&'static str> {
    let is_common_word = [
        "system",
        "prompt",
        "instructions",
        "window",
        "effort",
        "thinking",
        "temp",
        "provider",
    ]
    .contains(&name);
    property_meant(name).filter(|_| !is_common_word)
}

/// A key as we would write it: `maxTokens` and `max-tokens` are `max_tokens`.
fn normal(key: &str) -> String {
    let mut name = String::with_capacity(key.len());
    let mut was_lower = false;
    for c in key.chars() {
        if c.is_ascii_uppercase() && was_lower {
            name.push('_');
        }
        was_lower = c.is_ascii_lowercase();
        name.push(match c {
            '-' | ' ' => '_',
            c => c.to_ascii_lowercase(),
        });
    }
    name
}
