//! Where the store keeps things. The command finds these folders out; nothing here reads the
//! environment.

use std::io;
use std::path::{Path, PathBuf};

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
        Places { data: folder.join("data"), state: folder.join("state") }
    }

    /// The short name of a project: a readable part, and a hash that tells apart two projects of the same
    /// name. At most 53 bytes, all of them letters, digits and `-`.
    pub fn project(project: &Path) -> String {
        let name = project.file_name().unwrap_or_default().to_string_lossy();
        let slug: String = name.chars().filter(|c| c.is_ascii_alphanumeric()).take(40).collect();
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
        vfs.sync_folder(folder_of(folder)).map_err(to("sync the folder of", folder))?;
    }
    Ok(())
}
