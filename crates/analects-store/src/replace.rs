//! Replacing a file. A kill or a power cut leaves the old file or the new one, never a mix, and text that another program
//! wrote at the same moment is never lost.
//!
//! The new file is written without a name, synced, named, and *swapped* with the old one. Meanwhile we hold a lease on
//! both, so that a program that opens one of them for writing blocks. A program that blocked on the old file then
//! writes into it, although it has lost its name. So we check the old file again after the swap: if it is open or has
//! changed, we swap the two back, and the caller makes the change again when that program is done.
//!
//! Where the system cannot swap, the old file is compared right before a rename. Without leases, we notice only what was
//! written before the check. If a program has the file open for writing at the beginning, we wait for it, because it
//! would write into the replaced file.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::StoreError;
use crate::error::cannot;
use crate::folders::fingerprint;
use crate::locked_file::MESSAGE_FILE_LIMIT;
use crate::vfs::{Lease, OpenMode, Vfs, VfsFile, folder_of};

/// Replaces the content of the file at `path` with `bytes`. The path must not be a symbolic link. Owner, mode and
/// attributes stay; a new file gets the mode that the umask allows. `before` is the content that the caller has read,
/// or `None` if there was no file. Returns `false`, and changes nothing, if the content differs by now, or if another
/// program has the file open for writing.
pub(crate) fn replace(
    vfs: &dyn Vfs,
    path: &Path,
    bytes: &[u8],
    before: Option<&[u8]>,
) -> Result<bool, StoreError> {
    let folder = folder_of(path);
    let mut draft = vfs
        .draft(folder)
        .map_err(cannot("create a file in this folder", path))?;
    if before.is_some() {
        match draft.copy_metadata_from(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            adopted => adopted.map_err(cannot("keep everything about", path))?,
        }
    }
    draft.write_all(bytes).map_err(cannot("write", path))?;
    draft.sync().map_err(cannot("sync", path))?;
    let Some(before) = before else {
        return link_new_file(vfs, path, &mut *draft);
    };
    let swap_file = SwapFile::new(path, before, bytes);
    swap_file
        .link(vfs, &mut *draft)
        .map_err(cannot("create a file in this folder", path))?;
    // An open file for writing allows no lease.
    drop(draft);
    Swap {
        vfs,
        path,
        aside: &swap_file.path,
        bytes,
        before,
    }
    .run()
}

/// Gives a draft the name of a file that must not exist; `false` if it does.
fn link_new_file(vfs: &dyn Vfs, path: &Path, draft: &mut dyn VfsFile) -> Result<bool, StoreError> {
    match draft.link(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(cannot("create", path)(error)),
        Ok(()) => sync_folder(vfs, path),
    }
}

/// Makes the name of a file survive a power cut. Returns `true`, the result of a successful replacement.
fn sync_folder(vfs: &dyn Vfs, path: &Path) -> Result<bool, StoreError> {
    vfs.sync_folder(folder_of(path))
        .map_err(cannot("sync the folder of", path))?;
    Ok(true)
}

/// A swap of the file at `path` with the new file at `aside`.
struct Swap<'a> {
    vfs: &'a dyn Vfs,
    /// The path of the old file.
    path: &'a Path,
    /// The path of the new file, and after the swap that of the old one.
    aside: &'a Path,
    /// The content of the new file.
    bytes: &'a [u8],
    /// The content of the old file.
    before: &'a [u8],
}

