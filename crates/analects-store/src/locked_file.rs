//! A message file under its lock: read, and ready for more cells.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use analects_formats::msgfile::{self, Document, DocumentKind, NewCell, Splice};

use crate::error::to;
use crate::places::Lock;
use crate::redo::{NewEnd, Redo, Written};
use crate::replace::{PATIENCE, clear_up, replace, wait_for_writers};
use crate::vfs::{Disk, Facts, Lease, Open, Vfs, VfsFile, folder_of};
use crate::{Journal, Places, RecoveredAnswer, StoreError};

/// The largest message file that is read, in bytes. It is read as a whole.
pub(crate) const MESSAGE_FILE_LIMIT: usize = 1 << 30;

/// How many symbolic links are followed; more are a circle.
const MAX_LINKS: usize = 40;

/// How often a change is made anew because somebody else wrote meanwhile.
const MAX_TRIES: usize = 50;

/// How often, and how long, we wait for the rest of a file where the system cannot tell whether somebody
/// is writing it.
const MAX_WAITS: usize = 400;
const WAIT: Duration = Duration::from_millis(5);

/// The end of larger files changes in place; smaller ones are replaced as a whole.
const LARGE: usize = 1_000_000;

/// Reads a message file without the right to write to it.
pub fn read_message_file(path: &Path) -> Result<Document, StoreError> {
    read_on(&Disk, path).map(|(document, _)| document)
}

/// A file and its facts, which are those of just these bytes: if somebody writes while we read, we
/// read again.
pub(crate) fn read_on(vfs: &dyn Vfs, path: &Path) -> Result<(Document, Facts), StoreError> {
    let (bytes, facts) = read_bytes(vfs, path)?;
    Ok((msgfile::decode_named(bytes, &path.to_string_lossy()), facts))
}

fn read_bytes(vfs: &dyn Vfs, path: &Path) -> Result<(Vec<u8>, Facts), StoreError> {
    read_with(vfs, path, |file| file.read_from(0))
}

/// A message file is held in memory as a whole; one that is too large for that is not even begun with.
fn check_size(path: &Path, facts: &Facts) -> Result<(), StoreError> {
    if facts.length <= MESSAGE_FILE_LIMIT as u64 {
        return Ok(());
    }
    Err(StoreError::TooLarge {
        path: path.to_path_buf(),
        length: facts.length,
        limit: MESSAGE_FILE_LIMIT,
    })
}

/// What a reader makes of a file, and the file's facts.
fn read_with<T>(
    vfs: &dyn Vfs,
    path: &Path,
    read: impl Fn(&mut dyn VfsFile) -> io::Result<T>,
) -> Result<(T, Facts), StoreError> {
    for _ in 0..MAX_TRIES {
        // A pipe would keep us waiting as soon as it is opened.
        if !vfs.facts(path).map_err(to("read", path))?.is_file {
            return Err(StoreError::NotAFile {
                path: path.to_path_buf(),
            });
        }
        let mut file = vfs.open(path, Open::Read).map_err(to("read", path))?;
        let facts = file.facts().map_err(to("read", path))?;
        check_size(path, &facts)?;
        let made = read(&mut *file).map_err(to("read", path))?;
        if file.facts().map_err(to("read", path))? == facts {
            return Ok((made, facts));
        }
    }
    Err(StoreError::Changing {
        path: path.to_path_buf(),
    })
}

/// Makes a file that must not be there yet; `false` if something has its name. A kill leaves all of it
/// or nothing. When this returns, it survives a power cut.
pub fn create_file(path: &Path, bytes: &[u8]) -> Result<bool, StoreError> {
    match replace(&Disk, path, bytes, None) {
        // Only its folder can be missing.
        Err(StoreError::NotFound { .. }) => Err(StoreError::NotFound {
            path: folder_of(path).to_path_buf(),
        }),
        created => created,
    }
}

