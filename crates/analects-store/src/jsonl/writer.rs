//! Appending to the file of a chain: one write under a lock for all records of a call, and a sync.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::SyncPolicy;
use super::new_session::hidden_chain;
use crate::error::cannot;
use crate::folders::{create_private_folder, file_in_state};
use crate::vfs::{FileMetadata, OpenMode, Vfs, VfsFile, VfsLock, folder_of};
use crate::{StoreError, StoreFolders};

/// The time for which an append waits for the lock.
const PATIENCE: Duration = Duration::from_secs(60);
/// The first pause between two attempts to take the lock. The pauses double.
const FIRST_PAUSE: Duration = Duration::from_micros(20);
/// The longest pause between two attempts.
const MAX_PAUSE: Duration = Duration::from_millis(2);

/// A file that is kept open for appending. It is locked only during an append.
#[derive(Debug)]
pub(super) struct ChainWriter {
    vfs: Arc<dyn Vfs>,
    /// The file of the chain.
    pub(super) path: PathBuf,
    /// The lock file, which stays open to save time.
    lock: Box<dyn VfsLock>,
    /// The file, if it is open; `None` after an error, and before the first append.
    file: Option<AppendFile>,
    /// The time of the last sync.
    synced: Instant,
    /// Whether something was written since the last sync.
    is_dirty: bool,
    /// Whether the names of the file and its folders are synced.
    is_name_synced: bool,
    /// The topmost folder whose name may need a sync.
    data: PathBuf,
    /// The end of the indexed part, as far as we know.
    pub(super) indexed: u64,
}

/// A file that is open for appending.
#[derive(Debug)]
struct AppendFile {
    file: Box<dyn VfsFile>,
    /// The identity of the file, by which we notice that it was moved.
    identity: (u64, u64),
    /// The length after our last append, which ended with a line end; `None` before the first one.
    end: Option<u64>,
}

impl ChainWriter {
    /// Creates a writer for a file that may not exist yet. Opens only its lock.
    pub(super) fn open(
        vfs: &Arc<dyn Vfs>,
        folders: &StoreFolders,
        path: &Path,
    ) -> Result<ChainWriter, StoreError> {
        let lock = file_in_state(&**vfs, folders, path, "lock")?;
        let lock = vfs.open_lock(&lock).map_err(cannot("lock", &lock))?;
        Ok(ChainWriter {
            vfs: Arc::clone(vfs),
            path: path.to_path_buf(),
            lock,
            file: None,
            synced: Instant::now(),
            is_dirty: false,
            is_name_synced: false,
            data: folders.data.clone(),
            indexed: 0,
        })
    }

    /// Locks a file for something other than an append, until the result is dropped.
    pub(super) fn lock_alone(
        vfs: &Arc<dyn Vfs>,
        folders: &StoreFolders,
        path: &Path,
    ) -> Result<ChainWriter, StoreError> {
        let mut writer = ChainWriter::open(vfs, folders, path)?;
        writer.take_lock()?;
        Ok(writer)
    }

    /// Locks a file without waiting; `None` if another process has the lock.
    pub(super) fn try_lock_alone(
        vfs: &Arc<dyn Vfs>,
        folders: &StoreFolders,
        path: &Path,
    ) -> Result<Option<ChainWriter>, StoreError> {
        let mut writer = ChainWriter::open(vfs, folders, path)?;
        let is_locked = writer.lock.try_lock().map_err(cannot("lock", path))?;
        Ok(is_locked.then_some(writer))
    }

    /// Waits for the lock, with growing pauses.
    fn take_lock(&mut self) -> Result<(), StoreError> {
        let mut start = None;
        let mut pause = FIRST_PAUSE;
        while !self.lock.try_lock().map_err(cannot("lock", &self.path))? {
            if start.get_or_insert_with(Instant::now).elapsed() > PATIENCE {
                return Err(StoreError::Locked {
                    path: self.path.clone(),
                });
            }
            std::thread::sleep(pause);
            pause = MAX_PAUSE.min(2 * pause);
        }
        Ok(())
    }

    /// Appends lines with one write, and syncs if the policy demands it. Returns the new length of the file.
    pub(super) fn append(&mut self, lines: String, policy: SyncPolicy) -> Result<u64, StoreError> {
        self.take_lock()?;
        let appended = self.append_locked(lines, policy);
        if appended.is_err() {
            // Whatever is wrong with the file, the next append opens it again.
            self.file = None;
        }
        // If this fails, the system releases the lock when the file is closed.
        let _ = self.lock.unlock();
        appended
    }

    /// Appends lines while we hold the lock. See [`ChainWriter::append`].
    fn append_locked(&mut self, mut lines: String, policy: SyncPolicy) -> Result<u64, StoreError> {
        let Some(metadata) = self.open_current_file()? else {
            return self.create(&lines, policy);
        };
        let path = &self.path;
        let Some(open) = &mut self.file else {
            return Err(StoreError::InvalidState { path: path.clone() });
        };
        if open.end != Some(metadata.length)
            && lacks_line_end(&mut *open.file, metadata.length, path)?
        {
            // A line that a crash cut off stays, and must not merge with this one.
            lines.insert(0, '\n');
        }
        if let Err(error) = open.file.write_all(lines.as_bytes()) {
            revert(&mut *open.file, metadata.length, lines.as_bytes());
            return Err(cannot("write", path)(error));
        }
        let end = metadata.length + lines.len() as u64;
        open.end = Some(end);
        self.is_dirty = true;
        if self.is_due(policy) {
            self.sync_or_revert(metadata.length, lines.as_bytes())?;
        }
        Ok(end)
    }

