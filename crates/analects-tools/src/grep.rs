//! `grep`: lines that match a regular expression.

use regex::{Regex, RegexBuilder};

use crate::arguments::{Arguments, Parameter, ParameterKind};
use crate::output::{Lines, shortened};
use crate::walk::{LeftOut, files_below};
use crate::{FileTool, FolderPath, ToolError, ToolOutput, Workspace};

pub(crate) const DESCRIPTION: &str = "Searches the text files of the folder for a regular expression and returns \
    matching lines as path:line: text, at most 200. Leaves out hidden files and what .gitignore excludes.";

pub(crate) const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "pattern",
        kind: ParameterKind::Text,
        is_required: true,
        about: "The regular expression; it matches within one line.",
    },
    Parameter {
        name: "path",
        kind: ParameterKind::Text,
        is_required: false,
        about: "A file or a folder to search, relative to the folder; everything if left out.",
    },
    Parameter {
        name: "files",
        kind: ParameterKind::Text,
        is_required: false,
        about: "Which files to search, such as *.rs; all if left out.",
    },
    Parameter {
        name: "ignore_case",
        kind: ParameterKind::Flag,
        is_required: false,
        about: "Whether a and A are the same.",
    },
];

/// The most matching lines that a call returns.
const MOST_MATCHES: usize = 200;

/// The most characters of a line that are shown.
const MOST_CHARACTERS: usize = 300;

/// The largest compiled expression, in bytes. A larger one would only waste memory.
const LARGEST_PATTERN: usize = 1 << 20;

/// The most characters of the error in an expression, which repeats the expression.
const LONGEST_ERROR: usize = 500;

/// What a search has found so far.
struct Matches {
    lines: Lines,
    files: usize,
    /// Files that could not be searched because they are too large or cannot be read.
    skipped: usize,
}

pub(crate) fn call(
    workspace: &mut Workspace,
    arguments: &Arguments,
) -> Result<ToolOutput, ToolError> {
    let pattern = compile(
        &arguments.required_text("pattern"),
        arguments.flag("ignore_case"),
    )?;
    let start = workspace.path(&arguments.text("path").unwrap_or_default())?;
    let mut found = Matches {
        lines: Lines::new(MOST_MATCHES),
        files: 0,
        skipped: 0,
    };
    let mut left_out = LeftOut::default();
    if workspace.folder.is_file(&start) {
        found.search(workspace, &start, &pattern);
    } else {
        let files = arguments.text("files");
        let tool = FileTool::Grep;
        left_out = files_below(workspace, tool, &start, files.as_deref(), |path| {
            found.search(workspace, &path, &pattern);
            !found.lines.is_cut()
        })?;
    }
    workspace.check_stopped()?;
    Ok(found.into_output(&left_out))
}

/// Compiles the expression. The library matches in linear time, whatever a model writes.
fn compile(pattern: &str, ignore_case: bool) -> Result<Regex, ToolError> {
    RegexBuilder::new(pattern)
        .case_insensitive(ignore_case)
        .size_limit(LARGEST_PATTERN)
        .build()
        .map_err(|error| {
            let why = shortened(&error.to_string(), LONGEST_ERROR);
            ToolError::Arguments(format!("pattern: {why}"))
        })
}

impl Matches {
    /// Adds the matching lines of one file. Files that are no text have none.
    fn search(&mut self, workspace: &Workspace, path: &FolderPath, pattern: &Regex) {
        let Ok((bytes, _)) = workspace.folder.read(path) else {
            self.skipped += 1;
            return;
        };
        let Ok(text) = String::from_utf8(bytes) else {
            return;
        };
        let before = self.lines.count();
        for (at, line) in text.lines().enumerate() {
            if let Some(found) = pattern.find(line) {
                let number = at + 1;
                let path = path.in_list();
                let part = around(line, found.start());
                if !self.lines.push(format!("{path}:{number}: {part}")) {
                    break;
                }
            }
        }
        if self.lines.count() > before {
            self.files += 1;
        }
    }

    fn into_output(self, left_out: &LeftOut) -> ToolOutput {
        let count = self.lines.count();
        let files = if self.files == 1 { "file" } else { "files" };
        let lines = if count == 1 { "line" } else { "lines" };
        let summary = format!("{count} {lines} in {} {files}", self.files);
        let mut notes = Vec::new();
        if count == 0 {
            notes.push("[no matches]".to_string());
        }
        if self.lines.is_cut() {
            notes.push(format!(
                "[only the first {count} matches; search a smaller part]"
            ));
        }
        if self.skipped > 0 {
            notes.push(format!(
                "[{} files not searched: too large, or not readable]",
                self.skipped
            ));
        }
        notes.extend(left_out.notes());
        ToolOutput {
            text: self.lines.with_notes(notes),
            summary,
        }
    }
}

/// The part of a long line around the byte `at`.
fn around(line: &str, at: usize) -> String {
    let before = line[..at].chars().count();
    if before < MOST_CHARACTERS / 2 {
        return shortened(line, MOST_CHARACTERS);
    }
    let skipped = before - MOST_CHARACTERS / 4;
    let rest: String = line
        .chars()
        .skip(skipped)
        .take(MOST_CHARACTERS + 1)
        .collect();
    format!("…{}", shortened(&rest, MOST_CHARACTERS))
}
