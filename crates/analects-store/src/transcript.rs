//! A conversation in the store: one message a line, only ever appended to.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use analects_core::{Message, SessionId};
use analects_formats::{Decoded, transcript};

use crate::error::to;
use crate::lock::Lock;
use crate::places::create_private_folder;
use crate::vfs::{Disk, Open, Vfs, folder_of};
use crate::{Places, StoreError};

/// How long a message waits for others that are being written.
const PATIENCE: Duration = Duration::from_secs(60);

/// A conversation in the store.
#[derive(Debug, Clone)]
pub struct Transcript {
    vfs: Arc<dyn Vfs>,
    path: PathBuf,
    places: Places,
}

impl Transcript {
    /// The transcript of a session of a project; the first message makes the file.
    pub fn of_session(places: &Places, project: &Path, session: &SessionId) -> Transcript {
        let path = places.sessions(project).join(format!("{}.jsonl", &**session));
        Transcript { vfs: Arc::new(Disk), path, places: places.clone() }
    }

    /// The same transcript on another file system.
    pub fn on(self, vfs: Arc<dyn Vfs>) -> Transcript {
        Transcript { vfs, ..self }
    }

    /// The session of a project that was written to last.
    pub fn latest(places: &Places, project: &Path) -> Result<Transcript, StoreError> {
        let (vfs, folder) = (Arc::new(Disk), places.sessions(project));
        let entries = vfs.list(&folder).map_err(to("read this folder", &folder))?;
        let latest = entries
            .into_iter()
            .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
            .max_by_key(|path| vfs.facts(path).map(|facts| facts.modified).ok());
        let path = latest.ok_or(StoreError::NotFound { path: folder })?;
        Ok(Transcript { vfs, path, places: places.clone() })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The session's name.
    pub fn session(&self) -> SessionId {
        self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned().into()
    }

    /// Reads all of it; a transcript that is not there yet holds nothing. Never writes.
    pub fn read(&self) -> Result<Decoded, StoreError> {
        let file = self.vfs.open(&self.path, Open::Read);
        match file.and_then(|mut file| file.read_from(0)).map_err(to("read", &self.path)) {
            Err(error) if error.is_not_found() => Ok(Decoded::default()),
            bytes => Ok(transcript::decode(&bytes?)),
        }
    }

    /// Adds a message: one write, then a sync. When this returns, it survives a power cut.
    pub fn append(&self, message: &Message) -> Result<(), StoreError> {
        let (vfs, path, folder) = (&*self.vfs, &self.path, folder_of(&self.path));
        create_private_folder(vfs, folder)?;
        let lock = Lock::take(vfs, &self.places, path, PATIENCE)?;
        let _lock = lock.ok_or(StoreError::Locked { path: path.clone() })?;
        let mut file = vfs.open(path, Open::Private).map_err(to("open", path))?;
        let length = file.facts().map_err(to("read", path))?.length;
        let last = file.read_from(length.saturating_sub(1)).map_err(to("read", path))?;
        let mut line = transcript::encode(message);
        if last.last().is_some_and(|byte| *byte != b'\n') {
            // What a crash cut off stays where it is, and must not swallow this line.
            line.insert(0, '\n');
        }
        file.write_all(line.as_bytes()).map_err(to("write", path))?;
        file.sync().map_err(to("sync", path))?;
        if length == 0 {
            // A file without a line may be one whose name was never synced.
            vfs.sync_folder(folder).map_err(to("sync the folder of", path))?;
        }
        Ok(())
    }
}
