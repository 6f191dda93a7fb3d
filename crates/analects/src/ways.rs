//! What to do when nobody said which model to ask: the ways out, in one message.

use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use analects_client::Surroundings;
use analects_local::models_at;
use analects_providers::{Vendor, vendor, vendors};

use crate::failure::Failure;
use crate::hints::{Advice, Interface};

/// How long an Ollama on this machine has to say that it is there.
const BRIEFLY: Duration = Duration::from_millis(300);

/// What to ask of the best known providers.
const EXAMPLES: [(&str, &str); 3] = [
    ("anthropic", "anthropic/claude-sonnet-4-5"),
    ("openai", "openai/gpt-5-mini"),
    ("gemini", "gemini/gemini-2.5-flash"),
];

/// A way to a model, for somebody who has named none.
#[derive(Debug)]
pub enum ModelChoice {
    /// With a key that is set.
    WithKey(&'static Vendor),
    /// With the Ollama that runs here, and a model that it has.
    Ollama(String),
    /// On this machine, without a key.
    Local,
    /// With a key that is not set yet.
    SetKey,
    /// With a model that is configured for every call.
    Configure,
}

/// Says that no model was named, and which ones could be asked.
pub fn no_model(models: &Surroundings) -> Failure {
    let with_key: Vec<&Vendor> = with_key(models).collect();
    let has_key = !with_key.is_empty();
    let mut ways: Vec<ModelChoice> = with_key.into_iter().map(ModelChoice::WithKey).collect();
    ways.extend(ollama(models).map(ModelChoice::Ollama));
    ways.push(ModelChoice::Local);
    let message = if has_key {
        "no model to ask: none was named"
    } else {
        ways.push(ModelChoice::SetKey);
        "no model to ask: none was named, and no provider's key is set"
    };
    ways.push(ModelChoice::Configure);
    Failure::usage(message, Advice::NameModel(ways))
}

/// These ways, in words.
pub fn in_words(ways: &[ModelChoice], interface: Interface) -> String {
    let ways: Vec<String> = ways.iter().map(|way| way.in_words(interface)).collect();
    format!("there are these ways:\n  {}", ways.join("\n  "))
}

impl ModelChoice {
    fn in_words(&self, interface: Interface) -> String {
        let model = interface.model_option();
        match self {
            ModelChoice::WithKey(vendor) => by_key(vendor, interface),
            ModelChoice::Ollama(name) => {
                format!("the Ollama that runs here: {model} ollama/{name}")
            }
            ModelChoice::Local => format!(
                "on this machine, without a key: {model} local/smollm2 (a tiny model for trying things out; the \
                 first time, it is fetched)"
            ),
            ModelChoice::SetKey => {
                let variables = EXAMPLES
                    .iter()
                    .filter_map(|(name, _)| vendor(name)?.key_variables.first());
                let variables: Vec<&str> = variables.copied().collect();
                let variables = variables.join(" or ");
                let example = EXAMPLES[1].1;
                format!("with a key: set {variables}, and name a model, such as {model} {example}")
            }
            ModelChoice::Configure => {
                "for good: set ANALECTS_MODEL, or default under [models] in config.toml".to_string()
            }
        }
    }
}

/// The providers whose keys are set.
fn with_key(models: &Surroundings) -> impl Iterator<Item = &'static Vendor> {
    let names: Vec<&str> = models.key_names().collect();
    // Of two rows with one key, such as OpenAI's two APIs, the first will do.
    let mut seen = Vec::new();
    vendors().iter().filter(move |vendor| {
        let key = vendor
            .key_variables
            .iter()
            .find(|name| names.contains(name));
        key.is_some_and(|key| {
            !seen.contains(key) && {
                seen.push(*key);
                true
            }
        })
    })
}

fn by_key(vendor: &Vendor, interface: Interface) -> String {
    let model = interface.model_option();
    let title = vendor.title;
    let name = vendor.name;
    match EXAMPLES.iter().find(|(known, _)| *known == name) {
        Some((_, example)) => format!("with your key for {title}: {model} {example}"),
        None => format!(
            "with your key for {title}: {model} {name}/NAME; analects model list {name} has the names"
        ),
    }
}

/// Where the server of a provider listens, if that is on this machine.
pub fn on_this_machine(vendor: &Vendor, models: &Surroundings) -> Option<SocketAddr> {
    let given = models
        .address(vendor)
        .map(|(_, address)| vendor.base_url_from(address));
    let url = given.unwrap_or_else(|| vendor.base_url.to_string());
    let host = url
        .strip_prefix("http://")?
        .split('/')
        .next()?
        .replace("localhost", "127.0.0.1");
    let address: SocketAddr = host.parse().ok()?;
    Some(address).filter(|address| address.ip().is_loopback())
}

/// Whether somebody listens there.
pub fn is_running(address: SocketAddr) -> bool {
    TcpStream::connect_timeout(&address, BRIEFLY).is_ok()
}

/// A model of an Ollama that runs on this machine.
fn ollama(models: &Surroundings) -> Option<String> {
    let names = models_at(on_this_machine(vendor("ollama")?, models)?, BRIEFLY)?;
    Some(
        names
            .into_iter()
            .next()
            .unwrap_or_else(|| "NAME".to_string()),
    )
}

#[cfg(test)]
mod tests {
    //! The ways in the words of a call and of a session.

    use super::*;

    #[test]
    fn in_a_session_a_command_names_the_model() {
        let failure = no_model(&Surroundings::default());
        let in_call = failure.hint(Interface::Call).unwrap();
        assert!(in_call.contains("-m local/smollm2 (a tiny"), "{in_call}");
        let in_session = failure.hint(Interface::Session).unwrap();
        assert_eq!(in_session, in_call.replace("-m ", "/model "));
    }
}
