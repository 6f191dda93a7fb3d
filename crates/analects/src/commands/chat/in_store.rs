//! `chat` without a file: a turn in a session of the store.

use analects_core::Agent;
use analects_runtime::{Branches, StoredConversation};
use analects_store::ChainName;

use super::asking::{Told, ask};
use super::broken::{broken_message, or_ask_again, to_ask_again_in_session};
use super::choosing::Choosing;
use super::{Call, Manner, Said, Wanted, Who, dry_run};
use crate::config::Config;
use crate::failure::Failure;
use crate::local;
use crate::sessions::Sessions;
use crate::surroundings::Surroundings;
use crate::{shell, ui};

pub fn chat_in_store(call: Call<'_>, continue_last: bool, said: Said) -> Result<(), Failure> {
    let surroundings = call.surroundings;
    let sessions = Sessions::of(surroundings);
    let conversation = match continue_last {
        true => open(&sessions, sessions.find(None)?)?,
        false => StoredConversation::start(
            sessions.store.clone(),
            sessions.new_name(),
            &surroundings.folder,
        ),
    };
    if call.choosing.dry_run {
        return dry_run::of_session(call, &conversation, &said);
    }
    go_on_with(call, conversation, said)
}

/// Opens a session to go on with it.
pub fn open(sessions: &Sessions, name: ChainName) -> Result<StoredConversation, Failure> {
    Ok(StoredConversation::open(sessions.store.clone(), name)?)
}

/// Says something in a session, and asks.
pub fn go_on(
    surroundings: &Surroundings,
    config: &Config,
    manner: &Manner,
    conversation: StoredConversation,
    wanted: Wanted<'_>,
    said: Said,
) -> Result<(), Failure> {
    let call = Call { surroundings, config, wanted, choosing: &Choosing::default(), manner };
    go_on_with(call, conversation, said)
}

pub fn go_on_with(
    call: Call<'_>,
    mut conversation: StoredConversation,
    said: Said,
) -> Result<(), Failure> {
    let Call { surroundings, config, wanted, choosing, manner } = call;
    let mut who = Who::of_store(&conversation, wanted, &surroundings.models, config)?;
    if said.prompt.is_none() && !conversation.is_unanswered() {
        return Err(nothing_to_ask_in_session(&conversation));
    }
    let known = broken_message(&conversation);
    let serving = local::ready(&mut who.model, wanted.model, surroundings)?;
    choosing.tune(&mut who.agent);
    let models = if who.is_recording() { Vec::new() } else { vec![who.asked_as.clone()] };
    conversation.set_agent(&Agent { models, ..who.agent.clone() });
    conversation.set_configured(who.is_configured);
    if said.prompt.is_none() {
        conversation.ask_again()?;
    }
    said.into(&mut conversation, &manner.grants)?;
    let name = conversation.name().session.to_string();
    let told = Told { name: name.clone(), source: Vec::new() };
    let done = ask(&who, manner, serving.as_ref(), &mut conversation, &told);
    let told_of_branches = tell_of_branches(&conversation);
    done.map_err(|failure| {
        let again = format!("analects session resume {name}, then /retry, asks it again");
        let failure = local::explain(failure.ask_again_with(again), serving.as_ref());
        match broken_message(&conversation).filter(|broken| Some(broken) != known.as_ref()) {
            Some(broken) => or_ask_again(failure, &to_ask_again_in_session(&name, &broken)),
            None => failure,
        }
    })?;
    told_of_branches
}

/// Says so if another process went on with the session from the same message, and how to choose between the branches.
fn tell_of_branches(conversation: &StoredConversation) -> Result<(), Failure> {
    let Some(Branches { count, own, other }) = conversation.branches()? else { return Ok(()) };
    let session = &*conversation.name().session;
    ui::remark(&format!(
        "another process continued this session from the same message, so it has {count} branches now; the next \
         message follows the branch that was written to last"
    ));
    let other = shell::word(&other);
    let yours = own.map(|own| {
        format!("analects rewind {session} {} continues yours, and ", shell::word(&own))
    });
    let yours = yours.unwrap_or_default();
    ui::remark(&format!(
        "hint: {yours}analects rewind {session} {other} continues the other one; analects session tail {session} marks \
         messages on another branch"
    ));
    Ok(())
}

pub fn nothing_to_ask_in_session(conversation: &StoredConversation) -> Failure {
    if let Some(broken) = broken_message(conversation) {
        let message = format!("nothing to ask: the last answer, {}, broke off", &*broken);
        let again = to_ask_again_in_session(&conversation.name().session, &broken);
        return Failure::usage(message, format!("add a prompt, or {again}"));
    }
    let message = "nothing to ask: there is no prompt, and what was asked last has its answer";
    Failure::usage(message, "add a prompt, such as analects chat -c \"Go on\"")
}
