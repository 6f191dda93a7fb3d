//! One configuration file as values, each with its line. No message repeats a value: it may be a
//! secret in the wrong place.

use std::path::{Path, PathBuf};

use analects_context::Threshold;
use analects_core::{Agent, LineIndex, nearest};
use analects_formats::msgfile::frontmatter;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{POINTERS, is_recording};
use crate::failure::Failure;

/// The keys that a configuration file has.
const KEYS: [&str; 4] = ["models", "agents", "context", "files"];
/// The keys of `[context]`.
const CONTEXT_KEYS: [&str; 2] = ["compact_at", "pictures"];

/// The keys of `[files]`.
const FILES_KEYS: [&str; 1] = ["details"];

/// Parts of names of things that a project must not decide for the person who works in it.
const NOT_FOR_PROJECTS: [&str; 15] = [
    "url", "endpoint", "host", "key", "token", "secret", "password", "command", "exec", "hook",
    "server", "mcp", "store", "price", "prox",
];

/// Whose file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// The person's own.
    Person,
    /// One that came with a project.
    Project,
}

/// What one file says.
#[derive(Debug, Default)]
pub struct Layer {
    pub path: PathBuf,
    pub pointers: Vec<Pointer>,
    pub agents: Vec<KnownAgent>,
    /// When a conversation is compacted by itself; the line.
    pub compact_at: Option<(CompactAt, usize)>,
    /// Whether the pictures of message files are sent without asking; the line.
    pub pictures: Option<(bool, usize)>,
    /// Whether message files say everything about an answer; the line.
    pub details: Option<(bool, usize)>,
    /// What is odd, each in one line with its place.
    pub warnings: Vec<String>,
}

impl Layer {
    /// What it says of a word that stands for a model.
    pub fn pointer(&self, name: &str) -> Option<&Pointer> {
        self.pointers.iter().find(|pointer| pointer.name == name)
    }
}

/// When a conversation is compacted without anybody asking.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CompactAt {
    /// When so much of the window is full.
    Share(Threshold),
    Never,
}

/// A word that stands for a model.
#[derive(Debug)]
pub struct Pointer {
    pub name: &'static str,
    pub model: String,
    pub line: usize,
}

/// An agent, and the lines of its properties.
#[derive(Debug, Clone)]
pub struct KnownAgent {
    pub agent: Agent,
    pub lines: Vec<(&'static str, usize)>,
}

type Key<'i> = Spanned<std::borrow::Cow<'i, str>>;
type Value<'i> = Spanned<DeValue<'i>>;

/// Reads a file's text.
pub fn read(text: &str, path: &Path, owner: Owner) -> Result<Layer, Failure> {
    let mut reader = Reader {
        path,
        owner,
        lines: LineIndex::new(text.as_bytes()),
        warnings: vec![],
    };
    // A byte-order mark is no part of TOML, but of some editors' files.
    let blanked = text
        .strip_prefix('\u{feff}')
        .map(|rest| format!("   {rest}"));
    let text = blanked.as_deref().unwrap_or(text);
    let table = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        reader.failure(at, error.message().lines().next().unwrap_or("not TOML"))
    })?;
    let mut layer = Layer {
        path: path.to_path_buf(),
        ..Layer::default()
    };
    for (key, value) in table.get_ref() {
        match key.get_ref().as_ref() {
            "models" => layer.pointers = reader.pointers(key, value)?,
            "agents" => layer.agents = reader.agents(key, value)?,
            "context" => reader.context(key, value, &mut layer)?,
            "files" => reader.files(key, value, &mut layer)?,
            _ => reader.unknown(key, value, "", &KEYS)?,
        }
    }
    layer.warnings = reader.warnings;
    Ok(layer)
}

struct Reader<'a> {
    path: &'a Path,
    owner: Owner,
    lines: LineIndex<'a>,
    warnings: Vec<String>,
}

