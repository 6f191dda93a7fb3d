//! One writer at a time. Locks are files of their own in the state folder, so that nothing appears
//! beside a person's file, and the system gives them up when their owner dies.

use std::any::Any;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use uuid::Uuid;

use crate::error::to;
use crate::places::create_private_folder;
use crate::vfs::Vfs;
use crate::{Places, StoreError};

/// How long a writer waits before it asks for a lock again.
const PAUSE: Duration = Duration::from_millis(2);

/// The right to write to a file; given up when dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    _held: Box<dyn Any + Send + Sync>,
}

impl Lock {
    /// Takes the lock of a file, waiting for others to finish as long as `patience` lasts; `None` if
    /// somebody else still has it then.
    pub(crate) fn take(
        vfs: &dyn Vfs,
        places: &Places,
        path: &Path,
        patience: Duration,
    ) -> Result<Option<Lock>, StoreError> {
        let file = file_in_state(vfs, places, path, "lock")?;
        let start = Instant::now();
        loop {
            if let Some(held) = vfs.lock(&file).map_err(to("lock", &file))? {
                return Ok(Some(Lock { _held: held }));
            }
            if start.elapsed() >= patience {
                return Ok(None);
            }
            std::thread::sleep(PAUSE);
        }
    }
}

/// The file in the state folder that is about the file at `path`.
pub(crate) fn file_in_state(
    vfs: &dyn Vfs,
    places: &Places,
    path: &Path,
    extension: &str,
) -> Result<PathBuf, StoreError> {
    let folder = places.state.join("locks");
    create_private_folder(vfs, &folder)?;
    Ok(folder.join(format!("{}.{extension}", name_in_state(path))))
}

/// What a file is called in the state folder.
pub(crate) fn name_in_state(path: &Path) -> String {
    let name = Uuid::new_v5(&Uuid::NAMESPACE_URL, path.as_os_str().as_encoded_bytes());
    name.simple().to_string()
}
