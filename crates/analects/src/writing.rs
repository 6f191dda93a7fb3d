//! How a verb changes a message file: it waits for its turn, and what it cannot change it explains. And what the
//! journal holds for a file, told to whoever reads the file.

use std::path::{Path, PathBuf};
use std::time::Duration;

use analects_formats::msgfile::{
    Document, DocumentKind, Refusal, Splice, decode_named, frontmatter,
};
use analects_store::vfs::Disk;
use analects_store::{
    Journal, LockedFile, MissingAnswer, RecoveredAnswer, StoreFolders, read_message_file, real_path,
};

use crate::failure::Failure;
use crate::{shell, ui};

/// How long we wait for another process that writes to the file.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Opens a message file for writing, and waits a while if another process writes to it.
pub fn open(path: &Path, places: &StoreFolders) -> Result<LockedFile, Failure> {
    let file = LockedFile::open_within(path, places, PATIENCE)?;
    remark_kept(path, file.other_versions());
    remark_recovered(path, file.recovered());
    Ok(file)
}

/// Tells of answers that had broken off, and that are in the file now.
pub fn remark_recovered(path: &Path, recovered: &[RecoveredAnswer]) {
    for RecoveredAnswer { cell, is_complete } in recovered {
        let path = path.display();
        if *is_complete {
            ui::remark(&format!(
                "{path}: an answer that was not in the file yet is cell {cell}"
            ));
        } else {
            ui::remark(&format!(
                "{path}: what came of an answer that broke off is cell {cell}"
            ));
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
pub fn make_message_file(path: &Path, places: &StoreFolders) -> Result<(), Failure> {
    let mut file = LockedFile::open_plain(path, places, PATIENCE)?;
    file.try_edit(|document| match document.kind() {
        DocumentKind::Plain => {
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

/// Tells of answers that broke off and wait to come into the file, and once of answers that are no longer in it.
pub fn remark_journal(path: &Path, document: &Document, places: &StoreFolders) {
    let journal = Journal::new(places);
    let real = real_path(&Disk, path).unwrap_or_else(|_| path.to_path_buf());
    for cell in journal.recoverable_cells(document, &real) {
        ui::remark(&format!(
            "{}: what came of the answer to cell {cell} is kept, and comes into the file with its next change",
            path.display()
        ));
    }
    remark_missing(path, document, &real, &journal);
}

/// Whether an answer waits to come into the file.
pub fn has_answer(path: &Path, document: &Document, places: &StoreFolders) -> bool {
    let real = real_path(&Disk, path).unwrap_or_else(|_| path.to_path_buf());
    !Journal::new(places)
        .recoverable_cells(document, &real)
        .is_empty()
}

/// Tells once of answers that are not in the file any more, though their questions are.
pub fn remark_missing(path: &Path, document: &Document, real: &Path, journal: &Journal) {
    for missing in journal.missing_answers(document, real) {
        ui::remark(&missing_answer(path, &missing));
        // If it cannot be noted, it is told again.
        let _ = journal.mark_reported(&missing);
    }
}

/// Says why a complete answer is in the journal alone.
pub fn kept_answer(path: &Path) -> String {
    let name = path.display();
    if !path.exists() {
        return format!(
            "{name}: the file is no longer there; the answer is kept, and comes into the file with its next change"
        );
    }
    format!(
        "{name}: the question was changed while it was being answered, so the answer is not in the file; \
         analects recover {} has it",
        shell::path(path)
    )
}

/// Says that an answer is missing, and how to get it back.
pub fn missing_answer(path: &Path, missing: &MissingAnswer) -> String {
    format!(
        "{}: the answer to cell {} is no longer in the file; if you did not delete it, \
         analects recover {} {} brings it back",
        path.display(),
        missing.cell,
        shell::path(path),
        shell::word(&missing.cell)
    )
}
