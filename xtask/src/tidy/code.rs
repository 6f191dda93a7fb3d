//! Just enough of Rust's lexical rules to count braces and find words: comments and literals become
//! blanks, everything else stays where it is.

use std::ops::RangeInclusive;

/// The text with comments, strings and characters blanked out; line ends stay.
pub fn blank(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let follows_word = out.chars().next_back().is_some_and(is_word);
        let skip = skipped(rest, follows_word);
        let (taken, left) = rest.split_at(if skip == 0 { c.len_utf8() } else { skip });
        if skip == 0 {
            out.push(c);
        } else {
            out.extend(taken.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        }
        rest = left;
    }
    out
}

/// Whether a character can be part of a name.
pub fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The names and the single signs of blanked text, without the space between them.
pub fn tokens(blanked: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = blanked.trim_start();
    while let Some(first) = rest.chars().next() {
        let word = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let (token, left) = rest.split_at(word.max(first.len_utf8()));
        found.push(token);
        rest = left.trim_start();
    }
    found
}

/// A string of a source file.
#[derive(Debug, PartialEq, Eq)]
pub struct Literal<'a> {
    /// The line on which it starts, from 1.
    pub line: usize,
    /// What stands in the source, quotes and escapes included.
    pub text: &'a str,
}

/// Every string that is not below a `#[cfg(test)]`.
pub fn strings_outside_tests(text: &str) -> Vec<Literal<'_>> {
    let tests = lines_of_tests(&blank(text));
    let mut found = Vec::new();
    let mut line = 1;
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let follows_word = text[..at].chars().next_back().is_some_and(is_word);
        let skip = skipped(&text[at..], follows_word);
        let end = at + skip.max(c.len_utf8());
        let taken = &text[at..end];
        if skip > 0 && is_string(taken) && !tests.iter().any(|lines| lines.contains(&line)) {
            found.push(Literal { line, text: taken });
        }
        line += taken.matches('\n').count();
        at = end;
    }
    found
}

/// The shipped code of a source file: comments and tests are blank, and each literal is one `_0` sign, so that it
/// counts as a token and stays on its line.
pub fn shipped(text: &str) -> String {
    let blanked = blank(text);
    let tests = lines_of_tests(&blanked);
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let follows_word = text[..at].chars().next_back().is_some_and(is_word);
        let skip = skipped(&text[at..], follows_word);
        let end = at + skip.max(c.len_utf8());
        let taken = &text[at..end];
        if skip == 0 {
            out.push(c);
        } else if !taken.starts_with("//") && !taken.starts_with("/*") {
            out.push_str("_0");
            out.extend(taken.chars().filter(|c| *c == '\n'));
        } else {
            out.extend(taken.chars().filter(|c| *c == '\n'));
        }
        at = end;
    }
    let is_shipped = |line: usize| !tests.iter().any(|lines| lines.contains(&line));
    let lines = out.split('\n').enumerate();
    let kept = lines.map(|(at, line)| if is_shipped(at + 1) { line } else { "" });
    kept.collect::<Vec<_>>().join("\n")
}

/// How many lines of a source file are only for tests.
pub fn test_line_count(text: &str) -> usize {
    lines_of_tests(&blank(text))
        .into_iter()
        .map(|lines| lines.count())
        .sum()
}

/// Whether what is skipped is a string, and neither a comment nor a character.
fn is_string(skipped: &str) -> bool {
    !skipped.starts_with(['/', '\''])
}

/// The lines of items that only tests have, in blanked text.
fn lines_of_tests(blanked: &str) -> Vec<RangeInclusive<usize>> {
    let starts = blanked.match_indices("#[cfg(test)]");
    let items = starts.filter_map(|(at, _)| {
        let end = at + body_end(&blanked[at..])?;
        Some(line_of(blanked, at)..=line_of(blanked, end))
    });
    items.collect()
}

/// How many bytes at the start of `rest` are a comment or a literal.
fn skipped(rest: &str, follows_word: bool) -> usize {
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    if rest.starts_with("/*") {
        return block_comment(rest);
    }
    if !follows_word && let Some(len) = raw_string(rest) {
        return len;
    }
    match rest.as_bytes()[0] {
        b'"' => quoted(rest, '"'),
        b'\'' => character(rest),
        _ => 0,
    }
}

fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        match rest.as_bytes().get(at..at + 2) {
            Some(b"/*") => (depth, at) = (depth + 1, at + 2),
            Some(b"*/") => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

/// `r"…"`, `br#"…"#` and the like.
fn raw_string(rest: &str) -> Option<usize> {
    let body = rest
        .strip_prefix("br")
        .or(rest.strip_prefix("cr"))
        .or(rest.strip_prefix('r'))?;
    let text = body.trim_start_matches('#');
    let hashes = body.len() - text.len();
    let inside = text.strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let start = rest.len() - inside.len();
    Some(
        inside
            .find(&end)
            .map_or(rest.len(), |at| start + at + end.len()),
    )
}

fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// A character, unless the quote begins a lifetime or a label.
fn character(rest: &str) -> usize {
    let mut chars = rest.chars().skip(1);
    match (chars.next(), chars.next()) {
        (Some('\\'), _) => quoted(rest, '\''),
        (Some(c), Some('\'')) => c.len_utf8() + 2,
        _ => 0,
    }
}

/// A function and the lines that it takes.
#[derive(Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// The line of its `fn`, from 1.
    pub line: usize,
    /// How many lines it has, from `fn` to its closing brace.
    pub lines: usize,
}

/// Every function with a body, in blanked text.
pub fn functions(blanked: &str) -> Vec<Function> {
    let mut found = Vec::new();
    for (at, _) in blanked.match_indices("fn ") {
        let name: String = blanked[at + 3..]
            .chars()
            .take_while(|c| is_word(*c))
            .collect();
        let inside_word = blanked[..at].chars().next_back().is_some_and(is_word);
        if name.is_empty() || inside_word {
            continue;
        }
        if let Some(end) = body_end(&blanked[at..]) {
            let line = line_of(blanked, at);
            let lines = line_of(blanked, at + end) - line + 1;
            found.push(Function { name, line, lines });
        }
    }
    found
}

/// The line of a byte offset, from 1.
pub fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// Where the body that begins in `rest` ends; `None` for a function without one.
fn body_end(rest: &str) -> Option<usize> {
    // A `;` inside brackets belongs to an array type, such as `[u8; 4]`.
    let (mut brackets, mut braces) = (0, 0);
    for (at, c) in rest.char_indices() {
        match c {
            '(' | '[' => brackets += 1,
            ')' | ']' => brackets -= 1,
            ';' if brackets == 0 && braces == 0 => return None,
            '{' => braces += 1,
            '}' => {
                braces -= 1;
                if braces == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}
