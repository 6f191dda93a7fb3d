//! `list`: the items, outputs, agents or tools of a message file.
//!
//! `FILE/PART` looks like a path, so that completion by the shell works up to the file. Whether the last component is a
//! part is decided by looking at the disk.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use analects_core::Problem;
use analects_formats::msgfile::{
    self, Cell, CellKind, CellRole, Document, MetaKey, ShowCell, code,
};
use serde::Serialize;

use super::reading;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::{message_file, ui};

/// List the items, outputs, agents or tools of a message file
///
/// FILE alone and FILE/item list the items: your messages and the tool calls. Each line shows an item's
/// name, its role, its line number, the number of its outputs, and the start of its text. If the model does
/// not see the item, the reason comes before the text, as in show.
///
/// FILE/output lists every output, that is, every cell with %%%: its name, its role with the agent of a
/// reply, its line number, the cell that it belongs to on its branch, partial if the answer broke off, and
/// the start of its text.
///
/// FILE/agent lists every agent that takes part, even if the file does not define it: its name, whether it
/// is the default, its models, where it is defined, and the number of its answers. FILE/tool lists the
/// tools that code cells define with tool="NAME", and the tools that were called: the name, where it is
/// defined, and the number of calls.
///
/// Plurals such as FILE/agents work, too. If a file exists under the whole name, such as a file agent in a
/// folder talk.msg.md, list reads that file. On a terminal, lines are cut to its width. Errors and warnings
/// about the text of the file go to stderr; check finds more. list never changes the file.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects list talk.msg.md
  analects list talk.msg.md/agents
  analects list talk.msg.md/output --json")]
pub struct ListArgs {
    /// The message file, such as talk.msg.md, or a part of it, such as talk.msg.md/agent
    #[arg(value_name = "FILE[/PART]")]
    file: PathBuf,

    /// Print the list as JSON
    #[arg(long)]
    pub json: bool,
}

/// The part of a file to list.
/// Decides which cells or names are listed, and the key of the list in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ListPart {
    Item,
    Output,
    Agent,
    Tool,
}

impl ListPart {
    /// The part with this name, singular or plural.
    fn parse(word: &str) -> Option<ListPart> {
        match word {
            "item" | "items" => Some(ListPart::Item),
            "output" | "outputs" => Some(ListPart::Output),
            "agent" | "agents" => Some(ListPart::Agent),
            "tool" | "tools" => Some(ListPart::Tool),
            _ => None,
        }
    }

    /// Whether a cell is in the list. The empty cell at the end is not an item.
    fn has(self, cell: Cell<'_>) -> bool {
        match self {
            ListPart::Item => cell.is_prompt() || cell.role() == CellRole::ToolCall,
            ListPart::Output | ListPart::Agent | ListPart::Tool => cell.kind() == CellKind::Output,
        }
    }
}

/// The list as `--json` prints it.
/// The key of `rows` is the name of the part, such as `items`.
#[derive(Debug, Serialize)]
struct ListReport<T> {
    path: String,
    #[serde(flatten)]
    rows: BTreeMap<&'static str, Vec<T>>,
}

/// A cell in a list.
#[derive(Debug, Serialize)]
struct CellRow {
    #[serde(flatten)]
    cell: ShowCell,
    text: String,
}

/// An agent in a list.
/// `models` comes from the definition, or else from the answers.
#[derive(Debug, Default, Serialize)]
struct AgentRow {
    name: String,
    default: bool,
    models: Vec<String>,
    /// `frontmatter`, `cell`, or `None` for an agent without a definition.
    defined: Option<&'static str>,
    cell: Option<String>,
    line: Option<usize>,
    replies: usize,
}

/// A tool in a list.
/// `cell` and `line` say where the file defines it; `None` for a tool of elsewhere.
#[derive(Debug, Default, Serialize)]
struct ToolRow {
    name: String,
    cell: Option<String>,
    line: Option<usize>,
    language: Option<String>,
    calls: usize,
}

/// Problems are printed after the list, so the end of the output shows them.
pub fn run(args: &ListArgs) -> Result<(), Failure> {
    let (file, part) = split_part(&args.file)?;
    let document = reading::read(&file)?;
    let path = file.to_string_lossy().into_owned();
    let printed = match part {
        ListPart::Item | ListPart::Output => print_cells(args, &path, &document, part),
        ListPart::Agent => print_agents(args, &path, &document),
        ListPart::Tool => print_tools(args, &path, &document),
    };
    message_file::remark_journal(&file, &document, &Environment::read()?.places);
    if !args.json {
        // Problems of messages take much longer to find; `check` reports them.
        let problems = document.problems().into_iter().filter(reading::is_serious);
        ui::report_problems(
            &path,
            document.source(),
            &problems.collect::<Vec<Problem>>(),
        );
    }
    printed
}

