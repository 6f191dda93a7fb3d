//! Announcements of questions that are being answered. The answer of such a question is still missing, so nobody else
//! continues the chain after it.
//!
//! Each announcement is a file in the state folder, locked by the process that asks. The system releases the lock when
//! the process dies, so nothing needs to be cleaned up after a kill. These files are created and checked under the lock
//! of the chain: a question is announced before it is written, and the announcement ends after its answer is.

use std::any::Any;
use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use analects_core::MessageId;
use analects_formats::transcript::OwnedLink;

use super::JsonlStore;
use super::writer::ChainWriter;
use crate::StoreError;
use crate::error::cannot;
use crate::folders::{create_private_folder, name_in_state};
use crate::sessions::{ChainName, last_record, visit_links_backward};
use crate::vfs::Vfs;

/// The announcement of a question. Dropping it ends the announcement.
#[derive(Debug)]
struct Announcement {
    vfs: Arc<dyn Vfs>,
    /// The file that other processes see.
    file: PathBuf,
    /// `None` if another process has announced the same question.
    lock: Option<Box<dyn Any + Send + Sync>>,
}

impl Drop for Announcement {
    fn drop(&mut self) {
        if self.lock.is_some() {
            // A file that stays has no lock, so it looks like that of a dead process.
            let _ = self.vfs.remove(&self.file);
        }
    }
}

/// Announces a question of a chain until the result is dropped.
pub(super) fn announce(
    store: &JsonlStore,
    of: &ChainName,
    question: &str,
) -> Result<Box<dyn Any + Send + Sync>, StoreError> {
    let path = store.path(of)?;
    let folder = announcements_folder(store);
    create_private_folder(&*store.vfs, &folder)?;
    let _chain_lock = ChainWriter::lock_alone(&store.vfs, &store.folders, &path)?;
    let file = folder.join(format!("{}.{}", name_in_state(&path), hash_of_id(question)));
    let lock = store.vfs.lock(&file).map_err(cannot("lock", &file))?;
    Ok(Box::new(Announcement {
        vfs: Arc::clone(&store.vfs),
        file,
        lock,
    }))
}

/// Returns the message that the next one follows: the last one that does not belong to an announced question.
pub(super) fn leaf(store: &JsonlStore, of: &ChainName) -> Result<Option<MessageId>, StoreError> {
    let path = store.path(of)?;
    let leaf = last_record(store, of)?;
    // Usually nothing is announced, and a mere reader takes no lock. If the leaf is the same afterwards, nothing was
    // announced before either.
    if announcements(store, &path)?.is_empty() && last_record(store, of)? == leaf {
        return Ok(leaf);
    }
    let _chain_lock = ChainWriter::lock_alone(&store.vfs, &store.folders, &path)?;
    let mut announced = HashSet::new();
    for file in announcements(store, &path)? {
        if store
            .vfs
            .lock(&file)
            .map_err(cannot("lock", &file))?
            .is_some()
        {
            // The process that announced it is dead.
            let _ = store.vfs.remove(&file);
        } else if let Some((_, id_hash)) = file.to_string_lossy().rsplit_once('.') {
            announced.insert(id_hash.to_string());
        }
    }
    last_finished(store, of, &announced)
}

/// Returns the last record that can end the chain and does not follow an announced question. The questions are given by
/// the hashes of their ids.
fn last_finished(
    store: &JsonlStore,
    of: &ChainName,
    announced: &HashSet<String>,
) -> Result<Option<MessageId>, StoreError> {
    let agent = of.agent.as_deref();
    let mut missing = announced.len();
    // The records after the first question, last one first.
    let mut later: Vec<OwnedLink> = Vec::new();
    let mut leaf = None;
    visit_links_backward(store, of, &mut |link| {
        if missing == 0 && can_end_chain(&link, agent) {
            leaf = Some(MessageId::from(link.link().id));
            return false;
        }
        if missing > 0 {
            missing -= usize::from(announced.contains(&hash_of_id(link.link().id)));
            later.push(link);
        }
        true
    })?;
    let mut unfinished: HashSet<&str> = HashSet::new();
    for owned in later.iter().rev() {
        let link = owned.link();
        let follows_unfinished = link
            .parent
            .is_some_and(|parent| unfinished.contains(parent));
        if follows_unfinished || announced.contains(&hash_of_id(link.id)) {
            unfinished.insert(link.id);
        } else if can_end_chain(owned, agent) {
            leaf = Some(link.id.into());
        }
    }
    Ok(leaf)
}

/// Returns whether a record of this agent can be the last one of its chain.
fn can_end_chain(link: &OwnedLink, agent: Option<&str>) -> bool {
    let link = link.link();
    link.agent == agent && link.can_be_leaf()
}

/// The folder with the announcements of all chains.
fn announcements_folder(store: &JsonlStore) -> PathBuf {
    store.folders.announcements_folder()
}

/// Lists the announcements of a chain.
fn announcements(store: &JsonlStore, path: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let folder = announcements_folder(store);
    let start = format!("{}.", name_in_state(path));
    match store.vfs.list(&folder) {
        Ok(mut files) => {
            files.retain(|file| {
                let name = file.file_name().unwrap_or_default();
                name.to_string_lossy().starts_with(&start)
            });
            Ok(files)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(cannot("read this folder", &folder)(error)),
    }
}

/// Returns the hash of a message id, for file names. An id itself may hold any character.
fn hash_of_id(id: &str) -> String {
    name_in_state(Path::new(id))
}
