//! Reads one configuration file into values, each with its line. No message repeats a value: it may be a secret in the
//! wrong place.
//!
//! Unknown keys are warnings, so that one file serves several versions of the program. Wrong values are errors, with
//! the position in the file. Values are never quoted in messages, since one may be a key that was pasted in the wrong
//! place.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use analects_context::Threshold;
use analects_core::{Agent, LineIndex, nearest};
use analects_formats::msgfile::frontmatter;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{NO_RECORDING_HERE, POINTERS, is_recording};
use crate::failure::Failure;

/// The keys of a configuration file.
const KEYS: [&str; 4] = ["models", "agents", "context", "files"];
/// The keys of `[context]`.
pub(super) const CONTEXT_KEYS: [&str; 2] = ["compact_at", "pictures"];
/// The keys of `[files]`.
pub(super) const FILES_KEYS: [&str; 1] = ["details"];

/// Parts of the names of settings that a project must not decide for the person who works in it.
const NOT_FOR_PROJECTS: [&str; 15] = [
    "url", "endpoint", "host", "key", "token", "secret", "password", "command", "exec", "hook",
    "server", "mcp", "store", "price", "prox",
];

/// The endings of keys whose values are probably secret.
pub(super) const SECRET_ENDINGS: [&str; 3] = ["key", "token", "secret"];

/// Whose file it is.
/// Decides which settings are allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// Your own.
    Person,
    /// One that came with a project.
    Project,
}

/// What one file says.
/// A value that is not set is `None`, so that another file may set it. Lines count from 1.
#[derive(Debug, Default)]
pub struct ConfigFile {
    /// Where it is, as messages name it.
    pub path: PathBuf,
    /// The models of `[models]`.
    pub pointers: Vec<ModelPointer>,
    /// The agents of `[agents.NAME]`.
    pub agents: Vec<AgentDefinition>,
    /// When to compact a conversation automatically, and the line.
    pub compact_at: Option<(CompactAt, usize)>,
    /// Whether to send the pictures of message files without asking, and the line.
    pub pictures: Option<(bool, usize)>,
    /// Whether message files get all details of an answer, and the line.
    pub details: Option<(bool, usize)>,
    /// Warnings, each in one line with its position.
    pub warnings: Vec<String>,
}

impl ConfigFile {
    /// The pointer with this name.
    /// `None` if this file does not set it; another may.
    pub fn pointer(&self, name: &str) -> Option<&ModelPointer> {
        self.pointers.iter().find(|pointer| pointer.name == name)
    }

    /// The agent with this name.
    pub fn agent(&self, name: &str) -> Option<&AgentDefinition> {
        self.agents
            .iter()
            .find(|definition| definition.agent.name == name)
    }
}

/// When a conversation is compacted automatically.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CompactAt {
    /// When this share of the window is full.
    Share(Threshold),
    Never,
}

/// A word that stands for a model.
#[derive(Debug)]
pub struct ModelPointer {
    /// One of [`POINTERS`].
    pub name: &'static str,
    /// The name of the model, which may be unknown.
    pub model: String,
    /// The line that sets it, from 1.
    pub line: usize,
}

/// An agent, and the lines of the properties that are set.
#[derive(Debug, Clone)]
pub struct AgentDefinition {
    /// The agent, with defaults for what is not set.
    pub agent: Agent,
    /// Each property that is set, and its line.
    pub lines: Vec<(&'static str, usize)>,
}

impl AgentDefinition {
    /// The line that sets this property. `None` for a default.
    pub fn line_of(&self, property: &str) -> Option<usize> {
        let entry = self.lines.iter().find(|(name, _)| *name == property)?;
        Some(entry.1)
    }
}

/// A key with its position.
type Key<'i> = Spanned<Cow<'i, str>>;
/// A value with its position.
type Value<'i> = Spanned<DeValue<'i>>;

/// Reads the text of a file. Unknown keys give warnings. Fails on anything else that is wrong.
/// `path` is for messages only; the file itself is not read here.
pub fn read(text: &str, path: &Path, owner: Owner) -> Result<ConfigFile, Failure> {
    let mut reader = ConfigReader {
        path,
        owner,
        lines: LineIndex::new(text.as_bytes()),
        warnings: vec![],
    };
    let text = blank_byte_order_mark(text);
    let table = DeTable::parse(&text).map_err(|error| reader.syntax_failure(&error))?;
    let mut file = ConfigFile {
        path: path.to_path_buf(),
        ..ConfigFile::default()
    };
    for (key, value) in table.get_ref() {
        reader.top_level(key, value, &mut file)?;
    }
    file.warnings = reader.warnings;
    Ok(file)
}

/// Replaces the byte-order mark that some editors write, which TOML does not know, by blanks of the same length.
/// The same length keeps the positions right.
pub(super) fn blank_byte_order_mark(text: &str) -> Cow<'_, str> {
    match text.strip_prefix('\u{feff}') {
        Some(rest) => format!("   {rest}").into(),
        None => text.into(),
    }
}

