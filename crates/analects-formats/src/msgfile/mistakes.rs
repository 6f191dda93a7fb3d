//! What people type by hand that is probably not read as they mean it: metadata in the wrong place, cells in a comment,
//! misspelt types, and frontmatter or a section that is none. What a program writes never looks like this.

use std::collections::HashSet;

use analects_core::{Hint, History, Problem, Severity, Span, nearest};

use super::fence::lines_outside_fences;
use super::line::{head, heading_text, is_blank_line, is_id};
use super::meta::{MetaToken, tokens};
use super::role::{is_fixed_word, is_output_word};
use super::scan::{line_text, lines};
use super::{Cell, CellKind, CellRole, Document, DocumentKind, MetaKey, frontmatter};

/// A problem, and where it is.
pub(super) type Located = (Problem, Span);

/// The type words of cells that a person writes.
const MESSAGE_WORDS: [&str; 4] = ["markdown", "code", "raw", "agent"];

/// The type words of outputs that nobody takes for the name of an agent.
const OUTPUT_WORDS: [&str; 9] = [
    "tool",
    "system",
    "summary",
    "compact_boundary",
    "attachment",
    "notification",
    "progress",
    "tombstone",
    "details",
];

/// The keys of frontmatter that decide who is asked, and what is sent.
const DECISIVE_KEYS: [&str; 4] = ["agents", "default_agent", "message_section", "context"];

impl Document {
    /// Lines of loose cells that look like the metadata of a cell, and are not read as such. An error if the line would
    /// hide its cell or choose who answers: then something is sent that its author did not mean.
    pub(super) fn unread_metadata(&self) -> Vec<Located> {
        let mut found = Vec::new();
        for cell in self.cells().filter(|cell| !cell.is_sealed()) {
            let text = Span::new(cell.head().end, cell.span().end);
            if memchr::memmem::find(text.of(&self.source), b"[^").is_none() {
                continue;
            }
            let mut is_first = true;
            for (at, line) in lines_outside_fences(&self.source, text) {
                if is_blank_line(line) {
                    continue;
                }
                let line = Span::new(at, at + line.len());
                if let Some(metadata) = self.as_metadata(line) {
                    found.extend(metadata.problem(cell, is_first).map(|it| (it, line)));
                }
                is_first = false;
            }
        }
        found
    }

