//! How a verb changes a message file: it waits for its turn, and what it cannot change it explains.

use std::path::{Path, PathBuf};
use std::time::Duration;

use analects_formats::msgfile::Refusal;
use analects_store::{LockedFile, Places, RecoveredAnswer};

use crate::failure::Failure;
use crate::ui;

/// How long we wait for another process that writes to the file.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Opens a message file for writing, and waits a while if another process writes to it.
pub fn open(path: &Path, places: &Places) -> Result<LockedFile, Failure> {
    let file = LockedFile::open_within(path, places, PATIENCE)?;
    remark_kept(path, file.kept());
    remark_recovered(path, file.recovered());
    Ok(file)
}

/// Tells of answers that had broken off, and that are in the file now.
pub fn remark_recovered(path: &Path, recovered: &[RecoveredAnswer]) {
    for RecoveredAnswer { cell, is_complete } in recovered {
        let path = path.display();
        if *is_complete {
            ui::remark(&format!("{path}: an answer that was not in the file yet is cell {cell}"));
        } else {
            ui::remark(&format!("{path}: what came of an answer that broke off is cell {cell}"));
        }
    }
}

/// Tells of versions of a file that somebody saved while a write of ours was killed.
pub fn remark_kept(path: &Path, kept: &[PathBuf]) {
    for kept in kept {
        let (path, kept) = (path.display(), kept.display());
        ui::remark(&format!(
            "{path}: a write was killed while somebody else saved; that is in {kept}"
        ));
    }
}

/// Frontmatter that cannot be changed: the person can do it, and is told the lines.
pub fn refused(path: &Path, refusal: Refusal) -> Failure {
    let message = format!("{}: {}", path.display(), refusal.message);
    Failure::input(message).or_hint(format!("type it yourself:\n{}", refusal.type_this))
}
