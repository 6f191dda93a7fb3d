//! Why a call failed, in words that the model can act on.

use std::io;

use crate::FolderPath;

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// The arguments do not fit the tool. The text says which one and what is expected.
    #[error("{0}")]
    Arguments(String),
    /// The path leads out of the folder, or through a link.
    #[error("{path}: {why}")]
    Path {
        /// The path as the model wrote it.
        path: String,
        /// The reason: lower case, no full stop.
        why: &'static str,
    },
    /// The person does not allow the call.
    #[error("the person does not allow this call")]
    Denied,
    /// The person stopped the call.
    #[error("the person stopped this call")]
    Stopped,
    /// The tool may never change this file.
    #[error("{path}: {why}, so tools never change it")]
    Protected {
        /// The path in the folder.
        path: FolderPath,
        /// What the file is: lower case, no full stop.
        why: &'static str,
    },
    /// The file is not as the model last saw it.
    #[error("{path}: somebody else changed this file since you read it; read it again first")]
    Changed {
        /// The path in the folder.
        path: FolderPath,
    },
    /// The call makes no sense for this file, such as an edit whose text is not there.
    #[error("{path}: {why}")]
    Content {
        /// The path in the folder.
        path: FolderPath,
        /// What is wrong, and what to do.
        why: String,
    },
    /// The system refused.
    #[error("{path}: {}", in_words(.error))]
    Io {
        /// The path in the folder.
        path: FolderPath,
        /// What the system said.
        error: io::Error,
    },
}

impl ToolError {
    /// Creates the error for a file that a call cannot work with.
    pub(crate) fn content(path: &FolderPath, why: impl Into<String>) -> ToolError {
        ToolError::Content {
            path: path.clone(),
            why: why.into(),
        }
    }

    /// Creates the error for a failed system call.
    pub(crate) fn io(path: &FolderPath, error: impl Into<io::Error>) -> ToolError {
        ToolError::Io {
            path: path.clone(),
            error: error.into(),
        }
    }
}

/// The usual errors of files, without the number that the system gives them.
fn in_words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file".to_string(),
        io::ErrorKind::PermissionDenied => "permission denied".to_string(),
        io::ErrorKind::IsADirectory => "is a folder".to_string(),
        io::ErrorKind::NotADirectory => "a part of the path is no folder".to_string(),
        io::ErrorKind::StorageFull => "no space left on the disk".to_string(),
        _ => error.to_string(),
    }
}
