//! Finds the model that a name stands for, and how to reach it.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use analects_core::{ModelFacts, Request};
use analects_providers::{
    Api, Catalogue, HttpRequest, LOCAL_VENDOR, Quirks, Vendor, detect_api, encode_for, vendor,
    vendors,
};

use crate::byte_stream::open_recording;
use crate::near_models::nearest_models;
use crate::{BaseUrl, ClientError, Key, ModelAdapter, Options};

/// The keys and addresses of providers, by the names of their variables, as the caller's
/// environment and configuration have them. No file of a conversation or a project can set one.
#[derive(Clone, Default)]
pub struct ProviderSettings {
    keys: BTreeMap<&'static str, Key>,
    addresses: BTreeMap<&'static str, String>,
    /// Whether `http://` addresses may be on other machines.
    pub allow_http: bool,
    /// Whether a model resolves if its key is missing. It cannot be asked then, but its request can
    /// be shown.
    pub allow_no_key: bool,
    /// The catalogue with the user's own facts; `None` for the built-in one.
    catalogue: Option<Arc<Catalogue>>,
}

impl ProviderSettings {
    /// Reads every variable of every provider. `variable` returns the value of one.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> ProviderSettings {
        let mut settings = ProviderSettings::default();
        for vendor in vendors() {
            for name in vendor.key_variables {
                if let Some(key) = variable(name).as_deref().and_then(Key::new) {
                    settings.keys.insert(name, key);
                }
            }
            for name in vendor.base_url_variables {
                if let Some(address) = variable(name)
                    && !address.trim().is_empty()
                {
                    settings.addresses.insert(name, address);
                }
            }
        }
        settings
    }

    /// Uses a catalogue with the user's own facts about models.
    pub fn set_catalogue(&mut self, catalogue: Catalogue) {
        self.catalogue = Some(Arc::new(catalogue));
    }

    /// The catalogue of models.
    pub fn catalogue(&self) -> &Catalogue {
        self.catalogue.as_deref().unwrap_or(Catalogue::built_in())
    }

    /// The variables of the keys that are set.
    pub fn key_names(&self) -> impl Iterator<Item = &'static str> {
        self.keys.keys().copied()
    }

    /// The address that is set for a provider, with its variable.
    pub fn address(&self, vendor: &Vendor) -> Option<(&'static str, &str)> {
        let mut names = vendor.base_url_variables.iter();
        names.find_map(|name| Some((*name, self.addresses.get(name)?.as_str())))
    }

    /// The key that is set for a provider, with its variable.
    fn key(&self, vendor: &Vendor) -> Option<(&'static str, &Key)> {
        let mut names = vendor.key_variables.iter();
        names.find_map(|name| Some((*name, self.keys.get(name)?)))
    }

    /// Whether a provider can be asked: it has its key, needs none, or has an address of the user's
    /// own.
    pub fn can_ask(&self, vendor: &Vendor) -> bool {
        !vendor.needs_key || self.key(vendor).is_some() || self.address(vendor).is_some()
    }
}

/// A model, and how to reach it.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// The provider, such as `openai`.
    pub provider: String,
    /// The model's name at the provider.
    pub name: String,
    /// The wire format.
    pub api: Api,
    /// How the provider differs from others with the same wire format.
    pub quirks: Quirks,
    /// What is known about the model; `None` for an unknown one.
    pub facts: Option<ModelFacts>,
    /// How to reach it.
    pub transport: Transport,
}

impl Model {
    /// A model of a vendor.
    fn of_vendor(
        vendor: &Vendor,
        name: &str,
        settings: &ProviderSettings,
        transport: Transport,
    ) -> Model {
        Model {
            provider: vendor.name.to_string(),
            name: name.to_string(),
            api: vendor.api,
            quirks: vendor.quirks,
            facts: settings.catalogue().facts(vendor.name, name),
            transport,
        }
    }

    /// Encodes a request for this model, without the key. The limit of output tokens is lowered to
    /// the model's own, because providers refuse a higher one.
    pub fn encode(&self, request: &Request) -> HttpRequest {
        let own_limit = self
            .facts
            .as_ref()
            .and_then(|facts| facts.max_output_tokens);
        let wanted = request.max_output_tokens;
        let max_output_tokens = wanted.map(|tokens| tokens.min(own_limit.unwrap_or(tokens)));
        // A request is as long as its conversation, and is copied only if it has to change.
        if request.model == self.name && wanted == max_output_tokens {
            return encode_for(self.api, request, &self.quirks);
        }
        let request = Request {
            model: self.name.clone(),
            max_output_tokens,
            ..request.clone()
        };
        encode_for(self.api, &request, &self.quirks)
    }

    /// Checks what can be checked without asking the model: whether a recorded answer exists.
    pub fn check(&self) -> Result<(), ClientError> {
        if let Transport::Replay(path) = &self.transport {
            open_recording(path).map_err(|error| ClientError::replay(path, &error))?;
        }
        Ok(())
    }
}

/// How bytes get to a model and back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transport {
    /// Over the network.
    Http {
        /// The base address of the API.
        base_url: BaseUrl,
        /// The key, if there is one.
        key: Option<Key>,
        /// Whether the key is a bearer token, whatever the wire format says.
        as_bearer: bool,
    },
    /// A server that this program runs. The caller starts it, and replaces this with its address.
    Local,
    /// No bytes are sent. The file contains the answer to every request, byte by byte.
    Replay(PathBuf),
}

