//! What systems other than Linux have instead: drafts have names, two files cannot be swapped, and
//! extended attributes are not looked at.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// Files without a name are not to be had.
pub(super) fn create_unnamed(_: &Path) -> io::Result<Option<File>> {
    Ok(None)
}

/// Every draft has a name here.
pub(super) fn link_unnamed(_: &File, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Links are followed, as the standard library does it.
pub(super) fn follow_no_link(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// A pipe is waited for, as the standard library does it.
pub(super) fn wait_for_no_writer(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// Two files cannot be swapped in one step.
pub(super) fn exchange(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Renames a file, unless another file has that name.
pub(super) fn rename_to_free_name(from: &Path, to: &Path) -> io::Result<()> {
    super::disk::look_and_rename(from, to)
}

/// Nothing is known of them.
pub(super) fn adopt_attributes(_: &File, _: &Path) -> io::Result<()> {
    Ok(())
}

/// Looks for links first, and opens then.
pub(super) fn open_without_links(path: &Path) -> io::Result<File> {
    super::disk::open_real_path(path)
}

/// Other systems have no such files where people name them.
pub(super) fn is_made_up(_: &File) -> io::Result<bool> {
    Ok(false)
}
