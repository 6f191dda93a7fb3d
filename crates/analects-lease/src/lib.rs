//! Whether another process has a file open for writing.
//!
//! [`take`] asks the system for a *lease* on an open file. The system grants it only if no other
//! process writes to the file, and as long as you hold it, whoever opens the file for writing waits
//! in `open`. [`release`] ends it, and so does closing the file. [`writers`] names the processes that
//! are in the way.
//!
//! ```
//! use std::fs::File;
//!
//! use analects_lease::{Against, Lease};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("talk.msg.md");
//! let writer = File::create(&path)?;
//! let reader = File::open(&path)?;
//! # if cfg!(target_os = "linux") {
//! assert_eq!(analects_lease::take(&reader, Against::Writers), Lease::Refused);
//! drop(writer);
//! assert_eq!(analects_lease::take(&reader, Against::Writers), Lease::Granted);
//! analects_lease::release(&reader);
//! # }
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # Limitations
//!
//! - Only Linux has leases. Elsewhere, the answer is always [`Lease::Unknown`].
//! - Linux grants a lease only to the owner of the file, and only on file systems that know leases. In
//!   other cases, this crate looks through `/proc` for writers. It finds none in processes of other
//!   users or of other containers, and none that has only a memory map left: then the answer is
//!   [`Lease::Unknown`], too.
//! - A lease lasts at most as long as `/proc/sys/fs/lease-break-time` says, 45 seconds by default,
//!   once somebody waits for it. Release it quickly.
//! - A program that opens the file with `O_NONBLOCK` does not wait for the end of a lease: its `open` fails.
//! - A thread that opens the file for writing while it holds the lease itself waits for that long.

#[cfg(target_os = "linux")]
mod linux;

use std::fs::File;

/// What became of a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lease {
    /// You have it: nobody else has the file open for what you asked about, and nobody can open it so
    /// before you release it.
    Granted,
    /// Somebody else has the file open.
    Refused,
    /// The system cannot tell.
    Unknown,
}

/// Whom a lease keeps away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Against {
    /// Those who write; readers may go on. The file must be open for reading only.
    Writers,
    /// Everybody else. The file may be open for writing.
    Everybody,
}

/// A process that has a file open for writing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Writer {
    /// Its number.
    pub pid: u32,
    /// The name of its program, which the system cuts to 15 bytes.
    pub name: String,
}

/// Takes a lease on an open file, if nobody is in the way. Never waits.
pub fn take(file: &File, against: Against) -> Lease {
    #[cfg(target_os = "linux")]
    return linux::take(file, against);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (file, against);
        Lease::Unknown
    }
}

/// Ends a lease. Those who waited for it go on with the file that they opened, even if it has
/// another name by now.
pub fn release(file: &File) {
    #[cfg(target_os = "linux")]
    linux::release(file);
    #[cfg(not(target_os = "linux"))]
    let _ = file;
}

/// The other processes that have the file open for writing, as far as `/proc` shows them.
pub fn writers(file: &File) -> Vec<Writer> {
    #[cfg(target_os = "linux")]
    return linux::writers(file);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = file;
        Vec::new()
    }
}
