//! The verbs in a file: what they write, what the model sees then, and the way back.

use analects_core::verbs::{self, VerbError};
use analects_core::{
    Block, CompactBoundary, Content, Json, LinkKind, Message, Summary, System, Tree, Unseen, chain,
};

use super::*;

const FILE: &str = "# %% [^1]\n\n[^1]: [markdown]\n\nweather?\n\n\
    # %%% [^2]\n\n[^2]: [coder]\n\nlet me see\n\n\
    # %%% [^2.aaa]\n\n[^2.aaa]: [tool] name=\"w\"\n\n<invoke name=\"w\"></invoke>\n\n\
    # %%% [^2.bbb]\n\n[^2.bbb]: [tool] name=\"w\"\n\n<invoke name=\"w\"></invoke>\n\n\
    # %%% [^2.aaa.1]\n\n[^2.aaa.1]: [tool] status=\"success\"\n\nsun\n\n\
    # %%% [^2.bbb.1]\n\n[^2.bbb.1]: [tool] status=\"success\"\n\nrain\n\n\
    # %% [^c]\n\n[^c]: [code]\n\n```python\n1\n```\n\n\
    # %%% [^c.1]\n\n[^c.1]: [python]\n\nstdout> 1\n\n\
    # %%\n\nand now?\n\n# %%\n";

fn read(document: &Document) -> CellMessages {
    CellMessages::of(document, &SessionId::default())
}

fn at(document: &Document, name: &str) -> usize {
    document.cell(name).unwrap().at
}

/// What the model reads, as JSON.
fn view(document: &Document) -> Vec<String> {
    let read = verbs::revised(messages(document, &SessionId::default()).messages);
    let chain = chain(&read);
    let content = |content: &Content| format!("{content:?}");
    chain
        .sendable()
        .turns
        .iter()
        .map(|turn| content(&turn.content))
        .collect()
}

fn drop_cell(document: &Document, name: &str) -> Document {
    changed(document, at(document, name), verbs::drop)
}

fn restore_cell(document: &Document, name: &str) -> Document {
    changed(document, at(document, name), verbs::restore)
}

fn rewound(document: &Document, to: Option<&str>) -> Result<Document, VerbError> {
    let read = read(document);
    let target = to.map(|name| read.target(at(document, name)).unwrap().message.clone());
    let changes = verbs::rewind(&read.messages, target.as_deref())?;
    Ok(apply(document, &read, &changes, &mut CountingIds::default()).unwrap())
}

fn text(document: &Document) -> String {
    String::from_utf8(document.source().to_vec()).unwrap()
}

#[test]
fn a_call_goes_with_its_result() {
    let document = decode(FILE);
    for name in ["2.aaa", "2.aaa.1"] {
        let after = drop_cell(&document, name);
        let seen = view(&after).join("\n");
        assert!(
            !seen.contains("sun") && seen.contains("rain") && seen.contains("see"),
            "{seen}"
        );
        assert!(text(&after).contains("[^2.aaa]: [tool] history=\"none\" name=\"w\""));
        for back in ["2.aaa", "2.aaa.1"] {
            assert_eq!(text(&restore_cell(&after, back)), FILE);
        }
    }
    let seen = view(&drop_cell(&document, "2")).join("\n");
    assert!(
        !seen.contains("sun") && !seen.contains("rain") && !seen.contains("see"),
        "{seen}"
    );
}

#[test]
fn a_result_is_hidden_with_its_call_even_if_it_insists() {
    let file = FILE.replace("[^2.aaa.1]: [tool]", "[^2.aaa.1]: [tool] history=include");
    assert!(
        !view(&drop_cell(&decode(file.as_str()), "2.aaa"))
            .join("\n")
            .contains("sun")
    );
    let file = FILE.replace("[^2.aaa.1]: [tool]", "[^2.aaa.1]: [tool] history=none");
    // One that is hidden for itself stays so when its call comes back, until it is named again.
    let shown = restore_cell(&drop_cell(&decode(file.as_str()), "2.aaa"), "2.aaa");
    assert_eq!(text(&shown), file);
    assert!(!view(&shown).join("\n").contains("sun"));
    assert_eq!(text(&restore_cell(&shown, "2.aaa.1")), FILE);
}

#[test]
fn what_is_hidden_for_itself_stays_so_when_the_answer_comes_back() {
    let call = FILE.replace("[^2.aaa]: [tool]", "[^2.aaa]: [tool] history=none");
    let output = FILE.replace("[^c.1]: [python]", "[^c.1]: [python] history=none");
    for (file, name, secret) in [(call, "2", "sun"), (output, "c", "stdout")] {
        let document = decode(file.as_str());
        let hidden = drop_cell(&document, name);
        assert_eq!(text(&restore_cell(&hidden, name)), file);
        assert!(
            !view(&restore_cell(&hidden, name))
                .join("\n")
                .contains(secret)
        );
    }
}

