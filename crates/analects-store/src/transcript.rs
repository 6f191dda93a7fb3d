//! A single session with a minimal interface: read all of it, append a message. For everything else, see
//! [`Session`](crate::Session).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use analects_core::{Message, SessionId};
use analects_formats::{DecodedFile, transcript};

use crate::error::cannot;
use crate::sessions::{ChainName, TranscriptStore};
use crate::vfs::{Disk, OpenMode, Vfs};
use crate::{JsonlStore, StoreError, StoreFolders};

/// A session on disk, one message per line, that only ever grows.
///
/// ```
/// use std::path::Path;
///
/// use analects_core::Message;
/// use analects_store::{StoreFolders, Transcript};
///
/// let folder = tempfile::tempdir()?;
/// let folders = StoreFolders::in_folder(&folder);
/// let project = Path::new("/projects/notes");
/// let transcript = Transcript::of_session(&folders, project, &"talk".into());
/// transcript.append(&Message::user("1", "Hello"))?;
/// assert_eq!(Transcript::latest(&folders, project)?.path(), transcript.path());
/// assert_eq!(transcript.read()?.messages[0].text(), "Hello");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Transcript {
    /// The file system for reading; the store has its own reference.
    vfs: Arc<dyn Vfs>,
    store: Arc<JsonlStore>,
    name: ChainName,
    path: PathBuf,
    folders: StoreFolders,
}

impl Transcript {
    /// Returns the transcript of a session of a project. The first message creates the file.
    pub fn of_session(folders: &StoreFolders, project: &Path, session: &SessionId) -> Transcript {
        let path = folders
            .sessions_folder(project)
            .join(format!("{}.jsonl", &**session));
        let name = ChainName::new(StoreFolders::project_name(project), session.clone());
        let store = Arc::new(JsonlStore::new(folders));
        Transcript {
            vfs: Arc::new(Disk),
            store,
            name,
            path,
            folders: folders.clone(),
        }
    }

    /// Uses another file system.
    pub fn with_vfs(self, vfs: Arc<dyn Vfs>) -> Transcript {
        let store = Arc::new(JsonlStore::with_vfs(Arc::clone(&vfs), &self.folders));
        Transcript { vfs, store, ..self }
    }

    /// Returns the session of a project that changed last.
    pub fn latest(folders: &StoreFolders, project: &Path) -> Result<Transcript, StoreError> {
        let project_name = StoreFolders::project_name(project);
        let sessions = JsonlStore::new(folders).list(Some(&project_name))?;
        let Some(latest) = sessions.first() else {
            return Err(StoreError::NotFound {
                path: folders.sessions_folder(project),
            });
        };
        Ok(Transcript::of_session(
            folders,
            project,
            &latest.name.session,
        ))
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The id of the session.
    pub fn session(&self) -> SessionId {
        self.name.session.clone()
    }

    /// Reads the whole transcript; one that does not exist yet is empty. Never writes.
    pub fn read(&self) -> Result<DecodedFile, StoreError> {
        let bytes = self
            .vfs
            .open(&self.path, OpenMode::Read)
            .and_then(|mut file| file.read_from(0))
            .map_err(cannot("read", &self.path));
        match bytes {
            Err(error) if error.is_not_found() => Ok(DecodedFile::default()),
            bytes => Ok(transcript::decode(&bytes?)),
        }
    }

    /// Appends a message with one write and one sync. When this returns, the message survives a power cut.
    pub fn append(&self, message: &Message) -> Result<(), StoreError> {
        self.store.append(&self.name, std::slice::from_ref(message))
    }
}
