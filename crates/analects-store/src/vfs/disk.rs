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

use super::{FileMetadata, OpenMode, Vfs, VfsFile, VfsLock};

/// The file system of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct Disk;

/// An open file of the real disk.
#[derive(Debug)]
struct DiskFile {
    file: File,
    /// Whether it is open for reading only.
    is_for_reading: bool,
    /// The path of a draft on systems without unnamed files. Dropping the draft removes it, unless the draft was linked.
    draft: Option<PathBuf>,
    /// Whether it was created without a name, so that a sync includes its mode and owner.
    is_draft: bool,
}

impl Vfs for Disk {
    fn open(&self, path: &Path, how: OpenMode) -> io::Result<Box<dyn VfsFile>> {
        let mut options = OpenOptions::new();
        match how {
            OpenMode::Read => system::wait_for_no_writer(&mut options).read(true),
            OpenMode::Append => options.read(true).append(true),
            OpenMode::Update => options.read(true).write(true),
            OpenMode::Private => private(&mut options).read(true).append(true).create(true),
        };
        let file = options.open(path)?;
        Ok(Box::new(DiskFile {
            file,
            is_for_reading: how == OpenMode::Read,
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

    fn metadata(&self, path: &Path) -> io::Result<FileMetadata> {
        Ok(file_metadata(&fs::metadata(path)?))
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
            // Some file systems do not support it.
            Err(error) if is_unsupported(&error) => Ok(()),
            synced => synced,
        };
        // Other systems cannot open folders; they write the names together with the files.
        #[cfg(not(unix))]
        return fs::metadata(folder).map(|_| ());
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }

    fn open_lock(&self, path: &Path) -> io::Result<Box<dyn VfsLock>> {
        let file = open_lock_file(path)?;
        Ok(Box::new(DiskLock { file }))
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn Any + Send + Sync>>> {
        let file = open_lock_file(path)?;
        if !try_lock(&file)? {
            return Ok(None);
        }
        Ok(Some(Box::new(file)))
    }
}

/// Opens a lock file, and creates it if necessary.
fn open_lock_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    private(&mut options)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
}

/// Locks a file; `false` if another process has locked it.
fn try_lock(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Opens an ordinary file for reading. The path must be absolute. A symbolic link in any part of it is an error, and so
/// is a pipe, a device, a socket, or a file of `/proc` or `/sys`. Never blocks.
pub(crate) fn open_plain_file(path: &Path) -> io::Result<Box<dyn VfsFile>> {
    // Opening a device can have effects, so the path is checked first. The second check is on the opened file.
    if !fs::symlink_metadata(path)?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let file = system::open_without_links(path)?;
    if !file.metadata()?.is_file() || is_virtual(path) || system::is_virtual(&file)? {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    Ok(Box::new(DiskFile {
        file,
        draft: None,
        is_draft: false,
        is_for_reading: true,
    }))
}

/// An open lock file.
#[derive(Debug)]
struct DiskLock {
    file: File,
}

impl VfsLock for DiskLock {
    fn try_lock(&mut self) -> io::Result<bool> {
        try_lock(&self.file)
    }

    fn unlock(&mut self) -> io::Result<()> {
        self.file.unlock()
    }
}

impl DiskFile {
    /// Wraps a new file; `path` is its temporary name if it has one.
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
    fn metadata(&self) -> io::Result<FileMetadata> {
        Ok(file_metadata(&self.file.metadata()?))
    }

    fn read_from(&mut self, offset: u64) -> io::Result<Vec<u8>> {
        let length = self.file.metadata()?.len();
        self.file.seek(SeekFrom::Start(offset))?;
        let expected = usize::try_from(length.saturating_sub(offset)).unwrap_or(usize::MAX);
        let mut bytes = Vec::new();
        // With one extra byte, the last read sees the end without growing the buffer.
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
        // The mode and the owner of a new file must survive, too.
        if self.is_draft {
            self.file.sync_all()
        } else {
            self.file.sync_data()
        }
    }

    fn copy_metadata_from(&self, original: &Path) -> io::Result<()> {
        let old = fs::metadata(original)?;
        let new = self.file.metadata()?;
        copy_owner(&self.file, &old, &new).map_err(|error| name_attribute("owner", &error))?;
        self.file
            .set_permissions(old.permissions())
            .map_err(|error| name_attribute("mode", &error))?;
        system::copy_attributes(&self.file, original)
            .map_err(|error| name_attribute("extended attributes", &error))
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
        let mut programs = Vec::new();
        for writer in analects_lease::writers(&self.file) {
            programs.push(format!("{}, pid {}", writer.name, writer.pid));
        }
        programs
    }

    fn link(&mut self, path: &Path) -> io::Result<()> {
        let Some(draft) = &self.draft else {
            return system::link_unnamed(&self.file, path);
        };
        move_to_free_name(draft, path)?;
        self.draft = None;
        Ok(())
    }
}

impl Drop for DiskFile {
    fn drop(&mut self) {
        if let Some(draft) = &self.draft {
            // A draft that cannot be removed stays.
            let _ = fs::remove_file(draft);
        }
    }
}

/// Returns whether the kernel generates the content of the file at this path.
pub(crate) fn is_virtual(path: &Path) -> bool {
    path.starts_with("/proc") || path.starts_with("/sys")
}

/// Opens a file if its path has no links, where the system cannot check and open in one step.
pub(super) fn open_real_path(path: &Path) -> io::Result<File> {
    if fs::canonicalize(path)? != path {
        return Err(io::Error::other("a symbolic link leads to it"));
    }
    let mut options = OpenOptions::new();
    system::follow_no_link(options.read(true)).open(path)
}

/// Gives a draft another name; fails if the name is taken. FAT has no hard links, and neither have many file systems
/// that a program serves.
fn move_to_free_name(draft: &Path, path: &Path) -> io::Result<()> {
    match fs::hard_link(draft, path) {
        Ok(()) => fs::remove_file(draft),
        Err(error) if lacks_hard_links(&error) => system::rename_to_free_name(draft, path),
        Err(error) => Err(error),
    }
}

/// Returns whether the error means that the file system has no hard links.
fn lacks_hard_links(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::PermissionDenied | io::ErrorKind::Unsupported
    )
}

/// Renames a file to a free name, where the system cannot check and rename in one step.
pub(super) fn check_and_rename(from: &Path, to: &Path) -> io::Result<()> {
    if fs::symlink_metadata(to).is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    fs::rename(from, to)
}

/// Returns whether the file system does not support the operation.
#[cfg(unix)]
fn is_unsupported(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported
    )
}

/// Adds the name of the attribute that could not be copied to an error.
fn name_attribute(attribute: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{attribute}: {error}"))
}

/// Sets the options for a file of the store itself: only its owner can read it, and a link, which could lead anywhere,
/// is refused.
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    system::follow_no_link(options)
}

/// Gives a file the owner and the group of another one, unless it has them already.
#[cfg(unix)]
fn copy_owner(file: &File, old: &Metadata, new: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};
    if (new.uid(), new.gid()) == (old.uid(), old.gid()) {
        return Ok(());
    }
    fchown(file, Some(old.uid()), Some(old.gid()))
}

#[cfg(not(unix))]
fn copy_owner(_: &File, _: &Metadata, _: &Metadata) -> io::Result<()> {
    Ok(())
}

/// Converts the metadata of the standard library.
#[cfg(unix)]
fn file_metadata(metadata: &Metadata) -> FileMetadata {
    use std::os::unix::fs::MetadataExt;
    FileMetadata {
        identity: (metadata.dev(), metadata.ino()),
        length: metadata.len(),
        modified: (metadata.mtime(), metadata.mtime_nsec()),
        is_file: metadata.is_file(),
        links: metadata.nlink(),
    }
}

/// Without file numbers, the time of creation identifies a file.
#[cfg(not(unix))]
fn file_metadata(metadata: &Metadata) -> FileMetadata {
    let (seconds, nanos) = since_epoch(metadata.modified()).unwrap_or_default();
    let (created, fraction) = since_epoch(metadata.created()).unwrap_or_default();
    FileMetadata {
        identity: (created, u64::from(fraction)),
        length: metadata.len(),
        modified: (i64::try_from(seconds).unwrap_or(0), i64::from(nanos)),
        is_file: metadata.is_file(),
        links: 1,
    }
}

/// Returns the seconds and nanoseconds since 1970; `None` if the system does not know the time, or for an earlier one.
#[cfg(not(unix))]
fn since_epoch(time: io::Result<std::time::SystemTime>) -> Option<(u64, u32)> {
    let since = time.ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some((since.as_secs(), since.subsec_nanos()))
}
