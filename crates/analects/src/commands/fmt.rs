//! `fmt`: tidies heads and attribute lines.

use std::path::{Path, PathBuf};

use analects_formats::msgfile::{self, Document, DocumentKind, Splice};
use analects_store::StoreError;

use super::reading;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::{message_file, ui};

/// Tidy the # %% lines and attribute lines of message files
///
/// fmt never changes the content of cells. It puts one space between the parts of a # %% line, one empty line
/// between that line and the attributes, and one space between attributes. It puts double quotes around
/// attribute values, except numbers. Everything else stays byte for byte the same: content, frontmatter, line
/// ends and the order of attributes. A cell without attributes gets none, and an attribute line with errors
/// stays as it is.
///
/// The names of changed files go to stderr. With --check, fmt writes nothing, prints the names of the files
/// that would change, and exits with code 1 if there are any.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects fmt talk.msg.md
  analects fmt --check notes/*.msg.md")]
pub struct FmtArgs {
    /// The message files, such as talk.msg.md
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// Write nothing; print the names of files that would change
    #[arg(long)]
    check: bool,
}

/// Every file is tried. All failures are printed, and the last decides the exit code.
pub fn run(args: &FmtArgs) -> Result<(), Failure> {
    let environment = Environment::read()?;
    let mut untidy = 0;
    let mut failed = None;
    for file in &args.files {
        let done = if args.check {
            check(file)
        } else {
            tidy(file, &environment)
        };
        match done {
            Ok(was_untidy) => untidy += usize::from(was_untidy),
            // Go on with the other files; the last failure is returned.
            Err(failure) => {
                let earlier = failed.replace(environment.explain(failure));
                earlier
                    .iter()
                    .for_each(|failure| ui::report(failure, false));
            }
        }
    }
    match (failed, untidy) {
        (Some(failure), _) => Err(failure),
        (None, 1..) if args.check => Err(would_change(untidy)),
        _ => Ok(()),
    }
}

/// The failure of `--check`.
fn would_change(files: usize) -> Failure {
    let files = if files == 1 {
        "1 file".to_string()
    } else {
        format!("{files} files")
    };
    Failure::input(format!("{files} would change")).or_hint("tidy with analects fmt FILE")
}

/// Prints the name of a file that would change. Returns whether it would.
/// Writes nothing and takes no lock.
fn check(path: &Path) -> Result<bool, Failure> {
    let document = readable(path)?;
    let is_untidy = !msgfile::tidy(&document).is_empty();
    if is_untidy {
        ui::print_line(&path.to_string_lossy())?;
    }
    Ok(is_untidy)
}

/// Tidies a file. Returns whether it changed.
/// The changes are worked out again under the lock, from what the file holds then.
fn tidy(path: &Path, environment: &Environment) -> Result<bool, Failure> {
    // Opening to write would create a missing file.
    readable(path)?;
    let mut file = message_file::open(path, &environment.places)?;
    if msgfile::tidy(file.document()).is_empty() {
        return Ok(false);
    }
    file.edit(|document| {
        let source = document.source();
        Splice::whole(source, Splice::apply_all(&msgfile::tidy(document), source))
    })?;
    ui::remark(&format!("{}: tidied", path.display()));
    Ok(true)
}

/// Reads a message file, and fails if its text could not be changed.
/// A missing file fails too.
fn readable(path: &Path) -> Result<Document, Failure> {
    let document = reading::read(path)?;
    let name = path.to_path_buf();
    if document.kind() == DocumentKind::Plain {
        return Err(StoreError::without_section(name, &document).into());
    }
    match document.why_not_writable().map(Box::new) {
        Some(problem) => Err(StoreError::NotWritable {
            path: name,
            problem,
        }
        .into()),
        None => Ok(document),
    }
}
