//! The frontmatter of a message file: its values, such as the agents of `agents:`, and changes of single keys.
//!
//! [`read`] never fails: values that cannot be read become a [`FrontmatterProblem`] and keep their defaults.
//! [`set_string`] and [`add_agent`] return one [`super::Splice`]. They read its result back, and refuse, with the lines
//! to type instead, if anything else would read differently.

mod edit;
mod keys;
pub(crate) mod yaml;

use analects_core::{Agent, Hint, LineIndex, Problem, Severity, Span, nearest};

use super::agents::why_not_a_name;
use super::line::{head, heading};
use yaml::{Yaml, YamlEntry, YamlError, shortened};

pub(crate) use edit::line_end;
pub use edit::{Refusal, add_agent, set_string, text_span};
pub(crate) use keys::property_meant;

/// The section that holds the messages of a plain `.md` file that does not name another.
const DEFAULT_SECTION: &str = "Discussion";

/// The value of `context` with which the model sees the text above the messages.
const DOCUMENT: &str = "document";

/// The values in the frontmatter of a file that this program knows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Frontmatter {
    /// The conversation's id.
    pub id: Option<String>,
    /// The conversation's title.
    pub title: Option<String>,
    /// The section that holds the messages, if the key is present; `Discussion` if it has no value.
    pub message_section: Option<String>,
    /// The agent that answers unless a prompt names one. A cell of the file may define it.
    pub default_agent: Option<String>,
    /// The agents, in the file's order.
    pub agents: Vec<Agent>,
    /// Whether the model sees the text above the messages: `context: document`.
    pub sends_document: bool,
    /// Problems of the frontmatter.
    pub problems: Vec<FrontmatterProblem>,
}

/// A problem of frontmatter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrontmatterProblem {
    /// A stable name, such as `frontmatter-yaml`.
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// The line with the problem, as offsets in the YAML text, or the whole text if the line is unknown.
    pub span: Span,
    /// What is wrong: lower case, no full stop.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl FrontmatterProblem {
    /// The problem with its position in the file, in which the YAML text starts at `start`.
    pub fn in_file(self, start: usize, lines: &LineIndex) -> Problem {
        let span = Span::new(start + self.span.start, start + self.span.end);
        let mut problem = Problem::error(self.code, self.message).at(span, lines);
        problem.severity = self.severity;
        problem.hint = self.hint.map(Hint::from);
        problem
    }
}

/// Reads the text between the two `---` lines.
pub fn read(yaml: &str) -> Frontmatter {
    let mut reader = FrontmatterReader::new(yaml);
    let mut found = Frontmatter::default();
    match Yaml::parse(yaml) {
        Ok(tree) => reader.read_tree(&tree, &mut found),
        Err(error) => reader.unreadable(&error),
    }
    found.problems = reader.problems;
    found
}

/// Turns YAML trees into values, and collects their problems.
pub(crate) struct FrontmatterReader {
    /// The offsets at which lines start, and the end of the text.
    lines: Vec<usize>,
    pub(crate) problems: Vec<FrontmatterProblem>,
}

impl FrontmatterReader {
    pub(crate) fn new(text: &str) -> FrontmatterReader {
        FrontmatterReader {
            lines: line_starts(text),
            problems: Vec::new(),
        }
    }

    /// Reads the keys that this program knows.
    fn read_tree(&mut self, tree: &Yaml, found: &mut Frontmatter) {
        let Some(entries) = tree.entries() else {
            let message = format!("frontmatter must be a map of keys to values, not {tree}");
            self.report("frontmatter-type", Severity::Error, None, message);
            return;
        };
        for entry in entries {
            match entry.key.as_str() {
                "id" => found.id = self.text(entry).filter(|id| !id.is_empty()),
                "title" => found.title = self.text(entry),
                "message_section" => found.message_section = self.section(entry),
                "default_agent" => {
                    found.default_agent = self.text(entry).filter(|name| !name.is_empty());
                }
                "agents" => found.agents = self.agents(entry),
                "context" => found.sends_document = self.sends_document(entry),
                _ => self.other_key(entry),
            }
        }
    }