/// A message file that only this process writes to, until it is dropped.
#[derive(Debug)]
pub struct LockedFile {
    vfs: Arc<dyn Vfs>,
    /// The name by which the person knows the file.
    name: PathBuf,
    path: PathBuf,
    document: Document,
    /// What the file looked like when the document was read; `None` while there is no file.
    seen: Option<Facts>,
    /// Whether that was what the document holds: after a file was put in the place of another, somebody may have
    /// been quicker than our look at it.
    is_sure: bool,
    redo: Redo,
    /// What somebody else wrote, and a kill left beside the file.
    kept: Vec<PathBuf>,
    /// The length beyond which the end of the file changes in place.
    large: usize,
    /// How long a change waits for other programs that have the file open for writing.
    patience: Duration,
    places: Places,
    journal: Journal,
    /// Answers that had broken off, and came into the file when it was opened.
    pub(crate) recovered: Vec<RecoveredAnswer>,
    /// The lock, which is taken for each change alone while this is `None`.
    lock: Option<Lock>,
}

/// A change of a file.
enum FileChange {
    Splice(Splice),
    /// The file as it becomes.
    Document(Box<Document>),
}

impl LockedFile {
    /// Opens a message file for writing. One that is not there yet is empty, and is made by the
    /// first write.
    pub fn open(name: &Path, places: &Places) -> Result<LockedFile, StoreError> {
        LockedFile::open_within(name, places, Duration::ZERO)
    }

    /// The same, waiting as long as `patience` lasts for another `LockedFile`, and then as long again for other
    /// programs that have the file open for writing: what they have written so far may be half of it.
    pub fn open_within(
        name: &Path,
        places: &Places,
        patience: Duration,
    ) -> Result<LockedFile, StoreError> {
        LockedFile::open_on(Arc::new(Disk), name, places, patience)
    }

    /// The same on any file system.
    pub fn open_on(
        vfs: Arc<dyn Vfs>,
        name: &Path,
        places: &Places,
        patience: Duration,
    ) -> Result<LockedFile, StoreError> {
        let mut file = LockedFile::open_any(vfs, name, places, patience)?;
        if file.document.kind() == DocumentKind::Plain {
            return Err(StoreError::NotAMessageFile { path: file.name });
        }
        file.add_broken_off()?;
        Ok(file)
    }

    /// The same for a Markdown file that is no message file, and is to become one.
    pub fn open_plain(
        name: &Path,
        places: &Places,
        patience: Duration,
    ) -> Result<LockedFile, StoreError> {
        LockedFile::open_any(Arc::new(Disk), name, places, patience)
    }

    fn open_any(
        vfs: Arc<dyn Vfs>,
        name: &Path,
        places: &Places,
        patience: Duration,
    ) -> Result<LockedFile, StoreError> {
        let name = name.to_path_buf();
        let path = real_path(&*vfs, &name)?;
        let lock = Lock::take(&*vfs, places, &path, patience)?;
        let lock = lock.ok_or(StoreError::Locked { path: name.clone() })?;
        wait_for_writers(&*vfs, &path, &name, patience)?;
        let mut redo = Redo::of(&*vfs, places, &path)?;
        redo.complete(&*vfs, &path)?;
        let kept = clear_up(&*vfs, &path);
        let (document, seen) = read_or_new(&*vfs, &path)?;
        let file = LockedFile {
            journal: Journal::on(vfs.clone(), places),
            vfs,
            name,
            path,
            document,
            seen,
            is_sure: true,
            redo,
            kept,
            large: LARGE,
            patience: PATIENCE,
            places: places.clone(),
            recovered: Vec::new(),
            lock: Some(lock),
        };
        file.check_replaceable()?;
        file.check_writable()?;
        Ok(file)
    }

    /// Sets the length in bytes from which on the end of a file changes in place.
    pub fn with_large(self, large: usize) -> LockedFile {
        LockedFile { large, ..self }
    }

