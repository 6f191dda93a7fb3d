//! The real disk.

use std::any::Any;
use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

#[cfg(target_os = "linux")]
use super::linux as system;
#[cfg(not(target_os = "linux"))]
use super::portable as system;
use analects_lease::{Against, Lease};

use super::{Facts, Open, Vfs, VfsFile, VfsLock};

/// The file system of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct Disk;

/// An open file of it.
#[derive(Debug)]
struct DiskFile {
    file: File,
    is_for_reading: bool,
    /// Where a draft is on systems that have no files without a name. It goes away with the draft
    /// unless that was linked.
    draft: Option<PathBuf>,
    is_draft: bool,
}

impl Vfs for Disk {
    fn open(&self, path: &Path, how: Open) -> io::Result<Box<dyn VfsFile>> {
        let mut options = OpenOptions::new();
        match how {
            Open::Read => system::wait_for_no_writer(&mut options).read(true),
            Open::Append => options.read(true).append(true),
            Open::Update => options.read(true).write(true),
            Open::Private => private(&mut options).read(true).append(true).create(true),
        };
        let file = options.open(path)?;
        let is_for_reading = how == Open::Read;
        Ok(Box::new(DiskFile {
            file,
            is_for_reading,
            draft: None,
            is_draft: false,
        }))
    }

    fn draft(&self, folder: &Path) -> io::Result<Box<dyn VfsFile>> {
        if let Some(file) = system::create_unnamed(folder)? {
            return Ok(Box::new(DiskFile::draft(file, None)));
        }
        let path = folder.join(format!(".analects-{}.draft", uuid::Uuid::now_v7().simple()));
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .create_new(true)
            .open(&path)?;
        Ok(Box::new(DiskFile::draft(file, Some(path))))
    }

    fn facts(&self, path: &Path) -> io::Result<Facts> {
        Ok(facts(&fs::metadata(path)?))
    }

    fn real_path(&self, path: &Path) -> io::Result<PathBuf> {
        fs::canonicalize(path)
    }

    fn read_link(&self, path: &Path) -> io::Result<PathBuf> {
        fs::read_link(path)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        fs::read_dir(folder)?
            .map(|entry| Ok(entry?.path()))
            .collect()
    }

    fn create_folder(&self, path: &Path) -> io::Result<()> {
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(path)
    }

    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()> {
        system::exchange(one, other)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        #[cfg(unix)]
        return match File::open(folder)?.sync_all() {
            // Some file systems know no sync of folders: then there is nothing to wait for.
            Err(error) if is_unknown(&error) => Ok(()),
            synced => synced,
        };
        // Elsewhere folders cannot be opened; their names are written with the files.
        #[cfg(not(unix))]
        return fs::metadata(folder).map(|_| ());
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }

