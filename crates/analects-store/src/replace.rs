//! Replacing a file so that a kill or a power cut leaves the old one or the new one, never a mix.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use analects_core::Ids;

use crate::error::to;
use crate::seen::Seen;
use crate::{OsIds, StoreError};

/// Writes `bytes` in the place of the file at `path`, which must not be a symbolic link. Mode and
/// owner stay as they were; a new file gets what the umask says. If the file no longer is what was
/// `seen` and read as `before`, nothing is written and the answer is `false`.
pub(crate) fn replace(
    path: &Path,
    bytes: &[u8],
    seen: &Seen,
    before: &[u8],
) -> Result<bool, StoreError> {
    let temporary = temporary(path);
    let replaced = write_new(&temporary, path, bytes).and_then(|()| {
        let unchanged = is_unchanged(path, seen, before);
        if unchanged {
            fs::rename(&temporary, path).map_err(to("replace", path))?;
        }
        Ok(unchanged)
    });
    if !matches!(replaced, Ok(true)) {
        // The error that matters is the one above; a file that was never made needs no removal.
        let _ = fs::remove_file(&temporary);
        return replaced;
    }
    sync_folder(path).map(|()| true)
}

/// Whether nobody has written to the file. Its text is compared as well, since the clock of a file
/// system ticks slower than an editor writes.
fn is_unchanged(path: &Path, seen: &Seen, before: &[u8]) -> bool {
    let same_text = || match fs::read(path) {
        Ok(now) => now == before,
        // A file that is not there, and was not there, has no text to compare.
        Err(_) => !path.exists(),
    };
    Seen::of(path) == *seen && same_text() && Seen::of(path) == *seen
}

fn temporary(path: &Path) -> PathBuf {
    path.with_file_name(format!(".analects-{}.tmp", OsIds.nonce()))
}

fn write_new(temporary: &Path, original: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let file = OpenOptions::new().write(true).create_new(true).open(temporary);
    let mut file = file.map_err(to("create a file in this folder", original))?;
    keep_owner_and_mode(&file, original)?;
    file.write_all(bytes).map_err(to("write", original))?;
    file.sync_all().map_err(to("sync", original))
}

fn keep_owner_and_mode(file: &File, original: &Path) -> Result<(), StoreError> {
    let Ok(old) = fs::metadata(original) else {
        return Ok(());
    };
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        let new = file.metadata().map_err(to("read the owner of", original))?;
        if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
            fchown(file, Some(old.uid()), Some(old.gid()))
                .map_err(to("keep the owner of this file", original))?;
        }
    }
    file.set_permissions(old.permissions()).map_err(to("keep the mode of this file", original))
}

/// Makes a new name in a folder durable.
pub(crate) fn sync_folder(path: &Path) -> Result<(), StoreError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(to("sync the folder of", path))
}
