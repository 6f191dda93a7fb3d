//! `/undo` and `/retry` in a message file: find the last question, and go back to before it or to it.

use std::path::Path;

use analects_core::{Block, Body, Content, Hint, Message};
use analects_formats::msgfile::{self, Document};

use super::location::nothing_to_undo;
use crate::commands::reading;
use crate::commands::rewind::{print_rewind, rewind_to};
use crate::commands::verbs::VerbTarget;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::hints::{Advice, Interface};

/// Goes back to before the last question of a file, or to its beginning. Nothing is deleted.
pub(super) fn undo_in_file(path: &Path, environment: &Environment) -> Result<(), Failure> {
    let document = reading::read(path)?;
    let exchange = last_exchange(&document).ok_or_else(nothing_to_undo)?;
    if exchange.before.is_none() && exchange.is_summed_up {
        let failure =
            Failure::input("a summary replaces the first question, and nothing comes before it");
        return Err(failure.or_hint(Advice::about(path, Hint::UndoCompaction)));
    }
    let place = VerbTarget::File(path.to_path_buf());
    let report = rewind_to(&place, exchange.before.as_deref(), environment)?;
    print_rewind(&report, Interface::Session);
    Ok(())
}

/// The cell of the last question of a file; `None` if there is none.
pub(super) fn last_question(path: &Path) -> Result<Option<String>, Failure> {
    let document = reading::read(path)?;
    Ok(last_exchange(&document).map(|exchange| exchange.question))
}

/// The last question of a file, and what surrounds it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Exchange {
    /// The name of the question's cell.
    question: String,
    /// Whether a compaction came after the question.
    is_summed_up: bool,
    /// The cell before the question: a message, or the boundary of a compaction.
    before: Option<String>,
}

/// Walks back from the end of the current branch to the last question. `None` if there is no
/// question.
fn last_exchange(document: &Document) -> Option<Exchange> {
    let mut exchange = Exchange::default();
    let mut steps = msgfile::current_branch(document).into_iter();
    let is_found = steps.by_ref().any(|step| {
        exchange.is_summed_up |= matches!(step.message.body, Body::CompactBoundary(_));
        exchange.question = step.cell.name().into_owned();
        is_question(&step.message)
    });
    exchange.before = steps.next().map(|step| step.cell.name().into_owned());
    is_found.then_some(exchange)
}

/// Whether it is a prompt. Results of tools are user messages too, but not prompts.
fn is_question(message: &Message) -> bool {
    let is_result = |block: &Block| matches!(block, Block::ToolResult(_));
    let Body::User(said) = &message.body else {
        return false;
    };
    match &said.content {
        Content::Blocks(blocks) => !blocks.iter().any(is_result),
        Content::Empty | Content::Text(_) => true,
    }
}

#[cfg(test)]
mod tests {
    //! Which cells `/undo` takes back.

    use super::*;

    fn cell(name: &str, attributes: &str, is_reply: bool) -> String {
        let (mark, word) = if is_reply {
            ("%%%", "coder")
        } else {
            ("%%", "markdown")
        };
        format!("# {mark} [^{name}]\n\n[^{name}]: [{word}] {attributes}\n\ntext\n\n")
    }

    fn last(text: &str) -> Option<Exchange> {
        last_exchange(&msgfile::decode(text.as_bytes()))
    }

    fn of(question: &str, before: Option<&str>) -> Option<Exchange> {
        let question = question.to_string();
        let before = before.map(str::to_string);
        Some(Exchange {
            question,
            is_summed_up: false,
            before,
        })
    }

    #[test]
    fn the_last_exchange_is_that_of_the_branch() {
        let talk = [
            cell("1", "", false),
            cell("2", "", true),
            cell("3", "", false),
            cell("4", "", true),
        ]
        .concat();
        assert_eq!(last(&talk), of("3", Some("2")));
        let elsewhere = talk.clone() + &cell("5", "parent=2", false);
        assert_eq!(last(&elsewhere), of("5", Some("2")));
        let rewound = talk.clone() + &cell("5", "history=none parent=2", true);
        assert_eq!(last(&rewound), of("1", None));
        assert_eq!(last("text\n"), None);
        for word in ["none", "exclude", "0", "false"] {
            let hidden = talk.replace("[^4]: [coder]", &format!("[^4]: [coder] history={word}"));
            let hidden = hidden + &cell("4.a", "name=\"w\"", true).replace("[coder]", "[tool]");
            let hidden = hidden + &cell("4.a.1", "", true).replace("[coder]", "[tool]");
            assert_eq!(last(&hidden), of("3", Some("2")), "{word}");
        }
    }

    #[test]
    fn what_code_printed_comes_before_the_question() {
        let code = "# %% [^1]\n\n[^1]: [code]\n\n```python\nprint(1)\n```\n\n\
                    # %%% [^1.1]\n\n[^1.1]: [python]\n\nstdout> 1\n\n";
        let asked = cell("2", "", false) + &cell("3", "", true);
        assert_eq!(last(&format!("{code}{asked}")), of("2", Some("1.1")));
        assert_eq!(last(code), of("1", None));
    }

    #[test]
    fn a_compaction_is_gone_back_to_unless_it_was_taken_back() {
        let compacted = [
            cell("1", "", false),
            cell("2", "", true),
            cell("3", "", true).replace("[coder]", "[summary]"),
            cell("4", "summary_id=3", true).replace("[coder]", "[compact_boundary]"),
        ];
        let compacted = compacted.concat();
        let talk = cell("7", "", false) + &cell("8", "", true);
        assert_eq!(last(&format!("{compacted}{talk}")), of("7", Some("4")));
        let tombstone = |name: &str, target: &str| {
            cell(name, &format!("target={target}"), true).replace("[coder]", "[tombstone]")
        };
        let undone = compacted.clone() + &tombstone("5", "4") + &tombstone("6", "3");
        assert_eq!(last(&format!("{undone}{talk}")), of("7", Some("2")));
        assert_eq!(last(&undone), of("1", None));
        assert!(last(&compacted).is_some_and(|it| it.is_summed_up && it.before.is_none()));
    }

    #[test]
    fn a_side_chain_is_passed_over() {
        let talk = [
            cell("1", "", false),
            cell("2", "", true),
            cell("3", "", false),
        ]
        .concat();
        let side = cell("4", "agent_id=side", false) + &cell("5", "agent_id=side", true);
        let first = cell("0", "agent_id=side", false);
        assert_eq!(last(&format!("{first}{talk}{side}")), of("3", Some("2")));
        assert_eq!(last(&side), None);
    }
}