    /// Reads a line as the metadata of some cell; `None` for any other line, such as a footnote.
    fn as_metadata(&self, line: Span) -> Option<UnreadMetadata<'_>> {
        let text = line.of(&self.source).strip_prefix(b"[^")?;
        let id = &text[..memchr::memmem::find(text, b"]:")?];
        if !is_id(id) {
            return None;
        }
        let rest = Span::new(line.start + "[^]:".len() + id.len(), line.end);
        let mut is_known = false;
        let mut is_decisive = false;
        for token in tokens(&self.source, rest) {
            match token {
                MetaToken::Word(word) => is_known = is_fixed_word(self.text_at(word)),
                MetaToken::Attribute(attribute) => {
                    let key = MetaKey::of(self.text_at(attribute.key));
                    let value = attribute.text(&self.source);
                    is_known |= key.is_some();
                    is_decisive |= key == Some(MetaKey::Agent)
                        || key == Some(MetaKey::History)
                            && History::parse(&value) != Some(History::Include);
                }
                MetaToken::Junk(_) => return None,
            }
        }
        is_known.then_some(UnreadMetadata {
            id: std::str::from_utf8(id).unwrap_or_default(),
            is_decisive,
        })
    }

    fn text_at(&self, span: Span) -> &str {
        std::str::from_utf8(span.of(&self.source)).unwrap_or_default()
    }

    /// Cells inside an HTML comment, which means nothing here. An error for a comment that a person typed: they
    /// probably think that nobody sees its cells.
    pub(super) fn cells_in_comments(&self) -> Vec<Located> {
        if memchr::memmem::find(&self.source, b"<!--").is_none() {
            return Vec::new();
        }
        let mut found = Vec::new();
        let mut open: Option<OpenComment> = None;
        for (text, cell) in self.texts() {
            if let (Some(comment), Some(cell)) = (&mut open, cell) {
                comment.heads.push(cell.head());
            }
            let mut at = text.start;
            if let Some(comment) = open.take() {
                match memchr::memmem::find(text.of(&self.source), b"-->") {
                    Some(end) => {
                        at += end;
                        found.extend(comment.problems(self));
                    }
                    None => {
                        open = Some(comment);
                        continue;
                    }
                }
            }
            let is_typed = cell.is_none_or(|cell| !cell.is_sealed());
            let comment = unclosed_comment(&self.source, Span::new(at, text.end));
            open = comment.map(|start| OpenComment {
                start,
                is_typed,
                heads: Vec::new(),
            });
        }
        found
    }

    /// The text before the first cell, then the text of each cell.
    fn texts(&self) -> impl Iterator<Item = (Span, Option<Cell<'_>>)> {
        let text = |cell: Cell<'_>| Span::new(cell.head().end, cell.span().end);
        let cells = self.cells().map(move |cell| (text(cell), Some(cell)));
        std::iter::once((self.preamble(), None)).chain(cells)
    }

    /// What looks like frontmatter, and is none: an empty line is before it, or blanks follow a `---`. An error if it
    /// would decide who is asked, or what is sent.
    pub(super) fn near_frontmatter(&self) -> Option<Located> {
        if self.frontmatter.is_some() {
            return None;
        }
        let is_rule = |line: &[u8]| line.trim_ascii_end() == b"---";
        let mut all = lines(&self.source, self.body);
        let (start, opening) = all.find(|(_, line)| !is_blank_line(line_text(line)))?;
        if !is_rule(opening) {
            return None;
        }
        let before_cells = |(_, line): &(usize, &[u8])| head(line_text(line)).is_none();
        let mut rest = all.take_while(before_cells);
        let (end, _) = rest.find(|(_, line)| is_rule(line))?;
        let text = self.text_at(Span::new(start + opening.len(), end));
        let tree = frontmatter::yaml::Yaml::parse(text).ok()?;
        let known = ["title", "id"].into_iter().chain(DECISIVE_KEYS);
        let key = known.rev().find(|key| tree.get(key).is_some())?;
        let why = if start > self.body {
            "an empty line stands before it"
        } else {
            "a blank follows its ---"
        };
        let text = format!("this is not read as frontmatter, since {why}");
        let problem = Problem::error("near-frontmatter", text)
            .hint("start the file with --- and end both of these lines right after the ---");
        let severity = if DECISIVE_KEYS.contains(&key) {
            Severity::Error
        } else {
            Severity::Warning
        };
        Some((problem.with(severity), Span::new(start, start + 3)))
    }

    /// A heading after that of the section and before the first cell that ends the section: the messages go to the end
    /// of the file, below it.
    pub(super) fn section_not_last(&self) -> Option<Located> {
        let section = self.section()?;
        if self.kind != DocumentKind::Section {
            return None;
        }
        let text = Span::new(section.heading.end, self.preamble().end);
        if text.start >= text.end {
            return None;
        }
        let ends_section =
            |line: &[u8]| heading_text(line).is_some_and(|(level, _)| level <= section.level);
        let mut lines = lines_outside_fences(&self.source, text);
        let (at, line) = lines.find(|(_, line)| ends_section(line))?;
        let name = self.front.message_section.as_deref().unwrap_or_default();
        let text = format!("the section {name:?} is not the last one: this heading ends it");
        let problem = Problem::warning("section-not-last", text)
            .hint("messages go to the end of the file: move the section there");
        Some((problem, Span::new(at, at + line.len())))
    }

    /// Code blocks that nothing closes, below which loose heads start cells.
    pub(super) fn unclosed_fences(&self) -> Vec<Located> {
        let lines = self.lines();
        let mut found = Vec::new();
        for (fence, first_head) in &self.scan.open_fences {
            let line = lines.position(*first_head).0;
            let text = format!("this code block is not closed, so line {line} starts a cell");
            let problem = Problem::warning("unclosed-fence", text)
                .hint("close the code block: above that line, or below it if it is code");
            found.push((problem, Span::new(*fence, *fence)));
        }
        found
    }

    /// Tools that code cells define. Nothing offers them to a model.
    pub(super) fn tools_nobody_offers(&self) -> Vec<Located> {
        let mut known = HashSet::new();
        let mut found = Vec::new();
        for cell in self.cells() {
            let Some(tool) = cell.get(MetaKey::Tool) else {
                continue;
            };
            if cell.role() == CellRole::Code && known.insert(tool) {
                let text =
                    format!("the tool {tool} is defined here, but nothing offers it to a model");
                let problem = Problem::warning("unoffered-tool", text)
                    .hint("the definition is kept, and no model can call it");
                found.push((problem.with(Severity::Hint), cell.head()));
            }
        }
        found
    }
}

/// A line that looks like metadata.
struct UnreadMetadata<'a> {
    /// The id of the cell that it is for.
    id: &'a str,
    /// Whether it would hide the cell, or choose who answers.
    is_decisive: bool,
}

