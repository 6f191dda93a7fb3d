//! The configuration: what your `config.toml` and a project's `.analects.toml` say, which of them wins, and where each
//! value came from. For environment variables see `environment.rs`.
//!
//! A project's file comes with the project, so it is untrusted: it may define agents, name models, and say when to
//! compact, and nothing else. No configuration names a recording, which is a path on this machine.
//!
//! The order for each value: the environment, the project's file, your file, the default. Unlike values, agents are not
//! merged: the first file that defines an agent of a name wins as a whole, and `agents/NAME.md` comes last. Errors name
//! the file and the line.

mod agent_file;
mod edit;
mod read;
mod set;

use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};

use analects_client::{ClientError, ProviderSettings, resolve};
use analects_context::Threshold;
use analects_core::{Agent, nearest};
use analects_local::Local;
use analects_providers::LOCAL_VENDOR;
use analects_runtime::AgentSource;

use crate::environment::{DEFAULT_MODEL, Environment};
use crate::failure::{Failure, io_error_text};
use crate::hints::Advice;
use crate::{local, ui};
pub use set::set;

use read::{AgentDefinition, CompactAt, ConfigFile, Owner};

/// The words that stand for models of your choice.
/// A command takes one wherever it takes a model. Only `default` may point to another pointer, through the variable.
pub const POINTERS: [&str; 5] = ["default", "task", "reasoning", "quick", "compact"];

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The environment variable of that name.
    Variable(&'static str),
    /// Nowhere. This variable could set it.
    Unset(&'static str),
    /// A line of a configuration file.
    File { path: PathBuf, line: usize },
    /// The program.
    BuiltIn,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Variable(name) | Origin::Unset(name) => f.write_str(name),
            Origin::File { path, line } => write!(f, "{}:{line}", path.display()),
            Origin::BuiltIn => f.write_str("built-in"),
        }
    }
}

/// A value, and where it came from.
/// A row of `config show`.
#[derive(Debug, Clone)]
pub struct Setting {
    /// Its name, with dots.
    pub key: String,
    /// Its value. For a secret only `set` or `not set`.
    pub value: serde_json::Value,
    /// Where it came from.
    pub origin: Origin,
}

impl Setting {
    /// A setting whose value is a string.
    pub fn new(key: impl Into<String>, value: impl Into<String>, origin: Origin) -> Setting {
        Setting::of_json(key, value.into().into(), origin)
    }

    /// A setting with any value.
    /// Lists and numbers keep their type in `config show --json`.
    fn of_json(key: impl Into<String>, value: serde_json::Value, origin: Origin) -> Setting {
        Setting {
            key: key.into(),
            value,
            origin,
        }
    }
}

/// What the configuration files say.
/// Agent files are read only when an agent is looked up, so a broken one does not disturb other calls.
#[derive(Debug, Default)]
pub struct Config {
    /// The project's file before yours: the first that sets a value wins.
    files: Vec<ConfigFile>,
    /// Your folder of agents, one file each.
    agents: PathBuf,
    /// The default model that the environment names. It wins over the files.
    default: Option<String>,
    /// The models on this machine; `None` if there can be none.
    local: Option<Local>,
}

impl Config {
    /// Reads the configuration, and warns about keys that it does not know.
    /// A missing file counts as empty. Fails if one is not valid TOML, has a value of the wrong type, or is a project's
    /// file that sets what it must not.
    pub fn read(environment: &Environment) -> Result<Config, Failure> {
        let config = Config::read_silently(environment)?;
        for warning in config.files.iter().flat_map(|file| &file.warnings) {
            ui::remark(warning);
        }
        Ok(config)
    }

