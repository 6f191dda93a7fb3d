//! Problems of the cells of a document as messages. Only cells that may have a problem are read as messages: reading all
//! cells of a large file would take several times its size in memory.

use std::collections::BTreeSet;

use analects_core::{Problem, SessionId, chain};

use super::details::MessageDetails;
use super::read::read_cells;
use crate::msgfile::{Cell, CellRole, Document, MetaKey, is_fixed_word};

/// The keys of attributes that name other cells.
const MENTIONING_KEYS: [MetaKey; 9] = [
    MetaKey::Part,
    MetaKey::Parent,
    MetaKey::Through,
    MetaKey::From,
    MetaKey::To,
    MetaKey::SummaryId,
    MetaKey::KeptFrom,
    MetaKey::Target,
    MetaKey::TargetParent,
];

/// The problems of a document's messages and of their chain: those of [`messages`](super::messages)
/// and [`chain`], in the order of the file.
pub fn message_problems(document: &Document, session: &SessionId) -> Vec<Problem> {
    let interesting = interesting(document);
    let all = document.cells().enumerate();
    let cells = all
        .filter(|(at, _)| interesting.contains(at))
        .map(|(_, cell)| cell);
    let mut read = read_cells(document, session, cells);
    read.problems.extend(chain(&read.messages).problems);
    read.problems
}

/// The indexes of the cells that may have a problem, and of the cells that they mention.
fn interesting(document: &Document) -> BTreeSet<usize> {
    let mut found: BTreeSet<usize> = BTreeSet::new();
    // Mostly ids count up, and then none can be there twice.
    let counts_up = document.ids_count_up();
    for (at, cell) in document.cells().enumerate() {
        // Of a repeated id, the first counts.
        let id = cell.id().filter(|_| !counts_up);
        let first = id.and_then(|id| document.place_of_id(id)).unwrap_or(at);
        if first != at || !is_plain(cell) {
            found.extend([first, at]);
        }
    }
    let details = MessageDetails::read(document, &mut Vec::new());
    found.extend(details.cells().filter_map(|name| document.place_of(name)));
    let mut pending: Vec<usize> = found.iter().copied().collect();
    while let Some(at) = pending.pop() {
        for name in mentioned_by(Cell { document, at }) {
            if let Some(named) = document.place_of(name)
                && found.insert(named)
            {
                pending.push(named);
            }
        }
    }
    found
}

/// Whether a cell cannot have a problem: it only says something, and mentions no other cell.
fn is_plain(cell: Cell<'_>) -> bool {
    let is_plain_role = match cell.role() {
        CellRole::User => cell.type_word() == "markdown",
        CellRole::AgentDefinition => true,
        CellRole::Reply | CellRole::Thinking => {
            let word = cell.type_word();
            word == "markdown" || !is_fixed_word(word)
        }
        CellRole::Code
        | CellRole::Raw
        | CellRole::UserBlock
        | CellRole::ToolCall
        | CellRole::ToolResult
        | CellRole::CodeOutput
        | CellRole::System
        | CellRole::Summary
        | CellRole::CompactBoundary
        | CellRole::Attachment
        | CellRole::Notification
        | CellRole::Progress
        | CellRole::Tombstone
        | CellRole::Block
        | CellRole::Details => false,
    };
    let id = cell.id().unwrap_or_default();
    let is_sealed = cell.is_sealed();
    !is_sealed
        || is_plain_role
            && !id.contains(['.', '-'])
            && cell
                .attribute_refs()
                .all(|attribute| attribute.key().is_some_and(is_plain_key))
}

/// Whether an attribute describes its own message only, and says nothing about other cells.
fn is_plain_key(key: MetaKey) -> bool {
    match key {
        MetaKey::History
        | MetaKey::Summary
        | MetaKey::Agent
        | MetaKey::Author
        | MetaKey::Time
        | MetaKey::Model
        | MetaKey::Tokens
        | MetaKey::InputTokens
        | MetaKey::OutputTokens
        | MetaKey::CacheReadTokens
        | MetaKey::CacheCreationTokens
        | MetaKey::ReasoningTokens
        | MetaKey::Cost
        | MetaKey::Duration
        | MetaKey::Timeout
        | MetaKey::ResponseId
        | MetaKey::StopReason
        | MetaKey::Error
        | MetaKey::Reasoning
        | MetaKey::Stored
        | MetaKey::Title => true,
        MetaKey::Parent
        | MetaKey::Part
        | MetaKey::Through
        | MetaKey::AgentId
        | MetaKey::Status
        | MetaKey::Name
        | MetaKey::CallId
        | MetaKey::Result
        | MetaKey::Tool
        | MetaKey::Nonce
        | MetaKey::Json
        | MetaKey::Content
        | MetaKey::Source
        | MetaKey::Kind
        | MetaKey::Path
        | MetaKey::MimeType
        | MetaKey::Encoding
        | MetaKey::OutputFile
        | MetaKey::Uuid
        | MetaKey::SessionId
        | MetaKey::From
        | MetaKey::To
        | MetaKey::Count
        | MetaKey::Trigger
        | MetaKey::TokensBefore
        | MetaKey::TokensAfter
        | MetaKey::SummaryId
        | MetaKey::KeptFrom
        | MetaKey::Target
        | MetaKey::TargetParent
        | MetaKey::Models
        | MetaKey::ContextWindow
        | MetaKey::MaxOutputTokens
        | MetaKey::UseTemperature
        | MetaKey::Temperature => false,
    }
}

/// The names that a cell mentions in its attributes, and those that its own id extends.
pub(crate) fn mentioned_by(cell: Cell<'_>) -> Vec<&str> {
    let attributes = MENTIONING_KEYS.into_iter().filter_map(|key| cell.get(key));
    let mut names: Vec<&str> = attributes.collect();
    let mut name = cell.id().unwrap_or_default();
    while let Some((longer, _)) = name.rsplit_once(['.', '-']) {
        names.push(longer);
        name = longer;
    }
    names
}
