//! The help of the command as a whole, with its verbs in groups, which clap cannot do. And errors in the arguments, in
//! the form of every other error: one line, a hint, exit code 2.
//!
//! clap parses the arguments; this module only arranges what it prints. A test checks that every verb is in a group.

use std::ffi::OsString;

use clap::builder::StyledStr;
use clap::{Command, CommandFactory};

use crate::Cli;
use crate::failure::Failure;

/// The verbs in groups, in the order in which you meet them. Every verb is in one group.
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

/// Says what is wrong with the arguments, and how to use the command.
/// clap prints several paragraphs; this keeps the first as the message and turns tips and the usage into the hint.
pub fn usage_failure(error: &clap::Error, args: &[OsString]) -> Failure {
    let text = error.render().to_string();
    let mut paragraphs = text.split("\n\n").map(one_line);
    let message = paragraphs.next().unwrap_or_default();
    let message = message.strip_prefix("error: ").unwrap_or(&message);
    let mut hints: Vec<String> = paragraphs
        .filter_map(|paragraph| Some(paragraph.strip_prefix("tip: ")?.to_string()))
        .collect();
    let verb = verb_among(args);
    hints.push(usage_line(verb.clone()));
    let name = verb.get_bin_name().unwrap_or(verb.get_name());
    hints.push(format!("see {name} --help"));
    Failure::usage(message, hints.join("; "))
}

/// The verb among the arguments, or the command as a whole.
/// Takes the last word that is a verb at its level, so options before it do not matter.
fn verb_among(args: &[OsString]) -> Command {
    let mut command = command();
    command.build();
    // A verb may have verbs of its own, such as `set default`.
    for arg in args.iter().skip(1) {
        if let Some(verb) = command.find_subcommand(arg) {
            command = verb.clone();
        }
    }
    command
}

/// How to use a verb, in one line.
fn usage_line(mut command: Command) -> String {
    let usage = command.render_usage().to_string();
    one_line(&usage).replacen("Usage:", "usage:", 1)
}

/// A text on one line, with single blanks.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
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
