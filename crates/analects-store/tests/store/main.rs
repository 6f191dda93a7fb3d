//! Files on a real disk, and on disks that fail.
#![allow(clippy::unwrap_used, clippy::panic)]

mod answers;
mod crashes;
mod editors;
mod faults;
mod in_memory;
mod items;
mod journal;
mod long_sessions;
mod new_sessions;
#[cfg(target_os = "linux")]
mod other_programs;
mod repair;
mod sessions;
mod turns;
mod verbs;

use std::fs;

use analects_core::{Ids, Message, Source};
use analects_formats::msgfile::{NewCell, append};
use analects_store::*;
use jiff::Timestamp;
use tempfile::TempDir;

struct Disk {
    folder: TempDir,
    places: StoreFolders,
}

impl Disk {
    fn new() -> Disk {
        let folder = tempfile::tempdir().unwrap();
        let places = StoreFolders::in_folder(folder.path());
        Disk { folder, places }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn open(&self, name: &str) -> Result<LockedFile, StoreError> {
        LockedFile::open(&self.path(name), &self.places)
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn contents(&self, name: &str) -> Vec<String> {
        let document = read_message_file(&self.path(name)).unwrap();
        document
            .cells()
            .map(|cell| cell.content().into_owned())
            .collect()
    }
}

#[test]
fn cells_are_added_to_what_is_there() {
    let disk = Disk::new();
    let before = "---\ntitle: x\n---\n\n# %%\n\ntyped by hand";
    fs::write(disk.path("a.msg.md"), before).unwrap();
    let mut file = disk.open("a.msg.md").unwrap();
    file.append(|document| NewCell::message(document.next_id(), "hello"))
        .unwrap();
    assert!(disk.text("a.msg.md").starts_with(before));
    assert_eq!(disk.contents("a.msg.md"), ["typed by hand", "hello"]);
    assert_eq!(
        fs::read_dir(disk.folder.path()).unwrap().count(),
        2,
        "only the file and its state"
    );
}

#[test]
fn a_second_writer_is_told_to_wait() {
    let disk = Disk::new();
    let file = disk.open("a.msg.md").unwrap();
    assert!(disk.open("a.msg.md").unwrap_err().is_locked());
    drop(file);
    disk.open("a.msg.md").unwrap();
}

#[test]
fn names_folders_and_encodings_that_do_not_fit_are_refused() {
    let disk = Disk::new();
    let refused = |name: &str| disk.open(name).unwrap_err().to_string();
    assert!(refused("a.txt").ends_with("a.txt: not a message file"));
    assert!(refused("plain.md").ends_with("plain.md: not a message file"));
    assert!(refused("no/such/a.msg.md").ends_with("no/such: not found"));
    fs::write(disk.path("b.msg.md"), b"# %%\n\xff\n").unwrap();
    assert!(refused("b.msg.md").contains("b.msg.md:2:1: the bytes at offset 5 are not UTF-8"));
    assert_eq!(fs::read(disk.path("b.msg.md")).unwrap(), b"# %%\n\xff\n");
}

#[cfg(unix)]
#[test]
fn mode_and_symbolic_link_survive() {
    use std::os::unix::fs::PermissionsExt;
    let disk = Disk::new();
    fs::write(disk.path("real.msg.md"), "").unwrap();
    fs::set_permissions(disk.path("real.msg.md"), fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink(disk.path("real.msg.md"), disk.path("link.msg.md")).unwrap();
    disk.open("link.msg.md")
        .unwrap()
        .append(|_| NewCell::message("1", "x"))
        .unwrap();
    assert!(disk.path("link.msg.md").is_symlink());
    assert_eq!(disk.contents("real.msg.md"), ["x"]);
    assert_eq!(
        disk.path("real.msg.md")
            .metadata()
            .unwrap()
            .permissions()
            .mode()
            & 0o777,
        0o640
    );
}

#[test]
fn an_editor_that_saves_while_a_change_is_made_loses_nothing() {
    // The editor saves after we have read the file and before we replace it: in place with the same
    // length, longer, and by rename.
    for save in ["QUESTION", "a longer question", "renamed"] {
        let disk = Disk::new();
        fs::write(disk.path("a.msg.md"), "# %%\n\nquestion\n").unwrap();
        let mut file = disk.open("a.msg.md").unwrap();
        let mut calls = 0;
        file.edit(|document| {
            calls += 1;
            if calls == 1 {
                let text = disk.text("a.msg.md").replace("question", save);
                let name = if save == "renamed" { "new" } else { "a.msg.md" };
                fs::write(disk.path(name), text).unwrap();
                if name == "new" {
                    fs::rename(disk.path("new"), disk.path("a.msg.md")).unwrap();
                }
            }
            let cell = NewCell::message(document.next_id(), "ours");
            append(document, &cell)
        })
        .unwrap();
        assert_eq!(disk.contents("a.msg.md"), [save, "ours"]);
        assert_eq!(calls, 2);
    }
}

#[test]
fn an_editor_in_the_middle_of_a_save_is_waited_for() {
    let disk = Disk::new();
    let text = "# %%\n\nquestion\n";
    fs::write(disk.path("a.msg.md"), text).unwrap();
    let mut file = disk.open("a.msg.md").unwrap();
    let mut editor = fs::File::create(disk.path("a.msg.md")).unwrap();
    let saving = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(50));
        let text = text.replace("question", "a better question");
        std::io::Write::write_all(&mut editor, text.as_bytes()).unwrap();
    });
    file.append(|document| NewCell::message(document.next_id(), "ours"))
        .unwrap();
    saving.join().unwrap();
    assert_eq!(disk.contents("a.msg.md"), ["a better question", "ours"]);
}

