//! A call that is not made: the request as it would go out. Nothing is sent, and nothing is written.

use std::path::Path;

use analects_client::Client;
use analects_context::{Calibration, Fate, Precision};
use analects_core::{Chain, Message, chain};
use analects_formats::msgfile::{self, Document, NewCell};
use analects_runtime::{Conversation, StoredConversation, file_messages};
use analects_store::read_message_file;

use super::who::{Wanted, Who};
use super::{Call, check_asks, next_turn, nothing_to_ask, nothing_to_ask_in_session};
use crate::commands::cells;
use crate::failure::Failure;
use crate::{outgoing, ui};

/// Prints what would be sent of a file.
pub fn of_file(call: Call<'_>, path: &Path, prompt: Option<&str>) -> Result<(), Failure> {
    let Call { surroundings, config, wanted, choosing, .. } = call;
    let document = match read_message_file(path) {
        Err(error) if error.is_not_found() => msgfile::decode_named(*b"", &path.to_string_lossy()),
        read => read?,
    };
    if prompt.is_none() && document.unanswered().is_empty() {
        return Err(nothing_to_ask(path, &document));
    }
    let mut choice = choosing.settle(path, &document)?;
    let turn = next_turn(&document, &choice, wanted, prompt);
    let wanted = Wanted { agent: wanted.agent.or(turn.agent.as_deref()), ..wanted };
    let who = Who::of_file(&document, wanted, &surroundings.models, config)?;
    let document = match prompt {
        Some(prompt) => said(&document, prompt),
        None => document,
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
    let decoded = file_messages(&document.with_source(chosen), path);
    print(call, who, &chain(&decoded.messages), &Calibration::default())
}

fn said(document: &Document, prompt: &str) -> Document {
    let cell = NewCell::message(document.next_id(), prompt);
    document.with_source(msgfile::append(document, &cell).apply(document.source()))
}

/// Prints what would be sent of a session.
pub fn of_session(
    call: Call<'_>,
    conversation: &StoredConversation,
    prompt: Option<&str>,
) -> Result<(), Failure> {
    let Call { surroundings, config, wanted, .. } = call;
    let who = Who::of_store(conversation, wanted, &surroundings.models, config)?;
    if prompt.is_none() && !conversation.is_unanswered() {
        return Err(nothing_to_ask_in_session());
    }
    let prompt = prompt.map(|prompt| Message::user("", prompt));
    let decoded = conversation.messages();
    let mut chain = conversation.chain(&decoded);
    chain.messages.extend(&prompt);
    print(call, who, &chain, &conversation.notes().calibration)
}

fn print(
    call: Call<'_>,
    mut who: Who,
    chain: &Chain<'_>,
    calibration: &Calibration,
) -> Result<(), Failure> {
    call.choosing.tune(&mut who.agent);
    let client = Client::default();
    let plan =
        call.manner.asked(&client, &who, None).plan(chain, calibration, Precision::default());
    let request =
        plan.ready().map_err(|why| Failure::input(why.to_string()).or_hint(why.hint()))?;
    for id in &plan.needs_summary {
        ui::remark(&format!("warning: chat would ask for a summary of {} first", &**id));
    }
    if plan.rows.iter().any(|row| row.fate == Fate::Dropped) && call.manner.threshold.is_some() {
        ui::remark("warning: not everything fits; chat would summarise the conversation first");
    }
    outgoing::print(&who.model, request)
}
