//! One message file on a disk in memory, for tests that break the disk at every step.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use analects_store::vfs::Vfs;
use analects_store::{LockedFile, StoreError, StoreFolders};
use analects_testkit::disks::Memory;

pub const FILE: &str = "/disk/talk.msg.md";
pub const BASE: &str = "# %%\n\nfirst\n\n# %%% [^2]\n\n[^2]: [quick]\n\nsecond\n";

pub fn places() -> StoreFolders {
    StoreFolders::in_folder("/disk")
}

/// A disk with the file.
pub fn disk() -> Memory {
    Memory::new("/disk").with_file(FILE, BASE)
}

/// Opens the file, which grows in place from the length `large` on, and waits for nobody.
pub fn open(vfs: impl Vfs + 'static, large: usize) -> Result<LockedFile, StoreError> {
    let file = LockedFile::open_on(Arc::new(vfs), Path::new(FILE), &places(), Duration::ZERO)?;
    Ok(file.with_in_place_size(large).with_patience(Duration::ZERO))
}
