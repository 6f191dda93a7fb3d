//! `chat FILE`: a turn in a message file, from the prompt to the answer below it.

use std::path::Path;

use analects_core::verbs::Change;
use analects_core::{Message, MessageId};
use analects_formats::msgfile::{AnswerDetail, Document, DocumentKind};
use analects_runtime::{
    AnswerQueue, Conversation, FileConversation, PrepareError, Prepared, WriteProgress, prepare,
};
use analects_store::{AnswerDestination, LostRewind, StoreError, StoreFolders, read_message_file};
use jiff::Timestamp;

use super::call::{ChatCall, UserInput, unanswered_in_words};
use super::dry_run;
use super::other_formats::convert_hint;
use super::turn::{ProblemSource, ask, broken_cell, hint_if_broken_off};
use crate::commands::rewind::back_to;
use crate::commands::{set, verbs};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::hints::{Advice, ConversationName, Interface, PartialAnswer};
use crate::{local, message_file, pictures, shell, ui};

/// Answers all questions of a file, one after the other, each with its own agent.
pub fn chat_in_file(call: ChatCall<'_>, path: &Path, input: &mut UserInput) -> Result<(), Failure> {
    if call.args.answer.dry_run {
        return dry_run::of_file(call, path, input);
    }
    let mut queue = call.queue();
    let mut is_answered = take_next_turn(&mut queue, call, path, input)?;
    while is_answered && queue.has_more() {
        is_answered = take_next_turn(&mut queue, call, path, &mut UserInput::default())?;
    }
    Ok(())
}

/// Answers one question of a file. Returns `false` if there was none.
pub fn take_turn(call: ChatCall<'_>, path: &Path) -> Result<bool, Failure> {
    take_next_turn(
        &mut AnswerQueue::default(),
        call,
        path,
        &mut UserInput::default(),
    )
}

/// Answers the next question in the queue. Returns `false` if none is left.
fn take_next_turn(
    queue: &mut AnswerQueue,
    call: ChatCall<'_>,
    path: &Path,
    input: &mut UserInput,
) -> Result<bool, Failure> {
    if call.args.force && path.extension().is_some_and(|end| end == "md") {
        make_message_file_for(call, path, input)?;
    }
    let mut conversation = open_for_answer(call, path, &input.pictures)?;
    let chosen = call.args.choose(path, &conversation)?;
    let options = call.options(input, chosen);
    let prepared = match queue.prepare(&mut conversation, &options) {
        Ok(Some(prepared)) => prepared,
        Ok(None) => {
            report_unanswered(&conversation, call.interface);
            return Ok(false);
        }
        Err(error) => {
            let explained = explain_no_answer(error, call, &mut conversation, path, input);
            return Err(explained?);
        }
    };
    pictures::allow(path, &input.pictures, call.environment)?;
    answer(call, path, prepared, &mut input.written)?;
    Ok(true)
}

/// Writes the question to the file, asks it, and writes the answer. `written` says what is in the
/// file, even after a failure.
fn answer(
    call: ChatCall<'_>,
    path: &Path,
    mut prepared: Prepared<&mut FileConversation>,
    written: &mut WriteProgress,
) -> Result<(), Failure> {
    let serving = call.prepare_model(&mut prepared)?;
    let done = write(call, path, &mut prepared);
    *written = prepared.write_progress();
    done?;
    call.report_queue(&prepared);

    let source = ProblemSource {
        name: path.to_string_lossy().into_owned(),
        text: prepared.conversation().document().source().to_vec(),
        interface: call.interface,
    };
    let done = ask(&mut prepared, &call.args.answer, &source);
    if prepared.conversation().answer_place() == Some(&AnswerDestination::Journal) {
        ui::remark(&call.interface.words(message_file::answer_not_in_file(path)));
    }
    done.map_err(|failure| {
        let failure = failure.ask_again_in(ConversationName::File(path.to_path_buf()));
        let failure = local::explain_failure(failure, serving.as_deref());
        hint_if_broken_off(failure, &prepared, |conversation, broken| {
            // A file that is not UTF-8 cannot be changed, so `drop` would not work.
            let cell = conversation.cell_of(&MessageId::from(broken))?;
            let is_text = conversation.document().is_utf8();
            is_text.then(|| broken_answer_in(path, cell))
        })
    })
}

