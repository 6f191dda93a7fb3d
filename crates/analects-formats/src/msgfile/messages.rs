//! Cells and messages, both ways: how the cells of a file become a conversation ([`messages`]), and
//! how a conversation becomes a file ([`encode`](encode())).
//!
//! A message is one cell, or several in the order of its blocks: ids such as `2.think` say which belong
//! together, or `part=` does. What a message has and no cell can say stands in a `[details]` cell.

mod added;
mod blocks;
mod cells;
mod describe;
mod details;
mod encode;
pub(crate) mod images;
mod known;
mod lookup;
mod partial;
mod problems;
mod read;
mod readable;

use analects_core::{MessageId, SessionId};
use uuid::Uuid;

pub(crate) use added::check_is_first;
pub use added::{
    AddedMessages, AnswerDetail, PlacedAnswer, cell_names, cell_of, put_answer, put_messages,
};
pub(crate) use details::{details_cell, details_lines};
pub use encode::{ExactWriter, encode};
pub use images::pictures_in;
pub use known::{CellsHash, KnownMessages, messages_with_cells, messages_with_known};
pub(crate) use lookup::side_places;
pub use lookup::{BranchMessage, CellMessages, cell_hashes, current_branch, unseen_cells};
pub(crate) use problems::mentioned_by;
pub use problems::message_problems;
pub use read::messages;
pub use readable::{LeftBehind, ReadableWriter, encode_readable};

/// The conversation that a file of that name holds, unless its frontmatter has an `id`.
pub fn session_of(name: &str) -> SessionId {
    Uuid::new_v5(&Uuid::NAMESPACE_URL, name.as_bytes())
        .to_string()
        .into()
}

/// The name of a message that has none of its own: made of its session's and its cell's.
pub(crate) fn derived_id(session: &SessionId, cell: &str) -> MessageId {
    MessageIds::of(session).derived_id(cell)
}

/// The names of a conversation's messages, for those who make many.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MessageIds(Uuid);

impl MessageIds {
    pub(crate) fn of(session: &SessionId) -> MessageIds {
        MessageIds(Uuid::new_v5(&Uuid::NAMESPACE_URL, session.as_bytes()))
    }

    pub(crate) fn derived_id(self, cell: &str) -> MessageId {
        let id = Uuid::new_v5(&self.0, cell.as_bytes()).hyphenated();
        MessageId::from(&*id.encode_lower(&mut Uuid::encode_buffer()))
    }
}
