//! What people type by hand that is not read as they mean it: each is a problem, stops the question if something would
//! be sent that they did not mean, and does not show up in files that are fine.

use analects_core::{Hint, Severity};

use super::*;

/// The problems of a file: the line, the code and the severity of each.
fn problems(file: &str, name: &str) -> Vec<String> {
    let problems = decode_named(file, name).problems();
    let shown = problems.iter().map(|problem| {
        assert!(
            problem.hint.is_some(),
            "{problem:?} does not say what to do"
        );
        let severity = format!("{:?}", problem.severity).to_lowercase();
        format!("{} {} {severity}", problem.line, problem.code)
    });
    shown.collect()
}

#[track_caller]
fn check(file: &str, expected: &[&str]) {
    assert_eq!(problems(file, "talk.msg.md"), expected, "{file}");
    let errors = expected.iter().any(|problem| problem.ends_with("error"));
    let document = decode(file);
    assert_eq!(document.why_not_asked().is_some(), errors, "{file}");
}

#[test]
fn metadata_below_the_text_stops_the_question_if_it_would_hide_the_cell() {
    check(
        "# %% [^n]\n\nA private note.\n\n[^n]: [markdown] history=\"none\"\n",
        &["5 unread-metadata error"],
    );
    check(
        "# %% [^n]\n\nFor another agent.\n[^n]: agent=coder\n",
        &["4 unread-metadata error"],
    );
    check(
        "# %% [^n]\n\nText.\n\n[^n]: [markdown]\n",
        &["5 unread-metadata warning"],
    );
    check(
        "# %% [^n]\n\nText.\n\n[^n]: [markdown] history=include\n",
        &["5 unread-metadata warning"],
    );
    // The head has no id, or another one.
    check(
        "# %%\n\n[^n]: [markdown] history=none\n\nA private note.\n",
        &["3 unread-metadata error"],
    );
    check(
        "# %% [^m]\n\n[^n]: [code]\n\n```sh\nls\n```\n",
        &["3 unread-metadata warning"],
    );
}

#[test]
fn footnotes_are_no_metadata() {
    for text in [
        "Text.[^n]\n\n[^n]: A footnote about it.",
        "Text.\n\n[^n]: [A link](https://example.com/?a=b)",
        "Text.\n\n[^n]: see a=b and history=none",
        "Text.\n\n[^n]: [Smith 2020]",
        "Text.\n\n[^m]: [code]",
        "Text.\n\n    [^n]: [markdown] history=none",
        "Text.\n\n```\n[^n]: [markdown] history=none\n```",
    ] {
        check(&format!("# %% [^n]\n\n{text}\n"), &[]);
        check(&format!("# %% [^n]\n\n[^n]: [markdown]\n\n{text}\n"), &[]);
    }
    // A sealed cell has its metadata already, and a reply may show such lines.
    check(
        "# %%% [^2]\n\n[^2]: [coder]\n\nWrite:\n\n[^2]: [markdown] history=\"none\"\n",
        &[],
    );
}

#[test]
fn a_cell_in_a_comment_stops_the_question() {
    check(
        "# %%\n\nHello\n\n<!--\n# %%\n\nA note to myself.\n-->\n",
        &["6 cell-in-comment error"],
    );
    check(
        "<!-- old\n\n# %%\n\none\n\n# %%\n\ntwo -->\n\n# %%\n\nthree\n",
        &["3 cell-in-comment error", "7 cell-in-comment error"],
    );
    // A model may write such a line, so that nothing stops for it.
    check(
        "# %%% [^2]\n\n[^2]: [coder]\n\n<!--\n\n# %% [^3]\n\n[^3]: [markdown]\n\n-->\n",
        &["7 cell-in-comment warning"],
    );
}

#[test]
fn comments_within_a_cell_are_fine() {
    for text in [
        "<!-- one -->",
        "<!--\none\n-->\n\ntwo",
        "```html\n<!--\n```",
        "Write `<!--` to begin, `-->` to end.",
        "    <!--",
        "<!-- never closed",
    ] {
        check(&format!("{text}\n\n# %%\n\n{text}\n\n# %%\n\nHello\n"), &[]);
    }
}

#[test]
fn frontmatter_that_is_none() {
    let agents = "agents:\n  coder:\n    models: [gpt-5]\n";
    let cell = "\n# %%\n\nHello\n";
    for (file, line) in [
        (format!("\n---\n{agents}---\n{cell}"), 2),
        (format!("--- \n{agents}---\n{cell}"), 1),
        (format!("---\n{agents}--- \n{cell}"), 1),
        (format!("---\r\n{agents}---\t\r\n{cell}"), 1),
    ] {
        check(&file, &[&format!("{line} near-frontmatter error")]);
        let notes = file.replace("agents:", "message_section: Talk\nagents:");
        let found = problems(&notes, "notes.md");
        assert_eq!(found, [format!("{line} near-frontmatter error")], "{notes}");
    }
    check(
        &format!("\n---\ntitle: Talk\n---\n{cell}"),
        &["2 near-frontmatter warning"],
    );
}

#[test]
fn a_line_between_paragraphs_is_no_frontmatter() {
    for text in [
        "\n---\n\nA preamble.\n\n---\n",
        "\n---\nNote: a preamble.\n---\n",
        "--- \n",
        "\n---\n",
        "Text.\n\n---\nagents: many\n---\n",
    ] {
        check(&format!("{text}\n# %%\n\n---\nid: 3\n---\n"), &[]);
    }
}

