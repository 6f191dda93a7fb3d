//! Streaming writes as the messages come in, with the same result as writing all of them at once.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::borrow::Cow;

use analects_core::verbs::{Edits, Survey, View, revised, revised_in_full};
use analects_core::{Body, CountingIds, History, Link, Message, Revision, Tree, TreeBuilder};
use analects_formats::convert::{
    Conversion, FORMATS, FirstPassRunner, WriteOptions, WriteOutput, format_by_id,
};
use analects_formats::msgfile::{self, ExactWriter, ReadableWriter};
use analects_formats::{Format, ReadOptions, transcript};
use analects_testkit::conversations::history;
use proptest::prelude::*;

/// Revisions of the messages of a conversation, of some of their calls and of messages that are not there.
fn with_revisions(mut messages: Vec<Message>, picks: &[(usize, u8)]) -> Vec<Message> {
    for (nth, (pick, what)) in picks.iter().enumerate() {
        let at = pick % (messages.len() + 1);
        let target = messages
            .get(at)
            .map_or("nobody".into(), |message| message.id.clone());
        let call = messages
            .get(at)
            .and_then(|message| analects_core::Said::of(message).calls.into_iter().next());
        let revision = match what % 5 {
            0 => Revision {
                target,
                content: Some("Said anew.".into()),
                ..Revision::default()
            },
            1 => Revision {
                target,
                history: Some(History::Exclude),
                ..Revision::default()
            },
            2 => Revision {
                target,
                history: Some(History::Include),
                ..Revision::default()
            },
            3 => Revision {
                target,
                call,
                history: Some(History::Exclude),
                content: None,
            },
            _ => Revision {
                target,
                call,
                history: Some(History::Include),
                content: None,
            },
        };
        let record = Message::new(format!("revision {nth}"), Body::Revision(revision));
        messages.insert((pick / 7) % (messages.len() + 1), record);
    }
    messages
}

fn conversation() -> impl Strategy<Value = Vec<Message>> {
    let picks = proptest::collection::vec((any::<usize>(), any::<u8>()), 0..6);
    (history(), picks).prop_map(|(messages, picks)| with_revisions(messages, &picks))
}

/// What a format writes in two passes, and how many bytes came with each message.
fn in_two_passes(format: &dyn Format, messages: &[Message]) -> Option<(WriteOutput, Vec<usize>)> {
    let mut survey = format.first_pass(&WriteOptions::default())?;
    messages.iter().for_each(|message| survey.observe(message));
    let mut writer = survey.writer();
    let (mut out, mut sizes) = (WriteOutput::default(), Vec::new());
    for message in messages {
        let before = out.bytes.len();
        writer.push(message, &mut out);
        sizes.push(out.bytes.len() - before);
    }
    writer.finish(&mut out);
    Some((out, sizes))
}

