//! Transcripts under fire: every operation fails once and for good, also while damage is being passed by;
//! the power goes after every operation; files are cut at every byte. Whatever happens: what was
//! acknowledged is there, in order and whole, nothing is there twice, and the next append works.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use analects_core::{Message, Summary};
use analects_formats::transcript::{encode, read_line};
use analects_store::vfs::Vfs;
use analects_store::{ChainName, JsonlStore, TranscriptStore, load};
use analects_testkit::disks::{Fault, Faulty, Memory, Unsynced};
use proptest::prelude::*;

use super::in_memory::places;

fn disk() -> Memory {
    Memory::new("/disk")
}

/// A store with an index that is written after every few records.
fn store(vfs: impl Vfs + 'static) -> JsonlStore {
    JsonlStore::with_vfs(Arc::new(vfs), &places()).with_stride(300)
}

fn talk() -> ChainName {
    ChainName::new("project", "talk")
}

fn message(number: usize) -> Message {
    let parent_id = number
        .checked_sub(1)
        .map(|before| format!("m{before}").into());
    let text = format!("{number} {}", "é".repeat(number * 7));
    Message {
        parent_id,
        ..Message::user(format!("m{number}"), text)
    }
}

/// Each of these is appended at once.
fn batches() -> Vec<(ChainName, Vec<Message>)> {
    let side = |number| Message {
        agent_id: Some("helper".into()),
        ..message(number)
    };
    let summary = Message {
        body: analects_core::Body::Summary(Summary {
            text: "so far".into(),
            ..Summary::default()
        }),
        ..message(4)
    };
    vec![
        (talk(), vec![message(0)]),
        (talk(), vec![message(1), message(2)]),
        (talk().side("helper"), vec![side(0)]),
        (talk(), vec![message(3)]),
        (talk(), vec![summary, message(5), message(6)]),
        (talk().side("helper"), vec![side(1)]),
        (talk(), vec![message(7)]),
    ]
}

/// Appends everything, going on after errors, as a person would; gives what was acknowledged.
fn work(store: &JsonlStore) -> Vec<usize> {
    let batches = batches();
    let acknowledged = batches
        .iter()
        .enumerate()
        .filter(|(_, (to, records))| store.append(to, records).is_ok());
    acknowledged.map(|(at, _)| at).collect()
}

fn all(store: &dyn TranscriptStore, of: &ChainName) -> Vec<Message> {
    let mut found = Vec::new();
    let scanned = store.scan(of, 0, &mut |row| {
        found.extend(row.bytes.map(read_line).unwrap_or_default().messages);
        ControlFlow::Continue(())
    });
    scanned.unwrap();
    found
}

/// Everything that was acknowledged is there, whole and in order, and nothing else but what was tried.
#[track_caller]
fn check(vfs: &Memory, acknowledged: &[usize], what: &str) {
    let store = store(vfs.clone());
    for name in [talk(), talk().side("helper")] {
        let mut expected = Vec::new();
        let mut tried = Vec::new();
        for (at, (to, records)) in batches()
            .into_iter()
            .enumerate()
            .filter(|(_, b)| b.0 == name)
        {
            assert_eq!(to, name);
            tried.extend(records.iter().cloned());
            if acknowledged.contains(&at) {
                expected.extend(records);
            }
        }
        let found = all(&store, &name);
        let mut rest = found.iter();
        for record in &expected {
            assert!(
                rest.any(|one| one == record),
                "{what}: {record:?} is lost: {found:?}"
            );
        }
        let mut rest = tried.iter();
        for record in found
            .iter()
            .filter(|record| !record.id.starts_with("after"))
        {
            assert!(
                rest.any(|one| one == record),
                "{what}: {record:?} is odd: {found:?}"
            );
        }
        // Whatever the index says is what the file says.
        let overview = store.overview(&name).unwrap();
        assert_eq!(overview.records, found.len() as u64, "{what}");
        let loaded = load(&store, &name).unwrap();
        let expected = chain_of(&found, name.agent.as_deref());
        assert_eq!(loaded.messages, expected, "{what}");
    }
}

