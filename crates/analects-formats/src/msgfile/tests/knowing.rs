//! What is known of a message counts as long as its cells are unchanged.

use std::cell::Cell as Count;
use std::collections::HashMap;

use analects_core::{
    Assistant, Attachment, AttachmentKind, Block, Content, Message, Raw, SessionId, StopReason,
    Thinking,
};

use super::*;
use crate::msgfile::{
    AnswerDetail, CellsHash, KnownMessages, messages_with_known, put_answer, put_messages,
};

fn answer() -> Message {
    let thinking = Thinking {
        thinking: "A monoid, surely.".into(),
        signature: Some("c2VhbA==".into()),
        ..Thinking::default()
    };
    let blocks = vec![Block::Thinking(thinking), Block::from_text("A monoid.")];
    let body = Assistant {
        content: Content::Blocks(blocks),
        stop_reason: Some(StopReason::EndTurn),
    };
    Message {
        author: Some("coder".into()),
        ..Message::new("m", Body::Assistant(body))
    }
}

fn put(file: &str, asked: &[usize]) -> (String, HashMap<CellsHash, Message>) {
    let document = decode(file);
    let ids = &mut CountingIds::default();
    let placed = put_answer(
        &document,
        asked,
        &answer(),
        AnswerDetail::Usual,
        &jiff::tz::TimeZone::UTC,
        ids,
    );
    assert!(placed.is_partial, "no cell holds the signature");
    let text = String::from_utf8(placed.splice.apply(document.source())).unwrap();
    assert!(decode(text.as_str()).cell(&placed.cell).is_some(), "{text}");
    (text, HashMap::from([(placed.hash, answer())]))
}

fn read(file: &str, known: &dyn KnownMessages) -> Vec<Message> {
    let decoded = messages_with_known(&decode(file), &SessionId::default(), known);
    assert_eq!(decoded.problems, []);
    decoded.messages
}

#[test]
fn an_answer_is_known_by_its_cells_wherever_they_stand() {
    let (file, known) = put("# %%\n\nWhat is a monad?\n", &[0]);
    let plain = messages(&decode(file.as_str()), &SessionId::default()).messages;
    let messages = read(&file, &known);
    assert_eq!(messages[1].body, answer().body);
    assert_ne!(plain[1].body, answer().body);
    assert_eq!(
        (&messages[1].id, &messages[1].parent_id),
        (&plain[1].id, &plain[1].parent_id)
    );
    let moved = format!("# %%\n\nBefore all.\n\n{file}\n\nAnd then?\n");
    assert_eq!(read(&moved, &known)[2].body, answer().body);
}

#[test]
fn a_change_in_any_cell_of_an_answer_makes_the_cells_count() {
    let (file, known) = put("# %%\n\nWhat is a monad?\n", &[0]);
    for (old, new) in [
        ("A monoid.", "A monad."),
        ("surely", "perhaps"),
        ("[coder]\n", "[coder] x=1\n"),
    ] {
        let changed = file.replacen(old, new, 1);
        assert_ne!(changed, file);
        let plain = messages(&decode(changed.as_str()), &SessionId::default()).messages;
        assert_eq!(read(&changed, &known), plain, "{new}");
    }
    // What stands around the cells is no part of them.
    let question = file.replace("a monad?", "a functor?");
    assert_eq!(read(&question, &known)[1].body, answer().body);
}

/// Counts how often it is asked.
struct Counting(Count<usize>);

impl KnownMessages for Counting {
    fn get(&self, _: CellsHash) -> Option<Message> {
        self.0.set(self.0.get() + 1);
        Some(Message::user("x", "forged"))
    }
}

#[test]
fn only_what_a_program_wrote_and_a_model_sees_is_looked_up() {
    let file = "# %% [^1]\n\n[^1]: [markdown]\n\nHi\n\n# %%% [^2]\n\n[^2]: [coder]\n\nHello\n\n\
        # %%% [^3]\n\n[^3]: [coder] history=none\n\nhidden\n\n\
        # %%% [^4]\n\n[^4]: [attachment] kind=\"file\"\n\ntext\n";
    let known = Counting(Count::new(0));
    let plain = messages(&decode(file), &SessionId::default()).messages;
    assert_eq!(
        read(file, &known),
        plain,
        "a message of another type is none of these"
    );
    assert_eq!(known.0.get(), 2);
}

#[test]
fn a_loose_question_gets_a_number() {
    let (file, _) = put("# %%\n\nOne?\n\n# %% Two\n\nTwo?\n", &[0, 1]);
    let document = decode(file.as_str());
    let names: Vec<_> = document
        .cells()
        .map(|cell| cell.name().into_owned())
        .collect();
    assert_eq!(names[..4], ["1", "2", "3.think", "3"], "{file}");
    assert!(
        file.contains("# %% Two[^2]\n\n[^2]: [markdown]\n\nTwo?\n"),
        "{file}"
    );
}

#[test]
fn a_question_gets_its_name_as_its_id() {
    let talk = "# %% [^1]\n\n[^1]: [markdown]\n\nHi\n\n# %%\n\nWhy?\n\n\
        # %%% [^8]\n\n[^8]: [notification] kind=\"note\" parent=\"2\" history=none\n\nx\n";
    let (file, _) = put(talk, &[1]);
    assert!(
        file.contains("# %% [^2]\n\n[^2]: [markdown]\n\nWhy?"),
        "{file}"
    );
}

/// An open fence above hides nothing; a sealed head below would end its region.
#[test]
fn a_question_stays_loose_where_an_id_would_change_another_cell() {
    let file = "# %%\n\n```\n# %% hidden\n\n# %%\n\nWhy?\n```\n\n# %%\n\nHow?\n";
    let document = decode(file);
    assert_eq!(document.cells().len(), 2);
    let inner = "# %%\n\n- ```\n\n# %%\n\n```\n# %% x\n```\n";
    for (file, asked) in [(file, 1), (inner, 1)] {
        let before = decode(file);
        let (after, _) = put(file, &[asked]);
        let after = decode(after.as_str());
        for (old, new) in before.cells().zip(after.cells()) {
            assert_eq!(old.content(), new.content());
        }
    }
}

#[test]
fn messages_that_cells_cannot_say_in_full_are_kept_for_a_journal() {
    let document = decode("# %% [^1]\n\n[^1]: [markdown]\n\nHi\n");
    let shown = |data: Option<Raw>| {
        let body = Attachment {
            kind: AttachmentKind::File,
            content: "text".into(),
            data,
        };
        Message::new("a", Body::Attachment(body))
    };
    let data = Raw::parse(r#"{"path":"notes.txt","sha":"1"}"#).ok();
    let new = [shown(data), shown(None)];
    let ids = &mut CountingIds::default();
    let added = put_messages(
        &document,
        &SessionId::default(),
        &new,
        &jiff::tz::TimeZone::UTC,
        ids,
    )
    .unwrap();
    let file = String::from_utf8(added.splice.apply(document.source())).unwrap();
    assert!(!file.contains("[details]"), "{file}");
    let [(hash, kept)] = &added.partial[..] else {
        panic!("{:?}", added.partial)
    };
    assert_eq!(*kept, new[0]);
    let known = HashMap::from([(*hash, kept.clone())]);
    assert_eq!(read(&file, &known)[1].body, new[0].body);
}
