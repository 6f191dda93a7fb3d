//! Other programs have the file open, give it other names, or put links in its place.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use analects_formats::msgfile::NewCell;
use analects_store::{AnswerDestination, LockedFile, StoreError, StoreFolders};

use super::Disk;
use super::answers::{ANSWER, Answering, FILE, QUESTION as TEXT, READY, answering, disk_with};

fn disk() -> Disk {
    disk_with(TEXT)
}

fn add(file: &mut LockedFile, text: &str) -> Result<(), StoreError> {
    file.append(|document| NewCell::message(document.next_id(), text))
}

#[test]
fn a_file_that_is_open_for_writing_is_refused_at_once_without_patience() {
    let disk = disk();
    let writer = File::options().append(true).open(disk.path(FILE)).unwrap();
    let error = disk.open(FILE).unwrap_err();
    assert!(matches!(error, StoreError::InUse { .. }), "{error}");
    drop(writer);
    disk.open(FILE).unwrap();
}

#[test]
fn a_large_file_that_others_read_is_replaced_and_one_that_nobody_has_open_grows() {
    let disk = disk();
    let number = || {
        analects_store::vfs::Vfs::metadata(&analects_store::vfs::Disk, &disk.path(FILE)).unwrap()
    };
    let mut file = disk.open(FILE).unwrap().with_in_place_size(0);
    let before = number();
    add(&mut file, "one").unwrap();
    assert_eq!(number().identity, before.identity);
    let reader = File::open(disk.path(FILE)).unwrap();
    add(&mut file, "two").unwrap();
    assert_ne!(number().identity, before.identity);
    drop(reader);
    assert_eq!(disk.contents(FILE), ["question", "one", "two"]);
}

#[test]
fn a_large_file_that_is_being_written_is_waited_for() {
    let disk = disk();
    let mut file = disk.open(FILE).unwrap().with_in_place_size(0);
    let mut writer = File::options().write(true).open(disk.path(FILE)).unwrap();
    let adding = thread::spawn(move || add(&mut file, "ours").map(|()| file));
    // At an offset of its own, where ours would be.
    std::io::Seek::seek(&mut writer, std::io::SeekFrom::End(0)).unwrap();
    writer.write_all(b"\n# %%\n\nthe").unwrap();
    writer.write_all(b"irs\n").unwrap();
    drop(writer);
    adding.join().unwrap().unwrap();
    assert_eq!(disk.contents(FILE), ["question", "theirs", "ours"]);
}

#[test]
fn an_answer_to_a_file_that_stays_open_for_writing_comes_in_later() {
    let disk = disk();
    let file = disk.open(FILE).unwrap().with_patience(Duration::ZERO);
    let answering = Answering::begin(file).unwrap();
    let writer = File::options().append(true).open(disk.path(FILE)).unwrap();
    let Err(StoreError::AnswerNotWritten {
        error,
        is_kept: true,
    }) = answering.finish(ANSWER)
    else {
        panic!("an answer was written while another program was writing");
    };
    assert!(matches!(*error, StoreError::InUse { .. }), "{error}");
    assert_eq!(disk.text(FILE), TEXT);
    drop(writer);
    assert!(disk.open(FILE).unwrap().recovered()[0].is_complete);
    assert_eq!(disk.contents(FILE), ["question", ANSWER, READY]);
}

#[test]
fn hard_links_are_refused_and_stay_together() {
    let disk = disk();
    fs::hard_link(disk.path(FILE), disk.path("b.msg.md")).unwrap();
    let error = disk.open(FILE).unwrap_err();
    assert!(
        error.to_string().contains("has 2 names (hard links)"),
        "{error}"
    );
    fs::remove_file(disk.path("b.msg.md")).unwrap();
    let mut file = disk.open(FILE).unwrap();
    fs::hard_link(disk.path(FILE), disk.path("b.msg.md")).unwrap();
    let error = add(&mut file, "ours").unwrap_err();
    assert!(
        matches!(error, StoreError::HardLinked { links: 2, .. }),
        "{error}"
    );
    assert_eq!(disk.text(FILE), TEXT);
    assert_eq!(disk.text("b.msg.md"), TEXT);
}

