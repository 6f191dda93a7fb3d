//! Where the store keeps things. The command finds these folders out; nothing here reads the
//! environment.

use std::fs;
use std::path::{Path, PathBuf};

use uuid::Uuid;

use crate::StoreError;
use crate::error::to;
use crate::replace::sync_folder;

/// The folders of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// Where transcripts live.
    pub data: PathBuf,
    /// Where locks live.
    pub state: PathBuf,
}

impl Places {
    /// The folder of a project's transcripts: a readable name, and a hash that tells apart two
    /// projects of the same name.
    pub fn sessions(&self, project: &Path) -> PathBuf {
        let name = project.file_name().unwrap_or_default().to_string_lossy();
        let slug: String = name.chars().filter(|c| c.is_ascii_alphanumeric()).take(40).collect();
        let hash = Uuid::new_v5(&Uuid::NAMESPACE_URL, project.as_os_str().as_encoded_bytes());
        let hash = hash.simple().to_string();
        self.data.join("sessions").join(format!("{slug}-{}", &hash[..12]))
    }
}

/// Makes a folder that only its owner can enter, and those above it.
pub(crate) fn create_private_folder(path: &Path) -> Result<(), StoreError> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    let missing: Vec<&Path> = path.ancestors().take_while(|folder| !folder.exists()).collect();
    builder.create(path).map_err(to("create this folder", path))?;
    // A new folder survives a power cut only if the one that holds it was synced, too.
    missing.into_iter().try_for_each(sync_folder)
}

/// Options for files that only their owner can read.
pub(crate) fn private_file() -> fs::OpenOptions {
    let mut options = fs::OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}
