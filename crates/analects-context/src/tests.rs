//! Unit tests of this crate, with shared helpers.

mod compacting;
mod normalizing;
mod planning;
mod prompting;
mod properties;
mod traps;

use analects_core::*;

use super::*;
use analects_testkit::conversations::{call, result};

/// Links messages into a chain.
fn linked(mut messages: Vec<Message>) -> Vec<Message> {
    for at in 1..messages.len() {
        messages[at].parent_id = Some(messages[at - 1].id.clone());
    }
    messages
}

fn agent() -> Agent {
    Agent::of_model("quick", "m")
}

/// Plans for a window that reserves an eighth for the answer.
fn plan_within(messages: &[Message], window: u64) -> Plan {
    let agent = agent();
    let planner = Planner::new(&agent).with_budget(Budget::new(window, window / 8));
    planner.plan(&chain(messages), &mut Counter::of_model("m"))
}

/// The turns that are sent, one line each.
fn sent(plan: &Plan) -> Vec<String> {
    let turn = |turn: &Turn| format!("{}: {}", turn.role.as_str(), turn.content.to_json());
    plan.request.turns.iter().map(turn).collect()
}

/// The fate of each message, as `id fate`.
fn fates(plan: &Plan) -> Vec<String> {
    plan.rows
        .iter()
        .map(|row| format!("{} {}", &*row.id, row.fate.as_str()))
        .collect()
}
