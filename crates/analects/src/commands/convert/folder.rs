//! Converts a folder to a folder. Files keep their names with new extensions, and nothing outside
//! the folder is written.
//!
//! The walk is finished before the first file is written, so what is written is never converted in turn. Links are
//! neither followed nor written through: they could lead out of the folder.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::{self, FileType};
use std::io;
use std::path::{Component, Path, PathBuf};

use analects_formats::convert::{FORMATS, Format};

use super::destination::{Destination, OnExisting};
use super::source::ConvertSource;
use super::{ConvertJob, is_dash};
use crate::failure::{Failure, io_error_text};
use crate::ui;

/// Folders with generated files.
/// Downloaded code and the results of builds, in which a conversation is unlikely.
const SKIPPED: [&str; 2] = ["node_modules", "target"];

/// Converts every file of a known format.
/// Goes on after a file that fails, and fails at the end if there was one.
pub fn run(job: &ConvertJob<'_>) -> Result<(), Failure> {
    let input = &job.args.input;
    let Some(output) = job.args.output.as_deref().filter(|path| !is_dash(path)) else {
        let text = format!("{}: a folder needs an output folder", input.display());
        return Err(Failure::usage(text, "name it: -o OUT"));
    };
    fs::create_dir_all(output).map_err(|error| unusable(output, &error))?;
    let mut walk = FolderWalk {
        own: fs::canonicalize(output).ok(),
        files: Vec::new(),
        links: 0,
    };
    walk.folder(input)?;
    let mut outputs = FolderOutputs {
        folder: output,
        read: walk.real_files(input),
        used: HashSet::new(),
    };

    let mut summary = FolderSummary::default();
    let count = walk.files.len();
    for (at, relative) in walk.files.iter().enumerate() {
        let number = at + 1;
        let name = relative.display();
        ui::progress(&format!("{number} of {count} files: {name}"));
        let converted = convert_one(job, relative, &mut outputs);
        summary.add(converted, job.args.json);
    }
    ui::progress("");
    summary.conclude(input, walk.links, job.args.json)
}

/// The new files of a run.
/// Keeps outputs apart from each other and from the inputs.
struct FolderOutputs<'a> {
    folder: &'a Path,
    /// The files that this run reads, after following links.
    /// The real paths of all inputs.
    read: HashSet<PathBuf>,
    /// The names that new files of this run have.
    /// Names that outputs of this run have, relative to the folder.
    used: HashSet<PathBuf>,
}

/// How many files were converted, failed or skipped.
/// One line at the end says what became of all files.
#[derive(Default)]
struct FolderSummary {
    written: usize,
    failed: usize,
    unknown: usize,
}

impl FolderSummary {
    /// Counts the result of one file, and reports its failure.
    /// `Ok(false)` is a file of unknown format. A failure is printed at once, so that it stands beside the file's
    /// progress.
    fn add(&mut self, converted: Result<bool, Failure>, as_json: bool) {
        match converted {
            Ok(true) => self.written += 1,
            Ok(false) => self.unknown += 1,
            Err(failure) => {
                self.failed += 1;
                ui::progress("");
                ui::report(&failure, as_json);
            }
        }
    }

    /// Prints the totals, or fails if a file was not converted.
    fn conclude(&self, input: &Path, links: usize, as_json: bool) -> Result<(), Failure> {
        let mut text = format!("{}: {} written", input.display(), files(self.written));
        if self.unknown > 0 {
            text += &format!(", {} of unknown format skipped", files(self.unknown));
        }
        if links > 0 {
            text += &format!(", {links} links not followed");
        }
        if self.failed > 0 {
            text += &format!(", {} not converted", files(self.failed));
            return Err(Failure::input(text));
        }
        if !as_json {
            ui::remark(&text);
        }
        Ok(())
    }
}

/// `1 file`, `2 files`.
fn files(count: usize) -> String {
    match count {
        1 => "1 file".to_string(),
        count => format!("{count} files"),
    }
}

/// Converts one file. Returns `false` if its format is unknown.
/// False if the format is not known: a folder may hold anything.
fn convert_one(
    job: &ConvertJob<'_>,
    relative: &Path,
    outputs: &mut FolderOutputs<'_>,
) -> Result<bool, Failure> {
    let source = ConvertSource::open(&job.args.input.join(relative))?;
    let Some(from) = job.format_of(&source) else {
        return Ok(false);
    };
    let name = outputs.new_name(relative, from, job.to);
    make_folders(outputs.folder, &name)?;
    let path = outputs.folder.join(&name);
    outputs.check_not_read(&path)?;
    let on_existing = if job.args.force {
        OnExisting::ReplaceLinks
    } else {
        OnExisting::Refuse
    };
    let mut report = job.convert(source, Destination::file(&path, on_existing)?)?;
    ui::progress("");
    job.conclude(&mut report)?;
    Ok(true)
}

