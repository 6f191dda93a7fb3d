//! Where the conversation of a session is kept, and what the commands do there: the same as the verbs.

use std::path::{Path, PathBuf};

use analects_core::{Agent, Body, Message};
use analects_formats::msgfile::{self, Cell, Document};
use analects_runtime::{FileConversation, StoredConversation};
use analects_store::{ChainName, load, read_message_file};

use crate::commands::chat::{
    Call, Manner, Said, Wanted, Who, chat_in_file, go_on_with, in_words, open, open_file,
};
use crate::commands::compact::compact_here;
use crate::commands::{cells, context, fork, reading, rewind};
use crate::config::Config;
use crate::failure::Failure;
use crate::sessions::Sessions;
use crate::surroundings::Surroundings;
use crate::ui;

/// Where the conversation is kept.
pub enum Place {
    /// In a message file.
    File(PathBuf),
    /// In the transcript store, under this name.
    Store { sessions: Sessions, name: ChainName },
}

impl Place {
    /// What a person calls it.
    pub fn title(&self) -> String {
        match self {
            Place::File(path) => path.display().to_string(),
            Place::Store { .. } if self.said() == 0 => "a new conversation".to_string(),
            Place::Store { name, .. } => format!("session {}", &*name.session),
        }
    }

    /// How to come back later.
    pub fn way_back(&self) -> Option<String> {
        match self {
            Place::File(_) => None,
            Place::Store { .. } if self.said() == 0 => None,
            Place::Store { name, .. } => {
                Some(format!("to go on: analects session resume {}", &*name.session))
            }
        }
    }

    /// How often the person has said something that is kept.
    pub fn said(&self) -> usize {
        match self {
            Place::File(path) => {
                let is_said =
                    |cell: &Cell<'_>| msgfile::role(*cell) == "user" && !cell.body().is_empty();
                read_message_file(path)
                    .map_or(0, |document| document.cells().filter(is_said).count())
            }
            Place::Store { .. } => self.stored().iter().filter(|it| is_said(it)).count(),
        }
    }

    fn stored(&self) -> Vec<Message> {
        let Place::Store { sessions, name } = self else { return Vec::new() };
        load(&*sessions.store, name).map(|loaded| loaded.messages).unwrap_or_default()
    }

    /// The agents that are defined there.
    pub fn agents(&self) -> Vec<Agent> {
        match self {
            Place::File(path) => {
                read_message_file(path).map(|document| document.agents()).unwrap_or_default()
            }
            Place::Store { .. } => Vec::new(),
        }
    }

    /// Who would answer.
    pub fn who(
        &self,
        surroundings: &Surroundings,
        config: &Config,
        wanted: Wanted<'_>,
    ) -> Result<Who, Failure> {
        match self {
            Place::File(path) => {
                let conversation = open_file(path, surroundings)?;
                let document = conversation.document();
                let document = document.ok_or_else(|| Failure::ours("the file is not open"))?;
                Who::of_file(document, wanted, &surroundings.models, config)
            }
            Place::Store { .. } => {
                let conversation = self.conversation(surroundings)?;
                Who::of_store(&conversation, wanted, &surroundings.models, config)
            }
        }
    }

    /// The stored conversation, which may be a new one.
    fn conversation(&self, surroundings: &Surroundings) -> Result<StoredConversation, Failure> {
        let Place::Store { sessions, name } = self else {
            return Err(Failure::ours("this conversation is not in the store"));
        };
        let conversation = open(sessions, name.clone())?;
        Ok(match conversation.state().cwd {
            Some(_) => conversation,
            None => StoredConversation::start(
                sessions.store.clone(),
                name.clone(),
                &surroundings.folder,
            ),
        })
    }

    /// Says something, if there is something to say, and asks.
    pub(super) fn ask(&self, call: Call<'_>, said: Said) -> Result<(), Failure> {
        match self {
            Place::File(path) => chat_in_file(call, path, said),
            Place::Store { .. } => {
                let conversation = self.conversation(call.surroundings)?;
                go_on_with(call, conversation, said)
            }
        }
    }

