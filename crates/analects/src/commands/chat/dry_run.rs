//! A call that is not made: the request as it would go out. It is prepared on a rehearsal of the conversation, so
//! nothing is sent, and nothing is written.

use std::path::Path;

use analects_context::Precision;
use analects_formats::msgfile::DocumentKind;
use analects_runtime::{
    ChosenMessages, Conversation, FileConversation, PrepareError, Prepared, StoredConversation,
    prepare,
};

use super::asking::{ProblemSource, report_problems};
use super::call::{Call, Said, tell_notes};
use super::in_file::{not_opened, nothing_to_ask};
use super::in_store;
use crate::commands::verbs;
use crate::failure::Failure;
use crate::{outgoing, pictures, ui, writing};

/// Prints what would be sent of a file.
pub fn of_file(call: Call<'_>, path: &Path, said: &Said) -> Result<(), Failure> {
    let mut conversation = rehearse(call, path, said)?;
    writing::remark_journal(path, conversation.document(), &call.surroundings.places);
    let is_wanted = call.args.pictures;
    let mut allowed = pictures::allowed(path, is_wanted, call.config, call.surroundings);
    allowed.add(&said.pictures);
    conversation.allow_pictures(allowed);
    let chosen = call.args.choose(path, &conversation)?;
    verbs::remark_chosen(path, conversation.document(), call.args);
    let options = call.options(said, chosen);
    let mut prepared = match call.queue().prepare(&mut conversation, &options) {
        Ok(Some(prepared)) => prepared,
        Ok(None) | Err(PrepareError::NothingToAsk) => {
            return Err(nothing_to_ask(path, &conversation));
        }
        Err(error) => return Err(call.explain(error)),
    };
    prepared.write()?;
    call.tell_of_queue(&prepared);
    let text = prepared.conversation().document().source().to_vec();
    let name = path.to_string_lossy().into_owned();
    let source = ProblemSource {
        name,
        text,
        interface: call.interface,
    };
    print(&mut prepared, &source)
}

/// A file as it is, or would be once it was made a message file.
fn rehearse(call: Call<'_>, path: &Path, said: &Said) -> Result<FileConversation, Failure> {
    let mut document = writing::read_or_new(path)?;
    if document.kind() == DocumentKind::Plain && call.args.force && said.prompt.is_some() {
        document = writing::with_section(&document, path)?;
    }
    let places = &call.surroundings.places;
    FileConversation::dry_run_document(path, document, places).map_err(not_opened)
}

/// Prints what would be sent of a session.
pub fn of_session(
    call: Call<'_>,
    conversation: StoredConversation,
    said: &Said,
) -> Result<(), Failure> {
    let mut conversation = conversation.into_dry_run();
    let options = call.options(said, ChosenMessages::default());
    let mut prepared = match prepare(&mut conversation, &options) {
        Ok(prepared) => prepared,
        Err(error) => return Err(in_store::nobody_answers(error, call, &conversation)),
    };
    let name = prepared.conversation().name().session.to_string();
    print(
        &mut prepared,
        &ProblemSource {
            name,
            text: Vec::new(),
            interface: call.interface,
        },
    )
}

fn print<C: Conversation>(
    prepared: &mut Prepared<C>,
    source: &ProblemSource,
) -> Result<(), Failure> {
    tell_notes(prepared.notes());
    let planned = prepared.plan(Precision::default())?;
    for text in &planned.reminders {
        ui::remark(&format!("the model would be told: {text}"));
    }
    let plan = &planned.plan;
    let request = plan
        .ready()
        .map_err(|why| Failure::input(why.to_string()).or_hint(why.hint()))?;
    let mut problems = planned.problems;
    problems.extend(plan.notes.iter().cloned());
    report_problems(problems, source);
    for id in &plan.needs_summary {
        let name = prepared.conversation().name_of(id);
        ui::remark(&format!(
            "warning: chat would ask for a summary of {name} first"
        ));
    }
    if planned.would_compact {
        let why = if plan.drops() {
            "not everything fits"
        } else {
            "the context is nearly full"
        };
        ui::remark(&format!(
            "warning: {why}; chat would summarise the conversation first"
        ));
    }
    outgoing::print(&prepared.agent().model, request)
}