#[test]
fn of_two_cells_of_one_id_only_the_first_can_be_gone_back_to_or_edited() {
    let file = "# %% [^1]\n\n[^1]: [markdown]\n\none\n\n# %%% [^2]\n\n[^2]: [a]\n\ntwo\n\n\
        # %%% [^2]\n\n[^2]: [a]\n\nthree\n\n# %%\n\nfour\n";
    let document = decode(file);
    assert!(edit_text(&document, 2, "x").is_err() && edit_text(&document, 1, "x").is_ok());
    let read = read(&document);
    let changes = verbs::rewind(&read.messages, read.message(2).map(|id| &**id)).unwrap();
    let error = apply(&document, &read, &changes, &mut CountingIds::default()).unwrap_err();
    assert!(
        error.to_string().starts_with("two cells are called 2"),
        "{error}"
    );
}

#[test]
fn code_goes_with_its_output_and_output_goes_alone() {
    let document = decode(FILE);
    let seen = view(&drop_cell(&document, "c")).join("\n");
    assert!(
        !seen.contains("stdout") && !seen.contains("python"),
        "{seen}"
    );
    let seen = view(&drop_cell(&document, "c.1")).join("\n");
    assert!(
        !seen.contains("stdout") && seen.contains("python"),
        "{seen}"
    );
}

#[test]
fn whatever_is_dropped_comes_back() {
    let document = decode(FILE);
    for (place, cell) in document
        .cells()
        .enumerate()
        .filter(|(_, cell)| !cell.is_ready())
    {
        let hidden = changed(&document, place, verbs::drop);
        let name = cell.name();
        assert_ne!(view(&hidden), view(&document), "{name}");
        let again = read(&hidden);
        let error = verbs::drop(&again.messages, again.target(place).unwrap()).unwrap_err();
        assert!(
            matches!(error, VerbError::AlreadyHidden(_)),
            "{name}: {error}"
        );
        let shown = changed(&hidden, place, verbs::restore);
        assert_eq!(view(&shown), view(&document), "{name}");
    }
}

#[test]
fn a_message_with_a_summary_of_its_own_is_shown_by_that() {
    let file = "# %% [^1]\n\n[^1]: [markdown] history=\"summary\" summary=\"short\"\n\nlong\n";
    let hidden = drop_cell(&decode(file), "1");
    assert!(text(&hidden).contains("history=\"none\" summary=\"short\""));
    assert_eq!(text(&restore_cell(&hidden, "1")), file);
}

#[test]
fn an_edit_changes_one_text_in_its_place() {
    let document = decode(FILE);
    let after = edit_text(&document, at(&document, "2"), "# %% a head").unwrap();
    assert_eq!(text(&after), FILE.replace("let me see", "\\# %% a head"));
    let after = edit_text(&document, 8, "later?").unwrap();
    let typed = "# %% [^3]\n\n[^3]: [markdown]\n\nlater?\n";
    assert_eq!(text(&after), FILE.replace("# %%\n\nand now?\n", typed));
    for (name, why) in [
        ("2.aaa", "a tool call"),
        ("c.1", "code printed"),
        ("c", "fenced"),
    ] {
        let error = edit_text(&document, at(&document, name), "x").unwrap_err();
        assert!(error.to_string().contains(why), "{name}: {error}");
    }
}

#[test]
fn a_rewind_marks_the_empty_cell_and_the_next_message_takes_it() {
    let document = decode(FILE);
    let after = rewound(&document, Some("1")).unwrap();
    let mark = "# %% [^4]\n\n[^4]: [markdown] parent=1\n";
    assert_eq!(
        text(&after),
        format!("{}{mark}", FILE.strip_suffix("# %%\n").unwrap())
    );
    assert_eq!(after.unanswered()[0].name(), "1");
    assert_eq!(view(&after).len(), 1);
    assert_eq!(after.next_id(), "4");
    // What is typed into it, or added, follows the cell.
    let added = after.with_source(
        append(&after, &NewCell::message(after.next_id(), "else?")).apply(after.source()),
    );
    assert!(text(&added).ends_with("[^4]: [markdown] parent=1\n\nelse?\n"));
    assert_eq!(added.cells().len(), document.cells().len());
    let typed = decode(format!("{}\nelse?\n", text(&after)));
    assert_eq!(view(&typed), view(&added));
    // An answer takes its place, too.
    let answer = Message {
        author: Some("b".into()),
        ..Message::assistant("m", "Rain.")
    };
    let ids = &mut CountingIds::default();
    let placed = put_answer(
        &after,
        &[0],
        &answer,
        AnswerDetail::Usual,
        &jiff::tz::TimeZone::UTC,
        ids,
    );
    let answered = after.with_source(placed.splice.apply(after.source()));
    let file = text(&answered);
    assert!(file.contains("# %%% [^4]\n\n[^4]: [b] "), "{file}");
    assert!(file.ends_with("parent=1\n\nRain.\n\n# %%\n"), "{file}");
    assert_eq!(view(&answered).len(), 2);
}

