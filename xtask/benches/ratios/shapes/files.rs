//! Message files of many shapes: each is a function that makes one with so many of something.

use super::Shape;

/// All of them. Each file begins with the cells 1 and 2, and ends with the question `last`.
pub const SHAPES: &[Shape] = &[
    ("cells", 4_000, cells),
    ("typed_cells", 8_000, typed_cells),
    ("empty_cells", 40_000, empty_cells),
    ("attributes", 20_000, attributes),
    ("repeated_attributes", 20_000, repeated_attributes),
    ("unanswered", 4_000, unanswered),
    ("unanswered_typed", 4_000, unanswered_typed),
    ("unanswered_alike", 4_000, unanswered_alike),
    ("side_chains", 4_000, side_chains),
    ("long_side_chain", 4_000, long_side_chain),
    ("branches", 4_000, branches),
    ("forks_on_the_way", 4_000, forks_on_the_way),
    ("agents", 2_000, agents),
    ("agent_cells", 4_000, agent_cells),
    ("hidden_cells", 4_000, hidden_cells),
    ("hidden_parts", 4_000, hidden_parts),
    ("summaries", 4_000, summaries),
    ("own_summaries", 4_000, own_summaries),
    ("code_outputs", 4_000, code_outputs),
    ("outputs_of_one_code", 8_000, outputs_of_one_code),
    ("tool_pairs", 3_000, tool_pairs),
    ("calls_of_one_answer", 3_000, calls_of_one_answer),
    ("calls_before_the_answer", 3_000, calls_before_the_answer),
    ("hidden_calls", 2_000, hidden_calls),
    ("thoughts", 3_000, thoughts),
    ("thoughts_of_one_answer", 6_000, thoughts_of_one_answer),
    ("parts_of_a_hidden_answer", 6_000, parts_of_a_hidden_answer),
    ("texts_of_one_answer", 6_000, texts_of_one_answer),
    ("headings", 40_000, headings),
    ("fences", 40_000, fences),
    ("open_fences", 40_000, open_fences),
    ("footnotes", 40_000, footnotes),
    ("long_line", 1_000_000, long_line),
    ("brackets", 400_000, brackets),
    ("parents", 4_000, parents),
    ("same_parent", 4_000, same_parent),
    ("same_ids", 8_000, same_ids),
    ("dotted_ids", 8_000, dotted_ids),
    ("pending", 4_000, pending),
    ("failures", 4_000, failures),
    ("attachments", 4_000, attachments),
    ("details", 3_000, details),
    ("problems", 8_000, problems),
];

const FRONT: &str = "---\nagents:\n  coder: {models: [openai/gpt-5-mini]}\n---\n\n";

/// A file with something between its first answer and its last question.
pub fn file(middle: &str) -> String {
    format!(
        "{FRONT}{}{}{middle}{}",
        question("1"),
        answer("2"),
        question("last")
    )
}

/// So many cells of one kind in a file.
fn many(count: usize, cell: impl Fn(usize) -> String) -> String {
    file(&(3..count + 3).map(cell).collect::<String>())
}

fn cell(marker: &str, id: &str, metadata: &str, text: &str) -> String {
    format!("# {marker} [^{id}]\n\n[^{id}]: {metadata}\n\n{text}\n\n")
}

fn question(id: &str) -> String {
    cell(
        "%%",
        id,
        "[markdown]",
        &format!("What was asked, number {id}."),
    )
}

fn asked(id: usize, metadata: &str) -> String {
    cell(
        "%%",
        &id.to_string(),
        &format!("[markdown] {metadata}"),
        &format!("Question {id}."),
    )
}

fn answer(id: &str) -> String {
    let facts = "time=\"2026-11-18T08:00:00.123Z\" tokens=1200/90 cost=0.00048";
    cell(
        "%%%",
        id,
        &format!("[coder] {facts}"),
        &format!("What was answered, number {id}."),
    )
}

fn said(id: usize) -> String {
    if id % 2 == 1 {
        question(&id.to_string())
    } else {
        answer(&id.to_string())
    }
}

fn cells(count: usize) -> String {
    many(count, said)
}

fn typed_cells(count: usize) -> String {
    many(count, |id| {
        format!("# %%\n\nTyped by hand, number {id}.\n\n# %%%\n\nPasted.\n\n")
    })
}

fn empty_cells(count: usize) -> String {
    many(count, |_| "# %%\n".to_string())
}

fn attributes(count: usize) -> String {
    let all: String = (0..count).map(|at| format!(" key{at}=value{at}")).collect();
    file(&format!("{}{}", asked(3, all.trim_start()), answer("4")))
}

