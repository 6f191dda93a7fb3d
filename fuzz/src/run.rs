//! Runs a target over seeds and their mutations, and keeps the first input that it does not survive.

use std::any::Any;
use std::fmt::{self, Write};
use std::fs;
use std::io;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use crate::{Random, Target, mutate};

/// How much of an input is shown; the file has all of it.
const SHOWN: usize = 512;

/// An input to begin with.
#[derive(Debug, Clone)]
pub struct Seed {
    /// What to call it in a report.
    pub name: String,
    /// The input itself.
    pub bytes: Vec<u8>,
}

/// An input that broke its target.
#[derive(Debug)]
pub struct Failure {
    /// The target's name.
    pub target: &'static str,
    /// Where the input came from.
    pub origin: String,
    /// The input itself.
    pub input: Vec<u8>,
    /// What the target said.
    pub message: String,
    /// Where the input was saved, unless it could not be.
    pub saved: Option<PathBuf>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hex = self
            .input
            .iter()
            .take(SHOWN)
            .fold(String::new(), |mut hex, byte| {
                let _ = write!(hex, "{byte:02x}");
                hex
            });
        writeln!(
            f,
            "fuzz target {}: {}: {}",
            self.target, self.origin, self.message
        )?;
        writeln!(f, "input, {} bytes: {hex}", self.input.len())?;
        match &self.saved {
            Some(path) => write!(
                f,
                "hint: once it is mended, keep {} in fuzz/corpus/{}",
                path.display(),
                self.target
            ),
            None => write!(f, "hint: the input could not be saved"),
        }
    }
}

/// The files of a folder, by name.
pub fn corpus(dir: &Path) -> io::Result<Vec<Seed>> {
    let mut seeds = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        seeds.push(Seed {
            name,
            bytes: fs::read(entry.path())?,
        });
    }
    // The order of a folder differs between machines, and the mutations depend on it.
    seeds.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(seeds)
}

/// Runs every seed, then `iterations` mutations; stops at the first failure.
pub fn run(target: &Target, seeds: &[Seed], iterations: usize) -> Result<(), Box<Failure>> {
    for seed in seeds {
        try_input(target, &seed.bytes, || format!("seed {}", seed.name))?;
    }
    let mut random = Random::named(target.name);
    let nothing = Seed {
        name: "nothing".to_string(),
        bytes: Vec::new(),
    };
    for iteration in 0..iterations {
        let seed = seeds.get(random.below(seeds.len())).unwrap_or(&nothing);
        let other = seeds.get(random.below(seeds.len())).unwrap_or(&nothing);
        let input = mutate(target, &seed.bytes, &other.bytes, &mut random);
        try_input(target, &input, || {
            format!("mutation {iteration}, of seed {}", seed.name)
        })?;
    }
    Ok(())
}

fn try_input(
    target: &Target,
    input: &[u8],
    origin: impl Fn() -> String,
) -> Result<(), Box<Failure>> {
    let run = target.run;
    catch_unwind(|| run(input)).map_err(|panic| {
        Box::new(Failure {
            target: target.name,
            origin: origin(),
            input: input.to_vec(),
            message: message(panic.as_ref()),
            saved: save(target, input),
        })
    })
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without a message").to_string()
}

fn save(target: &Target, input: &[u8]) -> Option<PathBuf> {
    let name = format!("analects-fuzz-{}-{}", target.name, std::process::id());
    let path = std::env::temp_dir().join(name);
    fs::write(&path, input).ok().map(|()| path)
}
