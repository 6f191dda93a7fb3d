//! The laws of conversion, over arbitrary conversations: what a format can represent comes back, everything else is
//! listed with the message that loses it, and a message file can represent everything.

use std::collections::{HashMap, HashSet};

use analects_core::RawMap;
use analects_testkit::values::message;
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::losses::is_made_up;

/// A conversation: each message follows the one before it.
fn linked(mut messages: Vec<Message>, session: &str) -> Vec<Message> {
    for at in 0..messages.len() {
        messages[at].session_id = session.into();
        messages[at].parent_id = at.checked_sub(1).map(|parent| messages[parent].id.clone());
    }
    messages
}

/// A message of a conversation that has a name: one without gets its file's.
fn named(mut message: Message) -> Message {
    if message.session_id.is_empty() {
        message.session_id = crate::msgfile::session_of(NAME);
    }
    message
}

fn conversation() -> BoxedStrategy<Vec<Message>> {
    let loose = vec(message().prop_map(named), 0..5).boxed();
    let plain = prop_oneof![
        any::<String>().prop_map(|text| Message::user("", text)),
        any::<String>().prop_map(|text| Message::assistant("", text)),
        message(),
    ];
    let session = crate::msgfile::session_of(NAME);
    let chain = vec(plain, 0..5).prop_map(move |messages| linked(messages, &session));
    prop_oneof![loose, chain].boxed()
}

/// Extra fields in the order of their names: in JSON, order says nothing.
fn in_order(extra: &RawMap) -> RawMap {
    let mut entries: Vec<_> = extra.iter().collect();
    entries.sort_by(|left, right| left.0.as_str().cmp(right.0.as_str()));
    let mut ordered = RawMap::new();
    entries
        .into_iter()
        .for_each(|(key, value)| ordered.push_raw(key.clone(), value.clone()));
    ordered
}

/// Formats of other programs have one spelling for each value.
fn respelled(format: &dyn Format, messages: &[Message]) -> Vec<Message> {
    let mut messages = messages.to_vec();
    if !["transcript", "msgfile"].contains(&format.id()) {
        for message in &mut messages {
            message.spellings = RawMap::new();
        }
    }
    messages
}

/// The same with other names in place of those that were made from a file's name and a place in it.
pub(super) fn renamed(messages: &[Message]) -> Vec<Message> {
    let mut known: Vec<String> = Vec::new();
    let mut rename = |name: &str| {
        if !is_made_up(name) {
            return name.to_string();
        }
        let at = known.iter().position(|one| one == name).unwrap_or_else(|| {
            known.push(name.to_string());
            known.len() - 1
        });
        format!("derived {at}")
    };
    let mut renamed = messages.to_vec();
    for message in &mut renamed {
        message.extra = in_order(&message.extra);
        message.session_id = rename(&named(message.clone()).session_id).into();
        message.id = rename(&message.id).into();
        message.parent_id = message.parent_id.as_deref().map(|id| rename(id).into());
    }
    renamed
}

/// Writes a conversation, reads it again, and checks what was said to be lost. Gives what was read.
pub(super) fn check(
    format: &dyn Format,
    conversation: &[Message],
    dialect: Dialect,
) -> (Vec<Message>, bool) {
    let written = write_in(format, conversation, dialect);
    let conversation = &respelled(format, conversation);
    let back = read(format, &written.bytes).messages;
    let text = String::from_utf8_lossy(&written.bytes);
    let id = format.id();
    if written.losses.is_empty() {
        assert_eq!(
            renamed(&back),
            renamed(conversation),
            "{id}: nothing was said to be lost\n{text}"
        );
    }
    // By message: one that loses nothing is there as it was, apart from whom it follows.
    let lossy: HashSet<&str> = written
        .losses
        .iter()
        .filter_map(|l| l.message.as_deref())
        .collect();
    let loses_session = written
        .losses
        .iter()
        .any(|loss| loss.message.is_none() && loss.what == "session_id");
    let bare = |message: &Message| {
        let name = |name: &str| if is_made_up(name) { "" } else { name }.to_string();
        let session = named(message.clone()).session_id;
        let session_id = if loses_session {
            String::new()
        } else {
            name(&session)
        }
        .into();
        let id = name(&message.id).into();
        let extra = in_order(&message.extra);
        Message {
            parent_id: None,
            session_id,
            id,
            extra,
            ..message.clone()
        }
    };
    let mut there: HashMap<String, usize> = HashMap::new();
    for message in &back {
        *there.entry(format!("{:?}", bare(message))).or_default() += 1;
    }
    for message in conversation.iter().filter(|m| !lossy.contains(&*m.id)) {
        let found = there
            .get_mut(&format!("{:?}", bare(message)))
            .filter(|count| **count > 0);
        let Some(found) = found else {
            panic!(
                "{id}: no loss names this message:\n{message:#?}\n{:#?}\n{text}",
                written.losses
            )
        };
        *found -= 1;
    }
    (back, written.losses.is_empty())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 2))]

    #[test]
    fn what_is_lost_is_listed_by_message(conversation in conversation()) {
        for format in both_ways() {
            check(format, &conversation, Dialect::Ours);
        }
        let chat = format_by_id("chatmd").unwrap();
        check(chat, &conversation, Dialect::V1);
        check(chat, &conversation, Dialect::V2);
    }

    #[test]
    fn what_a_format_has_read_it_writes_again(conversation in conversation()) {
        for format in both_ways() {
            let (said, _) = check(format, &conversation, Dialect::Ours);
            let (again, exact) = check(format, &said, Dialect::Ours);
            prop_assert!(exact, "{} loses what it said itself: {:#?}", format.id(),
                write(format, &said).losses);
            prop_assert_eq!(renamed(&again), renamed(&said));
        }
    }

    #[test]
    fn every_pair_of_formats_says_the_same_or_what_is_lost(conversation in conversation()) {
        for from in both_ways() {
            let said = read(from, &write(from, &conversation).bytes).messages;
            for to in both_ways() {
                let (back, exact) = check(to, &said, Dialect::Ours);
                if exact {
                    let pair = format!("{} to {}", from.id(), to.id());
                    prop_assert_eq!(renamed(&back), renamed(&said), "{}", pair);
                }
            }
        }
    }

    #[test]
    fn a_message_file_keeps_the_conversation_of_every_format(conversation in conversation()) {
        let file = format_by_id("msgfile").unwrap();
        for from in both_ways() {
            let first = write(from, &conversation);
            let said = read(from, &first.bytes).messages;
            let (kept, exact) = check(file, &said, Dialect::Ours);
            prop_assert!(exact);
            prop_assert_eq!(&kept, &said);
            let again = write(from, &kept);
            prop_assert_eq!(again.losses, vec![], "{}", from.id());
            prop_assert_eq!(renamed(&read(from, &again.bytes).messages), renamed(&said));
        }
    }

    #[test]
    fn the_size_of_chunks_does_not_matter(conversation in conversation(), size in 1..40_usize) {
        for format in both_ways() {
            let bytes = write(format, &conversation).bytes;
            let mut reader = format.reader(&ReadOptions::named(NAME)).unwrap();
            let (mut pieces, mut whole) = (ReadOutput::default(), ReadOutput::default());
            bytes.chunks(size).for_each(|piece| reader.feed(piece, &mut pieces));
            reader.finish(&mut pieces);
            let mut reader = format.reader(&ReadOptions::named(NAME)).unwrap();
            reader.feed(&bytes, &mut whole);
            reader.finish(&mut whole);
            prop_assert_eq!(pieces, whole, "{}", format.id());
        }
    }
}
