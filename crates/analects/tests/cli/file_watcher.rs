//! A command that watches a file.
#![cfg(unix)]

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::sandbox::{Run, Sandbox, wait_until};
use crate::server::Server;

pub const AGENT: &str = "---\nagents:\n  tiny:\n    models: [openai/tiny]\n---\n";

/// What a watch says when it listens.
pub const LISTENS: &str = "a.msg.md: waiting for questions; Ctrl-C ends\n";

/// A command that watches a file, and is ended with the test. What it says on stderr is in a file.
pub struct Watching {
    child: Option<Child>,
    stderr: PathBuf,
}

impl Watching {
    pub fn start(sandbox: &Sandbox, more: &[&str]) -> Watching {
        let mut command = sandbox.command(&[&["chat", "--watch", "a.msg.md"], more].concat());
        let stderr = sandbox.path("home/stderr");
        std::fs::create_dir_all(sandbox.path("home")).unwrap();
        let file = std::fs::File::create(&stderr).unwrap();
        let child = command.stdout(Stdio::piped()).stderr(file).spawn().unwrap();
        let watching = Watching {
            child: Some(child),
            stderr,
        };
        watching.wait_for(LISTENS);
        watching
    }

    /// What it said so far.
    pub fn said(&self) -> String {
        std::fs::read_to_string(&self.stderr).unwrap()
    }

    /// Waits until it has said something.
    #[track_caller]
    pub fn wait_for(&self, text: &str) {
        wait_until(&format!("{text:?} on stderr"), || {
            self.said().contains(text)
        });
    }

    /// Presses Ctrl-C, and waits for the end.
    pub fn stop(self) -> Run {
        self.end("INT")
    }

    /// Sends a signal, and waits for the end.
    pub fn end(mut self, signal: &str) -> Run {
        let child = self.child.take().unwrap();
        let pid = child.id().to_string();
        let signal = format!("-{signal}");
        assert!(
            Command::new("kill")
                .args([&signal, &pid])
                .status()
                .unwrap()
                .success()
        );
        let run: Run = child.wait_with_output().unwrap().into();
        Run {
            stderr: self.said().replacen(LISTENS, "", 1),
            ..run
        }
    }
}

impl Drop for Watching {
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