fn repeated_attributes(count: usize) -> String {
    let all = " history=include note=\"a\\tb\"".repeat(count / 2);
    file(&format!("{}{}", asked(3, &all), answer("4")))
}

fn unanswered(count: usize) -> String {
    many(count, |id| question(&id.to_string()))
}

fn unanswered_typed(count: usize) -> String {
    many(count, |id| format!("# %%\n\nQuestion {id}.\n\n"))
}

fn unanswered_alike(count: usize) -> String {
    many(count, |_| "# %%\n\nAre you there?\n\n".to_string())
}

fn side_chains(count: usize) -> String {
    many(count, |id| asked(id, &format!("agent_id=helper{id}")))
}

fn long_side_chain(count: usize) -> String {
    many(count, |id| asked(id, "agent_id=helper"))
}

fn branches(count: usize) -> String {
    many(count, |id| asked(id, "parent=2"))
}

fn forks_on_the_way(count: usize) -> String {
    many(count, |id| {
        let parent = format!("parent={}", if id < 6 { 2 } else { id - 3 });
        if id % 3 == 0 {
            asked(id, &parent)
        } else {
            asked(id, &format!("{parent} note=x"))
        }
    })
}

fn agents(count: usize) -> String {
    let all: String = (0..count)
        .map(|at| format!("  agent{at}: {{models: [openai/gpt-{at}]}}\n"))
        .collect();
    let cells: String = (3..count + 3)
        .map(|id| {
            cell(
                "%%%",
                &id.to_string(),
                &format!("[agent{id}]"),
                "An answer.",
            )
        })
        .collect();
    let last = question("last");
    format!(
        "---\nagents:\n{all}---\n\n{}{}{cells}{last}",
        question("1"),
        answer("2")
    )
}

fn agent_cells(count: usize) -> String {
    many(count, |id| {
        cell(
            "%%",
            &id.to_string(),
            &format!("[agent] name=a{id} models=openai/gpt-{id}"),
            "",
        )
    })
}

fn hidden_cells(count: usize) -> String {
    many(count, |id| asked(id, "history=none"))
}

fn hidden_parts(count: usize) -> String {
    many(count, |id| {
        cell(
            "%%%",
            &format!("{id}.think"),
            "[thinking] history=none",
            "A thought.",
        ) + &cell("%%%", &id.to_string(), "[coder] history=none", "An answer.")
    })
}

fn summaries(count: usize) -> String {
    many(count, |id| {
        let through = if id == 3 {
            "2".to_string()
        } else {
            format!("s{}", id - 1)
        };
        cell(
            "%%%",
            &format!("s{id}"),
            &format!("[summary] through=\"{through}\""),
            "So far.",
        )
    })
}

fn own_summaries(count: usize) -> String {
    many(count, |id| {
        asked(id, "history=summary summary=\"In short.\"")
    })
}

fn code_outputs(count: usize) -> String {
    many(count, |id| {
        cell("%%", &id.to_string(), "[code]", "```sh\nls\n```")
            + &cell(
                "%%%",
                &format!("{id}.1"),
                "[sh] status=success",
                "stdout> file",
            )
    })
}

fn outputs_of_one_code(count: usize) -> String {
    let code = cell("%%", "3", "[code]", "```sh\nls\n```");
    let output = |at| {
        cell(
            "%%%",
            &format!("3.1-{at}"),
            "[sh] status=success",
            "stdout> file",
        )
    };
    file(&(1..=count).fold(code, |text, at| text + &output(at)))
}

fn call(id: &str) -> String {
    let text = "<invoke name=\"read\">\n<parameter name=\"path\">a.md</parameter>\n</invoke>";
    cell("%%%", id, "[tool] name=read", text)
}

fn call_with(id: &str, more: &str) -> String {
    call(id).replacen("name=read", &format!("name=read {more}"), 1)
}

fn result(id: &str) -> String {
    cell(
        "%%%",
        &format!("{id}.1"),
        "[tool] status=success",
        "The text of the file.",
    )
}

fn tool_pairs(count: usize) -> String {
    many(count, |id| {
        answer(&id.to_string()) + &call(&format!("{id}.nonce")) + &result(&format!("{id}.nonce"))
    })
}

fn calls_of_one_answer(count: usize) -> String {
    let calls: String = (0..count).map(|at| call(&format!("3.n{at}"))).collect();
    let results: String = (0..count).map(|at| result(&format!("3.n{at}"))).collect();
    file(&format!("{}{calls}{results}", answer("3")))
}

fn calls_before_the_answer(count: usize) -> String {
    let calls: String = (0..count).map(|at| call(&format!("3.n{at}"))).collect();
    file(&format!("{calls}{}", answer("3")))
}

