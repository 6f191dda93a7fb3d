//! Generates `docs/reference/cli.md` from the help of the verbs and the texts in `docs/reference/cli`. A test compares it
//! with the page that is there, or writes it with `ANALECTS_BLESS=1`.
//!
//! So the page cannot differ from what `--help` prints. Everything that a help text cannot hold, such as tables, is in
//! a file of the verb's name below `docs/reference/cli` and goes below the verb's section.

use std::path::{Path, PathBuf};

use clap::{Arg, Command};

use crate::help;

/// The comment at the top of the page.
const NOTE: &str = "<!-- Made from the verbs' help and docs/reference/cli by ANALECTS_BLESS=1 \
                    cargo nextest run -p analects reference; do not edit. -->";

/// The folder of the references.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference")
}

/// The hand-written text with this name, if there is one.
/// Verbs without such a text are fine; texts without a verb fail a test.
fn by_hand(name: &str) -> Option<String> {
    let text = std::fs::read_to_string(folder().join(format!("cli/{name}.md"))).ok()?;
    Some(text.trim_end().to_string())
}

/// The whole page.
/// In the groups and the order of `--help`.
fn page() -> String {
    let mut command = help::command().disable_help_subcommand(true);
    command.build();
    let mut parts = vec!["# The command".to_string(), NOTE.to_string()];
    parts.extend(by_hand("intro"));
    for (group, verbs) in help::GROUPS {
        parts.push(format!("## {group}"));
        for verb in verbs {
            section(command.find_subcommand(verb).unwrap(), &mut parts);
        }
    }
    parts.extend(by_hand("end"));
    parts.join("\n\n") + "\n"
}

/// The section of a verb, or the sections of its own verbs.
/// A verb with verbs of its own, such as `session`, has no section itself.
fn section(command: &Command, parts: &mut Vec<String>) {
    let name = command
        .get_bin_name()
        .unwrap()
        .trim_start_matches("analects ")
        .to_string();
    let usage = command.clone().render_usage().to_string();
    let about = command
        .get_long_about()
        .or(command.get_about())
        .unwrap()
        .to_string();
    let verbs: Vec<&Command> = help::visible_verbs(command).collect();
    if verbs.is_empty() {
        parts.push(format!("### {name}"));
        parts.push(format!("`{}`", usage.trim_start_matches("Usage: ")));
        parts.push(sentences(&about));
        parts.extend(arguments(command));
        parts.extend(by_hand(&name.replace(' ', "-")));
        parts.extend(
            command
                .get_after_long_help()
                .map(|text| examples(&text.to_string())),
        );
    }
    if !verbs.is_empty() {
        parts.extend(by_hand(&name));
    }
    for verb in verbs {
        section(verb, parts);
    }
}

/// The text of a help: its first line is a phrase and gets a full stop.
/// clap leaves the full stop out of a summary.
fn sentences(about: &str) -> String {
    let (first, rest) = about.split_once("\n\n").unwrap_or((about, ""));
    format!("{first}.\n\n{rest}").trim_end().to_string()
}

/// The table of arguments. `None` if there are none.
/// Positional arguments come first, then options in the order of the help.
fn arguments(command: &Command) -> Option<String> {
    let mut arguments: Vec<&Arg> = command
        .get_arguments()
        .filter(|arg| arg.get_id() != "help" && arg.get_id() != "version")
        .collect();
    if arguments.is_empty() {
        return None;
    }
    arguments.sort_by_key(|arg| !arg.is_positional());
    let mut lines = vec![
        "| argument | meaning |".to_string(),
        "|---|---|".to_string(),
    ];
    lines.extend(arguments.into_iter().map(row));
    Some(lines.join("\n"))
}

/// A row of the table.
/// A `|` in a help text would end the cell of the table.
fn row(arg: &Arg) -> String {
    // In a table, a bar ends a cell, even within code.
    let name = argument_name(arg).replace('|', "\\|");
    let help = arg.get_long_help().or(arg.get_help()).unwrap().to_string();
    let help: Vec<&str> = help.split_whitespace().collect();
    let help = help.join(" ").replace('|', "\\|");
    format!("| {name} | {help}{} |", choices(arg))
}

/// The names of an argument and its value, such as `-m`, `--model MODEL`.
fn argument_name(arg: &Arg) -> String {
    let value = value_names(arg);
    let short = arg.get_short().map(|short| format!("-{short}"));
    let long = arg.get_long().map(|long| format!("--{long}"));
    let names: Vec<String> = short.into_iter().chain(long).collect();
    if names.is_empty() {
        return format!("`{value}`");
    }
    let names = format!("{} {value}", names.join("`, `"));
    format!("`{}`", names.trim_end())
}

/// What an argument takes, or nothing for a flag.
/// Several values get code marks of their own.
fn value_names(arg: &Arg) -> String {
    if !arg.get_action().takes_values() {
        return String::new();
    }
    let names = arg.get_value_names().unwrap_or_default();
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    names.join(" ").replace("] [", "` `")
}

/// The values that an argument can have, after a colon.
fn choices(arg: &Arg) -> String {
    if !arg.get_action().takes_values() {
        return String::new();
    }
    let choices: Vec<String> = arg
        .get_possible_values()
        .iter()
        .map(|value| value.get_name().to_string())
        .collect();
    if choices.is_empty() {
        return String::new();
    }
    format!(": {}", choices.join(", "))
}

/// The indented lines after `Examples:`, as a code block.
/// They are indented in the help, and not in the page.
fn examples(text: &str) -> String {
    let (_, lines) = text.split_once('\n').unwrap();
    let lines: Vec<&str> = lines.lines().map(str::trim_start).collect();
    format!("```sh\n{}\n```", lines.join("\n"))
}

#[test]
fn the_reference_matches_the_help() {
    let (path, page) = (folder().join("cli.md"), page());
    if std::env::var_os("ANALECTS_BLESS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let there = std::fs::read_to_string(&path).unwrap();
    let difference = there
        .lines()
        .zip(page.lines())
        .find(|(there, page)| there != page);
    let same = there == page;
    assert!(
        same,
        "docs/reference/cli.md is stale at {difference:#?}; run with ANALECTS_BLESS=1"
    );
}

#[test]
fn every_hand_written_text_is_used() {
    let page = page();
    for entry in std::fs::read_dir(folder().join("cli")).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(
            page.contains(text.trim_end()),
            "{} is used nowhere",
            path.display()
        );
    }
}
