//! `check`: finds problems in files and folders of any format.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use analects_core::{Problem, Span, chain};
use analects_formats::FormatReader;
use analects_formats::convert::{self, Format, JsonOverLines, ReadOptions, ReadOutput};
use analects_formats::msgfile::{Document, DocumentKind, ShowProblem};
use analects_formats::{chatmd, transcript};
use analects_store::vfs::Disk;
use analects_store::{
    LINE_LIMIT, StoreError, StoreFolders, attach_outputs, check_transcript,
    find_interrupted_change, unreadable_outputs, unreadable_pictures,
};
use serde::Serialize;

use super::reading;
use crate::environment::Environment;
use crate::failure::{Failure, io_error_text};
use crate::{hints, message_file, ui};

/// Folders with generated files.
const SKIPPED: [&str; 2] = ["node_modules", "target"];

/// Files up to this size stay in memory, so that problems can show the line.
const MAX_SOURCE_IN_MEMORY: u64 = 32 << 20;

/// The format of Markdown whose frontmatter cannot be read, so that nobody knows whether it holds messages.
const MARKDOWN: &str = "markdown";

/// The size of one read.
const CHUNK_SIZE: usize = 256 << 10;

/// Find problems in conversations of any format
///
/// check reports the problems in each file's text, messages and agents on stderr, with their positions.
/// Message files are *.msg.md, and *.md with a message section; other files are recognised by their
/// content, as in convert. In a folder, check reads *.md, *.jsonl and *.json files. It skips hidden
/// folders, node_modules and target, and does not follow links to folders.
///
/// The exit code is 1 if there are errors or warnings, or if the format of a file is not known; hints do not
/// count. It is 3 if a path does not exist; the other paths are still checked. check shows the first 50
/// problems of each file. It never writes anything.
///
/// With --json, check prints a line for each file, with its path, its format (such as msgfile, or unknown)
/// and all of its problems.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects check talk.msg.md
  analects check notes/ ~/.local/share/analects
  analects check . --json | jq -r 'select(.problems != []) | .path'")]
pub struct CheckArgs {
    /// The files and folders to check
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,

    /// Print a line of JSON for each file
    #[arg(long)]
    pub json: bool,
}

/// A file that was checked.
struct CheckedFile {
    path: String,
    format: &'static str,
    source: Vec<u8>,
    problems: Vec<Problem>,
}

/// A checked file as `--json` prints it.
#[derive(Serialize)]
struct CheckLine<'a> {
    path: &'a str,
    format: &'static str,
    problems: Vec<ShowProblem>,
}

/// The results so far.
struct Findings {
    places: StoreFolders,
    as_json: bool,
    files: usize,
    /// The number of files with errors or warnings.
    bad_files: usize,
    /// All problems, without their messages, for the final count.
    counted: Vec<Problem>,
    /// The failure that decides the exit code: a missing path wins over an unreadable one.
    unread: Option<Failure>,
}

pub fn run(args: &CheckArgs) -> Result<(), Failure> {
    let mut findings = Findings {
        places: Environment::read()?.places,
        as_json: args.json,
        files: 0,
        bad_files: 0,
        counted: Vec::new(),
        unread: None,
    };
    for path in &args.paths {
        if path.is_dir() {
            findings.check_folder(path)?
        } else {
            findings.check_named(path)?
        }
    }
    findings.conclude(args)
}

impl Findings {
    /// Checks a file that you named. An unknown format is an error here.
    fn check_named(&mut self, path: &Path) -> Result<(), Failure> {
        match read(path, &self.places) {
            Ok(Some(checked)) => self.add(checked),
            Ok(None) => self.add(unknown(path)),
            Err(failure) => {
                self.note_failure(failure);
                Ok(())
            }
        }
    }

    /// Checks the files of a folder and its subfolders, sorted by name.
    fn check_folder(&mut self, folder: &Path) -> Result<(), Failure> {
        let mut waiting = vec![folder.to_path_buf()];
        while let Some(path) = waiting.pop() {
            if !path.is_dir() {
                match read(&path, &self.places) {
                    // Other Markdown in a folder need not be a conversation.
                    Ok(Some(checked)) if checked.format != MARKDOWN => self.add(checked)?,
                    Ok(_) => {}
                    Err(failure) => self.note_failure(failure),
                }
                continue;
            }
            match entries(&path) {
                Ok(paths) => waiting.extend(paths.into_iter().rev()),
                Err(failure) => self.note_failure(failure),
            }
        }
        Ok(())
    }

