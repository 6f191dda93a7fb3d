//! Leases on Linux, and a search through `/proc` where leases are not available.

use std::fs::{self, DirEntry, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use libc::c_int;

use crate::{Against, Lease, WriterProcess};

/// The mode bit of a link in `/proc/PID/fd` that marks a file as open for writing.
const OPEN_FOR_WRITING: u32 = 0o200;

/// The `fcntl` command that sets the signal for a lease that others wait for. `libc` does not define it; the number is
/// the same on every architecture that Rust supports.
const F_SETSIG: c_int = 10;

/// Requests a lease. Where leases are not available, a writer in `/proc` counts as a refusal.
pub(crate) fn take(file: &File, against: Against) -> Lease {
    let kind = match against {
        Against::Writers => libc::F_RDLCK,
        Against::Everybody => libc::F_WRLCK,
    };
    // When a process waits for a lease, the system sends the holder a signal. By default this is SIGIO, which ends the
    // process. Processes ignore SIGURG unless they handle it.
    let taken =
        fcntl(file, F_SETSIG, libc::SIGURG).and_then(|()| fcntl(file, libc::F_SETLEASE, kind));
    match taken {
        Ok(()) => Lease::Granted,
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Lease::Refused,
        // The file belongs to someone else, or its file system does not support leases.
        Err(_) if writers(file).is_empty() => Lease::Unknown,
        Err(_) => Lease::Refused,
    }
}

/// Ends a lease, if there is one.
pub(crate) fn release(file: &File) {
    // This fails only if there is no lease.
    let _ = fcntl(file, libc::F_SETLEASE, libc::F_UNLCK);
}

/// Runs a command on an open file, with a number as its argument.
#[allow(unsafe_code)]
fn fcntl(file: &File, command: c_int, argument: c_int) -> io::Result<()> {
    // SAFETY: the descriptor is open, because `file` is borrowed. F_SETSIG and F_SETLEASE, the only
    // commands that this file passes, take an int by value; they neither read nor write memory of ours,
    // and they do not close or replace the descriptor.
    let result = unsafe { libc::fcntl(file.as_raw_fd(), command, argument) };
    if result == -1 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// Lists the other processes that have the file open for writing. Files are compared by device and inode.
pub(crate) fn writers(file: &File) -> Vec<WriterProcess> {
    let Ok(metadata) = file.metadata() else {
        return Vec::new();
    };
    let identity = (metadata.dev(), metadata.ino());
    let own = std::process::id();
    process_ids()
        .into_iter()
        .filter(|pid| *pid != own && writes_to(*pid, identity))
        .map(|pid| WriterProcess {
            pid,
            name: name_of(pid),
        })
        .collect()
}

/// Returns the ids of all processes that `/proc` shows.
fn process_ids() -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

/// Returns whether a process has the file open for writing; `false` for a process that is hidden from us, or gone.
fn writes_to(pid: u32, identity: (u64, u64)) -> bool {
    let Ok(descriptors) = fs::read_dir(format!("/proc/{pid}/fd")) else {
        return false;
    };
    descriptors
        .flatten()
        .any(|descriptor| is_open_for_writing(&descriptor, identity))
}

/// Returns whether a descriptor is open for writing and refers to the file with this device and inode.
fn is_open_for_writing(descriptor: &DirEntry, identity: (u64, u64)) -> bool {
    let is_for_writing = descriptor
        .metadata()
        .is_ok_and(|link| link.mode() & OPEN_FOR_WRITING != 0);
    is_for_writing
        && fs::metadata(descriptor.path()).is_ok_and(|file| (file.dev(), file.ino()) == identity)
}

/// Returns the name of a process; empty if it is gone.
fn name_of(pid: u32) -> String {
    let name = fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("comm"));
    name.unwrap_or_default().trim_end().to_string()
}

#[cfg(test)]
mod tests {
    //! With real processes: a lease counts what other programs have open.

    #![allow(clippy::unwrap_used)]

    use std::io::Write;
    use std::path::PathBuf;
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// A file, and a process that has it open for writing until its input ends.
    fn held(how: &str) -> (tempfile::TempDir, PathBuf, Child) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.msg.md");
        fs::write(&path, "").unwrap();
        let script = format!("exec 3{how}\"$0\"; echo ready; exec cat");
        let mut child = Command::new("sh")
            .args(["-c", &script])
            .arg(&path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut ready = [0; 6];
        io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut ready).unwrap();
        (folder, path, child)
    }

    fn end(mut child: Child) {
        drop(child.stdin.take());
        child.wait().unwrap();
    }

    #[test]
    fn a_program_that_has_the_file_open_for_writing_is_in_the_way_and_has_a_name() {
        for how in [">", ">>", "<>"] {
            let (_folder, path, child) = held(how);
            let file = File::open(path).unwrap();
            assert_eq!(take(&file, Against::Writers), Lease::Refused, "{how}");
            let writers = writers(&file);
            assert_eq!(writers.len(), 1, "{how}");
            assert_eq!(writers[0].pid, child.id());
            end(child);
            assert_eq!(take(&file, Against::Writers), Lease::Granted, "{how}");
        }
    }

    #[test]
    fn a_reader_is_in_the_way_of_those_who_want_the_file_alone() {
        let (_folder, path, child) = held("<");
        let reader = File::open(&path).unwrap();
        assert_eq!(take(&reader, Against::Writers), Lease::Granted);
        drop(reader);
        let file = File::options().append(true).open(&path).unwrap();
        assert_eq!(take(&file, Against::Everybody), Lease::Refused);
        assert_eq!(writers(&file), []);
        end(child);
        assert_eq!(take(&file, Against::Everybody), Lease::Granted);
    }

    #[test]
    fn where_there_are_no_leases_nobody_can_tell() {
        // A folder has none, on any file system.
        let folder = tempfile::tempdir().unwrap();
        let file = File::open(folder.path()).unwrap();
        assert_eq!(take(&file, Against::Writers), Lease::Unknown);
        release(&file);
    }

    #[test]
    fn a_writer_waits_for_the_end_of_a_lease_and_nobody_is_killed_by_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.msg.md");
        fs::write(&path, "one\n").unwrap();
        let file = File::open(&path).unwrap();
        assert_eq!(take(&file, Against::Writers), Lease::Granted);
        let writer = std::thread::spawn(move || {
            let mut file = File::options().append(true).open(path).unwrap();
            file.write_all(b"two\n").unwrap();
        });
        while nobody_waits_for(&file) {
            std::thread::yield_now();
        }
        assert_eq!(io::read_to_string(&file).unwrap(), "one\n");
        release(&file);
        writer.join().unwrap();
        assert_eq!(io::read_to_string(&file).unwrap(), "two\n");
    }

    /// Whether nobody waits in `open` for the end of our lease: else the system says that it is ending.
    #[allow(unsafe_code)]
    fn nobody_waits_for(file: &File) -> bool {
        // SAFETY: the descriptor is open, and F_GETLEASE takes no argument.
        let kind = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETLEASE) };
        kind == libc::F_RDLCK
    }
}
