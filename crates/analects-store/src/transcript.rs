//! A conversation in the store: one message a line, only ever appended to.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use analects_core::{Message, SessionId};
use analects_formats::{Decoded, transcript};

use crate::error::to;
use crate::lock::Lock;
use crate::places::{create_private_folder, private_file};
use crate::replace::sync_folder;
use crate::{Places, StoreError};

/// A conversation in the store.
#[derive(Debug, Clone)]
pub struct Transcript {
    path: PathBuf,
    places: Places,
}

impl Transcript {
    /// The transcript of a session of a project; the first message makes the file.
    pub fn of_session(places: &Places, project: &Path, session: &SessionId) -> Transcript {
        let path = places.sessions(project).join(format!("{}.jsonl", &**session));
        Transcript { path, places: places.clone() }
    }

    /// The session of a project that was written to last.
    pub fn latest(places: &Places, project: &Path) -> Result<Transcript, StoreError> {
        let folder = places.sessions(project);
        let entries = fs::read_dir(&folder).map_err(to("read this folder", &folder))?;
        let transcripts = entries.filter_map(Result::ok).map(|entry| entry.path());
        let latest = transcripts
            .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
            .max_by_key(|path| fs::metadata(path).and_then(|facts| facts.modified()).ok());
        let path = latest.ok_or(StoreError::NotFound { path: folder })?;
        Ok(Transcript { path, places: places.clone() })
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
        match fs::read(&self.path).map_err(to("read", &self.path)) {
            Err(error) if error.is_not_found() => Ok(Decoded::default()),
            bytes => Ok(transcript::decode(&bytes?)),
        }
    }

    /// Adds a message: one write, then a sync. When this returns, it survives a power cut.
    pub fn append(&self, message: &Message) -> Result<(), StoreError> {
        let path = &self.path;
        create_private_folder(path.parent().unwrap_or(Path::new(".")))?;
        let _lock = Lock::wait(&self.places, path)?;
        let file = private_file().read(true).append(true).create(true).open(path);
        let mut file = file.map_err(to("open", path))?;
        // A file without a line may be one whose name was never synced.
        let is_new = file.metadata().map_err(to("read", path))?.len() == 0;
        let mut line = transcript::encode(message);
        if is_torn(&mut file).map_err(to("read", path))? {
            // What a crash cut off stays where it is, and must not swallow this line.
            line.insert(0, '\n');
        }
        file.write_all(line.as_bytes()).map_err(to("write", path))?;
        file.sync_data().map_err(to("sync", path))?;
        if is_new { sync_folder(path) } else { Ok(()) }
    }
}

/// Whether the file ends in the middle of a line.
fn is_torn(file: &mut File) -> std::io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(false);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last != [b'\n'])
}
