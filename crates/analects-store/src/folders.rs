//! The folders of the store, the names of the files in them, the time zone of what it writes, and the write lock. The
//! caller finds the folders and the zone; nothing here reads the environment.

use std::any::Any;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use jiff::tz::TimeZone;
use uuid::Uuid;

use crate::StoreError;
use crate::error::cannot;
use crate::vfs::{Vfs, folder_of};

/// The folders in which the store keeps its files, and the zone of the times that it writes into message files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreFolders {
    /// The folder of the transcripts.
    pub data: PathBuf,
    /// The folder of locks, the journal, and everything else that is not a conversation.
    pub state: PathBuf,
    /// The zone of times in message files.
    pub zone: TimeZone,
}

impl StoreFolders {
    /// Uses `data` and `state` in one folder, for programs that keep everything together, and UTC.
    pub fn in_folder(folder: impl AsRef<Path>) -> StoreFolders {
        let folder = folder.as_ref();
        StoreFolders {
            data: folder.join("data"),
            state: folder.join("state"),
            zone: TimeZone::UTC,
        }
    }

    /// Returns the short name of a project: the readable part of its path, and a hash that distinguishes projects of
    /// the same name. At most 53 bytes, all of them letters, digits and `-`.
    pub fn project_name(project: &Path) -> String {
        let name = project.file_name().unwrap_or_default().to_string_lossy();
        let slug: String = name
            .chars()
            .filter(|c| c.is_ascii_alphanumeric())
            .take(40)
            .collect();
        let hash = Uuid::new_v5(&Uuid::NAMESPACE_URL, project.as_os_str().as_encoded_bytes());
        let hash = hash.simple().to_string();
        format!("{slug}-{}", &hash[..12])
    }

    /// Returns the folder of a project's transcripts.
    pub fn sessions_folder(&self, project: &Path) -> PathBuf {
        self.projects_folder()
            .join(StoreFolders::project_name(project))
    }

    /// The folder with a subfolder of transcripts for each project.
    pub(crate) fn projects_folder(&self) -> PathBuf {
        self.data.join("sessions")
    }

    /// The folder of sessions that were removed.
    pub(crate) fn trash_folder(&self) -> PathBuf {
        self.data.join("trash")
    }

    /// The folder of the journal: unfinished answers, and what our own commands remove from files.
    pub(crate) fn journal_folder(&self) -> PathBuf {
        self.state.join("journal")
    }

    /// The folder that records which files a person has shown to a model.
    pub(crate) fn grants_folder(&self) -> PathBuf {
        self.state.join("grants")
    }

    /// The folder that records which pictures a person allows to be sent.
    pub(crate) fn pictures_folder(&self) -> PathBuf {
        self.state.join("pictures")
    }

    /// The folder that announces which questions of sessions are being answered.
    pub(crate) fn announcements_folder(&self) -> PathBuf {
        self.state.join("asking")
    }

    /// The folder that caches the summaries of sessions for lists. It may be deleted at any time.
    pub(crate) fn summaries_folder(&self) -> PathBuf {
        self.state.join("lists")
    }

    /// The folder of write locks, and of the records that complete an interrupted change.
    pub(crate) fn locks_folder(&self) -> PathBuf {
        self.state.join("locks")
    }
}

/// Creates a folder that only its owner can enter, and its missing parents.
pub(crate) fn create_private_folder(vfs: &dyn Vfs, path: &Path) -> Result<(), StoreError> {
    let missing: Vec<&Path> = path
        .ancestors()
        .take_while(|folder| is_missing(vfs, folder))
        .collect();
    for folder in missing.into_iter().rev() {
        match vfs.create_folder(folder) {
            // Another process created it in the meantime.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => created.map_err(cannot("create this folder", folder))?,
        }
        // A new folder survives a power cut only if its parent is synced, too.
        vfs.sync_folder(folder_of(folder))
            .map_err(cannot("sync the folder of", folder))?;
    }
    Ok(())
}