#[cfg(unix)]
#[test]
fn special_files_are_left_alone() {
    let disk = Disk::new();
    let fifo = disk.path("pipe.msg.md");
    assert!(
        std::process::Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .unwrap()
            .success()
    );
    fs::create_dir(disk.path("folder.msg.md")).unwrap();
    std::os::unix::fs::symlink(disk.path("loop.msg.md"), disk.path("loop.msg.md")).unwrap();
    for name in ["pipe.msg.md", "folder.msg.md", "loop.msg.md"] {
        let error = disk.open(name).unwrap_err().to_string();
        assert!(error.ends_with("not a regular file"), "{error}");
    }
    // A link to a file that is not there yet leads to that file.
    std::os::unix::fs::symlink("target.msg.md", disk.path("link.msg.md")).unwrap();
    disk.open("link.msg.md")
        .unwrap()
        .append(|_| NewCell::message("1", "x"))
        .unwrap();
    assert!(disk.path("link.msg.md").is_symlink());
    assert_eq!(disk.contents("target.msg.md"), ["x"]);
}

#[test]
fn transcripts_grow_line_by_line_and_survive_a_torn_one() {
    let disk = Disk::new();
    let project = disk.path("project");
    let transcript = Transcript::of_session(&disk.places, &project, &"s-1".into());
    assert_eq!(transcript.read().unwrap().messages, []);
    transcript.append(&Message::user("a", "one")).unwrap();
    let mut torn = fs::read(transcript.path()).unwrap();
    torn.extend_from_slice(b"{\"v\":1,\"type\":\"us");
    fs::write(transcript.path(), torn).unwrap();
    transcript.append(&Message::user("b", "two")).unwrap();
    let latest = Transcript::latest(&disk.places, &project).unwrap();
    assert_eq!(latest.session(), "s-1".into());
    let decoded = latest.read().unwrap();
    assert_eq!(decoded.messages.len(), 2);
    assert_eq!(decoded.problems[0].code, "unreadable-line");
}

#[cfg(unix)]
#[test]
fn what_the_store_keeps_is_private() {
    use std::os::unix::fs::PermissionsExt;
    let disk = Disk::new();
    let transcript = Transcript::of_session(&disk.places, &disk.path("项目"), &"s".into());
    transcript.append(&Message::user("a", "one")).unwrap();
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(transcript.path()), 0o600);
    assert_eq!(mode(transcript.path().parent().unwrap()), 0o700);
    assert_eq!(mode(&disk.places.state), 0o700);
}

#[test]
fn two_writers_of_a_transcript_never_mix_their_lines() {
    let disk = Disk::new();
    let transcript = Transcript::of_session(&disk.places, &disk.path("p"), &"s".into());
    let long = "x".repeat(10_000);
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let (transcript, long) = (&transcript, &long);
            scope.spawn(move || {
                for number in 0..25 {
                    let message = Message::user(format!("{writer}-{number}"), long.as_str());
                    transcript.append(&message).unwrap();
                }
            });
        }
    });
    let decoded = transcript.read().unwrap();
    assert_eq!((decoded.messages.len(), decoded.problems.len()), (100, 0));
}

