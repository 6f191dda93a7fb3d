//! A message file that only this process may write to: reading it, and changing it under its lock.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use analects_formats::msgfile::{self, Document, DocumentKind, NewCell, Splice};

use crate::error::cannot;
use crate::folders::WriteLock;
use crate::redo::{EndChange, EndWriteOutcome, RedoLog};
use crate::replace::{PATIENCE, clear_up, replace, wait_for_writers};
use crate::vfs::{Disk, FileMetadata, Lease, OpenMode, Vfs, VfsFile, folder_of};
use crate::{Journal, RecoveredAnswer, StoreError, StoreFolders};

/// The size limit of a message file in bytes, because it is read as a whole.
pub(crate) const MESSAGE_FILE_LIMIT: usize = 1 << 30;

/// The maximum number of symbolic links that are followed. More are a cycle.
const MAX_LINKS: usize = 40;

/// The number of attempts to make a change, or to read a file, while another program keeps writing.
const MAX_TRIES: usize = 50;

/// The number of waits for the rest of a file, where the system cannot tell whether a program is writing it.
const MAX_WAITS: usize = 400;
/// The duration of one such wait.
const WAIT: Duration = Duration::from_millis(5);

/// The size in bytes above which the end of a file changes in place. Smaller files are replaced.
const IN_PLACE_SIZE: usize = 1_000_000;

/// Reads a message file without locking it.
pub fn read_message_file(path: &Path) -> Result<Document, StoreError> {
    read_on(&Disk, path).map(|(document, _)| document)
}

/// Reads a file and its metadata. The metadata belongs to exactly these bytes: the file is read again if it changes
/// meanwhile.
pub(crate) fn read_on(vfs: &dyn Vfs, path: &Path) -> Result<(Document, FileMetadata), StoreError> {
    let (bytes, metadata) = read_with(vfs, path, |file| file.read_from(0))?;
    let document = msgfile::decode_named(bytes, &path.to_string_lossy());
    Ok((document, metadata))
}

/// Refuses a file that is too large for memory.
fn check_size(path: &Path, metadata: &FileMetadata) -> Result<(), StoreError> {
    if metadata.length <= MESSAGE_FILE_LIMIT as u64 {
        return Ok(());
    }
    Err(StoreError::TooLarge {
        path: path.to_path_buf(),
        length: metadata.length,
        limit: MESSAGE_FILE_LIMIT,
    })
}

/// Calls `read` with the open file until the file does not change during the call. Returns the result and the file's
/// metadata.
fn read_with<T>(
    vfs: &dyn Vfs,
    path: &Path,
    read: impl Fn(&mut dyn VfsFile) -> io::Result<T>,
) -> Result<(T, FileMetadata), StoreError> {
    for _ in 0..MAX_TRIES {
        // Opening a pipe could block.
        if !vfs.metadata(path).map_err(cannot("read", path))?.is_file {
            return Err(StoreError::NotAFile {
                path: path.to_path_buf(),
            });
        }
        let mut file = vfs
            .open(path, OpenMode::Read)
            .map_err(cannot("read", path))?;
        let metadata = file.metadata().map_err(cannot("read", path))?;
        check_size(path, &metadata)?;
        let result = read(&mut *file).map_err(cannot("read", path))?;
        if file.metadata().map_err(cannot("read", path))? == metadata {
            return Ok((result, metadata));
        }
    }
    Err(StoreError::KeepsChanging {
        path: path.to_path_buf(),
    })
}

/// Creates a file; `false` if something has its name already. A kill leaves all of it or nothing. When this returns, the
/// file survives a power cut.
pub fn create_file(path: &Path, bytes: &[u8]) -> Result<bool, StoreError> {
    match replace(&Disk, path, bytes, None) {
        // Only the folder can be missing.
        Err(StoreError::NotFound { .. }) => Err(StoreError::NotFound {
            path: folder_of(path).to_path_buf(),
        }),
        created => created,
    }
}

