//! The errors of this crate, worded for the person who owns the files.

use std::io;
use std::path::{Path, PathBuf};

use analects_core::Problem;
use analects_core::verbs::VerbError;
use analects_formats::msgfile::Document;
use analects_formats::msgfile::item::Conflict;
use thiserror::Error;

/// The reason why a file could not be read or written. In every case, the file holds the old text or the new one.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The file or folder does not exist.
    #[error("{}: not found", path.display())]
    NotFound {
        /// The file or folder.
        path: PathBuf,
    },
    /// Another process of ours holds the lock of the file.
    #[error("{}: another analects is writing to this file", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// Another program has the file open for writing, and did not close it in time.
    #[error("{}: another program{} has this file open for writing", path.display(), in_brackets(writers))]
    InUse {
        /// The file.
        path: PathBuf,
        /// The names of the programs, as far as the system reveals them.
        writers: Vec<String>,
    },
    /// The file has several hard links, which a replacement would separate.
    #[error("{}: this file has {links} names (hard links), and a change would separate them", path.display())]
    HardLinked {
        /// The file.
        path: PathBuf,
        /// The number of hard links.
        links: u64,
    },
    /// A symbolic link replaced the open file, and its target is not writable.
    #[error("{}: a symbolic link has taken the place of this file, and cannot be followed: {error}", path.display())]
    BadLink {
        /// The path of the link.
        path: PathBuf,
        /// The error for the target.
        error: Box<StoreError>,
    },
    /// Another program changes the file faster than we can write it.
    #[error("{}: the file keeps changing while it is written to", path.display())]
    KeepsChanging {
        /// The file.
        path: PathBuf,
    },
    /// Another program changed the file, and the two versions cannot be merged.
    #[error("{}: the file has changed on disk: {conflict}", path.display())]
    Conflict {
        /// The file.
        path: PathBuf,
        /// The reason, and the text of both versions.
        conflict: Box<Conflict>,
    },
    /// Another program wrote at the same moment. Both texts are on disk.
    #[error("{}: somebody else wrote at the same moment; one version is in {}",
        path.display(), other_version.display())]
    ConcurrentWrite {
        /// The file.
        path: PathBuf,
        /// The file with the other version.
        other_version: PathBuf,
    },
    /// Neither the name nor the frontmatter marks the file as a message file.
    #[error("{}: not a message file", path.display())]
    NotAMessageFile {
        /// The file.
        path: PathBuf,
    },
    /// No session has this name.
    #[error("{name}: there is no such session")]
    SessionNotFound {
        /// The name.
        name: String,
    },
    /// No message of the session has this id.
    #[error("{name}: there is no message {id}")]
    MessageNotFound {
        /// The session.
        name: String,
        /// The id.
        id: String,
    },
    /// A record is longer than the store can read back.
    #[error("a record has {length} bytes, and the longest that can be read has {limit}")]
    LongRecord {
        /// Its length in bytes.
        length: usize,
        /// The maximum in bytes.
        limit: usize,
    },
    /// A file is too large to be read into memory.
    #[error("{}: the file has {length} bytes, and the largest that can be read has {limit}", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its length in bytes.
        length: u64,
        /// The maximum in bytes.
        limit: usize,
    },
    /// A name of a session or an agent that is not a safe file name on every system.
    #[error("{name:?} cannot be the name of a session or of an agent")]
    BadName {
        /// The name.
        name: String,
    },
    /// The path leads to a folder, a pipe, or a cycle of symbolic links.
    #[error("{}: not a regular file", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// A method was called on a conversation in a state that does not allow it: a bug in the caller.
    #[error("{}: the conversation is not in a state for this", path.display())]
    InvalidState {
        /// The file.
        path: PathBuf,
    },
    /// The change is not possible in this file.
    #[error("{}: {why}", path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// A verb does not apply to a message of a session.
    #[error("{error}")]
    Verb {
        /// The session.
        name: String,
        /// The reason.
        error: VerbError,
    },
    /// The file has a problem that forbids writing to it, or asking about it.
    #[error("{}:{}:{}: {}", path.display(), problem.line, problem.column, problem.message)]
    NotWritable {
        /// The file.
        path: PathBuf,
        /// The problem.
        problem: Box<Problem>,
    },
    /// Another process is answering the question.
    #[error("{}: the question is being answered already", path.display())]
    AlreadyAnswering {
        /// The file.
        path: PathBuf,
    },
    /// An answer could not be written to its file.
    #[error("{error}")]
    AnswerNotWritten {
        /// The reason.
        error: Box<StoreError>,
        /// Whether the journal holds the answer.
        is_kept: bool,
    },
    /// The operating system reported an error.
    #[error("{}: cannot {action}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The failed operation, as a verb phrase that follows "cannot".
        action: &'static str,
        /// The system's error.
        source: io::Error,
    },
}

impl StoreError {
    /// The error for a Markdown file without a section for messages. If its frontmatter cannot be read, which may name
    /// one, that is the error.
    pub fn without_section(path: PathBuf, document: &Document) -> StoreError {
        match document.unreadable_frontmatter() {
            Some(problem) => StoreError::NotWritable {
                path,
                problem: Box::new(problem),
            },
            None => StoreError::NotAMessageFile { path },
        }
    }

    /// Returns whether the disk is full.
    pub fn is_disk_full(&self) -> bool {
        matches!(self, StoreError::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull)
    }

    /// Returns whether the file, session or message does not exist.
    pub fn is_not_found(&self) -> bool {
        matches!(
            self,
            StoreError::NotFound { .. }
                | StoreError::SessionNotFound { .. }
                | StoreError::MessageNotFound { .. }
        )
    }

    /// Returns whether another process of ours is working on the file; it may succeed later.
    pub fn is_locked(&self) -> bool {
        matches!(
            self,
            StoreError::Locked { .. } | StoreError::AlreadyAnswering { .. }
        )
    }
}

/// Lists the programs that have a file open, in brackets, for the middle of a sentence.
fn in_brackets(writers: &[String]) -> String {
    if writers.is_empty() {
        return String::new();
    }
    format!(" ({})", writers.join("; "))
}

/// Returns a function that converts an I/O error into a [`StoreError`], for `map_err(cannot("sync", path))`.
pub(crate) fn cannot<'a>(
    action: &'static str,
    path: &'a Path,
) -> impl FnOnce(io::Error) -> StoreError + 'a {
    move |source| {
        let path = path.to_path_buf();
        if source.kind() == io::ErrorKind::NotFound {
            return StoreError::NotFound { path };
        }
        StoreError::Io {
            path,
            action,
            source,
        }
    }
}
