//! The engine that runs a model: `llama-server` from the search path, or the downloaded wheel.
//!
//! Both engines speak the same HTTP protocol and need the same key, so the rest of the crate does not care which one
//! runs. A `llama-server` on the search path wins, because the person installed it. The engines differ in how they get
//! a port: the wheel's server picks a free one and prints it, a `llama-server` is given one.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};

use serde_json::{Value, json};

use crate::error::io_error;
use crate::packages::packages;
use crate::{Local, LocalError, keeper, python};

/// The context window of the server in tokens. More would need memory that a small machine does not have. A model that
/// was trained with less gets less.
const CONTEXT: u64 = 8192;

/// How many answers the server writes at once. Other requests wait.
const PARALLEL: u64 = 4;

/// The Python program that runs the wheel's server.
const SERVE: &str = include_str!("../data/serve.py");

/// The file in a wheel's folder with the path of the Python that it was downloaded for.
pub(crate) const PYTHON: &str = "python.txt";

/// What runs a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Engine {
    /// A `llama-server` that the person installed.
    Program(PathBuf),
    /// The wheel in this folder, run by this Python.
    Wheel { folder: PathBuf, python: PathBuf },
}

/// A running server process. Dropping it kills the process.
/// The keeper owns it. Commands never do: they reach the server by its port only.
pub(crate) struct ServerProcess {
    pub(crate) child: Child,
    /// The wheel's server ends when this is closed.
    _stdin: Option<ChildStdin>,
    /// `None` until the wheel's server has printed it.
    port: Option<u16>,
    /// Gets the port at most once, from the thread that reads the server's output.
    port_receiver: Receiver<u16>,
}

impl Local {
    /// Where the wheel is, or will be.
    pub(crate) fn wheel(&self) -> PathBuf {
        self.store()
            .join(format!("engine-{}", packages().engine.version))
    }

    /// The engine on this machine; `None` if there is none yet.
    /// A wheel remembers the Python that downloaded it. If that Python is gone, another one of the search path runs it.
    /// Fails with [`LocalError::NoPython`] if none can.
    pub(crate) fn engine(&self) -> Result<Option<Engine>, LocalError> {
        if let Some(program) = find_program(&self.search_path, "llama-server") {
            return Ok(Some(Engine::Program(program)));
        }
        let folder = self.wheel();
        if !folder.is_dir() {
            return Ok(None);
        }
        let known = std::fs::read_to_string(folder.join(PYTHON)).map(PathBuf::from);
        let python = match known.ok().filter(|python| python.is_file()) {
            Some(python) => python,
            // The system may have got a newer one since.
            None => python::find(self)?,
        };
        Ok(Some(Engine::Wheel { folder, python }))
    }
}

impl Engine {
    /// How often to start a server that ends before it is ready. Twice if another program may have taken the port.
    pub(crate) fn tries(&self) -> usize {
        match self {
            Engine::Program(_) => 2,
            Engine::Wheel { .. } => 1,
        }
    }

    /// Starts a server for a model, without waiting until it is ready.
    pub(crate) fn start(
        &self,
        local: &Local,
        weights: &Path,
        alias: &str,
        key: &str,
    ) -> Result<ServerProcess, LocalError> {
        match self {
            Engine::Program(program) => start_program(local, program, weights, alias, key),
            Engine::Wheel { folder, python } => {
                let settings = json!({
                    "engine": folder.to_string_lossy(), "model": weights.to_string_lossy(),
                    "alias": alias, "key": key, "context": CONTEXT, "parallel": PARALLEL,
                    "threads": threads(),
                });
                start_wheel(local, python, &settings)
            }
        }
    }
}

/// Starts the wheel's server. `settings` goes to its standard input as one line, because every user of the machine can
/// read the arguments of a process, and the settings contain the key.
fn start_wheel(
    local: &Local,
    python: &Path,
    settings: &Value,
) -> Result<ServerProcess, LocalError> {
    let args = ["-I", "-S", "-B", "-c", SERVE].map(OsStr::new);
    let mut command = keeper::command_following_us(local, python, args);
    let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child = spawned.map_err(io_error("start", python))?;
    let mut stdin = child.stdin.take();
    if let Some(stdin) = &mut stdin {
        // If the process has ended already, the keeper notices soon.
        let _ = stdin
            .write_all(format!("{settings}\n").as_bytes())
            .and_then(|()| stdin.flush());
    }
    let (sender, receiver) = channel();
    if let Some(stdout) = child.stdout.take() {
        std::thread::spawn(move || read_output(stdout, &sender));
    }
    Ok(ServerProcess {
        child,
        _stdin: stdin,
        port: None,
        port_receiver: receiver,
    })
}

/// Reads the output of the wheel's server until that ends. Sends the port, and copies all other lines to standard error,
/// which is the log.
fn read_output(stdout: ChildStdout, port: &Sender<u16>) {
    for line in BufReader::new(stdout).lines().map_while(Result::ok) {
        match port_of(&line) {
            Some(number) => drop(port.send(number)),
            None => drop(writeln!(std::io::stderr(), "{line}")),
        }
    }
}

