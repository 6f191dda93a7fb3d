//! Opening and changing message files, and telling you what the journal holds for them.
//!
//! Verbs that write open the file with [`open`], which waits for others and first adds answers that are still in the
//! journal. Verbs that only read use [`read_or_new`] or the store's own function, take no lock, and call
//! [`remark_journal`] so that you know of such answers.

use std::path::{Path, PathBuf};
use std::time::Duration;

use analects_formats::msgfile::{
    Document, DocumentKind, Refusal, Splice, decode_named, frontmatter,
};
use analects_store::vfs::Disk;
use analects_store::{
    Journal, LockedFile, MissingAnswer, RecoveredAnswer, StoreError, StoreFolders,
    read_message_file, real_path,
};

use crate::failure::Failure;
use crate::hints::Interface;
use crate::{shell, ui};

/// How long to wait for another process that writes to the file.
/// Writers hold the lock for moments only, so more time would not help.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Opens a message file for writing. Waits up to [`PATIENCE`] while another process writes to it.
/// Fails if the file is a plain Markdown file: see [`make_message_file`].
pub fn open(path: &Path, places: &StoreFolders) -> Result<LockedFile, Failure> {
    let file = LockedFile::open_within(path, places, PATIENCE)?;
    remark_saved_copies(path, file.other_versions());
    remark_recovered(path, file.recovered());
    Ok(file)
}

/// Says which answers from the journal were just added to the file.
/// A partial answer is one whose process was killed.
pub fn remark_recovered(path: &Path, recovered: &[RecoveredAnswer]) {
    let path = path.display();
    for RecoveredAnswer { cell, is_complete } in recovered {
        if *is_complete {
            ui::remark(&format!("{path}: added a missing answer as cell {cell}"));
        } else {
            ui::remark(&format!("{path}: added a partial answer as cell {cell}"));
        }
    }
}

/// Says where the versions are that somebody saved while a write of ours was killed.
/// Nothing is merged: comparing the two versions is up to you.
pub fn remark_saved_copies(path: &Path, copies: &[PathBuf]) {
    let path = path.display();
    for copy in copies {
        let copy = copy.display();
        ui::remark(&format!(
            "{path}: another program saved the file while a write was killed; its version is in {copy}"
        ));
    }
}

/// Says that we cannot change the frontmatter, and which lines to type instead.
/// YAML can be written in ways that this program does not edit, and it never rewrites what it does not understand.
pub fn frontmatter_refusal(path: &Path, refusal: Refusal) -> Failure {
    let message = format!("{}: {}", path.display(), refusal.message);
    Failure::input(message).or_hint(format!("type it yourself:\n{}", refusal.type_this))
}

/// The section for messages in a plain Markdown file that becomes a message file.
const SECTION: &str = "Discussion";

/// Gives a plain Markdown file a section for messages. The first message adds the heading. Any other message file
/// stays as it is.
/// The frontmatter gets the key `message_section`; the text of the file does not change.
pub fn make_message_file(path: &Path, places: &StoreFolders) -> Result<(), Failure> {
    let mut file = LockedFile::open_plain(path, places, PATIENCE)?;
    file.try_edit(|document| {
        if document.kind() != DocumentKind::Plain {
            return Ok(Splice::nothing());
        }
        let after = with_section(document, path)?;
        Ok(Splice::between(document.source(), after.source()))
    })
}

/// Fails if the frontmatter of a plain Markdown file cannot be read, since it may name a section for messages.
pub fn check_frontmatter(document: &Document, path: &Path) -> Result<(), Failure> {
    if document.unreadable_frontmatter().is_some() {
        return Err(StoreError::without_section(path.to_path_buf(), document).into());
    }
    Ok(())
}

/// The document with a section for messages. Fails if it already has a heading of that name.
/// The document is changed in memory only.
pub fn with_section(document: &Document, path: &Path) -> Result<Document, Failure> {
    let source = document.source();
    let span = document.frontmatter_span();
    let splice = frontmatter::set_string(source, span, "message_section", SECTION)
        .map_err(|refusal| frontmatter_refusal(path, refusal))?;
    let after = decode_named(splice.apply(source), "x.md");
    if after.section().is_some() {
        let message = format!("{}: there is already a heading {SECTION}", path.display());
        let hint = "to put messages below it, add message_section: Discussion to the frontmatter; \
                    to put them elsewhere, give that key the name of another section";
        return Err(Failure::input(message).or_hint(hint));
    }
    Ok(after)
}

/// Reads a message file. A missing file counts as empty.
/// Takes no lock.
pub fn read_or_new(path: &Path) -> Result<Document, Failure> {
    match read_message_file(path) {
        Err(error) if error.is_not_found() => Ok(decode_named(*b"", &path.to_string_lossy())),
        read => Ok(read?),
    }
}

/// Names the answers, complete or partial, that wait to be added to the file, and, once, the answers that are no longer in it.
/// Writes nothing but the note that you were told.
pub fn remark_journal(path: &Path, document: &Document, places: &StoreFolders) {
    let journal = Journal::new(places);
    let real = real_or_given(path);
    let name = path.display();
    for cell in journal.recoverable_cells(document, &real) {
        ui::remark(&format!(
            "{name}: the answer to cell {cell} is kept, and the next change to the file adds it"
        ));
    }
    remark_missing(path, document, &real, &journal, Interface::Call);
}

/// Whether an answer waits in the journal to be added to the file.
/// Takes no lock.
pub fn has_waiting_answer(path: &Path, document: &Document, places: &StoreFolders) -> bool {
    let waiting = Journal::new(places).recoverable_cells(document, &real_or_given(path));
    !waiting.is_empty()
}

/// The path with its links resolved, or as it was given if that fails.
/// A file that does not exist has no links to resolve.
fn real_or_given(path: &Path) -> PathBuf {
    real_path(&Disk, path).unwrap_or_else(|_| path.to_path_buf())
}

/// Names, once, the answers that are no longer in the file although their questions are.
/// You may have deleted the answer on purpose, so each is named only once.
pub fn remark_missing(
    path: &Path,
    document: &Document,
    real: &Path,
    journal: &Journal,
    interface: Interface,
) {
    for missing in journal.missing_answers(document, real) {
        ui::remark(&interface.words(answer_missing(path, &missing)));
        // If this cannot be recorded, you are told again.
        let _ = journal.mark_reported(&missing);
    }
}

/// Why a complete answer is only in the journal.
/// Returns the whole remark, file name included.
pub fn answer_not_in_file(path: &Path) -> String {
    let name = path.display();
    if !path.exists() {
        return format!(
            "{name}: the file no longer exists; the answer is kept, and the next change to the file adds it"
        );
    }
    format!(
        "{name}: the question changed while it was being answered, so the answer is not in the file; \
         to see it: analects recover {}",
        shell::path(path)
    )
}

/// Says that an answer is missing from the file, and how to get it back.
pub fn answer_missing(path: &Path, missing: &MissingAnswer) -> String {
    format!(
        "{}: the answer to cell {} is no longer in the file; if you did not delete it, \
         analects recover {} {} brings it back",
        path.display(),
        missing.cell,
        shell::path(path),
        shell::word(&missing.cell)
    )
}
