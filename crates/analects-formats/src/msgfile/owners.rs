//! To which cell every cell of a document belongs: a result to its call, a call to its reply, all of them to
//! a message. The cells of one answer are told by their ids: `2` says it, `2.think` stands before it, `2.text2`,
//! `2.block1` and the calls `2.NONCE` stand where their blocks do.

use std::collections::HashMap;

use super::{Cell, CellKind, CellRole, Document, MetaKey};

/// A cell, and what it belongs to.
pub(super) struct OwnedCell<'a> {
    pub(super) cell: Cell<'a>,
    /// The place of the cell that it belongs to directly.
    pub(super) owner: Option<usize>,
    /// The place of the message that it belongs to in the end.
    pub(super) root: Option<usize>,
}

impl Cell<'_> {
    /// Whether this is an output that has not come yet: it is pending, names the file that it will
    /// be in, and says nothing.
    pub(super) fn is_placeholder(self) -> bool {
        self.kind() == CellKind::Output
            && self.get(MetaKey::Status) == Some("pending")
            && self.get(MetaKey::OutputFile).is_some()
            && self.body().is_empty()
    }

    /// Whether a person wrote it for somebody to answer, and not to define a tool.
    pub(super) fn is_for_an_answer(self) -> bool {
        self.is_prompt() && self.get(MetaKey::Tool).is_none()
    }
}

/// The cells of a document, in order, each with what it belongs to.
pub(super) fn owned_cells(document: &Document) -> Vec<OwnedCell<'_>> {
    let mut placed: Vec<OwnedCell<'_>> = Vec::with_capacity(document.cells().len());
    let mut last_message = None;
    for cell in document.cells() {
        let mut owner = None;
        let mut root = None;
        if cell.is_prompt() {
            root = Some(cell.at);
        } else if cell.kind() == CellKind::Output {
            owner = owner_of(cell, last_message);
            root = owner.and_then(|at| placed[at].root);
        }
        if cell.is_for_an_answer() {
            last_message = Some(cell.at);
        }
        placed.push(OwnedCell { cell, owner, root });
    }
    placed
}

/// The place of the cell above that an output belongs to; that of the last message if it names none.
fn owner_of(output: Cell<'_>, last_message: Option<usize>) -> Option<usize> {
    let document = output.document;
    let above = |name: &str| document.cell(name).filter(|cell| cell.at < output.at);
    let name = output.name();
    let derived = name.rsplit_once('.').and_then(|(parent, _)| above(parent));
    if output.role() == CellRole::ToolResult {
        // A result of no call belongs nowhere, wherever it stands.
        return derived
            .filter(|cell| cell.role() == CellRole::ToolCall)
            .map(|cell| cell.at);
    }
    let part = output.part().and_then(above);
    let parent = || output.parent().and_then(above);
    part.or(derived)
        .or_else(parent)
        .map(|cell| cell.at)
        .or(last_message)
}

/// The words that follow the dot in the id of a part of an answer; a number may follow them.
const THINK: &str = "think";
const TEXT: &str = "text";
const BLOCK: &str = "block";

/// The cell whose part this id says it is: `2` for `2.think`.
pub(super) fn whole_of(id: &str) -> Option<&str> {
    let (whole, part) = id.rsplit_once('.')?;
    let is_number = |rest: &str| rest.bytes().all(|byte| byte.is_ascii_digit());
    let rest = [THINK, TEXT, BLOCK]
        .into_iter()
        .find_map(|word| part.strip_prefix(word))?;
    is_number(rest).then_some(whole)
}

/// Whether this is the id of a thought: `2.think`, `2.think2`.
pub(super) fn is_thought_id(id: &[u8]) -> bool {
    let Ok(id) = std::str::from_utf8(id) else {
        return false;
    };
    let part = id.rsplit_once('.').map(|(_, part)| part);
    part.is_some_and(|part| part.starts_with(THINK)) && whole_of(id).is_some()
}

impl Document {
    /// Finds the cells that stand before the one whose parts they are, in one pass.
    pub(super) fn find_leading_parts(&self) -> HashMap<usize, usize> {
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
        self.document
            .cell_at(*self.document.leading_parts().get(&self.at)?)
    }

    /// The cell that it is a part of, or a call or a result of.
    pub(super) fn whole(self) -> Option<Cell<'a>> {
        if let Some(whole) = self.whole_below() {
            return Some(whole);
        }
        let above = || {
            self.id()
                .and_then(|id| id.rsplit_once('.'))
                .map(|(of, _)| of)
        };
        let name = self
            .part()
            .or_else(above)
            .filter(|_| self.kind() == CellKind::Output)?;
        self.document.cell(name).filter(|whole| whole.at < self.at)
    }
}

/// Names the cells of a message: the first text is called after the message, and the others after it.
pub(super) struct PartNames<'a> {
    whole: &'a str,
    is_users: bool,
    has_whole: bool,
    thoughts: usize,
    texts: usize,
    blocks: usize,
}

impl<'a> PartNames<'a> {
    pub(super) fn new(whole: &'a str, is_users: bool) -> PartNames<'a> {
        PartNames {
            whole,
            is_users,
            has_whole: false,
            thoughts: 0,
            texts: 0,
            blocks: 0,
        }
    }

    /// The name of a thought: `2.think`, then `2.think2`.
    pub(super) fn thought(&mut self) -> String {
        self.thoughts += 1;
        match self.thoughts {
            1 => format!("{}.{THINK}", self.whole),
            count => format!("{}.{THINK}{count}", self.whole),
        }
    }

    /// The name of a text: `2`, then `2.text2`.
    pub(super) fn text(&mut self) -> String {
        self.texts += 1;
        if !self.has_whole {
            self.has_whole = true;
            return self.whole.to_string();
        }
        format!("{}.{TEXT}{}", self.whole, self.texts)
    }

    /// The name of anything else: `2.block1`. What a person says may start with it.
    pub(super) fn block(&mut self) -> String {
        if self.is_users && !self.has_whole {
            self.has_whole = true;
            self.texts = 1;
            return self.whole.to_string();
        }
        self.blocks += 1;
        format!("{}.{BLOCK}{}", self.whole, self.blocks)
    }

    /// The name of a call: `2.k3f9qx7a`.
    pub(super) fn call(&self, nonce: &str) -> String {
        format!("{}.{nonce}", self.whole)
    }
}
