//! One cell, read for its message.

use std::borrow::Cow;

use crate::msgfile::parts::whole_of;
use crate::msgfile::{Cell, CellKind, CellRole, MetaKey};

/// A cell with what is read of it more than once.
pub(super) struct Read<'a> {
    pub(super) cell: Cell<'a>,
    pub(super) name: Cow<'a, str>,
    pub(super) text: Cow<'a, str>,
}

impl<'a> Read<'a> {
    pub(super) fn new(cell: Cell<'a>) -> Read<'a> {
        Read { cell, name: cell.name(), text: cell.content() }
    }

    pub(super) fn role(&self) -> CellRole {
        self.cell.role()
    }

    pub(super) fn get(&self, key: MetaKey) -> Option<&'a str> {
        self.cell.get(key)
    }

    /// The media type of an output that says that it is bytes in base64.
    pub(super) fn binary_type(&self) -> Option<&'a str> {
        let is_base64 = self.is_output() && self.get(MetaKey::Encoding) == Some("base64");
        self.get(MetaKey::MimeType).filter(|_| is_base64)
    }

    pub(super) fn is_output(&self) -> bool {
        self.cell.kind() == CellKind::Output
    }

    /// Whether it stands on the person's side of the conversation: what a person writes, and the
    /// results of tools.
    pub(super) fn is_users(&self) -> bool {
        !self.is_output() || self.role() == CellRole::ToolResult
    }

    /// The id of the cell that it is a call or another part of, by its own id.
    pub(super) fn whole_id(&self) -> Option<&str> {
        if self.role() == CellRole::ToolCall {
            return self.name.rsplit_once('.').map(|(whole, _)| whole);
        }
        whole_of(&self.name).filter(|_| self.role().is_part_of_speech())
    }
}
