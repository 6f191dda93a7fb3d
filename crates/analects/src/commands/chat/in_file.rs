//! `chat FILE`: a turn in a message file, from what is said to the answer in its place.

use std::path::Path;

use analects_core::verbs::Change;
use analects_core::{Message, MessageId};
use analects_formats::msgfile::{AnswerDetail, Document, DocumentKind};
use analects_runtime::{
    AnswerQueue, Conversation, FileConversation, PrepareError, Prepared, prepare,
};
use analects_store::{AnswerPlace, LostRewind, Places, StoreError, read_message_file};
use jiff::Timestamp;

use super::asking::{ProblemSource, ask, broken_cell, if_it_broke_off};
use super::call::{Call, Said, left_waiting};
use super::dry_run;
use crate::commands::{set, verbs};
use crate::failure::Failure;
use crate::hints::{Advice, BrokenAnswer, ConversationName};
use crate::surroundings::Surroundings;
use crate::{local, pictures, shell, ui, writing};

/// Gets the answers to all that waits in a file: one after the other, where it is meant for several agents.
pub fn chat_in_file(call: Call<'_>, path: &Path, said: &mut Said) -> Result<(), Failure> {
    if call.args.dry_run {
        return dry_run::of_file(call, path, said);
    }
    let mut queue = call.queue();
    let mut is_answered = take_turn_of(&mut queue, call, path, said)?;
    while is_answered && queue.has_more() {
        is_answered = take_turn_of(&mut queue, call, path, &mut Said::default())?;
    }
    Ok(())
}

/// Gets one answer in a file; `false` if there was none to get.
pub fn take_turn(call: Call<'_>, path: &Path) -> Result<bool, Failure> {
    take_turn_of(
        &mut AnswerQueue::default(),
        call,
        path,
        &mut Said::default(),
    )
}

/// Gets the next answer of a call.
fn take_turn_of(
    queue: &mut AnswerQueue,
    call: Call<'_>,
    path: &Path,
    said: &mut Said,
) -> Result<bool, Failure> {
    if call.args.force && path.extension().is_some_and(|end| end == "md") {
        make_message_file_for(call, path, said)?;
    }
    let mut conversation = open_to_answer(call, path)?;
    let chosen = call.args.choose(path, &conversation)?;
    let options = call.options(said, chosen);
    let mut prepared = match queue.prepare(&mut conversation, &options) {
        Ok(Some(prepared)) => prepared,
        Ok(None) => {
            tell_what_waits(&conversation);
            return Ok(false);
        }
        Err(error) => return Err(nobody_answers(error, call, &mut conversation, path, said)?),
    };
    let serving = call.make_ready(&mut prepared)?;
    let written = write(call, path, &mut prepared);
    said.written = prepared.write_progress();
    written?;
    call.tell_of_queue(&prepared);
    let text = prepared.conversation().document().source().to_vec();
    let name = path.to_string_lossy().into_owned();
    let source = ProblemSource {
        name,
        text,
        interface: call.interface,
    };
    let done = ask(&mut prepared, !call.args.no_stream, &source);
    if prepared.conversation().answer_place() == Some(&AnswerPlace::Journal) {
        ui::remark(&writing::kept_answer(path));
    }
    done.map_err(|failure| {
        let failure = failure.ask_again_in(ConversationName::File(path.to_path_buf()));
        let failure = local::explain(failure, serving.as_deref());
        if_it_broke_off(failure, &prepared, |conversation, broken| {
            // Nothing can be hidden in a file that nobody can write to.
            let cell = conversation.cell_of(&MessageId::from(broken))?;
            conversation
                .document()
                .is_utf8()
                .then(|| broken_in(path, cell))
        })
    })?;
    Ok(true)
}

