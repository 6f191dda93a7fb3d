//! A turn as you see it: the answer as it arrives, then warnings, or why there is no answer.

use analects_core::{CompactTrigger, Content, Delta, Problem, Severity, StreamEvent};
use analects_runtime::{
    CompactionError, CompactionReport, Conversation, FileConversation, Outcome, Prepared, TurnEnd,
    TurnEvent, broken_answer, dollars, size_in_words,
};

use super::call::AnswerArgs;
use crate::connection::stop_reason_warning;
use crate::failure::Failure;
use crate::hints::{Advice, Interface, PartialAnswer};
use crate::usage::UsageMeter;
use crate::{interrupt, shell, ui};

/// What problems of a conversation refer to: its name, and its text before the answer, because the
/// answer may move lines.
pub struct ProblemSource {
    pub name: String,
    pub text: Vec<u8>,
    /// Decides whether hints name options or slash commands.
    pub interface: Interface,
}

/// Asks the model, prints the answer, and reports problems.
pub fn ask<C: Conversation>(
    prepared: &mut Prepared<C>,
    args: &AnswerArgs,
    source: &ProblemSource,
) -> Result<(), Failure> {
    let streams = !args.no_stream;
    ui::status::wait_for("the answer");
    let mut answer = ui::AnswerPrinter::new();
    let mut usage = UsageMeter::new();
    interrupt::begin_answer();
    let mut events = |event: TurnEvent| {
        usage.observe(&event);
        match event {
            TurnEvent::Stream(_) if !streams => {}
            TurnEvent::Answer(complete) if !streams => answer.print(&complete.text()),
            event => show(event, &mut answer, source),
        }
    };
    let outcome = prepared.ask_blocking(&mut events, interrupt::wait_for_first());
    // End the line of a partial answer before an error is printed.
    answer.end();
    if args.usage {
        usage.print();
    }
    conclude(outcome?, source)?;
    answer.result()
}

/// Prints an event of the turn.
fn show(event: TurnEvent, answer: &mut ui::AnswerPrinter, source: &ProblemSource) {
    match event {
        TurnEvent::Stream(StreamEvent::BlockDelta {
            delta: Delta::Text(text),
            ..
        }) => {
            answer.print(&text.as_str());
        }
        TurnEvent::Stream(StreamEvent::BlockDelta {
            delta: Delta::Thinking(text),
            ..
        }) => {
            answer.think(&text.as_str());
        }
        TurnEvent::Stream(_) | TurnEvent::Answer(_) => {}
        TurnEvent::RunningTools => answer.end(),
        TurnEvent::AskingAgain => {
            answer.end();
            ui::status::wait_for("the answer");
        }
        TurnEvent::Reminded(text) => ui::remark(&format!("the model is told: {text}")),
        TurnEvent::Summarising(name) => ui::remark(&format!("asking for a summary of {name} …")),
        TurnEvent::Compacting(CompactTrigger::Reactive) => {
            ui::remark("the conversation is too long for the model; summarising …");
        }
        TurnEvent::Compacting(_) => {
            ui::remark("the context is nearly full; summarising the conversation …");
        }
        TurnEvent::Compacted(compacted) => {
            ui::remark(&in_words(&compacted, &source.name, source.interface));
        }
        TurnEvent::NotCompacted(why) => {
            ui::remark(&format!(
                "warning: the conversation could not be summarised: {why}"
            ));
        }
    }
}

/// What a compaction of the conversation `name` did, as one line of text.
pub fn in_words(compacted: &CompactionReport, name: &str, interface: Interface) -> String {
    let CompactionReport {
        messages,
        before,
        after,
        is_fallback,
        earlier_bytes: earlier,
        files,
    } = compacted;
    let makeshift = if *is_fallback {
        ", made without a model because none was available"
    } else {
        ""
    };
    let messages = match messages {
        1 => "1 message".to_string(),
        messages => format!("{messages} messages"),
    };
    let earlier = match earlier {
        0 => String::new(),
        bytes => format!("; the first {} are not in it", size_in_words(*bytes)),
    };
    let files = match files.as_slice() {
        [] => String::new(),
        [file] => format!("; 1 file was read again: {file}"),
        files => format!(
            "; {} files were read again: {}",
            files.len(),
            files.join(", ")
        ),
    };
    let name = shell::target(name);
    interface.words(format!(
        "a summary replaces {messages}{makeshift}: about {before} tokens before, {after} after{earlier}{files}; \
         nothing is deleted; to undo this: analects compact {name} --undo"
    ))
}

