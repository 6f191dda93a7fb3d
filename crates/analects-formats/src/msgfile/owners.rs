//! The cell that each cell of a document belongs to: a result belongs to its call, a call to its reply, and all of
//! them to a message. Ids connect the cells of one answer: `2` is its head; `2.think` comes before it; `2.text2`,
//! `2.block1` and the calls `2.NONCE` are in the order of their blocks.

use std::collections::HashMap;

use super::{Cell, CellKind, CellRole, Document, MetaKey};

/// A cell, and what it belongs to.
pub(super) struct OwnedCell<'a> {
    pub(super) cell: Cell<'a>,
    /// The index of the cell that it belongs to directly.
    pub(super) owner: Option<usize>,
    /// The index of the message that it belongs to, directly or through other cells.
    pub(super) root: Option<usize>,
}

impl Cell<'_> {
    /// Whether this is a placeholder for an output: it is pending, names the file that will hold the output, and is
    /// empty. Once that file is attached, it is no placeholder any more.
    pub(super) fn is_placeholder(self) -> bool {
        self.kind() == CellKind::Output
            && self.get(MetaKey::Status) == Some("pending")
            && self.get(MetaKey::OutputFile).is_some()
            && self.body().is_empty()
            && self.attached().is_none()
    }

    /// Whether it is a prompt to answer, and not the definition of a tool.
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

/// The index of the cell above that an output belongs to; the last message if the output names none.
fn owner_of(output: Cell<'_>, last_message: Option<usize>) -> Option<usize> {
    let document = output.document;
    let above = |name: &str| document.cell(name).filter(|cell| cell.at < output.at);
    let name = output.name();
    let derived = name.rsplit_once('.').and_then(|(parent, _)| above(parent));
    if output.role() == CellRole::ToolResult {
        // A result without a call belongs to nothing, wherever it is.
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

/// The words after the dot in the id of a part of an answer; a number may follow them.
const THINK: &str = "think";
const TEXT: &str = "text";
const BLOCK: &str = "block";

/// The id of the head that this id makes a cell a part of: `2` for `2.think`.
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
    /// Finds the cells that come before the head that they are parts of, in one pass.
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
    /// Whether it is a part, or a call, of the answer whose head is this cell below it.
    fn leads(self, whole: Cell<'_>) -> bool {
        whole.id().is_some_and(|id| self.is_part_of(id)) && whole.can_be_led()
    }

    /// Whether its id makes it a part, or a call, of the answer with this name.
    fn is_part_of(self, answer: &str) -> bool {
        let id = self.id().unwrap_or_default();
        id.rsplit_once('.').is_some_and(|(of, _)| of == answer)
            && self.kind() == CellKind::Output
            && (whole_of(id).is_some() || self.role() == CellRole::ToolCall)
            && self.part().is_none()
    }

    /// Whether it may be the head of an answer with parts above it.
    fn can_be_led(self) -> bool {
        self.role().is_part_of_speech()
            && self.part().is_none()
            && self.get(MetaKey::Json).is_none()
    }

    /// The head below that it is a part of, if only other parts are between them.
    pub(super) fn whole_below(self) -> Option<Cell<'a>> {
        self.document
            .cell_at(*self.document.leading_parts().get(&self.at)?)
    }

    /// The cell that it is a part, a call or a result of.
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

/// Gives names to the cells of a message: the first text gets the name of the message, which the names of all other
/// cells extend.
pub(super) struct PartNames<'a> {
    whole: &'a str,
    is_user: bool,
    /// Whether a cell has the name of the message already.
    has_whole: bool,
    thoughts: usize,
    texts: usize,
    blocks: usize,
}

impl<'a> PartNames<'a> {
    /// Names for the cells of the message `whole`, which a person or an agent says.
    pub(super) fn new(whole: &'a str, is_user: bool) -> PartNames<'a> {
        PartNames {
            whole,
            is_user,
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

    /// The name of any other block: `2.block1`. The first block of a person gets the name of the message.
    pub(super) fn block(&mut self) -> String {
        if self.is_user && !self.has_whole {
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