/// Splits `FILE/PART`, unless a file with the whole name exists.
/// A missing file is reported by whoever reads it, not here.
fn split_part(path: &Path) -> Result<(PathBuf, ListPart), Failure> {
    let word = path
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    let before = path
        .parent()
        .filter(|before| !before.as_os_str().is_empty());
    // Inside a folder, the last component is a file name, even if that file is missing.
    let Some(file) = before.filter(|before| !path.is_file() && !before.is_dir()) else {
        return Ok((path.to_path_buf(), ListPart::Item));
    };
    match ListPart::parse(word) {
        Some(part) => Ok((file.to_path_buf(), part)),
        None if file.is_file() => Err(Failure::usage(
            format!("{}: unknown part {word:?}", path.display()),
            "expected item, output, agent or tool",
        )),
        None => Ok((path.to_path_buf(), ListPart::Item)),
    }
}

/// `word` becomes the key of the rows, beside `path`.
fn print_json<T: Serialize>(path: &str, word: &'static str, rows: Vec<T>) -> Result<(), Failure> {
    ui::print_json(&ListReport {
        path: path.to_string(),
        rows: BTreeMap::from([(word, rows)]),
    })
}

/// Prints rows, or that there are none.
/// `word` is the plural, as in "no agents".
fn print_rows<const N: usize>(
    path: &str,
    word: &str,
    rows: Vec<[String; N]>,
) -> Result<(), Failure> {
    if rows.is_empty() {
        ui::remark(&format!("{path}: no {word}"));
    }
    ui::print_rows(rows)
}

/// Prints the items or the outputs.
fn print_cells(
    args: &ListArgs,
    path: &str,
    document: &Document,
    part: ListPart,
) -> Result<(), Failure> {
    let word = if part == ListPart::Item {
        "items"
    } else {
        "outputs"
    };
    if args.json {
        return print_json(path, word, cell_rows(document, part));
    }
    if document.cells().len() == 0 {
        reading::report_no_cells(document, path);
        return Ok(());
    }
    print_rows(path, word, cell_lines(document, part))
}

/// The cells of a part, as JSON has them.
/// JSON has what `show` prints for a cell, and the start of its text.
fn cell_rows(document: &Document, part: ListPart) -> Vec<CellRow> {
    let cells = document.cells().zip(msgfile::outline(document));
    cells
        .filter(|(cell, _)| part.has(*cell))
        .map(|(cell, row)| CellRow {
            cell: row,
            text: reading::first_line(cell),
        })
        .collect()
}

/// The cells of a part, a row each.
/// Six columns: name, role, line with the number of outputs, relation of an output, why the model does not see it, text.
fn cell_lines(document: &Document, part: ListPart) -> Vec<[String; 6]> {
    let cells: Vec<Cell<'_>> = document.cells().collect();
    let overview = msgfile::overview(document);
    let marks = reading::marks(document);
    let mut lines = Vec::new();
    for ((cell, brief), mark) in cells.iter().zip(&overview).zip(marks) {
        if !part.has(*cell) {
            continue;
        }
        let mut place = format!("line {}", brief.line);
        let mut relation = String::new();
        match (part, brief.parent) {
            (ListPart::Item, _) if brief.outputs > 0 => {
                place += &format!(", {}", counted(brief.outputs, "output"));
            }
            (ListPart::Item, _) | (_, None) => {}
            (_, Some(at)) => relation = format!("of {}", cells[at].name()),
        }
        lines.push([
            cell.name().into_owned(),
            reading::role_in_words(*cell),
            place,
            relation,
            mark,
            reading::first_line(*cell),
        ]);
    }
    lines
}

/// Prints the agents.
fn print_agents(args: &ListArgs, path: &str, document: &Document) -> Result<(), Failure> {
    let agents = agents(document);
    if args.json {
        return print_json(path, "agents", agents);
    }
    let rows = agents.into_iter().map(|agent| {
        let default = if agent.default { "default" } else { "" }.to_string();
        let place = match (agent.defined, agent.cell, agent.line) {
            (_, Some(cell), Some(line)) => format!("cell {cell}, line {line}"),
            (Some(place), ..) => place.to_string(),
            _ => "defined nowhere".to_string(),
        };
        let replies = counted_or(agent.replies, "reply", "replies");
        [agent.name, default, agent.models.join(", "), place, replies]
    });
    print_rows(path, "agents", rows.collect())
}

