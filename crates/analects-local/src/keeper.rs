//! What this program does when it starts itself: it supervises a server while that is used, or becomes another program
//! that ends with its parent.
//!
//! A keeper goes through these steps: lock [`KEEPER`] and write its process id there, start the engine, write the
//! server's address once it is ready, and then check the lease twice a second. It ends when the lease is over, when the
//! server ends, or when the file [`STOP`] appears. The address file is removed first, so no command finds a server that
//! is about to end.

use std::ffi::{OsStr, OsString};
use std::fs::{File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use crate::engine::{Engine, ServerProcess};
use crate::error::io_error;
use crate::server::ServerInfo;
use crate::sys::{lock_exclusively, lock_file};
use crate::{Local, LocalError, health, sys};

/// The first argument of a program that started itself.
const HIDDEN: &str = "--local-server-of-this-program";

/// The file that the keeper locks while it lives. It holds the keeper's process id.
pub(crate) const KEEPER: &str = "keeper.lock";
/// The file that every user of the server locks.
pub(crate) const LEASE_FILE: &str = "lease.lock";
/// The keeper ends when this file exists.
pub(crate) const STOP: &str = "stop";

/// How often the keeper checks, before its server is ready and after.
/// Loading a small model takes a fraction of a second, so each delay before the server is ready is felt; afterwards a
/// rare check saves power.
const SOON: Duration = Duration::from_millis(20);
const LATER: Duration = Duration::from_millis(500);

/// How long the server may take to answer while it loads.
const PATIENCE: Duration = Duration::from_secs(2);

/// Runs the hidden part of the program if it was started by itself, and returns the exit code; `None` for a normal
/// start. Call it first, with the arguments of the process.
/// The exit code is 0 on success and 1 on failure. The reason goes to standard error, which is the log of the server.
pub fn run_if_hidden(args: &[OsString]) -> Option<u8> {
    let [_, first, rest @ ..] = args else {
        return None;
    };
    if first != HIDDEN {
        return None;
    }
    let failed = match rest {
        [verb, parent, program, args @ ..] if verb == "follow" => follow(parent, program, args),
        [verb, data, state, name, lease, search_path, program] if verb == "keep" => {
            let lease = lease
                .to_str()
                .and_then(|text| text.parse().ok())
                .unwrap_or(0);
            let local = Local {
                data: PathBuf::from(data),
                state: PathBuf::from(state),
                search_path: search_path.clone(),
                program: PathBuf::from(program),
                lease: Duration::from_millis(lease),
                secrets: Vec::new(),
                python_environment: None,
            };
            let kept = keep(&local, &name.to_string_lossy());
            kept.err().map(|error| error.to_string())
        }
        _ => Some("expected other arguments".to_string()),
    };
    if let Some(failed) = &failed {
        // For the log; nobody else listens.
        let _ = writeln!(std::io::stderr(), "{failed}");
    }
    Some(u8::from(failed.is_some()))
}

/// The command that supervises the server of a model.
/// The order of its arguments is the one that [`run_if_hidden`] expects. The secrets are not among them: the caller
/// removes these variables from the environment.
pub(crate) fn command(local: &Local, name: &str) -> Command {
    let mut command = Command::new(&local.program);
    command
        .arg(HIDDEN)
        .arg("keep")
        .arg(&local.data)
        .arg(&local.state)
        .arg(name);
    command
        .arg(local.lease.as_millis().to_string())
        .arg(&local.search_path)
        .arg(&local.program);
    command
}

/// A command that ends when this process does, where the system can do that.
/// On Linux this program starts first, asks the system for a signal when its parent ends, and then becomes `program`.
/// Elsewhere `program` starts directly and may outlive this process.
pub(crate) fn command_following_us<'a>(
    local: &Local,
    program: &Path,
    args: impl IntoIterator<Item = &'a OsStr>,
) -> Command {
    if !cfg!(target_os = "linux") {
        let mut command = Command::new(program);
        command.args(args);
        return command;
    }
    let mut command = Command::new(&local.program);
    command
        .arg(HIDDEN)
        .arg("follow")
        .arg(std::process::id().to_string())
        .arg(program)
        .args(args);
    command
}

/// Becomes another program that ends with its parent. Returns only on failure, with the reason.
fn follow(parent: &OsStr, program: &OsStr, args: &[OsString]) -> Option<String> {
    let parent = parent
        .to_str()
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    if !sys::end_with(parent) {
        return Some("the process that this one belongs to has ended".to_string());
    }
    become_program(Command::new(program).args(args))
        .map(|error| format!("cannot start {}: {error}", Path::new(program).display()))
}

/// Replaces this process. Returns only the reason why that failed.
#[cfg(unix)]
fn become_program(command: &mut Command) -> Option<std::io::Error> {
    Some(std::os::unix::process::CommandExt::exec(command))
}

#[cfg(not(unix))]
fn become_program(_: &mut Command) -> Option<std::io::Error> {
    Some(std::io::ErrorKind::Unsupported.into())
}

