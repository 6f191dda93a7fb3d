//! Replacing a file so that a kill or a power cut leaves the old one or the new one, never a mix, and
//! so that nothing that somebody else wrote at the same moment is lost.
//!
//! The new file is written without a name, synced, named, and *swapped* with the old one; then we
//! look at what came out. If that is not what we had read, an editor was faster, and the two are
//! swapped back. Where the system cannot swap, the old file is compared right before the rename.

use std::io;
use std::path::{Path, PathBuf};

use crate::error::to;
use crate::fingerprint::fingerprint;
use crate::vfs::{Open, Vfs, VfsFile, folder_of};
use crate::{MAX_EMPTY_WAITS, MAX_WAITS, StoreError, WAIT};

/// Writes `bytes` in the place of the file at `path`, which must not be a symbolic link. Owner, mode
/// and attributes stay as they were; a new file gets what the umask says. If the file no longer holds
/// what was read as `before` (`None`: it was not there), nothing is changed and the answer is `false`.
pub(crate) fn replace(
    vfs: &dyn Vfs,
    path: &Path,
    bytes: &[u8],
    before: Option<&[u8]>,
) -> Result<bool, StoreError> {
    let folder = folder_of(path);
    let mut draft = vfs.draft(folder).map_err(to("create a file in this folder", path))?;
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
            linked => linked.map_err(to("create", path)).and_then(|()| sync_folder(vfs, path)),
        };
    };
    let aside = Aside::new(path, before, bytes);
    aside.link(vfs, &mut *draft).map_err(to("create a file in this folder", path))?;
    Swap { vfs, path, aside: &aside.path, bytes, before }.run()
}

/// Makes a new name in a folder durable.
fn sync_folder(vfs: &dyn Vfs, path: &Path) -> Result<bool, StoreError> {
    vfs.sync_folder(folder_of(path)).map_err(to("sync the folder of", path))?;
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
        let swapped = match self.vfs.exchange(self.aside, self.path) {
            Ok(()) => self.look(),
            Err(error) if error.kind() == io::ErrorKind::Unsupported => self.rename(),
            // The old file is gone, so the change must be made anew.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(to("replace", self.path)(error)),
        };
        if matches!(swapped, Ok(false) | Err(StoreError::Io { .. })) {
            // If it is still there it is our own new text, or what we read: nobody's loss.
            clear_up(self.vfs, self.path);
        }
        swapped
    }

    /// Looks at the file that came out: it must hold what we read, also after a while.
    fn look(&self) -> Result<bool, StoreError> {
        if self.vfs.read_link(self.aside).is_ok() {
            // A link that somebody put in the place of the file, and that leads to what we read.
            return self.swap_back();
        }
        let came_out = self.vfs.open(self.aside, Open::Read).and_then(|mut old| {
            let facts = old.facts()?;
            let is_ours = old.beyond(self.before)?.is_some_and(|more| more.is_empty());
            Ok((old, facts, is_ours))
        });
        let (mut old, facts) = match came_out {
            Ok((old, facts, true)) => (old, facts),
            Ok(_) => return self.swap_back(),
            Err(error) => {
                self.swap_back()?;
                return Err(to("read", self.path)(error));
            }
        };
        self.vfs.remove(self.aside).map_err(to("remove the old version of", self.path))?;
        sync_folder(self.vfs, self.path)?;
        // An editor may have opened the old file before the swap, and write only now.
        match old.facts() {
            Ok(now) if now != facts => self.rescue(&mut *old),
            _ => Ok(true),
        }
    }

    /// An editor saved between our reading and the swap: its text goes back to its place.
    fn swap_back(&self) -> Result<bool, StoreError> {
        let kept = |kept: PathBuf| StoreError::Kept { path: self.path.into(), kept };
        let exchanged = self.vfs.exchange(self.aside, self.path);
        exchanged.map_err(|_| kept(self.aside.into()))?;
        match read(self.vfs, self.aside) {
            Ok(text) if text == self.bytes => Ok(false),
            // In the meantime somebody wrote into our version as well: of the two texts the newer one
            // stays in place, and the older one is kept.
            _ => {
                let _ = self.vfs.exchange(self.aside, self.path);
                Err(kept(keep(self.vfs, self.aside, self.path).unwrap_or(self.aside.into())))
            }
        }
    }

    /// What an editor wrote into the old file after the swap belongs into the new one's place.
    fn rescue(&self, old: &mut dyn VfsFile) -> Result<bool, StoreError> {
        let mut text = old.read_from(0).map_err(to("read", self.path))?;
        for wait in 1..MAX_EMPTY_WAITS {
            std::thread::sleep(WAIT);
            let now = old.read_from(0).map_err(to("read", self.path))?;
            let settled = now == text && !text.is_empty();
            text = now;
            if settled || (wait >= MAX_WAITS && !text.is_empty()) {
                break;
            }
        }
        if text.is_empty() {
            // Whoever emptied it never wrote it: ours holds what was there before, and stays.
            return Ok(true);
        }
        if text == self.before || replace(self.vfs, self.path, &text, Some(self.bytes))? {
            // If nothing changed but the time, then ours is in its place.
            return Ok(text == self.before);
        }
        let mut draft = self.vfs.draft(folder_of(self.path)).map_err(to("keep", self.path))?;
        draft.write_all(&text).and_then(|()| draft.sync()).map_err(to("keep", self.path))?;
        let kept = free_name(self.vfs, self.path);
        draft.link(&kept).map_err(to("keep", &kept))?;
        Err(StoreError::Kept { path: self.path.into(), kept })
    }

    /// Without a swap, an editor that saves between the comparison and the rename loses that save.
    fn rename(&self) -> Result<bool, StoreError> {
        if self.vfs.read_link(self.path).is_ok() {
            return Ok(false);
        }
        match read(self.vfs, self.path) {
            Ok(text) if text == self.before => {}
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(to("read", self.path)(error));
            }
            _ => return Ok(false),
        }
        self.vfs.rename(self.aside, self.path).map_err(to("replace", self.path))?;
        sync_folder(self.vfs, self.path)
    }
}

