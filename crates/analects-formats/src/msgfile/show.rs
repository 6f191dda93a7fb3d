//! The JSON that `show` prints, on which other tools build: its shape is documented and fixed.

use std::collections::BTreeMap;

use analects_core::{Agent, History, Problem};
use serde::Serialize;

use super::{Cell, CellKind, Document};

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

/// Describes a document for other programs.
pub fn show(document: &Document, path: &str) -> Show {
    let agents = document.agents();
    let valid = document.why_not_writable().is_none();
    let frontmatter = document
        .frontmatter
        .map(|span| String::from_utf8_lossy(span.of(document.source())).into_owned());
    Show {
        path: path.to_string(),
        kind: "msgfile",
        encoding: if valid { "utf-8" } else { "unknown" },
        frontmatter,
        default_agent: agents.first().map(|agent| agent.name.clone()),
        agents,
        cells: cells(document),
        problems: document.problems.iter().map(show_problem).collect(),
    }
}

fn cells(document: &Document) -> Vec<ShowCell> {
    let mut shown: Vec<ShowCell> = Vec::new();
    let mut last_message = None;
    for cell in &document.cells {
        let mut row = show_cell(document, cell);
        if cell.is_prompt() {
            last_message = Some(shown.len());
        }
        if cell.kind == CellKind::Output {
            let parent = derived_parent(&shown, &row.name).or(last_message);
            row.parent = parent.map(|at| shown[at].name.clone());
            if let Some(at) = parent {
                shown[at].outputs.push(row.name.clone());
            }
        }
        shown.push(row);
    }
    shown
}

/// The cell whose id, followed by a dot, begins this one's.
fn derived_parent(shown: &[ShowCell], name: &str) -> Option<usize> {
    let (parent, _) = name.rsplit_once('.')?;
    shown.iter().position(|row| row.name == parent)
}

fn show_cell(document: &Document, cell: &Cell) -> ShowCell {
    let attributes = cell.meta.iter().flat_map(|meta| meta.attributes.iter().cloned());
    let role = role(cell);
    let history = cell.attribute("history").and_then(History::parse).unwrap_or_default();
    let end = cell.span.end.saturating_sub(1).max(cell.span.start);
    ShowCell {
        id: cell.id.clone(),
        name: cell.name(),
        kind: if cell.kind == CellKind::Message { "message" } else { "output" },
        role,
        type_word: cell.type_word().to_string(),
        title: cell.attribute("title").unwrap_or(&cell.title).to_string(),
        heading_level: cell.level,
        history: history.as_str(),
        agent: (role == "reply").then(|| cell.type_word().to_string()),
        attributes: attributes.collect(),
        content: document.content(cell),
        language: None,
        line: document.lines().position(cell.span.start).0,
        end_line: document.lines().position(end).0,
        parent: None,
        outputs: Vec::new(),
    }
}

/// What a cell is, in the words of `show`'s JSON.
pub fn role(cell: &Cell) -> &'static str {
    match (cell.kind, cell.type_word()) {
        (CellKind::Message, "agent") => "agent_definition",
        (CellKind::Message, _) => "user",
        (CellKind::Output, "tool") if cell.attribute("name").is_some() => "tool_call",
        (CellKind::Output, "tool") => "tool_result",
        (CellKind::Output, "system") => "system",
        (CellKind::Output, "summary") => "summary",
        (CellKind::Output, "compact_boundary") => "compact_boundary",
        (CellKind::Output, "attachment") => "attachment",
        (CellKind::Output, "notification") => "notification",
        (CellKind::Output, "progress") => "progress",
        (CellKind::Output, "tombstone") => "tombstone",
        (CellKind::Output, _) if cell.id.as_deref().unwrap_or("").contains('.') => "code_output",
        (CellKind::Output, _) => "reply",
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
