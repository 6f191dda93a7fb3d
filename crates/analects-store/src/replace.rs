//! Replacing a file so that a kill or a power cut leaves the old one or the new one, never a mix, and
//! so that nothing that somebody else wrote at the same moment is lost.
//!
//! The new file is written without a name, synced, named, and *swapped* with the old one. Meanwhile we
//! hold a lease on both, so that whoever opens one of them for writing waits. Those who waited for the
//! old file go on to write into it, although it has lost its place. So we look at it again after the
//! swap: if it is open or has changed, the two are swapped back, and the change is made anew when that
//! program is done.
//!
//! Where the system cannot swap, the old file is compared right before the rename. Where it has no
//! leases, we notice only what was written before we look.
//!
//! A program that has the file open for writing at the beginning is waited for: whatever it is about to write would go
//! into a file that we have replaced by then.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::StoreError;
use crate::error::to;
use crate::locked_file::MESSAGE_FILE_LIMIT;
use crate::places::fingerprint;
use crate::vfs::{Facts, Lease, Open, Vfs, VfsFile, folder_of};

/// Writes `bytes` in the place of the file at `path`, which must not be a symbolic link. Owner, mode
/// and attributes stay as they were; a new file gets what the umask says. If the file no longer holds
/// what was read as `before` (`None`: it was not there), or another program has it open for writing,
/// nothing is changed and the answer is `false`.
pub(crate) fn replace(
    vfs: &dyn Vfs,
    path: &Path,
    bytes: &[u8],
    before: Option<&[u8]>,
) -> Result<bool, StoreError> {
    let folder = folder_of(path);
    let mut draft = vfs
        .draft(folder)
        .map_err(to("create a file in this folder", path))?;
    if before.is_some() {
        match draft.adopt(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            adopted => adopted.map_err(to("keep everything about", path))?,
        }
    }
    draft.write_all(bytes).map_err(to("write", path))?;
    draft.sync().map_err(to("sync", path))?;
    let Some(before) = before else {
        return match draft.link(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            linked => linked
                .map_err(to("create", path))
                .and_then(|()| sync_folder(vfs, path)),
        };
    };
    let aside = Aside::new(path, before, bytes);
    aside
        .link(vfs, &mut *draft)
        .map_err(to("create a file in this folder", path))?;
    // While it is open for writing, there is no lease on it.
    drop(draft);
    Swap {
        vfs,
        path,
        aside: &aside.path,
        bytes,
        before,
    }
    .run()
}

/// Makes a new name in a folder durable.
fn sync_folder(vfs: &dyn Vfs, path: &Path) -> Result<bool, StoreError> {
    vfs.sync_folder(folder_of(path))
        .map_err(to("sync the folder of", path))?;
    Ok(true)
}

/// The new file, named, beside the old one.
struct Swap<'a> {
    vfs: &'a dyn Vfs,
    path: &'a Path,
    aside: &'a Path,
    bytes: &'a [u8],
    before: &'a [u8],
}

