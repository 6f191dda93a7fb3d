//! From a model's name to where and how it is asked.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use analects_core::{ModelFacts, Request};
use analects_providers::{
    Api, Catalogue, HttpRequest, LOCAL_VENDOR, Quirks, Vendor, detect_api, encode_for, vendor,
    vendors,
};

use crate::bytes::open_recording;
use crate::{BaseUrl, ClientError, Key, ModelAdapter, Options};

/// What the command found in its environment and configuration: keys and addresses, by the names of
/// their variables. No file and no project can set one.
#[derive(Clone, Default)]
pub struct Surroundings {
    keys: BTreeMap<&'static str, Key>,
    addresses: BTreeMap<&'static str, String>,
    /// Whether `http://` may lead to other machines.
    pub allow_http: bool,
    /// Whether a model may be named whose key is missing: it cannot be asked, but what it would be
    /// asked can be shown.
    pub allow_no_key: bool,
    /// What is known about models, if a person knows more than the program.
    catalogue: Option<Arc<Catalogue>>,
}

impl Surroundings {
    /// Asks for every variable that a provider knows.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Surroundings {
        let mut found = Surroundings::default();
        for vendor in vendors() {
            for name in vendor.key_variables {
                let key = variable(name).as_deref().and_then(Key::new);
                found.keys.extend(key.map(|key| (*name, key)));
            }
            for name in vendor.base_url_variables {
                let address = variable(name).filter(|address| !address.trim().is_empty());
                found
                    .addresses
                    .extend(address.map(|address| (*name, address)));
            }
        }
        found
    }

    /// Lets what a person knows about models count before what the program knows.
    pub fn set_catalogue(&mut self, catalogue: Catalogue) {
        self.catalogue = Some(Arc::new(catalogue));
    }

    /// What is known about models.
    pub fn catalogue(&self) -> &Catalogue {
        self.catalogue.as_deref().unwrap_or(Catalogue::built_in())
    }

    /// The names of the keys that are set.
    pub fn key_names(&self) -> impl Iterator<Item = &'static str> {
        self.keys.keys().copied()
    }

    /// The address that is set for a provider, and the variable that sets it.
    pub fn address(&self, vendor: &Vendor) -> Option<(&'static str, &str)> {
        let mut names = vendor.base_url_variables.iter();
        names.find_map(|name| Some((*name, self.addresses.get(name)?.as_str())))
    }

    fn key(&self, vendor: &Vendor) -> Option<(&'static str, &Key)> {
        let mut names = vendor.key_variables.iter();
        names.find_map(|name| Some((*name, self.keys.get(name)?)))
    }

    /// Whether a provider can be asked: it has its key, needs none, or has an address of one's own.
    pub fn can_ask(&self, vendor: &Vendor) -> bool {
        !vendor.needs_key || self.key(vendor).is_some() || self.address(vendor).is_some()
    }
}

/// A model and the way to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// The provider, such as `openai`.
    pub provider: String,
    /// The model's name as the provider knows it.
    pub name: String,
    /// The wire format.
    pub api: Api,
    /// In what the provider differs from others of the same wire format.
    pub quirks: Quirks,
    /// What is known about it; `None` where nothing is.
    pub facts: Option<ModelFacts>,
    /// The way.
    pub transport: Transport,
}

impl Model {
    /// A request for this model as it goes out, without the key. The answer may take no more than the
    /// model is known to give; a provider refuses to be asked for more.
    pub fn encode(&self, request: &Request) -> HttpRequest {
        let most = self
            .facts
            .as_ref()
            .and_then(|facts| facts.max_output_tokens);
        let asked_for = request.max_output_tokens;
        let max_output_tokens = asked_for.map(|tokens| tokens.min(most.unwrap_or(tokens)));
        // A request is as long as its conversation; mostly it is meant for this model just as it is.
        if request.model == self.name && asked_for == max_output_tokens {
            return encode_for(self.api, request, &self.quirks);
        }
        let request = Request {
            model: self.name.clone(),
            max_output_tokens,
            ..request.clone()
        };
        encode_for(self.api, &request, &self.quirks)
    }

