//! `list_files`: the files of a folder, by a pattern.

use crate::arguments::{Arguments, Parameter, ParameterKind};
use crate::walk::files_below;
use crate::{ToolError, ToolOutput, Workspace};

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
    let mut files = Vec::new();
    files_below(workspace, &start, pattern.as_deref(), |path| {
        files.push(path.to_string());
        files.len() <= MOST_FILES
    })?;
    let is_cut = files.len() > MOST_FILES;
    files.truncate(MOST_FILES);
    let summary = match files.len() {
        1 => "1 file".to_string(),
        count if is_cut => format!("the first {count} files"),
        count => format!("{count} files"),
    };
    if files.is_empty() {
        files.push("[no files]".to_string());
    }
    if is_cut {
        files.push(format!(
            "[only the first {MOST_FILES} files; use a pattern]"
        ));
    }
    Ok(ToolOutput {
        text: files.join("\n"),
        summary,
    })
}
