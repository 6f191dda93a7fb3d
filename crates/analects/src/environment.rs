//! What the process reads from its environment: folders, keys, addresses and proxies. Other settings come from the
//! configuration files.
//!
//! The libraries get all of this as arguments. So a test can set everything by variables.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use analects_client::Proxies;
use analects_providers::{Catalogue, Vendor, vendors};
use analects_store::StoreFolders;

use crate::config::{Origin, Setting};
use crate::failure::{Failure, io_error_text};

/// The variables that name a proxy, in order of preference. `HTTP_PROXY` in capitals does not count: on a web server,
/// a visitor could set it.
const HTTP_PROXY: [&str; 3] = ["http_proxy", "ALL_PROXY", "all_proxy"];
/// The variables for addresses that begin with `https://`.
const HTTPS_PROXY: [&str; 4] = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
/// Hosts that are reached directly.
const NO_PROXY: [&str; 2] = ["NO_PROXY", "no_proxy"];

/// The variables that name your text editor, in order of preference.
/// `VISUAL` comes first, as POSIX tools have it.
const EDITORS: [&str; 2] = ["VISUAL", "EDITOR"];

/// The variable that names the default model.
pub const DEFAULT_MODEL: &str = "ANALECTS_MODEL";

/// The providers whose settings `config show` lists even if nothing is set for them.
const BEST_KNOWN_PROVIDERS: [&str; 3] = ["openai", "anthropic", "gemini"];

/// Everything that the environment says.
/// Read once at the start of a verb and not changed by anything but the options of that verb.
pub struct Environment {
    /// Where the store is.
    /// Created when something is written there.
    pub places: StoreFolders,
    /// The folder of your configuration.
    /// It need not exist.
    pub config: PathBuf,
    /// Your home folder.
    pub home: Option<PathBuf>,
    /// The current folder.
    pub folder: PathBuf,
    /// The keys and addresses of the providers.
    pub models: analects_client::ProviderSettings,
    /// The proxies of the network.
    pub proxies: Proxies,
    /// The model to ask if the command line names none.
    /// It may be one of the configured words, such as `quick`.
    pub default_model: Option<String>,
    /// The command that starts your text editor.
    pub editor: Option<String>,
    /// The folders to search for programs, as `PATH` has them.
    /// Empty if it is not set, so no program is found.
    pub search_path: OsString,
    /// How long the server of a local model stays up unused. `None` means the default.
    pub lease: Option<Duration>,
}

impl Environment {
    /// Reads the environment of this process.
    /// Fails without a current folder, without a home folder, or if `models.json` is wrong. Creates no folder.
    pub fn read() -> Result<Environment, Failure> {
        let folder = env::current_dir().map_err(|error| {
            let reason = io_error_text(&error);
            Failure::input(format!("cannot find the current folder: {reason}"))
        })?;
        let [data, state, config] = own_folders()?.map(|folder| folder.path);
        let models = models(&config)?;
        Ok(Environment {
            places: StoreFolders {
                data,
                state,
                zone: crate::local_time::zone(),
            },
            config,
            home: env::home_dir(),
            folder,
            models,
            proxies: proxies(),
            default_model: variable(DEFAULT_MODEL),
            editor: editor(),
            search_path: env::var_os("PATH").unwrap_or_default(),
            lease: lease(),
        })
    }

    /// Adds a hint to a failure that another environment would avoid.
    /// Only failures about our own folders get it. The hint names `ANALECTS_HOME`, which moves them all.
    pub fn explain(&self, failure: Failure) -> Failure {
        if failure.is_about(&self.places.state) || failure.is_about(&self.places.data) {
            return failure.or_hint("set ANALECTS_HOME to a folder that you can write to");
        }
        failure
    }

    /// What the environment decides, and the variable that decides it. For a key or a proxy, which may hold a
    /// password, only whether it is set.
    /// For `config show`. Providers for which nothing is set are left out, except the best known.
    pub fn settings() -> Result<Vec<Setting>, Failure> {
        let mut settings = Vec::new();
        for folder in own_folders()? {
            let path = folder.path.to_string_lossy();
            settings.push(Setting::new(folder.key, path, folder.origin));
        }
        for vendor in vendors() {
            settings.extend(provider_settings(vendor));
        }
        settings.push(proxy_setting("proxy.http", &HTTP_PROXY));
        settings.push(proxy_setting("proxy.https", &HTTPS_PROXY));
        settings.push(proxy_setting("proxy.none_for", &NO_PROXY));
        Ok(settings)
    }
}