    /// Sets how long changes wait for other programs that have the file open.
    pub fn with_patience(self, patience: Duration) -> LockedFile {
        LockedFile { patience, ..self }
    }

    /// The file's path, without symbolic links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Other versions of the file, which somebody saved at the very moment when a write of ours was
    /// killed. They were found on opening, and have these names now; the person should compare them.
    pub fn kept(&self) -> &[PathBuf] {
        &self.kept
    }

    /// What the file holds.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// What the file holds, for whoever does not write to it any more.
    pub fn into_document(self) -> Document {
        self.document
    }

    /// Whether the file is there, and not only about to be made.
    pub fn exists(&self) -> bool {
        self.seen.is_some()
    }

    /// The journal of answers to this file.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Answers that had broken off, and came into the file when it was opened.
    pub fn recovered(&self) -> &[RecoveredAnswer] {
        &self.recovered
    }

    pub(crate) fn vfs(&self) -> &dyn Vfs {
        &*self.vfs
    }

    /// Adds the cell that `make` makes for the file as it is now. When this returns, it survives a
    /// power cut.
    pub fn append(&mut self, make: impl Fn(&Document) -> NewCell) -> Result<(), StoreError> {
        self.edit(|document| msgfile::append(document, &make(document)))
    }

    /// Makes a change to the file as it is now: an editor may have saved it since it was read, and
    /// if one saves while the change is being written, the change is made anew. When this returns,
    /// it survives a power cut.
    pub fn edit(&mut self, mut change: impl FnMut(&Document) -> Splice) -> Result<(), StoreError> {
        self.try_edit(|document| Ok(change(document)))
    }

    /// The same for a change that may turn out to be impossible; then nothing is written.
    pub fn try_edit<E: From<StoreError>>(
        &mut self,
        mut change: impl FnMut(&Document) -> Result<Splice, E>,
    ) -> Result<(), E> {
        self.try_change(|document| Ok(FileChange::Splice(change(document)?)))
    }

    /// The same for a change that has read the file as it becomes, so that nobody has to read it once more.
    pub fn try_replace<E: From<StoreError>>(
        &mut self,
        mut change: impl FnMut(&Document) -> Result<Document, E>,
    ) -> Result<(), E> {
        self.try_change(|document| Ok(FileChange::Document(Box::new(change(document)?))))
    }

    fn try_change<E: From<StoreError>>(
        &mut self,
        mut change: impl FnMut(&Document) -> Result<FileChange, E>,
    ) -> Result<(), E> {
        let is_resting = self.lock.is_none();
        if is_resting {
            self.lock_again()?;
        }
        let done = self.change_locked(&mut change);
        if is_resting {
            self.rest();
        }
        done
    }

    /// Gives up the lock until the next change, which takes it for itself.
    pub fn rest(&mut self) {
        self.lock = None;
    }

    fn lock_again(&mut self) -> Result<(), StoreError> {
        let lock = Lock::take(&*self.vfs, &self.places, &self.path, self.patience)?;
        self.lock = Some(lock.ok_or(StoreError::Locked {
            path: self.name.clone(),
        })?);
        self.redo = Redo::of(&*self.vfs, &self.places, &self.path)?;
        self.redo.complete(&*self.vfs, &self.path)?;
        self.kept.extend(clear_up(&*self.vfs, &self.path));
        Ok(())
    }

    fn change_locked<E: From<StoreError>>(
        &mut self,
        change: &mut impl FnMut(&Document) -> Result<FileChange, E>,
    ) -> Result<(), E> {
        for _ in 0..MAX_TRIES {
            self.read_settled()?;
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
        Err(StoreError::Changing {
            path: self.name.clone(),
        }
        .into())
    }

    /// Goes where a symbolic link leads that somebody has put in the place of the file: to replace it would
    /// take the link away, and leave what it leads to as it was. What it leads to is opened like any other
    /// file, or refused. Where the *name* of the file leads does not matter: the conversation is in the
    /// file that was opened.
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
        self.seen = opened.seen;
        self.is_sure = opened.is_sure;
        self.redo = opened.redo;
        self.kept.extend(opened.kept);
        self.recovered.extend(opened.recovered);
        self.lock = opened.lock;
        Ok(())
    }

