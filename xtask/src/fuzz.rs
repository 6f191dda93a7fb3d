//! `cargo xtask fuzz`: runs the fuzz functions under libFuzzer, which searches for inputs by coverage. It is
//! built on demand, into a target folder of its own, so no other build waits for it.
//!
//! Seeds are in `fuzz/corpus`. What a run finds interesting goes to `target/fuzz/corpus`, and `fuzz keep` puts a
//! small set of it into `fuzz/found`, with which every later run begins; the ordinary tests do not read it. What
//! breaks a target is in `target/fuzz/crashes`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::steps::{self, cargo};

/// How long each target runs, in seconds, unless told otherwise.
const SECONDS: &str = "60";

/// The longest input: what is longer finds little more, and takes longer.
const MAX_LENGTH: &str = "4096";

/// The longest input that is committed, so that the corpus stays small.
const MAX_KEPT: u64 = 1024;

/// What makes the compiler count which code runs, and tell libFuzzer what is compared.
const COVERAGE: &[&str] = &[
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Ccodegen-units=1",
    "--cfg=fuzzing",
];

/// What the arguments ask for.
#[derive(Debug, PartialEq, Eq)]
pub enum Wish<'a> {
    /// Searches with some targets, each for so many seconds.
    Search {
        /// The names of the targets.
        targets: Vec<String>,
        /// For each of them.
        seconds: &'a str,
    },
    /// Runs one input once.
    Again {
        /// The name of the target.
        target: &'a str,
        /// The input.
        input: &'a Path,
    },
    /// Commits what was found.
    Keep {
        /// The names of the targets.
        targets: Vec<String>,
    },
}

/// Does what the arguments ask for; false if a target broke, or could not be run.
pub fn run(root: &Path, args: &[&str]) -> bool {
    let done = wish(args, &names(root)).and_then(|wish| Fuzzer::build(root)?.grant(&wish));
    match done {
        Ok(broken) => broken.is_empty(),
        Err(error) => {
            eprintln!("error: {error}");
            false
        }
    }
}

/// The fuzz targets: each has a folder in the corpus.
pub fn names(root: &Path) -> Vec<String> {
    let entries = fs::read_dir(root.join("fuzz/corpus"))
        .into_iter()
        .flatten()
        .flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Reads the arguments after `fuzz`.
pub fn wish<'a>(args: &[&'a str], names: &[String]) -> Result<Wish<'a>, String> {
    let one = |name: &str| -> Result<Vec<String>, String> {
        let known = names.iter().find(|known| *known == name);
        let hint = || {
            format!(
                "there is no fuzz target {name}\nhint: one of {}",
                names.join(", ")
            )
        };
        Ok(vec![known.ok_or_else(hint)?.clone()])
    };
    let is_number = |text: &str| text.parse::<u32>().is_ok();
    let all = || names.to_vec();
    match *args {
        [] => Ok(Wish::Search {
            targets: all(),
            seconds: SECONDS,
        }),
        ["keep"] => Ok(Wish::Keep { targets: all() }),
        ["keep", name] => Ok(Wish::Keep {
            targets: one(name)?,
        }),
        [seconds] if is_number(seconds) => Ok(Wish::Search {
            targets: all(),
            seconds,
        }),
        [name] => Ok(Wish::Search {
            targets: one(name)?,
            seconds: SECONDS,
        }),
        [name, seconds] if is_number(seconds) => Ok(Wish::Search {
            targets: one(name)?,
            seconds,
        }),
        [name, input] => {
            one(name)?;
            Ok(Wish::Again {
                target: name,
                input: Path::new(input),
            })
        }
        _ => Err("too many arguments\nhint: cargo xtask fuzz [TARGET] [SECONDS]".to_string()),
    }
}

/// The built program, and where its files go.
#[derive(Debug)]
pub struct Fuzzer {
    root: PathBuf,
    program: PathBuf,
}