    /// Whether the model can be asked at all, as far as that can be known without asking: a recorded
    /// answer has to be there. Nothing is sent.
    pub fn check(&self) -> Result<(), ClientError> {
        match &self.transport {
            Transport::Http { .. } | Transport::Local => Ok(()),
            Transport::Replay(path) => match open_recording(path) {
                Ok(_) => Ok(()),
                Err(error) => Err(ClientError::replay(path, &error)),
            },
        }
    }
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
        /// Whether it is shown as a bearer token, whatever the wire format says.
        as_bearer: bool,
    },
    /// To a server that this program runs. Whoever asks starts it first, and puts the way to it here.
    Local,
    /// Not at all: the file holds the answer, byte by byte, to whatever is asked.
    Replay(PathBuf),
}

/// Finds the model that `name` stands for: `provider/NAME`, a name that only one provider is known to
/// have, or `replay:FILE`.
pub fn resolve(name: &str, surroundings: &Surroundings) -> Result<Model, ClientError> {
    if let Some(file) = name.strip_prefix("replay:").filter(|file| !file.is_empty()) {
        return Ok(replay(Path::new(file)));
    }
    let (vendor, model) = provider_of(name, surroundings.catalogue())?;
    reach(vendor, model, surroundings)
}

/// The provider of the model that `name` stands for, and the model's name there: of `provider/NAME`, or
/// of a name that only one provider is known to have.
pub fn provider_of<'a>(
    name: &'a str,
    catalogue: &Catalogue,
) -> Result<(&'static Vendor, &'a str), ClientError> {
    let named = name.split_once('/').filter(|(_, model)| !model.is_empty());
    match named.and_then(|(provider, model)| Some((vendor(provider)?, model))) {
        Some(found) => Ok(found),
        None => Ok((bare(name, catalogue)?, name)),
    }
}

/// The one provider that is known to have a model of that name.
fn bare(name: &str, catalogue: &Catalogue) -> Result<&'static Vendor, ClientError> {
    let knows = |vendor: &&Vendor| {
        vendor.models_of.is_none() && catalogue.facts(vendor.name, name).is_some()
    };
    let known: Vec<&Vendor> = vendors().iter().filter(knows).collect();
    match known[..] {
        [vendor] => Ok(vendor),
        [] => Err(ClientError::UnknownModel(name.to_string())),
        _ => {
            let models = known
                .iter()
                .map(|vendor| format!("{}/{name}", vendor.name))
                .collect();
            Err(ClientError::Ambiguous {
                name: name.to_string(),
                models,
            })
        }
    }
}

/// The way to a provider's model.
fn reach(
    vendor: &'static Vendor,
    name: &str,
    surroundings: &Surroundings,
) -> Result<Model, ClientError> {
    if vendor.name == LOCAL_VENDOR {
        return Ok(own(vendor, name, surroundings));
    }
    let given = surroundings.address(vendor);
    let base_url = match given {
        Some((variable, address)) => given_address(vendor, address)
            .map_err(|why| ClientError::BadAddress(format!("{why} ({variable})")))?,
        None => BaseUrl::parse(vendor.base_url)?,
    };
    if !base_url.is_safe() && !surroundings.allow_http {
        return Err(ClientError::PlainHttp(base_url.to_string()));
    }
    let key = surroundings.key(vendor);
    // Other servers may well do without a key.
    let is_own = base_url == BaseUrl::parse(vendor.base_url)?;
    if key.is_none() && vendor.needs_key && is_own && !surroundings.allow_no_key {
        let variable = vendor.key_variables.first().copied().unwrap_or("a key");
        return Err(ClientError::NoKey(variable));
    }
    // A token of a gateway is shown in another way than a key of the provider's own.
    let as_bearer = key.is_some_and(|(name, _)| name.ends_with("_AUTH_TOKEN"));
    let key = key.map(|(_, key)| key.clone());
    Ok(Model {
        provider: vendor.name.to_string(),
        name: name.to_string(),
        api: vendor.api,
        quirks: vendor.quirks,
        facts: surroundings.catalogue().facts(vendor.name, name),
        transport: Transport::Http {
            base_url,
            key,
            as_bearer,
        },
    })
}

