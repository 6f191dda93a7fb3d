//! A message file for programs: load it, change it in memory, and save all changes in one step. No lock is held
//! meanwhile; see [`LockedFile`] for changes under a lock.

use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use analects_formats::msgfile::item::{Draft, Renames};
use analects_formats::msgfile::{self, Document, Splice};

use crate::locked_file::{read_on, real_path};
use crate::vfs::{Disk, Vfs};
use crate::{LockedFile, StoreError, StoreFolders};

/// The time for which a save waits for another process that writes to the file.
const PATIENCE: Duration = Duration::from_secs(10);

/// A message file with unsaved changes. It dereferences to a [`Draft`], which has the methods to read and change
/// items: agents, messages, function calls, outputs and tools.
///
/// No lock is held between loading and saving. If another program writes to the file meanwhile, a save merges both, and
/// returns the cells that it had to rename.
///
/// ```
/// use analects_core::Agent;
/// use analects_formats::msgfile::item::{Message, MessageItem};
/// use analects_store::{MessageFile, StoreFolders};
///
/// let folder = tempfile::tempdir()?;
/// let folders = StoreFolders::in_folder(folder.path());
/// let path = folder.path().join("talk.msg.md");
///
/// let mut file = MessageFile::load(&path, &folders)?;
/// file.add_agent_with_definition("coder", &Agent::of_model("coder", "openai/gpt-5-mini"))?;
/// let name = file.add_message_text("Six times seven?".into(), None, None, None, None)?.name().to_string();
/// file.save()?;
///
/// let file = MessageFile::load(&path, &folders)?;
/// assert_eq!(file.default_agent().unwrap().name, "coder");
/// let item = file.item(&*name).unwrap();
/// assert_eq!(item.as_message().unwrap().text(), Some("Six times seven?"));
/// assert_eq!(file.items().len(), 1);
/// assert!(file.item(7).is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct MessageFile {
    vfs: Arc<dyn Vfs>,
    folders: StoreFolders,
    /// The path as the caller passed it.
    path: PathBuf,
    /// The path without symbolic links.
    real_path: PathBuf,
    /// Whether the file existed when it was loaded.
    existed: bool,
    /// The content with the unsaved changes.
    draft: Draft,
}

impl MessageFile {
    /// Reads a message file. A file that does not exist yet is empty; [`MessageFile::save`] creates it.
    pub fn load(path: &Path, folders: &StoreFolders) -> Result<MessageFile, StoreError> {
        MessageFile::load_on(Arc::new(Disk), path, folders)
    }

    /// Reads a message file on any file system.
    pub fn load_on(
        vfs: Arc<dyn Vfs>,
        path: &Path,
        folders: &StoreFolders,
    ) -> Result<MessageFile, StoreError> {
        let real_path = real_path(&*vfs, path)?;
        let (document, existed) = read(&*vfs, &real_path)?;
        Ok(MessageFile {
            vfs,
            folders: folders.clone(),
            path: path.to_path_buf(),
            real_path,
            existed,
            draft: Draft::new(document),
        })
    }

    /// Reads the file again and discards unsaved changes.
    ///
    /// ```
    /// # use analects_store::{MessageFile, StoreFolders};
    /// # let folder = tempfile::tempdir()?;
    /// # let folders = StoreFolders::in_folder(folder.path());
    /// let path = folder.path().join("talk.msg.md");
    /// let mut file = MessageFile::load(&path, &folders)?;
    /// std::fs::write(&path, "# %%\n\nTyped by hand\n")?;
    /// file.reload()?;
    /// assert_eq!(file.items().len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "load")]
    pub fn reload(&mut self) -> Result<(), StoreError> {
        let (document, existed) = read(&*self.vfs, &self.real_path)?;
        self.draft = Draft::new(document);
        self.existed = existed;
        Ok(())
    }