impl Fuzzer {
    /// Builds the program with coverage.
    pub fn build(root: &Path) -> Result<Fuzzer, String> {
        let host = host()?;
        let target_dir = root.join("target/fuzz/build");
        let args = ["build", "--release", "--target", &host, "--manifest-path"];
        let mut command = cargo(root, &args);
        command
            .arg("fuzz/libfuzzer/Cargo.toml")
            .env("CARGO_TARGET_DIR", &target_dir);
        command
            .env_remove("RUSTFLAGS")
            .env("CARGO_ENCODED_RUSTFLAGS", COVERAGE.join("\u{1f}"));
        if !steps::run("build the fuzz targets", &mut command).ok {
            let hint = "hint: it needs a C++ compiler, and once the network";
            return Err(format!("the fuzz targets could not be built\n{hint}"));
        }
        let program = target_dir.join(host).join("release/analects-libfuzzer");
        Ok(Fuzzer {
            root: root.to_path_buf(),
            program,
        })
    }

    /// Does what was asked for; gives the names of the targets that broke.
    fn grant(&self, wish: &Wish<'_>) -> Result<Vec<String>, String> {
        match wish {
            Wish::Search { targets, seconds } => self.search(targets, seconds),
            Wish::Again { target, input } => {
                let mut command = self.command(target)?;
                let input = std::path::absolute(input).map_err(|error| error.to_string())?;
                let outcome = steps::run(&format!("fuzz {target}"), command.arg(input));
                Ok(if outcome.ok {
                    Vec::new()
                } else {
                    vec![target.to_string()]
                })
            }
            Wish::Keep { targets } => {
                targets.iter().try_for_each(|target| self.keep(target))?;
                Ok(Vec::new())
            }
        }
    }

    /// Runs each target for so many seconds, even after one broke; gives the names of those that did.
    pub fn search(&self, targets: &[String], seconds: &str) -> Result<Vec<String>, String> {
        let mut broken = Vec::new();
        let mut summary = String::new();
        for target in targets {
            let found = self.folder("corpus", target)?;
            let crashes = self.folder("crashes", target)?;
            let dictionary = self.root.join("target/fuzz").join(format!("{target}.dict"));
            let mut command = self.command(target)?;
            command.env("ANALECTS_FUZZ_DICTIONARY", &dictionary);
            command.arg(argument("-dict=", &dictionary));
            command.arg(argument("-artifact_prefix=", &crashes.join("")));
            command.arg(format!("-max_total_time={seconds}"));
            command.args(["-print_final_stats=1", "-timeout=10", "-rss_limit_mb=1024"]);
            command.arg(format!("-max_len={MAX_LENGTH}"));
            let kept = self.committed("found", target);
            fs::create_dir_all(&kept).map_err(|error| error.to_string())?;
            command
                .arg(&found)
                .arg(self.committed("corpus", target))
                .arg(&kept);
            let outcome = steps::run(&format!("fuzz {target}"), &mut command);
            summary.push_str(&line_about(target, &outcome));
            if !outcome.ok {
                summary.push_str(&advice(target, &outcome.output, &self.root));
                broken.push(target.clone());
            }
        }
        print!("\n{summary}");
        Ok(broken)
    }

    /// Commits, of all that was found, a small set of short inputs that reaches what the seeds do not.
    fn keep(&self, target: &str) -> Result<(), String> {
        let work = self.folder("keep", target)?;
        let (reached, short) = (work.join("reached"), work.join("short"));
        let (seeds, kept) = (
            self.committed("corpus", target),
            self.committed("found", target),
        );
        let found = self.folder("corpus", target)?;
        copy_short(&seeds, &reached, u64::MAX).map_err(|error| error.to_string())?;
        for folder in [&kept, &found] {
            copy_short(folder, &short, MAX_KEPT).map_err(|error| error.to_string())?;
        }
        let mut command = self.command(target)?;
        // How often code runs is of no interest here: the set would be ten times as large.
        command
            .args(["-set_cover_merge=1", "-use_counters=0"])
            .arg(&reached)
            .arg(&short);
        let merged = steps::run(&format!("keep {target}"), &mut command).ok;
        let moved = merged
            .then(|| replace_kept(&reached, &seeds, &kept))
            .transpose();
        let _ = fs::remove_dir_all(work);
        let moved = moved.map_err(|error| error.to_string())?;
        moved.ok_or_else(|| format!("what {target} found could not be merged"))
    }