    fn open_lock(&self, path: &Path) -> io::Result<Box<dyn VfsLock>> {
        let mut options = OpenOptions::new();
        let file = private(&mut options)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        Ok(Box::new(DiskLock { file }))
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn Any + Send + Sync>>> {
        let mut options = OpenOptions::new();
        let file = private(&mut options)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Box::new(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

/// Opens an ordinary file for reading. The path must be absolute and without symbolic links: one in any part of it is an
/// error, and so is a pipe, a device, a socket, or a file of `/proc` or `/sys`. Nothing waits for a writer.
pub(crate) fn open_plain_file(path: &Path) -> io::Result<Box<dyn VfsFile>> {
    // Opening a device can have effects, so the look comes first; the second look is at what was opened.
    if !fs::symlink_metadata(path)?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let file = system::open_without_links(path)?;
    if !file.metadata()?.is_file() || is_made_up(path) || system::is_made_up(&file)? {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    Ok(Box::new(DiskFile {
        file,
        draft: None,
        is_draft: false,
        is_for_reading: true,
    }))
}

#[derive(Debug)]
struct DiskLock {
    file: File,
}

impl VfsLock for DiskLock {
    fn try_lock(&mut self) -> io::Result<bool> {
        match self.file.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn unlock(&mut self) -> io::Result<()> {
        self.file.unlock()
    }
}

impl DiskFile {
    fn draft(file: File, path: Option<PathBuf>) -> DiskFile {
        DiskFile {
            file,
            is_for_reading: false,
            draft: path,
            is_draft: true,
        }
    }
}

impl VfsFile for DiskFile {
    fn facts(&self) -> io::Result<Facts> {
        Ok(facts(&self.file.metadata()?))
    }

    fn read_from(&mut self, offset: u64) -> io::Result<Vec<u8>> {
        let length = self.file.metadata()?.len();
        self.file.seek(SeekFrom::Start(offset))?;
        let expected = usize::try_from(length.saturating_sub(offset)).unwrap_or(usize::MAX);
        let mut bytes = Vec::new();
        // One byte more lets the last read see the end without growing the buffer.
        bytes.try_reserve_exact(expected.saturating_add(1))?;
        self.file.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        #[cfg(unix)]
        return std::os::unix::fs::FileExt::read_at(&self.file, buffer, offset);
        #[cfg(not(unix))]
        {
            self.file.seek(SeekFrom::Start(offset))?;
            self.file.read(buffer)
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        #[cfg(unix)]
        return std::os::unix::fs::FileExt::write_at(&self.file, bytes, offset);
        #[cfg(not(unix))]
        {
            self.file.seek(SeekFrom::Start(offset))?;
            self.file.write(bytes)
        }
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.file.set_len(length)
    }

    fn sync(&self) -> io::Result<()> {
        // Of a new file, the mode and the owner count as well.
        if self.is_draft {
            self.file.sync_all()
        } else {
            self.file.sync_data()
        }
    }

    fn adopt(&self, original: &Path) -> io::Result<()> {
        let (old, new) = (fs::metadata(original)?, self.file.metadata()?);
        adopt_owner(&self.file, &old, &new).map_err(|error| say("owner", &error))?;
        self.file
            .set_permissions(old.permissions())
            .map_err(|error| say("mode", &error))?;
        system::adopt_attributes(&self.file, original)
            .map_err(|error| say("extended attributes", &error))
    }

    fn lease(&mut self) -> io::Result<Lease> {
        let against = if self.is_for_reading {
            Against::Writers
        } else {
            Against::Everybody
        };
        Ok(analects_lease::take(&self.file, against))
    }

    fn release(&mut self) {
        analects_lease::release(&self.file);
    }

    fn try_lock(&mut self) -> io::Result<bool> {
        #[cfg(unix)]
        return Ok(!matches!(
            self.file.try_lock(),
            Err(TryLockError::WouldBlock)
        ));
        #[cfg(not(unix))]
        return Ok(true);
    }

    fn writers(&self) -> Vec<String> {
        let writers = analects_lease::writers(&self.file).into_iter();
        writers
            .map(|writer| format!("{}, pid {}", writer.name, writer.pid))
            .collect()
    }

    fn link(&mut self, path: &Path) -> io::Result<()> {
        match self.draft.take() {
            None => system::link_unnamed(&self.file, path),
            Some(draft) => {
                let named = give_name(&draft, path);
                if named.is_err() {
                    self.draft = Some(draft);
                }
                named
            }
        }
    }
}

impl Drop for DiskFile {
    fn drop(&mut self) {
        if let Some(draft) = &self.draft {
            // Nothing can be done about a draft that stays.
            let _ = fs::remove_file(draft);
        }
    }
}

/// Whether a path leads to files that the kernel makes up as they are read.
pub(crate) fn is_made_up(path: &Path) -> bool {
    ["/proc", "/sys"]
        .iter()
        .any(|folder| path.starts_with(folder))
}

/// Opens a file if its path is without links, where the system can only look first, and open then.
pub(super) fn open_real_path(path: &Path) -> io::Result<File> {
    if fs::canonicalize(path)? != path {
        return Err(io::Error::other("a symbolic link leads to it"));
    }
    let mut options = OpenOptions::new();
    system::follow_no_link(options.read(true)).open(path)
}

/// Gives a draft another name, unless another file has it. Not every file system has hard links: FAT
/// has none, nor have many that a program serves.
fn give_name(draft: &Path, path: &Path) -> io::Result<()> {
    match fs::hard_link(draft, path) {
        Ok(()) => fs::remove_file(draft),
        Err(error) if is_refused(&error) => system::rename_to_free_name(draft, path),
        failed => failed,
    }
}

/// Whether the system will not do that here, whatever the name.
fn is_refused(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::PermissionDenied | io::ErrorKind::Unsupported
    )
}

/// A rename where the system can only look first, and rename then.
pub(super) fn look_and_rename(from: &Path, to: &Path) -> io::Result<()> {
    match fs::symlink_metadata(to) {
        Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
        Err(_) => fs::rename(from, to),
    }
}

/// Whether the file system does not know what it was asked for.
#[cfg(unix)]
fn is_unknown(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported
    )
}

/// An error that says what could not be kept.
fn say(what: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}

/// A file of ours: for its owner's eyes only, and never a link, which could lead to anything.
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    system::follow_no_link(options)
}

#[cfg(unix)]
fn adopt_owner(file: &File, old: &Metadata, new: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};
    if (new.uid(), new.gid()) == (old.uid(), old.gid()) {
        return Ok(());
    }
    fchown(file, Some(old.uid()), Some(old.gid()))
}

#[cfg(not(unix))]
fn adopt_owner(_: &File, _: &Metadata, _: &Metadata) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn facts(metadata: &Metadata) -> Facts {
    use std::os::unix::fs::MetadataExt;
    Facts {
        identity: (metadata.dev(), metadata.ino()),
        length: metadata.len(),
        modified: (metadata.mtime(), metadata.mtime_nsec()),
        is_file: metadata.is_file(),
        links: metadata.nlink(),
    }
}

/// Without numbers of files, the time of creation tells them apart.
#[cfg(not(unix))]
fn facts(metadata: &Metadata) -> Facts {
    let since = |time: io::Result<std::time::SystemTime>| {
        let since = time.ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
        Some((since.as_secs(), since.subsec_nanos()))
    };
    let (seconds, nanos) = since(metadata.modified()).unwrap_or_default();
    let (created, fraction) = since(metadata.created()).unwrap_or_default();
    Facts {
        identity: (created, u64::from(fraction)),
        length: metadata.len(),
        modified: (i64::try_from(seconds).unwrap_or(0), i64::from(nanos)),
        is_file: metadata.is_file(),
        links: 1,
    }
}
