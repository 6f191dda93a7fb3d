//! A running `chat --watch` process, for tests.
#![cfg(unix)]

use std::path::PathBuf;
use std::process::{Child, Stdio};

use crate::sandbox::{CommandOutput, Sandbox, send_signal, wait_until};
use crate::server::Server;

pub const AGENT: &str = "---\nagents:\n  tiny:\n    models: [openai/tiny]\n---\n";

/// What a watch prints when it is ready.
pub const LISTENING: &str = "a.msg.md: waiting for questions; Ctrl-C ends\n";

/// A command that watches a file, killed with the test. Its stderr goes to a file.
pub struct WatchProcess {
    child: Option<Child>,
    stderr: PathBuf,
}

impl WatchProcess {
    pub fn start(sandbox: &Sandbox, more: &[&str]) -> WatchProcess {
        let mut command = sandbox.command(&[&["chat", "--watch", "a.msg.md"], more].concat());
        let stderr = sandbox.path("home/stderr");
        std::fs::create_dir_all(sandbox.path("home")).unwrap();
        let file = std::fs::File::create(&stderr).unwrap();
        let child = command.stdout(Stdio::piped()).stderr(file).spawn().unwrap();
        let watching = WatchProcess {
            child: Some(child),
            stderr,
        };
        watching.wait_for(LISTENING);
        watching
    }

    /// What it has printed to stderr so far.
    pub fn stderr_so_far(&self) -> String {
        std::fs::read_to_string(&self.stderr).unwrap()
    }

    /// Waits until it prints a text to stderr.
    #[track_caller]
    pub fn wait_for(&self, text: &str) {
        wait_until(&format!("{text:?} on stderr"), || {
            self.stderr_so_far().contains(text)
        });
    }

    /// Presses Ctrl-C, and waits for the process.
    pub fn stop(self) -> CommandOutput {
        self.end("INT")
    }

    /// Sends a signal, and waits for the process.
    pub fn end(mut self, signal: &str) -> CommandOutput {
        let child = self.child.take().unwrap();
        send_signal(&child, signal);
        let run: CommandOutput = child.wait_with_output().unwrap().into();
        CommandOutput {
            stderr: self.stderr_so_far().replacen(LISTENING, "", 1),
            ..run
        }
    }
}

impl Drop for WatchProcess {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

pub fn sandbox_with(server: &Server) -> Sandbox {
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write("a.msg.md", AGENT);
    sandbox
}
