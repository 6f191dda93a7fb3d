//! A call that is not made: the request as it would go out. Nothing is sent, and nothing is written.

use std::path::Path;

use analects_client::Client;
use analects_context::{Calibration, FileFreshness, Precision};
use analects_core::{Chain, Message, MessageId, Problem, chain};
use analects_formats::msgfile::{self, CellsHash, Document, Kind, KnownMessages, NewCell};
use analects_runtime::{Conversation, StoredConversation, attached, due_reminders, file_messages};
use analects_store::{FileGrants, Journal, OsIds, StoreError, read_message_file};
use jiff::Timestamp;

use super::asking::{Told, report_problems};
use super::choosing::{self, check_asks};
use super::in_file::{next_turn, not_opened, nothing_to_ask};
use super::in_store::nothing_to_ask_in_session;
use super::who::{Wanted, Who};
use super::{Call, Said, allowed_pictures, folder_of};
use crate::commands::cells;
use crate::failure::Failure;
use crate::surroundings::Surroundings;
use crate::{journal, outgoing, ui};

/// Prints what would be sent of a file.
pub fn of_file(call: Call<'_>, path: &Path, said: &Said) -> Result<(), Failure> {
    let Call { surroundings, config, wanted, choosing, .. } = call;
    let prompt = said.prompt.as_deref();
    let document = as_message_file(call, path, prompt)?;
    if prompt.is_none() && document.unanswered().is_empty() {
        return Err(nothing_to_ask(path, &document));
    }
    journal::remark(path, &document, &surroundings.places);
    let mut choice = choosing.settle(path, &document)?;
    let turn = next_turn(&document, &choice, wanted, prompt);
    let wanted = Wanted { agent: wanted.agent.or(turn.agent.as_deref()), ..wanted };
    let who = Who::of_file(&document, wanted, &surroundings.models, config)?;
    let journal = Journal::of(&surroundings.places);
    let mut known = KnownBefore { journal: &journal, new: Vec::new() };
    let document = with_said(document, path, said, &mut known)?;
    let mut allowed = allowed_pictures(path, choosing.pictures, config, surroundings);
    allowed.add(&said.pictures);
    let odd = Odd {
        problems: file_messages(&document, path, &allowed, &known).problems,
        told: Told {
            name: path.to_string_lossy().into_owned(),
            source: document.source().to_vec(),
        },
    };
    check_asks(&choice, &document)?;
    let mut course = call.course();
    course.take(&turn);
    if let Some(words) = course.in_words(&turn, &who.agent.name) {
        ui::remark(&words);
    }
    choice.exclude.extend(turn.left);
    let chosen = choice.changes(&document);
    let chosen = chosen.and_then(|changes| msgfile::set_attributes(&document, &changes));
    let chosen = chosen.map_err(|error| cells::explain(path, &error))?;
    let document = with_reminders(document.with_source(chosen), path, surroundings, &known)?;
    let decoded = file_messages(&document, path, &allowed, &known);
    let session = msgfile::session_of(&path.to_string_lossy());
    let name = |id: &MessageId| match msgfile::cell_of(&document, &session, id) {
        Some(cell) => format!("cell {cell}"),
        None => id.to_string(),
    };
    print(call, who, &chain(&decoded.messages), &Calibration::default(), odd, &name)
}

/// What a file holds, or would hold once it was made a message file.
fn as_message_file(call: Call<'_>, path: &Path, prompt: Option<&str>) -> Result<Document, Failure> {
    let document = match read_message_file(path) {
        Err(error) if error.is_not_found() => msgfile::decode_named(*b"", &path.to_string_lossy()),
        read => read?,
    };
    match (document.kind(), call.choosing.force && prompt.is_some()) {
        (Kind::Plain, true) => {
            let splice = choosing::with_section(&document, path)?;
            let source = splice.apply(document.source());
            Ok(msgfile::decode_named(source, &path.to_string_lossy()))
        }
        (Kind::Plain, false) => {
            Err(not_opened(StoreError::NotAMessageFile { path: path.to_path_buf() }))
        }
        _ => Ok(document),
    }
}

/// What the journal knows, and what it would know after this call.
struct KnownBefore<'j> {
    journal: &'j Journal,
    new: Vec<(CellsHash, Message)>,
}

impl KnownMessages for KnownBefore<'_> {
    fn get(&self, cells: CellsHash) -> Option<Message> {
        let new = self.new.iter().find(|(known, _)| *known == cells);
        new.map(|(_, message)| message.clone()).or_else(|| self.journal.get(cells))
    }
}

