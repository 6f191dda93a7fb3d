//! Converts the cases and compares what the readers find with the marks and with the losses.

use std::fmt::Write;

use analects_formats::convert::{
    Conversion, Format, ReadOptions, WriteOptions, detect, format_by_id,
};

use crate::found::Found;
use crate::marks::{Case, Mark};
use crate::{json_targets, message_file, pages};

/// A format to write, and a reader of it.
pub struct Target {
    pub name: &'static str,
    format: &'static str,
    /// Whether everything is kept, as with `--full`.
    pub is_full: bool,
    read: fn(&[u8]) -> Found,
}

/// All targets.
pub const TARGETS: [Target; 8] = [
    target("msgfile", false, message_file::message_file),
    Target {
        name: "msgfile --full",
        ..target("msgfile", true, message_file::message_file)
    },
    target("chatmd", false, pages::chat_markdown),
    target("transcript", false, json_targets::transcript),
    target("chat-session", false, json_targets::chat_session),
    target("anthropic", false, json_targets::anthropic),
    target("openai", false, json_targets::openai),
    target("markdown", false, pages::page),
];

const fn target(format: &'static str, is_full: bool, read: fn(&[u8]) -> Found) -> Target {
    Target {
        name: format,
        format,
        is_full,
        read,
    }
}

/// What a conversion wrote and what it said: names, and whole lines.
pub struct Converted {
    pub output: Vec<u8>,
    pub losses: Vec<(String, String)>,
    /// The problems that are printed.
    pub problems: Vec<(String, String)>,
}

/// The format of a case.
pub fn source_format(case: &Case) -> &'static dyn Format {
    detect(&case.source, case.file).unwrap_or_else(|| panic!("{}: no format", case.name))
}

/// Converts a file.
pub fn convert(from: &dyn Format, file: &str, source: &[u8], to: &Target) -> Converted {
    let read = ReadOptions {
        full: to.is_full,
        ..ReadOptions::named(file)
    };
    let write = WriteOptions {
        full: to.is_full,
        ..WriteOptions::default()
    };
    let writer = format_by_id(to.format).unwrap().writer(&write).unwrap();
    let mut conversion = Conversion::new(from.reader(&read).unwrap(), writer);
    let mut output = conversion.feed(source);
    output.extend(conversion.finish());
    Converted {
        output,
        losses: losses(&conversion),
        problems: problems(&conversion),
    }
}

/// Everything that a conversion reports as lost.
fn losses(conversion: &Conversion) -> Vec<(String, String)> {
    let listed = conversion.losses.iter();
    let mut losses: Vec<(String, String)> = listed
        .map(|loss| (loss.what.clone(), format!("{loss:?}")))
        .collect();
    let counts = serde_json::to_value(conversion.left_behind).unwrap();
    for (name, count) in counts.as_object().unwrap() {
        if count != &serde_json::json!(0) {
            losses.push((name.clone(), format!("{count} {name} left behind")));
        }
    }
    if conversion.left_out > 0 {
        let line = format!("{} records left out", conversion.left_out);
        losses.push(("left_out".to_string(), line));
    }
    losses
}

/// The problems that a conversion prints: errors and warnings.
fn problems(conversion: &Conversion) -> Vec<(String, String)> {
    let printed = conversion.problems.iter().filter(|problem| {
        let severity = format!("{:?}", problem.severity);
        severity == "Error" || severity == "Warning"
    });
    printed
        .map(|problem| (problem.code.to_string(), format!("{problem:?}")))
        .collect()
}

/// Checks a case with a target. Returns what is wrong, one line each.
pub fn check(case: &Case, target: &Target) -> Vec<String> {
    let converted = convert(source_format(case), case.file, &case.source, target);
    let found = (target.read)(&converted.output);
    let mut wrong = Vec::new();
    let (kept, missing): (Vec<&Mark>, Vec<&Mark>) =
        case.marks.iter().partition(|mark| found.has(mark));
    for mark in &missing {
        let is_left_out = match target.name {
            "markdown" => mark.is_machine,
            "msgfile" => mark.is_id,
            _ => false,
        };
        let mut reported = converted.losses.iter().chain(&converted.problems);
        let is_listed = reported.any(|(what, line)| mark.is_named_by(what, line));
        if !is_listed && !is_left_out && !mark.is_spelling {
            let Mark {
                places,
                values,
                names,
                ..
            } = mark;
            wrong.push(format!(
                "UNLISTED: {values:?} is not in {places:?}, and no loss names one of {names:?}"
            ));
        }
    }
    for (what, line) in &converted.losses {
        let is_request = ["openai", "anthropic", "markdown"].contains(&target.name);
        if is_form(what) && !(is_request && case.name == "plain") {
            continue;
        }
        if !missing.iter().any(|mark| mark.is_named_by(what, line)) {
            let is_there = kept.iter().any(|mark| mark.is_named_by(what, line));
            let why = if is_there {
                "it is in the output"
            } else {
                "the file says no such thing"
            };
            wrong.push(format!("FALSE: {why}: {line}"));
        }
    }
    wrong
}

/// Returns whether a loss is only about the form of what is said: whether a text is a list of one text, blanks around it,
/// and whether results of calls are messages of their own.
fn is_form(what: &str) -> bool {
    matches!(what, "form" | "grouping" | "spacing")
}

/// Describes a failed case.
pub fn describe(case: &Case, target: &Target, wrong: &[String]) -> String {
    let converted = convert(source_format(case), case.file, &case.source, target);
    let mut text = format!("==== {} → {}\n", case.name, target.name);
    for line in wrong {
        let _ = writeln!(text, "  {line}");
    }
    let shorten = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        text.chars().take(3000).collect::<String>()
    };
    let _ = writeln!(text, "---- source\n{}", shorten(&case.source));
    let _ = writeln!(text, "---- output\n{}", shorten(&converted.output));
    text
}
