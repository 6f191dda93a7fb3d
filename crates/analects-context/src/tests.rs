//! What goes out of a conversation, in which turns, and what stays.

mod compacting;
mod normalizing;
mod planning;
mod prompting;
mod properties;
mod traps;

use analects_core::*;

use super::*;
use analects_testkit::conversations::{call, result};

/// Links messages to a chain.
fn linked(mut messages: Vec<Message>) -> Vec<Message> {
    for at in 1..messages.len() {
        messages[at].parent_id = Some(messages[at - 1].id.clone());
    }
    messages
}

fn agent() -> Agent {
    Agent::of_model("quick", "m")
}

/// A plan for a window of which an eighth is kept for the answer.
fn plan_within(messages: &[Message], window: u64) -> Plan {
    let agent = agent();
    let planner = Planner::new(&agent).with_budget(Budget::new(window, window / 8));
    planner.plan(&chain(messages), &mut Counter::of_model("m"))
}

/// What is sent, a line for each turn.
fn sent(plan: &Plan) -> Vec<String> {
    let turn = |turn: &Turn| format!("{}: {}", turn.role.as_str(), turn.content.to_json());
    plan.request.turns.iter().map(turn).collect()
}

/// What became of each message: `id fate`.
fn fates(plan: &Plan) -> Vec<String> {
    plan.rows
        .iter()
        .map(|row| format!("{} {}", &*row.id, row.fate.as_str()))
        .collect()
}