/// The defined agents in order, then those that only answered. The models of the latter come from
/// their answers.
fn agents(document: &Document) -> Vec<AgentRow> {
    let mut rows = defined_agents(document);
    let mut positions = HashMap::new();
    for (at, row) in rows.iter().enumerate() {
        positions.insert(row.name.clone(), at);
    }
    let mut counted_models = HashSet::new();
    for cell in document.cells().filter(|cell| cell.role().is_reply()) {
        let name = cell.type_word();
        // `assistant` is the type of an answer without an agent's name.
        if name == "assistant" || msgfile::is_fixed_word(name) {
            continue;
        }
        let at = *positions.entry(name.to_string()).or_insert_with(|| {
            rows.push(AgentRow {
                name: name.to_string(),
                ..AgentRow::default()
            });
            rows.len() - 1
        });
        let row = &mut rows[at];
        row.replies += 1;
        if let Some(model) = cell.get(MetaKey::Model).filter(|_| row.defined.is_none())
            && counted_models.insert((at, model.to_string()))
        {
            row.models.push(model.to_string());
        }
    }
    rows
}

/// The agents that the frontmatter or cells define, without their answers.
/// In the order of the file.
fn defined_agents(document: &Document) -> Vec<AgentRow> {
    let overview = msgfile::overview(document);
    let default = reading::default_agent(document);
    let mut rows = Vec::new();
    for (agent, cell) in document.agents_and_cells() {
        let brief = cell.and_then(|cell| overview.get(cell.ordinal() - 1));
        let place = if cell.is_some() {
            "cell"
        } else {
            "frontmatter"
        };
        rows.push(AgentRow {
            default: default.as_ref() == Some(&agent.name),
            name: agent.name,
            models: agent.models,
            defined: Some(place),
            cell: cell.map(|cell| cell.name().into_owned()),
            line: brief.map(|brief| brief.line),
            replies: 0,
        });
    }
    rows
}

/// Prints the tools.
fn print_tools(args: &ListArgs, path: &str, document: &Document) -> Result<(), Failure> {
    let tools = tools(document);
    if args.json {
        return print_json(path, "tools", tools);
    }
    let rows = tools.into_iter().map(|tool| {
        let place = match (tool.cell, tool.line) {
            (Some(cell), Some(line)) => format!("cell {cell}, line {line}"),
            _ => "defined elsewhere".to_string(),
        };
        let calls = counted(tool.calls, "call");
        [tool.name, place, tool.language.unwrap_or_default(), calls]
    });
    print_rows(path, "tools", rows.collect())
}

/// The tools that code cells define and those that were called, in order of first mention. If a
/// tool is defined twice, the first definition counts.
fn tools(document: &Document) -> Vec<ToolRow> {
    let mut rows: Vec<ToolRow> = Vec::new();
    let mut positions: HashMap<String, usize> = HashMap::new();
    for (cell, brief) in document.cells().zip(msgfile::overview(document)) {
        let key = match cell.role() {
            CellRole::ToolCall => MetaKey::Name,
            CellRole::Code => MetaKey::Tool,
            _ => continue,
        };
        let Some(name) = cell.get(key).filter(|name| !name.is_empty()) else {
            continue;
        };
        let at = *positions.entry(name.to_string()).or_insert_with(|| {
            rows.push(ToolRow {
                name: name.to_string(),
                ..ToolRow::default()
            });
            rows.len() - 1
        });
        let row = &mut rows[at];
        if cell.role() == CellRole::ToolCall {
            row.calls += 1;
        } else if row.cell.is_none() {
            row.cell = Some(cell.name().into_owned());
            row.line = Some(brief.line);
            row.language = code_language(cell);
        }
    }
    rows
}

/// The language of a code cell, if its block names one.
/// `None` also for a cell that holds no code block.
fn code_language(cell: Cell<'_>) -> Option<String> {
    let content = cell.content();
    let code = code::code(&content).ok()?;
    code.language.map(str::to_string)
}

/// `1 call`, `2 calls`.
fn counted(number: usize, word: &str) -> String {
    counted_or(number, word, &format!("{word}s"))
}

/// For words whose plural is irregular.
fn counted_or(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