    /// Reads the files without printing their warnings.
    /// Fails as [`Config::read`] does.
    fn read_silently(environment: &Environment) -> Result<Config, Failure> {
        let default = environment.default_model.clone();
        if let Some(name) = default.as_deref().filter(|name| is_recording(name)) {
            let message = format!("{DEFAULT_MODEL} is {name}, which is a recording");
            return Err(Failure::usage(
                message,
                "name a model, such as local/smollm2",
            ));
        }
        let mut files = Vec::new();
        if let Some(path) = project_file(&environment.folder, environment.home.as_deref()) {
            files.extend(read_file(&path, Owner::Project)?);
        }
        let path = environment.config.join("config.toml");
        files.extend(read_file(&path, Owner::Person)?);
        Ok(Config {
            files,
            agents: environment.config.join("agents"),
            default,
            local: local::models(environment).ok(),
        })
    }

    /// Reads the configuration for a call with these options. If the call names a model and no agent, hardly anything
    /// in the configuration matters, so errors in it do not count.
    pub fn read_for(
        model: Option<&str>,
        agent: Option<&str>,
        environment: &Environment,
    ) -> Result<Config, Failure> {
        match (model, agent) {
            (Some(model), None) if !POINTERS.contains(&model) => {
                Ok(Config::read_silently(environment).unwrap_or_default())
            }
            _ => Config::read(environment),
        }
    }

    /// The model that a pointer stands for. `None` if it is not configured.
    /// A name that is no pointer gives `None`.
    pub fn pointer(&self, name: &str) -> Option<&str> {
        match self.default_for(name) {
            Some(pointer) if POINTERS.contains(&pointer) => self.configured(pointer),
            Some(model) => Some(model),
            None => self.configured(name),
        }
    }

    /// What the environment says about this pointer.
    fn default_for(&self, name: &str) -> Option<&str> {
        self.default.as_deref().filter(|_| name == "default")
    }

    /// The model that the files give for a pointer.
    fn configured(&self, name: &str) -> Option<&str> {
        self.first(|file| Some(file.pointer(name)?.model.as_str()))
    }

    /// The value of the first file that has one.
    fn first<'c, T>(&'c self, value: impl Fn(&'c ConfigFile) -> Option<T>) -> Option<T> {
        self.files.iter().find_map(value)
    }

    /// How full the context must be before a conversation is compacted automatically. `None` means never.
    /// Without a setting, the default of the library applies.
    pub fn compact_at(&self) -> Option<Threshold> {
        match self.first(|file| file.compact_at) {
            Some((CompactAt::Share(share), _)) => Some(share),
            Some((CompactAt::Never, _)) => None,
            None => Some(Threshold::default()),
        }
    }

    /// Whether to send the pictures of message files without asking.
    /// Off unless your own file switches it on.
    pub fn pictures(&self) -> bool {
        self.first(|file| file.pictures)
            .is_some_and(|(is_on, _)| is_on)
    }

    /// Whether message files get all details of an answer.
    pub fn details(&self) -> bool {
        self.first(|file| file.details)
            .is_some_and(|(is_on, _)| is_on)
    }

    /// Adds a hint that says where the configuration names this model, if it does.
    /// For an error about a model that you did not type, so you can find the line to change.
    pub fn with_model_origin(&self, failure: Failure, model: &str) -> Failure {
        match self.model_origin(model) {
            Some(origin) => failure.and_hint(origin),
            None => failure,
        }
    }

    /// Where the configuration names this model, in words.
    /// `None` for a model that it does not name.
    pub fn model_origin(&self, model: &str) -> Option<String> {
        if self.default.as_deref() == Some(model) {
            return Some(format!("{DEFAULT_MODEL} names {model}"));
        }
        self.files.iter().find_map(|file| {
            let mut pointers = file.pointers.iter();
            let pointer = pointers.find(|pointer| pointer.model == model)?;
            let name = pointer.name;
            let path = file.path.display();
            let line = pointer.line;
            Some(format!("{model} is the {name} model of {path}:{line}"))
        })
    }