/// Runs the server of a model until nobody has used it for a while. Returns at once if another keeper does that.
/// An engine that ends before it is ready is started again as often as [`Engine::tries`] says.
fn keep(local: &Local, name: &str) -> Result<(), LocalError> {
    sys::leave_terminal();
    let room = local.run_folder(name);
    let mut lock = lock_file(&room, KEEPER)?;
    if !lock_exclusively(&lock, PATIENCE, &mut || {}) {
        return Ok(());
    }
    let note = |error| io_error("write", &room.join(KEEPER))(error);
    lock.set_len(0).map_err(note)?;
    write!(lock, "{}", std::process::id()).map_err(note)?;
    let mut lease = Lease::new(local, &room)?;
    let engine = local
        .engine()?
        .ok_or_else(|| LocalError::NoEngine(name.to_string()))?;
    let mut result = Ok(End::Early);
    for _ in 0..engine.tries() {
        result = keep_one(local, &engine, name, &mut lease);
        if !matches!(result, Ok(End::Early)) {
            break;
        }
    }
    let _ = std::fs::remove_file(local.info_file(name));
    result.map(drop)
}

/// How a server ended.
/// Only an early end is worth another attempt.
enum End {
    /// Before it was ready.
    Early,
    /// After that, or because it should.
    Late,
}

/// Starts a server and waits until it ends, or ends it when it is no longer used.
fn keep_one(
    local: &Local,
    engine: &Engine,
    name: &str,
    lease: &mut Lease,
) -> Result<End, LocalError> {
    let key = sys::secret().map_err(io_error("read", Path::new("/dev/urandom")))?;
    let weights = local.find(name)?.path;
    let mut server = engine.start(local, &weights, name, &key)?;
    let mut is_ready = false;
    loop {
        if server.child.try_wait().ok().flatten().is_some() {
            return Ok(if is_ready { End::Late } else { End::Early });
        }
        if !is_ready {
            is_ready = publish(local, name, &mut server, &key)?;
        }
        if lease.is_over() {
            // Before the server ends, so that nobody finds the one that is ending.
            let _ = std::fs::remove_file(local.info_file(name));
            return Ok(End::Late);
        }
        std::thread::sleep(if is_ready { LATER } else { SOON });
    }
}

/// Writes the address of the server for other programs once it is ready. False if it is not ready yet.
fn publish(
    local: &Local,
    name: &str,
    server: &mut ServerProcess,
    key: &str,
) -> Result<bool, LocalError> {
    let Some(port) = server.port() else {
        return Ok(false);
    };
    if !health::is_ready(port, key, name, PATIENCE) {
        return Ok(false);
    }
    let path = local.info_file(name);
    let new = path.with_extension("new");
    let facts = serde_json::to_vec(&ServerInfo {
        port,
        key: key.to_string(),
    })
    .unwrap_or_default();
    let _ = std::fs::remove_file(&new);
    let file = sys::private().write(true).create_new(true).open(&new);
    file.and_then(|mut file| file.write_all(&facts))
        .map_err(io_error("write", &new))?;
    std::fs::rename(&new, &path).map_err(io_error("put in place", &path))?;
    Ok(true)
}

/// Watches whether the server is still used. It measures time with a monotonic clock, so changes of the system clock do
/// not matter.
/// Each command holds a shared lock on the file while it uses the server. An exclusive lock that succeeds therefore
/// proves that no command uses it.
struct Lease {
    file: File,
    room: PathBuf,
    /// How long the server may stay unused.
    length: Duration,
    /// When the file was changed last, as of the last check. Commands that come and go between two checks leave only
    /// this trace.
    touched: Option<SystemTime>,
    /// When a check last saw a use.
    used: Instant,
}

impl Lease {
    /// The time starts now, so a server that no command ever uses ends as well.
    fn new(local: &Local, room: &Path) -> Result<Lease, LocalError> {
        let (file, length) = (lock_file(room, LEASE_FILE)?, local.lease);
        let room = room.to_path_buf();
        Ok(Lease {
            file,
            room,
            length,
            touched: None,
            used: Instant::now(),
        })
    }

    /// Whether the server has to end. If so, this process keeps the lease until it ends, so that no other program can
    /// take it meanwhile.
    fn is_over(&mut self) -> bool {
        if self.room.join(STOP).exists() {
            return true;
        }
        let touched = self.file.metadata().and_then(|facts| facts.modified()).ok();
        if touched != self.touched {
            (self.touched, self.used) = (touched, Instant::now());
        }
        match self.file.try_lock() {
            Ok(()) if self.used.elapsed() >= self.length => return true,
            Ok(()) => drop(self.file.unlock()),
            Err(TryLockError::WouldBlock) => self.used = Instant::now(),
            Err(TryLockError::Error(_)) => {}
        }
        // If the folder was removed, no program can find the server any more.
        !self.room.exists()
    }
}