/// Puts a link in the place of the file while an answer comes, and says why the answer was not written. It
/// must not be lost, and what the link leads to must not change.
#[track_caller]
fn answer_over_a_link(disk: &Disk, target: PathBuf) -> String {
    let answering = answering(disk);
    let before = fs::read(&target).unwrap();
    fs::remove_file(disk.path(FILE)).unwrap();
    symlink(&target, disk.path(FILE)).unwrap();
    let Err(StoreError::AnswerNotWritten {
        error,
        is_kept: true,
    }) = answering.finish(ANSWER)
    else {
        panic!("an answer was written over a link to {}", target.display());
    };
    assert_eq!(fs::read(&target).unwrap(), before);
    assert!(disk.path(FILE).is_symlink());
    // When the file is back, so is the answer.
    fs::remove_file(disk.path(FILE)).unwrap();
    fs::write(disk.path(FILE), TEXT).unwrap();
    drop(disk.open(FILE).unwrap());
    assert_eq!(disk.contents(FILE), ["question", ANSWER, READY]);
    error.to_string()
}

#[test]
fn a_link_in_mid_answer_is_not_followed_into_a_file_that_could_not_be_opened() {
    let disk = self::disk();
    fs::write(disk.path(".bashrc"), "alias ll='ls -l'\n").unwrap();
    let error = answer_over_a_link(&disk, disk.path(".bashrc"));
    assert!(
        error.contains("a symbolic link has taken the place of this file"),
        "{error}"
    );
    assert!(error.ends_with(".bashrc: not a message file"), "{error}");

    let disk = self::disk();
    fs::write(disk.path("other.msg.md"), TEXT).unwrap();
    let _other = disk.open("other.msg.md").unwrap();
    let error = answer_over_a_link(&disk, disk.path("other.msg.md"));
    assert!(
        error.ends_with("another analects is writing to this file"),
        "{error}"
    );

    let disk = self::disk();
    fs::write(disk.path("two.msg.md"), TEXT).unwrap();
    fs::hard_link(disk.path("two.msg.md"), disk.path("names.msg.md")).unwrap();
    let error = answer_over_a_link(&disk, disk.path("two.msg.md"));
    assert!(
        error.contains("two.msg.md: this file has 2 names"),
        "{error}"
    );
}

#[test]
fn a_link_in_mid_answer_that_leads_nowhere_makes_no_file() {
    let disk = disk();
    let answering = answering(&disk);
    fs::remove_file(disk.path(FILE)).unwrap();
    symlink("new.txt", disk.path(FILE)).unwrap();
    assert_eq!(
        answering.finish(ANSWER).unwrap(),
        AnswerDestination::Journal
    );
    assert!(!disk.path("new.txt").exists());
}

#[test]
fn a_file_that_is_moved_away_in_mid_answer_and_linked_gets_its_answer() {
    let disk = disk();
    let answering = answering(&disk);
    fs::rename(disk.path(FILE), disk.path("moved.msg.md")).unwrap();
    symlink("moved.msg.md", disk.path(FILE)).unwrap();
    answering.finish(ANSWER).unwrap();
    assert!(disk.path(FILE).is_symlink());
    assert_eq!(disk.contents("moved.msg.md"), ["question", ANSWER, READY]);
}

/// Two users, or two containers, have no state folder in common, so no lock keeps them apart.
#[test]
fn writers_without_a_common_lock_lose_nothing() {
    let disk = disk();
    let rounds = if std::env::var_os("ANALECTS_TORTURE").is_some() {
        500
    } else {
        20
    };
    thread::scope(|scope| {
        for side in ["left", "right"] {
            let path = disk.path(FILE);
            let places = StoreFolders::in_folder(disk.path(side));
            fs::create_dir(disk.path(side)).unwrap();
            scope.spawn(move || {
                for number in 0..rounds {
                    let file = LockedFile::open_within(&path, &places, Duration::from_secs(60));
                    add(&mut file.unwrap(), &format!("{side} {number}")).unwrap();
                }
            });
        }
    });
    let texts = disk.contents(FILE);
    assert_eq!(texts.len(), 1 + 2 * rounds);
    for side in ["left", "right"] {
        let numbers: Vec<&String> = texts.iter().filter(|text| text.starts_with(side)).collect();
        let expected: Vec<String> = (0..rounds)
            .map(|number| format!("{side} {number}"))
            .collect();
        assert_eq!(numbers, expected.iter().collect::<Vec<_>>());
    }
}
