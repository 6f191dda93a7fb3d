//! The configuration: what the person's `config.toml` and a project's `.analects.toml` say, which of
//! them counts, and where each value came from. The environment is `surroundings.rs`.
//!
//! A project's file comes with the project, so it is input like any other: it may define agents,
//! name models, and say when a conversation is compacted, and nothing else. No configuration names a recording, which is a path on this machine.

mod agent_file;
mod read;

use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};

use analects_client::{ClientError, Surroundings as Models, resolve};
use analects_context::Threshold;
use analects_core::{Agent, nearest};
use analects_runtime::AgentSource;

use crate::failure::{Failure, words};
use crate::hints::Advice;
use crate::surroundings::{DEFAULT_MODEL, Surroundings};
use crate::ui;
use read::{CompactAt, Layer, Owner};

/// The words that stand for models of the person's choice.
pub const POINTERS: [&str; 5] = ["default", "task", "reasoning", "quick", "compact"];

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The environment variable of that name.
    Variable(&'static str),
    /// Nowhere: neither that variable nor another says anything.
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
#[derive(Debug, Clone)]
pub struct Setting {
    /// Its name, with dots.
    pub key: String,
    /// Its value; for a secret only `set` or `not set`.
    pub value: serde_json::Value,
    /// Where it came from.
    pub origin: Origin,
}

impl Setting {
    /// A value that is a text.
    pub fn new(key: impl Into<String>, value: impl Into<String>, origin: Origin) -> Setting {
        Setting {
            key: key.into(),
            value: serde_json::Value::String(value.into()),
            origin,
        }
    }
}

/// What the configuration files say.
#[derive(Debug, Default)]
pub struct Config {
    /// The project's file before the person's: the first that says something counts.
    layers: Vec<Layer>,
    /// The person's folder of agents, one file each.
    agents: PathBuf,
    /// The default that the environment names, which counts before the files.
    default: Option<String>,
}

impl Config {
    /// Reads the files that count here, and says on stderr what is odd about them.
    pub fn read(surroundings: &Surroundings) -> Result<Config, Failure> {
        let config = Config::read_silently(surroundings)?;
        let warnings = config.layers.iter().flat_map(|layer| &layer.warnings);
        warnings.for_each(|warning| ui::remark(warning));
        Ok(config)
    }

    fn read_silently(surroundings: &Surroundings) -> Result<Config, Failure> {
        let project = project_file(&surroundings.folder, surroundings.home.as_deref());
        let user = surroundings.config.join("config.toml");
        let files = project.map(|path| (path, Owner::Project)).into_iter();
        let agents = surroundings.config.join("agents");
        let default = surroundings.default_model.clone();
        if let Some(name) = default.as_deref().filter(|name| is_recording(name)) {
            let message = format!("{DEFAULT_MODEL} is {name}, which is a recording");
            return Err(Failure::usage(
                message,
                "name a model, such as local/smollm2",
            ));
        }
        let mut config = Config {
            layers: Vec::new(),
            agents,
            default,
        };
        for (path, owner) in files.chain([(user, Owner::Person)]) {
            let Some(text) = read_text(&path)? else {
                continue;
            };
            let layer = read::read(&text, &path, owner)?;
            config.layers.push(layer);
        }
        Ok(config)
    }

    /// Reads the configuration. If the person named a model and nothing else, hardly anything in it
    /// matters, and what is wrong with it does not at all.
    pub fn read_for(
        model: Option<&str>,
        agent: Option<&str>,
        surroundings: &Surroundings,
    ) -> Result<Config, Failure> {
        match (model, agent) {
            (Some(model), None) if !POINTERS.contains(&model) => {
                Ok(Config::read_silently(surroundings).unwrap_or_default())
            }
            _ => Config::read(surroundings),
        }
    }

    /// The model that a pointer stands for.
    pub fn pointer(&self, name: &str) -> Option<&str> {
        match self.default.as_deref().filter(|_| name == "default") {
            Some(pointer) if POINTERS.contains(&pointer) => self.configured(pointer),
            Some(model) => Some(model),
            None => self.configured(name),
        }
    }

    /// How full the context must be for a conversation to be compacted by itself; `None` for never.
    pub fn compact_at(&self) -> Option<Threshold> {
        match self.layers.iter().find_map(|layer| layer.compact_at) {
            Some((CompactAt::Share(share), _)) => Some(share),
            Some((CompactAt::Never, _)) => None,
            None => Some(Threshold::default()),
        }
    }

    /// Whether the pictures of message files are sent without asking.
    pub fn pictures(&self) -> bool {
        self.layers
            .iter()
            .find_map(|layer| layer.pictures)
            .is_some_and(|(is_on, _)| is_on)
    }

    /// Whether message files say everything about an answer.
    pub fn details(&self) -> bool {
        self.layers
            .iter()
            .find_map(|layer| layer.details)
            .is_some_and(|(is_on, _)| is_on)
    }

    /// The model that the files give for a pointer.
    fn configured(&self, name: &str) -> Option<&str> {
        self.layers
            .iter()
            .find_map(|layer| Some(layer.pointer(name)?.model.as_str()))
    }

    /// Says where a model stands that nobody named in this call.
    pub fn told_where(&self, failure: Failure, model: &str) -> Failure {
        if self.default.as_deref() == Some(model) {
            return failure.and_hint(format!("{DEFAULT_MODEL} names it"));
        }
        let found = self.layers.iter().find_map(|layer| {
            let pointer = layer
                .pointers
                .iter()
                .find(|pointer| pointer.model == model)?;
            Some((pointer, layer))
        });
        match found {
            Some((pointer, layer)) => {
                let (path, line) = (layer.path.display(), pointer.line);
                failure.and_hint(format!("it is the {} model of {path}:{line}", pointer.name))
            }
            None => failure,
        }
    }

    /// The model that the person means: a pointer stands for another, any other name for itself.
    pub fn model(&self, wanted: &str) -> Result<String, Failure> {
        if !POINTERS.contains(&wanted) {
            return Ok(wanted.to_string());
        }
        let model = self.pointer(wanted).map(str::to_string);
        model.ok_or_else(|| no_such_pointer(wanted))
    }

    /// The agent of that name. One without models gets the default one.
    pub fn agent(&self, name: &str) -> Result<Option<Agent>, Failure> {
        let mut known = self.layers.iter().flat_map(|layer| &layer.agents);
        let agent = match known.find(|known| known.agent.name == name) {
            Some(known) => Some(known.agent.clone()),
            None => agent_file::read(&self.agents, name)?.map(|found| found.agent),
        };
        Ok(agent.map(|mut agent| {
            if agent.models.is_empty() {
                agent
                    .models
                    .extend(self.pointer("default").map(str::to_string));
            }
            agent
        }))
    }

    /// The names of the agents that are configured.
    pub fn agent_names(&self) -> Vec<String> {
        let defined = self.layers.iter().flat_map(|layer| &layer.agents);
        let defined = defined.map(|known| known.agent.name.clone());
        defined.chain(agent_file::names(&self.agents)).collect()
    }

    /// Every value that counts, and where it came from.
    pub fn settings(&self) -> Result<Vec<Setting>, Failure> {
        let mut settings = Vec::new();
        for name in POINTERS {
            let key = format!("models.{name}");
            if let Some(model) = self.default.as_deref().filter(|_| name == "default") {
                settings.push(Setting::new(key, model, Origin::Variable(DEFAULT_MODEL)));
                continue;
            }
            let origin = self.origin(|layer| Some(layer.pointer(name)?.line));
            settings.push(Setting::new(
                key,
                self.configured(name).unwrap_or("not set"),
                origin,
            ));
        }
        let origin = self.origin(|layer| Some(layer.compact_at?.1));
        let share = self
            .compact_at()
            .map(|at| format!("{:.0}%", at.share() * 100.0));
        let share = share.unwrap_or_else(|| "never".to_string());
        settings.push(Setting::new("context.compact_at", share, origin));
        let key = "context.pictures".to_string();
        let origin = self.origin(|layer| Some(layer.pictures?.1));
        settings.push(Setting {
            key,
            value: self.pictures().into(),
            origin,
        });
        let key = "files.details".to_string();
        let origin = self.origin(|layer| Some(layer.details?.1));
        settings.push(Setting {
            key,
            value: self.details().into(),
            origin,
        });
        let mut names = self.agent_names();
        names.sort();
        names.dedup();
        for name in names {
            settings.extend(self.agent_settings(&name)?);
        }
        Ok(settings)
    }

    /// Where the first file that says something says it, by the line.
    fn origin(&self, line: impl Fn(&Layer) -> Option<usize>) -> Origin {
        let found = self
            .layers
            .iter()
            .find_map(|layer| Some((&layer.path, line(layer)?)));
        found.map_or(Origin::BuiltIn, |(path, line)| Origin::File {
            path: path.clone(),
            line,
        })
    }

    fn agent_settings(&self, name: &str) -> Result<Vec<Setting>, Failure> {
        let found = self.layers.iter().find_map(|layer| {
            let known = layer.agents.iter().find(|known| known.agent.name == name)?;
            Some((known.clone(), layer.path.clone()))
        });
        let found = match found {
            Some(found) => Some(found),
            None => agent_file::read(&self.agents, name)?
                .map(|found| (found, agent_file::path(&self.agents, name))),
        };
        let Some((known, path)) = found else {
            return Ok(Vec::new());
        };
        let json = serde_json::to_value(&known.agent).unwrap_or_default();
        let setting = |property: &&str| {
            let line = known
                .lines
                .iter()
                .find(|(key, _)| key == property)
                .map(|(_, line)| *line);
            let origin = line.map_or(Origin::BuiltIn, |line| Origin::File {
                path: path.clone(),
                line,
            });
            let value = json.get(*property).cloned().unwrap_or_default();
            Setting {
                key: format!("agents.{name}.{property}"),
                value,
                origin,
            }
        };
        Ok(Agent::PROPERTIES.iter().map(setting).collect())
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
}

/// Says that no model is configured for a word that stands for one.
pub fn no_such_pointer(word: &str) -> Failure {
    let message = format!("no model is configured as {word}");
    let hint = format!("set {word} under [models] in config.toml, or name a model");
    Failure::not_found(message).or_hint(hint)
}

/// Says that there is no such agent, and which there are.
pub fn no_such_agent(name: &str, known: &[String]) -> Failure {
    let advice = match nearest(name, known.iter().map(String::as_str)) {
        Some(near) => Advice::Text(format!("did you mean {near}?")),
        None if known.is_empty() => Advice::DefineAgent(name.to_string()),
        None => Advice::NameAgent(known.to_vec()),
    };
    Failure::not_found(format!("there is no agent {name}")).or_hint(advice)
}

/// Why no file may name a recording.
pub const RECORDING_NAMED: &str = "a recording is named on the command line of chat only";

/// Whether a model can be named in a file: by a name that this version understands, and no
/// recording. Whether there is a key for it, asking will tell.
pub fn check_model(name: &str) -> Result<(), Failure> {
    if is_recording(name) {
        let message = format!("{name}: {RECORDING_NAMED}");
        return Err(Failure::usage(
            message,
            "name a model, such as openai/gpt-5-mini",
        ));
    }
    match resolve(name, &Models::default()) {
        Err(error @ ClientError::UnknownModel(_)) => Err(error.into()),
        _ => Ok(()),
    }
}

/// Whether a model is a recorded answer, which is a path on this machine.
fn is_recording(name: &str) -> bool {
    name.starts_with("replay:")
}

/// The text of a file; nothing where there is none.
fn read_text(path: &Path) -> Result<Option<String>, Failure> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        // The configuration's folder may be a file, such as in a home that is none.
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => return Ok(None),
        Err(error) => {
            let message = format!("{}: cannot read: {}", path.display(), words(&error));
            return Err(Failure::input(message));
        }
    };
    let text = String::from_utf8(bytes);
    text.map(Some).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let message = format!("{}: the bytes at offset {at} are not UTF-8", path.display());
        Failure::input(message).or_hint("convert the file to UTF-8")
    })
}

