//! The hint for wrong arguments: the nearest right one, and how to use the verb.

use std::ffi::{OsStr, OsString};

use clap::Command;
use clap::error::ErrorKind;

use crate::failure::Failure;
use crate::help::command;

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
    if error.kind() == ErrorKind::InvalidSubcommand
        && let Some(path) = args.get(1).and_then(|word| nested_verb(word))
        && verb.get_name() == command().get_name()
    {
        hints = vec![format!("did you mean {path}?")];
    }
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

/// The verb of this name that belongs to another verb, such as `analects session resume` for `resume`.
fn nested_verb(word: &OsStr) -> Option<String> {
    let mut command = command();
    command.build();
    let mut verbs = command
        .get_subcommands()
        .filter(|verb| verb.get_name() != "help");
    let nested = verbs.find_map(|verb| verb.find_subcommand(word))?;
    nested.get_bin_name().map(str::to_string)
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
