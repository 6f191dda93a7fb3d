//! A session that is recorded as a whole: it becomes visible only after all of it is synced.
//!
//! A session is listed by the file of its main chain. Until the session is complete, that file has a hidden name. The
//! side chains are already at their places, where nobody looks without a main chain. One rename makes everything
//! visible. The remains of a kill are found by the hidden name, and the next new session removes them.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use analects_core::Message;

use super::writer::{ChainWriter, sync_folders};
use super::{JsonlStore, index};
use crate::error::cannot;
use crate::folders::create_private_folder;
use crate::sessions::{ChainName, NewSession, TranscriptStore};
use crate::vfs::{OpenMode, Vfs, folder_of};
use crate::{StoreError, StoreFolders};

/// The prefix of a chain that has not got its first records yet.
const CHAIN: &str = ".chain-";
/// The prefix of the main chain of an incomplete session.
const SESSION: &str = ".session-";
/// The number of bytes of records that are written at once.
const BATCH: usize = 1 << 20;

/// Returns the hidden name of a chain that has not got its first records yet.
pub(super) fn hidden_chain(path: &Path) -> PathBuf {
    hidden(path, CHAIN)
}

/// Returns the path of a hidden file, beside its final path.
fn hidden(path: &Path, prefix: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{prefix}{name}"))
}

/// A session that is being recorded. Dropping it before [`NewSession::finish`] removes everything.
#[derive(Debug)]
pub(super) struct HiddenSession<'s> {
    store: &'s JsonlStore,
    name: ChainName,
    /// The final path of the main chain.
    path: PathBuf,
    /// The path of the main chain until then.
    hidden: PathBuf,
    /// The length of each chain in bytes, by its agent.
    lengths: BTreeMap<Option<String>, u64>,
    /// Whether a write failed, so that the session is incomplete.
    has_failed: bool,
    /// Whether the session is visible, so that dropping this removes nothing.
    is_finished: bool,
    /// Keeps [`clear_up`] away.
    _lock: ChainWriter,
}

impl<'s> HiddenSession<'s> {
    /// Creates an empty hidden session; an error if a session of this name exists.
    pub(super) fn begin(
        store: &'s JsonlStore,
        name: &ChainName,
    ) -> Result<HiddenSession<'s>, StoreError> {
        let name = name.main();
        let path = store.path(&name)?;
        let folder = folder_of(&path);
        create_private_folder(&*store.vfs, folder)?;
        let lock = ChainWriter::lock_alone(&store.vfs, &store.folders, &path)?;
        let is_taken = store.vfs.metadata(&path).is_ok() || !store.side_chains(&name)?.is_empty();
        if is_taken {
            let why = "there is a session of this name".to_string();
            return Err(StoreError::Refused { path, why });
        }
        clear_up(&store.vfs, &store.folders, folder);
        let hidden = hidden(&path, SESSION);
        let _ = store.vfs.remove(&hidden);
        store
            .vfs
            .open(&hidden, OpenMode::Private)
            .map_err(cannot("create", &hidden))?;
        // Synced before any side chain is written, so that the remains after a power cut are recognised.
        let synced = store
            .vfs
            .sync_folder(folder)
            .map_err(cannot("sync this folder", folder));
        let session = HiddenSession {
            store,
            name,
            path,
            hidden,
            lengths: BTreeMap::new(),
            has_failed: false,
            is_finished: false,
            _lock: lock,
        };
        synced.map(|()| session)
    }

    /// Appends records to a chain, without a sync.
    fn write(&mut self, agent: Option<&str>, records: &[Message]) -> Result<(), StoreError> {
        let vfs = &self.store.vfs;
        let known_length = self.lengths.get(&agent.map(str::to_string)).copied();
        let path = self.chain_path(agent)?;
        let mut how = OpenMode::Append;
        if agent.is_some() {
            create_private_folder(&**vfs, folder_of(&path))?;
            // Only the first write may create a side chain: one that was removed since must not start again.
            if known_length.is_none() {
                how = OpenMode::Private;
            }
        }
        let mut file = vfs.open(&path, how).map_err(cannot("open", &path))?;
        let mut length = known_length.unwrap_or(0);
        let mut lines = String::new();
        for (at, record) in records.iter().enumerate() {
            self.store.encode(&mut lines, record)?;
            if lines.len() > BATCH || at + 1 == records.len() {
                file.write_all(lines.as_bytes())
                    .map_err(cannot("write", &path))?;
                length += lines.len() as u64;
                lines.clear();
            }
        }
        self.lengths.insert(agent.map(str::to_string), length);
        Ok(())
    }

    /// Returns the current path of a chain.
    fn chain_path(&self, agent: Option<&str>) -> Result<PathBuf, StoreError> {
        match agent {
            None => Ok(self.hidden.clone()),
            Some(agent) => self.store.path(&self.name.side(agent)),
        }
    }

    /// Syncs each chain once.
    fn sync(&self) -> Result<(), StoreError> {
        for agent in self.lengths.keys() {
            let path = self.chain_path(agent.as_deref())?;
            let file = self
                .store
                .vfs
                .open(&path, OpenMode::Append)
                .map_err(cannot("open", &path))?;
            file.sync().map_err(cannot("sync", &path))?;
        }
        Ok(())
    }

    /// Renames the main chain after the names of the side chains are synced.
    fn make_visible(&self) -> Result<(), StoreError> {
        let vfs = &*self.store.vfs;
        if self.lengths.keys().any(Option::is_some) {
            let sides = self.path.with_extension("");
            vfs.sync_folder(&sides)
                .map_err(cannot("sync this folder", &sides))?;
            let folder = folder_of(&self.path);
            vfs.sync_folder(folder)
                .map_err(cannot("sync this folder", folder))?;
        }
        vfs.rename(&self.hidden, &self.path)
            .map_err(cannot("create", &self.path))?;
        let synced = sync_folders(vfs, &self.path, &self.store.folders.data);
        if synced.is_err() {
            let _ = vfs.rename(&self.path, &self.hidden);
        }
        synced
    }
}