/// Opens a file in which a question is to be answered.
fn open_to_answer(call: Call<'_>, path: &Path) -> Result<FileConversation, Failure> {
    let mut conversation = open_file(path, call.surroundings)?;
    let document = conversation.document();
    if let Some(problem) = document.old_format() {
        let problem = Box::new(problem);
        return Err(StoreError::NotWritable {
            path: path.to_path_buf(),
            problem,
        }
        .into());
    }
    conversation.journal().check_writable()?;
    if let Some(lost) = conversation
        .journal()
        .take_lost_rewind(conversation.path(), document)
    {
        return Err(lost_rewind(path, &lost));
    }
    writing::remark_missing(path, document, conversation.path(), conversation.journal());
    if call.config.details() {
        conversation.set_detail(AnswerDetail::All);
    }
    let is_wanted = call.args.pictures;
    let allowed = pictures::allowed(path, is_wanted, call.config, call.surroundings);
    conversation.allow_pictures(allowed);
    Ok(conversation)
}

/// The mark of a rewind is gone, and nobody knows whether the person meant that.
fn lost_rewind(path: &Path, lost: &LostRewind) -> Failure {
    let file = shell::path(path);
    let to = if lost.to.is_empty() {
        "the beginning".into()
    } else {
        format!("cell {}", lost.to)
    };
    let message = format!("{file}: the rewind to {to} is undone: its empty cell was removed");
    let again = "run this again to continue from the last cell";
    let hint = if lost.to.is_empty() {
        again.to_string()
    } else {
        format!(
            "{again}, or go back: analects rewind {file} {}",
            shell::word(&lost.to)
        )
    };
    Failure::input(message).or_hint(hint)
}

/// Writes down who answers and what is said.
fn write(
    call: Call<'_>,
    path: &Path,
    prepared: &mut Prepared<&mut FileConversation>,
) -> Result<(), Failure> {
    prepared.introduce()?;
    if let Some(name) = &call.args.set_default_agent {
        let conversation = prepared.conversation_mut();
        conversation.try_edit(|document| set::default_agent(document, path, name))?;
    }
    verbs::remark_chosen(path, prepared.conversation().document(), call.args);
    Ok(prepared.write()?)
}

/// Says what waits where this call does not ask it.
fn tell_what_waits(conversation: &FileConversation) {
    let questions = conversation.snapshot().questions;
    let names: Vec<String> = questions
        .into_iter()
        .map(|question| question.name)
        .collect();
    if !names.is_empty() {
        ui::remark(&left_waiting(&names));
    }
}

/// Says why nobody answers. What the person said is kept though nobody is there to answer it; where they named somebody
/// who cannot be asked, the call is at fault, and they will make it again.
fn nobody_answers(
    error: PrepareError,
    call: Call<'_>,
    conversation: &mut FileConversation,
    path: &Path,
    said: &mut Said,
) -> Result<Failure, Failure> {
    if matches!(error, PrepareError::NothingToAsk) {
        return Ok(nothing_to_ask(path, conversation));
    }
    let is_kept = error.is_about_responder() && !call.names_responder();
    let failure = call.explain(error);
    let Some(prompt) = said.prompt.as_deref().filter(|_| is_kept) else {
        return Ok(failure);
    };
    let message = Box::new(Message::user("", prompt));
    conversation.apply(vec![Change::Append(message)], &[], Timestamp::now())?;
    said.written.has_prompt = true;
    Ok(failure.and_hint(Advice::NameModelForKept(path.to_path_buf())))
}

/// Makes a plain file one for messages, unless what is wanted cannot be done in it anyway.
fn make_message_file_for(call: Call<'_>, path: &Path, said: &Said) -> Result<(), Failure> {
    let document = writing::read_or_new(path)?;
    if document.kind() != DocumentKind::Plain {
        return Ok(());
    }
    let places = &call.surroundings.places;
    let after = writing::with_section(&document, path)?;
    let mut rehearsal = FileConversation::dry_run_document(path, after, places)?;
    if said.prompt.is_none() {
        return Err(nothing_to_ask(path, &rehearsal));
    }
    let chosen = call.args.choose(path, &rehearsal)?;
    // Where nobody is named, the prompt is kept in the file though nobody can be asked.
    match prepare(&mut rehearsal, &call.options(said, chosen)) {
        Err(error) if call.names_responder() || !error.is_about_responder() => {
            Err(call.explain(error))
        }
        _ => writing::make_message_file(path, &call.surroundings.places),
    }
}

