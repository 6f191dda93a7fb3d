//! Converts a folder to a folder. Files keep their names with new extensions, and nothing outside
//! the folder is written.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use analects_formats::convert::{FORMATS, Format};

use super::destination::{Destination, OnExisting};
use super::source::ConvertSource;
use super::{ConvertJob, is_dash};
use crate::failure::{Failure, io_error_text};
use crate::ui;

/// Folders with generated files.
const SKIPPED: [&str; 2] = ["node_modules", "target"];

/// Converts every file of a known format.
pub fn run(job: &ConvertJob<'_>) -> Result<(), Failure> {
    let input = &job.args.input;
    let Some(output) = job.args.output.as_deref().filter(|path| !is_dash(path)) else {
        let text = format!("{}: a folder becomes a folder", input.display());
        return Err(Failure::usage(text, "name it: -o OUT"));
    };
    fs::create_dir_all(output).map_err(|error| unusable(output, &error))?;
    let mut walk = FolderWalk {
        own: fs::canonicalize(output).ok(),
        files: Vec::new(),
        links: 0,
    };
    walk.folder(input, Path::new(""))?;
    let mut given = HashSet::new();
    let read: HashSet<PathBuf> = match fs::canonicalize(input) {
        Ok(input) => walk
            .files
            .iter()
            .map(|relative| input.join(relative))
            .collect(),
        Err(_) => HashSet::new(),
    };
    let mut done = FolderSummary::default();
    let count = walk.files.len();
    for (at, relative) in walk.files.iter().enumerate() {
        ui::progress(&format!(
            "{} of {count} files: {}",
            at + 1,
            relative.display()
        ));
        done.take(
            convert_one(job, output, relative, &read, &mut given),
            job.args.json,
        )?;
    }
    ui::progress("");
    done.conclude(input, walk.links, job.args.json)
}

/// How many files were converted, failed or skipped.
#[derive(Default)]
struct FolderSummary {
    written: usize,
    failed: usize,
    unknown: usize,
}

impl FolderSummary {
    /// Counts the result of one file.
    fn take(&mut self, made: Result<Option<()>, Failure>, as_json: bool) -> Result<(), Failure> {
        match made {
            Ok(Some(())) => self.written += 1,
            Ok(None) => self.unknown += 1,
            Err(failure) => {
                self.failed += 1;
                ui::progress("");
                ui::report(&failure, as_json);
            }
        }
        Ok(())
    }

    /// Prints the totals, or fails if a file was not converted.
    fn conclude(&self, input: &Path, links: usize, as_json: bool) -> Result<(), Failure> {
        let files = |count: usize| match count {
            1 => "1 file".to_string(),
            count => format!("{count} files"),
        };
        let mut text = format!("{}: {} written", input.display(), files(self.written));
        if self.unknown > 0 {
            text.push_str(&format!(
                ", {} of no known format skipped",
                files(self.unknown)
            ));
        }
        if links > 0 {
            text.push_str(&format!(", {links} links not followed"));
        }
        if self.failed > 0 {
            return Err(Failure::input(format!(
                "{text}, {} not converted",
                files(self.failed)
            )));
        }
        if !as_json {
            ui::remark(&text);
        }
        Ok(())
    }
}

/// Converts one file; `None` if its format is unknown.
fn convert_one(
    job: &ConvertJob<'_>,
    output: &Path,
    relative: &Path,
    read: &HashSet<PathBuf>,
    given: &mut HashSet<PathBuf>,
) -> Result<Option<()>, Failure> {
    let source = ConvertSource::open(&job.args.input.join(relative))?;
    let Some(from) = job.format_of(&source) else {
        return Ok(None);
    };
    let name = new_name(relative, from, job.to, given);
    make_folders(output, &name)?;
    check_not_read(&output.join(&name), read)?;
    let taken = if job.args.force {
        OnExisting::ReplaceLinks
    } else {
        OnExisting::Refuse
    };
    let output = Destination::file(&output.join(&name), taken)?;
    let report = job.convert(source, output)?;
    ui::progress("");
    report.print(job.args.json)?;
    report.conclude().map(Some)
}

