//! A session that is recorded as a whole is there or not, whatever fails and whenever the power goes; what is left
//! of one that is not there goes with the next.

use std::path::PathBuf;
use std::sync::Arc;

use analects_core::Message;
use analects_store::vfs::Vfs;
use analects_store::{ChainName, JsonlStore, StoreError, TranscriptStore};
use analects_testkit::disks::{Fault, Faulty, Memory, Unsynced};

use super::in_memory::places;

fn disk() -> Memory {
    Memory::new("/disk")
}

fn store(vfs: impl Vfs + 'static) -> JsonlStore {
    JsonlStore::with_vfs(Arc::new(vfs), &places()).with_stride(300)
}

fn name(session: &str) -> ChainName {
    ChainName::new("project", session)
}

fn messages(count: usize) -> Vec<Message> {
    (0..count)
        .map(|at| Message::user(format!("m{at}"), "é".repeat(at * 50)))
        .collect()
}

/// Records a session with a side chain, in pieces.
fn record(store: &JsonlStore, session: &str) -> Result<(), StoreError> {
    let mut new = store.begin(&name(session))?;
    new.append(None, &messages(3))?;
    new.append(Some("helper"), &messages(2))?;
    new.append(None, &messages(4)[3..])?;
    new.finish()
}

/// Records a session by appends alone, the first of which makes it.
fn append(store: &JsonlStore, session: &str) -> Result<(), StoreError> {
    store.append(&name(session), &messages(3))
}

/// Every session that is listed has all of its records.
#[track_caller]
fn check(vfs: &Memory, acknowledged: bool, records: u64, sides: u64, what: &str) {
    let store = store(vfs.clone());
    let listed = store.list(None).unwrap();
    assert!(
        !acknowledged || listed.iter().any(|it| it.name == name("first")),
        "{what}: lost"
    );
    for session in listed {
        let overview = store.overview(&session.name).unwrap();
        assert_eq!((overview.records, overview.damaged), (records, 0), "{what}");
        let side = store.overview(&session.name.side("helper")).unwrap();
        assert_eq!(side.records, sides, "{what}");
    }
}

/// The next session can be recorded, and nothing is left of one that is not there.
#[track_caller]
fn check_next(vfs: &Memory, what: &str) {
    let store = store(vfs.clone());
    record(&store, "next").unwrap_or_else(|error| panic!("{what}: {error}"));
    let is_there = store
        .list(None)
        .unwrap()
        .iter()
        .any(|it| it.name == name("first"));
    let left: Vec<PathBuf> = vfs.names();
    let left: Vec<&PathBuf> = left
        .iter()
        .filter(|path| path.to_string_lossy().contains("first") && path.starts_with("/disk/data"))
        .collect();
    assert!(is_there || left.is_empty(), "{what}: {left:?}");
    assert!(
        !left
            .iter()
            .any(|path| path.to_string_lossy().contains("/.")),
        "{what}: {left:?}"
    );
}

type Work = fn(&JsonlStore, &str) -> Result<(), StoreError>;

/// What is done, and how many records that makes in the main chain and beside it.
const WORKS: [(Work, u64, u64); 2] = [(record, 4, 2), (append, 3, 0)];

#[test]
fn every_operation_may_fail() {
    let mut hits = 0;
    for (work, records, sides) in WORKS {
        let counting = Faulty::new(Arc::new(disk()), Fault::Io, usize::MAX, false);
        work(&store(counting.clone()), "first").unwrap();
        for at in 0..counting.operations() {
            for fault in [
                Fault::Io,
                Fault::Full,
                Fault::Interrupted,
                Fault::Short,
                Fault::Sync,
            ] {
                for sticky in [false, true] {
                    let what = format!("{fault:?} at {at}, sticky {sticky}");
                    let memory = disk();
                    let faulty = Faulty::new(Arc::new(memory.clone()), fault, at, sticky);
                    let done = work(&store(faulty.clone()), "first");
                    hits += usize::from(faulty.hits() > 0);
                    check(&memory, done.is_ok(), records, sides, &what);
                    check_next(&memory, &what);
                }
            }
        }
    }
    assert!(hits > 100, "only {hits} of the faults did anything");
}

#[test]
fn the_power_may_go_at_any_moment() {
    let mut cuts = 0;
    for (work, records, sides) in WORKS {
        let whole = disk();
        work(&store(whole.clone()), "first").unwrap();
        for cut in 0..=whole.changes() {
            let memory = disk();
            memory.cut_power_after(cut);
            let done = work(&store(memory.clone()), "first");
            for kept in 0..=memory.pending() {
                for unsynced in [
                    Unsynced::Lost,
                    Unsynced::Kept,
                    Unsynced::Torn,
                    Unsynced::Half,
                ] {
                    let what = format!("cut after {cut}, {kept} names kept, data {unsynced:?}");
                    let after = memory.after_power_cut(kept, unsynced);
                    check(&after, done.is_ok(), records, sides, &what);
                    check_next(&after, &what);
                    cuts += 1;
                }
            }
        }
    }
    assert!(cuts > 100, "only {cuts} cuts");
}

#[test]
fn nobody_clears_up_what_somebody_is_at_work_on() {
    let disk = super::Disk::new();
    let one = JsonlStore::new(&disk.places);
    let other = JsonlStore::new(&disk.places);
    let mut new = one.begin(&name("first")).unwrap();
    new.append(Some("helper"), &messages(1)).unwrap();
    record(&other, "second").unwrap();
    append(&other, "third").unwrap();
    new.append(None, &messages(2)).unwrap();
    new.finish().unwrap();
    assert_eq!(one.list(None).unwrap().len(), 3);
    assert_eq!(one.side_chains(&name("first")).unwrap(), ["helper"]);
}