/// Opens a file to go on with it.
pub fn open_file(path: &Path, surroundings: &Surroundings) -> Result<FileConversation, Failure> {
    let conversation = FileConversation::open(path, &surroundings.places).map_err(not_opened)?;
    writing::remark_kept(path, conversation.kept());
    writing::remark_recovered(path, conversation.recovered());
    Ok(conversation)
}

/// Says why a file cannot be gone on with.
pub fn not_opened(error: StoreError) -> Failure {
    match error {
        StoreError::NotAMessageFile { path } if !path.exists() => not_there(&path),
        StoreError::NotAMessageFile { .. } => {
            Failure::from(error).and_hint("--force does that, for its section Discussion")
        }
        error => error.into(),
    }
}

/// Says that a file is not there which would be a plain one if it was made: nobody knows where its messages would go.
fn not_there(path: &Path) -> Failure {
    let (file, name) = (shell::path(path), path.with_extension("msg.md"));
    let hint = format!(
        "analects new {file} makes it, with a section for messages; or name it {}, which chat makes",
        name.display()
    );
    Failure::not_found(format!("{}: not found", path.display())).or_hint(hint)
}

/// Says that a prompt that is in the file need not be given again: it would be said twice. Where the journal has its
/// answer, it need not even be asked.
pub fn still_waits(failure: Failure, path: &Path, said: &Said, places: &Places) -> Failure {
    let (Some(prompt), Ok(document)) = (&said.prompt, read_message_file(path)) else {
        return failure;
    };
    let waits = document
        .unanswered()
        .last()
        .is_some_and(|cell| cell.content() == prompt.as_str());
    if !waits || failure.tells_how_to_ask() || writing::has_answer(path, &document, places) {
        return failure;
    }
    failure.and_hint(Advice::AskKept(path.to_path_buf()))
}

/// An answer of a file that broke off.
fn broken_in(path: &Path, cell: String) -> BrokenAnswer {
    BrokenAnswer {
        conversation: ConversationName::File(path.to_path_buf()),
        name: cell,
    }
}

/// Says that there is nothing to ask, and why that may be.
pub fn nothing_to_ask(path: &Path, conversation: &FileConversation) -> Failure {
    let document = conversation.document();
    if let Some(cell) = document.unseen_question() {
        let (name, history) = (cell.name(), cell.attribute("history").unwrap_or_default());
        let message = format!(
            "nothing to ask: cell {name} has history={history:?}, so the model does not see what it says"
        );
        return Failure::usage(message, "take that out of the cell, or add a prompt");
    }
    if let Some(cell) = broken_cell(conversation) {
        let message = format!("nothing to ask: cell {cell} is an answer that broke off");
        return Failure::usage(message, Advice::PromptOrHideBroken(broken_in(path, cell)));
    }
    let message = "nothing to ask: there is no prompt, and no cell waits for an answer";
    let file = shell::path(path);
    let usual = || format!("add a prompt, such as analects chat {file} \"Hello\"");
    Failure::usage(
        message,
        misplaced_question(document).map_or_else(usual, str::to_string),
    )
}

/// What to do about a question that seems to have been typed where nothing is sent from.
pub fn misplaced_question(document: &Document) -> Option<&'static str> {
    let preamble = document.preamble().of(document.source());
    let Some(last) = document.cells().rfind(|cell| !cell.is_ready()) else {
        let hint = "text before the first # %% is not sent; put a line # %% above it";
        return (!preamble.trim_ascii().is_empty()).then_some(hint);
    };
    let is_title = last.is_prompt() && last.body().is_empty() && !last.title().is_empty();
    is_title.then_some("the title of a cell is not sent; type the question in the line below it")
}
