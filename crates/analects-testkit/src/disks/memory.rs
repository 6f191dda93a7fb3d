//! A file system in memory that knows what a power cut takes: all data and all names that were not
//! synced, or any part of them.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use analects_store::vfs::{FileMetadata, Lease, OpenMode, Vfs, VfsFile, VfsLock, folder_of};

/// A file system in memory. Clones are the same one.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    state: Arc<Mutex<State>>,
}

/// What becomes of data that was written and not synced when the power goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsynced {
    /// It is gone.
    Lost,
    /// It is there after all.
    Kept,
    /// The file has its new length, but half of what was new is zeros.
    Torn,
    /// Half of what was new is there.
    Half,
    /// What was added is there, and what was written over is as it was.
    Mixed,
}

impl Unsynced {
    /// All of them.
    pub const ALL: [Unsynced; 5] = [
        Unsynced::Lost,
        Unsynced::Kept,
        Unsynced::Torn,
        Unsynced::Half,
        Unsynced::Mixed,
    ];
}

#[derive(Debug, Clone, Default)]
struct State {
    files: BTreeMap<u64, Contents>,
    names: BTreeMap<PathBuf, u64>,
    folders: BTreeSet<PathBuf>,
    /// The names that survive a power cut, and the changes since, which may or may not.
    safe_names: BTreeMap<PathBuf, u64>,
    safe_folders: BTreeSet<PathBuf>,
    pending: Vec<Change>,
    handles: BTreeMap<u64, Handles>,
    last: u64,
    clock: i64,
    /// How many changes there were, for a power cut after each of them.
    changes: usize,
    /// After how many changes the power goes: nothing later changes anything.
    power: Option<usize>,
}

#[derive(Debug, Clone, Default)]
struct Contents {
    data: Vec<u8>,
    safe: Vec<u8>,
    modified: i64,
}

/// How often a file is open.
#[derive(Debug, Clone, Default)]
struct Handles {
    readers: usize,
    writers: usize,
    leases: usize,
}

/// A change of names.
#[derive(Debug, Clone)]
enum Change {
    Folder(PathBuf),
    RemoveFolder(PathBuf),
    Link(PathBuf, u64),
    Remove(PathBuf),
    Rename(PathBuf, PathBuf),
    Exchange(PathBuf, PathBuf),
}

impl Change {
    fn folder(&self) -> &Path {
        match self {
            Change::Folder(path) | Change::RemoveFolder(path) => folder_of(path),
            Change::Link(path, _) | Change::Remove(path) => folder_of(path),
            Change::Rename(path, _) | Change::Exchange(path, _) => folder_of(path),
        }
    }

    fn apply(&self, names: &mut BTreeMap<PathBuf, u64>, folders: &mut BTreeSet<PathBuf>) {
        match self {
            Change::Folder(path) => {
                folders.insert(path.clone());
            }
            Change::RemoveFolder(path) => {
                folders.remove(path);
            }
            Change::Link(path, file) => {
                names.insert(path.clone(), *file);
            }
            Change::Remove(path) => {
                names.remove(path);
            }
            Change::Rename(from, to) => {
                if let Some(file) = names.remove(from) {
                    names.insert(to.clone(), file);
                }
            }
            Change::Exchange(one, other) => {
                if let (Some(a), Some(b)) = (names.get(one).copied(), names.get(other).copied()) {
                    names.insert(one.clone(), b);
                    names.insert(other.clone(), a);
                }
            }
        }
    }
}

impl Memory {
    /// An empty disk with a folder, and those above it.
    pub fn new(folder: impl AsRef<Path>) -> Memory {
        let memory = Memory::default();
        let folders: BTreeSet<PathBuf> =
            folder.as_ref().ancestors().map(Path::to_path_buf).collect();
        memory.state().safe_folders.clone_from(&folders);
        memory.state().folders = folders;
        memory
    }

