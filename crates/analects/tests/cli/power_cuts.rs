//! Power cuts on a real ext4 file system: everything acknowledged before the cut is there after it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::file_watcher::AGENT;
use crate::sandbox::{Sandbox, print_note, skip};
use crate::server::{Server, answer};

/// Makes the file system lose everything that is not on its disk: `FS_IOC_SHUTDOWN` without a flush of the log.
const CUT: &str = "import fcntl, os, struct, sys
fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x8004587d, struct.pack('I', 2))";

fn succeeds(program: &str, args: &[&str]) -> bool {
    let mut command = Command::new(program);
    command
        .args(args)
        .stdin(Stdio::null())
        .output()
        .is_ok_and(|output| output.status.success())
}

/// An ext4 file system in a file, mounted on a loop device.
pub struct Ext4Disk {
    image: PathBuf,
    folder: PathBuf,
}

impl Ext4Disk {
    pub fn new(sandbox: &Sandbox) -> Option<Ext4Disk> {
        let disk = Ext4Disk {
            image: sandbox.path("image"),
            folder: sandbox.path("disk"),
        };
        std::fs::create_dir(&disk.folder).ok()?;
        std::fs::File::create(&disk.image)
            .ok()?
            .set_len(96 << 20)
            .ok()?;
        let made = succeeds("mkfs.ext4", &["-q", "-F", disk.image.to_str()?]);
        (made && disk.mount()).then_some(disk)
    }

    pub fn mount(&self) -> bool {
        let (image, folder) = (self.image.to_str(), self.folder.to_str());
        image
            .zip(folder)
            .is_some_and(|(image, folder)| succeeds("mount", &["-o", "loop", image, folder]))
    }

    pub fn cut(&self) -> bool {
        succeeds(
            "python3",
            &["-c", CUT, self.folder.to_str().unwrap_or_default()],
        )
    }

    pub fn umount(&self) {
        // Another process may still use it.
        for _ in 0..200 {
            if succeeds("umount", &[self.folder.to_str().unwrap_or_default()]) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("cannot unmount {}", self.folder.display());
    }
}

impl Drop for Ext4Disk {
    fn drop(&mut self) {
        succeeds("umount", &["-l", self.folder.to_str().unwrap_or_default()]);
    }
}

/// The command with all its files on the disk that loses power.
fn command_on_disk(sandbox: &Sandbox, args: &[&str]) -> Command {
    let mut command = sandbox.command(args);
    command.env("ANALECTS_HOME", sandbox.path("disk/home"));
    command
}

fn add(sandbox: &Sandbox, text: &str) -> Command {
    command_on_disk(sandbox, &["add", "disk/a.msg.md", text])
}

fn add_cell(sandbox: &Sandbox, text: &str) -> bool {
    add(sandbox, text).output().unwrap().status.success()
}

/// Asks a question that the model answers.
fn ask(sandbox: &Sandbox, text: &str) -> bool {
    let server = Server::new(vec![answer(&["answer to ", text])]);
    let mut command = command_on_disk(sandbox, &["chat", "disk/a.msg.md", text]);
    command
        .env("OPENAI_BASE_URL", &server.base_url)
        .output()
        .unwrap()
        .status
        .success()
}

/// Runs commands one after another until the power fails, and returns the acknowledged texts.
fn acknowledged_until_cut(
    sandbox: &Sandbox,
    disk: &Ext4Disk,
    moment: Duration,
    write: fn(&Sandbox, &str) -> bool,
) -> Vec<String> {
    let cutting = std::sync::atomic::AtomicBool::new(false);
    // On any machine, one text is safe before the clock starts.
    let first = format!("first before {moment:?}");
    assert!(write(sandbox, &first));
    let mut acknowledged = vec![first];
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(moment);
            cutting.store(true, std::sync::atomic::Ordering::SeqCst);
            assert!(disk.cut(), "the power cannot be cut");
        });
        for number in 0.. {
            let text = format!("cell {number} at {moment:?}");
            let done = write(sandbox, &text);
            // A text that is acknowledged during the cut may be lost.
            if cutting.load(std::sync::atomic::Ordering::SeqCst) {
                break;
            }
            assert!(done, "it failed before the cut");
            acknowledged.push(text);
        }
    });
    acknowledged
}

/// A disk that can lose power, if this machine can provide one.
fn ext4_disk(sandbox: &Sandbox) -> Option<Ext4Disk> {
    if !succeeds("python3", &["-c", "import fcntl"]) {
        skip("power_cuts", "python3 is not there to cut the power");
        return None;
    }
    let disk = Ext4Disk::new(sandbox);
    if disk.is_none() {
        skip("power_cuts", "an ext4 cannot be made and mounted here");
    }
    disk
}