/// Replaces a whole file that is no message file, such as a configuration; `false`, and nothing is changed, if it does
/// not hold `before` any more. The path must not be a symbolic link; see [`real_path`]. Owner, mode and attributes stay.
pub fn replace_file(path: &Path, before: &[u8], bytes: &[u8]) -> Result<bool, StoreError> {
    replace(&Disk, path, bytes, Some(before))
}

/// A message file that only this process writes to, until it is dropped.
///
/// ```
/// use analects_formats::msgfile::NewCell;
/// use analects_store::{LockedFile, StoreFolders};
///
/// let folder = tempfile::tempdir()?;
/// let folders = StoreFolders::in_folder(&folder);
/// let path = folder.path().join("talk.msg.md");
/// let mut file = LockedFile::open(&path, &folders)?;
/// file.append(|document| NewCell::message(document.next_id(), "Hello"))?;
/// // A second writer has to wait.
/// assert!(LockedFile::open(&path, &folders).is_err_and(|error| error.is_locked()));
/// drop(file);
/// let file = LockedFile::open(&path, &folders)?;
/// assert!(file.document().cells().any(|cell| cell.content() == "Hello"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct LockedFile {
    vfs: Arc<dyn Vfs>,
    /// The path as the caller passed it, for error messages.
    name: PathBuf,
    /// The path without symbolic links.
    path: PathBuf,
    /// The content of the file when we read or wrote it last.
    document: Document,
    /// The metadata of the file when the document was read; `None` if there is no file.
    metadata: Option<FileMetadata>,
    /// Whether the metadata certainly belongs to the document. After a replacement it may not: another program may have
    /// written before we looked.
    is_metadata_exact: bool,
    /// The record of an unfinished change in place.
    redo: RedoLog,
    /// The files with text of other programs that was rescued.
    other_versions: Vec<PathBuf>,
    /// The size in bytes above which the end of the file changes in place.
    in_place_size: usize,
    /// The time for which a change waits for other programs that have the file open for writing.
    patience: Duration,
    pub(crate) folders: StoreFolders,
    journal: Journal,
    /// The interrupted answers that were added to the file.
    pub(crate) recovered: Vec<RecoveredAnswer>,
    /// The lock. While this is `None`, each change takes the lock for itself.
    lock: Option<WriteLock>,
}

/// A change of a file.
enum FileChange {
    /// The bytes to change.
    Splice(Splice),
    /// The file after the change.
    Document(Box<Document>),
}

impl LockedFile {
    /// Opens a message file for writing. A file that does not exist is empty; the first write creates it. Fails at once
    /// if another process has the lock, or another program has the file open for writing.
    pub fn open(name: &Path, folders: &StoreFolders) -> Result<LockedFile, StoreError> {
        LockedFile::open_within(name, folders, Duration::ZERO)
    }

    /// Opens a message file for writing. Waits for at most `patience` until other processes release the lock, and for as
    /// long again until other programs close the file, because they may have written only half of it.
    pub fn open_within(
        name: &Path,
        folders: &StoreFolders,
        patience: Duration,
    ) -> Result<LockedFile, StoreError> {
        LockedFile::open_on(Arc::new(Disk), name, folders, patience)
    }

    /// Does the same as [`LockedFile::open_within`] on any file system.
    pub fn open_on(
        vfs: Arc<dyn Vfs>,
        name: &Path,
        folders: &StoreFolders,
        patience: Duration,
    ) -> Result<LockedFile, StoreError> {
        let mut file = LockedFile::open_any(vfs, name, folders, patience)?;
        if file.document.kind() == DocumentKind::Plain {
            return Err(StoreError::without_section(file.name, &file.document));
        }
        file.add_interrupted_answers()?;
        Ok(file)
    }

    /// Opens a Markdown file that is not a message file yet, to convert it. Waits as [`LockedFile::open_within`] does.
    pub fn open_plain(
        name: &Path,
        folders: &StoreFolders,
        patience: Duration,
    ) -> Result<LockedFile, StoreError> {
        LockedFile::open_any(Arc::new(Disk), name, folders, patience)
    }

