//! Shared by the verbs that only read: reading a message file, its problems, and a cell in one
//! line.
//!
//! Reading takes no lock and never waits: a file is replaced as a whole, so a reader sees one version or the other.

use std::path::Path;

use analects_core::{Agent, Block, Content, Problem, Raw, Severity, Unseen};
use analects_formats::msgfile::{self, Cell, CellRole, Document, DocumentKind, MetaKey, invoke};
use analects_runtime::is_askable;
use analects_store::{StoreError, read_message_file};

use crate::failure::Failure;
use crate::ui;

/// Reads a message file, with hints for a wrong name.
/// Fails for a missing file and for anything but a regular file.
pub fn read(path: &Path) -> Result<Document, Failure> {
    read_message_file(path).map_err(|error| match error {
        StoreError::NotFound { .. } => {
            Failure::from(error).or_hint("check the name; chat creates a new file")
        }
        StoreError::NotAFile { .. } if path.is_dir() => {
            Failure::from(error).or_hint("name a file in it; check reads whole folders")
        }
        _ => error.into(),
    })
}

/// Fails if the file does not exist, for verbs that must not create it.
/// The failure is the same as that of [`read`].
pub fn check_exists(path: &Path) -> Result<(), Failure> {
    if path.exists() {
        Ok(())
    } else {
        read(path).map(drop)
    }
}

/// The agent that answers by default, as in `chat`. If none can be asked, the one that would be
/// next.
/// `None` if the file defines no agent.
pub fn default_agent(document: &Document) -> Option<String> {
    let agent = document
        .default_agent_among(can_be_asked)
        .or_else(|| document.default_agent());
    agent.map(|agent| agent.name)
}

/// Keys do not matter, since a file is shown the same on every machine.
fn can_be_asked(agent: &Agent) -> bool {
    agent.models.iter().any(|model| is_askable(model))
}

/// All problems of a file: its text, its cells as messages, and their chain.
/// Sorted by position. Takes much longer than the problems of the text alone.
pub fn problems(document: &Document, path: &str) -> Vec<Problem> {
    let mut problems = document.problems();
    problems.extend(problems_of_messages(document, path));
    problems.sort_by_key(|problem| (problem.line, problem.column));
    problems
}

/// Problems of the cells as messages.
pub fn problems_of_messages(document: &Document, path: &str) -> Vec<Problem> {
    msgfile::message_problems(document, &msgfile::session_of(path))
}

/// Whether a problem is an error or a warning.
pub fn is_serious(problem: &Problem) -> bool {
    problem.severity > Severity::Hint
}

/// A cell in one line: its title and the first line of its text; for binary content, its MIME type.
/// Empty for a cell without title and text. The caller cuts it to the width.
pub fn first_line(cell: Cell<'_>) -> String {
    let content = cell.content();
    let mime_type = cell.get(MetaKey::MimeType);
    let first = match cell.role() {
        CellRole::ToolCall => call(&content),
        CellRole::Raw => mime_type.map(str::to_string),
        CellRole::CodeOutput => mime_type.filter(|kind| is_binary(kind)).map(str::to_string),
        CellRole::User
        | CellRole::Code
        | CellRole::UserBlock
        | CellRole::AgentDefinition
        | CellRole::Reply
        | CellRole::Thinking
        | CellRole::ToolResult
        | CellRole::System
        | CellRole::Summary
        | CellRole::CompactBoundary
        | CellRole::Attachment
        | CellRole::Notification
        | CellRole::Progress
        | CellRole::Tombstone
        | CellRole::Block
        | CellRole::Details => None,
    };
    let first = first.unwrap_or_else(|| content.lines().next().unwrap_or_default().to_string());
    let title = cell.full_title();
    match (title.is_empty(), first.is_empty()) {
        (true, _) => first,
        (false, true) => title.into_owned(),
        (false, false) => format!("{title}: {first}"),
    }
}

/// For each cell, why the model does not see it, and whether it is a partial answer; usually empty.
pub fn marks(document: &Document) -> Vec<String> {
    let reasons = msgfile::unseen_cells(document).into_iter();
    let cells = document.cells().zip(reasons);
    cells
        .map(|(cell, reason)| {
            let partial = cell.broke_off().then_some("partial");
            let marks = reason.map(unseen_in_words).into_iter().chain(partial);
            marks.collect::<Vec<_>>().join(", ")
        })
        .collect()
}

/// The role of a cell, with the agent that gave a reply, such as `reply coder`.
pub fn role_in_words(cell: Cell<'_>) -> String {
    let role = cell.role();
    let author = cell.type_word();
    if !role.is_reply() || author == "assistant" || msgfile::is_fixed_word(author) {
        return role.to_string();
    }
    format!("{role} {author}")
}

/// Why the model does not see a cell, as text.
/// The words that `show` and `session tail` print; JSON has the library's own.
pub fn unseen_in_words(why: Unseen) -> &'static str {
    match why {
        Unseen::Branch => "other branch",
        why => why.as_str(),
    }
}

/// JSON counts as text: it can be shown.
fn is_binary(mime_type: &str) -> bool {
    !mime_type.starts_with("text/") && !mime_type.ends_with("json")
}

/// A tool call as one line: the tool and its arguments.
/// `None` if the cell does not hold a call in the usual form.
fn call(content: &str) -> Option<String> {
    let call = invoke::decode(content).ok()?;
    let arguments = match &call.arguments {
        invoke::Arguments::Json(json) => json.as_str().to_string(),
        invoke::Arguments::Text(text) => text.clone(),
    };
    Some(format!("{} {arguments}", call.name))
}

/// Reports that a file has no cells, and why.
/// Often the file is a plain Markdown file that you took for a message file.
pub fn report_no_cells(document: &Document, path: &str) {
    let why = match document.kind() {
        DocumentKind::Plain => "no cells, because this is not a message file",
        _ if document
            .preamble()
            .of(document.source())
            .trim_ascii()
            .is_empty() =>
        {
            "no cells"
        }
        _ => "no cells; a line # %% starts one, and text before it is not sent",
    };
    ui::remark(&format!("{path}: {why}"));
}

/// The text of some content, with tool calls and other blocks in one line each.
/// Blocks without text, such as hidden thoughts, are left out.
pub fn content_in_words(content: &Content) -> String {
    match content {
        Content::Blocks(blocks) => {
            let lines: Vec<String> = blocks.iter().filter_map(line_of).collect();
            lines.join("\n")
        }
        Content::Text(_) | Content::Empty => content.text(),
    }
}

/// A block as text; `None` for blocks that have nothing to show.
fn line_of(block: &Block) -> Option<String> {
    match block {
        Block::Text(block) => Some(block.text.as_str().into_owned()),
        Block::Thinking(block) => Some(format!("(thinks) {}", start_of(&block.thinking.as_str()))),
        Block::ToolUse(call) => Some(format!(
            "(calls {}) {}",
            call.name,
            start_of(call.input.as_str())
        )),
        Block::ToolResult(result) => Some(format!("(result) {}", start_of(&result.content.text()))),
        Block::Image(_) => Some("(an image)".to_string()),
        Block::Other(raw) => {
            let kind = raw.as_object()?.get("type").and_then(Raw::as_string)?;
            Some(format!("({kind})"))
        }
        Block::RedactedThinking(_) | Block::Document(_) => None,
    }
}

fn start_of(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_string()
}
