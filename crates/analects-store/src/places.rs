//! Where the store keeps things, what they are called there, and the locks among them. The command finds these
//! folders out; nothing here reads the environment.

use std::any::Any;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use uuid::Uuid;

use crate::StoreError;
use crate::error::to;
use crate::vfs::{Vfs, folder_of};

/// The folders of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// Where transcripts live.
    pub data: PathBuf,
    /// Where locks live.
    pub state: PathBuf,
}

impl Places {
    /// Both in one folder, as `data` and `state`: for programs that keep everything in one place.
    pub fn in_folder(folder: impl AsRef<Path>) -> Places {
        let folder = folder.as_ref();
        Places {
            data: folder.join("data"),
            state: folder.join("state"),
        }
    }

    /// The short name of a project: a readable part, and a hash that tells apart two projects of the same
    /// name. At most 53 bytes, all of them letters, digits and `-`.
    pub fn project(project: &Path) -> String {
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

    /// The folder of a project's transcripts.
    pub fn sessions(&self, project: &Path) -> PathBuf {
        self.data.join("sessions").join(Places::project(project))
    }
}

/// Makes a folder that only its owner can enter, and those above it.
pub(crate) fn create_private_folder(vfs: &dyn Vfs, path: &Path) -> Result<(), StoreError> {
    let is_missing = |folder: &&Path| {
        let facts = vfs.facts(folder);
        facts.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    };
    let missing: Vec<&Path> = path.ancestors().take_while(is_missing).collect();
    for folder in missing.into_iter().rev() {
        match vfs.create_folder(folder) {
            // Somebody else was faster.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => made.map_err(to("create this folder", folder))?,
        }
        // A new folder survives a power cut only if the one that holds it was synced, too.
        vfs.sync_folder(folder_of(folder))
            .map_err(to("sync the folder of", folder))?;
    }
    Ok(())
}

/// How long a writer waits before it asks for a lock again.
const PAUSE: Duration = Duration::from_millis(2);

/// The right to write to a file, for one writer at a time; given up when dropped. A lock is a file of its own in the state
/// folder, so that nothing appears beside a person's file, and the system gives it up when its owner dies.
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

/// A short name for some bytes, to know them again. Not against forgery: whoever can write beside a person's file can do
/// worse.
///
/// The same bytes always have the same one, in every version of this program; others hardly ever.
/// (FNV-1a, over eight bytes at a time.)
pub(crate) fn fingerprint(bytes: &[u8]) -> u64 {
    let mix = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x0100_0000_01b3).rotate_left(23);
    let (words, rest) = bytes.as_chunks::<8>();
    let hash = words
        .iter()
        .map(|word| u64::from_le_bytes(*word))
        .fold(0xcbf2_9ce4_8422_2325, mix);
    let hash = rest.iter().map(|byte| u64::from(*byte)).fold(hash, mix);
    mix(mix(hash, bytes.len() as u64), 0)
}

#[cfg(test)]
mod tests {
    //! Names on disk must not change with the program.

    use super::fingerprint;

    #[test]
    fn it_never_changes_and_sees_every_byte() {
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
