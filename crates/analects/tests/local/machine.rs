//! A machine of its own for each test: its own state, and either the shared weights or none.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use analects_local::{LEASE, Local};
use tempfile::TempDir;

pub struct Machine {
    folder: TempDir,
    data: PathBuf,
}

/// The exit code and output of a command.
#[derive(Debug)]
pub struct CommandOutput {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for CommandOutput {
    fn from(output: Output) -> CommandOutput {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        // Answers are cut short here, and the command warns about it.
        let stderr = text(&output.stderr);
        let stderr = stderr.replace("warning: the answer was cut at the token limit\n", "");
        let stdout = text(&output.stdout);
        CommandOutput {
            code: output.status.code(),
            stdout,
            stderr,
        }
    }
}

pub use analects_testkit::skip;

/// The line that says why a command failed.
pub fn error_line(run: &CommandOutput) -> &str {
    run.stderr
        .lines()
        .find(|line| line.starts_with("analects: "))
        .unwrap_or("it did not say why")
}

/// Prints a measurement of a test.
#[allow(clippy::print_stderr)]
pub fn print_note(text: &str) {
    eprintln!("{text}");
}

/// The folder for downloads that all tests share.
pub fn cache() -> PathBuf {
    let set = |name| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    set("ANALECTS_TEST_CACHE")
        .or_else(|| set("XDG_CACHE_HOME").map(|dir| dir.join("analects-test")))
        .or_else(|| set("HOME").map(|dir| dir.join(".cache/analects-test")))
        .unwrap_or_else(|| std::env::temp_dir().join("analects-test"))
}

impl Machine {
    /// A machine without downloads.
    pub fn bare() -> Machine {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        Machine { folder, data }
    }

    /// A machine with the model, downloaded by our own `model pull`; skips the test and returns `None` if that is
    /// impossible.
    pub fn with_model(test: &str) -> Option<Machine> {
        let mut machine = Machine::bare();
        machine.data = cache().join("local-model");
        let run = machine.run(&["model", "pull", "smollm2"]);
        match run.code {
            Some(0) => Some(machine),
            // There is no network, or no Python.
            Some(5) => {
                skip(test, error_line(&run));
                None
            }
            _ => panic!("{run:?}"),
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The folder of the engine and the weights.
    pub fn model_folder(&self) -> PathBuf {
        self.data.join("analects/local")
    }

    /// The state folder of a model's server.
    pub fn server_folder(&self, name: &str) -> PathBuf {
        self.path("state/analects/local").join(name)
    }

    /// The command on this machine.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_analects"));
        command
            .args(args)
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
        for vendor in analects_providers::vendors() {
            for name in vendor.key_variables.iter().chain(vendor.base_url_variables) {
                command.env_remove(name);
            }
        }
        command
            .env_remove("ANALECTS_HOME")
            .env_remove("ANALECTS_MODEL");
        command
            .env("XDG_DATA_HOME", &self.data)
            .env("XDG_STATE_HOME", self.path("state"));
        command.env("XDG_CONFIG_HOME", self.path("config"));
        command
    }

    pub fn run(&self, args: &[&str]) -> CommandOutput {
        self.command(args).output().unwrap().into()
    }

    pub fn spawn(&self, args: &[&str]) -> Child {
        self.command(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// The library's view of this machine.
    pub fn local(&self) -> Local {
        Local {
            data: self.data.join("analects"),
            state: self.path("state/analects"),
            search_path: std::env::var_os("PATH").unwrap(),
            program: env!("CARGO_BIN_EXE_analects").into(),
            lease: LEASE,
            secrets: Vec::new(),
            python_environment: None,
        }
    }

    /// The process that looks after the server of a model, if it is running.
    pub fn keeper_pid(&self, name: &str) -> Option<u32> {
        let pid = std::fs::read_to_string(self.server_folder(name).join("keeper.lock")).ok()?;
        pid.parse().ok().filter(|pid| is_alive(*pid))
    }

    /// The server of a model, if it is running.
    pub fn server_pid(&self, name: &str) -> Option<u32> {
        let keeper = self.keeper_pid(name)?;
        processes()
            .into_iter()
            .find(|pid| parent(*pid) == Some(keeper) && is_alive(*pid))
    }

    /// Every process that was started with this machine's state folder.
    pub fn all_processes(&self) -> Vec<u32> {
        let state = self.path("state").to_string_lossy().into_owned();
        let ours = |pid: &u32| {
            let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let folder = std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
            is_alive(*pid)
                && *pid != std::process::id()
                && (String::from_utf8_lossy(&command).contains(&state)
                    || folder.starts_with(self.path("state")))
        };
        processes().into_iter().filter(ours).collect()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.command(&["model", "stop"]).output();
    }
}

/// A question whose short answer is always the same.
pub const ASK: [&str; 8] = [
    "ask",
    "-m",
    "local/smollm2",
    "--temperature",
    "0",
    "--max-tokens",
    "5",
    "Say hello.",
];

/// A question with a long answer.
pub const LONG: [&str; 6] = [
    "ask",
    "-m",
    "local/smollm2",
    "--temperature",
    "0",
    "Write a long story.",
];

/// Polls until `found` returns something, and panics after a minute.
#[track_caller]
pub fn wait_for<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what}: waited in vain");
        std::thread::sleep(Duration::from_millis(10));
    }
}

pub fn signal(pid: u32, name: &str) {
    let status = Command::new("kill")
        .args([&format!("-{name}"), &pid.to_string()])
        .status();
    assert!(status.unwrap().success());
}

fn processes() -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").unwrap();
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect()
}

