//! Changes of frontmatter as splices. A line is found and replaced as text; then the result is read back, and is refused
//! unless it is the old tree with this one change.

use analects_core::{Agent, Span};

use super::FrontmatterReader;
use super::yaml::{Yaml, YamlEntry, is_plain, must_be_escaped, scalar};
use crate::msgfile::Splice;
use crate::msgfile::agents::why_not_a_name;
use crate::msgfile::line::is_blank;
use crate::msgfile::scan::{SourceLine, spanned_lines as lines};

const BOM: &[u8] = b"\xef\xbb\xbf";
const INDENT: &str = "  ";

/// Why a change cannot be made, and what to type instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The reason: lower case, no full stop.
    pub message: String,
    /// The line, or the lines, that would make the change.
    pub type_this: String,
}

/// Sets a top-level key to a text by changing or adding one line. `frontmatter` is the span from the opening `---` line
/// to the closing one, including line ends.
pub fn set_string(
    source: &[u8],
    frontmatter: Option<Span>,
    key: &str,
    value: &str,
) -> Result<Splice, Refusal> {
    let line = format!("{}: {}", scalar(key), scalar(value));
    let refuse = |message: String| Refusal {
        message,
        type_this: line.clone(),
    };
    if !is_plain(key) {
        return Err(refuse(format!("{key:?} is not a key that can be set")));
    }
    let Some(span) = frontmatter else {
        let wanted = Yaml::Null.with(key, Yaml::Text(value.to_string()));
        return create(source, &line, |tree| Some(tree) == wanted.as_ref()).map_err(refuse);
    };
    set_in(
        &EditableFrontmatter::new(source, span).map_err(refuse)?,
        key,
        value,
        &line,
    )
    .map_err(refuse)
}

/// Adds an agent after the existing ones. Properties with default values are left out.
pub fn add_agent(
    source: &[u8],
    frontmatter: Option<Span>,
    agent: &Agent,
) -> Result<Splice, Refusal> {
    let typed = format!("agents:\n{}", agent_lines(agent, INDENT, INDENT).join("\n"));
    let refuse = |message: String| Refusal {
        message,
        type_this: typed.clone(),
    };
    if let Some((_, message)) = why_not_a_name(&agent.name) {
        return Err(refuse(message));
    }
    let Some(span) = frontmatter else {
        let is_right = |tree: &Yaml| adds_agent(&Yaml::Null, tree, agent);
        return create(source, &typed, is_right).map_err(refuse);
    };
    add_agent_in(
        &EditableFrontmatter::new(source, span).map_err(refuse)?,
        agent,
        &typed,
    )
    .map_err(refuse)
}

/// Creates frontmatter at the start of the file, after a byte-order mark.
fn create(
    source: &[u8],
    yaml_lines: &str,
    is_right: impl Fn(&Yaml) -> bool,
) -> Result<Splice, String> {
    let start = if source.starts_with(BOM) {
        BOM.len()
    } else {
        0
    };
    let first = lines(source, start).next();
    if first.is_some_and(|line| line.text.trim_ascii_end() == b"---") {
        return Err("the file starts with a --- line that has no closing one".to_string());
    }
    let end = line_end(source);
    let yaml = format!("{yaml_lines}\n").replace('\n', end);
    if !Yaml::parse(&yaml).is_ok_and(|tree| is_right(&tree)) {
        return Err("frontmatter cannot hold this value".to_string());
    }
    let empty_line = if first.is_some_and(|line| !line.is_blank()) {
        end
    } else {
        ""
    };
    let bytes = format!("---{end}{yaml}---{end}{empty_line}").into_bytes();
    Ok(Splice {
        at: Span::new(start, start),
        bytes,
    })
}

/// The line end of the file's first line; `\n` if it has none.
pub(crate) fn line_end(source: &[u8]) -> &'static str {
    let first = memchr::memchr(b'\n', source).unwrap_or(0);
    if source[..first].ends_with(b"\r") {
        "\r\n"
    } else {
        "\n"
    }
}

/// The YAML between the two `---` lines, as text and as a tree.
struct EditableFrontmatter<'a> {
    text: &'a str,
    /// Where the text starts in the file.
    start: usize,
    line_end: &'static str,
    tree: Yaml,
}

