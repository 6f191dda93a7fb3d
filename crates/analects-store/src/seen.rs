//! What a file looked like when it was read, to notice whether somebody has changed it since.

use std::fs::{self, Metadata};
use std::path::Path;

/// The facts of a file; equal facts mean that nobody wrote to it in between.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen(Option<Facts>);

impl Seen {
    /// Looks at a file; one that is not there has no facts.
    pub(crate) fn of(path: &Path) -> Seen {
        Seen(fs::metadata(path).ok().map(|facts| Facts::of(&facts)))
    }
}

#[cfg(unix)]
#[derive(Debug, Clone, PartialEq, Eq)]
struct Facts {
    device: u64,
    inode: u64,
    length: u64,
    modified: (i64, i64),
}

#[cfg(unix)]
impl Facts {
    fn of(facts: &Metadata) -> Facts {
        use std::os::unix::fs::MetadataExt;
        Facts {
            device: facts.dev(),
            inode: facts.ino(),
            length: facts.len(),
            modified: (facts.mtime(), facts.mtime_nsec()),
        }
    }
}

#[cfg(not(unix))]
#[derive(Debug, Clone, PartialEq, Eq)]
struct Facts {
    length: u64,
    created: Option<std::time::SystemTime>,
    modified: Option<std::time::SystemTime>,
}

#[cfg(not(unix))]
impl Facts {
    fn of(facts: &Metadata) -> Facts {
        Facts {
            length: facts.len(),
            created: facts.created().ok(),
            modified: facts.modified().ok(),
        }
    }
}

/// Whether two looks were at the same file, whatever it holds by now.
pub(crate) fn is_same_file(one: &Metadata, other: &Metadata) -> bool {
    let (one, other) = (Facts::of(one), Facts::of(other));
    #[cfg(unix)]
    return (one.device, one.inode) == (other.device, other.inode);
    #[cfg(not(unix))]
    return one.created == other.created;
}
