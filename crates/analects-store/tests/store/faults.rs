//! Every operation of every save fails once, and for good, also while the damage is being mended; and
//! the power goes after every operation. Whatever happens: what was acknowledged is there, what was
//! there before is there, and the next write works.

use std::path::Path;
use std::sync::Arc;

use analects_formats::msgfile::{Document, NewCell, decode_named, replace};
use analects_store::find_interrupted_change;
use analects_store::vfs::{OpenMode, Vfs};
use analects_testkit::disks::{Fault, Faulty, Memory, Unsynced};

use super::in_memory::{self, BASE, FILE, open, places};

const SMALL: usize = usize::MAX;
const LARGE: usize = 0;

/// A disk whose file ends with an empty cell, if its end changes in place: that is the harder case.
fn disk(large: usize) -> Memory {
    let end = if large == LARGE { "\n# %%\n" } else { "" };
    Memory::new("/disk").with_file(FILE, &format!("{BASE}{end}"))
}

/// What a run of changes has acknowledged.
#[derive(Debug, Default)]
struct Done {
    cells: Vec<&'static str>,
    replaced: bool,
}

/// Two cells added, one replaced, one more added; goes on after errors, as a person would.
fn work(vfs: &(impl Vfs + Clone + 'static), large: usize) -> Done {
    let mut done = Done::default();
    let Ok(mut file) = open(vfs.clone(), large) else {
        return done;
    };
    for text in ["third", "fourth"] {
        if file
            .append(|document| NewCell::message(document.next_id(), text))
            .is_ok()
        {
            done.cells.push(text);
        }
    }
    let changed = NewCell::reply("2", "quick", "second, changed");
    done.replaced = file
        .edit(|document| replace(document, second(document), &changed))
        .is_ok();
    if file
        .append(|document| NewCell::message(document.next_id(), "fifth"))
        .is_ok()
    {
        done.cells.push("fifth");
    }
    done
}

fn second(document: &Document) -> analects_formats::msgfile::Cell<'_> {
    document.cells().nth(1).unwrap()
}

/// What stands in the file, and that it is sound.
#[track_caller]
fn check(memory: &Memory, done: &Done, large: usize, what: &str) {
    let path = Path::new(FILE);
    let source = memory
        .get(path)
        .unwrap_or_else(|| panic!("{what}: the file is gone"));
    let document = decode_named(source, FILE);
    let texts: Vec<String> = document
        .cells()
        .map(|cell| cell.content().into_owned())
        .collect();
    let count = |text: &str| texts.iter().filter(|found| *found == text).count();
    let what = format!("{what}: {done:?} {texts:?}");
    assert_eq!(count("first"), 1, "{what}");
    assert!(
        texts[1] == "second, changed" || (texts[1] == "second" && !done.replaced),
        "{what}"
    );
    for text in &done.cells {
        assert_eq!(count(text), 1, "{what}");
    }
    let known = [
        "first",
        "second",
        "second, changed",
        "third",
        "fourth",
        "fifth",
        "after",
        "",
    ];
    let is_whole = texts
        .iter()
        .all(|text| known.contains(&&**text) && count(text) == 1)
        && document.problems().is_empty();
    let is_cut = large == LARGE && find_interrupted_change(memory, &places(), path).is_some();
    assert!(is_whole || is_cut, "{what}: {:?}", document.problems());
}

/// The next writer puts everything in order.
#[track_caller]
fn check_recovery(memory: &Memory, done: &Done, large: usize, what: &str) {
    let mut file = open(memory.clone(), large).unwrap_or_else(|error| panic!("{what}: {error}"));
    file.append(|document| NewCell::message(document.next_id(), "after"))
        .unwrap();
    drop(file);
    check(memory, done, SMALL, what);
    let source = memory.get(Path::new(FILE)).unwrap();
    let document = decode_named(source, FILE);
    assert_eq!(
        document.cells().next_back().unwrap().content(),
        "after",
        "{what}"
    );
    let litter = memory
        .names()
        .into_iter()
        .filter(|name| name.starts_with("/disk/.analects"));
    assert_eq!(litter.count(), 0, "{what}: {:?}", memory.names());
}

