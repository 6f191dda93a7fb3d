//! `chat FILE`: a turn in a message file, from what is said to the answer in its place.

use std::path::Path;

use analects_formats::msgfile::{self, AnswerDetail, Choice, Document, Kind};
use analects_local::Serving;
use analects_runtime::{Conversation, FileConversation};
use analects_store::{AnswerPlace, Places, StoreError, read_message_file};
use jiff::Timestamp;

use super::asking::{Told, ask};
use super::broken::{broken_answer, if_it_broke_off, to_ask_again};
use super::choosing::{self, check_asks};
use super::waiting::{Course, Turn};
use super::{Call, Said, Wanted, Who, allowed_pictures, dry_run};
use crate::failure::Failure;
use crate::surroundings::Surroundings;
use crate::ways::PROMPT_IS_KEPT;
use crate::{journal, local, shell, ui, writing};

pub fn chat_in_file(call: Call<'_>, path: &Path, said: Said) -> Result<(), Failure> {
    match call.choosing.dry_run {
        true => dry_run::of_file(call, path, &said),
        false => answer_all_in_file(call, path, said),
    }
}

/// Gets the answers to all that waits in a file: one after the other, where it is meant for several agents.
fn answer_all_in_file(call: Call<'_>, path: &Path, said: Said) -> Result<(), Failure> {
    let mut course = call.course();
    let mut said = Some(said);
    while said.is_some() || course.goes_on() {
        let said = said.take().unwrap_or_default();
        if !take_turn_of(&mut course, call, path, said)? {
            break;
        }
    }
    Ok(())
}

/// Gets one answer in a file; `false` if there was none to get.
pub fn take_turn(call: Call<'_>, path: &Path, said: Said) -> Result<bool, Failure> {
    take_turn_of(&mut Course::default(), call, path, said)
}

/// Gets the next answer of a call.
fn take_turn_of(
    course: &mut Course,
    call: Call<'_>,
    path: &Path,
    said: Said,
) -> Result<bool, Failure> {
    match get_ready(course, call, path, said)? {
        Some(ready) => ready.ask().map(|()| true),
        None => Ok(false),
    }
}

/// A question that stands in its file, and only has to be asked.
struct Ready<'c> {
    call: Call<'c>,
    path: &'c Path,
    conversation: FileConversation,
    who: Who,
    serving: Option<Serving>,
    /// The answer that was broken off already.
    broken: Option<String>,
}

/// Writes down what is said, and finds who is asked; `None` if there is no more to ask.
fn get_ready<'c>(
    course: &mut Course,
    call: Call<'c>,
    path: &'c Path,
    said: Said,
) -> Result<Option<Ready<'c>>, Failure> {
    let Call { surroundings, config, wanted, choosing, .. } = call;
    if choosing.force && path.extension().is_some_and(|end| end == "md") {
        make_message_file(call, path, &said)?;
    }
    said.check(path)?;
    let mut conversation = open_file(path, surroundings)?;
    let document = conversation.document();
    if let Some(problem) = document.old_format() {
        let problem = Box::new(problem);
        return Err(StoreError::NotWritable { path: path.to_path_buf(), problem }.into());
    }
    conversation.journal().check_writable()?;
    journal::remark_missing(path, document, conversation.path(), conversation.journal());
    if said.prompt.is_none() && document.unanswered().is_empty() {
        // After an answer, somebody may have taken away what was to come next.
        return if course.is_begun() { Ok(None) } else { Err(nothing_to_ask(path, document)) };
    }
    let broken = broken_answer(document).map(|cell| cell.name().into_owned());
    let choice = choosing.settle(path, document)?;
    if said.prompt.is_none() {
        check_asks(&choice, document)?;
    }
    let turn = next_turn(document, &choice, wanted, said.prompt.as_deref());
    if !course.take(&turn) {
        ui::remark(&turn.not_taken());
        return Ok(None);
    }
    let wanted = Wanted { agent: wanted.agent.or(turn.agent.as_deref()), ..wanted };
    let mut who = match Who::of_file(document, wanted, &surroundings.models, config) {
        Ok(who) => who,
        Err(failure) => return Err(keep_prompt(failure, &mut conversation, path, wanted, said)?),
    };
    let serving = local::ready(&mut who.model, wanted.model, surroundings)?;
    let mut conversation = introduce(conversation, &mut who, call)?;
    if config.details() {
        conversation.set_detail(AnswerDetail::All);
    }
    conversation.allow_pictures(allowed_pictures(path, choosing.pictures, config, surroundings));
    choosing.set_default(path, &mut conversation)?;
    said.into(&mut conversation, &call.manner.grants)?;
    choosing.choose(choice, path, &mut conversation)?;
    if let Some(words) = course.in_words(&turn, &who.agent.name) {
        ui::remark(&words);
    }
    if !turn.later.is_empty() {
        conversation.ask_only(turn.agent.clone());
    }
    Ok(Some(Ready { call, path, conversation, who, serving, broken }))
}