/// The name of the new file: the old one with the new extension. If another file of this run has
/// that name, the new extension is appended, then a number is added.
fn new_name(
    relative: &Path,
    from: &dyn Format,
    to: &dyn Format,
    given: &mut HashSet<PathBuf>,
) -> PathBuf {
    let ending = to.endings().first().copied().unwrap_or_default();
    let name = relative
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let mut endings: Vec<&str> = from.endings().to_vec();
    endings.extend(FORMATS.iter().flat_map(|format| format.endings()));
    endings.push(".json");
    let fits = endings
        .iter()
        .filter(|ending| name.len() > ending.len() && name.ends_with(**ending));
    let old = fits.map(|ending| ending.len()).max().unwrap_or(0);
    let stem = &name[..name.len() - old];
    let first = [format!("{stem}{ending}"), format!("{name}{ending}")];
    let more = (2..=usize::MAX).map(|number| format!("{name}-{number}{ending}"));
    let names = first
        .into_iter()
        .chain(more)
        .map(|name| relative.with_file_name(name));
    // There are more numbers than files, so one of them is free.
    names
        .into_iter()
        .find(|name| given.insert(name.clone()))
        .unwrap_or_default()
}

/// Never overwrites a file that this run reads, not even with `--force`.
fn check_not_read(new: &Path, read: &HashSet<PathBuf>) -> Result<(), Failure> {
    if !fs::canonicalize(new).is_ok_and(|new| read.contains(&new)) {
        return Ok(());
    }
    let text = format!(
        "{}: this file is one of those that are converted",
        new.display()
    );
    Err(Failure::input(text).or_hint("name another folder with -o; this file was left as it is"))
}

/// Creates the folders of a new file. Refuses links, which could lead anywhere.
fn make_folders(output: &Path, name: &Path) -> Result<(), Failure> {
    let mut folder = output.to_path_buf();
    for part in name.parent().into_iter().flat_map(Path::components) {
        let Component::Normal(part) = part else {
            continue;
        };
        folder.push(part);
        match fs::symlink_metadata(&folder) {
            Ok(facts) if facts.is_dir() => {}
            Ok(_) => {
                let text = format!("{}: this is no folder", folder.display());
                return Err(Failure::input(text).or_hint("links are not followed"));
            }
            Err(_) => fs::create_dir(&folder).map_err(|error| unusable(&folder, &error))?,
        }
    }
    Ok(())
}

/// Collects the files of a folder, with paths relative to it.
struct FolderWalk {
    /// The output folder, which is skipped if it is inside the input folder.
    own: Option<PathBuf>,
    files: Vec<PathBuf>,
    links: usize,
}

impl FolderWalk {
    /// Walks a folder without following links.
    fn folder(&mut self, root: &Path, start: &Path) -> Result<(), Failure> {
        let mut waiting = vec![start.to_path_buf()];
        while let Some(relative) = waiting.pop() {
            let folder = root.join(&relative);
            let mut entries = Vec::new();
            for entry in fs::read_dir(&folder).map_err(|error| unusable(&folder, &error))? {
                let entry = entry.map_err(|error| unusable(&folder, &error))?;
                let kind = entry
                    .file_type()
                    .map_err(|error| unusable(&folder, &error))?;
                entries.push((entry.file_name(), kind));
            }
            entries.sort_by(|left, right| left.0.cmp(&right.0));
            for (name, kind) in entries {
                let path = relative.join(&name);
                let shown = name.to_string_lossy();
                if kind.is_symlink() {
                    self.links += 1;
                } else if kind.is_file() && !shown.starts_with('.') {
                    self.files.push(path);
                } else if kind.is_dir() && !shown.starts_with('.') && !SKIPPED.contains(&&*shown) {
                    let is_own =
                        self.own.is_some() && fs::canonicalize(root.join(&path)).ok() == self.own;
                    if !is_own {
                        waiting.push(path);
                    }
                }
            }
        }
        self.files.sort();
        Ok(())
    }
}

/// The failure for a folder that cannot be read or created.
fn unusable(path: &Path, error: &io::Error) -> Failure {
    Failure::input(format!(
        "{}: this folder cannot be used: {}",
        path.display(),
        io_error_text(error)
    ))
}
