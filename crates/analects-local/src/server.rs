//! The server of a model as those see it who ask: it is there when they need it.

use std::fs::{File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::error::to;
use crate::keeper::{self, KEEPER, LEASE_FILE, STOP};
use crate::models::check_weights;
use crate::sys::{is_held, lock_file, take};
use crate::{Local, LocalError, health, sys};

/// How long a server may take to load its model.
const START: Duration = Duration::from_secs(300);

/// How long a server may take to say that it is there. On a machine with much to do, a second is
/// not enough, and to end a server that others use is worse than to wait.
const ANSWER: Duration = Duration::from_secs(10);

/// How long the end of a server may take.
const MOMENT: Duration = Duration::from_secs(2);

/// How long a keeper may take to end.
const END: Duration = Duration::from_secs(10);

/// How often to look again.
const PAUSE: Duration = Duration::from_millis(10);

/// What is going on while a server is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Starting {
    /// Somebody else is starting it.
    Waiting,
    /// It is being started.
    Begin,
    /// The one that runs does not answer, and is ended.
    DoesNotAnswer,
}

/// What is known about a running server. Only its owner can read it.
#[derive(Serialize, Deserialize)]
pub(crate) struct Facts {
    pub(crate) port: u16,
    pub(crate) key: String,
}

/// What is there of a server.
enum Found {
    Nothing,
    /// It runs, and does not answer.
    Silent(Facts),
    Ready(Facts),
}

impl Found {
    fn key(&self) -> Option<String> {
        match self {
            Found::Nothing => None,
            Found::Silent(facts) | Found::Ready(facts) => Some(facts.key.clone()),
        }
    }
}

/// A server that stays at least as long as this value.
#[derive(Debug)]
pub struct Serving {
    /// Where it listens, on 127.0.0.1.
    pub port: u16,
    /// What it wants to be shown.
    pub key: String,
    /// Where its words are.
    pub log: PathBuf,
    name: String,
    keeper: PathBuf,
    _lease: File,
}

impl Serving {
    /// Whether the server has ended meanwhile; then, what it said last.
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
    /// The server of a model, which is started if it does not run.
    pub fn serve(&self, name: &str, tell: &mut dyn FnMut(Starting)) -> Result<Serving, LocalError> {
        if !cfg!(unix) {
            return Err(LocalError::Unsupported);
        }
        let model = self.find(name)?;
        check_weights(&model.path)?;
        // From here on, no keeper ends for want of use. One that is just ending holds the lease until
        // it has.
        let lease = lock_file(&self.room(name), LEASE_FILE)?;
        let is_held = hold(&lease);
        let before = self.look(name);
        if let (true, Found::Ready(facts)) = (is_held, &before) {
            return Ok(self.serving(name, facts, lease));
        }
        let start = lock_file(&self.room(name), "start.lock")?;
        if !take(&start, START, &mut || tell(Starting::Waiting)) {
            return Err(self.too_slow(name));
        }
        // Whoever had the lock may have started it.
        let is_other = self.read_facts(name).map(|facts| facts.key) != before.key();
        let now = if is_other { self.look(name) } else { before };
        let is_broken = match now {
            Found::Ready(facts) if is_held => return Ok(self.serving(name, &facts, lease)),
            Found::Ready(_) | Found::Silent(_) => true,
            Found::Nothing => !is_held || self.has_garbage(name),
        };
        if is_broken && self.runs(name) {
            self.end_broken(name, tell)?;
        }
        if !is_held && !hold(&lease) {
            return Err(self.too_slow(name));
        }
        tell(Starting::Begin);
        // A keeper that has told nothing yet is one whose starter was killed; it is as good as a new one.
        let keeper = if self.runs(name) {
            None
        } else {
            Some(self.start(name)?)
        };
        let facts = self.wait(name, keeper)?;
        Ok(self.serving(name, &facts, lease))
    }

    /// Whether what should be known about a server cannot be read; a keeper tells all of it at once.
    fn has_garbage(&self, name: &str) -> bool {
        self.facts(name).exists() && self.read_facts(name).is_none()
    }

    fn end_broken(&self, name: &str, tell: &mut dyn FnMut(Starting)) -> Result<(), LocalError> {
        // One that has crashed does not listen; its keeper would have noticed in a moment.
        if self
            .read_facts(name)
            .is_none_or(|facts| health::is_listening(facts.port))
        {
            tell(Starting::DoesNotAnswer);
        }
        self.end(name)
    }

