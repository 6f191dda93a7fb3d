//! Questions that are being answered: what follows them is not complete, so nobody else goes on from there.
//!
//! There is a file for each in the state folder, locked by whoever asks. The system gives the lock up when they die,
//! so nothing has to be tidied up after a kill. Files are made and looked at under the lock of the chain: a question
//! is announced before it is written, and given up after its answer is.

use std::any::Any;
use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use analects_core::MessageId;
use analects_formats::transcript::OwnedLink;

use super::JsonlStore;
use super::writer::Writer;
use crate::StoreError;
use crate::error::to;
use crate::places::{create_private_folder, name_in_state};
use crate::sessions::{ChainName, last_record, names_back};
use crate::vfs::Vfs;

/// A question that is being answered, until this is dropped.
#[derive(Debug)]
struct Asking {
    vfs: Arc<dyn Vfs>,
    file: PathBuf,
    /// `None` if somebody else asks the same question, and tells so.
    lock: Option<Box<dyn Any + Send + Sync>>,
}

impl Drop for Asking {
    fn drop(&mut self) {
        if self.lock.is_some() {
            // What stays is taken for the file of somebody who died.
            let _ = self.vfs.remove(&self.file);
        }
    }
}

/// Tells others that a question is being answered.
pub(super) fn announce(
    store: &JsonlStore,
    of: &ChainName,
    question: &str,
) -> Result<Box<dyn Any + Send + Sync>, StoreError> {
    let path = store.path(of)?;
    let folder = folder(store);
    create_private_folder(&*store.vfs, &folder)?;
    let _alone = Writer::lock_alone(&store.vfs, &store.places, &path)?;
    let file = folder.join(format!("{}.{}", name_in_state(&path), name_of(question)));
    let lock = store.vfs.lock(&file).map_err(to("lock", &file))?;
    Ok(Box::new(Asking {
        vfs: Arc::clone(&store.vfs),
        file,
        lock,
    }))
}

/// The message that the next one follows: the last one that is not part of a question under way.
pub(super) fn leaf(store: &JsonlStore, of: &ChainName) -> Result<Option<MessageId>, StoreError> {
    let path = store.path(of)?;
    let leaf = last_record(store, of)?;
    // Mostly nobody asks, and whoever only reads takes no lock. Nobody asked before either if nothing came meanwhile.
    if files(store, &path)?.is_empty() && last_record(store, of)? == leaf {
        return Ok(leaf);
    }
    let _alone = Writer::lock_alone(&store.vfs, &store.places, &path)?;
    let mut asked = HashSet::new();
    for file in files(store, &path)? {
        if store.vfs.lock(&file).map_err(to("lock", &file))?.is_some() {
            // Whoever asked is dead.
            let _ = store.vfs.remove(&file);
        } else if let Some((_, name)) = file.to_string_lossy().rsplit_once('.') {
            asked.insert(name.to_string());
        }
    }
    last_settled(store, of, &asked)
}

/// The last record that can end the chain and does not follow any of these questions.
fn last_settled(
    store: &JsonlStore,
    of: &ChainName,
    asked: &HashSet<String>,
) -> Result<Option<MessageId>, StoreError> {
    let agent = of.agent.as_deref();
    let can_end = |names: &OwnedLink| names.link().agent == agent && names.link().can_be_leaf();
    let mut missing = asked.len();
    let mut later: Vec<OwnedLink> = Vec::new();
    let mut leaf = None;
    names_back(store, of, &mut |names| {
        if missing == 0 && can_end(&names) {
            leaf = Some(MessageId::from(names.link().id));
            return false;
        }
        if missing > 0 {
            missing -= usize::from(asked.contains(&name_of(names.link().id)));
            later.push(names);
        }
        true
    })?;
    let mut under_way: HashSet<&str> = HashSet::new();
    for names in later.iter().rev() {
        let link = names.link();
        let follows = link.parent.is_some_and(|parent| under_way.contains(parent));
        if follows || asked.contains(&name_of(link.id)) {
            under_way.insert(link.id);
        } else if can_end(names) {
            leaf = Some(link.id.into());
        }
    }
    Ok(leaf)
}

fn folder(store: &JsonlStore) -> PathBuf {
    store.places.state.join("asking")
}

/// The files about a chain.
fn files(store: &JsonlStore, path: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let folder = folder(store);
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
        Err(error) => Err(to("read this folder", &folder)(error)),
    }
}

/// What a message is called in the name of a file: ids from elsewhere may hold anything.
fn name_of(id: &str) -> String {
    name_in_state(Path::new(id))
}
