//! From a model's name to where and how it is asked.

use std::io;
use std::path::{Path, PathBuf};

use analects_providers::Api;

use crate::{BaseUrl, ClientError, Key};

/// Where OpenAI itself answers.
pub const OPENAI: &str = "https://api.openai.com/v1";

/// What the command found in its environment and configuration.
#[derive(Clone, Default)]
pub struct Surroundings {
    /// `OPENAI_BASE_URL`; `None` stands for OpenAI itself.
    pub openai_base_url: Option<String>,
    /// `OPENAI_API_KEY`.
    pub openai_key: Option<Key>,
}

/// A model and the way to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// The provider, such as `openai`.
    pub provider: String,
    /// The model's name as the provider knows it.
    pub name: String,
    /// The wire format.
    pub api: Api,
    /// The way.
    pub transport: Transport,
}

impl Model {
    /// Whether the model can be asked at all, as far as that can be known without asking: a recorded
    /// answer has to be there. Nothing is sent.
    pub fn check(&self) -> Result<(), ClientError> {
        match &self.transport {
            Transport::Http { .. } => Ok(()),
            Transport::Replay(path) => {
                readable(path).map_err(|error| ClientError::replay(path, &error))
            }
        }
    }
}

fn readable(path: &Path) -> io::Result<()> {
    let metadata = std::fs::metadata(path)?;
    if metadata.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory));
    }
    // To open a pipe and close it again would take it away from whoever reads it later.
    if metadata.is_file() {
        std::fs::File::open(path)?;
    }
    Ok(())
}

/// How bytes get to a model and back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transport {
    /// Over the network.
    Http {
        /// Where the API lies.
        base_url: BaseUrl,
        /// What to show there.
        key: Option<Key>,
    },
    /// Not at all: the file holds the answer, byte by byte, to whatever is asked.
    Replay(PathBuf),
}

/// Finds the model that `name` stands for: `openai/NAME` or `replay:FILE`.
pub fn resolve(name: &str, surroundings: &Surroundings) -> Result<Model, ClientError> {
    if let Some(file) = name.strip_prefix("replay:").filter(|file| !file.is_empty()) {
        return Ok(Model {
            provider: "replay".to_string(),
            // Not the path, which is nobody's business but this machine's.
            name: "replay".to_string(),
            api: Api::OpenAiChat,
            transport: Transport::Replay(PathBuf::from(file)),
        });
    }
    match name.split_once('/') {
        Some(("openai", model)) if !model.is_empty() => openai(model, surroundings),
        _ => Err(ClientError::UnknownModel(name.to_string())),
    }
}

fn openai(name: &str, surroundings: &Surroundings) -> Result<Model, ClientError> {
    let default = BaseUrl::parse(OPENAI)?;
    let base_url = match surroundings.openai_base_url.as_deref().map(str::trim) {
        None | Some("") => default.clone(),
        Some(given) => BaseUrl::parse(given)?,
    };
    let key = surroundings.openai_key.clone();
    // Other servers may well do without a key.
    if key.is_none() && base_url == default {
        return Err(ClientError::NoKey("OPENAI_API_KEY"));
    }
    Ok(Model {
        provider: "openai".to_string(),
        name: name.to_string(),
        api: Api::OpenAiChat,
        transport: Transport::Http { base_url, key },
    })
}
