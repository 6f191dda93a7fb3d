//! Shapes that a session can have, one function for each. Each begins with the messages `m1` and `m2`, and ends with the
//! question `last`.

use std::fmt::Write as _;

use super::Shape;

/// All of them.
pub const SHAPES: &[Shape] = &[
    ("messages", 20_000, messages),
    ("session_side_chains", 4_000, side_chains),
    ("session_side_chain", 20_000, side_chain),
    ("session_branches", 20_000, branches),
    ("session_stairs", 20_000, stairs),
    ("revisions", 20_000, revisions),
    ("revisions_of_one", 20_000, revisions_of_one),
    ("tombstones", 20_000, tombstones),
    ("compactions", 8_000, compactions),
    ("session_calls", 10_000, calls),
    ("session_calls_of_one", 10_000, calls_of_one),
    ("states", 20_000, states),
    ("progress", 20_000, progress),
    ("lost_parents", 20_000, lost_parents),
    ("late_parents", 20_000, late_parents),
    ("session_same_ids", 20_000, same_ids),
    ("blocks_of_one", 40_000, blocks_of_one),
    ("torn_lines", 20_000, torn_lines),
];

/// A record with a text; `more` is what it has beside that, each with a comma before it.
fn record(kind: &str, id: &str, parent: &str, more: &str) -> String {
    format!(
        "{{\"v\":1,\"type\":\"{kind}\",\"id\":\"{id}\",\"parent_id\":\"{parent}\",\"session_id\":\"s\",\"created_at\":\"2026-11-18T08:00:00.123Z\"{more}}}\n"
    )
}

fn said(kind: &str, id: &str, parent: &str, more: &str) -> String {
    record(
        kind,
        id,
        parent,
        &format!(",\"content\":\"What was said in {id}, in a line or two.\"{more}"),
    )
}

fn user(id: usize, parent: usize) -> String {
    said("user", &format!("m{id}"), &format!("m{parent}"), "")
}

/// So many records behind a question and its answer, and before a question that follows the message `end`.
fn session(count: usize, end: &str, each: impl Fn(usize) -> String) -> String {
    let first = said("user", "m1", "", "");
    let mut text = first.replace(",\"parent_id\":\"\"", "");
    text += &said("assistant", "m2", "m1", "");
    for at in 3..count + 3 {
        text += &each(at);
    }
    text + &said("user", "last", end, "")
}

pub fn messages(count: usize) -> String {
    session(count, &format!("m{}", count + 2), |at| {
        let kind = if at % 2 == 1 { "user" } else { "assistant" };
        said(kind, &format!("m{at}"), &format!("m{}", at - 1), "")
    })
}

fn side_chains(count: usize) -> String {
    session(count, "m2", |at| {
        let id = format!("m{at}");
        said("user", &id, "", &format!(",\"agent_id\":\"helper{at}\""))
            .replace(",\"parent_id\":\"\"", "")
    })
}

fn side_chain(count: usize) -> String {
    session(count, "m2", |at| {
        let parent = if at == 3 {
            String::new()
        } else {
            format!("m{}", at - 1)
        };
        said(
            "user",
            &format!("m{at}"),
            &parent,
            ",\"agent_id\":\"helper\"",
        )
    })
}

fn branches(count: usize) -> String {
    session(count, "m2", |at| user(at, 2))
}

fn stairs(count: usize) -> String {
    session(count, "m2", |at| user(at, at / 2 + 1))
}

fn revisions(count: usize) -> String {
    session(count, &format!("r{}", count + 2), |at| {
        let parent = if at == 3 {
            "m2".to_string()
        } else {
            format!("r{}", at - 1)
        };
        let id = format!("m{at}");
        said("user", &id, &parent, "")
            + &said(
                "revision",
                &format!("r{at}"),
                &id,
                &format!(",\"target\":\"{id}\""),
            )
    })
}

fn revisions_of_one(count: usize) -> String {
    session(count, &format!("m{}", count + 2), |at| {
        said(
            "revision",
            &format!("m{at}"),
            &format!("m{}", at - 1),
            ",\"target\":\"m1\"",
        )
    })
}

