//! What is done to a file that has a compaction: nothing that was seen is lost, and nobody is told otherwise.

use analects_core::{
    CompactBoundary, Hint, History, Message, SessionId, Summary, System, Tombstone, chain,
};

use super::*;
use crate::msgfile::choice::{Versions, shown};
use crate::msgfile::messages::places;

const SUMMARY: &str = "They spoke of rivers.";

/// Instructions, and rounds of questions and answers; some questions have no id.
fn talk(rounds: usize, is_loose: impl Fn(usize) -> bool) -> String {
    let mut text = "# %%% [^sys]\n\n[^sys]: [system]\n\nBe brief.\n\n".to_string();
    for n in 0..rounds {
        let head =
            if is_loose(n) { String::new() } else { format!(" [^q{n}]\n\n[^q{n}]: [markdown]") };
        text += &format!("# %%{head}\n\nquestion {n}\n\n");
        text += &format!("# %%% [^a{n}]\n\n[^a{n}]: [coder]\n\nanswer {n}\n\n");
    }
    text
}

fn session() -> SessionId {
    session_of("talk.msg.md")
}

/// The file with a compaction that keeps the rounds from one on, a copy of the instructions, and one more round.
fn compacted(source: &str, kept: usize) -> String {
    let document = decode(source);
    let read = messages(&document, &session()).messages;
    let summary = Summary {
        text: SUMMARY.into(),
        from: Some(read[1].id.clone()),
        to: Some(read[2 * kept].id.clone()),
        count: Some(2),
    };
    let boundary = CompactBoundary {
        summary_id: Some("s".into()),
        kept_from: Some(read[2 * kept + 1].id.clone()),
        ..CompactBoundary::default()
    };
    let new = [
        Message::new("s", Body::Summary(summary)),
        Message::new("b", Body::CompactBoundary(boundary)),
        Message::new("c", Body::System(System { content: "Be brief.".into() })),
    ];
    let source = put_messages(&document, &session(), &new, &mut CountingIds::default());
    let text = String::from_utf8(source.unwrap().splice.apply(document.source())).unwrap();
    format!("{text}\n# %%\n\nlast question\n\n# %%% [^z]\n\n[^z]: [coder]\n\nlast answer\n")
}

/// What the model sees: the places of cells, and their texts.
fn seen(source: &[u8]) -> Vec<(usize, String)> {
    let document = decode(source);
    let read = messages(&document, &session());
    assert_eq!(read.problems, []);
    let chain = chain(&read.messages);
    assert_eq!(chain.problems, [], "{}", String::from_utf8_lossy(source));
    let places = places(&document, &session());
    let shown = chain.messages.iter().filter(|message| message.history != History::Exclude);
    shown.map(|message| (places[&message.id], message.text())).collect()
}

fn texts(source: &[u8]) -> Vec<String> {
    seen(source).into_iter().map(|(_, text)| text).collect()
}

fn place(source: &str, name: &str) -> usize {
    decode(source).cell(name).unwrap().at
}

fn edited(source: &str, cell: &str, text: &str) -> String {
    let edited = edit_text(&decode(source), place(source, cell), text).unwrap();
    String::from_utf8(edited.source).unwrap()
}

/// The name of the only cell of that type word.
fn of_word(source: &str, word: &str) -> String {
    let document = decode(source);
    let cell = document.cells().rfind(|cell| cell.type_word() == word).unwrap();
    cell.name().into_owned()
}

/// The file in which the compaction was taken back: its boundary, its summary and its copies.
fn undone(source: &str) -> String {
    let document = decode(source);
    let read = messages(&document, &session()).messages;
    let chain = chain(&read);
    let boundary = chain.boundary.unwrap();
    let targets = [boundary, chain.messages[0]];
    let tombstone = |(at, message): (usize, &&Message)| {
        let body =
            Tombstone { target: message.id.clone(), target_parent: message.parent_id.clone() };
        Message::new(format!("t{at}"), Body::Tombstone(body))
    };
    let new: Vec<Message> = targets.iter().enumerate().map(tombstone).collect();
    let splice =
        put_messages(&document, &session(), &new, &mut CountingIds::default()).unwrap().splice;
    String::from_utf8(splice.apply(document.source())).unwrap()
}

