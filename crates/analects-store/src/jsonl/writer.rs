//! The one that appends: one write for all that is appended together, under a lock, and a sync.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::SyncPolicy;
use super::new_session::hidden_chain;
use crate::error::to;
use crate::places::{create_private_folder, file_in_state};
use crate::vfs::{Facts, Open, Vfs, VfsFile, VfsLock, folder_of};
use crate::{Places, StoreError};

/// How long an append waits for others that are being written.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long it waits at first before it asks for the lock again, and at most.
const PAUSES: (Duration, Duration) = (Duration::from_micros(20), Duration::from_millis(2));

/// A file that is kept open for appending. The lock is held for an append only.
#[derive(Debug)]
pub(super) struct Writer {
    vfs: Arc<dyn Vfs>,
    pub(super) path: PathBuf,
    lock: Box<dyn VfsLock>,
    file: Option<OpenFile>,
    /// When it was synced last, and whether something was written since.
    synced: Instant,
    is_dirty: bool,
    /// Whether the names that lead to the file are safe, and how far up they are ours.
    is_named: bool,
    data: PathBuf,
    /// How far the index is known to go.
    pub(super) indexed: u64,
}

#[derive(Debug)]
struct OpenFile {
    file: Box<dyn VfsFile>,
    identity: (u64, u64),
    /// Its length after the last append, which ended with a line end.
    end: Option<u64>,
}

impl Writer {
    pub(super) fn open(
        vfs: &Arc<dyn Vfs>,
        places: &Places,
        path: &Path,
    ) -> Result<Writer, StoreError> {
        let lock = file_in_state(&**vfs, places, path, "lock")?;
        let lock = vfs.open_lock(&lock).map_err(to("lock", &lock))?;
        let (vfs, path) = (Arc::clone(vfs), path.to_path_buf());
        let (file, synced, data) = (None, Instant::now(), places.data.clone());
        let (is_dirty, is_named, indexed) = (false, false, 0);
        Ok(Writer {
            vfs,
            path,
            lock,
            file,
            synced,
            is_dirty,
            is_named,
            data,
            indexed,
        })
    }

    /// The lock of a file, for something other than an append. It is given up when dropped.
    pub(super) fn lock_alone(
        vfs: &Arc<dyn Vfs>,
        places: &Places,
        path: &Path,
    ) -> Result<Writer, StoreError> {
        let mut writer = Writer::open(vfs, places, path)?;
        writer.take_lock()?;
        Ok(writer)
    }

    /// The same, unless somebody else has the lock.
    pub(super) fn try_lock_alone(
        vfs: &Arc<dyn Vfs>,
        places: &Places,
        path: &Path,
    ) -> Result<Option<Writer>, StoreError> {
        let mut writer = Writer::open(vfs, places, path)?;
        let is_locked = writer.lock.try_lock().map_err(to("lock", path))?;
        Ok(is_locked.then_some(writer))
    }

    fn take_lock(&mut self) -> Result<(), StoreError> {
        let (mut start, mut pause) = (None, PAUSES.0);
        while !self.lock.try_lock().map_err(to("lock", &self.path))? {
            if start.get_or_insert_with(Instant::now).elapsed() > PATIENCE {
                return Err(StoreError::Locked {
                    path: self.path.clone(),
                });
            }
            std::thread::sleep(pause);
            pause = PAUSES.1.min(2 * pause);
        }
        Ok(())
    }

    /// Adds lines in one write, and syncs as the policy says; gives the length of the file.
    pub(super) fn append(&mut self, lines: String, policy: SyncPolicy) -> Result<u64, StoreError> {
        self.take_lock()?;
        let appended = self.append_locked(lines, policy);
        if appended.is_err() {
            // Whatever is wrong with the file, the next append looks at it anew.
            self.file = None;
        }
        // The system gives the lock up, too, if this does not.
        let _ = self.lock.unlock();
        appended
    }

    fn append_locked(&mut self, mut lines: String, policy: SyncPolicy) -> Result<u64, StoreError> {
        let Some(facts) = self.settle()? else {
            return self.create(&lines, policy);
        };
        let path = &self.path;
        let Some(open) = &mut self.file else {
            return Err(StoreError::Misused { path: path.clone() });
        };
        if open.end != Some(facts.length) && lacks_line_end(&mut *open.file, facts.length, path)? {
            // What a crash cut off stays where it is, and must not swallow this line.
            lines.insert(0, '\n');
        }
        if let Err(error) = open.file.write_all(lines.as_bytes()) {
            take_back(&mut *open.file, facts.length, lines.as_bytes());
            return Err(to("write", path)(error));
        }
        let end = facts.length + lines.len() as u64;
        open.end = Some(end);
        self.is_dirty = true;
        if self.is_due(policy) {
            self.make_safe(facts.length, lines.as_bytes())?;
        }
        Ok(end)
    }

