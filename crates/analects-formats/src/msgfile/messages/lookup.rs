//! Lookups between cells and messages that need no [`CellMessages`](super::CellMessages): the names of cells by
//! messages and calls, and single messages by the names of their cells.

use std::collections::HashMap;

use analects_core::{Message, MessageId, SessionId};

use super::known::CellsHash;
use super::partial::assemble;
use super::read::{MessageReader, reader_of};
use crate::msgfile::{CellKind, Document};

/// The names of the cells that hold the messages and the calls of a document.
#[derive(Debug, Default)]
pub(super) struct MessageCellNames {
    /// The head of each message.
    pub(super) messages: HashMap<MessageId, String>,
    /// The cell of each call, by the id that the provider gave the call.
    pub(super) calls: HashMap<String, String>,
}

impl MessageCellNames {
    pub(super) fn of(document: &Document, session: &SessionId) -> MessageCellNames {
        let reader = reader_of(document, session, document.cells());
        let mut messages = HashMap::with_capacity(reader.messages.len());
        for partial in reader.messages {
            messages.insert(partial.message.id, partial.name.into_owned());
        }
        MessageCellNames {
            messages,
            calls: reader.calls.into_cells(),
        }
    }
}

/// The index of the head of each message. If messages share an id, the last one counts.
pub(super) fn head_indexes(document: &Document, session: &SessionId) -> HashMap<MessageId, usize> {
    let mut heads = HashMap::new();
    for partial in reader_of(document, session, document.cells()).messages {
        heads.insert(partial.message.id, partial.cell.at);
    }
    heads
}

/// The message that the cell of this name belongs to, and the hash of its cells. The agents are those of `base`.
pub(super) fn message_of_new_cells(
    document: &Document,
    base: &Document,
    name: &str,
) -> Option<(Message, CellsHash)> {
    let mut reader = MessageReader::new(document, SessionId::default(), document.cells().len());
    reader.models = base.implied_models();
    reader.read(document.cells());
    message_of(&reader, name)
}

/// For each name, the message that the cell belongs to, as its cells say it, and their hash.
pub(super) fn messages_of_cells(
    document: &Document,
    session: &SessionId,
    names: &[String],
) -> Vec<Option<(Message, CellsHash)>> {
    let reader = reader_of(document, session, document.cells());
    names.iter().map(|name| message_of(&reader, name)).collect()
}

fn message_of(reader: &MessageReader<'_>, name: &str) -> Option<(Message, CellsHash)> {
    let owner = *reader.owners.get(name)?;
    let partial = &reader.messages[owner];
    if !partial.is_assembled {
        return None;
    }
    Some((assemble(partial.clone()), partial.hash()))
}

/// The hash of the cells of each message that a program wrote, by the name of its head.
pub fn cell_hashes(document: &Document) -> HashMap<String, CellsHash> {
    let mut hashes = HashMap::new();
    for partial in reader_of(document, &SessionId::default(), document.cells()).messages {
        if partial.cell.kind() == CellKind::Output {
            hashes.insert(partial.name.to_string(), partial.hash());
        }
    }
    hashes
}
