//! The JSON that `show` prints, on which other tools build: its shape is documented and fixed.

use std::collections::HashMap;

use analects_core::{Agent, Problem, Severity, Unseen};
use serde::{Serialize, Serializer};

use super::code::code;
use super::role::is_fixed_word;
use super::{Cell, CellKind, CellRole, Document, DocumentKind, MetaKey, base64, unseen_cells};

/// A message file, as JSON. The contents of cells are taken from the document while it is serialized.
#[derive(Debug, Clone, Serialize)]
pub struct Show<'d> {
    path: String,
    kind: &'static str,
    encoding: &'static str,
    frontmatter: Option<String>,
    agents: Vec<Agent>,
    default_agent: Option<String>,
    cells: ShowCells<'d>,
    problems: Vec<ShowProblem>,
}

/// The cells of a document, which get their content while they are serialized.
#[derive(Debug, Clone)]
struct ShowCells<'d> {
    document: &'d Document,
    /// The cells without their content.
    outline: Vec<ShowCell>,
}

impl Serialize for ShowCells<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rows = self.outline.iter().zip(self.document.cells());
        serializer.collect_seq(rows.map(|(row, cell)| {
            let mut row = row.clone();
            fill(&mut row, cell);
            row
        }))
    }
}

/// A cell, as JSON. The field names are documented and fixed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ShowCell {
    /// The id, if it has one.
    pub id: Option<String>,
    /// The id, or else its place in the file, from 1.
    pub name: String,
    /// `message` or `output`.
    pub kind: &'static str,
    /// What it is, as the word of its role.
    pub role: CellRole,
    /// The type word of its metadata, else `markdown`.
    #[serde(rename = "type")]
    pub type_word: String,
    /// The title, in full.
    pub title: String,
    /// The number of `#` in its head.
    pub heading_level: usize,
    /// `include`, `exclude` or `summary`.
    pub history: &'static str,
    /// For a reply, who gave it.
    pub agent: Option<String>,
    /// The attributes in the order of their keys; of a repeated one, the last.
    #[serde(serialize_with = "as_map")]
    pub attributes: Vec<(String, String)>,
    /// The text; `None` in an outline, and for binary content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// The bytes of binary content, in base64 without line ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_base64: Option<String>,
    /// The code of a code cell: its first fenced block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// What a code cell says around its code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// The language of a code cell and of its outputs.
    pub language: Option<String>,
    /// The line of its head, from 1.
    pub line: usize,
    /// Its last line.
    pub end_line: usize,
    /// For an output, the name of the cell that it belongs to.
    pub parent: Option<String>,
    /// The names of the cells that belong to it.
    pub outputs: Vec<String>,
    /// Why the model does not see it, as a word of [`Unseen`]; `None` if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unseen: Option<&'static str>,
}

impl ShowCell {
    /// The value of an attribute, by its key.
    pub fn attribute(&self, key: &str) -> Option<&str> {
        let at = self
            .attributes
            .binary_search_by(|(name, _)| name.as_str().cmp(key))
            .ok()?;
        self.attributes.get(at).map(|(_, value)| value.as_str())
    }
}

// A map for each cell would take more memory, and more time, than the rest of the outline.
fn as_map<S: Serializer>(pairs: &[(String, String)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(key, value)| (key, value)))
}

/// The attributes of a cell, sorted by key, with the last value of each.
fn unique(cell: Cell<'_>) -> Vec<(String, String)> {
    // The last of a key comes first, and stays.
    let mut attributes: Vec<(&str, &str)> = cell.attributes().rev().collect();
    attributes.sort_by_key(|(key, _)| *key);
    attributes.dedup_by_key(|(key, _)| *key);
    attributes
        .into_iter()
        .map(|(key, value)| (key.to_string(), value.to_string()))
        .collect()
}

/// A problem, as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ShowProblem {
    code: String,
    severity: Severity,
    line: usize,
    column: usize,
    message: String,
    hint: Option<String>,
}

impl Show<'_> {
    /// Replaces the agent that answers, for a caller that knows which models can be asked.
    #[must_use]
    pub fn with_default_agent(self, default_agent: Option<String>) -> Self {
        Show {
            default_agent,
            ..self
        }
    }

    /// Adds problems, sorted into those that are there by their lines.
    #[must_use]
    pub fn with_problems(mut self, more: Vec<ShowProblem>) -> Self {
        self.problems.extend(more);
        self.problems
            .sort_by_key(|problem| (problem.line, problem.column));
        self
    }
}