    /// Opens any Markdown file. Takes the lock, waits for writers, completes an interrupted change, and only then
    /// reads.
    fn open_any(
        vfs: Arc<dyn Vfs>,
        name: &Path,
        folders: &StoreFolders,
        patience: Duration,
    ) -> Result<LockedFile, StoreError> {
        let name = name.to_path_buf();
        let path = real_path(&*vfs, &name)?;
        let lock = WriteLock::take(&*vfs, folders, &path, patience)?;
        let lock = lock.ok_or(StoreError::Locked { path: name.clone() })?;
        wait_for_writers(&*vfs, &path, &name, patience)?;
        let mut redo = RedoLog::of(&*vfs, folders, &path)?;
        redo.complete(&*vfs, &path)?;
        let other_versions = clear_up(&*vfs, &path);
        let (document, metadata) = read_or_empty(&*vfs, &path)?;
        let file = LockedFile {
            journal: Journal::with_vfs(vfs.clone(), folders),
            vfs,
            name,
            path,
            document,
            metadata,
            is_metadata_exact: true,
            redo,
            other_versions,
            in_place_size: IN_PLACE_SIZE,
            patience: PATIENCE,
            folders: folders.clone(),
            recovered: Vec::new(),
            lock: Some(lock),
        };
        file.check_replaceable()?;
        file.check_writable()?;
        Ok(file)
    }

    /// Sets the size in bytes above which the end of the file changes in place.
    pub fn with_in_place_size(self, in_place_size: usize) -> LockedFile {
        LockedFile {
            in_place_size,
            ..self
        }
    }

    /// Sets the time for which changes wait for other programs that have the file open.
    pub fn with_patience(self, patience: Duration) -> LockedFile {
        LockedFile { patience, ..self }
    }

    /// The file's path, without symbolic links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Other versions of the file that programs saved at the moment when a write of ours was killed. They were found when
    /// the file was opened, and have visible names now. The person should compare them.
    pub fn other_versions(&self) -> &[PathBuf] {
        &self.other_versions
    }

    /// The content of the file.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// Releases the lock and returns the content of the file.
    pub fn into_document(self) -> Document {
        self.document
    }

    /// Returns whether the file exists; if not, the first write creates it.
    pub fn exists(&self) -> bool {
        self.metadata.is_some()
    }

    /// The journal of answers to this file.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// The interrupted answers that were added when the file was opened.
    pub fn recovered(&self) -> &[RecoveredAnswer] {
        &self.recovered
    }

    /// The file system of the file.
    pub(crate) fn vfs(&self) -> &dyn Vfs {
        &*self.vfs
    }

    /// Appends the cell that `make` returns for the current content. When this returns, the cell survives a power cut.
    pub fn append(&mut self, make: impl Fn(&Document) -> NewCell) -> Result<(), StoreError> {
        self.edit(|document| msgfile::append(document, &make(document)))
    }

    /// Changes the file. `change` gets the current content, which an editor may have saved since the file was opened. If
    /// an editor saves during the write, `change` runs again. When this returns, the change survives a power cut.
    pub fn edit(&mut self, mut change: impl FnMut(&Document) -> Splice) -> Result<(), StoreError> {
        self.try_edit(|document| Ok(change(document)))
    }

    /// Changes the file, unless `change` returns an error; then nothing is written.
    pub fn try_edit<E: From<StoreError>>(
        &mut self,
        mut change: impl FnMut(&Document) -> Result<Splice, E>,
    ) -> Result<(), E> {
        self.try_change(|document| Ok(FileChange::Splice(change(document)?)))
    }

    /// Changes the file to the document that `change` returns, which saves decoding it again.
    pub fn try_replace<E: From<StoreError>>(
        &mut self,
        mut change: impl FnMut(&Document) -> Result<Document, E>,
    ) -> Result<(), E> {
        self.try_change(|document| Ok(FileChange::Document(Box::new(change(document)?))))
    }

