//! Finds out whether another process has a file open for writing.
//!
//! [`take`] requests a *lease* on an open file. The system grants it only if no other process has the file open for
//! writing. While you hold the lease, any process that opens the file for writing blocks in `open`. [`release`] or
//! closing the file ends the lease. [`writers`] lists the processes that prevent it.
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
//! - Only Linux has leases. On other systems the answer is always [`Lease::Unknown`].
//! - Linux grants a lease only to the owner of the file, and only on file systems that support leases. In other cases
//!   this crate searches `/proc` for writers. It misses processes of other users and other containers, and processes
//!   that only keep a memory map: the answer is then [`Lease::Unknown`], too.
//! - Once another process waits for the lease, it lasts at most as long as `/proc/sys/fs/lease-break-time` says, 45
//!   seconds by default. Release it quickly.
//! - A program that opens the file with `O_NONBLOCK` does not wait for the lease to end: its `open` fails.
//! - A thread that holds a lease and opens the same file for writing blocks for that long.

#[cfg(target_os = "linux")]
mod linux;

use std::fs::File;

/// The outcome of a request for a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lease {
    /// You hold the lease: no other process has the file open in the way that you asked about, and none can open it so
    /// before you release the lease.
    Granted,
    /// Another process has the file open.
    Refused,
    /// The system cannot tell.
    Unknown,
}

/// The processes that a lease keeps away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Against {
    /// Writers only; readers may open the file. Your own file must be open for reading only.
    Writers,
    /// All other processes. Your own file may be open for writing.
    Everybody,
}

/// A process that has a file open for writing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriterProcess {
    /// The process id.
    pub pid: u32,
    /// The name of the program, which the system cuts to 15 bytes.
    pub name: String,
}

/// Requests a lease on an open file. Never blocks.
pub fn take(file: &File, against: Against) -> Lease {
    #[cfg(target_os = "linux")]
    return linux::take(file, against);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (file, against);
        Lease::Unknown
    }
}

/// Ends a lease. Processes that waited for it continue with the file that they opened, even if it has another name by
/// now.
pub fn release(file: &File) {
    #[cfg(target_os = "linux")]
    linux::release(file);
    #[cfg(not(target_os = "linux"))]
    let _ = file;
}

/// Returns the other processes that have the file open for writing, as far as `/proc` shows them.
pub fn writers(file: &File) -> Vec<WriterProcess> {
    #[cfg(target_os = "linux")]
    return linux::writers(file);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = file;
        Vec::new()
    }
}
