//! Anthropic's Messages: turns alternate, every call is answered at the start of the next turn, and no
//! text is blank.

use std::collections::BTreeSet;

use super::names::{in_range, is_plain, model, positive, tool_names};
use super::{Node, Report};

const LONGEST_NAME: usize = 128;
const MOST_CACHE_POINTS: usize = 4;
const SMALLEST_BUDGET: f64 = 1024.0;

pub(super) fn check(body: &Node, report: &mut Report) {
    model(body, report);
    report.expect(
        body.get("max_tokens").is_some(),
        body,
        "limit",
        "max_tokens is missing",
    );
    positive(body, "max_tokens", report);
    in_range(body, "temperature", 0.0..=1.0, report);
    for stop in body.list("stop_sequences") {
        report.expect(
            is_filled(&stop),
            &stop,
            "blank-stop",
            "a stop sequence is blank",
        );
    }
    system(body, report);
    tools(body, report);
    let messages = body.list("messages");
    report.expect(
        !messages.is_empty(),
        body,
        "no-messages",
        "there are no messages",
    );
    turns(&messages, report);
    for message in &messages {
        content(message, report);
    }
    calls(&messages, report);
    server_calls(&messages, report);
    ending(&messages, report);
    thinking(body, &messages, report);
    cache_points(body, &messages, report);
}

/// Whether this is a string with something other than blanks.
fn is_filled(node: &Node) -> bool {
    node.string().is_some_and(|text| !text.trim().is_empty())
}

fn kind(block: &Node) -> String {
    block.word("type").unwrap_or_default()
}

fn is_kind(block: &Node, word: &str) -> bool {
    kind(block) == word
}

fn is_thought(block: &Node) -> bool {
    matches!(kind(block).as_str(), "thinking" | "redacted_thinking")
}

fn role(message: &Node) -> String {
    message.word("role").unwrap_or_default()
}

fn system(body: &Node, report: &mut Report) {
    let Some(system) = body.get("system") else {
        return;
    };
    let Some(blocks) = system.items() else {
        return report.expect(
            is_filled(&system),
            &system,
            "blank-text",
            "blank instructions",
        );
    };
    for block in blocks {
        report.expect(
            is_kind(&block, "text"),
            &block,
            "block-type",
            "instructions are text",
        );
        text(&block, report);
    }
}

fn tools(body: &Node, report: &mut Report) {
    let tools = body.list("tools");
    for tool in tools
        .iter()
        .filter(|tool| matches!(kind(tool).as_str(), "" | "custom"))
    {
        let schema = tool.get("input_schema");
        let is_object = schema.is_some_and(|schema| is_kind(&schema, "object"));
        report.expect(
            is_object,
            tool,
            "tool-schema",
            "the schema's type is not \"object\"",
        );
    }
    let named = tools
        .into_iter()
        .map(|tool| (tool.clone(), tool.word("name")));
    let names = tool_names(named, |name| is_plain(name, LONGEST_NAME), report);
    let Some(choice) = body.get("tool_choice") else {
        return;
    };
    match kind(&choice).as_str() {
        "none" => {}
        "auto" | "any" => report.expect(!names.is_empty(), &choice, "tool-choice", "no tools"),
        "tool" => {
            let known = choice
                .word("name")
                .is_some_and(|name| names.contains(&name));
            report.expect(known, &choice, "tool-choice", "there is no such tool");
        }
        _ => report.add(&choice.path, "tool-choice", "not auto, any, tool or none"),
    }
}

fn turns(messages: &[Node], report: &mut Report) {
    let mut before = String::new();
    for message in messages {
        let role = role(message);
        let known = matches!(role.as_str(), "user" | "assistant");
        report.expect(known, message, "role", "not user or assistant");
        let first = !before.is_empty() || role == "user";
        report.expect(
            first,
            message,
            "first-turn",
            "the first turn is not the user's",
        );
        report.expect(
            role != before,
            message,
            "alternation",
            "two turns of the same role",
        );
        before = role;
    }
}

fn content(message: &Node, report: &mut Report) {
    let Some(content) = message.get("content") else {
        return report.add(&message.path, "empty-turn", "a turn without content");
    };
    let Some(blocks) = content.items() else {
        return report.expect(is_filled(&content), &content, "blank-text", "blank text");
    };
    report.expect(
        !blocks.is_empty(),
        &content,
        "empty-turn",
        "a turn without content",
    );
    for block in &blocks {
        report.expect(
            may_say(&role(message), &kind(block)),
            block,
            "block-type",
            "a block that this role may not have",
        );
        one_block(block, report);
    }
    let ends_in_thought = role(message) == "assistant" && blocks.last().is_some_and(is_thought);
    report.expect(
        !ends_in_thought,
        &content,
        "last-thought",
        "a turn ends in thinking",
    );
}

