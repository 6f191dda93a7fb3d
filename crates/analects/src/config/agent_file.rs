//! An agent in a file of its own, `agents/NAME.md` in the configuration's folder: its settings are the
//! frontmatter, and the rest is its system prompt.

use std::path::{Component, Path, PathBuf};

use analects_core::{Agent, Severity};
use analects_formats::msgfile::{decode_named, frontmatter};

use super::read::KnownAgent;
use super::read_text;
use crate::failure::Failure;

/// Where the agent of that name would be.
pub fn path(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.md"))
}

/// The names of the agents that have files.
pub fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let names = names.filter_map(|name| Some(name.strip_suffix(".md")?.to_string()));
    let mut names: Vec<String> = names.filter(|name| is_file_name(name)).collect();
    names.sort();
    names
}

/// Reads the agent of that name, if it has a file.
pub fn read(folder: &Path, name: &str) -> Result<Option<KnownAgent>, Failure> {
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
fn is_file_name(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    let is_one = matches!((parts.next(), parts.next()), (Some(Component::Normal(part)), None) if part == name);
    is_one && !name.starts_with('.') && !name.contains(['/', '\\', ':', '\0'])
}

fn parse(text: &str, name: &str, path: &Path) -> Result<KnownAgent, Failure> {
    let document = decode_named(text.as_bytes(), "agent.md");
    let span = document.frontmatter_span();
    let yaml = span.and_then(|span| frontmatter::text_span(text.as_bytes(), span));
    let yaml = yaml.map_or("", |yaml| {
        text.get(yaml.start..yaml.end).unwrap_or_default()
    });
    let rest = text
        .get(span.map_or(0, |span| span.end)..)
        .unwrap_or_default();
    // The settings are those of an agent of a message file, so they are read as one.
    let indented: String = yaml
        .split_inclusive('\n')
        .map(|line| format!("    {line}"))
        .collect();
    let quoted = serde_json::Value::from(name);
    let front = frontmatter::read(&format!("agents:\n  {quoted}:\n{indented}"));
    let worst = front
        .problems
        .iter()
        .find(|problem| problem.severity > Severity::Hint);
    let failure = |message: &str| Failure::input(format!("{}: {message}", path.display()));
    if let Some(problem) = worst {
        return Err(failure(&problem.message));
    }
    // An agent without settings is no map.
    let agent = front.agents.into_iter().next().unwrap_or_default();
    let mut agent = analects_core::Agent {
        name: name.to_string(),
        ..agent
    };
    let prompt = rest.trim_start_matches(['\r', '\n']).trim_end();
    if !prompt.is_empty() {
        if agent.system_prompt.is_some() {
            let hint = "keep either system_prompt or the text below the frontmatter";
            return Err(failure("the system prompt is there twice").or_hint(hint));
        }
        agent.system_prompt = Some(prompt.to_string());
    }
    let mut lines = lines_of_properties(yaml);
    let below = text.len() - rest.trim_start_matches(['\r', '\n']).len();
    if !prompt.is_empty() {
        lines.push(("system_prompt", text[..below].matches('\n').count() + 1));
    }
    Ok(KnownAgent { agent, lines })
}

/// The line of each property in the file, whose first line is `---`.
fn lines_of_properties(yaml: &str) -> Vec<(&'static str, usize)> {
    let line_of = |property: &&'static str| {
        let starts = |line: &str| {
            line.strip_prefix(*property)
                .is_some_and(|rest| rest.trim_start().starts_with(':'))
        };
        Some((*property, yaml.lines().position(starts)? + 2))
    };
    Agent::PROPERTIES.iter().filter_map(line_of).collect()
}

#[cfg(test)]
mod tests {
    //! Settings and prompt of a file, and names that would lead elsewhere.

    use super::*;

    #[test]
    fn the_frontmatter_is_settings_and_the_rest_is_the_prompt() {
        let text = "---\nmodels: [openai/big, openai/small]\ntemperature: 0.2\n---\n\nBe brief.\n\n# %% no cell\n";
        let known = parse(text, "coder", Path::new("coder.md")).unwrap();
        assert_eq!(known.agent.name, "coder");
        assert_eq!(known.agent.models, ["openai/big", "openai/small"]);
        assert_eq!(known.agent.temperature, 0.2);
        assert_eq!(
            known.agent.system_prompt.as_deref(),
            Some("Be brief.\n\n# %% no cell")
        );
        assert_eq!(
            known.lines,
            [("models", 2), ("temperature", 3), ("system_prompt", 6)]
        );
    }

    #[test]
    fn a_file_may_be_a_prompt_only() {
        let known = parse("Be brief.\n", "x", Path::new("x.md")).unwrap();
        assert_eq!(known.agent.system_prompt.as_deref(), Some("Be brief."));
        assert!(known.agent.models.is_empty());
        assert_eq!(
            parse("", "x", Path::new("x.md"))
                .unwrap()
                .agent
                .system_prompt,
            None
        );
    }

    #[test]
    fn what_is_wrong_is_said() {
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