/// Finds the model that `name` stands for: `provider/NAME`, a name that only one provider is known
/// to have, or `replay:FILE`.
pub fn resolve(name: &str, settings: &ProviderSettings) -> Result<Model, ClientError> {
    if let Some(file) = name.strip_prefix("replay:")
        && !file.is_empty()
    {
        return Ok(replay_model(Path::new(file)));
    }
    let (vendor, model) = find_provider(name, settings.catalogue())?;
    if vendor.name == LOCAL_VENDOR {
        return Ok(Model::of_vendor(vendor, model, settings, Transport::Local));
    }
    let transport = http_transport(vendor, settings)?;
    Ok(Model::of_vendor(vendor, model, settings, transport))
}

/// Finds the provider of the model that `name` stands for, and the model's name there. `name` is
/// `provider/NAME`, or a name that only one provider is known to have.
pub fn find_provider<'a>(
    name: &'a str,
    catalogue: &Catalogue,
) -> Result<(&'static Vendor, &'a str), ClientError> {
    if let Some((provider, model)) = name.split_once('/')
        && !model.is_empty()
        && let Some(vendor) = vendor(provider)
    {
        return Ok((vendor, model));
    }
    Ok((only_provider(name, catalogue)?, name))
}

/// The only provider that is known to have a model of this name.
fn only_provider(name: &str, catalogue: &Catalogue) -> Result<&'static Vendor, ClientError> {
    let mut known: Vec<&Vendor> = Vec::new();
    for vendor in vendors() {
        if vendor.models_of.is_none() && catalogue.facts(vendor.name, name).is_some() {
            known.push(vendor);
        }
    }
    match known[..] {
        [vendor] => Ok(vendor),
        [] => Err(ClientError::UnknownModel {
            name: name.to_string(),
            near: nearest_models(name, catalogue),
        }),
        _ => {
            let models = known.iter().map(|vendor| format!("{}/{name}", vendor.name));
            Err(ClientError::Ambiguous {
                name: name.to_string(),
                models: models.collect(),
            })
        }
    }
}

/// The address and the key of a provider.
fn http_transport(
    vendor: &'static Vendor,
    settings: &ProviderSettings,
) -> Result<Transport, ClientError> {
    let default_url = BaseUrl::parse(vendor.base_url)?;
    let base_url = match settings.address(vendor) {
        Some((variable, address)) => custom_address(vendor, address)
            .map_err(|why| ClientError::BadAddress(format!("{why} ({variable})")))?,
        None => default_url.clone(),
    };
    if !base_url.is_private() && !settings.allow_http {
        return Err(ClientError::PlainHttp(base_url.to_string()));
    }
    let key = settings.key(vendor);
    // A server at another address may not need a key.
    let requires_key = vendor.needs_key && base_url == default_url && !settings.allow_no_key;
    if key.is_none() && requires_key {
        let variable = vendor.key_variables.first().copied().unwrap_or("a key");
        return Err(ClientError::NoKey(variable));
    }
    // A gateway's token is sent in another header than a provider's own key.
    let as_bearer = key.is_some_and(|(variable, _)| variable.ends_with("_AUTH_TOKEN"));
    Ok(Transport::Http {
        base_url,
        key: key.map(|(_, key)| key.clone()),
        as_bearer,
    })
}

/// Reads the address in a provider's variable. The error is for people, and has no name of the
/// variable.
fn custom_address(vendor: &Vendor, address: &str) -> Result<BaseUrl, String> {
    if has_no_host(address) {
        // Otherwise, the first part of the path would become the host.
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

/// The model of a recorded answer.
fn replay_model(path: &Path) -> Model {
    Model {
        provider: "replay".to_string(),
        // Not the path, which must not leave this machine.
        name: "replay".to_string(),
        api: recorded_api(path).unwrap_or(Api::OpenAiChat),
        quirks: Quirks::default(),
        facts: None,
        transport: Transport::Replay(path.to_path_buf()),
    }
}

/// How much of a recording is read to detect its wire format.
const DETECTION_BYTES: u64 = 64 * 1024;

/// Detects the wire format of a recorded answer; `None` if it cannot be read, or does not tell.
fn recorded_api(path: &Path) -> Option<Api> {
    let file = open_recording(path).ok()?;
    let mut bytes = Vec::new();
    file.take(DETECTION_BYTES).read_to_end(&mut bytes).ok()?;
    detect_api(&bytes)
}

/// Finds models by name, or by pointers such as `default` and `quick`, which may be set to other
/// models at any time.
#[doc(alias = "ModelAdapterFactory")]
#[derive(Clone, Default)]
pub struct Resolver {
    settings: ProviderSettings,
    pointers: BTreeMap<String, String>,
}

impl Resolver {
    /// Makes a resolver without pointers.
    pub fn new(settings: ProviderSettings) -> Resolver {
        Resolver {
            settings,
            pointers: BTreeMap::new(),
        }
    }

    /// Sets a pointer to a model.
    ///
    /// ```
    /// use analects_client::{Resolver, ProviderSettings};
    ///
    /// let mut resolver = Resolver::new(ProviderSettings::default());
    /// resolver.point("quick", "ollama/qwen3");
    /// assert_eq!(resolver.resolve("quick")?.name, "qwen3");
    /// resolver.point("quick", "ollama/llama3.2");
    /// assert_eq!(resolver.resolve("quick")?.name, "llama3.2");
    /// # Ok::<(), analects_client::ClientError>(())
    /// ```
    pub fn point(&mut self, pointer: impl Into<String>, model: impl Into<String>) {
        self.pointers.insert(pointer.into(), model.into());
    }

    /// Finds the model that a pointer, or any other name, stands for.
    pub fn resolve(&self, name: &str) -> Result<Model, ClientError> {
        let name = self.pointers.get(name).map_or(name, String::as_str);
        resolve(name, &self.settings)
    }

    /// Makes an adapter for the model that a name stands for.
    pub fn adapter(&self, name: &str, options: Options) -> Result<ModelAdapter, ClientError> {
        Ok(ModelAdapter::new(self.resolve(name)?, options))
    }
}