#[test]
fn the_first_cell_that_is_kept_can_be_edited() {
    for is_loose in [true, false] {
        let file = compacted(&talk(3, |_| is_loose), 2);
        let before = texts(file.as_bytes());
        assert_eq!(before[..3], [SUMMARY, "question 2", "answer 2"]);
        let name = if is_loose { "6" } else { "q2" };
        let after = edited(&file, name, "another question");
        let mut expected = before.clone();
        expected[1] = "another question".to_string();
        assert_eq!(texts(after.as_bytes()), expected);
    }
}

/// Files that other programs wrote name messages by their own ids.
#[test]
fn a_compaction_that_names_ids_follows_an_edit_too() {
    let file = "# %% [^1]\n\n[^1]: [markdown] uuid=\"m-1\"\n\none\n\n\
        # %% [^2]\n\n[^2]: [markdown] uuid=\"m-2\"\n\ntwo\n\n\
        # %%% [^3]\n\n[^3]: [summary] uuid=\"m-3\"\n\nso far\n\n\
        # %%% [^4]\n\n[^4]: [compact_boundary] summary_id=\"m-3\" kept_from=\"m-2\"\n";
    assert_eq!(texts(file.as_bytes()), ["so far", "two"]);
    let after = edited(&edited(file, "2", "zwei"), "3", "bisher");
    assert_eq!(texts(after.as_bytes()), ["bisher", "zwei"]);
    let next = after + "\n# %%\n\nthree\n";
    let rewound = rewind(&decode(next.as_str()), place(&next, "4")).unwrap();
    assert_eq!(texts(&rewound.source), ["bisher", "zwei"]);
}

#[test]
fn an_edit_above_does_not_move_what_is_kept() {
    let file = compacted(&talk(3, |_| true), 1);
    let after = edited(&file, "a0", "x");
    assert_eq!(texts(after.as_bytes()), texts(file.as_bytes()));
    // Nor where an older file names cells by their places.
    let older = talk(3, |_| true)
        + "# %%% [^s]\n\n[^s]: [summary] from=2 to=3\n\nThey spoke.\n\n\
           # %%% [^b]\n\n[^b]: [compact_boundary] summary_id=s kept_from=4\n";
    assert_eq!(texts(older.as_bytes())[..2], ["They spoke.", "question 1"]);
    let after = edited(&older, "a0", "x");
    assert_eq!(texts(after.as_bytes()), texts(older.as_bytes()));
    // A place that is the id of another cell is named with a sign before it.
    let older = older.replace("[^a0]", "[^4]").replace("kept_from=4", "kept_from=\"#4\"");
    assert_eq!(texts(older.as_bytes())[..2], ["They spoke.", "question 1"]);
    let after = edited(&older, "4", "x");
    assert_eq!(texts(after.as_bytes()), texts(older.as_bytes()));
}