/// The value of a variable. An empty one counts as unset.
/// One that is not UTF-8 counts as unset too.
fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// The name and the value of the first of these variables that is set.
/// In the order given, so earlier names win.
fn first_of(names: &[&'static str]) -> Option<(&'static str, String)> {
    names.iter().find_map(|name| Some((*name, variable(name)?)))
}

/// The first editor variable that is more than blanks.
/// With blanks alone, the shell would run the text itself.
fn editor() -> Option<String> {
    EDITORS
        .iter()
        .filter_map(|name| variable(name))
        .find(|editor| !editor.trim().is_empty())
}

/// A folder of this program, and what decided where it is.
/// `config show` prints it as a setting.
struct OwnFolder {
    /// The name of its setting.
    key: &'static str,
    path: PathBuf,
    origin: Origin,
}

/// Where one of our folders is.
/// One rule for each kind of folder, so the three are found in the same way.
struct FolderRule {
    /// The name of its setting.
    key: &'static str,
    /// Its name in `ANALECTS_HOME`.
    name: &'static str,
    /// The XDG variable that names its parent.
    variable: &'static str,
    /// Its usual parent, below the home folder.
    default: &'static str,
}

/// The rules for our folders, in the order of [`own_folders`].
const FOLDER_RULES: [FolderRule; 3] = [
    FolderRule {
        key: "folders.data",
        name: "data",
        variable: "XDG_DATA_HOME",
        default: ".local/share",
    },
    FolderRule {
        key: "folders.state",
        name: "state",
        variable: "XDG_STATE_HOME",
        default: ".local/state",
    },
    FolderRule {
        key: "folders.config",
        name: "config",
        variable: "XDG_CONFIG_HOME",
        default: ".config",
    },
];

/// The folders for data, for state, and for the configuration, in this order.
/// `ANALECTS_HOME` wins over the XDG variables. Fails if there is no home folder to fall back to.
fn own_folders() -> Result<[OwnFolder; 3], Failure> {
    if let Some(home) = variable("ANALECTS_HOME").map(PathBuf::from) {
        return folders_below(&home);
    }
    let home = env::home_dir().ok_or_else(|| {
        Failure::usage(
            "cannot find your home folder",
            "set ANALECTS_HOME to a folder of your own",
        )
    })?;
    Ok(FOLDER_RULES.map(|rule| rule.standard_folder(&home)))
}

/// The folders where `ANALECTS_HOME` names their common parent.
/// Fails for a relative path.
fn folders_below(parent: &Path) -> Result<[OwnFolder; 3], Failure> {
    if parent.is_relative() {
        // Two calls in two folders would not see each other's locks.
        let parent = parent.display();
        let message = format!("ANALECTS_HOME is {parent}, which is not an absolute path");
        return Err(Failure::usage(
            message,
            "set it to a path that starts with /",
        ));
    }
    Ok(FOLDER_RULES.map(|rule| OwnFolder {
        key: rule.key,
        path: parent.join(rule.name),
        origin: Origin::Variable("ANALECTS_HOME"),
    }))
}

impl FolderRule {
    /// The folder that the XDG standard prescribes.
    fn standard_folder(&self, home: &Path) -> OwnFolder {
        let base = variable(self.variable).map(PathBuf::from);
        // The standard says to ignore relative paths.
        let base = base.filter(|base| base.is_absolute());
        let origin = match base {
            Some(_) => Origin::Variable(self.variable),
            None => Origin::BuiltIn,
        };
        let base = base.unwrap_or_else(|| home.join(self.default));
        OwnFolder {
            key: self.key,
            path: base.join("analects"),
            origin,
        }
    }
}

/// How long a local model's server stays up: for tests, and for people who want their memory back sooner. A value
/// that is not a number of seconds up to a day is ignored.
/// Read from `ANALECTS_LOCAL_LEASE`, in seconds.
fn lease() -> Option<Duration> {
    let seconds: f64 = variable("ANALECTS_LOCAL_LEASE")?.trim().parse().ok()?;
    if !(0.0..=86_400.0).contains(&seconds) {
        return None;
    }
    Some(Duration::from_secs_f64(seconds))
}

/// Keys, addresses, and the catalogue of models, which `models.json` in the configuration's folder can override.
/// A missing file means the built-in catalogue. One that is wrong is an error: prices and windows depend on it.
fn models(config: &Path) -> Result<analects_client::ProviderSettings, Failure> {
    let mut models = analects_client::ProviderSettings::read(variable);
    let path = config.join("models.json");
    let Ok(text) = std::fs::read_to_string(&path) else {
        return Ok(models);
    };
    let catalogue = Catalogue::with_overrides(&text).map_err(|errors| {
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        let failure = Failure::input(format!("{}: {}", path.display(), errors.join("; ")));
        failure.or_hint("correct the file, or remove it to use the built-in catalogue")
    })?;
    models.set_catalogue(catalogue);
    Ok(models)
}

/// The address and the key of a provider, if one of them is set or the provider is well known.
/// Providers that need no key have no line for one.
fn provider_settings(vendor: &Vendor) -> Vec<Setting> {
    let address = first_of(vendor.base_url_variables);
    let key = first_of(vendor.key_variables);
    let is_shown =
        address.is_some() || key.is_some() || BEST_KNOWN_PROVIDERS.contains(&vendor.name);
    if !is_shown {
        return Vec::new();
    }
    let mut settings = vec![address_setting(vendor, address)];
    if let Some(variable) = vendor.key_variables.first() {
        let name = format!("{}.key", vendor.name);
        settings.push(secret_setting(name, key, variable));
    }
    settings
}

/// The address of a provider, without a password that it may hold.
fn address_setting(vendor: &Vendor, address: Option<(&'static str, String)>) -> Setting {
    let name = format!("{}.base_url", vendor.name);
    match address {
        Some((variable, url)) => {
            Setting::new(name, without_secrets(&url), Origin::Variable(variable))
        }
        None => Setting::new(name, vendor.base_url, Origin::BuiltIn),
    }
}

/// Whether one of these variables names a proxy. Its value may hold a password.
fn proxy_setting(name: &str, variables: &[&'static str]) -> Setting {
    secret_setting(name.to_string(), first_of(variables), variables[0])
}

/// Whether a secret is set, without its value. `usual` is the variable that would set it.
/// Not even the length of the value shows.
fn secret_setting(
    name: String,
    found: Option<(&'static str, String)>,
    usual: &'static str,
) -> Setting {
    match found {
        Some((variable, _)) => Setting::new(name, "set", Origin::Variable(variable)),
        None => Setting::new(name, "not set", Origin::Unset(usual)),
    }
}

/// The variables that Python needs to start and to download: where programs and files are, how to reach the network,
/// whom to trust, and which language to use.
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

/// Prefixes of more such variables: the settings of pip, of the locale, and of what chooses a Python.
const FOR_PYTHON_PREFIXES: [&str; 4] = ["PIP_", "LC_", "PYTHON", "PYENV_"];

/// The environment for a Python that downloads something. It has no key, and nothing else that is not listed.
/// Python downloads and runs code of others, so it gets a list of variables and not the whole environment.
pub fn for_python() -> Vec<(OsString, OsString)> {
    env::vars_os()
        .filter(|(name, _)| name.to_str().is_some_and(is_for_python))
        .collect()
}

/// Whether Python gets this variable.
fn is_for_python(name: &str) -> bool {
    FOR_PYTHON.contains(&name)
        || FOR_PYTHON_PREFIXES
            .iter()
            .any(|prefix| name.starts_with(prefix))
}

/// The proxies that the environment names, as curl reads them.
fn proxies() -> Proxies {
    Proxies {
        http: value_of(&HTTP_PROXY),
        https: value_of(&HTTPS_PROXY),
        no_proxy: value_of(&NO_PROXY),
    }
}

/// The value of the first of these variables that is set.
fn value_of(names: &[&'static str]) -> Option<String> {
    first_of(names).map(|(_, value)| value)
}

/// An address for display. If it may hold a password, only its scheme: a password may hold any character, so nothing
/// that follows is safe to show.
/// For example `https://…` for `https://me:secret@host`.
fn without_secrets(url: &str) -> String {
    if !url.contains(['@', '?', '#']) {
        return url.to_string();
    }
    match url.split_once("://") {
        Some((scheme, _)) if scheme.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
            format!("{scheme}://…")
        }
        _ => "…".to_string(),
    }
}

#[cfg(test)]
mod tests {
    //! No password is shown, wherever it is in an address.

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
