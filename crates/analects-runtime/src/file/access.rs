//! The file of a conversation: locked and written to disk, or changed in memory only for a dry run.

use std::path::{Path, PathBuf};
use std::time::Duration;

use analects_core::Message;
use analects_formats::msgfile::{AddedMessages, CellsHash, Document, KnownMessages, Splice};
use analects_store::vfs::Disk;
use analects_store::{Journal, LockedFile, RecoveredAnswer, StoreError, StoreFolders, real_path};

/// The file of a conversation.
#[derive(Debug)]
pub(super) enum FileAccess {
    /// Changes go to disk.
    Locked(Box<LockedFile>),
    /// Changes stay in memory.
    Memory(Box<MemoryFile>),
}

/// A file as it would be after a real run.
#[derive(Debug)]
pub(super) struct MemoryFile {
    /// The path as the person wrote it.
    name: PathBuf,
    /// The path with symbolic links resolved.
    path: PathBuf,
    document: Document,
    known: JournalOverlay,
}

/// The journal and the entries that a real run would add to it.
#[derive(Debug)]
struct JournalOverlay {
    journal: Journal,
    new: Vec<(CellsHash, Message)>,
}

impl KnownMessages for JournalOverlay {
    fn get(&self, cells: CellsHash) -> Option<Message> {
        let new = self.new.iter().find(|(known, _)| *known == cells);
        new.map(|(_, message)| message.clone())
            .or_else(|| self.journal.get(cells))
    }

    fn is_empty(&self) -> bool {
        self.new.is_empty() && self.journal.is_empty()
    }
}

impl FileAccess {
    /// Opens and locks a file, or prepares to create it. Waits for another writer as long as `patience`.
    pub(super) fn open(
        path: &Path,
        places: &StoreFolders,
        patience: Duration,
    ) -> Result<FileAccess, StoreError> {
        let file = LockedFile::open_within(path, places, patience)?;
        Ok(FileAccess::Locked(Box::new(file)))
    }

    /// A document as if it were the content of the file at `path`.
    pub(super) fn in_memory(path: &Path, document: Document, places: &StoreFolders) -> FileAccess {
        let name = path.to_path_buf();
        let path = real_path(&Disk, path).unwrap_or_else(|_| name.clone());
        let known = JournalOverlay {
            journal: Journal::new(places),
            new: Vec::new(),
        };
        FileAccess::Memory(Box::new(MemoryFile {
            name,
            path,
            document,
            known,
        }))
    }

    /// The locked file. Fails for a file in memory.
    pub(super) fn locked(&mut self) -> Result<&mut LockedFile, StoreError> {
        match self {
            FileAccess::Locked(file) => Ok(file),
            FileAccess::Memory(file) => Err(StoreError::InvalidState {
                path: file.path.clone(),
            }),
        }
    }

    pub(super) fn path(&self) -> &Path {
        match self {
            FileAccess::Locked(file) => file.path(),
            FileAccess::Memory(file) => &file.path,
        }
    }

    /// The path that message ids are derived from, unless the file names a session. A dry run derives the same ids as
    /// commands that only read.
    pub(super) fn session_name(&self) -> &Path {
        match self {
            FileAccess::Locked(file) => file.path(),
            FileAccess::Memory(file) => &file.name,
        }
    }

    pub(super) fn document(&self) -> &Document {
        match self {
            FileAccess::Locked(file) => file.document(),
            FileAccess::Memory(file) => &file.document,
        }
    }

    pub(super) fn into_document(self) -> Document {
        match self {
            FileAccess::Locked(file) => file.into_document(),
            FileAccess::Memory(file) => file.document,
        }
    }

    pub(super) fn journal(&self) -> &Journal {
        match self {
            FileAccess::Locked(file) => file.journal(),
            FileAccess::Memory(file) => &file.known.journal,
        }
    }

    pub(super) fn other_versions(&self) -> &[PathBuf] {
        match self {
            FileAccess::Locked(file) => file.other_versions(),
            FileAccess::Memory(_) => &[],
        }
    }

    pub(super) fn recovered(&self) -> &[RecoveredAnswer] {
        match self {
            FileAccess::Locked(file) => file.recovered(),
            FileAccess::Memory(_) => &[],
        }
    }

    /// What is known about messages beyond their cells.
    pub(super) fn known(&self) -> &dyn KnownMessages {
        match self {
            FileAccess::Locked(file) => file.journal(),
            FileAccess::Memory(file) => &file.known,
        }
    }

    /// Changes the file. `change` may run again if the file changed meanwhile.
    pub(super) fn try_edit<E: From<StoreError>>(
        &mut self,
        mut change: impl FnMut(&Document) -> Result<Splice, E>,
    ) -> Result<(), E> {
        match self {
            FileAccess::Locked(file) => file.try_edit(change),
            FileAccess::Memory(file) => {
                let splice = change(&file.document)?;
                file.put(&splice);
                Ok(())
            }
        }
    }

    /// Changes the file, with what the journal knows about its messages.
    pub(super) fn try_edit_knowing(
        &mut self,
        mut change: impl FnMut(&Document, &dyn KnownMessages) -> Result<Splice, StoreError>,
    ) -> Result<(), StoreError> {
        match self {
            FileAccess::Locked(file) => {
                let journal = file.journal().clone();
                file.try_edit(|document| change(document, &journal))
            }
            FileAccess::Memory(file) => {
                let splice = change(&file.document, &file.known)?;
                file.put(&splice);
                Ok(())
            }
        }
    }

    /// Adds messages. The journal stores what their cells do not say before the file changes.
    pub(super) fn try_edit_keeping(
        &mut self,
        mut change: impl FnMut(&Document, &dyn KnownMessages) -> Result<AddedMessages, StoreError>,
    ) -> Result<(), StoreError> {
        match self {
            FileAccess::Locked(file) => {
                let journal = file.journal().clone();
                let path = file.path().to_path_buf();
                file.try_edit(|document| {
                    let added = change(document, &journal)?;
                    for (cells, message) in &added.partial {
                        journal.save_message(&path, *cells, message)?;
                    }
                    Ok(added.splice)
                })
            }
            FileAccess::Memory(file) => {
                let added = change(&file.document, &file.known)?;
                file.known.new.extend(added.partial);
                file.put(&added.splice);
                Ok(())
            }
        }
    }
}

impl MemoryFile {
    fn put(&mut self, splice: &Splice) {
        self.document = self
            .document
            .with_source(splice.apply(self.document.source()));
    }
}