/// The state and the parent of a process, from `/proc`.
fn process_state(pid: u32) -> Option<(String, u32)> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut words = stat.rsplit_once(')')?.1.split_whitespace();
    Some((words.next()?.to_string(), words.next()?.parse().ok()?))
}

/// The processor time of a process.
pub fn cpu_seconds(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let words = stat
        .rsplit_once(')')
        .unwrap()
        .1
        .split_whitespace()
        .skip(11)
        .take(2);
    // In hundredths of a second on every machine.
    words
        .map(|ticks| ticks.parse::<f64>().unwrap() / 100.0)
        .sum()
}

fn parent(pid: u32) -> Option<u32> {
    Some(process_state(pid)?.1)
}

/// Whether a process is running, and not just a zombie.
pub fn is_alive(pid: u32) -> bool {
    process_state(pid).is_some_and(|(state, _)| state != "Z" && state != "X")
}

/// All files and folders below a folder.
pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .flat_map(|path| [vec![path.clone()], files_below(&path)].concat())
        .collect()
}

/// A `llama-server` for the `PATH` that takes the arguments of the real one and runs llama.cpp from the wheel.
/// `template` replaces the chat template of the model.
pub fn llama_server(machine: &Machine, template: Option<&str>) -> PathBuf {
    let entries = std::fs::read_dir(machine.model_folder()).unwrap();
    let mut folders = entries.map(|entry| entry.unwrap().path());
    let engine = folders
        .find(|path| path.to_string_lossy().contains("engine-"))
        .unwrap();
    let template = serde_json::to_string(&template.unwrap_or_default()).unwrap();
    let script = format!(
        "#!/usr/bin/env python3\nimport os, sys, threading\nsys.path.insert(0, {engine:?})\n\
         import xllamacpp\nargs = dict(zip(sys.argv[1::2], sys.argv[2::2]))\n\
         params = xllamacpp.CommonParams()\nparams.model.path = args['--model']\n\
         params.model_alias = {{args['--alias']}}\nparams.hostnames = [args['--host']]\n\
         params.port = int(args['--port'])\nparams.n_ctx = int(args['--ctx-size'])\n\
         params.n_parallel = 1\nparams.cpuparams.n_threads = int(args['--threads'])\n\
         params.cpuparams_batch.n_threads = int(args['--threads-batch'])\n\
         params.api_keys = [os.environ['LLAMA_API_KEY']]\n\
         params.chat_template = {template}\nserver = xllamacpp.Server(params)\n\
         threading.Event().wait()\n"
    );
    let bin = machine.path("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let path = bin.join("llama-server");
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    bin
}