    /// Makes a change under the lock. Takes the lock for this change if it was released before.
    fn try_change<E: From<StoreError>>(
        &mut self,
        mut change: impl FnMut(&Document) -> Result<FileChange, E>,
    ) -> Result<(), E> {
        let was_unlocked = self.lock.is_none();
        if was_unlocked {
            self.lock_again()?;
        }
        let result = self.change_locked(&mut change);
        if was_unlocked {
            self.unlock();
        }
        result
    }

    /// Releases the lock. From now on, each change takes the lock for itself.
    pub fn unlock(&mut self) {
        self.lock = None;
    }

    /// Takes the lock, and completes or removes what a kill may have left in the meantime.
    fn lock_again(&mut self) -> Result<(), StoreError> {
        let lock = WriteLock::take(&*self.vfs, &self.folders, &self.path, self.patience)?;
        self.lock = Some(lock.ok_or(StoreError::Locked {
            path: self.name.clone(),
        })?);
        self.redo = RedoLog::of(&*self.vfs, &self.folders, &self.path)?;
        self.redo.complete(&*self.vfs, &self.path)?;
        self.other_versions.extend(clear_up(&*self.vfs, &self.path));
        Ok(())
    }

    /// Makes a change until it succeeds on a file that nobody else changed meanwhile.
    fn change_locked<E: From<StoreError>>(
        &mut self,
        change: &mut impl FnMut(&Document) -> Result<FileChange, E>,
    ) -> Result<(), E> {
        for _ in 0..MAX_TRIES {
            self.read_again()?;
            let is_written = match change(&self.document)? {
                FileChange::Splice(splice) => self.write(&splice, None)?,
                FileChange::Document(after) => {
                    let splice = Splice::between(self.document.source(), after.source());
                    self.write(&splice, Some(*after))?
                }
            };
            if is_written {
                return Ok(());
            }
        }
        Err(StoreError::KeepsChanging {
            path: self.name.clone(),
        }
        .into())
    }

    /// Follows a symbolic link that a person put in place of the open file. Replacing the link would remove it and leave
    /// its target unchanged. The target is opened like any other file, or refused. Where the `name` of the file leads
    /// does not matter: the conversation is in the file that was opened.
    fn follow_link(&mut self) -> Result<(), StoreError> {
        if self.vfs.read_link(&self.path).is_err() {
            return Ok(());
        }
        let opened = self
            .open_link_target()
            .map_err(|error| StoreError::BadLink {
                path: self.name.clone(),
                error: Box::new(error),
            })?;
        if opened.exists() {
            self.document = opened.document;
        }
        self.path = opened.path;
        self.metadata = opened.metadata;
        self.is_metadata_exact = opened.is_metadata_exact;
        self.redo = opened.redo;
        self.other_versions.extend(opened.other_versions);
        self.recovered.extend(opened.recovered);
        self.lock = opened.lock;
        Ok(())
    }

    /// Opens the target of the link that replaced the file. Does not wait, because we hold the lock of the link.
    fn open_link_target(&self) -> Result<LockedFile, StoreError> {
        let target = real_path(&*self.vfs, &self.path)?;
        LockedFile::open_on(self.vfs.clone(), &target, &self.folders, Duration::ZERO)
    }

    /// Refuses a file that is write-protected or has several hard links: a swap would bypass the first and separate the
    /// others.
    fn check_replaceable(&self) -> Result<(), StoreError> {
        let Some(metadata) = self.metadata else {
            return Ok(());
        };
        self.check_links(&metadata)?;
        self.vfs
            .open(&self.path, OpenMode::Append)
            .map_err(cannot("write to", &self.name))?;
        Ok(())
    }

    /// Refuses a file with several hard links.
    fn check_links(&self, metadata: &FileMetadata) -> Result<(), StoreError> {
        if metadata.links <= 1 {
            return Ok(());
        }
        Err(StoreError::HardLinked {
            path: self.name.clone(),
            links: metadata.links,
        })
    }