#[test]
fn an_edited_summary_takes_the_place_of_the_summary() {
    let file = compacted(&talk(3, |_| true), 2);
    let old = of_word(&file, "summary");
    let after = edited(&file, &old, "Of streams.");
    let mut expected = texts(file.as_bytes());
    expected[0] = "Of streams.".to_string();
    assert_eq!(texts(after.as_bytes()), expected);
    // And once more.
    let new = decode(after.as_str())
        .cells()
        .find(|cell| cell.content() == "Of streams.")
        .unwrap()
        .name()
        .into_owned();
    let again = edited(&after, &new, "Of brooks.");
    expected[0] = "Of brooks.".to_string();
    assert_eq!(texts(again.as_bytes()), expected);
    // Who edits what was replaced replaces that again; it is not gone back to.
    let (document, at) = (decode(after.as_str()), place(&after, &old));
    assert_eq!(texts(edited(&after, &old, "Of brooks.").as_bytes()), expected);
    assert!(rewind(&document, at).unwrap_err().to_string().contains("does not count"));
    // Undone, neither of them is seen, and neither can be edited.
    for file in [&after, &again] {
        let undone = undone(file);
        let shown = texts(undone.as_bytes());
        assert!(shown.iter().all(|text| !text.contains("Of ") && text != SUMMARY), "{shown:?}");
        assert!(shown.contains(&"question 0".to_string()), "{shown:?}");
        for name in [&old, &new] {
            let error = edit_text(&decode(undone.as_str()), place(&undone, name), "x").unwrap_err();
            assert!(error.to_string().contains("does not count"), "{error}");
        }
    }
}

#[test]
fn of_instructions_the_copy_that_counts_is_edited() {
    let file = compacted(&talk(2, |_| false), 1);
    let copy = of_word(&file, "system");
    let error = edit_text(&decode(file.as_str()), 0, "Be long.").unwrap_err();
    assert!(error.to_string().contains("a copy counts"), "{error}");
    assert_eq!(
        error.hint(),
        Some(&Hint::from(format!("edit cell {copy}, its copy behind the compaction")))
    );
    let after = edited(&file, &copy, "Be long.");
    let shown = texts(after.as_bytes());
    assert!(shown.contains(&"Be long.".to_string()) && !shown.contains(&"Be brief.".to_string()));
    let error = edit_text(&decode(after.as_str()), 0, "Be loud.").unwrap_err();
    assert!(
        !error.hint().unwrap().as_note().unwrap().contains(&copy),
        "the copy was edited: {error:?}"
    );
    // Without a compaction there is no copy.
    assert!(edit_text(&decode(talk(2, |_| false)), 0, "Be long.").is_ok());
}

#[test]
fn a_boundary_and_a_tombstone_are_not_hidden() {
    let file = compacted(&talk(2, |_| true), 1);
    let check = |file: &str, word: &str| {
        let at = place(file, &of_word(file, word));
        check_can_be_hidden(&decode(file), at).unwrap_err()
    };
    let error = check(&file, "compact_boundary");
    assert_eq!(error.hint(), Some(&Hint::UndoCompaction));
    check(&undone(&file), "tombstone");
    assert!(check_can_be_hidden(&decode(file.as_str()), 1).is_ok());
}

#[test]
fn a_rewind_says_which_summary_does_not_count_there() {
    let file = compacted(&talk(3, |_| true), 2);
    let back = |name: &str| rewind(&decode(file.as_str()), place(&file, name));
    for name in ["a0", "6", "a2"] {
        let rewound = back(name).unwrap();
        assert_eq!(rewound.uncounted, Some(of_word(&file, "summary")), "{name}");
        assert_eq!(texts(&rewound.source)[..2], ["Be brief.", "question 0"]);
    }
    // To the summary or to the boundary is to the end of the compaction.
    for word in ["summary", "compact_boundary"] {
        let rewound = back(&of_word(&file, word)).unwrap();
        assert_eq!((rewound.to, rewound.uncounted), (of_word(&file, "system"), None));
        assert_eq!(texts(&rewound.source), [SUMMARY, "question 2", "answer 2", "Be brief."]);
    }
    let undone = undone(&file);
    let error = rewind(&decode(undone.as_str()), place(&undone, &of_word(&undone, "summary")));
    assert!(error.unwrap_err().to_string().contains("does not count"));
}

#[test]
fn a_fork_at_a_compaction_has_all_of_it() {
    let file = compacted(&talk(3, |_| true), 2);
    for word in ["summary", "compact_boundary", "system"] {
        let copy = fork(&decode(file.as_str()), place(&file, &of_word(&file, word))).unwrap();
        assert_eq!(texts(&copy), [SUMMARY, "question 2", "answer 2", "Be brief."], "{word}");
    }
}