    /// Whether `context` has the value that means something here. Other values belong to the author.
    fn sends_document(&mut self, entry: &YamlEntry) -> bool {
        let Yaml::Text(value) = &entry.value else {
            return false;
        };
        if value != DOCUMENT && nearest(value, [DOCUMENT]).is_some() {
            let message = format!("context: {} has no effect", shortened(value));
            self.report("misplaced-key", Severity::Warning, entry.at, message)
                .hint = Some(format!("did you mean {DOCUMENT}?"));
        }
        value == DOCUMENT
    }

    /// Adds a problem if the author probably meant another key, or another place. All other keys belong to the author.
    fn other_key(&mut self, entry: &YamlEntry) {
        if let Some((message, hint)) = keys::misplaced(entry) {
            self.report("misplaced-key", Severity::Warning, entry.at, message)
                .hint = Some(hint);
        }
    }

    /// Adds the problem that the text is not valid YAML.
    pub(crate) fn unreadable(&mut self, error: &YamlError) {
        let message = format!("frontmatter cannot be read: {}", error.message);
        let at = error
            .line
            .and_then(|line| self.lines.get(line - 1))
            .copied();
        self.report("frontmatter-yaml", Severity::Error, at, message)
            .hint = Some(error.hint().to_string());
    }

    /// Adds a problem with the line at an offset.
    fn report(
        &mut self,
        code: &'static str,
        severity: Severity,
        at: Option<usize>,
        message: String,
    ) -> &mut FrontmatterProblem {
        let span = at.map_or(Span::new(0, self.end()), |at| self.line_at(at));
        let problem = FrontmatterProblem {
            code,
            severity,
            span,
            message,
            hint: None,
        };
        self.problems.push(problem);
        let last = self.problems.len() - 1;
        &mut self.problems[last]
    }

    fn end(&self) -> usize {
        self.lines.last().copied().unwrap_or(0)
    }

    /// The span of the line at an offset.
    fn line_at(&self, offset: usize) -> Span {
        let next = self.lines.partition_point(|start| *start <= offset);
        let start = next.checked_sub(1).and_then(|line| self.lines.get(line));
        Span::new(
            start.copied().unwrap_or(0),
            self.lines.get(next).copied().unwrap_or(self.end()),
        )
    }

    /// Adds the problem that a value has the wrong type; `expected` completes "must be".
    pub(crate) fn wrong_type(&mut self, entry: &YamlEntry, expected: &str) {
        let message = format!("{} must be {expected}, not {}", entry.key, entry.value);
        let problem = self.report("frontmatter-type", Severity::Error, entry.at, message);
        let is_unquoted = matches!(entry.value, Yaml::Bool(_) | Yaml::Int(_) | Yaml::Float(_));
        if expected == "a text" && is_unquoted {
            problem.hint = Some(format!(
                "put it in quotes: {}: \"{}\"",
                entry.key, entry.value
            ));
        }
    }

    /// A text; `None` without a value, and, with a problem, for a value of another type.
    pub(crate) fn text(&mut self, entry: &YamlEntry) -> Option<String> {
        match &entry.value {
            Yaml::Null => None,
            Yaml::Text(text) => Some(text.clone()),
            _ => {
                self.wrong_type(entry, "a text");
                None
            }
        }
    }

    /// The name of the section, if it can be the text of a heading.
    fn section(&mut self, entry: &YamlEntry) -> Option<String> {
        if entry.value == Yaml::Null {
            return Some(DEFAULT_SECTION.to_string());
        }
        let text = self.text(entry)?;
        if text.is_empty() {
            return Some(DEFAULT_SECTION.to_string());
        }
        let name = text.trim();
        // Only a name that is read back from its own heading can be found again.
        let line = format!("## {name}");
        let found = heading(line.as_bytes(), name).is_some() && head(line.as_bytes()).is_none();
        if !found || name.is_empty() || name.contains(['\n', '\r']) {
            let shown = &entry.value;
            let message = format!("message_section must be the text of a heading, not {shown}");
            self.report("frontmatter-type", Severity::Error, entry.at, message)
                .hint = Some(format!("message_section: {DEFAULT_SECTION}"));
            return None;
        }
        Some(name.to_string())
    }
}

/// The offsets at which lines start, and the end. In YAML, a lone `\r` ends a line too.
fn line_starts(text: &str) -> Vec<usize> {
    let bytes = text.as_bytes();
    let ends = |at: &usize| match bytes[*at] {
        b'\n' => true,
        b'\r' => bytes.get(at + 1) != Some(&b'\n'),
        _ => false,
    };
    let mut starts = vec![0];
    starts.extend((0..bytes.len()).filter(ends).map(|at| at + 1));
    if starts.last() != Some(&bytes.len()) {
        starts.push(bytes.len());
    }
    starts
}