impl Swap<'_> {
    fn run(&self) -> Result<bool, StoreError> {
        let swapped = self.swap();
        if matches!(swapped, Ok(false) | Err(StoreError::Io { .. })) {
            // If it is still there it is our own new text, or what we read: nobody's loss.
            clear_up(self.vfs, self.path);
        }
        swapped
    }

    fn swap(&self) -> Result<bool, StoreError> {
        let Some(mut old) = self.lease_old()? else {
            return Ok(false);
        };
        let mut new = match self.vfs.open(self.aside, Open::Read) {
            // Somebody with another state folder took it for one that a kill left.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            new => new.map_err(to("read the new version of", self.path))?,
        };
        lock(&mut *new, self.path)?;
        new.lease()
            .map_err(to("read the new version of", self.path))?;
        match self.vfs.exchange(self.aside, self.path) {
            Ok(()) => self.settle(&mut *old, &mut *new),
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                // Those who wait for the old file would write into one that has no name any more.
                old.release();
                self.rename()
            }
            // The old file is gone, so the change must be made anew.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(to("replace", self.path)(error)),
        }
    }

    /// The old file, locked and with a lease on it; `None` if it is not what we read, or somebody writes
    /// to it. Whoever replaces it holds the locks of both files, so that nobody else does meanwhile, not
    /// even somebody with another state folder.
    fn lease_old(&self) -> Result<Option<Box<dyn VfsFile>>, StoreError> {
        if !is_plain_file(self.vfs, self.path) {
            return Ok(None);
        }
        let mut old = match self.vfs.open(self.path, Open::Read) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(to("read", self.path))?,
        };
        lock(&mut *old, self.path)?;
        let is_there = is_at(self.vfs, &*old, self.path);
        let is_ours = is_there && is_untouched(&mut *old, self.before, self.path)?;
        Ok(is_ours.then_some(old))
    }

    /// Looks whether the swap stays: the file that came out must be the one that we hold a lease on, and
    /// nobody may have waited to write into it.
    fn settle(&self, old: &mut dyn VfsFile, new: &mut dyn VfsFile) -> Result<bool, StoreError> {
        if !is_at(self.vfs, old, self.aside) {
            // A file or a link that somebody put in its place just before the swap.
            return self.swap_back(new);
        }
        old.release();
        // The sync also takes the time in which those who were about to open the old file do so.
        sync_folder(self.vfs, self.path)?;
        match is_untouched(old, self.before, self.path) {
            Ok(true) => {}
            Ok(false) => return self.swap_back(new),
            Err(error) => {
                self.swap_back(new)?;
                return Err(error);
            }
        }
        // If a power cut brings it back, the next writer removes it.
        self.vfs
            .remove(self.aside)
            .map_err(to("remove the old version of", self.path))?;
        Ok(true)
    }

    /// Somebody else's text goes back to its place.
    fn swap_back(&self, new: &mut dyn VfsFile) -> Result<bool, StoreError> {
        let kept = |kept: PathBuf| StoreError::Kept {
            path: self.path.into(),
            kept,
        };
        let exchanged = self.vfs.exchange(self.aside, self.path);
        exchanged.map_err(|_| kept(self.aside.into()))?;
        // If it fails, a power cut may bring our version back; theirs is beside it then.
        let _ = sync_folder(self.vfs, self.path);
        new.release();
        let is_there = is_at(self.vfs, new, self.aside);
        if is_there && is_untouched(new, self.bytes, self.path).unwrap_or(false) {
            return Ok(false);
        }
        // In the meantime somebody wrote into our version as well, or is about to: of the two texts the
        // newer one stays in place, and the older one is kept.
        let _ = self.vfs.exchange(self.aside, self.path);
        Err(kept(
            keep(self.vfs, self.aside, self.path).unwrap_or(self.aside.into()),
        ))
    }

    /// Without a swap, an editor that saves between the comparison and the rename loses that save.
    fn rename(&self) -> Result<bool, StoreError> {
        self.vfs
            .rename(self.aside, self.path)
            .map_err(to("replace", self.path))?;
        sync_folder(self.vfs, self.path)
    }
}

