//! How `list` and `show` mark cells that the model does not see, and which question an output belongs to.

use serde_json::Value;

use crate::sandbox::{Sandbox, assert_success};
use crate::server::{Server, answer};

const FILE: &str = "---\nagents:\n  coder:\n    models: [openai/tiny]\n---\n\n\
    # %% [^1]\n\n[^1]: [markdown]\n\nsix times seven?\n\n\
    # %%% [^2]\n\n[^2]: [coder]\n\nForty-two.\n\n\
    # %% [^3]\n\n[^3]: [markdown]\n\nand eight?\n\n\
    # %%% [^4]\n\n[^4]: [coder]\n\nForty-eight.\n";

fn sandbox_with_file() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("a.msg.md", FILE);
    sandbox
}

/// The marked cells, as `name:mark`.
fn marked_cells(sandbox: &Sandbox) -> Vec<String> {
    let shown = sandbox.show_json("a.msg.md");
    let cells = shown["cells"].as_array().unwrap().iter();
    let marked = cells.filter(|cell| !cell["unseen"].is_null());
    let word = |value: &Value| value.as_str().unwrap().to_string();
    marked
        .map(|cell| format!("{}:{}", word(&cell["name"]), word(&cell["unseen"])))
        .collect()
}

#[test]
fn a_fully_visible_file_has_no_marks() {
    let sandbox = sandbox_with_file();
    assert!(marked_cells(&sandbox).is_empty());
    let shown = "1  user         line 7   six times seven?\n2  reply coder  line 13  Forty-two.\n\
                 3  user         line 19  and eight?\n4  reply coder  line 25  Forty-eight.\n";
    sandbox.run(&["show", "a.msg.md"]).assert_prints(shown);
}

#[test]
fn dropped_cells_are_marked_as_hidden() {
    let sandbox = sandbox_with_file();
    assert_success(&sandbox.run(&["drop", "a.msg.md", "2"]));
    assert_eq!(marked_cells(&sandbox), ["2:hidden"]);
    let shown = "1  user         line 7           six times seven?\n\
                 2  reply coder  line 13  hidden  Forty-two.\n\
                 3  user         line 19          and eight?\n\
                 4  reply coder  line 25          Forty-eight.\n";
    sandbox.run(&["show", "a.msg.md"]).assert_prints(shown);
    let listed = "2  reply coder  line 13  of 1  hidden  Forty-two.\n\
         4  reply coder  line 25  of 3          Forty-eight.\n";
    sandbox
        .run(&["list", "a.msg.md/output"])
        .assert_prints(listed);
    // No item is hidden, so there is no note.
    let listed =
        "1  user  line 7, 1 output   six times seven?\n3  user  line 19, 1 output  and eight?\n";
    sandbox.run(&["list", "a.msg.md"]).assert_prints(listed);
    assert_success(&sandbox.run(&["restore", "a.msg.md", "2"]));
    assert!(marked_cells(&sandbox).is_empty());
}

#[test]
fn an_edited_question_stays_one_cell_with_its_answer() {
    let sandbox = sandbox_with_file();
    assert_eq!(
        assert_success(&sandbox.run(&["edit", "a.msg.md", "1", "seven times six?"])),
        "1"
    );
    assert!(marked_cells(&sandbox).is_empty());
    let listed =
        "1  user  line 7, 1 output   seven times six?\n3  user  line 19, 1 output  and eight?\n";
    sandbox.run(&["list", "a.msg.md"]).assert_prints(listed);
    let outputs = assert_success(&sandbox.run(&["list", "a.msg.md/output"])).to_string();
    assert!(
        outputs.starts_with("2  reply coder  line 13  of 1  Forty-two."),
        "{outputs}"
    );
    let shown = sandbox.show_json("a.msg.md");
    let cells = shown["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 4, "{shown}");
    assert!(
        cells.iter().all(|cell| cell.get("edited_by").is_none()),
        "{shown}"
    );
}

#[test]
fn rewind_marks_the_cells_of_the_other_branch() {
    let server = Server::new(vec![answer(&["42."]), answer(&["56."])]);
    let sandbox = sandbox_with_file().with_server(&server.base_url);
    assert_success(&sandbox.run(&["rewind", "a.msg.md", "1"]));
    assert_success(&sandbox.run(&["chat", "a.msg.md"]));
    assert_eq!(marked_cells(&sandbox), ["2:branch", "3:branch", "4:branch"]);
    let listed = "1  user  line 7, 2 outputs                six times seven?\n\
                  3  user  line 19, 1 output  other branch  and eight?\n";
    sandbox.run(&["list", "a.msg.md"]).assert_prints(listed);
    let outputs = sandbox.run(&["list", "a.msg.md/output"]);
    let belongs: Vec<String> = assert_success(&outputs)
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(
        belongs[0],
        "2 reply coder line 13 of 1 other branch Forty-two."
    );
    assert_eq!(
        belongs[1],
        "4 reply coder line 25 of 3 other branch Forty-eight."
    );
    assert_eq!(
        (&*belongs[2], belongs.len()),
        ("5 reply coder line 31 of 1 42.", 3)
    );
    // The new question and its answer belong together; the hint leads back to the first branch.
    assert_success(&sandbox.run(&["chat", "a.msg.md", "times eight?"]));
    assert_success(&sandbox.run(&["rewind", "a.msg.md", "4"]));
    let marks = marked_cells(&sandbox);
    assert!(
        marks.iter().all(|mark| mark.ends_with(":branch")),
        "{marks:?}"
    );
    assert_eq!(marks.len(), 3, "{marks:?}");
    let shown = sandbox.show_json("a.msg.md");
    let cells = shown["cells"].as_array().unwrap();
    let parent = |text: &str| {
        let cell = cells.iter().find(|cell| cell["content"] == text).unwrap();
        cells
            .iter()
            .find(|other| other["name"] == cell["parent"])
            .unwrap()["content"]
            .clone()
    };
    assert_eq!(parent("42."), "six times seven?");
    assert_eq!(parent("56."), "times eight?");
    assert_eq!(parent("Forty-eight."), "and eight?");
}

#[test]
fn other_unsent_cells_are_marked() {
    let sandbox = Sandbox::new();
    let file = "# %% [^1]\n\n[^1]: [markdown]\n\none\n\n# %%% [^2]\n\n[^2]: [coder]\n\ntwo\n\n\
        # %%% [^s]\n\n[^s]: [summary]\n\nthey counted\n\n\
        # %%% [^b]\n\n[^b]: [compact_boundary] summary_id=s\n\n\
        # %% [^3]\n\n[^3]: [markdown]\n\nthree\n\n\
        # %%% [^x]\n\n[^x]: [coder] agent_id=side\n\nbeside\n\n\
        # %%% [^4]\n\n[^4]: [coder]\n\nfour\n\n\
        # %%% [^4.k]\n\n[^4.k]: [tool] name=\"w\" history=none\n\n<invoke name=\"w\"></invoke>\n\n\
        # %%% [^4.k.1]\n\n[^4.k.1]: [tool] status=success\n\nsun\n\n\
        # %% [^5]\n\n[^5]: [markdown]\n\ntaken\n\n\
        # %%% [^t]\n\n[^t]: [tombstone] target=5\n";
    sandbox.write("a.msg.md", file);
    let expected = [
        "1:compacted",
        "2:compacted",
        "x:side chain",
        "4.k:hidden",
        "4.k.1:hidden",
        "5:taken back",
    ];
    assert_eq!(marked_cells(&sandbox), expected);
}