    fn command(&self, target: &str) -> Result<Command, String> {
        let mut command = Command::new(&self.program);
        // libFuzzer leaves some files where it is started.
        let folder = self.folder("crashes", target)?;
        command
            .current_dir(folder)
            .env("ANALECTS_FUZZ_TARGET", target);
        Ok(command)
    }

    fn committed(&self, kind: &str, target: &str) -> PathBuf {
        self.root.join("fuzz").join(kind).join(target)
    }

    fn folder(&self, kind: &str, target: &str) -> Result<PathBuf, String> {
        let folder = self.root.join("target/fuzz").join(kind).join(target);
        let made = fs::create_dir_all(&folder);
        made.map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(folder)
    }
}

/// Copies the files of a folder that are no longer than this.
fn copy_short(from: &Path, to: &Path, longest: u64) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).into_iter().flatten() {
        let entry = entry?;
        if entry.metadata()?.len() <= longest {
            fs::copy(entry.path(), to.join(entry.file_name()))?;
        }
    }
    Ok(())
}

/// Puts what was reached beyond the seeds in the place of what was kept before.
fn replace_kept(reached: &Path, seeds: &Path, kept: &Path) -> std::io::Result<()> {
    if kept.exists() {
        fs::remove_dir_all(kept)?;
    }
    fs::create_dir_all(kept)?;
    for entry in fs::read_dir(reached)? {
        let entry = entry?;
        if !seeds.join(entry.file_name()).exists() {
            fs::copy(entry.path(), kept.join(entry.file_name()))?;
        }
    }
    Ok(())
}

/// The platform of this machine: naming it keeps the flags away from build scripts.
fn host() -> Result<String, String> {
    let output = Command::new("rustc")
        .arg("-vV")
        .output()
        .map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix("host: "));
    line.map(str::to_string)
        .ok_or_else(|| "rustc does not say its host".to_string())
}

fn argument(name: &str, path: &Path) -> std::ffi::OsString {
    let mut argument = std::ffi::OsString::from(name);
    argument.push(path);
    argument
}

/// What a run did, in one line.
fn line_about(target: &str, outcome: &steps::Outcome) -> String {
    let runs = executions(&outcome.output).unwrap_or("unknown");
    let word = if outcome.ok { "ok" } else { "BROKEN" };
    format!(
        "fuzz {target:<24} {runs:>10} runs {:>7.0} s  {word}\n",
        outcome.seconds
    )
}

/// How many inputs libFuzzer says it tried.
pub fn executions(output: &str) -> Option<&str> {
    let lines = output.lines();
    let mut found = lines.filter_map(|line| line.strip_prefix("stat::number_of_executed_units:"));
    found.next_back().map(str::trim)
}

/// The input that libFuzzer says it wrote.
pub fn crash(output: &str) -> Option<&str> {
    let mut found = output
        .lines()
        .filter_map(|line| line.split_once("Test unit written to "));
    found.next_back().map(|(_, path)| path.trim())
}

/// How to reproduce a crash, and what to do about it.
pub fn advice(target: &str, output: &str, root: &Path) -> String {
    let Some(path) = crash(output) else {
        return "  it stopped without an input; its output is above\n".to_string();
    };
    let path = Path::new(path)
        .strip_prefix(root)
        .unwrap_or(Path::new(path))
        .display();
    format!(
        "  the input is in {path}\n  \
         to reproduce it:  cargo xtask fuzz {target} {path}\n  \
         once it is fixed: cp {path} fuzz/corpus/{target}/WHAT-IT-IS\n"
    )
}

#[cfg(test)]
mod tests;
