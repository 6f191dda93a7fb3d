//! Calls to the operating system: private files and folders, locks, sessions, signals and free space.
//!
//! Locks are those of the file system (`flock`), which the system releases when a process ends, however it ends. So no
//! lock is ever stale.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::LocalError;
use crate::error::io_error;

/// How long to wait before asking for a lock again.
const PAUSE: Duration = Duration::from_millis(20);

/// Options that create a file that only its owner can open.
/// An existing file keeps its permissions.
pub(crate) fn private() -> OpenOptions {
    let mut options = File::options();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Creates a folder and its parents. Only the owner can enter them.
/// Folders that exist keep their permissions.
pub(crate) fn create_private_folder(path: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Opens or creates the file of a lock.
/// Creates the folder too. The caller takes the lock itself, shared or exclusive; it lasts until the file is dropped.
pub(crate) fn lock_file(folder: &Path, name: &str) -> Result<File, LocalError> {
    create_private_folder(folder).map_err(io_error("create this folder", folder))?;
    let path = folder.join(name);
    let file = private()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path);
    file.map_err(io_error("open", &path))
}

/// Takes an exclusive lock. Waits for others as long as `patience`, and calls `waiting` once if it has to. False if
/// another process still holds the lock.
/// An interrupted attempt is repeated; any other failure of the file system counts as "cannot".
pub(crate) fn lock_exclusively(file: &File, patience: Duration, waiting: &mut dyn FnMut()) -> bool {
    let start = Instant::now();
    let mut told = false;
    loop {
        match file.try_lock() {
            Ok(()) => return true,
            Err(TryLockError::Error(error)) if error.kind() != io::ErrorKind::Interrupted => {
                return false;
            }
            Err(_) => {}
        }
        if start.elapsed() >= patience {
            return false;
        }
        if !std::mem::replace(&mut told, true) {
            waiting();
        }
        std::thread::sleep(PAUSE);
    }
}

/// Whether another process holds an exclusive lock.
/// Takes the lock for a moment to find out, so two callers at once do not disturb each other: both ask for a shared
/// lock.
pub(crate) fn is_held(file: &File) -> bool {
    match file.try_lock_shared() {
        Ok(()) => {
            let _ = file.unlock();
            false
        }
        Err(TryLockError::WouldBlock) => true,
        Err(TryLockError::Error(_)) => false,
    }
}

/// Syncs a file, or everything below a folder, so that it survives a power cut.
/// Links are not followed, since what they point to belongs to somebody else.
pub(crate) fn sync(path: &Path) -> Result<(), LocalError> {
    let facts = path.symlink_metadata().map_err(io_error("look at", path))?;
    if facts.is_dir() {
        for entry in path.read_dir().map_err(io_error("list", path))? {
            sync(&entry.map_err(io_error("list", path))?.path())?;
        }
    }
    if facts.is_dir() || facts.is_file() {
        File::open(path)
            .and_then(|file| file.sync_all())
            .map_err(io_error("sync", path))?;
    }
    Ok(())
}

/// The free bytes on the disk of a folder; `None` if unknown.
/// Space that the system reserves for root is not counted.
#[cfg(unix)]
pub(crate) fn free_bytes(folder: &Path) -> Option<u64> {
    let facts = rustix::fs::statvfs(folder).ok()?;
    Some(facts.f_bavail.saturating_mul(facts.f_frsize))
}

#[cfg(not(unix))]
pub(crate) fn free_bytes(_: &Path) -> Option<u64> {
    None
}

/// Detaches from the terminal, so that Ctrl-C and closing it do not end this process.
#[cfg(unix)]
pub(crate) fn leave_terminal() {
    // Fails for the leader of a group, who has left already.
    let _ = rustix::process::setsid();
}

#[cfg(not(unix))]
pub(crate) fn leave_terminal() {}

/// Lets the system end this process when its parent ends. False if the parent has ended already. A program that replaces
/// this one by `exec` inherits the setting.
#[cfg(target_os = "linux")]
pub(crate) fn end_with(parent: u32) -> bool {
    use rustix::process::{Signal, getppid, set_parent_process_death_signal};
    let set = set_parent_process_death_signal(Some(Signal::KILL)).is_ok();
    let now = getppid().map(|pid| pid.as_raw_nonzero().get());
    set && now.and_then(|pid| u32::try_from(pid).ok()) == Some(parent)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn end_with(_: u32) -> bool {
    true
}

/// Kills a process. The caller has to know that the process id is still right.
#[cfg(unix)]
pub(crate) fn kill(pid: u32) {
    let pid = i32::try_from(pid)
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    if let Some(pid) = pid {
        // The process may have ended already.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}

#[cfg(not(unix))]
pub(crate) fn kill(_: u32) {}

/// 32 random bytes as 64 hexadecimal digits.
/// It becomes the key of a server, so that no other user of the machine can talk to it.
#[cfg(unix)]
pub(crate) fn secret() -> io::Result<String> {
    let mut bytes = [0; 32];
    io::Read::read_exact(&mut File::open("/dev/urandom")?, &mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(not(unix))]
pub(crate) fn secret() -> io::Result<String> {
    Err(io::ErrorKind::Unsupported.into())
}