impl Swap<'_> {
    /// Swaps the files, and removes the one at `aside` after a failure.
    fn run(&self) -> Result<bool, StoreError> {
        let swapped = self.swap();
        if matches!(swapped, Ok(false) | Err(StoreError::Io { .. })) {
            // A file that is left holds our own new text, or the text that we read.
            clear_up(self.vfs, self.path);
        }
        swapped
    }

    /// Swaps the files and checks the result. `false` if another program changed the old file before or during the
    /// swap; then its text is in place.
    fn swap(&self) -> Result<bool, StoreError> {
        let Some(mut old) = self.lease_old()? else {
            return Ok(false);
        };
        let mut new = match self.vfs.open(self.aside, OpenMode::Read) {
            // A process with another state folder mistook it for the remains of a kill.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            new => new.map_err(cannot("read the new version of", self.path))?,
        };
        lock(&mut *new, self.path)?;
        new.lease()
            .map_err(cannot("read the new version of", self.path))?;
        match self.vfs.exchange(self.aside, self.path) {
            Ok(()) => self.verify(&mut *old, &mut *new),
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                // A program that waits for the old file would write into one without a name.
                old.release();
                self.rename()
            }
            // The old file is gone, so the change must be made again.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(cannot("replace", self.path)(error)),
        }
    }

    /// Opens the old file, locks it, and takes a lease; `None` if its content is not `before`, or if another program has
    /// it open for writing. We hold the locks of both files during the swap, which excludes processes of ours even with
    /// another state folder.
    fn lease_old(&self) -> Result<Option<Box<dyn VfsFile>>, StoreError> {
        if !is_plain_file(self.vfs, self.path) {
            return Ok(None);
        }
        let mut old = match self.vfs.open(self.path, OpenMode::Read) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(cannot("read", self.path))?,
        };
        lock(&mut *old, self.path)?;
        if !is_at(self.vfs, &*old, self.path) || !is_untouched(&mut *old, self.before, self.path)? {
            return Ok(None);
        }
        Ok(Some(old))
    }

    /// Decides whether the swap stays. The file that was swapped out must be the one that we hold a lease on, and no
    /// program may have waited to write into it.
    fn verify(&self, old: &mut dyn VfsFile, new: &mut dyn VfsFile) -> Result<bool, StoreError> {
        if !is_at(self.vfs, old, self.aside) {
            // Another program replaced the file just before the swap.
            return self.swap_back(new);
        }
        old.release();
        // During the sync, programs that were blocked open the old file, so the check below sees them.
        sync_folder(self.vfs, self.path)?;
        match is_untouched(old, self.before, self.path) {
            Ok(true) => {}
            Ok(false) => return self.swap_back(new),
            Err(error) => {
                self.swap_back(new)?;
                return Err(error);
            }
        }
        // Not synced: if a power cut brings the file back, the next writer removes it.
        self.vfs
            .remove(self.aside)
            .map_err(cannot("remove the old version of", self.path))?;
        Ok(true)
    }

    /// Undoes the swap, so that the other program's text is back in its place. If our version was changed as well in the
    /// meantime, keeps the older text in a file of its own, and returns [`StoreError::ConcurrentWrite`].
    fn swap_back(&self, new: &mut dyn VfsFile) -> Result<bool, StoreError> {
        let exchanged = self.vfs.exchange(self.aside, self.path);
        exchanged.map_err(|_| self.concurrent_write(self.aside.into()))?;
        // If the sync fails, a power cut may bring our version back; the other one is then at `aside`.
        let _ = sync_folder(self.vfs, self.path);
        new.release();
        let is_there = is_at(self.vfs, new, self.aside);
        if is_there && is_untouched(new, self.bytes, self.path).unwrap_or(false) {
            return Ok(false);
        }
        // Another program wrote into our version as well, or is about to. The newer text stays in place.
        let _ = self.vfs.exchange(self.aside, self.path);
        let kept = keep(self.vfs, self.aside, self.path);
        Err(self.concurrent_write(kept.unwrap_or(self.aside.into())))
    }

    /// Returns the error for a text of another program that is in a file of its own.
    fn concurrent_write(&self, other_version: PathBuf) -> StoreError {
        StoreError::ConcurrentWrite {
            path: self.path.into(),
            other_version,
        }
    }

    /// Replaces the old file by a rename. A save by an editor between the comparison and the rename is lost.
    fn rename(&self) -> Result<bool, StoreError> {
        self.vfs
            .rename(self.aside, self.path)
            .map_err(cannot("replace", self.path))?;
        sync_folder(self.vfs, self.path)
    }
}

