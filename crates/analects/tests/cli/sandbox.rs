//! A folder of its own for each test, and the command running in it.

use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use analects_formats::DecodedFile;
use tempfile::TempDir;

pub struct Sandbox {
    folder: TempDir,
    base_url: Option<String>,
}

/// The exit code and output of a command.
pub struct CommandOutput {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Sandbox {
    pub fn new() -> Sandbox {
        Sandbox {
            folder: tempfile::tempdir().unwrap(),
            base_url: None,
        }
    }

    /// Lets `openai/…` models answer at this address.
    pub fn with_server(mut self, base_url: &str) -> Sandbox {
        self.base_url = Some(base_url.to_string());
        self
    }

    pub fn set_server(&mut self, base_url: &str) {
        self.base_url = Some(base_url.to_string());
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), text).unwrap();
    }

    /// Writes a configuration file.
    pub fn write_config(&self, name: &str, text: &str) {
        let path = self.path("home/config").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// The output of `show --json` for a file without problems.
    #[track_caller]
    pub fn show_json(&self, name: &str) -> serde_json::Value {
        let run = self.run(&["show", "--json", name]);
        assert_eq!((run.code, &*run.stderr), (Some(0), ""));
        serde_json::from_str(&run.stdout).unwrap()
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// The messages of a file, as any reader of the format sees them.
    pub fn messages(&self, name: &str) -> DecodedFile {
        analects_formats::decode(&std::fs::read(self.path(name)).unwrap_or_default(), name)
    }

    pub fn message_texts(&self, name: &str) -> Vec<String> {
        self.messages(name)
            .messages
            .iter()
            .map(|message| message.text())
            .collect()
    }

    /// The command, without the variables that could lead to a real model or a real home.
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
            .env_remove("HTTP_PROXY")
            .env_remove("http_proxy")
            .env_remove("ALL_PROXY");
        command
            .env("ANALECTS_HOME", self.path("home"))
            .env_remove("ANALECTS_MODEL");
        command
            .env_remove("NO_COLOR")
            .env_remove("CLICOLOR_FORCE")
            .env("TERM", "xterm")
            .env("TZ", "UTC");
        match &self.base_url {
            Some(url) => command.env("OPENAI_BASE_URL", url),
            None => command.env_remove("OPENAI_BASE_URL"),
        };
        command
    }

    /// Another program with the folder and environment of `command`.
    #[cfg(unix)]
    pub fn program_like(&self, command: &Command, program: &str) -> Command {
        let mut other = Command::new(program);
        other.current_dir(self.folder.path()).stdin(Stdio::null());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => other.env(name, value),
                None => other.env_remove(name),
            };
        }
        other
    }

    pub fn run(&self, args: &[&str]) -> CommandOutput {
        self.command(args).output().unwrap().into()
    }

    pub fn run_with_stdin(&self, args: &[&str], stdin: impl AsRef<[u8]>) -> CommandOutput {
        self.write("stdin", stdin);
        let file = std::fs::File::open(self.path("stdin")).unwrap();
        self.command(args).stdin(file).output().unwrap().into()
    }

    /// A file that cannot be written to, as on a full disk.
    #[cfg(target_os = "linux")]
    pub fn full_device() -> std::fs::File {
        std::fs::File::options()
            .write(true)
            .open("/dev/full")
            .unwrap()
    }

    pub fn spawn(&self, args: &[&str]) -> Child {
        self.command(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// The id of the newest session in the store.
    #[track_caller]
    pub fn last_session_id(&self) -> String {
        let run = self.run(&["session", "list", "--json"]);
        let list = parse_json(assert_success(&run));
        list["sessions"][0]["id"].as_str().unwrap().to_string()
    }

    /// Polls a file until it contains a text.
    #[track_caller]
    pub fn wait_for(&self, name: &str, text: &str) {
        let read = || std::fs::read_to_string(self.path(name)).unwrap_or_default();
        wait_until(&format!("{text:?} in {name}"), || read().contains(text));
    }

    /// Waits until the journal contains these words of an answer that is not in its file yet.
    #[track_caller]
    pub fn wait_for_journal(&self, text: &str) {
        wait_until(&format!("{text:?} in the journal"), || {
            self.journal_text().contains(text)
        });
    }

    /// The words received so far of answers that are not in their files yet.
    pub fn journal_text(&self) -> String {
        let Ok(entries) = std::fs::read_dir(self.path("home/state/journal/asked")) else {
            return String::new();
        };
        let files = entries.map(|entry| std::fs::read(entry.unwrap().path()).unwrap_or_default());
        let mut words = String::new();
        for file in files {
            for line in String::from_utf8_lossy(&file).lines() {
                let record: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
                words.push_str(record["text"].as_str().unwrap_or_default());
            }
        }
        words
    }

    /// The records that `recover --json` lists for a file.
    #[track_caller]
    pub fn recoverable_records(&self, name: &str) -> Vec<serde_json::Value> {
        let run = self.run(&["recover", name, "--json"]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        serde_json::from_str(&run.stdout).unwrap()
    }
}

/// Parses JSON that a command printed, and shows it if it is broken.
#[track_caller]
pub fn parse_json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Checks that a command succeeded, and gives its stdout without the last newline.
#[track_caller]
pub fn assert_success(run: &CommandOutput) -> &str {
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    run.stdout.trim_end()
}

/// Sends a signal such as `INT` to a process.
#[cfg(unix)]
#[track_caller]
pub fn send_signal(child: &Child, signal: &str) {
    let status = Command::new("kill")
        .args([format!("-{signal}"), child.id().to_string()])
        .status();
    assert!(status.unwrap().success());
}

/// Polls until `is_so` is true, and panics after a minute.
#[track_caller]
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what} never came");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Reads the output of a command until it ends with `text`, and returns all of it.
#[track_caller]
pub fn read_until(printed: &mut impl std::io::Read, text: &str) -> String {
    let mut bytes = Vec::new();
    let mut byte = [0];
    while !bytes.ends_with(text.as_bytes()) {
        let count = printed.read(&mut byte).unwrap();
        assert_eq!(
            count,
            1,
            "{text:?} was never printed: {}",
            String::from_utf8_lossy(&bytes)
        );
        bytes.extend(byte);
    }
    String::from_utf8(bytes).unwrap()
}

impl From<Output> for CommandOutput {
    fn from(output: Output) -> CommandOutput {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        CommandOutput {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

impl CommandOutput {
    /// Checks that the command succeeded with this stdout and no stderr.
    #[track_caller]
    pub fn assert_prints(&self, stdout: &str) {
        assert_eq!(
            (self.code, &*self.stdout, &*self.stderr),
            (Some(0), stdout, "")
        );
    }

    /// Checks that the command says that no model was named, and suggests some.
    #[track_caller]
    pub fn assert_no_model(&self) {
        assert_eq!((self.code, &*self.stdout), (Some(2), ""), "{}", self.stderr);
        let start = "analects: no model to ask: none was named";
        assert!(self.stderr.starts_with(start), "{}", self.stderr);
        let way = "on this machine, without a key: -m local/smollm2";
        assert!(self.stderr.contains(way), "{}", self.stderr);
    }

    /// Checks that the command failed with this code and stderr, and printed nothing to stdout.
    #[track_caller]
    pub fn assert_fails(&self, code: i32, stderr: &str) {
        assert_eq!(
            (self.code, &*self.stdout, &*self.stderr),
            (Some(code), "", stderr)
        );
    }
}

pub use analects_testkit::skip;

/// Prints a measurement or a remark of a test.
#[cfg(target_os = "linux")]
#[allow(clippy::print_stderr)]
pub fn print_note(text: &str) {
    eprintln!("{text}");
}