/// Describes a document for other programs, without its problems: add them with [`Show::with_problems`].
pub fn show<'d>(document: &'d Document, path: &str) -> Show<'d> {
    let front = document
        .frontmatter_span()
        .map(|span| span.of(document.source()));
    Show {
        path: path.to_string(),
        kind: match document.kind() {
            DocumentKind::Whole => "msgfile",
            DocumentKind::Section => "section",
            DocumentKind::Plain => "plain",
        },
        encoding: if document.is_utf8() {
            "utf-8"
        } else {
            "unknown"
        },
        frontmatter: front.map(|text| String::from_utf8_lossy(text).into_owned()),
        default_agent: document.default_agent().map(|agent| agent.name),
        agents: document.agents(),
        cells: ShowCells {
            document,
            outline: outline(document),
        },
        problems: Vec::new(),
    }
}

/// Describes one cell for other programs, with its content.
pub fn show_cell(cell: Cell<'_>) -> Option<ShowCell> {
    let mut row = outline(cell.document).into_iter().nth(cell.at)?;
    fill(&mut row, cell);
    Some(row)
}

/// The role of a cell, its lines, and the cell that it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellOverview {
    /// Its role.
    pub role: CellRole,
    /// The line of its head, from 1.
    pub line: usize,
    /// Its last line.
    pub end_line: usize,
    /// For an output, the index of the cell that it belongs to, from 0.
    pub parent: Option<usize>,
    /// How many cells belong to it.
    pub outputs: usize,
}

/// An overview of the cells of a document, in one pass and with little memory.
pub fn overview(document: &Document) -> Vec<CellOverview> {
    let mut lines = LineCounter {
        source: document.source(),
        at: 0,
        line: 1,
    };
    let mut rows: Vec<CellOverview> = Vec::with_capacity(document.cells().len());
    let mut questions = LastQuestions::default();
    for cell in document.cells() {
        let question = questions.before(parent_above(cell), cell.agent_id());
        let parent = owner_of(cell, question);
        // An empty cell is not a question yet.
        let is_question = cell.role().is_user() && !cell.body().is_empty();
        questions.add(cell, is_question, question);
        if let Some(parent) = parent {
            rows[parent].outputs += 1;
        }
        let span = cell.span();
        rows.push(CellOverview {
            role: cell.role(),
            line: lines.line_of(span.start),
            end_line: lines.line_of(span.end.saturating_sub(1).max(span.start)),
            parent,
            outputs: 0,
        });
    }
    rows
}

/// The cell above with this name.
fn above(cell: Cell<'_>, name: &str) -> Option<usize> {
    let place = cell.document.place_of(name);
    place.filter(|place| *place < cell.at)
}

/// The cell that `parent=` names. `Some(None)` begins the conversation anew; `None` follows the cell before.
fn parent_above(cell: Cell<'_>) -> Option<Option<usize>> {
    match cell.parent()? {
        "" => Some(None),
        parent => above(cell, parent).map(Some),
    }
}

/// The cell that an output belongs to: the one that `part=` or its id names, else the last question.
fn owner_of(cell: Cell<'_>, question: Option<usize>) -> Option<usize> {
    if cell.kind() != CellKind::Output || cell.role() == CellRole::Details {
        return None;
    }
    let whole = cell.part().and_then(|part| above(cell, part));
    whole.or_else(|| derived_from(cell)).or(question)
}

/// The cell whose id this one's extends by a dot.
fn derived_from(cell: Cell<'_>) -> Option<usize> {
    let (id, _) = cell.id()?.rsplit_once('.')?;
    above(cell, id)
}

/// The last question on the branch of each cell.
#[derive(Default)]
struct LastQuestions {
    /// For each cell, the question that a cell which follows it answers.
    at: Vec<Option<usize>>,
    /// The last cell of the main chain.
    main: Option<usize>,
    /// The last cell of each side chain.
    sides: HashMap<String, usize>,
}

impl LastQuestions {
    /// The last question before a cell that follows `parent`, or else the last cell of its chain.
    fn before(&self, parent: Option<Option<usize>>, side: Option<&str>) -> Option<usize> {
        let before = match parent {
            Some(parent) => parent,
            None => self.last(side),
        };
        self.at[before?]
    }

    /// The last cell of a side chain, or of the main chain as long as the side chain has none.
    fn last(&self, side: Option<&str>) -> Option<usize> {
        let last = side.and_then(|side| self.sides.get(side).copied());
        last.or(self.main)
    }

