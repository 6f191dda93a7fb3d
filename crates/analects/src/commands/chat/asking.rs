//! The turn as a person sees it: the answer while it comes, then what was odd about it.

use analects_client::Client;
use analects_core::{CompactTrigger, Content, Delta, Problem, Severity, StreamEvent};
use analects_local::Serving;
use analects_runtime::{Compacted, Conversation, Outcome, Seen, drive};

use super::manner::{Manner, vocabulary};
use super::who::Who;
use crate::connection::block_on;
use crate::ending::what_is_odd;
use crate::failure::Failure;
use crate::{interrupt, ui};

/// What a conversation is called when something is odd about it, and the text in which that stands.
///
/// The text is that of before the answer, which may come to stand above what is odd.
pub struct Told {
    pub name: String,
    pub source: Vec<u8>,
}

/// Asks, prints the answer, and says what was odd.
pub fn ask(
    who: &Who,
    manner: &Manner,
    serving: Option<&Serving>,
    conversation: &mut dyn Conversation,
    told: &Told,
) -> Result<(), Failure> {
    let client = Client::new(manner.options.clone());
    let vocabulary = vocabulary(serving);
    let asked = manner.asked(&client, who, vocabulary.as_ref());
    let mut answer = ui::Answer::new();
    interrupt::exit_on_second();
    let outcome = block_on(async {
        let mut watch = |seen: Seen<'_>| match seen {
            Seen::Event(_) if !manner.streams => {}
            Seen::Answer(complete) if !manner.streams => answer.print(&complete.text()),
            seen => show(seen, &mut answer),
        };
        drive(&asked, conversation, &mut watch, interrupt::first()).await
    })?;
    // Before an error is said, the line of what came ends.
    answer.end();
    conclude(outcome?, told)?;
    answer.result()
}

/// Shows what happens while it happens.
fn show(seen: Seen<'_>, answer: &mut ui::Answer) {
    match seen {
        Seen::Event(StreamEvent::BlockDelta { delta: Delta::Text(text), .. }) => {
            answer.print(&text.as_str());
        }
        Seen::Event(StreamEvent::BlockDelta { delta: Delta::Thinking(text), .. }) => {
            answer.think(&text.as_str());
        }
        Seen::Event(_) | Seen::Answer(_) => {}
        Seen::GoesOn => answer.end(),
        Seen::Reminded(text) => ui::remark(&format!("the model is told: {text}")),
        Seen::Summarising(name) => ui::remark(&format!("asking for a summary of {name} …")),
        Seen::Compacting(trigger) => ui::remark(match trigger {
            CompactTrigger::Reactive => "the conversation is too long for the model; summarising …",
            _ => "the context is nearly full; summarising the conversation …",
        }),
        Seen::Compacted(compacted) => ui::remark(&in_words(compacted)),
        Seen::NotCompacted(why) => {
            ui::remark(&format!("warning: the conversation could not be summarised: {why}"));
        }
    }
}

/// What a compaction did, for people.
pub fn in_words(compacted: &Compacted) -> String {
    let Compacted { messages, before, after, is_makeshift, files } = compacted;
    let makeshift =
        if *is_makeshift { ", made without a model since none could make it" } else { "" };
    let messages = match messages {
        1 => "1 message".to_string(),
        messages => format!("{messages} messages"),
    };
    let files = match files.as_slice() {
        [] => String::new(),
        [file] => format!("; 1 file was read again: {file}"),
        files => format!("; {} files were read again: {}", files.len(), files.join(", ")),
    };
    format!(
        "a summary stands for {messages}{makeshift}: about {before} tokens before, {after} after{files}; \
         nothing is deleted, and compact --undo brings it back"
    )
}

/// Says what is odd about a conversation that is sent, as far as that is worth it.
pub fn report_problems(problems: Vec<Problem>, told: &Told) {
    let worth_it = |problem: &Problem| {
        // Hints are for `show`; that the answer broke off is what the failure says, too.
        problem.severity > Severity::Hint && problem.code != "interrupted-answer"
    };
    let problems: Vec<Problem> = problems.into_iter().filter(worth_it).collect();
    ui::report_problems(&told.name, &told.source, &problems);
}

fn conclude(outcome: Outcome, told: &Told) -> Result<(), Failure> {
    report_problems(outcome.problems, told);
    let is_empty = outcome.answer.body.content().is_none_or(Content::is_empty);
    match outcome.error {
        _ if outcome.stopped && is_empty => Err(Failure::unanswered()),
        _ if outcome.stopped => Err(Failure::interrupted()),
        Some(error) => Err(error.into()),
        None => {
            if let Some(text) = what_is_odd(&outcome.answer) {
                ui::remark(&format!("warning: {text}"));
            }
            Ok(())
        }
    }
}
