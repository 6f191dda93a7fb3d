//! Sequences of verbs that nobody would think of.

use analects_core::{CompactBoundary, History, LinkKind, Summary};

use super::*;
use crate::{MemoryStore, OsIds};

/// Numbers that look random, and are the same each time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) as usize % sides
    }
}

fn compaction(number: usize) -> Vec<Message> {
    let id = format!("S{number}");
    let text = format!("summary {number}").into();
    let summary = Summary {
        text,
        ..Summary::default()
    };
    let summary_id = Some(id.as_str().into());
    let boundary = CompactBoundary {
        summary_id,
        ..CompactBoundary::default()
    };
    let copy = Message::new("", Body::System(analects_core::System::default()));
    vec![
        Message::new(id, Body::Summary(summary)),
        Message::new("", Body::CompactBoundary(boundary)),
        copy,
    ]
}

fn outline(session: &Session<'_>) -> Vec<Message> {
    Outline::read(session.store, &session.name)
        .unwrap()
        .messages
}

fn random_step(session: &mut Session<'_>, number: usize, dice: &mut Dice) {
    let now = Timestamp::UNIX_EPOCH;
    let messages = outline(session);
    let any = messages
        .get(dice.roll(messages.len().max(1)))
        .map(|it| it.id.clone());
    let verb = dice.roll(12);
    let done = match (verb, any) {
        (0, _) => session.apply(|it| verbs::rewind(it, None), &mut OsIds, now),
        (1, _) => session.compact(compaction(number), &mut OsIds, now),
        (2 | 3, Some(any)) => session.apply(|it| verbs::rewind(it, Some(&any)), &mut OsIds, now),
        (4..=7, Some(any)) => {
            let target = Target::message(any);
            let text = format!("edited {number}");
            let change = |messages: &[Message]| match verb {
                4 | 5 => verbs::drop(messages, &target),
                6 => verbs::restore(messages, &target),
                _ => verbs::edit(messages, &target, &text),
            };
            session.apply(change, &mut OsIds, now)
        }
        _ => {
            let said = vec![Message::user("", format!("said {number}"))];
            session.append(said, &mut OsIds, now)
        }
    };
    // Not every verb applies to every record.
    assert!(
        matches!(done, Ok(_) | Err(StoreError::Verb { .. })),
        "{done:?}"
    );
}

#[test]
fn a_fork_says_what_the_original_says() {
    for seed in 0..160 {
        let (store, mut dice) = (MemoryStore::default(), Dice(seed));
        let name = ChainName::new("p", "original");
        let mut session = Session::open(&store, name.clone()).unwrap();
        for number in 0..14 {
            random_step(&mut session, number, &mut dice);
            let loaded = session.load().unwrap();
            assert_eq!(loaded.leaf.as_ref(), session.leaf(), "{seed} {number}");
            let to = ChainName::new("p", format!("copy-{number}"));
            let copy = session
                .fork(None, to, &mut OsIds, Timestamp::UNIX_EPOCH)
                .unwrap();
            let texts = |loaded: LoadedChain| -> Vec<String> {
                let seen = loaded
                    .messages
                    .iter()
                    .filter(|it| it.history != History::Exclude);
                seen.map(Message::text).collect()
            };
            let copied = texts(copy.load().unwrap());
            assert_eq!(copied, texts(loaded), "{seed} {number}");
        }
    }
}

/// The branches on which something is said, told from all records.
fn branches(session: &Session<'_>) -> u64 {
    let messages = outline(session);
    let tree = Tree::of(&messages);
    let ends = (0..tree.len()).filter(|at| tree.children(*at).is_empty());
    let speaks = |end: &usize| {
        // As far up as it is the first that follows, it is the same branch.
        let is_first = |at: usize| tree.parent(at).is_none_or(|p| tree.children(p)[0] == at);
        let way: Vec<usize> = tree.ancestors(*end).collect();
        let own = way
            .iter()
            .position(|at| !is_first(*at))
            .map_or(way.len(), |at| at + 1);
        way[..own]
            .iter()
            .any(|at| tree.link(*at).kind == LinkKind::Speech)
    };
    ends.filter(speaks).count() as u64
}

#[test]
fn branches_are_counted_and_what_is_not_seen_is_marked() {
    for seed in 0..160 {
        let store = MemoryStore::default();
        let mut dice = Dice(seed);
        let name = ChainName::new("p", "original");
        let mut session = Session::open(&store, name.clone()).unwrap();
        for number in 0..14 {
            random_step(&mut session, number, &mut dice);
            let counted = store.overview(&name).unwrap().branches();
            assert_eq!(counted, branches(&session), "{seed} {number}");
            let seen = session.load().unwrap().messages;
            for count in [1, 4, 100] {
                let tail = crate::tail(&store, &name, count).unwrap();
                for (message, unseen) in tail.messages.iter().zip(&tail.unseen) {
                    let is_it =
                        |it: &&Message| it.id == message.id && it.history != History::Exclude;
                    let is_seen = seen.iter().any(|it| is_it(&it));
                    let what = format!("{seed} {number} {count}: {message:?} {unseen:?}");
                    assert_eq!(unseen.is_none(), is_seen, "{what}");
                }
            }
        }
    }
}