fn chain_of(messages: &[Message], agent: Option<&str>) -> Vec<Message> {
    let tree = analects_core::Tree::of(messages);
    let chain = analects_core::chain_to(messages, &tree, tree.leaf(agent));
    chain.messages.into_iter().cloned().collect()
}

/// The next append works, and starts a line of its own.
#[track_caller]
fn check_next(vfs: &Memory, acknowledged: &[usize], what: &str) {
    let after = Message::user("after", "all is well");
    let appended = store(vfs.clone()).append(&talk(), std::slice::from_ref(&after));
    appended.unwrap_or_else(|error| panic!("{what}: {error}"));
    let found = all(&store(vfs.clone()), &talk());
    assert_eq!(found.last(), Some(&after), "{what}");
    let bytes = file(vfs).unwrap();
    let last = bytes.split_inclusive(|byte| *byte == b'\n').next_back();
    assert_eq!(
        last,
        Some(encode(&after).as_bytes()),
        "{what}: a line of its own"
    );
    check(vfs, acknowledged, what);
}

fn file(vfs: &Memory) -> Option<Vec<u8>> {
    vfs.get(&store(vfs.clone()).path(&talk()).unwrap())
}

fn operations() -> usize {
    let faulty = Faulty::new(Arc::new(disk()), Fault::Io, usize::MAX, false);
    let store = store(faulty.clone());
    assert_eq!(work(&store).len(), batches().len());
    faulty.operations()
}

#[test]
fn every_operation_may_fail() {
    let mut hits = 0;
    for at in 0..operations() {
        for (fault, sticky) in Fault::ALL
            .iter()
            .flat_map(|fault| [(*fault, false), (*fault, true)])
        {
            let what = format!("{fault:?} at {at}, sticky {sticky}");
            let memory = disk();
            let faulty = Faulty::new(Arc::new(memory.clone()), fault, at, sticky);
            let acknowledged = work(&store(faulty.clone()));
            hits += usize::from(faulty.hits() > 0);
            if matches!(fault, Fault::Interrupted | Fault::Short) {
                assert_eq!(acknowledged.len(), batches().len(), "{what}: waited out");
            }
            check(&memory, &acknowledged, &what);
            check_next(&memory, &acknowledged, &what);
        }
    }
    assert!(hits > 200, "only {hits} of the faults did anything");
}

#[test]
fn a_full_disk_leaves_the_file_as_it_was() {
    let mut refused = 0;
    for at in 0..operations() {
        let memory = disk();
        let faulty = Faulty::new(Arc::new(memory.clone()), Fault::Full, at, true);
        let store = store(faulty);
        let mut before = None;
        for (to, records) in batches() {
            match store.append(&to, &records) {
                Ok(()) => before = file(&memory),
                Err(error) => {
                    refused += 1;
                    let now = file(&memory).unwrap_or_default();
                    assert_eq!(
                        now,
                        before.clone().unwrap_or_default(),
                        "full at {at}: {error}"
                    );
                    assert!(error.to_string().contains("/disk/"), "{error}");
                    assert!(error.is_disk_full(), "{error}");
                }
            }
        }
    }
    assert!(refused > 20, "only {refused}");
}