impl FolderOutputs<'_> {
    /// The name of the new file: the old one with the new extension. If another file of this run
    /// has that name, the new extension is appended, then a number is added.
    /// Two inputs such as `talk.md` and `talk.jsonl` get different names: the second keeps its old extension before the
    /// new one.
    fn new_name(&mut self, relative: &Path, from: &dyn Format, to: &dyn Format) -> PathBuf {
        let ending = to.endings().first().copied().unwrap_or_default();
        let name = relative.file_name().unwrap_or_default().to_string_lossy();
        let stem = without_extension(&name, from);
        let first = [format!("{stem}{ending}"), format!("{name}{ending}")];
        let more = (2..=usize::MAX).map(|number| format!("{name}-{number}{ending}"));
        for name in first.into_iter().chain(more) {
            let path = relative.with_file_name(name);
            if self.used.insert(path.clone()) {
                return path;
            }
        }
        // There are more numbers than files, so one of them was free.
        PathBuf::new()
    }

    /// Never overwrites a file that this run reads, not even with `--force`.
    /// Matters if the output folder is the input folder or overlaps with it.
    fn check_not_read(&self, new: &Path) -> Result<(), Failure> {
        if !fs::canonicalize(new).is_ok_and(|new| self.read.contains(&new)) {
            return Ok(());
        }
        let text = format!("{}: this is one of the files to convert", new.display());
        let hint = "name another folder with -o; this file was left as it is";
        Err(Failure::input(text).or_hint(hint))
    }
}

/// A file name without the longest extension of any format. The name is never empty after that.
/// The longest extension that fits, so `talk.msg.md` becomes `talk` and not `talk.msg`.
fn without_extension<'n>(name: &'n str, from: &dyn Format) -> &'n str {
    let all = FORMATS.iter().flat_map(|format| format.endings());
    let endings = from.endings().iter().chain(all).copied().chain([".json"]);
    let fitting = endings.filter(|ending| name.len() > ending.len() && name.ends_with(ending));
    let longest = fitting.map(str::len).max().unwrap_or(0);
    &name[..name.len() - longest]
}

/// Creates the folders of a new file. Refuses links, which could lead anywhere.
/// Fails at a link or a file on the way. Folders that exist are fine.
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
                let text = format!("{}: this is not a folder", folder.display());
                return Err(Failure::input(text).or_hint("links are not followed"));
            }
            Err(_) => fs::create_dir(&folder).map_err(|error| unusable(&folder, &error))?,
        }
    }
    Ok(())
}

/// Collects the files of a folder, with paths relative to it.
/// Visits folders without recursion, so depth does not matter.
struct FolderWalk {
    /// The output folder, which is skipped if it is inside the input folder.
    /// The real path of the output folder, which is not walked.
    own: Option<PathBuf>,
    files: Vec<PathBuf>,
    /// How many links were passed over.
    links: usize,
}

impl FolderWalk {
    /// Walks the folder without following links.
    fn folder(&mut self, root: &Path) -> Result<(), Failure> {
        let mut waiting = vec![PathBuf::new()];
        while let Some(relative) = waiting.pop() {
            let folder = root.join(&relative);
            let entries = sorted_entries(&folder).map_err(|error| unusable(&folder, &error))?;
            for (name, kind) in entries {
                let path = relative.join(&name);
                let name = name.to_string_lossy();
                let is_hidden = name.starts_with('.');
                if kind.is_symlink() {
                    self.links += 1;
                } else if kind.is_file() && !is_hidden {
                    self.files.push(path);
                } else if kind.is_dir()
                    && !is_hidden
                    && !SKIPPED.contains(&&*name)
                    && !self.is_own(&root.join(&path))
                {
                    waiting.push(path);
                }
            }
        }
        self.files.sort();
        Ok(())
    }

    /// Whether a folder is the output folder.
    /// The output folder may lie inside the input folder.
    fn is_own(&self, folder: &Path) -> bool {
        self.own.is_some() && fs::canonicalize(folder).ok() == self.own
    }

    /// The files after following links above the folder; empty if that fails.
    fn real_files(&self, root: &Path) -> HashSet<PathBuf> {
        let Ok(root) = fs::canonicalize(root) else {
            return HashSet::new();
        };
        self.files.iter().map(|file| root.join(file)).collect()
    }
}

/// The names and types of what is in a folder, sorted by name.
fn sorted_entries(folder: &Path) -> io::Result<Vec<(OsString, FileType)>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        entries.push((entry.file_name(), entry.file_type()?));
    }
    entries.sort_by(|left, right| left.0.cmp(&right.0));
    Ok(entries)
}

/// The failure for a folder that cannot be read or created.
fn unusable(path: &Path, error: &io::Error) -> Failure {
    Failure::input(format!(
        "{}: this folder cannot be used: {}",
        path.display(),
        io_error_text(error)
    ))
}