/// Opens a file to add an answer. `named` holds the pictures that the prompt names. Fails if the answer could not be
/// saved, if the file has a problem that forbids asking, or if the mark of a rewind has disappeared.
fn open_for_answer(
    call: ChatCall<'_>,
    path: &Path,
    named: &[String],
) -> Result<FileConversation, Failure> {
    let mut conversation = open_file(path, call.environment)?;
    let document = conversation.document();
    conversation.journal().check_writable()?;
    if let Some(lost) = conversation
        .journal()
        .take_lost_rewind(conversation.path(), document)
    {
        return Err(lost_rewind(path, &lost, call.interface));
    }
    message_file::remark_missing(
        path,
        document,
        conversation.path(),
        conversation.journal(),
        call.interface,
    );
    if call.config.details() {
        conversation.set_detail(AnswerDetail::All);
    }
    let is_wanted = call.args.pictures;
    let mut allowed = pictures::allowed(path, is_wanted, call.config, call.environment);
    allowed.add(named);
    conversation.allow_pictures(allowed);
    if call.args.with_document {
        conversation.send_document();
    }
    Ok(conversation)
}

/// The error for a file from which the empty cell of a rewind was deleted: only you know whether
/// you meant that.
fn lost_rewind(path: &Path, lost: &LostRewind, interface: Interface) -> Failure {
    let file = shell::path(path);
    let to = if lost.to.is_empty() {
        "the beginning".into()
    } else {
        format!("cell {}", lost.to)
    };
    let message = format!("{file}: the rewind to {to} is undone: its empty cell was removed");
    let again = match interface {
        Interface::Call => "run this again to continue from the last cell",
        Interface::Session => "send this again to continue from the last cell",
    };
    let hint = if lost.to.is_empty() {
        again.to_string()
    } else {
        let back = back_to(&file, &lost.to, interface);
        format!("{again}, or go back: {back}")
    };
    Failure::input(message).or_hint(hint)
}

/// Writes the agent and the prompt to the file.
fn write(
    call: ChatCall<'_>,
    path: &Path,
    prepared: &mut Prepared<&mut FileConversation>,
) -> Result<(), Failure> {
    prepared.store_agent()?;
    if let Some(name) = &call.args.set_default_agent {
        let conversation = prepared.conversation_mut();
        conversation.try_edit(|document| set::default_agent(document, path, name))?;
    }
    verbs::warn_chosen_are_summarised(path, prepared.conversation().document(), call.args);
    Ok(prepared.write()?)
}

/// Reports questions that this call does not ask.
fn report_unanswered(conversation: &FileConversation, interface: Interface) {
    let questions = conversation.snapshot().questions;
    let names: Vec<String> = questions
        .into_iter()
        .map(|question| question.name)
        .collect();
    if !names.is_empty() {
        ui::remark(&unanswered_in_words(&names, interface));
    }
}

/// Explains why no agent answers. The prompt is saved anyway, unless you named a model or agent
/// that cannot be asked: then you will repeat the call.
fn explain_no_answer(
    error: PrepareError,
    call: ChatCall<'_>,
    conversation: &mut FileConversation,
    path: &Path,
    input: &mut UserInput,
) -> Result<Failure, Failure> {
    if matches!(error, PrepareError::NothingToAsk) {
        return Ok(nothing_to_ask(path, conversation));
    }
    let is_kept = error.is_about_responder() && !call.names_responder();
    let failure = call.explain(error);
    let Some(prompt) = input.prompt.as_deref().filter(|_| is_kept) else {
        return Ok(failure);
    };
    if !conversation.is_waiting_last(prompt) {
        let message = Box::new(Message::user("", prompt));
        conversation.apply(vec![Change::Append(message)], &[], Timestamp::now())?;
    }
    input.written.has_prompt = true;
    Ok(failure.and_hint(Advice::NameModelForSavedPrompt(path.to_path_buf())))
}

/// For `--force`: turns a plain file into a message file, unless the call would fail anyway.
fn make_message_file_for(
    call: ChatCall<'_>,
    path: &Path,
    input: &UserInput,
) -> Result<(), Failure> {
    let document = message_file::read_or_new(path)?;
    if document.kind() != DocumentKind::Plain {
        return Ok(());
    }
    message_file::check_frontmatter(&document, path)?;
    let places = &call.environment.places;
    let after = message_file::with_section(&document, path)?;
    let mut rehearsal = FileConversation::dry_run_document(path, after, places)?;
    if input.prompt.is_none() {
        return Err(nothing_to_ask(path, &rehearsal));
    }
    let chosen = call.args.choose(path, &rehearsal)?;
    // Without a named agent, the prompt is saved even if no model can be asked.
    match prepare(&mut rehearsal, &call.options(input, chosen)) {
        Err(error) if call.names_responder() || !error.is_about_responder() => {
            Err(call.explain(error))
        }
        _ => message_file::make_message_file(path, &call.environment.places),
    }
}

