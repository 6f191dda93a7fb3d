//! How a verb changes a message file: it waits for its turn, and what it cannot change it explains.

use std::path::{Path, PathBuf};
use std::time::Duration;

use analects_formats::msgfile::{Document, Kind, Refusal, Splice, decode_named, frontmatter};
use analects_store::{LockedFile, Places, RecoveredAnswer, read_message_file};

use crate::failure::Failure;
use crate::ui;

/// How long we wait for another process that writes to the file.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Opens a message file for writing, and waits a while if another process writes to it.
pub fn open(path: &Path, places: &Places) -> Result<LockedFile, Failure> {
    let file = LockedFile::open_within(path, places, PATIENCE)?;
    remark_kept(path, file.kept());
    remark_recovered(path, file.recovered());
    Ok(file)
}

/// Tells of answers that had broken off, and that are in the file now.
pub fn remark_recovered(path: &Path, recovered: &[RecoveredAnswer]) {
    for RecoveredAnswer { cell, is_complete } in recovered {
        let path = path.display();
        if *is_complete {
            ui::remark(&format!("{path}: an answer that was not in the file yet is cell {cell}"));
        } else {
            ui::remark(&format!("{path}: what came of an answer that broke off is cell {cell}"));
        }
    }
}

/// Tells of versions of a file that somebody saved while a write of ours was killed.
pub fn remark_kept(path: &Path, kept: &[PathBuf]) {
    for kept in kept {
        let (path, kept) = (path.display(), kept.display());
        ui::remark(&format!(
            "{path}: a write was killed while somebody else saved; that is in {kept}"
        ));
    }
}

/// Frontmatter that cannot be changed: the person can do it, and is told the lines.
pub fn refused(path: &Path, refusal: Refusal) -> Failure {
    let message = format!("{}: {}", path.display(), refusal.message);
    Failure::input(message).or_hint(format!("type it yourself:\n{}", refusal.type_this))
}

/// The section of a plain Markdown file that becomes a message file.
const SECTION: &str = "Discussion";

/// Makes a plain Markdown file one with a section for messages. The heading comes with the first of them.
pub fn make_message_file(path: &Path, places: &Places) -> Result<(), Failure> {
    let mut file = LockedFile::open_plain(path, places, PATIENCE)?;
    file.try_edit(|document| match document.kind() {
        Kind::Plain => {
            let after = with_section(document, path)?;
            Ok(Splice::between(document.source(), after.source()))
        }
        _ => Ok(Splice::nothing()),
    })
}

/// A plain Markdown file with a section for messages.
pub fn with_section(document: &Document, path: &Path) -> Result<Document, Failure> {
    let (source, span) = (document.source(), document.frontmatter_span());
    let splice = frontmatter::set_string(source, span, "message_section", SECTION);
    let splice = splice.map_err(|refusal| refused(path, refusal))?;
    let after = decode_named(splice.apply(source), "x.md");
    if after.section().is_some() {
        let message = format!("{}: there is a heading {SECTION} already", path.display());
        let hint = "if messages may go below it, type message_section: Discussion into the \
                    frontmatter; else give that key the name of another section";
        return Err(Failure::input(message).or_hint(hint));
    }
    Ok(after)
}

/// What a file holds; one that is not there is empty.
pub fn read_or_new(path: &Path) -> Result<Document, Failure> {
    match read_message_file(path) {
        Err(error) if error.is_not_found() => Ok(decode_named(*b"", &path.to_string_lossy())),
        read => Ok(read?),
    }
}
