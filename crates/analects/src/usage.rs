//! Wrong use, told in the form of every other error: one line, a hint, exit code 2.

use std::ffi::OsString;

use crate::failure::Failure;
use crate::help;

/// Whether errors are to be JSON, though the arguments could not be read.
pub fn asks_for_json(args: &[OsString]) -> bool {
    args.iter().take_while(|arg| *arg != "--").any(|arg| arg == "--json")
}

/// What is wrong with the arguments, and how the command is used.
pub fn failure(error: &clap::Error, args: &[OsString]) -> Failure {
    let text = error.render().to_string();
    let mut parts = text.split("\n\n");
    let message = one_line(parts.next().unwrap_or_default());
    let message = message.strip_prefix("error: ").unwrap_or(&message);
    let tips = parts.map(one_line).filter_map(|part| Some(part.strip_prefix("tip: ")?.to_string()));
    let hint: Vec<String> = tips.chain(usage(args)).collect();
    Failure::usage(message, hint.join("; "))
}

/// How to use the verb among the arguments, or the command as a whole.
fn usage(args: &[OsString]) -> [String; 2] {
    let mut command = help::command();
    command.build();
    // A verb may have verbs of its own, such as `set default`.
    for arg in args.iter().skip(1) {
        if let Some(verb) = command.find_subcommand(arg) {
            command = verb.clone();
        }
    }
    let name = command.get_bin_name().unwrap_or(command.get_name()).to_string();
    let usage = one_line(&command.render_usage().to_string()).replacen("Usage:", "usage:", 1);
    [usage, format!("see {name} --help")]
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
