//! A whole turn, with a kill, a power cut or a fault at every operation: a prompt is added, its answer comes piece by
//! piece, and is put into the file. Afterwards, a person adds one more cell, and everything is there once.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use analects_formats::msgfile::{Document, NewCell, decode_named};
use analects_store::vfs::Vfs;
use analects_store::{AnswerDelta, AnswerDestination, Journal, LockedFile, StoreError};
use analects_testkit::disks::{Fault, Faulty, Memory, Unsynced};

use super::answers::{Answering, READY};
use super::in_memory::{FILE, disk, open, places};

const PIECES: [&str; 2] = ["one ", "two "];
const WHOLE: &str = "one two three";
/// Files of up to this length are replaced; the others grow in place.
const SIZES: [usize; 2] = [usize::MAX, 0];

fn append(file: &mut LockedFile, text: &str) -> Result<(), StoreError> {
    file.append(|document| NewCell::message(document.next_id(), text))
}

/// How a turn ends, if nothing fails.
#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    Put,
    BreakOff,
}

/// What a turn has acknowledged.
#[derive(Debug, Default)]
struct Done {
    has_prompt: bool,
    /// What has reached the journal.
    flushed: String,
    /// Whether the whole answer is in the file, or is said to be in the journal.
    has_answer: bool,
    error: Option<StoreError>,
}

fn turn(vfs: impl Vfs + 'static, large: usize, end: End) -> Done {
    let mut done = Done::default();
    done.error = take_turn(vfs, large, end, &mut done).err();
    done
}

fn take_turn(
    vfs: impl Vfs + 'static,
    large: usize,
    end: End,
    done: &mut Done,
) -> Result<(), StoreError> {
    let mut file = open(vfs, large)?;
    append(&mut file, "prompt")?;
    done.has_prompt = true;
    let mut answering = Answering::begin(file)?;
    let mut said = String::new();
    for piece in PIECES {
        answering.hear(piece);
        said.push_str(piece);
        if !answering.entry.has_pending() {
            done.flushed.clone_from(&said);
        }
    }
    if end == End::BreakOff {
        return Ok(());
    }
    match answering.finish(WHOLE) {
        Ok(place) => {
            assert!(matches!(place, AnswerDestination::Cell(_)), "{place:?}");
            done.has_answer = true;
            Ok(())
        }
        Err(error) => {
            done.has_answer = matches!(error, StoreError::AnswerNotWritten { is_kept: true, .. });
            Err(error)
        }
    }
}

/// How many changes of the disk a turn takes.
fn changes(large: usize, end: End) -> usize {
    let memory = disk();
    let done = turn(memory.clone(), large, end);
    assert!(done.error.is_none(), "{done:?}");
    assert_eq!(done.flushed, PIECES.concat());
    assert_eq!(done.has_answer, end == End::Put);
    memory.changes()
}

/// The disk after a kill: everything that was written is there.
fn killed_after(cut: usize, large: usize, end: End) -> (Memory, Done) {
    let memory = disk();
    memory.cut_power_after(cut);
    let done = turn(memory.clone(), large, end);
    memory.cut_power_after(usize::MAX);
    (memory, done)
}

fn document(memory: &Memory) -> Document {
    decode_named(memory.get(Path::new(FILE)).unwrap(), FILE)
}

/// The next writer finds everything in order.
#[track_caller]
fn check(memory: &Memory, done: &Done, what: &str) {
    for round in ["after", "again"] {
        let mut file =
            open(memory.clone(), usize::MAX).unwrap_or_else(|error| panic!("{what}: {error}"));
        append(&mut file, round).unwrap();
    }
    let document = document(memory);
    let texts: Vec<String> = document
        .cells()
        .map(|cell| cell.content().into_owned())
        .collect();
    let what = format!("{what}: {done:?} {texts:?}");
    assert_eq!(document.problems(), [], "{what}");
    let mut rest = &texts[..];
    for text in ["first", "second"] {
        assert_eq!(rest[0], text, "{what}");
        rest = &rest[1..];
    }
    let has_prompt = rest[0] == "prompt";
    assert!(has_prompt || !done.has_prompt, "{what}");
    rest = &rest[usize::from(has_prompt)..];
    let answer = rest[0].as_str();
    let has_answer = WHOLE.starts_with(answer) && answer != READY;
    if has_answer {
        assert!(has_prompt, "{what}");
        rest = &rest[1..];
        let steps = [PIECES[0], &PIECES.concat(), WHOLE];
        assert!(
            steps
                .iter()
                .any(|step| step.trim_end() == answer.trim_end()),
            "{what}"
        );
    }
    assert!(!done.has_answer || answer == WHOLE, "{what}");
    assert!(
        answer.starts_with(done.flushed.trim_end()) || done.flushed.is_empty(),
        "{what}"
    );
    assert_eq!(rest, ["after", "again"], "{what}");
    check_journal(memory, &document, &what);
}