#[test]
fn identifiers_are_real() {
    let now: Timestamp = "2026-11-15T00:00:00Z".parse().unwrap();
    let (one, two) = (OsIds.uuid(now), OsIds.uuid(now));
    assert_ne!(one, two);
    assert_eq!((one.len(), &one[14..15], &one[..13]), (36, "7", &two[..13]));
    for _ in 0..1000 {
        let nonce = OsIds.nonce();
        assert!(
            nonce.len() == 8 && nonce.contains(|c: char| c.is_ascii_alphabetic()),
            "{nonce}"
        );
    }
}

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

#[test]
fn pictures_come_from_beside_the_file_only() {
    let disk = Disk::new();
    let file = disk.path("talk/a.msg.md");
    fs::create_dir_all(disk.path("talk/img")).unwrap();
    fs::create_dir_all(disk.path("other")).unwrap();
    for name in [
        "talk/img/x.PNG",
        "talk/img/noname",
        "secret.png",
        "other/x.png",
    ] {
        fs::write(disk.path(name), PNG).unwrap();
    }
    fs::write(disk.path("talk/text.png"), "KEY=secret").unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::symlink;
        symlink(disk.path("secret.png"), disk.path("talk/link.png")).unwrap();
        symlink("img/x.PNG", disk.path("talk/near.png")).unwrap();
        symlink(disk.path("other"), disk.path("talk/folder")).unwrap();
    }
    for name in ["img/x.PNG", "./img/noname", "img/./x.PNG"] {
        let picture = read_picture(&file, name).unwrap();
        assert_eq!((picture.media_type, picture.size), ("image/png", 8));
        let data = "iVBORw0KGgo=".to_string();
        let expected = Source::Base64 {
            media_type: "image/png".into(),
            data,
        };
        assert_eq!(picture.source, expected);
    }
    let elsewhere = [
        "../secret.png",
        "img/../../secret.png",
        "/etc/hostname",
        "folder/x.png",
    ];
    let other = [
        "link.png",
        "near.png",
        "text.png",
        "img/none.png",
        "a.msg.md",
        "img",
        ".",
    ];
    for path in elsewhere.iter().chain(&other) {
        assert!(read_picture(&file, path).is_err(), "{path}");
    }
}

#[test]
fn a_yes_to_pictures_holds_for_one_file() {
    let disk = Disk::new();
    let one = PictureConsent::of(&disk.path("one.msg.md"), &disk.places);
    let two = PictureConsent::of(&disk.path("two.msg.md"), &disk.places);
    let allows = |consent: &PictureConsent, name| consent.allowed().contains(name);
    assert!(!allows(&one, "a.png"));
    for name in ["a.png", "a.png", "two\nlines", "*", "论语.png"] {
        one.allow(name).unwrap();
        assert!(allows(&one, name) && !allows(&two, name), "{name}");
    }
    assert!(!allows(&one, "lines") && !allows(&one, "b.png"));
    one.allow_all().unwrap();
    assert!(allows(&one, "b.png") && !allows(&two, "b.png"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_link_in_the_state_folder_leads_nowhere() {
    let disk = Disk::new();
    drop(disk.open("a.msg.md").unwrap());
    fs::write(disk.path("precious"), "all mine").unwrap();
    let locks = fs::read_dir(disk.places.state.join("locks")).unwrap();
    let lock = locks.map(|entry| entry.unwrap().path()).next().unwrap();
    let record = lock.with_extension("append");
    std::os::unix::fs::symlink(disk.path("precious"), &record).unwrap();
    let mut file = disk.open("a.msg.md").unwrap();
    file.append(|_| NewCell::message("1", "x")).unwrap();
    let mut file = file.with_in_place_size(0);
    file.append(|_| NewCell::message("2", "x")).unwrap_err();
    drop(file);
    assert_eq!(disk.contents("a.msg.md"), ["x"]);
    fs::remove_file(&lock).unwrap();
    std::os::unix::fs::symlink(disk.path("new"), &lock).unwrap();
    disk.open("a.msg.md").unwrap_err();
    assert!(!disk.path("new").exists());
    assert_eq!(disk.text("precious"), "all mine");
}