impl Reader<'_> {
    fn line(&self, key: &Key<'_>) -> usize {
        self.lines.position(key.span().start).0
    }

    fn place(&self, at: usize) -> String {
        let (line, column) = self.lines.position(at);
        format!("{}:{line}:{column}", self.path.display())
    }

    fn failure(&self, at: usize, message: &str) -> Failure {
        Failure::input(format!("{}: {message}", self.place(at)))
    }

    fn wrong(&self, key: &Key<'_>, value: &Value<'_>, expected: &str) -> Failure {
        let found = value.get_ref().type_str();
        let found = if found == "table" {
            "a table".to_string()
        } else {
            format!("of type {found}")
        };
        let message = format!("{} must be {expected}, and is {found}", key.get_ref());
        self.failure(value.span().start, &message)
    }

    fn table<'v, 'i>(
        &self,
        key: &Key<'i>,
        value: &'v Value<'i>,
    ) -> Result<&'v DeTable<'i>, Failure> {
        value
            .get_ref()
            .as_table()
            .ok_or_else(|| self.wrong(key, value, "a table"))
    }

    /// A key that means nothing: a warning, or for some in a project's file an error.
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
                "keys are read from the environment only, so take it out of the file: analects config \
                 show has the names of the variables"
                    .to_string()
            }
            None => format!("expected one of {}", known.join(", ")),
        };
        let place = self.place(key.span().start);
        self.warnings.push(format!(
            "{place}: warning: unknown key {inside}{}; {hint}",
            key.get_ref()
        ));
        Ok(())
    }

    /// Looks for what a project must not decide, in a key that means nothing and everything below it.
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
                    table
                        .iter()
                        .try_for_each(|(key, value)| self.refuse_for_projects(key, value))?;
                }
                DeValue::Array(items) => open.extend(items.iter().map(Spanned::get_ref)),
                _ => {}
            }
        }
        Ok(())
    }

    fn pointers(&mut self, key: &Key<'_>, value: &Value<'_>) -> Result<Vec<Pointer>, Failure> {
        let mut pointers = Vec::new();
        for (key, value) in self.table(key, value)? {
            let Some(name) = POINTERS
                .iter()
                .find(|name| **name == key.get_ref().as_ref())
            else {
                self.unknown(key, value, "models.", &POINTERS)?;
                continue;
            };
            let model = self.model(key, value)?;
            pointers.push(Pointer {
                name,
                model,
                line: self.line(key),
            });
        }
        Ok(pointers)
    }

    /// The name of a model. Whether this version knows it, asking will tell: a configuration may be
    /// older or newer than the program.
    fn model(&self, key: &Key<'_>, value: &Value<'_>) -> Result<String, Failure> {
        let name = value
            .get_ref()
            .as_str()
            .ok_or_else(|| self.wrong(key, value, "a text"))?;
        let at = value.span().start;
        if name.trim().is_empty() {
            return Err(self.failure(at, &format!("{} must name a model", key.get_ref())));
        }
        if is_recording(name) {
            let failure = self.failure(at, "a recording is named on the command line of chat only");
            return Err(failure.or_hint("name a model, such as openai/gpt-5-mini"));
        }
        Ok(name.to_string())
    }

    fn context(
        &mut self,
        key: &Key<'_>,
        value: &Value<'_>,
        layer: &mut Layer,
    ) -> Result<(), Failure> {
        for (key, value) in self.table(key, value)? {
            let line = self.line(key);
            match key.get_ref().as_ref() {
                "compact_at" => layer.compact_at = Some((self.compact_at(value)?, line)),
                "pictures" => layer.pictures = Some((self.pictures(key, value)?, line)),
                _ => self.unknown(key, value, "context.", &CONTEXT_KEYS)?,
            }
        }
        Ok(())
    }

    fn files(
        &mut self,
        key: &Key<'_>,
        value: &Value<'_>,
        layer: &mut Layer,
    ) -> Result<(), Failure> {
        for (key, value) in self.table(key, value)? {
            if key.get_ref() == "details" {
                layer.details = Some((self.truth(key, value)?, self.line(key)));
            } else {
                self.unknown(key, value, "files.", &FILES_KEYS)?;
            }
        }
        Ok(())
    }

    fn truth(&self, key: &Key<'_>, value: &Value<'_>) -> Result<bool, Failure> {
        value
            .get_ref()
            .as_bool()
            .ok_or_else(|| self.wrong(key, value, "true or false"))
    }

    fn compact_at(&self, value: &Value<'_>) -> Result<CompactAt, Failure> {
        let text = match value.get_ref() {
            DeValue::String(text) => text.to_string(),
            other => number(other)
                .map(|number| number.to_string())
                .unwrap_or_default(),
        };
        if text == "never" {
            return Ok(CompactAt::Never);
        }
        let share = text.parse().map_err(|_| {
            let message = "compact_at must be a share of the window, or never";
            let failure = self.failure(value.span().start, message);
            failure.or_hint("write 0.85, 85 or \"85%\"")
        })?;
        Ok(CompactAt::Share(share))
    }

    /// Whether pictures are sent without asking, which is the person's decision.
    fn pictures(&self, key: &Key<'_>, value: &Value<'_>) -> Result<bool, Failure> {
        if self.owner == Owner::Project {
            let failure = self.failure(key.span().start, "a project may not set pictures");
            return Err(failure.or_hint("set it in your own config.toml, or pass --pictures"));
        }
        self.truth(key, value)
    }

    fn agents(&mut self, key: &Key<'_>, value: &Value<'_>) -> Result<Vec<KnownAgent>, Failure> {
        let mut agents = Vec::new();
        for (key, value) in self.table(key, value)? {
            agents.push(self.agent(key, value)?);
        }
        Ok(agents)
    }

    fn agent(&mut self, key: &Key<'_>, value: &Value<'_>) -> Result<KnownAgent, Failure> {
        let mut known = KnownAgent {
            agent: Agent {
                name: key.get_ref().to_string(),
                ..Agent::default()
            },
            lines: Vec::new(),
        };
        // A name that no message file can hold is none.
        if let Err(refusal) = frontmatter::add_agent(b"", None, &known.agent) {
            return Err(self.failure(key.span().start, &refusal.message));
        }
        for (property, value) in self.table(key, value)? {
            let name = Agent::PROPERTIES
                .iter()
                .find(|name| **name == property.get_ref().as_ref());
            let Some(name) = name else {
                self.unknown(
                    property,
                    value,
                    &format!("agents.{}.", key.get_ref()),
                    &Agent::PROPERTIES,
                )?;
                continue;
            };
            self.property(&mut known.agent, name, property, value)?;
            known.lines.push((name, self.line(property)));
        }
        Ok(known)
    }

    fn property(
        &self,
        agent: &mut Agent,
        name: &str,
        key: &Key<'_>,
        value: &Value<'_>,
    ) -> Result<(), Failure> {
        let wrong = |expected: &str| self.wrong(key, value, expected);
        let found = value.get_ref();
        let count = || whole(found).ok_or_else(|| wrong("a whole number"));
        match name {
            "models" => agent.models = self.models(key, value)?,
            "context_window" => agent.context_window = Some(count()?),
            "max_output_tokens" => agent.max_output_tokens = count()?,
            "reasoning" => agent.reasoning = self.truth(key, value)?,
            "use_temperature" => agent.use_temperature = self.truth(key, value)?,
            "temperature" => {
                agent.temperature = number(found).ok_or_else(|| wrong("a number"))?;
            }
            _ => {
                let text = found.as_str().ok_or_else(|| wrong("a text"))?;
                agent.system_prompt = Some(text.to_string());
            }
        }
        Ok(())
    }

    fn models(&self, key: &Key<'_>, value: &Value<'_>) -> Result<Vec<String>, Failure> {
        match value.get_ref() {
            DeValue::Array(items) => items.iter().map(|item| self.model(key, item)).collect(),
            _ => Ok(vec![self.model(key, value)?]),
        }
    }
}

fn whole(value: &DeValue<'_>) -> Option<u64> {
    let number = value.as_integer()?;
    u64::from_str_radix(number.as_str().trim_start_matches('+'), number.radix()).ok()
}

fn number(value: &DeValue<'_>) -> Option<f64> {
    let float = value
        .as_float()
        .and_then(|float| float.as_str().parse::<f64>().ok());
    let number = float.or_else(|| whole(value).map(|number| number as f64));
    number.filter(|number| number.is_finite())
}

/// Whether somebody keeps a key for a provider there.
fn is_secret(key: &Key<'_>, value: &Value<'_>) -> bool {
    let name = key.get_ref().to_lowercase();
    let is_named = ["key", "token", "secret"]
        .iter()
        .any(|word| name.ends_with(word));
    let inside = value.get_ref().as_table();
    is_named || inside.is_some_and(|table| table.iter().any(|(key, value)| is_secret(key, value)))
}

#[cfg(test)]
mod tests;