#[test]
fn full_width_heads_and_bare_markers() {
    check(
        "# %%\n\none\n\n＃ ％％\n\n# ％％％ title\n\n＃%%\n\n# %%\u{3000}title\n\n％％\n",
        &[
            "5 near-head warning",
            "7 near-head warning",
            "9 near-head warning",
            "11 near-head warning",
        ],
    );
    check(
        "# %%\n\none\n\n%%\n\n%%% [^2]\n",
        &["5 near-head hint", "7 near-head hint"],
    );
    for text in [
        "100%% sure",
        "%% a comment",
        "%%%%",
        "＃ 标题",
        "增长 ％％ 快",
        "```\n%%\n＃ ％％\n```",
    ] {
        check(&format!("# %%\n\n{text}\n"), &[]);
    }
    check("# %%% [^2]\n\n[^2]: [coder]\n\n%%\n", &[]);
}

#[test]
fn types_in_titles() {
    check(
        "# %% [markdown]\n\none\n\n# %% [code]\n\ntwo\n\n# %% Plot [code] [^3]\n\n# %%% [tool]\n\nfour\n",
        &[
            "1 type-in-title hint",
            "5 type-in-title warning",
            "9 type-in-title warning",
            "11 type-in-title warning",
        ],
    );
    for title in [
        "[1] one",
        "[Question]",
        "[可选标题]",
        "[link](code)",
        "code",
        "a [b] c",
    ] {
        check(&format!("# %% {title}\n\nHello\n"), &[]);
    }
    check("# %% [code] [^1]\n\n[^1]: [markdown]\n\nHello\n", &[]);
}

/// What to do about the first problem of a file.
fn hint(file: &str) -> Option<String> {
    match decode(file).problems().into_iter().next()?.hint? {
        Hint::Note(text) => Some(text.into_owned()),
        _ => None,
    }
}

#[test]
fn misspelt_types() {
    let typed = |word: &str| format!("# %% [^1]\n\n[^1]: [{word}]\n\nHello\n");
    check(&typed("cdoe"), &["3 unknown-cell-type warning"]);
    assert_eq!(
        hint(&typed("cdoe")).as_deref(),
        Some("did you mean [code]?")
    );
    check(&typed("Markdown"), &["3 unknown-cell-type warning"]);
    check(&typed("python"), &["3 unknown-cell-type hint"]);
    let output = |word: &str| format!("# %%% [^1]\n\n[^1]: [{word}]\n\nHello\n");
    check(&output("sumary"), &["3 unknown-cell-type warning"]);
    assert_eq!(
        hint(&output("sumary")).as_deref(),
        Some("did you mean [summary]?")
    );
    for word in [
        "coder",
        "assistant",
        "gpt-5",
        "python",
        "summary",
        "translator",
    ] {
        check(&output(word), &[]);
    }
    let agents = "---\nagents:\n  sumary: { models: [gpt-5] }\n---\n\n";
    check(&format!("{agents}{}", output("sumary")), &[]);
}

#[test]
fn a_section_that_is_not_the_last() {
    let front = "---\nmessage_section: Talk\n---\n\n# Notes\n\n";
    let found = |rest: &str| problems(&format!("{front}{rest}"), "notes.md");
    assert_eq!(
        found("## Talk\n\n## Books\n\nA list.\n"),
        ["9 section-not-last warning"]
    );
    assert_eq!(
        found("## Talk\n\n# Other\n\n### %%\n\nHello\n"),
        ["9 section-not-last warning"]
    );
    for rest in [
        "## Talk\n",
        "## Talk\n\n### Rules\n\n### %%\n\nHello\n",
        "## Books\n\n## Talk\n\n```\n## Books\n```\n\n### %%\n\nHello\n",
    ] {
        assert_eq!(found(rest), Vec::<String>::new(), "{rest}");
    }
}

#[test]
fn an_open_code_block_above_heads() {
    check(
        "# %%\n\n```python\n# %% one\nx = 1\n# %% two\n",
        &["3 unclosed-fence warning"],
    );
    for text in [
        "```python\n# %% one\n```",
        "~~~\n# %% one\n~~~",
        "- ```\n  x",
    ] {
        check(&format!("# %%\n\n{text}\n\n# %%\n\nHello\n"), &[]);
    }
    check("# %%\n\nHello\n\n```\nopen at the end\n", &[]);
}

#[test]
fn tools_that_nobody_offers() {
    let tool =
        "# %% [^1]\n\n[^1]: [code] tool=\"double\" history=\"exclude\"\n\n```python\npass\n```\n";
    check(tool, &["1 unoffered-tool hint"]);
    let further = tool.replace("^1", "^2");
    check(&format!("{tool}\n{further}"), &["1 unoffered-tool hint"]);
    check(&tool.replace("tool=\"double\" ", ""), &[]);
}

#[test]
fn what_a_program_writes_has_none_of_these() {
    let odd = "[^1]: [markdown] history=none\n<!--\n＃ ％％\n%%\n```\n-->\n--- \ntitle: x\n---\n";
    let cells = [
        NewCell::message("1", odd),
        NewCell::reply("2", "coder", odd),
        NewCell::message("3", odd),
    ];
    let file = append_all(&decode(""), &cells).apply(b"");
    let problems = decode(file).problems();
    let is_serious = |severity| severity == Severity::Error;
    assert!(
        !problems.iter().any(|it| is_serious(it.severity)),
        "{problems:?}"
    );
}
