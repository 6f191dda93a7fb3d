//! What the journal keeps: who can read it, how it is forgotten, and what damage to it does.

use std::fs;
use std::path::{Path, PathBuf};

use analects_core::{Block, Content, Message, Thinking};
use analects_formats::msgfile::{CellsHash, KnownMessages, NewCell};
use analects_store::{AllJournalMessages, AnswerDestination, RecordKind, StoreError};
use jiff::Timestamp;

use super::super::Disk;
use super::super::answers::{ANSWER, Answering, FILE, QUESTION, answer, answering, disk_with};
use super::files_in;

const SECRET: &str = "hunter2";

/// A disk whose journal holds a secret in every kind of record.
fn disk_with_secrets() -> Disk {
    let disk = disk_with(&format!("# %%\n\nmy {SECRET}?\n"));
    disk.ask(FILE).finish(&format!("yes, {SECRET}")).unwrap();
    let mut file = disk.open(FILE).unwrap();
    let path = file.path().to_path_buf();
    let now = "2026-11-17T09:00:00Z".parse().unwrap();
    file.journal()
        .save_removed_text(&path, "1", &format!("old {SECRET}"), "new", now)
        .unwrap();
    file.append(|document| NewCell::message(document.next_id(), "more"))
        .unwrap();
    let answering = Answering::begin(file).unwrap();
    disk.write(FILE, "# %%\n\nnothing\n");
    answering.finish(&format!("again {SECRET}")).unwrap();
    disk.touch(FILE);
    disk.write(FILE, "# %%\n\nsomething\n");
    disk.break_off(FILE, &format!("half of {SECRET}"));
    disk
}

fn secrets(disk: &Disk) -> usize {
    let has_secret =
        |file: &PathBuf| String::from_utf8_lossy(&fs::read(file).unwrap()).contains(SECRET);
    files_in(&disk.places.state)
        .iter()
        .filter(|file| has_secret(file))
        .count()
}

#[test]
fn what_is_forgotten_leaves_no_byte() {
    let disk = disk_with_secrets();
    assert_eq!(secrets(&disk), 4);
    let (document, path) = disk.document(FILE);
    let records = disk.journal().records(&document, &path);
    let kinds: Vec<RecordKind> = records.iter().map(|record| record.kind).collect();
    assert_eq!(
        kinds
            .iter()
            .filter(|kind| **kind == RecordKind::Answer)
            .count(),
        2,
        "{kinds:?}"
    );
    for record in &records {
        disk.journal().forget(record).unwrap();
    }
    assert_eq!(secrets(&disk), 0);
    assert!(disk.records(FILE).is_empty());
    assert_eq!(
        files_in(&disk.places.state.join("journal")),
        [] as [PathBuf; 0]
    );

    // An answer that was told of, and then came again in the same cells.
    let disk = disk_with(QUESTION);
    for _ in 0..2 {
        disk.write(FILE, QUESTION);
        disk.tell(FILE);
        disk.ask(FILE).finish(SECRET).unwrap();
    }
    let (document, path) = disk.document(FILE);
    for record in disk.journal().records(&document, &path) {
        disk.journal().forget(&record).unwrap();
    }
    assert_eq!(
        files_in(&disk.places.state.join("journal")),
        [] as [PathBuf; 0]
    );

    let disk = disk_with_secrets();
    let time = |text: &str| -> Timestamp { text.parse().unwrap() };
    assert_eq!(
        disk.journal()
            .forget_before(time("2026-11-17T00:00:00Z"))
            .unwrap(),
        0
    );
    assert_eq!(secrets(&disk), 4);
    assert_eq!(
        disk.journal()
            .forget_before(time("2026-11-17T08:30:00Z"))
            .unwrap(),
        3
    );
    assert_eq!(disk.records(FILE), [format!("old {SECRET}")]);
    assert_eq!(
        disk.journal()
            .forget_before(time("2026-11-18T00:00:00Z"))
            .unwrap(),
        1
    );
    assert_eq!(
        files_in(&disk.places.state.join("journal")),
        [] as [PathBuf; 0]
    );
}

#[cfg(unix)]
#[test]
fn everything_in_the_journal_is_private() {
    use std::os::unix::fs::PermissionsExt;
    let disk = disk_with_secrets();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    for file in files_in(&disk.places.state) {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
        let folders = file.ancestors().skip(1);
        for folder in folders.take_while(|folder| folder.starts_with(&disk.places.state)) {
            assert_eq!(mode(folder), 0o700, "{}", folder.display());
        }
    }
}

