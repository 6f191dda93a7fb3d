//! System calls of Linux beyond the standard library: unnamed files, atomic swaps, extended attributes, and opening
//! without links. `portable.rs` has the same functions for other systems.

use std::ffi::CStr;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, FsWord, Mode, OFlags, PROC_SUPER_MAGIC, RenameFlags, ResolveFlags, XattrFlags,
    fgetxattr, fsetxattr, fstatfs, getxattr, linkat, listxattr, open, openat2, renameat_with,
};
use rustix::io::Errno;

use super::disk::{check_and_rename, open_real_path};

/// The file system type that `fstatfs` reports for `/sys`.
const SYSFS_MAGIC: FsWord = 0x6265_6572;

/// Attributes that sign the content of a file. Only the system sets them.
const NOT_TO_COPY: [&CStr; 2] = [c"security.ima", c"security.evm"];

/// The size limit of Linux for the value of an attribute and for the list of all names, in bytes.
const MAX_ATTRIBUTE: usize = 64 * 1024;

/// Creates a file without a name, with the mode that the umask allows; `None` if the file system does not support it.
pub(super) fn create_unnamed(folder: &Path) -> io::Result<Option<File>> {
    // `link_unnamed` needs this folder.
    if !Path::new("/proc/self/fd").exists() {
        return Ok(None);
    }
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::APPEND | OFlags::CLOEXEC;
    match open(folder, flags, Mode::from_raw_mode(0o666)) {
        Ok(file) => Ok(Some(File::from(file))),
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Gives an unnamed file a name, which must be free.
pub(super) fn link_unnamed(file: &File, path: &Path) -> io::Result<()> {
    let unnamed = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(linkat(CWD, unnamed, CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

/// Makes opening a symbolic link an error.
pub(super) fn follow_no_link(options: &mut OpenOptions) -> &mut OpenOptions {
    options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
}

/// Makes opening never block: a pipe without a writer reads as empty.
pub(super) fn wait_for_no_writer(options: &mut OpenOptions) -> &mut OpenOptions {
    options.custom_flags(OFlags::NONBLOCK.bits().cast_signed())
}

/// Opens a file for reading. A symbolic link in any part of its path is an error.
pub(super) fn open_without_links(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match openat2(CWD, path, flags, Mode::empty(), resolve) {
        Ok(file) => Ok(File::from(file)),
        // Old kernels lack the call, and some sandboxes forbid it.
        Err(Errno::NOSYS | Errno::PERM) => open_real_path(path),
        Err(error) => Err(error.into()),
    }
}

/// Returns whether a file is one of `/proc` or `/sys`, wherever they are mounted.
pub(super) fn is_virtual(file: &File) -> io::Result<bool> {
    let kind = fstatfs(file)?.f_type;
    Ok(kind == PROC_SUPER_MAGIC || kind == SYSFS_MAGIC)
}

/// Swaps two files atomically.
pub(super) fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    match renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            Err(io::ErrorKind::Unsupported.into())
        }
        done => Ok(done?),
    }
}

/// Renames a file; fails if the new name is taken.
pub(super) fn rename_to_free_name(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => check_and_rename(from, to),
        done => Ok(done?),
    }
}

/// Copies the extended attributes of another file, including access control lists. Equal values are not written again.
pub(super) fn copy_attributes(file: &File, original: &Path) -> io::Result<()> {
    let mut names = vec![0; MAX_ATTRIBUTE];
    let length = match listxattr(original, &mut names[..]) {
        Ok(length) => length,
        Err(Errno::OPNOTSUPP) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let mut old_buffer = vec![0; MAX_ATTRIBUTE];
    let mut new_buffer = vec![0; MAX_ATTRIBUTE];
    for name in names[..length].split_inclusive(|byte| *byte == 0) {
        let Ok(name) = CStr::from_bytes_with_nul(name) else {
            continue;
        };
        if NOT_TO_COPY.contains(&name) {
            continue;
        }
        let old_length = getxattr(original, name, &mut old_buffer[..])?;
        let old = &old_buffer[..old_length];
        let new_length = fgetxattr(file, name, &mut new_buffer[..]);
        let new = new_length.ok().map(|length| &new_buffer[..length]);
        if new != Some(old) {
            fsetxattr(file, name, old, XattrFlags::empty())?;
        }
    }
    Ok(())
}