/// Which blocks a role may have. The model's may be of types that nobody knows yet.
fn may_say(role: &str, kind: &str) -> bool {
    let users = [
        "text",
        "image",
        "document",
        "tool_result",
        "search_result",
        "container_upload",
    ];
    match role {
        "assistant" => !matches!(
            kind,
            "" | "image" | "document" | "tool_result" | "search_result"
        ),
        _ => users.contains(&kind),
    }
}

fn text(block: &Node, report: &mut Report) {
    let filled = block.get("text").is_some_and(|text| is_filled(&text));
    report.expect(filled, block, "blank-text", "a block of blank text");
}

fn one_block(block: &Node, report: &mut Report) {
    let filled = |key| block.word(key).is_some_and(|text| !text.is_empty());
    match kind(block).as_str() {
        "text" => text(block, report),
        "image" | "document" => source(block, report),
        "thinking" => {
            let whole = block.word("thinking").is_some() && filled("signature");
            report.expect(whole, block, "signature", "thinking without its signature");
        }
        "redacted_thinking" => {
            report.expect(
                filled("data"),
                block,
                "signature",
                "encrypted thinking without data",
            );
        }
        "tool_use" | "server_tool_use" => {
            let id = block.word("id").unwrap_or_default();
            report.expect(
                is_plain(&id, usize::MAX),
                block,
                "call-id",
                "the id is not allowed",
            );
            let name = block.word("name").unwrap_or_default();
            let fits = is_plain(&name, LONGEST_NAME);
            report.expect(fits, block, "tool-name", "the tool's name is not allowed");
            let object = block.get("input").is_some_and(|input| input.is_object());
            report.expect(object, block, "call-input", "the input is not an object");
        }
        "tool_result" => result(block, report),
        _ => {}
    }
}

fn source(block: &Node, report: &mut Report) {
    let source = block.get("source");
    let known = source.is_some_and(|source| {
        let has = |key| source.word(key).is_some();
        match kind(&source).as_str() {
            "base64" => has("media_type") && has("data"),
            "text" => source.word("media_type").as_deref() == Some("text/plain") && has("data"),
            "url" => has("url"),
            "file" => has("file_id"),
            "content" => source.get("content").is_some(),
            _ => false,
        }
    });
    report.expect(known, block, "source", "a source that cannot be read");
}

fn result(block: &Node, report: &mut Report) {
    let Some(content) = block.get("content") else {
        return;
    };
    if content.string().is_some() {
        return;
    }
    let Some(blocks) = content.items() else {
        return report.add(
            &content.path,
            "result-content",
            "neither a string nor blocks",
        );
    };
    let failed = block.get("is_error").is_some_and(|failed| failed.is_true());
    for inner in blocks {
        let kind = kind(&inner);
        let types = [
            "text",
            "image",
            "document",
            "search_result",
            "tool_reference",
        ];
        let allowed = types.contains(&kind.as_str()) && (!failed || kind == "text");
        report.expect(
            allowed,
            &inner,
            "block-type",
            "a block that a result may not have",
        );
        one_block(&inner, report);
    }
}