fn hidden_calls(count: usize) -> String {
    many(count, |id| {
        let name = format!("{id}.nonce");
        answer(&id.to_string()) + &call_with(&name, "history=none") + &result(&name)
    })
}

fn thoughts(count: usize) -> String {
    many(count, |id| {
        cell("%%%", &format!("{id}.think"), "[thinking]", "A thought.") + &answer(&id.to_string())
    })
}

fn thoughts_of_one_answer(count: usize) -> String {
    let thought = |at| cell("%%%", &format!("3.think{at}"), "[thinking]", "A thought.");
    file(&format!(
        "{}{}",
        (1..=count).map(thought).collect::<String>(),
        answer("3")
    ))
}

fn parts_of_a_hidden_answer(count: usize) -> String {
    let thought = |at| cell("%%%", &format!("3.think{at}"), "[thinking]", "A thought.");
    let thoughts: String = (1..=count).map(thought).collect();
    file(&format!(
        "{thoughts}{}",
        cell("%%%", "3", "[coder] history=none", "An answer.")
    ))
}

fn texts_of_one_answer(count: usize) -> String {
    let text = |at| cell("%%%", &format!("3.text{at}"), "[coder]", "More.");
    file(&format!(
        "{}{}",
        answer("3"),
        (2..=count).map(text).collect::<String>()
    ))
}

fn headings(count: usize) -> String {
    let text: String = (0..count)
        .map(|at| format!("## Section {at}\n\nText.\n\n"))
        .collect();
    file(&cell("%%%", "3", "[coder]", text.trim_end()))
}

fn fences(count: usize) -> String {
    let text = "```rust\n# %% no cell\n```\n- ```\n  x\n  ```\n".repeat(count / 2);
    file(&cell("%%%", "3", "[coder]", text.trim_end()))
}

fn open_fences(count: usize) -> String {
    let text: String = (0..count)
        .map(|at| format!("{}x\n# %%\n", "`".repeat(3 + at % 40)))
        .collect();
    file(&cell("%%%", "3", "[coder]", text.trim_end()))
}

fn footnotes(count: usize) -> String {
    let text: String = (0..count).map(|at| format!("[^{at}]: A note.\n")).collect();
    file(&cell("%%%", "3", "[coder]", text.trim_end()))
}

fn long_line(count: usize) -> String {
    file(&cell("%%%", "3", "[coder]", &"word ".repeat(count / 5)))
}

fn brackets(count: usize) -> String {
    file(&cell("%%%", "3", "[coder]", &"[*`<![^".repeat(count / 7)))
}

fn parents(count: usize) -> String {
    many(count, |id| asked(id, &format!("parent={}", id - 1)))
}

fn same_parent(count: usize) -> String {
    many(count, |id| {
        let parent = if id % 2 == 1 { 2 } else { id - 1 };
        let id = id.to_string();
        let text = format!("Said {id}.");
        if parent == 2 {
            cell("%%", &id, "[markdown] parent=2", &text)
        } else {
            cell("%%%", &id, &format!("[coder] parent={parent}"), &text)
        }
    })
}

fn same_ids(count: usize) -> String {
    many(count, |id| {
        if id % 2 == 1 {
            question("7")
        } else {
            answer("8")
        }
    })
}

fn dotted_ids(count: usize) -> String {
    many(count, |id| {
        cell("%%%", &format!("{}.a.b-c.{id}", id / 2), "[coder]", "Odd.")
    })
}

fn pending(count: usize) -> String {
    many(count, |id| {
        cell(
            "%%%",
            &id.to_string(),
            "[coder] status=pending output_file=a/b.txt",
            "",
        )
    })
}

fn failures(count: usize) -> String {
    many(count, |id| {
        let word = if id % 2 == 1 {
            "[coder] error=1"
        } else {
            "[coder] stop_reason=interrupted"
        };
        cell(
            "%%%",
            &id.to_string(),
            word,
            if id % 2 == 1 { "It failed." } else { "" },
        )
    })
}

fn attachments(count: usize) -> String {
    many(count, |id| {
        cell(
            "%%%",
            &format!("a{id}"),
            "[attachment] kind=file path=notes.md",
            "What is in it.",
        )
    })
}

fn details(count: usize) -> String {
    let line = |id| format!("{{\"cell\":\"{id}\",\"fields\":{{\"x\":{id}}}}}\n");
    let lines: String = (3..count + 3).map(line).collect();
    let details = cell(
        "%%%",
        "details",
        "[details] history=none",
        &format!("```json\n{lines}```"),
    );
    many(count, said) + &details
}

fn problems(count: usize) -> String {
    many(count, |id| {
        asked(
            id,
            &format!("parent=none{id} history=maybe junk\" part=x{id}"),
        )
    })
}