    /// Creates the file with its first lines, and returns its length. It gets its name after these are synced, so that
    /// nobody ever sees a session without a record.
    fn create(&mut self, lines: &str, policy: SyncPolicy) -> Result<u64, StoreError> {
        let path = self.path.clone();
        create_private_folder(&*self.vfs, folder_of(&path))?;
        let hidden = hidden_chain(&path);
        // A kill may have left such a file.
        let _ = self.vfs.remove(&hidden);
        let created = self.write_hidden(lines, &hidden);
        if created.is_err() {
            let _ = self.vfs.remove(&hidden);
        }
        self.file = Some(created?);
        self.is_dirty = true;
        self.is_name_synced = false;
        if self.is_due(policy)
            && let Err(error) = self.sync()
        {
            // We hold the lock, so nobody else has written to it.
            let _ = self.vfs.remove(&path);
            return Err(error);
        }
        Ok(lines.len() as u64)
    }

    /// Writes and syncs a new file under its hidden name, and then renames it.
    fn write_hidden(&self, lines: &str, hidden: &Path) -> Result<AppendFile, StoreError> {
        let path = &self.path;
        let mut file = self
            .vfs
            .open(hidden, OpenMode::Private)
            .map_err(cannot("open", path))?;
        file.write_all(lines.as_bytes())
            .map_err(cannot("write", path))?;
        file.sync().map_err(cannot("sync", path))?;
        let identity = file.metadata().map_err(cannot("read", path))?.identity;
        self.vfs
            .rename(hidden, path)
            .map_err(cannot("create", path))?;
        Ok(AppendFile {
            file,
            identity,
            end: Some(lines.len() as u64),
        })
    }

    /// Returns whether the policy demands a sync now.
    fn is_due(&self, policy: SyncPolicy) -> bool {
        match policy {
            SyncPolicy::Always => true,
            SyncPolicy::Interval(interval) => self.synced.elapsed() >= interval,
            SyncPolicy::Never => false,
        }
    }

    /// Syncs the lines that were written at `length`. If that fails, removes them as far as possible.
    fn sync_or_revert(&mut self, length: u64, lines: &[u8]) -> Result<(), StoreError> {
        let synced = self.sync();
        if let (Err(_), Some(open)) = (&synced, &mut self.file) {
            revert(&mut *open.file, length, lines);
        }
        synced
    }

    /// Makes all appended lines survive a power cut.
    pub(super) fn sync(&mut self) -> Result<(), StoreError> {
        let Some(open) = self.file.as_mut().filter(|_| self.is_dirty) else {
            return Ok(());
        };
        open.file.sync().map_err(cannot("sync", &self.path))?;
        if !self.is_name_synced {
            // The process that created the file and its folders may have been killed before it synced their names.
            sync_folders(&*self.vfs, &self.path, &self.data)?;
            self.is_name_synced = true;
        }
        self.synced = Instant::now();
        self.is_dirty = false;
        Ok(())
    }

    /// Makes sure that the file with our path is open, since the one that we opened may have been moved. Returns its
    /// metadata; `None` if there is no file with this path.
    fn open_current_file(&mut self) -> Result<Option<FileMetadata>, StoreError> {
        let path = &self.path;
        match self.vfs.metadata(path) {
            Ok(metadata) if self.is_open(&metadata) => return Ok(Some(metadata)),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(cannot("read", path)(error)),
        }
        self.is_name_synced = false;
        let file = self
            .vfs
            .open(path, OpenMode::Private)
            .map_err(cannot("open", path))?;
        let metadata = file.metadata().map_err(cannot("read", path))?;
        if !metadata.is_file {
            return Err(StoreError::NotAFile { path: path.clone() });
        }
        self.file = Some(AppendFile {
            file,
            identity: metadata.identity,
            end: None,
        });
        Ok(Some(metadata))
    }

    /// Returns whether the open file is the one with this metadata.
    fn is_open(&self, metadata: &FileMetadata) -> bool {
        self.file
            .as_ref()
            .is_some_and(|open| open.identity == metadata.identity)
    }
}

impl Drop for ChainWriter {
    fn drop(&mut self) {
        // The policy promises no sync here, so an error is not reported.
        let _ = self.sync();
    }
}

/// Makes the names of a file and of its folders up to `data` survive a power cut.
pub(super) fn sync_folders(vfs: &dyn Vfs, path: &Path, data: &Path) -> Result<(), StoreError> {
    let folders = folder_of(path).ancestors();
    for folder in folders.take_while(|folder| folder.starts_with(data)) {
        vfs.sync_folder(folder)
            .map_err(cannot("sync this folder", folder))?;
    }
    Ok(())
}

/// Returns whether a file of this length ends within a line.
fn lacks_line_end(file: &mut dyn VfsFile, length: u64, path: &Path) -> Result<bool, StoreError> {
    let Some(at) = length.checked_sub(1) else {
        return Ok(false);
    };
    let mut last = [0];
    loop {
        match file.read_at(at, &mut last) {
            Ok(read) => return Ok(read == 0 || last != *b"\n"),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(cannot("read", path)(error)),
        }
    }
}

/// Removes what a failed write left after `length`, if it is only a part of `ours`. If that fails, a torn line stays,
/// which readers skip.
fn revert(file: &mut dyn VfsFile, length: u64, ours: &[u8]) {
    let Ok(left) = file.read_from(length) else {
        return;
    };
    if !left.is_empty() && ours.starts_with(&left) && file.truncate(length).is_ok() {
        let _ = file.sync();
    }
}
