//! Rewinding, forking and editing, to the byte and as the model sees it.

use analects_core::{History, Json, chain};
use proptest::prelude::*;

use super::*;
use crate::msgfile::{decode, hide, messages, reveal, session_of};

const FILE: &str = "---\ntitle: x\n---\n\npreamble\n\n\
    # %% [^1]\n\n[^1]: [markdown]\n\nweather?\n\n\
    # %%% [^2]\n\n[^2]: [coder] model=\"m\" input_tokens=5\n\nlet me see\n\n\
    # %%% [^2.aaa]\n\n[^2.aaa]: [tool] name=\"w\"\n\n<invoke name=\"w\"></invoke>\n\n\
    # %%% [^2.aaa.1]\n\n[^2.aaa.1]: [tool] status=\"success\"\n\nsun\n\n\
    # %%% [^3]\n\n[^3]: [coder]\n\nIt is sunny.\n\n\
    # %%\n\nand now?\n\n\
    # %%% [^5]\n\n[^5]: [coder]\n\nstill sunny\n";

/// What the model sees: the texts of the chain's messages that are not hidden.
fn seen(source: &[u8]) -> Vec<String> {
    let decoded = messages(&decode(source), &session_of("x"));
    assert_eq!(decoded.problems, []);
    let chain = chain(&decoded.messages);
    assert_eq!(chain.problems, []);
    let seen = chain.messages.iter().filter(|message| message.history != History::Exclude);
    seen.map(|message| message.text()).collect()
}

fn place(source: &[u8], name: &str) -> usize {
    decode(source).cell(name).unwrap().at
}

fn rewound(source: &[u8], to: &str) -> Rewound {
    rewind(&decode(source), place(source, to)).unwrap()
}

#[test]
fn a_rewind_is_one_more_cell_and_is_undone_by_another() {
    let back = rewound(FILE.as_bytes(), "1");
    assert!(back.source.starts_with(FILE.as_bytes()));
    assert_eq!((back.to.as_str(), back.before.as_str()), ("1", "5"));
    assert_eq!(seen(&back.source), ["weather?"]);
    assert_eq!(decode(back.source.clone()).unanswered()[0].name(), "1");
    assert_eq!(decode(back.source.clone()).problems(), []);
    let again = rewound(&back.source, &back.before);
    assert_eq!(again.before, "1");
    assert_eq!(seen(&again.source), seen(FILE.as_bytes()));
}

#[test]
fn what_is_said_after_a_rewind_is_a_branch() {
    let back = rewound(FILE.as_bytes(), "3");
    let document = decode(back.source);
    let said = append(&document, &NewCell::message(document.next_id(), "and snow?"));
    let source = said.apply(document.source());
    let texts = seen(&source);
    assert_eq!(texts[texts.len() - 2..], ["It is sunny.", "and snow?"]);
    let document = decode(source.clone());
    let open: Vec<_> = document.unanswered().into_iter().map(|cell| cell.name()).collect();
    assert_eq!(open, ["7"]);
    // And back to the other branch.
    let other = rewound(&source, "5");
    assert_eq!(other.before, "7");
    assert_eq!(seen(&other.source), seen(FILE.as_bytes()));
}

#[test]
fn a_cell_without_id_gets_one_before_others_name_it() {
    let back = rewound(FILE.as_bytes(), "6");
    assert_eq!(back.to, "6");
    let text = String::from_utf8(back.source.clone()).unwrap();
    let (before, after) = FILE.split_once("# %%\n").unwrap();
    assert!(text.starts_with(&format!("{before}# %% [^6]\n\n[^6]: [markdown]\n{after}")), "{text}");
    assert_eq!(seen(&back.source).last().unwrap(), "and now?");
}

#[test]
fn there_must_be_something_to_go_back_from_and_to() {
    let document = decode(FILE);
    let error = rewind(&document, 6).unwrap_err();
    assert_eq!(error.to_string(), "nothing comes after cell 5");
    let agent = format!("# %% a[^9]\n\n[^9]: [agent] name=\"a\" models=\"m\"\n\n{}", &FILE[24..]);
    let error = rewind(&decode(agent.as_str()), 0).unwrap_err();
    assert_eq!(error.to_string(), "cell 9 is no message: it defines an agent");
    let again = rewound(FILE.as_bytes(), "1");
    let error = rewind(&decode(again.source), 0).unwrap_err();
    assert_eq!(error.to_string(), "nothing comes after cell 1");
}

