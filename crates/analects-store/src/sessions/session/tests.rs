//! Sequences of verbs that nobody would think of.

use analects_core::{CompactBoundary, Summary};

use super::*;
use crate::{MemoryStore, OsIds};

/// Numbers that look random, and are the same each time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as usize % sides
    }
}

fn compaction(number: usize) -> Vec<Message> {
    let id = format!("S{number}");
    let text = format!("summary {number}").into();
    let summary = Summary { text, ..Summary::default() };
    let summary_id = Some(id.as_str().into());
    let boundary = CompactBoundary { summary_id, ..CompactBoundary::default() };
    let copy = Message::new("", Body::System(analects_core::System::default()));
    vec![
        Message::new(id, Body::Summary(summary)),
        Message::new("", Body::CompactBoundary(boundary)),
        copy,
    ]
}

fn random_step(session: &mut Session<'_>, number: usize, dice: &mut Dice) {
    let now = Timestamp::UNIX_EPOCH;
    let names = session.names().unwrap();
    let any = names.get(dice.roll(names.len().max(1))).map(|it| it.link().id.to_string());
    let done = match (dice.roll(8), any) {
        (0, _) => session.rewind_to_start(&mut OsIds, now),
        (1, _) => session.compact(compaction(number), &mut OsIds, now).map(drop),
        (2 | 3, Some(any)) => session.rewind(&any, &mut OsIds, now),
        (4 | 5, Some(any)) => session.drop_message(&any, &mut OsIds, now).map(drop),
        _ => {
            let said = vec![Message::user("", format!("said {number}"))];
            session.append(said, &mut OsIds, now).map(drop)
        }
    };
    done.unwrap();
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
            let copy = session.fork(None, to, &mut OsIds, Timestamp::UNIX_EPOCH).unwrap();
            let texts = |loaded: Loaded| -> Vec<String> {
                loaded.messages.iter().map(Message::text).collect()
            };
            let copied = texts(copy.load().unwrap());
            assert_eq!(copied, texts(loaded), "{seed} {number}");
        }
    }
}

/// The branches on which something is said, told from all records.
fn branches(session: &Session<'_>) -> u64 {
    let names = session.names().unwrap();
    let tree = Tree::new(names.iter().map(Names::link).collect());
    let ends = (0..tree.len()).filter(|at| tree.children(*at).is_empty());
    let speaks = |end: &usize| {
        // As far up as it is the first that follows, it is the same branch.
        let is_first = |at: usize| tree.parent(at).is_none_or(|p| tree.children(p)[0] == at);
        let way: Vec<usize> = tree.ancestors(*end).collect();
        let own = way.iter().position(|at| !is_first(*at)).map_or(way.len(), |at| at + 1);
        way[..own].iter().any(|at| tree.link(*at).kind == LinkKind::Speech)
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
                    let is_seen = seen.iter().any(|it| it.id == message.id);
                    let what = format!("{seed} {number} {count}: {message:?} {unseen:?}");
                    assert_eq!(unseen.is_none(), is_seen, "{what}");
                }
            }
        }
    }
}