    fn open_link_target(&self) -> Result<LockedFile, StoreError> {
        let target = real_path(&*self.vfs, &self.path)?;
        LockedFile::open_on(self.vfs.clone(), &target, &self.places, Duration::ZERO)
    }

    /// A rename would get around a write protection that somebody meant, and separate hard links.
    fn check_replaceable(&self) -> Result<(), StoreError> {
        let Some(facts) = self.seen else {
            return Ok(());
        };
        if facts.links > 1 {
            return Err(StoreError::HardLinked {
                path: self.name.clone(),
                links: facts.links,
            });
        }
        self.vfs
            .open(&self.path, Open::Append)
            .map_err(to("write to", &self.name))?;
        Ok(())
    }

    /// Writes a change in the way that suits it; `false` if somebody else wrote meanwhile, or has the file
    /// open to do so.
    fn write(&mut self, splice: &Splice, after: Option<Document>) -> Result<bool, StoreError> {
        let source = self.document.source();
        if splice.at.of(source) == splice.bytes && self.seen.is_some() {
            return self.is_quiet();
        }
        let is_large = source.len() > self.large;
        if let Some(seen) = self.seen.filter(|_| is_large)
            && let Some(end) = NewEnd::of(splice, &self.document)
        {
            let at = end.at;
            let new = end.new.clone();
            match self.redo.write_end(&*self.vfs, &self.path, seen, end)? {
                Written::Done(facts) => {
                    match after {
                        Some(after) => self.document = after,
                        None => self.document.replace_end(at, &new),
                    }
                    (self.seen, self.is_sure) = (Some(facts), true);
                    return Ok(true);
                }
                Written::Elsewhere => return self.read_settled().map(|()| true),
                Written::Not => return Ok(false),
                // Perhaps somebody only reads it: then it can be replaced.
                Written::InUse => {}
            }
        }
        self.replace(splice, after)
    }

    /// Whether the file still holds what was read, and nobody is writing to it: an editor may have emptied it just
    /// before it was read.
    fn is_quiet(&self) -> Result<bool, StoreError> {
        wait_for_writers(&*self.vfs, &self.path, &self.name, self.patience)?;
        Ok(self.vfs.facts(&self.path).ok() == self.seen)
    }

    fn replace(&mut self, splice: &Splice, after: Option<Document>) -> Result<bool, StoreError> {
        let source = self.document.source();
        if let Some(facts) = self.seen.filter(|facts| facts.links > 1) {
            return Err(StoreError::HardLinked {
                path: self.name.clone(),
                links: facts.links,
            });
        }
        let bytes = splice.apply(source);
        let before = self.seen.map(|_| source);
        if !replace(&*self.vfs, &self.path, &bytes, before)? {
            return Ok(false);
        }
        match after {
            Some(after) => self.document = after,
            None => self.document.update_within_section(bytes),
        }
        (self.seen, self.is_sure) = (self.vfs.facts(&self.path).ok(), false);
        Ok(true)
    }