    /// Writes a change in place or by a replacement. `after` is the document after the change, if the caller has it.
    /// Returns `false`, and writes nothing, if another program wrote meanwhile, or has the file open for writing.
    fn write(&mut self, splice: &Splice, after: Option<Document>) -> Result<bool, StoreError> {
        let source = self.document.source();
        if splice.at.of(source) == splice.bytes && self.metadata.is_some() {
            return self.is_quiet();
        }
        let is_large = source.len() > self.in_place_size;
        if let Some(metadata) = self.metadata.filter(|_| is_large)
            && let Some(change) = EndChange::of(splice, &self.document)
        {
            let at = change.at;
            let new = change.new.clone();
            let outcome = self
                .redo
                .write_end(&*self.vfs, &self.path, metadata, change)?;
            match outcome {
                EndWriteOutcome::Written(metadata) => {
                    match after {
                        Some(after) => self.document = after,
                        None => self.document.replace_end(at, &new),
                    }
                    self.metadata = Some(metadata);
                    self.is_metadata_exact = true;
                    return Ok(true);
                }
                EndWriteOutcome::WrittenWithOthers => {
                    self.read_again()?;
                    return Ok(true);
                }
                EndWriteOutcome::NotWritten => return Ok(false),
                // The other program may only read the file; then the file can be replaced.
                EndWriteOutcome::InUse => {}
            }
        }
        self.replace(splice, after)
    }

    /// Returns whether the file still holds what was read, after waiting for its writers: an editor may have emptied it
    /// just before it was read.
    fn is_quiet(&self) -> Result<bool, StoreError> {
        wait_for_writers(&*self.vfs, &self.path, &self.name, self.patience)?;
        Ok(self.vfs.metadata(&self.path).ok() == self.metadata)
    }

    /// Replaces the file; `false` if another program wrote meanwhile, or has the file open for writing.
    fn replace(&mut self, splice: &Splice, after: Option<Document>) -> Result<bool, StoreError> {
        if let Some(metadata) = &self.metadata {
            self.check_links(metadata)?;
        }
        let source = self.document.source();
        let bytes = splice.apply(source);
        let before = self.metadata.map(|_| source);
        if !replace(&*self.vfs, &self.path, &bytes, before)? {
            return Ok(false);
        }
        match after {
            Some(after) => self.document = after,
            None => self.document.update_within_section(bytes),
        }
        self.metadata = self.vfs.metadata(&self.path).ok();
        self.is_metadata_exact = false;
        Ok(true)
    }

    /// Reads the file again if it may have changed, when no program has it open for writing. A removed file keeps its
    /// content, and the next write creates it again.
    ///
    /// Where the system cannot tell who writes, a file that holds only the beginning of the known content is probably
    /// being written by an editor that first emptied it. Then we wait, because a replacement would cut off the editor's
    /// text.
    fn read_again(&mut self) -> Result<(), StoreError> {
        self.follow_link()?;
        if self.is_certainly_unchanged() {
            return Ok(());
        }
        let lease = wait_for_writers(&*self.vfs, &self.path, &self.name, self.patience)?;
        let waits = if lease == Lease::Unknown {
            MAX_WAITS
        } else {
            0
        };
        for wait in 0..=waits {
            let known = self.document.source();
            let read = read_with(&*self.vfs, &self.path, |file| {
                FileContent::read(file, known)
            });
            let (content, metadata) = match read {
                Err(error) if error.is_not_found() => {
                    self.metadata = None;
                    return Ok(());
                }
                read => read?,
            };
            if wait < waits && content.is_beginning_of(known) {
                std::thread::sleep(WAIT);
                continue;
            }
            self.update_document(content)?;
            self.metadata = Some(metadata);
            self.is_metadata_exact = true;
            return Ok(());
        }
        Err(StoreError::KeepsChanging {
            path: self.name.clone(),
        })
    }

    /// Returns whether the metadata proves that a large file has not changed. A small file is read again in any case.
    fn is_certainly_unchanged(&self) -> bool {
        self.is_metadata_exact
            && self.document.source().len() > self.in_place_size
            && self.metadata.is_some()
            && self.vfs.metadata(&self.path).ok() == self.metadata
    }

