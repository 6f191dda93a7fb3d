//! A session that is recorded as a whole: nobody sees it before all of it is there and safe.
//!
//! The file of the main chain is what makes a session listed. Until the session is complete, that file has a hidden
//! name, and the side chains stand in their places, where nobody looks without a main chain. One rename makes all of
//! it visible. What a kill leaves behind is found by the hidden name, and the next new session clears it up.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use analects_core::Message;

use super::writer::{Writer, sync_folders};
use super::{JsonlStore, index};
use crate::error::to;
use crate::places::create_private_folder;
use crate::sessions::{ChainName, NewSession, TranscriptStore};
use crate::vfs::{Open, Vfs, folder_of};
use crate::{Places, StoreError};

/// How a file is called that gets its first records.
const CHAIN: &str = ".chain-";
/// How the main chain of a session is called that is recorded as a whole.
const SESSION: &str = ".session-";
/// How many bytes of records are written at once.
const BATCH: usize = 1 << 20;

/// The hidden name of a file that gets its first records.
pub(super) fn hidden_chain(path: &Path) -> PathBuf {
    hidden(path, CHAIN)
}

fn hidden(path: &Path, prefix: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{prefix}{name}"))
}

/// A session on its way. What was written of it goes when this is dropped before it is finished.
#[derive(Debug)]
pub(super) struct HiddenSession<'s> {
    store: &'s JsonlStore,
    name: ChainName,
    /// Where the main chain will be, and where it is until then.
    path: PathBuf,
    hidden: PathBuf,
    /// How many bytes each chain has, by its agent.
    lengths: BTreeMap<Option<String>, u64>,
    has_failed: bool,
    is_finished: bool,
    /// Tells those who clear up that somebody is at work here.
    _lock: Writer,
}

impl<'s> HiddenSession<'s> {
    pub(super) fn begin(
        store: &'s JsonlStore,
        name: &ChainName,
    ) -> Result<HiddenSession<'s>, StoreError> {
        let name = name.main();
        let path = store.path(&name)?;
        let folder = folder_of(&path);
        create_private_folder(&*store.vfs, folder)?;
        let lock = Writer::lock_alone(&store.vfs, &store.places, &path)?;
        let is_taken = store.vfs.facts(&path).is_ok() || !store.side_chains(&name)?.is_empty();
        if is_taken {
            let why = "there is a session of this name".to_string();
            return Err(StoreError::Refused { path, why });
        }
        clear_up(&store.vfs, &store.places, folder);
        let hidden = hidden(&path, SESSION);
        let _ = store.vfs.remove(&hidden);
        store
            .vfs
            .open(&hidden, Open::Private)
            .map_err(to("create", &hidden))?;
        // Before any side chain, so that what is left after a power cut can be told to be ours.
        let synced = store
            .vfs
            .sync_folder(folder)
            .map_err(to("sync this folder", folder));
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

    fn write(&mut self, agent: Option<&str>, records: &[Message]) -> Result<(), StoreError> {
        let vfs = &self.store.vfs;
        let known = self.lengths.get(&agent.map(str::to_string)).copied();
        let (path, how) = match agent {
            None => (self.hidden.clone(), Open::Append),
            Some(agent) => {
                let path = self.store.path(&self.name.side(agent))?;
                create_private_folder(&**vfs, folder_of(&path))?;
                // One that was there and is gone must not begin anew.
                (
                    path,
                    if known.is_some() {
                        Open::Append
                    } else {
                        Open::Private
                    },
                )
            }
        };
        let mut file = vfs.open(&path, how).map_err(to("open", &path))?;
        let mut length = known.unwrap_or(0);
        let mut lines = String::new();
        for (at, record) in records.iter().enumerate() {
            self.store.encode(&mut lines, record)?;
            if lines.len() > BATCH || at + 1 == records.len() {
                file.write_all(lines.as_bytes())
                    .map_err(to("write", &path))?;
                length += lines.len() as u64;
                lines.clear();
            }
        }
        self.lengths.insert(agent.map(str::to_string), length);
        Ok(())
    }

    /// Makes everything that was appended survive a power cut: each file once, however often something was added to it.
    fn sync(&self) -> Result<(), StoreError> {
        for agent in self.lengths.keys() {
            let path = match agent {
                None => self.hidden.clone(),
                Some(agent) => self.store.path(&self.name.side(agent))?,
            };
            let file = self
                .store
                .vfs
                .open(&path, Open::Append)
                .map_err(to("open", &path))?;
            file.sync().map_err(to("sync", &path))?;
        }
        Ok(())
    }

    /// Gives the main chain its name, once everything else is safe.
    fn show(&self) -> Result<(), StoreError> {
        let vfs = &*self.store.vfs;
        if self.lengths.keys().any(Option::is_some) {
            let sides = self.path.with_extension("");
            vfs.sync_folder(&sides)
                .map_err(to("sync this folder", &sides))?;
            let folder = folder_of(&self.path);
            vfs.sync_folder(folder)
                .map_err(to("sync this folder", folder))?;
        }
        vfs.rename(&self.hidden, &self.path)
            .map_err(to("create", &self.path))?;
        let synced = sync_folders(vfs, &self.path, &self.store.places.data);
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
            return Err(StoreError::Misused {
                path: self.path.clone(),
            });
        }
        self.sync()?;
        self.show()?;
        self.is_finished = true;
        let vfs = &self.store.vfs;
        for (agent, length) in &self.lengths {
            let chain = ChainName {
                agent: agent.clone(),
                ..self.name.clone()
            };
            if let Ok(path) = self.store.path(&chain) {
                index::keep_up(&**vfs, &path, *length, self.store.limits());
            }
        }
        Ok(())
    }
}

impl Drop for HiddenSession<'_> {
    fn drop(&mut self) {
        if !self.is_finished {
            // What cannot be removed is seen by nobody, and the next new session tries again.
            let _ = remove_session(&*self.store.vfs, &self.path, &self.hidden);
        }
    }
}

/// Removes what is left of new chains and sessions of a project whose writers were killed. What cannot be
/// removed stays for the next time: nobody sees it.
pub(super) fn clear_up(vfs: &Arc<dyn Vfs>, places: &Places, folder: &Path) {
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
        // Whoever is still at work on it holds its lock.
        let Ok(Some(_lock)) = Writer::try_lock_alone(vfs, places, path) else {
            continue;
        };
        let _ = match session {
            Some(path) => remove_session(&**vfs, &path, &hidden),
            None => vfs.remove(&hidden),
        };
    }
}

/// Removes a session that never became visible: its side chains first, and last the name by which they are known
/// to belong to nobody.
fn remove_session(vfs: &dyn Vfs, path: &Path, hidden: &Path) -> io::Result<()> {
    let is_visible = vfs.facts(path).is_ok();
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