    /// Reads the file again if it may have changed, when nobody has it open for writing. One that was
    /// removed comes back as it was.
    ///
    /// Where the system cannot tell who writes, a file of which only the beginning is there is probably
    /// being written by an editor that first emptied it: then we wait a moment, since what we put in its
    /// place would cut the editor's text off.
    fn read_settled(&mut self) -> Result<(), StoreError> {
        self.follow_link()?;
        let is_trusted = self.is_sure && self.document.source().len() > self.large;
        if is_trusted && self.seen.is_some() && self.vfs.facts(&self.path).ok() == self.seen {
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
            match read_with(&*self.vfs, &self.path, |file| Found::in_file(file, known)) {
                Err(error) if error.is_not_found() => {
                    self.seen = None;
                    return Ok(());
                }
                Ok((Found::Other(bytes), _)) if wait < waits && is_beginning(&bytes, known) => {
                    std::thread::sleep(WAIT);
                }
                read => {
                    let (found, facts) = read?;
                    self.take(found)?;
                    (self.seen, self.is_sure) = (Some(facts), true);
                    return Ok(());
                }
            }
        }
        Err(StoreError::Changing {
            path: self.name.clone(),
        })
    }

    /// Takes what was found for what the file holds. If nobody could write to that, then what was known is still
    /// known, for whoever has to say what the file should hold.
    fn take(&mut self, found: Found) -> Result<(), StoreError> {
        let (Found::Grown(new) | Found::Other(new)) = &found;
        if str::from_utf8(new).is_err() {
            let source = found.after(self.document.source());
            return self.check(&self.document.with_source(source));
        }
        match found {
            Found::Grown(more) if more.is_empty() => {}
            Found::Grown(more) => self.document.extend(&more),
            Found::Other(bytes) if self.document.kind() == DocumentKind::Section => {
                let document = self.document.with_source_within_section(bytes);
                if document.kind() == DocumentKind::Plain {
                    return Err(StoreError::NotAMessageFile {
                        path: self.name.clone(),
                    });
                }
                self.document = document;
            }
            Found::Other(bytes) => self.document.update(bytes),
        }
        self.check_writable()
    }

    fn check_writable(&self) -> Result<(), StoreError> {
        self.check(&self.document)
    }

    fn check(&self, document: &Document) -> Result<(), StoreError> {
        match document.why_not_writable().map(Box::new) {
            Some(problem) => Err(StoreError::NotWritable {
                path: self.name.clone(),
                problem,
            }),
            None => Ok(()),
        }
    }
}

/// What is found in a file of which something is known.
enum Found {
    /// What is known, and then this.
    Grown(Vec<u8>),
    /// Something else.
    Other(Vec<u8>),
}

impl Found {
    fn in_file(file: &mut dyn VfsFile, known: &[u8]) -> io::Result<Found> {
        match file.beyond(known)? {
            Some(more) => Ok(Found::Grown(more)),
            None => file.read_from(0).map(Found::Other),
        }
    }

    /// All that the file holds, where it held what is known before.
    fn after(self, known: &[u8]) -> Vec<u8> {
        match self {
            Found::Grown(more) => [known, &more].concat(),
            Found::Other(bytes) => bytes,
        }
    }
}

/// Whether a file holds the beginning of what it held before, and no more.
fn is_beginning(now: &[u8], before: &[u8]) -> bool {
    now.len() < before.len() && before.starts_with(now)
}

/// Reads a file that may not be there.
fn read_or_new(vfs: &dyn Vfs, path: &Path) -> Result<(Document, Option<Facts>), StoreError> {
    match read_on(vfs, path) {
        Err(error) if error.is_not_found() => {
            Ok((msgfile::decode_named(*b"", &path.to_string_lossy()), None))
        }
        read => read.map(|(document, facts)| (document, Some(facts))),
    }
}

/// The path that a name leads to, for a file that may not be there yet.
pub fn real_path(vfs: &dyn Vfs, path: &Path) -> Result<PathBuf, StoreError> {
    let mut path = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        let folder = folder_of(&path).to_path_buf();
        match vfs.read_link(&path) {
            Ok(target) => path = folder.join(target),
            Err(_) => {
                let real = vfs
                    .real_path(&folder)
                    .map_err(to("open this folder", &folder))?;
                let name = path
                    .file_name()
                    .ok_or(StoreError::NotAFile { path: path.clone() })?;
                return Ok(real.join(name));
            }
        }
    }
    Err(StoreError::NotAFile { path })
}