/// Locks an open file, waiting for others of us who are about to replace it.
fn lock(file: &mut dyn VfsFile, path: &Path) -> Result<(), StoreError> {
    let start = Instant::now();
    while !file.try_lock().map_err(to("lock", path))? {
        if start.elapsed() >= PATIENCE {
            return Err(StoreError::Locked { path: path.into() });
        }
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

/// Whether a path is an open file itself, and no link to it.
fn is_at(vfs: &dyn Vfs, file: &dyn VfsFile, path: &Path) -> bool {
    if vfs.read_link(path).is_ok() {
        return false;
    }
    match (file.facts(), vfs.facts(path)) {
        (Ok(ours), Ok(there)) => ours.identity == there.identity,
        _ => false,
    }
}

/// Whether a file holds these bytes and no more.
fn holds(file: &mut dyn VfsFile, bytes: &[u8], path: &Path) -> Result<bool, StoreError> {
    let more = file.beyond(bytes).map_err(to("read", path))?;
    Ok(more.is_some_and(|more| more.is_empty()))
}

/// Whether a file still holds these bytes, and nobody has it open to write others.
fn is_untouched(file: &mut dyn VfsFile, bytes: &[u8], path: &Path) -> Result<bool, StoreError> {
    let lease = file.lease().map_err(to("read", path))?;
    Ok(lease != Lease::Refused && holds(file, bytes, path)?)
}

/// What a file holds, and whether somebody is about to write more; `None` if it belongs to one of us who is
/// about to replace a file.
fn read_aside(vfs: &dyn Vfs, path: &Path) -> io::Result<Option<(Vec<u8>, bool)>> {
    let mut file = vfs.open(path, Open::Read)?;
    if !file.try_lock()? {
        return Ok(None);
    }
    let is_in_use = file.lease()? == Lease::Refused;
    Ok(Some((file.read_from(0)?, is_in_use)))
}

/// The name that the new file has for the moment of the swap, and the old one after it. It says what
/// both hold, so that whatever a kill leaves under it can be told from what somebody else wrote.
struct Aside {
    path: PathBuf,
}

const PREFIX: &str = ".analects-";
const SUFFIX: &str = ".swap";

impl Aside {
    fn new(path: &Path, before: &[u8], bytes: &[u8]) -> Aside {
        let name = format!(
            "{}{:016x}-{:016x}{SUFFIX}",
            of(path),
            fingerprint(before),
            fingerprint(bytes)
        );
        Aside {
            path: path.with_file_name(name),
        }
    }

    fn link(&self, vfs: &dyn Vfs, draft: &mut dyn VfsFile) -> io::Result<()> {
        match draft.link(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                // The same change was cut off by a kill.
                vfs.remove(&self.path)?;
                draft.link(&self.path)
            }
            linked => linked,
        }
    }
}

/// What the names start with that belong to the file at `path`.
fn of(path: &Path) -> String {
    format!(
        "{PREFIX}{:016x}-",
        fingerprint(path.file_name().unwrap_or_default().as_encoded_bytes())
    )
}

/// Removes what a kill left beside a file: our own new text, or the old text that it was to replace.
/// What somebody else wrote is kept under a name that people see; these names are the answer. Called
/// under the file's lock.
pub(crate) fn clear_up(vfs: &dyn Vfs, path: &Path) -> Vec<PathBuf> {
    // What cannot be cleared up does no harm, and the next writer tries again.
    let Ok(names) = vfs.list(folder_of(path)) else {
        return Vec::new();
    };
    let start = of(path);
    let mut all_kept = Vec::new();
    for aside in names {
        let name = aside.file_name().unwrap_or_default().to_string_lossy();
        let hashes = name
            .strip_prefix(&start)
            .and_then(|rest| rest.strip_suffix(SUFFIX));
        let Some(hashes) = hashes else { continue };
        if !is_plain_file(vfs, &aside) {
            continue;
        }
        let Ok(Some((text, is_in_use))) = read_aside(vfs, &aside) else {
            continue;
        };
        let text = format!("{:016x}", fingerprint(&text));
        if !is_in_use && hashes.split('-').any(|known| known == text) {
            let _ = vfs.remove(&aside);
        } else {
            all_kept.extend(keep(vfs, &aside, path));
        }
    }
    all_kept
}

/// Whether a path is a regular file itself, and no larger than a message file can be. Nothing else under such
/// a name is ours, and reading it may never end: a pipe, a link to a device.
fn is_plain_file(vfs: &dyn Vfs, path: &Path) -> bool {
    let is_ours = |facts: Facts| facts.is_file && facts.length <= MESSAGE_FILE_LIMIT as u64;
    vfs.read_link(path).is_err() && vfs.facts(path).is_ok_and(is_ours)
}

/// Gives a text that is not ours a name that people see.
fn keep(vfs: &dyn Vfs, aside: &Path, path: &Path) -> io::Result<PathBuf> {
    let kept = free_name(vfs, path);
    vfs.rename(aside, &kept)?;
    Ok(kept)
}

/// A name for another version of a file: `talk.kept-1.msg.md`.
fn free_name(vfs: &dyn Vfs, path: &Path) -> PathBuf {
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let (stem, extension) = name.split_once('.').unwrap_or((&name, "md"));
    let names =
        (1..).map(|number| path.with_file_name(format!("{stem}.kept-{number}.{extension}")));
    let mut free = names.filter(|name| vfs.facts(name).is_err());
    free.next().unwrap_or_else(|| path.with_extension("kept"))
}

/// How long a change waits for others to close the file.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// How long we wait before we look again.
const PAUSE: Duration = Duration::from_millis(1);

/// Waits until no other program has the file open for writing, as long as `patience` lasts. The answer
/// is [`Lease::Granted`] if nobody has, and [`Lease::Unknown`] if the system cannot tell. The file
/// need not exist. `name` is what the person calls it.
pub(crate) fn wait_for_writers(
    vfs: &dyn Vfs,
    path: &Path,
    name: &Path,
    patience: Duration,
) -> Result<Lease, StoreError> {
    let start = Instant::now();
    loop {
        // A pipe would keep us waiting as soon as it is opened; whoever reads it next refuses it.
        if !vfs.facts(path).is_ok_and(|facts| facts.is_file) {
            return Ok(Lease::Granted);
        }
        let mut file = match vfs.open(path, Open::Read) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Lease::Granted);
            }
            Err(error) => return Err(to("read", name)(error)),
        };
        let lease = file.lease().map_err(to("read", name))?;
        if lease != Lease::Refused {
            return Ok(lease);
        }
        if start.elapsed() >= patience {
            return Err(StoreError::InUse {
                path: name.into(),
                writers: file.writers(),
            });
        }
        drop(file);
        std::thread::sleep(PAUSE);
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    //! What stands beside a file under a name of ours, and is not ours.

    use std::os::unix::fs::symlink;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;
    use crate::vfs::Disk;

    #[test]
    fn a_link_that_takes_the_place_of_a_file_before_the_swap_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (path, real) = (
            folder.path().join("talk.msg.md"),
            folder.path().join("real.msg.md"),
        );
        std::fs::write(&real, "old").unwrap();
        symlink("real.msg.md", &path).unwrap();
        assert!(!replace(&Disk, &path, b"new", Some(b"old")).unwrap());
        assert_eq!(std::fs::read_link(&path).unwrap(), Path::new("real.msg.md"));
        assert_eq!(std::fs::read_to_string(&real).unwrap(), "old");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_pipe_a_link_and_a_folder_beside_a_file_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("talk.msg.md");
        let aside = |what| folder.path().join(format!("{}{what}{SUFFIX}", of(&path)));
        mknodat(
            CWD,
            aside("pipe"),
            FileType::Fifo,
            Mode::RUSR | Mode::WUSR,
            0,
        )
        .unwrap();
        symlink("/dev/zero", aside("device")).unwrap();
        symlink("/etc/hostname", aside("link")).unwrap();
        std::fs::create_dir(aside("folder")).unwrap();
        std::fs::write(aside("text"), "somebody's").unwrap();
        let (done, is_done) = channel();
        let path = path.clone();
        std::thread::spawn(move || done.send(clear_up(&Disk, &path)));
        let all_kept = is_done.recv_timeout(Duration::from_secs(20)).unwrap();
        for what in ["pipe", "device", "link", "folder"] {
            assert!(aside(what).symlink_metadata().is_ok(), "{what}");
        }
        let kept = folder.path().join("talk.kept-1.msg.md");
        assert_eq!(std::fs::read_to_string(&kept).unwrap(), "somebody's");
        assert_eq!(all_kept, [kept]);
    }
}
