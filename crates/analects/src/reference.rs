//! `docs/reference/cli.md`, made from the verbs' own help and the texts in `docs/reference/cli`: a
//! test compares it with what is there, and with `ANALECTS_BLESS=1` writes it.

use std::path::{Path, PathBuf};

use clap::{Arg, Command};

use crate::help;

const NOTE: &str = "<!-- Made from the verbs' help and docs/reference/cli by ANALECTS_BLESS=1 \
                    cargo nextest run -p analects reference; do not edit. -->";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference")
}

/// The text by hand of that name, if there is one.
fn by_hand(name: &str) -> Option<String> {
    let text = std::fs::read_to_string(folder().join(format!("cli/{name}.md"))).ok()?;
    Some(text.trim_end().to_string())
}

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

/// What a verb does, and its own verbs after it.
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

/// The first line of a help text is a phrase without a full stop.
fn sentences(about: &str) -> String {
    let (first, rest) = about.split_once("\n\n").unwrap_or((about, ""));
    format!("{first}.\n\n{rest}").trim_end().to_string()
}

fn arguments(command: &Command) -> Option<String> {
    let is_own = |arg: &&Arg| arg.get_id() != "help" && arg.get_id() != "version";
    let mut arguments: Vec<&Arg> = command.get_arguments().filter(is_own).collect();
    arguments.sort_by_key(|arg| !arg.is_positional());
    let rows: Vec<String> = arguments.into_iter().map(row).collect();
    let table = ["| argument | meaning |", "|---|---|"]
        .map(str::to_string)
        .into_iter();
    (!rows.is_empty()).then(|| table.chain(rows).collect::<Vec<_>>().join("\n"))
}

fn row(arg: &Arg) -> String {
    let takes_value = arg.get_action().takes_values();
    let values = arg
        .get_value_names()
        .filter(|_| takes_value)
        .unwrap_or_default();
    let values: Vec<&str> = values.iter().map(AsRef::as_ref).collect();
    let value = values.join(" ").replace("] [", "` `");
    let name = match (arg.get_short(), arg.get_long()) {
        (None, None) => format!("`{value}`"),
        (short, long) => {
            let short = short.map(|short| format!("-{short}"));
            let long = long.map(|long| format!("--{long}"));
            let names: Vec<String> = short.into_iter().chain(long).collect();
            let last = format!("{} {value}", names.join("`, `"));
            format!("`{}`", last.trim_end())
        }
    };
    let help = arg.get_long_help().or(arg.get_help()).unwrap().to_string();
    let choices: Vec<String> = arg
        .get_possible_values()
        .iter()
        .filter(|_| takes_value)
        .map(|value| value.get_name().to_string())
        .collect();
    let choices = if choices.is_empty() {
        String::new()
    } else {
        format!(": {}", choices.join(", "))
    };
    let help = help
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace('|', "\\|");
    format!("| {name} | {help}{choices} |")
}

/// `Examples:` and indented lines, as a block of shell.
fn examples(text: &str) -> String {
    let (_, lines) = text.split_once('\n').unwrap();
    let lines: Vec<&str> = lines.lines().map(str::trim_start).collect();
    format!("```sh\n{}\n```", lines.join("\n"))
}

#[test]
fn the_reference_is_what_the_verbs_say() {
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
fn every_text_by_hand_has_its_place() {
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