    /// Makes the content of the file the current document. If the content is not writable, returns an error, and the old
    /// document stays, for callers that need to know what the file should hold.
    fn update_document(&mut self, content: FileContent) -> Result<(), StoreError> {
        if !content.is_utf8() {
            let source = content.into_bytes(self.document.source());
            return self.check(&self.document.with_source(source));
        }
        match content {
            FileContent::Extended(more) if more.is_empty() => {}
            FileContent::Extended(more) => self.document.extend(&more),
            FileContent::Replaced(bytes) if self.document.kind() == DocumentKind::Section => {
                let document = self.document.with_source_within_section(bytes);
                if document.kind() == DocumentKind::Plain {
                    return Err(StoreError::without_section(self.name.clone(), &document));
                }
                self.document = document;
            }
            FileContent::Replaced(bytes) => self.document.update(bytes),
        }
        self.check_writable()
    }

    /// Refuses the current document if a problem forbids writing to it.
    fn check_writable(&self) -> Result<(), StoreError> {
        self.check(&self.document)
    }

    /// Refuses a document with a problem that forbids writing.
    fn check(&self, document: &Document) -> Result<(), StoreError> {
        let Some(problem) = document.why_not_writable() else {
            return Ok(());
        };
        Err(StoreError::NotWritable {
            path: self.name.clone(),
            problem: Box::new(problem),
        })
    }
}

/// The content of a file, compared with the known content.
enum FileContent {
    /// The known content, followed by these bytes.
    Extended(Vec<u8>),
    /// Other bytes.
    Replaced(Vec<u8>),
}

impl FileContent {
    /// Reads a file. Keeps nothing of it that is known.
    fn read(file: &mut dyn VfsFile, known: &[u8]) -> io::Result<FileContent> {
        match file.read_after(known)? {
            Some(more) => Ok(FileContent::Extended(more)),
            None => file.read_from(0).map(FileContent::Replaced),
        }
    }

    /// Returns whether the new bytes are UTF-8.
    fn is_utf8(&self) -> bool {
        let (FileContent::Extended(new) | FileContent::Replaced(new)) = self;
        str::from_utf8(new).is_ok()
    }

    /// Returns whether the file holds the beginning of the known content, and no more.
    fn is_beginning_of(&self, known: &[u8]) -> bool {
        let FileContent::Replaced(bytes) = self else {
            return false;
        };
        bytes.len() < known.len() && known.starts_with(bytes)
    }

    /// Returns all bytes of the file.
    fn into_bytes(self, known: &[u8]) -> Vec<u8> {
        match self {
            FileContent::Extended(more) => [known, &more].concat(),
            FileContent::Replaced(bytes) => bytes,
        }
    }
}

/// Reads a file. One that does not exist is empty and has no metadata.
fn read_or_empty(
    vfs: &dyn Vfs,
    path: &Path,
) -> Result<(Document, Option<FileMetadata>), StoreError> {
    match read_on(vfs, path) {
        Ok((document, metadata)) => Ok((document, Some(metadata))),
        Err(error) if error.is_not_found() => {
            let document = msgfile::decode_named(*b"", &path.to_string_lossy());
            Ok((document, None))
        }
        Err(error) => Err(error),
    }
}

/// Returns the path without symbolic links of a file that may not exist yet. Its folder must exist.
pub fn real_path(vfs: &dyn Vfs, path: &Path) -> Result<PathBuf, StoreError> {
    let mut path = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        let folder = folder_of(&path).to_path_buf();
        if let Ok(target) = vfs.read_link(&path) {
            path = folder.join(target);
            continue;
        }
        let real_folder = vfs
            .real_path(&folder)
            .map_err(cannot("open this folder", &folder))?;
        let Some(name) = path.file_name() else {
            return Err(StoreError::NotAFile { path });
        };
        return Ok(real_folder.join(name));
    }
    Err(StoreError::NotAFile { path })
}
