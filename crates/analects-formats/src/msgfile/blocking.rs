//! The problems that keep a file from being asked about: `chat` would send something that its author did not mean, or
//! would ask somebody else.

use analects_core::{Problem, Severity, Span};

use super::fence::lines_outside_fences;
use super::line::heading_text;
use super::mistakes::Located;
use super::{Cell, CellKind, CellRole, Document, DocumentKind, MetaKey, Section, frontmatter};

impl Document {
    /// The first problem because of which nothing may be asked about this file: frontmatter that cannot be read or is
    /// none, a cell in an earlier format, a heading that ends the section for messages inside a cell, or a cell that its
    /// author probably takes for hidden.
    ///
    /// ```
    /// use analects_formats::msgfile::{decode, decode_named};
    ///
    /// let file = "# %%% [^2]\n\n[^2]: [coder] status=\"streaming\"\n\nHalf an ans\n";
    /// assert_eq!(decode(file).why_not_asked().unwrap().code, "old-format");
    /// let notes = "---\nmessage_section: Talk\n---\n\n## Talk\n\n### %%\n\nWhy?\n\n## Books\n";
    /// let problem = decode_named(notes, "notes.md").why_not_asked().unwrap();
    /// assert_eq!((&*problem.code, problem.line), ("heading-outside-section", 11));
    /// ```
    pub fn why_not_asked(&self) -> Option<Problem> {
        let unreadable = self.unreadable_frontmatter();
        let blocking = unreadable.or_else(|| self.old_format());
        let blocking = blocking.or_else(|| self.headings_outside_section().into_iter().next());
        blocking.or_else(|| self.first_mistake())
    }

    /// The first cell that its author probably takes for hidden, or for one that another agent answers.
    fn first_mistake(&self) -> Option<Problem> {
        let mistakes = self.unread_metadata().into_iter();
        self.first_error(mistakes.chain(self.cells_in_comments()))
    }

    /// The first of these problems that is an error, with its place.
    fn first_error(&self, found: impl IntoIterator<Item = Located>) -> Option<Problem> {
        let mut found = found.into_iter();
        let (problem, span) = found.find(|(problem, _)| problem.severity == Severity::Error)?;
        Some(problem.at(span, &self.lines()))
    }

    /// The problem that the frontmatter is not valid YAML, or that it is not read as frontmatter and would decide who is
    /// asked.
    pub fn unreadable_frontmatter(&self) -> Option<Problem> {
        let Some(front) = self.frontmatter else {
            return self.first_error(self.near_frontmatter());
        };
        let mut problems = self.front.problems.iter();
        let problem = problems.find(|problem| problem.code == "frontmatter-yaml")?;
        let yaml = frontmatter::text_span(&self.source, front)?;
        Some(problem.clone().in_file(yaml.start, &self.lines()))
    }

    /// The problem of the first cell in an earlier format, which has no meaning any more.
    fn old_format(&self) -> Option<Problem> {
        let (cell, problem) = self
            .cells()
            .find_map(|cell| Some((cell, old_format(cell)?)))?;
        Some(problem.at(cell.head(), &self.lines()))
    }

    /// Headings of the section's level or above in cells that a person typed. Everywhere else in Markdown, such a heading
    /// ends the section, so what follows is probably not meant for the model.
    ///
    /// A program seals the cells that it writes, and a prompt on the command line may hold any headings.
    pub(super) fn headings_outside_section(&self) -> Vec<Problem> {
        let Some(section) = self.section() else {
            return Vec::new();
        };
        if self.kind != DocumentKind::Section {
            return Vec::new();
        }
        let typed = |cell: &Cell<'_>| cell.kind() == CellKind::Message && !cell.is_sealed();
        let index = self.lines();
        let mut problems = Vec::new();
        for cell in self.cells().filter(typed) {
            let span = Span::new(cell.head().end, cell.span().end);
            for heading in headings_up_to(section.level, &self.source, span) {
                problems.push(self.outside_section(heading, section).at(heading, &index));
            }
        }
        problems
    }

    fn outside_section(&self, heading: Span, section: Section) -> Problem {
        let name = self.front.message_section.as_deref().unwrap_or_default();
        let text = format!("this heading ends the section {name:?}, but is inside a cell");
        let line = heading.of(&self.source);
        let marks = line.iter().take_while(|byte| **byte == b'#').count();
        let escaped = format!("\\{}", "#".repeat(marks));
        let hint = if section.level < 6 {
            let deeper = "#".repeat(section.level + 1);
            format!(
                "make it part of the cell with {deeper} or {escaped}, or move it above the section"
            )
        } else {
            format!("make it part of the cell with {escaped}, or move it above the section")
        };
        Problem::error("heading-outside-section", text).hint(hint)
    }
}

/// The headings of this level or above in a part of a file, outside of closed code blocks.
fn headings_up_to(level: usize, source: &[u8], span: Span) -> Vec<Span> {
    if memchr::memchr(b'#', span.of(source)).is_none() {
        return Vec::new();
    }
    let is_one = |line: &[u8]| heading_text(line).is_some_and(|(found, _)| found <= level);
    lines_outside_fences(source, span)
        .filter(|(_, line)| is_one(line))
        .map(|(at, line)| Span::new(at, at + line.len()))
        .collect()
}

/// The problem of a cell in an earlier format.
pub(super) fn old_format(cell: Cell<'_>) -> Option<Problem> {
    // No key of an earlier format means anything now.
    let has = |key: &str| {
        let mut unknown = cell
            .attribute_refs()
            .filter(|attribute| attribute.key().is_none());
        unknown.any(|attribute| attribute.name() == key)
    };
    let is_output = cell.kind() == CellKind::Output;
    let is_notification = cell.role() == CellRole::Notification;
    let what = if is_output && cell.type_word() == "residue" {
        "[residue]"
    } else if is_output && cell.get(MetaKey::Status) == Some("streaming") {
        "status=\"streaming\""
    } else if is_output && has("asked") {
        "asked="
    } else if has("edit_of") {
        "edit_of="
    } else if has("history_before") {
        "history_before="
    } else if is_notification && cell.get(MetaKey::Kind) == Some("rewind") {
        "kind=\"rewind\""
    } else {
        return None;
    };
    let text = format!("{what} belongs to an earlier format and means nothing any more");
    let hint = "remove it from the cell, or remove the cell";
    Some(Problem::error("old-format", text).hint(hint))
}