/// The same with what the person shows and says.
fn with_said(
    mut document: Document,
    path: &Path,
    said: &Said,
    known: &mut KnownBefore<'_>,
) -> Result<Document, Failure> {
    let mut shown = Vec::new();
    for file in &said.files {
        shown.push(attached(&folder_of(path), file)?);
    }
    (document, known.new) = added(document, path, &shown)?;
    let Some(prompt) = &said.prompt else { return Ok(document) };
    let cell = NewCell::message(document.next_id(), prompt);
    let source = msgfile::append(&document, &cell).apply(document.source());
    Ok(document.with_source(source))
}

/// A file with the reminders of files that changed, which are told as well.
pub fn with_reminders(
    document: Document,
    path: &Path,
    surroundings: &Surroundings,
    known: &dyn KnownMessages,
) -> Result<Document, Failure> {
    if !document.mentions("[attachment]") {
        return Ok(document);
    }
    let session = msgfile::session_of(&path.to_string_lossy());
    let decoded = msgfile::messages_knowing(&document, &session, known);
    let mut files = FileFreshness::recorded(chain(&decoded.messages).messages);
    let grants = FileGrants::of(&surroundings.places);
    let (made, texts) = due_reminders(&mut files, Some(&grants), Timestamp::now());
    for text in texts {
        ui::remark(&format!("the model would be told: {text}"));
    }
    Ok(added(document, path, &made)?.0)
}

/// A file with more messages, and those whose cells do not say everything.
fn added(
    document: Document,
    path: &Path,
    messages: &[Message],
) -> Result<(Document, Vec<(CellsHash, Message)>), Failure> {
    if messages.is_empty() {
        return Ok((document, Vec::new()));
    }
    let session = msgfile::session_of(&path.to_string_lossy());
    let made = msgfile::put_messages(&document, &session, messages, &mut OsIds);
    let made = made.map_err(|error| cells::explain(path, &error))?;
    let source = made.splice.apply(document.source());
    Ok((document.with_source(source), made.kept))
}

/// Prints what would be sent of a session.
pub fn of_session(
    call: Call<'_>,
    conversation: &StoredConversation,
    said: &Said,
) -> Result<(), Failure> {
    let Call { surroundings, config, wanted, .. } = call;
    let who = Who::of_store(conversation, wanted, &surroundings.models, config)?;
    if said.prompt.is_none() && !conversation.is_unanswered() {
        return Err(nothing_to_ask_in_session(conversation));
    }
    let folder = conversation.folder();
    let mut new = Vec::new();
    for file in &said.files {
        new.push(attached(&folder, file)?);
    }
    new.extend(said.prompt.as_ref().map(|prompt| Message::user("", prompt.as_str())));
    let mut files = conversation.notes().files;
    // What is shown now is as it is.
    let shown_now = FileFreshness::recorded(&new);
    files.retain(|path| shown_now.facts(path).is_none());
    let (made, texts) = due_reminders(&mut files, Some(&call.manner.grants), Timestamp::now());
    for text in texts {
        ui::remark(&format!("the model would be told: {text}"));
    }
    new.extend(made);
    let decoded = conversation.messages();
    let told = Told { name: conversation.name().session.to_string(), source: Vec::new() };
    let odd = Odd { problems: decoded.problems.clone(), told };
    let mut chain = conversation.chain(&decoded);
    chain.messages.extend(&new);
    let name = |id: &MessageId| id.to_string();
    print(call, who, &chain, &conversation.notes().calibration, odd, &name)
}

/// What is odd about a conversation, and where that stands.
struct Odd {
    problems: Vec<Problem>,
    told: Told,
}

fn print(
    call: Call<'_>,
    mut who: Who,
    chain: &Chain<'_>,
    calibration: &Calibration,
    mut odd: Odd,
    name: &dyn Fn(&MessageId) -> String,
) -> Result<(), Failure> {
    call.choosing.tune(&mut who.agent);
    let client = Client::default();
    let asked = call.manner.asked(&client, &who, None);
    let plan = asked.plan(chain, calibration, Precision::default());
    let request =
        plan.ready().map_err(|why| Failure::input(why.to_string()).or_hint(why.hint()))?;
    odd.problems.extend(chain.problems.iter().chain(&plan.notes).cloned());
    report_problems(odd.problems, &odd.told);
    for id in &plan.needs_summary {
        ui::remark(&format!("warning: chat would ask for a summary of {} first", name(id)));
    }
    // Of what is chosen for one call no summary is made.
    let is_for_once = !call.choosing.choice().is_empty() && !call.choosing.save;
    if !is_for_once && asked.would_compact(&plan, chain, calibration) {
        let why = if plan.drops() { "not everything fits" } else { "the context is nearly full" };
        ui::remark(&format!("warning: {why}; chat would summarise the conversation first"));
    }
    outgoing::print(&who.model, request)
}
