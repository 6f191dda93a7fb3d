//! `write_file` and `edit_file`: the tools that change files.

use crate::arguments::{Arguments, Parameter, ParameterKind};
use crate::read_file::count_of_lines;
use crate::{FolderPath, ToolError, ToolOutput, Workspace};

pub(crate) const WRITE_DESCRIPTION: &str = "Creates a file in the folder, or replaces all of its content. Creates \
    missing folders. Fails if somebody else changed the file since you read it.";

pub(crate) const WRITE_PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "path",
        kind: ParameterKind::Text,
        is_required: true,
        about: "The path of the file, relative to the folder.",
    },
    Parameter {
        name: "content",
        kind: ParameterKind::Text,
        is_required: true,
        about: "The whole new content.",
    },
];

pub(crate) const EDIT_DESCRIPTION: &str = "Replaces one piece of text in a file of the folder. The old text must \
    stand there exactly once, to the last blank: include enough of the lines around it.";

pub(crate) const EDIT_PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "path",
        kind: ParameterKind::Text,
        is_required: true,
        about: "The path of the file, relative to the folder.",
    },
    Parameter {
        name: "old_text",
        kind: ParameterKind::Text,
        is_required: true,
        about: "The text to replace, exactly as the file has it.",
    },
    Parameter {
        name: "new_text",
        kind: ParameterKind::Text,
        is_required: true,
        about: "The text that takes its place; empty to delete.",
    },
];

pub(crate) fn write(
    workspace: &mut Workspace,
    arguments: &Arguments,
) -> Result<ToolOutput, ToolError> {
    let path = workspace.path(&arguments.required_text("path"))?;
    workspace.folder.check_protected(&path)?;
    let content = arguments.required_text("content");
    let old = workspace.folder.read_if_any(&path)?;
    workspace.check_fresh(&path, old.as_ref().map(|(_, facts)| facts))?;
    workspace.write(&path, content.as_bytes())?;
    let lines = count_of_lines(content.lines().count());
    let verb = if old.is_some() { "replaced" } else { "created" };
    Ok(ToolOutput {
        text: format!("{verb} {path}: {lines}, {} bytes", content.len()),
        summary: format!("{verb}, {lines}"),
    })
}

pub(crate) fn edit(
    workspace: &mut Workspace,
    arguments: &Arguments,
) -> Result<ToolOutput, ToolError> {
    let path = workspace.path(&arguments.required_text("path"))?;
    workspace.folder.check_protected(&path)?;
    let (bytes, facts) = workspace.folder.read(&path)?;
    workspace.check_fresh(&path, Some(&facts))?;
    let text = String::from_utf8(bytes).map_err(|_| ToolError::content(&path, "is not text"))?;
    let old = arguments.required_text("old_text");
    let new = arguments.required_text("new_text");
    let at = only_place(&path, &text, &old)?;
    if old == new {
        return Err(ToolError::content(
            &path,
            "the old and the new text are the same",
        ));
    }
    let after = [&text[..at], &new, &text[at + old.len()..]].concat();
    workspace.write(&path, after.as_bytes())?;
    let line = text[..at].matches('\n').count() + 1;
    let lines = old.lines().count().max(new.lines().count());
    Ok(ToolOutput {
        text: format!("edited {path} at line {line}"),
        summary: format!("{} changed", count_of_lines(lines)),
    })
}

/// Where the old text stands. Fails unless it stands there exactly once.
fn only_place(path: &FolderPath, text: &str, old: &str) -> Result<usize, ToolError> {
    if old.is_empty() {
        let why = "old_text is empty; to create a file, use write_file";
        return Err(ToolError::content(path, why));
    }
    let mut places = text.match_indices(old);
    let Some((at, _)) = places.next() else {
        return Err(ToolError::content(path, why_missing(text, old)));
    };
    let more = places.count();
    if more == 0 {
        return Ok(at);
    }
    let why = format!(
        "the old text stands there {} times; include more of the lines around it",
        more + 1
    );
    Err(ToolError::content(path, why))
}

/// Why the old text is not in the file: line ends and blanks are the usual reasons.
fn why_missing(text: &str, old: &str) -> String {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let why = "the old text is not there";
    if words(text).contains(&words(old)) {
        return format!("{why}, but a text with other blanks or line ends is; read the file again");
    }
    format!("{why}; read the file again")
}