/// Reads the tables of one file.
struct ConfigReader<'a> {
    path: &'a Path,
    /// Decides which keys are errors.
    owner: Owner,
    lines: LineIndex<'a>,
    warnings: Vec<String>,
}

impl ConfigReader<'_> {
    /// Reads one key at the top of the file, and what is below it.
    fn top_level(
        &mut self,
        key: &Key<'_>,
        value: &Value<'_>,
        file: &mut ConfigFile,
    ) -> Result<(), Failure> {
        match key.get_ref().as_ref() {
            "models" => file.pointers = self.pointers(key, value)?,
            "agents" => file.agents = self.agents(key, value)?,
            "context" => self.context(key, value, file)?,
            "files" => self.files(key, value, file)?,
            _ => self.unknown(key, value, "", &KEYS)?,
        }
        Ok(())
    }

    /// The failure for a text that is not TOML. Only the first line of the parser's message: others quote the text.
    fn syntax_failure(&self, error: &toml::de::Error) -> Failure {
        let at = error.span().map_or(0, |span| span.start);
        self.failure(at, error.message().lines().next().unwrap_or("not TOML"))
    }

    /// The line of a key, from 1.
    fn line(&self, key: &Key<'_>) -> usize {
        self.lines.position(key.span().start).0
    }

    /// A byte offset as `path:line:column`.
    fn position(&self, at: usize) -> String {
        let (line, column) = self.lines.position(at);
        format!("{}:{line}:{column}", self.path.display())
    }

    /// A failure at a byte offset.
    fn failure(&self, at: usize, message: &str) -> Failure {
        Failure::input(format!("{}: {message}", self.position(at)))
    }

    /// The failure for a value of the wrong type. It names the type but not the value.
    fn wrong_type(&self, key: &Key<'_>, value: &Value<'_>, expected: &str) -> Failure {
        let found = match value.get_ref().type_str() {
            "table" => "a table".to_string(),
            other => format!("of type {other}"),
        };
        let message = format!("{} must be {expected}, and is {found}", key.get_ref());
        self.failure(value.span().start, &message)
    }

    /// The table under a key.
    fn table<'v, 'i>(
        &self,
        key: &Key<'i>,
        value: &'v Value<'i>,
    ) -> Result<&'v DeTable<'i>, Failure> {
        value
            .get_ref()
            .as_table()
            .ok_or_else(|| self.wrong_type(key, value, "a table"))
    }

    /// Warns about a key that is not one of `known`. In a project's file, some are errors. `inside` is the name of its
    /// table, with a dot.
    /// Suggests a similar key if there is one.
    fn unknown(
        &mut self,
        key: &Key<'_>,
        value: &Value<'_>,
        inside: &str,
        known: &[&'static str],
    ) -> Result<(), Failure> {
        self.refuse_for_projects(key, value)?;
        let hint = match nearest(key.get_ref(), known.iter().copied()) {
            Some(near) => format!("did you mean {near}?"),
            None if is_secret(key, value) => {
                "keys are read from the environment only, so remove it from the file; analects config show \
                 lists the variables"
                    .to_string()
            }
            None => format!("expected one of {}", known.join(", ")),
        };
        let position = self.position(key.span().start);
        self.warnings.push(format!(
            "{position}: warning: unknown key {inside}{}; {hint}",
            key.get_ref()
        ));
        Ok(())
    }

    /// Fails if an unknown key of a project's file, or any key below it, looks like a setting that a project must not
    /// decide.
    /// A warning would not do: somebody may rely on the setting that a project tries to change.
    fn refuse_for_projects(&self, key: &Key<'_>, value: &Value<'_>) -> Result<(), Failure> {
        if self.owner == Owner::Person {
            return Ok(());
        }
        let name = key.get_ref().to_lowercase();
        if NOT_FOR_PROJECTS.iter().any(|part| name.contains(part)) {
            let message = format!("a project may not set {}", key.get_ref());
            let failure = self.failure(key.span().start, &message);
            return Err(failure
                .or_hint("a project's file may set [models], [agents.NAME] and [context] only"));
        }
        let mut open = vec![value.get_ref()];
        while let Some(value) = open.pop() {
            match value {
                DeValue::Table(table) => {
                    for (key, value) in table {
                        self.refuse_for_projects(key, value)?;
                    }
                }
                DeValue::Array(items) => open.extend(items.iter().map(Spanned::get_ref)),
                _ => {}
            }
        }
        Ok(())
    }

    /// Reads `[models]`.
    /// Keys that are no pointer give a warning.
    fn pointers(&mut self, key: &Key<'_>, value: &Value<'_>) -> Result<Vec<ModelPointer>, Failure> {
        let mut pointers = Vec::new();
        for (key, value) in self.table(key, value)? {
            let name = POINTERS.into_iter().find(|name| *name == key.get_ref());
            let Some(name) = name else {
                self.unknown(key, value, "models.", &POINTERS)?;
                continue;
            };
            pointers.push(ModelPointer {
                name,
                model: self.model(key, value)?,
                line: self.line(key),
            });
        }
        Ok(pointers)
    }

    /// The name of a model. An unknown one is reported only when it is asked: a configuration may be older or newer
    /// than the program.
    fn model(&self, key: &Key<'_>, value: &Value<'_>) -> Result<String, Failure> {
        let name = value
            .get_ref()
            .as_str()
            .ok_or_else(|| self.wrong_type(key, value, "a string"))?;
        let at = value.span().start;
        if name.trim().is_empty() {
            return Err(self.failure(at, &format!("{} must name a model", key.get_ref())));
        }
        if is_recording(name) {
            let failure = self.failure(at, NO_RECORDING_HERE);
            return Err(failure.or_hint("name a model, such as openai/gpt-5-mini"));
        }
        Ok(name.to_string())
    }

    /// Reads `[context]`.
    fn context(
        &mut self,
        key: &Key<'_>,
        value: &Value<'_>,
        file: &mut ConfigFile,
    ) -> Result<(), Failure> {
        for (key, value) in self.table(key, value)? {
            let line = self.line(key);
            match key.get_ref().as_ref() {
                "compact_at" => file.compact_at = Some((self.compact_at(value)?, line)),
                "pictures" => file.pictures = Some((self.pictures(key, value)?, line)),
                _ => self.unknown(key, value, "context.", &CONTEXT_KEYS)?,
            }
        }
        Ok(())
    }

    /// Reads `[files]`.
    fn files(
        &mut self,
        key: &Key<'_>,
        value: &Value<'_>,
        file: &mut ConfigFile,
    ) -> Result<(), Failure> {
        for (key, value) in self.table(key, value)? {
            if key.get_ref() == "details" {
                file.details = Some((self.bool(key, value)?, self.line(key)));
            } else {
                self.unknown(key, value, "files.", &FILES_KEYS)?;
            }
        }
        Ok(())
    }

    /// A value that must be true or false.
    fn bool(&self, key: &Key<'_>, value: &Value<'_>) -> Result<bool, Failure> {
        value
            .get_ref()
            .as_bool()
            .ok_or_else(|| self.wrong_type(key, value, "true or false"))
    }

    /// A share such as `0.85`, `85` or `"85%"`, or `"never"`.
    /// Whether a number above 1 is a percentage is up to [`Threshold`].
    fn compact_at(&self, value: &Value<'_>) -> Result<CompactAt, Failure> {
        let text = match value.get_ref() {
            DeValue::String(text) => text.to_string(),
            other => number(other)
                .map(|number| number.to_string())
                .unwrap_or_default(),
        };
        compact_at(&text).ok_or_else(|| {
            let message = "compact_at must be a share of the window, or never";
            let failure = self.failure(value.span().start, message);
            failure.or_hint("write 0.85, 85 or \"85%\"")
        })
    }

    /// Whether to send pictures without asking. A project must not decide this.
    fn pictures(&self, key: &Key<'_>, value: &Value<'_>) -> Result<bool, Failure> {
        if self.owner == Owner::Project {
            let failure = self.failure(key.span().start, "a project may not set pictures");
            return Err(failure.or_hint("set it in your own config.toml, or pass --pictures"));
        }
        self.bool(key, value)
    }

    /// Reads `[agents]`.
    fn agents(
        &mut self,
        key: &Key<'_>,
        value: &Value<'_>,
    ) -> Result<Vec<AgentDefinition>, Failure> {
        let mut agents = Vec::new();
        for (key, value) in self.table(key, value)? {
            agents.push(self.agent(key, value)?);
        }
        Ok(agents)
    }

    /// Reads `[agents.NAME]`.
    /// Fails if the name could not be written into a message file.
    fn agent(&mut self, key: &Key<'_>, value: &Value<'_>) -> Result<AgentDefinition, Failure> {
        let mut definition = AgentDefinition {
            agent: Agent {
                name: key.get_ref().to_string(),
                ..Agent::default()
            },
            lines: Vec::new(),
        };
        // The name must fit into the frontmatter of a message file.
        if let Err(refusal) = frontmatter::add_agent(b"", None, &definition.agent) {
            return Err(self.failure(key.span().start, &refusal.message));
        }
        for (property, value) in self.table(key, value)? {
            let mut names = Agent::PROPERTIES.into_iter();
            let Some(name) = names.find(|name| *name == property.get_ref()) else {
                let inside = format!("agents.{}.", key.get_ref());
                self.unknown(property, value, &inside, &Agent::PROPERTIES)?;
                continue;
            };
            self.property(&mut definition.agent, name, property, value)?;
            definition.lines.push((name, self.line(property)));
        }
        Ok(definition)
    }

    /// Sets a property of an agent. `key` is its position in the file.
    /// `name` is one of [`Agent::PROPERTIES`].
    fn property(
        &self,
        agent: &mut Agent,
        name: &str,
        key: &Key<'_>,
        value: &Value<'_>,
    ) -> Result<(), Failure> {
        match name {
            "models" => agent.models = self.models(key, value)?,
            "context_window" => agent.context_window = Some(self.count(key, value)?),
            "max_output_tokens" => agent.max_output_tokens = self.count(key, value)?,
            "reasoning" => agent.reasoning = self.bool(key, value)?,
            "use_temperature" => agent.use_temperature = self.bool(key, value)?,
            "temperature" => {
                agent.temperature = number(value.get_ref())
                    .ok_or_else(|| self.wrong_type(key, value, "a number"))?;
            }
            _ => {
                let text = value.get_ref().as_str();
                let text = text.ok_or_else(|| self.wrong_type(key, value, "a string"))?;
                agent.system_prompt = Some(text.to_string());
            }
        }
        Ok(())
    }

    /// A value that must be a whole number.
    fn count(&self, key: &Key<'_>, value: &Value<'_>) -> Result<u64, Failure> {
        whole_number(value.get_ref()).ok_or_else(|| self.wrong_type(key, value, "a whole number"))
    }

    /// The models of an agent: a name, or a list of names.
    fn models(&self, key: &Key<'_>, value: &Value<'_>) -> Result<Vec<String>, Failure> {
        match value.get_ref() {
            DeValue::Array(items) => items.iter().map(|item| self.model(key, item)).collect(),
            _ => Ok(vec![self.model(key, value)?]),
        }
    }
}

