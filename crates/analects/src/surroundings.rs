//! What the process finds around itself: folders, keys, addresses. Nothing else of the configuration is read from the
//! environment.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use analects_client::Proxies;
use analects_providers::{Catalogue, vendors};
use analects_store::StoreFolders;

use crate::config::{Origin, Setting};
use crate::failure::{Failure, words};

/// The variables of the proxies, each with those that stand in for it. `HTTP_PROXY` in capitals does
/// not count: on a web server, a visitor could set it.
const HTTP_PROXY: [&str; 3] = ["http_proxy", "ALL_PROXY", "all_proxy"];
const HTTPS_PROXY: [&str; 4] = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
const NO_PROXY: [&str; 2] = ["NO_PROXY", "no_proxy"];

/// The variables that name the program that texts are edited with.
const EDITORS: [&str; 2] = ["VISUAL", "EDITOR"];

/// The variable that names the model to ask if nobody names one.
pub const DEFAULT_MODEL: &str = "ANALECTS_MODEL";

/// Everything that the environment says.
pub struct Surroundings {
    /// Where the store is.
    pub places: StoreFolders,
    /// Where the person's configuration is.
    pub config: PathBuf,
    /// The person's home folder.
    pub home: Option<PathBuf>,
    /// The folder that the command was called in.
    pub folder: PathBuf,
    /// Which models can be asked, and where.
    pub models: analects_client::Surroundings,
    /// The proxies between here and there.
    pub proxies: Proxies,
    /// The model that is asked if nobody names one.
    pub default_model: Option<String>,
    /// The program that the person edits texts with.
    pub editor: Option<String>,
    /// Where programs are.
    pub search_path: OsString,
    /// How long the server of a local model stays unused, if not as usual.
    pub lease: Option<Duration>,
}

impl Surroundings {
    /// Reads the environment of this process.
    pub fn of_process() -> Result<Surroundings, Failure> {
        let folder = env::current_dir()
            .map_err(|error| format!("cannot find the current folder: {}", words(&error)))
            .map_err(Failure::input)?;
        let [data, state, config] = folders()?.map(|folder| folder.path);
        let places = StoreFolders { data, state };
        let (models, proxies) = (models(&config)?, proxies());
        Ok(Surroundings {
            places,
            config,
            home: env::home_dir(),
            folder,
            models,
            proxies,
            default_model: variable(DEFAULT_MODEL),
            editor: EDITORS
                .iter()
                .filter_map(|name| variable(name))
                .find(|it| !it.trim().is_empty()),
            search_path: env::var_os("PATH").unwrap_or_default(),
            lease: lease(),
        })
    }

    /// Adds to a failure what the person can change in these surroundings.
    pub fn explain(&self, failure: Failure) -> Failure {
        if failure.is_about(&self.places.state) || failure.is_about(&self.places.data) {
            return failure.or_hint("set ANALECTS_HOME to a folder that you can write to");
        }
        failure
    }

    /// What the environment decides, and by which variable. Of a key or a proxy, which may hold a
    /// password, only whether it is there.
    pub fn settings() -> Result<Vec<Setting>, Failure> {
        let folders = folders()?
            .into_iter()
            .map(|folder| Setting::new(folder.key, folder.path.to_string_lossy(), folder.origin));
        let secrets = [
            ("proxy.http", &HTTP_PROXY[..]),
            ("proxy.https", &HTTPS_PROXY),
            ("proxy.none_for", &NO_PROXY),
        ];
        let secrets = secrets
            .into_iter()
            .map(|(key, names)| match first_of(names) {
                Some((name, _)) => Setting::new(key, "set", Origin::Variable(name)),
                None => Setting::new(key, "not set", Origin::Unset(names[0])),
            });
        Ok(folders.chain(provider_settings()).chain(secrets).collect())
    }
}