impl NewSession for HiddenSession<'_> {
    fn append(&mut self, agent: Option<&str>, records: &[Message]) -> Result<(), StoreError> {
        let written = self.write(agent, records);
        self.has_failed |= written.is_err();
        written
    }

    fn finish(mut self: Box<Self>) -> Result<(), StoreError> {
        let has_main = self.lengths.get(&None).is_some_and(|length| *length > 0);
        if self.has_failed || !has_main {
            return Err(StoreError::InvalidState {
                path: self.path.clone(),
            });
        }
        self.sync()?;
        self.make_visible()?;
        self.is_finished = true;
        let vfs = &self.store.vfs;
        for (agent, length) in &self.lengths {
            let chain = ChainName {
                agent: agent.clone(),
                ..self.name.clone()
            };
            if let Ok(path) = self.store.path(&chain) {
                index::update(&**vfs, &path, *length, self.store.limits());
            }
        }
        Ok(())
    }
}

impl Drop for HiddenSession<'_> {
    fn drop(&mut self) {
        if !self.is_finished {
            // Remains are invisible, and the next new session tries again.
            let _ = remove_session(&*self.store.vfs, &self.path, &self.hidden);
        }
    }
}

/// Removes the remains of new chains and sessions in the folder of a project whose writers were killed. Errors are
/// ignored: remains are invisible, and the next call tries again.
pub(super) fn clear_up(vfs: &Arc<dyn Vfs>, folders: &StoreFolders, folder: &Path) {
    for hidden in vfs.list(folder).unwrap_or_default() {
        let name = hidden
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let chain = name.strip_prefix(CHAIN).map(|name| folder.join(name));
        let session = name.strip_prefix(SESSION).map(|name| folder.join(name));
        let Some(path) = chain.as_ref().or(session.as_ref()) else {
            continue;
        };
        // A writer that is still working on it holds its lock.
        let Ok(Some(_lock)) = ChainWriter::try_lock_alone(vfs, folders, path) else {
            continue;
        };
        let _ = match session {
            Some(path) => remove_session(&**vfs, &path, &hidden),
            None => vfs.remove(&hidden),
        };
    }
}

/// Removes a session that never became visible. The hidden name goes last, because it marks the side chains as remains.
fn remove_session(vfs: &dyn Vfs, path: &Path, hidden: &Path) -> io::Result<()> {
    let is_visible = vfs.metadata(path).is_ok();
    if !is_visible {
        let folder = path.with_extension("");
        match vfs.list(&folder) {
            Ok(sides) => {
                sides.iter().try_for_each(|side| vfs.remove(side))?;
                vfs.remove_folder(&folder)?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    vfs.remove(hidden)
}