/// Restores the power, runs the next writer, and checks that everything is still there.
#[track_caller]
fn check_after_cut(sandbox: &Sandbox, disk: &Ext4Disk, what: &str) {
    let next = add(sandbox, "next").output().unwrap();
    assert!(
        next.status.success(),
        "{what}: {}",
        String::from_utf8_lossy(&next.stderr)
    );
    assert_eq!(
        sandbox.message_texts("disk/a.msg.md").last().unwrap(),
        "next",
        "{what}"
    );
    let check = command_on_disk(sandbox, &["check", "disk/a.msg.md"])
        .output()
        .unwrap();
    assert!(
        check.status.success(),
        "{what}: {}",
        String::from_utf8_lossy(&check.stderr)
    );
    let names = std::fs::read_dir(&disk.folder).unwrap();
    let names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 3, "{what}: {names:?}");
}

fn cut_power_while_adding(cuts: u64, large: bool) {
    let sandbox = Sandbox::new();
    let Some(disk) = ext4_disk(&sandbox) else {
        return;
    };
    let filler = if large {
        "All that was said is kept.\n".repeat(310_000)
    } else {
        "x".into()
    };
    let mut before = format!("# %%\n\n{filler}\n");
    sandbox.write("disk/a.msg.md", &before);
    assert!(succeeds("sync", &[]));
    let mut acknowledged_in_all = 0;
    for cut in 0..cuts {
        let moment = Duration::from_micros(20_000 + (cut * 7_919) % 60_000);
        let acknowledged = acknowledged_until_cut(&sandbox, &disk, moment, add_cell);
        acknowledged_in_all += acknowledged.len();
        disk.umount();
        assert!(disk.mount(), "cut {cut}: the disk cannot be mounted again");
        check_cells(&sandbox, &before, &acknowledged, &format!("cut {cut}"));
        check_after_cut(&sandbox, &disk, &format!("cut {cut}"));
        before = sandbox.read("disk/a.msg.md");
    }
    disk.umount();
    print_note(&format!(
        "{cuts} power cuts, {acknowledged_in_all} acknowledged cells"
    ));
}

#[track_caller]
fn check_cells(sandbox: &Sandbox, before: &str, acknowledged: &[String], what: &str) {
    let text = std::fs::read(sandbox.path("disk/a.msg.md")).unwrap();
    assert!(
        text.starts_with(before.as_bytes()),
        "{what}: what was there has changed"
    );
    let texts = sandbox.message_texts("disk/a.msg.md");
    for cell in acknowledged {
        let count = texts.iter().filter(|text| *text == cell).count();
        assert_eq!(count, 1, "{what}: {cell:?} of {}", acknowledged.len());
    }
    assert!(Path::new(&sandbox.path("disk/home")).exists(), "{what}");
}

#[test]
fn power_cuts_lose_no_acknowledged_cell() {
    cut_power_while_adding(
        if analects_testkit::is_torture() {
            200
        } else {
            14
        },
        false,
    );
}

#[test]
fn power_cuts_in_a_large_file_lose_no_acknowledged_cell() {
    cut_power_while_adding(
        if analects_testkit::is_torture() {
            100
        } else {
            6
        },
        true,
    );
}

#[test]
fn power_cuts_during_a_turn_lose_no_acknowledged_cell() {
    let sandbox = Sandbox::new();
    let Some(disk) = ext4_disk(&sandbox) else {
        return;
    };
    let cuts = if analects_testkit::is_torture() {
        200
    } else {
        8
    };
    let mut turns = 0;
    for cut in 0..cuts {
        sandbox.write("disk/a.msg.md", AGENT);
        assert!(succeeds("sync", &[]));
        let moment = Duration::from_micros(20_000 + (cut * 7_919) % 120_000);
        let acknowledged = acknowledged_until_cut(&sandbox, &disk, moment, ask);
        turns += acknowledged.len();
        disk.umount();
        assert!(disk.mount(), "cut {cut}: the disk cannot be mounted again");
        check_after_cut(&sandbox, &disk, &format!("cut {cut}"));
        let texts = sandbox.message_texts("disk/a.msg.md");
        for question in acknowledged {
            for text in [format!("answer to {question}"), question] {
                let count = texts.iter().filter(|other| **other == text).count();
                assert_eq!(count, 1, "cut {cut}: {text:?} in {texts:?}");
            }
        }
        let unique: std::collections::BTreeSet<&String> = texts.iter().collect();
        assert_eq!(
            unique.len(),
            texts.len(),
            "cut {cut}: something is there twice: {texts:?}"
        );
    }
    disk.umount();
    print_note(&format!("{cuts} power cuts, {turns} acknowledged turns"));
}
