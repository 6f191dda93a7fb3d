//! `chat --dry-run`: prints the request. It works on a rehearsal of the conversation, so nothing is
//! sent or written.

use std::path::Path;

use analects_context::Precision;
use analects_formats::msgfile::DocumentKind;
use analects_runtime::{
    ChosenMessages, Conversation, FileConversation, PrepareError, Prepared, StoredConversation,
    prepare,
};

use super::call::{ChatCall, UserInput, report_notes};
use super::in_file::{explain_open_error, nothing_to_ask};
use super::in_store;
use super::turn::{ProblemSource, report_problems};
use crate::commands::verbs;
use crate::failure::Failure;
use crate::{message_file, pictures, request_preview, ui};

/// Prints the request that `chat FILE` would send.
pub fn of_file(call: ChatCall<'_>, path: &Path, input: &UserInput) -> Result<(), Failure> {
    let mut conversation = rehearse(call, path, input)?;
    message_file::remark_journal(path, conversation.document(), &call.environment.places);
    let is_wanted = call.args.pictures;
    let mut allowed = pictures::allowed(path, is_wanted, call.config, call.environment);
    allowed.add(&input.pictures);
    conversation.allow_pictures(allowed);
    if call.args.with_document {
        conversation.send_document();
    }
    let chosen = call.args.choose(path, &conversation)?;
    verbs::warn_chosen_are_summarised(path, conversation.document(), call.args);
    let options = call.options(input, chosen);
    let mut prepared = match call.queue().prepare(&mut conversation, &options) {
        Ok(Some(prepared)) => prepared,
        Ok(None) | Err(PrepareError::NothingToAsk) => {
            return Err(nothing_to_ask(path, &conversation));
        }
        Err(error) => return Err(call.explain(error)),
    };
    prepared.write()?;
    call.report_queue(&prepared);
    let text = prepared.conversation().document().source().to_vec();
    let name = path.to_string_lossy().into_owned();
    let source = ProblemSource {
        name,
        text,
        interface: call.interface,
    };
    print(&mut prepared, &source)
}

/// The file as it is or, with `--force`, as a message file.
fn rehearse(
    call: ChatCall<'_>,
    path: &Path,
    input: &UserInput,
) -> Result<FileConversation, Failure> {
    let mut document = message_file::read_or_new(path)?;
    if document.kind() == DocumentKind::Plain && call.args.force && input.prompt.is_some() {
        message_file::check_frontmatter(&document, path)?;
        document = message_file::with_section(&document, path)?;
    }
    let places = &call.environment.places;
    FileConversation::dry_run_document(path, document, places).map_err(explain_open_error)
}

/// Prints the request that `chat` without a file would send.
pub fn of_session(
    call: ChatCall<'_>,
    conversation: StoredConversation,
    input: &UserInput,
) -> Result<(), Failure> {
    let mut conversation = conversation.into_dry_run();
    let options = call.options(input, ChosenMessages::default());
    let mut prepared = match prepare(&mut conversation, &options) {
        Ok(prepared) => prepared,
        Err(error) => return Err(in_store::explain_no_answer(error, call, &conversation)),
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

/// Prints the request, and on stderr what `chat` would do first.
fn print<C: Conversation>(
    prepared: &mut Prepared<C>,
    source: &ProblemSource,
) -> Result<(), Failure> {
    report_notes(prepared.notes());
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
    request_preview::print(&prepared.agent().model, request)
}