/// Returns whether nothing exists at a path. An error other than "not found" counts as existing, so that the attempt to
/// create the folder reports it.
fn is_missing(vfs: &dyn Vfs, path: &Path) -> bool {
    vfs.metadata(path)
        .is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// The pause between two attempts to take a lock.
const PAUSE: Duration = Duration::from_millis(2);

/// The exclusive right to write to a file, until it is dropped. The lock is a file in the state folder, so that nothing
/// appears beside the person's file, and the system releases it when its owner dies.
#[derive(Debug)]
pub(crate) struct WriteLock {
    /// The lock of the system, which ends when this is dropped.
    _guard: Box<dyn Any + Send + Sync>,
}

impl WriteLock {
    /// Takes the lock of the file at `path`. Waits for at most `patience`, and returns `None` if another writer still
    /// holds it then.
    pub(crate) fn take(
        vfs: &dyn Vfs,
        folders: &StoreFolders,
        path: &Path,
        patience: Duration,
    ) -> Result<Option<WriteLock>, StoreError> {
        let file = file_in_state(vfs, folders, path, "lock")?;
        let start = Instant::now();
        loop {
            if let Some(guard) = vfs.lock(&file).map_err(cannot("lock", &file))? {
                return Ok(Some(WriteLock { _guard: guard }));
            }
            if start.elapsed() >= patience {
                return Ok(None);
            }
            std::thread::sleep(PAUSE);
        }
    }
}

/// Returns the path in the state folder of a file that belongs to the file at `path`. Creates its folder.
pub(crate) fn file_in_state(
    vfs: &dyn Vfs,
    folders: &StoreFolders,
    path: &Path,
    extension: &str,
) -> Result<PathBuf, StoreError> {
    let folder = folders.locks_folder();
    create_private_folder(vfs, &folder)?;
    Ok(folder.join(format!("{}.{extension}", name_in_state(path))))
}

/// Returns the name under which the state folder knows a path: a hash of it.
pub(crate) fn name_in_state(path: &Path) -> String {
    let name = Uuid::new_v5(&Uuid::NAMESPACE_URL, path.as_os_str().as_encoded_bytes());
    name.simple().to_string()
}

/// Returns a hash to recognise bytes by: FNV-1a over eight bytes at a time. It is stable across versions of this
/// program, because names on disk contain it. It does not protect against forgery: whoever can write beside a person's
/// file can do worse.
pub(crate) fn fingerprint(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut hash = 0xcbf2_9ce4_8422_2325;
    for word in words {
        hash = mix(hash, u64::from_le_bytes(*word));
    }
    for byte in rest {
        hash = mix(hash, u64::from(*byte));
    }
    mix(mix(hash, bytes.len() as u64), 0)
}

/// Adds a word to a fingerprint.
fn mix(hash: u64, word: u64) -> u64 {
    (hash ^ word).wrapping_mul(0x0100_0000_01b3).rotate_left(23)
}

#[cfg(test)]
mod tests {
    //! Fingerprints are part of names on disk, so they must not change.

    use super::fingerprint;

    #[test]
    fn the_fingerprint_is_stable_and_depends_on_every_byte() {
        assert_eq!(fingerprint(b""), PINNED[0]);
        assert_eq!(fingerprint(b"# %% [^1]\n\n[^1]: [markdown]\n"), PINNED[1]);
        let bytes = [7_u8; 40];
        for at in 0..bytes.len() {
            let mut other = bytes;
            other[at] ^= 1;
            assert_ne!(fingerprint(&bytes), fingerprint(&other), "{at}");
            assert_ne!(fingerprint(&bytes), fingerprint(&bytes[..at]), "{at}");
        }
    }

    const PINNED: [u64; 2] = [0xdc45_c19e_1d2d_c629, 0x3bd4_3d3f_6e30_b17e];
}
