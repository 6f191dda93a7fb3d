//! `edit`, `drop`, `rewind` and `fork` in a file with a compaction: nothing is lost, and a command that would have
//! no effect is refused.

use analects_core::{History, chain};

use crate::sandbox::{Sandbox, assert_success};
use crate::server::{Server, answer};

const HEAD: &str = "---\ndefault_agent: t\nagents:\n  t: {models: [openai/tiny], context_window: 600, max_output_tokens: 100}\n---\n\n";

/// A compacted file of six rounds whose questions have no ids.
fn compacted_file() -> Sandbox {
    let server = Server::new(vec![answer(&["They spoke of rivers."]); 5]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let answer = "The river flows to the sea. ".repeat(4);
    let round = |n: usize| {
        format!(
            "# %%\n\nQuestion {n}?\n\n# %%% [^r{n}]\n\n[^r{n}]: [t]\n\nAnswer {n}. {answer}\n\n"
        )
    };
    let rounds: String = (0..6).map(round).collect();
    let system = "# %%% [^sys]\n\n[^sys]: [system]\n\nBe brief.\n\n";
    sandbox.write("a.msg.md", format!("{HEAD}{system}{rounds}"));
    assert_success(&sandbox.run(&["compact", "a.msg.md"]));
    sandbox
}

/// The texts that the model sees.
#[track_caller]
fn visible_texts(sandbox: &Sandbox) -> String {
    assert_eq!(sandbox.run(&["check", "a.msg.md"]).code, Some(0));
    let decoded = sandbox.messages("a.msg.md");
    let chain = chain(&decoded.messages);
    assert_eq!((decoded.problems.len(), chain.problems.len()), (0, 0));
    let shown = chain
        .messages
        .iter()
        .filter(|message| message.history != History::Exclude);
    let texts: Vec<String> = shown.map(|message| message.text()).collect();
    texts.join("\n")
}

/// The name of the last cell with this role.
fn last_cell_of_role(sandbox: &Sandbox, role: &str) -> String {
    let shown = sandbox.show_json("a.msg.md");
    let cells = shown["cells"].as_array().unwrap();
    let cell = cells.iter().rfind(|cell| cell["role"] == role).unwrap();
    cell["name"].as_str().unwrap().to_string()
}

/// The first question after the summary: its cell and its text.
fn first_kept_question(sandbox: &Sandbox) -> (String, String) {
    let shown = sandbox.show_json("a.msg.md");
    let cells = shown["cells"].as_array().unwrap();
    let summary = cells.iter().find(|cell| cell["role"] == "summary").unwrap();
    let through = &summary["attributes"]["through"];
    let last = cells
        .iter()
        .position(|cell| cell["name"] == *through)
        .unwrap();
    let word = |key: &str| cells[last + 1][key].as_str().unwrap().to_string();
    assert_eq!(word("role"), "user", "{shown}");
    (word("name"), word("content"))
}

#[test]
fn editing_a_summarised_cell_changes_nothing_that_is_sent() {
    let sandbox = compacted_file();
    let before = visible_texts(&sandbox);
    assert!(
        before.contains("They spoke of rivers.") && before.contains("Question 5?"),
        "{before}"
    );
    assert!(!before.contains("Question 0?"), "{before}");
    assert_success(&sandbox.run(&["edit", "a.msg.md", "r0", "x"]));
    assert_eq!(visible_texts(&sandbox), before);
}

#[test]
fn changing_a_summarised_cell_says_that_the_summary_is_sent() {
    let told = |cell: &str| {
        format!(
            "a summary replaces cell {cell}, and the model sees only the summary; \
             analects compact a.msg.md --undo hides the summary\n"
        )
    };
    let sandbox = compacted_file();
    let before = visible_texts(&sandbox);
    for args in [
        &["drop", "a.msg.md", "r0"][..],
        &["restore", "a.msg.md", "r0"],
        &["edit", "a.msg.md", "r0", "x"],
    ] {
        let run = sandbox.run(args);
        assert_success(&run);
        assert!(run.stderr.contains(&told("r0")), "{args:?}: {}", run.stderr);
        assert_eq!(visible_texts(&sandbox), before);
    }
    // Cells that are kept need no message.
    for args in [
        &["drop", "a.msg.md", "r5"][..],
        &["edit", "a.msg.md", "r5", "x"],
    ] {
        let run = sandbox.run(args);
        assert_success(&run);
        assert!(
            !run.stderr.contains("a summary"),
            "{args:?}: {}",
            run.stderr
        );
    }
    for (choice, words) in [("-i", "cell r1"), ("-e", "cell r1")] {
        let server = Server::new(vec![answer(&["Fine."])]);
        let sandbox = compacted_file().with_server(&server.base_url);
        let run = sandbox.run(&["chat", "a.msg.md", "Now?", choice, "r1,r5"]);
        assert_eq!(assert_success(&run), "Fine.");
        let told = format!("a summary replaces {words}, and the model sees only the summary");
        assert!(run.stderr.contains(&told), "{choice}: {}", run.stderr);
    }
}

#[test]
fn a_summary_cannot_be_excluded_with_save() {
    let server = Server::new(vec![answer(&["Fine."])]);
    let sandbox = compacted_file().with_server(&server.base_url);
    let summary = last_cell_of_role(&sandbox, "summary");
    let run = sandbox.run(&["chat", "a.msg.md", "Now?", "-e", &summary, "--save"]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(
        run.stderr.contains("it is the summary of a compaction"),
        "{}",
        run.stderr
    );
    assert!(visible_texts(&sandbox).contains("They spoke of rivers."));
}

#[test]
fn the_summary_and_the_first_kept_question_can_be_edited() {
    let sandbox = compacted_file();
    let (name, text) = first_kept_question(&sandbox);
    let before = visible_texts(&sandbox);
    assert_success(&sandbox.run(&["edit", "a.msg.md", &name, "Another one?"]));
    let asked = before.replace(&text, "Another one?");
    assert_eq!(visible_texts(&sandbox), asked);
    let summary = last_cell_of_role(&sandbox, "summary");
    assert_success(&sandbox.run(&["edit", "a.msg.md", &summary, "Of streams."]));
    let after = visible_texts(&sandbox);
    assert!(
        after.contains("Of streams.") && after.contains("Another one?"),
        "{after}"
    );
    assert!(!after.contains("They spoke of rivers."), "{after}");
    // After the undo, the model sees neither summary; after a restore, it sees the edited one.
    assert_success(&sandbox.run(&["compact", "a.msg.md", "--undo"]));
    let after = visible_texts(&sandbox);
    assert!(
        after.contains("Question 0?") && after.contains("Another one?"),
        "{after}"
    );
    assert!(
        !after.contains("Of streams.") && !after.contains("They spoke"),
        "{after}"
    );
    assert_success(&sandbox.run(&["restore", "a.msg.md", &summary]));
    let after = visible_texts(&sandbox);
    assert!(
        after.contains("Of streams.") && !after.contains("Question 0?"),
        "{after}"
    );
    let old = sandbox.run(&["recover", "a.msg.md", &summary]);
    assert_eq!(assert_success(&old), summary);
    assert_eq!(visible_texts(&sandbox), asked);
}

#[test]
fn instructions_are_edited_in_the_copy_after_the_summary() {
    let sandbox = compacted_file();
    let before = visible_texts(&sandbox);
    let copy = last_cell_of_role(&sandbox, "system");
    assert_ne!(copy, "sys");
    let run = sandbox.run(&["edit", "a.msg.md", "sys", "Be long."]);
    assert_eq!(assert_success(&run), "sys");
    assert!(
        run.stderr.contains("a summary replaces cell sys"),
        "{}",
        run.stderr
    );
    assert_eq!(visible_texts(&sandbox), before);
    let run = sandbox.run(&["edit", "a.msg.md", &copy, "Be quick."]);
    assert_eq!(assert_success(&run), copy);
    assert!(!run.stderr.contains("a summary"), "{}", run.stderr);
    assert_eq!(
        visible_texts(&sandbox),
        before.replace("Be brief.", "Be quick.")
    );
    // Text that a person edited no longer belongs to the compaction, and stays after an undo.
    assert_success(&sandbox.run(&["compact", "a.msg.md", "--undo"]));
    let after = visible_texts(&sandbox);
    assert!(
        after.contains("Be long.") && after.contains("Be quick."),
        "{after}"
    );
}

#[test]
fn undoing_a_compaction_takes_its_copied_instructions_along() {
    let sandbox = compacted_file();
    let (before, file) = (visible_texts(&sandbox), sandbox.read("a.msg.md"));
    let (summary, copy) = (
        last_cell_of_role(&sandbox, "summary"),
        last_cell_of_role(&sandbox, "system"),
    );
    let both = format!("{summary}\n{copy}");
    for undo in [
        &["drop", "a.msg.md", &summary][..],
        &["compact", "a.msg.md", "--undo"],
    ] {
        let run = sandbox.run(undo);
        assert_eq!(
            assert_success(&run),
            if undo[0] == "drop" { &*both } else { "" }
        );
        let after = visible_texts(&sandbox);
        assert!(
            after.contains("Question 0?") && !after.contains("They spoke"),
            "{after}"
        );
        assert_eq!(after.matches("Be brief.").count(), 1, "{after}");
        assert_eq!(
            assert_success(&sandbox.run(&["restore", "a.msg.md", &summary])),
            both
        );
        assert_eq!(
            (visible_texts(&sandbox), sandbox.read("a.msg.md")),
            (before.clone(), file.clone())
        );
    }
}

#[test]
fn a_summary_of_a_missing_cell_is_a_problem_and_is_ignored() {
    let sandbox = compacted_file();
    let file = sandbox.read("a.msg.md");
    sandbox.write("a.msg.md", file.replace("through=\"r4\"", "through=\"r9\""));
    let check = sandbox.run(&["check", "a.msg.md"]);
    assert_eq!(check.code, Some(1), "{}", check.stderr);
    assert!(check.stderr.contains("unknown-through"), "{}", check.stderr);
    let run = sandbox.run(&["context", "a.msg.md", "--request"]);
    assert!(
        assert_success(&run).contains("Question 0?"),
        "{}",
        run.stdout
    );
}

#[test]
fn rewind_before_a_compaction_says_that_its_summary_is_ignored() {
    let sandbox = compacted_file();
    let summary = last_cell_of_role(&sandbox, "summary");
    let compaction = sandbox.read("a.msg.md");
    let before = visible_texts(&sandbox);
    let run = sandbox.run(&["rewind", "a.msg.md", "r5"]);
    assert_success(&run);
    let told = format!(
        "the summary cell {summary} does not count there: the model sees all messages before it\n"
    );
    assert!(run.stderr.starts_with(&told), "{}", run.stderr);
    assert!(visible_texts(&sandbox).contains("Question 0?"));
    // Rewinding to the summary means to the end of the compaction.
    sandbox.write("a.msg.md", compaction + "\n# %%\n\nAnd now?\n");
    let run = sandbox.run(&["rewind", "a.msg.md", &summary]);
    assert_success(&run);
    assert!(!run.stderr.contains("does not count"), "{}", run.stderr);
    assert_eq!(visible_texts(&sandbox), before);
}

/// The texts that the model sees after a rewind to a cell, and in a fork up to that cell.
#[track_caller]
fn visible_after_rewind_and_fork(sandbox: &Sandbox, cell: &str) -> (String, String) {
    let file = sandbox.read("a.msg.md");
    assert_success(&sandbox.run(&[
        "fork",
        "a.msg.md",
        "--at",
        cell,
        "-o",
        "copy.msg.md",
        "--force",
    ]));
    sandbox.write("a.msg.md", sandbox.read("copy.msg.md"));
    let copied = visible_texts(sandbox);
    sandbox.write("a.msg.md", &file);
    assert_success(&sandbox.run(&["rewind", "a.msg.md", cell]));
    let rewound = visible_texts(sandbox);
    sandbox.write("a.msg.md", file);
    (copied, rewound)
}

#[test]
fn fork_does_not_restore_an_undone_compaction() {
    let sandbox = compacted_file();
    assert_success(&sandbox.run(&["compact", "a.msg.md", "--undo"]));
    sandbox.write(
        "a.msg.md",
        sandbox.read("a.msg.md") + "\n# %% [^end]\n\n[^end]: [x]\n\nAnd now?\n",
    );
    let summary = last_cell_of_role(&sandbox, "summary");
    let copy = sandbox.run(&["fork", "a.msg.md", "--at", &summary, "-o", "copy.msg.md"]);
    assert_eq!((copy.code, &*copy.stderr), (Some(0), ""));
    sandbox.write("a.msg.md", sandbox.read("copy.msg.md"));
    let copied = visible_texts(&sandbox);
    assert!(
        copied.contains("Question 0?") && !copied.contains("They spoke"),
        "{copied}"
    );
    assert!(!copied.contains("And now?"), "{copied}");
    // It can still be restored.
    assert_success(&sandbox.run(&["restore", "a.msg.md", &summary]));
    let restored = visible_texts(&sandbox);
    assert!(
        restored.contains("They spoke") && !restored.contains("Question 0?"),
        "{restored}"
    );
}

#[test]
fn rewind_says_which_earlier_summary_applies() {
    let sandbox = compacted_file();
    let first = last_cell_of_role(&sandbox, "summary");
    let long = "The river flows to the sea. ".repeat(4);
    let rounds: String = (6..12)
        .map(|n| {
            format!(
                "\n# %%\n\nQuestion {n}?\n\n# %%% [^r{n}]\n\n[^r{n}]: [t]\n\nAnswer {n}. {long}\n"
            )
        })
        .collect();
    sandbox.write(
        "a.msg.md",
        sandbox.read("a.msg.md").trim_end().to_string() + "\n" + &rounds,
    );
    assert_success(&sandbox.run(&["compact", "a.msg.md"]));
    let second = last_cell_of_role(&sandbox, "summary");
    assert_ne!(first, second);
    let told = format!(
        "the summary cell {second} does not count there: the earlier summary cell {first} does, and the model sees the messages after it\n"
    );
    let run = sandbox.run(&["fork", "a.msg.md", "--at", "r7", "-o", "copy.msg.md"]);
    assert_success(&run);
    assert_eq!(run.stderr, told);
    let (copied, rewound) = visible_after_rewind_and_fork(&sandbox, "r7");
    assert_eq!(copied, rewound);
    assert!(
        copied.contains("They spoke of rivers.") && !copied.contains("Question 0?"),
        "{copied}"
    );
    let run = sandbox.run(&["rewind", "a.msg.md", "r7"]);
    assert!(run.stderr.starts_with(&told), "{}", run.stderr);
}

#[test]
#[cfg(unix)]
fn undo_skips_a_compaction_that_was_already_undone() {
    use crate::pseudo_terminal::{press, run_steps};
    let sandbox = compacted_file();
    assert_success(&sandbox.run(&["compact", "a.msg.md", "--undo"]));
    let more =
        "\n# %% [^qa]\n\n[^qa]: [markdown]\n\nAfter?\n\n# %%% [^ra]\n\n[^ra]: [t]\n\nAfter.\n";
    sandbox.write("a.msg.md", sandbox.read("a.msg.md") + more);
    let steps = vec![
        press("> ", "/undo\r"),
        // The hidden summary is in the file, but the model does not see it.
        press("continues from cell s1;", ""),
        press("> ", "/undo\r"),
        press("continues from cell r4;", ""),
        press("> ", "\u{4}"),
    ];
    let command = sandbox.command(&["chat", "a.msg.md"]);
    let Some((shown, code)) = run_steps(&sandbox, &command, steps) else {
        return crate::sandbox::skip(
            "undo_skips_a_compaction_that_was_already_undone",
            "there is no Python to make a terminal",
        );
    };
    assert_eq!(code, 0, "{shown}");
    let seen = visible_texts(&sandbox);
    assert!(
        seen.contains("Question 0?") && seen.contains("Answer 4."),
        "{seen}"
    );
    assert!(
        !seen.contains("Question 5?") && !seen.contains("They spoke"),
        "{seen}"
    );
}