/// The journal can be read, and nothing in it waits any more.
#[track_caller]
fn check_journal(memory: &Memory, document: &Document, what: &str) {
    let journal = Journal::with_vfs(Arc::new(memory.clone()), &places());
    let path = Path::new(FILE);
    assert!(
        journal.recoverable_cells(document, path).is_empty(),
        "{what}"
    );
    assert!(journal.missing_answers(document, path).is_empty(), "{what}");
    for record in journal.records(document, path) {
        let is_part = WHOLE.starts_with(record.text.trim_end());
        assert!(is_part && record.cell.is_some(), "{what}: {record:?}");
    }
}

#[test]
fn a_kill_at_any_moment_loses_nothing() {
    for (large, end) in SIZES
        .into_iter()
        .flat_map(|large| [(large, End::Put), (large, End::BreakOff)])
    {
        let all = changes(large, end);
        assert!(all > 15, "only {all} changes");
        for cut in 0..=all {
            let (memory, done) = killed_after(cut, large, end);
            check(
                &memory,
                &done,
                &format!("killed after {cut}, large {}, {end:?}", large == 0),
            );
            let names = memory.names();
            let entry = names
                .iter()
                .find(|name| name.starts_with("/disk/state/journal/asked"));
            assert_eq!(
                entry, None,
                "killed after {cut}: everything found its place"
            );
        }
    }
}

#[test]
fn a_kill_while_an_answer_is_recovered_loses_nothing() {
    let all = changes(usize::MAX, End::Put);
    let mut kills = 0;
    for cut in (0..=all).rev().step_by(3) {
        for again in 0.. {
            let (memory, done) = killed_after(cut, usize::MAX, End::Put);
            memory.cut_power_after(memory.changes() + again);
            let opened = open(memory.clone(), usize::MAX).is_ok();
            memory.cut_power_after(usize::MAX);
            check(
                &memory,
                &done,
                &format!("killed after {cut}, and again after {again}"),
            );
            kills += 1;
            if opened {
                break;
            }
        }
    }
    assert!(kills > 100, "only {kills} kills");
}

#[test]
fn an_answer_that_a_person_deletes_after_a_kill_does_not_come_back() {
    let mut deleted = 0;
    for large in SIZES {
        for cut in 0..=changes(large, End::Put) {
            let (memory, _) = killed_after(cut, large, End::Put);
            let text = String::from_utf8(memory.get(Path::new(FILE)).unwrap()).unwrap();
            if !text.contains(WHOLE) {
                continue;
            }
            deleted += 1;
            let end = text.rfind("\n# %%%").unwrap();
            memory.put(Path::new(FILE), &text.as_bytes()[..end]);
            append(&mut open(memory.clone(), usize::MAX).unwrap(), "after").unwrap();
            let text = String::from_utf8(memory.get(Path::new(FILE)).unwrap()).unwrap();
            assert!(!text.contains("one"), "killed after {cut}: {text}");
        }
    }
    assert!(deleted > 4, "only {deleted}");
}

#[test]
fn a_power_cut_at_any_moment_keeps_what_was_acknowledged() {
    let mut cuts = 0;
    for large in SIZES {
        for cut in 0..=changes(large, End::Put) {
            let memory = disk();
            memory.cut_power_after(cut);
            let mut done = turn(memory.clone(), large, End::Put);
            // What was only flushed may be lost.
            done.flushed.clear();
            for kept in 0..=memory.pending() {
                for unsynced in Unsynced::ALL {
                    let what = format!("cut after {cut}, {kept} names kept, data {unsynced:?}");
                    check(&memory.after_power_cut(kept, unsynced), &done, &what);
                    cuts += 1;
                }
            }
        }
    }
    assert!(cuts > 500, "only {cuts} cuts");
}

/// Every fault once, and those that last also for good.
fn faults() -> impl Iterator<Item = (Fault, bool)> {
    let lasting = [Fault::Io, Fault::Full, Fault::Sync];
    Fault::ALL
        .map(|fault| (fault, false))
        .into_iter()
        .chain(lasting.map(|fault| (fault, true)))
}

#[test]
fn every_operation_of_a_turn_may_fail() {
    for (large, end) in [
        (SIZES[0], End::Put),
        (SIZES[1], End::Put),
        (SIZES[0], End::BreakOff),
    ] {
        let whole = Faulty::new(Arc::new(disk()), Fault::Io, usize::MAX, false);
        turn(whole.clone(), large, end);
        for (fault, sticky) in faults() {
            let mut runs = 0;
            for at in 0..whole.operations() {
                let memory = disk();
                let faulty = Faulty::new(Arc::new(memory.clone()), fault, at, sticky);
                let done = turn(faulty.clone(), large, end);
                // Many operations do not have this fault.
                if faulty.hits() > 0 {
                    runs += 1;
                    check_fault(
                        &memory,
                        &done,
                        fault,
                        &format!("{fault:?} at {at}, {sticky}"),
                    );
                }
            }
            assert!(runs > 3, "{fault:?}, sticky {sticky}: only {runs} runs");
        }
    }
}

