//! What only the operating system can do: private files and folders, locks, sessions, signals, free space.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::LocalError;
use crate::error::to;

/// How long to wait before asking for a lock again.
const PAUSE: Duration = Duration::from_millis(20);

/// How a file of ours is opened: by its owner only.
pub(crate) fn private() -> OpenOptions {
    let mut options = File::options();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Makes a folder and those above it; who else may enter is nobody.
pub(crate) fn create_private_folder(path: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Opens the file of a lock.
pub(crate) fn lock_file(folder: &Path, name: &str) -> Result<File, LocalError> {
    create_private_folder(folder).map_err(to("create this folder", folder))?;
    let path = folder.join(name);
    let file = private()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path);
    file.map_err(to("open", &path))
}

/// Takes a lock for oneself, waiting for others as long as `patience` lasts; `waiting` is called once
/// if there is somebody. False if there still is.
pub(crate) fn take(file: &File, patience: Duration, waiting: &mut dyn FnMut()) -> bool {
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

/// Whether somebody holds a lock for himself.
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

/// Makes what was written in a folder, and below it, survive a power cut.
pub(crate) fn sync(path: &Path) -> Result<(), LocalError> {
    let facts = path.symlink_metadata().map_err(to("look at", path))?;
    if facts.is_dir() {
        for entry in path.read_dir().map_err(to("list", path))? {
            sync(&entry.map_err(to("list", path))?.path())?;
        }
    }
    if facts.is_dir() || facts.is_file() {
        File::open(path)
            .and_then(|file| file.sync_all())
            .map_err(to("sync", path))?;
    }
    Ok(())
}

/// Bytes that may be written to the disk of a folder; `None` if it does not say.
#[cfg(unix)]
pub(crate) fn free_bytes(folder: &Path) -> Option<u64> {
    let facts = rustix::fs::statvfs(folder).ok()?;
    Some(facts.f_bavail.saturating_mul(facts.f_frsize))
}

#[cfg(not(unix))]
pub(crate) fn free_bytes(_: &Path) -> Option<u64> {
    None
}

/// Leaves the terminal, so that its Ctrl-C and its end are none of our business.
#[cfg(unix)]
pub(crate) fn leave_terminal() {
    // Fails for the leader of a group, who has left already.
    let _ = rustix::process::setsid();
}

#[cfg(not(unix))]
pub(crate) fn leave_terminal() {}

/// Lets the system end this process when the one that started it ends; false if it has ended already.
/// What replaces this program by `exec` inherits that.
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

/// Ends a process at once. Whoever calls this knows that the number still stands for it.
#[cfg(unix)]
pub(crate) fn kill(pid: u32) {
    let pid = i32::try_from(pid)
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    if let Some(pid) = pid {
        // It may have ended by itself.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}

#[cfg(not(unix))]
pub(crate) fn kill(_: u32) {}

/// Random bytes as 64 digits and letters.
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
