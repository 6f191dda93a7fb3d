//! `list_files`: the files of a folder, by a pattern.

use crate::arguments::{Arguments, Parameter, ParameterKind};
use crate::output::Lines;
use crate::walk::files_below;
use crate::{FileTool, ToolError, ToolOutput, Workspace};

pub(crate) const DESCRIPTION: &str = "Lists the files of the folder and of all folders below it, one path a line, at \
    most 1,000. Leaves out hidden files and what .gitignore excludes.";

pub(crate) const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "path",
        kind: ParameterKind::Text,
        is_required: false,
        about: "Where to start, relative to the folder; the folder itself if left out.",
    },
    Parameter {
        name: "pattern",
        kind: ParameterKind::Text,
        is_required: false,
        about: "Which files to list, such as *.rs or src/**/*.md; all if left out.",
    },
];

/// The most files that a call lists.
const MOST_FILES: usize = 1_000;

pub(crate) fn call(
    workspace: &mut Workspace,
    arguments: &Arguments,
) -> Result<ToolOutput, ToolError> {
    let start = workspace.path(&arguments.text("path").unwrap_or_default())?;
    let pattern = arguments.text("pattern");
    let mut files = Lines::new(MOST_FILES);
    let tool = FileTool::ListFiles;
    let left_out = files_below(workspace, tool, &start, pattern.as_deref(), |path| {
        files.push(path.in_list())
    })?;
    workspace.check_stopped()?;
    let summary = match files.count() {
        1 => "1 file".to_string(),
        count if files.is_cut() => format!("the first {count} files"),
        count => format!("{count} files"),
    };
    let mut notes = Vec::new();
    if files.count() == 0 {
        notes.push("[no files]".to_string());
    }
    if files.is_cut() {
        let count = files.count();
        notes.push(format!("[only the first {count} files; use a pattern]"));
    }
    notes.extend(left_out.notes());
    Ok(ToolOutput {
        text: files.with_notes(notes),
        summary,
    })
}