    /// The model that a name stands for: a pointer for another model, any other name for itself.
    /// Does not check that the model exists. Fails for a pointer that is not configured.
    pub fn model(&self, wanted: &str) -> Result<String, Failure> {
        if !POINTERS.contains(&wanted) {
            return Ok(wanted.to_string());
        }
        match self.pointer(wanted) {
            Some(model) => Ok(model.to_string()),
            None => Err(no_such_pointer(wanted)),
        }
    }

    /// The agent with this name. One without models gets the default model.
    /// `None` if no file defines it. Fails if its own file cannot be read.
    pub fn agent(&self, name: &str) -> Result<Option<Agent>, Failure> {
        let Some((definition, _)) = self.definition(name)? else {
            return Ok(None);
        };
        let mut agent = definition.agent;
        if agent.models.is_empty() {
            agent
                .models
                .extend(self.pointer("default").map(str::to_string));
        }
        Ok(Some(agent))
    }

    /// The definition of an agent, and the file that it is in.
    fn definition(&self, name: &str) -> Result<Option<(AgentDefinition, PathBuf)>, Failure> {
        let in_files = self.first(|file| Some((file.agent(name)?.clone(), file.path.clone())));
        if in_files.is_some() {
            return Ok(in_files);
        }
        let definition = agent_file::read(&self.agents, name)?;
        Ok(definition.map(|definition| (definition, agent_file::path(&self.agents, name))))
    }

    /// The names of the agents that are configured. A name may occur twice.
    pub fn agent_names(&self) -> Vec<String> {
        let agents = self.files.iter().flat_map(|file| &file.agents);
        let mut names: Vec<String> = agents
            .map(|definition| definition.agent.name.clone())
            .collect();
        names.extend(agent_file::names(&self.agents));
        names
    }

    /// Every setting of the configuration files, with defaults, and where it came from.
    /// For `config show`. Fails if an agent file is wrong.
    pub fn settings(&self) -> Result<Vec<Setting>, Failure> {
        let mut settings: Vec<Setting> = POINTERS
            .into_iter()
            .map(|name| self.pointer_setting(name))
            .collect();
        settings.push(self.compact_at_setting());
        settings.push(Setting::of_json(
            "context.pictures",
            self.pictures().into(),
            self.origin(|file| Some(file.pictures?.1)),
        ));
        settings.push(Setting::of_json(
            "files.details",
            self.details().into(),
            self.origin(|file| Some(file.details?.1)),
        ));
        let mut names = self.agent_names();
        names.sort();
        names.dedup();
        for name in names {
            settings.extend(self.agent_settings(&name)?);
        }
        Ok(settings)
    }

    /// The setting of a pointer: the environment wins over the files.
    fn pointer_setting(&self, name: &str) -> Setting {
        let key = format!("models.{name}");
        if let Some(model) = self.default_for(name) {
            return Setting::new(key, model, Origin::Variable(DEFAULT_MODEL));
        }
        let origin = self.origin(|file| Some(file.pointer(name)?.line));
        Setting::new(key, self.configured(name).unwrap_or("not set"), origin)
    }

    /// The setting of automatic compaction, as a percentage.
    fn compact_at_setting(&self) -> Setting {
        let value = match self.compact_at() {
            Some(threshold) => format!("{:.0}%", threshold.share() * 100.0),
            None => "never".to_string(),
        };
        let origin = self.origin(|file| Some(file.compact_at?.1));
        Setting::new("context.compact_at", value, origin)
    }

    /// Where the first file that has this value has it. `line` gives the value's line in a file.
    fn origin(&self, line: impl Fn(&ConfigFile) -> Option<usize>) -> Origin {
        let found = self.first(|file| Some((file.path.clone(), line(file)?)));
        match found {
            Some((path, line)) => Origin::File { path, line },
            None => Origin::BuiltIn,
        }
    }

