//! `cargo xtask setup`: fetches what the tests need. Tools are kept outside the clone, so that a
//! fresh clone finds them again.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::steps::{self, cargo};

/// Tied to the form of deny.toml.
const DENY_VERSION: &str = "0.20.2";

/// Programs that some tests need, with their Debian packages. Without one, these tests say that they are skipped.
/// `strace` kills a process at each of its system calls; the others are editors that people use.
const DEBIAN: [(&str, &str); 4] = [
    ("strace", "strace"),
    ("nvim", "neovim"),
    ("vim", "vim"),
    ("emacs", "emacs-nox"),
];

/// Runs each part and prints a timed line for it; false if a part failed.
pub fn run(root: &Path) -> bool {
    let mut ok = part("rustfmt", || component(root, "fmt", "rustfmt"));
    ok &= part("clippy", || component(root, "clippy", "clippy"));
    ok &= part("dependencies", || fetch(root));
    ok &= part("cargo-nextest", || Ok(nextest(root)));
    for (program, package) in DEBIAN {
        part(program, || from_debian(root, program, package));
    }
    ok
}

/// Builds what only `cargo xtask torture` needs. Without a registry to get it from, torture still runs and says what it
/// skips.
pub fn run_for_torture(root: &Path) -> bool {
    let ok = run(root);
    part("cargo-deny", || cargo_deny(root));
    ok
}

fn part(name: &str, work: impl FnOnce() -> Result<&'static str, String>) -> bool {
    let start = Instant::now();
    let result = work();
    let seconds = start.elapsed().as_secs_f64();
    match &result {
        Ok(word) => println!("setup: {name} … {word}, {seconds:.1} s"),
        Err(error) => println!("setup: {name} … FAILED, {seconds:.1} s: {error}"),
    }
    result.is_ok()
}

fn component(root: &Path, verb: &str, name: &str) -> Result<&'static str, String> {
    if steps::succeeds(&mut cargo(root, &[verb, "--version"])) {
        return Ok("found");
    }
    let mut rustup = Command::new("rustup");
    if steps::succeeds(rustup.current_dir(root).args(["component", "add", name])) {
        return Ok("installed");
    }
    Err(format!(
        "cargo {verb} is missing\nhint: rustup component add {name}"
    ))
}

fn fetch(root: &Path) -> Result<&'static str, String> {
    let output = cargo(root, &["fetch", "--locked"])
        .output()
        .map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok("fetched");
    }
    Err(String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Whether the tests can be run by cargo-nextest; `cargo test` does it otherwise.
pub fn has_nextest(root: &Path) -> bool {
    steps::succeeds(&mut cargo(root, &["nextest", "--version"]))
}

fn nextest(root: &Path) -> &'static str {
    if has_nextest(root) {
        "found"
    } else {
        "not found, cargo test is used instead"
    }
}

/// The folder for tools, outside the clone.
fn cache_dir() -> Result<PathBuf, String> {
    let set = |name| {
        env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    set("ANALECTS_TEST_CACHE")
        .or_else(|| set("XDG_CACHE_HOME").map(|dir| dir.join("analects-test")))
        .or_else(|| set("HOME").map(|dir| dir.join(".cache/analects-test")))
        .ok_or("no folder for tools\nhint: set ANALECTS_TEST_CACHE".to_string())
}

/// A Python of its own with these packages; gives its program.
pub fn python_with(name: &str, packages: &[&str]) -> Result<PathBuf, String> {
    let folder = cache_dir()?.join(name);
    let python = folder.join("bin/python");
    let mut venv = Command::new("python3");
    if !python.is_file() && !steps::succeeds(venv.args(["-m", "venv"]).arg(&folder)) {
        return Err("python3 -m venv failed".to_string());
    }
    let mut pip = Command::new(&python);
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ])
    .args(packages);
    if steps::succeeds(&mut pip) {
        return Ok(python);
    }
    Err(format!("pip cannot install {}", packages.join(", ")))
}

fn deny_dir() -> Result<PathBuf, String> {
    Ok(cache_dir()?.join(format!("cargo-deny-{DENY_VERSION}")))
}

/// Where the cached cargo-deny is, if it has been built.
pub fn deny_program() -> Option<PathBuf> {
    let program = deny_dir().ok()?.join("bin/cargo-deny");
    program.is_file().then_some(program)
}

fn cargo_deny(root: &Path) -> Result<&'static str, String> {
    match deny_program() {
        Some(_) => Ok("cached"),
        None => build_deny(root).map(|()| "built"),
    }
}

/// Installs a Debian package unless its program is there.
fn from_debian(root: &Path, program: &str, package: &str) -> Result<&'static str, String> {
    let has = || steps::succeeds(Command::new(program).arg("--version"));
    if has() {
        return Ok("found");
    }
    let apt = |args: &[&str]| {
        let mut command = Command::new("apt-get");
        steps::succeeds(command.current_dir(root).args(args))
    };
    let install = ["install", "--yes", "--no-install-recommends", package];
    // A fresh machine has no list of packages, or an old one.
    if (apt(&install) || (apt(&["update"]) && apt(&install))) && has() {
        return Ok("installed");
    }
    Err(format!(
        "{program} is missing\nhint: apt-get install {package}"
    ))
}

/// An unoptimised build: it takes two minutes instead of ten, and still checks within seconds.
fn build_deny(root: &Path) -> Result<(), String> {
    let dir = deny_dir()?;
    let target = dir.join("target");
    let version = format!("cargo-deny@{DENY_VERSION}");
    let mut command = cargo(root, &["install", "--locked", "--debug", "--root"]);
    command
        .arg(&dir)
        .arg(version)
        .env("CARGO_TARGET_DIR", &target);
    let built = steps::run(
        "build cargo-deny",
        command.env("CARGO_PROFILE_DEV_DEBUG", "0"),
    );
    // What is left is only of use to a second build.
    let _ = std::fs::remove_dir_all(target);
    built
        .ok
        .then_some(())
        .ok_or("cargo install cargo-deny failed, see above".to_string())
}