/// Reports errors and warnings of a conversation that is sent.
pub fn report_problems(mut problems: Vec<Problem>, source: &ProblemSource) {
    // `show` prints hints; the failure already says that an answer broke off.
    problems.retain(|problem| {
        problem.severity > Severity::Hint && problem.code != "interrupted-answer"
    });
    ui::report_problems_in(source.interface, &source.name, &source.text, &problems);
}

/// Reports what happened to the answer, and turns an incomplete one into a failure.
fn conclude(outcome: Outcome, source: &ProblemSource) -> Result<(), Failure> {
    report_problems(outcome.problems, source);
    let content = outcome
        .answer
        .as_ref()
        .and_then(|answer| answer.body.content());
    match outcome.end {
        TurnEnd::Done | TurnEnd::ToolsNotRun => {
            if let Some(text) = outcome.answer.as_ref().and_then(stop_reason_warning) {
                ui::remark(&format!("warning: {text}"));
            }
            Ok(())
        }
        TurnEnd::Stopped if content.is_none_or(Content::is_empty) => {
            Err(Failure::interrupted_before_answer())
        }
        TurnEnd::Stopped => Err(Failure::interrupted()),
        TurnEnd::Failed(error) => Err((*error).into()),
        end => Err(explain_not_sent(end)),
    }
}

/// The failure for a question that was not sent.
fn explain_not_sent(end: TurnEnd) -> Failure {
    let (why, hint): (String, Advice) = match end {
        TurnEnd::TooLarge(too_large) => (too_large.to_string(), too_large.hint().into()),
        TurnEnd::ChoiceRemoved => (
            "a chosen cell was changed or removed before it was sent".to_string(),
            "choose the cells again, as they are now".into(),
        ),
        TurnEnd::NoSummary { name, why } => (
            no_summary(&name, why.as_deref()),
            "write one as summary=\"…\" on the cell, or set its history to include or none".into(),
        ),
        TurnEnd::TooManyQuestions(asked) => (
            format!("the model was asked {asked} times, which is the limit, and has not finished"),
            Advice::by_interface(
                "raise --max-turns, and continue the conversation",
                "start the session again with a higher --max-turns",
            ),
        ),
        TurnEnd::TooCostly { spent, next, limit } => (
            format!(
                "the next answer costs at least {}, and {} of {} are spent already",
                dollars(next),
                dollars(spent),
                dollars(limit)
            ),
            Advice::RaiseCostLimit,
        ),
        TurnEnd::PriceUnknown => (
            "there is a cost limit, and the price of this model is unknown".to_string(),
            Advice::by_interface(
                "leave out --max-cost, or ask a model with a known price: analects model info NAME",
                "start the session again without --max-cost, or ask a model with a known price: /model NAME",
            ),
        ),
        TurnEnd::CallsRepeated => (
            "the model made the same calls three times and got the same results".to_string(),
            "tell it what to do instead".into(),
        ),
        TurnEnd::QuestionRemoved
        | TurnEnd::Done
        | TurnEnd::ToolsNotRun
        | TurnEnd::Stopped
        | TurnEnd::Failed(_) => (
            "the question was removed before it was asked".to_string(),
            "to ask it, write it again".into(),
        ),
    };
    Failure::model(format!("not sent: {why}")).or_hint(hint)
}

/// Why there is no summary of a cell with `history=summary`.
fn no_summary(name: &str, why: Option<&CompactionError>) -> String {
    let why = why.map(|why| format!(": {why}")).unwrap_or_default();
    format!("only a summary of {name} may be sent, and none could be made{why}")
}

/// The cell of the last answer, if that broke off.
pub fn broken_cell(conversation: &FileConversation) -> Option<String> {
    conversation.cell_of(&broken_answer(&conversation.snapshot())?)
}

/// Adds how to ask again if this turn left a partial answer. After Ctrl-C, there is no hint: you
/// know why the answer ended.
pub fn hint_if_broken_off<C: Conversation>(
    failure: Failure,
    prepared: &Prepared<C>,
    find: impl Fn(&C, &str) -> Option<PartialAnswer>,
) -> Failure {
    if failure.is_interrupted() {
        return failure;
    }
    match prepared
        .broken()
        .and_then(|broken| find(prepared.conversation(), &broken))
    {
        Some(broken) => failure.and_hint(Advice::HidePartialAnswer(broken)),
        None => failure,
    }
}
