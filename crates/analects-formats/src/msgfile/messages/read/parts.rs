//! Which cells are further parts of a message: by `part=`, by their ids, or because they stand right above its head.

use analects_core::{Block, Content, History, Problem};

use super::{HiddenCall, MessageReader};
use crate::msgfile::CellRole;
use crate::msgfile::messages::blocks;
use crate::msgfile::messages::partial::{CellView, ContentShape};

impl<'a> MessageReader<'a> {
    /// The head below a cell that is the first part of its message.
    pub(super) fn head_below(&self, view: &CellView<'a>) -> Option<CellView<'a>> {
        let at = *self.leading.get(&view.cell.at)?;
        let head = CellView::new(view.cell.document.cell_at(at)?);
        let own = view.cell.history().unwrap_or_default();
        let is_apart = own != History::Include && own != head.cell.history().unwrap_or_default();
        (!is_apart && !head.cell.is_placeholder()).then_some(head)
    }

    /// The message that a cell is a further part of; `None` if the cell begins a message.
    pub(super) fn owner_of(&mut self, view: &CellView<'_>) -> Option<usize> {
        let Some(part) = view.cell.part() else {
            let begun = self.begun.get(&view.cell.at).copied();
            return begun.or_else(|| self.implied_owner(view));
        };
        let owner = self.owners.get(part).copied();
        match owner {
            Some(owner) if self.messages[owner].can_take(view) => {
                (!self.is_apart(view, owner)).then_some(owner)
            }
            _ => {
                self.report_wrong_part(view, part, owner.is_some());
                None
            }
        }
    }

    fn report_wrong_part(&mut self, view: &CellView<'_>, part: &str, exists: bool) {
        let text = if exists {
            format!("cell {part} is of another side, and this cannot be a part of it")
        } else {
            format!("there is no earlier cell {part} that this could be a part of")
        };
        let problem = Problem::error("wrong-part", text);
        self.report(
            view,
            problem.hint("the cell is read as a message of its own"),
        );
    }

    /// The message that a cell without `part=` belongs to by its id: a call or another part extends the id of its
    /// reply, and a further cell of an execution, or of a result, extends the id of the first one.
    fn implied_owner(&self, view: &CellView<'_>) -> Option<usize> {
        if let Some(whole) = view.whole_id() {
            let owner = self.owners.get(whole).copied();
            let owner = owner.or_else(|| self.last_without_head(whole))?;
            let fits = self.messages[owner].can_take(view) && !self.is_apart(view, owner);
            return fits.then_some(owner);
        }
        let first = first_of_several(view)?;
        let owner = self.owners.get(first).copied()?;
        let fits = self.messages[owner].can_take(view) && !self.is_apart(view, owner);
        (view.role() == CellRole::CodeOutput || fits).then_some(owner)
    }

    /// The last message, if its cells are parts of a head of this name, which does not exist.
    fn last_without_head(&self, head: &str) -> Option<usize> {
        let (name, owner) = self.without_head.as_ref()?;
        (name == head && owner + 1 == self.messages.len()).then_some(*owner)
    }

    /// Whether a cell is hidden while its message is not, which makes it a message of its own. A call stays in its
    /// message, and a revision hides it.
    fn is_apart(&self, view: &CellView<'_>, owner: usize) -> bool {
        let own = view.cell.history().unwrap_or_default();
        view.role() != CellRole::ToolCall
            && own != History::Include
            && own != self.messages[owner].message.history
    }

    /// Adds a cell to a message that has begun already.
    pub(super) fn add_part(&mut self, view: &CellView<'a>, owner: usize) {
        let message = &self.messages[owner];
        let is_head = message.cell.at == view.cell.at;
        let is_silent = view.text.is_empty() && message.shape != Some(ContentShape::Blocks);
        if !is_head || !is_silent {
            let block = self.read_block(view);
            self.note_hidden_call(view, owner, &block);
            self.add_block(view, owner, block);
        }
        if !is_head {
            self.messages[owner].parts.push(view.cell);
            self.owners.insert(view.name.clone(), owner);
        }
    }

    /// Adds the block of a cell to a message. A further cell of a result adds to the content of that result.
    fn add_block(&mut self, view: &CellView<'a>, owner: usize, block: Block) {
        let message = &mut self.messages[owner];
        let before = message.parts.last().unwrap_or(&message.cell).name();
        let is_further = view.role() == CellRole::ToolResult
            && first_of_several(view)
                .is_some_and(|first| before == first || before.starts_with(&format!("{first}-")));
        match (message.blocks.last_mut(), block) {
            (Some(Block::ToolResult(result)), Block::ToolResult(further)) if is_further => {
                let mut blocks = into_blocks(std::mem::take(&mut result.content));
                blocks.extend(into_blocks(further.content));
                result.content = Content::Blocks(blocks);
            }
            (_, block) => message.blocks.push(block),
        }
    }

    /// Notes a call whose cell hides it.
    pub(super) fn note_hidden_call(&mut self, view: &CellView<'a>, owner: usize, block: &Block) {
        let Block::ToolUse(call) = block else { return };
        if view.cell.history() == Some(History::Exclude) {
            self.hidden_calls.push(HiddenCall {
                owner,
                call: call.id.clone(),
                cell: view.cell,
            });
        }
    }

    /// Reads a cell as a block, and reports what is odd about it.
    pub(super) fn read_block(&mut self, view: &CellView<'_>) -> Block {
        let (block, problem) = blocks::read(view, &mut self.calls);
        if let Some(problem) = problem {
            self.report(view, problem);
        }
        block
    }
}

/// The name of the first cell of the result, or of the execution, that a cell continues: `2.k3f9qx7a.1` for
/// `2.k3f9qx7a.1-2`. `None` for any other cell.
fn first_of_several<'v>(view: &'v CellView<'_>) -> Option<&'v str> {
    let is_output = matches!(view.role(), CellRole::CodeOutput | CellRole::ToolResult);
    let (first, number) = view.name.rsplit_once('-').filter(|_| is_output)?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some(first)
}

/// The blocks of a content; a text is one.
fn into_blocks(content: Content) -> Vec<Block> {
    match content {
        Content::Empty => Vec::new(),
        Content::Text(text) => vec![Block::from_text(text)],
        Content::Blocks(blocks) => blocks,
    }
}
