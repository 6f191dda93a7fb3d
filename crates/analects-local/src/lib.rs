//! Models that run on this machine. The crate downloads what a model needs, starts a llama.cpp server for it on demand,
//! shares the server between programs, and ends it when nobody has used it for a while.
//!
//! The crate prints nothing, reads no environment variable and sends no prompt to a model. Folders and the search path
//! are arguments, and the caller gets a port and a key.
//!
//! # Types, in reading order
//!
//! 1. [`Local`] manages the models of this machine: [`Local::list`], [`Local::add`], [`Local::remove`].
//! 2. [`Local::pull`] downloads an engine and weights, whose hashes are pinned in `data/packages.json`.
//! 3. [`Local::serve`] returns a [`LocalServer`], which runs at least as long as that value lives.
//! 4. [`run_if_hidden`] is the part of the program that runs when it starts itself to supervise a server.
//! 5. [`LocalError`] is everything that can go wrong.
//!
//! ```
//! use analects_local::{LEASE, Local, LocalError};
//!
//! let folder = tempfile::tempdir()?;
//! let local = Local {
//!     data: folder.path().join("data"),
//!     state: folder.path().join("state"),
//!     search_path: "/usr/bin".into(),
//!     program: std::env::current_exe()?,
//!     lease: LEASE,
//!     secrets: vec!["OPENAI_API_KEY".to_string()],
//!     python_environment: None,
//! };
//! let weights = folder.path().join("weights.gguf");
//! std::fs::write(&weights, b"GGUF and so on")?;
//! local.add("mine", &weights)?;
//! assert_eq!(local.find("mine")?.bytes, Some(14));
//! // Models that can be downloaded are known too.
//! assert!(matches!(local.find("smollm2"), Err(LocalError::NotPulled(_))));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Which process keeps which alive
//!
//! ```text
//! command ──starts──▶ keeper ──starts──▶ server
//!    └──holds the lease (a shared lock)───▲ checks it twice a second
//! ```
//!
//! The keeper holds a lock while it lives, so other programs can see that it does. When nobody has held the lease for
//! [`LEASE`], it ends the server and itself. If a command is killed, its lease ends. If the keeper is killed, the server
//! ends too: Linux sends it a signal, and elsewhere the wheel's server notices that its standard input was closed.
//!
//! # Limitations
//!
//! - Unix only. Elsewhere, and on machines without a wheel, a person has to start a server.
//! - Folders whose names are not UTF-8 cannot hold the wheel or the weights that it serves.
//! - The locks are those of the file system. On one without locks, no server can run.
//! - Outside Linux, a `llama-server` from the search path outlives a keeper that was killed.

mod engine;
mod error;
mod health;
mod keeper;
mod models;
mod packages;
mod pull;
mod python;
mod server;
mod sys;

use std::ffi::OsString;
use std::fs::File;
use std::path::PathBuf;
use std::time::Duration;

pub use error::LocalError;
pub use health::models_at;
pub use keeper::run_if_hidden;
pub use models::InstalledModel;
pub use packages::PullableModel;
pub use pull::PullProgress;
pub use server::{LocalServer, StartProgress};

/// How long an unused server keeps running.
pub const LEASE: Duration = Duration::from_secs(600);

/// The models of this machine, and the folders that hold them.
#[derive(Debug, Clone)]
pub struct Local {
    /// The data folder. Its subfolder `local` holds the engine and the weights.
    pub data: PathBuf,
    /// The state folder. Its subfolder `local` holds locks and logs of running servers.
    pub state: PathBuf,
    /// Where to look for programs, in the form of the variable `PATH`.
    pub search_path: OsString,
    /// This program, which is started again to supervise a server. It has to pass its arguments to
    /// [`run_if_hidden`].
    pub program: PathBuf,
    /// How long an unused server keeps running; usually [`LEASE`].
    pub lease: Duration,
    /// Environment variables that are hidden from the server, such as keys.
    pub secrets: Vec<String>,
    /// The environment of a Python that downloads something; `None` for that of this process.
    pub python_environment: Option<Vec<(OsString, OsString)>>,
}

impl Local {
    /// The folder that holds the engine and the weights.
    /// Deleting it as a whole loses nothing but downloads and links: files that the person added stay where they are.
    pub(crate) fn store(&self) -> PathBuf {
        self.data.join("local")
    }

    /// The folder that holds the weights of all models.
    pub(crate) fn weights(&self) -> PathBuf {
        self.store().join("models")
    }

    /// Locks the store against changes by other programs, and calls `waiting` if one holds the lock. The lock is in the
    /// data folder, since programs that share the store may have different state folders.
    /// Waits without a limit, because a download of another program may take long. Dropping the file releases the lock.
    /// The lock file stays outside of the store, so that it survives [`Local::remove`].
    pub(crate) fn lock_store(&self, waiting: &mut dyn FnMut()) -> Result<File, LocalError> {
        let file = sys::lock_file(&self.data, "local.lock")?;
        sys::lock_exclusively(&file, Duration::MAX, waiting);
        Ok(file)
    }

    /// The folder with the locks, the log and the address of a model's server.
    pub(crate) fn run_folder(&self, name: &str) -> PathBuf {
        self.state.join("local").join(name)
    }

    /// The log of a model's server.
    /// Each start of the server begins it anew.
    pub(crate) fn log(&self, name: &str) -> PathBuf {
        self.run_folder(name).join("server.log")
    }

    /// The file with the port and the key of a running server.
    /// It exists only while the server is ready, and only its owner can read it.
    pub(crate) fn info_file(&self, name: &str) -> PathBuf {
        self.run_folder(name).join("server.json")
    }
}
