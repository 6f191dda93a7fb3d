//! `chat` without a file: a turn in a session of the store.

use analects_runtime::{
    Branches, ChosenMessages, Conversation, PrepareError, StoredConversation, broken_answer,
    prepare,
};
use analects_store::ChainName;

use super::asking::{ProblemSource, ask, if_it_broke_off};
use super::call::{Call, Said};
use super::dry_run;
use crate::failure::Failure;
use crate::hints::{Advice, BrokenAnswer, ConversationName};
use crate::local;
use crate::sessions::Sessions;
use crate::{shell, ui};

pub fn chat_in_store(call: Call<'_>, continue_last: bool, said: &mut Said) -> Result<(), Failure> {
    let sessions = Sessions::of(call.surroundings);
    let conversation = if continue_last {
        open(&sessions, sessions.find(None)?)?
    } else {
        let name = sessions.new_name();
        StoredConversation::start(sessions.store.clone(), name, &call.surroundings.folder)
    };
    if call.args.dry_run {
        return dry_run::of_session(call, conversation, said);
    }
    go_on(call, conversation, said)
}

/// Opens a session to go on with it.
pub fn open(sessions: &Sessions, name: ChainName) -> Result<StoredConversation, Failure> {
    Ok(StoredConversation::open(sessions.store.clone(), name)?)
}

/// Says something in a session, and asks.
pub fn go_on(
    call: Call<'_>,
    mut conversation: StoredConversation,
    said: &mut Said,
) -> Result<(), Failure> {
    let prepared = prepare(
        &mut conversation,
        &call.options(said, ChosenMessages::default()),
    );
    let mut prepared = match prepared {
        Ok(prepared) => prepared,
        Err(error) => return Err(nobody_answers(error, call, &conversation)),
    };
    let serving = call.make_ready(&mut prepared)?;
    let written = prepared.write();
    said.written = prepared.write_progress();
    written?;
    let name = prepared.conversation().name().session.to_string();
    let source = ProblemSource {
        name: name.clone(),
        text: Vec::new(),
        interface: call.interface,
    };
    let done = ask(&mut prepared, !call.args.no_stream, &source);
    let told_of_branches = tell_of_branches(prepared.conversation());
    done.map_err(|failure| {
        let failure = failure.ask_again_in(ConversationName::Session(name.clone()));
        let failure = local::explain(failure, serving.as_deref());
        if_it_broke_off(failure, &prepared, |_, broken| {
            Some(broken_in(&name, broken))
        })
    })?;
    told_of_branches
}

/// Says so if another process went on with the session from the same message, and how to choose between the branches.
fn tell_of_branches(conversation: &StoredConversation) -> Result<(), Failure> {
    let Some(Branches { count, own, other }) = conversation.branches()? else {
        return Ok(());
    };
    let session = &*conversation.name().session;
    ui::remark(&format!(
        "another process continued this session from the same message, so it has {count} branches now; the next \
         message follows the branch that was written to last"
    ));
    let other = shell::word(&other);
    let yours = own.map(|own| {
        format!(
            "analects rewind {session} {} continues yours, and ",
            shell::word(&own)
        )
    });
    let yours = yours.unwrap_or_default();
    ui::remark(&format!(
        "hint: {yours}analects rewind {session} {other} continues the other one; analects session tail {session} marks \
         messages on another branch"
    ));
    Ok(())
}

/// Says why nobody answers in a session.
pub fn nobody_answers(
    error: PrepareError,
    call: Call<'_>,
    conversation: &StoredConversation,
) -> Failure {
    let is_idle = matches!(error, PrepareError::NothingToAsk);
    let broken = broken_answer(&conversation.snapshot()).filter(|_| is_idle);
    let Some(broken) = broken else {
        return call.explain(error);
    };
    let message = format!("nothing to ask: the last answer, {}, broke off", &*broken);
    let broken = broken_in(&conversation.name().session, &broken);
    Failure::usage(message, Advice::PromptOrHideBroken(broken))
}

/// An answer of a session that broke off.
fn broken_in(session: &str, message: &str) -> BrokenAnswer {
    BrokenAnswer {
        conversation: ConversationName::Session(session.to_string()),
        name: message.to_string(),
    }
}
