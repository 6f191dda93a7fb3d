//! The help of the command as a whole, with its verbs in groups, which clap cannot do, and without the hidden ones.
//!
//! clap parses the arguments; this module only arranges what it prints. A test checks that every verb is in a group.

use std::ffi::OsString;

use clap::builder::StyledStr;
use clap::{Command, CommandFactory};

use crate::Cli;

/// The verbs in groups, in the order in which you meet them. Every verb is in one group.
pub const GROUPS: [(&str, &[&str]); 6] = [
    ("Ask", &["chat", "ask"]),
    (
        "Write and edit",
        &[
            "new", "add", "edit", "drop", "restore", "rewind", "fork", "compact", "set", "fmt",
        ],
    ),
    (
        "Inspect",
        &["show", "list", "check", "context", "tokens", "tool"],
    ),
    ("Convert and repair", &["convert", "recover", "repair"]),
    ("Sessions", &["session"]),
    ("Setup", &["model", "config", "completions", "man"]),
];

/// What `--help` adds to `-h`.
const EXAMPLES: &str = "Examples:
  analects new talk.msg.md -m openai/gpt-5-mini
  analects chat talk.msg.md \"What is a monad?\"
  analects add talk.msg.md \"A thought for later\"
  analects list talk.msg.md
  analects check talk.msg.md

Run analects VERB --help for details, and analects config show for your configuration.";

/// The command with all of its verbs.
pub fn command() -> Command {
    let command = Cli::command();
    let verbs = grouped_verbs(&command);
    let options = heading("Options");
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{verbs}\n{options}\n{{options}}{{after-help}}"
    );
    command
        .help_template(StyledStr::from(template))
        .after_long_help(EXAMPLES)
}

/// The verbs in their groups, a line each.
fn grouped_verbs(command: &Command) -> String {
    let mut text = String::new();
    for (name, verbs) in GROUPS {
        text += &format!("{}\n", heading(name));
        for verb in verbs {
            let about = command.find_subcommand(verb).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let width = longest_verb();
            text += &format!("  {verb:width$}  {about}\n");
        }
    }
    text
}

/// The length of the longest verb, in characters.
fn longest_verb() -> usize {
    let verbs = GROUPS.iter().flat_map(|(_, verbs)| *verbs);
    verbs.map(|verb| verb.len()).max().unwrap_or(0)
}

/// A built command without its hidden verbs, for shell completions: clap_complete offers those too.
pub fn without_hidden(command: &Command) -> Command {
    let about = command.get_about().cloned().unwrap_or_default();
    // clap adds its own verb `help` again.
    let verbs = visible_verbs(command).filter(|verb| verb.get_name() != "help");
    Command::new(command.get_name().to_string())
        .about(about)
        .version(command.get_version().unwrap_or_default().to_string())
        .disable_help_flag(true)
        .disable_version_flag(true)
        .args(command.get_arguments())
        .subcommands(verbs.map(without_hidden))
}

/// The verbs of a command that its help lists.
/// Hidden verbs still work; they are former names or aids for tests.
pub fn visible_verbs(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|verb| !verb.is_hide_set())
}

/// A heading in clap's style. Clap removes the style where colour is not wanted.
fn heading(name: &str) -> String {
    let styles = clap::builder::Styles::styled();
    let style = styles.get_header();
    format!("{style}{name}:{style:#}")
}

/// Whether the arguments ask for JSON, even if they cannot be parsed.
/// Anything after `--` is text. It may be wrong about a value that reads `--json`, which nobody types.
pub fn asks_for_json(args: &[OsString]) -> bool {
    args.iter()
        .take_while(|arg| *arg != "--")
        .any(|arg| arg == "--json")
}

#[cfg(test)]
mod tests {
    //! Every verb has a group.

    use super::*;

    #[test]
    fn every_verb_is_in_exactly_one_group() {
        let mut grouped: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, verbs)| *verbs)
            .copied()
            .collect();
        let command = Cli::command();
        let mut verbs: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        grouped.sort_unstable();
        verbs.sort_unstable();
        assert_eq!(grouped, verbs);
    }

    #[test]
    fn clap_finds_nothing_wrong() {
        command().debug_assert();
    }
}