    /// The path under which the file was loaded.
    ///
    /// ```
    /// # use analects_store::{MessageFile, StoreFolders};
    /// # let folder = tempfile::tempdir()?;
    /// # let folders = StoreFolders::in_folder(folder.path());
    /// let path = folder.path().join("talk.msg.md");
    /// assert_eq!(MessageFile::load(&path, &folders)?.path(), path);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "get_path")]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Saves all changes in one step, or none of them. When this returns, they survive a power cut.
    ///
    /// If another program has written to the file since it was loaded, the changes are applied to the current version.
    /// This works if our changes only add cells, or if the other program only added cells. New cells whose numbers are
    /// taken get new ones; the result maps the old names of all unsaved cells to the new ones, and is empty if nothing
    /// was in the way. Otherwise nothing is written, and [`StoreError::Conflict`] has both versions.
    ///
    /// ```
    /// # use analects_store::{MessageFile, StoreFolders};
    /// # let folder = tempfile::tempdir()?;
    /// # let folders = StoreFolders::in_folder(folder.path());
    /// # let path = folder.path().join("talk.msg.md");
    /// std::fs::write(&path, "---\nagents:\n  coder:\n    models: [openai/gpt-5]\n---\n")?;
    /// let mut ours = MessageFile::load(&path, &folders)?;
    /// let mut theirs = MessageFile::load(&path, &folders)?;
    /// ours.add_message_text("Ours".into(), None, None, None, None)?;
    /// theirs.add_message_text("Theirs".into(), None, None, None, None)?;
    /// theirs.save()?;
    /// let renames = ours.save()?;
    /// assert_eq!(renames.get("1"), Some("2"));
    /// assert_eq!(ours.items().len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn save(&mut self) -> Result<Renames, StoreError> {
        if !self.draft.has_changes() {
            return Ok(Renames::default());
        }
        let vfs = self.vfs.clone();
        let mut file = LockedFile::open_on(vfs, &self.path, &self.folders, PATIENCE)?;
        if self.existed && !file.exists() {
            return Err(StoreError::NotFound {
                path: self.path.clone(),
            });
        }
        let mut renames = Renames::default();
        file.try_edit(|document| {
            let splice;
            (splice, renames) = self.change_of(document)?;
            Ok::<_, StoreError>(splice)
        })?;
        self.draft = Draft::new(file.into_document());
        self.existed = true;
        Ok(renames)
    }

    /// Returns the change that saves the draft to a file with this content, and the cells that it renames.
    fn change_of(&self, document: &Document) -> Result<(Splice, Renames), StoreError> {
        if document.source() == self.draft.base().source() {
            return Ok((splice(&self.draft), Renames::default()));
        }
        let current = document.with_source(document.source().to_vec());
        let (draft, renames) = self
            .draft
            .rebase(current)
            .map_err(|conflict| self.conflict(conflict))?;
        Ok((splice(&draft), renames))
    }

    /// Adds the path to a conflict.
    fn conflict(&self, conflict: msgfile::item::Conflict) -> StoreError {
        StoreError::Conflict {
            path: self.path.clone(),
            conflict: Box::new(conflict),
        }
    }
}

impl Deref for MessageFile {
    type Target = Draft;

    fn deref(&self) -> &Draft {
        &self.draft
    }
}

impl DerefMut for MessageFile {
    fn deref_mut(&mut self) -> &mut Draft {
        &mut self.draft
    }
}

/// Returns the change from the base of a draft to its current text.
fn splice(draft: &Draft) -> Splice {
    Splice::between(draft.base().source(), draft.document().source())
}

/// Reads a file, and returns whether it exists; one that does not is empty.
fn read(vfs: &dyn Vfs, path: &Path) -> Result<(Document, bool), StoreError> {
    match read_on(vfs, path) {
        Ok((document, _)) => Ok((document, true)),
        Err(error) if error.is_not_found() => {
            let document = msgfile::decode_named(*b"", &path.to_string_lossy());
            Ok((document, false))
        }
        Err(error) => Err(error),
    }
}
