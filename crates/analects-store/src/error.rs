//! What can go wrong with files, in words for the person who owns them.

use std::io;
use std::path::{Path, PathBuf};

use analects_core::Problem;
use thiserror::Error;

/// Why a file could not be read or written. Whatever it is, the file holds the old text or the new.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The file or folder is not there.
    #[error("{}: not found", path.display())]
    NotFound {
        /// What was looked for.
        path: PathBuf,
    },
    /// Another process is writing to it.
    #[error("{}: another analects is writing to this file", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// The name does not say what kind of file it is.
    #[error("{}: not a message file; its name must end in .msg.md", path.display())]
    NotAMessageFile {
        /// The file.
        path: PathBuf,
    },
    /// The file holds something that forbids writing to it.
    #[error("{}:{}:{}: {}", path.display(), problem.line, problem.column, problem.message)]
    NotWritable {
        /// The file.
        path: PathBuf,
        /// What it holds.
        problem: Box<Problem>,
    },
    /// The operating system said no.
    #[error("{}: cannot {action}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

impl StoreError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            StoreError::NotFound { .. } => None,
            StoreError::Locked { .. } => Some("try again when it is done".to_string()),
            StoreError::NotAMessageFile { path } => {
                Some(format!("use {}", path.with_extension("msg.md").display()))
            }
            StoreError::NotWritable { problem, .. } => problem.hint.clone(),
            StoreError::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                Some("free some space; the file is as it was".to_string())
            }
            StoreError::Io { .. } => None,
        }
    }

    /// Whether the file is not there.
    pub fn is_not_found(&self) -> bool {
        matches!(self, StoreError::NotFound { .. })
    }

    /// Whether somebody else is writing to the file.
    pub fn is_locked(&self) -> bool {
        matches!(self, StoreError::Locked { .. })
    }
}

/// Turns what the system said into an error that names the file and what was tried.
pub(crate) fn to<'a>(
    action: &'static str,
    path: &'a Path,
) -> impl FnOnce(io::Error) -> StoreError + 'a {
    move |source| match source.kind() {
        io::ErrorKind::NotFound => StoreError::NotFound { path: path.to_path_buf() },
        _ => StoreError::Io { path: path.to_path_buf(), action, source },
    }
}
