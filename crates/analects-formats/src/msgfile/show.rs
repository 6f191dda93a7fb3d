//! The JSON that `show` prints, on which other tools build: its shape is documented and fixed.

use std::collections::{BTreeMap, HashMap};

use analects_core::{Agent, History, LineIndex, Problem};
use serde::Serialize;

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
    for cell in document.cells() {
        let mut row = show_cell(&lines, cell);
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

fn show_cell(lines: &LineIndex<'_>, cell: Cell<'_>) -> ShowCell {
    let meta = cell.meta().unwrap_or_default();
    let (role, span) = (role_of(cell, &meta), cell.span());
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
        agent: (role == "reply").then(|| meta.type_word.clone()).flatten(),
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

/// What a cell is, in the words of `show`'s JSON.
pub fn role(cell: Cell<'_>) -> &'static str {
    role_of(cell, &cell.meta().unwrap_or_default())
}

/// What a cell is whose metadata has been read already.
pub(super) fn role_of(cell: Cell<'_>, meta: &Meta) -> &'static str {
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
        _ if cell.id().unwrap_or("").contains('.') => "code_output",
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
