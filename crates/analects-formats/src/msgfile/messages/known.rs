//! Full messages, found by the hash of their cells: they add signatures, encrypted reasoning and fields of the provider.
//! If a person changes one of the cells, the hash differs, and only the cells count.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use analects_core::{Body, History, Message, MessageId, SessionId};
use uuid::Uuid;

use super::read::reader_of;
use crate::DecodedFile;
use crate::msgfile::{Cell, Document};

/// A hash of the bytes of a message's cells. It changes when one of the cells changes.
///
/// ```
/// use analects_formats::msgfile::{CellsHash, decode};
///
/// let document = decode("# %%% [^2]\n\n[^2]: [coder]\n\nHello.\n\n\n# %%\n");
/// let hash = CellsHash::of(document.cells().take(1));
/// assert_eq!(hash.to_string().parse(), Ok(hash));
/// let alone = decode("# %%% [^2]\n\n[^2]: [coder]\n\nHello.");
/// assert_eq!(CellsHash::of(alone.cells()), hash);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CellsHash(Uuid);

impl CellsHash {
    /// The hash of the cells of a message, in the order of the file. White space at a cell's end does not count.
    pub fn of<'a>(cells: impl IntoIterator<Item = Cell<'a>>) -> CellsHash {
        let mut bytes = Vec::new();
        for cell in cells {
            if !bytes.is_empty() {
                bytes.push(b'\n');
            }
            bytes.extend_from_slice(cell.bytes(cell.span()).trim_ascii_end());
        }
        CellsHash(Uuid::new_v5(&Uuid::NAMESPACE_OID, &bytes))
    }
}

impl fmt::Display for CellsHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.simple().fmt(formatter)
    }
}

impl FromStr for CellsHash {
    type Err = uuid::Error;

    fn from_str(text: &str) -> Result<CellsHash, uuid::Error> {
        text.parse().map(CellsHash)
    }
}

/// Full messages by the hash of their cells, as a journal has them.
pub trait KnownMessages {
    /// The message with these cells.
    fn get(&self, cells: CellsHash) -> Option<Message>;

    /// Whether there are none, so that no cell needs to be hashed.
    fn is_empty(&self) -> bool {
        false
    }
}

impl KnownMessages for HashMap<CellsHash, Message> {
    fn get(&self, cells: CellsHash) -> Option<Message> {
        HashMap::get(self, &cells).cloned()
    }

    fn is_empty(&self) -> bool {
        HashMap::is_empty(self)
    }
}

/// Like [`messages`](super::messages), with the full form of each message whose cells are unchanged.
pub fn messages_with_known(
    document: &Document,
    session: &SessionId,
    known: &dyn KnownMessages,
) -> DecodedFile {
    reader_of(document, session, document.cells()).finish(Some(known))
}

/// Like [`messages_with_known`], and the messages to which the cells at some indexes belong.
pub fn messages_with_cells(
    document: &Document,
    session: &SessionId,
    known: &dyn KnownMessages,
    places: &[usize],
) -> (DecodedFile, Vec<Option<MessageId>>) {
    let reader = reader_of(document, session, document.cells());
    let owners = reader.messages_of(places);
    (reader.finish(Some(known)), owners)
}

/// Whether a message may have a full form: a program wrote its cells, and the model sees it.
pub(super) fn may_be_known(message: &Message) -> bool {
    let is_written = matches!(message.body, Body::Assistant(_) | Body::Attachment(_));
    is_written && message.history == History::Include
}

/// The full form of a message, with the ids and the history that the file gives it.
pub(super) fn in_place_of(read: &Message, known: Message) -> Message {
    let mut extra = known.extra;
    if known.history == History::Summary {
        extra.remove("summary");
    }
    Message {
        id: read.id.clone(),
        parent_id: read.parent_id.clone(),
        session_id: read.session_id.clone(),
        agent_id: read.agent_id.clone(),
        history: read.history,
        extra,
        ..known
    }
}

/// Whether two messages are of the same type.
pub(super) fn is_same_type(one: &Message, other: &Message) -> bool {
    std::mem::discriminant(&one.body) == std::mem::discriminant(&other.body)
}

/// Whether the cells of a message say less than the message; `read` is what they say.
pub(super) fn is_partial(message: &Message, read: &Message) -> bool {
    in_place_of(read, message.clone()) != *read
}
