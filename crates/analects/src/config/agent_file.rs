//! Reads an agent from a file of its own, `agents/NAME.md` in the configuration's folder: the frontmatter has its
//! settings, and the rest is its system prompt.
//!
//! The file has the same form as an agent in the frontmatter of a message file, one level less deep, so one parser
//! reads both. The text below the frontmatter is easier to write than a string in YAML.

use std::path::{Component, Path, PathBuf};

use analects_core::{Agent, Severity};
use analects_formats::msgfile::{decode_named, frontmatter};

use super::read::AgentDefinition;
use super::read_text;
use crate::failure::Failure;

/// The path of the file for the agent with this name.
pub fn path(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.md"))
}

/// The names of the agents that have files, sorted.
/// Empty if the folder cannot be read. Does not look into the files, so one of them may still be wrong.
pub fn names(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let file_name = entry.file_name();
        let name = file_name.to_str().and_then(|name| name.strip_suffix(".md"));
        names.extend(name.filter(|name| is_file_name(name)).map(str::to_string));
    }
    names.sort();
    names
}

/// Reads the agent with this name. `None` if it has no file.
/// `None` also for a name that would lead out of the folder.
pub fn read(folder: &Path, name: &str) -> Result<Option<AgentDefinition>, Failure> {
    if !is_file_name(name) {
        return Ok(None);
    }
    let path = path(folder, name);
    let Some(text) = read_text(&path)? else {
        return Ok(None);
    };
    parse(&text, name, &path).map(Some)
}

/// Whether a name leads to a file in the folder and nowhere else.
/// The name may come from a conversation that somebody else wrote.
fn is_file_name(name: &str) -> bool {
    if name.starts_with('.') || name.contains(['/', '\\', ':', '\0']) {
        return false;
    }
    let mut parts = Path::new(name).components();
    match (parts.next(), parts.next()) {
        (Some(Component::Normal(part)), None) => part == name,
        _ => false,
    }
}

/// The frontmatter without its fences, and what follows it.
/// Without frontmatter the whole text is the prompt.
fn split_frontmatter(text: &str) -> (&str, &str) {
    let document = decode_named(text.as_bytes(), "agent.md");
    let Some(span) = document.frontmatter_span() else {
        return ("", text);
    };
    let yaml = frontmatter::text_span(text.as_bytes(), span)
        .and_then(|yaml| text.get(yaml.start..yaml.end))
        .unwrap_or_default();
    (yaml, text.get(span.end..).unwrap_or_default())
}

/// Parses the text of an agent file. `path` is for messages.
fn parse(text: &str, name: &str, path: &Path) -> Result<AgentDefinition, Failure> {
    let (yaml, rest) = split_frontmatter(text);
    let mut definition = AgentDefinition {
        agent: parse_settings(yaml, name).map_err(|message| failure(path, &message))?,
        lines: lines_of_properties(yaml),
    };
    let prompt = rest.trim_start_matches(['\r', '\n']);
    let above = text.len() - prompt.len();
    let prompt = prompt.trim_end();
    if prompt.is_empty() {
        return Ok(definition);
    }
    if definition.agent.system_prompt.is_some() {
        let hint = "keep either system_prompt or the text below the frontmatter";
        return Err(failure(path, "the system prompt is there twice").or_hint(hint));
    }
    definition.agent.system_prompt = Some(prompt.to_string());
    let line = text[..above].matches('\n').count() + 1;
    definition.lines.push(("system_prompt", line));
    Ok(definition)
}

/// A failure that names the file but no line: the frontmatter has no positions.
fn failure(path: &Path, message: &str) -> Failure {
    Failure::input(format!("{}: {message}", path.display()))
}

/// The settings of an agent, read as those of an agent in a message file. Fails with a message.
/// Puts the settings below `agents:` and reads them as frontmatter. Hints are ignored; warnings and errors fail.
fn parse_settings(yaml: &str, name: &str) -> Result<Agent, String> {
    let indented: String = yaml
        .split_inclusive('\n')
        .map(|line| format!("    {line}"))
        .collect();
    let quoted = serde_json::Value::from(name);
    let frontmatter = frontmatter::read(&format!("agents:\n  {quoted}:\n{indented}"));
    for problem in frontmatter.problems {
        if problem.severity > Severity::Hint {
            return Err(problem.message);
        }
    }
    // Without settings, there is no agent in the list.
    let agent = frontmatter.agents.into_iter().next().unwrap_or_default();
    Ok(Agent {
        name: name.to_string(),
        ..agent
    })
}

/// The lines of the properties in the file, whose first line is `---`.
fn lines_of_properties(yaml: &str) -> Vec<(&'static str, usize)> {
    Agent::PROPERTIES
        .into_iter()
        .filter_map(|property| Some((property, line_of_property(yaml, property)?)))
        .collect()
}

/// The line of one property. Only a key at the start of a line counts.
/// An approximation for `config show`: the parser gives no positions. `None` if the key is not at the start of a line.
fn line_of_property(yaml: &str, property: &str) -> Option<usize> {
    let index = yaml.lines().position(|line| {
        line.strip_prefix(property)
            .is_some_and(|rest| rest.trim_start().starts_with(':'))
    })?;
    Some(index + 2)
}

#[cfg(test)]
mod tests {
    //! Settings and prompt of a file, and names that would lead elsewhere.

    use super::*;

    #[test]
    fn the_frontmatter_is_settings_and_the_rest_is_the_prompt() {
        let text = "---\nmodels: [openai/big, openai/small]\ntemperature: 0.2\n---\n\nBe brief.\n\n# %% no cell\n";
        let definition = parse(text, "coder", Path::new("coder.md")).unwrap();
        assert_eq!(definition.agent.name, "coder");
        assert_eq!(definition.agent.models, ["openai/big", "openai/small"]);
        assert_eq!(definition.agent.temperature, 0.2);
        assert_eq!(
            definition.agent.system_prompt.as_deref(),
            Some("Be brief.\n\n# %% no cell")
        );
        assert_eq!(
            definition.lines,
            [("models", 2), ("temperature", 3), ("system_prompt", 6)]
        );
    }

    #[test]
    fn a_file_may_be_a_prompt_only() {
        let definition = parse("Be brief.\n", "x", Path::new("x.md")).unwrap();
        assert_eq!(definition.agent.system_prompt.as_deref(), Some("Be brief."));
        assert!(definition.agent.models.is_empty());
        assert_eq!(
            parse("", "x", Path::new("x.md"))
                .unwrap()
                .agent
                .system_prompt,
            None
        );
    }

    #[test]
    fn errors_in_the_file_are_reported() {
        for (text, part) in [
            (
                "---\ntemperature: hot\n---\n",
                "temperature must be a number",
            ),
            ("---\nmodels: [a\n---\n", "cannot be read"),
            ("---\nsystem_prompt: a\n---\nb\n", "twice"),
        ] {
            let failure = parse(text, "x", Path::new("x.md")).unwrap_err();
            assert!(failure.message.contains(part), "{}", failure.message);
        }
    }

    #[test]
    fn no_name_leads_out_of_the_folder() {
        for name in [
            "", ".", "..", "../x", "/x", "a/b", "a\\b", "c:x", ".hidden", "a/",
        ] {
            assert!(!is_file_name(name), "{name}");
        }
        assert!(is_file_name("coder") && is_file_name("gpt-5.1") && is_file_name("论语"));
    }
}