    /// Makes the file with its first lines in it; gives its length. It gets its name when they are safe, so that
    /// nobody ever sees a session without a record.
    fn create(&mut self, lines: &str, policy: SyncPolicy) -> Result<u64, StoreError> {
        let path = self.path.clone();
        create_private_folder(&*self.vfs, folder_of(&path))?;
        let hidden = hidden_chain(&path);
        // A kill may have left it.
        let _ = self.vfs.remove(&hidden);
        let made = self.write_hidden(lines, &hidden);
        if made.is_err() {
            let _ = self.vfs.remove(&hidden);
        }
        self.file = Some(made?);
        self.is_dirty = true;
        self.is_named = false;
        if self.is_due(policy)
            && let Err(error) = self.sync()
        {
            // Nobody else has written to it: the lock is ours.
            let _ = self.vfs.remove(&path);
            return Err(error);
        }
        Ok(lines.len() as u64)
    }

    /// Writes a new file under its hidden name, and gives it its own.
    fn write_hidden(&self, lines: &str, hidden: &Path) -> Result<OpenFile, StoreError> {
        let path = &self.path;
        let mut file = self
            .vfs
            .open(hidden, Open::Private)
            .map_err(to("open", path))?;
        file.write_all(lines.as_bytes())
            .map_err(to("write", path))?;
        file.sync().map_err(to("sync", path))?;
        let identity = file.facts().map_err(to("read", path))?.identity;
        self.vfs.rename(hidden, path).map_err(to("create", path))?;
        Ok(OpenFile {
            file,
            identity,
            end: Some(lines.len() as u64),
        })
    }

    /// Whether what was written is to be made safe now.
    fn is_due(&self, policy: SyncPolicy) -> bool {
        match policy {
            SyncPolicy::Always => true,
            SyncPolicy::Interval(interval) => self.synced.elapsed() >= interval,
            SyncPolicy::Never => false,
        }
    }

    /// Syncs; if that fails, nothing counts as written, and it is taken back as far as possible.
    fn make_safe(&mut self, length: u64, lines: &[u8]) -> Result<(), StoreError> {
        let synced = self.sync();
        if let (Err(_), Some(open)) = (&synced, &mut self.file) {
            take_back(&mut *open.file, length, lines);
        }
        synced
    }

    /// Makes what was appended survive a power cut.
    pub(super) fn sync(&mut self) -> Result<(), StoreError> {
        let Some(open) = self.file.as_mut().filter(|_| self.is_dirty) else {
            return Ok(());
        };
        open.file.sync().map_err(to("sync", &self.path))?;
        if !self.is_named {
            // Whoever made the file and its folders may have been killed before their names were safe.
            sync_folders(&*self.vfs, &self.path, &self.data)?;
            self.is_named = true;
        }
        (self.synced, self.is_dirty) = (Instant::now(), false);
        Ok(())
    }

    /// Makes sure that the open file is the one that has the name now: it may have been moved away. `None` if
    /// there is no file of that name.
    fn settle(&mut self) -> Result<Option<Facts>, StoreError> {
        let path = &self.path;
        match self.vfs.facts(path) {
            Ok(facts)
                if self
                    .file
                    .as_ref()
                    .is_some_and(|open| open.identity == facts.identity) =>
            {
                return Ok(Some(facts));
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(to("read", path)(error)),
        }
        self.is_named = false;
        let file = self
            .vfs
            .open(path, Open::Private)
            .map_err(to("open", path))?;
        let facts = file.facts().map_err(to("read", path))?;
        if !facts.is_file {
            return Err(StoreError::NotAFile { path: path.clone() });
        }
        self.file = Some(OpenFile {
            file,
            identity: facts.identity,
            end: None,
        });
        Ok(Some(facts))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // Nobody was promised more than the policy says, so nobody is told if this fails.
        let _ = self.sync();
    }
}

/// Makes the names that lead to a file survive a power cut, as far up as they are ours.
pub(super) fn sync_folders(vfs: &dyn Vfs, path: &Path, data: &Path) -> Result<(), StoreError> {
    let folders = folder_of(path).ancestors();
    for folder in folders.take_while(|folder| folder.starts_with(data)) {
        vfs.sync_folder(folder)
            .map_err(to("sync this folder", folder))?;
    }
    Ok(())
}

/// Whether a file ends in the middle of a line.
fn lacks_line_end(file: &mut dyn VfsFile, length: u64, path: &Path) -> Result<bool, StoreError> {
    let Some(at) = length.checked_sub(1) else {
        return Ok(false);
    };
    let mut last = [0];
    loop {
        match file.read_at(at, &mut last) {
            Ok(read) => return Ok(read == 0 || last != *b"\n"),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(to("read", path)(error)),
        }
    }
}

/// Takes back what a write that failed has left behind a length, if it is ours and nothing else. What
/// cannot be taken back stays as a torn line, which does no harm.
fn take_back(file: &mut dyn VfsFile, length: u64, ours: &[u8]) {
    let Ok(left) = file.read_from(length) else {
        return;
    };
    if !left.is_empty() && ours.starts_with(&left) && file.truncate(length).is_ok() {
        let _ = file.sync();
    }
}