/// Opens a file, and reports answers that were recovered from the journal.
pub fn open_file(path: &Path, environment: &Environment) -> Result<FileConversation, Failure> {
    let conversation =
        FileConversation::open(path, &environment.places).map_err(explain_open_error)?;
    message_file::remark_saved_copies(path, conversation.other_versions());
    message_file::remark_recovered(path, conversation.recovered());
    Ok(conversation)
}

/// Explains why a file cannot be opened.
pub fn explain_open_error(error: StoreError) -> Failure {
    match error {
        StoreError::NotAMessageFile { path } if !path.exists() => explain_missing_file(&path),
        StoreError::NotAMessageFile { ref path } => {
            if let Some(hint) = convert_hint(path) {
                return Failure::usage(error.to_string(), hint);
            }
            Failure::from(error).and_hint("--force does that, for its section Discussion")
        }
        error => error.into(),
    }
}

/// The error for a missing `.md` file: it would become a plain file without a place for messages.
fn explain_missing_file(path: &Path) -> Failure {
    let file = shell::path(path);
    let name = path.with_extension("msg.md");
    let hint = format!(
        "analects new {file} makes it, with a section for messages; or name it {}, which chat makes",
        name.display()
    );
    Failure::not_found(format!("{}: not found", path.display())).or_hint(hint)
}

/// Adds a hint that the prompt is already in the file and need not be repeated. Without effect if
/// the question is answered, or answered in the journal.
pub fn hint_prompt_kept(
    failure: Failure,
    path: &Path,
    input: &UserInput,
    places: &StoreFolders,
) -> Failure {
    let (Some(prompt), Ok(document)) = (&input.prompt, read_message_file(path)) else {
        return failure;
    };
    let waits = document
        .unanswered()
        .last()
        .is_some_and(|cell| cell.content() == prompt.as_str());
    if !waits
        || failure.says_how_to_ask()
        || message_file::has_waiting_answer(path, &document, places)
    {
        return failure;
    }
    failure.and_hint(Advice::AskSavedPrompt(path.to_path_buf()))
}

/// Names an answer that broke off, for a hint.
fn broken_answer_in(path: &Path, cell: String) -> PartialAnswer {
    PartialAnswer {
        conversation: ConversationName::File(path.to_path_buf()),
        name: cell,
    }
}

/// The error for a file without a question, with the likely reason.
pub fn nothing_to_ask(path: &Path, conversation: &FileConversation) -> Failure {
    let document = conversation.document();
    if let Some(cell) = document.unseen_question() {
        let name = cell.name();
        let history = cell.attribute("history").unwrap_or_default();
        let message = format!(
            "nothing to ask: cell {name} has history={history:?}, so the model does not see it"
        );
        return Failure::usage(message, "remove that attribute, or add a prompt");
    }
    if let Some(cell) = broken_cell(conversation) {
        let message = format!("nothing to ask: cell {cell} is an answer that broke off");
        return Failure::usage(
            message,
            Advice::PromptOrHidePartialAnswer(broken_answer_in(path, cell)),
        );
    }
    let message = "nothing to ask: there is no prompt, and no cell waits for an answer";
    let file = shell::path(path);
    let usual = || format!("add a prompt, such as analects chat {file} \"Hello\"");
    Failure::usage(
        message,
        misplaced_question(document).map_or_else(usual, str::to_string),
    )
}

/// Advice about text that looks like a question but is not sent: before the first cell, or in a
/// title.
pub fn misplaced_question(document: &Document) -> Option<&'static str> {
    let preamble = document.preamble().of(document.source());
    let Some(last) = document.cells().rfind(|cell| !cell.is_ready()) else {
        let hint = "text before the first # %% is not sent; put a line # %% above it";
        return (!preamble.trim_ascii().is_empty()).then_some(hint);
    };
    let is_title = last.is_prompt() && last.body().is_empty() && !last.title().is_empty();
    is_title.then_some("the title of a cell is not sent; type the question in the line below it")
}
