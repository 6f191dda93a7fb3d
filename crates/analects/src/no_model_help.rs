//! The error for a call that names no model: it lists the ways to name one, starting with the keys that are set.
//!
//! This is what a new user sees first, so it looks at the machine: which keys are set, and whether an Ollama runs.
//! Every line can be typed as it is.

use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use analects_client::ProviderSettings;
use analects_local::models_at;
use analects_providers::{Vendor, vendor, vendors};

use crate::failure::Failure;
use crate::hints::{Advice, Interface};

/// How long to wait for an Ollama on this machine.
/// Enough for a server on the same machine, and too short to notice.
const OLLAMA_TIMEOUT: Duration = Duration::from_millis(300);

/// A model to suggest for each of the best known providers.
const EXAMPLES: [(&str, &str); 3] = [
    ("anthropic", "anthropic/claude-sonnet-4-5"),
    ("openai", "openai/gpt-5-mini"),
    ("gemini", "gemini/gemini-2.5-flash"),
];

/// A way to name a model.
/// In the order in which they are listed.
#[derive(Debug)]
pub enum ModelChoice {
    /// A model of a provider whose key is set.
    WithKey(&'static Vendor),
    /// A model of the Ollama that runs on this machine.
    Ollama(String),
    /// A small model on this machine, which needs no key.
    Local,
    /// A model of a provider, after setting its key.
    SetKey,
    /// A default model for every call.
    Configure,
}

/// Says that no model was named, and how to name one.
/// May take as long as [`OLLAMA_TIMEOUT`] if something listens at its port and does not answer.
pub fn no_model(models: &ProviderSettings) -> Failure {
    let mut choices: Vec<ModelChoice> = vendors_with_key(models)
        .into_iter()
        .map(ModelChoice::WithKey)
        .collect();
    let has_key = !choices.is_empty();
    choices.extend(ollama_model(models).map(ModelChoice::Ollama));
    choices.push(ModelChoice::Local);
    if !has_key {
        choices.push(ModelChoice::SetKey);
    }
    choices.push(ModelChoice::Configure);
    let message = if has_key {
        "no model to ask: none was named"
    } else {
        "no model to ask: none was named, and no provider's key is set"
    };
    Failure::usage(message, Advice::NameModel(choices))
}

/// The hint that lists these choices, one a line.
pub fn hint_text(choices: &[ModelChoice], interface: Interface) -> String {
    let lines: Vec<String> = choices
        .iter()
        .map(|choice| choice.describe(interface))
        .collect();
    format!("choose one of these:\n  {}", lines.join("\n  "))
}

impl ModelChoice {
    /// The line for this choice, with the option of this interface.
    fn describe(&self, interface: Interface) -> String {
        let model = interface.model_option();
        match self {
            ModelChoice::WithKey(vendor) => describe_vendor(vendor, model),
            ModelChoice::Ollama(name) => {
                format!("the Ollama that runs here: {model} ollama/{name}")
            }
            ModelChoice::Local => format!(
                "on this machine, without a key: {model} local/smollm2 (a tiny model for trying things out, \
                 downloaded on first use)"
            ),
            ModelChoice::SetKey => {
                let variables = example_key_variables().join(" or ");
                let (_, example) = EXAMPLES[1];
                format!("with a key: set {variables}, and name a model, such as {model} {example}")
            }
            ModelChoice::Configure => {
                "for every call: analects config set models.default NAME, or set ANALECTS_MODEL"
                    .to_string()
            }
        }
    }
}

/// The variables that hold the keys of the best known providers.
fn example_key_variables() -> Vec<&'static str> {
    EXAMPLES
        .iter()
        .filter_map(|(name, _)| vendor(name)?.key_variables.first().copied())
        .collect()
}

/// The providers whose keys are set. Of two providers that share a key, such as OpenAI's two APIs, only the first.
fn vendors_with_key(models: &ProviderSettings) -> Vec<&'static Vendor> {
    let set: Vec<&str> = models.key_names().collect();
    let mut used = Vec::new();
    let mut found = Vec::new();
    for vendor in vendors() {
        let key = vendor.key_variables.iter().find(|key| set.contains(key));
        let Some(key) = key.filter(|key| !used.contains(*key)) else {
            continue;
        };
        used.push(*key);
        found.push(vendor);
    }
    found
}

/// The line for a provider whose key is set. `model` is the option that names a model.
fn describe_vendor(vendor: &Vendor, model: &str) -> String {
    let title = vendor.title;
    let name = vendor.name;
    match EXAMPLES.iter().find(|(known, _)| *known == name) {
        Some((_, example)) => format!("with your key for {title}: {model} {example}"),
        None => format!(
            "with your key for {title}: {model} {name}/NAME; analects model list {name} has the names"
        ),
    }
}

/// The address of a provider's server, if that is on this machine.
/// `None` for addresses with `https`, with a host name other than `localhost`, or without a port.
pub fn on_this_machine(vendor: &Vendor, models: &ProviderSettings) -> Option<SocketAddr> {
    let url = match models.address(vendor) {
        Some((_, address)) => vendor.base_url_from(address),
        None => vendor.base_url.to_string(),
    };
    let host = url.strip_prefix("http://")?.split('/').next()?;
    let address: SocketAddr = host.replace("localhost", "127.0.0.1").parse().ok()?;
    Some(address).filter(|address| address.ip().is_loopback())
}

/// Whether a server accepts connections there.
/// It does not tell what kind of server that is.
pub fn is_running(address: SocketAddr) -> bool {
    TcpStream::connect_timeout(&address, OLLAMA_TIMEOUT).is_ok()
}

/// A model of the Ollama that runs on this machine, or `NAME` if it has none.
/// The first in the server's own order. `None` if no Ollama answers.
fn ollama_model(models: &ProviderSettings) -> Option<String> {
    let address = on_this_machine(vendor("ollama")?, models)?;
    let names = models_at(address, OLLAMA_TIMEOUT)?;
    let first = names.into_iter().next();
    Some(first.unwrap_or_else(|| "NAME".to_string()))
}

#[cfg(test)]
mod tests {
    //! The choices as a call and as a session words them.

    use super::*;

    #[test]
    fn in_a_session_a_command_names_the_model() {
        let failure = no_model(&ProviderSettings::default());
        let in_call = failure.hint(Interface::Call).unwrap();
        assert!(in_call.contains("-m local/smollm2 (a tiny"), "{in_call}");
        let in_session = failure.hint(Interface::Session).unwrap();
        let expected = in_call.replace("-m ", "/model ") + " (in another terminal)";
        assert_eq!(in_session, expected);
    }
}
