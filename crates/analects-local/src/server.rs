//! The server of a model from the side of its users: starting, sharing and stopping it.
//!
//! A start takes two locks: the lease, shared, for as long as the command uses the server; and `start.lock`, exclusive,
//! so that of several commands at once only one starts or ends a server, and the others find it running.

use std::fs::{File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::error::io_error;
use crate::keeper::{self, KEEPER, LEASE_FILE, STOP};
use crate::models::check_weights;
use crate::sys::{is_held, lock_exclusively, lock_file};
use crate::{Local, LocalError, health, sys};

/// How long a server may take to load its model.
/// A large model on a slow disk takes minutes.
const START: Duration = Duration::from_secs(300);

/// How long a server may take to answer that it is ready. On a busy machine a second is not enough, and ending a server
/// that others use is worse than waiting.
const ANSWER: Duration = Duration::from_secs(10);

/// How long the end of a server may take.
const MOMENT: Duration = Duration::from_secs(2);

/// How long a keeper may take to end.
/// A keeper checks twice a second whether it should end.
const END: Duration = Duration::from_secs(10);

/// How often to check again.
const PAUSE: Duration = Duration::from_millis(10);

/// What happens while a server starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartProgress {
    /// Another program is starting the server.
    /// Reported once, however long it takes.
    Waiting,
    /// The server is being started.
    Begin,
    /// The running server does not answer and is ended.
    DoesNotAnswer,
}

/// The address of a running server, in a file that only its owner can read.
/// Only the keeper writes it, when the server is ready. Each start of a server has a new key.
#[derive(Serialize, Deserialize)]
pub(crate) struct ServerInfo {
    pub(crate) port: u16,
    pub(crate) key: String,
}

/// Whether a server runs and answers.
/// The state may change at any moment unless the caller holds the lease.
enum ServerState {
    Absent,
    /// It runs but does not answer.
    Silent(ServerInfo),
    Ready(ServerInfo),
}

impl ServerState {
    /// Identifies one start of a server, since each has a key of its own.
    fn key(&self) -> Option<String> {
        match self {
            ServerState::Absent => None,
            ServerState::Silent(facts) | ServerState::Ready(facts) => Some(facts.key.clone()),
        }
    }
}

/// A server that runs at least as long as this value lives.
#[derive(Debug)]
pub struct LocalServer {
    /// Its port on 127.0.0.1.
    pub port: u16,
    /// The key that its requests need.
    pub key: String,
    /// Its log.
    pub log: PathBuf,
    name: String,
    keeper: PathBuf,
    _lease: File,
}

impl LocalServer {
    /// Whether the server has ended meanwhile; then, what it said last.
    /// Callers ask this after a request failed, to tell a crash from a slow answer. `None` if the server runs; it may
    /// take two seconds to find out.
    pub fn last_words(&self) -> Option<String> {
        let has_keeper = || File::open(&self.keeper).is_ok_and(|file| is_held(&file));
        let start = Instant::now();
        while has_keeper() && health::is_listening(self.port) {
            // The end of a process takes a moment, in which it listens and does not answer; and so
            // does one that hangs, for longer.
            let answers = health::is_ready(self.port, &self.key, &self.name, MOMENT);
            if answers || start.elapsed() > MOMENT {
                return None;
            }
            std::thread::sleep(PAUSE);
        }
        Some(last_words(&self.log))
    }
}

impl Local {
    /// The server of a model. Starts it if it does not run, and waits until it is ready. `tell` sees the progress.
    /// Fails with [`LocalError::NotPulled`] or [`LocalError::Unknown`] without the model, with [`LocalError::NoEngine`]
    /// without an engine, and with [`LocalError::NotStarted`] or [`LocalError::TooSlow`] if the server does not get
    /// ready. A server that runs but does not answer is ended and started anew.
    pub fn serve(
        &self,
        name: &str,
        tell: &mut dyn FnMut(StartProgress),
    ) -> Result<LocalServer, LocalError> {
        if !cfg!(unix) {
            return Err(LocalError::Unsupported);
        }
        let model = self.find(name)?;
        check_weights(&model.path)?;
        // From here on, no keeper ends because its server is unused. One that is ending now holds the lease until then.
        let lease = lock_file(&self.run_folder(name), LEASE_FILE)?;
        let is_held = hold(&lease);
        let before = self.look(name);
        if let (true, ServerState::Ready(facts)) = (is_held, &before) {
            return Ok(self.serving(name, facts, lease));
        }
        let start = lock_file(&self.run_folder(name), "start.lock")?;
        if !lock_exclusively(&start, START, &mut || tell(StartProgress::Waiting)) {
            return Err(self.too_slow(name));
        }
        // The program that had the lock may have started the server.
        let is_other = self.read_info(name).map(|facts| facts.key) != before.key();
        let now = if is_other { self.look(name) } else { before };
        let is_broken = match now {
            ServerState::Ready(facts) if is_held => return Ok(self.serving(name, &facts, lease)),
            ServerState::Ready(_) | ServerState::Silent(_) => true,
            ServerState::Absent => !is_held || self.has_garbage(name),
        };
        if is_broken && self.runs(name) {
            self.end_broken(name, tell)?;
        }
        if !is_held && !hold(&lease) {
            return Err(self.too_slow(name));
        }
        tell(StartProgress::Begin);
        // A keeper without an address lost the program that started it. It is as good as a new one.
        let keeper = if self.runs(name) {
            None
        } else {
            Some(self.start(name)?)
        };
        let facts = self.wait(name, keeper)?;
        Ok(self.serving(name, &facts, lease))
    }

