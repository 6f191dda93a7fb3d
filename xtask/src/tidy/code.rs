//! Just enough of Rust's lexical rules to count braces and find words: comments and literals become
//! blanks, everything else stays where it is.

use std::ops::RangeInclusive;

/// What a stretch of a source file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StretchKind {
    /// One character of code or space.
    Code,
    Comment,
    /// A string or a character, quotes and escapes included.
    Literal,
}

/// A comment, a literal, or one character of anything else.
struct Stretch<'a> {
    kind: StretchKind,
    /// The line on which it starts, from 1.
    line: usize,
    text: &'a str,
}

impl Stretch<'_> {
    fn line_ends(&self) -> usize {
        self.text.matches('\n').count()
    }

    fn is_doc(&self) -> bool {
        self.kind == StretchKind::Comment
            && self.text.starts_with("//")
            && self.text[2..].starts_with(['/', '!'])
    }
}

/// Cuts a source file into stretches; together they are the whole text.
fn stretches(text: &str) -> Vec<Stretch<'_>> {
    let mut found = Vec::new();
    let mut line = 1;
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let follows_word = text[..at].chars().next_back().is_some_and(is_word);
        let skip = skipped(&text[at..], follows_word);
        let end = at + skip.max(first.len_utf8());
        let taken = &text[at..end];
        let kind = match skip {
            0 => StretchKind::Code,
            _ if taken.starts_with("//") || taken.starts_with("/*") => StretchKind::Comment,
            _ => StretchKind::Literal,
        };
        let stretch = Stretch {
            kind,
            line,
            text: taken,
        };
        line += stretch.line_ends();
        at = end;
        found.push(stretch);
    }
    found
}

/// The text with comments, strings and characters blanked out; line ends stay.
pub fn blank(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for stretch in stretches(text) {
        if stretch.kind == StretchKind::Code {
            out.push_str(stretch.text);
        } else {
            let blanks = stretch
                .text
                .chars()
                .map(|c| if c == '\n' { '\n' } else { ' ' });
            out.extend(blanks);
        }
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
    let tests = TestLines::of(&blank(text));
    let mut found = Vec::new();
    for stretch in stretches(text) {
        let is_string = stretch.kind == StretchKind::Literal && !stretch.text.starts_with('\'');
        if is_string && !tests.contains(stretch.line) {
            found.push(Literal {
                line: stretch.line,
                text: stretch.text,
            });
        }
    }
    found
}

/// The shipped code of a source file: comments and tests are blank, and each literal is one `_0` sign, so that it
/// counts as a token and stays on its line.
pub fn shipped(text: &str) -> String {
    let tests = TestLines::of(&blank(text));
    let mut out = String::with_capacity(text.len());
    for stretch in stretches(text) {
        let is_test = tests.contains(stretch.line);
        match stretch.kind {
            StretchKind::Code if !is_test || stretch.text == "\n" => out.push_str(stretch.text),
            StretchKind::Literal if !is_test => out.push_str("_0"),
            _ => {}
        }
        if stretch.kind != StretchKind::Code {
            out.push_str(&"\n".repeat(stretch.line_ends()));
        }
    }
    out
}

/// How many lines of documentation a source file has outside tests.
pub fn doc_line_count(text: &str) -> usize {
    let tests = TestLines::of(&blank(text));
    stretches(text)
        .iter()
        .filter(|stretch| stretch.is_doc() && !tests.contains(stretch.line))
        .count()
}

/// How many lines of a source file are only for tests.
pub fn test_line_count(text: &str) -> usize {
    let tests = TestLines::of(&blank(text));
    (1..=text.lines().count())
        .filter(|line| tests.contains(*line))
        .count()
}

/// The modules that a file, given as blanked text, declares for tests alone.
pub fn test_modules(blanked: &str) -> Vec<String> {
    let mut names = Vec::new();
    for (at, attribute) in test_attributes(blanked) {
        let item = tokens(&blanked[at + attribute.len()..item_end(blanked, at)]);
        let declaration = item.iter().position(|token| *token == "mod");
        let name = declaration.and_then(|at| item.get(at + 1));
        names.extend(name.map(ToString::to_string));
    }
    names
}

/// The lines of items that only tests have.
struct TestLines(Vec<RangeInclusive<usize>>);

impl TestLines {
    /// Finds them in blanked text.
    fn of(blanked: &str) -> TestLines {
        let lines = test_attributes(blanked)
            .map(|(at, _)| line_of(blanked, at)..=line_of(blanked, item_end(blanked, at)));
        TestLines(lines.collect())
    }

    fn contains(&self, line: usize) -> bool {
        self.0.iter().any(|lines| lines.contains(&line))
    }
}

/// Where an attribute stands that leaves an item to tests.
fn test_attributes(blanked: &str) -> impl Iterator<Item = (usize, &str)> {
    let alone = blanked.match_indices("#[cfg(test)]");
    alone.chain(blanked.match_indices("#[cfg(all(test,"))
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

/// Where the item that begins at `at` ends: at its closing brace, or at its semicolon.
fn item_end(blanked: &str, at: usize) -> usize {
    let rest = &blanked[at..];
    let end = body_end(rest).or_else(|| rest.find(';'));
    at + end.unwrap_or_default()
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