fn operations(large: usize) -> usize {
    let faulty = Faulty::new(Arc::new(disk(large)), Fault::Io, usize::MAX, false);
    let done = work(&faulty, large);
    assert_eq!((done.cells.len(), done.replaced), (3, true));
    faulty.operations()
}

#[test]
fn every_operation_may_fail() {
    for large in [SMALL, LARGE] {
        let mut hits = 0;
        for at in 0..operations(large) {
            for (fault, sticky) in Fault::ALL
                .iter()
                .flat_map(|fault| [(*fault, false), (*fault, true)])
            {
                let what = format!(
                    "{fault:?} at {at}, sticky {sticky}, large {}",
                    large == LARGE
                );
                let memory = disk(large);
                let faulty = Faulty::new(Arc::new(memory.clone()), fault, at, sticky);
                let done = work(&faulty, large);
                hits += usize::from(faulty.hits() > 0);
                if faulty.hits() == 0 || matches!(fault, Fault::Interrupted | Fault::Short) {
                    // A signal and a short write are waited out.
                    assert_eq!(done.cells.len(), 3, "{what}");
                }
                check(&memory, &done, large, &what);
                check_recovery(&memory, &done, large, &what);
            }
        }
        assert!(hits > 100, "only {hits} of the faults did anything");
    }
}

#[test]
fn every_operation_may_fail_while_damage_is_mended() {
    let every = if std::env::var_os("ANALECTS_TORTURE").is_some() {
        1
    } else {
        4
    };
    for large in [SMALL, LARGE] {
        for at in (0..operations(large)).step_by(every) {
            let damaged = || {
                let memory = disk(large);
                let faulty = Faulty::new(Arc::new(memory.clone()), Fault::Full, at, true);
                let done = work(&faulty, large);
                (memory, done)
            };
            for (again, fault, sticky) in (0..40).flat_map(|again| {
                [
                    (again, Fault::Io, false),
                    (again, Fault::Full, true),
                    (again, Fault::Sync, true),
                ]
            }) {
                let (memory, done) = damaged();
                let what = format!("full at {at}, then {fault:?} at {again}, sticky {sticky}");
                let faulty = Faulty::new(Arc::new(memory.clone()), fault, again, sticky);
                let mut done = done;
                if let Ok(mut file) = open(faulty, large)
                    && file
                        .append(|document| NewCell::message(document.next_id(), "later"))
                        .is_ok()
                {
                    done.cells.push("later");
                }
                // What was being mended may be whole, or still be known as cut off.
                check_recovery_of_two(&memory, &done, large, &what);
            }
        }
    }
}

/// As `check_recovery`, with one more cell that may have been written.
#[track_caller]
fn check_recovery_of_two(memory: &Memory, done: &Done, large: usize, what: &str) {
    let mut file = open(memory.clone(), large).unwrap_or_else(|error| panic!("{what}: {error}"));
    file.append(|document| NewCell::message(document.next_id(), "after"))
        .unwrap();
    let texts: Vec<String> = file
        .document()
        .cells()
        .map(|cell| cell.content().into_owned())
        .collect();
    let count = |text: &str| texts.iter().filter(|found| *found == text).count();
    for text in done.cells.iter().chain(&["first", "after"]) {
        assert_eq!(count(text), 1, "{what}: {done:?} {texts:?}");
    }
    for text in &texts {
        assert_eq!(count(text), 1, "{what}: {done:?} {texts:?}");
    }
    assert_eq!(file.document().problems(), [], "{what}: {texts:?}");
}

