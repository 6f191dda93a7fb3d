//! Everything that can go wrong with a model on this machine.
//!
//! Messages contain what happened and with which file, never what to do about it: hints are up to the caller, who knows
//! the commands of its program.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why a local model cannot be downloaded or run. The messages name files of this machine.
#[derive(Debug, Error)]
pub enum LocalError {
    /// No model may have this name.
    #[error(
        "{0:?} is not a valid model name; expected letters, digits, dots, dashes and underscores"
    )]
    BadName(String),
    /// There is no model of this name, neither here nor to download.
    #[error("there is no local model {name}")]
    Unknown {
        /// The name.
        name: String,
        /// The models that there are.
        known: Vec<String>,
    },
    /// The model can be downloaded but is not here yet.
    #[error("the local model {0} is not on this machine yet")]
    NotPulled(String),
    /// No engine is here to run the model with this name.
    #[error("no engine is installed that can run the local model {0}")]
    NoEngine(String),
    /// A model of this name is here already.
    #[error("there is a local model {0} already")]
    Taken(String),
    /// A file does not hold the weights of a model.
    #[error("{}: {reason}", .path.display())]
    NoWeights {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
        /// Whether the file does not exist.
        missing: bool,
    },
    /// A disk operation or the start of a program failed.
    #[error("{}: cannot {action}: {}", .path.display(), words(.source))]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was tried, such as `open`.
        action: &'static str,
        /// Why it failed.
        source: io::Error,
    },
    /// There is neither an engine nor a Python to download one with. Holds the version of a Python that is too old.
    #[error("there is no Python 3.10 or later, and no llama-server, on the PATH{}", also(.0))]
    NoPython(Option<String>),
    /// This Python has no pip.
    #[error("{} has no pip", .0.display())]
    NoPip(PathBuf),
    /// The package index has no engine for this kind of machine.
    #[error("there is no ready-made engine for {0}")]
    NoWheel(String),
    /// The disk has less free space than the download needs.
    #[error("{}: {} MB are needed and {} MB are free", .folder.display(), mb(*.needed), mb(*.free))]
    NoSpace {
        /// The folder.
        folder: PathBuf,
        /// The bytes that the download needs, unpacked files included.
        needed: u64,
        /// The free bytes.
        free: u64,
    },
    /// The disk became full during a download. Holds the folder.
    #[error("{}: the disk is full; the partial download was removed", .0.display())]
    DiskFull(PathBuf),
    /// The package index cannot be reached.
    #[error("cannot fetch {package}: the package index cannot be reached")]
    Offline {
        /// The package.
        package: String,
    },
    /// A download failed for another reason.
    #[error("cannot fetch {package}: {reason}")]
    Fetch {
        /// The package.
        package: String,
        /// What pip reported.
        reason: String,
    },
    /// The server ended before it was ready.
    #[error("the server of {name} did not start{}", said(.reason))]
    NotStarted {
        /// The model.
        name: String,
        /// The last error in its log.
        reason: String,
        /// The whole log.
        log: PathBuf,
    },
    /// The server did not get ready in time.
    #[error("the server of {name} was not ready within {seconds} s")]
    TooSlow {
        /// The model.
        name: String,
        /// How many seconds it had.
        seconds: u64,
        /// Its log.
        log: PathBuf,
    },
    /// The server of the model with this name did not end in time.
    #[error("the server of {0} cannot be stopped")]
    WillNotEnd(String),
    /// This operating system cannot run the server of a local model.
    /// Returned before anything is downloaded or written.
    #[error("this system cannot run the server of a local model")]
    Unsupported,
}

/// The action of an [`LocalError::Io`] while looking for a file that a person named.
pub(crate) const FIND: &str = "find";

impl LocalError {
    /// Whether the disk is full.
    /// Covers the check before a download, a download that was cut short, and any other write.
    pub fn is_disk_full(&self) -> bool {
        match self {
            LocalError::NoSpace { .. } | LocalError::DiskFull(_) => true,
            LocalError::Io { source, .. } => is_full(source),
            _ => false,
        }
    }

    /// Whether a model or file that the person named does not exist.
    /// A model that is known but not downloaded yet does exist: see [`LocalError::NotPulled`].
    pub fn is_not_found(&self) -> bool {
        match self {
            LocalError::NoWeights { missing, .. } => *missing,
            LocalError::Io {
                action: FIND,
                source,
                ..
            } => source.kind() == io::ErrorKind::NotFound,
            LocalError::Unknown { .. } => true,
            _ => false,
        }
    }

    /// Whether the error is about what the person gave: a name, a file or a folder.
    /// A caller reports these as wrong usage, and all others as a failure of the engine or the network.
    pub fn is_input(&self) -> bool {
        use LocalError::{BadName, DiskFull, Io, NoSpace, NoWeights, Taken};
        matches!(
            self,
            BadName(_) | DiskFull(_) | Io { .. } | NoSpace { .. } | NoWeights { .. } | Taken(_)
        )
    }

    /// The file or folder of a disk error; `None` for other errors.
    pub fn path(&self) -> Option<&Path> {
        match self {
            LocalError::Io { path, .. } => Some(path),
            _ => None,
        }
    }
}

/// Makes a disk error that says what was tried with which path, for `map_err`.
pub(crate) fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> LocalError {
    let path = path.to_path_buf();
    move |source| LocalError::Io {
        path,
        action,
        source,
    }
}

/// A used-up disk quota counts: to a person it looks the same.
fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}

/// The message of the system in lower case, without the error number.
/// So the text can follow a colon within a sentence: `Permission denied (os error 13)` becomes `permission denied`.
fn words(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut chars = text.chars();
    chars
        .next()
        .map(|first| first.to_lowercase().chain(chars).collect())
        .unwrap_or_default()
}

/// Megabytes, rounded up.
fn mb(bytes: u64) -> u64 {
    bytes.div_ceil(1_000_000)
}

/// The remark about a Python that was found but is too old; empty if there was none.
fn also(found: &Option<String>) -> String {
    found
        .as_ref()
        .map(|version| format!(" (only Python {version})"))
        .unwrap_or_default()
}

/// The reason after a colon; empty if the log said nothing.
fn said(reason: &str) -> String {
    if reason.is_empty() {
        String::new()
    } else {
        format!(": {reason}")
    }
}
