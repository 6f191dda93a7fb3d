//! A file system whose n-th operation fails, once or from then on, or is preceded by what somebody
//! else does.

use std::any::Any;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use analects_store::vfs::{FileMetadata, Lease, OpenMode, Vfs, VfsFile, VfsLock};

/// How an operation fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The disk cannot read or write (`EIO`).
    Io,
    /// The disk is full (`ENOSPC`); what needs no space works.
    Full,
    /// A signal came first (`EINTR`).
    Interrupted,
    /// A write writes only half of what it should.
    Short,
    /// A sync fails, and what it should have made safe may be lost.
    Sync,
}

impl Fault {
    /// All of them.
    pub const ALL: [Fault; 5] = [
        Fault::Io,
        Fault::Full,
        Fault::Interrupted,
        Fault::Short,
        Fault::Sync,
    ];
}

/// What an operation does to the disk, as far as faults tell operations apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    Look,
    Write,
    Overwrite,
    Change,
    Sync,
}

/// Wraps another file system, counts the operations, and makes one of them fail.
#[derive(Debug, Clone)]
pub struct Faulty {
    inner: Arc<dyn Vfs>,
    plan: Arc<Mutex<Plan>>,
    somebody_else: Option<SomebodyElse>,
}

/// What happens before each operation, which is given by its number.
#[derive(Clone)]
struct SomebodyElse(Arc<Mutex<dyn FnMut(usize) + Send>>);

impl fmt::Debug for SomebodyElse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SomebodyElse")
    }
}

#[derive(Debug)]
struct Plan {
    fault: Fault,
    at: usize,
    sticky: bool,
    done: usize,
    hits: usize,
    traffic: Traffic,
}

/// What went to a disk and came from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    /// How many bytes were read.
    pub read: usize,
    /// How many bytes were written.
    pub written: usize,
    /// How many files were synced.
    pub syncs: usize,
}

impl Faulty {
    /// Lets the operation number `at`, counted from 0, fail; if `sticky`, all later ones too.
    pub fn new(inner: Arc<dyn Vfs>, fault: Fault, at: usize, sticky: bool) -> Faulty {
        let traffic = Traffic::default();
        let plan = Plan {
            fault,
            at,
            sticky,
            done: 0,
            hits: 0,
            traffic,
        };
        Faulty {
            inner,
            plan: Arc::new(Mutex::new(plan)),
            somebody_else: None,
        }
    }

    /// Lets nothing fail, and calls `act` with its number before each operation.
    pub fn beside(inner: Arc<dyn Vfs>, act: impl FnMut(usize) + Send + 'static) -> Faulty {
        let faulty = Faulty::new(inner, Fault::Io, usize::MAX, false);
        Faulty {
            somebody_else: Some(SomebodyElse(Arc::new(Mutex::new(act)))),
            ..faulty
        }
    }

    /// How many operations there were.
    pub fn operations(&self) -> usize {
        self.plan().done
    }

    /// What all files read and wrote since this was asked last.
    pub fn take_traffic(&self) -> Traffic {
        std::mem::take(&mut self.plan().traffic)
    }

    /// How many of them failed.
    pub fn hits(&self) -> usize {
        self.plan().hits
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts an operation. An error is what it fails with; `true` means that a write is cut short.
    fn step(&self, operation: Operation) -> io::Result<bool> {
        let mut plan = self.plan();
        let number = plan.done;
        plan.done += 1;
        if let Some(SomebodyElse(act)) = &self.somebody_else {
            (act.lock().unwrap_or_else(PoisonError::into_inner))(number);
        }
        let due = number == plan.at || (plan.sticky && number > plan.at);
        let applies = match plan.fault {
            Fault::Io => true,
            Fault::Full => matches!(operation, Operation::Write | Operation::Change),
            Fault::Interrupted | Fault::Short => {
                matches!(operation, Operation::Write | Operation::Overwrite)
            }
            Fault::Sync => operation == Operation::Sync,
        };
        if !due || !applies {
            return Ok(false);
        }
        plan.hits += 1;
        match plan.fault {
            Fault::Short => Ok(true),
            // A signal that comes for ever would be waited out for ever.
            Fault::Interrupted if plan.hits > 3 => Ok(false),
            Fault::Interrupted => Err(io::ErrorKind::Interrupted.into()),
            Fault::Full => Err(io::ErrorKind::StorageFull.into()),
            Fault::Io | Fault::Sync => Err(io::Error::other("input/output error")),
        }
    }

    fn wrap(&self, file: Box<dyn VfsFile>) -> Box<dyn VfsFile> {
        Box::new(FaultyFile {
            file,
            vfs: self.clone(),
        })
    }
}

impl Vfs for Faulty {
    fn open(&self, path: &Path, how: OpenMode) -> io::Result<Box<dyn VfsFile>> {
        self.step(if how == OpenMode::Private {
            Operation::Change
        } else {
            Operation::Look
        })?;
        Ok(self.wrap(self.inner.open(path, how)?))
    }

