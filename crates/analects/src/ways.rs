//! What to do when nobody said which model to ask: the ways out, in one message.

use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use analects_client::Surroundings;
use analects_local::models_at;
use analects_providers::{Vendor, vendor, vendors};

use crate::failure::Failure;

/// How long an Ollama on this machine has to say that it is there.
const BRIEFLY: Duration = Duration::from_millis(300);

/// What to ask of the best known providers.
const EXAMPLES: [(&str, &str); 3] = [
    ("anthropic", "anthropic/claude-sonnet-4-5"),
    ("openai", "openai/gpt-5-mini"),
    ("gemini", "gemini/gemini-2.5-flash"),
];

/// Says that no model was named, and which ones could be asked.
pub fn no_model(models: &Surroundings) -> Failure {
    let with_key: Vec<&Vendor> = with_key(models).collect();
    let message = match with_key.is_empty() {
        true => "no model to ask: none was named, and no provider's key is set",
        false => "no model to ask: none was named",
    };
    let mut ways: Vec<String> = with_key.iter().map(|vendor| by_key(vendor)).collect();
    ways.extend(ollama(models).map(|name| format!("the Ollama that runs here: -m ollama/{name}")));
    ways.push(
        "on this machine, without a key: -m local/smollm2 (a tiny model for trying things out; the first time, \
         it is fetched)"
            .to_string(),
    );
    if with_key.is_empty() {
        let names = EXAMPLES.iter().filter_map(|(name, _)| vendor(name)?.key_variables.first());
        let names: Vec<&str> = names.copied().collect();
        ways.push(format!(
            "with a key: set {}, and name a model, such as -m {}",
            names.join(" or "),
            EXAMPLES[1].1
        ));
    }
    ways.push("for good: set ANALECTS_MODEL, or default under [models] in config.toml".to_string());
    Failure::usage(message, format!("there are these ways:\n  {}", ways.join("\n  ")))
}

/// Whether this is a session at the terminal.
static IS_SESSION: AtomicBool = AtomicBool::new(false);

/// From now on, this is a session at the terminal.
pub fn begin_session() {
    IS_SESSION.store(true, Ordering::SeqCst);
}

/// A hint as it is said here: in a session, or in a call.
pub fn here(hint: &str) -> String {
    match IS_SESSION.load(Ordering::SeqCst) {
        true => in_session(hint),
        false => hint.to_string(),
    }
}

/// A hint as it is said in a session at the terminal, where a command names the model and not an option.
pub fn in_session(hint: &str) -> String {
    /// Python has an option of that name.
    const PYTHON: &str = "python3 -m";
    let mut hint = hint.to_string();
    for (elsewhere, here) in
        [("compact the conversation", "/compact"), ("without --agent, ", ""), ("--agent", "/agent")]
    {
        hint = hint.replace(elsewhere, here);
    }
    if let Some(kept) = hint.find(PROMPT_IS_KEPT) {
        hint.replace_range(kept.., "your prompt is kept: /model NAME, then /retry, asks it");
    }
    if let Some(hide) = hint.find(HIDE_TO_ASK) {
        hint.replace_range(hide.., RETRY_BROKEN);
    }
    let parts = hint.split(PYTHON).map(|part| {
        let words = part.split(' ').map(|word| if word == "-m" { "/model" } else { word });
        words.collect::<Vec<&str>>().join(" ")
    });
    parts.collect::<Vec<String>>().join(PYTHON)
}

/// How a hint begins which says that the prompt is in the file, after which nothing else comes.
pub const PROMPT_IS_KEPT: &str = "your prompt is kept in ";

/// How a hint begins which says how to ask again what broke off, after which nothing else comes.
pub const HIDE_TO_ASK: &str = "hide what came to ask again: ";

/// What can be done in a session about a question without an answer.
pub const RETRY: &str = "/retry asks it again, /undo takes it back";
/// The same where the half of an answer came.
pub const RETRY_BROKEN: &str =
    "/retry asks it again; what came stays, and the model does not see it then";

/// Whether a hint says how to ask again, or will in a session.
pub fn tells_how_to_retry(hint: &str) -> bool {
    ["/retry", PROMPT_IS_KEPT, HIDE_TO_ASK].iter().any(|words| hint.contains(words))
}

/// The providers whose keys are set.
fn with_key(models: &Surroundings) -> impl Iterator<Item = &'static Vendor> {
    let names: Vec<&str> = models.key_names().collect();
    // Of two rows with one key, such as OpenAI's two APIs, the first will do.
    let mut seen = Vec::new();
    vendors().iter().filter(move |vendor| {
        let key = vendor.key_variables.iter().find(|name| names.contains(name));
        key.is_some_and(|key| {
            !seen.contains(key) && {
                seen.push(*key);
                true
            }
        })
    })
}

fn by_key(vendor: &Vendor) -> String {
    let example = EXAMPLES.iter().find(|(name, _)| *name == vendor.name);
    match example {
        Some((_, model)) => format!("with your key for {}: -m {model}", vendor.title),
        None => format!(
            "with your key for {}: -m {name}/NAME; analects model list {name} has the names",
            vendor.title,
            name = vendor.name
        ),
    }
}

/// Where the server of a provider listens, if that is on this machine.
pub fn on_this_machine(vendor: &Vendor, models: &Surroundings) -> Option<SocketAddr> {
    let given = models.address(vendor).map(|(_, address)| vendor.base_url_from(address));
    let url = given.unwrap_or_else(|| vendor.base_url.to_string());
    let host = url.strip_prefix("http://")?.split('/').next()?.replace("localhost", "127.0.0.1");
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
    Some(names.into_iter().next().unwrap_or_else(|| "NAME".to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_a_session_a_command_names_the_model() {
        let said = [
            (
                "name one, such as -m openai/gpt-5-mini",
                "name one, such as /model openai/gpt-5-mini",
            ),
            ("or name a model with -m", "or name a model with /model"),
            (
                "a key: -m a/b\n  here: -m local/smollm2 (tiny)",
                "a key: /model a/b\n  here: /model local/smollm2 (tiny)",
            ),
            ("try python3 -m pip, or -m x/y", "try python3 -m pip, or /model x/y"),
            (
                "-m a/b; your prompt is kept in a b.msg.md: analects chat 'a b.msg.md' -m MODEL asks it",
                "/model a/b; your prompt is kept: /model NAME, then /retry, asks it",
            ),
            ("wait -more", "wait -more"),
            (
                "there are a; without --agent, -m MODEL makes a new one",
                "there are a; /model MODEL makes a new one",
            ),
            ("or name an agent with --agent", "or name an agent with /agent"),
            ("raise --max-cost, or compact the conversation", "raise --max-cost, or /compact"),
            (
                "check the net; hide what came to ask again: analects drop a.msg.md 3",
                "check the net; /retry asks it again; what came stays, and the model does not see it then",
            ),
        ];
        for (hint, expected) in said {
            assert_eq!(in_session(hint), expected);
        }
        let models = Surroundings::default();
        let hint = no_model(&models).hint.unwrap();
        assert!(in_session(&hint).contains("/model local/smollm2 (a tiny"), "{hint}");
        assert!(!in_session(&hint).contains("-m "), "{hint}");
    }
}