impl UnreadMetadata<'_> {
    /// The problem of this line in the text of a loose cell. A line for another cell is probably a footnote, unless it
    /// is the first line or would decide something.
    fn problem(&self, cell: Cell<'_>, is_first: bool) -> Option<Problem> {
        let id = self.id;
        let is_own = cell.id() == Some(id);
        if !is_own && !is_first && !self.is_decisive {
            return None;
        }
        let (text, hint): (String, Hint) = match cell.id() {
            Some(own) if own != id => (
                format!("this is metadata for {id}, but the head above has the id {own}"),
                format!("write [^{id}] on the head, or [^{own}] here").into(),
            ),
            Some(_) => (
                "this metadata is below the text, so it has no effect and is part of the text"
                    .to_string(),
                "move it right below the head; to keep it as text, indent it".into(),
            ),
            None => (
                format!("this is metadata for {id}, but the head above has no id"),
                format!("write [^{id}] at the end of the head, and this line right below it")
                    .into(),
            ),
        };
        let problem = Problem::error("unread-metadata", text).hint(hint);
        if self.is_decisive {
            Some(problem)
        } else {
            Some(problem.with(Severity::Warning))
        }
    }
}

/// A comment that is not closed yet.
struct OpenComment {
    /// Where it begins.
    start: usize,
    /// Whether it begins in a text that a person typed.
    is_typed: bool,
    /// The heads in it.
    heads: Vec<Span>,
}

impl OpenComment {
    /// One problem for each head in the comment.
    fn problems(self, document: &Document) -> Vec<Located> {
        let line = document.lines().position(self.start).0;
        let severity = if self.is_typed {
            Severity::Error
        } else {
            Severity::Warning
        };
        let problem = |head: Span| {
            let text = format!("this cell counts, although a comment opens at line {line}");
            let problem = Problem::error("cell-in-comment", text)
                .hint("hide a cell with history=\"none\" in its metadata, or remove the comment");
            (problem.with(severity), head)
        };
        self.heads.into_iter().map(problem).collect()
    }
}

/// Where the last comment of a text begins that the text does not close. Only one at the start of a line, outside of
/// code blocks, is a comment for other Markdown programs.
fn unclosed_comment(source: &[u8], text: Span) -> Option<usize> {
    let mut open = None;
    for (at, line) in lines_outside_fences(source, text) {
        let mut rest = line;
        if open.is_none() {
            let indent = line.iter().take_while(|byte| **byte == b' ').count();
            let Some(comment) = line[indent..].strip_prefix(b"<!--").filter(|_| indent <= 3) else {
                continue;
            };
            open = Some(at + indent);
            rest = comment;
        }
        if memchr::memmem::find(rest, b"-->").is_some() {
            open = None;
        }
    }
    open
}

/// A type in the title of a loose head, as other tools write it.
pub(super) fn type_in_title(cell: Cell<'_>, agents: &HashSet<String>) -> Option<Problem> {
    if cell.is_sealed() {
        return None;
    }
    let title = cell.title();
    let first = title
        .strip_prefix('[')
        .and_then(|rest| rest.split_once(']'));
    let last = title
        .strip_suffix(']')
        .and_then(|rest| rest.rsplit_once('['));
    let words = [first.map(|(word, _)| word), last.map(|(_, word)| word)];
    let is_type = |word: &&str| {
        *word == "md" || is_fixed_word(word) || (is_output(cell) && agents.contains(*word))
    };
    let word = words.into_iter().flatten().find(is_type)?;
    let text = format!("[{word}] is part of the title here, and not the type of the cell");
    let id = cell
        .id()
        .map_or_else(|| cell.ordinal().to_string(), str::to_string);
    let hint = format!("end the head with [^{id}], and write [^{id}]: [{word}] right below it");
    let problem = Problem::warning("type-in-title", text).hint(hint);
    // That is what the cell is anyway.
    let is_default = matches!(word, "markdown" | "md") && !is_output(cell);
    Some(if is_default {
        problem.with(Severity::Hint)
    } else {
        problem
    })
}

fn is_output(cell: Cell<'_>) -> bool {
    cell.kind() == CellKind::Output
}

/// A type word that is none: a misspelt one, or on a person's cell any word without a meaning there.
pub(super) fn unknown_type(cell: Cell<'_>, agents: &HashSet<String>) -> Option<Problem> {
    let word = cell.written_type()?;
    if is_output(cell) {
        if !cell.role().is_reply() || is_fixed_word(word) || agents.contains(word) {
            return None;
        }
        let meant = nearest(word, OUTPUT_WORDS)?;
        let text = format!("[{word}] is read as the name of an agent");
        let problem = Problem::warning("unknown-cell-type", text);
        return Some(problem.hint(format!("did you mean [{meant}]?")));
    }
    if cell.role() != CellRole::User || word == "markdown" || is_output_word(word) {
        return None;
    }
    let text = format!("[{word}] is no type of a message, so this is read as text");
    let problem = Problem::warning("unknown-cell-type", text);
    if agents.contains(word) {
        let marks = "#".repeat(cell.level());
        return Some(problem.hint(format!("the reply of an agent starts with {marks} %%%")));
    }
    Some(match nearest(word, MESSAGE_WORDS) {
        Some(meant) => problem.hint(format!("did you mean [{meant}]?")),
        None => problem
            .with(Severity::Hint)
            .hint("expected markdown, code, raw or agent"),
    })
}
