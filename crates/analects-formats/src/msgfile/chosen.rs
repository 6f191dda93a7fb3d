//! The cells that a person names for one call, as messages. What is sent of these is decided by
//! [`analects_core::verbs::choose`].

use analects_core::SessionId;
use analects_core::verbs::Target;

use super::item::{ItemError, ItemErrorKind};
use super::messages::cell_targets;
use super::{Document, find_cells};

/// A cell that a person named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenCell {
    /// The message, or the call, that it is.
    pub target: Target,
    /// Whether only its place names it, which is another one as soon as somebody types a cell above it.
    pub is_placed: bool,
}

/// The messages of the cells in lists such as `1,3-5`. The empty cell at the end, which is ready for the next
/// message, is nothing to choose.
///
/// ```
/// use analects_formats::msgfile::{chosen_cells, decode, session_of};
///
/// let document = decode("# %% [^1]\n\n[^1]: [markdown]\n\none\n\n# %%\n\ntwo\n\n# %%\n");
/// let chosen = chosen_cells(&document, &session_of("talk.msg.md"), &["1-".to_string()])?;
/// assert_eq!(chosen.iter().map(|cell| cell.is_placed).collect::<Vec<_>>(), [false, true]);
/// # Ok::<(), analects_formats::msgfile::item::ItemError>(())
/// ```
pub fn chosen_cells(
    document: &Document,
    session: &SessionId,
    lists: &[String],
) -> Result<Vec<ChosenCell>, ItemError> {
    let mut chosen = Vec::new();
    if lists.is_empty() {
        return Ok(chosen);
    }
    let targets = cell_targets(document, session);
    for list in lists {
        let places = find_cells(document, list)?.into_iter();
        let mut cells =
            places.filter_map(|at| document.cell_at(at)).filter(|cell| !cell.is_ready()).peekable();
        if cells.peek().is_none() {
            let text = format!("{list}: the cell at the end of the file is empty");
            return Err(ItemError::new(ItemErrorKind::Invalid, text));
        }
        for cell in cells {
            if let Some(target) = targets[cell.at].clone() {
                chosen.push(ChosenCell { target, is_placed: cell.id().is_none() });
            }
        }
    }
    Ok(chosen)
}