#[track_caller]
fn check_fault(memory: &Memory, done: &Done, fault: Fault, what: &str) {
    if matches!(fault, Fault::Interrupted | Fault::Short) {
        assert!(done.error.is_none(), "{what}: waited out");
    }
    if let Some(error) = &done.error {
        assert!(error.to_string().contains("/disk"), "{what}: {error}");
    }
    check(memory, done, what);
}

#[test]
fn pieces_that_could_not_be_written_come_once_with_the_next_ones() {
    let long = "words ".repeat(50);
    let mut retries = 0;
    for at in 0..changes(usize::MAX, End::Put) * 3 {
        let memory = disk();
        let faulty = Faulty::new(Arc::new(memory.clone()), Fault::Full, at, false);
        let Ok(mut file) = open(faulty, usize::MAX) else {
            continue;
        };
        let Ok(()) = append(&mut file, "prompt") else {
            continue;
        };
        let Ok(mut answering) = Answering::begin(file) else {
            continue;
        };
        answering.entry.push(AnswerDelta::Thinking("a thought"));
        answering.hear(&long);
        retries += usize::from(answering.entry.has_pending());
        answering.hear("the end");
        answering.entry.flush();
        drop(answering);
        drop(open(memory.clone(), usize::MAX).unwrap());
        let text = String::from_utf8(memory.get(Path::new(FILE)).unwrap()).unwrap();
        assert_eq!(text.matches("a thought").count(), 1, "full at {at}: {text}");
        assert_eq!(
            text.matches(&format!("{long}the end")).count(),
            1,
            "full at {at}: {text}"
        );
    }
    assert_eq!(retries, 1);
}

/// A file of more than a megabyte, as `chat` leaves it.
fn large_file() -> String {
    let cells = (1..=400).map(|id| match id % 2 {
        1 => format!(
            "# %% [^{id}]\n\n[^{id}]: [markdown]\n\n{}\n\n",
            "What? ".repeat(300)
        ),
        _ => format!(
            "# %%% [^{id}]\n\n[^{id}]: [quick] tokens=9/9\n\n{}\n\n",
            "So. ".repeat(900)
        ),
    });
    cells.chain(["# %%\n".to_string()]).collect()
}

#[test]
fn a_turn_in_a_large_file_reads_it_once_and_writes_what_is_new() {
    let text = large_file();
    let memory = Memory::new("/disk").with_file(FILE, &text);
    let identity = memory.metadata(Path::new(FILE)).unwrap().identity;
    let vfs = Faulty::new(Arc::new(memory.clone()), Fault::Io, usize::MAX, false);
    let path = Path::new(FILE);
    let places = places();
    let mut file =
        LockedFile::open_on(Arc::new(vfs.clone()), path, &places, Duration::ZERO).unwrap();
    append(&mut file, "prompt").unwrap();
    let mut answering = Answering::begin(file).unwrap();
    answering.hear("one ");
    assert!(matches!(
        answering.finish(WHOLE).unwrap(),
        AnswerDestination::Cell(_)
    ));
    let turn = vfs.take_traffic();
    assert!(turn.written <= 8 << 10, "{turn:?}");
    assert!(turn.read <= text.len() + (8 << 10), "{turn:?}");
    assert_eq!(
        memory.metadata(path).unwrap().identity,
        identity,
        "the file is still the same one"
    );
    let after = String::from_utf8(memory.get(path).unwrap()).unwrap();
    assert!(
        after.starts_with(&text[..text.len() - 1]) && after.ends_with("one two three\n\n# %%\n")
    );
    // A step is the record of what is to come, and the file.
    let mut file =
        LockedFile::open_on(Arc::new(vfs.clone()), path, &places, Duration::ZERO).unwrap();
    vfs.take_traffic();
    append(&mut file, "more").unwrap();
    let step = vfs.take_traffic();
    assert_eq!(step.syncs, 2, "{step:?}");
    assert!(step.read <= 1 << 10 && step.written <= 1 << 10, "{step:?}");
}

#[test]
fn what_others_left_in_the_journal_costs_one_look() {
    let operations = |entries: usize| {
        let memory = disk();
        assert!(
            turn(memory.clone(), usize::MAX, End::BreakOff)
                .error
                .is_none()
        );
        let folder = Path::new("/disk/state/journal/asked");
        for number in 0..entries {
            let name = format!("{number:032x}.{number:032x}.{number}.jsonl");
            memory.put(&folder.join(name), b"of another file");
        }
        let faulty = Faulty::new(Arc::new(memory.clone()), Fault::Io, usize::MAX, false);
        drop(open(faulty.clone(), usize::MAX).unwrap());
        let journal = Journal::with_vfs(Arc::new(faulty.clone()), &places());
        let document = document(&memory);
        assert_eq!(journal.records(&document, Path::new(FILE)).len(), 1);
        assert!(!journal.is_being_answered(&document, Path::new(FILE)));
        faulty.operations()
    };
    assert_eq!(operations(0), operations(500));
}
