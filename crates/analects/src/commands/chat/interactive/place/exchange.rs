//! The last question of a message file with its answer, and how it is taken back.

use std::path::Path;

use analects_formats::msgfile::{self, Document};

use super::nothing_to_undo;
use crate::commands::{cells, reading};
use crate::failure::Failure;
use crate::surroundings::Surroundings;
use crate::ui;

/// Goes back before the last question of a file. Where nothing comes before it, it is hidden from the model,
/// and so is its answer.
pub(super) fn undo_in_file(path: &Path, surroundings: &Surroundings) -> Result<(), Failure> {
    let document = reading::read(path)?;
    let exchange = last_exchange(&document).ok_or_else(nothing_to_undo)?;
    let file = path.display();
    if let Some(before) = exchange.before {
        let rewound = cells::rewind(path, &before, surroundings)?;
        let (to, before) = (rewound.to, rewound.before);
        ui::remark(&format!(
            "the file goes on from cell {to}; to undo this: analects rewind {file} {before}"
        ));
        return Ok(());
    }
    let mut hidden = Vec::new();
    for cell in exchange.cells.iter().rev() {
        hidden.extend(cells::hide(path, cell, true, surroundings)?);
    }
    let hidden = hidden.join(", ");
    ui::remark(&format!(
        "the model does not see these cells any more: {hidden}; analects drop {file} CELL --undo shows one again"
    ));
    Ok(())
}

/// The last question of a file and what came after it.
#[derive(Debug, PartialEq, Eq)]
struct Exchange {
    /// The last first.
    cells: Vec<String>,
    /// The message before the question.
    before: Option<String>,
}

/// Goes from the end of a file along its branch, up to the last question and what comes before that.
fn last_exchange(document: &Document) -> Option<Exchange> {
    let roles = msgfile::roles(document);
    let (mut exchange, mut is_found) = (Exchange { cells: Vec::new(), before: None }, false);
    let mut behind = document.cells().len();
    for (at, cell) in document.cells().enumerate().rev() {
        if at >= behind {
            continue;
        }
        let role = roles[at];
        let is_empty = role == "user" && cell.body().is_empty();
        let is_seen = !is_empty && cell.attribute("history").as_deref() != Some("none");
        if is_seen && matches!(role, "user" | "reply" | "tool_call" | "tool_result" | "summary") {
            let name = cell.name().into_owned();
            if is_found {
                exchange.before = Some(name);
                return Some(exchange);
            }
            exchange.cells.push(name);
            is_found = role == "user";
        }
        behind = match cell.attribute("parent").as_deref() {
            Some("") => break,
            Some(parent) => {
                let parent = document.cell(parent).map(|parent| parent.ordinal());
                parent.filter(|parent| *parent <= at).unwrap_or(at)
            }
            None => at,
        };
    }
    is_found.then_some(exchange)
}

#[cfg(test)]
mod tests {
    //! Which cells are taken back.

    use super::*;

    #[test]
    fn the_last_exchange_is_that_of_the_branch() {
        let cell = |name: &str, attributes: &str, is_reply: bool| {
            let (mark, word) = if is_reply { ("%%%", "coder") } else { ("%%", "markdown") };
            format!("# {mark} [^{name}]\n\n[^{name}]: [{word}] {attributes}\n\ntext\n\n")
        };
        let talk =
            [cell("1", "", false), cell("2", "", true), cell("3", "", false), cell("4", "", true)]
                .concat();
        let last = |text: &str| last_exchange(&msgfile::decode(text.as_bytes()));
        let of = |cells: &[&str], before: Option<&str>| {
            let cells = cells.iter().map(|cell| (*cell).to_string()).collect();
            Some(Exchange { cells, before: before.map(str::to_string) })
        };
        assert_eq!(last(&talk), of(&["4", "3"], Some("2")));
        let elsewhere = talk.clone() + &cell("5", "parent=2", false);
        assert_eq!(last(&elsewhere), of(&["5"], Some("2")));
        let rewound = talk.clone() + &cell("5", "history=none parent=2", true);
        assert_eq!(last(&rewound), of(&["2", "1"], None));
        assert_eq!(last("text\n"), None);
    }
}
