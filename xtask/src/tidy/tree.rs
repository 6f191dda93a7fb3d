//! Reads what the checks look at: the files of the tree, and what `cargo tree` says.

use std::path::Path;
use std::process::Command;

use crate::steps::cargo;

/// A file of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// From the top of the tree, with `/` between names.
    pub path: String,
    /// Its text; bytes that are not UTF-8 are replaced.
    pub text: String,
}

impl File {
    /// A file as a test writes it down.
    pub fn new(path: &str, text: &str) -> File {
        File {
            path: path.to_string(),
            text: text.to_string(),
        }
    }

    /// The last part of its path.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// Whether it is Rust source.
    pub fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }
}

/// The files that git tracks, or would track: a new file is checked before it is added.
pub fn read(root: &Path) -> Result<Vec<File>, String> {
    // Git asks who owns the tree, and a build machine's checkout may be another user's.
    let mine = ["-c", "safe.directory=*"];
    let args = [
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ];
    let listed = output(Command::new("git").current_dir(root).args(mine).args(args))?;
    let mut paths: Vec<&str> = listed.split('\0').filter(|path| !path.is_empty()).collect();
    paths.sort_unstable();
    paths.dedup();
    // A file that is deleted and still tracked cannot be read, and needs no check.
    let read = |path: &str| {
        let bytes = std::fs::read(root.join(path)).ok()?;
        Some(File::new(path, &String::from_utf8_lossy(&bytes)))
    };
    Ok(paths.into_iter().filter_map(read).collect())
}

/// What `cargo tree` prints.
pub fn cargo_tree(root: &Path, args: &[&str]) -> Result<String, String> {
    output(cargo(root, &["tree", "--quiet"]).args(args))
}

fn output(command: &mut Command) -> Result<String, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .map_err(|error| format!("cannot start {program}: {error}"))?;
    if !output.status.success() {
        return Err(format!(
            "{program} failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        ));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