    /// Whether the address file is damaged. A keeper writes it in one step, so it is never incomplete.
    fn has_garbage(&self, name: &str) -> bool {
        self.info_file(name).exists() && self.read_info(name).is_none()
    }

    /// Kills a keeper whose server does not answer, and tells the person if that may be a surprise.
    fn end_broken(
        &self,
        name: &str,
        tell: &mut dyn FnMut(StartProgress),
    ) -> Result<(), LocalError> {
        // A crashed server does not listen, and its keeper is about to notice, so there is nothing to report.
        if self
            .read_info(name)
            .is_none_or(|facts| health::is_listening(facts.port))
        {
            tell(StartProgress::DoesNotAnswer);
        }
        self.end(name)
    }

    /// Whether a keeper runs for a model.
    /// True even while its server still loads. A missing folder or lock file means no.
    pub(crate) fn runs(&self, name: &str) -> bool {
        File::open(self.run_folder(name).join(KEEPER)).is_ok_and(|file| is_held(&file))
    }

    /// Finds out whether the server of a model runs and answers.
    /// Asks the server itself, so this takes up to [`ANSWER`] if it hangs.
    fn look(&self, name: &str) -> ServerState {
        let facts = self.read_info(name).filter(|_| self.runs(name));
        let Some(facts) = facts else {
            return ServerState::Absent;
        };
        if health::is_ready(facts.port, &facts.key, name, ANSWER) {
            return ServerState::Ready(facts);
        }
        ServerState::Silent(facts)
    }

    /// The result for a server that is ready. It takes over the lease, which must be held.
    fn serving(&self, name: &str, facts: &ServerInfo, mut lease: File) -> LocalServer {
        // The changed time makes a use between two checks of the keeper count.
        let _ = lease.set_len(0).and_then(|()| lease.write_all(b"used\n"));
        let (port, key) = (facts.port, facts.key.clone());
        let (log, keeper) = (self.log(name), self.run_folder(name).join(KEEPER));
        LocalServer {
            port,
            key,
            log,
            name: name.to_string(),
            keeper,
            _lease: lease,
        }
    }

    /// `None` if there is no server, if it is not ready yet, or if the file is damaged.
    fn read_info(&self, name: &str) -> Option<ServerInfo> {
        serde_json::from_slice(&std::fs::read(self.info_file(name)).ok()?).ok()
    }

    /// Starts a keeper, who starts the server.
    /// The keeper runs in the background and outlives this process. It does not get the secrets. The log begins anew.
    fn start(&self, name: &str) -> Result<Child, LocalError> {
        if self.engine()?.is_none() {
            return Err(LocalError::NoEngine(name.to_string()));
        }
        let (room, log) = (self.run_folder(name), self.log(name));
        let _ = std::fs::remove_file(self.info_file(name));
        let _ = std::fs::remove_file(room.join(STOP));
        let said = sys::private()
            .write(true)
            .create(true)
            .truncate(true)
            .open(&log);
        let said = said.map_err(io_error("create", &log))?;
        let mut command = keeper::command(self, name);
        for name in &self.secrets {
            command.env_remove(name);
        }
        // Without our streams, so that a program that waits for us does not wait for the keeper too.
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(said)
            .current_dir(&room);
        command.spawn().map_err(io_error("start", &self.program))
    }