    /// All properties of an agent, with defaults. Empty if there is no such agent.
    /// In the order of [`Agent::PROPERTIES`].
    fn agent_settings(&self, name: &str) -> Result<Vec<Setting>, Failure> {
        let Some((definition, path)) = self.definition(name)? else {
            return Ok(Vec::new());
        };
        let json = serde_json::to_value(&definition.agent).unwrap_or_default();
        let mut settings = Vec::new();
        for property in Agent::PROPERTIES {
            let origin = match definition.line_of(property) {
                Some(line) => Origin::File {
                    path: path.clone(),
                    line,
                },
                None => Origin::BuiltIn,
            };
            let value = json.get(property).cloned().unwrap_or_default();
            let key = format!("agents.{name}.{property}");
            settings.push(Setting::of_json(key, value, origin));
        }
        Ok(settings)
    }
}

impl AgentSource for Config {
    fn agent(&self, name: &str) -> Result<Option<Agent>, Box<dyn Error + Send + Sync>> {
        Ok(Config::agent(self, name)?)
    }

    fn agent_names(&self) -> Vec<String> {
        Config::agent_names(self)
    }

    fn pointer(&self, word: &str) -> Option<String> {
        Config::pointer(self, word).map(str::to_string)
    }

    fn is_pointer(&self, word: &str) -> bool {
        POINTERS.contains(&word)
    }

    /// The default model of the environment is downloaded when it is asked, so it is never missing.
    fn is_missing(&self, model: &str) -> bool {
        let Some((LOCAL_VENDOR, name)) = model.split_once('/') else {
            return false;
        };
        let local = self.local.as_ref();
        self.default.as_deref() != Some(model)
            && local.is_some_and(|local| local.find(name).is_err())
    }
}

/// Says that no model is configured for this pointer.
pub fn no_such_pointer(word: &str) -> Failure {
    let message = format!("no model is configured as {word}");
    let hint = format!("set {word} under [models] in config.toml, or name a model");
    Failure::not_found(message).or_hint(hint)
}

/// Says that an agent does not exist, and which ones do.
/// Suggests a similar name, or else lists all names, or else says how to define one.
pub fn no_such_agent(name: &str, known: &[String]) -> Failure {
    let advice = match nearest(name, known.iter().map(String::as_str)) {
        Some(near) => Advice::Text(format!("did you mean {near}?")),
        None if known.is_empty() => Advice::DefineAgent(name.to_string()),
        None => Advice::NameAgent(known.to_vec()),
    };
    Failure::not_found(format!("there is no agent {name}")).or_hint(advice)
}

/// Why no file and no variable may name a recording.
pub const NO_RECORDING_HERE: &str = "a recording is named on the command line of chat only";

/// Checks that a file can name this model: this version understands the name, and it is no recording. A missing key is
/// no error; asking the model reports it.
/// For commands that write a model's name into a file.
pub fn check_model(name: &str) -> Result<(), Failure> {
    if is_recording(name) {
        let message = format!("{name}: {NO_RECORDING_HERE}");
        return Err(Failure::usage(
            message,
            "name a model, such as openai/gpt-5-mini",
        ));
    }
    match resolve(name, &ProviderSettings::default()) {
        Err(error @ ClientError::UnknownModel { .. }) => Err(error.into()),
        _ => Ok(()),
    }
}

/// Whether a model is a recorded answer, which is a path on this machine.
fn is_recording(name: &str) -> bool {
    name.starts_with("replay:")
}

/// Reads a configuration file. `None` if it does not exist.
fn read_file(path: &Path, owner: Owner) -> Result<Option<ConfigFile>, Failure> {
    match read_text(path)? {
        Some(text) => Ok(Some(read::read(&text, path, owner)?)),
        None => Ok(None),
    }
}

/// The text of a file. `None` if it does not exist.
/// A path through something that is no folder counts as missing too.
fn read_text(path: &Path) -> Result<Option<String>, Failure> {
    use std::io::ErrorKind::{NotADirectory, NotFound};

    let name = path.display();
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        // The configuration's folder may be a file, such as below a home that does not exist.
        Err(error) if matches!(error.kind(), NotFound | NotADirectory) => return Ok(None),
        Err(error) => {
            let reason = io_error_text(&error);
            return Err(Failure::input(format!("{name}: cannot read: {reason}")));
        }
    };
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Some(text)),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            let message = format!("{name}: the bytes at offset {at} are not UTF-8");
            Err(Failure::input(message).or_hint("convert the file to UTF-8"))
        }
    }
}