/// A variable that is set to something.
fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// The first of several variables that is set to something, and its value.
fn first_of(names: &[&'static str]) -> Option<(&'static str, String)> {
    names.iter().find_map(|name| Some((*name, variable(name)?)))
}

/// A folder of ours, and why it is that one.
struct Folder {
    key: &'static str,
    path: PathBuf,
    origin: Origin,
}

/// The folders for data, for state, and of the configuration.
fn folders() -> Result<[Folder; 3], Failure> {
    const FOLDERS: [(&str, &str, &str, &str); 3] = [
        ("folders.data", "data", "XDG_DATA_HOME", ".local/share"),
        ("folders.state", "state", "XDG_STATE_HOME", ".local/state"),
        ("folders.config", "config", "XDG_CONFIG_HOME", ".config"),
    ];
    if let Some(home) = variable("ANALECTS_HOME").map(PathBuf::from) {
        if home.is_relative() {
            // Two calls in two folders would not see each other's locks.
            let message = format!(
                "ANALECTS_HOME is {}, which depends on the folder",
                home.display()
            );
            return Err(Failure::usage(message, "set it to a path from the root on"));
        }
        let origin = Origin::Variable("ANALECTS_HOME");
        return Ok(FOLDERS.map(|(key, name, ..)| Folder {
            key,
            path: home.join(name),
            origin: origin.clone(),
        }));
    }
    let home = env::home_dir().ok_or_else(|| {
        Failure::usage(
            "cannot find your home folder",
            "set ANALECTS_HOME to a folder of your own",
        )
    })?;
    // The standard says to ignore them if they depend on the folder.
    let base = |name| {
        variable(name)
            .map(PathBuf::from)
            .filter(|base| base.is_absolute())
    };
    Ok(FOLDERS.map(|(key, _, name, usual)| match base(name) {
        Some(base) => {
            let path = base.join("analects");
            Folder {
                key,
                path,
                origin: Origin::Variable(name),
            }
        }
        None => Folder {
            key,
            path: home.join(usual).join("analects"),
            origin: Origin::BuiltIn,
        },
    }))
}

/// For tests, and for those who want their memory back sooner.
fn lease() -> Option<Duration> {
    let seconds: f64 = variable("ANALECTS_LOCAL_LEASE")?.trim().parse().ok()?;
    (0.0..=86_400.0)
        .contains(&seconds)
        .then(|| Duration::from_secs_f64(seconds))
}

fn models(config: &Path) -> Result<analects_client::Surroundings, Failure> {
    let mut models = analects_client::Surroundings::read(variable);
    let path = config.join("models.json");
    if let Ok(text) = std::fs::read_to_string(&path) {
        let catalogue = Catalogue::with_overrides(&text).map_err(|errors| {
            let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
            let failure = Failure::input(format!("{}: {}", path.display(), errors.join("; ")));
            failure.or_hint("correct it, or remove it: then what the program knows counts")
        })?;
        models.set_catalogue(catalogue);
    }
    Ok(models)
}

/// The address and the key of each provider: those that are set, and the best known ones.
fn provider_settings() -> impl Iterator<Item = Setting> {
    const BEST_KNOWN: [&str; 3] = ["openai", "anthropic", "gemini"];
    vendors().iter().flat_map(|vendor| {
        let (address, key) = (
            first_of(vendor.base_url_variables),
            first_of(vendor.key_variables),
        );
        let is_shown = address.is_some() || key.is_some() || BEST_KNOWN.contains(&vendor.name);
        let address = match address {
            Some((name, url)) => (without_secrets(&url), Origin::Variable(name)),
            None => (vendor.base_url.to_string(), Origin::BuiltIn),
        };
        let address = Setting::new(format!("{}.base_url", vendor.name), address.0, address.1);
        let name = format!("{}.key", vendor.name);
        let key = match (key, vendor.key_variables.first()) {
            (Some((variable, _)), _) => Some(Setting::new(name, "set", Origin::Variable(variable))),
            (None, Some(variable)) => Some(Setting::new(name, "not set", Origin::Unset(variable))),
            (None, None) => None,
        };
        let both = [Some(address), key].into_iter().flatten();
        both.filter(move |_| is_shown).collect::<Vec<_>>()
    })
}

/// Variables that a Python needs to start and to fetch something: where programs and files are, how the network is
/// reached and whom it trusts, in which language it speaks.
const FOR_PYTHON: [&str; 28] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "TEMP",
    "TMP",
    "XDG_CONFIG_HOME",
    "XDG_CONFIG_DIRS",
    "XDG_CACHE_HOME",
    "NETRC",
    "HTTP_PROXY",
    "http_proxy",
    "HTTPS_PROXY",
    "https_proxy",
    "ALL_PROXY",
    "all_proxy",
    "NO_PROXY",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
];

/// The same by how they begin: the settings of pip, of the language, and of what chooses a Python.
const FOR_PYTHON_BY_START: [&str; 4] = ["PIP_", "LC_", "PYTHON", "PYENV_"];

/// What of the environment a Python gets that fetches something: no key, and nothing else that is not listed.
pub fn for_python() -> Vec<(OsString, OsString)> {
    let is_listed = |name: &str| {
        FOR_PYTHON.contains(&name)
            || FOR_PYTHON_BY_START
                .iter()
                .any(|start| name.starts_with(start))
    };
    env::vars_os()
        .filter(|(name, _)| name.to_str().is_some_and(is_listed))
        .collect()
}

fn proxies() -> Proxies {
    let value = |names| first_of(names).map(|(_, value)| value);
    Proxies {
        http: value(&HTTP_PROXY),
        https: value(&HTTPS_PROXY),
        no_proxy: value(&NO_PROXY),
    }
}

/// An address, or only how it starts where it may hold a password: a password may hold any
/// character, so nothing that follows is safe to show.
fn without_secrets(url: &str) -> String {
    if !url.contains(['@', '?', '#']) {
        return url.to_string();
    }
    let scheme = url.split_once("://").map(|(scheme, _)| scheme);
    let scheme = scheme.filter(|scheme| scheme.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    scheme.map_or("…".to_string(), |scheme| format!("{scheme}://…"))
}

#[cfg(test)]
mod tests {
    //! No password is shown, wherever it stands in an address.

    use super::without_secrets;

    #[test]
    fn addresses_are_shown_without_passwords() {
        for (url, shown) in [
            ("http://127.0.0.1:11434/v1", "http://127.0.0.1:11434/v1"),
            ("https://me:se?c/r@et@host/v1", "https://…"),
            ("https://host/v1?key=sec@ret", "https://…"),
            ("me:secret@host", "…"),
            ("me:secret://x@host", "…"),
            ("", ""),
        ] {
            assert_eq!(without_secrets(url), shown);
        }
    }
}
