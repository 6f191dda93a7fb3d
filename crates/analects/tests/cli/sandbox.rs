//! A folder of its own for each test, and the command running in it.

use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use analects_formats::Decoded;
use tempfile::TempDir;

pub struct Sandbox {
    folder: TempDir,
    base_url: Option<String>,
}

/// How a command ended.
pub struct Run {
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

    /// Writes a file of the configuration.
    pub fn configure(&self, name: &str, text: &str) {
        let path = self.path("home/config").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// What `show --json` says about a file, of which there must be nothing odd to say.
    #[track_caller]
    pub fn show(&self, name: &str) -> serde_json::Value {
        let run = self.run(&["show", "--json", name]);
        assert_eq!((run.code, &*run.stderr), (Some(0), ""));
        serde_json::from_str(&run.stdout).unwrap()
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// The messages of a file, as any reader of the format sees them.
    pub fn messages(&self, name: &str) -> Decoded {
        analects_formats::decode(&std::fs::read(self.path(name)).unwrap_or_default(), name)
    }

    pub fn texts(&self, name: &str) -> Vec<String> {
        self.messages(name)
            .messages
            .iter()
            .map(|message| message.text())
            .collect()
    }

    /// The command, with nothing of the environment that could reach a real model or a real home.
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
            .env("TERM", "xterm");
        match &self.base_url {
            Some(url) => command.env("OPENAI_BASE_URL", url),
            None => command.env_remove("OPENAI_BASE_URL"),
        };
        command
    }

    /// Another program in the place of a command, in the same folder and with the same environment.
    #[cfg(unix)]
    pub fn in_place_of(&self, command: &Command, program: &str) -> Command {
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

    pub fn run(&self, args: &[&str]) -> Run {
        self.command(args).output().unwrap().into()
    }

    pub fn run_with_stdin(&self, args: &[&str], stdin: impl AsRef<[u8]>) -> Run {
        self.write("stdin", stdin);
        let file = std::fs::File::open(self.path("stdin")).unwrap();
        self.command(args).stdin(file).output().unwrap().into()
    }

    /// A file that takes nothing, as on a full disk.
    #[cfg(target_os = "linux")]
    pub fn full() -> std::fs::File {
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

    /// Waits until a file holds a text: there is no event for that, so it looks again and again.
    #[track_caller]
    pub fn wait_for(&self, name: &str, text: &str) {
        let read = || std::fs::read_to_string(self.path(name)).unwrap_or_default();
        wait_until(&format!("{text:?} in {name}"), || read().contains(text));
    }

    /// Waits until the journal holds these words of an answer that is not in its file yet.
    #[track_caller]
    pub fn wait_for_journal(&self, text: &str) {
        wait_until(&format!("{text:?} in the journal"), || {
            self.journal().contains(text)
        });
    }

    /// The words that came so far of answers that are not in their files yet.
    pub fn journal(&self) -> String {
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

    /// What `recover --json` lists for a file.
    #[track_caller]
    pub fn records(&self, name: &str) -> Vec<serde_json::Value> {
        let run = self.run(&["recover", name, "--json"]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        serde_json::from_str(&run.stdout).unwrap()
    }
}

/// Waits until something is so, and gives up after a time that no machine needs.
#[track_caller]
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what} never came");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Reads what a command prints until it has printed a text; gives all of that.
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

impl From<Output> for Run {
    fn from(output: Output) -> Run {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Run {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

impl Run {
    /// The command did what it should, and had nothing to say about it.
    #[track_caller]
    pub fn assert_answer(&self, stdout: &str) {
        assert_eq!(
            (self.code, &*self.stdout, &*self.stderr),
            (Some(0), stdout, "")
        );
    }

    /// The command names the ways to a model, since nobody named one.
    #[track_caller]
    pub fn assert_no_model(&self) {
        assert_eq!((self.code, &*self.stdout), (Some(2), ""), "{}", self.stderr);
        let start = "analects: no model to ask: none was named";
        assert!(self.stderr.starts_with(start), "{}", self.stderr);
        let way = "on this machine, without a key: -m local/smollm2";
        assert!(self.stderr.contains(way), "{}", self.stderr);
    }

    /// The command failed with this code, these lines on stderr, and nothing on stdout.
    #[track_caller]
    pub fn assert_failure(&self, code: i32, stderr: &str) {
        assert_eq!(
            (self.code, &*self.stdout, &*self.stderr),
            (Some(code), "", stderr)
        );
    }
}

pub use analects_testkit::skip;

/// What a test has to tell besides that it passed.
#[cfg(target_os = "linux")]
#[allow(clippy::print_stderr)]
pub fn say(text: &str) {
    eprintln!("{text}");
}