#[test]
fn every_operation_may_fail_while_damage_is_passed_by() {
    let every = if std::env::var_os("ANALECTS_TORTURE").is_some() {
        1
    } else {
        7
    };
    for at in (0..operations()).step_by(every) {
        for first in [Fault::Io, Fault::Full] {
            for (again, fault, sticky) in (0..30).flat_map(|again| {
                [
                    (again, Fault::Io, false),
                    (again, Fault::Full, true),
                    (again, Fault::Sync, true),
                ]
            }) {
                let memory = disk();
                let faulty = Faulty::new(Arc::new(memory.clone()), first, at, true);
                let acknowledged = work(&store(faulty));
                let what = format!("{first:?} at {at}, then {fault:?} at {again}, {sticky}");
                let faulty = Faulty::new(Arc::new(memory.clone()), fault, again, sticky);
                let later = Message::user("after-damage", "later");
                let done = store(faulty)
                    .append(&talk(), std::slice::from_ref(&later))
                    .is_ok();
                let found = all(&store(memory.clone()), &talk());
                let count = found.iter().filter(|message| **message == later).count();
                assert!(count == 1 || (count == 0 && !done), "{what}: {count}");
                check_next(&memory, &acknowledged, &what);
            }
        }
    }
}

#[test]
fn the_power_may_go_at_any_moment() {
    let whole = disk();
    work(&store(whole.clone()));
    let mut cuts = 0;
    for cut in 0..=whole.changes() {
        let memory = disk();
        memory.cut_power_after(cut);
        let acknowledged = work(&store(memory.clone()));
        for kept in 0..=memory.pending() {
            for unsynced in [
                Unsynced::Lost,
                Unsynced::Kept,
                Unsynced::Torn,
                Unsynced::Half,
            ] {
                let what = format!("cut after {cut}, {kept} names kept, data {unsynced:?}");
                let after = memory.after_power_cut(kept, unsynced);
                check(&after, &acknowledged, &what);
                check_next(&after, &acknowledged, &what);
                cuts += 1;
            }
        }
    }
    assert!(cuts > 200, "only {cuts} cuts");
}

#[test]
fn a_cut_at_every_byte_of_the_last_records() {
    let lines: Vec<String> = (0..9).map(|number| encode(&message(number))).collect();
    let bytes = lines.concat().into_bytes();
    let from = bytes.len() - lines[6..].concat().len();
    let path = store(disk()).path(&talk()).unwrap();
    for cut in from..=bytes.len() {
        let memory = disk();
        memory.put(&path, &bytes[..cut]);
        let mut ends = Vec::new();
        for line in &lines {
            ends.push(ends.last().copied().unwrap_or(0) + line.len());
        }
        // A line that lacks nothing but its line end is whole.
        let whole = ends.iter().filter(|end| **end - 1 <= cut).count();
        let found = all(&store(memory.clone()), &talk());
        assert_eq!(found.len(), whole, "cut at {cut}");
        let problems = load(&store(memory.clone()), &talk()).unwrap().problems;
        let is_torn = !ends.contains(&cut) && !ends.contains(&(cut + 1)) && cut != 0;
        assert_eq!(
            problems.len(),
            usize::from(is_torn),
            "cut at {cut}: {problems:?}"
        );
        assert_eq!(
            file(&memory).as_deref(),
            Some(&bytes[..cut]),
            "reading never writes"
        );
        let next = Message {
            parent_id: Some("m5".into()),
            ..Message::user("after", "next")
        };
        store(memory.clone())
            .append(&talk(), std::slice::from_ref(&next))
            .unwrap();
        let end = if ends.contains(&cut) { "" } else { "\n" };
        let expected = [&bytes[..cut], end.as_bytes(), encode(&next).as_bytes()].concat();
        assert_eq!(
            file(&memory),
            Some(expected),
            "cut at {cut}: what is torn stays as it is"
        );
        let found = all(&store(memory.clone()), &talk());
        assert_eq!(
            (found.len(), found.last()),
            (whole + 1, Some(&next)),
            "cut at {cut}"
        );
        let says = load(&store(memory), &talk()).unwrap().messages.len();
        assert_eq!(says, 7, "cut at {cut}");
    }
}

