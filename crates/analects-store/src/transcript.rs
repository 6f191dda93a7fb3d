//! A conversation in the store, with the least around it: one message a line, only ever appended to.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use analects_core::{Message, SessionId};
use analects_formats::{DecodedFile, transcript};

use crate::error::to;
use crate::sessions::{ChainName, TranscriptStore};
use crate::vfs::{Disk, Open, Vfs};
use crate::{JsonlStore, Places, StoreError};

/// A conversation in the store.
#[derive(Debug, Clone)]
pub struct Transcript {
    vfs: Arc<dyn Vfs>,
    store: Arc<JsonlStore>,
    name: ChainName,
    path: PathBuf,
    places: Places,
}

impl Transcript {
    /// The transcript of a session of a project; the first message makes the file.
    pub fn of_session(places: &Places, project: &Path, session: &SessionId) -> Transcript {
        let path = places
            .sessions(project)
            .join(format!("{}.jsonl", &**session));
        let name = ChainName::new(Places::project(project), session.clone());
        let store = Arc::new(JsonlStore::new(places));
        Transcript {
            vfs: Arc::new(Disk),
            store,
            name,
            path,
            places: places.clone(),
        }
    }

    /// The same transcript on another file system.
    pub fn on(self, vfs: Arc<dyn Vfs>) -> Transcript {
        let store = Arc::new(JsonlStore::on(Arc::clone(&vfs), &self.places));
        Transcript { vfs, store, ..self }
    }

    /// The session of a project that was written to last.
    pub fn latest(places: &Places, project: &Path) -> Result<Transcript, StoreError> {
        let listed = JsonlStore::new(places).list(Some(&Places::project(project)))?;
        let latest = listed.into_iter().next();
        let latest = latest.ok_or_else(|| StoreError::NotFound {
            path: places.sessions(project),
        })?;
        Ok(Transcript::of_session(
            places,
            project,
            &latest.name.session,
        ))
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The session's name.
    pub fn session(&self) -> SessionId {
        self.name.session.clone()
    }

    /// Reads all of it; a transcript that is not there yet holds nothing. Never writes.
    pub fn read(&self) -> Result<DecodedFile, StoreError> {
        let file = self.vfs.open(&self.path, Open::Read);
        match file
            .and_then(|mut file| file.read_from(0))
            .map_err(to("read", &self.path))
        {
            Err(error) if error.is_not_found() => Ok(DecodedFile::default()),
            bytes => Ok(transcript::decode(&bytes?)),
        }
    }

    /// Adds a message: one write, then a sync. When this returns, it survives a power cut.
    pub fn append(&self, message: &Message) -> Result<(), StoreError> {
        self.store.append(&self.name, std::slice::from_ref(message))
    }
}