    /// Shows what would be sent.
    pub fn context(&self, wanted: Wanted<'_>) -> Result<(), Failure> {
        if self.said() == 0 {
            return Err(Failure::input("nothing was said yet, so there is nothing to send"));
        }
        let target = match self {
            Place::File(path) => path.display().to_string(),
            Place::Store { name, .. } => name.session.to_string(),
        };
        context::run(&context::Args::of(target, wanted))
    }

    /// Puts a summary in the place of what was said.
    pub fn compact(
        &self,
        who: &mut Who,
        manner: &Manner,
        surroundings: &Surroundings,
    ) -> Result<(), Failure> {
        let compacted = match self {
            Place::File(path) => {
                let mut conversation = FileConversation::open(path, &surroundings.places)?;
                compact_here(who, manner, surroundings, &mut conversation)?
            }
            Place::Store { .. } => {
                let mut conversation = self.conversation(surroundings)?;
                compact_here(who, manner, surroundings, &mut conversation)?
            }
        };
        ui::remark(&in_words(&compacted));
        Ok(())
    }

    /// Takes back what was said last, with its answer.
    pub fn undo(&mut self, surroundings: &Surroundings) -> Result<(), Failure> {
        let messages = self.stored();
        let last = messages.iter().rev().find(|message| is_said(message));
        match (&mut *self, last) {
            (Place::File(path), _) => undo_in_file(path, surroundings),
            (Place::Store { .. }, None) => Err(nothing_to_undo()),
            (Place::Store { sessions, name }, Some(last)) => match &last.parent_id {
                Some(parent) => rewind::back_to(sessions, name.clone(), parent),
                None => {
                    let old = std::mem::replace(name, sessions.new_name());
                    let old = &*old.session;
                    ui::remark(&format!("a new conversation begins; the old one is session {old}"));
                    Ok(())
                }
            },
        }
    }

    /// Makes a copy, and goes on in it.
    pub fn fork(&mut self, surroundings: &Surroundings) -> Result<(), Failure> {
        if self.said() == 0 {
            return Err(Failure::input("nothing was said yet, so there is nothing to copy"));
        }
        match self {
            Place::File(path) => {
                let copy = cells::fork(path, None, None, false, surroundings)?;
                let (old, new) = (path.display(), copy.display());
                ui::remark(&format!("you are in {new} now; {old} stays as it is"));
                *path = copy;
            }
            Place::Store { sessions, name } => {
                let copy = fork::copy(sessions, name, None)?;
                let (old, new) = (&*name.session, &*copy.session);
                ui::remark(&format!("you are in session {new} now; {old} stays as it is"));
                *name = copy;
            }
        }
        Ok(())
    }

    /// Gets ready to ask again what has no answer: nothing if all is answered; else what has to be said
    /// again, which a file does not need.
    pub fn take_back_unanswered(
        &mut self,
        surroundings: &Surroundings,
    ) -> Result<Option<Option<String>>, Failure> {
        match self {
            Place::File(path) => {
                let document = read_message_file(path)?;
                Ok((!document.unanswered().is_empty()).then_some(None))
            }
            Place::Store { .. } => {
                let messages = self.stored();
                let last = messages.iter().rposition(is_said);
                let Some(at) = last else { return Ok(None) };
                let is_answer = |message: &Message| {
                    matches!(message.body, Body::Assistant(_)) && !message.is_api_error_message
                };
                if messages[at..].iter().any(is_answer) {
                    return Ok(None);
                }
                let prompt = messages[at].text();
                self.undo(surroundings)?;
                Ok(Some(Some(prompt)))
            }
        }
    }
}

/// Whether the person said it.
fn is_said(message: &Message) -> bool {
    matches!(&message.body, Body::User(_)) && !message.text().is_empty()
}

fn nothing_to_undo() -> Failure {
    Failure::input("there is nothing to take back")
}

/// Goes back before the last question of a file. Where nothing comes before it, it is hidden from the model,
/// and so is its answer.
fn undo_in_file(path: &Path, surroundings: &Surroundings) -> Result<(), Failure> {
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
    fn an_empty_cell_is_nothing_said() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.msg.md");
        let said = |text: &str| {
            std::fs::write(&path, text).unwrap();
            Place::File(path.clone()).said()
        };
        assert_eq!((said("# %%\n"), said("# %%\n\nq\n"), said("# %%\n\nq\n\n# %%\n")), (0, 1, 1));
    }

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