impl Ready<'_> {
    fn ask(self) -> Result<(), Failure> {
        let Ready { call, path, mut conversation, who, serving, broken } = self;
        let name = path.to_string_lossy().into_owned();
        let source = conversation.document().source().to_vec();
        let told = Told { name, source };
        let done = ask(&who, call.manner, serving.as_ref(), &mut conversation, &told);
        if conversation.answer_place() == Some(&AnswerPlace::Journal) {
            ui::remark(&journal::kept_answer(path));
        }
        done.map_err(|failure| {
            let again = format!("analects chat {} asks it again", shell::path(path));
            let failure = local::explain(failure.ask_again_with(again), serving.as_ref());
            let document = conversation.document();
            // Nothing can be hidden in a file that nobody can write to.
            if document.is_utf8() {
                if_it_broke_off(failure, path, document, broken.as_deref())
            } else {
                failure
            }
        })
    }
}

/// Makes a plain file one for messages, unless what is wanted cannot be done in it anyway.
fn make_message_file(call: Call<'_>, path: &Path, said: &Said) -> Result<(), Failure> {
    let Call { surroundings, config, wanted, choosing, .. } = call;
    let name = path.to_string_lossy();
    let document = match read_message_file(path) {
        Err(error) if error.is_not_found() => msgfile::decode_named(*b"", &name),
        read => read?,
    };
    if document.kind() != Kind::Plain {
        return Ok(());
    }
    if said.prompt.is_none() {
        return Err(nothing_to_ask(path, &document));
    }
    let source = choosing::with_section(&document, path)?.apply(document.source());
    let after = msgfile::decode_named(source, &name);
    choosing.settle(path, &after)?;
    said.check(path)?;
    // Where nobody is named, the prompt is kept in the file though nobody can be asked.
    if wanted.model.is_some() || wanted.agent.is_some() {
        Who::of_file(&after, wanted, &surroundings.models, config)?;
    }
    choosing::make_message_file(path, surroundings)
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
pub fn not_there(path: &Path) -> Failure {
    let (file, name) = (shell::path(path), path.with_extension("msg.md"));
    let hint = format!(
        "analects new {file} makes it, with a section for messages; or name it {}, which chat makes",
        name.display()
    );
    Failure::not_found(format!("{}: not found", path.display())).or_hint(hint)
}

/// Writes the agent into the file if it does not know it yet, and gives it the settings of this call.
fn introduce(
    mut conversation: FileConversation,
    who: &mut Who,
    call: Call<'_>,
) -> Result<FileConversation, Failure> {
    let agents = conversation.document().agents();
    let is_known = agents.iter().any(|agent| agent.name == who.agent.name);
    if !who.is_configured && !is_known {
        call.choosing.tune(&mut who.agent);
    }
    if who.is_recording() {
        conversation.set_author(&who.agent.name);
    } else {
        conversation.set_agent(&who.agent)?;
    }
    call.choosing.tune(&mut who.agent);
    Ok(conversation)
}

/// Keeps what the person said though nobody is there to answer it. Where they named somebody who cannot be
/// asked, the call is at fault, and they will make it again.
fn keep_prompt(
    failure: Failure,
    conversation: &mut FileConversation,
    path: &Path,
    wanted: Wanted<'_>,
    said: Said,
) -> Result<Failure, Failure> {
    let Some(prompt) = said.prompt.filter(|_| wanted.model.is_none() && wanted.agent.is_none())
    else {
        return Ok(failure);
    };
    conversation.say(&prompt, Timestamp::now())?;
    said.arrived.add_prompt();
    let (path, file) = (path.display(), shell::path(path));
    let kept = format!("{PROMPT_IS_KEPT}{path}: analects chat {file} -m MODEL asks it");
    Ok(failure.and_hint(&kept))
}

/// Says that a prompt that is in the file need not be given again: it would be said twice. Where the journal has its
/// answer, it need not even be asked.
pub fn still_waits(
    failure: Failure,
    path: &Path,
    prompt: Option<&str>,
    places: &Places,
) -> Failure {
    let (Some(prompt), Ok(document)) = (prompt, read_message_file(path)) else { return failure };
    let waits = document.unanswered().last().is_some_and(|cell| cell.content() == prompt);
    let is_told = failure.hint.as_ref().is_some_and(|hint| hint.contains("analects chat "));
    if !waits || is_told || journal::has_answer(path, &document, places) {
        return failure;
    }
    failure.and_hint(&format!("your prompt is kept: analects chat {} asks it", shell::path(path)))
}

/// What is answered next. If the person says who answers, that is all that waits, and so it is if they ask
/// something else.
pub fn next_turn(
    document: &Document,
    choice: &Choice,
    wanted: Wanted<'_>,
    prompt: Option<&str>,
) -> Turn {
    let is_said = prompt.is_some() || wanted.model.is_some() || wanted.agent.is_some();
    if is_said { Turn::default() } else { Turn::next(document, choice) }
}

pub fn nothing_to_ask(path: &Path, document: &Document) -> Failure {
    if let Some(cell) = document.unseen_question() {
        let (name, history) = (cell.name(), cell.attribute("history").unwrap_or_default());
        let message = format!(
            "nothing to ask: cell {name} has history={history:?}, so the model does not see what it says"
        );
        return Failure::usage(message, "take that out of the cell, or add a prompt");
    }
    if let Some(cell) = broken_answer(document) {
        let message = format!("nothing to ask: cell {} is an answer that broke off", cell.name());
        return Failure::usage(message, format!("add a prompt, or {}", to_ask_again(path, cell)));
    }
    let message = "nothing to ask: there is no prompt, and no cell waits for an answer";
    let file = shell::path(path);
    let usual = || format!("add a prompt, such as analects chat {file} \"Hello\"");
    Failure::usage(message, misplaced_question(document).map_or_else(usual, str::to_string))
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