impl<'a> EditableFrontmatter<'a> {
    /// Reads the frontmatter at a span; the error is the reason why it cannot be changed.
    fn new(source: &'a [u8], span: Span) -> Result<EditableFrontmatter<'a>, String> {
        let inner = text_span(source, span).ok_or("there is no frontmatter at this place")?;
        let text = std::str::from_utf8(inner.of(source))
            .map_err(|_| "the frontmatter is not UTF-8 text".to_string())?;
        let tree = Yaml::parse(text)
            .map_err(|error| format!("the frontmatter cannot be read: {}", error.message))?;
        if tree.entries().is_none() {
            return Err(format!(
                "the frontmatter must be a map of keys to values, not {tree}"
            ));
        }
        Ok(EditableFrontmatter {
            text,
            start: inner.start,
            line_end: line_end(source),
            tree,
        })
    }

    fn lines(&self) -> Vec<SourceLine<'a>> {
        lines(self.text.as_bytes(), 0).collect()
    }

    /// The offsets right after `key:` in lines that start with it.
    fn places_of(&self, key: &str) -> Vec<usize> {
        let after_key = |line: &SourceLine<'_>| {
            let rest = line.text.strip_prefix(key.as_bytes())?;
            let blanks = rest.iter().take_while(|byte| is_blank(**byte)).count();
            let rest = rest[blanks..].strip_prefix(b":")?;
            rest.first()
                .is_none_or(|byte| is_blank(*byte))
                .then_some(line.text.len() - rest.len())
        };
        let found = |line: SourceLine<'_>| Some(line.span.start + after_key(&line)?);
        lines(self.text.as_bytes(), 0).filter_map(found).collect()
    }

    /// The splice that replaces `at` by `new`, if `is_right` accepts the resulting tree, and no `---` line in `new` ends
    /// the frontmatter early.
    fn checked(&self, at: Span, new: &str, is_right: impl Fn(&Yaml) -> bool) -> Option<Splice> {
        let (before, after) = (self.text.get(..at.start)?, self.text.get(at.end..)?);
        let text = [before, new, after].concat();
        let closes_early = lines(text.as_bytes(), 0).any(|line| line.text == b"---");
        if closes_early || !Yaml::parse(&text).is_ok_and(|tree| is_right(&tree)) {
            return None;
        }
        let at = Span::new(self.start + at.start, self.start + at.end);
        Some(Splice {
            at,
            bytes: new.as_bytes().to_vec(),
        })
    }
}

/// The span of the YAML between the two `---` lines of frontmatter; `None` if the span does not begin and end with such
/// a line.
pub fn text_span(source: &[u8], span: Span) -> Option<Span> {
    let all: Vec<SourceLine<'_>> =
        lines(source.get(..span.end)?, span.start.min(span.end)).collect();
    let (first, rest) = all.split_first()?;
    let (last, between) = rest.split_last()?;
    let is_rule = |line: &SourceLine<'_>| line.text == b"---";
    (is_rule(first) && is_rule(last) && !between.iter().any(is_rule))
        .then(|| Span::new(first.span.end, last.span.start))
}

/// Sets a key in existing frontmatter; the error is the reason to refuse.
fn set_in(
    front: &EditableFrontmatter<'_>,
    key: &str,
    value: &str,
    line: &str,
) -> Result<Splice, String> {
    let wanted = front.tree.with(key, Yaml::Text(value.to_string()));
    if wanted.as_ref() == Some(&front.tree) {
        return Ok(Splice {
            at: Span::new(front.start, front.start),
            bytes: Vec::new(),
        });
    }
    let is_right = |tree: &Yaml| Some(tree) == wanted.as_ref();
    let (at, new) = match front.places_of(key)[..] {
        [] => {
            let end = front.text.len();
            (Span::new(end, end), format!("{line}{}", front.line_end))
        }
        [place] => {
            let at = value_span(front.text, place)
                .ok_or_else(|| format!("the value of {key} is more than a text on one line"))?;
            // A key without a value has no blank of its own to keep.
            let blank = if at.is_empty() { " " } else { "" };
            (at, format!("{blank}{}", scalar(value)))
        }
        _ => return Err(format!("there are several lines that start with {key}:")),
    };
    front
        .checked(at, &new, is_right)
        .ok_or_else(|| format!("{key} cannot be set without changing how other lines read"))
}