/// A share such as `0.85`, `85` or `85%`, or `never`.
pub(super) fn compact_at(text: &str) -> Option<CompactAt> {
    if text == "never" {
        return Some(CompactAt::Never);
    }
    text.parse().ok().map(CompactAt::Share)
}

/// The value of an integer that is not negative.
/// Hexadecimal, octal and binary numbers count too.
fn whole_number(value: &DeValue<'_>) -> Option<u64> {
    let integer = value.as_integer()?;
    u64::from_str_radix(integer.as_str().trim_start_matches('+'), integer.radix()).ok()
}

/// The value of a float, or of an integer that is not negative. `None` for infinity and for what is no number.
fn number(value: &DeValue<'_>) -> Option<f64> {
    let number = match value.as_float() {
        Some(float) => float.as_str().parse::<f64>().ok()?,
        None => whole_number(value)? as f64,
    };
    Some(number).filter(|number| number.is_finite())
}

/// Whether this key, or a key below it, looks like a secret.
/// Only for the hint: such a key is not read either way.
fn is_secret(key: &Key<'_>, value: &Value<'_>) -> bool {
    let name = key.get_ref().to_lowercase();
    if SECRET_ENDINGS.iter().any(|ending| name.ends_with(ending)) {
        return true;
    }
    match value.get_ref().as_table() {
        Some(table) => table.iter().any(|(key, value)| is_secret(key, value)),
        None => false,
    }
}

#[cfg(test)]
mod tests;