impl FrontmatterReader {
    /// The agents of `agents:`, without those that have invalid names.
    fn agents(&mut self, entry: &YamlEntry) -> Vec<Agent> {
        let Some(entries) = entry.value.entries() else {
            self.wrong_type(entry, "a map of names to properties");
            return Vec::new();
        };
        entries
            .iter()
            .filter_map(|entry| self.agent(entry))
            .collect()
    }

    /// One agent. Properties that cannot be read keep their defaults.
    fn agent(&mut self, entry: &YamlEntry) -> Option<Agent> {
        if let Some((code, message)) = why_not_a_name(&entry.key) {
            self.report(code, Severity::Error, entry.at, message);
            return None;
        }
        let mut agent = Agent {
            name: entry.key.clone(),
            ..Agent::default()
        };
        let Some(properties) = entry.value.entries() else {
            let (name, value) = (shortened(&entry.key), &entry.value);
            let message = format!("agent {name:?} must be a map of properties, not {value}");
            self.report("frontmatter-type", Severity::Error, entry.at, message)
                .hint = Some(format!("{name}: {{ models: [MODEL] }}"));
            return Some(agent);
        };
        for property in properties {
            self.property(&mut agent, property);
        }
        if agent.models.is_empty() {
            let message = format!("agent {:?} names no models", shortened(&entry.key));
            self.report("agent-without-models", Severity::Hint, entry.at, message)
                .hint = Some("models: [MODEL]".to_string());
        }
        Some(agent)
    }

    /// Sets one property of an agent.
    fn property(&mut self, agent: &mut Agent, entry: &YamlEntry) {
        // A key without a value keeps the default.
        if entry.value == Yaml::Null && Agent::PROPERTIES.contains(&entry.key.as_str()) {
            return;
        }
        match entry.key.as_str() {
            "models" => set(&mut agent.models, self.models(entry)),
            "context_window" => agent.context_window = self.count(entry),
            "max_output_tokens" => set(&mut agent.max_output_tokens, self.count(entry)),
            "reasoning" => set(&mut agent.reasoning, self.truth(entry)),
            "use_temperature" => set(&mut agent.use_temperature, self.truth(entry)),
            "temperature" => set(&mut agent.temperature, self.number(entry)),
            "system_prompt" => agent.system_prompt = self.text(entry),
            _ => self.unknown_key(entry),
        }
    }

    /// A list of models, or a single one.
    fn models(&mut self, entry: &YamlEntry) -> Option<Vec<String>> {
        let as_text = |item: &Yaml| match item {
            Yaml::Text(text) if !text.trim().is_empty() => Some(text.clone()),
            _ => None,
        };
        let models = match &entry.value {
            Yaml::List(items) => items.iter().map(as_text).collect(),
            one => as_text(one).map(|model| vec![model]),
        };
        if models.is_none() {
            self.wrong_type(entry, "a list of names");
        }
        models
    }

    /// A whole number that is not negative.
    fn count(&mut self, entry: &YamlEntry) -> Option<u64> {
        let count = match entry.value {
            Yaml::Int(number) => u64::try_from(number).ok(),
            _ => None,
        };
        if count.is_none() {
            self.wrong_type(entry, "a whole number");
        }
        count
    }

    fn truth(&mut self, entry: &YamlEntry) -> Option<bool> {
        if let Yaml::Bool(value) = entry.value {
            return Some(value);
        }
        self.wrong_type(entry, "true or false");
        None
    }

    fn number(&mut self, entry: &YamlEntry) -> Option<f64> {
        match entry.value {
            Yaml::Float(number) => Some(number),
            Yaml::Int(number) => Some(number as f64),
            _ => {
                self.wrong_type(entry, "a number");
                None
            }
        }
    }

    /// Adds the problem of an unknown property, with a similar one as the hint.
    fn unknown_key(&mut self, entry: &YamlEntry) {
        let message = format!("unknown agent property {:?}", shortened(&entry.key));
        self.report("unknown-agent-key", Severity::Warning, entry.at, message)
            .hint = Some(keys::instead_of_property(&entry.key));
    }
}

/// Sets a property if there is a value.
fn set<T>(property: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *property = value;
    }
}

#[cfg(test)]
mod tests;