    /// The same with a file in it.
    pub fn with_file(self, path: impl AsRef<Path>, text: &str) -> Memory {
        self.put(path.as_ref(), text.as_bytes());
        self
    }

    /// A file with everything in it safe.
    pub fn put(&self, path: &Path, data: &[u8]) {
        let mut state = self.state();
        state.last += 1;
        let file = state.last;
        let (data, safe) = (data.to_vec(), data.to_vec());
        state.files.insert(
            file,
            Contents {
                data,
                safe,
                modified: 0,
            },
        );
        state.names.insert(path.to_path_buf(), file);
        state.safe_names.insert(path.to_path_buf(), file);
    }

    /// What a file holds.
    pub fn get(&self, path: &Path) -> Option<Vec<u8>> {
        let state = self.state();
        Some(state.files[state.names.get(path)?].data.clone())
    }

    /// The names of all files.
    pub fn names(&self) -> Vec<PathBuf> {
        self.state().names.keys().cloned().collect()
    }

    /// Whether somebody has a lease on a file. Whoever opens it for writing then must wait before the
    /// first write, as the system would make them.
    pub fn is_leased(&self, file: &dyn VfsFile) -> bool {
        let number = file
            .metadata()
            .map(|facts| facts.identity.1)
            .unwrap_or_default();
        self.state()
            .handles
            .get(&number)
            .is_some_and(|handles| handles.leases > 0)
    }

    /// How many changes there were so far.
    pub fn changes(&self) -> usize {
        self.state().changes
    }

    /// Lets the power go after that many changes: every later operation fails.
    pub fn cut_power_after(&self, changes: usize) {
        self.state().power = Some(changes);
    }

    /// How many changes of names a power cut may or may not take.
    pub fn pending(&self) -> usize {
        self.state().pending.len()
    }

    /// The disk as it is when the power comes back: of the changes of names that were not synced,
    /// the first `kept` are there.
    pub fn after_power_cut(&self, kept: usize, unsynced: Unsynced) -> Memory {
        let mut state = self.state().clone();
        state.names = std::mem::take(&mut state.safe_names);
        state.folders = std::mem::take(&mut state.safe_folders);
        for change in state.pending.drain(..).take(kept) {
            change.apply(&mut state.names, &mut state.folders);
        }
        state.safe_names.clone_from(&state.names);
        state.safe_folders.clone_from(&state.folders);
        for file in state.files.values_mut() {
            file.settle(unsynced);
        }
        state.handles.clear();
        state.power = None;
        Memory {
            state: Arc::new(Mutex::new(state)),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state, if there is power.
    fn look(&self) -> io::Result<MutexGuard<'_, State>> {
        let state = self.state();
        match state.power {
            Some(limit) if state.changes >= limit => Err(io::Error::other("the power is gone")),
            _ => Ok(state),
        }
    }

    /// The same for something that changes the disk.
    fn change(&self) -> io::Result<MutexGuard<'_, State>> {
        let mut state = self.look()?;
        state.changes += 1;
        state.clock += 1;
        Ok(state)
    }

    fn file(&self, file: u64, how: OpenMode) -> Box<dyn VfsFile> {
        let is_for_reading = how == OpenMode::Read;
        let mut state = self.state();
        let handles = state.handles.entry(file).or_default();
        if is_for_reading {
            handles.readers += 1;
        } else {
            handles.writers += 1;
        }
        Box::new(MemoryFile {
            memory: self.clone(),
            file,
            is_for_reading,
            has_lease: false,
        })
    }
}

impl Contents {
    fn settle(&mut self, unsynced: Unsynced) {
        let common = self
            .data
            .iter()
            .zip(&self.safe)
            .take_while(|(a, b)| a == b)
            .count();
        let half = common + (self.data.len() - common) / 2;
        match unsynced {
            Unsynced::Lost => self.data.clone_from(&self.safe),
            Unsynced::Kept => {}
            Unsynced::Torn => self.data[half..].fill(0),
            Unsynced::Half => self.data.truncate(half),
            Unsynced::Mixed => {
                let end = self.safe.len().min(self.data.len());
                self.data[..end].copy_from_slice(&self.safe[..end]);
            }
        }
        self.safe.clone_from(&self.data);
    }
}