/// Tombstones that take each other back, or themselves, end nothing in a circle.
#[test]
fn tombstones_of_any_kind_are_read() {
    let mut file = talk(1, |_| false);
    for n in 0..300 {
        file += &format!("# %%% [^t{n}]\n\n[^t{n}]: [tombstone] target=t{}\n\n", n / 2);
    }
    assert!(edit_text(&decode(file.as_str()), 1, "x").is_ok());
}

/// Something that somebody does to a file.
#[derive(Debug, Clone)]
enum Deed {
    Edit(usize),
    Drop(usize),
    Insert(usize),
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let deed = prop_oneof![
        (0_usize..30).prop_map(Deed::Edit),
        (0_usize..30).prop_map(Deed::Drop),
        (0_usize..30).prop_map(Deed::Insert),
    ];
    prop::collection::vec(deed, 1..4)
}

/// The file after a deed, and the place and the text of the cell that was touched; nothing if it was refused.
fn done(source: &str, deed: &Deed, said: &str) -> Option<(Vec<u8>, Option<usize>)> {
    let document = decode(source);
    let count = document.cells().len();
    match deed {
        Deed::Edit(at) => {
            // What was edited is hidden, and its edit is replaced.
            let shown = shown(&document);
            let touched = Versions::of(&document).current(at % count, |at| shown[at]);
            let edited = edit_text(&document, at % count, said);
            edited.ok().map(|edited| (edited.source, Some(touched)))
        }
        Deed::Drop(at) => {
            let at = at % count;
            check_can_be_hidden(&document, at).ok()?;
            let source = set_attributes(&document, &hide(&document, at)).unwrap();
            Some((source, Some(at)))
        }
        Deed::Insert(at) => {
            let start = document.cells().nth(at % count).unwrap().span().start;
            let text = format!("{}# %%\n\n{said}\n\n{}", &source[..start], &source[start..]);
            Some((text.into_bytes(), None))
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::default())]

    /// Whatever is done after a compaction, what was seen and not touched is still seen, in its order.
    #[test]
    fn nothing_is_lost_behind_a_compaction(
        loose in 0_u32..16,
        kept in 1_usize..4,
        deeds in deeds(),
        back in 0_usize..30,
    ) {
        let mut file = compacted(&talk(4, |n| loose >> n & 1 == 1), kept);
        for (number, deed) in deeds.iter().enumerate() {
            let (before, said) = (seen(file.as_bytes()), format!("new {number}"));
            let Some((source, touched)) = done(&file, deed, &said) else { continue };
            let after = texts(&source);
            let others: Vec<&String> = after.iter().filter(|text| **text != said).collect();
            let expected: Vec<&String> =
                before.iter().filter(|(at, _)| Some(*at) != touched).map(|(_, text)| text).collect();
            prop_assert_eq!(others, expected, "{:?} in {}", deed, file);
            let old = before.iter().position(|(at, _)| Some(*at) == touched);
            if let (Deed::Edit(_), Some(old)) = (deed, old) {
                prop_assert_eq!(&after[old], &said, "{:?} in {}", deed, file);
            }
            file = String::from_utf8(source).unwrap();
        }
        let document = decode(file.as_str());
        let at = back % document.cells().len();
        let Ok(rewound) = rewind(&document, at) else { return Ok(()) };
        let (before, after) = (seen(file.as_bytes()), seen(&rewound.source));
        let to = place(&String::from_utf8(rewound.source.clone()).unwrap(), &rewound.to);
        let is_summary = |text: &str| rewound.uncounted.is_some()
            && document.cell(rewound.uncounted.as_ref().unwrap()).unwrap().content() == text;
        for (at, text) in before {
            let stays = at <= to && !is_summary(&text);
            prop_assert_eq!(after.iter().any(|(other, _)| *other == at), stays, "{} in {}", text, file);
        }
    }
}