#[test]
fn damage_in_the_journal_never_keeps_a_file_from_being_opened() {
    let disk = disk_with(QUESTION);
    disk.break_off(FILE, "hälfte");
    let entries = disk.entries();
    let entry = entries
        .iter()
        .find(|file| file.extension().unwrap() == "jsonl")
        .unwrap();
    let whole = fs::read(entry).unwrap();
    let noise: Vec<u8> = (0..5000_u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    let mut texts: Vec<Vec<u8>> = (0..whole.len()).map(|cut| whole[..cut].to_vec()).collect();
    texts.push(noise.clone());
    texts.push(vec![0; 4096]);
    texts.push(b"{\"v\":1}\n{}\n[]\nnull\n".to_vec());
    texts.push([&whole[..], &noise[..]].concat());
    for text in texts {
        disk.write(FILE, QUESTION);
        fs::write(entry, &text).unwrap();
        let words = disk.touch(FILE);
        assert!(
            words == ["question"] || words == ["question", "hälfte"],
            "{words:?}"
        );
    }
    // A large file, and folders with the names of an entry, a record and a note.
    let disk = disk_with(QUESTION);
    disk.ask(FILE).finish(ANSWER).unwrap();
    let records = files_in(&disk.places.state.join("journal"));
    assert_eq!(records.len(), 2, "a message and a note");
    for file in &records {
        fs::remove_file(file).unwrap();
        fs::create_dir(file).unwrap();
    }
    fs::create_dir_all(disk.asked_folder()).unwrap();
    let name = entry.file_name().unwrap();
    fs::create_dir(disk.asked_folder().join(name)).unwrap();
    let huge = fs::File::create(disk.asked_folder().join("huge.jsonl")).unwrap();
    huge.set_len(1 << 40).unwrap();
    disk.write(FILE, QUESTION);
    assert_eq!(disk.touch(FILE), ["question"]);
    assert!(disk.records(FILE).is_empty());
    assert!(disk.missing(FILE).is_empty());
    assert_eq!(
        disk.journal()
            .forget_before("2030-01-01T00:00:00Z".parse().unwrap())
            .unwrap(),
        1
    );
    let place = disk.ask(FILE).finish(ANSWER).unwrap();
    assert!(matches!(place, AnswerDestination::Cell(_)), "{place:?}");
}

#[test]
fn without_a_journal_nothing_is_asked() {
    let disk = disk_with(QUESTION);
    fs::create_dir_all(&disk.places.state).unwrap();
    fs::write(disk.places.state.join("journal"), "in the way").unwrap();
    let refused = Answering::begin(disk.open(FILE).unwrap());
    let Err(StoreError::Io { action, .. }) = refused else {
        panic!("it was asked")
    };
    assert_eq!(action, "lock");
    // One that fails later does not keep an answer from its file.
    let disk = disk_with(QUESTION);
    let answering = answering(&disk);
    for folder in ["messages", "answers", "about"] {
        fs::write(disk.places.state.join("journal").join(folder), "in the way").unwrap();
    }
    answering.finish(ANSWER).unwrap();
    assert_eq!(disk.touch(FILE), ["question", ANSWER]);
    assert_eq!(
        disk.records(FILE),
        [ANSWER],
        "the journal has it, though not by its cells"
    );
    assert_eq!(disk.touch(FILE), ["question", ANSWER]);
}

#[test]
fn a_message_is_known_by_its_cells_in_every_file() {
    let disk = disk_with(QUESTION);
    let message = Message {
        model: Some("m-1".into()),
        ..answer("told")
    };
    let (document, path) = disk.document(FILE);
    let cells = CellsHash::of(document.cells());
    let known = AllJournalMessages(disk.journal());
    assert_eq!(known.get(cells), None);
    disk.journal().save_message(&path, cells, &message).unwrap();
    disk.journal().save_message(&path, cells, &message).unwrap();
    assert_eq!(known.get(cells), Some(message));
    assert_eq!(disk.journal().get(cells), None, "no request needs it");
    let thought = Thinking {
        signature: Some("seal".into()),
        ..Thinking::default()
    };
    let sealed = Message::assistant("s", Content::Blocks(vec![Block::Thinking(thought)]));
    let cells = CellsHash::of([]);
    disk.journal().save_message(&path, cells, &sealed).unwrap();
    assert_eq!(disk.journal().get(cells), Some(sealed));
}