impl State {
    fn rename(&mut self, change: Change) {
        change.apply(&mut self.names, &mut self.folders);
        self.pending.push(change);
    }

    fn find(&self, path: &Path) -> io::Result<u64> {
        self.names
            .get(path)
            .copied()
            .ok_or(io::ErrorKind::NotFound.into())
    }

    fn metadata(&self, file: u64) -> FileMetadata {
        let contents = &self.files[&file];
        let length = contents.data.len() as u64;
        let modified = (contents.modified, 0);
        FileMetadata {
            identity: (1, file),
            length,
            modified,
            is_file: true,
            links: 1,
        }
    }

    fn create(&mut self) -> u64 {
        self.last += 1;
        self.files.insert(self.last, Contents::default());
        self.last
    }

    fn data(&mut self, file: u64) -> &mut Contents {
        let modified = self.clock;
        let contents = self.files.entry(file).or_default();
        contents.modified = modified;
        contents
    }
}

impl Vfs for Memory {
    fn open(&self, path: &Path, how: OpenMode) -> io::Result<Box<dyn VfsFile>> {
        let found = self.look()?.find(path);
        match found {
            Err(_) if how == OpenMode::Private => {
                let mut state = self.change()?;
                let file = state.create();
                state.rename(Change::Link(path.to_path_buf(), file));
                drop(state);
                Ok(self.file(file, how))
            }
            found => Ok(self.file(found?, how)),
        }
    }

    fn draft(&self, _: &Path) -> io::Result<Box<dyn VfsFile>> {
        let file = self.change()?.create();
        Ok(self.file(file, OpenMode::Append))
    }

    fn metadata(&self, path: &Path) -> io::Result<FileMetadata> {
        let state = self.look()?;
        if state.folders.contains(path) {
            let (length, modified) = (0, (0, 0));
            return Ok(FileMetadata {
                identity: (1, 0),
                length,
                modified,
                is_file: false,
                links: 1,
            });
        }
        Ok(state.metadata(state.find(path)?))
    }

    fn real_path(&self, path: &Path) -> io::Result<PathBuf> {
        self.metadata(path).map(|_| path.to_path_buf())
    }

    fn read_link(&self, _: &Path) -> io::Result<PathBuf> {
        drop(self.look()?);
        Err(io::ErrorKind::InvalidInput.into())
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        let state = self.look()?;
        let all = state.names.keys().chain(&state.folders);
        Ok(all
            .filter(|name| folder_of(name) == folder && *name != folder)
            .cloned()
            .collect())
    }

    fn create_folder(&self, path: &Path) -> io::Result<()> {
        self.change()?.rename(Change::Folder(path.to_path_buf()));
        Ok(())
    }

    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()> {
        let mut state = self.change()?;
        state.find(one).and(state.find(other))?;
        state.rename(Change::Exchange(one.to_path_buf(), other.to_path_buf()));
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.change()?;
        state.find(from)?;
        state.rename(Change::Rename(from.to_path_buf(), to.to_path_buf()));
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.change()?;
        state.find(path)?;
        state.rename(Change::Remove(path.to_path_buf()));
        Ok(())
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        let mut guard = self.change()?;
        let state = &mut *guard;
        let (here, elsewhere) = std::mem::take(&mut state.pending)
            .into_iter()
            .partition(|c| c.folder() == folder);
        state.pending = elsewhere;
        let here: Vec<Change> = here;
        for change in here {
            change.apply(&mut state.safe_names, &mut state.safe_folders);
        }
        Ok(())
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        let mut state = self.change()?;
        if state.names.keys().any(|name| folder_of(name) == path) {
            return Err(io::ErrorKind::DirectoryNotEmpty.into());
        }
        state.rename(Change::RemoveFolder(path.to_path_buf()));
        Ok(())
    }

