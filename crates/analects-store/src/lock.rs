//! One writer at a time. Locks are files of their own in the state folder, so that nothing appears
//! beside a person's file, and the system gives them up when their owner dies.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use uuid::Uuid;

use crate::error::to;
use crate::places::{create_private_folder, private_file};
use crate::{Places, StoreError};

/// The right to write to a file; given up when dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock of a file; `None` if somebody else has it.
    pub(crate) fn take(places: &Places, path: &Path) -> Result<Option<Lock>, StoreError> {
        let (file, lock) = open(places, path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Lock { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(to("lock", &lock)(error)),
        }
    }

    /// Takes the lock, waiting for others to finish: for writes that take no time.
    pub(crate) fn wait(places: &Places, path: &Path) -> Result<Lock, StoreError> {
        let (file, lock) = open(places, path)?;
        file.lock().map_err(to("lock", &lock))?;
        Ok(Lock { _file: file })
    }
}

fn open(places: &Places, path: &Path) -> Result<(File, PathBuf), StoreError> {
    let folder = places.state.join("locks");
    create_private_folder(&folder)?;
    let name = Uuid::new_v5(&Uuid::NAMESPACE_URL, path.as_os_str().as_encoded_bytes());
    let lock = folder.join(format!("{}.lock", name.simple()));
    let file = private_file().write(true).create(true).truncate(false).open(&lock);
    Ok((file.map_err(to("open the lock", &lock))?, lock))
}
