//! `grep`: lines that match a regular expression.

use regex::{Regex, RegexBuilder};

use crate::arguments::{Arguments, Parameter, ParameterKind};
use crate::walk::files_below;
use crate::{FolderPath, ToolError, ToolOutput, Workspace};

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

/// What a search has found so far.
struct Matches {
    lines: Vec<String>,
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
        lines: Vec::new(),
        files: 0,
        skipped: 0,
    };
    if workspace.folder.is_file(&start) {
        found.search(workspace, &start, &pattern);
    } else {
        files_below(
            workspace,
            &start,
            arguments.text("files").as_deref(),
            |path| {
                found.search(workspace, &path, &pattern);
                found.lines.len() <= MOST_MATCHES
            },
        )?;
    }
    Ok(found.into_output())
}

/// Compiles the expression. The library matches in linear time, whatever a model writes.
fn compile(pattern: &str, ignore_case: bool) -> Result<Regex, ToolError> {
    RegexBuilder::new(pattern)
        .case_insensitive(ignore_case)
        .size_limit(LARGEST_PATTERN)
        .build()
        .map_err(|error| ToolError::Arguments(format!("pattern: {error}")))
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
        let before = self.lines.len();
        for (at, line) in text.lines().enumerate() {
            if self.lines.len() > MOST_MATCHES {
                break;
            }
            if pattern.is_match(line) {
                let number = at + 1;
                self.lines
                    .push(format!("{path}:{number}: {}", shortened(line)));
            }
        }
        if self.lines.len() > before {
            self.files += 1;
        }
    }

    fn into_output(mut self) -> ToolOutput {
        let is_cut = self.lines.len() > MOST_MATCHES;
        self.lines.truncate(MOST_MATCHES);
        let count = self.lines.len();
        let files = if self.files == 1 { "file" } else { "files" };
        let lines = if count == 1 { "line" } else { "lines" };
        let summary = format!("{count} {lines} in {} {files}", self.files);
        if count == 0 {
            self.lines.push("[no matches]".to_string());
        }
        if is_cut {
            self.lines.push(format!(
                "[only the first {MOST_MATCHES} matches; search a smaller part]"
            ));
        }
        if self.skipped > 0 {
            self.lines.push(format!(
                "[{} files not searched: too large, or not readable]",
                self.skipped
            ));
        }
        ToolOutput {
            text: self.lines.join("\n"),
            summary,
        }
    }
}

/// The beginning of a long line.
fn shortened(line: &str) -> String {
    let mut characters = line.chars();
    let mut start: String = characters.by_ref().take(MOST_CHARACTERS).collect();
    if characters.next().is_some() {
        start.push('…');
    }
    start
}
