//! The command as a whole, with its verbs in groups: clap knows no groups of verbs, so the list that
//! its help shows is made here. Wrong use is told in the form of every other error: one line, a hint, exit code 2.

use std::ffi::OsString;

use clap::builder::StyledStr;
use clap::{Command, CommandFactory};

use crate::Cli;
use crate::failure::Failure;

/// The verbs, in the order in which people meet them. Every verb stands in one group.
pub const GROUPS: [(&str, &[&str]); 6] = [
    ("Ask", &["chat", "ask"]),
    (
        "Write and edit",
        &[
            "new", "add", "edit", "drop", "restore", "rewind", "fork", "compact", "set", "fmt",
        ],
    ),
    ("Inspect", &["show", "list", "check", "context", "tokens"]),
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
    let verbs = verbs(&command);
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{verbs}\n{}\n{{options}}{{after-help}}",
        heading("Options")
    );
    command
        .help_template(StyledStr::from(template))
        .after_long_help(EXAMPLES)
}

/// The verbs in their groups, a line each.
fn verbs(command: &Command) -> String {
    let width = GROUPS
        .iter()
        .flat_map(|(_, verbs)| *verbs)
        .map(|verb| verb.len())
        .max();
    let width = width.unwrap_or(0);
    let line = |verb: &&str| {
        let about = command.find_subcommand(verb).and_then(Command::get_about);
        let about = about.map(ToString::to_string).unwrap_or_default();
        format!("  {verb:width$}  {about}\n")
    };
    let group = |(name, verbs): &(&str, &[&str])| {
        let lines: String = verbs.iter().map(line).collect();
        format!("{}\n{lines}", heading(name))
    };
    GROUPS.iter().map(group).collect()
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
pub fn visible_verbs(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|verb| !verb.is_hide_set())
}

/// A heading in clap's style; clap takes the style off where it is not wanted.
fn heading(name: &str) -> String {
    let style = clap::builder::Styles::styled();
    let style = style.get_header();
    format!("{style}{name}:{style:#}")
}

/// Whether errors are to be JSON, also if the arguments cannot be read.
pub fn asks_for_json(args: &[OsString]) -> bool {
    args.iter()
        .take_while(|arg| *arg != "--")
        .any(|arg| arg == "--json")
}

/// What is wrong with the arguments, and how the command is used.
pub fn wrong_use(error: &clap::Error, args: &[OsString]) -> Failure {
    let text = error.render().to_string();
    let mut parts = text.split("\n\n");
    let message = one_line(parts.next().unwrap_or_default());
    let message = message.strip_prefix("error: ").unwrap_or(&message);
    let tips = parts
        .map(one_line)
        .filter_map(|part| Some(part.strip_prefix("tip: ")?.to_string()));
    let hint: Vec<String> = tips.chain(usage(args)).collect();
    Failure::usage(message, hint.join("; "))
}

/// How to use the verb among the arguments, or the command as a whole.
fn usage(args: &[OsString]) -> [String; 2] {
    let mut command = command();
    command.build();
    // A verb may have verbs of its own, such as `set default`.
    for arg in args.iter().skip(1) {
        if let Some(verb) = command.find_subcommand(arg) {
            command = verb.clone();
        }
    }
    let name = command
        .get_bin_name()
        .unwrap_or(command.get_name())
        .to_string();
    let usage = one_line(&command.render_usage().to_string()).replacen("Usage:", "usage:", 1);
    [usage, format!("see {name} --help")]
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    //! The groups and the verbs are the same.

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
