//! Names for new cells, and names that are taken.

use super::Naming;
use crate::msgfile::Document;
use crate::msgfile::item::check::shown;
use crate::msgfile::item::{ItemError, ItemErrorKind};
use crate::msgfile::line::is_id;

/// The name of a new cell. `given` is the one that somebody chose.
pub(super) fn name(document: &Document, naming: &Naming, given: &str) -> Result<String, ItemError> {
    let name = match naming {
        Naming::Given => given.to_string(),
        Naming::Number => document.next_id(),
        Naming::Call { of, nonce } => format!("{of}.{nonce}"),
        Naming::Next { of } => next(document, of, '.'),
        Naming::Further { of } => next(document, of, '-'),
    };
    if !is_id(name.as_bytes()) {
        let error = ItemError::invalid(format!("{} cannot be a name", shown(&name)));
        return Err(
            error.hinting("a name has at most 64 characters; give the message a shorter one")
        );
    }
    if document.is_taken(&name) {
        let text = format!("there is already a cell of the name {}", shown(&name));
        return Err(ItemError::new(ItemErrorKind::Duplicate, text).hinting("choose another name"));
    }
    Ok(name)
}

/// The next free number behind a name: `1.3` after `1.2`, `1.3-2` after `1.3`.
fn next(document: &Document, of: &str, mark: char) -> String {
    let number = |id: &str| -> Option<u64> {
        let rest = id.strip_prefix(of)?.strip_prefix(mark)?;
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        // A nonce may start with digits, and is no number.
        let ends = rest[end..].chars().next().is_none_or(|next| "-.".contains(next));
        ((1..=15).contains(&end) && ends).then(|| rest[..end].parse().ok()).flatten()
    };
    let numbers = document.cells().filter_map(|cell| number(cell.id()?));
    // The first cell of a run is its first without saying so.
    let least = if mark == '-' { 1 } else { 0 };
    format!("{of}{mark}{}", numbers.max().unwrap_or(0).max(least) + 1)
}

/// The naming of a call whose name somebody chose. One with a dot is named after its message, and
/// must not claim another's.
pub(super) fn call_naming(name: &str, message: &str) -> Result<Naming, ItemError> {
    match name.rsplit_once('.') {
        None => Ok(Naming::Given),
        Some((of, rest)) if of == message => {
            Ok(Naming::Call { of: of.to_string(), nonce: rest.to_string() })
        }
        Some(_) => {
            let text = format!("{} is not a name for a call of {}", shown(name), shown(message));
            let hint = format!("leave out the dot, or write {message}.NAME");
            Err(ItemError::invalid(text).hinting(hint))
        }
    }
}