/// Locks an open file. Waits for other processes of ours that are replacing it.
fn lock(file: &mut dyn VfsFile, path: &Path) -> Result<(), StoreError> {
    let start = Instant::now();
    while !file.try_lock().map_err(cannot("lock", path))? {
        if start.elapsed() >= PATIENCE {
            return Err(StoreError::Locked { path: path.into() });
        }
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

/// Returns whether a path leads to an open file, and is not a link.
fn is_at(vfs: &dyn Vfs, file: &dyn VfsFile, path: &Path) -> bool {
    if vfs.read_link(path).is_ok() {
        return false;
    }
    match (file.metadata(), vfs.metadata(path)) {
        (Ok(ours), Ok(there)) => ours.identity == there.identity,
        _ => false,
    }
}

/// Returns whether the content of a file is exactly `bytes`.
fn holds(file: &mut dyn VfsFile, bytes: &[u8], path: &Path) -> Result<bool, StoreError> {
    let more = file.read_after(bytes).map_err(cannot("read", path))?;
    Ok(more.is_some_and(|more| more.is_empty()))
}

/// Returns whether the content of a file is still `bytes`, and no program has it open for writing. Takes a lease.
fn is_untouched(file: &mut dyn VfsFile, bytes: &[u8], path: &Path) -> Result<bool, StoreError> {
    let lease = file.lease().map_err(cannot("read", path))?;
    Ok(lease != Lease::Refused && holds(file, bytes, path)?)
}

/// Reads a file that was left beside another one, and returns whether a program has it open for writing; `None` if a
/// process of ours is using it.
fn read_leftover(vfs: &dyn Vfs, path: &Path) -> io::Result<Option<(Vec<u8>, bool)>> {
    let mut file = vfs.open(path, OpenMode::Read)?;
    if !file.try_lock()? {
        return Ok(None);
    }
    let is_in_use = file.lease()? == Lease::Refused;
    Ok(Some((file.read_from(0)?, is_in_use)))
}

/// The temporary name of the new file before the swap, and of the old one after it. It contains hashes of both texts, so
/// that they can be told from a text that another program wrote.
struct SwapFile {
    path: PathBuf,
}

/// The beginning of the name of a swap file.
const PREFIX: &str = ".analects-";
/// The end of the name of a swap file.
const SUFFIX: &str = ".swap";

impl SwapFile {
    /// Returns the name for replacing the content `before` by `bytes`.
    fn new(path: &Path, before: &[u8], bytes: &[u8]) -> SwapFile {
        let name = format!(
            "{}{:016x}-{:016x}{SUFFIX}",
            swap_file_prefix(path),
            fingerprint(before),
            fingerprint(bytes)
        );
        SwapFile {
            path: path.with_file_name(name),
        }
    }

    /// Gives a draft this name.
    fn link(&self, vfs: &dyn Vfs, draft: &mut dyn VfsFile) -> io::Result<()> {
        match draft.link(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                // A kill interrupted the same change before.
                vfs.remove(&self.path)?;
                draft.link(&self.path)
            }
            linked => linked,
        }
    }
}

/// Returns the beginning of the names of all swap files of the file at `path`.
fn swap_file_prefix(path: &Path) -> String {
    format!(
        "{PREFIX}{:016x}-",
        fingerprint(path.file_name().unwrap_or_default().as_encoded_bytes())
    )
}

/// Removes swap files that a kill left beside a file, if they hold our own new text, or the old text that it replaced.
/// Any other text belongs to another program, and gets a visible name. Returns these names. The caller holds the lock
/// of the file.
pub(crate) fn clear_up(vfs: &dyn Vfs, path: &Path) -> Vec<PathBuf> {
    // Leftovers do no harm, and the next writer tries again.
    let Ok(names) = vfs.list(folder_of(path)) else {
        return Vec::new();
    };
    let prefix = swap_file_prefix(path);
    let mut all_kept = Vec::new();
    for aside in names {
        let name = aside.file_name().unwrap_or_default().to_string_lossy();
        let hashes = name
            .strip_prefix(&prefix)
            .and_then(|rest| rest.strip_suffix(SUFFIX));
        let Some(hashes) = hashes else { continue };
        if !is_plain_file(vfs, &aside) {
            continue;
        }
        let Ok(Some((text, is_in_use))) = read_leftover(vfs, &aside) else {
            continue;
        };
        let text_hash = format!("{:016x}", fingerprint(&text));
        if !is_in_use && hashes.split('-').any(|hash| hash == text_hash) {
            let _ = vfs.remove(&aside);
        } else {
            all_kept.extend(keep(vfs, &aside, path));
        }
    }
    all_kept
}

/// Returns whether a path is a regular file and no link, and not larger than a message file can be. Anything else under
/// such a name is not ours, and reading a pipe or a device may never end.
fn is_plain_file(vfs: &dyn Vfs, path: &Path) -> bool {
    if vfs.read_link(path).is_ok() {
        return false;
    }
    vfs.metadata(path)
        .is_ok_and(|metadata| metadata.is_file && metadata.length <= MESSAGE_FILE_LIMIT as u64)
}

/// Gives a file with another program's text a visible name.
fn keep(vfs: &dyn Vfs, aside: &Path, path: &Path) -> io::Result<PathBuf> {
    let kept = free_name(vfs, path);
    vfs.rename(aside, &kept)?;
    Ok(kept)
}

/// Returns a free name for another version of a file, such as `talk.kept-1.msg.md`.
fn free_name(vfs: &dyn Vfs, path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let (stem, extension) = name.split_once('.').unwrap_or((&name, "md"));
    for number in 1_u64.. {
        let candidate = path.with_file_name(format!("{stem}.kept-{number}.{extension}"));
        if vfs.metadata(&candidate).is_err() {
            return candidate;
        }
    }
    path.with_extension("kept")
}

/// The time for which a change waits for other programs to close the file.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// The pause between two checks.
const PAUSE: Duration = Duration::from_millis(1);

/// Waits until no other program has the file open for writing, for at most `patience`. Returns [`Lease::Granted`], or
/// [`Lease::Unknown`] if the system cannot tell. The file need not exist. `name` is the path for the error message.
pub(crate) fn wait_for_writers(
    vfs: &dyn Vfs,
    path: &Path,
    name: &Path,
    patience: Duration,
) -> Result<Lease, StoreError> {
    let start = Instant::now();
    loop {
        // Opening a pipe could block; the reader refuses it later.
        if !vfs.metadata(path).is_ok_and(|facts| facts.is_file) {
            return Ok(Lease::Granted);
        }
        let mut file = match vfs.open(path, OpenMode::Read) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Lease::Granted);
            }
            Err(error) => return Err(cannot("read", name)(error)),
        };
        let lease = file.lease().map_err(cannot("read", name))?;
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
    //! Links, pipes and folders in place of the file, or of a swap file.

    use std::os::unix::fs::symlink;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;
    use crate::vfs::Disk;

    #[test]
    fn a_link_that_replaces_the_file_before_the_swap_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("talk.msg.md");
        let real = folder.path().join("real.msg.md");
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
        let aside = |what| {
            folder
                .path()
                .join(format!("{}{what}{SUFFIX}", swap_file_prefix(&path)))
        };
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
