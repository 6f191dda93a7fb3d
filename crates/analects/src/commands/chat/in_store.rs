//! `chat` without a file: a turn in a session of the store.

use analects_runtime::{
    Branches, ChosenMessages, Conversation, PrepareError, StoredConversation, broken_answer,
    prepare,
};
use analects_store::ChainName;

use super::call::{ChatCall, UserInput};
use super::dry_run;
use super::turn::{ProblemSource, ask, hint_if_broken_off};
use crate::commands::rewind::back_to;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::hints::{Advice, ConversationName, Interface, PartialAnswer};
use crate::local;
use crate::sessions::Sessions;
use crate::ui;

/// The session of a call: with `-c` the last one of this folder, else a new one. The last one also goes on if this
/// question is all that it holds: the call failed, and you repeat it.
pub fn session_of(
    environment: &Environment,
    continue_last: bool,
    input: &UserInput,
) -> Result<StoredConversation, Failure> {
    let sessions = Sessions::of(environment);
    if continue_last {
        return open(&sessions, sessions.find(None)?);
    }
    if let (Some(prompt), true, Ok(last)) =
        (&input.prompt, input.images.is_empty(), sessions.find(None))
    {
        let last = open(&sessions, last)?;
        if last.holds_only(prompt, input.files.len()) {
            return Ok(last);
        }
    }
    let name = sessions.new_name();
    let store = sessions.store.clone();
    Ok(StoredConversation::start(store, name, &environment.folder))
}

/// Asks in a session, and says that the prompt is kept if there is no answer. With `--dry-run`, prints the request.
pub fn chat_in_session(
    call: ChatCall<'_>,
    conversation: StoredConversation,
    input: &mut UserInput,
) -> Result<(), Failure> {
    if call.args.answer.dry_run {
        return dry_run::of_session(call, conversation, input);
    }
    continue_session(call, conversation, input).map_err(|failure| {
        let is_kept = input.prompt.is_some() && input.written.has_prompt;
        if !is_kept || failure.is_interrupted() || failure.says_how_to_ask() {
            return failure;
        }
        failure.and_hint("your prompt is kept: repeat the command to ask it again")
    })
}

/// Opens a session to continue it.
pub fn open(sessions: &Sessions, name: ChainName) -> Result<StoredConversation, Failure> {
    Ok(StoredConversation::open(sessions.store.clone(), name)?)
}

/// Adds the prompt to a session, and asks the model.
pub fn continue_session(
    call: ChatCall<'_>,
    mut conversation: StoredConversation,
    input: &mut UserInput,
) -> Result<(), Failure> {
    let prepared = prepare(
        &mut conversation,
        &call.options(input, ChosenMessages::default()),
    );
    let mut prepared = match prepared {
        Ok(prepared) => prepared,
        Err(error) => return Err(explain_no_answer(error, call, &conversation)),
    };
    let serving = call.prepare_model(&mut prepared)?;
    let written = prepared.write();
    input.written = prepared.write_progress();
    written?;
    let name = prepared.conversation().name().session.to_string();
    let source = ProblemSource {
        name: name.clone(),
        text: Vec::new(),
        interface: call.interface,
    };
    let done = ask(&mut prepared, &call.args.answer, &source);
    let branches_reported = report_branches(prepared.conversation(), call.interface);
    done.map_err(|failure| {
        let failure = failure.ask_again_in(ConversationName::Session(name.clone()));
        let failure = local::explain_failure(failure, serving.as_deref());
        hint_if_broken_off(failure, &prepared, |_, broken| {
            Some(broken_answer_in(&name, broken))
        })
    })?;
    branches_reported
}

/// Reports if another process has continued the session from the same message, and how to choose a
/// branch.
fn report_branches(conversation: &StoredConversation, interface: Interface) -> Result<(), Failure> {
    let Some(Branches { count, own, other }) = conversation.branches()? else {
        return Ok(());
    };
    let session = &*conversation.name().session;
    ui::remark(&format!(
        "another process continued this session from the same message, so it has {count} branches now; the next \
         message follows the branch that was written to last"
    ));
    let yours = own.map(|own| {
        format!(
            "{} continues yours, and ",
            back_to(session, &own, interface)
        )
    });
    let yours = yours.unwrap_or_default();
    let other = back_to(session, &other, interface);
    ui::remark(&interface.words(format!(
        "hint: {yours}{other} continues the other one; analects session tail {session} marks messages on another branch"
    )));
    Ok(())
}

/// Explains why no model answers in a session.
pub fn explain_no_answer(
    error: PrepareError,
    call: ChatCall<'_>,
    conversation: &StoredConversation,
) -> Failure {
    let is_idle = matches!(error, PrepareError::NothingToAsk);
    let broken = broken_answer(&conversation.snapshot()).filter(|_| is_idle);
    let Some(broken) = broken else {
        return call.explain(error);
    };
    let message = format!("nothing to ask: the last answer, {}, broke off", &*broken);
    let broken = broken_answer_in(&conversation.name().session, &broken);
    Failure::usage(message, Advice::PromptOrHidePartialAnswer(broken))
}

/// Names an answer that broke off, for a hint.
fn broken_answer_in(session: &str, message: &str) -> PartialAnswer {
    PartialAnswer {
        conversation: ConversationName::Session(session.to_string()),
        name: message.to_string(),
    }
}
