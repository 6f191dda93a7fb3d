//! Power cuts on a real ext4: what was acknowledged before the cut is there after it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::sandbox::{Sandbox, say, skip};

/// Tells the file system to lose everything that is not on its disk: `FS_IOC_SHUTDOWN`, without a
/// flush of the log.
const CUT: &str = "import fcntl, os, struct, sys
fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x8004587d, struct.pack('I', 2))";

fn works(program: &str, args: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).output().is_ok_and(|output| output.status.success())
}

/// An ext4 in a file, mounted on a loop device.
pub struct Ext4 {
    image: PathBuf,
    folder: PathBuf,
}

impl Ext4 {
    pub fn new(sandbox: &Sandbox) -> Option<Ext4> {
        let disk = Ext4 { image: sandbox.path("image"), folder: sandbox.path("disk") };
        std::fs::create_dir(&disk.folder).ok()?;
        std::fs::File::create(&disk.image).ok()?.set_len(96 << 20).ok()?;
        let made = works("mkfs.ext4", &["-q", "-F", disk.image.to_str()?]);
        (made && disk.mount()).then_some(disk)
    }

    pub fn mount(&self) -> bool {
        let (image, folder) = (self.image.to_str(), self.folder.to_str());
        image
            .zip(folder)
            .is_some_and(|(image, folder)| works("mount", &["-o", "loop", image, folder]))
    }

    pub fn cut(&self) -> bool {
        works("python3", &["-c", CUT, self.folder.to_str().unwrap_or_default()])
    }

    pub fn umount(&self) {
        // Somebody may still be looking at it.
        for _ in 0..200 {
            if works("umount", &[self.folder.to_str().unwrap_or_default()]) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("cannot unmount {}", self.folder.display());
    }
}

impl Drop for Ext4 {
    fn drop(&mut self) {
        works("umount", &["-l", self.folder.to_str().unwrap_or_default()]);
    }
}

fn add(sandbox: &Sandbox, text: &str) -> Command {
    let mut command = sandbox.command(&["add", "disk/a.msg.md", text]);
    command.env("ANALECTS_HOME", sandbox.path("disk/home"));
    command
}

/// Adds cell after cell until the power goes; gives those that were acknowledged before that.
fn add_until_cut(sandbox: &Sandbox, disk: &Ext4, moment: Duration) -> Vec<String> {
    let cutting = std::sync::atomic::AtomicBool::new(false);
    // However slow the machine is, one is safe before the clock starts.
    let first = format!("first before {moment:?}");
    assert!(add(sandbox, &first).output().unwrap().status.success());
    let mut acknowledged = vec![first];
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(moment);
            cutting.store(true, std::sync::atomic::Ordering::SeqCst);
            assert!(disk.cut(), "the power cannot be cut");
        });
        for number in 0.. {
            let text = format!("cell {number} at {moment:?}");
            let done = add(sandbox, &text).output().unwrap().status.success();
            // What is acknowledged while the power goes may be lost.
            if cutting.load(std::sync::atomic::Ordering::SeqCst) {
                break;
            }
            assert!(done, "an add failed before the cut");
            acknowledged.push(text);
        }
    });
    acknowledged
}

fn cut_power(cuts: u64, large: bool) {
    let sandbox = Sandbox::new();
    let Some(disk) = Ext4::new(&sandbox) else {
        return skip("power", "an ext4 cannot be made and mounted here");
    };
    if !works("python3", &["-c", "import fcntl"]) {
        return skip("power", "python3 is not there to cut the power");
    }
    let filler = if large { "All that was said is kept.\n".repeat(310_000) } else { "x".into() };
    let mut before = format!("# %%\n\n{filler}\n");
    sandbox.write("disk/a.msg.md", &before);
    assert!(works("sync", &[]));
    let mut acknowledged_in_all = 0;
    for cut in 0..cuts {
        let moment = Duration::from_micros(20_000 + (cut * 7_919) % 60_000);
        let acknowledged = add_until_cut(&sandbox, &disk, moment);
        acknowledged_in_all += acknowledged.len();
        disk.umount();
        assert!(disk.mount(), "cut {cut}: the disk cannot be mounted again");
        check(&sandbox, &before, &acknowledged, &format!("cut {cut}"));
        let next = add(&sandbox, "next").output().unwrap();
        assert!(next.status.success(), "cut {cut}: {}", String::from_utf8_lossy(&next.stderr));
        let texts = sandbox.texts("disk/a.msg.md");
        assert_eq!(texts.last().unwrap(), "next", "cut {cut}");
        let mut check = sandbox.command(&["check", "disk/a.msg.md"]);
        check.env("ANALECTS_HOME", sandbox.path("disk/home"));
        assert!(check.output().unwrap().status.success(), "cut {cut}");
        let litter = std::fs::read_dir(sandbox.path("disk")).unwrap();
        let names: Vec<_> = litter.map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names.len(), 3, "cut {cut}: {names:?}");
        before = sandbox.read("disk/a.msg.md");
    }
    disk.umount();
    say(&format!("{cuts} power cuts, {acknowledged_in_all} acknowledged cells"));
}

#[track_caller]
fn check(sandbox: &Sandbox, before: &str, acknowledged: &[String], what: &str) {
    let text = std::fs::read(sandbox.path("disk/a.msg.md")).unwrap();
    assert!(text.starts_with(before.as_bytes()), "{what}: what was there has changed");
    let texts = sandbox.texts("disk/a.msg.md");
    for cell in acknowledged {
        let count = texts.iter().filter(|text| *text == cell).count();
        assert_eq!(count, 1, "{what}: {cell:?} of {}", acknowledged.len());
    }
    assert!(Path::new(&sandbox.path("disk/home")).exists(), "{what}");
}

#[test]
fn power_cuts_take_nothing_that_was_acknowledged() {
    cut_power(if std::env::var_os("ANALECTS_TORTURE").is_some() { 400 } else { 14 }, false);
}

#[test]
fn power_cuts_while_a_large_file_grows_take_nothing_that_was_acknowledged() {
    cut_power(if std::env::var_os("ANALECTS_TORTURE").is_some() { 100 } else { 6 }, true);
}