    /// Waits until the server is ready.
    /// `keeper` is the process that this call started; `None` if one ran already. Fails with the last error of the log
    /// if the keeper ends first.
    fn wait(&self, name: &str, mut keeper: Option<Child>) -> Result<ServerInfo, LocalError> {
        let end = Instant::now() + START;
        loop {
            let ended = match &mut keeper {
                Some(child) => child.try_wait().ok().flatten().is_some(),
                None => !self.runs(name),
            };
            // The keeper has seen that it is ready.
            if let Some(facts) = self.read_info(name).filter(|_| !ended) {
                return Ok(facts);
            }
            if ended {
                let log = self.log(name);
                let reason = last_words(&log);
                return Err(LocalError::NotStarted {
                    name: name.to_string(),
                    reason,
                    log,
                });
            }
            if Instant::now() > end {
                self.end(name)?;
                return Err(self.too_slow(name));
            }
            std::thread::sleep(PAUSE);
        }
    }

    fn too_slow(&self, name: &str) -> LocalError {
        let (seconds, log) = (START.as_secs(), self.log(name));
        LocalError::TooSlow {
            name: name.to_string(),
            seconds,
            log,
        }
    }

    /// Ends the server of a model even if it is used. False if none ran.
    /// Asks the keeper to end and kills it only if it does not. Programs that use the server get an error for their
    /// next request.
    pub fn stop(&self, name: &str) -> Result<bool, LocalError> {
        if !self.runs(name) {
            return Ok(false);
        }
        let start = lock_file(&self.run_folder(name), "start.lock")?;
        lock_exclusively(&start, END, &mut || {});
        let room = self.run_folder(name);
        let stop = room.join(STOP);
        let made = sys::private()
            .write(true)
            .create(true)
            .truncate(true)
            .open(&stop);
        made.map_err(io_error("create", &stop))?;
        let asked = self.ended(name, END / 2);
        if !asked {
            self.end(name)?;
        }
        let _ = std::fs::remove_file(stop);
        Ok(true)
    }

    /// Ends all running servers and returns the names of their models.
    /// Stops at the first that cannot be ended.
    pub fn stop_all(&self) -> Result<Vec<String>, LocalError> {
        let rooms = self.state.join("local");
        let Ok(entries) = rooms.read_dir() else {
            return Ok(Vec::new());
        };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut stopped = Vec::new();
        for name in names {
            if self.stop(&name)? {
                stopped.push(name);
            }
        }
        stopped.sort();
        Ok(stopped)
    }

    /// Kills a keeper, which ends its server too.
    fn end(&self, name: &str) -> Result<(), LocalError> {
        let pid = std::fs::read_to_string(self.run_folder(name).join(KEEPER));
        let pid = pid.ok().and_then(|text| text.trim().parse().ok());
        // The holder of the lock wrote the process id, so it is still right.
        if let Some(pid) = pid.filter(|_| self.runs(name)) {
            sys::kill(pid);
        }
        if !self.ended(name, END) {
            return Err(LocalError::WillNotEnd(name.to_string()));
        }
        let _ = std::fs::remove_file(self.info_file(name));
        Ok(())
    }

    /// Waits up to `patience` until no keeper runs. False if one still does.
    fn ended(&self, name: &str, patience: Duration) -> bool {
        let start = Instant::now();
        while self.runs(name) {
            if start.elapsed() > patience {
                return false;
            }
            std::thread::sleep(PAUSE);
        }
        true
    }
}

/// Takes a shared lock on the lease. False if it cannot.
/// A keeper that is ending holds it exclusively, so this waits up to [`END`] for that. False also on a file system
/// without locks.
fn hold(lease: &File) -> bool {
    let start = Instant::now();
    loop {
        match lease.try_lock_shared() {
            Ok(()) => return true,
            Err(TryLockError::Error(_)) => return false,
            Err(TryLockError::WouldBlock) if start.elapsed() > END => return false,
            Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
        }
    }
}

/// How many bytes of a log are read, and how many characters are shown.
const TAIL: usize = 64 * 1024;
const SHOWN: usize = 300;

/// The last error in a log, or else its last line.
/// A missing or empty log gives an empty text. Only its end is read, since a server that ran for days may have written
/// much.
fn last_words(log: &Path) -> String {
    let bytes = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(TAIL)..]).into_owned();
    let lines = || {
        text.lines()
            .rev()
            .map(str::trim)
            .filter(|line| !line.is_empty())
    };
    let is_error = |line: &&str| line.contains("rror") || line.contains("failed");
    let line = lines()
        .find(is_error)
        .or_else(|| lines().next())
        .unwrap_or_default();
    line.chars().take(SHOWN).collect()
}