/// The port of a line such as `{"listening": "http://127.0.0.1:4321"}`.
/// `None` for any other line of its output.
fn port_of(line: &str) -> Option<u16> {
    let line: Value = serde_json::from_str(line).ok()?;
    line["listening"]
        .as_str()?
        .rsplit_once(':')?
        .1
        .trim_end_matches('/')
        .parse()
        .ok()
}

/// Starts a `llama-server` on a port that is free right now. The port is passed to it, so [`ServerProcess::port`] knows
/// it at once.
fn start_program(
    local: &Local,
    program: &Path,
    weights: &Path,
    alias: &str,
    key: &str,
) -> Result<ServerProcess, LocalError> {
    // Not every version reports its port, so find a free one for it. If another program takes that first, the server ends
    // and is started again.
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|bound| bound.local_addr());
    let port = free.map_err(io_error("find a port for", program))?.port();
    let number = port.to_string();
    let threads = threads().to_string();
    let context = CONTEXT.to_string();
    let options = [
        ("--model", weights.as_os_str()),
        ("--alias", OsStr::new(alias)),
        ("--host", OsStr::new("127.0.0.1")),
        ("--port", OsStr::new(&number)),
        ("--ctx-size", OsStr::new(&context)),
        ("--threads", OsStr::new(&threads)),
        ("--threads-batch", OsStr::new(&threads)),
    ];
    let options = options
        .into_iter()
        .flat_map(|(name, value)| [OsStr::new(name), value]);
    let args = options.chain([OsStr::new("--jinja")]);
    let mut command = keeper::command_following_us(local, program, args);
    // Unlike its arguments, other users cannot read its environment.
    command
        .env("LLAMA_API_KEY", key)
        .stdin(Stdio::null())
        .stdout(std::io::stderr());
    let child = command.spawn().map_err(io_error("start", program))?;
    let (_, port_receiver) = channel();
    Ok(ServerProcess {
        child,
        _stdin: None,
        port: Some(port),
        port_receiver,
    })
}

impl ServerProcess {
    /// The port of the server; `None` until the server reports it.
    pub(crate) fn port(&mut self) -> Option<u16> {
        if self.port.is_none() {
            self.port = self.port_receiver.try_recv().ok();
        }
        self.port
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The first program of that name in the folders of a search path.
pub(crate) fn find_program(search_path: &OsStr, name: &str) -> Option<PathBuf> {
    let folders = std::env::split_paths(search_path).filter(|folder| folder.is_absolute());
    folders
        .map(|folder| folder.join(name))
        .find(|path| is_program(path))
}

/// Whether somebody may execute this file. A folder on the search path with a program's name is not one.
#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

/// How many threads a server uses on this machine: one for each physical core but one.
fn threads() -> usize {
    let usable = std::thread::available_parallelism().map_or(1, usize::from);
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    threads_of(usable, physical(&text))
}

/// One core stays free, because threads that compete for a busy core mostly wait for each other.
fn threads_of(usable: usize, physical: Option<usize>) -> usize {
    physical
        .map_or(usable, |physical| physical.min(usable))
        .saturating_sub(1)
        .max(1)
}

/// How many physical cores Linux lists; `None` if it lists none.
/// Two threads of one core share its `physical id` and `core id`, so each pair is counted once.
fn physical(cpuinfo: &str) -> Option<usize> {
    let value = |block: &str, name: &str| {
        let line = block
            .lines()
            .find(|line| line.split(':').next().map(str::trim) == Some(name))?;
        Some(line.split(':').nth(1)?.trim().to_string())
    };
    let core = |block| Some((value(block, "physical id")?, value(block, "core id")?));
    let cores: BTreeSet<(String, String)> = cpuinfo.split("\n\n").filter_map(core).collect();
    (!cores.is_empty()).then_some(cores.len())
}

#[cfg(test)]
mod tests {
    //! Threads of machines that are not here.

    use super::*;

    #[test]
    fn one_core_is_left_to_others() {
        let pairs = [
            (1, None, 1),
            (2, None, 1),
            (8, None, 7),
            (8, Some(4), 3),
            (2, Some(16), 1),
        ];
        for (usable, physical, threads) in pairs {
            assert_eq!(threads_of(usable, physical), threads);
        }
    }

    #[test]
    fn two_threads_of_one_core_are_one() {
        let cpu = |id: &str, core: &str| {
            format!("processor : x\nphysical id\t: {id}\ncore id\t\t: {core}\n\n")
        };
        let text = [cpu("0", "0"), cpu("0", "1"), cpu("0", "0"), cpu("1", "0")].concat();
        assert_eq!(physical(&text), Some(3));
        assert_eq!(physical("processor : 0\nBogoMIPS : 48\n"), None);
    }
}
