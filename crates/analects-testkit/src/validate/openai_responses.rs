//! OpenAI's Responses: calls and outputs pair by their `call_id`, and a reasoning item stands directly
//! before the item that came of it.

use std::collections::BTreeSet;

use super::names::{at_least, in_range, is_plain, model, object_schema, tool_names};
use super::{Node, Report};

const LONGEST_NAME: usize = 64;
const LONGEST_ID: usize = 64;
const SMALLEST_LIMIT: u32 = 16;

pub(super) fn check(body: &Node, report: &mut Report) {
    model(body, report);
    at_least(SMALLEST_LIMIT, body, "max_output_tokens", report);
    in_range(body, "temperature", 0.0..=2.0, report);
    tools(body, report);
    let Some(input) = body.get("input") else {
        return report.add("", "no-messages", "there is no input");
    };
    let Some(items) = input.items() else {
        let filled = input.string().is_some_and(|text| !text.is_empty());
        return report.expect(filled, &input, "no-messages", "there is no input");
    };
    report.expect(
        !items.is_empty(),
        &input,
        "no-messages",
        "there is no input",
    );
    for item in &items {
        one_item(item, report);
    }
    ids(&items, report);
    calls(&items, report);
    reasoning(&items, report);
}

/// An item that says what it was called is there once.
fn ids(items: &[Node], report: &mut Report) {
    let mut seen = BTreeSet::new();
    for item in items {
        let new = item.word("id").is_none_or(|id| seen.insert(id));
        report.expect(new, item, "item-id", "two items have the same id");
    }
}

fn tools(body: &Node, report: &mut Report) {
    let tools = body.list("tools");
    let functions = tools
        .iter()
        .filter(|tool| tool.word("type").as_deref() == Some("function"));
    let functions: Vec<&Node> = functions.collect();
    functions
        .iter()
        .for_each(|tool| object_schema(tool, "parameters", report));
    let named = functions
        .into_iter()
        .map(|tool| (tool.clone(), tool.word("name")));
    let names = tool_names(named, |name| is_plain(name, LONGEST_NAME), report);
    let Some(choice) = body.get("tool_choice") else {
        return;
    };
    let forced = choice.string().as_deref() != Some("none");
    report.expect(
        !forced || !tools.is_empty(),
        &choice,
        "tool-choice",
        "there are no tools",
    );
    if choice.word("type").as_deref() == Some("function") {
        let known = choice
            .word("name")
            .is_some_and(|name| names.contains(&name));
        report.expect(known, &choice, "tool-choice", "there is no such tool");
    }
}

/// The type of an item; a message need not say that it is one.
fn kind(item: &Node) -> String {
    let role = item.get("role").map(|_| "message".to_string());
    item.word("type").or(role).unwrap_or_default()
}

fn one_item(item: &Node, report: &mut Report) {
    match kind(item).as_str() {
        "" => report.add(&item.path, "item-type", "an item without a type"),
        "message" => message(item, report),
        "function_call" => {
            let name = item
                .word("name")
                .is_some_and(|name| is_plain(&name, LONGEST_NAME));
            report.expect(name, item, "tool-name", "the tool's name is not allowed");
            let text = item.word("arguments").is_some();
            report.expect(text, item, "call-input", "arguments are not a string");
        }
        "function_call_output" => {
            report.expect(
                item.get("output").is_some(),
                item,
                "output",
                "there is no output",
            );
        }
        "reasoning" => {
            let summary = item
                .get("summary")
                .is_some_and(|summary| summary.items().is_some());
            report.expect(
                summary,
                item,
                "summary",
                "reasoning without its list of summaries",
            );
        }
        _ => {}
    }
}

fn message(item: &Node, report: &mut Report) {
    let role = item.word("role").unwrap_or_default();
    let roles = ["user", "assistant", "system", "developer"];
    report.expect(
        roles.contains(&role.as_str()),
        item,
        "role",
        "not a role of this API",
    );
    let Some(content) = item.get("content") else {
        return report.add(&item.path, "empty-turn", "a message without content");
    };
    let parts = content.items();
    let filled = parts.as_ref().is_none_or(|parts| !parts.is_empty());
    report.expect(filled, item, "empty-turn", "a message without content");
    for part in parts.unwrap_or_default() {
        let kind = part.word("type").unwrap_or_default();
        let fits = match role.as_str() {
            "assistant" => matches!(kind.as_str(), "output_text" | "refusal"),
            _ => kind.starts_with("input_"),
        };
        report.expect(
            fits,
            &part,
            "block-type",
            "a part that this role may not have",
        );
    }
}

/// Every call has one output behind it, and every output a call before it.
fn calls(items: &[Node], report: &mut Report) {
    let mut open: BTreeSet<String> = BTreeSet::new();
    let mut seen = BTreeSet::new();
    for item in items {
        let id = item.word("call_id").unwrap_or_default();
        match kind(item).as_str() {
            "function_call" => {
                let fits = !id.is_empty() && id.chars().count() <= LONGEST_ID;
                report.expect(fits, item, "call-id", "the id is empty or longer than 64");
                let new = seen.insert(id.clone());
                report.expect(new, item, "call-id", "two calls have the same id");
                open.insert(id);
            }
            "function_call_output" => {
                let text = "an output without a call before it";
                report.expect(open.remove(&id), item, "result-without-call", text);
            }
            _ => {}
        }
    }
    for id in open {
        report.add(
            "input",
            "call-without-result",
            format!("no output for the call {id}"),
        );
    }
}

/// Reasoning belongs to what the model did next: its words or a call, not a person's words.
fn reasoning(items: &[Node], report: &mut Report) {
    for (at, item) in items.iter().enumerate() {
        if kind(item) != "reasoning" {
            continue;
        }
        let follows = items
            .get(at + 1)
            .is_some_and(|next| match kind(next).as_str() {
                "message" => next.word("role").as_deref() == Some("assistant"),
                kind => !kind.is_empty() && !kind.ends_with("_output"),
            });
        let text = "reasoning without the item that came of it";
        report.expect(follows, item, "reasoning-alone", text);
    }
}
