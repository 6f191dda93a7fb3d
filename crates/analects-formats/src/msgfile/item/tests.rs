//! Tests of the items: reading, building, and drafts that are carried over to changed files.

use analects_core::{Agent, Body, CountingIds, History, Ids, Json, SessionId};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::msgfile::problems::why_not_a_path;
use crate::msgfile::{Document, decode, decode_named, messages};

mod building;
mod drafts;
mod placeholders;
mod reading;
mod rebasing;

/// Frontmatter with two agents.
const FRONT: &str =
    "---\nagents:\n  coder:\n    models: [gpt-5]\n  quick:\n    models: [gpt-5-mini]\n---\n";

/// A draft of a file with two agents and these cells.
fn draft(cells: &str) -> Draft {
    Draft::new(decode(format!("{FRONT}{cells}")))
}

fn text(content: &str) -> PromptItem {
    MessageBuilder::new().with_content(content).build().unwrap()
}

fn reply(content: &str) -> Output {
    MessageOutputBuilder::new()
        .with_content(content)
        .build()
        .unwrap()
        .into()
}

fn code(content: &str) -> PromptItem {
    let fenced = format!("```python\n{content}\n```");
    MessageBuilder::new()
        .with_type_word("code")
        .with_content(fenced)
        .build()
        .unwrap()
}

fn printed(content: &str) -> Output {
    let builder = CodeExecutionOutputBuilder::new().with_lang("python");
    builder.with_stdout(content).build().unwrap().into()
}

/// How a cell reads, apart from where it stands.
fn reading(cell: crate::msgfile::Cell<'_>) -> String {
    let meta = (cell.written_type(), cell.attributes().collect::<Vec<_>>());
    let (title, content) = (cell.title(), cell.content());
    format!(
        "{:?} {} {title:?} {:?} {meta:?} {content:?}",
        cell.kind(),
        cell.level(),
        cell.id()
    )
}

fn ids_of(document: &Document) -> Vec<String> {
    document
        .cells()
        .map(|cell| cell.name().into_owned())
        .collect()
}