    /// Prints the problems of a file and counts them.
    fn add(&mut self, checked: CheckedFile) -> Result<(), Failure> {
        let CheckedFile {
            path,
            format,
            source,
            problems,
        } = checked;
        self.files += 1;
        self.bad_files += usize::from(problems.iter().any(reading::is_serious));
        if self.as_json {
            let problems_shown = hints::problems_with_hints(&problems, Path::new(&path));
            ui::print_json_line(&CheckLine {
                path: &path,
                format,
                problems: problems_shown,
            })?;
        } else {
            ui::report_problems(&path, &source, &problems);
        }
        let bare = problems.into_iter().map(|problem| Problem {
            message: String::new(),
            ..problem
        });
        self.counted.extend(bare);
        Ok(())
    }

    /// Keeps or prints a failure; the other files are still checked.
    fn note_failure(&mut self, failure: Failure) {
        let is_worse = |known: &Failure| known.exit_code() < failure.exit_code();
        if self.unread.as_ref().is_none_or(is_worse) {
            if let Some(known) = self.unread.replace(failure) {
                ui::report(&known, self.as_json);
            }
        } else {
            ui::report(&failure, self.as_json);
        }
    }

    /// Prints the totals and decides the result.
    fn conclude(self, args: &CheckArgs) -> Result<(), Failure> {
        let files = if self.files == 1 {
            "1 file"
        } else {
            &format!("{} files", self.files)
        };
        let summary = format!("checked {files}: {}", ui::count(&self.counted));
        if let Some(failure) = self.unread {
            // Without any checked file, "no problems" would be misleading.
            if !args.json && self.files > 0 {
                ui::remark(&summary);
            }
            return Err(failure);
        }
        if self.bad_files > 0 {
            return Err(Failure::input(summary));
        }
        if !args.json {
            ui::remark(&summary);
        }
        Ok(())
    }
}

/// The files and folders in a folder that should be checked, sorted by name.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let listed = list_folder(folder);
    let mut paths = listed.map_err(|error| {
        let name = folder.display();
        let text = format!("{name}: cannot read this folder: {}", io_error_text(&error));
        Failure::input(text)
    })?;
    paths.sort();
    Ok(paths)
}

fn list_folder(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_wanted = if entry.file_type()?.is_dir() {
            !name.starts_with('.') && !SKIPPED.contains(&&*name)
        } else {
            // A link to a folder may lead back to this one.
            entry.path().is_file() && has_known_extension(&name)
        };
        if is_wanted {
            paths.push(entry.path());
        }
    }
    Ok(paths)
}

/// Whether a file in a folder may be a conversation.
fn has_known_extension(name: &str) -> bool {
    [".md", ".jsonl", ".json"]
        .iter()
        .any(|ending| name.ends_with(ending))
}

/// Reads and checks a file; `None` if its format is unknown.
fn read(path: &Path, places: &StoreFolders) -> Result<Option<CheckedFile>, Failure> {
    let name = path.to_string_lossy().into_owned();
    is_file(path)?;
    if name.ends_with(".md") {
        return read_markdown(path, name, places);
    }
    let Some(format) = convert::detect(&head(path)?, &name) else {
        return Ok(None);
    };
    if format.id() != "transcript" {
        return read_with_format(path, name, format);
    }
    let (source, problems) = check_records(path)?;
    Ok(Some(CheckedFile {
        path: name,
        format: "transcript",
        source,
        problems,
    }))
}

/// Checks a message file or chat Markdown; `None` for other Markdown.
fn read_markdown(
    path: &Path,
    name: String,
    places: &StoreFolders,
) -> Result<Option<CheckedFile>, Failure> {
    let mut document = analects_store::read_message_file(path)?;
    let of_outputs = unreadable_outputs(path, &document);
    attach_outputs(path, &mut document);
    if document.kind() == DocumentKind::Plain {
        let is_chat = chatmd::is_chat_markdown(document.source());
        let format = convert::format_by_id("chatmd").filter(|_| is_chat);
        if !is_chat && document.unreadable_frontmatter().is_some() {
            return Ok(Some(unread_frontmatter(document, name)));
        }
        return format.map_or(Ok(None), |format| read_with_format(path, name, format));
    }
    message_file::remark_journal(path, &document, places);
    let mut problems = reading::problems(&document, &name);
    problems.extend(unreadable_pictures(path, &document));
    // A file that cannot be read is reported once, with the reason.
    problems.retain(|problem| problem.code != "unread-output");
    problems.extend(of_outputs);
    problems.sort_by_key(|problem| (problem.line, problem.column));
    if let Some(problem) = find_interrupted_change(&Disk, places, path) {
        let end = document.source().len();
        problems.push(problem.at(Span::new(end, end), &document.lines()));
    }
    Ok(Some(CheckedFile {
        path: name,
        format: "msgfile",
        source: document.into_source(),
        problems,
    }))
}