    /// Whether a keeper lives for a model.
    pub(crate) fn runs(&self, name: &str) -> bool {
        File::open(self.room(name).join(KEEPER)).is_ok_and(|file| is_held(&file))
    }

    /// Looks for the server of a model.
    fn look(&self, name: &str) -> Found {
        let facts = self.read_facts(name).filter(|_| self.runs(name));
        let Some(facts) = facts else {
            return Found::Nothing;
        };
        if health::is_ready(facts.port, &facts.key, name, ANSWER) {
            return Found::Ready(facts);
        }
        Found::Silent(facts)
    }

    fn serving(&self, name: &str, facts: &Facts, mut lease: File) -> Serving {
        // A use between two looks of the keeper counts, too.
        let _ = lease.set_len(0).and_then(|()| lease.write_all(b"used\n"));
        let (port, key) = (facts.port, facts.key.clone());
        let (log, keeper) = (self.log(name), self.room(name).join(KEEPER));
        Serving {
            port,
            key,
            log,
            name: name.to_string(),
            keeper,
            _lease: lease,
        }
    }

    fn read_facts(&self, name: &str) -> Option<Facts> {
        serde_json::from_slice(&std::fs::read(self.facts(name)).ok()?).ok()
    }

    /// Starts a keeper, who starts the server.
    fn start(&self, name: &str) -> Result<Child, LocalError> {
        if self.engine()?.is_none() {
            return Err(LocalError::NoEngine(name.to_string()));
        }
        let (room, log) = (self.room(name), self.log(name));
        let _ = std::fs::remove_file(self.facts(name));
        let _ = std::fs::remove_file(room.join(STOP));
        let said = sys::private()
            .write(true)
            .create(true)
            .truncate(true)
            .open(&log);
        let said = said.map_err(to("create", &log))?;
        let mut command = keeper::command(self, name);
        for name in &self.secrets {
            command.env_remove(name);
        }
        // With none of our streams, so that nobody waits for the keeper who waits for us.
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(said)
            .current_dir(&room);
        command.spawn().map_err(to("start", &self.program))
    }

    /// Waits until the server is ready.
    fn wait(&self, name: &str, mut keeper: Option<Child>) -> Result<Facts, LocalError> {
        let end = Instant::now() + START;
        loop {
            let ended = match &mut keeper {
                Some(child) => child.try_wait().ok().flatten().is_some(),
                None => !self.runs(name),
            };
            // The keeper has seen that it is ready.
            if let Some(facts) = self.read_facts(name).filter(|_| !ended) {
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

    /// Ends the server of a model, whoever uses it; false if none ran.
    pub fn stop(&self, name: &str) -> Result<bool, LocalError> {
        if !self.runs(name) {
            return Ok(false);
        }
        let start = lock_file(&self.room(name), "start.lock")?;
        take(&start, END, &mut || {});
        let room = self.room(name);
        let stop = room.join(STOP);
        let made = sys::private()
            .write(true)
            .create(true)
            .truncate(true)
            .open(&stop);
        made.map_err(to("create", &stop))?;
        let asked = self.ended(name, END / 2);
        if !asked {
            self.end(name)?;
        }
        let _ = std::fs::remove_file(stop);
        Ok(true)
    }

    /// Ends every server that runs, and gives their models' names.
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

    /// Ends a keeper that does not do so by itself, and its server with it.
    fn end(&self, name: &str) -> Result<(), LocalError> {
        let pid = std::fs::read_to_string(self.room(name).join(KEEPER));
        let pid = pid.ok().and_then(|text| text.trim().parse().ok());
        // Who holds the lock wrote the number, so it is still his.
        if let Some(pid) = pid.filter(|_| self.runs(name)) {
            sys::kill(pid);
        }
        if !self.ended(name, END) {
            return Err(LocalError::WillNotEnd(name.to_string()));
        }
        let _ = std::fs::remove_file(self.facts(name));
        Ok(())
    }

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

/// Takes a share of the lease.
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

/// How much of a log is looked at, and shown.
const TAIL: usize = 64 * 1024;
const SHOWN: usize = 300;

/// The last line of a log that says something; an error, if there is one.
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