#[test]
fn the_power_may_go_at_any_moment() {
    for large in [SMALL, LARGE] {
        let whole = disk(large);
        work(&whole, large);
        let mut cuts = 0;
        for cut in 0..=whole.changes() {
            let memory = disk(large);
            memory.cut_power_after(cut);
            let done = work(&memory, large);
            for kept in 0..=memory.pending() {
                for unsynced in Unsynced::ALL {
                    let what = format!("cut after {cut}, {kept} names kept, data {unsynced:?}");
                    let after = memory.after_power_cut(kept, unsynced);
                    check(&after, &done, large, &what);
                    check_recovery(&after, &done, large, &what);
                    cuts += 1;
                }
            }
        }
        assert!(cuts > 100, "only {cuts} cuts");
    }
}

#[test]
fn a_kill_in_the_middle_of_a_write_leaves_what_the_next_writer_completes() {
    let append = |vfs: &Memory| {
        let mut file = open(vfs.clone(), LARGE)?;
        file.append(|document| NewCell::message(document.next_id(), "third"))
    };
    let path = Path::new(FILE);
    let before = disk(LARGE).get(path).unwrap();
    let whole = disk(LARGE);
    append(&whole).unwrap();
    let after = whole.get(path).unwrap();
    // The first cut that leaves a record of the change.
    let is_record = |name: &std::path::PathBuf| name.to_string_lossy().ends_with(".append");
    let mut recorded = (0..).map(|cut| {
        let memory = disk(LARGE);
        memory.cut_power_after(cut);
        append(&memory).unwrap_err();
        memory.cut_power_after(usize::MAX);
        memory
    });
    let has_record = |memory: &Memory| {
        let record = memory.names().into_iter().find(is_record);
        record
            .and_then(|name| memory.get(&name))
            .is_some_and(|record| !record.is_empty())
    };
    let recorded = recorded.find(has_record).unwrap();
    assert_eq!(recorded.get(path).unwrap(), before);
    for length in before.len() - 1..=after.len() {
        let memory = recorded.after_power_cut(recorded.pending(), Unsynced::Kept);
        let mut file = memory.open(path, OpenMode::Update).unwrap();
        file.write_at(0, &after[..length]).unwrap();
        drop(file);
        let is_cut = find_interrupted_change(&memory, &places(), path).is_some();
        assert_eq!(is_cut, length < after.len(), "{length} bytes");
        drop(open(memory.clone(), LARGE).unwrap());
        assert_eq!(memory.get(path).unwrap(), after, "{length} bytes");
    }
}

#[test]
fn what_a_person_removes_after_a_kill_does_not_come_back_with_a_power_cut() {
    let append = |vfs: &Memory| {
        let mut file = open(vfs.clone(), LARGE)?;
        file.append(|document| NewCell::message(document.next_id(), "third"))
    };
    let whole = in_memory::disk();
    append(&whole).unwrap();
    let mut completed = 0;
    for killed_after in 0..whole.changes() {
        let memory = in_memory::disk();
        memory.cut_power_after(killed_after);
        let _ = append(&memory);
        memory.cut_power_after(usize::MAX);
        let is_record = |name: &&std::path::PathBuf| name.to_string_lossy().ends_with(".append");
        let record = memory
            .names()
            .iter()
            .find(is_record)
            .and_then(|name| memory.get(name));
        if record.is_none_or(|record| record.is_empty()) {
            // Nothing is left to complete. To sync an empty record at each opening would cost more than the moment
            // between its emptying and the sync of that is worth.
            continue;
        }
        // The next writer completes the change; then the person takes it out again, in the same file.
        drop(open(memory.clone(), LARGE).unwrap());
        completed += usize::from(memory.get(Path::new(FILE)).unwrap().len() > BASE.len());
        let mut file = memory.open(Path::new(FILE), OpenMode::Append).unwrap();
        file.truncate(BASE.len() as u64).unwrap();
        file.sync().unwrap();
        let after = memory.after_power_cut(memory.pending(), Unsynced::Lost);
        drop(open(after.clone(), LARGE).unwrap());
        let text = String::from_utf8(after.get(Path::new(FILE)).unwrap()).unwrap();
        assert_eq!(text, BASE, "killed after {killed_after}");
    }
    assert!(completed > 0);
}
