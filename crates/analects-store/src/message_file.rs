//! A message file as a program works with it: read once, changed in memory as often as one likes, and
//! saved in one step.

use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use analects_formats::msgfile::item::{Draft, Renames};
use analects_formats::msgfile::{self, Document, Splice};

use crate::locked_file::{read_on, real_path};
use crate::vfs::{Disk, Vfs};
use crate::{LockedFile, Places, StoreError};

/// How long a save waits for another process that writes to the file.
const PATIENCE: Duration = Duration::from_secs(10);

/// A message file with unsaved changes. What it holds and what can be changed is said by [`Draft`],
/// which this leads to: items, agents, messages, function calls, outputs, tools.
///
/// No lock is held between loading and saving. Somebody else may write to the file meanwhile; a save
/// then puts both together, and says which of its cells had to get other names.
///
/// ```
/// use analects_core::Agent;
/// use analects_formats::msgfile::item::{Message, MessageItem};
/// use analects_store::{MessageFile, Places};
///
/// let folder = tempfile::tempdir()?;
/// let places = Places::in_folder(folder.path());
/// let path = folder.path().join("talk.msg.md");
///
/// let mut file = MessageFile::load(&path, &places)?;
/// file.add_agent_with_definition("coder", &Agent::of_model("coder", "openai/gpt-5-mini"))?;
/// let name = file.add_message_text("Six times seven?".into(), None, None, None, None)?.name().to_string();
/// file.save()?;
///
/// let file = MessageFile::load(&path, &places)?;
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
    places: Places,
    /// The path by which the person knows the file, and where that leads.
    path: PathBuf,
    real_path: PathBuf,
    /// Whether there was a file when it was loaded.
    existed: bool,
    draft: Draft,
}

impl MessageFile {
    /// Reads a message file. One that is not there yet is empty, and is made by [`MessageFile::save`].
    pub fn load(path: &Path, places: &Places) -> Result<MessageFile, StoreError> {
        MessageFile::load_on(Arc::new(Disk), path, places)
    }

    /// The same on any file system.
    pub fn load_on(
        vfs: Arc<dyn Vfs>,
        path: &Path,
        places: &Places,
    ) -> Result<MessageFile, StoreError> {
        let real_path = real_path(&*vfs, path)?;
        let (document, existed) = read(&*vfs, &real_path)?;
        let (path, places, draft) = (path.to_path_buf(), places.clone(), Draft::new(document));
        Ok(MessageFile {
            vfs,
            places,
            path,
            real_path,
            existed,
            draft,
        })
    }

    /// Reads the file again. Changes that were not saved are given up.
    ///
    /// ```
    /// # use analects_store::{MessageFile, Places};
    /// # let folder = tempfile::tempdir()?;
    /// # let places = Places::in_folder(folder.path());
    /// let path = folder.path().join("talk.msg.md");
    /// let mut file = MessageFile::load(&path, &places)?;
    /// std::fs::write(&path, "# %%\n\nTyped by hand\n")?;
    /// file.reload()?;
    /// assert_eq!(file.items().len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "load")]
    pub fn reload(&mut self) -> Result<(), StoreError> {
        let (document, existed) = read(&*self.vfs, &self.real_path)?;
        (self.draft, self.existed) = (Draft::new(document), existed);
        Ok(())
    }

    /// Where the file is, by the name that it was loaded under.
    ///
    /// ```
    /// # use analects_store::{MessageFile, Places};
    /// # let folder = tempfile::tempdir()?;
    /// # let places = Places::in_folder(folder.path());
    /// let path = folder.path().join("talk.msg.md");
    /// assert_eq!(MessageFile::load(&path, &places)?.path(), path);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "get_path")]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Saves all changes in one step, or none of them. When this returns, they survive a power cut.
    ///
    /// If somebody else has written to the file since it was loaded, the changes are made anew on
    /// what it holds now, where that is possible: if all of them only add cells, or the others only
    /// did. Cells that others have taken the numbers of get new ones; the answer has the names of all
    /// unsaved cells, old and new, and is empty where nothing was in the way. Where it is not possible,
    /// nothing is written, and [`StoreError::Conflict`] has both versions.
    ///
    /// ```
    /// # use analects_store::{MessageFile, Places};
    /// # let folder = tempfile::tempdir()?;
    /// # let places = Places::in_folder(folder.path());
    /// # let path = folder.path().join("talk.msg.md");
    /// std::fs::write(&path, "---\nagents:\n  coder:\n    models: [openai/gpt-5]\n---\n")?;
    /// let mut ours = MessageFile::load(&path, &places)?;
    /// let mut theirs = MessageFile::load(&path, &places)?;
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
        let mut file = LockedFile::open_on(vfs, &self.path, &self.places, PATIENCE)?;
        if self.existed && !file.exists() {
            return Err(StoreError::NotFound {
                path: self.path.clone(),
            });
        }
        let mut renames = Renames::default();
        file.try_edit(|document| {
            let is_same = document.source() == self.draft.base().source();
            if is_same {
                renames = Renames::default();
                return Ok(splice(&self.draft));
            }
            let rebased = self
                .draft
                .rebase(document.with_source(document.source().to_vec()));
            let (draft, changed) = rebased.map_err(|conflict| self.conflict(conflict))?;
            renames = changed;
            Ok::<_, StoreError>(splice(&draft))
        })?;
        (self.draft, self.existed) = (Draft::new(file.into_document()), true);
        Ok(renames)
    }

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

/// What is to be written.
fn splice(draft: &Draft) -> Splice {
    Splice::between(draft.base().source(), draft.document().source())
}

fn read(vfs: &dyn Vfs, path: &Path) -> Result<(Document, bool), StoreError> {
    match read_on(vfs, path) {
        Err(error) if error.is_not_found() => {
            Ok((msgfile::decode_named(*b"", &path.to_string_lossy()), false))
        }
        read => read.map(|(document, _)| (document, true)),
    }
}
