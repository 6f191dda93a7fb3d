//! Where the messages of a document are, by their cells.

use std::collections::{HashMap, HashSet};

use analects_core::verbs::Target;
use analects_core::{Message, MessageId, SessionId};

use super::draft::{Draft, close};
use super::known::CellsHash;
use super::read::reader_of;
use crate::msgfile::{Cell, CellKind, CellRole, Document, MetaKey};

/// What the messages and the calls of a document are called in it.
#[derive(Debug, Default)]
pub(super) struct CellNames {
    /// The first cell of each message.
    pub(super) messages: HashMap<MessageId, String>,
    /// The cell of each call, by the name that the provider gave the call.
    pub(super) calls: HashMap<String, String>,
}

impl CellNames {
    pub(super) fn of(document: &Document, session: &SessionId) -> CellNames {
        let reader = reader_of(document, session, document.cells());
        let messages =
            reader.messages.into_iter().map(|draft| (draft.message.id, draft.name.into_owned()));
        CellNames { messages: messages.collect(), calls: reader.calls.into_cells() }
    }
}

/// What each cell is among the messages: a message, or one call of it; a result stands for its call. `None` for a
/// cell that is no part of a message.
pub fn cell_targets(document: &Document, session: &SessionId) -> Vec<Option<Target>> {
    let reader = reader_of(document, session, document.cells());
    let mut targets = vec![None; document.cells().len()];
    for draft in &reader.messages {
        for cell in draft.parts.iter().chain([&draft.cell]) {
            targets[cell.at] = Some(Target::message(draft.message.id.clone()));
        }
    }
    for cell in document.cells().filter(|cell| cell.type_word() == "tool") {
        let name = cell.name();
        let of_result = name.rsplit_once('.').map(|(call, _)| call);
        let found = [Some(&*name), of_result].into_iter().flatten().find_map(|name| {
            let message = reader.owners.get(name)?;
            Some((&reader.messages[*message].message.id, reader.calls.id_of(name)?))
        });
        if let Some((message, call)) = found.filter(|_| targets[cell.at].is_some()) {
            targets[cell.at] = Some(Target::call(message.clone(), call));
        }
    }
    targets
}

/// The place of the first cell of each message, from 0. Of messages of one id, the last counts.
pub(crate) fn places(document: &Document, session: &SessionId) -> HashMap<MessageId, usize> {
    let drafts = reader_of(document, session, document.cells()).messages.into_iter();
    drafts.map(|draft| (draft.message.id, draft.cell.ordinal() - 1)).collect()
}

/// The messages of a document, and the place of the first cell of each, from 0.
pub(crate) fn placed_messages(document: &Document) -> (Vec<Message>, Vec<usize>) {
    let reader = reader_of(document, &SessionId::default(), document.cells());
    let places = reader.messages.iter().map(|draft| draft.cell.ordinal() - 1).collect();
    (reader.finish(None).messages, places)
}

/// The places of the cells of side chains, from 0: of their messages, and of all that is a part of these.
pub(crate) fn side_places(document: &Document) -> HashSet<usize> {
    // Most files have none, and then need not be read.
    if !document.cells().any(|cell| cell.agent_id().is_some() || holds_message(cell)) {
        return HashSet::new();
    }
    let reader = reader_of(document, &SessionId::default(), document.cells());
    let is_side = |draft: &Draft<'_>| draft.message.agent_id.is_some();
    let firsts: HashMap<usize, bool> =
        reader.messages.iter().map(|draft| (draft.cell.ordinal() - 1, is_side(draft))).collect();
    let of_owner =
        |name: &str| reader.owners.get(name).is_some_and(|at| is_side(&reader.messages[*at]));
    let cells = document.cells().enumerate();
    let sides = cells
        .filter(|(at, cell)| firsts.get(at).copied().unwrap_or_else(|| of_owner(&cell.name())));
    sides.map(|(at, _)| at).collect()
}

/// Whether a cell holds a whole message, which may be in a side chain.
fn holds_message(cell: Cell<'_>) -> bool {
    cell.get(MetaKey::Json) == Some("message") || cell.role() == CellRole::Details
}

/// The message that the cell of each name belongs to, as its cells say it, and their hash.
pub(super) fn messages_of_cells(
    document: &Document,
    session: &SessionId,
    names: &[String],
) -> Vec<Option<(Message, CellsHash)>> {
    let mut reader = reader_of(document, session, document.cells());
    let mut found = Vec::new();
    for name in names {
        let owner = reader.owners.get(name.as_str()).copied();
        let draft = owner.map(|at| &mut reader.messages[at]).filter(|draft| draft.open);
        found.push(draft.map(|draft| {
            let hash = draft.hash();
            (close(draft.clone()), hash)
        }));
    }
    found
}

/// The hash of the cells of each message that is no person's, by the name of the cell that says what is known of it.
pub fn hashes_of_cells(document: &Document) -> HashMap<String, CellsHash> {
    let reader = reader_of(document, &SessionId::default(), document.cells());
    let drafts = reader.messages.iter().filter(|draft| draft.cell.kind() == CellKind::Output);
    drafts.map(|draft| (draft.name.to_string(), draft.hash())).collect()
}