fn tombstones(count: usize) -> String {
    session(count, &format!("t{}", count + 2), |at| {
        let parent = if at == 3 {
            "m2".to_string()
        } else {
            format!("t{}", at - 1)
        };
        let (id, target) = (format!("m{at}"), format!(",\"target\":\"m{at}\""));
        said("user", &id, &parent, "") + &record("tombstone", &format!("t{at}"), &id, &target)
    })
}

fn compactions(count: usize) -> String {
    session(count, &format!("b{}", count + 2), |at| {
        let parent = if at == 3 {
            "m2".to_string()
        } else {
            format!("b{}", at - 1)
        };
        let (id, summary) = (format!("m{at}"), format!("s{at}"));
        said("user", &id, &parent, "")
            + &said("summary", &summary, &id, "")
            + &record(
                "compact_boundary",
                &format!("b{at}"),
                &summary,
                &format!(",\"summary_id\":\"{summary}\""),
            )
    })
}

fn call(id: &str) -> String {
    format!(
        "{{\"type\":\"tool_use\",\"id\":\"{id}\",\"name\":\"read\",\"input\":{{\"path\":\"a.md\"}}}}"
    )
}

fn result(id: &str) -> String {
    format!(
        "{{\"type\":\"tool_result\",\"tool_use_id\":\"{id}\",\"content\":\"The text of the file.\"}}"
    )
}

fn blocks(kind: &str, id: &str, parent: &str, blocks: &[String]) -> String {
    record(
        kind,
        id,
        parent,
        &format!(",\"content\":[{}]", blocks.join(",")),
    )
}

fn calls(count: usize) -> String {
    session(count, &format!("r{}", count + 2), |at| {
        let parent = if at == 3 {
            "m2".to_string()
        } else {
            format!("r{}", at - 1)
        };
        let (id, name) = (format!("m{at}"), format!("t{at}"));
        blocks("assistant", &id, &parent, &[call(&name)])
            + &blocks("user", &format!("r{at}"), &id, &[result(&name)])
    })
}

fn calls_of_one(count: usize) -> String {
    let all = |make: fn(&str) -> String| {
        (0..count)
            .map(|at| make(&format!("t{at}")))
            .collect::<Vec<_>>()
    };
    session(1, "r3", |_| {
        blocks("assistant", "m3", "m2", &all(call)) + &blocks("user", "r3", "m3", &all(result))
    })
}

fn states(count: usize) -> String {
    session(count, &format!("m{}", count + 2), |at| {
        let state = format!(
            ",\"state\":{{\"title\":\"Title {at}\",\"own{}\":{at}}}",
            at % 50
        );
        record("state", &format!("m{at}"), &format!("m{}", at - 1), &state)
    })
}

fn progress(count: usize) -> String {
    session(count, "m2", |at| {
        record(
            "progress",
            &format!("m{at}"),
            &format!("m{}", at - 1),
            ",\"content\":\"So far.\"",
        )
    })
}

fn lost_parents(count: usize) -> String {
    session(count, &format!("m{}", count + 2), |at| {
        said("user", &format!("m{at}"), &format!("lost{at}"), "")
    })
}

/// Each follows the one behind it.
fn late_parents(count: usize) -> String {
    session(count, "m3", |at| {
        if at == count + 2 {
            user(at, 2)
        } else {
            user(at, at + 1)
        }
    })
}

fn same_ids(count: usize) -> String {
    session(count, "m3", |_| said("user", "m3", "m2", ""))
}

fn blocks_of_one(count: usize) -> String {
    let text = |at: usize| format!("{{\"type\":\"text\",\"text\":\"Part {at}.\"}}");
    let all: Vec<String> = (0..count).map(text).collect();
    session(1, "m3", |_| blocks("assistant", "m3", "m2", &all))
}

fn torn_lines(count: usize) -> String {
    let text = messages(count);
    let mut torn = String::with_capacity(text.len());
    for (at, line) in text.lines().enumerate() {
        let end = if at % 3 == 2 {
            line.len() / 2
        } else {
            line.len()
        };
        let _ = writeln!(torn, "{}", &line[..end]);
    }
    torn
}