/// The file that a project may have.
const PROJECT_FILE: &str = ".analects.toml";

/// The nearest project file. The search ends with the home folder and where another file system
/// begins; and a folder that everybody may write to is nobody's project, so it ends there too, and
/// what lies in it does not count.
fn project_file(folder: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let start = Facts::of(folder)?;
    for folder in folder.ancestors() {
        let facts = Facts::of(folder)?;
        if facts.device != start.device || facts.is_everybodys {
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

fn is_same(one: &Path, other: &Path) -> bool {
    one == other || std::fs::canonicalize(one).is_ok_and(|one| one == other)
}

struct Facts {
    device: u64,
    is_everybodys: bool,
}

impl Facts {
    #[cfg(unix)]
    fn of(folder: &Path) -> Option<Facts> {
        use std::os::unix::fs::MetadataExt;
        let facts = std::fs::metadata(folder).ok()?;
        Some(Facts {
            device: facts.dev(),
            is_everybodys: facts.mode() & 0o002 != 0,
        })
    }

    #[cfg(not(unix))]
    fn of(folder: &Path) -> Option<Facts> {
        folder.is_dir().then_some(Facts {
            device: 0,
            is_everybodys: false,
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
        // A folder is no file.
        std::fs::create_dir(deep.join(PROJECT_FILE)).unwrap();
        assert_eq!(
            project_file(&deep, Some(&home)),
            Some(home.join("project").join(PROJECT_FILE))
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_of_everybody_is_nobodys_project() {
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