/// Every call is answered once, at the start of the next turn, and nothing else is answered.
fn calls(messages: &[Node], report: &mut Report) {
    let mut seen = BTreeSet::new();
    let mut open: BTreeSet<String> = BTreeSet::new();
    for message in messages {
        let mut spoken = false;
        let mut made = BTreeSet::new();
        for block in message.list("content") {
            match kind(&block).as_str() {
                "tool_use" => {
                    let id = block.word("id").unwrap_or_default();
                    let new = seen.insert(id.clone());
                    report.expect(new, &block, "call-id", "two calls have the same id");
                    made.insert(id);
                }
                "tool_result" => {
                    let id = block.word("tool_use_id").unwrap_or_default();
                    let known = open.remove(&id);
                    let message = "a result without a call in the turn before";
                    report.expect(known, &block, "result-without-call", message);
                    report.expect(!spoken, &block, "result-order", "results stand first");
                }
                _ => spoken = true,
            }
        }
        unanswered(&open, message, report);
        open = made;
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

/// A call of the provider's own tools is followed by its result in the same turn, but for the last,
/// which may have been paused, and for a tool that called one of ours and waits for it.
fn server_calls(messages: &[Node], report: &mut Report) {
    let mut open = BTreeSet::new();
    for (at, message) in messages.iter().enumerate() {
        let blocks = message.list("content");
        let callers = blocks
            .iter()
            .filter_map(|block| block.get("caller")?.word("tool_id"));
        let callers: BTreeSet<String> = callers.collect();
        for block in blocks {
            let id = |key| block.word(key).unwrap_or_default();
            match kind(&block).as_str() {
                "server_tool_use" | "mcp_tool_use" => {
                    open.insert(id("id"));
                }
                kind if kind.ends_with("_tool_result") => {
                    let known = open.remove(&id("tool_use_id"));
                    let text = "a result without a call before it";
                    report.expect(known, &block, "server-result", text);
                }
                _ => {}
            }
        }
        if role(message) == "user" {
            continue;
        }
        let done = open.is_subset(&callers) || at + 1 == messages.len();
        report.expect(
            done,
            message,
            "server-call",
            "a call of a server's tool has no result",
        );
        open.retain(|id| callers.contains(id));
    }
}

/// What the model is to go on with must not end in a blank.
fn ending(messages: &[Node], report: &mut Report) {
    let Some(last) = messages.last().filter(|last| role(last) == "assistant") else {
        return;
    };
    let text = match last.list("content").last() {
        Some(block) => block.word("text"),
        None => last.word("content"),
    };
    let blank = text.is_some_and(|text| text.ends_with(char::is_whitespace));
    report.expect(!blank, last, "final-blank", "the last turn ends in a blank");
}

fn thinking(body: &Node, messages: &[Node], report: &mut Report) {
    let Some(thinking) = body.get("thinking") else {
        return;
    };
    let word = kind(&thinking);
    if word == "disabled" {
        return;
    }
    let known = matches!(word.as_str(), "enabled" | "adaptive");
    report.expect(
        known,
        &thinking,
        "thinking",
        "not enabled, adaptive or disabled",
    );
    let number = |node: &Node, key| node.get(key).and_then(|value| value.number());
    let cool = number(body, "temperature").is_some_and(|value| value != 1.0);
    report.expect(
        !cool,
        body,
        "thinking-temperature",
        "thinking takes no temperature",
    );
    let forced = body
        .get("tool_choice")
        .map(|choice| kind(&choice))
        .unwrap_or_default();
    let forced = matches!(forced.as_str(), "any" | "tool");
    report.expect(
        !forced,
        body,
        "thinking-choice",
        "thinking takes no forced call",
    );
    if word != "enabled" {
        return;
    }
    let budget = number(&thinking, "budget_tokens").unwrap_or_default();
    let limit = number(body, "max_tokens").unwrap_or(f64::INFINITY);
    let fits = budget >= SMALLEST_BUDGET && budget < limit;
    report.expect(
        fits,
        &thinking,
        "thinking-budget",
        "not at least 1024 and below max_tokens",
    );
    if let Some(turn) = turn_under_way(messages) {
        let first = turn.list("content").into_iter().next();
        let thinks = first.is_some_and(|block| is_thought(&block));
        report.expect(
            thinks,
            turn,
            "thinking-first",
            "the turn under way starts without thinking",
        );
    }
}

/// The model's message with which the turn began that is still going on: its calls were answered, or
/// it is to be continued.
fn turn_under_way(messages: &[Node]) -> Option<&Node> {
    let answers = |message: &Node| {
        role(message) == "user"
            && message
                .list("content")
                .iter()
                .any(|block| is_kind(block, "tool_result"))
    };
    let rest = messages.iter().rev();
    let under_way = rest.take_while(|message| role(message) == "assistant" || answers(message));
    under_way
        .filter(|message| role(message) == "assistant")
        .last()
}

fn cache_points(body: &Node, messages: &[Node], report: &mut Report) {
    let marked = |nodes: &[Node]| {
        nodes
            .iter()
            .filter(|node| node.get("cache_control").is_some())
            .count()
    };
    let blocks: Vec<Node> = messages
        .iter()
        .flat_map(|message| message.list("content"))
        .collect();
    let inner: Vec<Node> = blocks
        .iter()
        .flat_map(|block| block.list("content"))
        .collect();
    let all = [&body.list("system"), &body.list("tools"), &blocks, &inner];
    let count = all.into_iter().map(|nodes| marked(nodes)).sum::<usize>()
        + marked(std::slice::from_ref(body));
    let few = count <= MOST_CACHE_POINTS;
    report.expect(
        few,
        body,
        "cache-points",
        "more than four blocks with cache_control",
    );
    for thought in blocks.iter().filter(|block| is_thought(block)) {
        let bare = thought.get("cache_control").is_none();
        report.expect(
            bare,
            thought,
            "cache-points",
            "thinking cannot be a cache point",
        );
    }
}
