//! What is odd about a document, with positions and hints for people. Decoding never needs it.

use analects_core::{Problem, SessionId, Severity, Span};

use super::line::{count, is_gap, is_separator, tag_line, tag_name};
use super::{ChatItem, ChatMdDocument, decode, messages};
use crate::msgfile::frontmatter;
use crate::msgfile::line::is_blank;
use crate::msgfile::problems::not_utf8;
use crate::msgfile::scan::{SourceLine, spanned_lines};

impl ChatMdDocument {
    /// Lists everything that is odd about the file, in order of position.
    pub fn problems(&self) -> Vec<Problem> {
        let lines = self.lines();
        let mut found = Vec::new();
        if !self.utf8 {
            found.extend(not_utf8(&self.source, &lines));
        }
        let yaml = self
            .frontmatter
            .and_then(|span| frontmatter::text_span(&self.source, span));
        for problem in &self.front.problems {
            let start = yaml.map_or(0, |yaml| yaml.start);
            found.push(problem.clone().in_file(start, &lines));
        }
        let mut spanned = self.near_items();
        spanned.extend(self.items().flat_map(tag_problems));
        spanned.sort_by_key(|(_, span)| span.start);
        for (problem, span) in spanned {
            found.push(problem.at(span, &lines));
        }
        found.extend(messages(self, &SessionId::default()).problems);
        found.sort_by_key(|problem| (problem.line, problem.column));
        found
    }

    /// Returns the problem that keeps this file from being changed, if there is one.
    pub fn why_not_writable(&self) -> Option<Problem> {
        if self.utf8 {
            return None;
        }
        not_utf8(&self.source, &self.lines()).into_iter().next()
    }

    /// Finds lines that are nearly the start of an item.
    fn near_items(&self) -> Vec<(Problem, Span)> {
        let mut found = Vec::new();
        let mut heads = self.scan.items.iter().map(|item| item.tag.start).peekable();
        // The separator above, and whether a `>` line follows it.
        let mut before = None;
        let mut gap = false;
        for line in spanned_lines(&self.source, self.body) {
            while heads.next_if(|head| *head < line.span.start).is_some() {}
            if heads.next_if(|head| *head == line.span.start).is_some() {
                before = None;
                continue;
            }
            if let Some((kind, span)) = before
                && is_nearly_head(kind, line.text)
            {
                found.push((near_item(), Span::new(span, line.span.end)));
            }
            (before, gap) = next_state(&line, before, gap);
        }
        found
    }
}

/// A separator above a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    /// A separator. A tag must follow.
    Separator,
    /// Nearly a separator.
    Nearly,
}

/// Returns what the next line needs to know: whether this one is a separator, and whether a `>` line followed it.
fn next_state(
    line: &SourceLine<'_>,
    before: Option<(Before, usize)>,
    gap: bool,
) -> (Option<(Before, usize)>, bool) {
    if is_separator(line.text) {
        (Some((Before::Separator, line.span.start)), false)
    } else if is_nearly_separator(line.text) {
        (Some((Before::Nearly, line.span.start)), false)
    } else if before.is_some() && !gap && is_gap(line.text) {
        (before, true)
    } else {
        (None, false)
    }
}

/// Returns whether a line is nearly a separator: `>---`, `>  ---`, or a separator behind blanks.
fn is_nearly_separator(line: &[u8]) -> bool {
    let line = &line[count(line, is_blank).min(3)..];
    let Some(rest) = line.strip_prefix(b">") else {
        return false;
    };
    let rest = &rest[count(rest, is_blank)..];
    let dashes = count(rest, |byte| byte == b'-');
    dashes >= 3 && rest[dashes..].iter().all(|byte| is_blank(*byte))
}

/// Returns whether a line is a tag below what is nearly a separator, or nearly a tag below a separator.
fn is_nearly_head(before: Before, line: &[u8]) -> bool {
    match before {
        Before::Nearly => tag_line(line).is_some(),
        Before::Separator => tag_name(line).is_some() && tag_line(line).is_none(),
    }
}

/// The problem of a line that is nearly the start of an item.
fn near_item() -> Problem {
    Problem::warning(
        "near-item",
        "this is nearly the start of an item, and is not one",
    )
    .hint("an item starts with a line > --- and a line > <NAME /> with nothing after it")
    .with(Severity::Hint)
}

/// Finds what is wrong with a tag: junk among its attributes, and a `stored` that does not fit the text.
fn tag_problems(item: ChatItem<'_>) -> Vec<(Problem, Span)> {
    let (line, start) = (item.tag_text(), item.tag().start);
    let (attributes, junk) = decode::tag_attributes(line, item.name_end());
    let mut found = Vec::new();
    for span in junk {
        let shown: String = String::from_utf8_lossy(span.of(line))
            .chars()
            .take(40)
            .collect();
        let text = format!("cannot read {shown:?} in the tag; expected key=\"value\"");
        let problem = Problem::warning("bad-attribute", text).hint("write \" in a value as &quot;");
        found.push((problem, Span::new(start + span.start, start + span.end)));
    }
    let stored = attributes.iter().rev().find(|(key, _)| key == "stored");
    if let Some((_, stored)) = stored
        && !item.is_stored_as_it_says(Some(stored))
    {
        let text = format!("stored={stored:?} does not fit this item's text; it is ignored");
        let hint = "the text was edited: remove the attribute to keep it as it is now";
        found.push((
            Problem::warning("stored-mismatch", text).hint(hint),
            item.tag(),
        ));
    }
    found
}