#[derive(Debug, Clone)]
enum Step {
    /// Appends some records of some length.
    Append(usize, usize),
    /// Another program opens the store.
    Reopen,
    /// The power goes after some changes, and something becomes of what was not synced.
    Cut(usize, u8, u8),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (1..4_usize, 0..3000_usize).prop_map(|(count, length)| Step::Append(count, length)),
        1 => Just(Step::Reopen),
        1 => (0..12_usize, any::<u8>(), 0..4_u8).prop_map(|(after, kept, data)| Step::Cut(after, kept, data)),
    ];
    proptest::collection::vec(step, 1..25)
}

proptest! {
    /// A store that lives through cuts at random never loses what it acknowledged.
    #[test]
    fn random_kills(steps in steps()) {
        let mut memory = disk();
        let mut open = store(memory.clone());
        let (mut number, mut acknowledged) = (0, Vec::new());
        let mut cut = None;
        for step in steps {
            match step {
                Step::Append(count, length) => {
                    let records: Vec<Message> = (number..number + count)
                        .map(|number| Message::user(format!("r{number}"), "z".repeat(length)))
                        .collect();
                    number += count;
                    if open.append(&talk(), &records).is_ok() {
                        acknowledged.extend(records);
                    }
                }
                Step::Reopen => open = store(memory.clone()),
                Step::Cut(after, kept, data) => {
                    memory.cut_power_after(memory.changes() + after);
                    cut = Some((kept, data));
                    continue;
                }
            }
            // The power may be gone by now; somebody switches it on again.
            if let Some((kept, data)) = cut
                && memory.metadata(Path::new("/disk")).is_err()
            {
                let unsynced = [Unsynced::Lost, Unsynced::Kept, Unsynced::Torn, Unsynced::Half];
                let kept = kept as usize % (memory.pending() + 1);
                drop(open);
                memory = memory.after_power_cut(kept, unsynced[data as usize]);
                open = store(memory.clone());
                cut = None;
            }
        }
        drop(open);
        let kept = memory.pending();
        let memory = memory.after_power_cut(kept, Unsynced::Kept);
        let found = all(&store(memory.clone()), &talk());
        let mut rest = found.iter();
        for record in &acknowledged {
            prop_assert!(rest.any(|one| one == record), "{:?} is lost", record.id);
        }
        let overview = store(memory).overview(&talk()).unwrap();
        prop_assert_eq!(overview.records, found.len() as u64);
    }
}

#[test]
fn what_somebody_else_left_unsafe_is_made_safe_by_the_next() {
    for name in [talk(), talk().side("helper")] {
        let whole = disk();
        store(whole.clone()).append(&name, &[message(0)]).unwrap();
        for killed_after in 0..whole.changes() {
            // The first one is killed, with everything that it did in memory; the machine goes on.
            let memory = disk();
            memory.cut_power_after(killed_after);
            let first = store(memory.clone());
            let _ = first.append(&name, &[message(0)]);
            drop(first);
            memory.cut_power_after(usize::MAX);
            store(memory.clone()).append(&name, &[message(1)]).unwrap();
            let after = memory.after_power_cut(0, Unsynced::Lost);
            let found = all(&store(after), &name);
            assert_eq!(
                found.last(),
                Some(&message(1)),
                "killed after {killed_after}: {found:?}"
            );
        }
    }
}

#[test]
fn what_was_never_synced_is_synced_on_demand() {
    let memory = disk();
    let lazy = store(memory.clone()).with_sync(analects_store::SyncPolicy::Never);
    lazy.append(&talk(), &[message(0)]).unwrap();
    assert_eq!(
        all(&store(memory.after_power_cut(0, Unsynced::Lost)), &talk()),
        []
    );
    lazy.sync(&talk()).unwrap();
    let after = memory.after_power_cut(0, Unsynced::Lost);
    assert_eq!(all(&store(after), &talk()), [message(0)]);
    // And when the store is closed.
    lazy.append(&talk(), &[message(1)]).unwrap();
    drop(lazy);
    let after = memory.after_power_cut(0, Unsynced::Lost);
    assert_eq!(all(&store(after), &talk()).len(), 2);
}