#[test]
fn a_rewind_is_undone_by_a_rewind_to_the_last_cell() {
    let document = decode(FILE);
    let after = rewound(&document, Some("1")).unwrap();
    let back = rewound(&after, Some("3")).unwrap();
    assert_eq!(view(&back), view(&document));
    assert!(
        text(&back).ends_with("[markdown]\n\nand now?\n\n# %%\n"),
        "{}",
        text(&back)
    );
    let error = rewound(&document, Some("3")).unwrap_err();
    assert!(matches!(error, VerbError::NothingAfter(_)), "{error}");
    let elsewhere = rewound(&after, Some("c")).unwrap();
    assert!(
        text(&elsewhere).ends_with("parent=\"c.1\"\n"),
        "code goes with its output"
    );
}

#[test]
fn a_rewind_to_the_beginning_sends_nothing() {
    let document = decode(FILE);
    let after = rewound(&document, None).unwrap();
    assert!(text(&after).ends_with("parent=\"\"\n"));
    assert_eq!(view(&after).len(), 0);
    assert!(after.unanswered().is_empty());
    assert!(matches!(
        rewound(&decode("# %%\n"), None),
        Err(VerbError::NothingSaid)
    ));
}

#[test]
fn a_mark_in_the_middle_holds_for_what_is_typed_below_it() {
    let file = "# %% [^1]\n\n[^1]: [markdown]\n\none\n\n# %%% [^2]\n\n[^2]: [a]\n\ntwo\n\n\
        # %% [^3]\n\n[^3]: [markdown] parent=1\n\n# %%\n\nthree\n";
    let seen = view(&decode(file)).join("\n");
    assert!(
        seen.contains("one") && seen.contains("three") && !seen.contains("two"),
        "{seen}"
    );
}

#[test]
fn calls_are_gone_back_to_with_their_results() {
    let document = decode(FILE);
    let after = rewound(&document, Some("2")).unwrap();
    assert!(
        text(&after).ends_with("parent=\"2.bbb.1\"\n"),
        "{}",
        text(&after)
    );
    let seen = view(&after).join("\n");
    assert!(
        seen.contains("rain") && !seen.contains("interrupted"),
        "{seen}"
    );
    let copy = decode(fork(&document, 1).unwrap());
    assert_eq!(view(&copy), view(&after));
    assert!(FILE.as_bytes().starts_with(copy.source()));
}

/// The file with a compaction that stands for all before the code, and one more question.
fn compacted(document: &Document) -> Document {
    let read = read(document);
    let kept_from = Some(read.target(6).unwrap().message.clone());
    let summary_id = Some("s".into());
    let boundary = CompactBoundary {
        summary_id,
        kept_from,
        ..CompactBoundary::default()
    };
    let summary = Summary {
        text: "They spoke.".into(),
        ..Summary::default()
    };
    let made = vec![
        Message::new("s", Body::Summary(summary)),
        Message::new("b", Body::CompactBoundary(boundary)),
        Message::new(
            "y",
            Body::System(System {
                content: "Be brief.".into(),
            }),
        ),
    ];
    let changes = verbs::compact(made).unwrap();
    apply(document, &read, &changes, &mut CountingIds::default()).unwrap()
}

#[test]
fn a_compaction_is_one_summary_cell() {
    let system = "# %%% [^y0]\n\n[^y0]: [system]\n\nBe brief.\n\n";
    let document = decode(format!("{system}{FILE}"));
    let read = read(&document);
    let place = at(&document, "c");
    let kept_from = Some(read.target(place).unwrap().message.clone());
    let after = compacted(&decode(FILE));
    assert!(
        text(&after)
            .contains("# %%% [^s1]\n\n[^s1]: [summary] through=\"2.bbb.1\"\n\nThey spoke.\n")
    );
    assert!(!text(&after).contains("compact_boundary") && text(&after).ends_with("\n# %%\n"));
    let seen = view(&after).join("\n");
    assert!(seen.contains("They spoke.") && seen.contains("python") && !seen.contains("sun"));
    assert!(kept_from.is_some());
    let marks = unseen_cells(&after);
    assert_eq!(marks[..6], [Some(Unseen::Compacted); 6]);
    assert_eq!(marks[6..], vec![None; marks.len() - 6]);
    // The way back, and back again.
    let hidden = drop_cell(&after, "s1");
    assert!(text(&hidden).contains("[^s1]: [summary] history=\"none\" through="));
    assert!(view(&hidden).join("\n").contains("sun"));
    assert_eq!(view(&restore_cell(&hidden, "s1")), view(&after));
    let read = super::verbs::read(&hidden);
    assert_eq!(
        verbs::undo_compaction(&read.messages),
        Err(VerbError::NoCompaction)
    );
}

