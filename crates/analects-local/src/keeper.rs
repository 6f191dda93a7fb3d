//! What this program does when it was started by itself: it keeps a server while it is used, or
//! becomes another program that ends with the one that started it.

use std::ffi::{OsStr, OsString};
use std::fs::{File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use crate::engine::{Engine, Running};
use crate::error::to;
use crate::server::Facts;
use crate::sys::{lock_file, take};
use crate::{Local, LocalError, health, sys};

/// The word by which the program knows that it started itself.
const HIDDEN: &str = "--local-server-of-this-program";

/// Held by the keeper as long as it lives; the number of its process is in it.
pub(crate) const KEEPER: &str = "keeper.lock";
/// Held by everybody who uses the server.
pub(crate) const LEASE_FILE: &str = "lease.lock";
/// While this is there, the keeper ends.
pub(crate) const STOP: &str = "stop";

/// How often the keeper looks, before its server is ready and after.
const SOON: Duration = Duration::from_millis(20);
const LATER: Duration = Duration::from_millis(500);

/// How long the server may take to answer while it loads.
const PATIENCE: Duration = Duration::from_secs(2);

/// Does what the program was started for, if it was started by itself, and gives the exit code. To be
/// called first of all with the arguments of the process.
pub fn hidden(args: &[OsString]) -> Option<u8> {
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

/// The command that keeps the server of a model.
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
pub(crate) fn following<'a>(
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

/// Becomes another program, which ends with its parent. Gives why that failed.
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

#[cfg(unix)]
fn become_program(command: &mut Command) -> Option<std::io::Error> {
    Some(std::os::unix::process::CommandExt::exec(command))
}

#[cfg(not(unix))]
fn become_program(_: &mut Command) -> Option<std::io::Error> {
    Some(std::io::ErrorKind::Unsupported.into())
}

/// Keeps the server of a model until nobody has used it for a while.
fn keep(local: &Local, name: &str) -> Result<(), LocalError> {
    sys::leave_terminal();
    let room = local.room(name);
    let mut lock = lock_file(&room, KEEPER)?;
    if !take(&lock, PATIENCE, &mut || {}) {
        return Ok(());
    }
    let note = |error| to("write", &room.join(KEEPER))(error);
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
    let _ = std::fs::remove_file(local.facts(name));
    result.map(drop)
}

/// How a server ended.
enum End {
    /// Before it was ready.
    Early,
    /// After that, or because it should.
    Late,
}

/// Starts a server and stays until it ends, or has to.
fn keep_one(
    local: &Local,
    engine: &Engine,
    name: &str,
    lease: &mut Lease,
) -> Result<End, LocalError> {
    let key = sys::secret().map_err(to("read", Path::new("/dev/urandom")))?;
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
            let _ = std::fs::remove_file(local.facts(name));
            return Ok(End::Late);
        }
        std::thread::sleep(if is_ready { LATER } else { SOON });
    }
}

/// Tells where the server is once it is ready; false if it is not yet.
fn publish(local: &Local, name: &str, server: &mut Running, key: &str) -> Result<bool, LocalError> {
    let Some(port) = server.port() else {
        return Ok(false);
    };
    if !health::is_ready(port, key, name, PATIENCE) {
        return Ok(false);
    }
    let path = local.facts(name);
    let new = path.with_extension("new");
    let facts = serde_json::to_vec(&Facts {
        port,
        key: key.to_string(),
    })
    .unwrap_or_default();
    let _ = std::fs::remove_file(&new);
    let file = sys::private().write(true).create_new(true).open(&new);
    file.and_then(|mut file| file.write_all(&facts))
        .map_err(to("write", &new))?;
    std::fs::rename(&new, &path).map_err(to("put in place", &path))?;
    Ok(true)
}

/// Who still uses the server. Time is counted from one look to the next, so that no change of the
/// clock makes it longer or shorter.
struct Lease {
    file: File,
    room: PathBuf,
    length: Duration,
    touched: Option<SystemTime>,
    used: Instant,
}

impl Lease {
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

    /// Whether the server has to end. If so, the lease is held until this process ends, so that
    /// nobody gets hold of it meanwhile.
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
        // A folder that was removed with all that is in it is nobody's any more.
        !self.room.exists()
    }
}
