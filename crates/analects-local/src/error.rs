//! Everything that can go wrong with a model on this machine.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why a local model cannot be had or asked. Messages name files of this machine.
#[derive(Debug, Error)]
pub enum LocalError {
    /// A name that no model may have.
    #[error("{0:?} is not a valid model name; expected letters, digits, dots, dashes and underscores")]
    BadName(String),
    /// There is no such model.
    #[error("there is no local model {name}")]
    Unknown {
        /// The name.
        name: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// The model is known, and its weights are not here yet.
    #[error("the local model {0} is not on this machine yet")]
    NotPulled(String),
    /// There is nothing to run models with.
    #[error("no engine is installed that can run the local model {0}")]
    NoEngine(String),
    /// A model of that name is there already.
    #[error("there is a local model {0} already")]
    Taken(String),
    /// A file that should hold weights does not.
    #[error("{}: {reason}", .path.display())]
    NoWeights {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
        /// Whether it is not there at all.
        missing: bool,
    },
    /// The disk said no.
    #[error("{}: cannot {action}: {}", .path.display(), words(.source))]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// Why it failed.
        source: io::Error,
    },
    /// There is neither an engine nor a Python to fetch one with.
    #[error("there is no Python 3.10 or later, and no llama-server, on the PATH{}", also(.0))]
    NoPython(Option<String>),
    /// This Python has no pip.
    #[error("{} has no pip", .0.display())]
    NoPip(PathBuf),
    /// Nobody built the engine for this machine.
    #[error("there is no ready-made engine for {0}")]
    NoWheel(String),
    /// Less room than what is fetched takes.
    #[error("{}: {} MB are needed and {} MB are free", .folder.display(), mb(*.needed), mb(*.free))]
    NoSpace {
        /// The folder.
        folder: PathBuf,
        /// Bytes.
        needed: u64,
        /// Bytes.
        free: u64,
    },
    /// The room ran out while fetching.
    #[error("{}: the disk is full; the partial download was removed", .0.display())]
    DiskFull(PathBuf),
    /// The package index cannot be reached.
    #[error("cannot fetch {package}: the package index cannot be reached")]
    Offline {
        /// What was wanted.
        package: String,
    },
    /// Fetching failed for another reason.
    #[error("cannot fetch {package}: {reason}")]
    Fetch {
        /// What was wanted.
        package: String,
        /// What pip said last.
        reason: String,
    },
    /// The server ended before it was ready.
    #[error("the server of {name} did not start{}", said(.reason))]
    NotStarted {
        /// The model.
        name: String,
        /// What it said last.
        reason: String,
        /// Where all of it is.
        log: PathBuf,
    },
    /// The server did not get ready in time.
    #[error("the server of {name} was not ready within {seconds} s")]
    TooSlow {
        /// The model.
        name: String,
        /// How long was waited.
        seconds: u64,
        /// Where its words are.
        log: PathBuf,
    },
    /// The server was asked to end, and did not.
    #[error("the server of {0} cannot be stopped")]
    WillNotEnd(String),
    /// This machine cannot keep a server.
    #[error("this system cannot run the server of a local model")]
    Unsupported,
}

/// Looking for a file that somebody named.
pub(crate) const FIND: &str = "find";

impl LocalError {
    /// Whether the disk is full.
    pub fn is_disk_full(&self) -> bool {
        match self {
            LocalError::NoSpace { .. } | LocalError::DiskFull(_) => true,
            LocalError::Io { source, .. } => is_full(source),
            _ => false,
        }
    }

    /// Whether something that was named is not there.
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

    /// Whether what was given is at fault, and nothing else.
    pub fn is_input(&self) -> bool {
        use LocalError::{BadName, DiskFull, Io, NoSpace, NoWeights, Taken};
        matches!(
            self,
            BadName(_) | DiskFull(_) | Io { .. } | NoSpace { .. } | NoWeights { .. } | Taken(_)
        )
    }

    /// The file or folder that could not be used.
    pub fn path(&self) -> Option<&Path> {
        match self {
            LocalError::Io { path, .. } => Some(path),
            _ => None,
        }
    }
}

/// An error of the disk, for `map_err`.
pub(crate) fn to(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> LocalError {
    let path = path.to_path_buf();
    move |source| LocalError::Io {
        path,
        action,
        source,
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}

/// What the system said, without the number that says nothing to a reader.
fn words(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut chars = text.chars();
    chars
        .next()
        .map(|first| first.to_lowercase().chain(chars).collect())
        .unwrap_or_default()
}

/// Bytes in millions, rounded up.
fn mb(bytes: u64) -> u64 {
    bytes.div_ceil(1_000_000)
}

fn also(found: &Option<String>) -> String {
    found
        .as_ref()
        .map(|version| format!(" (only Python {version})"))
        .unwrap_or_default()
}

fn said(reason: &str) -> String {
    if reason.is_empty() {
        String::new()
    } else {
        format!(": {reason}")
    }
}
