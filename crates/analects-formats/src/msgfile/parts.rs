//! The cells of one answer, told by their ids: `2` says it, `2.think` stands before it, `2.text2`, `2.block1` and
//! the calls `2.NONCE` stand where their blocks do.

use std::collections::HashMap;

use super::{Cell, CellKind, CellRole, Document, MetaKey};

/// The words that follow the dot in the id of a part of an answer; a number may follow them.
pub(super) const THINK: &str = "think";
pub(super) const TEXT: &str = "text";
pub(super) const BLOCK: &str = "block";

/// The cell whose part this id says it is: `2` for `2.think`.
pub(super) fn whole_of(id: &str) -> Option<&str> {
    let (whole, part) = id.rsplit_once('.')?;
    let is_number = |rest: &str| rest.bytes().all(|byte| byte.is_ascii_digit());
    let rest = [THINK, TEXT, BLOCK].into_iter().find_map(|word| part.strip_prefix(word))?;
    is_number(rest).then_some(whole)
}

/// Whether this is the id of a thought: `2.think`, `2.think2`.
pub(super) fn is_thought_id(id: &[u8]) -> bool {
    let Ok(id) = std::str::from_utf8(id) else { return false };
    let part = id.rsplit_once('.').map(|(_, part)| part);
    part.is_some_and(|part| part.starts_with(THINK)) && whole_of(id).is_some()
}

impl Document {
    /// The cells that stand before the one whose parts they are, and where that is.
    pub(super) fn leading_parts(&self) -> HashMap<usize, usize> {
        let mut leading = HashMap::new();
        let mut whole: Option<Cell<'_>> = None;
        for cell in self.cells().rev() {
            match whole.filter(|whole| cell.leads(*whole)) {
                Some(whole) => _ = leading.insert(cell.at, whole.at),
                None => whole = Some(cell),
            }
        }
        leading
    }
}

impl<'a> Cell<'a> {
    /// Whether it is a part, or a call, of an answer that this cell below it says.
    fn leads(self, whole: Cell<'_>) -> bool {
        whole.id().is_some_and(|id| self.is_part_of(id)) && whole.can_be_led()
    }

    /// Whether its id says that it is a part, or a call, of an answer of this name.
    fn is_part_of(self, answer: &str) -> bool {
        let id = self.id().unwrap_or_default();
        id.rsplit_once('.').is_some_and(|(of, _)| of == answer)
            && self.kind() == CellKind::Output
            && (whole_of(id).is_some() || self.role() == CellRole::ToolCall)
            && self.part().is_none()
    }

    /// Whether it says an answer that other cells may be parts of.
    fn can_be_led(self) -> bool {
        self.role().is_part_of_speech()
            && self.part().is_none()
            && self.get(MetaKey::Json).is_none()
    }

    /// The cell below that it is a part of, if only other parts stand between them.
    pub(super) fn whole_below(self) -> Option<Cell<'a>> {
        let (of, _) = self.id()?.rsplit_once('.')?;
        let mut below = self.document.cells().skip(self.at + 1);
        let whole = below.find(|cell| !cell.is_part_of(of))?;
        self.leads(whole).then_some(whole)
    }

    /// The cell that it is a part of, or a call or a result of.
    pub(super) fn whole(self) -> Option<Cell<'a>> {
        if let Some(whole) = self.whole_below() {
            return Some(whole);
        }
        let above = || self.id().and_then(|id| id.rsplit_once('.')).map(|(of, _)| of);
        let name = self.part().or_else(above).filter(|_| self.kind() == CellKind::Output)?;
        self.document.cell(name).filter(|whole| whole.at < self.at)
    }
}