proptest! {
    // Each case goes through all formats, twice.
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 8))]

    #[test]
    fn two_passes_write_what_one_writes(messages in conversation()) {
        for format in FORMATS {
            let Some((streamed, _)) = in_two_passes(*format, &messages) else { continue };
            let mut writer = format.writer(&WriteOptions::default()).unwrap();
            let mut whole = WriteOutput::default();
            messages.iter().for_each(|message| writer.push(message, &mut whole));
            writer.finish(&mut whole);
            prop_assert_eq!(streamed, whole, "{}", format.id());
        }
    }

    #[test]
    fn a_conversion_in_two_passes_is_one_in_one(messages in conversation(), size in 1..400_usize) {
        let bytes: String = messages.iter().map(transcript::encode).collect();
        let from = format_by_id("transcript").unwrap();
        let reader = || from.reader(&ReadOptions::named("talk.jsonl")).unwrap();
        for to in FORMATS {
            let options = WriteOptions::default();
            let Some(survey) = to.first_pass(&options) else { continue };
            let mut surveying = FirstPassRunner::new(reader(), survey);
            bytes.as_bytes().chunks(size).for_each(|piece| surveying.feed(piece));
            let mut streamed = Conversion::new(reader(), surveying.finish());
            let mut whole = Conversion::new(reader(), to.writer(&options).unwrap());
            let (mut one, mut other) = (Vec::new(), Vec::new());
            for piece in bytes.as_bytes().chunks(size) {
                one.extend(streamed.feed(piece));
                other.extend(whole.feed(piece));
            }
            one.extend(streamed.finish());
            other.extend(whole.finish());
            prop_assert_eq!(one, other, "{}", to.id());
            prop_assert_eq!(streamed.losses, whole.losses);
            prop_assert_eq!(streamed.left_behind, whole.left_behind);
        }
    }

    #[test]
    fn a_view_in_pieces_is_the_view_of_all(messages in conversation()) {
        let mut survey = Survey::default();
        messages.iter().for_each(|message| survey.meet(message));
        let edits: Edits = survey.edits();
        let mut view = View::of(edits.clone());
        let seen: Vec<Message> =
            messages.iter().map(|message| view.next(Cow::Borrowed(message)).into_owned()).collect();
        prop_assert_eq!(seen, revised(messages.clone()));
        let mut full = messages.clone();
        full.iter_mut().enumerate().for_each(|(at, message)| edits.apply(at, message));
        prop_assert_eq!(full, revised_in_full(messages));
    }

    #[test]
    fn a_tree_built_link_by_link_is_that_of_all(messages in conversation()) {
        let mut builder = TreeBuilder::default();
        messages.iter().for_each(|message| builder.push(Link::of(message)));
        let (built, whole) = (builder.finish(), Tree::of(&messages));
        for (at, message) in messages.iter().enumerate() {
            prop_assert_eq!(built.link(at), Link::of(message));
            prop_assert_eq!(built.parent(at), whole.parent(at));
            prop_assert_eq!(built.is_hidden(at), whole.is_hidden(at));
        }
        prop_assert_eq!(built.leaf(None), whole.leaf(None));
    }

    #[test]
    fn an_exact_file_comes_message_by_message(messages in conversation()) {
        let session = messages.first().map(|first| first.session_id.clone()).unwrap_or_default();
        let mut writer = ExactWriter::new(&session, CountingIds::default());
        let (mut file, mut tail) = (Vec::new(), Vec::new());
        for message in &messages {
            let before = file.len();
            writer.push(message, &mut file, &mut tail);
            prop_assert!(file.len() > before, "nothing waits");
        }
        writer.finish(&mut file, &mut tail);
        file.extend(tail);
        prop_assert_eq!(&file, &msgfile::encode(&messages, &mut CountingIds::default()));
        let read = msgfile::messages(&msgfile::decode(file), &session);
        prop_assert_eq!(read.messages, messages);
    }
}

/// A long talk whose first message is revised at the end.
fn long_talk() -> Vec<Message> {
    let mut messages: Vec<Message> = Vec::new();
    for at in 0..2000 {
        let parent_id = messages.last().map(|last| last.id.clone());
        let text = format!("message {at}: {}", "words ".repeat(40));
        messages.push(Message {
            parent_id,
            ..Message::user(format!("m{at}"), text)
        });
    }
    let content = Some("Said anew.".into());
    let revision = Revision {
        target: "m0".into(),
        content,
        ..Revision::default()
    };
    messages.push(Message::new("late", Body::Revision(revision)));
    messages
}

#[test]
fn no_message_waits_for_the_end() {
    let messages = long_talk();
    for id in ["msgfile", "markdown"] {
        let (out, sizes) = in_two_passes(format_by_id(id).unwrap(), &messages).unwrap();
        assert!(out.bytes.len() > 2000 * 240, "{id}");
        for (at, size) in sizes.iter().enumerate().take(2000).skip(1) {
            assert!(*size >= 240, "{id}: message {at} came with {size} bytes");
        }
        let text = String::from_utf8(out.bytes).unwrap();
        assert!(
            text.contains("Said anew.") && !text.contains("message 0:"),
            "{id}"
        );
    }
}

#[test]
fn a_late_compaction_and_a_late_leaf_are_seen_in_time() {
    let mut messages = long_talk();
    messages.push(Message {
        parent_id: Some("m3".into()),
        ..Message::user("again", "Another way")
    });
    let mut survey = Survey::default();
    messages.iter().for_each(|message| survey.meet(message));
    let mut writer = ReadableWriter::new(survey.finish(), CountingIds::default());
    let mut file = Vec::new();
    messages
        .iter()
        .for_each(|message| writer.push(message, &mut file));
    writer.finish(&mut file);
    let whole = msgfile::encode_readable(&messages, &mut CountingIds::default());
    assert_eq!(file, whole.0);
    assert!(
        String::from_utf8(file)
            .unwrap()
            .ends_with("parent=4\n\nAnother way\n")
    );
}
