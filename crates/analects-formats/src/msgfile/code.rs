//! The code of a code cell: its first fenced block. What stands around that is the reasoning.
//!
//! ````
//! use analects_formats::msgfile::code::{CodeError, code};
//!
//! let cell = code("Add them up.\n\n```python\nprint(1 + 2)\n```\n")?;
//! assert_eq!(cell.language, Some("python"));
//! assert_eq!(cell.body, "print(1 + 2)");
//! assert_eq!(cell.reasoning, "Add them up.");
//! # Ok::<(), CodeError>(())
//! ````

use std::fmt;
use std::ops::Range;

/// What a code cell says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Code<'a> {
    /// The first word behind the opening fence, without `{`, `}` and a leading `.`.
    pub language: Option<&'a str>,
    /// The lines between the fences, as they stand, without the last one's line end.
    pub body: &'a str,
    /// Where the body is in the content, in bytes.
    pub body_span: Range<usize>,
    /// The text before and after the block, each without blank lines around it, one between them.
    pub reasoning: String,
}

/// Why a cell has no code that could run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeError {
    /// There is no fence.
    NoFence,
    /// The first fence has no end.
    Unclosed {
        /// Where the fence's line begins, in bytes.
        offset: usize,
    },
}

impl fmt::Display for CodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CodeError::NoFence => "no fenced block; expected code between two ``` lines",
            CodeError::Unclosed { .. } => "the fenced block is not closed",
        })
    }
}

impl std::error::Error for CodeError {}

/// Finds the code in a cell's content. A fence has at most three blanks before it, which are not
/// taken off the lines of an indented block.
pub fn code(content: &str) -> Result<Code<'_>, CodeError> {
    let mut lines = lines(content);
    let opening = lines.find_map(|(span, line)| Some((span, opener(line)?)));
    let (opening, fence) = opening.ok_or(CodeError::NoFence)?;
    let closing = lines.find(|(_, line)| closes(line, &fence));
    let (closing, _) = closing.ok_or(CodeError::Unclosed {
        offset: opening.start,
    })?;
    let body = without_line_end(&content[opening.end..closing.start]);
    Ok(Code {
        language: language(fence.info),
        body,
        body_span: opening.end..opening.end + body.len(),
        reasoning: reasoning(&content[..opening.start], &content[closing.end..]),
    })
}

/// The lines of a text without their line ends, and where they are with them.
fn lines(content: &str) -> impl Iterator<Item = (Range<usize>, &str)> {
    let mut end = 0;
    content.split_inclusive('\n').map(move |line| {
        let start = end;
        end += line.len();
        (start..end, without_line_end(line))
    })
}

fn without_line_end(text: &str) -> &str {
    text.strip_suffix('\n')
        .map_or(text, |text| text.strip_suffix('\r').unwrap_or(text))
}

struct CodeFence<'a> {
    mark: char,
    length: usize,
    info: &'a str,
}

/// A run of three or more backticks or tildes behind at most three blanks, and what follows it.
fn fence(line: &str) -> Option<CodeFence<'_>> {
    let run = line.trim_start_matches(' ');
    let mark = run
        .chars()
        .next()
        .filter(|mark| matches!(mark, '`' | '~'))?;
    let info = run.trim_start_matches(mark);
    let length = run.len() - info.len();
    (line.len() - run.len() <= 3 && length >= 3).then_some(CodeFence { mark, length, info })
}

/// Behind backticks no more of them may follow: such a line is code in a line of text.
fn opener(line: &str) -> Option<CodeFence<'_>> {
    fence(line).filter(|fence| fence.mark == '~' || !fence.info.contains('`'))
}

fn closes(line: &str, opener: &CodeFence<'_>) -> bool {
    fence(line).is_some_and(|fence| {
        fence.mark == opener.mark
            && fence.length >= opener.length
            && fence.info.trim_matches([' ', '\t']).is_empty()
    })
}

/// The language in `python`, `{python}`, `{.python .numberLines}`, `python,ignore`.
fn language(info: &str) -> Option<&str> {
    let words = info.trim_start_matches(|c: char| c == '{' || c.is_whitespace());
    let ends = |c: char| matches!(c, '{' | '}' | ',') || c.is_whitespace();
    let word = words.split(ends).next()?;
    Some(word.strip_prefix('.').unwrap_or(word)).filter(|word| !word.is_empty())
}

fn reasoning(before: &str, after: &str) -> String {
    let parts = [trim_blank_lines(before), trim_blank_lines(after)];
    parts
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("\n\n")
}

/// Takes off blank lines at both ends and the last line end, but no blank of any other line.
fn trim_blank_lines(text: &str) -> &str {
    let blanks = [' ', '\t', '\r', '\n'];
    let Some(first) = text.find(|c| !blanks.contains(&c)) else {
        return "";
    };
    let start = text[..first].rfind('\n').map_or(0, |at| at + 1);
    let last = text.trim_end_matches(blanks).len();
    let end = text[last..]
        .find('\n')
        .map_or(text.len(), |at| last + at + 1);
    without_line_end(&text[start..end])
}

#[cfg(test)]
mod tests;