/// The result for Markdown whose frontmatter cannot be read, which may name a section for messages.
fn unread_frontmatter(document: Document, path: String) -> CheckedFile {
    CheckedFile {
        path,
        format: MARKDOWN,
        problems: document.problems(),
        source: document.into_source(),
    }
}

/// The start of a file, to recognise its format.
fn head(path: &Path) -> Result<Vec<u8>, Failure> {
    let file = fs::File::open(path).map_err(|error| unreadable(path, error))?;
    let mut head = Vec::new();
    let read = file.take(convert::HEAD_SIZE as u64).read_to_end(&mut head);
    read.map_err(|error| unreadable(path, error))?;
    Ok(head)
}

/// Checks a file with the reader of its format, and then the chain of its messages.
fn read_with_format(
    path: &Path,
    name: String,
    format: &'static dyn Format,
) -> Result<Option<CheckedFile>, Failure> {
    let options = ReadOptions {
        full: true,
        zone: crate::local_time::zone(),
        ..ReadOptions::named(&name)
    };
    let Some(reader) = format.reader(&options) else {
        return Ok(None);
    };
    let (found, source) = feed(path, reader).map_err(|error| unreadable(path, error))?;
    let mut problems = found.problems;
    let of_chain = without_reported(&problems, chain(&found.messages).problems);
    problems.extend(of_chain);
    problems.sort_by_key(|problem| (problem.line, problem.column));
    Ok(Some(CheckedFile {
        path: name,
        format: format.id(),
        source,
        problems,
    }))
}

/// Passes a file to a reader. Returns the text of the file, too, unless that is large.
fn feed(path: &Path, mut reader: Box<dyn FormatReader>) -> io::Result<(ReadOutput, Vec<u8>)> {
    let mut file = fs::File::open(path)?;
    let size = file.metadata().map(|facts| facts.len());
    let is_kept = size.is_ok_and(|size| size <= MAX_SOURCE_IN_MEMORY);
    let mut found = ReadOutput::default();
    let mut source = Vec::new();
    let mut buffer = vec![0; CHUNK_SIZE];
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        reader.feed(&buffer[..count], &mut found);
        if is_kept {
            source.extend_from_slice(&buffer[..count]);
        }
    }
    reader.finish(&mut found);
    Ok((found, source))
}

/// Problems of the chain that the reader has not reported yet. The reader knows the lines, so its
/// reports are better.
fn without_reported(said: &[Problem], of_chain: Vec<Problem>) -> Vec<Problem> {
    let mut known: HashMap<&str, usize> = HashMap::new();
    for problem in said.iter().filter(|problem| problem.line > 0) {
        *known.entry(&problem.code).or_default() += 1;
    }
    let is_unsaid = |problem: &Problem| match known.get_mut(&*problem.code) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    };
    of_chain.into_iter().filter(is_unsaid).collect()
}

/// The text and the problems of a transcript. A large one is read line by line, and its text is
/// empty.
fn check_records(path: &Path) -> Result<(Vec<u8>, Vec<Problem>), Failure> {
    let facts = fs::metadata(path).map_err(|error| unreadable(path, error))?;
    if facts.len() > MAX_SOURCE_IN_MEMORY {
        return Ok((
            Vec::new(),
            check_transcript(&Disk, path, LINE_LIMIT)?.problems,
        ));
    }
    let source = read_bytes(path)?;
    let problems = transcript::check(&source).problems;
    Ok((source, problems))
}

/// Fails if the path is not a regular file.
fn is_file(path: &Path) -> Result<(), Failure> {
    let facts = fs::metadata(path).map_err(|error| unreadable(path, error))?;
    if facts.is_file() {
        Ok(())
    } else {
        Err(StoreError::NotAFile {
            path: path.to_path_buf(),
        }
        .into())
    }
}

fn read_bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    is_file(path)?;
    fs::read(path).map_err(|error| unreadable(path, error))
}

fn unreadable(path: &Path, source: std::io::Error) -> Failure {
    let path = path.to_path_buf();
    match source.kind() {
        std::io::ErrorKind::NotFound => StoreError::NotFound { path }.into(),
        _ => StoreError::Io {
            path,
            action: "read",
            source,
        }
        .into(),
    }
}

/// The result for a file that you named whose format is unknown.
fn unknown(path: &Path) -> CheckedFile {
    const EXPECTED: &str = "expected *.msg.md, *.md with message_section in its frontmatter, *.jsonl, or what convert reads";
    let text = "this is not a conversation in a known format";
    let json = head(path).ok().and_then(|head| JsonOverLines::find(&head));
    let hint = json.map_or(EXPECTED.to_string(), |json| hints::json_over_lines(&json));
    let problem = Problem::error("unknown-format", text).hint(hint);
    CheckedFile {
        path: path.to_string_lossy().into_owned(),
        format: "unknown",
        source: Vec::new(),
        problems: vec![problem],
    }
}
