//! Cells and messages, both ways: how the cells of a file become a conversation ([`messages`]), and
//! how a conversation becomes a file ([`encode`](encode())).
//!
//! A message is one cell, or several in the order of its blocks: ids such as `2.think` connect them, or `part=` does.
//! What no cell can say about a message goes to a `[details]` cell.

mod added;
mod answer;
mod blocks;
mod branch;
mod cell_messages;
mod cells;
mod describe;
mod details;
mod encode;
pub(crate) mod images;
mod known;
mod lookup;
mod partial;
mod problems;
pub(crate) mod provenance;
mod read;
mod readable;
mod unsaid;

use analects_core::{MessageId, SessionId};
use uuid::Uuid;

pub(crate) use added::check_is_first;
pub use added::{AddedMessages, cell_names, cell_of, put_messages};
pub use answer::{AnswerDetail, PlacedAnswer, put_answer};
pub(crate) use branch::side_chain_cells;
pub use branch::{BranchMessage, current_branch, unseen_cells};
pub use cell_messages::CellMessages;
pub(super) use cells::PARTS;
pub(crate) use details::{details_cell, details_lines};
pub use encode::{ExactWriter, encode};
pub use images::{PictureLine, picture_lines, pictures_in};
pub use known::{CellsHash, KnownMessages, messages_with_cells, messages_with_known};
pub use lookup::cell_hashes;
pub use problems::message_problems;
pub use provenance::messages_with_provenance;
pub use read::messages;
pub use readable::{LeftBehind, ReadableWriter, encode_readable};

/// The id of the conversation in a file of this name, unless its frontmatter has an `id`.
pub fn session_of(name: &str) -> SessionId {
    Uuid::new_v5(&Uuid::NAMESPACE_URL, name.as_bytes())
        .to_string()
        .into()
}

/// The id of a message that has none of its own, made from its conversation's id and its cell's name.
pub(crate) fn derived_id(session: &SessionId, cell: &str) -> MessageId {
    MessageIds::of(session).derived_id(cell)
}

/// Derives the ids of a conversation's messages; cheaper than [`derived_id`] for many of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MessageIds(Uuid);

impl MessageIds {
    pub(crate) fn of(session: &SessionId) -> MessageIds {
        MessageIds(Uuid::new_v5(&Uuid::NAMESPACE_URL, session.as_bytes()))
    }

    /// The id of the message with this name, which is always the same for the same conversation.
    pub(crate) fn derived_id(self, cell: &str) -> MessageId {
        let id = Uuid::new_v5(&self.0, cell.as_bytes()).hyphenated();
        MessageId::from(&*id.encode_lower(&mut Uuid::encode_buffer()))
    }
}