#[test]
fn a_fork_is_the_beginning_to_the_byte_with_calls_and_results() {
    let document = decode(FILE);
    let copy = fork(&document, place(FILE.as_bytes(), "2")).unwrap();
    let end = FILE.find("# %%% [^3]").unwrap();
    assert_eq!(String::from_utf8(copy).unwrap(), FILE[..end]);
    for at in 0..7 {
        let copy = fork(&document, at).unwrap();
        assert!(FILE.as_bytes().starts_with(&copy));
        assert!(!seen(&copy).is_empty());
    }
    assert_eq!(fork(&document, 6).unwrap(), FILE.as_bytes());
}

#[test]
fn what_only_the_end_of_the_file_tells_comes_along() {
    let details = "\n# %%% [^details]\n\n[^details]: [details] history=\"none\"\n\n```json\n\
        {\"cell\":\"2\",\"fields\":{\"extra\":{\"a\":1}}}\n{\"cell\":\"5\",\"fields\":{\"extra\":{\"b\":2}}}\n```\n";
    let copy = fork(&decode(format!("{FILE}{details}")), 1).unwrap();
    let text = String::from_utf8(copy).unwrap();
    assert!(text.contains(r#"{"cell":"2","fields":{"extra":{"a":1}}}"#), "{text}");
    assert!(!text.contains(r#""cell":"5""#), "{text}");
    assert_eq!(decode(text.as_str()).problems(), []);
}

#[test]
fn a_fork_says_what_a_rewind_to_the_same_cell_would() {
    let rounds: String = (1..=4)
        .map(|n| format!("# %% [^q{n}]\n\n[^q{n}]: [markdown]\n\nq{n}\n\n# %%% [^a{n}]\n\n[^a{n}]: [coder]\n\na{n}\n\n"))
        .collect();
    let (first, rest) = rounds.split_at(rounds.find("# %% [^q3]").unwrap());
    let compaction = "# %%% [^s]\n\n[^s]: [summary]\n\nin short\n\n\
        # %%% [^b]\n\n[^b]: [compact_boundary] summary_id=s\n\n";
    let tombstone = |name: &str, target: &str| {
        format!("# %%% [^{name}]\n\n[^{name}]: [tombstone] target={target} parent=a4\n\n")
    };
    let taken_back = tombstone("t1", "b") + &tombstone("t2", "s");
    let hidden = |names: &[(&str, &str)]| -> String {
        names.iter().map(|(name, target)| tombstone(name, target)).collect()
    };
    let files = [
        hidden(&[]),
        taken_back.clone(),
        // What takes a tombstone back brings the compaction back.
        taken_back.clone() + &hidden(&[("t3", "t1"), ("t4", "t2")]),
        // And that can be taken back, too.
        taken_back + &hidden(&[("t3", "t1"), ("t4", "t2"), ("t5", "t3"), ("t6", "t4")]),
        hidden(&[("t1", "q1"), ("t2", "q4")]),
    ];
    for end in files {
        let file = format!("{first}{compaction}{rest}{end}");
        for at in ["a1", "a2", "s", "q3", "a3"] {
            let copy = fork(&decode(file.as_str()), place(file.as_bytes(), at)).unwrap();
            let back = rewind(&decode(file.as_str()), place(file.as_bytes(), at));
            // What was taken back cannot be gone back to, but copied with the rest.
            let Ok(back) = back else { continue };
            assert_eq!(seen(&copy), seen(&back.source), "{at} of {file}");
        }
    }
}

#[test]
fn a_summary_is_gone_back_to_with_the_file_that_came_with_it_and_no_other() {
    let file = |name: &str, time: &str, text: &str| {
        format!(
            "# %%% [^{name}]\n\n[^{name}]: [attachment] kind=file time=\"{time}\"\n\n{text}\n\n"
        )
    };
    let (then, later) = ("2026-11-15T20:00:00Z", "2026-11-15T20:00:01Z");
    let source = format!(
        "# %% [^1]\n\n[^1]: [markdown]\n\nold\n\n# %%% [^s]\n\n[^s]: [summary] time=\"{then}\"\n\nin short\n\n\
         # %%% [^b]\n\n[^b]: [compact_boundary] summary_id=s time=\"{then}\"\n\n{}{}# %% [^2]\n\n[^2]: [markdown]\n\nnew\n",
        file("f", then, "its file"),
        file("g", later, "own file"),
    );
    for at in ["s", "b"] {
        let back = rewound(source.as_bytes(), at);
        assert_eq!(seen(&back.source), ["in short", "its file"]);
        let copy = fork(&decode(source.as_str()), place(source.as_bytes(), at)).unwrap();
        assert_eq!(seen(&copy), ["in short", "its file"]);
    }
}

/// A main chain, and a side chain whose reply makes a call.
const SIDE: &str = "# %% [^1]\n\n[^1]: [markdown]\n\nq\n\n\
    # %%% [^2]\n\n[^2]: [coder]\n\na\n\n\
    # %% [^3]\n\n[^3]: [markdown] agent_id=side\n\nlook\n\n\
    # %%% [^4]\n\n[^4]: [coder] agent_id=side\n\nI look\n\n\
    # %%% [^4.aaa]\n\n[^4.aaa]: [tool] name=\"w\"\n\n<invoke name=\"w\"></invoke>\n";

#[test]
fn a_file_does_not_go_on_with_a_side_chain() {
    for name in ["3", "4", "4.aaa"] {
        let error = rewind(&decode(SIDE), place(SIDE.as_bytes(), name)).unwrap_err();
        let text = format!("cell {name} is in a side chain, with which a file does not go on");
        assert_eq!(error.to_string(), text);
    }
    let error = rewind(&decode(SIDE), 1).unwrap_err();
    assert_eq!(error.to_string(), "nothing comes after cell 2");
    // The way back is one, too.
    let back = rewound(SIDE.as_bytes(), "1");
    assert_eq!(back.before, "2");
    assert_eq!(seen(&back.source), ["q"]);
    assert_eq!(seen(&rewound(&back.source, "2").source), ["q", "a"]);
}

#[test]
fn nothing_in_a_side_chain_waits_or_answers() {
    let open = |file: &str| -> Vec<String> {
        decode(file).unanswered().iter().map(|cell| cell.name().into_owned()).collect()
    };
    let asked = &SIDE[..SIDE.find("# %%% [^4]").unwrap()];
    assert_eq!(open(asked), [""; 0]);
    assert_eq!(open(SIDE), [""; 0]);
    // Only the main chain answers the main chain.
    let first = SIDE.find("# %%% [^2]").unwrap();
    let second = SIDE.find("# %% [^3]").unwrap();
    let waiting = [&SIDE[..first], &SIDE[second..]].concat();
    assert_eq!(open(&waiting), ["1"]);
    assert_eq!(open(&format!("{waiting}\n# %%\n\nmore\n")), ["1", "5"]);
}

fn edited(source: &str, cell: &str, text: &str) -> Edited {
    edit_text(&decode(source), place(source.as_bytes(), cell), text).unwrap()
}

#[test]
fn an_edited_message_stands_above_the_old_one_which_is_hidden() {
    let edited = edited(FILE, "1", "and the sea?");
    assert_eq!((edited.new.as_str(), &edited.hidden[..]), ("7", &["1".to_string()][..]));
    let text = String::from_utf8(edited.source.clone()).unwrap();
    let new = "# %% [^7]\n\n[^7]: [markdown] edit_of=1\n\nand the sea?\n\n";
    let expected = FILE
        .replace("# %% [^1]", &format!("{new}# %% [^1]"))
        .replace("[^1]: [markdown]", "[^1]: [markdown] history=\"none\"");
    assert_eq!(text, expected);
    let mut texts = seen(FILE.as_bytes());
    texts[0] = "and the sea?".to_string();
    assert_eq!(seen(&edited.source), texts);
}

#[test]
fn an_edited_reply_hides_its_calls_and_an_edited_result_stays_with_its_call() {
    let reply = edited(FILE, "2", "no idea");
    assert_eq!(reply.hidden, ["2", "2.aaa", "2.aaa.1"]);
    assert_eq!(seen(&reply.source)[..3], ["weather?", "no idea", "It is sunny."]);
    let text = String::from_utf8(reply.source).unwrap();
    assert!(text.contains("[^7]: [coder] edit_of=2 model=\"m\"\n\nno idea\n"), "{text}");
    let result = edited(FILE, "2.aaa.1", "rain");
    assert_eq!(
        (result.new.as_str(), &result.hidden[..]),
        ("2.aaa.2", &["2.aaa.1".to_string()][..])
    );
    let decoded = messages(&decode(result.source), &session_of("x")).messages;
    let sent: Vec<_> = decoded.iter().filter(|m| m.history == History::Include).collect();
    let json: String = sent.iter().map(|message| message.to_json()).collect();
    assert!(json.contains("rain") && !json.contains("\"sun\""), "{json}");
    assert_eq!(json.matches("\"tool_result\"").count(), 1, "{json}");
}

#[test]
fn a_branch_from_an_edited_cell_follows_the_new_text() {
    let back = rewound(FILE.as_bytes(), "1");
    let source = String::from_utf8(back.source).unwrap();
    let edited_file = edited(&source, "1", "and the sea?");
    assert_eq!(seen(&edited_file.source), ["and the sea?"]);
    // A cell that has a parent hands it on.
    let branch = format!("{FILE}\n# %% [^b]\n\n[^b]: [markdown] parent=\"1\"\n\nother\n");
    let edited_file = edited(&branch, "b", "another");
    assert_eq!(seen(&edited_file.source), ["weather?", "another"]);
}

#[test]
fn any_text_can_be_said_instead() {
    for text in [
        "",
        "# %% x[^9]\n\n[^9]: [agent]",
        "```\nopen",
        "\n\nblank\n\n",
        "a\r\nb\u{0}\u{202e}",
        "---",
    ] {
        let edited = edited(FILE, "3", text);
        let document = decode(edited.source);
        assert_eq!(document.cell(&edited.new).unwrap().content(), text);
        assert_eq!(document.cells().len(), decode(FILE).cells().len() + 1);
        let crlf = FILE.replace('\n', "\r\n");
        let place = place(crlf.as_bytes(), "3");
        let edited = edit_text(&decode(crlf), place, text).unwrap();
        assert_eq!(decode(edited.source).cell(&edited.new).unwrap().content(), text);
    }
}

#[test]
fn what_is_no_text_cannot_be_edited() {
    let error = |source: &str, cell: &str| {
        edit_text(&decode(source), place(source.as_bytes(), cell), "x").unwrap_err().to_string()
    };
    assert!(error(FILE, "2.aaa").contains("it is a call"));
    let code = "# %% [^1]\n\n[^1]: [code]\n\n```python\n1\n```\n\n# %%% [^1.1]\n\n[^1.1]: [python]\n\nstdout> 1\n";
    assert!(error(code, "1.1").contains("what code printed"));
    assert!(error(code, "1").contains("cell 1 cannot be edited"), "{}", error(code, "1"));
    let raw = "# %% [^1]\n\n[^1]: [raw] mime_type=\"image/png\"\n\nAAAA\n";
    assert!(error(raw, "1").contains("no text"));
    let thought = "# %%% [^1]\n\n[^1]: [a] reasoning=1\n\nhm\n";
    assert!(error(thought, "1").contains("a thought"));
}

/// Something that somebody does to the versions of a cell.
#[derive(Debug, Clone)]
enum Deed {
    Edit(usize),
    Drop(usize),
    Show(usize),
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let deed = prop_oneof![
        (0_usize..20).prop_map(Deed::Edit),
        (0_usize..20).prop_map(Deed::Drop),
        (0_usize..20).prop_map(Deed::Show),
    ];
    prop::collection::vec(deed, 1..9)
}

proptest! {
    /// Whatever is edited, hidden and shown again: of the versions of a cell one is seen at most, an edit is seen if
    /// what it replaces was, and what is shown again is seen.
    #[test]
    fn of_the_versions_of_a_cell_one_is_seen(deeds in deeds()) {
        let mut source = FILE.as_bytes().to_vec();
        for deed in deeds {
            let document = decode(source.clone());
            let (count, before) = (document.cells().len(), shown(&document));
            let versions = Versions::of(&document);
            match deed {
                Deed::Edit(at) => {
                    let old = versions.current(at % count, |at| before[at]);
                    let Ok(edited) = edit_text(&document, at % count, "new") else { continue };
                    source = edited.source;
                    let after = decode(source.clone());
                    let new = after.cell(&edited.new).unwrap().at;
                    prop_assert_eq!(shown(&after)[new], before[old], "{:?} in {:?}", deed, document);
                    prop_assert_eq!(edited.is_hidden, !before[old]);
                }
                Deed::Drop(at) => {
                    source = set_attributes(&document, &hide(&document, at % count)).unwrap();
                    prop_assert!(!shown(&decode(source.clone()))[at % count]);
                }
                Deed::Show(at) => {
                    source = set_attributes(&document, &reveal(&document, at % count)).unwrap();
                    prop_assert!(shown(&decode(source.clone()))[at % count]);
                }
            }
            let after = decode(source.clone());
            let (versions, seen) = (Versions::of(&after), shown(&after));
            for at in 0..after.cells().len() {
                let all = versions.all(at);
                let count = all.iter().filter(|at| seen[**at]).count();
                let text = String::from_utf8_lossy(&source);
                prop_assert!(count <= 1, "{:?} of cell {} in {}", all, at, text);
            }
        }
    }
}

#[test]
fn an_edited_summary_is_brought_back_with_what_it_stands_for() {
    let source = "# %% [^1]\n\n[^1]: [markdown]\n\nold\n\n# %%% [^s]\n\n[^s]: [summary]\n\nin short\n\n\
        # %%% [^b]\n\n[^b]: [compact_boundary] summary_id=s\n\n# %% [^2]\n\n[^2]: [markdown]\n\nnew\n";
    let new = edited(source, "s", "in other words");
    assert_eq!(seen(&new.source), ["in other words", "new"]);
    let document = decode(new.source.clone());
    let changes = crate::msgfile::reveal(&document, place(&new.source, "s"));
    let back = set_attributes(&document, &changes).unwrap();
    assert_eq!(seen(&back), ["in short", "new"]);
    // And once more the other way.
    let document = decode(back.clone());
    let changes = crate::msgfile::reveal(&document, place(&back, &new.new));
    assert_eq!(seen(&set_attributes(&document, &changes).unwrap()), ["in other words", "new"]);
}

#[test]
fn a_call_that_is_shown_again_shows_no_other_that_was_hidden_for_itself() {
    let call = |id: &str| {
        format!(
            "# %%% [^2.{id}]\n\n[^2.{id}]: [tool] name=\"w\"\n\n<invoke name=\"w\"></invoke>\n\n\
             # %%% [^2.{id}.1]\n\n[^2.{id}.1]: [tool] status=\"success\"\n\nresult {id}\n\n"
        )
    };
    let mut source = format!(
        "# %% [^1]\n\n[^1]: [markdown]\n\nq\n\n# %%% [^2]\n\n[^2]: [coder]\n\nlook\n\n{}{}",
        call("aaa"),
        call("bbb")
    )
    .into_bytes();
    let apply =
        |source: &[u8], changes: &[Attribute]| set_attributes(&decode(source), changes).unwrap();
    for id in ["2.aaa", "2.bbb"] {
        let changes = crate::msgfile::hide(&decode(source.as_slice()), place(&source, id));
        source = apply(&source, &changes);
    }
    let changes = crate::msgfile::reveal(&decode(source.as_slice()), place(&source, "2.bbb"));
    let back = apply(&source, &changes);
    let shows =
        |id: &str| decode(back.as_slice()).cell(id).unwrap().history() != Some(History::Exclude);
    assert!(shows("2.bbb") && !shows("2.aaa"), "{}", String::from_utf8_lossy(&back));
}

#[test]
fn what_is_left_of_a_hidden_answer_is_no_answer() {
    let source = "# %% [^1]\n\n[^1]: [markdown]\n\nq\n\n\
        # %%% [^2]\n\n[^2]: [coder] history=none reasoning=1\n\nthinking\n\n\
        # %%% [^3]\n\n[^3]: [coder] part=2\n\nhalf\n";
    let waiting =
        decode(source).unanswered().iter().map(|cell| cell.name().into_owned()).collect::<Vec<_>>();
    assert_eq!(waiting, ["1"]);
}