/// The name of a project's configuration file.
const PROJECT_FILE: &str = ".analects.toml";

/// The nearest project file, in this folder or above it. The search ends at your home folder and at the border of the
/// file system. It also ends at a folder that everybody can write to, and ignores a file there: anybody could have put
/// it there.
fn project_file(folder: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let start = FolderInfo::of(folder)?;
    for folder in folder.ancestors() {
        let info = FolderInfo::of(folder)?;
        if info.device != start.device || info.is_world_writable {
            return None;
        }
        let file = folder.join(PROJECT_FILE);
        if file.is_file() {
            return Some(file);
        }
        if home.is_some_and(|home| is_same(home, folder)) {
            return None;
        }
    }
    None
}

/// Whether two paths lead to the same folder. The second has no links in it.
fn is_same(one: &Path, other: &Path) -> bool {
    one == other || std::fs::canonicalize(one).is_ok_and(|one| one == other)
}

/// What the search for a project file needs to know about a folder.
struct FolderInfo {
    /// The number of its file system.
    device: u64,
    is_world_writable: bool,
}

impl FolderInfo {
    /// `None` if the folder cannot be looked at, which ends the search.
    #[cfg(unix)]
    fn of(folder: &Path) -> Option<FolderInfo> {
        use std::os::unix::fs::MetadataExt;
        let metadata = std::fs::metadata(folder).ok()?;
        Some(FolderInfo {
            device: metadata.dev(),
            is_world_writable: metadata.mode() & 0o002 != 0,
        })
    }

    #[cfg(not(unix))]
    fn of(folder: &Path) -> Option<FolderInfo> {
        folder.is_dir().then_some(FolderInfo {
            device: 0,
            is_world_writable: false,
        })
    }
}

#[cfg(test)]
mod tests {
    //! Real folders: how far up the search goes.

    use super::*;

    #[test]
    fn the_search_goes_up_and_ends_at_home() {
        let folder = tempfile::tempdir().unwrap();
        let top = std::fs::canonicalize(folder.path()).unwrap();
        let deep = top.join("home/project/src");
        std::fs::create_dir_all(&deep).unwrap();
        std::fs::write(top.join(PROJECT_FILE), "").unwrap();
        let home = top.join("home");
        assert_eq!(project_file(&deep, Some(&home)), None);
        assert_eq!(project_file(&deep, None), Some(top.join(PROJECT_FILE)));
        std::fs::write(home.join(PROJECT_FILE), "").unwrap();
        assert_eq!(
            project_file(&deep, Some(&home)),
            Some(home.join(PROJECT_FILE))
        );
        std::fs::write(home.join("project").join(PROJECT_FILE), "").unwrap();
        assert_eq!(
            project_file(&deep, Some(&home)),
            Some(home.join("project").join(PROJECT_FILE))
        );
        // A folder with that name does not count.
        std::fs::create_dir(deep.join(PROJECT_FILE)).unwrap();
        assert_eq!(
            project_file(&deep, Some(&home)),
            Some(home.join("project").join(PROJECT_FILE))
        );
    }

    #[cfg(unix)]
    #[test]
    fn the_search_ends_at_a_folder_that_everybody_can_write_to() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let open = folder.path().join("open");
        let deep = open.join("mine");
        std::fs::create_dir_all(&deep).unwrap();
        std::fs::write(open.join(PROJECT_FILE), "").unwrap();
        assert_eq!(project_file(&deep, None), Some(open.join(PROJECT_FILE)));
        std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o1777)).unwrap();
        assert_eq!(project_file(&deep, None), None);
    }
}
