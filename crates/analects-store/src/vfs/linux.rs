//! What Linux can do beyond the standard library: files without a name, two files swapped in one
//! step, extended attributes.

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

use super::disk::{look_and_rename, open_real_path};

/// What `fstatfs` says of `/sys`.
const SYSFS_MAGIC: FsWord = 0x6265_6572;

/// Attributes that sign a file's bytes, and are the system's to set.
const NOT_TO_COPY: [&CStr; 2] = [c"security.ima", c"security.evm"];

/// The most that Linux allows for a value, and for the list of all names.
const MAX_ATTRIBUTE: usize = 64 * 1024;

/// A file without a name, with the mode that the umask gives; `None` where the file system has no
/// such files.
pub(super) fn create_unnamed(folder: &Path) -> io::Result<Option<File>> {
    // A name is given later through this folder.
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

/// Gives a file without a name its name.
pub(super) fn link_unnamed(file: &File, path: &Path) -> io::Result<()> {
    let unnamed = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(linkat(CWD, unnamed, CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

/// Lets a symbolic link be an error.
pub(super) fn follow_no_link(options: &mut OpenOptions) -> &mut OpenOptions {
    options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
}

/// Waits for nobody: a pipe without a writer is empty.
pub(super) fn wait_for_no_writer(options: &mut OpenOptions) -> &mut OpenOptions {
    options.custom_flags(OFlags::NONBLOCK.bits().cast_signed())
}

/// Opens a file for reading if no part of its path is a symbolic link.
pub(super) fn open_without_links(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match openat2(CWD, path, flags, Mode::empty(), resolve) {
        Ok(file) => Ok(File::from(file)),
        // Old kernels do not know the call, and some sandboxes forbid it.
        Err(Errno::NOSYS | Errno::PERM) => open_real_path(path),
        Err(error) => Err(error.into()),
    }
}

/// Whether a file is one of `/proc` or `/sys`, wherever these are mounted.
pub(super) fn is_made_up(file: &File) -> io::Result<bool> {
    let kind = fstatfs(file)?.f_type;
    Ok(kind == PROC_SUPER_MAGIC || kind == SYSFS_MAGIC)
}

/// Swaps two files in one step.
pub(super) fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    match renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            Err(io::ErrorKind::Unsupported.into())
        }
        done => Ok(done?),
    }
}

/// Renames a file, unless another file has that name.
pub(super) fn rename_to_free_name(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => look_and_rename(from, to),
        done => Ok(done?),
    }
}

/// Gives a file the extended attributes of another, access lists among them.
pub(super) fn adopt_attributes(file: &File, original: &Path) -> io::Result<()> {
    let mut names = vec![0; MAX_ATTRIBUTE];
    let length = match listxattr(original, &mut names[..]) {
        Ok(length) => length,
        Err(Errno::OPNOTSUPP) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let (mut wanted, mut given) = (vec![0; MAX_ATTRIBUTE], vec![0; MAX_ATTRIBUTE]);
    for name in names[..length].split_inclusive(|byte| *byte == 0) {
        let Ok(name) = CStr::from_bytes_with_nul(name) else {
            continue;
        };
        if NOT_TO_COPY.contains(&name) {
            continue;
        }
        let wanted_length = getxattr(original, name, &mut wanted[..])?;
        let value = &wanted[..wanted_length];
        let given_length = fgetxattr(file, name, &mut given[..]);
        if given_length.ok().map(|length| &given[..length]) != Some(value) {
            fsetxattr(file, name, value, XattrFlags::empty())?;
        }
    }
    Ok(())
}
