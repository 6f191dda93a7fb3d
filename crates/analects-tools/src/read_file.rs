//! `read_file`: a part of a text file.

use crate::arguments::{Arguments, Parameter, ParameterKind};
use crate::output::MOST_BYTES;
use crate::{ToolError, ToolOutput, Workspace};

pub(crate) const DESCRIPTION: &str = "Reads a text file of the folder and returns its content unchanged. Returns at \
    most 2,000 lines and 50 KB; the last line says where to go on.";

pub(crate) const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "path",
        kind: ParameterKind::Text,
        is_required: true,
        about: "The path of the file, relative to the folder.",
    },
    Parameter {
        name: "from_line",
        kind: ParameterKind::Count,
        is_required: false,
        about: "The first line to return; 1 if left out.",
    },
    Parameter {
        name: "lines",
        kind: ParameterKind::Count,
        is_required: false,
        about: "How many lines to return; as many as fit if left out.",
    },
];

/// The most lines that a call returns.
const MOST_LINES: usize = 2_000;

pub(crate) fn call(
    workspace: &mut Workspace,
    arguments: &Arguments,
) -> Result<ToolOutput, ToolError> {
    let path = workspace.path(&arguments.required_text("path"))?;
    let bytes = workspace.read(&path)?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let size = error.as_bytes().len();
        ToolError::content(&path, format!("is not text ({size} bytes)"))
    })?;
    let first = arguments.count("from_line").unwrap_or(1);
    let wanted = arguments.count("lines").unwrap_or(MOST_LINES);
    let excerpt = Excerpt::of(&text, first, wanted.min(MOST_LINES));
    if excerpt.lines == 0 && first > 1 {
        let why = format!("has only {}", count_of_lines(excerpt.total));
        return Err(ToolError::content(&path, why));
    }
    let mut output = excerpt.text.to_string();
    if output.len() > MOST_BYTES {
        let size = output.len();
        output.truncate(output.floor_char_boundary(MOST_BYTES));
        let shown = output.len();
        output.push_str(&format!(
            "\n[only the first {shown} of the {size} bytes of line {first}; use grep for the rest]"
        ));
    }
    let next = first + excerpt.lines;
    if next <= excerpt.total {
        if !output.ends_with('\n') {
            output.push('\n');
        }
        let last = next - 1;
        let total = excerpt.total;
        output.push_str(&format!(
            "[lines {first} to {last} of {total}; go on with from_line={next}]"
        ));
    }
    Ok(ToolOutput {
        text: output,
        summary: count_of_lines(excerpt.lines),
    })
}

/// `1 line`, `2 lines`.
pub(crate) fn count_of_lines(lines: usize) -> String {
    if lines == 1 {
        "1 line".to_string()
    } else {
        format!("{lines} lines")
    }
}

/// Some lines of a text.
struct Excerpt<'t> {
    text: &'t str,
    /// How many lines the excerpt has.
    lines: usize,
    /// How many lines the text has.
    total: usize,
}

impl<'t> Excerpt<'t> {
    /// At most `wanted` lines from the line `first`, counted from 1. A line longer than [`MOST_BYTES`] comes alone, and whole.
    fn of(text: &'t str, first: usize, wanted: usize) -> Excerpt<'t> {
        let mut start = 0;
        let mut end = 0;
        let mut lines = 0;
        let mut total = 0;
        let mut is_full = false;
        for line in text.split_inclusive('\n') {
            total += 1;
            if total < first {
                start += line.len();
                end = start;
                continue;
            }
            let is_too_long = lines > 0 && end + line.len() - start > MOST_BYTES;
            is_full = is_full || lines == wanted || is_too_long;
            if !is_full {
                end += line.len();
                lines += 1;
            }
        }
        Excerpt {
            text: &text[start..end],
            lines,
            total,
        }
    }
}