#[test]
fn an_unknown_through_is_a_problem_and_compacts_nothing() {
    for through in ["7", "s1", ""] {
        let file = format!("{FILE}\n# %%% [^s1]\n\n[^s1]: [summary] through=\"{through}\"\n\nx\n");
        let document = decode(file);
        let read = messages(&document, &SessionId::default());
        assert_eq!(read.problems[0].code, "unknown-through", "{through}");
        assert!(view(&document).join("\n").contains("sun"));
        assert!(!view(&document).join("\n").contains("They spoke"));
    }
}

#[test]
fn a_summary_is_gone_back_to_with_what_came_with_it() {
    let after = compacted(&decode(FILE));
    let more = "\n# %% [^20]\n\n[^20]: [markdown]\n\nmore?\n";
    let longer = decode(text(&after).strip_suffix("\n# %%\n").unwrap().to_string() + more);
    let back = rewound(&longer, Some("s1")).unwrap();
    assert!(text(&back).ends_with("parent=\"y1\"\n"), "{}", text(&back));
    assert_eq!(view(&back), view(&after));
    let earlier = rewound(&longer, Some("2")).unwrap();
    assert!(view(&earlier).join("\n").contains("sun"));
}

/// Compares the marks with what is sent of a document.
fn check_marks(document: &Document, what: &str) {
    let marks = unseen_cells(document);
    let read = read(document);
    let sent: Vec<String> = chain(&verbs::revised(read.messages.clone()))
        .messages
        .iter()
        .filter(|message| message.why_not_sent().is_none())
        .map(|message| message.id.to_string())
        .collect();
    let tree = Tree::of(&read.messages);
    for (place, message) in read.messages.iter().enumerate() {
        let is_speech = matches!(tree.link(place).kind, LinkKind::Speech | LinkKind::Summary);
        let cell = read.heads[place];
        if is_speech && message.why_not_sent() != Some("empty") {
            let is_sent = sent.iter().any(|id| **id == *message.id);
            let json = message.to_json();
            assert_eq!(
                marks[cell].is_none(),
                is_sent,
                "{what}: {:?} {json}",
                marks[cell]
            );
        }
    }
}

#[test]
fn what_is_marked_is_just_what_is_not_sent() {
    let mut documents = vec![("the file".to_string(), compacted(&decode(FILE)))];
    for _ in 0..2 {
        let mut next = Vec::new();
        for (what, document) in &documents {
            check_marks(document, what);
            for place in (0..document.cells().len()).step_by(2) {
                let read = read(document);
                let Some(target) = read.target(place).cloned() else {
                    continue;
                };
                let made = [
                    ("drop", verbs::drop(&read.messages, &target)),
                    ("restore", verbs::restore(&read.messages, &target)),
                    (
                        "rewind",
                        verbs::rewind(&read.messages, Some(&target.message)),
                    ),
                ];
                for (verb, changes) in made {
                    let Ok(changes) = changes else { continue };
                    let ids = &mut CountingIds::default();
                    let after = apply(document, &read, &changes, ids).unwrap();
                    next.push((format!("{what}, {verb} {place}"), after));
                }
            }
        }
        documents = next;
    }
    assert!(documents.len() > 100, "{}", documents.len());
    for (what, document) in &documents {
        check_marks(document, what);
    }
}

#[test]
fn blocks_of_a_hidden_call_are_gone_and_nothing_else() {
    let hidden = drop_cell(&decode(FILE), "2.bbb");
    let read = verbs::revised(messages(&hidden, &SessionId::default()).messages);
    let calls = read
        .iter()
        .filter(|it| it.history == analects_core::History::Include);
    let is_call = |block: &&Block| matches!(block, Block::ToolUse(_));
    let count: usize = calls
        .filter_map(|message| message.body.content())
        .map(|content| match content {
            Content::Blocks(blocks) => blocks.iter().filter(is_call).count(),
            _ => 0,
        })
        .sum();
    assert_eq!(count, 1);
}