    fn open_lock(&self, _: &Path) -> io::Result<Box<dyn VfsLock>> {
        drop(self.look()?);
        Ok(Box::new(MemoryLock {
            memory: self.clone(),
        }))
    }

    fn lock(&self, _: &Path) -> io::Result<Option<Box<dyn Any + Send + Sync>>> {
        drop(self.look()?);
        Ok(Some(Box::new(())))
    }
}

/// There is one writer at a time in tests.
#[derive(Debug)]
struct MemoryLock {
    memory: Memory,
}

impl VfsLock for MemoryLock {
    fn try_lock(&mut self) -> io::Result<bool> {
        self.memory.look().map(|_| true)
    }

    fn unlock(&mut self) -> io::Result<()> {
        self.memory.look().map(drop)
    }
}

#[derive(Debug)]
struct MemoryFile {
    memory: Memory,
    file: u64,
    is_for_reading: bool,
    has_lease: bool,
}

impl Drop for MemoryFile {
    fn drop(&mut self) {
        self.release();
        let mut state = self.memory.state();
        let handles = state.handles.entry(self.file).or_default();
        if self.is_for_reading {
            handles.readers = handles.readers.saturating_sub(1);
        } else {
            handles.writers = handles.writers.saturating_sub(1);
        }
    }
}

impl VfsFile for MemoryFile {
    fn metadata(&self) -> io::Result<FileMetadata> {
        Ok(self.memory.look()?.metadata(self.file))
    }

    fn read_from(&mut self, offset: u64) -> io::Result<Vec<u8>> {
        let state = self.memory.look()?;
        let data = &state.files[&self.file].data;
        Ok(data[data.len().min(offset as usize)..].to_vec())
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let state = self.memory.look()?;
        let data = &state.files[&self.file].data;
        let rest = &data[data.len().min(offset as usize)..];
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        Ok(length)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.memory
            .change()?
            .data(self.file)
            .data
            .extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.memory.change()?;
        let data = &mut state.data(self.file).data;
        let offset = offset as usize;
        let end = offset + bytes.len();
        if data.len() < end {
            data.resize(end, 0);
        }
        data[offset..end].copy_from_slice(bytes);
        Ok(bytes.len())
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.memory
            .change()?
            .data(self.file)
            .data
            .resize(length as usize, 0);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.memory.change()?;
        let contents = state.files.entry(self.file).or_default();
        contents.safe.clone_from(&contents.data);
        Ok(())
    }

    fn copy_metadata_from(&self, original: &Path) -> io::Result<()> {
        self.memory.metadata(original).map(|_| ())
    }

    fn lease(&mut self) -> io::Result<Lease> {
        let mut state = self.memory.look()?;
        let handles = state.handles.entry(self.file).or_default();
        let is_free = if self.is_for_reading {
            handles.writers == 0
        } else {
            handles.writers == 1 && handles.readers == 0
        };
        if !is_free {
            return Ok(Lease::Refused);
        }
        if !self.has_lease {
            handles.leases += 1;
            self.has_lease = true;
        }
        Ok(Lease::Granted)
    }

    fn release(&mut self) {
        if self.has_lease {
            let mut state = self.memory.state();
            let handles = state.handles.entry(self.file).or_default();
            handles.leases = handles.leases.saturating_sub(1);
            self.has_lease = false;
        }
    }

    fn try_lock(&mut self) -> io::Result<bool> {
        self.memory.look().map(|_| true)
    }

    fn writers(&self) -> Vec<String> {
        Vec::new()
    }

    fn link(&mut self, path: &Path) -> io::Result<()> {
        let mut state = self.memory.change()?;
        if state.names.contains_key(path) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        state.rename(Change::Link(path.to_path_buf(), self.file));
        Ok(())
    }
}