fn read(vfs: &dyn Vfs, path: &Path) -> io::Result<Vec<u8>> {
    vfs.open(path, Open::Read)?.read_from(0)
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
        let name =
            format!("{}{:016x}-{:016x}{SUFFIX}", of(path), fingerprint(before), fingerprint(bytes));
        Aside { path: path.with_file_name(name) }
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
    let Ok(names) = vfs.list(folder_of(path)) else { return Vec::new() };
    let start = of(path);
    let mut all_kept = Vec::new();
    for aside in names {
        let name = aside.file_name().unwrap_or_default().to_string_lossy();
        let hashes = name.strip_prefix(&start).and_then(|rest| rest.strip_suffix(SUFFIX));
        let Some(hashes) = hashes else { continue };
        if !is_plain_file(vfs, &aside) {
            continue;
        }
        let Ok(text) = read(vfs, &aside) else { continue };
        if hashes.split('-').any(|known| known == format!("{:016x}", fingerprint(&text))) {
            let _ = vfs.remove(&aside);
        } else {
            all_kept.extend(keep(vfs, &aside, path));
        }
    }
    all_kept
}

/// Whether a path is a regular file itself. Nothing else under such a name is ours, and reading it
/// may never end: a pipe, a link to a device.
fn is_plain_file(vfs: &dyn Vfs, path: &Path) -> bool {
    vfs.read_link(path).is_err() && vfs.facts(path).is_ok_and(|facts| facts.is_file)
}

/// Gives a text that is not ours a name that people see.
fn keep(vfs: &dyn Vfs, aside: &Path, path: &Path) -> io::Result<PathBuf> {
    let kept = free_name(vfs, path);
    vfs.rename(aside, &kept)?;
    Ok(kept)
}

/// A name for another version of a file: `talk.kept-1.msg.md`.
fn free_name(vfs: &dyn Vfs, path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let (stem, extension) = name.split_once('.').unwrap_or((&name, "md"));
    let names =
        (1..).map(|number| path.with_file_name(format!("{stem}.kept-{number}.{extension}")));
    let mut free = names.filter(|name| vfs.facts(name).is_err());
    free.next().unwrap_or_else(|| path.with_extension("kept"))
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
        let (path, real) = (folder.path().join("talk.msg.md"), folder.path().join("real.msg.md"));
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
        mknodat(CWD, aside("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
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