    fn draft(&self, folder: &Path) -> io::Result<Box<dyn VfsFile>> {
        self.step(Operation::Change)?;
        Ok(self.wrap(self.inner.draft(folder)?))
    }

    fn metadata(&self, path: &Path) -> io::Result<FileMetadata> {
        self.step(Operation::Look)?;
        self.inner.metadata(path)
    }

    fn real_path(&self, path: &Path) -> io::Result<PathBuf> {
        self.step(Operation::Look)?;
        self.inner.real_path(path)
    }

    fn read_link(&self, path: &Path) -> io::Result<PathBuf> {
        self.step(Operation::Look)?;
        self.inner.read_link(path)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        self.step(Operation::Look)?;
        self.inner.list(folder)
    }

    fn create_folder(&self, path: &Path) -> io::Result<()> {
        self.step(Operation::Change)?;
        self.inner.create_folder(path)
    }

    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()> {
        self.step(Operation::Change)?;
        self.inner.exchange(one, other)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step(Operation::Change)?;
        self.inner.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.step(Operation::Look)?;
        self.inner.remove(path)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.step(Operation::Sync)?;
        self.inner.sync_folder(folder)
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        self.step(Operation::Look)?;
        self.inner.remove_folder(path)
    }

    fn open_lock(&self, path: &Path) -> io::Result<Box<dyn VfsLock>> {
        self.step(Operation::Change)?;
        Ok(Box::new(FaultyLock {
            lock: self.inner.open_lock(path)?,
            vfs: self.clone(),
        }))
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn Any + Send + Sync>>> {
        self.step(Operation::Change)?;
        self.inner.lock(path)
    }
}

#[derive(Debug)]
struct FaultyLock {
    lock: Box<dyn VfsLock>,
    vfs: Faulty,
}

impl VfsLock for FaultyLock {
    fn try_lock(&mut self) -> io::Result<bool> {
        self.vfs.step(Operation::Look)?;
        self.lock.try_lock()
    }

    fn unlock(&mut self) -> io::Result<()> {
        self.vfs.step(Operation::Look)?;
        self.lock.unlock()
    }
}

#[derive(Debug)]
struct FaultyFile {
    file: Box<dyn VfsFile>,
    vfs: Faulty,
}

impl VfsFile for FaultyFile {
    fn metadata(&self) -> io::Result<FileMetadata> {
        self.vfs.step(Operation::Look)?;
        self.file.metadata()
    }

    fn read_from(&mut self, offset: u64) -> io::Result<Vec<u8>> {
        self.vfs.step(Operation::Look)?;
        let bytes = self.file.read_from(offset)?;
        self.vfs.plan().traffic.read += bytes.len();
        Ok(bytes)
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.vfs.step(Operation::Look)?;
        let count = self.file.read_at(offset, buffer)?;
        self.vfs.plan().traffic.read += count;
        Ok(count)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.vfs.plan().traffic.written += bytes.len();
        match self.vfs.step(Operation::Write) {
            Ok(false) => self.file.write(bytes),
            Ok(true) => self.file.write(&bytes[..bytes.len().div_ceil(2)]),
            Err(error) => {
                // A write that fails may have written a part, which nobody is told of.
                if error.kind() == io::ErrorKind::StorageFull {
                    self.file.write(&bytes[..bytes.len() / 2])?;
                }
                Err(error)
            }
        }
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        self.vfs.plan().traffic.written += bytes.len();
        // To write over what is there takes no space.
        let is_over = offset + bytes.len() as u64 <= self.file.metadata()?.length;
        match self.vfs.step(if is_over {
            Operation::Overwrite
        } else {
            Operation::Write
        }) {
            Ok(false) => self.file.write_at(offset, bytes),
            Ok(true) => self
                .file
                .write_at(offset, &bytes[..bytes.len().div_ceil(2)]),
            Err(error) => {
                if error.kind() == io::ErrorKind::StorageFull {
                    self.file.write_at(offset, &bytes[..bytes.len() / 2])?;
                }
                Err(error)
            }
        }
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.vfs.step(Operation::Look)?;
        self.file.truncate(length)
    }

    fn sync(&self) -> io::Result<()> {
        self.vfs.plan().traffic.syncs += 1;
        self.vfs.step(Operation::Sync)?;
        self.file.sync()
    }

    fn copy_metadata_from(&self, original: &Path) -> io::Result<()> {
        self.vfs.step(Operation::Change)?;
        self.file.copy_metadata_from(original)
    }

    fn lease(&mut self) -> io::Result<Lease> {
        self.vfs.step(Operation::Look)?;
        self.file.lease()
    }

    fn release(&mut self) {
        self.file.release();
    }

    fn try_lock(&mut self) -> io::Result<bool> {
        self.vfs.step(Operation::Look)?;
        self.file.try_lock()
    }

    fn writers(&self) -> Vec<String> {
        self.file.writers()
    }

    fn link(&mut self, path: &Path) -> io::Result<()> {
        self.vfs.step(Operation::Change)?;
        self.file.link(path)
    }
}