/// The span of the value after `key:`, if it is a text on one line: plain, quoted or empty.
fn value_span(text: &str, place: usize) -> Option<Span> {
    let line = lines(text.as_bytes(), place).next()?.text;
    // In YAML a lone `\r` ends a line, so this is more than one line.
    if line.contains(&b'\r') {
        return None;
    }
    let blanks = line.iter().take_while(|byte| is_blank(**byte)).count();
    let value = &line[blanks..];
    let length = match value.first() {
        None | Some(b'#') => return Some(Span::new(place, place)),
        Some(b'"') => quoted_length(value, b'"')?,
        Some(b'\'') => quoted_length(value, b'\'')?,
        Some(byte) if b"|>&*!{[".contains(byte) => return None,
        Some(_) => plain_length(value),
    };
    let rest = value[length..].trim_ascii();
    let start = place + blanks;
    (rest.is_empty() || rest.starts_with(b"#")).then(|| Span::new(start, start + length))
}

/// The length of a plain value, which ends before a comment and before trailing blanks.
fn plain_length(value: &[u8]) -> usize {
    let is_comment = |at: &usize| value[*at] == b'#' && is_blank(value[*at - 1]);
    let end = (1..value.len()).find(is_comment).unwrap_or(value.len());
    end - value[..end]
        .iter()
        .rev()
        .take_while(|byte| is_blank(**byte))
        .count()
}

