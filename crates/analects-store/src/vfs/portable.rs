//! Replacements for `linux.rs` on other systems: drafts have names, files cannot be swapped, and extended attributes are
//! ignored.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// Unnamed files are not available.
pub(super) fn create_unnamed(_: &Path) -> io::Result<Option<File>> {
    Ok(None)
}

/// Never called, because [`create_unnamed`] creates no file.
pub(super) fn link_unnamed(_: &File, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Symbolic links are followed, the default of the standard library.
pub(super) fn follow_no_link(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// Opening a pipe blocks, the default of the standard library.
pub(super) fn wait_for_no_writer(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// Two files cannot be swapped atomically.
pub(super) fn exchange(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Renames a file; fails if the new name is taken.
pub(super) fn rename_to_free_name(from: &Path, to: &Path) -> io::Result<()> {
    super::disk::check_and_rename(from, to)
}

/// Extended attributes are ignored.
pub(super) fn copy_attributes(_: &File, _: &Path) -> io::Result<()> {
    Ok(())
}

/// Opens a file for reading. A symbolic link in any part of its path is an error.
pub(super) fn open_without_links(path: &Path) -> io::Result<File> {
    super::disk::open_real_path(path)
}

/// No virtual file systems are known here.
pub(super) fn is_virtual(_: &File) -> io::Result<bool> {
    Ok(false)
}