    /// Adds the next cell.
    fn add(&mut self, cell: Cell<'_>, is_question: bool, before: Option<usize>) {
        self.at
            .push(if is_question { Some(cell.at) } else { before });
        match cell.agent_id() {
            Some(side) => _ = self.sides.insert(side.to_string(), cell.at),
            None => self.main = Some(cell.at),
        }
    }
}

/// Describes the cells of a document without their content.
pub fn outline(document: &Document) -> Vec<ShowCell> {
    let rows = overview(document);
    let cells = document.cells().zip(&rows);
    let mut shown: Vec<ShowCell> = cells
        .map(|(cell, brief)| outline_cell(cell, brief))
        .collect();
    for (at, brief) in rows.iter().enumerate() {
        if let Some(parent) = brief.parent {
            let name = shown[at].name.clone();
            shown[at].parent = Some(shown[parent].name.clone());
            shown[parent].outputs.push(name);
        }
    }
    for (at, why) in unseen_cells(document).into_iter().enumerate() {
        shown[at].unseen = why.map(Unseen::as_str);
    }
    shown
}

/// Counts lines up to offsets that only grow, so that the file is scanned once.
struct LineCounter<'a> {
    source: &'a [u8],
    at: usize,
    line: usize,
}

impl LineCounter<'_> {
    /// The line of an offset, from 1.
    fn line_of(&mut self, offset: usize) -> usize {
        let between = self.source.get(self.at..offset).unwrap_or_default();
        self.line += memchr::memchr_iter(b'\n', between).count();
        self.at = offset.max(self.at);
        self.line
    }
}

fn outline_cell(cell: Cell<'_>, brief: &CellOverview) -> ShowCell {
    let role = brief.role;
    let word = cell.type_word();
    ShowCell {
        id: cell.id().map(str::to_string),
        name: cell.name().into_owned(),
        kind: if cell.kind() == CellKind::Message {
            "message"
        } else {
            "output"
        },
        role,
        title: cell.full_title().into_owned(),
        heading_level: cell.level(),
        history: cell.history().unwrap_or_default().as_str(),
        agent: (role.is_reply() && !is_fixed_word(word)).then(|| word.to_string()),
        type_word: word.to_string(),
        attributes: unique(cell),
        content: None,
        content_base64: None,
        code: None,
        reasoning: None,
        language: language(cell),
        line: brief.line,
        end_line: brief.end_line,
        parent: None,
        outputs: Vec::new(),
        unseen: None,
    }
}

/// The language of a code cell and of its outputs.
fn language(cell: Cell<'_>) -> Option<String> {
    let role = cell.role();
    if role == CellRole::Code {
        return code(&cell.content()).ok()?.language.map(str::to_string);
    }
    let written = cell.written_type().filter(|_| role == CellRole::CodeOutput);
    written.map(str::to_string)
}

/// Adds the content to the outline of a cell.
fn fill(row: &mut ShowCell, cell: Cell<'_>) {
    match binary_content(cell) {
        Some(bytes) => row.content_base64 = Some(base64::encode_line(&bytes)),
        None => row.content = Some(cell.content().into_owned()),
    }
    if cell.role() == CellRole::Code
        && let Ok(code) = code(&cell.content())
    {
        row.code = Some(code.body.to_string());
        row.reasoning = Some(code.reasoning);
    }
}

/// The bytes of a cell whose content is not text: a `[raw]` cell with a `mime_type`, or output of code that is neither
/// text nor JSON. `None` for other cells, and for one that does not hold base64.
pub fn binary_content(cell: Cell<'_>) -> Option<Vec<u8>> {
    if let Some(bytes) = cell.attached_binary() {
        return Some(bytes.to_vec());
    }
    let role = cell.role();
    let is_binary = match role {
        CellRole::Raw => cell.get(MetaKey::MimeType).is_some(),
        CellRole::CodeOutput => cell.is_of_binary_type(),
        _ => false,
    };
    if !is_binary || cell.attached().is_some() {
        return None;
    }
    base64::decode(&cell.content()).filter(|bytes| !bytes.is_empty())
}

impl ShowProblem {
    /// A problem; `hint` is in the words of the program that prints it.
    pub fn new(problem: &Problem, hint: Option<String>) -> ShowProblem {
        ShowProblem {
            code: problem.code.to_string(),
            severity: problem.severity,
            line: problem.line,
            column: problem.column,
            message: problem.message.clone(),
            hint,
        }
    }
}
