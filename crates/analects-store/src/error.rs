//! What can go wrong with files, in words for the person who owns them.

use std::io;
use std::path::{Path, PathBuf};

use analects_core::Problem;
use analects_core::verbs::VerbError;
use analects_formats::msgfile::item::Conflict;
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
    /// Another program has it open for writing, and does not close it.
    #[error("{}: another program{} has this file open for writing", path.display(), in_brackets(writers))]
    InUse {
        /// The file.
        path: PathBuf,
        /// The programs, in words, if the system tells.
        writers: Vec<String>,
    },
    /// A replaced file would no longer be the one that its other names lead to.
    #[error("{}: this file has {links} names (hard links), and a change would separate them", path.display())]
    HardLinked {
        /// The file.
        path: PathBuf,
        /// How many names it has.
        links: u64,
    },
    /// A symbolic link was put in the place of the open file, and what it leads to cannot be written to.
    #[error("{}: a symbolic link has taken the place of this file, and cannot be followed: {error}", path.display())]
    BadLink {
        /// The file that was open.
        path: PathBuf,
        /// Why not.
        error: Box<StoreError>,
    },
    /// Somebody writes to it faster than we can.
    #[error("{}: the file keeps changing while it is written to", path.display())]
    Changing {
        /// The file.
        path: PathBuf,
    },
    /// Somebody else has changed the file, and the two versions cannot be put together.
    #[error("{}: the file has changed on disk: {conflict}", path.display())]
    Conflict {
        /// The file.
        path: PathBuf,
        /// Why not, and the text of both versions.
        conflict: Box<Conflict>,
    },
    /// Somebody else wrote at the very moment of our write, and both texts are there.
    #[error("{}: somebody else wrote at the same moment; one version is in {}",
        path.display(), kept.display())]
    Kept {
        /// The file.
        path: PathBuf,
        /// Where the other version is.
        kept: PathBuf,
    },
    /// Neither the name nor the frontmatter says that it is one.
    #[error("{}: not a message file", path.display())]
    NotAMessageFile {
        /// The file.
        path: PathBuf,
    },
    /// There is no session of that name.
    #[error("{name}: there is no such session")]
    NoSession {
        /// What was looked for.
        name: String,
    },
    /// There is no message of that name in a session.
    #[error("{name}: there is no message {id}")]
    NoMessage {
        /// The session.
        name: String,
        /// What was looked for.
        id: String,
    },
    /// A record is longer than the store reads.
    #[error("a record has {length} bytes, and the longest that can be read has {limit}")]
    LongRecord {
        /// How long it is.
        length: usize,
        /// How long it may be.
        limit: usize,
    },
    /// A file that has to be read as a whole is too large for that.
    #[error("{}: the file has {length} bytes, and the largest that can be read has {limit}", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// How large it is.
        length: u64,
        /// How large it may be.
        limit: usize,
    },
    /// A name that could lead anywhere, or that not every system can have on its disk.
    #[error("{name:?} cannot be the name of a session or of an agent")]
    BadName {
        /// The name.
        name: String,
    },
    /// A folder, a pipe, or a circle of symbolic links.
    #[error("{}: not a regular file", path.display())]
    NotAFile {
        /// What it is instead is for the system to say.
        path: PathBuf,
    },
    /// A conversation was used in a way that makes no sense; the program is at fault.
    #[error("{}: the conversation is not in a state for this", path.display())]
    Misused {
        /// The file.
        path: PathBuf,
    },
    /// The change cannot be made in this file.
    #[error("{}: {why}", path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// A verb does not apply to a message of a session.
    #[error("{error}")]
    Verb {
        /// The session.
        name: String,
        /// Why not.
        error: VerbError,
    },
    /// The file holds something that forbids writing to it.
    #[error("{}:{}:{}: {}", path.display(), problem.line, problem.column, problem.message)]
    NotWritable {
        /// The file.
        path: PathBuf,
        /// What it holds.
        problem: Box<Problem>,
    },
    /// The question is being answered.
    #[error("{}: the question is being answered already", path.display())]
    UnderWay {
        /// The file.
        path: PathBuf,
    },
    /// An answer could not be written to its file.
    #[error("{error}")]
    AnswerNotWritten {
        /// Why not.
        error: Box<StoreError>,
        /// Whether the journal has it.
        is_kept: bool,
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
    /// Whether the disk is full.
    pub fn is_disk_full(&self) -> bool {
        matches!(self, StoreError::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull)
    }

    /// Whether the file is not there.
    pub fn is_not_found(&self) -> bool {
        matches!(
            self,
            StoreError::NotFound { .. }
                | StoreError::NoSession { .. }
                | StoreError::NoMessage { .. }
        )
    }

    /// Whether somebody else is writing to the file.
    pub fn is_locked(&self) -> bool {
        matches!(
            self,
            StoreError::Locked { .. } | StoreError::UnderWay { .. }
        )
    }
}

/// The programs that have a file open, for the middle of a sentence.
fn in_brackets(writers: &[String]) -> String {
    if writers.is_empty() {
        String::new()
    } else {
        format!(" ({})", writers.join("; "))
    }
}

/// Turns what the system said into an error that names the file and what was tried.
pub(crate) fn to<'a>(
    action: &'static str,
    path: &'a Path,
) -> impl FnOnce(io::Error) -> StoreError + 'a {
    move |source| match source.kind() {
        io::ErrorKind::NotFound => StoreError::NotFound {
            path: path.to_path_buf(),
        },
        _ => StoreError::Io {
            path: path.to_path_buf(),
            action,
            source,
        },
    }
}