/// The length of a quoted value, which ends with the first quote that is not escaped.
fn quoted_length(value: &[u8], quote: u8) -> Option<usize> {
    let mut at = 1;
    while let Some(byte) = value.get(at) {
        let doubled = quote == b'\'' && value.get(at + 1) == Some(&quote);
        match byte {
            b'\\' if quote == b'"' => at += 2,
            byte if *byte == quote && doubled => at += 2,
            byte if *byte == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
    None
}

/// Adds an agent to existing frontmatter; the error is the reason to refuse.
fn add_agent_in(
    front: &EditableFrontmatter<'_>,
    agent: &Agent,
    typed: &str,
) -> Result<Splice, String> {
    let agents = front.tree.get("agents");
    if agents.is_some_and(|agents| agents.get(&agent.name).is_some()) {
        return Err(format!(
            "there is already an agent of the name {:?}",
            agent.name
        ));
    }
    let is_right = |tree: &Yaml| adds_agent(&front.tree, tree, agent);
    let as_lines = |lines: &str| format!("{lines}\n").replace('\n', front.line_end);
    let impossible =
        || "the agent cannot be added without changing how other lines read".to_string();
    if agents.is_none() {
        let end = front.text.len();
        return front
            .checked(Span::new(end, end), &as_lines(typed), is_right)
            .ok_or_else(impossible);
    }
    let block = AgentBlock::find(front).ok_or("agents: is not a list of indented lines")?;
    let new = as_lines(&agent_lines(agent, &block.indent, &block.step).join("\n"));
    let mut places = block.ends.into_iter();
    places
        .find_map(|end| front.checked(Span::new(end, end), &new, is_right))
        .ok_or_else(impossible)
}

/// The lines below `agents:`.
struct AgentBlock {
    /// The blanks before the name of an agent.
    indent: String,
    /// The further blanks before its properties.
    step: String,
    /// Where another agent may go: after the last indented line, or after the blank lines and comments that follow it,
    /// since blank lines may belong to a text.
    ends: [usize; 2],
}

impl AgentBlock {
    /// Finds the block; `None` unless `agents:` occurs once, with indented lines below it.
    fn find(front: &EditableFrontmatter<'_>) -> Option<AgentBlock> {
        let places = front.places_of("agents");
        let [place] = places[..] else { return None };
        if !value_span(front.text, place)?.is_empty() {
            return None;
        }
        let all = front.lines();
        let below = &all[all.partition_point(|line| line.span.start <= place)..];
        let start = below
            .first()
            .map_or(front.text.len(), |line| line.span.start);
        let belongs =
            |line: &&SourceLine<'_>| line.text.first().is_none_or(|c| is_blank(*c) || *c == b'#');
        let length = below.iter().take_while(belongs).count();
        let block = &below[..length];
        let end_of = |line: &SourceLine<'_>| line.span.end;
        let indented = block
            .iter()
            .rfind(|line| !line.is_blank() && line.text[0] != b'#');
        let (indent, step) = indentation(block);
        let ends = [
            indented.map_or(start, end_of),
            block.last().map_or(start, end_of),
        ];
        Some(AgentBlock { indent, step, ends })
    }
}

/// The blanks before the first line of a block, and the further blanks before the first deeper line.
fn indentation(block: &[SourceLine<'_>]) -> (String, String) {
    let says_something = |line: &&SourceLine<'_>| !line.text.trim_ascii_start().starts_with(b"#");
    let mut blanks = block
        .iter()
        .filter(|line| !line.is_blank())
        .filter(says_something)
        .map(|line| {
            let blanks = line.text.iter().take_while(|byte| is_blank(**byte)).count();
            String::from_utf8_lossy(&line.text[..blanks]).into_owned()
        });
    let indent = blanks.next().unwrap_or_else(|| INDENT.to_string());
    let deeper = blanks.find_map(|line| {
        line.strip_prefix(&indent)
            .filter(|step| !step.is_empty())
            .map(str::to_string)
    });
    let step = deeper.unwrap_or_else(|| indent.clone());
    (indent, step)
}

/// Whether `new` is `old` with this agent after the existing ones, and no other change.
fn adds_agent(old: &Yaml, new: &Yaml, agent: &Agent) -> bool {
    let added = new
        .get("agents")
        .and_then(Yaml::entries)
        .and_then(<[YamlEntry]>::last);
    let Some(added) = added.filter(|added| added.key == agent.name) else {
        return false;
    };
    let agents = old.get("agents").unwrap_or(&Yaml::Null);
    let wanted = agents.with(&agent.name, added.value.clone());
    FrontmatterReader::new("").agent(added).as_ref() == Some(agent)
        && wanted
            .and_then(|agents| old.with("agents", agents))
            .as_ref()
            == Some(new)
}

/// An agent as lines of YAML, without line ends.
fn agent_lines(agent: &Agent, indent: &str, step: &str) -> Vec<String> {
    let mut lines = vec![format!("{indent}{}:", scalar(&agent.name))];
    for (key, value) in own_properties(agent) {
        lines.push(format!("{indent}{step}{key}: {value}"));
    }
    if let Some(prompt) = &agent.system_prompt {
        let value = prompt_value(prompt, &format!("{indent}{step}{step}"));
        lines.push(format!("{indent}{step}system_prompt: {value}"));
    }
    lines
}

/// The properties of an agent that differ from the defaults, without its system prompt.
fn own_properties(agent: &Agent) -> Vec<(&'static str, String)> {
    let default = Agent::default();
    let mut properties = Vec::new();
    if !agent.models.is_empty() {
        let models: Vec<String> = agent.models.iter().map(|model| scalar(model)).collect();
        properties.push(("models", format!("[{}]", models.join(", "))));
    }
    if let Some(window) = agent.context_window {
        properties.push(("context_window", window.to_string()));
    }
    if agent.max_output_tokens != default.max_output_tokens {
        let tokens = agent.max_output_tokens.to_string();
        properties.push(("max_output_tokens", tokens));
    }
    if agent.reasoning != default.reasoning {
        properties.push(("reasoning", agent.reasoning.to_string()));
    }
    if agent.use_temperature != default.use_temperature {
        properties.push(("use_temperature", agent.use_temperature.to_string()));
    }
    if agent.temperature != default.temperature {
        properties.push(("temperature", format!("{:?}", agent.temperature)));
    }
    properties
}

/// A prompt as a YAML value: a block of indented lines if it has several, else plain or quoted.
fn prompt_value(prompt: &str, indent: &str) -> String {
    let (body, header) = prompt
        .strip_suffix('\n')
        .map_or((prompt, "|-"), |body| (body, "|"));
    let is_odd = |c: char| c != '\n' && c != '\t' && must_be_escaped(c);
    let is_block = prompt.contains('\n')
        && !prompt.contains(is_odd)
        && !body.starts_with([' ', '\t', '\n'])
        && !body.ends_with('\n')
        && !body.is_empty()
        && body
            .split('\n')
            .all(|line| line.is_empty() || !line.trim().is_empty());
    if !is_block {
        return scalar(prompt);
    }
    let indented = |line: &str| {
        if line.is_empty() {
            String::new()
        } else {
            format!("{indent}{line}")
        }
    };
    let lines: Vec<String> = body.split('\n').map(indented).collect();
    format!("{header}\n{}", lines.join("\n"))
}
