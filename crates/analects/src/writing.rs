//! How a verb changes a message file: it waits for its turn, and what it cannot change it explains.

use std::path::Path;
use std::time::Duration;

use analects_formats::msgfile::Refusal;
use analects_store::{LockedFile, Places};

use crate::failure::Failure;

/// How long we wait for another process that writes to the file.
const PATIENCE: Duration = Duration::from_secs(10);

/// Opens a message file for writing, and waits a while if another process writes to it.
pub fn open(path: &Path, places: &Places) -> Result<LockedFile, Failure> {
    Ok(LockedFile::open_within(path, places, PATIENCE)?)
}

/// Frontmatter that cannot be changed: the person can do it, and is told the lines.
pub fn refused(path: &Path, refusal: Refusal) -> Failure {
    let message = format!("{}: {}", path.display(), refusal.message);
    Failure::input(message).or_hint(format!("type it yourself:\n{}", refusal.type_this))
}
