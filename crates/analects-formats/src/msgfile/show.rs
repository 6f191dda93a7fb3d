//! The JSON that `show` prints, on which other tools build: its shape is documented and fixed.

use std::collections::{BTreeMap, HashMap, HashSet};

use analects_core::{Agent, History, LineIndex, Problem};
use serde::Serialize;

use super::agents::is_fixed_word;
use super::code::code;
use super::{Cell, CellKind, Document, Kind, Meta};

/// A message file, as JSON.
#[derive(Debug, Clone, Serialize)]
pub struct Show {
    path: String,
    kind: &'static str,
    encoding: &'static str,
    frontmatter: Option<String>,
    agents: Vec<Agent>,
    default_agent: Option<String>,
    cells: Vec<ShowCell>,
    problems: Vec<ShowProblem>,
}

#[derive(Debug, Clone, Serialize)]
struct ShowCell {
    id: Option<String>,
    name: String,
    kind: &'static str,
    role: &'static str,
    #[serde(rename = "type")]
    type_word: String,
    title: String,
    heading_level: usize,
    history: &'static str,
    agent: Option<String>,
    attributes: BTreeMap<String, String>,
    content: String,
    language: Option<String>,
    line: usize,
    end_line: usize,
    parent: Option<String>,
    outputs: Vec<String>,
}

#[derive(Debug, Clone, Serialize)]
struct ShowProblem {
    code: String,
    severity: analects_core::Severity,
    line: usize,
    column: usize,
    message: String,
    hint: Option<String>,
}

impl Show {
    /// Adds problems that are not about the file's text, each at its place.
    #[must_use]
    pub fn with_problems(mut self, more: &[Problem]) -> Show {
        self.problems.extend(more.iter().map(show_problem));
        self.problems.sort_by_key(|problem| (problem.line, problem.column));
        self
    }
}

/// Describes a document for other programs.
pub fn show(document: &Document, path: &str) -> Show {
    let front = document.frontmatter_span().map(|span| span.of(document.source()));
    Show {
        path: path.to_string(),
        kind: match document.kind() {
            Kind::Whole => "msgfile",
            Kind::Section => "section",
            Kind::Plain => "plain",
        },
        encoding: if document.is_utf8() { "utf-8" } else { "unknown" },
        frontmatter: front.map(|text| String::from_utf8_lossy(text).into_owned()),
        default_agent: document.default_agent().map(|agent| agent.name),
        agents: document.agents(),
        cells: cells(document),
        problems: document.problems().iter().map(show_problem).collect(),
    }
}

fn cells(document: &Document) -> Vec<ShowCell> {
    let lines = document.lines();
    let mut shown: Vec<ShowCell> = Vec::new();
    let mut names: HashMap<String, usize> = HashMap::new();
    let mut last_message = None;
    for (cell, role) in document.cells().zip(roles(document)) {
        let mut row = show_cell(&lines, cell, role);
        if row.role == "user" {
            last_message = Some(shown.len());
        }
        if cell.kind() == CellKind::Output {
            // A derived id extends its parent's by a dot; everything else answers what was said last.
            let derived = row.name.rsplit_once('.').and_then(|(parent, _)| names.get(parent));
            let part = row.attributes.get("part").and_then(|part| names.get(part));
            let parent = part.or(derived).copied().or(last_message);
            row.parent = parent.map(|at| shown[at].name.clone());
            if let Some(at) = parent {
                shown[at].outputs.push(row.name.clone());
            }
        }
        names.entry(row.name.clone()).or_insert(shown.len());
        shown.push(row);
    }
    shown
}

fn show_cell(lines: &LineIndex<'_>, cell: Cell<'_>, role: &'static str) -> ShowCell {
    let meta = cell.meta().unwrap_or_default();
    let span = cell.span();
    let content = cell.content_of(&meta).into_owned();
    let end = span.end.saturating_sub(1).max(span.start);
    let language = match role {
        "user" if meta.type_word.as_deref() == Some("code") => {
            code(&content).ok().and_then(|code| code.language.map(str::to_string))
        }
        "code_output" => meta.type_word.clone(),
        _ => None,
    };
    ShowCell {
        id: cell.id().map(str::to_string),
        name: cell.name().into_owned(),
        kind: if cell.kind() == CellKind::Message { "message" } else { "output" },
        role,
        title: meta.get("title").map_or_else(|| cell.title().into_owned(), str::to_string),
        heading_level: cell.level(),
        history: meta.get("history").and_then(History::parse).unwrap_or_default().as_str(),
        agent: meta.type_word.clone().filter(|word| role == "reply" && !is_fixed_word(word)),
        type_word: meta.type_word.unwrap_or_else(|| "markdown".to_string()),
        attributes: meta.attributes.into_iter().collect(),
        content,
        language,
        line: lines.position(span.start).0,
        end_line: lines.position(end).0,
        parent: None,
        outputs: Vec::new(),
    }
}

/// What a cell is, in the words of `show`'s JSON. For many cells, [`roles`] is quicker.
pub fn role(cell: Cell<'_>) -> &'static str {
    let meta = cell.meta().unwrap_or_default();
    let is_code = |id: &str| cell.document.cell(id).is_some_and(is_code_cell);
    role_of(cell, &meta, is_code)
}

/// What each cell of a document is.
pub fn roles(document: &Document) -> Vec<&'static str> {
    let mut code = HashSet::new();
    let role = |cell: Cell<'_>| {
        let meta = cell.meta().unwrap_or_default();
        if is_code(cell, &meta) {
            code.insert(cell.name().into_owned());
        }
        role_of(cell, &meta, |id| code.contains(id))
    };
    document.cells().map(role).collect()
}

fn is_code_cell(cell: Cell<'_>) -> bool {
    is_code(cell, &cell.meta().unwrap_or_default())
}

fn is_code(cell: Cell<'_>, meta: &Meta) -> bool {
    cell.kind() == CellKind::Message && meta.type_word.as_deref() == Some("code")
}

/// Whether this is the id of what a code cell printed: the cell's id, a dot and a number, and for a
/// further cell of the same execution a hyphen and another.
pub(super) fn is_output_of(id: &str, is_code: impl Fn(&str) -> bool) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    id.rsplit_once('.').is_some_and(|(cell, number)| number.split('-').all(digits) && is_code(cell))
}

fn role_of(cell: Cell<'_>, meta: &Meta, is_code: impl Fn(&str) -> bool) -> &'static str {
    let word = meta.type_word.as_deref().unwrap_or("markdown");
    if cell.kind() == CellKind::Message {
        return if word == "agent" { "agent_definition" } else { "user" };
    }
    match word {
        "tool" if meta.get("name").is_some() => "tool_call",
        "tool" => "tool_result",
        "system" => "system",
        "summary" => "summary",
        "compact_boundary" => "compact_boundary",
        "attachment" => "attachment",
        "notification" => "notification",
        "progress" => "progress",
        "tombstone" => "tombstone",
        "block" => "block",
        "residue" => "residue",
        _ if is_output_of(cell.id().unwrap_or(""), is_code) => "code_output",
        _ => "reply",
    }
}

fn show_problem(problem: &Problem) -> ShowProblem {
    ShowProblem {
        code: problem.code.to_string(),
        severity: problem.severity,
        line: problem.line,
        column: problem.column,
        message: problem.message.clone(),
        hint: problem.hint.clone(),
    }
}
