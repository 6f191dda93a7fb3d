//! The turn as a person sees it: the answer while it comes, then what was odd about it.

use analects_client::{Client, Options};
use analects_core::{Delta, Problem, Severity, StreamEvent};
use analects_runtime::{Asked, Conversation, Outcome, drive};

use super::who::Who;
use crate::connection::block_on;
use crate::ending::what_is_odd;
use crate::failure::Failure;
use crate::{interrupt, ui};

/// Asks, prints the answer, and says what was odd. `path` is where problems of the conversation are.
pub fn ask(
    who: &Who,
    options: Options,
    conversation: &mut dyn Conversation,
    path: &str,
) -> Result<(), Failure> {
    let client = Client::new(options);
    let mut answer = ui::Answer::new();
    interrupt::exit_on_second();
    let outcome = block_on(async {
        let asked = Asked { client: &client, model: &who.model, agent: &who.agent };
        let mut watch = |event: &StreamEvent| match event {
            StreamEvent::BlockDelta { delta: Delta::Text(text), .. } => {
                answer.print(&text.as_str())
            }
            StreamEvent::BlockDelta { delta: Delta::Thinking(text), .. } => {
                answer.think(&text.as_str());
            }
            _ => {}
        };
        drive(&asked, conversation, &mut watch, interrupt::first()).await
    })?;
    answer.end();
    conclude(outcome?, path)?;
    answer.result()
}

fn conclude(outcome: Outcome, path: &str) -> Result<(), Failure> {
    let worth_it = |problem: &Problem| {
        // Hints are for `show`; that the answer broke off is what the failure says, too.
        problem.severity > Severity::Hint && problem.code != "interrupted-answer"
    };
    let problems: Vec<Problem> = outcome.problems.into_iter().filter(worth_it).collect();
    // The answer stands below what was read, so places in the file are still right.
    let source = if problems.is_empty() { None } else { std::fs::read(path).ok() };
    ui::report_problems(path, &source.unwrap_or_default(), &problems);
    match outcome.error {
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