/// A model whose server this program runs.
fn own(vendor: &Vendor, name: &str, surroundings: &Surroundings) -> Model {
    Model {
        provider: vendor.name.to_string(),
        name: name.to_string(),
        api: vendor.api,
        quirks: vendor.quirks,
        facts: surroundings.catalogue().facts(vendor.name, name),
        transport: Transport::Local,
    }
}

/// The address that a variable holds, or what is wrong with it.
fn given_address(vendor: &Vendor, address: &str) -> Result<BaseUrl, String> {
    if has_no_host(address) {
        // Without this, the first part of the path would be taken for a host.
        return Err("it has no host".to_string());
    }
    BaseUrl::parse(&vendor.base_url_from(address)).map_err(|error| match error {
        ClientError::BadAddress(why) => why,
        other => other.to_string(),
    })
}

fn has_no_host(address: &str) -> bool {
    let address = address.trim();
    address.starts_with('/') || address.trim_end_matches('/').ends_with(':')
}

/// A recorded answer. Its bytes tell in which wire format they are.
fn replay(path: &Path) -> Model {
    Model {
        provider: "replay".to_string(),
        // Not the path, which is nobody's business but this machine's.
        name: "replay".to_string(),
        api: recorded_api(path).unwrap_or(Api::OpenAiChat),
        quirks: Quirks::default(),
        facts: None,
        transport: Transport::Replay(path.to_path_buf()),
    }
}

/// How much of a recording is looked at to tell its format.
const ENOUGH: u64 = 64 * 1024;

fn recorded_api(path: &Path) -> Option<Api> {
    let mut bytes = Vec::new();
    open_recording(path)
        .ok()?
        .take(ENOUGH)
        .read_to_end(&mut bytes)
        .ok()?;
    detect_api(&bytes)
}

/// Finds models by name, also by pointers such as `default` and `quick`, which can be turned to other
/// models at any time.
#[doc(alias = "ModelAdapterFactory")]
#[derive(Clone, Default)]
pub struct Resolver {
    surroundings: Surroundings,
    pointers: BTreeMap<String, String>,
}

impl Resolver {
    /// A resolver without pointers.
    pub fn new(surroundings: Surroundings) -> Resolver {
        Resolver {
            surroundings,
            pointers: BTreeMap::new(),
        }
    }

    /// Turns a pointer to a model.
    ///
    /// ```
    /// use analects_client::{Resolver, Surroundings};
    ///
    /// let mut resolver = Resolver::new(Surroundings::default());
    /// resolver.point("quick", "ollama/qwen3");
    /// assert_eq!(resolver.resolve("quick")?.name, "qwen3");
    /// resolver.point("quick", "ollama/llama3.2");
    /// assert_eq!(resolver.resolve("quick")?.name, "llama3.2");
    /// # Ok::<(), analects_client::ClientError>(())
    /// ```
    pub fn point(&mut self, pointer: impl Into<String>, model: impl Into<String>) {
        self.pointers.insert(pointer.into(), model.into());
    }

    /// The model that a pointer, or any other name, stands for.
    pub fn resolve(&self, name: &str) -> Result<Model, ClientError> {
        let name = self.pointers.get(name).map_or(name, String::as_str);
        resolve(name, &self.surroundings)
    }

    /// An adapter for the model that a name stands for.
    pub fn adapter(&self, name: &str, options: Options) -> Result<ModelAdapter, ClientError> {
        Ok(ModelAdapter::new(self.resolve(name)?, options))
    }
}
