//! Where things are, and the locks.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::error::to;
use crate::{Local, LocalError, sys};

/// How long to wait before asking for a lock again.
const PAUSE: Duration = Duration::from_millis(20);

impl Local {
    /// The folder of engine and weights.
    pub(crate) fn store(&self) -> PathBuf {
        self.data.join("local")
    }

    /// The folder of weights.
    pub(crate) fn weights(&self) -> PathBuf {
        self.store().join("models")
    }

    /// Lets nobody else change what is in the store. The lock is beside it: whoever shares the store
    /// need not share the state.
    pub(crate) fn lock_store(&self, waiting: &mut dyn FnMut()) -> Result<File, LocalError> {
        let file = lock_file(&self.data, "local.lock")?;
        take(&file, Duration::MAX, waiting);
        Ok(file)
    }

    /// The folder of what runs for a model.
    pub(crate) fn room(&self, name: &str) -> PathBuf {
        self.state.join("local").join(name)
    }

    /// What a server said.
    pub(crate) fn log(&self, name: &str) -> PathBuf {
        self.room(name).join("server.log")
    }

    /// What is known about a running server, with its key.
    pub(crate) fn facts(&self, name: &str) -> PathBuf {
        self.room(name).join("server.json")
    }
}

/// Opens the file of a lock.
pub(crate) fn lock_file(folder: &Path, name: &str) -> Result<File, LocalError> {
    sys::create_private_folder(folder).map_err(to("create this folder", folder))?;
    let path = folder.join(name);
    let file = sys::private().read(true).write(true).create(true).truncate(false).open(&path);
    file.map_err(to("open", &path))
}

/// Takes a lock for oneself, waiting for others as long as `patience` lasts; `waiting` is called once
/// if there is somebody. False if there still is.
pub(crate) fn take(file: &File, patience: Duration, waiting: &mut dyn FnMut()) -> bool {
    let start = Instant::now();
    let mut told = false;
    loop {
        match file.try_lock() {
            Ok(()) => return true,
            Err(TryLockError::Error(error)) if !is_interrupted(&error) => return false,
            Err(_) => {}
        }
        if start.elapsed() >= patience {
            return false;
        }
        if !std::mem::replace(&mut told, true) {
            waiting();
        }
        std::thread::sleep(PAUSE);
    }
}

fn is_interrupted(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::Interrupted
}

/// Whether somebody holds a lock for himself.
pub(crate) fn is_held(file: &File) -> bool {
    match file.try_lock_shared() {
        Ok(()) => {
            let _ = file.unlock();
            false
        }
        Err(TryLockError::WouldBlock) => true,
        Err(TryLockError::Error(_)) => false,
    }
}

/// Makes what was written in a folder, and below it, survive a power cut.
pub(crate) fn sync(path: &Path) -> Result<(), LocalError> {
    let facts = path.symlink_metadata().map_err(to("look at", path))?;
    if facts.is_dir() {
        for entry in path.read_dir().map_err(to("list", path))? {
            sync(&entry.map_err(to("list", path))?.path())?;
        }
    }
    if facts.is_dir() || facts.is_file() {
        File::open(path).and_then(|file| file.sync_all()).map_err(to("sync", path))?;
    }
    Ok(())
}
