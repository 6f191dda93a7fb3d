//! OpenAI's Chat Completions: the results of an assistant message's calls follow it directly, all of
//! them, each once.

use std::collections::BTreeSet;

use super::names::{in_range, is_plain, model, object_schema, positive, tool_names};
use super::{Node, Report};

const LONGEST_NAME: usize = 64;
const LONGEST_ID: usize = 40;
const MOST_STOPS: usize = 4;

pub(super) fn check(body: &Node, report: &mut Report) {
    model(body, report);
    positive(body, "max_tokens", report);
    positive(body, "max_completion_tokens", report);
    in_range(body, "temperature", 0.0..=2.0, report);
    let both = body.get("max_tokens").is_some() && body.get("max_completion_tokens").is_some();
    report.expect(!both, body, "limit", "two limits for one answer");
    let few = body.list("stop").len() <= MOST_STOPS;
    report.expect(few, body, "stops", "more than four stop sequences");
    tools(body, report);
    let messages = body.list("messages");
    report.expect(
        !messages.is_empty(),
        body,
        "no-messages",
        "there are no messages",
    );
    for message in &messages {
        one_message(message, report);
    }
    calls(&messages, report);
}

fn tools(body: &Node, report: &mut Report) {
    let tools: Vec<Node> = body
        .list("tools")
        .iter()
        .filter_map(|tool| tool.get("function"))
        .collect();
    tools
        .iter()
        .for_each(|tool| object_schema(tool, "parameters", report));
    let named = tools
        .into_iter()
        .map(|tool| (tool.clone(), tool.word("name")));
    let names = tool_names(named, |name| is_plain(name, LONGEST_NAME), report);
    let Some(choice) = body.get("tool_choice") else {
        return;
    };
    report.expect(
        !body.list("tools").is_empty(),
        &choice,
        "tool-choice",
        "there are no tools",
    );
    let word = choice.string();
    let words = ["auto", "none", "required"];
    let fits = word.is_none_or(|word| words.contains(&word.as_str()));
    report.expect(fits, &choice, "tool-choice", "not auto, none or required");
    let function = choice
        .get("function")
        .and_then(|function| function.word("name"));
    let known = function.is_none_or(|name| names.contains(&name));
    report.expect(known, &choice, "tool-choice", "there is no such tool");
}

fn role(message: &Node) -> String {
    message.word("role").unwrap_or_default()
}

fn one_message(message: &Node, report: &mut Report) {
    let role = role(message);
    let roles = [
        "system",
        "developer",
        "user",
        "assistant",
        "tool",
        "function",
    ];
    report.expect(
        roles.contains(&role.as_str()),
        message,
        "role",
        "not a role of this API",
    );
    let calls = message.get("tool_calls");
    let content = message.get("content");
    if content.is_none() && (role != "assistant" || (calls.is_none() && !refuses(message))) {
        report.add(&message.path, "empty-turn", "a message without content");
    }
    let parts = content.as_ref().and_then(Node::items);
    let filled = parts.as_ref().is_none_or(|parts| !parts.is_empty());
    report.expect(filled, message, "empty-turn", "a message without content");
    for part in parts.unwrap_or_default() {
        report.expect(
            may_say(&role, &part.word("type").unwrap_or_default()),
            &part,
            "block-type",
            "a part that this role may not have",
        );
    }
    if let Some(calls) = calls {
        report.expect(
            role == "assistant",
            &calls,
            "block-type",
            "only the assistant calls tools",
        );
        let items = calls.items().unwrap_or_default();
        report.expect(
            !items.is_empty(),
            &calls,
            "empty-calls",
            "an empty list of calls",
        );
        items.iter().for_each(|call| one_call(call, report));
    }
}

fn refuses(message: &Node) -> bool {
    message.get("refusal").is_some() || message.get("function_call").is_some()
}

fn may_say(role: &str, kind: &str) -> bool {
    match role {
        "user" => matches!(kind, "text" | "image_url" | "input_audio" | "file"),
        "assistant" => matches!(kind, "text" | "refusal"),
        _ => kind == "text",
    }
}

fn one_call(call: &Node, report: &mut Report) {
    let id = call.word("id").unwrap_or_default();
    let fits = !id.is_empty() && id.chars().count() <= LONGEST_ID;
    report.expect(
        fits,
        call,
        "call-id",
        "the id is empty or longer than 40 characters",
    );
    let function = call.get("function");
    let word = |key| function.as_ref().and_then(|function| function.word(key));
    let name = word("name").is_some_and(|name| is_plain(&name, LONGEST_NAME));
    report.expect(name, call, "tool-name", "the tool's name is not allowed");
    report.expect(
        word("arguments").is_some(),
        call,
        "call-input",
        "arguments are not a string",
    );
}

fn calls(messages: &[Node], report: &mut Report) {
    let mut open: BTreeSet<String> = BTreeSet::new();
    for message in messages {
        if role(message) == "tool" {
            let id = message.word("tool_call_id").unwrap_or_default();
            let known = open.remove(&id);
            let text = "a result that does not follow its call";
            report.expect(known, message, "result-without-call", text);
            continue;
        }
        unanswered(&std::mem::take(&mut open), message, report);
        for call in message.list("tool_calls") {
            let new = open.insert(call.word("id").unwrap_or_default());
            report.expect(new, &call, "call-id", "two calls have the same id");
        }
    }
    if let Some(last) = messages.last() {
        unanswered(&open, last, report);
    }
}

fn unanswered(open: &BTreeSet<String>, message: &Node, report: &mut Report) {
    for id in open {
        let text = format!("no result for the call {id}");
        report.add(&message.path, "call-without-result", text);
    }
}
